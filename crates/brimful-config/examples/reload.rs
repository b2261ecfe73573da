//! Follows a file of rules: `cargo run -p brimful-config --features watch --example reload -- limits.toml`,
//! then change the file, and type the names of keys.
use std::io::BufRead as _;
use std::sync::Arc;

use brimful_config::Config;
use brimful_config::watch::{WatchOptions, Watcher};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("expected the path of a file of rules")?;
    let config = Config::load(path)?;
    let limiter = Arc::new(config.limiter().build()?);
    let watcher = Watcher::start(config, &limiter, WatchOptions::default(), |reload| {
        eprintln!("{reload:#}");
    })?;
    for key in std::io::stdin().lock().lines() {
        let key = key?;
        let decision = watcher.keys().with_key(&key, |key| limiter.try_acquire(key));
        let word = if decision.is_allowed() { "allowed" } else { "denied" };
        println!(
            "{key}: {word}, {} left, generation {}",
            decision.remaining(),
            decision.generation()
        );
    }
    println!(
        "{} reloads, {} rejections",
        watcher.status().reloads(),
        watcher.status().rejections()
    );
    Ok(())
}
