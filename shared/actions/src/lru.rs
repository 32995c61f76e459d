//! A bounded map that evicts the least recently used entry.

use std::collections::HashMap;
use std::hash::Hash;

/// A bounded map that evicts the least recently used entry.
///
/// Evicting scans all entries. That is fine since the bounds are small, and an entry is only added
/// together with something much more expensive: a connection or a token.
pub(crate) struct LruCache<K, V> {
    entries: HashMap<K, Entry<V>>,
    n_max: usize,
    /// Counts accesses, so that entries can be ordered by their last use.
    clock: u64,
}

struct Entry<V> {
    value: V,
    used_at: u64,
}

impl<K: Eq + Hash + Clone, V: Clone + Default> LruCache<K, V> {
    pub(crate) fn new(n_max: usize) -> Self {
        Self { entries: HashMap::new(), n_max, clock: 0 }
    }

    /// Returns the value of a key. If there is none, it inserts the default value.
    pub(crate) fn get_or_default(&mut self, key: &K) -> V {
        self.clock += 1;
        if let Some(entry) = self.entries.get_mut(key) {
            entry.used_at = self.clock;
            return entry.value.clone();
        }
        if self.entries.len() >= self.n_max {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used_at);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.entries.remove(&oldest);
            }
        }
        let value = V::default();
        self.entries.insert(key.clone(), Entry { value: value.clone(), used_at: self.clock });
        value
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_least_recently_used_entry_is_evicted() {
        let mut cache: LruCache<char, Arc<()>> = LruCache::new(2);
        let (a, b) = (cache.get_or_default(&'a'), cache.get_or_default(&'b'));
        assert!(Arc::ptr_eq(&a, &cache.get_or_default(&'a')));
        cache.get_or_default(&'c');
        assert!(Arc::ptr_eq(&a, &cache.get_or_default(&'a')));
        assert!(!Arc::ptr_eq(&b, &cache.get_or_default(&'b')));
        assert_eq!(cache.entries.len(), 2);
    }
}
