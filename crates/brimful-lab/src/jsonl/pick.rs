//! Finds fields of a JSON object, as they are written: numbers must not pass through a float.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::event::{Reason, printable};

/// What a line must be.
const OBJECT: &str = "an event object";

/// A value of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'a> {
    /// As it is written.
    pub(super) raw: &'a str,
    /// The bytes before it in the line.
    before: usize,
}

/// The values of the fields `names` of the object `line`, in the order of the names. A name with
/// dots is also looked for part by part, in objects inside.
pub(super) fn pick<'a>(
    names: &[Cow<'static, str>],
    line: &'a str,
) -> Result<Vec<Option<Value<'a>>>, Reason> {
    let mut found = vec![None; names.len()];
    let mut reader = serde_json::Deserializer::from_str(line);
    let object = Object { names, line, found: &mut found };
    object.deserialize(&mut reader).and_then(|()| reader.end()).map_err(|fault| {
        let line = line.trim_ascii();
        if fault.is_data() && !line.starts_with('{') {
            // serde's words hold the whole of a text, however long.
            return Reason::unexpected("the line", line.as_bytes(), OBJECT);
        }
        reason(&fault, 0)
    })?;
    Ok(found)
}

/// `fault` without the words that name a line of the one-line text that was parsed, which began
/// after so many bytes.
fn reason(fault: &serde_json::Error, before: usize) -> Reason {
    let words = fault.to_string();
    let what = words.rfind(" at line ").and_then(|end| words.get(..end)).unwrap_or(&words);
    let what = printable(what);
    if fault.is_data() {
        Reason::new(what.into_owned())
    } else {
        Reason::new(format!("not JSON: {what} at column {}", before + fault.column()))
    }
}

/// Reads an object into the places of the fields that are found in it.
struct Object<'w, 'a, N> {
    names: &'w [N],
    line: &'a str,
    found: &'w mut [Option<Value<'a>>],
}

impl<'a, N: AsRef<str>> DeserializeSeed<'a> for Object<'_, 'a, N> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a, N: AsRef<str>> Visitor<'a> for Object<'_, 'a, N> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(OBJECT)
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { names, line, found } = self;
        while let Some(Text(name)) = map.next_key::<Text<'_>>()? {
            let wanted = |path: &N| path.as_ref() == name || below(path.as_ref(), &name).is_some();
            if !names.iter().any(wanted) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let raw = map.next_value::<&RawValue>()?.get();
            for (path, place) in names.iter().map(N::as_ref).zip(found.iter_mut()) {
                let value = if path == name {
                    // Both lie in the line.
                    let before = raw.as_ptr().addr().saturating_sub(line.as_ptr().addr());
                    Some(Value { raw, before })
                } else if let Some(rest) = below(path, &name) {
                    inside(rest, raw, line).map_err(de::Error::custom)?
                } else {
                    None
                };
                if value.is_some() && std::mem::replace(place, value).is_some() {
                    let path = printable(path);
                    return Err(de::Error::custom(format_args!("duplicate field `{path}`")));
                }
            }
        }
        Ok(())
    }
}

/// What is left of `path` inside the object `name`.
fn below<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    // Most paths have no dot, and so are told apart without comparing them.
    let (_, rest) = path.split_at_checked(name.len())?;
    let rest = rest.strip_prefix('.')?;
    path.starts_with(name).then_some(rest)
}

/// The field `path` of the value `raw`, which is a part of `line`. Each call is for a shorter path,
/// so the depth is bounded by the dots of a name.
fn inside<'a>(path: &str, raw: &'a str, line: &'a str) -> serde_json::Result<Option<Value<'a>>> {
    if !raw.starts_with('{') {
        return Ok(None);
    }
    let mut found = [None];
    let object = Object { names: &[path], line, found: &mut found };
    object.deserialize(&mut serde_json::Deserializer::from_str(raw))?;
    let [value] = found;
    Ok(value)
}

impl<'a> Value<'a> {
    pub(super) fn is_text(&self) -> bool {
        self.raw.starts_with('"')
    }

    /// The text that the field `name` must be.
    pub(super) fn text(&self, name: &str) -> Result<Cow<'a, str>, Reason> {
        match serde_json::from_str::<Text<'a>>(self.raw) {
            Ok(text) => Ok(text.0),
            Err(fault) if self.is_text() => Err(reason(&fault, self.before)),
            Err(_) => Err(Reason::unexpected(name, self.raw.as_bytes(), "text")),
        }
    }

    /// Text, or what else has one way to be text: a number as it is written, true and false.
    pub(super) fn scalar(&self, name: &str) -> Result<Cow<'a, str>, Reason> {
        match self.raw.as_bytes().first() {
            Some(b'"') => self.text(name),
            Some(b'{' | b'[') | None => {
                let expected = "text, a number, true or false";
                Err(Reason::unexpected(name, self.raw.as_bytes(), expected))
            }
            _ if self.raw == "null" => Err(super::missing(name)),
            _ => Ok(Cow::Borrowed(self.raw)),
        }
    }
}

/// Text, borrowed from the line unless it has escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> de::Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}
