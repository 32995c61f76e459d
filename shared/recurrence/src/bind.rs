//! Compiles a rule: its start supplies the parts that the rule leaves open.

use chrono::{DateTime, Utc};

use crate::civil::{DAY, Date, HOUR, MINUTE, Month, date_from_days, position, week_of, weekday};
use crate::days::Days;
use crate::error::Refused;
use crate::grid::Grid;
use crate::months::{DaysOfMonth, Months, WeekdaysOfMonth};
use crate::pattern::Pattern;
use crate::rule::{PartDays, Parts, Rule};
use crate::timeline::Reading;
use crate::times::{ALL_HOURS, Times};
use crate::words::Frequency;

/// All 12 months.
const ALL_MONTHS: u16 = 0x0fff;

/// How the seconds of the occurrences are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "stays `Copy`: boxing would allocate on every clone")]
pub(crate) enum Occurrences {
    /// The start is the only occurrence.
    Once,
    /// Elapsed time: an occurrence every `step` seconds from the start.
    Elapsed { step: i64 },
    /// Civil times: the clock of the zone shows one that the pattern contains.
    Civil { pattern: Pattern, reading: Reading },
}

/// A rule compiled with its start.
pub(crate) struct Bound {
    pub(crate) occurrences: Occurrences,
    /// The fraction of a second that all occurrences share.
    pub(crate) nanos: u32,
}

/// The civil time of the start: what the clock of the rule's zone shows.
struct CivilStart {
    second: i64,
    days: i64,
    date: Date,
}

impl CivilStart {
    fn new(rule: &Rule, start: DateTime<Utc>) -> Self {
        let instant = start.timestamp();
        let second = instant + rule.zone.map_or(0, |zone| zone.offset_at(instant));
        let days = second.div_euclid(DAY);
        Self { second, days, date: date_from_days(days) }
    }

    fn hour(&self) -> u32 {
        position(self.second.rem_euclid(DAY) / HOUR)
    }

    fn minute(&self) -> u32 {
        position(self.second.rem_euclid(HOUR) / MINUTE)
    }

    fn second_of_minute(&self) -> i64 {
        self.second.rem_euclid(MINUTE)
    }
}

/// Compiles a rule with its start.
pub(crate) fn bind(rule: &Rule, start: DateTime<Utc>) -> Result<Bound, Refused> {
    let start_nanos = start.timestamp_subsec_nanos();
    let interval = i64::from(rule.interval);
    let civil = CivilStart::new(rule, start);
    let (pattern, reading, nanos) = match (rule.frequency, &rule.schedule) {
        (Frequency::Minute, None) => return Ok(elapsed(interval * MINUTE, start_nanos)),
        (Frequency::Hour, None) => return Ok(elapsed(interval * HOUR, start_nanos)),
        (Frequency::Minute, Some(parts)) => {
            let minutes = minutely(interval, &civil, parts).ok_or_else(|| never(rule, start))?;
            let second = civil.second_of_minute();
            (Pattern::Minutely { minutes, second }, Reading::Every, start_nanos)
        }
        (Frequency::Hour, Some(parts)) => {
            let allowed = |hour| parts.hours.unwrap_or(ALL_HOURS) >> hour & 1 == 1;
            let hours = Grid::new(interval, civil.second.div_euclid(HOUR), 24, allowed)
                .ok_or_else(|| never(rule, start))?;
            let (minutes, second, nanos) = match parts.minutes {
                Some(minutes) => (minutes, 0, 0),
                None => (1 << civil.minute(), civil.second_of_minute(), start_nanos),
            };
            (Pattern::Hourly { hours, minutes, second }, Reading::Every, nanos)
        }
        (Frequency::Day | Frequency::Week | Frequency::Month | Frequency::Year, schedule) => {
            let parts = schedule.unwrap_or_default();
            let (times, nanos) = times(&civil, &parts, start_nanos);
            let named = parts.minutes.is_none() && parts.hours.is_none();
            let every = !named && times.hours == ALL_HOURS;
            let reading = if every { Reading::Every } else { Reading::Named };
            let days = days(rule.frequency, interval, &civil, &parts);
            (Pattern::Calendar { days, times }, reading, nanos)
        }
    };
    Ok(Bound { occurrences: Occurrences::Civil { pattern, reading }, nanos })
}

/// Explains why a rule never matches, and what to change.
pub(crate) fn never(rule: &Rule, start: DateTime<Utc>) -> Refused {
    let Date { year, month, day } = CivilStart::new(rule, start).date;
    let interval = rule.interval;
    let plural = if interval == 1 { "" } else { "s" };
    let why = match rule.frequency {
        Frequency::Minute => format!(
            "an interval of {interval} minute{plural} from the start never reaches the hours and minutes \
             of the schedule; start at one of them, or change the interval"
        ),
        Frequency::Hour => format!(
            "an interval of {interval} hour{plural} from the start never reaches the hours of the \
             schedule; start in one of them, or change the interval"
        ),
        Frequency::Month => format!(
            "an interval of {interval} month{plural} from {year:04}-{month:02} reaches no month up to \
             9999-12 with a day of the schedule; change the days, the months or the interval"
        ),
        Frequency::Day | Frequency::Week | Frequency::Year => format!(
            "no date matches from {year:04}-{month:02}-{day:02} to the end of the year 9999"
        ),
    };
    Refused::NeverOccurs { why }
}

fn elapsed(step: i64, nanos: u32) -> Bound {
    Bound { occurrences: Occurrences::Elapsed { step }, nanos }
}

fn minutely(interval: i64, civil: &CivilStart, parts: &Parts) -> Option<Grid> {
    let hours = parts.hours.unwrap_or(ALL_HOURS);
    let minutes = parts.minutes.unwrap_or(u64::MAX);
    let allowed =
        |minute: i64| hours >> (minute / 60) & 1 == 1 && minutes >> (minute % 60) & 1 == 1;
    Grid::new(interval, civil.second.div_euclid(MINUTE), 1_440, allowed)
}

/// Returns the times of day, and the fraction of a second that they share.
fn times(civil: &CivilStart, parts: &Parts, start_nanos: u32) -> (Times, u32) {
    let (hours, minutes) = parts.times_of_day(civil.hour(), civil.minute());
    if parts.minutes.is_some() {
        return (Times { hours, minutes, second: 0 }, 0);
    }
    (Times { hours, minutes, second: civil.second_of_minute() }, start_nanos)
}

fn days(frequency: Frequency, interval: i64, civil: &CivilStart, parts: &Parts) -> Days {
    let month = Month::containing(civil.date);
    let days_of_month = match parts.days {
        PartDays::MonthDays { from_start, from_end } => {
            let from_end = u64::from(from_end).reverse_bits();
            DaysOfMonth::Listed { from_start: from_start.into(), from_end }
        }
        PartDays::NthWeekdays(nth) => DaysOfMonth::Weekdays(WeekdaysOfMonth::new(nth)),
        PartDays::FromStart | PartDays::Weekdays(_) => DaysOfMonth::Clamped(civil.date.day),
    };
    match frequency {
        Frequency::Week => {
            let weekdays = match parts.days {
                PartDays::Weekdays(weekdays) => weekdays,
                _ => 1 << weekday(civil.days),
            };
            Days::Weekly { interval, first: week_of(civil.days), weekdays }
        }
        Frequency::Month => {
            let of_year = parts.months.unwrap_or(ALL_MONTHS);
            let months = Months::stepped(interval, month, of_year, &days_of_month);
            Days::Monthly { months, days: days_of_month }
        }
        Frequency::Year => {
            let of_year = parts.months.unwrap_or(1 << month.of_year());
            let months = Months::OfYears { interval, first: month.year(), of_year };
            Days::Monthly { months, days: days_of_month }
        }
        Frequency::Minute | Frequency::Hour | Frequency::Day => {
            Days::Daily { interval, first: civil.days }
        }
    }
}
