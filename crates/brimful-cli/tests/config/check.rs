//! `brimful config check`.

use brimful_config::{Config, Syntax};
use serde_json::{Value, json};

use super::{folder, good, refused, run, run_bytes, unnamed, written};

const BAD: &str = r#"[default]
limit = "10/minn"

[polices.gold]
limit = "10/s"

[[exact]]
key = "a"
limit = "1/s"
blocked = true

[[pattern]]
match = "t:*"
limit = "1/s"

[[pattern]]
match = "t:*"
limit = "2/s"
"#;

/// Right, and probably not meant: a policy that nobody names, and a bucket that takes 23 days to fill.
const DOUBTFUL: &str =
    "[default]\nlimit = \"1 per 4000s burst 500\"\n\n[policies.gold]\nlimit = \"10/s\"\n";

fn objects(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_good_file_has_a_line_that_says_so() {
    assert_eq!(
        good(&["config", "check", "examples/limits.toml"], ""),
        "examples/limits.toml: good, with 5 rules and 2 policies, and 2 members\n"
    );
    let least = "default: {unlimited: true}";
    assert_eq!(
        good(&["config", "check", "-", "--syntax", "yaml"], least),
        "-: good, with 1 rule and 0 policies\n"
    );
}

#[test]
fn all_faults_are_told_each_with_its_place() {
    let (code, out, words) = run(&["config", "check", "-"], BAD);
    assert_eq!((code, &*words), (2, ""));
    // The words are those of the reader of rules.
    let error = Config::parse(BAD, Syntax::Toml, "-", None).unwrap_err();
    let faults: String = error.faults().iter().map(|fault| format!("error: {fault:#}\n")).collect();
    assert_eq!(out, format!("-: refused, for 4 faults\n{faults}"));
    let (places, shown) = (["2:13", "4:2", "10:1", "17:9"], out.lines());
    let heads: Vec<&str> = shown.filter(|line| line.starts_with("error: ")).collect();
    assert!(
        heads.iter().zip(places).all(|(head, at)| head.starts_with(&format!("error: -:{at}: ")))
    );
    assert!(out.contains(
        "error: -:2:13: unknown unit `minn`; did you mean `min`?
  limit = \"10/minn\"
              ^^^^
  expected one of ms, s, min, h, day, week, month, year; for example `100/min burst 20`
"
    ));
    // Both places of two that contradict each other.
    assert!(out.ends_with("\n  the first: -:13:9\n"), "{out}");
}

#[test]
fn warnings_do_not_make_a_file_bad_unless_strict() {
    let (code, out, words) = run(&["config", "check", "-"], DOUBTFUL);
    assert_eq!((code, &*words), (0, ""));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}");
    assert_eq!(lines[0], "-: good, with 1 rule and 1 policy");
    assert!(lines[1].starts_with("warning: -:2:9: ") && lines[1].ends_with("[slow-refill]"));
    assert!(lines[1].contains("0.00025/s"), "{out}");
    assert!(lines[2].starts_with("warning: -:4:") && lines[2].ends_with("[unused-policy]"));

    let (code, strict, words) = run(&["config", "check", "--strict", "-"], DOUBTFUL);
    assert_eq!((code, strict, &*words), (1, out, ""));
    good(&["config", "check", "--strict", "examples/limits.toml"], "");
}

#[test]
fn every_file_is_read_whatever_is_wrong_with_another() {
    let bad = written("check-every", "bad.toml", BAD);
    let doubtful = written("check-every", "doubtful.toml", DOUBTFUL);
    let files = [&*bad, "no/such.toml", &*doubtful, "examples/limits.toml"];
    let args = |more: &[&'static str]| -> Vec<String> {
        let all = ["config", "check"].iter().chain(more).chain(&files);
        all.map(|arg| (*arg).to_owned()).collect()
    };
    let args_of = |more: &[&'static str]| args(more);
    let check = |more: &[&'static str]| {
        let args = args_of(more);
        run(&args.iter().map(String::as_str).collect::<Vec<_>>(), "")
    };
    // A file that is refused counts for more than a warning.
    let (code, out, words) = check(&["--strict"]);
    assert_eq!((code, &*words), (2, ""));
    let verdict = |file: &str| out.contains(&format!("{file}: "));
    assert!(files.iter().all(|file| verdict(file)), "{out}");
    assert!(out.contains(
        "no/such.toml: refused, for 1 fault\nerror: no/such.toml: the file cannot be read: "
    ));

    let (code, out, words) = check(&["--json"]);
    assert_eq!((code, &*words), (2, ""));
    let goods: Vec<bool> = objects(&out).iter().map(|o| o["good"].as_bool().unwrap()).collect();
    assert_eq!(goods, [false, false, true, true]);
}

#[test]
fn it_is_json_too() {
    let (_, help, _) = run(&["config", "check", "--help"], "");
    let (code, out, words) = run(&["config", "check", "--json", "-"], BAD);
    assert_eq!((code, &*words), (2, ""));
    let [bad] = &objects(&out)[..] else { panic!("{out}") };
    assert_eq!(unnamed(bad, &help), [""; 0]);
    assert_eq!(
        (&bad["file"], &bad["good"], &bad["rules"]),
        (&json!("-"), &json!(false), &json!(null))
    );
    assert_eq!((bad["faults"].as_array().unwrap().len(), &bad["more_faults"]), (4, &json!(0)));
    let fault = &bad["faults"][3];
    assert_eq!((&fault["line"], &fault["column"]), (&json!(17), &json!(9)));
    assert_eq!(fault["found"], "the pattern `t:*` has two rules");
    let also = json!([{"what": "the first", "file": "-", "line": 13, "column": 9}]);
    assert_eq!(fault["also"], also);

    let out = good(&["config", "check", "--json", "-"], DOUBTFUL);
    let [doubtful] = &objects(&out)[..] else { panic!("{out}") };
    assert_eq!(unnamed(doubtful, &help), [""; 0]);
    assert_eq!((&doubtful["rules"], &doubtful["policies"]), (&json!(1), &json!(1)));
    assert_eq!((&doubtful["members"], &doubtful["faults"]), (&json!(0), &json!([])));
    let warning = &doubtful["warnings"][0];
    assert_eq!((&warning["line"], &warning["column"]), (&json!(2), &json!(9)));
    assert_eq!(warning["kind"], "slow-refill");
}

#[test]
fn files_of_members_are_named() {
    written("check-members", "gold.txt", "user:1\n# a comment\nuser:2\n");
    let text =
        "[default]\nlimit = \"1/s\"\n[tiers.gold]\nlimit = \"9/s\"\nmembers_file = \"gold.txt\"\n";
    let file = written("check-members", "limits.toml", text);
    let out = good(&["config", "check", &file], "");
    assert_eq!(out, format!("{file}: good, with 2 rules and 0 policies, and 2 members\n"));
    let [found] = &objects(&good(&["config", "check", "--json", &file], ""))[..] else { panic!() };
    let members = folder("check-members").join("gold.txt");
    assert_eq!(found["files"], json!([file, members]));
    // Of a file that is refused too, where one of them may be what is wrong.
    let refused = written("check-members", "refused.toml", text.replace("gold.txt", "none.txt"));
    let (code, out, _) = run(&["config", "check", "--json", &refused, "no/such.toml"], "");
    let [found, missing] = &objects(&out)[..] else { panic!("{out}") };
    let none = folder("check-members").join("none.txt");
    assert_eq!((code, &found["files"]), (2, &json!([refused, none])));
    assert_eq!((&missing["good"], &missing["files"]), (&json!(false), &json!(["no/such.toml"])));
    // Those that standard input names are looked for in the current folder.
    let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("brimful"));
    let command = command.current_dir(folder("check-members")).args(["config", "check", "-"]);
    let output = command.write_stdin(text).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(out, "-: good, with 2 rules and 0 policies, and 2 members\n");
}

#[test]
fn text_that_is_none() {
    let (code, out, words) = run_bytes(&["config", "check", "-"], b"[default]\nlimit = \"\xff\"\n");
    assert_eq!((code, &*words), (2, ""));
    assert!(out.contains("error: -:2:10: this is not UTF-8"), "{out}");
    // A control character of a file does not reach the terminal.
    let (_, out, _) = run(&["config", "check", "-"], "[default]\n\"\\u001b[2J\" = 1\n");
    assert!(!out.contains('\u{1b}'), "{out:?}");
}

#[test]
fn arguments_that_are_wrong() {
    for (args, part) in [
        (&["config", "check"][..], "<FILE>"),
        (&["config"], "Usage: brimful config <COMMAND>"),
        (&["config", "chek", "a.toml"], "similar subcommand"),
        (&["config", "check", "-", "--syntax", "json"], "toml, yaml"),
        (&["config", "check", "a.toml", "--syntax", "yaml"], "--syntax is for standard input"),
        (&["config", "check", "-", "-"], "standard input is named twice"),
    ] {
        let (code, out, words) = run(args, "");
        assert_eq!((code, &*out), (2, ""), "{args:?}: {words}");
        assert!(words.contains(part), "{args:?}: {words}");
    }
    refused(&["config", "check", "-", "-"], "");
}
