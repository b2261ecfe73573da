//! What another layer found out about a request.

use std::fmt;
use std::marker::PhantomData;

use brimful::{AsKey, Key};

use super::{Missing, RequestKey};
use crate::head::Head;

/// A request's extension of type `T`, such as the user that a layer before this one has put in.
///
/// `what` names it in errors. When it is absent, that is the server's fault: the layer that provides it has to run
/// before the limit. Where clients may come without it, such as those that are not logged in, say so with
/// [`from_client`](Self::from_client).
///
/// ```
/// use brimful::Key;
/// use brimful_tower::{Extension, Head, RequestKey};
///
/// #[derive(Clone)]
/// struct User { id: u64 }
///
/// let mut request = http::Request::new(());
/// request.extensions_mut().insert(User { id: 42 });
///
/// let by_user = Extension::with("user", |user: &User| user.id);
/// by_user.with_key(Head::of(&request), &mut |key| assert_eq!(key, Key::Unsigned(42)))?;
///
/// // Of a type that is a key itself.
/// let by_name = Extension::<String>::new("user's name");
/// let missing = by_name.with_key(Head::of(&request), &mut |_| ()).unwrap_err();
/// assert!(missing.is_servers_fault());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Extension<T> {
    absent: Absent,
    extension: PhantomData<fn() -> T>,
}

/// An extension of type `T` of which `F` makes a key: [`Extension::with`].
pub struct ExtensionWith<T, F> {
    extension: Extension<T>,
    key: F,
}

/// What is said when it is not there.
#[derive(Clone, Copy, Debug)]
struct Absent {
    what: &'static str,
    from_client: bool,
}

impl<T: Send + Sync + 'static> Extension<T> {
    /// The extension is the key.
    #[must_use]
    pub const fn new(what: &'static str) -> Self
    where
        T: AsKey,
    {
        Self { absent: Absent { what, from_client: false }, extension: PhantomData }
    }

    /// What `key` makes of the extension is the key: a number, a text of its own, a tuple of these. (What
    /// borrows from the extension cannot be: a clone of an `Arc<str>` costs no allocation.)
    #[must_use]
    pub const fn with<F, K>(what: &'static str, key: F) -> ExtensionWith<T, F>
    where
        F: Fn(&T) -> K + Send + Sync + 'static,
        K: AsKey,
    {
        let absent = Absent { what, from_client: false };
        ExtensionWith { extension: Self { absent, extension: PhantomData }, key }
    }

    /// Without it, it is the client's fault.
    #[must_use]
    pub const fn from_client(mut self) -> Self {
        self.absent.from_client = true;
        self
    }

    fn find<'a>(&self, head: Head<'a>) -> Result<&'a T, Missing> {
        let Absent { what, from_client } = self.absent;
        head.extensions().get::<T>().ok_or_else(|| match from_client {
            true => Missing::from_client(what),
            false => Missing::from_server(format!(
                "{what}; the layer that finds it out has to run before the limit"
            )),
        })
    }
}

impl<T: Send + Sync + 'static, F> ExtensionWith<T, F> {
    /// Without the extension, it is the client's fault.
    #[must_use]
    pub fn from_client(self) -> Self {
        Self { extension: self.extension.from_client(), ..self }
    }
}

impl<T: AsKey + Send + Sync + 'static> RequestKey for Extension<T> {
    fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        self.find(head)?.with_key(f);
        Ok(())
    }
}

impl<T, F, K> RequestKey for ExtensionWith<T, F>
where
    T: Send + Sync + 'static,
    F: Fn(&T) -> K + Send + Sync + 'static,
    K: AsKey,
{
    fn with_key(&self, head: Head<'_>, f: &mut dyn FnMut(Key<'_>)) -> Result<(), Missing> {
        (self.key)(self.extension.find(head)?).with_key(f);
        Ok(())
    }
}

impl<T> Clone for Extension<T> {
    fn clone(&self) -> Self {
        Self { absent: self.absent, extension: PhantomData }
    }
}

impl<T, F: Clone> Clone for ExtensionWith<T, F> {
    fn clone(&self) -> Self {
        Self { extension: self.extension.clone(), key: self.key.clone() }
    }
}

impl<T> fmt::Debug for Extension<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Extension").field(&self.absent.what).finish()
    }
}

impl<T, F> fmt::Debug for ExtensionWith<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.extension.fmt(f)
    }
}
