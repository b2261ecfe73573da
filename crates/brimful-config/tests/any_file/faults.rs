//! What is said of a file that is refused.

use brimful_config::{Error, Fault};

use super::{is_harmless, is_in};

pub(super) fn check(error: &Error, text: &str) {
    let faults = error.faults();
    assert!((1..=Error::MOST).contains(&faults.len()), "{error:#}");
    assert!(error.more() == 0 || faults.len() == Error::MOST, "{error:#}");
    assert!(!error.is_read() && error.files().is_empty(), "{error:#}");
    faults.iter().for_each(|fault| check_one(fault, text));
    assert!(faults.is_sorted_by_key(|fault| (fault.line(), fault.column())), "{error:#}");
    let lines = error.to_string().lines().count();
    assert_eq!(lines, faults.len() + usize::from(error.more() > 0), "{error}");
    assert!(is_harmless(&format!("{error:#}")), "{error:#}");
}

/// A fault or a warning: it stands in the text, says something, and is shown on one line or on some.
pub(super) fn check_one(fault: &Fault, text: &str) {
    assert!(is_in(text, fault.line(), fault.column()), "{fault:#}");
    for also in fault.also() {
        assert!(!also.what().is_empty(), "{fault:#}");
        assert!(is_in(text, also.line(), also.column()), "{fault:#}");
    }
    assert!(!fault.found().is_empty() && !fault.expected().is_empty(), "{fault:#}");
    let (short, long, message) = (fault.to_string(), format!("{fault:#}"), fault.message());
    assert!(is_harmless(&short) && is_harmless(&long), "{long:?}");
    assert!(!short.contains('\n') && !message.contains('\n'), "{short:?}");
    points(&long);
    let json = serde_json::to_value(fault).expect("JSON");
    assert_eq!(json["found"], fault.found(), "{json}");
}

/// Carets stand below the line of the file that is shown above them, or below its end.
fn points(long: &str) {
    let lines: Vec<&str> = long.lines().collect();
    let is_carets = |line: &str| line.starts_with("  ") && line.trim_start().starts_with('^');
    if let [_, shown, carets, _, ..] = *lines
        && is_carets(carets)
    {
        assert!(carets.trim_start().bytes().all(|byte| byte == b'^'), "{long}");
        assert!(carets.len() <= shown.chars().count() + 1, "{long}");
        assert!(shown.chars().count() < 110, "{long}");
    }
}
