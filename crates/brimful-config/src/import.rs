//! Limits of other servers as rules: [`envoy`] reads the configuration of Envoy's reference rate
//! limit server, [`limitador`] that of limitador. Both give a file of rules in TOML.
//!
//! What comes out decides as the other server does, but for the differences that are listed here,
//! or the file is refused: each field either has an exact counterpart, or is a fault or a warning
//! with its line. (The tests `imported_rules_decide_as_the_reference_server` and
//! `imported_rules_decide_as_limitador` hold random files and requests to plain models.) Both
//! servers count in fixed windows, so the limits are `fixed-window`. What no rule names is not
//! limited, as there.
//!
//! ```
//! use brimful_config::import;
//!
//! let text = "domain: edge
//! descriptors:
//! - key: user
//!   rate_limit: {unit: minute, requests_per_unit: 100}
//! - key: user
//!   value: robot
//!   rate_limit: {unit: minute, requests_per_unit: 5}
//! ";
//! let imported = import::envoy(text, "edge.yaml")?;
//! assert!(imported.warnings().is_empty());
//! assert!(imported.toml().contains("match = \"edge:user:robot\"\nlimit = \"5/min fixed-window\""));
//!
//! let fault = import::envoy("domain: edge\ndescriptor: []\n", "edge.yaml").unwrap_err();
//! assert_eq!(
//!     fault.to_string(),
//!     "edge.yaml:2:1: unknown field `descriptor`; did you mean `descriptors`?; \
//!      expected domain or descriptors"
//! );
//! # Ok::<(), brimful_config::Error>(())
//! ```
//!
//! # Envoy
//!
//! The key of a descriptor is a list of texts ([`Key::Parts`](brimful::Key::Parts)): the domain,
//! then the key and the value of each entry, in their order. `("edge", "user", "robot")` is the
//! key of the descriptor `user: robot`. A rule without a value and one with a value that ends in
//! `*` give each value a counter of its own, as the reference server does unless it is told
//! `share_threshold`, which is refused. So is a value that ends in `**`.
//!
//! * The reference server takes the value itself, else the first `value*` that fits, else the
//!   rule without a value, and does not come back. Rules that it never reaches are left out with
//!   a warning; where patterns would come back, a rule `unlimited` for all that is below keeps
//!   them from it.
//! * A rule limits descriptors of just its depth, here as there. At most 15 levels.
//! * `requests_per_unit: 0` becomes `blocked`, `shadow_mode` becomes `shadow`, and `name` names
//!   the limit. `detailed_metric` and `value_to_metric` are left out with a warning. `replaces`,
//!   which ties descriptors of a request to each other, is refused.
//! * The reference server joins key and value with `_`, and so takes `a_b` with the value `c` for
//!   `a` with the value `b_c`, or for what a rule `*` of `a` is for. Here they differ. A level with
//!   two such keys gets a warning.
//! * The reference server counts requests that it denies, for all of their descriptors. One
//!   descriptor of cost 1 shows no difference; after a denied request of cost 5 (`hits_addend`),
//!   smaller ones may still be admitted here, and descriptors beside one that denies are not
//!   charged when all are asked for together.
//!
//! # limitador
//!
//! Limits of one namespace that mention the same names, in conditions or as variables, are of one
//! **form**. The key of a request for a form is a list of texts: the namespace, then each name
//! and its value, the names in ascending order of their bytes. A request that lacks one of the
//! names has no key of that form. For limits on `method` and `user` a request has the key
//! `("shop", "method", "GET", "user", "alice")`, whatever else it carries.
//!
//! * All limits that apply to a request must admit it. Those of one form become the limits of
//!   one policy, at most 8 for a key. Limits of different forms belong to different keys: a
//!   warning says so, and the request must ask for all of its keys together
//!   ([`try_acquire_all`](brimful::Limiter::try_acquire_all)).
//! * Conditions are comparisons of a name with a text in quotes by `==`, names are
//!   `descriptors[0].user`, `descriptors[0]['user-agent']` or `user`. All others are refused.
//! * `max_value: 0` becomes `blocked`; `name` names the limit.
//! * A window of limitador begins with the first request that it counts; here windows begin at
//!   multiples of their length since 1970, in UTC. Each file gets a warning about it.

mod envoy;
mod limitador;
mod output;
mod pattern;
mod read;

use std::path::Path;

use crate::error::{Error, Fault};
use read::Reading;

/// Rules that were imported.
#[derive(Clone, Debug)]
pub struct Imported {
    toml: String,
    warnings: Vec<Fault>,
    more: usize,
}

impl Imported {
    /// The rules as a file that [`Config::parse`](crate::Config::parse) reads, with comments that
    /// say how keys are made and which line each rule comes from.
    #[must_use]
    pub fn toml(&self) -> &str {
        &self.toml
    }

    /// What could not be carried over although the rules are usable, in the order of the file; up
    /// to [`Error::MOST`].
    #[must_use]
    pub fn warnings(&self) -> &[Fault] {
        &self.warnings
    }

    /// How many warnings there are beyond those.
    #[must_use]
    pub fn more(&self) -> usize {
        self.more
    }
}

/// Imports the YAML of Envoy's reference rate limit server. `name` is the file in messages.
///
/// # Errors
/// All faults with their places: the text is no YAML, the reference server would refuse it, or it
/// says something that rules cannot say exactly.
pub fn envoy(text: &str, name: impl AsRef<Path>) -> Result<Imported, Error> {
    Reading::run(text, name.as_ref(), envoy::import)
}

/// Imports the YAML of limitador: a list of limits. `name` is the file in messages.
///
/// # Errors
/// As [`envoy`].
pub fn limitador(text: &str, name: impl AsRef<Path>) -> Result<Imported, Error> {
    Reading::run(text, name.as_ref(), limitador::import)
}
