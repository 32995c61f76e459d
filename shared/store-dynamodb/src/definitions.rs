//! A cache of definitions, so that a job that fires often is not read whole each time.
//!
//! A cached definition may be old. The timer of a job is always read as it is now, and tells the
//! version of the definition: the two change in one transaction.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use minutehand_domain::name::Name;
use minutehand_ports::StoreError;

use crate::table::item::Reader;
use crate::table::keys::Key;

/// The size of a generation of the cache. The two generations hold at most sixteen megabytes, and
/// usually one.
const YOUNG_MAX: usize = 512;

/// The definition of a job.
pub(crate) struct Definition {
    pub(crate) uid: String,
    pub(crate) version: u64,
    pub(crate) name: Name,
    pub(crate) document: String,
    pub(crate) sealed: Option<Vec<u8>>,
}

/// Definitions by their keys. A definition that is not used is evicted when a generation ends.
#[derive(Default)]
pub(crate) struct Definitions(Mutex<Ages>);

#[derive(Default)]
struct Ages {
    young: HashMap<Key, Arc<Definition>>,
    /// The generation before.
    old: HashMap<Key, Arc<Definition>>,
}

impl Definition {
    pub(crate) fn read(item: &Reader<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            uid: item.text("uid")?.to_owned(),
            version: item.number("version")?,
            name: item.name("name")?,
            document: item.text("document")?.to_owned(),
            sealed: item.optional_bytes("sealed")?,
        })
    }
}

impl Definitions {
    pub(crate) fn find(&self, key: &Key) -> Option<Arc<Definition>> {
        let mut ages = self.ages();
        if let Some(found) = ages.young.get(key) {
            return Some(found.clone());
        }
        let found = ages.old.remove(key)?;
        ages.keep(key.clone(), found.clone());
        Some(found)
    }

    pub(crate) fn keep(&self, key: Key, definition: Arc<Definition>) {
        self.ages().keep(key, definition);
    }

    fn ages(&self) -> MutexGuard<'_, Ages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ages {
    fn keep(&mut self, key: Key, definition: Arc<Definition>) {
        if self.young.len() >= YOUNG_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, definition);
    }
}

/// Shows no definition, as one may hold data of users.
impl fmt::Debug for Definitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definitions").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> Key {
        Key { pk: n.to_string(), sk: String::new() }
    }

    fn definition() -> Arc<Definition> {
        Arc::new(Definition {
            uid: String::new(),
            version: 1,
            name: Name::new("j").unwrap(),
            document: String::new(),
            sealed: None,
        })
    }

    #[test]
    fn what_is_not_used_is_forgotten_and_what_is_used_stays() {
        let definitions = Definitions::default();
        for n in 0..4 * YOUNG_MAX {
            definitions.keep(key(n), definition());
            assert!(definitions.find(&key(0)).is_some(), "{n}");
        }
        assert!(definitions.find(&key(1)).is_none());
        let ages = definitions.ages();
        assert!(ages.young.len() + ages.old.len() <= 2 * YOUNG_MAX);
    }
}
