//! The third form of a rule: compiled with its start.

use chrono::{DateTime, Datelike, NaiveDateTime, NaiveTime, TimeDelta, Timelike, Utc};

use crate::bind::{Bound, Occurrences, bind};
use crate::civil::{CALENDAR_END, CALENDAR_START, DAY, position};
use crate::error::Refused;
use crate::instant::{whole_seconds, whole_ticks};
use crate::rule::Rule;
use crate::timeline::{ClockChange, Timeline};
use crate::zone::Zone;

/// The start of a rule.
///
/// It supplies the phase of the interval, and the parts of the date and the time of day that the
/// schedule leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The `startTime` of the job.
    Given(DateTime<Utc>),
    /// The anchor of a job without a `startTime`; it is an occurrence itself.
    Anchor(DateTime<Utc>),
}

/// The occurrences of a job, in order: a rule with its start, its count and its end applied.
///
/// A timetable is `Copy` and needs neither a clock nor a cache. [`Display`](std::fmt::Display)
/// writes it as one short line, and [`FromStr`](std::str::FromStr) reads that line back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timetable {
    pub(crate) start: Start,
    /// `None` if the job runs once.
    pub(crate) rule: Option<Rule>,
    /// How the seconds of the occurrences are found.
    occurrences: Occurrences,
    /// The fraction of a second that all occurrences share; every other field is whole seconds.
    nanos: u32,
    /// The second of the start, if the start is an occurrence even when the rule does not match it.
    first: Option<i64>,
    /// The rule yields no occurrence before this second.
    floor: i64,
    /// Earlier occurrences do not run and are not counted.
    pub(crate) since: i64,
    /// The last second that may fire: the end of the rule, of its count or of the calendar.
    pub(crate) last: i64,
}

impl Timetable {
    /// Compiles a rule for a job that is created, or whose timing changes, at `now`.
    ///
    /// A start in the past only fixes the phase: occurrences before `now` do not run and are not
    /// counted.
    ///
    /// # Errors
    ///
    /// [`Refused::NeverOccurs`] if the rule matches no instant, even without its end and its count.
    ///
    /// ```
    /// use minutehand_recurrence::{Recurrence, Rule, Timetable, WrittenDate, format_instant};
    ///
    /// let json = serde_json::json!({"frequency": "month", "schedule": {"monthDays": [31, -1]}});
    /// let rule = Rule::canonical(&Recurrence::from_json(&json).unwrap()).unwrap();
    /// let at = |text| WrittenDate::parse(text).unwrap().instant(None).unwrap();
    ///
    /// let start = at("1976-03-01T09:00:00Z");
    /// let timetable = Timetable::new(&rule, Some(start), at("2027-02-01T00:00:00Z")).unwrap();
    /// let next: Vec<_> = timetable.iter().take(2).map(format_instant).collect();
    /// assert_eq!(next, ["2027-02-28T09:00:00Z", "2027-03-31T09:00:00Z"]);
    /// ```
    pub fn new(
        rule: &Rule,
        start_time: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Result<Self, Refused> {
        let start = start_time.map_or(Start::Anchor(now), Start::Given);
        Self::resumed(rule, start, now, 0)
    }

    /// Compiles a rule from `since` on, after `used` occurrences of its count.
    ///
    /// # Errors
    ///
    /// [`Refused::NeverOccurs`] if the rule matches no instant, even without its end and its count.
    pub fn resumed(
        rule: &Rule,
        start: Start,
        since: DateTime<Utc>,
        used: u32,
    ) -> Result<Self, Refused> {
        let mut timetable = Self::unending(rule, start, since)?.ending(rule.end);
        if let Some(count) = rule.count {
            let left = i64::from(count.saturating_sub(used));
            timetable.last = timetable.last.min(timetable.nth_second(left));
        }
        Ok(timetable)
    }

    /// Builds the timetable of a job without a recurrence: it runs at its start, or at `now` if the
    /// start has passed.
    #[must_use]
    pub fn once(start_time: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Self {
        let at = whole_ticks(start_time.map_or(now, |start| start.max(now)));
        let second = at.timestamp();
        Self {
            start: Start::Given(at),
            rule: None,
            occurrences: Occurrences::Once,
            nanos: at.timestamp_subsec_nanos(),
            first: Some(second),
            floor: second,
            since: CALENDAR_START,
            last: second.min(CALENDAR_END),
        }
    }

    /// Compiles a rule without its end and its count: it runs until the end of the calendar.
    pub(crate) fn unending(
        rule: &Rule,
        start: Start,
        since: DateTime<Utc>,
    ) -> Result<Self, Refused> {
        let (start, since) = match start {
            Start::Given(at) => (Start::Given(whole_ticks(at)), since),
            Start::Anchor(at) => {
                let cut = if rule.schedule.is_some() { whole_seconds(at) } else { whole_ticks(at) };
                (Start::Anchor(cut), if since == at { cut } else { since })
            }
        };
        let since = whole_ticks(since);
        let at = start.at();
        let Bound { occurrences, nanos } = bind(rule, at)?;
        let fires = rule.schedule.is_none() || matches!(start, Start::Anchor(_));
        let mut timetable = Self {
            start,
            rule: Some(*rule),
            occurrences,
            nanos,
            first: fires.then_some(at.timestamp()),
            floor: CALENDAR_START,
            since: CALENDAR_START,
            last: CALENDAR_END,
        };
        timetable.floor = timetable.second_from(at).max(CALENDAR_START);
        timetable.since = timetable.second_from(since).max(CALENDAR_START);
        if timetable.pattern_from(timetable.floor).is_none_or(|second| second > CALENDAR_END) {
            return Err(crate::bind::never(rule, at));
        }
        Ok(timetable)
    }

    /// Returns the same timetable without the occurrences after an instant.
    pub(crate) fn ending(mut self, end: Option<DateTime<Utc>>) -> Self {
        if let Some(end) = end {
            self.last = self.last.min(self.second_up_to(end));
        }
        self
    }

    /// Returns the same timetable without any occurrence.
    pub(crate) const fn never(self) -> Self {
        Self { last: CALENDAR_START - 1, ..self }
    }

    /// Returns the first occurrence at or after an instant, or `None` if there is none.
    ///
    /// The answer is always exact. A rule that never matches is refused, and the calendar repeats,
    /// so every search ends.
    #[must_use]
    pub fn at_or_after(&self, instant: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.search(instant, instant.timestamp_subsec_nanos() > self.nanos)
    }

    /// Returns the first occurrence after an instant, or `None` if there is none.
    #[must_use]
    pub fn after(&self, instant: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.search(instant, instant.timestamp_subsec_nanos() >= self.nanos)
    }

    /// Iterates over all occurrences in order.
    pub fn iter(&self) -> impl Iterator<Item = DateTime<Utc>> + use<> {
        let timetable = *self;
        let next = move |second: &i64| timetable.next_second(second + 1);
        std::iter::successors(self.next_second(self.since), next)
            .map_while(move |second| timetable.instant(second))
    }

    /// Returns the start from which the rule counts.
    #[must_use]
    pub const fn start(&self) -> Start {
        self.start
    }

    /// Returns whether the job runs once: it has no recurrence.
    #[must_use]
    pub const fn runs_once(&self) -> bool {
        self.rule.is_none()
    }

    /// Returns the first occurrence of a rule without a `startTime`: its anchor, whatever the rule
    /// matches.
    ///
    /// `None` if the rule has a `startTime`, or if the occurrences from `since` on are later ones.
    #[must_use]
    pub fn at_once(&self) -> Option<DateTime<Utc>> {
        match (self.start, self.rule) {
            (Start::Anchor(anchor), Some(_)) => self.iter().next().filter(|first| *first == anchor),
            (Start::Anchor(_) | Start::Given(_), _) => None,
        }
    }

    /// Counts the occurrences from one instant (inclusive) to another (exclusive).
    ///
    /// Minutes, hours, days and weeks are counted by arithmetic. Months are counted one by one, for
    /// one cycle of the calendar at most. In a zone, the cost grows with the number of clock changes.
    #[must_use]
    pub fn count_between(&self, from: DateTime<Utc>, to: DateTime<Utc>) -> u64 {
        let (from, to) = (self.second_from(from), self.second_from(to));
        let count = self.count(from.max(self.since), to.min(self.last.saturating_add(1)));
        u64::try_from(count).unwrap_or(0)
    }

    /// Returns the smallest distance between two occurrences by the calendar, or `None` if the job
    /// runs once.
    ///
    /// A month counts as 28 days and a year as 365, as in a quota. Clock changes, the end, the count
    /// and the first execution of a rule without a start are ignored.
    #[must_use]
    pub fn smallest_gap(&self) -> Option<TimeDelta> {
        let seconds = match &self.occurrences {
            Occurrences::Once => return None,
            Occurrences::Elapsed { step } => *step,
            Occurrences::Civil { pattern, .. } => pattern.smallest_gap(),
        };
        Some(TimeDelta::seconds(seconds))
    }

    /// Returns the time zone of the rule; `None` means UTC.
    #[must_use]
    pub fn zone(&self) -> Option<&Zone> {
        self.rule.as_ref().and_then(Rule::zone)
    }

    /// Returns the civil time of an instant in the rule's zone, and its offset from UTC.
    #[must_use]
    pub fn local(&self, instant: DateTime<Utc>) -> (NaiveDateTime, TimeDelta) {
        let utc = (instant.naive_utc(), TimeDelta::zero());
        self.zone().map_or(utc, |zone| zone.local(instant))
    }

    /// Returns how a clock change affected an occurrence, or `None` if it did not.
    #[must_use]
    pub fn clock_change(&self, occurrence: DateTime<Utc>) -> Option<ClockChange> {
        let Occurrences::Civil { pattern, reading } = &self.occurrences else {
            return None;
        };
        let timeline = Timeline { zone: self.zone()?, pattern, reading: *reading };
        timeline.clock_change(occurrence.timestamp(), self.nanos)
    }

    /// Returns the first occurrence in the second of an instant or later, or `after` it.
    fn search(&self, instant: DateTime<Utc>, after: bool) -> Option<DateTime<Utc>> {
        let asked = instant.timestamp();
        let found = self.next_second(asked + i64::from(after))?;
        // A date is found faster from one in the same year than from the number of its day.
        let near = instant.naive_utc();
        let of_day = found - asked + i64::from(near.num_seconds_from_midnight());
        let (days, second) = (position(of_day / DAY), position(of_day % DAY));
        let Some(date) = near.date().with_ordinal(near.ordinal() + days) else {
            return self.instant(found);
        };
        let time = NaiveTime::from_num_seconds_from_midnight_opt(second, self.nanos)?;
        Some(date.and_time(time).and_utc())
    }

    fn next_second(&self, second: i64) -> Option<i64> {
        let second = second.max(self.since);
        let next = match self.first {
            Some(first) if second <= first => first,
            _ => self.pattern_from(second.max(self.floor))?,
        };
        (next <= self.last).then_some(next)
    }

    /// Returns the first second that matches at or after `second`, which is not before the floor.
    fn pattern_from(&self, second: i64) -> Option<i64> {
        match &self.occurrences {
            Occurrences::Once => (second <= self.floor).then_some(self.floor),
            Occurrences::Elapsed { step } => {
                Some(self.floor - (self.floor - second).div_euclid(*step) * step)
            }
            Occurrences::Civil { pattern, reading } => match self.zone() {
                None => pattern.next(second),
                Some(zone) => Timeline { zone, pattern, reading: *reading }.next(second),
            },
        }
    }

    /// Counts the occurrences from one second (inclusive) to another (exclusive), ignoring the end.
    fn count(&self, from: i64, to: i64) -> i64 {
        let lone = self.first.filter(|first| (from..to).contains(first));
        // A start that fires in any case is counted on its own, and the pattern only after it.
        let floor = self.first.map_or(self.floor, |first| first + 1);
        let from = from.max(floor);
        if to <= from {
            return i64::from(lone.is_some());
        }
        let in_pattern = match &self.occurrences {
            Occurrences::Once => 0,
            Occurrences::Elapsed { step } => {
                let below = |second: i64| -(self.floor - second).div_euclid(*step);
                below(to) - below(from)
            }
            Occurrences::Civil { pattern, reading } => match self.zone() {
                None => pattern.count(from, to),
                Some(zone) => Timeline { zone, pattern, reading: *reading }.count(from, to),
            },
        };
        in_pattern + i64::from(lone.is_some())
    }

    /// Returns the second of the n-th occurrence from `since` on.
    ///
    /// It is before all seconds if `n` is 0, and the end of the calendar if there are fewer than `n`.
    fn nth_second(&self, n: i64) -> i64 {
        if n <= 0 {
            return CALENDAR_START - 1;
        }
        let found = nth_second(self.since, n, |from, to| self.count(from, to));
        found.map_or(CALENDAR_END, |(second, _)| second)
    }

    /// Returns the first second whose occurrence would be at or after an instant.
    fn second_from(&self, instant: DateTime<Utc>) -> i64 {
        let later = instant.timestamp_subsec_nanos() > self.nanos;
        instant.timestamp() + i64::from(later)
    }

    /// Returns the last second whose occurrence would be at or before an instant.
    fn second_up_to(&self, instant: DateTime<Utc>) -> i64 {
        let earlier = instant.timestamp_subsec_nanos() < self.nanos;
        instant.timestamp() - i64::from(earlier)
    }

    pub(crate) fn instant(&self, second: i64) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp(second, self.nanos)
    }
}

impl Start {
    /// Returns the instant.
    #[must_use]
    pub const fn at(self) -> DateTime<Utc> {
        match self {
            Self::Given(at) | Self::Anchor(at) => at,
        }
    }
}

/// Finds the second of the n-th occurrence that is not before a second, and how many are before that.
/// `None` if the calendar has fewer.
///
/// `count` gives the number of occurrences from one second (inclusive) to another (exclusive).
pub(crate) fn nth_second(from: i64, n: i64, count: impl Fn(i64, i64) -> i64) -> Option<(i64, i64)> {
    let (mut low, mut counted, mut span) = (from, 0_i64, DAY);
    // Bounded: a day doubled 22 times is longer than the calendar.
    loop {
        let more = count(low, low + span);
        if counted.saturating_add(more) >= n {
            break;
        }
        counted += more;
        low += span;
        if low > CALENDAR_END {
            return None;
        }
        span *= 2;
    }
    // Bounded: that span halved 39 times is one second.
    while span > 1 {
        let half = span / 2;
        let more = count(low, low + half);
        if counted.saturating_add(more) >= n {
            span = half;
        } else {
            counted += more;
            low += half;
            span -= half;
        }
    }
    Some((low, counted))
}
