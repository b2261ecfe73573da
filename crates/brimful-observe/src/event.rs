//! What became of a request.

use brimful::{Decision, Denial, Key};

/// What became of a request. A fixed set: each [name](Self::name) is a value of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Outcome {
    /// It went ahead, and was charged.
    Admitted,
    /// A limit refused it ([`Denial::Limit`]).
    Denied,
    /// The key's policy is `blocked` ([`Denial::Blocked`]).
    Blocked,
    /// There was no place to remember the key ([`Denial::StoreFull`]).
    StoreFull,
    /// Refused because others wait for the key ([`Denial::Queued`]).
    Queued,
    /// Refused because as many wait as may ([`Denial::QueueFull`]).
    QueueFull,
    /// Refused because the limiter was closed ([`Denial::Closed`]).
    Closed,
    /// It went ahead, but a policy on trial would have denied it ([`Decision::would_deny`]), or whoever asked
    /// lets denied requests through for now.
    WouldDeny,
    /// The request had no key. Whether it went ahead is the caller's choice.
    MissingKey,
    /// It was not asked about: whoever asked leaves requests of its kind alone.
    Skipped,
    /// It went away while it waited for tokens.
    GaveUp,
}

impl Outcome {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 11] = [
        Self::Admitted,
        Self::Denied,
        Self::Blocked,
        Self::StoreFull,
        Self::Queued,
        Self::QueueFull,
        Self::Closed,
        Self::WouldDeny,
        Self::MissingKey,
        Self::Skipped,
        Self::GaveUp,
    ];

    /// The value of a label: lower case, with `_` between words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Denied => "denied",
            Self::Blocked => "blocked",
            Self::StoreFull => "store_full",
            Self::Queued => "queued",
            Self::QueueFull => "queue_full",
            Self::Closed => "closed",
            Self::WouldDeny => "would_deny",
            Self::MissingKey => "missing_key",
            Self::Skipped => "skipped",
            Self::GaveUp => "gave_up",
        }
    }

    /// What became of the request that was decided so.
    ///
    /// ```
    /// use brimful::Limiter;
    /// use brimful_observe::Outcome;
    ///
    /// let limiter = Limiter::per_hour(1)?;
    /// assert_eq!(Outcome::of(&limiter.try_acquire("ann")), Outcome::Admitted);
    /// assert_eq!(Outcome::of(&limiter.try_acquire("ann")), Outcome::Denied);
    /// # Ok::<(), brimful::Error>(())
    /// ```
    #[must_use]
    pub fn of(decision: &Decision) -> Self {
        match decision.denial() {
            None if decision.would_deny() => Self::WouldDeny,
            None => Self::Admitted,
            Some(Denial::Blocked) => Self::Blocked,
            Some(Denial::StoreFull) => Self::StoreFull,
            Some(Denial::Queued) => Self::Queued,
            Some(Denial::QueueFull) => Self::QueueFull,
            Some(Denial::Closed) => Self::Closed,
            // A reason that this crate does not know yet is a denial all the same.
            Some(_) => Self::Denied,
        }
    }

    /// Whether the limiter refused the request: [`Denied`](Self::Denied), [`Blocked`](Self::Blocked),
    /// [`StoreFull`](Self::StoreFull), [`Queued`](Self::Queued), [`QueueFull`](Self::QueueFull) and
    /// [`Closed`](Self::Closed).
    #[must_use]
    pub const fn is_denial(self) -> bool {
        match self {
            Self::Denied
            | Self::Blocked
            | Self::StoreFull
            | Self::Queued
            | Self::QueueFull
            | Self::Closed => true,
            Self::Admitted | Self::WouldDeny | Self::MissingKey | Self::Skipped | Self::GaveUp => {
                false
            }
        }
    }

    /// The place in [`ALL`](Self::ALL).
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// One request, as [observers](crate::Observer) see it.
///
/// ```
/// use brimful::{Key, Limiter};
/// use brimful_observe::{Event, Outcome};
///
/// let limiter = Limiter::per_hour(1)?;
/// let decision = limiter.try_acquire_n("ann", 5);
/// let event = Event::new("api", "default", Outcome::of(&decision))
///     .cost(5)
///     .key(Key::Text("ann"))
///     .decision(&decision);
/// assert_eq!(event.outcome, Outcome::Denied);
/// # Ok::<(), brimful::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Event<'a> {
    /// Which layer or endpoint asked. One of a few names that the program chooses, not something that a
    /// request brings.
    pub scope: &'a str,
    /// The name of the policy that decided ([`Limiter::policy_of`](brimful::Limiter::policy_of)); when one on
    /// trial would have denied, that of the trial ([`Limiter::shadow_of`](brimful::Limiter::shadow_of)). Empty
    /// when none is known.
    pub policy: &'a str,
    /// What became of the request.
    pub outcome: Outcome,
    /// The tokens that it asked for.
    pub cost: u64,
    /// Whose tokens.
    pub key: Option<Key<'a>>,
    /// What the limiter answered.
    pub decision: Option<&'a Decision>,
}

impl<'a> Event<'a> {
    /// A request for 1 token, without a key and a decision.
    #[must_use]
    pub const fn new(scope: &'a str, policy: &'a str, outcome: Outcome) -> Self {
        Self { scope, policy, outcome, cost: 1, key: None, decision: None }
    }

    /// The same for `cost` tokens.
    #[must_use]
    pub const fn cost(self, cost: u64) -> Self {
        Self { cost, ..self }
    }

    /// The same with a key.
    #[must_use]
    pub const fn key(self, key: Key<'a>) -> Self {
        Self { key: Some(key), ..self }
    }

    /// The same with what the limiter answered.
    #[must_use]
    pub const fn decision(self, decision: &'a Decision) -> Self {
        Self { decision: Some(decision), ..self }
    }
}
