//! Puts events in the order of their times, as far as a bounded buffer can.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use brimful::Nanos;

/// The most events that are held back, unless told otherwise.
pub const MAX_HELD: usize = 1_000_000;

/// An event that waits for earlier ones. The key is a number, so that nothing is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Held<T> {
    /// First in the order; then by line, so that events of one time stay as they came.
    pub(crate) at: Nanos,
    pub(crate) line: u64,
    pub(crate) what: T,
}

/// What was seen of the order of the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disorder {
    /// Lines with an earlier time than the line before them.
    pub lines: u64,
    /// The most that a line lay behind the latest time before it, in nanoseconds: the span that
    /// would have brought all of them in order.
    pub most_ns: u64,
    /// Lines that came later than the buffer holds events back: something after them had been
    /// decided already.
    pub late: u64,
    /// Events that were let go early because the buffer was full.
    pub released_early: u64,
}

/// A buffer that holds every event back until the log is `span` further.
#[derive(Debug)]
pub(crate) struct Reorder<T> {
    span: u64,
    max_held: usize,
    held: BinaryHeap<Reverse<Held<T>>>,
    /// The time of the line before.
    previous: Nanos,
    /// The greatest time seen.
    latest: Nanos,
    /// The greatest time let go; `None` before the first.
    released: Option<Nanos>,
    disorder: Disorder,
}

impl<T: Copy + Ord> Reorder<T> {
    /// Holds events back for `span` nanoseconds of the log's time, at most `max_held` of them.
    pub(crate) fn new(span: u64, max_held: usize) -> Self {
        Self {
            span,
            max_held,
            held: BinaryHeap::new(),
            previous: Nanos::ZERO,
            latest: Nanos::ZERO,
            released: None,
            disorder: Disorder::default(),
        }
    }

    pub(crate) fn disorder(&self) -> Disorder {
        self.disorder
    }

    /// Takes the next event of the log. What can be decided now comes out of
    /// [`release`](Self::release), unless it is returned at once: an event that is late, or any
    /// event when nothing is to be held back.
    pub(crate) fn push(&mut self, event: Held<T>) -> Option<Held<T>> {
        if event.at < self.previous {
            self.disorder.lines += 1;
        }
        self.previous = event.at;
        let behind = self.latest.as_nanos().saturating_sub(event.at.as_nanos());
        self.disorder.most_ns = self.disorder.most_ns.max(behind);
        self.latest = self.latest.max(event.at);
        let late = self.released.is_some_and(|released| event.at < released);
        if late {
            self.disorder.late += 1;
        }
        if late || self.span == 0 {
            self.released = self.released.max(Some(event.at));
            return Some(event);
        }
        self.held.push(Reverse(event));
        None
    }

    /// The next event whose turn has come.
    pub(crate) fn release(&mut self) -> Option<Held<T>> {
        let Reverse(first) = self.held.peek()?;
        let due = self.latest.as_nanos().saturating_sub(first.at.as_nanos()) >= self.span;
        if !due {
            if self.held.len() <= self.max_held {
                return None;
            }
            self.disorder.released_early += 1;
        }
        self.next()
    }

    /// The next event, due or not: for the end of the log.
    pub(crate) fn next(&mut self) -> Option<Held<T>> {
        let Reverse(first) = self.held.pop()?;
        self.released = self.released.max(Some(first.at));
        Some(first)
    }
}

#[cfg(test)]
mod tests;
