//! Whose budget is spent: borrowed, structured keys without an allocation per call.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::num::NonZero;

use crate::error::Error;

/// A key, as the limiter sees it. Kinds and parts are delimited: the text `"1"`, the bytes
/// `b"1"` and the integer 1 are three keys, and `("ab", "c")` is not `("a", "bc")`.
///
/// Callers rarely name this type: every verb takes any [`AsKey`].
///
/// [`encode`](Self::encode) gives the bytes that stand for a key; two keys have the same bytes
/// exactly when they are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Key<'a> {
    /// Bytes, of any length and content.
    Bytes(&'a [u8]),
    /// Text, compared byte by byte: no case or Unicode folding.
    Text(&'a str),
    /// A whole number from 0. The same number is the same key, whatever type it came from.
    Unsigned(u128),
    /// A whole number below 0, by its distance from 0. `Key::from(-5_i128)` makes it.
    Negative(NonZero<u128>),
    /// A network: an address with a prefix length.
    Ip(IpPrefix),
    /// A list of keys. The empty list is the key of a limiter that has only one. Lists in lists
    /// are walked on the stack: nest them a few deep, not thousands.
    Parts(&'a [Key<'a>]),
}

impl Key<'_> {
    /// Writes the bytes that stand for this key: a tag for the kind, then fixed-width numbers, or
    /// a length and the content, so that no key's bytes are the beginning of another's.
    pub fn encode(&self, write: &mut impl FnMut(&[u8])) {
        let length = |len: usize| u64::try_from(len).unwrap_or(u64::MAX).to_le_bytes();
        match self {
            Self::Bytes(bytes) => {
                write(&[1]);
                write(&length(bytes.len()));
                write(bytes);
            }
            Self::Text(text) => {
                write(&[2]);
                write(&length(text.len()));
                write(text.as_bytes());
            }
            Self::Unsigned(number) => {
                write(&[3]);
                write(&number.to_le_bytes());
            }
            Self::Negative(distance) => {
                write(&[4]);
                write(&distance.get().to_le_bytes());
            }
            Self::Ip(prefix) => {
                write(&[5, prefix.length]);
                match prefix.network {
                    IpAddr::V4(address) => {
                        write(&[4]);
                        write(&address.octets());
                    }
                    IpAddr::V6(address) => {
                        write(&[6]);
                        write(&address.octets());
                    }
                }
            }
            Self::Parts(parts) => {
                write(&[6]);
                write(&length(parts.len()));
                for part in *parts {
                    part.encode(write);
                }
            }
        }
    }
}

/// An IP network: an address of which only the first `length` bits count.
///
/// An IPv4 address mapped into IPv6 (`::ffff:192.0.2.1`) is the IPv4 address, so that a
/// dual-stack socket does not make two clients of one, or one of all.
///
/// ```
/// use brimful::IpPrefix;
///
/// let home = IpPrefix::new("2001:db8:1:2::1".parse()?, 64)?;
/// assert_eq!(home, IpPrefix::new("2001:db8:1:2:ffff::9".parse()?, 64)?);
/// assert_eq!(IpPrefix::new("::ffff:192.0.2.7".parse()?, 120)?, IpPrefix::new("192.0.2.0".parse()?, 24)?);
/// assert!(IpPrefix::new("192.0.2.1".parse()?, 33).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpPrefix {
    network: IpAddr,
    length: u8,
}

impl IpPrefix {
    /// The network of `address` with the first `length` bits: 0 to 32 for IPv4, 0 to 128 for
    /// IPv6. A mapped IPv4 address takes an IPv6 length from 96.
    ///
    /// # Errors
    /// `length` is above the address's width, or cuts into the mapping of an IPv4 address.
    pub fn new(address: IpAddr, length: u8) -> Result<Self, Error> {
        let out_of_range = |range| Err(Error::range("prefix length", length, range));
        match address {
            IpAddr::V4(_) if length > 32 => out_of_range("0 to 32 for an IPv4 address"),
            IpAddr::V6(_) if length > 128 => out_of_range("0 to 128 for an IPv6 address"),
            IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                None => Ok(Self::masked(address, length)),
                Some(v4) => match length.checked_sub(96) {
                    Some(length) => Ok(Self::masked(v4.into(), length)),
                    None => out_of_range("96 to 128 for an IPv4 address mapped into IPv6"),
                },
            },
            IpAddr::V4(_) => Ok(Self::masked(address, length)),
        }
    }

    /// The address alone: all of its bits count.
    #[must_use]
    pub fn host(address: IpAddr) -> Self {
        match address.to_canonical() {
            v4 @ IpAddr::V4(_) => Self::masked(v4, 32),
            v6 @ IpAddr::V6(_) => Self::masked(v6, 128),
        }
    }

    /// What usually stands for one client: an IPv4 address, or the /64 network of an IPv6
    /// address, of which one subscriber holds all.
    #[must_use]
    pub fn client(address: IpAddr) -> Self {
        match address.to_canonical() {
            v4 @ IpAddr::V4(_) => Self::masked(v4, 32),
            v6 @ IpAddr::V6(_) => Self::masked(v6, 64),
        }
    }

    /// The first address of the network.
    #[must_use]
    pub const fn network(&self) -> IpAddr {
        self.network
    }

    /// How many of the network's bits count.
    #[must_use]
    pub const fn length(&self) -> u8 {
        self.length
    }

    /// `length` is at most the address's width.
    fn masked(address: IpAddr, length: u8) -> Self {
        let network = match address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
            }
        };
        Self { network, length }
    }
}

impl core::fmt::Display for IpPrefix {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", self.network, self.length)
    }
}

/// Anything that can be a key: text, bytes, integers, IP addresses and networks, tuples of these
/// (up to 8 parts), references to them, and [`Key`] itself.
///
/// ```
/// use brimful::{AsKey, Key};
///
/// ("tenant", 42_u64, "search").with_key(|key| {
///     let parts = [Key::Text("tenant"), Key::Unsigned(42), Key::Text("search")];
///     assert_eq!(key, Key::Parts(&parts));
/// });
/// ```
pub trait AsKey {
    /// Calls `f` with the key. (A tuple's parts live only as long as the call.)
    fn with_key<R>(&self, f: impl FnOnce(Key<'_>) -> R) -> R;
}

impl<T: AsKey + ?Sized> AsKey for &T {
    #[inline]
    fn with_key<R>(&self, f: impl FnOnce(Key<'_>) -> R) -> R {
        (**self).with_key(f)
    }
}

impl AsKey for Key<'_> {
    fn with_key<R>(&self, f: impl FnOnce(Key<'_>) -> R) -> R {
        f(*self)
    }
}

/// `impl AsKey` for types whose key is an expression of `self`.
macro_rules! as_key {
    ($($type:ty => |$this:ident| $key:expr;)*) => {$(
        impl AsKey for $type {
            #[inline]
            fn with_key<R>(&self, f: impl FnOnce(Key<'_>) -> R) -> R {
                let $this = self;
                f($key)
            }
        }
    )*};
}

as_key! {
    str => |text| Key::Text(text);
    String => |text| Key::Text(text);
    Box<str> => |text| Key::Text(text);
    Arc<str> => |text| Key::Text(text);
    Cow<'_, str> => |text| Key::Text(text);
    [u8] => |bytes| Key::Bytes(bytes);
    Vec<u8> => |bytes| Key::Bytes(bytes);
    u8 => |number| Key::Unsigned((*number).into());
    u16 => |number| Key::Unsigned((*number).into());
    u32 => |number| Key::Unsigned((*number).into());
    u64 => |number| Key::Unsigned((*number).into());
    u128 => |number| Key::Unsigned(*number);
    i8 => |number| Key::from(i128::from(*number));
    i16 => |number| Key::from(i128::from(*number));
    i32 => |number| Key::from(i128::from(*number));
    i64 => |number| Key::from(i128::from(*number));
    i128 => |number| Key::from(*number);
    IpAddr => |address| Key::Ip(IpPrefix::host(*address));
    Ipv4Addr => |address| Key::Ip(IpPrefix::host(IpAddr::V4(*address)));
    Ipv6Addr => |address| Key::Ip(IpPrefix::host(IpAddr::V6(*address)));
    IpPrefix => |prefix| Key::Ip(*prefix);
    () => |_unit| Key::Parts(&[]);
}

impl<const N: usize> AsKey for [u8; N] {
    fn with_key<R>(&self, f: impl FnOnce(Key<'_>) -> R) -> R {
        f(Key::Bytes(self))
    }
}

impl From<i128> for Key<'_> {
    fn from(number: i128) -> Self {
        match NonZero::new(number.unsigned_abs()).filter(|_| number < 0) {
            Some(distance) => Self::Negative(distance),
            None => Self::Unsigned(number.unsigned_abs()),
        }
    }
}

/// `impl AsKey` for tuples: each part is resolved inside the one before, then all are listed.
macro_rules! tuple_as_key {
    ($($part:ident),+) => {
        impl<$($part: AsKey),+> AsKey for ($($part,)+) {
            #[allow(non_snake_case, reason = "a part is named after its type")]
            fn with_key<R>(&self, f: impl FnOnce(Key<'_>) -> R) -> R {
                let ($($part,)+) = self;
                tuple_as_key!(@nest f, [$($part),+], $($part),+)
            }
        }
    };
    (@nest $f:ident, [$($all:ident),+], $first:ident $(, $rest:ident)*) => {
        $first.with_key(|$first| tuple_as_key!(@nest $f, [$($all),+] $(, $rest)*))
    };
    (@nest $f:ident, [$($all:ident),+]) => { $f(Key::Parts(&[$($all),+])) };
}

tuple_as_key!(A);
tuple_as_key!(A, B);
tuple_as_key!(A, B, C);
tuple_as_key!(A, B, C, D);
tuple_as_key!(A, B, C, D, E);
tuple_as_key!(A, B, C, D, E, G);
tuple_as_key!(A, B, C, D, E, G, H);
tuple_as_key!(A, B, C, D, E, G, H, I);

/// A key that is kept by whoever holds a receipt for it.
#[cfg(feature = "std")]
#[derive(Clone)]
pub(crate) enum OwnedKey {
    Bytes(Box<[u8]>),
    Text(Box<str>),
    /// What needs no memory of its own.
    Plain(Key<'static>),
    Parts(Box<[Self]>),
}

#[cfg(feature = "std")]
impl OwnedKey {
    pub(crate) fn new(key: Key<'_>) -> Self {
        match key {
            Key::Bytes(bytes) => Self::Bytes(bytes.into()),
            Key::Text(text) => Self::Text(text.into()),
            Key::Unsigned(number) => Self::Plain(Key::Unsigned(number)),
            Key::Negative(distance) => Self::Plain(Key::Negative(distance)),
            Key::Ip(prefix) => Self::Plain(Key::Ip(prefix)),
            Key::Parts(parts) => Self::Parts(parts.iter().copied().map(Self::new).collect()),
        }
    }

    /// Calls `f` once with the key. (Parts of parts have to be borrowed from somewhere: each level is a call.)
    pub(crate) fn lend(&self, f: &mut dyn FnMut(Key<'_>)) {
        match self {
            Self::Bytes(bytes) => f(Key::Bytes(bytes)),
            Self::Text(text) => f(Key::Text(text)),
            Self::Plain(key) => f(*key),
            Self::Parts(parts) => Self::lend_parts(parts, &[], f),
        }
    }

    fn lend_parts(left: &[Self], lent: &[Key<'_>], f: &mut dyn FnMut(Key<'_>)) {
        let Some((first, left)) = left.split_first() else { return f(Key::Parts(lent)) };
        first.lend(&mut |key| {
            let lent: Vec<Key<'_>> = lent.iter().copied().chain([key]).collect();
            Self::lend_parts(left, &lent, f);
        });
    }
}
