//! One line in each format.

use brimful::Nanos;
use brimful_lab::{Event, Reason, combined, jsonl};

use super::is_harmless;

pub(super) fn check(line: &[u8]) {
    let json = jsonl::parse(line);
    explained(&combined::parse(line));
    explained(&json);
    if let Ok(event) = &json {
        both_ways(line, event);
    }
    if let Ok(text) = std::str::from_utf8(line) {
        times(text);
    }
}

fn explained(read: &Result<Event<'_>, Reason>) {
    match read {
        Ok(event) => assert!(event.at <= Nanos::MAX),
        Err(reason) => {
            let reason = reason.to_string();
            assert!(!reason.is_empty() && reason.chars().count() < 1_000, "{reason}");
            assert!(is_harmless(&reason) && !reason.contains('\n'), "{reason:?}");
        }
    }
}

/// With one more field, which has an escape in its name, a line is read the long way: to the same
/// event.
fn both_ways(line: &[u8], event: &Event<'_>) {
    let Some(end) = line.iter().rposition(|byte| *byte == b'}') else {
        panic!("no object: {:?}", line.escape_ascii().to_string());
    };
    let (object, behind) = line.split_at(end);
    let longer = [object, br#","\u007a\u007a":[{"key":1}]"#, behind].concat();
    let again = jsonl::parse(&longer);
    assert_eq!(again.as_ref(), Ok(event), "{:?}", longer.escape_ascii().to_string());
}

/// A time means the same in a combined log, in JSON, and as the ISO form that says the same.
fn times(text: &str) {
    if text.contains(['"', '\\', '[', ']']) || text.contains(char::is_control) {
        return;
    }
    let in_json = |field: &str, text: &str| {
        let line = format!(r#"{{"{field}":"{text}","key":"k"}}"#);
        jsonl::parse(line.as_bytes()).map(|event| event.at).map_err(|reason| reason.to_string())
    };
    let line = format!("h - - [{text}] \"GET / HTTP/1.1\" 200 1");
    if let Ok(event) = combined::parse(line.as_bytes()) {
        for field in ["time_local", "at", "time"] {
            assert_eq!(in_json(field, text), Ok(event.at), "{text}");
        }
        assert_eq!(in_json("timestamp", &iso(text)), Ok(event.at), "{text}");
    }
    // Whatever the form, its nanoseconds say the same.
    for field in ["at", "timestamp"] {
        if let Ok(at) = in_json(field, text) {
            let ns = at.as_nanos();
            let decimal = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
            assert_eq!(in_json("at", &decimal), Ok(at), "{text}");
            let line = format!(r#"{{"at_ns":{ns},"key":"k"}}"#);
            assert_eq!(jsonl::parse(line.as_bytes()).map(|event| event.at), Ok(at), "{text}");
        }
    }
}

/// `17/May/2015:10:05:03 +0000` as `2015-05-17T10:05:03+00:00`.
fn iso(text: &str) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS.iter().position(|name| *name == &text[3..6]).expect("a month") + 1;
    let (day, year, time) = (&text[..2], &text[7..11], &text[12..20]);
    let (hours, minutes) = (&text[21..24], &text[24..26]);
    format!("{year}-{month:02}-{day}T{time}{hours}:{minutes}")
}
