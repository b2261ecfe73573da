//! Writes imported rules as a configuration file.

use std::fmt::Write as _;

use brimful::Limit;

/// One `[[pattern]]`.
pub(super) struct Rule {
    pub(super) pattern: String,
    pub(super) grant: Grant,
    pub(super) shadow: bool,
    /// Where it comes from, for the comment above it.
    pub(super) about: String,
}

/// What the keys of a rule get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Grant {
    /// At least one.
    Limits(Vec<Limit>),
    Unlimited,
    Blocked,
}

/// The file: comments, a default that limits nothing, and the rules in their order.
pub(super) fn written(comments: &[String], rules: &[Rule]) -> String {
    let mut file = String::new();
    for comment in comments {
        push_comment(&mut file, comment);
    }
    file.push_str("\n# What no rule names is not limited.\n[default]\nunlimited = true\n");
    for rule in rules {
        file.push('\n');
        push_comment(&mut file, &rule.about);
        file.push_str("[[pattern]]\n");
        push(&mut file, "match", &quoted(&rule.pattern));
        push_grant(&mut file, &rule.grant);
        if rule.shadow {
            push(&mut file, "shadow", "true");
        }
    }
    file
}

fn push_grant(file: &mut String, grant: &Grant) {
    match grant {
        Grant::Unlimited => push(file, "unlimited", "true"),
        Grant::Blocked => push(file, "blocked", "true"),
        Grant::Limits(limits) => {
            let specs: Vec<String> =
                limits.iter().map(|limit| quoted(&limit.to_string())).collect();
            match &*specs {
                [one] => push(file, "limit", one),
                several => push(file, "limits", &format!("[{}]", several.join(", "))),
            }
        }
    }
}

fn push(file: &mut String, field: &str, value: &str) {
    // Writing to a text cannot fail.
    let _ = writeln!(file, "{field} = {value}");
}

fn push_comment(file: &mut String, text: &str) {
    let text = printable(text);
    let _ = writeln!(file, "{}", format!("# {text}").trim_end());
}

/// A text from the file on one line of a comment or message.
pub(super) fn printable(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// A text as a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
