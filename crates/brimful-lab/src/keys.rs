//! The keys of a log, each with a number and the count of its requests.

use std::collections::HashMap;
use std::sync::Arc;

use crate::asked::KeyForm;

/// A key's place in [`Keys`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyId(u32);

impl KeyId {
    pub(crate) fn place(self) -> usize {
        // A u32 fits wherever there is memory for so many keys.
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

#[derive(Clone, Debug)]
struct KeyRow {
    name: Arc<str>,
    requests: u64,
}

/// Grows with the number of keys, never with the number of lines.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    form: KeyForm,
    ids: HashMap<Arc<str>, KeyId>,
    rows: Vec<KeyRow>,
}

impl Keys {
    /// None yet; their names are brought to this form.
    pub(crate) fn new(form: KeyForm) -> Self {
        Self { form, ..Self::default() }
    }

    /// The number of a key, a new one for a new key; `None` after 2^32 keys.
    pub(crate) fn id(&mut self, name: &str) -> Option<KeyId> {
        let name = &*self.form.of(name);
        if let Some(id) = self.ids.get(name) {
            return Some(*id);
        }
        let id = KeyId(u32::try_from(self.rows.len()).ok()?);
        let name: Arc<str> = name.into();
        self.ids.insert(Arc::clone(&name), id);
        self.rows.push(KeyRow { name, requests: 0 });
        Some(id)
    }

    /// The name of a key that [`id`](Self::id) numbered, after counting `requests` more of it.
    pub(crate) fn asked(&mut self, id: KeyId, requests: u64) -> Option<&str> {
        let row = self.rows.get_mut(id.place())?;
        row.requests += requests;
        Some(&row.name)
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Number, name and requests of every key.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (KeyId, &str, u64)> {
        (0..).map(KeyId).zip(&self.rows).map(|(id, row)| (id, &*row.name, row.requests))
    }
}
