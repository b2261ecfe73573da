//! One log in every format, plain and packed, says the same; and what packed logs do when they are
//! damaged.

use std::fmt::Write as _;
use std::io::{self, Read, Write};

use brimful_lab::{Error, Format, MAX_LINE, Replay, Summary, combined};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/access.log");

fn replay() -> Replay {
    // The formats differ in how long they hold events back.
    Replay::new(brimful_lab::policy(&["10/min burst 20"], None).unwrap())
        .reorder(std::time::Duration::from_secs(60))
}

/// Runs a replay; the summary, and what it decided as JSON lines.
fn run(replay: Replay, log: impl Read) -> (Summary, String) {
    let mut out = Vec::new();
    let summary = replay.run(log, |decided| decided.write_json(&mut out)).unwrap();
    (summary, String::from_utf8(out).unwrap())
}

fn packed(log: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(log).unwrap();
    packer.finish().unwrap()
}

/// Gives one byte at a time.
struct Drip<'a>(&'a [u8]);

impl Read for Drip<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = into.len().min(1);
        self.0.read(&mut into[..count])
    }
}

/// The events of the example in another format, one a line.
fn rewritten(header: &str, line: impl Fn(&mut String, &str, u64, &str)) -> String {
    let log = std::fs::read(LOG).unwrap();
    let mut text = header.to_owned();
    for original in log.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        let event = combined::parse(original).unwrap();
        let from = original.iter().position(|b| *b == b'[').unwrap();
        let written = std::str::from_utf8(&original[from + 1..from + 27]).unwrap();
        line(&mut text, &event.key, event.at.as_nanos(), written);
    }
    text
}

#[test]
fn one_log_in_every_format_gives_the_same_decisions() {
    let combined = std::fs::read(LOG).unwrap();
    let (expected, decisions) = run(replay(), &*combined);
    assert!(expected.denied > 0);
    let plain = |text: &mut String, key: &str, ns: u64, _: &str| {
        writeln!(text, r#"{{"at_ns": {ns}, "key": "{key}"}}"#).unwrap();
    };
    let nested = |text: &mut String, key: &str, ns: u64, _: &str| {
        let ms = ns / 1_000_000;
        writeln!(text, r#"{{"key": 1, "c": {{"ip": "{key}"}}, "sent": {{"t": "{ms}.0"}}}}"#)
            .unwrap();
    };
    let dated = |text: &mut String, key: &str, _: u64, written: &str| {
        writeln!(text, r#"{{"time_local": "[{written}]", "key": "{key}"}}"#).unwrap();
    };
    let rows = |text: &mut String, key: &str, ns: u64, _: &str| {
        writeln!(text, "x,{}.000,\"{key}\"\r", ns / 1_000_000_000).unwrap();
    };
    let quoted = |text: &mut String, key: &str, _: u64, written: &str| {
        writeln!(text, "\"{written}\",{key}").unwrap();
    };
    let nested_fields = || replay().key("{c.ip}".parse().unwrap()).time_field("sent.t");
    let csv = || replay().format(Format::Csv);
    let logs = [
        (replay(), rewritten("", plain)),
        (nested_fields(), rewritten("", nested)),
        (replay(), rewritten("", dated)),
        // The header is line 1, so the decisions are one line further on.
        (csv(), rewritten("a,Time,key\n", rows)),
        (csv().key("{who}".parse().unwrap()), rewritten("timestamp,who\n", quoted)),
        (replay().key("{remote_addr}".parse().unwrap()), String::from_utf8(combined).unwrap()),
    ];
    for (place, (replay, log)) in logs.into_iter().enumerate() {
        let whole = packed(log.as_bytes());
        let (first, second) = log.as_bytes().split_at(log.len() / 3);
        let members = [packed(first), packed(b""), packed(second)].concat();
        for log in [log.as_bytes(), &whole, &members] {
            let (mut found, shifted) = run(replay.clone(), log);
            assert_eq!(found.bad_lines.count, 0, "{place}");
            let header = u64::from(found.format == Some(Format::Csv));
            assert_eq!(found.lines, expected.lines + header);
            let lines = |text: &str, less: u64| -> Vec<String> {
                let parts = text.lines().map(|line| line.rsplit_once(':').unwrap());
                parts
                    .map(|(rest, number)| {
                        let number: u64 = number.trim_end_matches('}').parse().unwrap();
                        format!("{rest}:{}", number - less)
                    })
                    .collect()
            };
            assert!(lines(&shifted, header) == lines(&decisions, 0), "decisions differ: {place}");
            (found.format, found.lines) = (expected.format, expected.lines);
            assert_eq!(found, expected, "{place}");
        }
    }
}

#[test]
fn a_packed_log_that_ends_early_is_a_fault_after_what_could_be_read() {
    let log = std::fs::read(LOG).unwrap();
    let whole = packed(&log);
    let mut late = 0;
    for end in [2, 3, 9, 10, 11, 100, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let mut out = Vec::new();
        let fault =
            replay().run(&whole[..end], |decided| decided.write_json(&mut out)).unwrap_err();
        let source = std::error::Error::source(&fault).unwrap().to_string();
        assert!(fault.is_read() && source.contains("gzip data end early"), "{end}: {source}");
        // All whole lines before are decided, those too that were held back to be put in order.
        let found = String::from_utf8(out).unwrap();
        let count = found.lines().count();
        assert_eq!(fault.to_string(), format!("the log cannot be read at line {}", count + 1));
        let before: Vec<u8> =
            log.split_inclusive(|b| *b == b'\n').take(count).flatten().copied().collect();
        assert!(run(replay(), &*before).1 == found, "{end}");
        late += usize::from(count > 100);
    }
    assert!(late >= 3, "of a log cut short late, hardly anything was read");
}

#[test]
fn packed_data_that_are_damaged_are_a_fault() {
    let whole = packed(&std::fs::read(LOG).unwrap());
    let fault = |log: &[u8]| -> Error { replay().run(log, |_| Ok(())).unwrap_err() };
    let mut sum = whole.clone();
    let at = sum.len() - 5;
    sum[at] ^= 1;
    let mut inside = whole.clone();
    inside[20] ^= 0xff;
    for log in [&*sum, &inside, b"\x1f\x8bx"] {
        let fault = fault(log);
        let source = std::error::Error::source(&fault).unwrap().to_string();
        assert!(fault.is_read() && source.contains("the gzip data "), "{source}");
    }
    // What is packed twice, or otherwise, is refused with a hint.
    for (log, words) in [
        (packed(&whole), "the log is gzip data; unpack it first: `gzip -dc FILE | …`"),
        (packed(b"\x28\xb5\x2f\xfd\x00"), "the log is zstd data"),
    ] {
        assert!(fault(&log).to_string().starts_with(words));
    }
}

#[test]
fn what_follows_packed_data() {
    let log = std::fs::read(LOG).unwrap();
    let (whole, (expected, _)) = (packed(&log), run(replay(), &*log));
    // Zeros fill a block or a tape up, and more members may follow them.
    let zeros = vec![0; 70_000];
    let (first, second) = log.split_at(log.len() / 3);
    let apart = [&*packed(first), b"\0", &packed(second), &zeros].concat();
    for log in [&[&*whole, b"\0"].concat(), &[&*whole, &zeros].concat(), &apart] {
        assert_eq!(run(replay(), &**log).0, expected);
        assert_eq!(run(replay(), Drip(log)).0, expected);
    }
    for (behind, part) in [
        (&b"x"[..], "something that is not gzip follows the gzip data"),
        (b"not packed\n", "something that is not gzip"),
        (b"\x1f\x8a", "something that is not gzip"),
        (b"\x8b\x1f", "something that is not gzip"),
        (b"\0\0x", "something that is not gzip"),
        (b"\x1f", "the gzip data end early"),
        (b"\0\x1f\x8b\x08", "the gzip data end early"),
        (b"\x1f\x8b is no header", "the gzip data are damaged"),
    ] {
        let mut count = 0;
        let log = [&*whole, behind].concat();
        let fault = replay()
            .run(&*log, |_| {
                count += 1;
                Ok(())
            })
            .unwrap_err();
        let source = std::error::Error::source(&fault).unwrap().to_string();
        assert!(fault.is_read() && source.contains(part), "{behind:?}: {source}");
        // All that was packed is decided.
        assert_eq!(count, expected.requests, "{behind:?}");
    }
}

#[test]
fn a_packed_log_of_one_endless_line_is_read_in_bounded_memory() {
    // 300 MiB of one line, in some 300 KiB.
    struct Same(u64);
    impl Read for Same {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = into.len().min(usize::try_from(self.0).unwrap());
            into[..count].fill(b'x');
            self.0 -= count as u64;
            Ok(count)
        }
    }
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    io::copy(&mut Same(300 << 20), &mut packer).unwrap();
    packer.write_all(b"\nh - - [17/May/2015:10:05:03 +0000] \"-\" 200 1\n").unwrap();
    let bomb = packer.finish().unwrap();
    assert!(bomb.len() < 4 << 20);
    let (summary, _) = run(replay().format(Format::Combined), &*bomb);
    assert_eq!((summary.lines, summary.requests, summary.bad_lines.count), (2, 1, 1));
    let words = format!("the line is longer than {MAX_LINE} bytes");
    assert_eq!(summary.bad_lines.first[0].reason, words);
    // A CSV row that never ends is as bounded.
    let (summary, _) = run(
        replay().format(Format::Csv),
        (&b"at,key\n1,\"open\n"[..]).chain(&*vec![b'\n'; 3 * MAX_LINE]).chain(&b"2,k\n"[..]),
    );
    assert_eq!((summary.requests, summary.bad_lines.count), (1, 1));
}

#[test]
fn fields_that_no_log_of_a_format_has_are_a_fault_before_anything_is_read() {
    struct Untouched;
    impl Read for Untouched {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("was read"))
        }
    }
    let key = |key: &str| key.parse().unwrap();
    for (replay, part) in [
        (replay().format(Format::Combined).key(key("{pat}")), "no field `pat`"),
        (replay().format(Format::Combined).time_field("t"), "no time field `t`"),
        (replay().format(Format::Combined).time_unit(brimful_lab::TimeUnit::Millis), "no unit"),
        (replay().format(Format::Combined).cost_field("n"), "no cost field `n`"),
        (replay().time_field("at_ns").time_unit(brimful_lab::TimeUnit::Millis), "are in ns"),
        (replay().cost_field(""), "the cost field has 0 bytes, expected 1 to 256"),
        (replay().top(Replay::MAX_TOP + 1), "is 10001, expected 0 to 10000"),
    ] {
        let fault = replay.run(Untouched, |_| Ok(())).unwrap_err();
        assert!(fault.is_usage() && fault.to_string().contains(part), "{fault}");
    }
    // Where the first line tells the format, after that.
    let line = "h - - [17/May/2015:10:05:03 +0000] \"-\" 200 1\n";
    let fault = replay().key(key("{pat}")).run(line.as_bytes(), |_| Ok(())).unwrap_err();
    assert!(fault.is_usage(), "{fault}");
}

/// A log is written by strangers: what they write is shown, but never all of a long line.
#[test]
fn reasons_and_faults_are_short_whatever_is_in_a_log() {
    let long = "\u{202e}é\u{1b}x".repeat(10_000);
    let json = |text: &str| serde_json::Value::from(text).to_string();
    let (text, csv) = (json(&long), || replay().format(Format::Csv));
    let jsonl = || replay().format(Format::Jsonl);
    let inner = || jsonl().key("{a.b} {c}".parse().unwrap());
    let fields = [
        long.clone(),
        text.clone(),
        format!("[{text}]"),
        format!("{{{text}: 1}}"),
        format!(r#"{{"at": {text}, "key": "k"}}"#),
        format!(r#"{{"at_ns": {text}, "key": "k"}}"#),
        format!(r#"{{"at": 1, "key": [{text}]}}"#),
        format!(r#"{{"at": 1, "key": "k", "op": {text}}}"#),
        format!(r#"{{"at": 1, "key": "k", "cost": {text}}}"#),
        format!(r#"{{"at": 1{}, "key": "k"}}"#, "0".repeat(500_000)),
        format!(r#"{{"at": 1, "key": {text}k"#),
        format!(r#"{{"at": 1, "key": "\ud800{}"}}"#, "x".repeat(500_000)),
    ];
    let mut logs: Vec<(Replay, String)> =
        fields.iter().map(|line| (jsonl(), line.clone())).collect();
    for value in [&text, &format!("[{text}]"), &format!("{{{text}: {text}}}")] {
        logs.push((inner(), format!(r#"{{"at": 1, "a": {value}, "c": 1}}"#)));
        logs.push((inner(), format!(r#"{{"at": 1, "a": {{"b": {value}}}, "c": {value}}}"#)));
    }
    for row in [format!("{long},k,1,"), format!("1,k,{long},"), format!("1,k,1,{long}")] {
        logs.push((csv(), format!("at,key,cost,op\n{row}\n")));
    }
    let time = "[17/May/2015:10:05:03 +0000]";
    for line in [
        long.clone(),
        format!("h - - [{long}] \"-\" 200 1"),
        format!("h - - {time} \"{long}\" {long} 1"),
        format!("h - - {time} \"-\" 200 {long}"),
        format!("h - - {time} \"{long}\" 200 1 {long}"),
    ] {
        let key = || replay().key("{method} {user_agent}".parse().unwrap());
        logs.push((key().format(Format::Combined), line));
    }
    let mut bad = 0;
    for (replay, log) in logs {
        let (summary, _) = run(replay, log.as_bytes());
        bad += summary.bad_lines.count;
        for line in summary.bad_lines.first {
            assert!(!line.reason.contains("is longer than"), "{}", line.reason);
            assert!(line.reason.len() < 700, "{} bytes", line.reason.len());
            assert!(!line.reason.contains(['\u{202e}', '\u{1b}']), "{}", line.reason);
        }
    }
    assert_eq!(bad, 25);
    // The names of columns are in an error.
    for header in [format!("{long},{long}"), format!("at,{long}"), format!("at,at_ns,{long}")] {
        let words = csv().run(header.as_bytes(), |_| Ok(())).unwrap_err().to_string();
        assert!(words.len() < 700, "{} bytes", words.len());
    }
}

/// Seconds, key, cost, and what is asked for.
type Ask = (u64, String, u64, &'static str);

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    let op = prop::sample::select(&["acquire", "acquire", "acquire", "peek", "refund"][..]);
    prop::collection::vec((0..300_u64, "[a-c\",\n\\\\é\u{feff}]{1,2}", 0..6_u64, op), 1..60)
}

proptest! {
    /// The same events in every format, plain and packed, and under each algorithm alone and side by
    /// side.
    #[test]
    fn the_same_events_are_the_same_log(asks in asks()) {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut csv = "cost,key,at,op\n".to_owned();
        // The blank lines stand for the header, and for the other lines of a row.
        let (mut plain, mut nested) = ("\n".to_owned(), "\n".to_owned());
        for (at, key, cost, op) in &asks {
            let blank = "\n".repeat(1 + key.matches('\n').count());
            let (ns, ms) = (at * 1_000_000_000, at * 1_000);
            writeln!(csv, "{cost},{},{at},{op}", quoted(key)).unwrap();
            let event = serde_json::json!({"at_ns": ns, "key": key, "cost": cost, "op": op});
            plain += &format!("{event}{blank}");
            let event = serde_json::json!({"e": {"t_ms": ms, "k": key}, "n": cost.to_string(), "op": op});
            nested += &format!("{event}{blank}");
        }
        let span = std::time::Duration::from_secs(20);
        let limits = ["10/min", "40/h"];
        let base = || {
            Replay::new(brimful_lab::policy_of_any_algorithm(&limits).unwrap()).reorder(span)
        };
        let (expected, decisions) = run(base(), plain.as_bytes());
        prop_assert_eq!(expected.bad_lines.count, 0);
        let other = || base().key("{e.k}".parse().unwrap()).time_field("e.t_ms").cost_field("n");
        for (replay, log) in [(other(), &nested), (base().format(Format::Csv), &csv)] {
            for log in [log.as_bytes(), &packed(log.as_bytes())] {
                let (mut found, same) = run(replay.clone(), log);
                prop_assert_eq!(&same, &decisions);
                (found.format, found.lines) = (expected.format, expected.lines);
                prop_assert_eq!(&found, &expected);
            }
        }
        let all = base().run_all(plain.as_bytes()).unwrap();
        for summary in &all.summaries {
            let alone = Replay::new(summary.policy.clone().unwrap()).reorder(span);
            prop_assert_eq!(summary, &run(alone, plain.as_bytes()).0);
        }
    }

    /// Whatever is in a log, plain or packed or neither, and whatever is asked for, there is a
    /// summary or an error.
    #[test]
    fn any_bytes_in_any_format(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        text in r#"(\{"at":|1|,|"key":"k"|\}|\n|at,key|h - - \[17/May/2015:10:05:03 \+0000\] "GET / HTTP/1.1" 200 1| ){0,30}"#,
        format in 0..4_usize,
        key in "[{]?(key|path|k)[}]?[{]?",
        pack in any::<bool>(),
    ) {
        for log in [bytes, text.into_bytes()] {
            let mut replay = replay();
            if let Some(format) = Format::ALL.get(format) {
                replay = replay.format(*format);
            }
            if let Ok(template) = key.parse() {
                replay = replay.key(template);
            }
            let log = if pack { packed(&log) } else { log };
            let _ = replay.clone().run(&*log, |_| Ok(()));
            let _ = replay.run([b"\x1f\x8b\x08\x00", &*log].concat().as_slice(), |_| Ok(()));
        }
    }
}
