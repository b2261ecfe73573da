//! A key of a file, owned.

use std::fmt;

use brimful::{AsKey, IpPrefix, Key};

/// What can be a key in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum OwnedKey {
    Text(String),
    Integer(i128),
    Ip(IpPrefix),
    /// Of texts, integers and addresses.
    Parts(Vec<OwnedKey>),
}

impl OwnedKey {
    /// Whether a text of it has a `*` in it.
    pub(crate) fn has_star(&self) -> bool {
        match self {
            Self::Text(text) => text.contains('*'),
            Self::Parts(parts) => parts.iter().any(Self::has_star),
            Self::Integer(_) | Self::Ip(_) => false,
        }
    }

    /// The key, or a part of one.
    fn simple(&self) -> Key<'_> {
        match self {
            Self::Text(text) => Key::Text(text),
            Self::Integer(number) => Key::from(*number),
            Self::Ip(prefix) => Key::Ip(*prefix),
            Self::Parts(_) => Key::Parts(&[]),
        }
    }
}

impl AsKey for OwnedKey {
    fn with_key<R>(&self, f: impl FnOnce(Key<'_>) -> R) -> R {
        match self {
            Self::Parts(parts) => {
                let parts: Vec<Key<'_>> = parts.iter().map(Self::simple).collect();
                f(Key::Parts(&parts))
            }
            simple => f(simple.simple()),
        }
    }
}

impl fmt::Display for OwnedKey {
    /// As it is written in TOML.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::print::key(self, " = "))
    }
}
