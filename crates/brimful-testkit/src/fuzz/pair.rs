//! A limiter and its model side by side.
//!
//! As long as the limiter has lost nothing that is owed, it answers as the model does. A store that is
//! too small loses some of it: a key in debt is forgotten, or strangers share a state; and what was
//! forgotten because it was refilled is missed by a clock that goes back. From then on the limiter is
//! held to what is promised of any store ([`super::promises`]).

use brimful::{Decision, Denial, Limiter, ManualClock, Nanos, Policy, Stats};

use super::calls::{By, Call, What};
use super::promises::{Tally, answers, bounds, tight};
use super::setup::{KEYS, Setup, TIERS};
use crate::trace::{Cursor, Draft, Scale, Verb};
use crate::{KeyedModel, Outcome};

/// The field of the error when all places for policies are taken.
const TABLE: Option<&str> = Some("policies given by calls");

pub(super) struct Pair<'a> {
    pub(super) setup: &'a Setup,
    pub(super) limiter: Limiter,
    /// The same with wider slots, so that all of its calls go the long way.
    pub(super) twin: Option<Limiter>,
    max_log_entries: u64,
    clock: ManualClock,
    pub(super) model: KeyedModel,
    /// One for each key where there is room for all, else one for all.
    cursors: Vec<Cursor>,
    /// Whether the model is right.
    is_exact: bool,
    /// The latest reading, and whether all were in order.
    latest: Nanos,
    is_monotone: bool,
    pub(super) strangers: u64,
    pub(super) tally: Tally,
}

/// What there was before a call to a store in which there is not always room.
#[derive(Default)]
pub(super) struct Before {
    pub(super) stats: Stats,
    /// Looks at keys that the call is not about, where they can be compared.
    others: Vec<(usize, Decision)>,
}

impl<'a> Pair<'a> {
    pub(super) fn new(setup: &'a Setup, calls: &[Call]) -> Self {
        let asked = calls.iter().map(Call::asked).sum();
        let (rules, clock) = (setup.rules(), ManualClock::new(setup.start));
        let cursor = match setup.is_forward {
            true => Cursor::forward(setup.start),
            false => Cursor::new(setup.start),
        };
        let limiter = setup.limiter(&rules, 0, asked, &clock);
        Self {
            setup,
            max_log_entries: limiter.stats().max_log_entries,
            limiter,
            twin: setup.is_plain().then(|| setup.limiter(&rules, 1, asked, &clock)),
            clock,
            model: setup.model(),
            cursors: vec![cursor; if setup.is_roomy { KEYS.len() } else { 1 }],
            is_exact: true,
            latest: Nanos::ZERO,
            is_monotone: true,
            strangers: 0,
            tally: Tally::default(),
        }
    }

    pub(super) fn call(&mut self, call: &Call) {
        let Call { key, by, what } = call;
        match what {
            What::One { draft, by_clock } => self.one(*key, *by, *draft, *by_clock),
            What::Many { draft, keys } => self.many(*key, *draft, keys),
            What::All { draft, charges } => self.all(*key, *by, *draft, charges),
            What::Jump(to) => self.jump(*key, *to),
            What::Flood { draft, from, part } => self.flood(*draft, *from, *part),
        }
    }

    /// What was counted in all. (What is wrong once stays so.)
    pub(super) fn finish(self) {
        let stats = self.limiter.stats();
        bounds(self.setup, &stats, &self.tally);
        if self.setup.is_roomy {
            let states = KEYS.iter().filter(|key| self.model.state(key).is_some()).count();
            assert_eq!(stats.occupied, states as u64);
            assert_eq!((stats.evicted_lossless, stats.evicted_forced), (0, 0));
            assert_eq!((stats.store_full, stats.shared), (0, 0));
        }
        // All figures but those that depend on the shape, and on which way asked the rules.
        let comparable = |limiter: Limiter| {
            let mut stats = limiter.stats();
            (stats.bytes, stats.resolved) = (0, 0);
            stats
        };
        if let Some(twin) = self.twin {
            assert_eq!(comparable(self.limiter), comparable(twin));
        }
    }

    pub(super) fn policy(&self, key: usize, by: By) -> &'a Policy {
        match by {
            By::Given(place) => &self.setup.given[place],
            _ if key == 0 => &self.setup.own,
            By::Tier(place) => self.setup.tiers.get(place).unwrap_or(&self.setup.default),
            By::Nobody => &self.setup.default,
        }
    }

    fn cursor(&mut self, key: usize) -> &mut Cursor {
        let count = self.cursors.len();
        &mut self.cursors[key % count]
    }

    /// The verb, amount and time of the next call; the clock is set.
    pub(super) fn next(&mut self, key: usize, by: By, draft: Draft) -> (Verb, u64, Nanos) {
        let op = draft.fit(&Scale::of(self.policy(key, by)));
        let (verb, amount, now) = self.cursor(key).next(op);
        if now < self.latest {
            self.is_monotone = false;
            self.is_exact &= self.setup.is_roomy;
        }
        self.latest = self.latest.max(now);
        self.clock.set(now);
        (verb, amount, now)
    }

    fn jump(&mut self, key: usize, to: Nanos) {
        let (is_forward, latest) = (self.setup.is_forward, self.latest);
        *self.cursor(key) =
            if is_forward { Cursor::forward(to.max(latest)) } else { Cursor::new(to) };
    }

    pub(super) fn before(&self, about: &[usize], now: Nanos) -> Before {
        if self.setup.is_roomy {
            return Before::default();
        }
        let look = |key: usize| (key, self.limiter.peek_at(KEYS[key], 0, now));
        // The model sees to it as long as it is right.
        let is_wanted = self.is_monotone && !self.is_exact;
        let others = (0..KEYS.len()).filter(|key| is_wanted && !about.contains(key));
        Before { stats: self.limiter.stats(), others: others.map(look).collect() }
    }

    /// After a call; whether the model is still right.
    pub(super) fn after(&mut self, before: &Before, is_denied: bool, now: Nanos) -> bool {
        if self.setup.is_roomy {
            return self.is_exact;
        }
        let stats = self.limiter.stats();
        let forgotten = stats.evicted_forced != before.stats.evicted_forced;
        if forgotten || stats.shared != before.stats.shared {
            self.is_exact = false;
        }
        if is_denied && !forgotten {
            assert!(stats.occupied <= before.stats.occupied, "a denial took a slot");
            let is_full = |look: &Decision| look.denial() == Some(Denial::StoreFull);
            for (key, look) in &before.others {
                let again = self.limiter.peek_at(KEYS[*key], 0, now);
                if !is_full(look) && !is_full(&again) {
                    assert_eq!(*look, again, "a denial changed {}", KEYS[*key]);
                }
            }
        }
        self.is_exact
    }

    /// A call for want of entries may have left some of its work behind: the keys begin anew.
    pub(super) fn begin_anew(&mut self, keys: impl IntoIterator<Item = usize>) {
        for key in keys.into_iter().filter(|_| self.setup.has_logs()) {
            self.limiter.reset(KEYS[key]);
            self.model.reset(KEYS[key]);
        }
    }

    fn one(&mut self, key: usize, by: By, draft: Draft, by_clock: bool) {
        let (verb, amount, now) = self.next(key, by, draft);
        match verb {
            Verb::Acquire => self.acquire(key, by, amount, now, by_clock),
            Verb::Peek => self.look(key, by, amount, now, by_clock),
            Verb::Refund => self.refund(key, amount, now, by_clock),
            Verb::Reset => {
                let known = self.limiter.reset(KEYS[key]);
                if let Some(twin) = &self.twin {
                    assert_eq!(twin.reset(KEYS[key]), known);
                }
                if self.setup.is_roomy {
                    assert_eq!(self.model.state(KEYS[key]).is_some(), known, "reset");
                }
                self.model.reset(KEYS[key]);
            }
        }
    }

    fn acquire(&mut self, key: usize, by: By, cost: u64, now: Nanos, by_clock: bool) {
        let before = self.before(&[key], now);
        let when = if by_clock { None } else { Some(now) };
        let peeked = peek(&self.limiter, key, by, cost, now);
        let Some(decision) = self.ask(key, by, cost, now, when) else { return };
        if let Some(peeked) = peeked {
            assert_eq!(peeked, decision, "a peek is the call that follows");
        }
        let policy = self.policy(key, by);
        answers(policy, cost, &decision);
        if !matches!(by, By::Given(_)) {
            assert_eq!(self.limiter.policy_of(&decision).as_deref(), Some(policy));
        }
        // Where entries are scarce, a look at a later time forgets what has expired by then.
        let forgets = self.setup.has_logs() && !self.setup.is_roomy;
        if !forgets || !self.is_monotone {
            let again = |at| peek(&self.limiter, key, by, cost, at);
            tight(self.setup, &decision, now, again);
        }
        self.tally.one(cost, &decision);
        self.tally.unknown_tier += u64::from(by.tier() == Some(TIERS[2]) && cost > 0);
        if self.after(&before, decision.is_denied(), now) {
            self.compare(key, by, cost, now, &decision);
        }
        self.cursor(key).saw(cost, &Outcome::from(&decision));
    }

    /// The limiter's answer, and its twin's; none where limits that came with the call were refused
    /// rightly.
    fn ask(
        &self,
        key: usize,
        by: By,
        cost: u64,
        now: Nanos,
        when: Option<Nanos>,
    ) -> Option<Decision> {
        let By::Given(place) = by else {
            let decision = acquire(&self.limiter, key, by, cost, when);
            if let Some(twin) = &self.twin {
                assert_eq!(acquire(twin, key, by, cost, when), decision, "the long way");
            }
            return Some(decision);
        };
        let policy = &self.setup.given[place];
        let fits = self.setup.has_room_for(place, self.max_log_entries);
        let with = |limiter: &Limiter| {
            limiter.try_acquire_with(KEYS[key], policy, cost, now).map_err(Some)
        };
        let answer = with(&self.limiter);
        // (The twin has room for more limits.)
        if let Some(twin) = self.twin.as_ref().filter(|_| fits) {
            assert_eq!(with(twin), answer, "the long way");
        }
        match answer {
            Ok(decision) => {
                assert!(fits, "{policy:?}");
                Some(decision)
            }
            Err(fault) => {
                let is_full = fault.as_ref().is_some_and(|fault| fault.field() == TABLE);
                assert!(!fits || is_full && !self.setup.is_roomy, "{fault:?}");
                None
            }
        }
    }

    pub(super) fn compare(
        &mut self,
        key: usize,
        by: By,
        cost: u64,
        now: Nanos,
        decision: &Decision,
    ) {
        if decision.denial() == Some(Denial::StoreFull) {
            return self.begin_anew([key]);
        }
        let name = KEYS[key];
        let expected = match by {
            By::Given(place) => self.model.acquire_with(&self.setup.given[place], name, cost, now),
            _ => self.model.acquire_as(by.tier(), name, cost, now),
        };
        assert_eq!(Outcome::from(decision), expected, "{cost} of {name} by {by:?} at {now:?}");
    }

    fn look(&mut self, key: usize, by: By, cost: u64, now: Nanos, by_clock: bool) {
        let Some(mut decision) = peek(&self.limiter, key, by, cost, now) else { return };
        if by_clock {
            decision = match by.tier() {
                None => self.limiter.peek(KEYS[key], cost),
                Some(tier) => self.limiter.tier(tier).peek(KEYS[key], cost),
            };
        }
        answers(self.policy(key, by), cost, &decision);
        if let Some(twin) = &self.twin {
            assert_eq!(peek(twin, key, by, cost, now), Some(decision), "the long way");
        }
        // Of a newcomer to a full store it says what sharing or evicting would give.
        if self.is_exact && decision.denial() != Some(Denial::StoreFull) {
            let expected = self.model.peek_as(by.tier(), KEYS[key], cost, now);
            assert_eq!(Outcome::from(decision), expected, "a look at {cost} at {now:?}");
        }
    }

    fn refund(&mut self, key: usize, tokens: u64, now: Nanos, by_clock: bool) {
        let given = match by_clock {
            true => self.limiter.refund(KEYS[key], tokens),
            false => self.limiter.refund_at(KEYS[key], tokens, now),
        };
        assert!(given <= tokens);
        if let Some(twin) = &self.twin {
            assert_eq!(twin.refund_at(KEYS[key], tokens, now), given, "the long way");
        }
        if self.is_exact {
            let expected = self.model.refund(KEYS[key], tokens, now);
            assert_eq!(given, expected, "{tokens} to {} at {now:?}", KEYS[key]);
        }
    }
}

fn acquire(limiter: &Limiter, key: usize, by: By, cost: u64, when: Option<Nanos>) -> Decision {
    let key = KEYS[key];
    match (by.tier(), when) {
        (None, Some(now)) => limiter.try_acquire_at(key, cost, now),
        (None, None) => limiter.try_acquire_n(key, cost),
        (Some(tier), Some(now)) => limiter.tier(tier).try_acquire_at(key, cost, now),
        (Some(tier), None) => limiter.tier(tier).try_acquire_n(key, cost),
    }
}

/// There is no peek by a policy that comes with the call.
fn peek(limiter: &Limiter, key: usize, by: By, cost: u64, now: Nanos) -> Option<Decision> {
    match by {
        By::Given(_) => None,
        By::Nobody => Some(limiter.peek_at(KEYS[key], cost, now)),
        By::Tier(tier) => Some(limiter.tier(TIERS[tier]).peek_at(KEYS[key], cost, now)),
    }
}
