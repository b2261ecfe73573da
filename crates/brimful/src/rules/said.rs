//! What one rule, or two for the same keys, say: which policy is enforced, and which is on trial.

/// Numbers of rows and policies; a row for the policy that is enforced, and the policy on trial.
/// Not an `Option` for each, because there may be millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Said {
    enforced: u32,
    shadow: u32,
}

const NOTHING: u32 = u32::MAX;

impl Said {
    pub(super) const NOTHING: Self = Self { enforced: NOTHING, shadow: NOTHING };

    /// The policy that is enforced: its number while rules are built, its row afterwards.
    pub(super) fn enforced(self) -> Option<u32> {
        (self.enforced != NOTHING).then_some(self.enforced)
    }

    /// The number of the policy on trial.
    pub(super) fn shadow(self) -> Option<u32> {
        (self.shadow != NOTHING).then_some(self.shadow)
    }

    /// Says one thing more; what was said before of the same kind, if anything.
    pub(super) fn say(&mut self, number: u32, is_shadow: bool) -> Option<u32> {
        let place = if is_shadow { &mut self.shadow } else { &mut self.enforced };
        let before = std::mem::replace(place, number);
        (before != NOTHING).then_some(before)
    }

    /// The same with the number of the enforced policy put in another way.
    pub(super) fn with_row(self, row: impl FnOnce(u32) -> u32) -> Self {
        Self { enforced: self.enforced().map_or(NOTHING, row), ..self }
    }

    /// Adds what a less specific rule says to what the chain has said so far: the first policy on trial
    /// stands beside the first that is enforced, and what comes after that one is not heard.
    pub(super) fn then(self, less_specific: Self) -> Self {
        if self.enforced().is_some() {
            return self;
        }
        let shadow = if self.shadow == NOTHING { less_specific.shadow } else { self.shadow };
        Self { enforced: less_specific.enforced, shadow }
    }
}
