//! A cache of decrypted data keys.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use minutehand_sealer_aes::AesSealer;
use tokio::sync::OnceCell;

/// The maximum number of keys in the cache; each process that seals secrets has its own key.
const KEYS_MAX: usize = 1_000;

/// A decrypted key, or an empty slot while a task asks KMS for it.
pub(crate) type Slot = Arc<OnceCell<Arc<AesSealer>>>;

/// Decrypted keys by their encrypted form; the least recently used key is evicted first.
#[derive(Default)]
pub(crate) struct KeyCache(Mutex<CachedKeys>);

#[derive(Default)]
struct CachedKeys {
    /// Each slot comes with the number of its last use.
    keys: HashMap<Vec<u8>, (Slot, u64)>,
    /// The number of uses so far.
    uses: u64,
}

impl KeyCache {
    /// Returns the slot of a key; the first caller fills it, and concurrent callers wait.
    pub(crate) fn get(&self, encrypted: &[u8]) -> Slot {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cached.uses += 1;
        let this_use = cached.uses;
        if let Some((slot, used)) = cached.keys.get_mut(encrypted) {
            *used = this_use;
            return slot.clone();
        }
        if cached.keys.len() >= KEYS_MAX {
            let oldest = cached.keys.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(encrypted, _)| encrypted.clone()) {
                cached.keys.remove(&oldest);
            }
        }
        let slot = Slot::default();
        cached.keys.insert(encrypted.to_vec(), (slot.clone(), this_use));
        slot
    }

    /// Adds a key to the cache.
    pub(crate) fn put(&self, encrypted: &[u8], sealer: Arc<AesSealer>) {
        // If the slot is already full, it holds the same key.
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
    fn the_least_recently_used_key_is_evicted_first() {
        let cache = KeyCache::default();
        for n in 0..KEYS_MAX {
            cache.put(&n.to_be_bytes(), sealer());
        }
        let is_cached = |n: usize| cache.get(&n.to_be_bytes()).get().is_some();
        assert!(is_cached(0));
        cache.put(b"one more", sealer());
        assert!(is_cached(0), "key 0 was used again");
        assert!(!is_cached(1));
    }
}
