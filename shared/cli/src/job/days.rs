//! The days of a schedule: `mon-fri`, `1,15,last`, `first-mon`.

use serde_json::{Map, Value, json};

use crate::failure::{Failure, Result};

const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/// The weekdays of a month by their numbers, in words.
pub(super) const ORDINALS: [(&str, &str, i32); 6] = [
    ("first", "1st", 1),
    ("second", "2nd", 2),
    ("third", "3rd", 3),
    ("fourth", "4th", 4),
    ("fifth", "5th", 5),
    ("last", "last", -1),
];
const FORMS: &str =
    "write days like mon-fri, or sat,sun, or 1,15,last of the month, or first-mon, or last-fri";

/// On which days a job fires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Days {
    Daily,
    /// Days of the week, 0 is Monday.
    Week(Vec<usize>),
    /// Days of the month, negative ones from its end.
    Month(Vec<i32>),
    /// Weekdays within the month: the weekday, and which of them.
    Nth(Vec<(usize, i32)>),
}

impl Days {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let lower = text.to_ascii_lowercase();
        let mut week = Vec::new();
        let mut month = Vec::new();
        let mut nth = Vec::new();
        for part in lower.split(',').map(str::trim) {
            if let Some(days) = weekdays(part) {
                week.extend(days);
            } else if let Some(days) = month_days(part) {
                month.extend(days);
            } else if let Some(day) = nth_weekday(part) {
                nth.push(day);
            } else {
                return Err(Failure::refused(format!("--on: '{part}' is not a day; {FORMS}")));
            }
        }
        match (week.is_empty(), month.is_empty(), nth.is_empty()) {
            (false, true, true) => Ok(Self::Week(sorted(week))),
            (true, false, true) => Ok(Self::Month(sorted(month))),
            (true, true, false) => Ok(Self::Nth(sorted(nth))),
            _ => Err(Failure::refused(format!(
                "--on {text}: days of the week and days of the month do not go together in one job; \
                 make a job for each"
            ))),
        }
    }

    /// The frequency, and the part of the schedule that names the days.
    pub(crate) fn schedule(&self, has_months: bool) -> (&'static str, Map<String, Value>) {
        let name = |day: &usize| WEEKDAYS.get(*day).copied().unwrap_or_default();
        let (unit, named): (_, Option<(&str, Value)>) = match self {
            // A rule by the day has no months: all days of a month are the same.
            Self::Daily if has_months => ("month", Some(("monthDays", (1..=31_i32).collect()))),
            Self::Daily => ("day", None),
            Self::Week(days) if has_months => {
                let days = days.iter().map(|day| json!({"day": name(day)}));
                ("month", Some(("monthlyOccurrences", days.collect())))
            }
            Self::Week(days) => ("week", Some(("weekDays", days.iter().map(name).collect()))),
            Self::Month(days) => ("month", Some(("monthDays", json!(days)))),
            Self::Nth(days) => {
                let days = days.iter();
                let days = days.map(|(day, nth)| json!({"day": name(day), "occurrence": nth}));
                ("month", Some(("monthlyOccurrences", days.collect())))
            }
        };
        (unit, named.map(|(name, value)| (name.to_owned(), value)).into_iter().collect())
    }
}

/// In order, each once.
pub(super) fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort_unstable();
    items.dedup();
    items
}

/// `mon`, `monday`, or a range of them, which may go over the end of the week.
fn weekdays(part: &str) -> Option<Vec<usize>> {
    match part {
        "weekdays" => return Some((0..5).collect()),
        "weekend" | "weekends" => return Some(vec![5, 6]),
        _ => {}
    }
    let Some((from, to)) = part.split_once('-') else {
        return Some(vec![weekday(part)?]);
    };
    let (from, to) = (weekday(from)?, weekday(to)?);
    let length = (to + 7 - from) % 7;
    Some((0..=length).map(|n| (from + n) % 7).collect())
}

fn weekday(name: &str) -> Option<usize> {
    let name = name.strip_suffix('s').filter(|name| name.ends_with("day")).unwrap_or(name);
    WEEKDAYS.iter().position(|day| name.len() >= 3 && day.starts_with(name))
}

/// `15`, `1-5`, `last`, `-2`.
fn month_days(part: &str) -> Option<Vec<i32>> {
    let day = |text: &str| text.parse::<i32>().ok().filter(|day| (1..=31).contains(&day.abs()));
    if part == "last" {
        return Some(vec![-1]);
    }
    if let Some(day) = day(part) {
        return Some(vec![day]);
    }
    let (from, to) = part.split_once('-')?;
    let (from, to) = (day(from)?, day(to)?);
    (from <= to).then(|| (from..=to).collect())
}

/// `first-mon`, `2nd-tue`, `last-friday`.
fn nth_weekday(part: &str) -> Option<(usize, i32)> {
    let (nth, day) = part.split_once(['-', ' '])?;
    let (_, _, nth) =
        ORDINALS.into_iter().find(|(word, short, _)| nth == *word || nth == *short)?;
    Some((weekday(day)?, nth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read() {
        for (text, days) in [
            ("mon-fri", Days::Week(vec![0, 1, 2, 3, 4])),
            ("weekdays", Days::Week(vec![0, 1, 2, 3, 4])),
            ("Sat-Mon", Days::Week(vec![0, 5, 6])),
            ("tues,thursdays, tue", Days::Week(vec![1, 3])),
            ("1,15,last", Days::Month(vec![-1, 1, 15])),
            ("1-3,-2", Days::Month(vec![-2, 1, 2, 3])),
            ("first-mon,last-fri", Days::Nth(vec![(0, 1), (4, -1)])),
            ("2nd tuesday", Days::Nth(vec![(1, 2)])),
        ] {
            assert_eq!(Days::parse(text).unwrap(), days, "{text}");
        }
    }

    #[test]
    fn what_is_no_day_is_refused() {
        for text in ["", "mo", "32", "0", "5-1", "sixth-mon", "mon,", "blursday", "mondayss"] {
            let failure = Days::parse(text).unwrap_err();
            assert!(failure.message.contains("is not a day"), "{text}: {failure}");
        }
        let failure = Days::parse("mon,15").unwrap_err();
        assert!(failure.message.contains("make a job for each"), "{failure}");
    }
}
