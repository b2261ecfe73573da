//! What a file says, once it is known to be right.

use brimful::{Overflow, Policy};

use crate::key::OwnedKey;
use crate::keys::Keys;
use crate::source::Spot;

/// A whole configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) store: Store,
    pub(crate) keys: Keys,
    /// The largest cost of one request; 1 when the file does not say.
    pub(crate) max_cost: Option<u64>,
    pub(crate) policies: Vec<Named>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) members: Vec<Member>,
    /// What `[keys]` changed.
    pub(crate) changed: Vec<Changed>,
    /// Members, and files of them, that stand in their tier for the second time, and the first.
    pub(crate) repeated: Vec<(Spot, Spot)>,
}

/// Settings of the store that the file names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Store {
    pub(crate) max_keys: Option<u64>,
    pub(crate) overflow: Option<Overflow>,
    pub(crate) max_log_entries: Option<u64>,
    pub(crate) max_limits: Option<u64>,
    pub(crate) max_given: Option<u64>,
}

/// A policy with a name, or the limits that a rule says itself.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) policy: Policy,
    pub(crate) said: Said,
    pub(crate) shadow: bool,
    /// The place of each limit.
    pub(crate) limits: Vec<Spot>,
}

/// How a rule says what its keys get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// By the name of a policy.
    Name(String),
    Limits,
    Unlimited,
    Blocked,
}

/// An entry of `[policies]`.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) spot: Spot,
    /// `None` when it cannot be read: rules that name it are not at fault.
    pub(crate) grant: Option<Grant>,
}

#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) target: Target,
    pub(crate) grant: Grant,
    /// Where the key, the tier or the pattern is written.
    pub(crate) spot: Spot,
}

/// What a rule is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    Default,
    Tier(String),
    Exact(OwnedKey),
    Pattern(String),
}

/// A key that is of a tier when the caller names none.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) key: OwnedKey,
    pub(crate) tier: String,
    pub(crate) spot: Spot,
}

/// A text of a key or pattern that `[keys]` changed.
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) spot: Spot,
}

impl PartialEq for Model {
    /// Whether both say the same, wherever and however it is written.
    fn eq(&self, other: &Self) -> bool {
        let policy = |named: &Named| (named.name.clone(), named.grant.as_ref().map(Grant::content));
        let rule = |rule: &Rule| (rule.target.clone(), rule.grant.content());
        let member = |member: &Member| (member.key.clone(), member.tier.clone());
        self.store == other.store
            && self.keys == other.keys
            && self.max_cost == other.max_cost
            && self.policies.iter().map(policy).eq(other.policies.iter().map(policy))
            && self.rules.iter().map(rule).eq(other.rules.iter().map(rule))
            && self.members.iter().map(member).eq(other.members.iter().map(member))
    }
}

impl Target {
    /// In messages.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Default => "the default".to_owned(),
            Self::Tier(name) => format!("the tier `{name}`"),
            Self::Exact(key) => format!("the key {key}"),
            Self::Pattern(pattern) => format!("the pattern `{pattern}`"),
        }
    }
}

impl Grant {
    fn content(&self) -> (Policy, Said, bool) {
        (self.policy.clone(), self.said.clone(), self.shadow)
    }
}
