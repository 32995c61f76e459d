//! A map that forgets what was not used for longest.

use std::collections::HashMap;
use std::hash::Hash;

/// A bounded map.
///
/// Making room looks at every entry: bounds are small, and it happens when something is made that
/// costs far more, as a connection or a token does.
pub(crate) struct ExpiringCache<K, V> {
    entries: HashMap<K, Entry<V>>,
    n_max: usize,
    now: u64,
}

struct Entry<V> {
    value: V,
    used: u64,
}

impl<K: Eq + Hash + Clone, V: Clone + Default> ExpiringCache<K, V> {
    pub(crate) fn new(n_max: usize) -> Self {
        Self { entries: HashMap::new(), n_max, now: 0 }
    }

    /// What stands under a key, which from now on is the default if nothing did.
    pub(crate) fn entry(&mut self, key: &K) -> V {
        self.now += 1;
        if let Some(entry) = self.entries.get_mut(key) {
            entry.used = self.now;
            return entry.value.clone();
        }
        if self.entries.len() >= self.n_max {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.entries.remove(&oldest);
            }
        }
        let value = V::default();
        self.entries.insert(key.clone(), Entry { value: value.clone(), used: self.now });
        value
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let mut cache: ExpiringCache<char, Arc<()>> = ExpiringCache::new(2);
        let (a, b) = (cache.entry(&'a'), cache.entry(&'b'));
        assert!(Arc::ptr_eq(&a, &cache.entry(&'a')));
        cache.entry(&'c');
        assert!(Arc::ptr_eq(&a, &cache.entry(&'a')));
        assert!(!Arc::ptr_eq(&b, &cache.entry(&'b')));
        assert_eq!(cache.entries.len(), 2);
    }
}
