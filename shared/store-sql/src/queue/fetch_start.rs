//! From where on a receiver looks for messages.
//!
//! PostgreSQL finds finished messages in its index until they are removed, which an open transaction may hold
//! up. So a receiver begins a little before the oldest instant at which it still expects a message. A message
//! gets its instant before its transaction commits; what commits late is found by a look from the beginning.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// How far before the oldest instant that is expected a look begins.
const MARGIN: Duration = Duration::from_secs(5);
/// How often a look begins at the beginning.
const WHOLE_EVERY: Duration = Duration::from_secs(10);

/// From where on a receiver looks.
#[derive(Debug, Default)]
pub(super) struct FetchStart {
    /// The oldest instant at which a message is expected.
    expected: Option<DateTime<Utc>>,
    /// When the last look from the beginning was, in work time.
    whole_at: Option<DateTime<Utc>>,
}

impl FetchStart {
    /// Where a look begins; `None` for the beginning.
    pub(super) fn begin(&mut self, work_now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        // A clock that was set back makes a look due.
        let is_recent = |at: &DateTime<Utc>| (*at..*at + WHOLE_EVERY).contains(&work_now);
        if self.whole_at.as_ref().is_some_and(is_recent) {
            return self.expected.map(|expected| expected - MARGIN);
        }
        self.whole_at = Some(work_now);
        self.expected = None;
        None
    }

    /// After a look that found everything up to an instant, or all that there was until now.
    pub(super) fn looked(&mut self, now: DateTime<Utc>, last: Option<DateTime<Utc>>) {
        self.expected = Some(last.map_or(now, |last| last.min(now)));
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(second)
    }

    #[test]
    fn fetches_begin_five_seconds_before_what_is_expected_and_every_ten_seconds_at_the_beginning() {
        let mut start = FetchStart::default();
        assert_eq!(start.begin(at(100)), None, "the first one");
        start.looked(at(100), None);
        assert_eq!(start.begin(at(103)), Some(at(95)));
        // It found as many as it asked for, and so there may be more at the last instant.
        start.looked(at(103), Some(at(60)));
        assert_eq!(start.begin(at(104)), Some(at(55)));
        // What is received before it is due says nothing of what is sent now.
        start.looked(at(104), Some(at(106)));
        assert_eq!(start.begin(at(109)), Some(at(99)));
        assert_eq!(start.begin(at(110)), None);
        assert_eq!(start.begin(at(111)), None, "the look failed, and nothing is known");
        start.looked(at(111), None);
        assert_eq!(start.begin(at(50)), None, "the clock was set back");
    }
}
