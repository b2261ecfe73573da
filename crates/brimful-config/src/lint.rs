//! What is right and probably not meant.

mod implied;
mod limits;
mod rules;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::config::Config;
use crate::source::Spot;

/// Something in a configuration that is right and probably not meant.
///
/// `{}` prints one line: `FILE:LINE:COLUMN: TEXT [KIND]`. It serializes as `{"file", "line", "column",
/// "kind", "text"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lint {
    file: PathBuf,
    line: usize,
    column: usize,
    kind: LintKind,
    text: String,
}

/// What a [`Lint`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LintKind {
    /// A rule that no key comes to, or the empty list alone: the default, where the pattern `**`, or `*:**`, is
    /// enforced, or patterns of stars that together match as much.
    NeverMatches,
    /// A key or a pattern that is written in another form than `[keys]` gives it.
    Normalized,
    /// A policy that no rule names.
    UnusedPolicy,
    /// A limit that never refuses what another limit of the same policy admits.
    ImpliedLimit,
    /// A limit that can never admit a request of the largest cost that `[requests]` names.
    BurstBelowCost,
    /// A member of a tier that has an exact override, which is more specific.
    OverriddenMember,
    /// A key with a `*` in it, which stands for itself: only patterns have wildcards.
    StarInKey,
    /// A key, or a file of keys, that is listed in its tier twice.
    RepeatedMember,
    /// A bucket whose whole burst takes more than a day to come back.
    SlowRefill,
    /// The default is on trial alone, so that all others are admitted without a limit.
    DefaultOnTrial,
    /// A rule on trial that says what the enforced rule beside it says.
    IdleTrial,
}

impl LintKind {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::NeverMatches,
        Self::Normalized,
        Self::UnusedPolicy,
        Self::ImpliedLimit,
        Self::BurstBelowCost,
        Self::OverriddenMember,
        Self::StarInKey,
        Self::RepeatedMember,
        Self::SlowRefill,
        Self::DefaultOnTrial,
        Self::IdleTrial,
    ];

    /// The name: `never-matches`, `normalized`, `unused-policy`, `implied-limit`, `burst-below-cost`,
    /// `overridden-member`, `star-in-key`, `repeated-member`, `slow-refill`, `default-on-trial` or `idle-trial`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NeverMatches => "never-matches",
            Self::Normalized => "normalized",
            Self::UnusedPolicy => "unused-policy",
            Self::ImpliedLimit => "implied-limit",
            Self::BurstBelowCost => "burst-below-cost",
            Self::OverriddenMember => "overridden-member",
            Self::StarInKey => "star-in-key",
            Self::RepeatedMember => "repeated-member",
            Self::SlowRefill => "slow-refill",
            Self::DefaultOnTrial => "default-on-trial",
            Self::IdleTrial => "idle-trial",
        }
    }
}

impl Lint {
    /// The file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column, from 1, in characters.
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }

    /// What it is about.
    #[must_use]
    pub fn kind(&self) -> LintKind {
        self.kind
    }

    /// What is so, and what could be meant.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for LintKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = crate::text::shown::message(&self.file.to_string_lossy());
        let Self { line, column, text, kind, .. } = self;
        write!(f, "{file}:{line}:{column}: {text} [{kind}]")
    }
}

impl Config {
    /// What is right and probably not meant, by file, line and column.
    #[must_use]
    pub fn lints(&self) -> Vec<Lint> {
        let mut notes = Notes { config: self, found: Vec::new() };
        limits::note(&mut notes);
        rules::note(&mut notes);
        let mut found = notes.found;
        found.sort_by_key(|(spot, lint)| (*spot, lint.kind));
        found.into_iter().map(|(_, lint)| lint).collect()
    }
}

/// What is found so far.
struct Notes<'a> {
    config: &'a Config,
    found: Vec<(Spot, Lint)>,
}

impl Notes<'_> {
    fn note(&mut self, kind: LintKind, spot: Spot, text: &str) {
        let (file, at) = self.config.place(spot);
        let text = crate::text::shown::message(text);
        let lint = Lint { file: file.to_owned(), line: at.line, column: at.column, kind, text };
        self.found.push((spot, lint));
    }
}
