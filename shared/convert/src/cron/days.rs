//! The days of an expression: days of the month, days of the week, and how both combine.

use crate::cron::field::{EVENT_BRIDGE_WEEKDAYS, Field, MONTH_DAYS, Set, UNIX_WEEKDAYS, digits};
use crate::unsayable::{Unsayable, quoted};

/// The most weeks of a month that a weekday can be counted in.
const NTH_MAX: u32 = 5;

/// All seven days of a week.
const ALL_WEEKDAYS: u8 = 0x7f;

/// The days on which an expression matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Days {
    /// Every day.
    Every,
    /// Days of the month.
    Month(MonthDays),
    /// Days of the week.
    Week(WeekDays),
    /// Days that one of the two names, or both.
    Either(MonthDays, WeekDays),
}

/// Days of the month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct MonthDays {
    /// Numbers from 1 to 31.
    pub(crate) from_start: Set,
    /// Days before the last one: 0 is the last day.
    pub(crate) from_end: Set,
}

/// Days of the week; 0 is Sunday.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct WeekDays {
    /// Every such day, as bits.
    pub(crate) every: u8,
    /// Such days counted within the month; -1 is the last one.
    pub(crate) nth: Vec<(u32, i32)>,
}

impl Days {
    /// Combines both kinds of days as cron does. `stars` says which of the fields begin with `*`.
    pub(crate) fn unix(
        month: MonthDays,
        week: WeekDays,
        stars: [bool; 2],
    ) -> Result<Self, Unsayable> {
        let both_have_to_match = stars.contains(&true);
        Ok(match (month.is_full(), week.is_full(), both_have_to_match) {
            (true, true, _) | (true, false, false) | (false, true, false) => Self::Every,
            (true, false, true) => Self::Week(week),
            (false, true, true) => Self::Month(month),
            (false, false, false) => Self::Either(month, week),
            (false, false, true) => {
                return Err(Unsayable::new(
                    "because one of the fields for days begins with '*', cron wants both to match, \
                     and a recurrence cannot say that",
                    "name days of the month or days of the week, and let the target check the other",
                ));
            }
        })
    }

    /// Combines both kinds of days as `EventBridge` does, which allows one of them.
    pub(crate) fn event_bridge(month: MonthDays, week: WeekDays) -> Result<Self, Unsayable> {
        match (month.is_full(), week.is_full()) {
            (true, true) => Ok(Self::Every),
            (true, false) => Ok(Self::Week(week)),
            (false, true) => Ok(Self::Month(month)),
            (false, false) => Err(Unsayable::new(
                "the expression names days of the month and days of the week, and EventBridge \
                 allows one of them",
                "write '?' for the other",
            )),
        }
    }
}

impl MonthDays {
    /// Reads days of the month: numbers, `L` for the last day, and `L-3` for the third before it.
    pub(crate) fn read(text: &str) -> Result<Self, Unsayable> {
        let mut days = Self::default();
        if text == "?" {
            return Self::read("*");
        }
        for item in text.split(',') {
            if let Some(back) = from_end(item) {
                days.from_end.0 |= 1 << back;
            } else if is_nearest_weekday(item) {
                return Err(Unsayable::new(
                    format!(
                        "{} is the working day nearest to another day, and a recurrence cannot say that",
                        quoted(item)
                    ),
                    "name the day itself, or let the target shift it",
                ));
            } else {
                days.from_start.0 |= MONTH_DAYS.read(item)?.0;
            }
        }
        Ok(days)
    }

    fn is_full(self) -> bool {
        MONTH_DAYS.is_full(self.from_start)
    }
}

/// The distance from the last day of the month, for `L` and `L-3`.
fn from_end(item: &str) -> Option<u32> {
    let rest = item.strip_prefix(['L', 'l'])?;
    if rest.is_empty() {
        return Some(0);
    }
    digits(rest.strip_prefix('-')?).filter(|back| *back <= 30)
}

/// Whether an item is `15W` or `LW`.
fn is_nearest_weekday(item: &str) -> bool {
    item.len() > 1 && item.ends_with(['W', 'w'])
}

impl WeekDays {
    /// Reads days of the week; 0 and 7 are Sunday.
    pub(crate) fn unix(text: &str) -> Result<Self, Unsayable> {
        Self::read(text, &UNIX_WEEKDAYS, 0, false)
    }

    /// Reads days of the week; 1 is Sunday, and `L` alone is Saturday, the last day of the week.
    pub(crate) fn event_bridge(text: &str) -> Result<Self, Unsayable> {
        Self::read(text, &EVENT_BRIDGE_WEEKDAYS, 1, true)
    }

    fn read(
        text: &str,
        field: &Field,
        sunday: u32,
        is_l_saturday: bool,
    ) -> Result<Self, Unsayable> {
        let mut days = Self::default();
        let day = |n: u32| (n - sunday) % 7;
        if text == "?" {
            return Ok(Self { every: ALL_WEEKDAYS, nth: Vec::new() });
        }
        for item in text.split(',') {
            if let Some((of_week, nth)) = item.split_once('#') {
                let nth = digits(nth).filter(|nth| (1..=NTH_MAX).contains(nth));
                let nth = nth.and_then(|nth| i32::try_from(nth).ok()).ok_or_else(|| {
                    Unsayable::new(
                        format!("the number after '#' in {} is not from 1 to 5", quoted(item)),
                        "write the second Friday as 'fri#2', and the last one as 'friL'",
                    )
                })?;
                days.nth.push((day(field.number(item, of_week)?), nth));
            } else if item.eq_ignore_ascii_case("l") {
                if !is_l_saturday {
                    return Err(Unsayable::new(
                        "'L' alone is not a day of the week",
                        "write the last Friday of the month as 'friL', or Saturday as 'sat'",
                    ));
                }
                days.every |= 1 << 6;
            } else if let Some(of_week) = item.strip_suffix(['L', 'l']) {
                days.nth.push((day(field.number(item, of_week)?), -1));
            } else {
                for n in field.item(item)? {
                    days.every |= 1 << day(n);
                }
            }
        }
        Ok(days)
    }

    fn is_full(&self) -> bool {
        self.every == ALL_WEEKDAYS
    }
}
