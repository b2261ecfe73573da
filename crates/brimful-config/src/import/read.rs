//! Reads fields, and gathers what is wrong with them.

use std::ops::{Range, RangeInclusive};
use std::path::Path;

use brimful::Limit;

use super::Imported;
use crate::error::Error;
use crate::faults::Faults;
use crate::limiter;
use crate::node::{Entry, Node, Value};
use crate::source::{MAX_CONFIG, Source, Spot};
use crate::syntax::{Flaw, Syntax};
use crate::text::inside;
use crate::text::near::nearest;

/// A file while it is read.
pub(super) struct Reading {
    source: Source,
    pub(super) faults: Faults,
    pub(super) warnings: Faults,
}

impl Reading {
    /// Reads the YAML and lets `import` make rules of it, unless there are faults.
    pub(super) fn run(
        text: &str,
        name: &Path,
        import: impl FnOnce(&mut Self, &Node) -> String,
    ) -> Result<Imported, Error> {
        let source = Source::new(name, text);
        let (faults, warnings) = (Faults::default(), Faults::default());
        let mut reading = Self { source, faults, warnings };
        let Some(root) = reading.yaml() else {
            return Err(reading.faults.into_error(&[reading.source]));
        };
        let toml = import(&mut reading, &root);
        reading.fits(&toml);
        let sources = [reading.source];
        if !reading.faults.is_empty() {
            return Err(reading.faults.into_error(&sources));
        }
        let warnings = reading.warnings.into_error(&sources);
        Ok(Imported { toml, warnings: warnings.faults().to_vec(), more: warnings.more() })
    }

    /// What is written can be read again.
    fn fits(&mut self, toml: &str) {
        if is_long(toml) {
            let found = format!("the rules for this file take {} bytes", toml.len());
            self.faults.note(spot(0..0), found, format!("expected at most {MAX_CONFIG}"));
        }
    }

    fn yaml(&mut self) -> Option<Node> {
        if is_long(&self.source.text) {
            let found = format!("the file has {} bytes", self.source.text.len());
            self.faults.note(spot(0..0), found, format!("expected at most {MAX_CONFIG}"));
            return None;
        }
        match Syntax::Yaml.read(&self.source.text) {
            Err(flaw) => {
                self.flaw(flaw);
                None
            }
            Ok(tree) => {
                tree.flaws.into_iter().for_each(|flaw| self.flaw(flaw));
                Some(tree.root)
            }
        }
    }

    fn flaw(&mut self, flaw: Flaw) {
        match flaw.first {
            None => self.faults.note(spot(flaw.span), flaw.found, flaw.expected),
            Some(first) => {
                self.faults.note_second(spot(flaw.span), flaw.found, flaw.expected, spot(first));
            }
        }
    }

    /// The name of the file in comments.
    pub(super) fn name(&self) -> String {
        self.source.name.display().to_string()
    }

    /// `file:line` for comments.
    pub(super) fn line(&self, place: Spot) -> String {
        let line = self.source.line_column(place.bytes().start).line;
        format!("{}:{line}", self.source.name.display())
    }

    /// The fields of a table, of which others than the known ones are faults.
    pub(super) fn table<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        known: &[&str],
    ) -> Option<Fields<'n>> {
        let Value::Table(entries) = &node.value else {
            let found = format!("{what} is {}", node.value.described());
            self.faults.note(
                of(node),
                found,
                format!("expected a table with {}", listed(known, "and")),
            );
            return None;
        };
        for entry in entries.iter().filter(|entry| !known.contains(&entry.name.as_str())) {
            let near = nearest(&entry.name, known.iter().copied());
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let found = format!("unknown field `{}`{near}", entry.name);
            let expected = format!("expected {}", listed(known, "or"));
            self.faults.note(spot(entry.name_span.clone()), found, expected);
        }
        Some(Fields { entries, place: of(node) })
    }

    /// The items of a list.
    pub(super) fn list<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Node] {
        match &node.value {
            Value::List(items) => items,
            other => {
                let found = format!("{what} is {}", other.described());
                self.faults.note(of(node), found, "expected a list");
                &[]
            }
        }
    }

    /// A text; a number or a flag is the text that it is written as.
    pub(super) fn scalar(&mut self, entry: &Entry) -> Option<String> {
        let node = &entry.node;
        match &node.value {
            Value::Text(text) => return Some(text.clone()),
            Value::Null => return Some(String::new()),
            Value::Integer { .. } | Value::Float(_) | Value::Flag(_) => {
                if let Some(text) = self.source.text.get(node.span.clone()) {
                    return Some(text.to_owned());
                }
            }
            _ => {}
        }
        let found = format!("`{}` is {}", entry.name, node.value.described());
        self.faults.note(of(node), found, "expected a text");
        None
    }

    /// A text that is not empty, of a field that must be there.
    pub(super) fn needed(&mut self, fields: &Fields<'_>, name: &str, what: &str) -> Option<String> {
        let Some(entry) = fields.get(name) else {
            let expected = format!("expected a text `{name}`");
            self.faults.note(fields.place, format!("{what} has no `{name}`"), expected);
            return None;
        };
        let text = self.scalar(entry)?;
        if text.is_empty() {
            let found = format!("the `{name}` of {what} is empty");
            self.faults.note(of_entry(entry), found, "expected a text");
            return None;
        }
        Some(text)
    }

    /// `true` or `false`; false when it is not there.
    pub(super) fn flag(&mut self, fields: &Fields<'_>, name: &str) -> Option<bool> {
        match fields.get(name).map(|entry| (entry, &entry.node.value)) {
            None => Some(false),
            Some((_, Value::Flag(flag))) => Some(*flag),
            Some((entry, other)) => {
                let found = format!("`{name}` is {}", other.described());
                self.faults.note(of_entry(entry), found, "expected true or false");
                None
            }
        }
    }

    /// A whole number of a field that must be there.
    pub(super) fn number(
        &mut self,
        fields: &Fields<'_>,
        name: &str,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        let expected = format!("expected a whole number from {} to {}", range.start(), range.end());
        let Some(entry) = fields.get(name) else {
            self.faults.note(fields.place, format!("`{name}` is missing"), expected);
            return None;
        };
        let found = match &entry.node.value {
            Value::Integer { digits, radix: 10 } => {
                // With a zero before it a number is octal in YAML 1.1, which both servers' YAML
                // readers differ about.
                let plain = digits == "0" || digits.starts_with(|c: char| matches!(c, '1'..='9'));
                let number = digits.parse::<u64>().ok().filter(|number| range.contains(number));
                if let Some(number) = number.filter(|_| plain) {
                    return Some(number);
                }
                format!("`{name}` is {digits}")
            }
            other => format!("`{name}` is {}", other.described()),
        };
        self.faults.note(of_entry(entry), found, expected);
        None
    }

    /// The limit with the `name` of its table, when that can be a limit's.
    pub(super) fn named(&mut self, fields: &Fields<'_>, limit: Limit) -> Limit {
        let Some(entry) = fields.get("name") else { return limit };
        let name = match self.scalar(entry) {
            Some(name) if !name.is_empty() => name,
            _ => return limit,
        };
        match limit.clone().named(&name) {
            Ok(limit) => limit,
            Err(fault) => {
                let found = format!("the name `{name}` is left out");
                self.warnings.note(of_entry(entry), found, limiter::expected(&fault));
                limit
            }
        }
    }

    /// Where a part of a text is written; the whole text when that cannot be known.
    pub(super) fn part(&self, node: &Node, text: &str, part: Range<usize>) -> Spot {
        let whole = node.span.clone();
        spot(inside::place(&self.source.text, whole.clone(), text, part).unwrap_or(whole))
    }
}

/// The fields of a table.
#[derive(Clone, Copy)]
pub(super) struct Fields<'n> {
    entries: &'n [Entry],
    pub(super) place: Spot,
}

impl<'n> Fields<'n> {
    pub(super) fn get(&self, name: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }
}

pub(super) fn of(node: &Node) -> Spot {
    spot(node.span.clone())
}

/// The value of a field, or its name when the value is written nowhere.
pub(super) fn of_entry(entry: &Entry) -> Spot {
    if entry.node.span.is_empty() { of_name(entry) } else { of(&entry.node) }
}

pub(super) fn of_name(entry: &Entry) -> Spot {
    spot(entry.name_span.clone())
}

fn spot(bytes: Range<usize>) -> Spot {
    Spot::new(0, bytes)
}

fn is_long(text: &str) -> bool {
    u64::try_from(text.len()).is_ok_and(|length| length > MAX_CONFIG)
}

/// `a, b or c`.
fn listed(words: &[&str], last: &str) -> String {
    match words.split_last() {
        Some((end, [])) => (*end).to_owned(),
        Some((end, before)) => format!("{} {last} {end}", before.join(", ")),
        None => String::new(),
    }
}
