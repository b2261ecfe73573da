//! Keys that are no text, as they are written on a command line.

mod json;

use std::net::IpAddr;
use std::str::FromStr;

use brimful::{AsKey, IpPrefix, Key};
use serde_json::Value;

use json::Once;

const EXPECTED: &str = "expected JSON: a text, a whole number, a list of these and of addresses, or \
                        an address such as {\"ip\": \"192.0.2.0/24\"}";

/// A key, as a file of rules writes it, in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JsonKey {
    Text(String),
    Integer(i128),
    Ip(IpPrefix),
    /// None of them is a list.
    Parts(Vec<JsonKey>),
}

impl JsonKey {
    /// The key, unless it is a list.
    fn simple(&self) -> Key<'_> {
        match self {
            Self::Text(text) => Key::Text(text),
            Self::Integer(number) => Key::from(*number),
            Self::Ip(prefix) => Key::Ip(*prefix),
            Self::Parts(_) => Key::Parts(&[]),
        }
    }

    fn read_simple(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Ok(Self::Text(text.clone())),
            Value::Number(number) => {
                let whole = number.as_i128().ok_or_else(|| {
                    format!("{number} is not a whole number of 64 bits; {EXPECTED}")
                })?;
                Ok(Self::Integer(whole))
            }
            Value::Object(fields) => match (fields.len(), fields.get("ip")) {
                (1, Some(Value::String(text))) => address(text).map(Self::Ip),
                _ => Err(format!("this object is no address; {EXPECTED}")),
            },
            other => Err(format!("found {other}; {EXPECTED}")),
        }
    }
}

impl FromStr for JsonKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Once(value) = serde_json::from_str(text).map_err(|fault| match fault.is_data() {
            true => format!("{fault}; {EXPECTED}"),
            false => {
                format!("not JSON: {fault}; {EXPECTED} (a text in quotes; --key takes it without)")
            }
        })?;
        match &value {
            Value::Array(parts) => {
                parts.iter().map(Self::read_simple).collect::<Result<_, _>>().map(Self::Parts)
            }
            simple => Self::read_simple(simple),
        }
    }
}

/// `192.0.2.1`, `192.0.2.0/24`, `2001:db8::/32`
fn address(text: &str) -> Result<IpPrefix, String> {
    let no_address = || format!("{text:?} is no address; {EXPECTED}");
    let (address, length) = text.split_once('/').map_or((text, None), |(a, l)| (a, Some(l)));
    let address: IpAddr = address.parse().map_err(|_| no_address())?;
    let Some(length) = length else { return Ok(IpPrefix::host(address)) };
    let digits = !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit());
    let bits = length.parse().ok().filter(|_| digits).ok_or_else(no_address)?;
    IpPrefix::new(address, bits).map_err(|fault| fault.to_string())
}

impl AsKey for JsonKey {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn same(json: &str, key: impl AsKey) {
        let read: JsonKey = json.parse().unwrap_or_else(|fault| panic!("{json}: {fault}"));
        key.with_key(|key| read.with_key(|read| assert_eq!(read, key, "{json}")));
    }

    #[test]
    fn every_kind_of_key() {
        same("\"a\"", "a");
        same("42", 42_u8);
        same("-3", -3_i8);
        same("18446744073709551615", u64::MAX);
        same("[\"tenant\", 42]", ("tenant", 42_u8));
        same("[]", ());
        let host: IpAddr = "2001:db8::1".parse().unwrap();
        same("{\"ip\": \"2001:db8::1\"}", IpPrefix::host(host));
        same("{\"ip\": \"2001:db8::1/32\"}", IpPrefix::new(host, 32).unwrap());
        same("[{\"ip\": \"192.0.2.1\"}, \"x\"]", (IpPrefix::host([192, 0, 2, 1].into()), "x"));
    }

    #[test]
    fn what_is_no_key() {
        for (json, part) in [
            ("tenant", "not JSON"),
            ("", "not JSON"),
            ("1.5", "not a whole number"),
            ("18446744073709551616", "not a whole number of 64 bits"),
            ("true", "found true"),
            ("null", "found null"),
            ("[[1]]", "found [1]"),
            ("[1, null]", "found null"),
            ("{}", "no address"),
            ("{\"ip\": 1}", "no address"),
            ("{\"ip\": \"1.2.3.4\", \"b\": 1}", "no address"),
            (
                "{\"ip\": \"1.2.3.4\", \"ip\": \"1.2.3.5\"}",
                "duplicate field \"ip\" at line 1 column",
            ),
            ("[1, {\"ip\": \"1.2.3.4\", \"\\u0069p\": \"1.2.3.4\"}]", "duplicate field \"ip\""),
            ("{\"ip\": \"1.2.3\"}", "no address"),
            ("{\"ip\": \"1.2.3.4/\"}", "no address"),
            ("{\"ip\": \"1.2.3.4/+8\"}", "no address"),
            ("{\"ip\": \"1.2.3.4/33\"}", "32"),
        ] {
            let fault = json.parse::<JsonKey>().unwrap_err();
            assert!(fault.contains(part), "{json}: {fault}");
        }
    }
}
