//! The limiter that a replay asks, and the form in which it names keys.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use brimful::{LimiterBuilder, Policy};

/// What is asked about every request.
#[derive(Clone)]
pub(crate) enum Asked {
    /// A limiter that gives every key this policy.
    Policy(Policy),
    /// The limiter of such a builder. (A builder is used up by building.)
    Limiter(Arc<dyn Fn() -> LimiterBuilder + Send + Sync>),
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(policy) => policy.fmt(f),
            Self::Limiter(builder) => builder().fmt(f),
        }
    }
}

/// How the text of keys is brought to one form.
#[derive(Clone, Default)]
pub(crate) struct KeyForm(Option<Arc<Formed>>);

type Formed = dyn for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync;

impl KeyForm {
    pub(crate) fn new(
        form: impl for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(form)))
    }

    pub(crate) fn of<'a>(&self, key: &'a str) -> Cow<'a, str> {
        self.0.as_ref().map_or(Cow::Borrowed(key), |form| form(key))
    }
}

impl fmt::Debug for KeyForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "a form" } else { "as they are" })
    }
}
