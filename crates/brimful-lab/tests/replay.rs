//! What a replay makes of whole logs.

use std::io::{self, Read};
use std::time::Duration;

use brimful::Overflow;
use brimful_lab::{Error, Format, MAX_LINE, Replay, Summary};

fn ten_a_second() -> Replay {
    Replay::new(brimful_lab::policy(&["10/s burst 100"], None).unwrap())
}

/// Runs a replay; the summary, and what it decided as JSON lines.
fn run(replay: Replay, log: impl AsRef<[u8]>) -> (Summary, String) {
    let mut out = Vec::new();
    let summary = replay.run(log.as_ref(), |decided| decided.write_json(&mut out)).unwrap();
    (summary, String::from_utf8(out).unwrap())
}

fn fault(replay: Replay, log: impl Read) -> Error {
    replay.run(log, |_| Ok(())).unwrap_err()
}

/// The numbers of the lines in the order in which they were decided.
fn order(decisions: &str) -> Vec<u64> {
    let lines = decisions.lines().map(|json| json.split_once("\"line\":").unwrap().1);
    lines.map(|rest| rest[..rest.find([',', '}']).unwrap()].parse().unwrap()).collect()
}

fn at(seconds: &[u64]) -> String {
    let lines = seconds.iter().map(|at| format!("{{\"at\": {at}, \"key\": \"k\"}}\n"));
    lines.collect()
}

#[test]
fn the_first_line_tells_the_format_unless_it_is_told() {
    const COMBINED: &str = "h - - [17/May/2015:10:05:03 +0000] \"-\" 200 1\n";
    let json = at(&[1]);
    for (log, format) in [(COMBINED, Format::Combined), (&json, Format::Jsonl)] {
        let (summary, _) = run(ten_a_second(), format!("\n \t\r\n{log}"));
        assert_eq!((summary.format, summary.requests), (Some(format), 1));
        assert_eq!((summary.lines, summary.bad_lines.count), (3, 0));
        assert_eq!(u128::from(summary.reorder_ns), format.usual_reorder().as_nanos());
    }
    let (summary, _) = run(ten_a_second().format(Format::Jsonl), COMBINED);
    assert_eq!((summary.requests, summary.bad_lines.count), (0, 1));
}

#[test]
fn an_empty_log_gives_zeros() {
    for log in ["", "\n\n", "\u{feff}"] {
        let (summary, decisions) = run(ten_a_second(), log);
        assert_eq!((summary.requests, summary.keys, summary.denied), (0, 0, 0));
        assert_eq!((summary.format, summary.span, summary.busiest), (None, None, None));
        assert_eq!(decisions, "");
        assert!(summary.to_string().contains("denied            0    0.0%\n"));
    }
}

#[test]
fn line_ends_and_a_byte_order_mark_do_not_matter() {
    let log = format!("\u{feff}{}", at(&[1, 2]).replace('\n', "\r\n"));
    let (summary, _) = run(ten_a_second(), log);
    assert_eq!((summary.requests, summary.bad_lines.count), (2, 0));
    // The mark is one at the beginning of the log alone.
    let log = "\u{feff}key,at\n\u{feff}a,1\na,1\n";
    let (summary, _) = run(ten_a_second().format(Format::Csv), log);
    assert_eq!((summary.requests, summary.keys, summary.bad_lines.count), (2, 2, 0));
}

#[test]
fn bad_lines_are_counted_and_the_first_five_kept() {
    let bad = r#"{"at_ns": 1, "key": "k", "cost": -1}"#;
    let long = format!(r#"{{"at_ns": 1, "key": "{}"}}"#, "k".repeat(MAX_LINE));
    let log = format!("{}{bad}\n{long}\n{}{}", at(&[1]), format!("{bad}\n").repeat(9), at(&[1]));
    let (summary, decisions) = run(ten_a_second(), log);
    assert_eq!((summary.lines, summary.requests, summary.bad_lines.count), (13, 2, 11));
    let first = &summary.bad_lines.first;
    assert_eq!(first.iter().map(|bad| bad.line).collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
    let words = "cost is `-1`, expected a whole number from 0 to 18446744073709551615";
    assert_eq!(first[0].reason, words);
    assert_eq!(first[1].reason, "the line is longer than 1048576 bytes");
    assert_eq!(order(&decisions), [1, 13]);
    // A key is counted by its good events alone.
    assert_eq!(summary.keys, 1);
}

#[test]
fn lines_out_of_order_are_put_in_order_within_the_buffer() {
    let log = at(&[100, 90, 100, 130, 89, 131, 121, 122]);
    let replay = || ten_a_second().reorder(Duration::from_secs(10));
    let (summary, decisions) = run(replay(), &log);
    // Line 5 comes when 100 has been decided. Line 7, exactly 10 s behind, does not wait.
    assert_eq!(order(&decisions), [2, 1, 3, 5, 7, 8, 4, 6]);
    assert_eq!((summary.disorder.lines, summary.disorder.most_ns), (3, 41_000_000_000));
    assert_eq!((summary.disorder.late, summary.disorder.released_early), (1, 0));

    let (summary, decisions) = run(replay().reorder(Duration::ZERO), &log);
    assert_eq!(order(&decisions), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!((summary.disorder.lines, summary.disorder.late), (3, 4));

    let (summary, _) = run(replay().reorder(Duration::from_secs(60)).max_held(2), &log);
    assert!(summary.disorder.released_early > 0);
}

#[test]
fn looks_and_refunds() {
    let log = r#"{"at_ns": 0, "key": "k", "cost": 64}
{"at_ns": 0, "key": "k", "cost": 37}
{"at_ns": 0, "key": "k", "cost": 36, "op": "peek"}
{"at_ns": 0, "key": "k", "cost": 4, "op": "refund"}
{"at_ns": 0, "key": "k", "cost": 100, "op": "refund"}
{"at_ns": 0, "key": "new", "cost": 5, "op": "refund"}
{"at_ns": 0, "key": "k", "cost": 101}
{"at_ns": 0, "key": "k", "cost": 0}
"#;
    let expected = r#"{"at_ns":0,"key":"k","cost":64,"allowed":true,"remaining":36,"retry_after_ns":null,"never":false,"reset_after_ns":6400000000,"policy":"default","limit":"10/s burst 100","line":1}
{"at_ns":0,"key":"k","cost":37,"allowed":false,"remaining":36,"retry_after_ns":100000000,"never":false,"reset_after_ns":6400000000,"policy":"default","limit":"10/s burst 100","line":2}
{"at_ns":0,"key":"k","cost":36,"allowed":true,"remaining":0,"retry_after_ns":null,"never":false,"reset_after_ns":10000000000,"policy":"default","limit":"10/s burst 100","line":3,"op":"peek"}
{"at_ns":0,"key":"k","cost":4,"allowed":true,"remaining":40,"retry_after_ns":null,"never":false,"reset_after_ns":6000000000,"policy":"default","limit":"10/s burst 100","line":4,"op":"refund","refunded":4}
{"at_ns":0,"key":"k","cost":100,"allowed":true,"remaining":100,"retry_after_ns":null,"never":false,"reset_after_ns":0,"policy":"default","limit":"10/s burst 100","line":5,"op":"refund","refunded":60}
{"at_ns":0,"key":"new","cost":5,"allowed":true,"remaining":100,"retry_after_ns":null,"never":false,"reset_after_ns":0,"policy":"default","limit":"10/s burst 100","line":6,"op":"refund","refunded":0}
{"at_ns":0,"key":"k","cost":101,"allowed":false,"remaining":100,"retry_after_ns":null,"never":true,"reset_after_ns":0,"policy":"default","limit":"10/s burst 100","line":7}
{"at_ns":0,"key":"k","cost":0,"allowed":true,"remaining":100,"retry_after_ns":null,"never":false,"reset_after_ns":0,"policy":"default","limit":"10/s burst 100","line":8}
"#;
    let (summary, decisions) = run(ten_a_second(), log);
    assert_eq!(decisions, expected);
    assert_eq!((summary.requests, summary.admitted, summary.denied), (4, 2, 2));
    assert_eq!((summary.denied_never, summary.peeks, summary.refunds), (1, 1, 3));
    assert_eq!((summary.refunded_tokens, summary.keys), (64, 2));
}

#[test]
fn hints_beyond_64_bits_are_exact() {
    // An empty bucket of 10^12 tokens at one in 365 days is full after 10^12 * 365 days.
    let replay = Replay::new(brimful_lab::policy(&["1/year burst 1000000000"], None).unwrap());
    let (_, decisions) = run(replay, r#"{"at_ns": 0, "key": "k", "cost": 1000000000}"#);
    let full = 1_000_000_000_u128 * 365 * 86_400 * 1_000_000_000;
    assert!(full > u128::from(u64::MAX));
    assert!(decisions.contains(&format!("\"reset_after_ns\":{full},")), "{decisions}");
}

#[test]
fn any_key_is_written_as_json_that_reads_back() {
    for key in ["", "a\"b\\c", "\n\u{0}\u{1b}", "\u{7f}é🦀\u{2028}", "k"] {
        let log = serde_json::json!({"at_ns": 1, "key": key}).to_string();
        let (_, decisions) = run(ten_a_second(), log);
        let found: serde_json::Value = serde_json::from_str(&decisions).unwrap();
        assert_eq!(found["key"], key, "{decisions}");
        assert_eq!(decisions.lines().count(), 1);
    }
}

#[test]
fn policies_that_are_words() {
    let log = at(&[1]);
    let word = |word: &str| Replay::new(brimful_lab::policy(&[word], None).unwrap());
    let (_, decisions) = run(word("unlimited"), &log);
    assert!(decisions.contains(r#""allowed":true,"remaining":null,"#), "{decisions}");
    assert!(decisions.contains(r#""limit":null,"#), "{decisions}");
    let (summary, decisions) = run(word("blocked"), &log);
    assert!(decisions.contains(r#""retry_after_ns":null,"never":true,"#), "{decisions}");
    assert_eq!((summary.denied, summary.denied_never), (1, 1));
}

#[test]
fn a_full_store_does_what_it_was_told() {
    let log: String =
        (0..400).map(|key| format!("{{\"at_ns\": 0, \"key\": \"{key}\"}}\n")).collect();
    let small = |overflow| ten_a_second().max_keys(50).overflow(overflow);
    let (evict, _) = run(small(Overflow::Evict), &log);
    assert!(evict.denied == 0 && evict.store.evicted_forced > 0);
    let (refuse, decisions) = run(small(Overflow::Refuse), &log);
    assert!(refuse.denied > 300 && refuse.store.store_full == refuse.denied);
    assert!(decisions.contains(r#""remaining":0,"#) && decisions.contains(r#""limit":null,"#));
    let (share, _) = run(small(Overflow::Share), &log);
    assert!(share.denied > 0 && share.store.shared > 0);
}

/// Even where keys compete for slots, and which of them lose hangs on the hash of the keys.
#[test]
fn the_same_log_has_the_same_answer() {
    let event = |n: u64| {
        let (key, cost) = (n * 7 % 4_001, 51 + n * 37 % 50);
        format!("{{\"at_ns\": 0, \"key\": \"{key}\", \"cost\": {cost}}}\n")
    };
    let log: String = (0..16_000).map(event).collect();
    let replay = || ten_a_second().max_keys(1_000);
    let (summary, decisions) = run(replay(), &log);
    assert!(summary.store.evicted_forced > 0 && summary.denied > 0);
    assert_eq!(run(replay(), &log), (summary, decisions));
}

#[test]
fn what_cannot_be_read() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("bad sector"))
        }
    }
    let log = format!("x\n{}", at(&[1, 2]));
    let found = fault(ten_a_second().format(Format::Jsonl), log.as_bytes().chain(Fails));
    assert!(found.is_read() && !found.is_write());
    assert_eq!(found.to_string(), "the log cannot be read at line 4");
    let bad = found.bad_lines().unwrap();
    assert_eq!((bad.count, bad.first[0].line), (1, 1));
    let usage = fault(ten_a_second().cost_field(""), log.as_bytes());
    assert!(usage.is_usage() && usage.bad_lines().is_none());
    let packed = [
        (&b"\x28\xb5\x2f\xfd\x00"[..], "zstd"),
        (b"\xfd7zXZ\0", "xz"),
        (b"BZh91AY&SY", "bzip2"),
        (b"BZh11AY&SY\0", "bzip2"),
        (b"BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0", "bzip2"),
    ];
    for (magic, kind) in packed {
        let found = fault(ten_a_second(), magic);
        assert!(found.is_read() && found.to_string().contains(kind), "{found}");
    }
    // A host may be called so.
    for host in ["BZh", "BZh91AY", "BZh01AY&SY", "BZh91AY&SZ"] {
        let log = format!("{host} - - [17/May/2015:10:05:03 +0000] \"-\" 200 1\n");
        assert_eq!(run(ten_a_second(), log).0.requests, 1, "{host}");
    }
}

/// Only what has a sliding log takes memory for its entries.
#[test]
fn log_entries_are_for_logs_alone() {
    let log = at(&[1]);
    let policy = |specs: &[&str]| brimful_lab::policy(specs, None).unwrap();
    let bytes = |replay: Replay| run(replay, &log).0.store.bytes;
    for (specs, more) in [
        (&["10/s"][..], false),
        (&["10/s fixed-window", "9/min sliding-window"], false),
        (&["10/s", "9/min sliding-log"], true),
    ] {
        let replay = || Replay::new(policy(specs)).max_keys(1_000);
        let (without, with) = (bytes(replay()), bytes(replay().max_log_entries(100_000)));
        assert_eq!(with > without, more, "{specs:?}: {without} {with}");
    }
    let all = || Replay::new(policy(&["10/s"])).max_keys(1_000);
    let bytes = |replay: Replay| -> Vec<u64> {
        let all = replay.run_all(log.as_bytes()).unwrap();
        all.summaries.iter().map(|summary| summary.store.bytes).collect()
    };
    let (without, with) = (bytes(all()), bytes(all().max_log_entries(100_000)));
    let more: Vec<bool> = with.iter().zip(&without).map(|(with, without)| with > without).collect();
    assert_eq!(more, [false, false, true, false], "{without:?} {with:?}");
    assert!((0..4).all(|place| more[place] || with[place] == without[place]));
}

#[test]
fn what_cannot_be_built_or_written() {
    for max_keys in [0, u64::MAX] {
        let found = fault(ten_a_second().max_keys(max_keys), io::empty());
        assert!(found.is_limit(), "{found}");
    }
    let log = at(&[1]);
    for (kind, quiet) in [(io::ErrorKind::BrokenPipe, true), (io::ErrorKind::StorageFull, false)] {
        let found = ten_a_second().run(log.as_bytes(), |_| Err(kind.into())).unwrap_err();
        assert_eq!((found.is_write(), found.is_broken_pipe()), (true, quiet));
    }
}

#[test]
fn the_most_denied_under_any_algorithm_come_first() {
    let event = |at: u64, key: &str| format!("{{\"at\": {at}, \"key\": \"{key}\"}}\n");
    let times = [
        ("e", &[0, 0, 0, 30][..]),
        ("d", &[0, 0]),
        ("b", &[0, 0]),
        ("c", &[0, 0, 0, 0]),
        ("z", &[0]),
        ("a", &[50, 70]),
    ];
    let events = times.iter().flat_map(|(key, times)| times.iter().map(|at| event(*at, key)));
    let log: String = events.collect();
    let policy = brimful_lab::policy_of_any_algorithm(&["1/min burst 2"]).unwrap();
    let replay = || Replay::new(policy.clone()).reorder(Duration::from_secs(60));
    let all = replay().run_all(log.as_bytes()).unwrap();
    let rows = all.top_denied.iter().map(|row| (&*row.key, row.requests, row.denied.clone()));
    let expected = [
        ("c", 4, vec![2, 3, 3, 3]),
        ("e", 4, vec![2, 3, 3, 3]),
        ("b", 2, vec![0, 1, 1, 1]),
        ("d", 2, vec![0, 1, 1, 1]),
        // As often under one of them, but less often in all.
        ("a", 2, vec![0, 0, 1, 1]),
    ];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
    assert_eq!(replay().top(1).run_all(log.as_bytes()).unwrap().top_denied.len(), 1);
}

#[test]
fn a_busiest_second_in_parts_is_said_side_by_side_too() {
    let mut log = at(&(0..20_000).collect::<Vec<_>>());
    let text = |log: &str| {
        let policy = brimful_lab::policy_of_any_algorithm(&["1/min"]).unwrap();
        Replay::new(policy).run_all(log.as_bytes()).unwrap().to_string()
    };
    assert!(!text(&log).contains("in parts"));
    log += &at(&[0, 0, 0]);
    let found = text(&log);
    let words = "busiest second    1970-01-01T00:00:00Z: 3 requests\n                  \
                 1 second may be counted in parts\n  admitted ";
    assert!(found.contains(words), "{found}");
}
