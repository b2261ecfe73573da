//! Prints a configuration.

/// A text in the quotes of TOML, which are YAML's and JSON's too.
pub(crate) fn quoted(text: &str) -> String {
    let mut written = String::with_capacity(text.len().saturating_add(2));
    written.push('"');
    for character in text.chars() {
        match character {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\t' => written.push_str("\\t"),
            '\r' => written.push_str("\\r"),
            '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                written.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => written.push(other),
        }
    }
    written.push('"');
    written
}
