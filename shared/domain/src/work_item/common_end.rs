//! The common end of plans, for timers that could share a message.
//!
//! A message carries several attempts of one second if they are sent together. Timers that are planned in
//! different minutes never are. So as long as the timers of a second do not fill two messages, their plans
//! end at the same instant: from then on they are due in the same pass. Those that fill two use the whole
//! horizon, and so the moves of many timers stay spread over the minutes.

use chrono::{DateTime, TimeDelta, Utc};

use super::PACKET_ATTEMPTS_MAX;
use crate::firing::limits::{AHEAD, HORIZON};

/// So many timers of a second fill messages well.
const ENOUGH: usize = 2 * PACKET_ATTEMPTS_MAX;
/// Plans end together at the multiples of this time.
const COMMON_END_EVERY: TimeDelta = TimeDelta::minutes(12);

/// A common end is always behind the timers that a pass plans.
const _: () =
    assert!(HORIZON.num_seconds() - COMMON_END_EVERY.num_seconds() >= AHEAD.num_seconds());

/// Until when a timer is planned that is due at this instant, in the same second as so many that are planned
/// with it, itself included. `horizon` is the instant until which plans may reach.
#[must_use]
pub fn planned_until(
    due_at: DateTime<Utc>,
    of_second: usize,
    horizon: DateTime<Utc>,
) -> DateTime<Utc> {
    if of_second >= ENOUGH {
        return horizon;
    }
    let beyond = horizon.timestamp_millis().rem_euclid(COMMON_END_EVERY.num_milliseconds());
    let end = horizon - TimeDelta::milliseconds(beyond);
    // A job that was just created may be due behind it.
    if end < due_at { horizon } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_end_together_unless_their_timers_fill_messages() {
        let at = |second: i64| DateTime::from_timestamp(second, 0).unwrap();
        for (due_at, of_second, horizon, expected) in [
            // The last multiple of twelve minutes.
            (60, 1, 900, 720),
            (60, ENOUGH - 1, 900, 720),
            (60, ENOUGH, 900, 900),
            (60, ENOUGH + 1, 900, 900),
            // The horizon itself, and just before one.
            (600, 1, 1_440, 1_440),
            (600, 1, 1_439, 720),
            // Due at the end, and behind it.
            (720, 1, 1_439, 720),
            (721, 1, 1_439, 1_439),
            // Overdue by hours.
            (-7_200, 1, 900, 720),
        ] {
            let until = planned_until(at(due_at), of_second, at(horizon));
            assert_eq!(until, at(expected), "{due_at} {of_second} {horizon}");
        }
    }
}
