//! Messages that a process may have received without an answer, because the database went away meanwhile.
//!
//! They would stay hidden until their visibility timeout, and no worker has them. A call hides all of its
//! messages until the same instant, which it chooses. So the process remembers the instants of the calls
//! that failed, and the next receiver shows what is hidden until then.

use chrono::{DateTime, Utc};

/// The most calls that are remembered. What was received in others comes back at its visibility timeout.
const CALLS_MAX: usize = 64;

/// Until when calls that failed may have hidden messages.
#[derive(Debug, Default)]
pub(super) struct LostDeliveries(Vec<DateTime<Utc>>);

impl LostDeliveries {
    /// A call failed that hides messages until this instant.
    pub(super) fn add(&mut self, hidden_until: DateTime<Utc>) {
        if self.0.len() < CALLS_MAX {
            self.0.push(hidden_until);
        }
    }

    /// The instants until which messages may be hidden now.
    pub(super) fn hidden(&self) -> Vec<DateTime<Utc>> {
        self.0.clone()
    }

    /// What was hidden until these instants is shown, or is of itself by now.
    pub(super) fn remove(&mut self, shown: &[DateTime<Utc>], work_now: DateTime<Utc>) {
        self.0.retain(|until| !shown.contains(until) && *until > work_now);
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
    fn what_failed_is_remembered_until_it_is_shown_and_for_its_visibility_timeout_at_most() {
        let mut lost = LostDeliveries::default();
        for second in [120, 121, 150] {
            lost.add(at(second));
        }
        assert_eq!(lost.hidden(), [at(120), at(121), at(150)]);
        lost.remove(&[at(120)], at(30));
        assert_eq!(lost.hidden(), [at(121), at(150)]);
        lost.remove(&[], at(121));
        assert_eq!(lost.hidden(), [at(150)], "the others are shown by now");
        (0..100).for_each(|second| lost.add(at(1_000 + second)));
        assert_eq!(lost.hidden().len(), CALLS_MAX);
    }
}
