//! A timetable as one short line, for storing it where a program needs the rule often.
//!
//! ```text
//! 1 every=2week minutes=15 hours=5 on=monday,friday start=2026-01-05T05:15:00Z since=1767589200
//! ```
//!
//! The first word is the version of the format. The other words have the form `name=value`, in a
//! fixed order. Sets are numbers and ranges (`0,9..16`); `since` and `last` are seconds since 1970.
//! `last` is the end of a count, so reading a line does not search for that end again.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};

use crate::civil::{CALENDAR_END, CALENDAR_START, first_from};
use crate::date::WrittenDate;
use crate::instant::format_instant;
use crate::months::NthWeekdays;
use crate::rule::{PartDays, Parts, Rule};
use crate::timetable::{Start, Timetable};
use crate::words::{Frequency, Weekday};
use crate::zone::Zone;

/// The version of the format that `Display` writes.
const VERSION: &str = "1";

/// The error of a line that is not a timetable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unreadable timetable at '{word}'")]
pub struct UnreadableTimetable {
    /// The first word that is not valid.
    pub word: String,
}

impl fmt::Display for Timetable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(VERSION)?;
        match &self.rule {
            None => f.write_str(" once")?,
            Some(rule) => write_rule(f, rule)?,
        }
        match self.start {
            Start::Given(at) => write!(f, " start={}", format_instant(at))?,
            Start::Anchor(at) => write!(f, " anchor={}", format_instant(at))?,
        }
        if self.rule.is_some() && self.since > CALENDAR_START {
            write!(f, " since={}", self.since)?;
        }
        if self.rule.is_some() && self.last < CALENDAR_END {
            write!(f, " last={}", self.last)?;
        }
        Ok(())
    }
}

fn write_rule(f: &mut fmt::Formatter<'_>, rule: &Rule) -> fmt::Result {
    write!(f, " every={}{}", rule.interval, rule.frequency.name())?;
    if let Some(parts) = &rule.schedule {
        if let Some(minutes) = parts.minutes {
            write!(f, " minutes={}", numbers(&[(minutes, 0)]))?;
        }
        if let Some(hours) = parts.hours {
            write!(f, " hours={}", numbers(&[(hours.into(), 0)]))?;
        }
        match parts.days {
            PartDays::FromStart => {}
            PartDays::Weekdays(set) => {
                let names = Weekday::ALL.into_iter().filter(|day| set >> day.place() & 1 == 1);
                write!(f, " on={}", join(names.map(|day| day.name().to_owned())))?;
            }
            PartDays::MonthDays { from_start, from_end } => {
                // Bit 0 of `from_end` is day -1. Reversed, the set ascends from day -32.
                let from_end = u64::from(from_end.reverse_bits());
                write!(f, " days={}", numbers(&[(from_end, -32), (from_start.into(), 1)]))?;
            }
            PartDays::NthWeekdays(nth) => write!(f, " nth={}", join(nth_words(nth)))?,
        }
        if let Some(months) = parts.months {
            write!(f, " months={}", numbers(&[(months.into(), 1)]))?;
        }
    }
    if let Some(count) = rule.count {
        write!(f, " count={count}")?;
    }
    if let Some(end) = rule.end {
        write!(f, " end={}", format_instant(end))?;
    }
    if let Some(zone) = rule.zone() {
        write!(f, " zone={}", zone.name())?;
    }
    Ok(())
}

fn nth_words(nth: NthWeekdays) -> impl Iterator<Item = String> {
    Weekday::ALL.into_iter().zip(nth.0).flat_map(|(day, set)| {
        let from_start = (0..5).filter(move |n| set >> n & 1 == 1).map(|n| n + 1);
        let from_end = (0..5).filter(move |n| set >> (n + 5) & 1 == 1).map(|n| -1 - n);
        from_start.chain(from_end).map(move |n: i32| format!("{}:{n}", day.name()))
    })
}

/// Returns the first and the last member of each run of a set.
pub(crate) fn runs(bits: u64) -> impl Iterator<Item = (u32, u32)> {
    let run = move |from| {
        let first = first_from(bits, from)?;
        let length = (bits >> first).trailing_ones();
        Some((first, first + length - 1))
    };
    std::iter::successors(run(0), move |(_, last)| run(last + 1))
}

/// Writes sets of bits as numbers and ranges; each set comes with the number of its bit 0.
fn numbers(sets: &[(u64, i64)]) -> String {
    join(sets.iter().flat_map(|(bits, zero)| {
        runs(*bits).map(move |(first, last)| {
            let (first, last) = (i64::from(first) + zero, i64::from(last) + zero);
            if first == last { first.to_string() } else { format!("{first}..{last}") }
        })
    }))
}

fn join(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(",")
}

impl FromStr for Timetable {
    type Err = UnreadableTimetable;

    fn from_str(line: &str) -> Result<Self, UnreadableTimetable> {
        let mut words = Words { rest: line };
        words.exactly(VERSION)?;
        if words.exactly("once").is_ok() {
            let start = words.value("start", date)?.ok_or_else(|| words.unreadable())?;
            words.end()?;
            return Ok(Self::once(Some(start), start));
        }
        let rule = read_rule(&mut words)?;
        let start = match words.value("start", date)? {
            Some(at) => Start::Given(at),
            None => match words.value("anchor", date)? {
                Some(at) => Start::Anchor(at),
                None => return Err(words.unreadable()),
            },
        };
        let mut timetable =
            Self::unending(&rule, start, start.at()).map_err(|_| words.unreadable())?;
        let second = |text: &str| text.parse().ok();
        timetable.since = words.value("since", second)?.unwrap_or(CALENDAR_START);
        timetable.last = words.value("last", second)?.unwrap_or(CALENDAR_END).min(CALENDAR_END);
        timetable.since = timetable.since.max(CALENDAR_START);
        words.end()?;
        Ok(timetable)
    }
}

fn read_rule(words: &mut Words<'_>) -> Result<Rule, UnreadableTimetable> {
    let Some((frequency, interval)) = words.value("every", every)? else {
        return Err(words.unreadable());
    };
    let days_at = words.clone();
    let minutes = words.value("minutes", |text| set(text, 0, 59))?;
    let hours = words.value("hours", |text| set(text, 0, 23))?;
    let weekdays = words.value("on", weekdays)?.map(PartDays::Weekdays);
    let month_days = words.value("days", month_days)?;
    let nth = words.value("nth", nth_weekdays)?.map(PartDays::NthWeekdays);
    let months = words.value("months", |text| set(text, 1, 12))?;
    let fits = match frequency {
        Frequency::Week => month_days.is_none() && nth.is_none() && months.is_none(),
        Frequency::Month => weekdays.is_none() && (month_days.is_none() || nth.is_none()),
        Frequency::Year => weekdays.is_none() && month_days.is_none() && nth.is_none(),
        Frequency::Minute | Frequency::Hour | Frequency::Day => {
            weekdays.is_none() && month_days.is_none() && nth.is_none() && months.is_none()
        }
    };
    if !fits {
        return Err(days_at.unreadable());
    }
    let parts = Parts {
        minutes,
        hours: hours.and_then(|bits| u32::try_from(bits).ok()),
        days: weekdays.or(month_days).or(nth).unwrap_or_default(),
        months: months.and_then(|bits| u16::try_from(bits).ok()),
    };
    let count = words.value("count", |text| text.parse().ok().filter(|count| *count > 0))?;
    let end = words.value("end", date)?;
    let zone = words.value("zone", Zone::named)?;
    let schedule = (parts != Parts::default()).then_some(parts.canonical());
    Ok(Rule { frequency, interval, schedule, count, end, zone })
}

/// The words of a line that are not read yet.
#[derive(Clone)]
struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    fn first(&self) -> &'a str {
        self.rest.split(' ').next().unwrap_or_default()
    }

    fn skip(&mut self) {
        self.rest = self.rest.split_once(' ').map_or("", |(_, rest)| rest);
    }

    fn exactly(&mut self, word: &str) -> Result<(), UnreadableTimetable> {
        if self.first() != word {
            return Err(self.unreadable());
        }
        self.skip();
        Ok(())
    }

    /// Reads the value of the next word if the word has this name.
    fn value<T>(
        &mut self,
        name: &str,
        read: impl Fn(&'a str) -> Option<T>,
    ) -> Result<Option<T>, UnreadableTimetable> {
        let Some((found, value)) = self.first().split_once('=') else {
            return Ok(None);
        };
        if found != name {
            return Ok(None);
        }
        let value = read(value).ok_or_else(|| self.unreadable())?;
        self.skip();
        Ok(Some(value))
    }

    fn end(&self) -> Result<(), UnreadableTimetable> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.unreadable()) }
    }

    fn unreadable(&self) -> UnreadableTimetable {
        UnreadableTimetable { word: self.first().to_owned() }
    }
}

fn date(text: &str) -> Option<DateTime<Utc>> {
    WrittenDate::parse(text).and_then(|date| date.instant(None)).ok()
}

fn every(text: &str) -> Option<(Frequency, u32)> {
    let (interval, frequency) = text.split_at_checked(text.find(|c: char| !c.is_ascii_digit())?)?;
    let frequency = Frequency::named(frequency)?;
    let interval = interval.parse().ok()?;
    (1..=frequency.interval_max()).contains(&interval).then_some((frequency, interval))
}

/// Reads a set of numbers from `min` to `max`; bit 0 is `min`.
fn set(text: &str, min: i64, max: i64) -> Option<u64> {
    let mut bits = 0_u64;
    for word in text.split(',') {
        let (first, last) = word.split_once("..").unwrap_or((word, word));
        let (first, last): (i64, i64) = (first.parse().ok()?, last.parse().ok()?);
        if first < min || last > max || first > last {
            return None;
        }
        let length = crate::civil::position(last - first + 1);
        bits |= (u64::MAX >> (u64::BITS - length)) << crate::civil::position(first - min);
    }
    Some(bits)
}

fn month_days(text: &str) -> Option<PartDays> {
    // Bit 0 is day -31, bit 31 is 0 (which is not a day), and bit 62 is day 31.
    let bits = set(text, -31, 31)?;
    let (below, at_zero, above) = (bits & 0x7fff_ffff, bits >> 31 & 1, bits >> 32);
    let from_end = u32::try_from(below).ok()?.reverse_bits() >> 1;
    let from_start = u32::try_from(above).ok()?;
    (at_zero == 0).then_some(PartDays::MonthDays { from_start, from_end })
}

fn weekdays(text: &str) -> Option<u8> {
    text.split(',').try_fold(0, |set, name| Some(set | 1 << Weekday::named(name)?.place()))
}

fn nth_weekdays(text: &str) -> Option<NthWeekdays> {
    let mut nth = NthWeekdays::default();
    for word in text.split(',') {
        let (day, number) = word.split_once(':')?;
        let bit = match number.parse::<i64>().ok()? {
            n @ 1..=5 => n - 1,
            n @ -5..=-1 => 4 - n,
            _ => return None,
        };
        nth.add(Weekday::named(day)?, 1 << bit);
    }
    Some(nth)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) {
        let timetable: Timetable = line.parse().unwrap();
        assert_eq!(timetable.to_string(), line);
    }

    #[test]
    fn a_line_of_every_kind_round_trips() {
        check("1 once start=2027-01-01T00:00:00.0000001Z");
        check("1 every=1minute start=2027-01-01T00:00:00Z");
        check(
            "1 every=2week minutes=15 hours=5 on=monday,friday count=10 start=2026-01-05T05:15:00Z since=1767589200 last=1772000100",
        );
        check("1 every=1day minutes=0,15..17,59 anchor=2026-01-05T05:15:00Z");
        check(
            "1 every=18month days=-31..-29,-1,1,30..31 months=1,11..12 zone=Pacific/Chatham start=2026-01-05T05:15:00Z last=1772000100",
        );
        check(
            "1 every=1month nth=monday:1,friday:5,friday:-1,friday:-5 end=2027-01-01T00:00:00Z start=2026-01-05T05:15:00Z",
        );
        check("1 every=100year months=2 start=2024-02-29T05:15:00Z");
        check("1 every=1000hour minutes=59 hours=0..22 start=2024-02-29T05:15:00Z");
    }

    #[test]
    fn an_invalid_line_names_its_first_invalid_word() {
        for (line, word) in [
            ("", ""),
            ("2 once", "2"),
            ("1 once", ""),
            ("1 once start=2027-01-01T00:00:00Z x", "x"),
            ("1 every=0day start=2027-01-01T00:00:00Z", "every=0day"),
            ("1 every=1day start=2027-02-30T00:00:00Z", "start=2027-02-30T00:00:00Z"),
            ("1 every=1day on=monday start=2027-01-01T00:00:00Z", "on=monday"),
            ("1 every=1month days=0 start=2027-01-01T00:00:00Z", "days=0"),
            ("1 every=1month days=32 start=2027-01-01T00:00:00Z", "days=32"),
            ("1 every=1day hours=9..8 start=2027-01-01T00:00:00Z", "hours=9..8"),
            ("1 every=1day hours= start=2027-01-01T00:00:00Z", "hours="),
            ("1 every=1day zone=Mars/Phobos start=2027-01-01T00:00:00Z", "zone=Mars/Phobos"),
            ("1 every=1day", ""),
            ("1 every=12month days=31 start=2027-02-01T00:00:00Z", ""),
        ] {
            let error = line.parse::<Timetable>().unwrap_err();
            assert_eq!(error.word, word, "{line}");
        }
    }
}
