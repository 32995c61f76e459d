//! Describes a timetable in an English sentence.

use chrono::{DateTime, Datelike, NaiveDateTime, Timelike, Utc};

use crate::line::runs;
use crate::months::NthWeekdays;
use crate::rule::{PartDays, Parts, Rule};
use crate::times::ALL_HOURS;
use crate::timetable::Timetable;
use crate::words::{Frequency, Weekday};

/// A sentence lists at most this many times of day; more are written as minutes of hours.
const TIMES_LISTED_MAX: u32 = 6;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const ORDINALS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];

impl Timetable {
    /// Describes the rule in an English sentence.
    ///
    /// The sentence names what a schedule takes from the start, and the first occurrence of a rule
    /// without a `startTime`.
    ///
    /// ```
    /// use minutehand_recurrence::{Recurrence, Rule, Timetable};
    ///
    /// let json = serde_json::json!({
    ///     "frequency": "week", "interval": 2, "count": 10,
    ///     "schedule": {"weekDays": ["monday", "friday"], "hours": [5], "minutes": [15]},
    /// });
    /// let rule = Rule::canonical(&Recurrence::from_json(&json).unwrap()).unwrap();
    /// let timetable = Timetable::new(&rule, None, chrono::DateTime::UNIX_EPOCH).unwrap();
    /// assert_eq!(
    ///     timetable.sentence(),
    ///     "every 2 weeks on Monday and Friday at 05:15 UTC, 10 times; \
    ///      without a startTime, the first run is at 1970-01-01 00:00 UTC",
    /// );
    /// ```
    #[must_use]
    pub fn sentence(&self) -> String {
        let Some(rule) = &self.rule else {
            return format!("once at {} UTC", moment(self.start.at().naive_utc()));
        };
        let (start, _) = self.local(self.start.at());
        let every = match rule.interval {
            1 => format!("every {}", rule.frequency.name()),
            n => format!("every {n} {}s", rule.frequency.name()),
        };
        let parts = rule.schedule.unwrap_or_default();
        let days_and_times = match rule.frequency {
            Frequency::Minute | Frequency::Hour if rule.schedule.is_none() => String::new(),
            Frequency::Minute | Frequency::Hour => {
                hours_and_minutes(rule, &parts, start) + &zone(rule)
            }
            Frequency::Day => times(&parts, start) + &zone(rule),
            Frequency::Week => week_days(&parts, start) + &times(&parts, start) + &zone(rule),
            Frequency::Month => days_of_month(&parts, start) + &times(&parts, start) + &zone(rule),
            Frequency::Year => days_of_year(&parts, start) + &times(&parts, start) + &zone(rule),
        };
        let (taken, ending) = (taken_from_start(rule, start), ending(rule));
        let first = self.at_once().map(|first| moment(first.naive_utc()));
        let first = first.map(|at| format!("; without a startTime, the first run is at {at} UTC"));
        let first = first.unwrap_or_default();
        format!("{every}{days_and_times}{taken}{ending}{first}")
    }
}

/// Names what a schedule leaves open and takes from the start. Without a schedule, everything is
/// counted from the start.
fn taken_from_start(rule: &Rule, start: NaiveDateTime) -> String {
    let Some(parts) = rule.schedule else {
        return String::new();
    };
    let by_day = !matches!(rule.frequency, Frequency::Minute | Frequency::Hour);
    let day =
        (by_day && rule.frequency != Frequency::Day && matches!(parts.days, PartDays::FromStart))
            .then(|| "the day".to_owned());
    let time = (by_day && parts.hours.is_none() && parts.minutes.is_none())
        .then(|| "the time of day".to_owned());
    let is_minute =
        time.is_none() && rule.frequency != Frequency::Minute && parts.minutes.is_none();
    let minute = is_minute.then(|| format!("minute {}", start.minute()));
    let is_second = (is_minute || rule.frequency == Frequency::Minute) && start.second() != 0;
    let second = is_second.then(|| format!("second {}", start.second()));
    let taken: Vec<_> = [day, time, minute, second].into_iter().flatten().collect();
    let verb = match taken.len() {
        0 => return String::new(),
        1 => "is",
        _ => "are",
    };
    format!(" ({} {verb} taken from the start)", and(taken.into_iter()))
}

fn week_days(parts: &Parts, start: NaiveDateTime) -> String {
    let set = match parts.days {
        PartDays::Weekdays(set) => set,
        _ => 1 << start.weekday().num_days_from_monday(),
    };
    let days = Weekday::ALL.into_iter().filter(|day| set >> day.place() & 1 == 1);
    format!(" on {}", and(days.map(|day| day.title().to_owned())))
}

fn days_of_month(parts: &Parts, start: NaiveDateTime) -> String {
    let months =
        parts.months.map_or_else(String::new, |set| format!(", in {} only,", month_names(set)));
    let days = match parts.days {
        PartDays::FromStart | PartDays::Weekdays(_) => clamped_day(start.day()),
        PartDays::MonthDays { from_start, from_end } => month_days(from_start, from_end),
        PartDays::NthWeekdays(nth) => and(nth_weekdays(nth)),
    };
    format!("{months} on {days}")
}

fn clamped_day(day: u32) -> String {
    if day > 28 {
        format!("day {day} (the last day of shorter months)")
    } else {
        format!("day {day}")
    }
}

fn month_days(from_start: u32, from_end: u32) -> String {
    let from_start = u64::from(from_start) << 1;
    let days = (from_start != 0).then(|| {
        let plural = if from_start.is_power_of_two() { "" } else { "s" };
        format!("day{plural} {}", numbers(from_start))
    });
    let last = (0..31).rev().filter(|back| from_end >> back & 1 == 1).map(|back| match back {
        0 => "the last day".to_owned(),
        back => format!("the {} last day", ordinal(back + 1)),
    });
    and(days.into_iter().chain(last))
}

fn nth_weekdays(nth: NthWeekdays) -> impl Iterator<Item = String> {
    Weekday::ALL.into_iter().zip(nth.0).flat_map(|(day, set)| {
        let day = day.title();
        let every = set & 31 == 31;
        let from_start = ORDINALS.iter().enumerate().filter(move |(n, _)| set >> n & 1 == 1);
        let from_start = from_start.map(move |(_, ordinal)| format!("the {ordinal} {day}"));
        let from_end =
            (0..5).filter(move |n| set >> (n + 5) & 1 == 1).map(move |back| match back {
                0 => format!("the last {day}"),
                back => format!("the {} last {day}", ordinal(back + 1)),
            });
        let all = every.then(|| format!("every {day}"));
        all.into_iter().chain(from_start.chain(from_end).filter(move |_| !every))
    })
}

fn days_of_year(parts: &Parts, start: NaiveDateTime) -> String {
    match parts.months {
        Some(set) => format!(" on {} of {}", clamped_day(start.day()), month_names(set)),
        None if (start.month(), start.day()) == (2, 29) => {
            " on 29 February (28 February in common years)".to_owned()
        }
        None => format!(" on {} {}", start.day(), month_names(1 << start.month0())),
    }
}

fn month_names(set: u16) -> String {
    let names = MONTHS.iter().enumerate().filter(|(month, _)| set >> month & 1 == 1);
    and(names.map(|(_, name)| (*name).to_owned()))
}

/// Describes the times of day.
fn times(parts: &Parts, start: NaiveDateTime) -> String {
    let (hours, minutes) = parts.times_of_day(start.hour(), start.minute());
    let second = if parts.minutes.is_some() { 0 } else { start.second() };
    if hours.count_ones() * minutes.count_ones() > TIMES_LISTED_MAX {
        let hours =
            if hours == ALL_HOURS { "every hour".to_owned() } else { named("hour", hours.into()) };
        return format!(" at {} of {hours}{}", named("minute", minutes), at_second(second));
    }
    let hours = (0..24).filter(|hour| hours >> hour & 1 == 1);
    let times = hours.flat_map(|hour| {
        let minutes = (0..60).filter(move |minute| minutes >> minute & 1 == 1);
        minutes.map(move |minute| match second {
            0 => format!("{hour:02}:{minute:02}"),
            second => format!("{hour:02}:{minute:02}:{second:02}"),
        })
    });
    format!(" at {}", and(times))
}

/// Describes the schedule of a rule with frequency `hour` or `minute`.
fn hours_and_minutes(rule: &Rule, parts: &Parts, start: NaiveDateTime) -> String {
    let minutes = parts
        .minutes
        .or_else(|| (rule.frequency == Frequency::Hour).then_some(1 << start.minute()));
    let minutes = minutes.map_or_else(String::new, |set| format!(" at {}", named("minute", set)));
    let hours =
        parts.hours.map_or_else(String::new, |set| format!(" in {}", named("hour", set.into())));
    let from_start = rule.frequency == Frequency::Minute || parts.minutes.is_none();
    format!("{hours}{minutes}{}", at_second(if from_start { start.second() } else { 0 }))
}

fn at_second(second: u32) -> String {
    if second == 0 { String::new() } else { format!(" at second {second}") }
}

fn zone(rule: &Rule) -> String {
    rule.zone().map_or_else(|| " UTC".to_owned(), |zone| format!(" {} time", zone.name()))
}

fn ending(rule: &Rule) -> String {
    let times = |count: u32| {
        if count == 1 { "once".to_owned() } else { format!("{count} times") }
    };
    let until = |end: DateTime<Utc>| format!("until {} UTC", moment(end.naive_utc()));
    match (rule.count, rule.end) {
        (None, None) => String::new(),
        (Some(count), None) => format!(", {}", times(count)),
        (None, Some(end)) => format!(", {}", until(end)),
        (Some(count), Some(end)) => {
            format!(", {} or {}, whichever comes first", times(count), until(end))
        }
    }
}

/// Writes a date and a time of day, with seconds only if they are not zero.
fn moment(at: NaiveDateTime) -> String {
    let (date, hour, minute) = (at.date(), at.hour(), at.minute());
    match at.second() {
        0 => format!("{date} {hour:02}:{minute:02}"),
        second => format!("{date} {hour:02}:{minute:02}:{second:02}"),
    }
}

/// Writes a noun with the numbers of a set: "minute 15", "hours 9 to 16".
fn named(noun: &str, set: u64) -> String {
    let plural = if set.is_power_of_two() { "" } else { "s" };
    format!("{noun}{plural} {}", numbers(set))
}

/// Writes the numbers of a set; three or more consecutive numbers become a range.
fn numbers(set: u64) -> String {
    and(runs(set).flat_map(|(first, last)| {
        let range = (last > first + 1).then(|| format!("{first} to {last}"));
        let each = (first..=last).map(|n| n.to_string());
        let apart = range.is_none().then_some(each).into_iter().flatten();
        range.into_iter().chain(apart)
    }))
}

fn and(items: impl Iterator<Item = String>) -> String {
    let mut items: Vec<_> = items.collect();
    match items.pop() {
        None => String::new(),
        Some(last) if items.is_empty() => last,
        Some(last) => format!("{} and {last}", items.join(", ")),
    }
}

fn ordinal(n: u32) -> String {
    let suffix = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{suffix}")
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use crate::{Recurrence, Rule, Timetable, WrittenDate};

    fn rule(recurrence: &str) -> Rule {
        let json = serde_json::from_str(recurrence).unwrap();
        Rule::canonical(&Recurrence::from_json(&json).unwrap()).unwrap()
    }

    fn instant(text: &str) -> DateTime<Utc> {
        WrittenDate::parse(text).unwrap().instant(None).unwrap()
    }

    /// Checks the sentence of a rule that starts on Saturday 2026-01-31 at 12:25.
    #[track_caller]
    fn check(recurrence: &str, sentence: &str) {
        let start = instant("2026-01-31T12:25Z");
        let timetable = Timetable::new(&rule(recurrence), Some(start), start).unwrap();
        assert_eq!(timetable.sentence(), sentence, "{recurrence}");
    }

    #[test]
    fn every_kind_of_rule_has_a_sentence() {
        check(r#"{"frequency":"minute"}"#, "every minute");
        check(r#"{"frequency":"minute","interval":7,"count":1}"#, "every 7 minutes, once");
        check(
            r#"{"frequency":"minute","interval":7,"schedule":{"hours":[9,10,11,16],"minutes":[0,1,2,30]}}"#,
            "every 7 minutes in hours 9 to 11 and 16 at minutes 0 to 2 and 30 UTC",
        );
        check(
            r#"{"frequency":"hour","interval":6,"schedule":{"hours":[1,7,13,19]},"timeZone":"America/New_York"}"#,
            "every 6 hours in hours 1, 7, 13 and 19 at minute 25 America/New_York time (minute 25 is taken from the start)",
        );
        check(r#"{"frequency":"day"}"#, "every day at 12:25 UTC");
        check(
            r#"{"frequency":"day","schedule":{"hours":[8,17],"minutes":[0,30]}}"#,
            "every day at 08:00, 08:30, 17:00 and 17:30 UTC",
        );
        check(
            r#"{"frequency":"day","schedule":{"minutes":[0,15,30,45]}}"#,
            "every day at minutes 0, 15, 30 and 45 of every hour UTC",
        );
        check(
            r#"{"frequency":"week","schedule":{"weekDays":["friday","monday"],"hours":[9,10,11,12,13,14,15,16],"minutes":[5]}}"#,
            "every week on Monday and Friday at minute 5 of hours 9 to 16 UTC",
        );
        check(r#"{"frequency":"week","interval":3}"#, "every 3 weeks on Saturday at 12:25 UTC");
        check(
            r#"{"frequency":"month"}"#,
            "every month on day 31 (the last day of shorter months) at 12:25 UTC",
        );
        check(
            r#"{"frequency":"month","schedule":{"monthDays":[-1,15,1,-2],"months":[2,3]}}"#,
            "every month, in February and March only, on days 1 and 15, the 2nd last day and the last day at 12:25 UTC (the time of day is taken from the start)",
        );
        check(
            r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"friday","occurrence":-1},{"day":"monday"},{"day":"friday","occurrence":1}],"hours":[5]}}"#,
            "every month on every Monday, the first Friday and the last Friday at 05:25 UTC (minute 25 is taken from the start)",
        );
        check(r#"{"frequency":"year","interval":4}"#, "every 4 years on 31 January at 12:25 UTC");
        check(
            r#"{"frequency":"year","schedule":{"months":[2,6]}}"#,
            "every year on day 31 (the last day of shorter months) of February and June at 12:25 UTC (the day and the time of day are taken from the start)",
        );
    }

    /// Checks the sentence of a rule that is created on Saturday 2026-01-31 at 12:38:17.25.
    #[track_caller]
    fn check_without_start(recurrence: &str, sentence: &str) {
        let rule = rule(recurrence);
        let timetable = Timetable::new(&rule, None, instant("2026-01-31T12:38:17.25Z")).unwrap();
        assert_eq!(timetable.sentence(), sentence, "{recurrence}");
    }

    #[test]
    fn a_rule_without_a_start_says_when_it_fires_first_and_what_it_takes_from_there() {
        check_without_start(
            r#"{"frequency":"minute","interval":15}"#,
            "every 15 minutes; without a startTime, the first run is at 2026-01-31 12:38:17 UTC",
        );
        check_without_start(
            r#"{"frequency":"day","schedule":{"hours":[9]}}"#,
            "every day at 09:38:17 UTC (minute 38 and second 17 are taken from the start); without a startTime, the first run is at 2026-01-31 12:38:17 UTC",
        );
        check_without_start(
            r#"{"frequency":"week","schedule":{"hours":[9],"minutes":[0]},"count":3}"#,
            "every week on Saturday at 09:00 UTC (the day is taken from the start), 3 times; without a startTime, the first run is at 2026-01-31 12:38:17 UTC",
        );
        check_without_start(
            r#"{"frequency":"hour","schedule":{"hours":[9]},"endTime":"2026-01-31"}"#,
            "every hour in hour 9 at minute 38 at second 17 UTC (minute 38 and second 17 are taken from the start), until 2026-01-31 00:00 UTC",
        );
        check_without_start(
            r#"{"frequency":"minute","schedule":{"minutes":[0]}}"#,
            "every minute at minute 0 at second 17 UTC (second 17 is taken from the start); without a startTime, the first run is at 2026-01-31 12:38:17 UTC",
        );
    }

    #[test]
    fn a_rule_that_goes_on_later_does_not_speak_of_its_first_run() {
        let rule = rule(r#"{"frequency":"day","schedule":{"hours":[9],"minutes":[0]}}"#);
        let anchor = instant("2026-01-31T12:38:17.25Z");
        let start = crate::Start::Anchor(anchor);
        let paused = Timetable::resumed(&rule, start, instant("2026-02-03"), 1).unwrap();
        assert_eq!(paused.sentence(), "every day at 09:00 UTC");
        let line = Timetable::new(&rule, None, anchor).unwrap().to_string();
        let read: Timetable = line.parse().unwrap();
        assert_eq!(read.at_once(), Some(instant("2026-01-31T12:38:17Z")));
    }

    #[test]
    fn a_sentence_gives_the_end_in_utc() {
        check(
            r#"{"frequency":"day","endTime":"2026-12-31"}"#,
            "every day at 12:25 UTC, until 2026-12-31 00:00 UTC",
        );
        check(
            r#"{"frequency":"day","count":10,"endTime":"2026-12-31T00:00:01Z"}"#,
            "every day at 12:25 UTC, 10 times or until 2026-12-31 00:00:01 UTC, whichever comes first",
        );
    }
}
