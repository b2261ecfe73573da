//! Keys and patterns.

use std::net::IpAddr;

use brimful::{IpPrefix, Policy, Rules};

use super::Reader;
use crate::key::OwnedKey;
use crate::limiter;
use crate::model::Changed;
use crate::node::{Node, Value};

pub(crate) const IP: &[&str] = &["ip"];

impl Reader {
    pub(super) fn key(&mut self, node: &Node) -> Option<OwnedKey> {
        match &node.value {
            Value::List(parts) => {
                let is = self.is;
                let expected = format!(
                    "a part of a key is text, a whole number or `{{ ip{is}\"192.0.2.1\" }}`"
                );
                let parts: Vec<_> =
                    parts.iter().map(|part| self.simple_key(part, &expected)).collect();
                parts.into_iter().collect::<Option<_>>().map(OwnedKey::Parts)
            }
            _ => {
                let is = self.is;
                let expected = format!(
                    "a key is text, a whole number, a list of these, or `{{ ip{is}\"192.0.2.0/24\" }}`"
                );
                self.simple_key(node, &expected)
            }
        }
    }

    fn simple_key(&mut self, node: &Node, expected: &str) -> Option<OwnedKey> {
        match &node.value {
            Value::Text(text) => {
                let spot = self.within(node, text, 0..text.len());
                Some(OwnedKey::Text(self.normalized(text, spot)))
            }
            Value::Integer { .. } => self.integer(node, expected).map(OwnedKey::Integer),
            Value::Table(_) => {
                let fields = self.table(node, "an address", IP)?;
                let Some(entry) = fields.get("ip") else {
                    self.faults.note(
                        Self::spot(&node.span),
                        "found a table without `ip`",
                        expected,
                    );
                    return None;
                };
                self.address(&entry.node).map(OwnedKey::Ip)
            }
            other => {
                self.wrong(node, other, expected);
                None
            }
        }
    }

    /// `192.0.2.1`, `192.0.2.0/24`, `2001:db8::/32`
    fn address(&mut self, node: &Node) -> Option<IpPrefix> {
        let expected =
            "expected an address such as `192.0.2.1`, or a network such as `192.0.2.0/24`";
        let text = self.text(node, expected)?;
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let Ok(parsed) = address.parse::<IpAddr>() else {
            let spot = self.within(node, text, 0..address.len());
            self.faults.note(spot, format!("`{address}` is no IP address"), expected);
            return None;
        };
        let Some(length) = length else { return Some(IpPrefix::host(parsed)) };
        let part = address.len().saturating_add(1)..text.len();
        let spot = self.within(node, text, part);
        let digits = !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit());
        let Some(bits) = length.parse::<u8>().ok().filter(|_| digits) else {
            self.faults.note(spot, format!("`{length}` is no prefix length"), expected);
            return None;
        };
        match IpPrefix::new(parsed, bits) {
            Ok(prefix) => Some(prefix),
            Err(fault) => {
                self.faults.note(spot, limiter::found(&fault), limiter::expected(&fault));
                None
            }
        }
    }

    /// A pattern in the form of `[keys]`.
    pub(super) fn pattern(&mut self, node: &Node) -> Option<String> {
        let text = self.text(node, "a pattern is text, for example `tenant:*:search`")?;
        // The pattern alone is checked; what it is given does not matter.
        let check = |text| {
            Rules::builder().default(Policy::blocked()).pattern(text, Policy::blocked()).build()
        };
        if let Err(fault) = check(text) {
            self.refused(node, text, &fault);
            return None;
        }
        let spot = self.within(node, text, 0..text.len());
        let pattern = self.normalized(text, spot);
        // Folding makes no `*`, `:` or `\`, so this is a pattern too, unless nothing is left of it.
        if let Err(fault) = check(&pattern) {
            self.faults.note(spot, limiter::found(&fault), limiter::expected(&fault));
            return None;
        }
        Some(pattern)
    }

    /// A text in the form of `[keys]`.
    pub(super) fn normalized(&mut self, text: &str, spot: crate::source::Spot) -> String {
        let formed = self.keys.normalize(text).into_owned();
        if formed != text {
            self.model.changed.push(Changed { from: text.to_owned(), to: formed.clone(), spot });
        }
        formed
    }
}
