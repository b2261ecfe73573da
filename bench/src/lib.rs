//! Measurements of brimful beside its neighbours: `src/main.rs` says how to run them.
#![forbid(unsafe_code)]

pub mod contenders;
pub mod keys;
#[cfg(feature = "tower")]
pub mod layer;
pub mod measure;
pub mod memory;
pub mod report;
pub mod tail;
pub mod trace;
pub mod workload;
