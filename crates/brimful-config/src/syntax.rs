//! TOML and YAML, each read into the same tree.

mod toml;
mod yaml;

use std::ops::Range;
use std::path::Path;

use crate::node::Node;

/// How a file of rules is written. Both have the same fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Syntax {
    /// TOML 1.1.
    #[default]
    Toml,
    /// YAML 1.2: one document, with anchors and aliases, without tags and merge keys.
    Yaml,
}

impl Syntax {
    /// By the ending of a file's name: YAML for `.yaml` and `.yml`, in any case, TOML for all others.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("");
        if ["yaml", "yml"].iter().any(|yaml| ending.eq_ignore_ascii_case(yaml)) {
            Self::Yaml
        } else {
            Self::Toml
        }
    }

    pub(crate) fn read(self, text: &str) -> Result<Tree, Flaw> {
        match self {
            Self::Toml => toml::read(text),
            Self::Yaml => yaml::read(text),
        }
    }
}

/// What a file says, and what in it is wrong without hiding the rest.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) root: Node,
    pub(crate) flaws: Vec<Flaw>,
}

/// What is wrong with the syntax.
#[derive(Debug)]
pub(crate) struct Flaw {
    pub(crate) span: Range<usize>,
    pub(crate) found: String,
    pub(crate) expected: String,
    /// The first of two.
    pub(crate) first: Option<Range<usize>>,
}

impl Flaw {
    fn new(span: Range<usize>, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { span, found: found.into(), expected: expected.into(), first: None }
    }
}
