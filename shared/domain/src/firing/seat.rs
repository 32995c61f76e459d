//! Seats: so many attempts of a collection that limits them run at the same time.
//!
//! Such a collection has one more item, with the seats that are taken: the claims of the attempts that
//! run, each with the end of its lease. An attempt takes a seat just before its action, and gives it
//! back when it is recorded. The seat of a worker that died is free again when the lease is over.
//!
//! An attempt without a seat waits with its message, and looks again after a part of the time that it is
//! late. So many attempts that wait long do not look often, and one that has just come need not wait
//! long. Nothing orders those that wait, but each of them looks at least once a minute.

use chrono::{DateTime, TimeDelta, Utc};

use super::slot::Slot;
use crate::attempt::Attempt;
use crate::ids::fnv1a;

/// The longest time after which an attempt looks again that is not late yet.
pub const SEAT_LOOK_MIN: TimeDelta = TimeDelta::seconds(5);
/// The longest time after which any attempt looks again.
pub const SEAT_LOOK_MAX: TimeDelta = TimeDelta::minutes(1);
/// The same of one that waits for an origin that hangs.
pub const PLACE_LOOK_MAX: TimeDelta = TimeDelta::minutes(5);
/// An attempt waits for this part of the time that it is late.
const PART: i32 = 4;

/// What an attempt waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Waited {
    /// Its slot.
    Slot(Slot),
    /// A seat.
    Seat,
    /// A call to an origin that hangs, of which only a few are made.
    Place,
    /// Its end: its target is at work, or has reported the end. The message asks to end it.
    Completion,
}

/// How long an attempt of a job waits until it looks for a seat again. Attempts that are due at one
/// instant look one after the other: each waits for a part of its own between three quarters and all.
#[must_use]
pub fn seat_pause(job_uid: &str, attempt: &Attempt, now: DateTime<Utc>) -> TimeDelta {
    pause(job_uid, attempt, now, SEAT_LOOK_MAX)
}

/// The same for a call to an origin that hangs. Many more wait for that, so they look less often.
#[must_use]
pub fn place_pause(job_uid: &str, attempt: &Attempt, now: DateTime<Utc>) -> TimeDelta {
    pause(job_uid, attempt, now, PLACE_LOOK_MAX)
}

fn pause(job_uid: &str, attempt: &Attempt, now: DateTime<Utc>, max: TimeDelta) -> TimeDelta {
    let pause = ((now - attempt.due_at) / PART).clamp(SEAT_LOOK_MIN, max);
    let [.., part] = fnv1a(format!("{job_uid}.{}", attempt.id()).as_bytes()).to_be_bytes();
    pause - pause / 1_024 * i32::from(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Occurrence;

    #[test]
    fn who_is_later_looks_less_often_and_no_two_look_at_one_instant() {
        let at = |second| DateTime::from_timestamp(second, 0).unwrap();
        let first = Attempt::first(1, Occurrence::Scheduled { nominal_at: at(0) });
        for (now, longest) in [(-9, 5), (0, 5), (20, 5), (40, 10), (240, 60), (100_000, 60)] {
            let longest = TimeDelta::seconds(longest);
            let pauses = (0..50).map(|job| seat_pause(&format!("job{job}"), &first, at(now)));
            let mut pauses: Vec<_> = pauses.collect();
            pauses.sort();
            assert!(*pauses.last().unwrap() <= longest, "{now}: {pauses:?}");
            assert!(pauses[0] >= longest * 3 / 4, "{now}: {pauses:?}");
            assert!(pauses[49] - pauses[0] > longest / 5, "{now}: {pauses:?}");
            pauses.dedup();
            assert!(pauses.len() > 35, "{now}: {pauses:?}");
        }
        assert_eq!(seat_pause("j", &first, at(60)), seat_pause("j", &first, at(60)));
        assert_eq!(place_pause("j", &first, at(60)), seat_pause("j", &first, at(60)));
        let longest = place_pause("j", &first, at(100_000));
        assert!((PLACE_LOOK_MAX / 4 * 3..=PLACE_LOOK_MAX).contains(&longest), "{longest}");
    }
}
