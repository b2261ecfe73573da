//! A configuration that was read.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use brimful::{Limiter, LimiterBuilder, Rules};

use crate::error::{Error, Fault};
use crate::faults::Faults;
use crate::files;
use crate::keys::Keys;
use crate::limiter;
use crate::model::Model;
use crate::read::{self, Readings};
use crate::source::{LineColumn, MAX_CONFIG, Source, Spot};
use crate::syntax::Syntax;

/// A configuration that was read and found right. It keeps the texts of its files, to tell the lines of its
/// rules.
///
/// Two are equal when they say the same, wherever it is written.
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) model: Model,
    pub(crate) sources: Vec<Source>,
    rules: Rules,
    files: Vec<PathBuf>,
}

impl Config {
    /// Reads a file, as YAML when its name ends in `.yaml` or `.yml`, else as TOML, and the files of
    /// members that it names, relative to its folder. The file has at most 16 MiB, all files of members
    /// together at most 64 MiB; one that is named more than once counts, and is read, once.
    ///
    /// # Errors
    /// The file cannot be read ([`Error::is_read`]), or something in it is wrong.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        Self::load_file(path).map_err(|error| error.of_file(path))
    }

    fn load_file(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|source| unreadable(path, source))?;
        let text = read_text(file, path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut config = Self::parse(&text, Syntax::of(path), path, Some(folder))?;
        config.files.insert(0, path.to_owned());
        Ok(config)
    }

    /// Reads a text of at most 16 MiB. `name` is what messages call it. Files of members are looked
    /// for in `folder`; without one, naming such a file is a fault.
    ///
    /// # Errors
    /// Something in the text is wrong; [`Error`] says where.
    pub fn parse(
        text: &str,
        syntax: Syntax,
        name: impl AsRef<Path>,
        folder: Option<&Path>,
    ) -> Result<Self, Error> {
        let readings = read::read(text, syntax, name.as_ref(), folder)?;
        let (readings, rules) = limiter::checked(readings)?;
        let Readings { model, sources, faults, .. } = readings;
        Ok(Self { model, sources, rules, files: faults.files })
    }

    /// How many rules there are: defaults, overrides, and those of tiers and patterns.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        self.model.rules.len()
    }

    /// How many policies there are in `[policies]`.
    #[must_use]
    pub fn policy_count(&self) -> usize {
        self.model.policies.len()
    }

    /// How many keys are members of tiers.
    #[must_use]
    pub fn member_count(&self) -> usize {
        self.model.members.len()
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// A builder of limiters with these rules and the settings of `[store]`.
    #[must_use]
    pub fn limiter(&self) -> LimiterBuilder {
        let store = &self.model.store;
        let mut builder = Limiter::builder(self.rules.clone());
        if let Some(max_keys) = store.max_keys {
            builder = builder.max_keys(max_keys);
        }
        if let Some(overflow) = store.overflow {
            builder = builder.overflow(overflow);
        }
        if let Some(max_log_entries) = store.max_log_entries {
            builder = builder.max_log_entries(max_log_entries);
        }
        if let Some(max_limits) = store.max_limits {
            builder = builder.max_limits(max_limits);
        }
        if let Some(max_given) = store.max_given {
            builder = builder.max_given(max_given);
        }
        builder
    }

    /// How the text of keys is brought to one form before a limiter is asked.
    #[must_use]
    pub fn keys(&self) -> Keys {
        self.model.keys
    }

    /// The largest cost of one request, from `[requests]`; 1 when the file does not say. The limiter
    /// does not check it.
    #[must_use]
    pub fn max_cost(&self) -> u64 {
        self.model.max_cost.unwrap_or(1)
    }

    /// All files that were read: the file of rules first, unless it was a text, then those of members,
    /// each once.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The file and the place of a part of what was read.
    pub(crate) fn place(&self, spot: Spot) -> (&Path, LineColumn) {
        let source = usize::try_from(spot.file).ok().and_then(|file| self.sources.get(file));
        source.map_or((Path::new(""), LineColumn { line: 0, column: 0 }), |source| {
            (&source.name, source.line_column(spot.bytes().start))
        })
    }
}

/// Reads a text in UTF-8 of at most 16 MiB, such as standard input, for [`Config::parse`] or
/// [`import`](crate::import). `name` is what messages call it.
///
/// # Errors
/// It cannot be read ([`Error::is_read`]), is longer, or is not UTF-8.
pub fn read_text(input: impl io::Read, name: impl AsRef<Path>) -> Result<String, Error> {
    let name = name.as_ref();
    let bytes = files::bounded(input, MAX_CONFIG).map_err(|source| unreadable(name, source))?;
    String::from_utf8(bytes).map_err(|fault| {
        let at = files::fault_of_utf8(fault.as_bytes(), fault.utf8_error());
        let text = String::from_utf8_lossy(fault.as_bytes());
        let mut faults = Faults::default();
        let spot = Spot::new(0, at..at);
        faults.note(spot, "this is not UTF-8", "expected text in UTF-8");
        faults.into_error(&[Source::new(name, &text)])
    })
}

fn unreadable(path: &Path, source: io::Error) -> Error {
    let found = format!("the file cannot be read: {source}");
    let expected = "expected a file of rules in TOML or YAML".to_owned();
    Error::unreadable(Fault::of_file(path, found, expected), Some(source))
}

impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        self.model == other.model
    }
}
