//! What is shown of a key.

use std::fmt::{self, Write};
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;

use brimful::{IpPrefix, Key};
use siphasher::sip128::{Hasher128 as _, SipHasher13};
use std::hash::Hasher as _;

/// What is shown of a key. There is no default: keys are often names, addresses or secrets.
///
/// What is shown ends after 64 bytes, with `…`, and whatever a terminal or a log could take for more
/// than a letter is escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Redact {
    /// 16 hexadecimal digits of a hash, under a secret that is random for each observer. Nothing of the key is
    /// kept. Who has a key can ask what it is shown as ([`TopKeys::shown`](crate::TopKeys::shown)); who has
    /// not, learns nothing of it.
    Hash,
    /// Parts of the key: the /24 network of an IPv4 address and the /48 of an IPv6 one, also when the address
    /// is written as text; the first `chars` characters of other text, and as many bytes. (So what is shorter
    /// is shown whole.) Numbers, of which no part says less, are hashed.
    Truncate {
        /// How many characters, or bytes.
        chars: usize,
    },
    /// The key as it is.
    Plain,
}

/// The longest that is kept of what is shown, in bytes, without the mark that something was left out.
pub(crate) const LONGEST: usize = 64;

/// A choice, and the secret that it needs.
pub(crate) struct Redactor {
    redact: Redact,
    secret: [u64; 2],
}

impl Redactor {
    pub(crate) fn new(redact: Redact) -> Self {
        // Randomness of the operating system, by way of the standard library's hash maps.
        let random = || RandomState::new().hash_one(0_u8);
        Self { redact, secret: [random(), random()] }
    }

    /// What stands for a key: equal for equal keys, and for keys of which the same part is shown.
    pub(crate) fn id(&self, key: Key<'_>) -> [u64; 2] {
        match self.redact {
            Redact::Hash | Redact::Plain => self.hash(key),
            Redact::Truncate { chars } => {
                let mut hasher = Hashed(self.hasher());
                // A hash takes all that is written.
                let _ = self.write_part(key, chars, &mut hasher);
                let hash = hasher.0.finish128();
                [hash.h1, hash.h2]
            }
        }
    }

    /// What is shown of a key.
    pub(crate) fn label(&self, key: Key<'_>) -> Label {
        let mut label = Label::EMPTY;
        // What is full has kept what it can.
        let _ = match self.redact {
            Redact::Hash => write_hash(self.hash(key), &mut label),
            Redact::Truncate { chars } => self.write_part(key, chars, &mut label),
            Redact::Plain => write_whole(key, &mut label),
        };
        label
    }

    fn hasher(&self) -> SipHasher13 {
        let [first, second] = self.secret;
        SipHasher13::new_with_keys(first, second)
    }

    fn hash(&self, key: Key<'_>) -> [u64; 2] {
        let mut hasher = self.hasher();
        key.encode(&mut |bytes| hasher.write(bytes));
        let hash = hasher.finish128();
        [hash.h1, hash.h2]
    }

    fn write_part(&self, key: Key<'_>, chars: usize, out: &mut dyn Write) -> fmt::Result {
        match key {
            Key::Ip(prefix) => write_network(prefix, out),
            Key::Text(text) => match text.parse() {
                Ok(address) => write_network(IpPrefix::host(address), out),
                Err(_) => {
                    write_text(text.chars().take(chars), out)?;
                    mark(text.chars().nth(chars).is_some(), out)
                }
            },
            Key::Bytes(bytes) => {
                let part = bytes.get(..chars).unwrap_or(bytes);
                write!(out, "{}", part.escape_ascii())?;
                mark(part.len() < bytes.len(), out)
            }
            Key::Parts(parts) => {
                write_parts(parts, out, |part, out| self.write_part(part, chars, out))
            }
            // Numbers, and kinds that this crate does not know yet.
            _ => {
                out.write_char('#')?;
                write_hash(self.hash(key), out)
            }
        }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the secret.
        self.redact.fmt(f)
    }
}

/// What a key is known by, in digits.
pub(crate) fn write_hash([first, _]: [u64; 2], out: &mut dyn Write) -> fmt::Result {
    write!(out, "{first:016x}")
}

fn write_whole(key: Key<'_>, out: &mut dyn Write) -> fmt::Result {
    match key {
        Key::Bytes(bytes) => write!(out, "{}", bytes.escape_ascii()),
        Key::Text(text) => write_text(text.chars(), out),
        Key::Unsigned(number) => write!(out, "{number}"),
        Key::Negative(distance) => write!(out, "-{distance}"),
        Key::Ip(prefix) => write_prefix(prefix, out),
        Key::Parts(parts) => write_parts(parts, out, write_whole),
        // A kind that this crate does not know yet.
        _ => out.write_char('?'),
    }
}

/// As tuples are written.
fn write_parts(
    parts: &[Key<'_>],
    out: &mut dyn Write,
    mut write: impl FnMut(Key<'_>, &mut dyn Write) -> fmt::Result,
) -> fmt::Result {
    out.write_char('(')?;
    for (place, part) in parts.iter().enumerate() {
        if place > 0 {
            out.write_str(", ")?;
        }
        write(*part, out)?;
    }
    out.write_char(')')
}

/// Line ends, control characters, and characters that have no width or turn the direction are escaped.
fn write_text(text: impl Iterator<Item = char>, out: &mut dyn Write) -> fmt::Result {
    for letter in text {
        match letter {
            '"' | '\'' => out.write_char(letter)?,
            _ => write!(out, "{}", letter.escape_debug())?,
        }
    }
    Ok(())
}

/// The network with the bits that may be shown.
fn write_network(prefix: IpPrefix, out: &mut dyn Write) -> fmt::Result {
    let most = match prefix.network() {
        IpAddr::V4(_) => 24,
        IpAddr::V6(_) => 48,
    };
    match IpPrefix::new(prefix.network(), prefix.length().min(most)) {
        Ok(network) => write!(out, "{network}"),
        // An IPv4 address in IPv6 is kept as IPv4, so the length is in range.
        Err(_) => Ok(()),
    }
}

/// An address alone without its length.
fn write_prefix(prefix: IpPrefix, out: &mut dyn Write) -> fmt::Result {
    let network = prefix.network();
    match IpPrefix::host(network) == prefix {
        true => write!(out, "{network}"),
        false => write!(out, "{prefix}"),
    }
}

fn mark(is_cut: bool, out: &mut dyn Write) -> fmt::Result {
    if is_cut { out.write_char('…') } else { Ok(()) }
}

/// What is shown of a key, in a fixed place.
#[derive(Clone, Copy)]
pub(crate) struct Label {
    /// Whole characters up to `length`.
    bytes: [u8; LONGEST],
    length: u8,
    is_cut: bool,
}

impl Label {
    pub(crate) const EMPTY: Self = Self { bytes: [0; LONGEST], length: 0, is_cut: false };

    fn text(&self) -> &str {
        let kept = self.bytes.get(..usize::from(self.length)).unwrap_or(&[]);
        str::from_utf8(kept).unwrap_or("")
    }

    fn push(&mut self, letter: char) -> fmt::Result {
        let start = usize::from(self.length);
        let end = start.saturating_add(letter.len_utf8());
        let (Some(place), Ok(length)) = (self.bytes.get_mut(start..end), u8::try_from(end)) else {
            self.is_cut = true;
            return Err(fmt::Error);
        };
        letter.encode_utf8(place);
        self.length = length;
        Ok(())
    }
}

impl Write for Label {
    /// Fails when not all of it could be kept, so that nobody goes on.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|letter| self.push(letter))
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())?;
        mark(self.is_cut, f)
    }
}

struct Hashed(SipHasher13);

impl Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
