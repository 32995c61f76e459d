//! The second form of a rule: canonical.
//!
//! Lists are sets, defaults are filled in, and the parts fit together. The parts that come from the
//! start are still open.

use chrono::{DateTime, Utc};

use crate::civil::position;
use crate::error::Refused;
use crate::instant::format_instant;
use crate::months::NthWeekdays;
use crate::recurrence::{MonthlyOccurrence, Recurrence, Schedule};
use crate::times::ALL_HOURS;
use crate::words::{Frequency, Weekday};
use crate::zone::Zone;

/// A recurrence in canonical form: recurrences with the same meaning have equal rules.
///
/// ```
/// use minutehand_recurrence::{Recurrence, Rule};
///
/// let rule = |json| Rule::canonical(&Recurrence::from_json(&json).unwrap()).unwrap();
/// let daily = rule(serde_json::json!({"frequency": "Daily", "schedule": {"hours": [17, 8]}}));
/// let same = rule(serde_json::json!({"frequency": "day", "interval": 1, "schedule": {"hours": [8, 17, 8]}}));
/// assert_eq!(daily, same);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub(crate) frequency: Frequency,
    pub(crate) interval: u32,
    /// `None` if the recurrence has no schedule or an empty one.
    pub(crate) schedule: Option<Parts>,
    pub(crate) count: Option<u32>,
    pub(crate) end: Option<DateTime<Utc>>,
    /// `None` means UTC.
    pub(crate) zone: Option<Zone>,
}

/// The parts of a schedule as sets of bits; `None` means that the part is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Parts {
    /// Bits 0 to 59.
    pub(crate) minutes: Option<u64>,
    /// Bits 0 to 23.
    pub(crate) hours: Option<u32>,
    pub(crate) days: PartDays,
    /// Bit 0 is January.
    pub(crate) months: Option<u16>,
}

/// The days of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum PartDays {
    /// The day of the start.
    #[default]
    FromStart,
    /// Days of the week; bit 0 is Monday.
    Weekdays(u8),
    /// Days counted from the start of the month (bit 0 is the first day) and from its end (bit 0 is
    /// the last day).
    MonthDays { from_start: u32, from_end: u32 },
    /// Weekdays counted within the month, such as the last Friday.
    NthWeekdays(NthWeekdays),
}

impl Rule {
    /// Brings a recurrence into canonical form.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the parts of the recurrence do not fit together.
    pub fn canonical(recurrence: &Recurrence) -> Result<Self, Refused> {
        let schedule = recurrence.schedule.as_ref().filter(|schedule| !schedule.is_empty());
        let schedule =
            schedule.map(|schedule| parts(recurrence.frequency, schedule)).transpose()?;
        Ok(Self {
            frequency: recurrence.frequency,
            interval: recurrence.interval,
            schedule,
            count: recurrence.count,
            end: recurrence.end_time,
            zone: recurrence.zone().copied().filter(|zone| !zone.is_utc()),
        })
    }

    /// Checks the end of the rule against the start of its job.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the rule ends before the start.
    pub fn check_start(&self, start_time: Option<DateTime<Utc>>) -> Result<(), Refused> {
        match (self.end, start_time) {
            (Some(end), Some(start)) if end < start => Err(Refused::not_allowed(
                "recurrence.endTime",
                format_instant(end),
                format!("use an instant that is not before 'startTime', {}", format_instant(start)),
            )),
            _ => Ok(()),
        }
    }

    /// Returns the end of the rule, if it has one.
    #[must_use]
    pub const fn end(&self) -> Option<DateTime<Utc>> {
        self.end
    }

    /// Returns the time zone of the rule; `None` means UTC.
    #[must_use]
    pub fn zone(&self) -> Option<&Zone> {
        self.zone.as_ref()
    }
}

impl Parts {
    /// Returns the hours and minutes of a day; a missing part comes from the start.
    pub(crate) fn times_of_day(&self, start_hour: u32, start_minute: u32) -> (u32, u64) {
        let hours = match (self.hours, self.minutes) {
            (Some(hours), _) => hours,
            (None, Some(_)) => ALL_HOURS,
            (None, None) => 1 << start_hour,
        };
        (hours, self.minutes.unwrap_or(1 << start_minute))
    }

    /// Removes redundancy: `minutes` with all 24 hours means the same as `minutes` alone.
    pub(crate) fn canonical(self) -> Self {
        let redundant = self.minutes.is_some() && self.hours == Some(ALL_HOURS);
        Self { hours: self.hours.filter(|_| !redundant), ..self }
    }
}

fn parts(frequency: Frequency, schedule: &Schedule) -> Result<Parts, Refused> {
    let wrong_unit = |property: &str, what, allowed| Refused::WrongUnit {
        field: format!("recurrence.schedule.{property}"),
        what,
        unit: frequency.title(),
        allowed,
    };
    let monthly = frequency == Frequency::Month;
    if schedule.week_days.is_some() && frequency != Frequency::Week {
        return Err(wrong_unit("weekDays", "week days", "'week'"));
    }
    if schedule.month_days.is_some() && !monthly {
        return Err(wrong_unit("monthDays", "days of month", "'month'"));
    }
    if schedule.monthly_occurrences.is_some() && !monthly {
        return Err(wrong_unit("monthlyOccurrences", "days of month", "'month'"));
    }
    if schedule.months.is_some() && !monthly && frequency != Frequency::Year {
        return Err(wrong_unit("months", "months", "'month' or 'year'"));
    }
    let days = match (&schedule.week_days, &schedule.month_days, &schedule.monthly_occurrences) {
        (_, Some(_), Some(_)) => return Err(Refused::DaysAndOccurrences),
        (Some(days), None, None) => {
            PartDays::Weekdays(days.iter().fold(0, |set, day| set | 1 << day.place()))
        }
        (_, Some(days), None) => month_days(days),
        (_, None, Some(occurrences)) => nth_weekdays(occurrences),
        (None, None, None) => PartDays::FromStart,
    };
    let bits = |list: &Vec<i64>| list.iter().fold(0_u64, |set, n| set | 1 << position(*n));
    let months = |list: &Vec<i64>| list.iter().fold(0, |set, n| set | 1 << position(n - 1));
    let parts = Parts {
        minutes: schedule.minutes.as_ref().map(bits),
        hours: schedule.hours.as_ref().map(|hours| low_bits(bits(hours))),
        days,
        months: schedule.months.as_ref().map(months),
    };
    Ok(parts.canonical())
}

#[expect(clippy::cast_possible_truncation, reason = "hours are below 24")]
const fn low_bits(bits: u64) -> u32 {
    bits as u32
}

fn month_days(days: &[i64]) -> PartDays {
    let (mut from_start, mut from_end) = (0, 0);
    for day in days {
        if *day > 0 {
            from_start |= 1 << position(day - 1);
        } else {
            from_end |= 1 << position(-day - 1);
        }
    }
    PartDays::MonthDays { from_start, from_end }
}

fn nth_weekdays(occurrences: &[MonthlyOccurrence]) -> PartDays {
    let mut nth = NthWeekdays::default();
    for occurrence in occurrences {
        let set = match occurrence.occurrence {
            None => 0b1_1111,
            Some(n) if n > 0 => 1 << position(n - 1),
            Some(n) => 1 << position(4 - n),
        };
        nth.add(occurrence.day, set);
    }
    PartDays::NthWeekdays(nth)
}

impl NthWeekdays {
    pub(crate) fn add(&mut self, day: Weekday, set: u16) {
        for (known, weekday) in self.0.iter_mut().zip(Weekday::ALL) {
            if weekday == day {
                *known |= set;
            }
        }
    }
}
