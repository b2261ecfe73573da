//! One form for the text of keys.

use std::borrow::Cow;

use brimful::{AsKey, Key};
use unicode_normalization::{UnicodeNormalization as _, is_nfc};

/// How the text of keys is brought to one form, so that `" Müller"` and `"MÜLLER"` share a budget.
/// All steps are off unless the file turns them on.
///
/// The keys and patterns of a file are brought to this form when it is read. Callers do the same with
/// each text of their keys, the texts in a list too, before they ask a limiter; the limiter itself
/// compares bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    pub(crate) trim: bool,
    pub(crate) fold_case: bool,
    pub(crate) nfc: bool,
}

impl Keys {
    /// The form of a text: without white space at its ends (`trim`), by Unicode's full case folding
    /// (`fold_case`: `ß` is `ss`), in Normalization Form C (`nfc`; with `fold_case` decomposed
    /// before it is folded). A text that has this form is borrowed.
    ///
    /// ```
    /// use brimful_config::{Config, Syntax};
    ///
    /// let text = "[keys]\ntrim = true\nfold_case = true\n[default]\nlimit = \"10/s\"\n";
    /// let config = Config::parse(text, Syntax::Toml, "limits.toml", None)?;
    /// assert_eq!(config.keys().normalize(" Straße "), "strasse");
    /// # Ok::<(), brimful_config::Error>(())
    /// ```
    #[must_use]
    pub fn normalize<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = if self.trim { text.trim() } else { text };
        if text.is_ascii() {
            let folds = self.fold_case && text.bytes().any(|b| b.is_ascii_uppercase());
            return if folds { text.to_ascii_lowercase().into() } else { text.into() };
        }
        let formed = match (self.fold_case, self.nfc) {
            (false, false) => return text.into(),
            (false, true) if is_nfc(text) => return text.into(),
            (false, true) => text.nfc().collect(),
            (true, false) => caseless::default_case_fold_str(text),
            (true, true) => {
                let decomposed: String = text.nfd().collect();
                caseless::default_case_fold_str(&decomposed).nfc().collect()
            }
        };
        if formed == text { text.into() } else { formed.into() }
    }

    /// Calls `f` with the key whose texts have this form: the text itself, or the texts in a list. (Lists
    /// in a list are left as they are; no file can name such keys.)
    pub fn with_key<R>(&self, key: impl AsKey, f: impl FnOnce(Key<'_>) -> R) -> R {
        key.with_key(|key| match key {
            Key::Text(text) => f(Key::Text(&self.normalize(text))),
            Key::Parts(parts) if self.is_on() => {
                let texts: Vec<Cow<'_, str>> = parts
                    .iter()
                    .map(|part| match part {
                        Key::Text(text) => self.normalize(text),
                        _ => Cow::Borrowed(""),
                    })
                    .collect();
                let parts: Vec<Key<'_>> = parts
                    .iter()
                    .zip(&texts)
                    .map(|(part, text)| match part {
                        Key::Text(_) => Key::Text(text),
                        other => *other,
                    })
                    .collect();
                f(Key::Parts(&parts))
            }
            other => f(other),
        })
    }

    /// Whether any step is on.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.trim || self.fold_case || self.nfc
    }
}
