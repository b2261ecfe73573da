//! Requests that may wait.

use std::sync::Arc;
use std::time::Duration;

use brimful::{Decision, Key, Queued, Turn};
use brimful_observe::{Event, Outcome};
use http::Request;

use super::passed::{self, Place};
use super::{Gate, Passage, Ruled};
use crate::head::Head;

/// What becomes of a request that may wait.
pub(crate) enum Line {
    Decided(Passage),
    Waiting(Turn<'static>, Charge),
}

/// What is asked of the limiter while a request waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    cost: u64,
    place: Place,
}

/// What the limiter says to who may wait.
enum InLine {
    Ruled(Ruled),
    Waiting(Turn<'static>),
}

impl Gate {
    /// Decides for a request, or puts it into the queue.
    pub(crate) fn line_up<B>(self: &Arc<Self>, request: &mut Request<B>, within: Duration) -> Line {
        let place = passed::place(self.id, request.extensions());
        if place == Place::Again {
            passed::leave_word(self.id, request.extensions_mut());
            return Line::Decided(Passage::unasked(place));
        }
        let head = Head::of(request);
        if self.skips(head) {
            return Line::Decided(Passage::unasked(place));
        }
        let cost = self.cost_of(head);
        let queued = self.keys().with(head, |keys| {
            // (The builder takes no more than one; without any there is nothing to wait for.)
            let key = *keys.first()?;
            let queued = match self.tier_of(head) {
                Some(tier) => self.limiter.enqueue_owned_in(tier, key, cost, Some(within)),
                None => self.limiter.enqueue_owned(key, cost, Some(within)),
            };
            Some(match queued {
                Ok(Queued::Waiting(turn)) => InLine::Waiting(turn),
                Ok(Queued::Granted(decision)) | Err(decision) => {
                    InLine::Ruled(self.rule(decision, Some(key), cost, None))
                }
            })
        });
        match queued {
            Ok(Some(InLine::Ruled(ruled))) => Line::Decided(self.pass(request, ruled, place)),
            Ok(Some(InLine::Waiting(turn))) => Line::Waiting(turn, Charge { cost, place }),
            Ok(None) => Line::Decided(self.pass_unkeyed(head, None, place)),
            Err(missing) => Line::Decided(self.pass_unkeyed(head, Some(&missing), place)),
        }
    }

    /// What becomes of a request that waited.
    pub(crate) fn waited<B>(
        self: &Arc<Self>,
        request: &mut Request<B>,
        charge: &Charge,
        decision: Decision,
    ) -> Passage {
        let rule = |key: Option<Key<'_>>| self.rule(decision, key, charge.cost, None);
        // Observers are told of its key.
        let ruled = self.keys().with(Head::of(request), |keys| rule(keys.first().copied()));
        let ruled = ruled.unwrap_or_else(|_| rule(None));
        self.pass(request, ruled, charge.place)
    }

    /// A request went away while it waited.
    pub(crate) fn given_up<B>(&self, request: &Request<B>, charge: &Charge) {
        let observe = |key: Option<Key<'_>>| {
            let event = Event::new(&self.name, "", Outcome::GaveUp).cost(charge.cost);
            self.observe(&key.map_or(event, |key| event.key(key)));
        };
        if self.observer.is_some() {
            let told = self.keys().with(Head::of(request), |keys| observe(keys.first().copied()));
            told.unwrap_or_else(|_| observe(None));
        }
    }

    /// Gives back what a request was charged that was not served after all.
    pub(crate) fn refund<B>(&self, request: &Request<B>, charge: &Charge) {
        // One without its key was not charged.
        let _ = self.keys().with(Head::of(request), |keys| {
            if let Some(key) = keys.first() {
                self.limiter.refund(key, charge.cost);
            }
        });
    }
}
