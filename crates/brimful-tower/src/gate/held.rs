//! Tokens that are spent until the response says whether they are.

use std::sync::Arc;

use brimful::{Decision, Reservation};
use brimful_observe::{Event, Outcome};

use super::Gate;

/// What is never answered, because the client went away or the service failed, stays spent: nobody gets round a limit
/// by hanging up.
pub(super) struct Held {
    gate: Arc<Gate>,
    /// Large, and rare.
    reservation: Option<Box<Reservation<'static>>>,
}

impl Held {
    pub(super) fn new(gate: Arc<Gate>, reservation: Box<Reservation<'static>>) -> Self {
        Self { gate, reservation: Some(reservation) }
    }

    /// Gives the tokens back, and says what is left then.
    pub(super) fn give_back(mut self) -> Option<Decision> {
        let reservation = self.reservation.take()?;
        let decision = *reservation.decision();
        let (_, left) = (*reservation).commit_and_look(0);
        self.observe(&decision, 0);
        Some(left)
    }

    /// It is known only now what was charged.
    fn observe(&self, decision: &Decision, cost: u64) {
        let name = self.gate.policy_name(decision);
        let event = Event::new(&self.gate.name, &name, Outcome::of(decision));
        self.gate.observe(&event.cost(cost).decision(decision));
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(reservation) = self.reservation.take() {
            let (cost, decision) = (reservation.cost(), *reservation.decision());
            (*reservation).commit(cost);
            self.observe(&decision, cost);
        }
    }
}
