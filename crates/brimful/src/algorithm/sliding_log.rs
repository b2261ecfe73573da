//! Sliding log: every admitted request is remembered until it is one window old.
//!
//! Exact: never more than the limit in any half-open window. The price is memory that grows with
//! traffic: up to one run (a time and a count) for each token of the limit, for each key.
//!
//! The state is a handle into an [`Arena`] of runs that all logs share: the oldest run, the
//! newest, and the sum of the counts between them.

#[cfg(feature = "std")]
use super::Part;
use super::arena::{Arena, Run};
use super::{Moment, Owed, Verdict, share};

/// The constants of one sliding-log limit.
#[derive(Clone, Debug)]
pub(crate) struct SlidingLog {
    /// Tokens per window, at most 65,536.
    limit: u32,
    /// The window's length in nanoseconds, below 2^55. A run of age `width` no longer counts.
    width: u64,
}

/// One key's log: `total` is the sum of the runs from `oldest` to `newest`. When it is zero there
/// are no runs, and the other two mean nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) oldest: u32,
    pub(crate) newest: u32,
    pub(crate) total: u32,
}

impl Handle {
    pub(crate) fn unpack(state: u128) -> Self {
        let part = |bits: u128| u32::try_from(bits & u128::from(u32::MAX)).unwrap_or(0);
        Self { oldest: part(state), newest: part(state >> 32), total: part(state >> 64) }
    }

    pub(crate) fn pack(self) -> u128 {
        u128::from(self.oldest) | (u128::from(self.newest) << 32) | (u128::from(self.total) << 64)
    }
}

impl SlidingLog {
    pub(crate) fn new(limit: u32, width: u64) -> Self {
        Self { limit, width }
    }

    pub(crate) fn width(&self) -> u64 {
        self.width
    }

    pub(crate) fn limit(&self) -> u32 {
        self.limit
    }

    /// The log as it stands at `at.now`: expired runs are left out of the handle. They stay in
    /// the arena until [`charge`](Self::charge), because a look must change nothing.
    pub(crate) fn settle(&self, log: Handle, at: Moment, arena: &Arena) -> Handle {
        if log.total == 0 || self.time_left(&arena.run(log.newest), at) == 0 {
            return Handle::default();
        }
        let mut log = log;
        while log.total > 0 {
            let oldest = arena.run(log.oldest);
            if self.time_left(&oldest, at) > 0 {
                return log;
            }
            log.total = log.total.saturating_sub(oldest.count);
            log.oldest = oldest.next;
        }
        Handle::default()
    }

    pub(crate) fn verdict(&self, log: Handle, cost: u64, at: Moment, arena: &Arena) -> Verdict {
        let Some(room) = u64::from(self.limit).checked_sub(cost) else {
            return Verdict::Never;
        };
        let mut excess = u64::from(log.total).saturating_sub(room);
        if excess == 0 {
            return Verdict::Admit;
        }
        // Admitted as soon as the oldest runs that hold the excess have expired.
        let mut run = arena.run(log.oldest);
        while excess > u64::from(run.count) && run.count > 0 {
            excess = excess.saturating_sub(run.count.into());
            run = arena.run(run.next);
        }
        Verdict::Wait(self.time_left(&run, at).into())
    }

    /// Whether charging at `at` takes a run from the arena that this log does not itself give
    /// back: the newest run has another time, and none has expired.
    pub(crate) fn takes_run(
        &self,
        log: Handle,
        settled: Handle,
        at: Moment,
        arena: &Arena,
    ) -> bool {
        let merges = settled.total > 0 && at.age(arena.run(settled.newest).time) == 0;
        let expired = log.total > settled.total;
        !merges && !expired
    }

    /// Drops what has expired and appends `cost` at `at.now`. The caller has checked
    /// [`takes_run`](Self::takes_run) against the arena's room.
    pub(crate) fn charge(
        &self,
        log: Handle,
        settled: Handle,
        cost: u64,
        at: Moment,
        arena: &mut Arena,
    ) -> Handle {
        let mut log = Self::commit(log, settled, at, arena);
        // Admitted, so at most the limit, which fits.
        let count = u32::try_from(cost).unwrap_or(u32::MAX);
        let now = at.now.stamp(0);
        if log.total > 0 && arena.run(log.newest).time == now {
            arena.update(log.newest, |run| run.count = run.count.saturating_add(count));
        } else {
            let newest = arena.take(now, count);
            if log.total > 0 {
                arena.update(log.newest, |run| run.next = newest);
            } else {
                log.oldest = newest;
            }
            log.newest = newest;
        }
        log.total = log.total.saturating_add(count);
        log
    }

    /// A log with `tokens` as spent at `at.now`: in a run from the arena, or for a look in a spare
    /// one.
    pub(crate) fn begun(tokens: u64, at: Moment, look: Option<usize>, arena: &mut Arena) -> Handle {
        let count = u32::try_from(tokens).unwrap_or(u32::MAX);
        if count == 0 {
            return Handle::default();
        }
        let run = match look {
            // A look does not move entries along with a stepped clock, so this one has no age where
            // the others stand.
            Some(spare) if at.stored != at.last => arena.lend(spare, at.stored.stamp(0), count),
            Some(spare) => arena.lend(spare, at.now.stamp(0), count),
            None => arena.take(at.now.stamp(0), count),
        };
        match run {
            // No room was made; there is nothing to remember it by.
            Arena::NONE => Handle::default(),
            run => Handle { oldest: run, newest: run, total: count },
        }
    }

    /// Gives `tokens` back to the newest runs, at most what is counted.
    pub(crate) fn refund(
        log: Handle,
        settled: Handle,
        tokens: u64,
        at: Moment,
        arena: &mut Arena,
    ) -> (Handle, u64) {
        let log = Self::commit(log, settled, at, arena);
        let given = u32::try_from(tokens).unwrap_or(u32::MAX).min(log.total);
        let keep = log.total.saturating_sub(given);
        if keep == 0 {
            Self::release(log, arena);
            return (Handle::default(), given.into());
        }
        // The run in which the `keep`-th token lies becomes the newest.
        let mut before = 0_u32;
        let mut index = log.oldest;
        let mut run = arena.run(index);
        while before.saturating_add(run.count) < keep && run.count > 0 {
            before = before.saturating_add(run.count);
            index = run.next;
            run = arena.run(index);
        }
        arena.give_back(run.next, Arena::NONE);
        arena.update(index, |last| {
            last.count = keep.saturating_sub(before);
            last.next = Arena::NONE;
        });
        (Handle { newest: index, total: keep, ..log }, given.into())
    }

    /// Takes a part out of the run of its time, if that still counts: at most what is in it.
    #[cfg(feature = "std")]
    pub(crate) fn take_back(
        log: Handle,
        settled: Handle,
        part: Part,
        at: Moment,
        arena: &mut Arena,
    ) -> (Handle, u64) {
        let mut log = Self::commit(log, settled, at, arena);
        if log.total == 0 || part.tokens == 0 {
            return (log, 0);
        }
        let (mut before, mut index) = (Arena::NONE, log.oldest);
        let mut run = arena.run(index);
        while at.now.age(run.time) > part.age && run.next != Arena::NONE {
            (before, index) = (index, run.next);
            run = arena.run(index);
        }
        if at.now.age(run.time) != part.age {
            return (log, 0);
        }
        let given = u32::try_from(part.tokens).unwrap_or(u32::MAX).min(run.count);
        log.total = log.total.saturating_sub(given);
        if given < run.count {
            arena.update(index, |run| run.count = run.count.saturating_sub(given));
        } else if given > 0 {
            // The run is empty: those beside it become neighbours.
            arena.update(before, |before| before.next = run.next);
            if index == log.oldest {
                log.oldest = run.next;
            }
            if index == log.newest {
                log.newest = before;
            }
            arena.give_back(index, run.next);
        }
        (if log.total == 0 { Handle::default() } else { log }, given.into())
    }

    /// Gives the expired runs back to the arena and, when the clock was stepped, moves the others
    /// along with it. No later decision can tell.
    pub(crate) fn commit(log: Handle, settled: Handle, at: Moment, arena: &mut Arena) -> Handle {
        if settled.total == 0 {
            Self::release(log, arena);
            return Handle::default();
        }
        arena.give_back(log.oldest, settled.oldest);
        if at.stored != at.last {
            let mut index = settled.oldest;
            while index != Arena::NONE {
                arena.update(index, |run| run.time = at.now.stamp(at.age(run.time)));
                index = arena.run(index).next;
            }
        }
        settled
    }

    /// Gives all runs of the log back.
    pub(crate) fn release(log: Handle, arena: &mut Arena) {
        if log.total > 0 {
            arena.give_back(log.oldest, Arena::NONE);
        }
    }

    /// The same log in another arena, as far as that has room.
    pub(crate) fn copied(log: Handle, from: &Arena, to: &mut Arena) -> Handle {
        let mut copy = Handle::default();
        let mut index = log.oldest;
        while log.total > copy.total && index != Arena::NONE {
            let Run { time, count, next } = from.run(index);
            let taken = to.take(time, count);
            if taken == Arena::NONE || count == 0 {
                break;
            }
            match copy.total {
                0 => copy.oldest = taken,
                _ => to.update(copy.newest, |run| run.next = taken),
            }
            copy.newest = taken;
            copy.total = copy.total.saturating_add(count);
            index = next;
        }
        copy
    }

    /// How many runs the log holds, counted up to `most`.
    pub(crate) fn runs_held(log: Handle, most: usize, arena: &Arena) -> usize {
        Self::runs_freed(log, Handle::default(), most, arena)
    }

    /// How many runs the log holds before the oldest of `kept`, counted up to `most`.
    pub(crate) fn runs_freed(log: Handle, kept: Handle, most: usize, arena: &Arena) -> usize {
        let first = (log.total > 0).then_some(log.oldest);
        let is_kept = |index: &u32| kept.total > 0 && *index == kept.oldest;
        let next = |index: &u32| Some(arena.run(*index).next).filter(|next| *next != Arena::NONE);
        core::iter::successors(first, next).take_while(|i| !is_kept(i)).take(most).count()
    }

    pub(crate) fn remaining(&self, log: Handle) -> u64 {
        self.limit.saturating_sub(log.total).into()
    }

    pub(crate) fn reset_after(&self, log: Handle, at: Moment, arena: &Arena) -> u128 {
        if log.total == 0 { 0 } else { self.time_left(&arena.run(log.newest), at).into() }
    }

    /// Nanoseconds until the first run expires, once one more is appended to the log.
    pub(crate) fn first_expiry(&self, log: Handle, at: Moment, arena: &Arena) -> u64 {
        if log.total == 0 { self.width } else { self.time_left(&arena.run(log.oldest), at) }
    }

    pub(crate) fn owed(&self, log: Handle) -> Owed {
        Owed { share: share(log.total.into(), self.limit.into()), tokens: log.total.into() }
    }

    /// Nanoseconds for which the run still counts; zero once it has expired.
    fn time_left(&self, run: &Run, at: Moment) -> u64 {
        self.width.saturating_sub(at.age(run.time))
    }
}
