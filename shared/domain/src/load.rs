//! How many occurrences fall due in each step of a time, for calendars.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_recurrence::WrittenDate;
use minutehand_recurrence::named;
use minutehand_recurrence::zone::Zone;

use crate::schedule::Schedule;

named! {
    /// The length of a step.
    pub enum LoadStep {
        /// One minute.
        Minute = "PT1M",
        /// Five minutes.
        FiveMinutes = "PT5M",
        /// A quarter of an hour.
        QuarterHour = "PT15M",
        /// One hour.
        Hour = "PT1H",
        /// One day by the clock of a zone: 23 to 25 hours.
        Day = "P1D",
    }
}

impl LoadStep {
    /// The longest time that may be asked for in these steps, in days: at most 2,880 steps.
    #[must_use]
    pub const fn days_max(self) -> i64 {
        match self {
            Self::Minute => 2,
            Self::FiveMinutes => 7,
            Self::QuarterHour => 30,
            Self::Hour => 45,
            Self::Day => 731,
        }
    }

    const fn span(self) -> TimeDelta {
        match self {
            Self::Minute => TimeDelta::minutes(1),
            Self::FiveMinutes => TimeDelta::minutes(5),
            Self::QuarterHour => TimeDelta::minutes(15),
            Self::Hour => TimeDelta::hours(1),
            Self::Day => TimeDelta::days(1),
        }
    }

    /// The beginnings of the steps from one instant on, and as the last one the end of the last step,
    /// which is at or after `to`. Days begin when the date changes in a zone; the first one begins with
    /// the day that contains `from`.
    #[must_use]
    pub fn bounds(
        self,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        zone: Option<&Zone>,
    ) -> Vec<DateTime<Utc>> {
        let bound = |n: i32| match (self, zone) {
            (Self::Day, zone) => start_of_day(from, n, zone),
            (_, _) => from.checked_add_signed(self.span() * n),
        };
        let mut bounds = Vec::new();
        // Bounded: a caller asks for `days_max` at most.
        for bound in (0..).map_while(bound) {
            bounds.push(bound);
            if bound >= to {
                break;
            }
        }
        bounds
    }
}

/// The beginning of the day that is `n` days after the day of an instant.
fn start_of_day(at: DateTime<Utc>, n: i32, zone: Option<&Zone>) -> Option<DateTime<Utc>> {
    let local = zone.map_or(at.naive_utc(), |zone| zone.local(at).0);
    let date = local.date().checked_add_signed(TimeDelta::days(n.into()))?;
    WrittenDate::parse(&date.to_string()).ok()?.instant(zone).ok()
}

/// Adds the occurrences of a timetable to the counts of the steps between bounds, and answers how many
/// times it looked for one.
pub fn add_load(timetable: &Schedule, bounds: &[DateTime<Utc>], counts: &mut [u64]) -> u64 {
    let (Some(first), Some(last)) = (bounds.first(), bounds.last()) else {
        return 0;
    };
    let total = timetable.count_between(*first, *last);
    if total <= u64::try_from(counts.len()).unwrap_or(u64::MAX) {
        let occurrences =
            std::iter::successors(timetable.at_or_after(*first), |at| timetable.after(*at));
        for at in occurrences.take_while(|at| at < last) {
            let step = bounds.partition_point(|bound| *bound <= at).saturating_sub(1);
            if let Some(count) = counts.get_mut(step) {
                *count += 1;
            }
        }
        return total + 1;
    }
    let steps = bounds.iter().zip(bounds.iter().skip(1));
    for (count, (from, to)) in counts.iter_mut().zip(steps) {
        *count += timetable.count_between(*from, *to);
    }
    u64::try_from(counts.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use minutehand_recurrence::{Recurrence, Rule, Timetable};
    use serde_json::{Value, json};

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        WrittenDate::parse(text).unwrap().instant(None).unwrap()
    }

    fn timetable(rule: &Value) -> Schedule {
        let rule = Rule::canonical(&Recurrence::from_json(rule).unwrap()).unwrap();
        Timetable::new(&rule, Some(at("2027-01-01")), at("2027-01-01")).unwrap().into()
    }

    #[test]
    fn days_are_those_of_the_zone() {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        let bounds =
            LoadStep::Day.bounds(at("2027-03-27T12:00"), at("2027-03-29T00:00"), Some(&berlin));
        let expected =
            ["2027-03-26T23:00", "2027-03-27T23:00", "2027-03-28T22:00", "2027-03-29T22:00"];
        assert_eq!(bounds, expected.map(at));
        let hours = LoadStep::Hour.bounds(at("2027-03-28"), at("2027-03-28T02:30"), Some(&berlin));
        assert_eq!(hours.len(), 4);
    }

    #[test]
    fn occurrences_are_counted_in_their_steps_however_they_are_counted() {
        let bounds = LoadStep::Hour.bounds(at("2027-03-28"), at("2027-03-29"), None);
        for (rule, expected, looks) in [
            (json!({"frequency": "minute"}), vec![60; 24], 24),
            (json!({"frequency": "hour"}), vec![1; 24], 25),
            (
                json!({"frequency": "day", "timeZone": "Europe/Berlin",
                    "schedule": {"hours": [2], "minutes": [30]}}),
                // The clock skips 02:30, so it is 03:30, which is 01:30 in UTC.
                (0..24).map(|hour| u64::from(hour == 1)).collect(),
                2,
            ),
        ] {
            let mut counts = vec![0; bounds.len() - 1];
            assert_eq!(add_load(&timetable(&rule), &bounds, &mut counts), looks, "{rule}");
            assert_eq!(counts, expected, "{rule}");
        }
        assert_eq!(add_load(&timetable(&json!({"frequency": "day"})), &[], &mut []), 0);
    }
}
