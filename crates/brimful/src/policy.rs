//! A policy: a named list of limits that must all admit, or a word.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use crate::error::Error;
pub(crate) use crate::limit::check_name;
use crate::limit::{Algorithm, Limit};

/// What a key gets: 1 to 8 limits that must *all* admit, or `unlimited`, or `blocked`.
///
/// ```
/// use brimful::{Limit, Policy};
///
/// let api = Policy::new([Limit::per_second(10)?, Limit::per_hour(1000)?])?.named("api")?;
/// assert_eq!(api.limits().len(), 2);
/// assert!(Policy::unlimited().limits().is_empty());
/// # Ok::<(), brimful::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    name: Box<str>,
    kind: Kind,
    is_shadow: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Limits(Box<[Limit]>),
    Unlimited,
    Blocked,
}

impl Policy {
    /// The most limits that a policy can have.
    pub const MAX_LIMITS: usize = 8;

    /// A policy named `default` of 1 to 8 limits that must all admit.
    ///
    /// # Errors
    /// There are no limits or more than 8, or two have the same name.
    pub fn new(limits: impl IntoIterator<Item = Limit>) -> Result<Self, Error> {
        // One more than allowed is enough to tell, however many follow.
        let limits: Vec<Limit> = limits.into_iter().take(Self::MAX_LIMITS + 1).collect();
        if !(1..=Self::MAX_LIMITS).contains(&limits.len()) {
            let count = if limits.is_empty() { "0" } else { "more than 8" };
            let expected = "1 to 8; for none use `unlimited` or `blocked`";
            return Err(Error::range("the number of limits", count, expected));
        }
        let mut rest = limits.as_slice();
        while let Some((limit, others)) = rest.split_first() {
            if others.iter().any(|other| other.name() == limit.name()) {
                let what = format!("two limits of a policy are named `{}`", limit.name());
                return Err(Error::conflict(what, "give each a name of its own: `name: 10/s`"));
            }
            rest = others;
        }
        Ok(Self::of(Kind::Limits(limits.into())))
    }

    /// Everything is admitted, and nothing is remembered.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::of(Kind::Unlimited)
    }

    /// Nothing is admitted, and no wait can help.
    #[must_use]
    pub fn blocked() -> Self {
        Self::of(Kind::Blocked)
    }

    /// The policy that the specs name: one word `unlimited` or `blocked`, or 1 to 8 limits.
    ///
    /// # Errors
    /// A spec cannot be read, or the limits do not go together.
    ///
    /// ```
    /// use brimful::Policy;
    /// assert_eq!(Policy::parse(["10/s", "1000/h"])?.limits().len(), 2);
    /// assert_eq!(Policy::parse(["blocked"])?, Policy::blocked());
    /// # Ok::<(), brimful::Error>(())
    /// ```
    pub fn parse<'a>(specs: impl IntoIterator<Item = &'a str>) -> Result<Self, Error> {
        let specs: Vec<&str> = specs.into_iter().map(str::trim).collect();
        match *specs {
            ["unlimited"] => return Ok(Self::unlimited()),
            ["blocked"] => return Ok(Self::blocked()),
            _ => {}
        }
        if let Some(word) = specs.iter().find(|spec| matches!(**spec, "unlimited" | "blocked")) {
            let what = format!("`{word}` stands beside other limits");
            return Err(Error::conflict(what, "it must stand alone"));
        }
        Self::new(specs.into_iter().map(str::parse).collect::<Result<Vec<Limit>, _>>()?)
    }

    /// The same policy under another name: 1 to 64 printable ASCII characters, as for
    /// [`Limit::named`].
    ///
    /// # Errors
    /// `name` is not of that form.
    pub fn named(self, name: &str) -> Result<Self, Error> {
        check_name("policy name", name)?;
        Ok(Self { name: name.into(), ..self })
    }

    /// The same policy on trial. It decides and counts, and never denies.
    ///
    /// Requests are allowed, and [`Decision::would_deny`](crate::Decision::would_deny) says what it
    /// would have been: a request that it would refuse is not charged to it. In [`Rules`](crate::Rules)
    /// it stands beside the policy that is enforced, and changes nothing of what that one decides: it takes
    /// no slot from others, and at most half of the log entries. Where there is no room for what it has
    /// counted, that is forgotten.
    #[must_use]
    pub fn shadow(self) -> Self {
        Self { is_shadow: true, ..self }
    }

    /// Whether the policy is on trial ([`shadow`](Self::shadow)).
    #[must_use]
    pub fn is_shadow(&self) -> bool {
        self.is_shadow
    }

    /// The name; `default` when none was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The limits in their order; none for `unlimited` and `blocked`.
    #[must_use]
    pub fn limits(&self) -> &[Limit] {
        match &self.kind {
            Kind::Limits(limits) => limits,
            Kind::Unlimited | Kind::Blocked => &[],
        }
    }

    /// Whether everything is admitted.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        self.kind == Kind::Unlimited
    }

    /// Whether nothing is admitted.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.kind == Kind::Blocked
    }

    #[cfg(feature = "serde")]
    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }

    /// How many sliding logs there are among the limits.
    #[cfg(feature = "std")]
    pub(crate) fn logs(&self) -> usize {
        self.sliding_logs().count()
    }

    /// The most log entries that one key can hold under this policy.
    pub(crate) fn log_entries(&self) -> u64 {
        self.sliding_logs().map(Limit::tokens).sum()
    }

    fn sliding_logs(&self) -> impl Iterator<Item = &Limit> {
        self.limits().iter().filter(|limit| limit.chosen_algorithm() == Algorithm::SlidingLog)
    }

    fn of(kind: Kind) -> Self {
        Self { name: "default".to_owned().into(), kind, is_shadow: false }
    }
}

impl From<Limit> for Policy {
    /// A policy named `default` of one limit.
    fn from(limit: Limit) -> Self {
        Self::of(Kind::Limits([limit].into()))
    }
}
