//! What a plain scalar of YAML is: the core schema of YAML 1.2.

use crate::node::Value;

/// The value of a scalar that is written without quotes. `yes`, `no`, `on` and `off` are texts.
pub(super) fn resolved(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Flag(true),
        "false" | "False" | "FALSE" => return Value::Flag(false),
        _ => {}
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix)
            && !digits.is_empty()
            && digits.chars().all(|c| c.is_digit(radix))
        {
            return Value::Integer { digits: digits.to_owned(), radix };
        }
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Value::Integer { digits: text.to_owned(), radix: 10 };
    }
    if is_float(digits) { Value::Float(text.to_owned()) } else { Value::Text(text.to_owned()) }
}

/// `[0-9]* [. [0-9]*] [e [+-] [0-9]+]` with at least one digit before the exponent, or a word.
fn is_float(digits: &str) -> bool {
    if matches!(digits, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let (number, exponent) = match digits.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (digits, None),
    };
    let all_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let exponent = exponent.map(|text| text.strip_prefix(['-', '+']).unwrap_or(text));
    all_digits(whole)
        && all_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|text| !text.is_empty() && all_digits(text))
}
