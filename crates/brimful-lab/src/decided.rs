//! One decided event, and how it is written.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use brimful::{Decision, Limit, Nanos, Policy};

use crate::event::Op;

/// One event of a log and what the limiter answered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Decided<'a> {
    /// The number of its line, from 1.
    pub line: u64,
    /// When it happened.
    pub at: Nanos,
    /// Whose budget it spent.
    pub key: &'a str,
    /// The tokens it asked for, or for a refund gave back.
    pub cost: u64,
    /// What it asked for.
    pub op: Op,
    /// The answer; for a refund that of a look right after it.
    pub decision: Decision,
    /// For a refund, the tokens that were given back: at most what was owed.
    pub refunded: Option<u64>,
    /// The policy that decided.
    pub policy: Arc<Policy>,
}

impl Decided<'_> {
    /// The limit that decided.
    #[must_use]
    pub fn limit(&self) -> Option<&Limit> {
        self.policy.limits().get(self.decision.limit()?)
    }

    /// Writes one JSON object and a line end:
    ///
    /// ```text
    /// {"at_ns":5300000000,"key":"k","cost":1,"allowed":true,"remaining":88,"retry_after_ns":null,
    ///  "never":false,"reset_after_ns":1200000000,"policy":"default","limit":"10/s burst 100","line":2}
    /// ```
    ///
    /// `remaining` is null when there is no limit, `retry_after_ns` when the event was allowed and
    /// when no wait can help (`never`), `limit` when no limit decided. `op` is there when it is not
    /// `acquire`, and with a refund `refunded`, the tokens that were given back. `would_deny` is
    /// there, and true, when a policy on trial would have denied it.
    ///
    /// # Errors
    /// `out` failed.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        let remaining = Some(self.decision.remaining()).filter(|_| !self.policy.is_unlimited());
        let mut object = Object { out, digits: itoa::Buffer::new() };
        object.number(r#"{"at_ns":"#, Some(self.at.as_nanos()))?;
        object.text(r#","key":"#, Some(self.key))?;
        object.number(r#","cost":"#, Some(self.cost))?;
        object.truth(r#","allowed":"#, self.decision.is_allowed())?;
        object.number(r#","remaining":"#, remaining)?;
        object.nanos(r#","retry_after_ns":"#, self.decision.retry_after())?;
        object.truth(r#","never":"#, self.decision.is_never())?;
        object.nanos(r#","reset_after_ns":"#, Some(self.decision.reset_after()))?;
        object.text(r#","policy":"#, Some(self.policy.name()))?;
        object.text(r#","limit":"#, self.limit().map(Limit::name))?;
        object.number(r#","line":"#, Some(self.line))?;
        if self.op != Op::Acquire {
            object.text(r#","op":"#, Some(self.op.name()))?;
        }
        if self.refunded.is_some() {
            object.number(r#","refunded":"#, self.refunded)?;
        }
        if self.decision.would_deny() {
            object.truth(r#","would_deny":"#, true)?;
        }
        object.out.write_all(b"}\n")
    }
}

/// Writes the fields of an object, each after what stands before its value. By hand, because this
/// takes as long as everything else about a line when serde does it.
struct Object<'a, W> {
    out: &'a mut W,
    digits: itoa::Buffer,
}

impl<W: Write> Object<'_, W> {
    fn value(&mut self, before: &str, value: &str) -> io::Result<()> {
        self.out.write_all(before.as_bytes())?;
        self.out.write_all(value.as_bytes())
    }

    fn truth(&mut self, before: &str, value: bool) -> io::Result<()> {
        self.value(before, if value { "true" } else { "false" })
    }

    fn number(&mut self, before: &str, value: Option<u64>) -> io::Result<()> {
        self.out.write_all(before.as_bytes())?;
        let digits = value.map_or("null", |value| self.digits.format(value));
        self.out.write_all(digits.as_bytes())
    }

    /// A span of time, which may exceed 64 bits.
    fn nanos(&mut self, before: &str, span: Option<Duration>) -> io::Result<()> {
        match span.map(|span| span.as_nanos()) {
            Some(ns) if ns > u128::from(u64::MAX) => {
                self.out.write_all(before.as_bytes())?;
                self.out.write_all(self.digits.format(ns).as_bytes())
            }
            ns => self.number(before, ns.and_then(|ns| u64::try_from(ns).ok())),
        }
    }

    fn text(&mut self, before: &str, text: Option<&str>) -> io::Result<()> {
        let plain = |b: u8| b >= b' ' && !matches!(b, b'"' | b'\\');
        match text {
            None => self.value(before, "null"),
            Some(text) if text.bytes().all(plain) => {
                self.value(before, "\"")?;
                self.value(text, "\"")
            }
            Some(text) => {
                self.out.write_all(before.as_bytes())?;
                Ok(serde_json::to_writer(&mut *self.out, text)?)
            }
        }
    }
}
