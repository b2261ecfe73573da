//! Rate limit rules as data, for [`brimful`]: operators write limits in a file of TOML or YAML, and
//! get [`brimful::Rules`] and a limiter; a file that is wrong is refused with the place of every fault.
//!
//! ```
//! use brimful_config::{Config, Syntax};
//!
//! let text = r#"
//! [store]
//! max_keys = 10_000
//!
//! [default]
//! limit = "100/min burst 20"
//!
//! [policies.gold]
//! limits = ["10/s", "1000/h"]
//!
//! [tiers.gold]
//! policy = "gold"
//!
//! [[exact]]
//! key = "banned"
//! blocked = true
//!
//! [[pattern]]
//! match = "tenant:*:search"
//! policy = "gold"
//! "#;
//! let config = Config::parse(text, Syntax::Toml, "limits.toml", None)?;
//! assert_eq!(config.rules().policy_for("tenant:7:search", None).name(), "gold");
//! let limiter = config.limiter().build()?;
//! assert!(limiter.try_acquire("banned").is_never());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod bound;
mod config;
mod core;
mod error;
mod explain;
mod faults;
mod files;
mod key;
mod keys;
mod lint;
mod model;
mod node;
mod number;
mod print;
mod read;
mod schema;
mod source;
mod syntax;
mod text;

pub use config::Config;
pub use error::{Also, Error, Fault};
pub use explain::{Bounded, Explained, Explanation, Role};
pub use keys::Keys;
pub use lint::{Lint, LintKind};
pub use schema::schema;
pub use syntax::Syntax;
