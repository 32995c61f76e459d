//! Recurrences by the clock of a zone, as the judge computes them: day by day.

use chrono::{DateTime, Datelike, Days, NaiveDate, Utc};
use serde_json::Value;

use crate::simulation::play::EUROPE;
use crate::simulation::time::{SECOND, instant, micros};

const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// A zone of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Zone {
    Fixed {
        hours_ahead: i64,
    },
    /// One hour more than this in summer.
    Europe {
        hours_ahead: i64,
    },
}

/// The days and times that a schedule names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ByClock {
    zone: Zone,
    hours: Vec<i64>,
    minutes: Vec<i64>,
    /// As in a document; none means each.
    week_days: Vec<String>,
    /// From the end of the month if they are negative; none means each.
    month_days: Vec<i64>,
}

impl Zone {
    pub(super) fn read(name: &str) -> Self {
        if let Some(behind) = name.strip_prefix("Etc/GMT") {
            return Self::Fixed { hours_ahead: -behind.parse::<i64>().unwrap() };
        }
        let (_, hours_ahead) = EUROPE.into_iter().find(|(zone, _)| *zone == name).unwrap();
        Self::Europe { hours_ahead }
    }

    /// When the clock shows a number of minutes after midnight: the first time if it shows them twice, and
    /// an hour later if it leaves them out.
    pub(super) fn shows(self, date: NaiveDate, minute: i64) -> i64 {
        let midnight = micros(date.and_time(chrono::NaiveTime::MIN).and_utc());
        let shown = midnight + minute * MINUTE;
        match self {
            Self::Fixed { hours_ahead } => shown - hours_ahead * HOUR,
            Self::Europe { hours_ahead } => {
                let winter = shown - hours_ahead * HOUR;
                if is_summer(winter - HOUR) { winter - HOUR } else { winter }
            }
        }
    }
}

/// Whether the clocks of Europe are an hour ahead: from the last Sunday of March until that of October.
fn is_summer(at: i64) -> bool {
    let changes = |month| {
        let last: NaiveDate = NaiveDate::from_ymd_opt(instant(at).year(), month, 31).unwrap();
        let sunday = last - Days::new(u64::from(last.weekday().num_days_from_sunday()));
        micros(DateTime::<Utc>::from_naive_utc_and_offset(
            sunday.and_hms_opt(1, 0, 0).unwrap(),
            Utc,
        ))
    };
    (changes(3)..changes(10)).contains(&at)
}

impl ByClock {
    /// The schedule of a recurrence, if it has one.
    pub(super) fn read(recurrence: &Value) -> Option<Self> {
        let schedule = recurrence["schedule"].as_object()?;
        let numbers = |name: &str| {
            let list = schedule.get(name).and_then(Value::as_array);
            list.into_iter().flatten().map(|it| it.as_i64().unwrap()).collect::<Vec<_>>()
        };
        let week_days = schedule.get("weekDays").and_then(Value::as_array);
        let week_days = week_days.into_iter().flatten().map(|it| it.as_str().unwrap());
        Some(Self {
            zone: recurrence["timeZone"].as_str().map(Zone::read)?,
            hours: numbers("hours"),
            minutes: numbers("minutes"),
            week_days: week_days.map(str::to_lowercase).collect(),
            month_days: numbers("monthDays"),
        })
    }

    fn is_on(&self, date: NaiveDate) -> bool {
        let week_day = date.format("%A").to_string().to_lowercase();
        let day = i64::from(date.day());
        let back = day - i64::from(date.num_days_in_month()) - 1;
        (self.week_days.is_empty() || self.week_days.contains(&week_day))
            && (self.month_days.is_empty()
                || self.month_days.contains(&day)
                || self.month_days.contains(&back))
    }

    /// The instants from one on.
    pub(super) fn since(&self, begins: i64) -> Box<dyn Iterator<Item = i64> + '_> {
        let first = instant(begins).date_naive() - Days::new(1);
        let days = first.iter_days().filter(|date| self.is_on(*date));
        let instants = days.flat_map(move |date| {
            let minutes = self
                .hours
                .iter()
                .flat_map(|hour| self.minutes.iter().map(move |minute| 60 * hour + minute));
            let mut of_day: Vec<_> = minutes.map(|minute| self.zone.shows(date, minute)).collect();
            of_day.sort_unstable();
            of_day.dedup();
            of_day
        });
        Box::new(instants.skip_while(move |at| *at < begins))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The instants of a day, as a clock in UTC shows them.
    fn shown(zone: &str, date: &str, hours: &[i64], minutes: &[i64]) -> Vec<String> {
        let schedule = json!({"hours": hours, "minutes": minutes});
        let recurrence = json!({"timeZone": zone, "schedule": schedule});
        let begins = micros(format!("{date}T00:00:00Z").parse().unwrap());
        let clock = ByClock::read(&recurrence).unwrap();
        let of_day = clock.since(begins).take(hours.len() * minutes.len());
        of_day.map(|at| instant(at).format("%H:%M").to_string()).collect()
    }

    #[test]
    fn a_time_that_is_left_out_comes_an_hour_later_and_one_that_comes_twice_comes_first() {
        let spring = shown("Europe/Berlin", "2027-03-28", &[2, 4], &[0, 30]);
        assert_eq!(spring, ["01:00", "01:30", "02:00", "02:30"]);
        let autumn = shown("Europe/Berlin", "2027-10-31", &[2, 4], &[0, 30]);
        assert_eq!(autumn, ["00:00", "00:30", "03:00", "03:30"]);
        assert_eq!(shown("Atlantic/Azores", "2027-03-28", &[0, 1], &[30]), ["01:30", "00:30"]);
        assert_eq!(shown("Etc/GMT+3", "2027-10-31", &[1], &[15]), ["04:15"]);
    }

    #[test]
    fn days_are_counted_from_both_ends_of_a_month() {
        let read = |schedule: Value| {
            ByClock::read(&json!({"timeZone": "Europe/London", "schedule": schedule})).unwrap()
        };
        let days = |of: &ByClock| -> Vec<u32> {
            let first = NaiveDate::from_ymd_opt(2027, 10, 1).unwrap();
            first.iter_days().take(31).filter(|it| of.is_on(*it)).map(|it| it.day()).collect()
        };
        assert_eq!(days(&read(json!({"monthDays": [15, -1]}))), [15, 31]);
        assert_eq!(days(&read(json!({"weekDays": ["Sunday"]}))), [3, 10, 17, 24, 31]);
    }
}
