//! Templates of keys: which fields of a line make its key.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::event::{Reason, quote};
use crate::lines::MAX_LINE;

/// What the key of a line is: text with the names of fields in braces.
///
/// ```text
/// {remote_addr}            one field
/// {tenant}/{user.id}       fields with text between and around them
/// {{{key}}}                braces are written twice
/// ```
///
/// Values of different text give different keys: where the first character of the text behind a
/// field stands in the field's value, a backslash is put before it there, and before a backslash.
/// So `{a}:{b}` makes `x\:y:z` of `x:y` and `z`, and `x:y:z` of `x` and `y:z`. Nothing is put into
/// the last field, so a template of one field changes nothing; and two fields need text between
/// them. It is text that is kept apart: the number 1 and the text 1 make one key.
/// That text separates the fields for people: choose one that their values do not hold.
///
/// A combined log has the fields `remote_addr`, `ident`, `remote_user`, `time_local`, `request`,
/// `method`, `path` (without the query), `query`, `protocol`, `status`, `body_bytes_sent`,
/// `referer` and `user_agent`, and `virtual_host` where that stands before the rest; CSV has its
/// columns, and JSON lines whatever is in them.
///
/// ```
/// use brimful_lab::{Replay, Template};
///
/// let log = "h - - [17/May/2015:10:05:03 +0000] \"GET /a?b HTTP/1.1\" 200 1\n";
/// let replay = Replay::new(brimful_lab::policy(&["1/s"], None)?);
/// replay.key("{method} {path}".parse::<Template>()?).run(log.as_bytes(), |decided| {
///     assert_eq!(decided.key, "GET /a");
///     Ok(())
/// })?;
/// # Ok::<(), brimful_lab::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// As it was written.
    written: String,
    /// At least one.
    fields: Vec<String>,
    /// What stands before each field, and behind the last: one more than the fields.
    texts: Vec<String>,
}

impl Template {
    /// The longest template, in bytes.
    pub const MAX_LEN: usize = 1_024;

    /// The names of its fields, as often as they stand there.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(String::as_str)
    }

    /// The key. `value` gives what the field with this number, from 0, holds.
    pub(crate) fn key<'a>(
        &self,
        mut value: impl FnMut(usize) -> Result<Cow<'a, str>, Reason>,
    ) -> Result<Cow<'a, str>, Reason> {
        if let [before, behind] = &*self.texts
            && before.is_empty()
            && behind.is_empty()
        {
            return value(0);
        }
        let mut key = String::new();
        let last = self.fields.len() - 1;
        for (place, text) in self.texts.iter().enumerate() {
            key.push_str(text);
            if place > last {
                break;
            }
            let value = value(place)?;
            match self.texts.get(place + 1).and_then(|text| text.chars().next()) {
                Some(mark) if place < last => escape(&value, mark, &mut key),
                _ => key.push_str(&value),
            }
            // A field may be there often, and a line is long enough already.
            if key.len() > MAX_LINE {
                return Err(Reason::new(format!("the key is longer than {MAX_LINE} bytes")));
            }
        }
        Ok(Cow::Owned(key))
    }
}

/// `value` with a backslash before each `mark` and each backslash.
fn escape(value: &str, mark: char, into: &mut String) {
    for c in value.chars() {
        if c == mark || c == '\\' {
            into.push('\\');
        }
        into.push(c);
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.written)
    }
}

impl FromStr for Template {
    type Err = Error;

    /// Reads text with `{field}` in it; `{{` and `}}` are braces.
    ///
    /// # Errors
    /// A brace has no partner, a field has no name, there is no field, two fields have nothing or
    /// text that begins with a backslash between them, or it is too long.
    fn from_str(written: &str) -> Result<Self, Error> {
        let fault = |what: &str| {
            let shown = quote(written.as_bytes());
            Error::usage(format!("the key template {shown} {what}; for example `{{remote_addr}}`"))
        };
        if written.len() > Self::MAX_LEN {
            return Err(fault(&format!("is longer than {} bytes", Self::MAX_LEN)));
        }
        let (mut fields, mut texts, mut text) = (Vec::new(), Vec::new(), String::new());
        let mut rest = written;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, brace_on) = rest.split_at(at);
            text.push_str(before);
            if let Some(behind) = brace_on.strip_prefix("{{") {
                text.push('{');
                rest = behind;
            } else if let Some(behind) = brace_on.strip_prefix("}}") {
                text.push('}');
                rest = behind;
            } else {
                let Some(name_on) = brace_on.strip_prefix('{') else {
                    return Err(fault("has a `}` without its `{`; a brace is written twice"));
                };
                let closed = name_on.split_once('}').filter(|(name, _)| !name.contains('{'));
                let Some((name, behind)) = closed else {
                    return Err(fault("has a `{` without its `}`; a brace is written twice"));
                };
                if name.is_empty() {
                    return Err(fault("has a field without a name"));
                }
                if !fields.is_empty() && text.is_empty() {
                    return Err(fault(&format!(
                        "needs text before {{{name}}}, to tell fields apart"
                    )));
                }
                if !fields.is_empty() && text.starts_with('\\') {
                    return Err(fault(
                        "has a backslash behind a field, where it could not be told",
                    ));
                }
                fields.push(name.to_owned());
                texts.push(std::mem::take(&mut text));
                rest = behind;
            }
        }
        if fields.is_empty() {
            return Err(fault("has no field"));
        }
        text.push_str(rest);
        texts.push(text);
        Ok(Self { written: written.to_owned(), fields, texts })
    }
}

#[cfg(test)]
mod tests;
