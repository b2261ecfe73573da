//! Whose budget a request spends.

mod any_headers;
mod corpus;
mod extractors;
mod forwarded;
mod spoofing;
