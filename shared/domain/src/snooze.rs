//! Snoozing: a job or a collection that needs someone is out of sight until an instant.
//!
//! It changes what people are shown as needing them, and nothing else: jobs fire, alerts are sent.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_recurrence::format_instant;

use crate::refusal::Refusal;

/// The name in the extensions.
pub(crate) const SNOOZED_UNTIL: &str = "snoozedUntil";
/// How far ahead it may be.
const SNOOZED_FOR_MAX: TimeDelta = TimeDelta::days(30);

/// Until when something is snoozed, if it is at this instant.
#[must_use]
pub fn snoozed_at(until: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    until.filter(|until| *until > now)
}

/// Checks the snooze that a change asks for. One that is there already stays allowed when it is over, because
/// clients send back what they read.
///
/// # Errors
///
/// If it is new, and not in the next 30 days.
pub fn check_snooze(
    before: Option<DateTime<Utc>>,
    wanted: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Result<(), Refusal> {
    let Some(until) = wanted.filter(|_| wanted != before) else {
        return Ok(());
    };
    let latest = now.checked_add_signed(SNOOZED_FOR_MAX).unwrap_or(DateTime::<Utc>::MAX_UTC);
    if until > now && until <= latest {
        return Ok(());
    }
    let (now, latest) = (format_instant(now), format_instant(latest));
    let problem = format!(
        "is {}; use an instant after now, {now}, and at most 30 days ahead, up to {latest}, or null.",
        format_instant(until)
    );
    Err(Refusal::about(format!("minutehand.{SNOOZED_UNTIL}"), problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_snooze_ends_within_the_next_thirty_days() {
        let at = |hours: i64| DateTime::from_timestamp(1_000_000 + 3_600 * hours, 0);
        let now = at(0).unwrap();
        for (before, wanted, is_allowed) in [
            (None, None, true),
            (None, at(1), true),
            (None, at(0), false),
            (None, at(-1), false),
            (None, at(720), true),
            (None, at(721), false),
            (at(-1), at(-1), true),
            (at(-1), at(-2), false),
            (at(5), None, true),
            (at(721), at(721), true),
        ] {
            let checked = check_snooze(before, wanted, now);
            assert_eq!(checked.is_ok(), is_allowed, "{before:?} {wanted:?}");
        }
        let message = check_snooze(None, at(0), now).unwrap_err().message;
        assert_eq!(
            message,
            "'minutehand.snoozedUntil' is 1970-01-12T13:46:40Z; use an instant after now, \
             1970-01-12T13:46:40Z, and at most 30 days ahead, up to 1970-02-11T13:46:40Z, or null."
        );
    }
}
