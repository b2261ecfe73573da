//! Reads a log, decides every event at the time that the log says, and sums up.

use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use brimful::{Algorithm, Limit, Limiter, LimiterBuilder, Overflow, Policy};

use crate::asked::{Asked, KeyForm};
use crate::decided::Decided;
use crate::decider::Decider;
use crate::error::Error;
use crate::event::Op;
use crate::input::Input;
use crate::keys::Keys;
use crate::lines::{Line, Lines};
use crate::options::{AllAlgorithms, Format};
use crate::reorder::{Held, MAX_HELD, Reorder};
use crate::side_by_side::SideBySide;
use crate::source::{Ask, Found, Reader, Source};
use crate::summary::{LogFacts, Summary};
use crate::template::Template;
use crate::timestamp::TimeUnit;
use crate::wanted::Wanted;

/// The store of a replay hashes keys the same way every time, so that one log has one answer even
/// where keys compete for slots.
const SECRET: [u64; 2] = [0x6272_696d_6675_6c20, 0x7265_706c_6179_2121];

/// A replay that is about to run.
#[derive(Clone, Debug)]
pub struct Replay {
    asked: Asked,
    max_keys: Option<u64>,
    max_log_entries: Option<u64>,
    overflow: Option<Overflow>,
    key_form: KeyForm,
    format: Option<Format>,
    wanted: Wanted,
    reorder: Option<Duration>,
    max_held: usize,
    top: u64,
}

impl Replay {
    /// The most keys that are kept for the list of the most denied.
    pub const MAX_TOP: u64 = 10_000;
    /// The keys in that list unless told otherwise.
    pub const DEFAULT_TOP: u64 = 10;

    /// A replay that gives every key `policy`.
    #[must_use]
    pub fn new(policy: impl Into<Policy>) -> Self {
        Self::of(Asked::Policy(policy.into()))
    }

    /// A replay that asks the limiter of such a builder, by whatever rules it has. No request of a log
    /// names a tier. The builder's secret is replaced by a fixed one, so that one log has one answer.
    ///
    /// ```
    /// use brimful::{Limit, Limiter, Policy, Rules};
    /// use brimful_lab::Replay;
    ///
    /// let rules = Rules::builder()
    ///     .default(Limit::per_minute(1)?)
    ///     .pattern("10.*", Policy::unlimited().named("inside")?)
    ///     .build()?;
    /// let log = r#"{"at": 0, "key": "10.0.0.1"}
    /// {"at": 0, "key": "10.0.0.1"}
    /// {"at": 0, "key": "192.0.2.1"}
    /// {"at": 0, "key": "192.0.2.1"}
    /// "#;
    /// let replay = Replay::with_limiter(move || Limiter::builder(rules.clone()).max_keys(1_000));
    /// let summary = replay.run(log.as_bytes(), |_| Ok(()))?;
    /// let by_policy = summary.policies.iter().map(|row| (&*row.policy, row.requests, row.denied));
    /// assert_eq!(by_policy.collect::<Vec<_>>(), [("default", 2, 1), ("inside", 2, 0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_limiter(builder: impl Fn() -> LimiterBuilder + Send + Sync + 'static) -> Self {
        Self::of(Asked::Limiter(Arc::new(builder)))
    }

    fn of(asked: Asked) -> Self {
        Self {
            asked,
            max_keys: None,
            max_log_entries: None,
            overflow: None,
            key_form: KeyForm::default(),
            format: None,
            wanted: Wanted::default(),
            reorder: None,
            max_held: MAX_HELD,
            top: Self::DEFAULT_TOP,
        }
    }

    /// How many keys the limiter's store is built for; see [`LimiterBuilder::max_keys`].
    #[must_use]
    pub fn max_keys(self, max_keys: u64) -> Self {
        Self { max_keys: Some(max_keys), ..self }
    }

    /// How many entries all sliding logs together can hold; see
    /// [`LimiterBuilder::max_log_entries`]. Counts for nothing where no limit has a sliding log.
    #[must_use]
    pub fn max_log_entries(self, max_log_entries: u64) -> Self {
        Self { max_log_entries: Some(max_log_entries), ..self }
    }

    /// What the limiter does with a new key when its store is full.
    #[must_use]
    pub fn overflow(self, overflow: Overflow) -> Self {
        Self { overflow: Some(overflow), ..self }
    }

    /// How the log is written; otherwise its first line tells ([`Format::of`]).
    #[must_use]
    pub fn format(self, format: Format) -> Self {
        Self { format: Some(format), ..self }
    }

    /// What the key of a line is; otherwise the host, or the field `key`.
    #[must_use]
    pub fn key(mut self, template: Template) -> Self {
        self.wanted.key = Some(template);
        self
    }

    /// How the text of keys is brought to one form, in which they are decided, counted and shown;
    /// otherwise they stay as they are.
    #[must_use]
    pub fn key_form(
        self,
        form: impl for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync + 'static,
    ) -> Self {
        Self { key_form: KeyForm::new(form), ..self }
    }

    /// The field that holds the time; otherwise the first that is there of some usual names.
    #[must_use]
    pub fn time_field(mut self, name: impl Into<String>) -> Self {
        self.wanted.time = Some(name.into());
        self
    }

    /// The field that holds the cost; otherwise `cost`, or 1 for each line. For a combined log it
    /// can be `body_bytes_sent`.
    #[must_use]
    pub fn cost_field(mut self, name: impl Into<String>) -> Self {
        self.wanted.cost = Some(name.into());
        self
    }

    /// The unit of times that are numbers; otherwise the field's name says it (`at` is in seconds,
    /// and `_s`, `_ms`, `_us` and `_ns` at the end of a name mean what they say), or the number's
    /// size does.
    #[must_use]
    pub fn time_unit(mut self, unit: TimeUnit) -> Self {
        self.wanted.unit = Some(unit);
        self
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

    /// How many of the most denied keys are kept: 0 to [`Replay::MAX_TOP`].
    #[must_use]
    pub fn top(self, top: u64) -> Self {
        Self { top, ..self }
    }

    /// Reads `log` to its end. `each` is called for every good event in the order in which they
    /// are decided. A log that is packed by gzip is unpacked while it is read: any number of members,
    /// and zeros behind them; what else follows them is a fault when all before it is decided.
    ///
    /// # Errors
    /// The limiter cannot be built or an option does not go with the format (before anything is
    /// read, if the format is given), `log` cannot be read or is otherwise compressed, or `each`
    /// failed.
    pub fn run(
        self,
        log: impl Read,
        mut each: impl FnMut(&Decided<'_>) -> io::Result<()>,
    ) -> Result<Summary, Error> {
        let top = self.checked_top()?;
        let mut decider = self.decider(&self.asked)?;
        let (facts, keys) = self.read_through(log, |event, name| {
            each(&decider.decide(event, name)).map_err(Error::write)
        })?;
        Ok(decider.summary(&facts, &keys, top))
    }

    /// Reads `log` once and decides every event under each algorithm, each with a limiter of its
    /// own: the policy's limits as they are, for the token bucket, and their tokens per period for
    /// the others, which have no burst. An algorithm that cannot enforce a limit is left out.
    ///
    /// # Errors
    /// As [`run`](Self::run); the policy is a word, a limit is not of the default algorithm, or there
    /// are rules instead of one policy ([`with_limiter`](Self::with_limiter)).
    pub fn run_all(self, log: impl Read) -> Result<SideBySide, Error> {
        let top = self.checked_top()?;
        let Asked::Policy(policy) = &self.asked else {
            let what = "the algorithms are put side by side for one policy, and there are rules";
            return Err(Error::usage(what));
        };
        let all = AllAlgorithms::of(policy)?;
        let policies = all.policies.iter().cloned().map(Asked::Policy);
        let mut deciders =
            policies.map(|policy| self.decider(&policy)).collect::<Result<Vec<_>, _>>()?;
        let (facts, keys) = self.read_through(log, |event, name| {
            for decider in &mut deciders {
                decider.decide(event, name);
            }
            Ok(())
        })?;
        Ok(SideBySide::new(all, &deciders, &facts, &keys, top))
    }

    fn checked_top(&self) -> Result<usize, Error> {
        let (top, most) = (self.top, Self::MAX_TOP);
        usize::try_from(top).ok().filter(|_| top <= most).ok_or_else(|| {
            Error::usage(format!("the number of top keys is {top}, expected 0 to {most}"))
        })
    }

    fn decider(&self, asked: &Asked) -> Result<Decider, Error> {
        // A limiter without logs would take the memory for entries too.
        let is_log = |limit: &Limit| limit.chosen_algorithm() == Algorithm::SlidingLog;
        let (mut builder, policy, has_log) = match asked {
            Asked::Policy(policy) => {
                let has_log = policy.limits().iter().any(is_log);
                (Limiter::builder(policy.clone()), Some(policy.clone()), has_log)
            }
            Asked::Limiter(builder) => (builder(), None, true),
        };
        builder = builder.secret(SECRET);
        if let Some(max_keys) = self.max_keys {
            builder = builder.max_keys(max_keys);
        }
        if let Some(overflow) = self.overflow {
            builder = builder.overflow(overflow);
        }
        if let Some(entries) = self.max_log_entries.filter(|_| has_log) {
            builder = builder.max_log_entries(entries);
        }
        Ok(Decider::new(policy, builder.build()?))
    }

    /// Hands every good event, with the name of its key, to `decide` in the order of their times.
    /// Where the log cannot be read any further, that is the error after all that came before.
    fn read_through(
        &self,
        log: impl Read,
        mut decide: impl FnMut(Held<Ask>, &str) -> Result<(), Error>,
    ) -> Result<(LogFacts, Keys), Error> {
        self.check_fields()?;
        let mut lines = Lines::new(Input::new(log).map_err(|fault| Error::read(1, fault))?);
        check_beginning(&mut lines)?;
        let mut decide = |event: Held<Ask>, keys: &mut Keys| {
            let requests = u64::from(event.what.op == Op::Acquire);
            keys.asked(event.what.key, requests).map_or(Ok(()), |name| decide(event, name))
        };
        let (mut facts, mut source) = (LogFacts::default(), None);
        let mut keys = Keys::new(self.key_form.clone());
        let read = self.read_lines(&mut lines, &mut source, &mut facts, &mut keys, &mut decide);
        if let Err(fault) = &read
            && !fault.is_read()
        {
            return read.map(|()| (facts, keys));
        }
        if let Some(mut source) = source {
            while let Some(event) = source.reorder.next() {
                decide(event, &mut keys)?;
            }
            facts.format = Some(source.format);
            facts.reorder_ns = source.span_ns;
            facts.disorder = source.reorder.disorder();
        }
        match read {
            Ok(()) => Ok((facts, keys)),
            Err(fault) => Err(fault.after(facts.bad_lines)),
        }
    }

    /// Reads all lines, and hands out the events whose turn has come. The source is made by the
    /// first line that is not blank.
    fn read_lines(
        &self,
        lines: &mut Lines<impl Read>,
        source: &mut Option<Source>,
        facts: &mut LogFacts,
        keys: &mut Keys,
        decide: &mut impl FnMut(Held<Ask>, &mut Keys) -> Result<(), Error>,
    ) -> Result<(), Error> {
        loop {
            let upcoming = lines.upcoming();
            let line = lines.next_line().map_err(|fault| Error::read(upcoming, fault))?;
            let Some(line) = line else { break };
            facts.lines = line.number;
            let source = match &mut *source {
                Some(source) => source,
                None if line.is_blank() => continue,
                none => none.insert(self.source(&line)?),
            };
            match source.reader.read(&line, keys)? {
                Found::Event(event) => {
                    facts.saw(event.at);
                    if let Some(event) = source.reorder.push(event) {
                        decide(event, keys)?;
                    }
                    while let Some(event) = source.reorder.release() {
                        decide(event, keys)?;
                    }
                }
                Found::Bad { line, reason } => facts.bad_lines.add(line, reason),
                Found::Nothing => {}
            }
        }
        // Only a row without its end can be left, which is no event.
        if let Some(source) = source
            && let Found::Bad { line, reason } = source.reader.finish(keys)?
        {
            facts.bad_lines.add(line, reason);
        }
        Ok(())
    }

    /// Finds what is at fault whatever is in the log.
    fn check_fields(&self) -> Result<(), Error> {
        self.wanted.check()?;
        self.format.map_or(Ok(()), |format| Reader::new(format, &self.wanted).map(drop))
    }

    /// What the first line that is not blank decides.
    fn source(&self, line: &Line<'_>) -> Result<Source, Error> {
        let format = self.format.unwrap_or_else(|| Format::of(line.text.unwrap_or_default()));
        let span = self.reorder.unwrap_or(format.usual_reorder()).as_nanos();
        let span_ns = u64::try_from(span).unwrap_or(u64::MAX);
        let reader = Reader::new(format, &self.wanted)?;
        Ok(Source { format, reader, span_ns, reorder: Reorder::new(span_ns, self.max_held) })
    }
}

/// Refuses what is still compressed, and passes over a byte order mark.
fn check_beginning(lines: &mut Lines<impl Read>) -> Result<(), Error> {
    const PACKED: [(&[u8], &str, &str); 3] = [
        // Packed twice.
        (b"\x1f\x8b", "gzip", "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd", "zstd"),
        (b"\xfd7zXZ\0", "xz", "xz"),
    ];
    let beginning = lines.beginning(10).map_err(|fault| Error::read(1, fault))?;
    if is_bzip2(beginning) {
        return Err(Error::compressed("bzip2", "bzip2"));
    }
    if let Some((_, kind, tool)) = PACKED.iter().find(|(magic, ..)| beginning.starts_with(magic)) {
        return Err(Error::compressed(kind, tool));
    }
    if beginning.starts_with(b"\xef\xbb\xbf") {
        lines.skip(3);
    }
    Ok(())
}

/// Begins with what bzip2 data do: `BZh`, a digit, and the mark of a block or of their end. The
/// letters alone may well begin a host's name.
fn is_bzip2(beginning: &[u8]) -> bool {
    const BLOCK: &[u8] = b"\x31\x41\x59\x26\x53\x59";
    const END: &[u8] = b"\x17\x72\x45\x38\x50\x90";
    matches!(beginning, [b'B', b'Z', b'h', b'1'..=b'9', mark @ ..] if [BLOCK, END].contains(&mark))
}
