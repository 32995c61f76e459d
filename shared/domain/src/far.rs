//! Jobs whose next occurrence is unusually far away: a start in the wrong year, a long run of excluded dates.

use chrono::{DateTime, TimeDelta, Utc};

use crate::firing::latest_until;
use crate::schedule::Schedule;

/// An occurrence that is nearer is never unusual.
const NEAR: TimeDelta = TimeDelta::days(1);
/// How much of a schedule shows how far apart its occurrences usually are, at least.
const USUAL: TimeDelta = TimeDelta::weeks(8);

/// The next occurrence from an instant on, if it is further away than twice the longest time between
/// two of the occurrences that follow it.
///
/// They are compared for eight weeks, and for four times as long as the next occurrence is away. `None`
/// if the next occurrence is the last one: nothing tells what is usual.
#[must_use]
pub fn unusually_far(schedule: &Schedule, from: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let next = schedule.at_or_after(from)?;
    let away = next - from;
    if away < NEAR {
        return None;
    }
    let half = away / 2;
    let until = next.checked_add_signed(USUAL.max(away * 4))?;
    let mut at = next;
    // Bounded: two rounds pass more than `half`, so there are 16, or 224 if the next one is near.
    while at < until {
        let Some(following) = schedule.after(at) else {
            return (at > next).then_some(next);
        };
        // Without one that is near enough, such a gap is usual.
        at = latest_until(schedule, following, at.checked_add_signed(half)?)?;
    }
    Some(next)
}

#[cfg(test)]
mod tests {
    use minutehand_recurrence::{Recurrence, Rule, Timetable, WrittenDate};
    use serde_json::{Value, json};

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        WrittenDate::parse(text).unwrap().instant(None).unwrap()
    }

    fn schedule(start: &str, rule: &Value) -> Schedule {
        let rule = Rule::canonical(&Recurrence::from_json(rule).unwrap()).unwrap();
        Timetable::new(&rule, Some(at(start)), at("2027-01-01")).unwrap().into()
    }

    #[test]
    fn a_start_is_far_away_if_twice_the_usual_gap_fits_before_it() {
        let work = json!({"frequency": "week", "schedule": {"hours": [9, 10, 11],
            "weekDays": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]}});
        for (rule, start, is_far) in [
            (json!({"frequency": "minute"}), "2027-01-01T23:59", false),
            (json!({"frequency": "minute"}), "2027-01-02T00:01", true),
            (json!({"frequency": "day"}), "2027-01-02T23:00", false),
            (json!({"frequency": "day"}), "2027-01-03T01:00", true),
            // A weekend lasts three days, but for two hours.
            (work.clone(), "2027-01-04", false),
            (work, "2027-01-11", true),
            (json!({"frequency": "month"}), "2027-02-20", false),
            (json!({"frequency": "month"}), "2027-03-20", true),
            (json!({"frequency": "month", "interval": 12}), "2028-12-01", false),
            (json!({"frequency": "day", "count": 1}), "2028-01-01", false),
            (json!({"frequency": "day", "count": 2}), "2028-01-01", true),
        ] {
            let schedule = schedule(start, &rule);
            let found = unusually_far(&schedule, at("2027-01-01"));
            let next = schedule.at_or_after(at("2027-01-01"));
            assert_eq!(found, next.filter(|_| is_far), "{rule} from {start}");
        }
        let once: Schedule = Timetable::once(Some(at("2028-01-01")), at("2027-01-01")).into();
        assert_eq!(unusually_far(&once, at("2027-01-01")), None);
    }

    #[test]
    fn a_gap_that_comes_again_is_usual_however_long_it_is() {
        for rule in [
            json!({"frequency": "month", "schedule": {"monthDays": [31]}}),
            json!({"frequency": "month", "interval": 12, "schedule": {"monthDays": [1]}}),
            json!({"frequency": "week", "interval": 6}),
        ] {
            let schedule = schedule("2027-01-31T09:00", &rule);
            for at in schedule.iter().take(20) {
                let after = at + TimeDelta::seconds(1);
                assert_eq!(unusually_far(&schedule, after), None, "{rule} after {at}");
            }
        }
    }
}
