//! What the layer does with requests, in standing and in paused time.

mod body;
mod common;
mod hostile;
mod requests;
mod stacked;
mod waits;
mod waits_inside;
