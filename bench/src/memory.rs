//! What keys take in memory: asked of the allocator, and resident. Each contender is measured in a
//! process of its own, because what one gives back another would get. That process is another
//! program, `src/bin/memory.rs`: it counts allocations, which would slow down those that are timed.

use std::env;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use crate::report;

/// Bytes for each key.
pub struct Bytes {
    pub allocated: f64,
    pub resident: f64,
}

/// The program that measures memory.
pub struct Program(PathBuf);

impl Program {
    /// Builds it beside this one, with the same features.
    pub fn build() -> io::Result<Self> {
        let this = env::current_exe()?;
        let (Some(profile), Some(target)) = (this.parent(), this.ancestors().nth(2)) else {
            return Err(io::Error::other("this program is in no target directory"));
        };
        let features = [
            ("peers", cfg!(feature = "peers")),
            ("quota-slot-cache", cfg!(feature = "quota-slot-cache")),
        ];
        let features = features.into_iter().filter(|(_, on)| *on).map(|(name, _)| name);
        let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build.args(["build", "--quiet", "--locked", "--bin", "memory", "--no-default-features"]);
        build.args(["--features", &features.collect::<Vec<_>>().join(",")]);
        build.arg("--manifest-path").arg(report::bench().join("Cargo.toml"));
        build.arg("--target-dir").arg(target);
        if profile.ends_with("release") {
            build.arg("--release");
        }
        if !build.status()?.success() {
            return Err(io::Error::other("it was not built"));
        }
        Ok(Self(profile.join("memory")))
    }

    /// Measures one contender.
    pub fn bytes(&self, contender: &str, length: usize) -> io::Result<Bytes> {
        match self.figures(&["bytes", contender, &length.to_string()])?[..] {
            [allocated, resident] => Ok(Bytes { allocated, resident }),
            _ => Err(io::Error::other("two figures were expected")),
        }
    }

    /// Allocations of brimful in a call for a live key.
    pub fn allocations_per_call(&self) -> io::Result<f64> {
        match self.figures(&["allocations"])?[..] {
            [allocations] => Ok(allocations),
            _ => Err(io::Error::other("one figure was expected")),
        }
    }

    fn figures(&self, arguments: &[&str]) -> io::Result<Vec<f64>> {
        let output = Command::new(&self.0).args(arguments).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(said.trim().replace('\n', " ")));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        text.split_whitespace().map(|word| word.parse().map_err(io::Error::other)).collect()
    }
}
