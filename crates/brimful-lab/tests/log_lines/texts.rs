//! What people tell a replay in writing.

use std::collections::BTreeSet;

use brimful_lab::{
    Error, Format, Replay, Template, TimeUnit, parse_span, policy, policy_of_any_algorithm,
};

/// Any text in place of each option: it is read, or the fault is explained.
pub(super) fn check(text: &str) {
    match text.parse::<Template>() {
        Err(fault) => explained(&fault),
        Ok(template) => {
            assert_eq!(template.to_string(), text);
            assert!(text.len() <= Template::MAX_LEN && template.fields().count() > 0, "{text}");
            assert!(template.fields().all(|name| text.contains(&format!("{{{name}}}"))), "{text}");
        }
    }
    if let Err(fault) = parse_span(text) {
        explained(&fault);
    }
    if let Ok(unit) = text.parse::<TimeUnit>() {
        assert_eq!(unit.to_string(), text);
    }
    if let Ok(format) = text.parse::<Format>() {
        assert_eq!(format.to_string(), text);
    }
    let specs: Vec<&str> = text.split(',').collect();
    match policy_of_any_algorithm(&specs) {
        Ok(any) => assert_eq!(policy(&specs, None).ok(), Some(any), "{text}"),
        Err(fault) => explained(&fault),
    }
}

pub(super) fn explained(fault: &Error) {
    let kinds = [fault.is_limit(), fault.is_usage(), fault.is_read(), fault.is_write()];
    assert_eq!(kinds.iter().filter(|kind| **kind).count(), 1, "{fault}");
    assert!(!fault.to_string().is_empty() && !format!("{fault:#}").is_empty());
}

/// Two lines have the same key exactly when the fields of a template have the same text in both: of
/// the first line of `log` as template, and those that follow as values.
pub(super) fn distinct_keys(log: &str) {
    let mut lines = log.split('\n');
    let Some(Ok(template)) = lines.next().map(str::parse::<Template>) else { return };
    let fields: BTreeSet<&str> = template.fields().collect();
    let mut values = lines.map(str::to_owned).chain(std::iter::repeat(String::new()));
    let rows = [(); 2].map(|()| fields.iter().map(|_| values.next().unwrap_or_default()).collect());
    let [one, other]: &[Vec<String>; 2] = &rows;
    let mut log = Vec::new();
    for row in &rows {
        let mut object = serde_json::Map::new();
        for (name, value) in fields.iter().zip(row) {
            object.insert((*name).to_owned(), value.clone().into());
        }
        let written = serde_json::Value::from(object).to_string();
        // The time stands first, unless it is a field of the key.
        log.extend(br#"{"at_ns":0"#);
        log.extend(written.replacen('{', ",", 1).as_bytes());
        log.push(b'\n');
    }
    let mut keys = Vec::new();
    let replay = Replay::new(policy(&["1/s"], None).expect("a limit")).max_keys(8);
    let read = replay.key(template).run(&*log, |decided| {
        keys.push(decided.key.to_owned());
        Ok(())
    });
    assert!(read.is_ok(), "{read:?}");
    if let [first, second] = &*keys {
        assert_eq!(first == second, one == other, "{keys:?} of {rows:?}");
    }
}
