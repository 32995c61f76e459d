//! Lines of the log about skipped occurrences: a collection that is disabled with a full queue must not
//! fill it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

/// How long after a line the next one about the same collection may come.
const PAUSE: TimeDelta = TimeDelta::minutes(1);
/// The most collections that are remembered. If there are more, each line is written.
const COLLECTIONS_MAX: usize = 1_000;

/// When the last line about each collection was written, and what was skipped since.
#[derive(Default)]
pub(super) struct SkipLog(Mutex<HashMap<String, Since>>);

struct Since {
    line_at: DateTime<Utc>,
    occurrences: u64,
}

impl SkipLog {
    /// Counts a skipped occurrence. Returns how many a line has to report, if one is to be written.
    pub(super) fn count(&self, collection_uid: &str, now: DateTime<Utc>) -> Option<u64> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = known.get_mut(collection_uid) {
            since.occurrences += 1;
            // A clock that was set back does not keep a line away for longer.
            if (now - since.line_at).abs() < PAUSE {
                return None;
            }
            let occurrences = std::mem::take(&mut since.occurrences);
            since.line_at = now;
            return Some(occurrences);
        }
        if known.len() >= COLLECTIONS_MAX {
            known.retain(|_, since| (now - since.line_at).abs() < PAUSE);
        }
        if known.len() < COLLECTIONS_MAX {
            known.insert(collection_uid.to_owned(), Since { line_at: now, occurrences: 0 });
        }
        Some(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn a_collection_has_a_line_a_minute_with_what_was_skipped_since() {
        let log = SkipLog::default();
        for (collection, seconds, expected) in [
            ("a", 0, Some(1)),
            ("a", 0, None),
            ("a", 59, None),
            ("b", 59, Some(1)),
            ("a", 60, Some(3)),
            ("a", 61, None),
            ("a", 0, Some(2)),
        ] {
            assert_eq!(log.count(collection, at(seconds)), expected, "{collection} {seconds}");
        }
    }

    #[test]
    fn so_many_collections_are_remembered_and_none_is_silenced() {
        let log = SkipLog::default();
        for n in 0..2 * COLLECTIONS_MAX {
            assert_eq!(log.count(&n.to_string(), at(0)), Some(1));
        }
        assert_eq!(log.0.lock().unwrap().len(), COLLECTIONS_MAX);
        assert_eq!(log.count("later", at(60)), Some(1));
        assert_eq!(log.0.lock().unwrap().len(), 1);
    }
}
