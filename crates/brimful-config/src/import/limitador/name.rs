//! Reads names and conditions: the part of limitador's expressions that has an exact counterpart.
//!
//! ```text
//! name      = "descriptors[0]" ( "." word | "[" text "]" ) | word { "." word }
//! condition = name "==" text | text "==" name
//! ```

use std::ops::Range;

/// A name, and which of the two ways of writing it was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) text: String,
    /// `descriptors[0].user` and not `user`.
    pub(super) indexed: bool,
}

/// What cannot be read: the bytes, what is found there, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unread {
    pub(super) span: Range<usize>,
    pub(super) found: String,
    pub(super) expected: &'static str,
}

const NAME: &str =
    "expected a name: `descriptors[0].user`, `descriptors[0]['user-agent']` or `user`";
const CONDITION: &str = "expected one comparison of a name with a text in quotes: \
                         `descriptors[0].method == 'GET'`";

/// Reads a variable.
pub(super) fn variable(input: &str) -> Result<Name, Unread> {
    let mut reader = Reader { input, at: 0, expected: NAME };
    reader.spaces();
    let name = reader.name()?;
    reader.end()?;
    Ok(name)
}

/// Reads a condition: a name and the value that it must have.
pub(super) fn condition(input: &str) -> Result<(Name, String), Unread> {
    let mut reader = Reader { input, at: 0, expected: CONDITION };
    reader.spaces();
    let text_first = reader.rest().starts_with(['\'', '"']);
    let first_text = if text_first { Some(reader.text()?) } else { None };
    let first_name = if text_first { None } else { Some(reader.name()?) };
    reader.spaces();
    reader.equals()?;
    reader.spaces();
    let pair = match (first_name, first_text) {
        (Some(name), _) => (name, reader.text()?),
        (None, text) => (reader.name()?, text.unwrap_or_default()),
    };
    reader.end()?;
    Ok(pair)
}

struct Reader<'a> {
    input: &'a str,
    at: usize,
    expected: &'static str,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.input.get(self.at..).unwrap_or("")
    }

    fn spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, text: &str) -> bool {
        let there = self.rest().starts_with(text);
        if there {
            self.at += text.len();
        }
        there
    }

    /// The next bytes up to the end of a word, or one character, are not what they should be.
    fn fault<T>(&self, expected: &'static str) -> Result<T, Unread> {
        let rest = self.rest();
        let word = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let first = rest.chars().next();
        let length = if word > 0 { word } else { first.map_or(0, char::len_utf8) };
        let shown = rest.get(..length).unwrap_or("");
        let found = match first {
            None => "it ends too soon".into(),
            Some(_) => format!("found `{}`", super::super::output::printable(shown)),
        };
        Err(Unread { span: self.at..self.at + length, found, expected })
    }

    fn name(&mut self) -> Result<Name, Unread> {
        let start = self.at;
        let first = self.word()?;
        if first == "descriptors" && self.eat("[") {
            return self.indexed(start);
        }
        let mut text = first.to_owned();
        while self.eat(".") {
            text.push('.');
            text.push_str(self.word()?);
        }
        Ok(Name { text, indexed: false })
    }

    /// What follows `descriptors[`.
    fn indexed(&mut self, start: usize) -> Result<Name, Unread> {
        let index = self.at;
        let digits = self.rest().find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
        self.at += digits;
        if digits == 0 || !self.eat("]") {
            self.at = index;
            return self.fault("expected an index: `descriptors[0].user`");
        }
        if self.input.get(index..index + digits) != Some("0") {
            let shown = self.input.get(start..self.at).unwrap_or("");
            return Err(Unread {
                span: start..self.at,
                found: format!("`{shown}` is not the first descriptor"),
                expected: "limits on `descriptors[0]` alone can be imported: a key is made of one \
                           descriptor",
            });
        }
        let text = if self.eat(".") {
            self.word()?.to_owned()
        } else if self.eat("[") {
            let text = self.text()?;
            if !self.eat("]") {
                return self.fault("expected `]`");
            }
            text
        } else {
            return self.fault("expected an entry: `descriptors[0].user`");
        };
        if self.rest().starts_with(['.', '[', '(']) {
            return self.fault("entries are texts, without parts or functions");
        }
        Ok(Name { text, indexed: true })
    }

    fn word(&mut self) -> Result<&'a str, Unread> {
        let rest = self.rest();
        let length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        if length == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return self.fault(self.expected);
        }
        self.at += length;
        Ok(rest.get(..length).unwrap_or(""))
    }

    fn equals(&mut self) -> Result<(), Unread> {
        if self.eat("==") {
            return Ok(());
        }
        let operators = ["!=", ">=", "<=", ">", "<", "=", "&&", "||", "in "];
        let Some(operator) = operators.iter().find(|word| self.rest().starts_with(**word)) else {
            return self.fault(self.expected);
        };
        let operator = operator.trim();
        Err(Unread {
            span: self.at..self.at + operator.len(),
            found: format!("found `{operator}`"),
            expected: "only `==` can be imported: rules say which keys they are for, not which not",
        })
    }

    /// A text in quotes, without escapes, which mean different things to different versions.
    fn text(&mut self) -> Result<String, Unread> {
        let start = self.at;
        let quote = match self.rest().chars().next() {
            Some(quote @ ('\'' | '"')) => quote,
            _ => return self.fault("expected a text in quotes: `'GET'`"),
        };
        self.at += 1;
        let Some(length) = self.rest().find(quote) else {
            return Err(Unread {
                span: start..self.input.len(),
                found: "the text has no end".into(),
                expected: "expected the same quote at the end",
            });
        };
        let text = self.rest().get(..length).unwrap_or("").to_owned();
        if let Some(escape) = text.find('\\') {
            let at = self.at + escape;
            return Err(Unread {
                span: at..at + 1,
                found: "found `\\`".into(),
                expected: "texts with escapes cannot be imported",
            });
        }
        self.at += length + 1;
        Ok(text)
    }

    fn end(&mut self) -> Result<(), Unread> {
        self.spaces();
        if self.rest().is_empty() {
            return Ok(());
        }
        let joined = ["&&", "||"].into_iter().find(|word| self.rest().starts_with(word));
        match joined {
            None => self.fault(self.expected),
            Some(word) => Err(Unread {
                span: self.at..self.at + word.len(),
                found: format!("found `{word}`"),
                expected: "expected one comparison; conditions that must all hold are a list",
            }),
        }
    }
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}
