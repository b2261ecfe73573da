//! Imported limits: what they mean, what is refused, and what is warned about.

mod envoy;
mod limitador;
mod mutations;
mod tables;

use brimful::Limiter;
use brimful_config::import::Imported;
use brimful_config::{Config, Syntax};

/// A limiter of imported rules.
fn limiter(imported: &Imported) -> Limiter {
    let config = Config::parse(imported.toml(), Syntax::Toml, "imported.toml", None);
    let config = config.unwrap_or_else(|error| panic!("{error:#}\n{}", imported.toml()));
    config.limiter().max_keys(10_000).build().unwrap()
}

/// A text of the alphabet of these tests in YAML's double quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
