//! Reads TOML.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Flaw, Tree};
use crate::node::{Entry, Node, Value};

/// Reads a text of TOML. Its nesting is bounded by the reader of TOML, at 80.
pub(super) fn read(text: &str) -> Result<Tree, Flaw> {
    let table = DeTable::parse(text).map_err(|error| flaw(text, &error))?;
    let span = table.span();
    let root = Node { span: span.start..span.start, value: of_table(table.into_inner()) };
    Ok(Tree { root, flaws: Vec::new() })
}

fn node(value: Spanned<DeValue<'_>>) -> Node {
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => {
            Value::Integer { digits: number.as_str().to_owned(), radix: number.radix() }
        }
        DeValue::Float(number) => Value::Float(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Value::Flag(flag),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(items) => Value::List(items.into_iter().map(node).collect()),
        DeValue::Table(table) => of_table(table),
    };
    Node { span, value }
}

fn of_table(table: DeTable<'_>) -> Value {
    let entry = |(name, value): (Spanned<std::borrow::Cow<'_, str>>, _)| Entry {
        name_span: name.span(),
        name: name.into_inner().into_owned(),
        node: node(value),
    };
    let mut entries: Vec<Entry> = table.into_iter().map(entry).collect();
    // The table is sorted by name.
    entries.sort_by_key(|entry| entry.name_span.start);
    Value::Table(entries)
}

/// A fault of TOML, in the words of its reader: `what, expected this`.
fn flaw(text: &str, error: &toml::de::Error) -> Flaw {
    let span = error.span().unwrap_or(0..0);
    let message = error.message();
    if message == "duplicate key" {
        let name = text.get(span.clone()).unwrap_or("");
        let mut flaw = Flaw::new(
            span.clone(),
            format!("`{name}` is given twice"),
            "give each field of a table once",
        );
        flaw.first = first_of_two(text, &span);
        return flaw;
    }
    if message.starts_with("string values must be quoted") {
        let expected = "write a text in quotes: `limit = \"100/min\"`";
        return Flaw::new(span, "there is no value, or a text without quotes", expected);
    }
    if message.contains("recurs") {
        let expected = "expected at most 80 lists and tables in one another";
        return Flaw::new(span, "this is nested too deep", expected);
    }
    match message.split_once(", expected ") {
        Some((found, expected)) => Flaw::new(span, found, format!("expected {expected}")),
        None => Flaw::new(span, message, "expected TOML 1.1"),
    }
}

/// Where the first of two fields stands, whose second is at `second`: what stands before the line of
/// the second is whole, and the fields on that line say whose they are.
fn first_of_two(text: &str, second: &Range<usize>) -> Option<Range<usize>> {
    let line = text.get(..second.start)?.rfind('\n').map_or(0, |end| end.saturating_add(1));
    let before = DeTable::parse(text.get(..line)?).ok()?;
    let to_end = text.get(line..)?;
    let this = to_end.split('\n').next()?;
    let header = this.trim_start().starts_with('[');
    let alone = DeTable::parse(this).ok()?;
    let mut path = Vec::new();
    if !header {
        path = last_header(&before);
    }
    path.extend(names_up_to(alone.get_ref(), second.start.saturating_sub(line)));
    find(before.get_ref(), &path)
}

/// The names from the outermost field to the one that stands at a byte.
fn names_up_to(table: &DeTable<'_>, at: usize) -> Vec<String> {
    let mut path = Vec::new();
    let mut current = Some(table);
    // A line has at most 80 names in one another.
    while let Some((name, value)) = current.and_then(|table| table.iter().next()) {
        path.push(name.get_ref().to_string());
        if name.span().start >= at {
            break;
        }
        current = inner(value.get_ref());
    }
    path
}

/// The names of the table whose header stands last.
fn last_header(document: &Spanned<DeTable<'_>>) -> Vec<String> {
    let mut best = (0, Vec::new());
    let mut open: Vec<(Vec<String>, &DeTable<'_>)> = vec![(Vec::new(), document.get_ref())];
    while let Some((path, table)) = open.pop() {
        for (name, value) in table.iter() {
            let mut path = path.clone();
            path.push(name.get_ref().to_string());
            let at = match value.get_ref() {
                DeValue::Array(items) => items.iter().last().map_or(0, |item| item.span().start),
                _ => value.span().start,
            };
            if let Some(table) = inner(value.get_ref()) {
                if at >= best.0 && name.span().start != at {
                    best = (at, path.clone());
                }
                open.push((path, table));
            }
        }
    }
    best.1
}

/// A table, or the last of an array of tables.
fn inner<'a, 'i>(value: &'a DeValue<'i>) -> Option<&'a DeTable<'i>> {
    match value {
        DeValue::Table(table) => Some(table),
        DeValue::Array(items) => items.iter().last().and_then(|item| item.get_ref().as_table()),
        _ => None,
    }
}

fn find(table: &DeTable<'_>, path: &[String]) -> Option<Range<usize>> {
    let (last, outer) = path.split_last()?;
    let mut current = table;
    for name in outer {
        current = inner(current.get(name.as_str())?.get_ref())?;
    }
    let found = current.iter().find(|(name, _)| name.get_ref() == last.as_str());
    found.map(|(name, _)| name.span())
}
