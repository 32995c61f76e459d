//! Decides whether a rule fires at an instant, from the instant alone and without a search.
//!
//! It states in the simplest way what the engine must find. It shares no code with the engine; its
//! clock is jiff's.

use std::cell::Cell;

use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use minutehand_recurrence::ClockChange;

use crate::instants::whole_second;
use crate::rules::{Case, Frequency};

const DAY: i64 = 86_400;

/// The longest clock change: some zones have skipped a day, and some have repeated one.
const CLOCK_CHANGE_MAX: i64 = 25 * 3600;

/// The way in which a rule reads the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// The rule counts elapsed time.
    Elapsed,
    /// The rule fires whenever the clock shows a matching time.
    Each,
    /// The rule names hours: each civil time fires once, at the first of two, and later if skipped.
    Named,
}

/// A rule without its count and its end.
pub(crate) struct Predicate<'a> {
    case: &'a Case,
    reading: Reading,
    /// The start, or the anchor.
    start: Timestamp,
    /// The civil time of the start.
    started: DateTime,
    /// Earlier occurrences do not run.
    floor: Timestamp,
    /// The second of the minute, with its fraction, of every scheduled time.
    second: i8,
    fraction: i32,
    /// An offset, and the seconds from and until which it applies.
    offset: Cell<(i64, i64, Offset)>,
}

impl<'a> Predicate<'a> {
    pub(crate) fn new(case: &'a Case) -> Self {
        let scheduled = case.has_schedule();
        // Row 2: with a schedule the anchor is cut to whole seconds.
        let start = match case.start {
            Some(start) => start,
            None if scheduled => Timestamp::from_second(whole_second(case.now)).unwrap(),
            None => case.now,
        };
        // Row 3: earlier ones do not run.
        let floor = if case.start.is_some() { start.max(case.now) } else { start };
        let started = case.zone.to_datetime(start);
        // Row 6.
        let start_second = case.minutes.is_none() || case.frequency == Frequency::Minute;
        let second = if start_second { started.second() } else { 0 };
        let fraction = if start_second { started.subsec_nanosecond() } else { 0 };
        let offset = Cell::new((0, 0, Offset::UTC));
        Self { case, reading: reading(case), start, started, floor, second, fraction, offset }
    }

    /// Returns whether there is an occurrence at an instant.
    pub(crate) fn fires(&self, at: Timestamp) -> bool {
        if at < self.floor {
            return false;
        }
        // Rows 1 and 2: the start or the anchor itself is an occurrence.
        if at == self.start && (!self.case.has_schedule() || self.case.start.is_none()) {
            return true;
        }
        match self.reading {
            Reading::Elapsed => self.elapsed(at),
            Reading::Each => self.matches(self.clock(at)),
            Reading::Named => self.named(at),
        }
    }

    /// Returns the first instant that may be an occurrence.
    pub(crate) fn floor(&self) -> Timestamp {
        self.floor
    }

    /// Returns all occurrences from one instant (inclusive) to another (exclusive), minute by minute.
    ///
    /// Days that cannot match are skipped as a whole.
    pub(crate) fn scan(&self, from: Timestamp, to: Timestamp) -> Vec<Timestamp> {
        let mut found = Vec::new();
        let seconds = self.seconds_of_minutes(from, to);
        let mut day = i64::MIN;
        let mut minute = whole_second(from).div_euclid(60) * 60;
        while minute <= to.as_second() {
            if minute.div_euclid(DAY) != day {
                day = minute.div_euclid(DAY);
                if !self.may_fire_on(day) {
                    minute = (day + 1) * DAY;
                    continue;
                }
            }
            for second in &seconds {
                let at = Timestamp::new(minute + second, self.fraction).unwrap();
                if at >= from && at < to && self.fires(at) {
                    found.push(at);
                }
            }
            minute += 60;
        }
        if self.start >= from && self.start < to && self.fires(self.start) {
            found.push(self.start);
        }
        found.sort();
        found.dedup();
        found
    }

    /// Returns whether nothing ever matches (row 30); one cycle of the calendar is enough.
    pub(crate) fn never_fires(&self) -> bool {
        let case = self.case;
        if !case.has_schedule() {
            return false;
        }
        let period = |n: i64| self.number(self.started) + n * case.interval;
        match case.frequency {
            Frequency::Minute => !(0..1440).map(period).any(|number| {
                contains(case.hours.as_ref(), number.rem_euclid(1440) / 60)
                    && contains(case.minutes.as_ref(), number.rem_euclid(60))
            }),
            Frequency::Hour => !(0..24)
                .map(period)
                .any(|number| contains(case.hours.as_ref(), number.rem_euclid(24))),
            Frequency::Day | Frequency::Week | Frequency::Year => false,
            // The months of 400 years.
            Frequency::Month => !(0..4800).map(period).any(|number| {
                let year = i16::try_from(2000 + number.div_euclid(12).rem_euclid(400)).unwrap();
                let month = i8::try_from(number.rem_euclid(12) + 1).unwrap();
                let first = Date::new(year, month, 1).unwrap();
                (1..=first.days_in_month())
                    .any(|day| self.day_matches(Date::new(year, month, day).unwrap()))
            }),
        }
    }

    /// Row 1 for hours and minutes: whether a whole number of intervals has elapsed.
    fn elapsed(&self, at: Timestamp) -> bool {
        let unit = if self.case.frequency == Frequency::Hour { 3600 } else { 60 };
        let passed = at.as_nanosecond() - self.start.as_nanosecond();
        passed >= 0 && passed % (i128::from(self.case.interval * unit) * 1_000_000_000) == 0
    }

    /// Row 16 for named hours: whether a matching civil time fires at this instant.
    fn named(&self, at: Timestamp) -> bool {
        let shown = self.clock(at);
        if whole_second(at) - self.offset.get().0 > CLOCK_CHANGE_MAX {
            // Without a recent clock change, each civil time occurs once.
            return self.matches(shown);
        }
        let is_first = || self.shown_at(shown).first() == Some(&at);
        self.matches(shown) && is_first() || self.skipped(at).is_some()
    }

    /// Returns the instants at which the clock shows a civil time.
    ///
    /// It uses offsets only. jiff's own answer is wrong if the last recorded change of a zone differs
    /// from the rule for the time after it (Nuuk, October 2023).
    fn shown_at(&self, civil: DateTime) -> Vec<Timestamp> {
        let zone = &self.case.zone;
        let about = Offset::UTC.to_timestamp(civil).unwrap();
        let around = SignedDuration::from_secs(2 * CLOCK_CHANGE_MAX);
        let early = about - around;
        let late = about.checked_add(around).unwrap_or(Timestamp::MAX);
        let changes = zone.following(early).map(|change| change.timestamp());
        let mut instants: Vec<_> = std::iter::once(early)
            .chain(changes.take_while(|change| *change < late))
            .map(|from| zone.to_offset(from))
            .filter_map(|offset| offset.to_timestamp(civil).ok())
            .filter(|at| zone.to_datetime(*at) == civil)
            .collect();
        instants.sort();
        instants.dedup();
        instants
    }

    /// Returns a matching civil time that the clock skipped and that moves to this instant: the time
    /// that the clock would show without the change.
    fn skipped(&self, at: Timestamp) -> Option<DateTime> {
        let zone = &self.case.zone;
        let lately = at - SignedDuration::from_secs(CLOCK_CHANGE_MAX);
        let changes = zone
            .preceding(at + SignedDuration::from_nanos(1))
            .map(|change| change.timestamp())
            .take_while(|change| *change >= lately);
        let in_gap = |change: Timestamp| {
            let before = zone.to_offset(change - SignedDuration::from_nanos(1));
            let civil = before.to_datetime(at);
            (civil < zone.to_datetime(change)).then_some(civil)
        };
        changes.filter_map(in_gap).find(|civil| self.matches(*civil))
    }

    /// Returns how a clock change affected an occurrence; a skipped time that moves to a matching one
    /// counts as moved.
    pub(crate) fn clock_change(&self, at: Timestamp) -> Option<ClockChange> {
        if self.reading == Reading::Elapsed {
            return None;
        }
        let shown = self.clock(at);
        let (from, until, _) = self.offset.get();
        if (whole_second(at) - from).min(until - whole_second(at)) > CLOCK_CHANGE_MAX {
            return None;
        }
        match self.shown_at(shown).as_slice() {
            [first, _] if *first == at => Some(ClockChange::FirstOfTwo),
            [_, _] => Some(ClockChange::SecondOfTwo),
            _ if self.reading == Reading::Each => None,
            _ => self.skipped(at).map(|skipped| ClockChange::Moved {
                skipped: skipped.to_string().parse().unwrap(),
            }),
        }
    }

    /// Returns the civil time in the zone.
    fn clock(&self, at: Timestamp) -> DateTime {
        let (from, until, offset) = self.offset.get();
        if (from..until).contains(&whole_second(at)) {
            return offset.to_datetime(at);
        }
        let zone = &self.case.zone;
        let offset = zone.to_offset(at);
        let earlier = zone.preceding(at + SignedDuration::from_nanos(1)).next();
        let later = zone.following(at).next();
        let from = earlier.map_or(i64::MIN / 2, |change| change.timestamp().as_second());
        let until = later.map_or(i64::MAX / 2, |change| change.timestamp().as_second());
        self.offset.set((from, until, offset));
        offset.to_datetime(at)
    }

    /// Returns whether a civil time matches the rule.
    fn matches(&self, civil: DateTime) -> bool {
        civil.second() == self.second
            && civil.subsec_nanosecond() == self.fraction
            && self.time_matches(civil)
            && self.is_active(civil)
            && self.day_matches(civil.date())
    }

    /// Row 4: whether the period is active, counted from the period of the start.
    fn is_active(&self, civil: DateTime) -> bool {
        (self.number(civil) - self.number(self.started)).rem_euclid(self.case.interval) == 0
    }

    /// Returns the number of the period that contains a civil time.
    fn number(&self, civil: DateTime) -> i64 {
        let day = day_number(civil.date());
        match self.case.frequency {
            Frequency::Minute => {
                day * 1440 + i64::from(civil.hour()) * 60 + i64::from(civil.minute())
            }
            Frequency::Hour => day * 24 + i64::from(civil.hour()),
            Frequency::Day => day,
            Frequency::Week => (day - weekday(civil.date())).div_euclid(7),
            Frequency::Month => i64::from(civil.year()) * 12 + i64::from(civil.month()) - 1,
            Frequency::Year => i64::from(civil.year()),
        }
    }

    /// Rows 7, 9, 11 and 31.
    fn day_matches(&self, date: Date) -> bool {
        let case = self.case;
        let last = date.days_in_month();
        let is_start_day = || date.day() == self.started.day().min(last);
        let month_matches = || contains(case.months.as_ref(), date.month().into());
        match case.frequency {
            Frequency::Minute | Frequency::Hour | Frequency::Day => true,
            Frequency::Week => match &case.week_days {
                Some(days) => days.contains(&weekday(date)),
                None => weekday(date) == weekday(self.started.date()),
            },
            Frequency::Month if case.month_days.is_some() => {
                let from_start = i64::from(date.day());
                let from_end = from_start - i64::from(last) - 1;
                month_matches()
                    && (contains(case.month_days.as_ref(), from_start)
                        || contains(case.month_days.as_ref(), from_end))
            }
            Frequency::Month => match &case.monthly_occurrences {
                Some(occurrences) => {
                    let from_start = i64::from((date.day() - 1) / 7 + 1);
                    let from_end = -i64::from((last - date.day()) / 7 + 1);
                    let here = |(day, nth): &(i64, Option<i64>)| {
                        *day == weekday(date)
                            && nth.is_none_or(|nth| nth == from_start || nth == from_end)
                    };
                    month_matches() && occurrences.iter().any(here)
                }
                None => month_matches() && is_start_day(),
            },
            Frequency::Year => match case.months {
                Some(_) => month_matches() && is_start_day(),
                None => date.month() == self.started.month() && is_start_day(),
            },
        }
    }

    /// Rows 5 and 8: whether the hour and the minute match.
    fn time_matches(&self, civil: DateTime) -> bool {
        let hours = self.case.hours.as_ref();
        let minutes = self.case.minutes.as_ref();
        let hour_matches = contains(hours, civil.hour().into());
        let is_start_minute = civil.minute() == self.started.minute();
        let minute_matches = match minutes {
            Some(minutes) => minutes.contains(&civil.minute().into()),
            None => is_start_minute || self.case.frequency == Frequency::Minute,
        };
        let neither = hours.is_none() && minutes.is_none();
        if neither && self.case.frequency >= Frequency::Day {
            return civil.hour() == self.started.hour() && is_start_minute;
        }
        hour_matches && minute_matches
    }

    /// Returns whether a day of UTC may have an occurrence, judged by the civil days around it.
    fn may_fire_on(&self, day: i64) -> bool {
        if self.case.frequency < Frequency::Day {
            return true;
        }
        (day - 2..=day + 2).any(|day| {
            let date = Offset::UTC.to_datetime(Timestamp::from_second(day * DAY).unwrap()).date();
            self.is_active(date.to_datetime(self.started.time())) && self.day_matches(date)
        })
    }

    /// Returns the seconds of a minute of UTC at which occurrences are possible.
    ///
    /// There is more than one only if an offset is not a whole number of minutes.
    fn seconds_of_minutes(&self, from: Timestamp, to: Timestamp) -> Vec<i64> {
        if self.reading == Reading::Elapsed {
            return vec![whole_second(self.start).rem_euclid(60)];
        }
        let zone = &self.case.zone;
        let early = from - SignedDuration::from_secs(CLOCK_CHANGE_MAX);
        let changes = zone.following(early).map(|change| change.timestamp());
        let offsets = changes.take_while(|change| *change < to).map(|at| zone.to_offset(at));
        let mut seconds: Vec<i64> = std::iter::once(zone.to_offset(early))
            .chain(offsets)
            .map(|offset| i64::from(self.second) - i64::from(offset.seconds()))
            .map(|second| second.rem_euclid(60))
            .collect();
        seconds.sort_unstable();
        seconds.dedup();
        seconds
    }
}

/// Row 16: how a rule reads the clock.
fn reading(case: &Case) -> Reading {
    let all_hours = |hours: &Vec<i64>| (0..24).all(|hour| hours.contains(&hour));
    match (case.frequency, &case.hours) {
        (Frequency::Minute | Frequency::Hour, _) if !case.has_schedule() => Reading::Elapsed,
        (Frequency::Minute | Frequency::Hour, _) => Reading::Each,
        (_, Some(hours)) if all_hours(hours) => Reading::Each,
        // Without hours and minutes, the start supplies the time of day and so names an hour.
        (_, None) if case.minutes.is_some() => Reading::Each,
        _ => Reading::Named,
    }
}

/// Returns whether a list contains a value; a missing list contains every value.
fn contains(list: Option<&Vec<i64>>, value: i64) -> bool {
    list.is_none_or(|list| list.contains(&value))
}

/// Returns the weekday; Monday is 0.
fn weekday(date: Date) -> i64 {
    date.weekday().to_monday_zero_offset().into()
}

/// Returns the days since 1970-01-01.
fn day_number(date: Date) -> i64 {
    Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).unwrap().as_second().div_euclid(DAY)
}
