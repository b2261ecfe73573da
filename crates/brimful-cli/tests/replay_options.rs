//! What the options of `brimful replay` do to formats, keys, times and algorithms.

use std::io::Write;

use assert_cmd::Command;
use flate2::Compression;
use flate2::write::GzEncoder;

const ACCESS_LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/access.log");

/// Exit code, stdout, stderr.
type Output = (i32, String, String);

fn run(args: &[&str], stdin: &[u8]) -> Output {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("brimful"));
    let output = command.arg("replay").args(args).write_stdin(stdin).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A run that must succeed without a word; what it prints.
fn good(args: &[&str], stdin: &[u8]) -> String {
    let (code, out, words) = run(args, stdin);
    assert_eq!((code, &*words), (0, ""), "{args:?}: {out}");
    out
}

/// A run that must fail with exit code 2 and nothing on stdout; the words.
fn refused(args: &[&str], stdin: &[u8]) -> String {
    let (code, out, words) = run(args, stdin);
    assert_eq!((code, &*out), (2, ""), "{args:?}: {words}");
    assert!(words.starts_with("error: ") && !words.contains("panicked"), "{args:?}: {words}");
    words
}

fn packed(log: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(log).unwrap();
    packer.finish().unwrap()
}

/// The column of a table that begins with a label.
fn figures<'a>(table: &'a str, label: &str) -> Vec<&'a str> {
    let row = table.lines().find(|line| line.starts_with(label)).expect(label);
    row[label.len()..].split_whitespace().collect()
}

/// After a change that is meant, write the file anew from the root of the repository:
///
/// ```text
/// cargo run -- replay --algorithm all examples/access.log --limit '10/min' \
///     > crates/brimful-cli/tests/access-log-all.txt
/// ```
///
/// `all_algorithms_side_by_side` in the lab compares the same figures with the exact model.
#[test]
fn all_algorithms_on_the_example_as_they_are_kept() {
    let expected = include_str!("access-log-all.txt");
    let all = ["--algorithm", "all", "--limit", "10/min"];
    assert_eq!(good(&[&[ACCESS_LOG], &all[..]].concat(), b""), expected);
    // The same from standard input, which is read once, and packed.
    let log = std::fs::read(ACCESS_LOG).unwrap();
    assert_eq!(good(&[&["-"], &all[..]].concat(), &log), expected);
    assert_eq!(good(&[&["-"], &all[..]].concat(), &packed(&log)), expected);
}

#[test]
fn all_algorithms_have_the_figures_of_each() {
    let limits = ["--limit", "4/min", "--limit", "20/h"];
    let all = good(&[&[ACCESS_LOG, "--algorithm", "all"], &limits[..]].concat(), b"");
    for (place, name) in
        ["token-bucket", "fixed-window", "sliding-log", "sliding-window"].into_iter().enumerate()
    {
        let one = good(&[&[ACCESS_LOG, "--algorithm", name], &limits[..]].concat(), b"");
        for label in ["requests", "keys", "admitted", "denied"] {
            assert_eq!(figures(&all, label)[place], figures(&one, label)[0], "{name} {label}");
        }
        assert_eq!(figures(&all, "store bytes")[place], figures(&one, "  bytes")[0]);
    }
}

#[test]
fn a_burst_stays_with_the_bucket_and_that_is_said() {
    let all = ["--algorithm", "all", "--limit"];
    let out = good(&[&[ACCESS_LOG], &all[..], &["10/min burst 20"]].concat(), b"");
    assert_eq!(figures(&out, "denied"), ["74", "291", "291", "291"]);
    assert!(out.contains("  10/min burst 20 token-bucket\n"), "{out}");
    assert!(out.contains("  10/min sliding-window\n"), "{out}");
    let line = "  Only the token bucket has a burst; the others admit N per period.\n";
    assert!(out.contains(line), "{out}");
    assert!(!good(&[&[ACCESS_LOG], &all[..], &["10/min"]].concat(), b"").contains("burst;"));
    // What a log cannot hold is left out, and that is said.
    let out = good(&[&[ACCESS_LOG], &all[..], &["70000/h"]].concat(), b"");
    assert_eq!(figures(&out, "denied"), ["0", "0", "0"]);
    let line = "  sliding-log is left out: tokens is 70000, expected at most 65536";
    assert!(out.contains(line), "{out}");
    assert!(!out.contains("top denied keys"), "{out}");
    // Peeks, refunds, what can never be, and an empty log.
    let log = br#"{"at": 0, "key": "k", "cost": 70}
{"at": 0, "key": "k", "cost": 500}
{"at": 0, "key": "k", "cost": 40, "op": "peek"}
{"at": 0, "key": "k", "cost": 4, "op": "refund"}
"#;
    let out = good(&[&["-"], &all[..], &["100/s"]].concat(), log);
    for (label, expected) in [("  never", "1"), ("peeks", "1"), ("refunds", "1"), ("  tokens", "4")]
    {
        assert_eq!(figures(&out, label), [expected; 4], "{label}");
    }
    let out = good(&[&["-"], &all[..], &["100/s"]].concat(), b"");
    assert_eq!(figures(&out, "requests"), ["0"; 4]);
}

#[test]
fn what_does_not_go_with_all_algorithms() {
    let all = ["-", "--algorithm", "all"];
    for (args, part) in [
        (&["--limit", "10/s fixed-window"][..], "names fixed-window, and the replay is for all"),
        (&["--limit", "10/s", "--limit", "9/h token-bucket"], "names token-bucket"),
        (&["--limit", "blocked"], "is the same under all algorithms"),
        (&["--limit", "10/s", "--decisions"], "--decisions prints those of one algorithm"),
        (&["--limit", "10/minn"], "did you mean `min`?"),
        (
            &["--limit", "10/s", "--limit", "9/h", "--max-log-entries", "1"],
            "max_log_entries is 1, expected at least 2, one for each sliding log",
        ),
    ] {
        let words = refused(&[&all[..], args].concat(), b"");
        assert!(words.contains(part), "{args:?}: {words}");
    }
}

#[test]
fn keys_of_any_fields() {
    let keys = |template: &str| {
        let args = [ACCESS_LOG, "--limit", "1/h", "--key", template, "--top", "2", "--json"];
        let found: serde_json::Value = serde_json::from_str(&good(&args, b"")).unwrap();
        let top = found["top_denied"].as_array().unwrap().iter();
        (found["keys"].as_u64().unwrap(), top.map(|row| row["key"].to_string()).collect::<Vec<_>>())
    };
    assert_eq!(keys("{remote_addr}").0, 409);
    assert_eq!(keys("{method}"), (2, vec!["\"GET\"".to_owned(), "\"HEAD\"".to_owned()]));
    let (count, top) = keys("{status} {path}");
    assert!(count > 100 && top[0].starts_with("\"200 /"), "{count} {top:?}");
    let args = [ACCESS_LOG, "--limit", "10/s", "--key"];
    for (template, part) in [
        ("{pat}", "there is no field `pat`; there are virtual_host, remote_addr, "),
        ("remote_addr", "has no field; for example `{remote_addr}`"),
        ("{remote_addr", "has a `{` without its `}`"),
        ("{method}{path}", "needs text before {path}"),
        ("", "has no field"),
    ] {
        let words = refused(&[&args[..], &[template]].concat(), b"");
        assert!(words.contains(part), "{template}: {words}");
    }
    // Of JSON, a line without the field is bad.
    let log = b"{\"at\": 0, \"user\": {\"id\": 7}}\n{\"at\": 0}\n";
    let (code, out, words) =
        run(&["-", "--limit", "10/s", "--key", "{user.id}", "--decisions", "--strict"], log);
    assert!(out.contains(r#""key":"7""#), "{out}");
    assert_eq!((code, &*words), (1, "bad line 2: `user.id` is missing\n"));
}

/// What the help says of keys, of log entries and of packed logs.
#[test]
fn the_help_promises_no_more_than_is_so() {
    let help = good(&["--help"], b"");
    let help: Vec<&str> = help.split_whitespace().collect();
    for promise in [
        "values of different text never make the same key",
        "the number 1 and the text 1 make one key",
        "--max-log-entries below the number of limits is too few for the sliding log",
        "zeros behind one are passed over",
    ] {
        assert!(help.join(" ").contains(promise), "{promise}");
    }
    let log = b"{\"at\": 0, \"a\": 1}\n{\"at\": 0, \"a\": \"1\"}\n";
    let out = good(&["-", "--limit", "10/s", "--key", "{a}/{a}"], log);
    assert_eq!(figures(&out, "keys"), ["1"]);
}

/// The names that an error lists are those that the help does.
#[test]
fn the_help_names_every_field_that_is_known() {
    let help = good(&["--help"], b"");
    let words: Vec<&str> =
        help.split_whitespace().map(|word| word.trim_end_matches([',', ';', '.'])).collect();
    let listed = |text: &str, from: &str| -> Vec<String> {
        let (_, list) = text.trim_end().split_once(from).unwrap_or_else(|| panic!("{text}"));
        list.split(", ").map(str::to_owned).collect()
    };
    let fields = refused(&[ACCESS_LOG, "--limit", "10/s", "--key", "{x}"], b"");
    let (_, _, times) = run(&["-", "--limit", "10/s"], b"{}\n");
    for (names, count) in
        [(listed(&fields, "there are "), 14), (listed(&times, "expected one of "), 10)]
    {
        assert_eq!(names.len(), count, "{names:?}");
        let missing: Vec<_> = names.iter().filter(|name| !words.contains(&name.as_str())).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

#[test]
fn csv_by_its_header() {
    let log = b"when,who,n\n2015-05-17T10:05:03Z,\"a,b\",3\n\"x\ny\",c,1\n1431857104,d,x\n";
    let args = ["-", "--format", "csv", "--limit", "10/s", "--time-field", "when"];
    let key = ["--key", "{who}", "--cost-field", "n"];
    let (code, out, words) = run(&[&args[..], &key, &["--decisions"]].concat(), log);
    assert_eq!((code, out.lines().count()), (0, 1));
    assert!(out.starts_with(r#"{"at_ns":1431857103000000000,"key":"a,b","cost":3,"#), "{out}");
    let expected = "\
bad line 3: when is `x\\ny`, expected a time like 2015-05-17T10:05:03Z, 17/May/2015:10:05:03 +0000 \
or 1431857103.25
bad line 5: n is `x`, expected a whole number from 0 to 18446744073709551615
";
    assert_eq!(words, expected);
    let words = refused(&args, log);
    assert!(words.contains("no column `key`; there are when, who, n; say which"), "{words}");
    // CSV is never guessed.
    let (_, out, words) = run(&["-", "--limit", "10/s"], b"at,key\n1,k\n");
    assert!(out.contains("  bad lines       2\n") && words.contains("the line is `at,key`"));
}

#[test]
fn times_by_their_unit() {
    let at = |args: &[&str], time: &str| {
        let log = format!("{{\"t\": {time}, \"key\": \"k\"}}\n");
        let all = [&["-", "--limit", "10/s", "--decisions", "--time-field", "t"], args].concat();
        let found: serde_json::Value = serde_json::from_str(&good(&all, log.as_bytes())).unwrap();
        found["at_ns"].as_u64().unwrap()
    };
    assert_eq!(at(&[], "1431857103"), 1_431_857_103_000_000_000);
    assert_eq!(at(&[], "1431857103000"), 1_431_857_103_000_000_000);
    assert_eq!(at(&["--time-unit", "ms"], "5.3"), 5_300_000);
    assert_eq!(at(&["--time-unit", "ns"], "1431857103"), 1_431_857_103);
    assert_eq!(at(&[], "\"2015-05-17 12:05:03.1+02:00\""), 1_431_857_103_100_000_000);
    let args = ["-", "--limit", "10/s"];
    for (more, part) in [
        (&["--time-unit", "m"][..], "s, ms, us, ns"),
        (&["--time-field", "at_ns", "--time-unit", "s"], "times in `at_ns` are in ns"),
        (&["--time-field", ""], "the time field has 0 bytes"),
        (&["--format", "combined", "--time-field", "t"], "there is no time field `t` to choose"),
    ] {
        let words = refused(&[&args[..], more].concat(), b"");
        assert!(words.contains(part), "{more:?}: {words}");
    }
}

#[test]
fn packed_logs_and_those_that_end_early() {
    let log = std::fs::read(ACCESS_LOG).unwrap();
    let (whole, limit) = (packed(&log), ["--limit", "10/min burst 20"]);
    let expected = include_str!("access-log-summary.txt");
    assert_eq!(good(&[&["-"], &limit[..]].concat(), &whole), expected);
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("access.log.gz");
    std::fs::write(&path, [&*whole, &packed(b"")].concat()).unwrap();
    assert_eq!(good(&[&[path.to_str().unwrap()], &limit[..]].concat(), b""), expected);
    let cut = &whole[..whole.len() - 9];
    let words = refused(&[&["-"], &limit[..]].concat(), cut);
    assert!(words.contains("at line ") && words.contains("the gzip data end early"), "{words}");
    let (code, out, _) = run(&[&["-", "--decisions"], &limit[..]].concat(), cut);
    assert!(code == 2 && out.lines().count() > 1900);
    let words = refused(&[&["-", "--algorithm", "all"], &limit[..]].concat(), cut);
    assert!(words.contains("the gzip data end early"), "{words}");
    // Bad lines before the end are shown as in a whole log.
    let bad = packed(&[&b"no line\n"[..], &log].concat());
    let cut = &bad[..bad.len() - 9];
    for more in [&[][..], &["--decisions"], &["--algorithm", "all"]] {
        let (code, _, words) = run(&[&["-"], &limit[..], more].concat(), cut);
        let (first, then) = words.split_once('\n').unwrap();
        assert!(code == 2 && first.starts_with("bad line 1: the user and the time"), "{words}");
        assert!(then.starts_with("error: ") && then.lines().count() == 1, "{words}");
    }
}

#[test]
fn more_or_fewer_of_the_most_denied_and_of_the_log() {
    let args = [ACCESS_LOG, "--limit", "10/min burst 20"];
    let kept = include_str!("access-log-summary.txt");
    let (before, after) = kept.split_once("\ntop denied keys\n").unwrap();
    let (rows, store) = after.split_once("\nstore\n").unwrap();
    let two: String = rows.split_inclusive('\n').take(3).collect();
    let expected = format!("{before}\ntop denied keys\n{two}\nstore\n{store}");
    assert_eq!(good(&[&args[..], &["--top", "2"]].concat(), b""), expected);
    let none = good(&[&args[..], &["--top", "0"]].concat(), b"");
    assert_eq!(none, format!("{before}\nstore\n{store}"));
    assert_eq!(good(&[&args[..], &["--top", "10000"]].concat(), b""), kept);

    let log = [ACCESS_LOG, "--limit", "10/min sliding-log", "--max-log-entries"];
    let out = good(&[&log[..], &["1500"]].concat(), b"");
    assert!(out.contains(" of at most 1500\n"), "{out}");
    for (args, part) in [
        ([&args[..], &["--top", "10001"]], "is 10001, expected 0 to 10000"),
        ([&args[..], &["--top", "-1"]], "expected a whole number"),
        ([&log[..], &["0"]], "max_log_entries is 0, expected 1 to"),
        ([&log[..], &["1.5"]], "expected a whole number"),
    ] {
        let words = refused(&args.concat(), b"");
        assert!(words.contains(part), "{args:?}: {words}");
    }
}
