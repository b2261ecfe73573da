//! What a denial says about when to come again.

use std::time::Duration;

use brimful::{Denial, Nanos, Retry};

use super::calls::Said;
use super::setup::By;
use super::totals::Event;
use super::world::{Check, Id, World};

impl World {
    /// When a slot is promised, there is one; with one set, not a nanosecond sooner.
    pub(super) fn refusal_hint(&mut self, said: &Said, wait: Duration) -> Check {
        let Said { key, cost, now, ruled, .. } = said;
        if self.is_one_set() {
            self.meet_all();
        }
        if self.is_one_set() && self.beliefs.values().all(|belief| belief.may_be.len() == 1) {
            self.totals.count(Event::Timed);
            let waits = self.beliefs.iter().filter(|(id, _)| matches!(id, Id::Key(_)));
            // (Keys that owe nothing have no slot any more.)
            let waits = waits.flat_map(|(_, belief)| belief.candidates());
            let waits = waits.filter(|it| it.owes(*now));
            let least = waits.map(|it| it.known.model.full_after(*now)).min();
            if least != Some(wait.as_nanos()) {
                return Err(format!("the first slot is free after {least:?} ns, not {wait:?}"));
            }
        }
        if ruled.is_given || *now + wait >= Nanos::MAX {
            return Ok(());
        }
        let by = self.setup.who_has(&ruled.whose);
        let then = self.peek(*key, by, *cost, *now + wait);
        self.passed_peek(*now + wait);
        match then {
            Some(then) if then.is_denied() && !self.may_lack_runs(8) => {
                Err(format!("no slot at the time that was promised: {then:?}"))
            }
            _ => Ok(()),
        }
    }

    /// A denial's hint is exact.
    pub(super) fn hint(&mut self, said: &Said, by: By) -> Check {
        let Said { key, cost, now, decision, is_shared, .. } = said;
        let (Retry::After(wait), Some(Denial::Limit)) = (decision.retry(), decision.denial())
        else {
            return Ok(());
        };
        let then = *now + wait;
        if then >= Nanos::MAX {
            return Ok(());
        }
        self.totals.count(Event::Hint);
        self.advice = Some((*key, by, *cost, then));
        let early = Nanos::from_nanos(then.as_nanos() - 1);
        let early = self.peek(*key, by, *cost, early);
        let on_time = self.peek(*key, by, *cost, then);
        self.passed_peek(then);
        // A key that shares may find a slot of its own before, and entries may be used up.
        if early.is_some_and(|early| early.is_allowed()) && *is_shared == Some(false) {
            return Err(format!("admitted before {wait:?} were over"));
        }
        match on_time {
            Some(then) if then.denial() == Some(Denial::StoreFull) && self.setup.has_logs() => {
                Ok(())
            }
            Some(then) if then.is_denied() => Err(format!("after {wait:?} still {then:?}")),
            _ => Ok(()),
        }
    }
}
