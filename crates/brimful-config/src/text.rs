//! Texts as they stand in files and in messages.

pub(crate) mod inside;
pub(crate) mod near;
pub(crate) mod shown;
