//! What TOML and YAML have in common: a tree of values, each with its place.

use std::ops::Range;

/// A value and the bytes that it is written in.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    /// As it is written; `parse_integer` reads it.
    Integer {
        digits: String,
        radix: u32,
    },
    /// Any number that is no integer, as it is written.
    Float(String),
    Flag(bool),
    /// A date or a time.
    Date(String),
    /// YAML alone has it.
    Null,
    List(Vec<Node>),
    /// In the order of the file.
    Table(Vec<Entry>),
}

/// One field of a table.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) name_span: Range<usize>,
    pub(crate) node: Node,
}

impl Value {
    /// The value in a message: what it is, and a short one itself.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Text(text) => format!("the text `{text}`"),
            Self::Integer { digits, .. } | Self::Float(digits) => format!("the number {digits}"),
            Self::Flag(flag) => format!("`{flag}`"),
            Self::Date(date) => format!("the date {date}"),
            Self::Null => "nothing".to_owned(),
            Self::List(_) => "a list".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }
}
