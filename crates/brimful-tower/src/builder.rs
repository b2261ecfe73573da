//! How a layer is set up.

use std::fmt;
use std::sync::Arc;

use brimful::Limiter;
use brimful_observe::Observer;
use bytes::Bytes;
use http::{Method, Response};

use crate::denied::Denied;
use crate::error::Error;
use crate::gate::{Gate, Id, MOST_KEYS, MissingKey};
use crate::head::{Head, ResponseHead};
use crate::key::RequestKey;
use crate::layer::RateLimitLayer;
use crate::told::Fields;

/// A layer in the making ([`RateLimitLayer::builder`]).
///
/// ```
/// use brimful::{Limit, Limiter, Rules};
/// use brimful_tower::{ClientIp, RateLimitLayer, Route};
///
/// // Ten attempts a minute to log in, a hundred a minute of anything else, each by client and route.
/// let rules = Rules::builder()
///     .default(Limit::per_minute(100)?)
///     .pattern("/login:*", Limit::per_minute(10)?)
///     .tier("partner", Limit::per_minute(1_000)?)
///     .build()?;
/// let client = ClientIp::x_forwarded_for(["10.0.0.0/8"])?;
/// let layer = RateLimitLayer::builder(Limiter::new(rules)?, (Route::new().or("unmatched"), client))
///     .tier(|head| head.headers().get("x-plan")?.to_str().ok())
///     .skip_options()
///     .skip_paths(["/healthz"])
///     .build()?;
/// # let _ = layer;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder does nothing by itself; end with `build`"]
pub struct RateLimitBuilder {
    gate: Gate,
    more_keys: Vec<Arc<dyn RequestKey>>,
    skip: Vec<crate::gate::Skip>,
    unit: Option<String>,
}

impl RateLimitBuilder {
    pub(crate) fn new(limiter: Arc<Limiter>, key: Arc<dyn RequestKey>) -> Self {
        let gate = Gate {
            id: Id::next(),
            limiter,
            name: "http".into(),
            keys: Box::new([key]),
            tier: None,
            cost: None,
            skip: Box::new([]),
            missing_key: MissingKey::default(),
            is_shadow: false,
            fields: Fields::default(),
            respond: None,
            charge_when: None,
            observer: None,
        };
        Self { gate, more_keys: Vec::new(), skip: Vec::new(), unit: None }
    }

    /// What [observers](Self::observer) call the layer; `http` when nothing is said.
    pub fn name(mut self, name: &str) -> Self {
        self.gate.name = name.into();
        self
    }

    /// Another key that each request is charged to: all of them, or when one refuses, none. Such as the network
    /// around an address, or the tenant of a user. A key that is named twice is charged once.
    pub fn also_key(mut self, key: impl RequestKey) -> Self {
        self.more_keys.push(Arc::new(key));
        self
    }

    /// The [tier](brimful::Rules) of a request's caller, such as the plan that was paid for. `None`: the rules say
    /// it by the key. Take it from what the server knows; a client may write any header.
    pub fn tier(
        mut self,
        tier: impl for<'a> Fn(Head<'a>) -> Option<&'a str> + Send + Sync + 'static,
    ) -> Self {
        self.gate.tier = Some(Arc::new(tier));
        self
    }

    /// How many tokens a request costs; 1 when nothing is said. With several keys each is charged as much. A cost
    /// of 0 is a look: it is let through unless the key is blocked, and told what is left.
    pub fn cost(mut self, cost: impl Fn(Head<'_>) -> u64 + Send + Sync + 'static) -> Self {
        self.gate.cost = Some(Arc::new(cost));
        self
    }

    /// Requests that the layer has nothing to do with: they are let through, charged nothing and told nothing.
    pub fn skip(mut self, skip: impl Fn(Head<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.skip.push(Arc::new(skip));
        self
    }

    /// Skips requests of the method OPTIONS, by which browsers ask before they ask.
    pub fn skip_options(self) -> Self {
        self.skip(|head| head.method() == Method::OPTIONS)
    }

    /// Skips requests of exactly these paths, such as those of health checks.
    pub fn skip_paths<P: Into<String>>(self, paths: impl IntoIterator<Item = P>) -> Self {
        let paths: Vec<String> = paths.into_iter().map(Into::into).collect();
        self.skip(move |head| paths.iter().any(|path| path == head.uri().path()))
    }

    /// What becomes of requests without a key: [`MissingKey::Deny`] when nothing is said.
    pub fn missing_key(mut self, missing_key: MissingKey) -> Self {
        self.gate.missing_key = missing_key;
        self
    }

    /// The layer lets everything through and tells clients nothing; it counts, and [observers](Self::observer) hear
    /// what it would have denied, which is not charged.
    pub fn shadow(mut self, is_shadow: bool) -> Self {
        self.gate.is_shadow = is_shadow;
        self
    }

    /// Whether responses have the fields `RateLimit` and `RateLimit-Policy`; they have when nothing is said.
    /// (`Retry-After` stands in each denial that waiting can help.)
    pub fn ratelimit_fields(mut self, are_written: bool) -> Self {
        self.gate.fields.style.standard = are_written;
        self
    }

    /// Whether responses have `x-ratelimit-limit`, `-remaining` and `-reset` (seconds from now); they have not when
    /// nothing is said.
    pub fn legacy_fields(mut self, are_written: bool) -> Self {
        self.gate.fields.style.legacy = are_written;
        self
    }

    /// What a token stands for where it is not a request, such as `content-bytes`: the parameter `qu` of
    /// `RateLimit-Policy`.
    pub fn quota_unit(mut self, unit: &str) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// A response of one's own to requests that are not let through. `Retry-After` and the fields that describe the
    /// limits are added to it.
    pub fn respond(
        mut self,
        respond: impl Fn(&Denied<'_>) -> Response<Bytes> + Send + Sync + 'static,
    ) -> Self {
        self.gate.respond = Some(Arc::new(respond));
        self
    }

    /// Charges only for responses that are chosen, such as 401: the cost is reserved when the request comes, and
    /// given back when the response is not chosen. So as many requests as there are tokens can be under way.
    ///
    /// What is never answered, because the client went away or the service failed, is charged.
    pub fn charge_when(
        mut self,
        charge_when: impl Fn(ResponseHead<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.gate.charge_when = Some(Arc::new(charge_when));
        self
    }

    /// Who is told of each decision, such as counters and logs.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.gate.observer = Some(Arc::new(observer));
        self
    }

    /// The layer.
    ///
    /// # Errors
    /// Settings do not go together, or are out of range: [`charge_when`](Self::charge_when) with several keys, more
    /// keys than one call may name ([`Limiter::MAX_KEYS_AT_ONCE`]), a [`quota_unit`](Self::quota_unit) that is not
    /// printable ASCII.
    pub fn build(self) -> Result<RateLimitLayer, Error> {
        self.check()?;
        Ok(RateLimitLayer::of(self.gate()))
    }

    /// A layer at which requests wait for their tokens, up to `within` each, and are denied when it is known that
    /// they would have to wait longer. How many may wait, in all and for a key, and how long at most (an hour, if
    /// nothing is said), says [`LimiterBuilder`](brimful::LimiterBuilder::max_waiters). Its service needs one inside that can be cloned,
    /// and a Tokio runtime.
    ///
    /// # Errors
    /// As [`build`](Self::build), and it does not go together with several keys, [`shadow`](Self::shadow) or
    /// [`charge_when`](Self::charge_when).
    #[cfg(feature = "wait")]
    pub fn build_waiting(self, within: std::time::Duration) -> Result<crate::WaitLayer, Error> {
        self.check()?;
        let beside = [
            (!self.more_keys.is_empty(), "also_key"),
            (self.gate.is_shadow, "shadow"),
            (self.gate.charge_when.is_some(), "charge_when"),
        ];
        if let Some((_, name)) = beside.iter().find(|(is_set, _)| *is_set) {
            let what = format!("`{name}` stands beside `build_waiting`");
            return Err(Error::conflict(
                what,
                "one of them; `build` makes a layer that denies at once",
            ));
        }
        Ok(crate::WaitLayer::of(self.gate(), within))
    }

    fn check(&self) -> Result<(), Error> {
        let keys = self.more_keys.len().saturating_add(1);
        if keys > MOST_KEYS {
            let expected = format!("1 to {MOST_KEYS}");
            return Err(Error::range("the number of keys", keys, expected));
        }
        if keys > 1 && self.gate.charge_when.is_some() {
            return Err(Error::conflict(
                "`charge_when` stands beside `also_key`",
                "one key; several cannot be reserved together",
            ));
        }
        match &self.unit {
            Some(unit) if unit.is_empty() || !unit.bytes().all(is_plain) => {
                let expected = "printable ASCII without `\"` and `\\`, such as `content-bytes`";
                Err(Error::range("the quota unit", format_args!("`{unit}`"), expected))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn gate(self) -> Gate {
        let Self { mut gate, more_keys, skip, unit } = self;
        gate.keys = gate.keys.into_iter().chain(more_keys).collect();
        gate.skip = skip.into();
        gate.fields.style.unit = unit.map(|unit| format!(";qu=\"{unit}\"").into());
        gate
    }
}

/// What may stand in a string of a structured field without an escape.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')
}

impl fmt::Debug for RateLimitBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RateLimitBuilder").field(&self.gate).finish()
    }
}
