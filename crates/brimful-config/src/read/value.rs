//! Values of a tree, each with a fault when it is not what it should be.

use std::ops::Range;

use super::Reader;
use crate::limiter;
use crate::node::{Entry, Node, Value};
use crate::source::Spot;
use crate::text::{inside, near};

/// The fields of one table.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    entries: &'a [Entry],
    /// Their names, if they are fixed.
    known: &'static [&'static str],
}

impl<'a> Fields<'a> {
    /// A field that the table may have.
    pub(super) fn get(&self, name: &str) -> Option<&'a Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Whether a field that is not known may be meant for one of these: it is at fault itself.
    pub(super) fn has_mistaken(&self, names: &[&str]) -> bool {
        let unknown = |entry: &&Entry| !self.known.contains(&entry.name.as_str());
        let mut unknown = self.entries.iter().filter(unknown);
        unknown.any(|entry| near::nearest(&entry.name, names.iter().copied()).is_some())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'a Entry> + use<'a> {
        self.entries.iter()
    }
}

impl Reader {
    /// A field as it is written: `` `limit = "10/s"` ``.
    pub(super) fn field(&self, name: &str, value: &str) -> String {
        format!("`{name}{}{value}`", self.is)
    }

    /// A part of the configuration itself.
    pub(super) fn spot(span: &Range<usize>) -> Spot {
        Spot::new(0, span.clone())
    }

    /// The fields of a table whose fields have fixed names. Others are faults, with the nearest name.
    pub(super) fn table<'a>(
        &mut self,
        node: &'a Node,
        what: &str,
        known: &'static [&'static str],
    ) -> Option<Fields<'a>> {
        let fields = self.free_table(node, what)?;
        for entry in fields.iter().filter(|entry| !known.contains(&entry.name.as_str())) {
            let near = near::nearest(&entry.name, known.iter().copied());
            let found = format!("unknown field `{}` of {what}{}", entry.name, meant(near));
            let expected = format!("expected {}", list(known));
            self.faults.note(Self::spot(&entry.name_span), found, expected);
        }
        Some(Fields { known, ..fields })
    }

    /// The fields of a table whose fields are named by who writes it.
    pub(super) fn free_table<'a>(&mut self, node: &'a Node, what: &str) -> Option<Fields<'a>> {
        match &node.value {
            Value::Table(entries) => Some(Fields { entries, known: &[] }),
            other => {
                self.wrong(node, other, &format!("{what} is a table"));
                None
            }
        }
    }

    /// The items of a list; with `or_one` a single value is a list of one.
    pub(super) fn list<'a>(
        &mut self,
        node: &'a Node,
        what: &str,
        or_one: bool,
    ) -> Option<&'a [Node]> {
        match &node.value {
            Value::List(items) => Some(items),
            _ if or_one => Some(std::slice::from_ref(node)),
            other => {
                self.wrong(node, other, &format!("{what} is a list"));
                None
            }
        }
    }

    pub(super) fn text<'a>(&mut self, node: &'a Node, expected: &str) -> Option<&'a str> {
        match &node.value {
            Value::Text(text) => Some(text),
            other => {
                self.wrong(node, other, expected);
                None
            }
        }
    }

    pub(super) fn flag(&mut self, entry: &Entry) -> Option<bool> {
        match &entry.node.value {
            Value::Flag(flag) => Some(*flag),
            Value::Text(word) if is_word_for_flag(word) => {
                let found = format!("`{}` is the text `{word}`", entry.name);
                let flag = matches!(&*word.to_ascii_lowercase(), "yes" | "on" | "true" | "y");
                let expected = format!("write `{flag}`, without quotes");
                self.faults.note(Self::spot(&entry.node.span), found, expected);
                None
            }
            other => {
                let expected = format!("`{}` is `true` or `false`", entry.name);
                self.wrong(&entry.node, other, &expected);
                None
            }
        }
    }

    /// A whole number from 0.
    pub(super) fn number(&mut self, entry: &Entry) -> Option<u64> {
        let expected = format!("`{}` is a whole number from 0", entry.name);
        let number = self.integer(&entry.node, &expected)?;
        let fits = u64::try_from(number).ok();
        if fits.is_none() {
            let found = format!("`{}` is {number}", entry.name);
            let expected =
                if number < 0 { expected } else { format!("expected at most {}", u64::MAX) };
            self.faults.note(Self::spot(&entry.node.span), found, expected);
        }
        fits
    }

    pub(super) fn integer(&mut self, node: &Node, expected: &str) -> Option<i128> {
        match &node.value {
            Value::Integer { digits, radix } => {
                let number = parse_integer(digits, *radix);
                if number.is_none() {
                    let found = format!("the number {digits} is too large");
                    let expected = format!("expected {} to {}", i128::MIN, i128::MAX);
                    self.faults.note(Self::spot(&node.span), found, expected);
                }
                number
            }
            Value::Text(text) if is_grouped(text) => {
                let digits: String = text.chars().filter(char::is_ascii_digit).collect();
                let found = format!("`{text}` is text");
                let expected = format!("{expected}; write {digits}, without quotes");
                self.faults.note(Self::spot(&node.span), found, expected);
                None
            }
            other => {
                self.wrong(node, other, expected);
                None
            }
        }
    }

    /// One of a few words.
    pub(super) fn word<'a>(&mut self, entry: &'a Entry, words: &[&str]) -> Option<&'a str> {
        let expected = format!("expected {}", list(words));
        let text = self.text(&entry.node, &expected)?;
        if words.contains(&text) {
            return Some(text);
        }
        let near = near::nearest(text, words.iter().copied());
        let found = format!("unknown {} `{text}`{}", entry.name, meant(near));
        self.faults.note(self.within(&entry.node, text, 0..text.len()), found, expected);
        None
    }

    /// Notes that a value is of the wrong kind.
    pub(super) fn wrong(&mut self, node: &Node, value: &Value, expected: &str) {
        self.faults.note(Self::spot(&node.span), format!("found {}", value.described()), expected);
    }

    /// The place of a part of a text; of the whole value where that cannot be known.
    pub(super) fn within(&self, node: &Node, text: &str, part: Range<usize>) -> Spot {
        let file = self.sources.first().map_or("", |source| &source.text);
        let found = inside::place(file, node.span.clone(), text, part);
        Self::spot(&found.unwrap_or_else(|| node.span.clone()))
    }

    /// Notes a fault that the limiter finds in a text, at its place in the text.
    pub(super) fn refused(&mut self, node: &Node, text: &str, fault: &brimful::Error) {
        let part = limiter::span(fault).unwrap_or(0..text.len());
        let spot = self.within(node, text, part);
        self.faults.note(spot, limiter::found(fault), limiter::expected(fault));
    }
}

/// `; did you mean `this`?`
pub(super) fn meant(near: Option<&str>) -> String {
    near.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// `` `a`, `b` or `c` ``
pub(super) fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        Some((only, _)) => only.clone(),
        None => String::new(),
    }
}

fn is_word_for_flag(word: &str) -> bool {
    let words = ["yes", "no", "on", "off", "y", "n", "true", "false"];
    words.iter().any(|flag| word.eq_ignore_ascii_case(flag))
}

/// Digits with `_` or `,` between them, or digits alone: a number that is written as text.
fn is_grouped(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'_' | b','))
}

fn parse_integer(digits: &str, radix: u32) -> Option<i128> {
    i128::from_str_radix(digits, radix).ok()
}
