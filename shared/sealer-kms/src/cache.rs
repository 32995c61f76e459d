//! Data keys that were decrypted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sealer_aes::AesSealer;
use tokio::sync::OnceCell;

/// The most keys that are remembered: of so many processes that sealed something.
const KEYS_MAX: usize = 1_000;

/// A key that is there, or that somebody is asking for.
pub(crate) type Slot = Arc<OnceCell<Arc<AesSealer>>>;

/// Keys by their encrypted form, the longest unused going first.
#[derive(Default)]
pub(crate) struct KeyCache(Mutex<CachedKey>);

#[derive(Default)]
struct CachedKey {
    keys: HashMap<Vec<u8>, (Slot, u64)>,
    /// Counts uses, so that it can be said which was first.
    uses: u64,
}

impl KeyCache {
    /// The slot of a key; whoever finds it empty fills it, and others wait for that.
    pub(crate) fn get(&self, encrypted: &[u8]) -> Slot {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.uses += 1;
        let use_ = kept.uses;
        if let Some((slot, used)) = kept.keys.get_mut(encrypted) {
            *used = use_;
            return slot.clone();
        }
        if kept.keys.len() >= KEYS_MAX {
            let oldest = kept.keys.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(encrypted, _)| encrypted.clone()) {
                kept.keys.remove(&oldest);
            }
        }
        let slot = Slot::default();
        kept.keys.insert(encrypted.to_vec(), (slot.clone(), use_));
        slot
    }

    /// Remembers a key.
    pub(crate) fn put(&self, encrypted: &[u8], sealer: Arc<AesSealer>) {
        // Another has put the same, if it is there.
        let _ = self.get(encrypted).set(sealer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealer() -> Arc<AesSealer> {
        Arc::new(AesSealer::new(&AesSealer::new_key().unwrap()))
    }

    #[test]
    fn the_longest_unused_goes_first() {
        let cache = KeyCache::default();
        for n in 0..KEYS_MAX {
            cache.put(&n.to_be_bytes(), sealer());
        }
        let is_kept = |n: usize| cache.get(&n.to_be_bytes()).get().is_some();
        assert!(is_kept(0));
        cache.put(b"one more", sealer());
        assert!(is_kept(0), "it was used last");
        assert!(!is_kept(1));
    }
}
