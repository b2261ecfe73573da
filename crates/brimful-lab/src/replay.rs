//! Reads a log, decides every event at the time that the log says, and sums up.

use std::io::{self, Read};
use std::time::Duration;

use brimful::{Limiter, LimiterBuilder, Nanos, Overflow, Policy};

use crate::busiest::Busiest;
use crate::decided::Decided;
use crate::error::Error;
use crate::event::{Op, Reason};
use crate::keys::{KeyId, Keys};
use crate::lines::{Line, Lines, MAX_LINE};
use crate::options::Format;
use crate::reorder::{Held, MAX_HELD, Reorder};
use crate::summary::{BadLine, BadLines, DeniedKey, Summary};
use crate::{combined, jsonl};

/// Bad lines that are kept to be shown.
const SHOWN_BAD: usize = 5;
/// Keys in the list of the most denied.
const TOP_DENIED: usize = 10;
/// The store of a replay hashes keys the same way every time, so that one log has one answer even
/// where keys compete for slots.
const SECRET: [u64; 2] = [0x6272_696d_6675_6c20, 0x7265_706c_6179_2121];

/// A replay that is about to run.
#[derive(Clone, Debug)]
pub struct Replay {
    policy: Policy,
    max_keys: u64,
    overflow: Overflow,
    format: Option<Format>,
    reorder: Option<Duration>,
    max_held: usize,
}

impl Replay {
    /// A replay that gives every key `policy`.
    #[must_use]
    pub fn new(policy: impl Into<Policy>) -> Self {
        Self {
            policy: policy.into(),
            max_keys: LimiterBuilder::DEFAULT_MAX_KEYS,
            overflow: Overflow::default(),
            format: None,
            reorder: None,
            max_held: MAX_HELD,
        }
    }

    /// How many keys the limiter's store is built for; see [`LimiterBuilder::max_keys`].
    #[must_use]
    pub fn max_keys(self, max_keys: u64) -> Self {
        Self { max_keys, ..self }
    }

    /// What the limiter does with a new key when its store is full.
    #[must_use]
    pub fn overflow(self, overflow: Overflow) -> Self {
        Self { overflow, ..self }
    }

    /// How the log is written; otherwise its first line tells ([`Format::of`]).
    #[must_use]
    pub fn format(self, format: Format) -> Self {
        Self { format: Some(format), ..self }
    }

    /// How long events are held back, in the log's time, so that lines up to this much out of
    /// order are decided in order; otherwise [`Format::usual_reorder`].
    #[must_use]
    pub fn reorder(self, span: Duration) -> Self {
        Self { reorder: Some(span), ..self }
    }

    /// The most events that are held back, [`MAX_HELD`] unless told otherwise; beyond it the
    /// oldest are let go early.
    #[must_use]
    pub fn max_held(self, max_held: usize) -> Self {
        Self { max_held, ..self }
    }

    /// Reads `log` to its end. `each` is called for every good event in the order in which they
    /// are decided.
    ///
    /// # Errors
    /// The limiter cannot be built (before anything is read), `log` cannot be read or is
    /// compressed, or `each` failed.
    pub fn run(
        self,
        log: impl Read,
        each: impl FnMut(&Decided<'_>) -> io::Result<()>,
    ) -> Result<Summary, Error> {
        let limiter = Limiter::builder(self.policy.clone())
            .max_keys(self.max_keys)
            .overflow(self.overflow)
            .secret(SECRET)
            .build()?;
        let mut lines = Lines::new(log);
        check_beginning(&mut lines)?;
        let mut summary = Summary::new(self.policy.clone());
        let mut decider =
            Decider { limiter, keys: Keys::default(), busiest: Busiest::default(), each };
        let mut source: Option<Source> = None;
        loop {
            let upcoming = lines.upcoming();
            let Some(line) = lines.next_line().map_err(|fault| Error::read(upcoming, fault))?
            else {
                break;
            };
            summary.lines = line.number;
            if line.text.is_some_and(|text| text.trim_ascii().is_empty()) {
                continue;
            }
            let source = source.get_or_insert_with(|| self.source(&line));
            match source.read(&line, &mut decider.keys) {
                Ok(event) => {
                    summary.saw(event.at);
                    if let Some(event) = source.reorder.push(event) {
                        decider.decide(event, &mut summary)?;
                    }
                    while let Some(event) = source.reorder.release() {
                        decider.decide(event, &mut summary)?;
                    }
                }
                Err(reason) => summary.bad_lines.add(line.number, reason),
            }
        }
        while let Some(event) = source.as_mut().and_then(|source| source.reorder.next()) {
            decider.decide(event, &mut summary)?;
        }
        if let Some(source) = source {
            source.report(&mut summary);
        }
        decider.report(&mut summary);
        Ok(summary)
    }

    /// What the first line that is not blank decides.
    fn source(&self, line: &Line<'_>) -> Source {
        let format = self.format.unwrap_or_else(|| Format::of(line.text.unwrap_or_default()));
        let span = self.reorder.unwrap_or(format.usual_reorder()).as_nanos();
        let span = u64::try_from(span).unwrap_or(u64::MAX);
        Source { format, span, reorder: Reorder::new(span, self.max_held) }
    }
}

/// Refuses compressed data, and passes over a byte order mark.
fn check_beginning(lines: &mut Lines<impl Read>) -> Result<(), Error> {
    const PACKED: [(&[u8], &str, &str); 4] = [
        (b"\x1f\x8b", "gzip", "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd", "zstd"),
        (b"\xfd7zXZ\0", "xz", "xz"),
        (b"BZh", "bzip2", "bzip2"),
    ];
    let beginning = lines.beginning(6).map_err(|fault| Error::read(1, fault))?;
    if let Some((_, kind, tool)) = PACKED.iter().find(|(magic, ..)| beginning.starts_with(magic)) {
        return Err(Error::compressed(kind, tool));
    }
    if beginning.starts_with(b"\xef\xbb\xbf") {
        lines.skip(3);
    }
    Ok(())
}

/// What an event asks for, without its time and line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ask {
    key: KeyId,
    cost: u64,
    op: Op,
}

/// How lines become events in order.
#[derive(Debug)]
struct Source {
    format: Format,
    span: u64,
    reorder: Reorder<Ask>,
}

impl Source {
    fn read(&self, line: &Line<'_>, keys: &mut Keys) -> Result<Held<Ask>, Reason> {
        let text = line
            .text
            .ok_or_else(|| Reason::new(format!("the line is longer than {MAX_LINE} bytes")))?;
        let event = match self.format {
            Format::Combined => combined::parse(text)?,
            Format::Jsonl => jsonl::parse(text)?,
        };
        let key = keys.id(&event.key).ok_or_else(|| Reason::new("more than 2^32 keys"))?;
        let what = Ask { key, cost: event.cost, op: event.op };
        Ok(Held { at: event.at, line: line.number, what })
    }

    fn report(&self, summary: &mut Summary) {
        summary.format = Some(self.format);
        summary.reorder_ns = self.span;
        summary.disorder = self.reorder.disorder();
    }
}

/// Asks the limiter, and counts the answers.
struct Decider<F> {
    limiter: Limiter,
    keys: Keys,
    busiest: Busiest,
    each: F,
}

impl<F: FnMut(&Decided<'_>) -> io::Result<()>> Decider<F> {
    fn decide(&mut self, event: Held<Ask>, summary: &mut Summary) -> Result<(), Error> {
        let Held { at, line, what: Ask { key, cost, op } } = event;
        let Some(row) = self.keys.row(key) else { return Ok(()) };
        let name: &str = &row.name;
        let mut refunded = None;
        let decision = match op {
            Op::Acquire => self.limiter.try_acquire_at(name, cost, at),
            Op::Peek => self.limiter.peek_at(name, cost, at),
            Op::Refund => {
                refunded = Some(self.limiter.refund_at(name, cost, at));
                self.limiter.peek_at(name, 0, at)
            }
        };
        // No policy comes with a call here.
        let Some(policy) = self.limiter.policy_of(&decision) else { return Ok(()) };
        let limit = self.limiter.limit_of(&decision);
        let decided = Decided { line, at, key: name, cost, op, decision, refunded, policy, limit };
        (self.each)(&decided).map_err(Error::write)?;
        summary.count(&decided);
        if op == Op::Acquire {
            self.busiest.add(at, decision.is_allowed());
            row.requests += 1;
            row.denied += u64::from(decision.is_denied());
        }
        Ok(())
    }

    fn report(&self, summary: &mut Summary) {
        summary.keys = u64::try_from(self.keys.len()).unwrap_or(u64::MAX);
        summary.busiest = self.busiest.second();
        summary.busiest_reopened = self.busiest.reopened();
        summary.store = self.limiter.stats();
        let denied = self.keys.most_denied(TOP_DENIED).into_iter();
        summary.top_denied = denied
            .map(|row| DeniedKey {
                key: row.name.to_string(),
                denied: row.denied,
                requests: row.requests,
            })
            .collect();
    }
}

impl BadLines {
    fn add(&mut self, line: u64, reason: Reason) {
        self.count += 1;
        if self.first.len() < SHOWN_BAD {
            self.first.push(BadLine { line, reason: reason.to_string() });
        }
    }
}

impl Summary {
    /// Widens the span of the log.
    fn saw(&mut self, at: Nanos) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    fn count(&mut self, decided: &Decided<'_>) {
        match decided.op {
            Op::Acquire => {
                self.requests += 1;
                self.admitted += u64::from(decided.decision.is_allowed());
                self.denied += u64::from(decided.decision.is_denied());
                self.denied_never += u64::from(decided.decision.is_never());
            }
            Op::Peek => self.peeks += 1,
            Op::Refund => {
                self.refunds += 1;
                self.refunded_tokens += u128::from(decided.refunded.unwrap_or(0));
            }
        }
    }
}
