//! One field of an expression: lists, ranges, steps and names, as a set of numbers.

use crate::unsayable::{Unsayable, quoted};

/// The names of months, in the order of their numbers from 1.
const MONTH_NAMES: &[&str] =
    &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The names of weekdays, Sunday first.
pub(crate) const WEEKDAY_NAMES: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// What a field may contain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    /// What a number of the field is, with its article.
    what: &'static str,
    low: u32,
    high: u32,
    /// The names of the numbers from `names_from` on.
    names: &'static [&'static str],
    names_from: u32,
}

const fn field(what: &'static str, low: u32, high: u32) -> Field {
    Field { what, low, high, names: &[], names_from: 0 }
}

pub(crate) const MINUTES: Field = field("a minute", 0, 59);
pub(crate) const HOURS: Field = field("an hour", 0, 23);
pub(crate) const MONTH_DAYS: Field = field("a day of the month", 1, 31);
pub(crate) const MONTHS: Field =
    Field { names: MONTH_NAMES, names_from: 1, ..field("a month", 1, 12) };
/// Sunday is 0 and 7.
pub(crate) const UNIX_WEEKDAYS: Field =
    Field { names: WEEKDAY_NAMES, ..field("a day of the week", 0, 7) };
/// Sunday is 1.
pub(crate) const EVENT_BRIDGE_WEEKDAYS: Field =
    Field { names: WEEKDAY_NAMES, names_from: 1, ..field("a day of the week", 1, 7) };
/// The years of `EventBridge`.
pub(crate) const YEARS: Field = field("a year", 1970, 2199);

/// A set of numbers below 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Set(pub(crate) u64);

impl Set {
    /// The numbers, in order.
    pub(crate) fn numbers(self) -> impl Iterator<Item = u32> {
        (0..u64::BITS).filter(move |n| self.0 >> n & 1 == 1)
    }
}

impl Field {
    /// Whether a set has every number of the field.
    pub(crate) fn is_full(&self, set: Set) -> bool {
        (self.low..=self.high).all(|n| set.0 >> n & 1 == 1)
    }

    /// Reads the field as a set.
    pub(crate) fn read(&self, text: &str) -> Result<Set, Unsayable> {
        let numbers = self.list(text)?;
        Ok(Set(numbers.into_iter().fold(0, |set, n| set | 1 << n)))
    }

    /// Reads the field as a list of its numbers.
    pub(crate) fn list(&self, text: &str) -> Result<Vec<u32>, Unsayable> {
        let mut numbers = Vec::new();
        for item in text.split(',') {
            numbers.extend(self.item(item)?);
        }
        Ok(numbers)
    }

    /// Reads one item of the list: `*`, a number, a name or a range, with or without a step.
    pub(crate) fn item(&self, item: &str) -> Result<impl Iterator<Item = u32> + use<>, Unsayable> {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(self.step(item, step)?)),
            None => (item, None),
        };
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (self.number(item, first)?, self.number(item, last)?),
            None if range == "*" => (self.low, self.high),
            None => {
                let first = self.number(item, range)?;
                // A step after a single number runs to the end of the field.
                (first, if step.is_some() { self.high } else { first })
            }
        };
        if first > last {
            return Err(Unsayable::new(
                format!("the range {} runs backwards", quoted(item)),
                "write it as two ranges, or as a list",
            ));
        }
        Ok((first..=last).step_by(step.unwrap_or(1)))
    }

    /// Reads a number or a name; messages quote the item that contains it.
    pub(crate) fn number(&self, item: &str, text: &str) -> Result<u32, Unsayable> {
        let name = self.names.iter().zip(self.names_from..);
        if let Some((_, n)) = name.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
            return Ok(n);
        }
        let number = digits(text).filter(|n| (self.low..=self.high).contains(n));
        number.ok_or_else(|| self.wrong(item, text))
    }

    fn step(&self, item: &str, text: &str) -> Result<usize, Unsayable> {
        let step = digits(text).filter(|n| *n > 0).and_then(|n| usize::try_from(n).ok());
        step.ok_or_else(|| {
            Unsayable::new(
                format!("the step of {} is not a whole number above 0", quoted(item)),
                format!("write a step such as '{}/5'", if self.low == 0 { "*" } else { "1" }),
            )
        })
    }

    fn wrong(&self, item: &str, text: &str) -> Unsayable {
        let shown = quoted(item);
        if item.contains('~') {
            return Unsayable::new(
                format!("{shown} is chosen at random by cron"),
                "choose a number yourself",
            );
        }
        if text.eq_ignore_ascii_case("h") || item.starts_with("H(") {
            return Unsayable::new(
                format!("{shown} is chosen by Jenkins from the name of its job"),
                "choose a number yourself",
            );
        }
        if item == "?" {
            return Unsayable::new(
                format!("{shown} is for days only"),
                format!("use '*' for every value of {}", self.what),
            );
        }
        let names = match (self.names, self.names.last()) {
            ([first, ..], Some(last)) => format!(", or a name from '{first}' to '{last}'"),
            _ => String::new(),
        };
        let quotes = if text == item { shown } else { format!("{} in {shown}", quoted(text)) };
        Unsayable::new(
            format!("{quotes} is not {}", self.what),
            format!("use a number from {} to {}{names}", self.low, self.high),
        )
    }
}

/// Reads a number of at most four digits, without a sign.
pub(crate) fn digits(text: &str) -> Option<u32> {
    let is_number = (1..=4).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}
