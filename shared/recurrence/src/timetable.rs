//! The third form of a rule: compiled with its start, ready to be asked.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};

use crate::bind::{Bound, bind};
use crate::civil::{CALENDAR_END, CALENDAR_START, DAY};
use crate::date::TICK;
use crate::error::Refused;
use crate::pattern::Pattern;
use crate::rule::Rule;
use crate::timeline::{ClockChange, Reading, Timeline};
use crate::zone::Zone;

/// Where a rule takes what it does not say itself: the phase of its interval, and the parts of
/// the date and the time of day that its schedule leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The `startTime` that was given.
    Given(DateTime<Utc>),
    /// None was given: the anchor, which is an occurrence itself.
    Anchor(DateTime<Utc>),
}

/// The occurrences of a job, in order: a rule with its start, its count and its end applied.
///
/// It is `Copy` and asks nobody: no clock, no cache. [`Display`](std::fmt::Display) writes it as
/// one short line that [`FromStr`](std::str::FromStr) reads back.
///
/// All occurrences share the same fraction of a second, so everything inside is whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timetable {
    pub(crate) start: Start,
    /// `None`: the job runs once.
    pub(crate) rule: Option<Rule>,
    /// How the seconds of the occurrences are found.
    grid: Occurrences,
    /// The fraction of a second of all occurrences.
    nanos: u32,
    /// The start's second, where the start is an occurrence whatever the grid says.
    first: Option<i64>,
    /// The grid yields nothing before this second.
    floor: i64,
    /// Earlier occurrences are neither owed nor counted.
    pub(crate) since: i64,
    /// The last second that may fire: the end of the rule, of its count, or of the calendar.
    pub(crate) last: i64,
}

/// How the seconds of the occurrences are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "stays `Copy`: boxing would allocate on every clone")]
pub(crate) enum Occurrences {
    /// There are none but the start.
    Once,
    /// Elapsed time: every so many seconds from the start.
    Elapsed { step: i64 },
    /// Times that a clock on the wall shows.
    Civil { pattern: Pattern, reading: Reading },
}

impl Timetable {
    /// The timetable of a job that is created, or whose timing changes, at `now`.
    ///
    /// A start in the past only fixes the phase; what would have been before `now` is neither
    /// owed nor counted.
    ///
    /// # Errors
    ///
    /// [`Refused::NeverOccurs`] if the rule matches nothing, its end and count aside.
    ///
    /// ```
    /// use minutehand_recurrence::{Recurrence, Rule, Timetable, WrittenDate, written};
    ///
    /// let json = serde_json::json!({"frequency": "month", "schedule": {"monthDays": [31, -1]}});
    /// let rule = Rule::of(&Recurrence::from_json(&json).unwrap()).unwrap();
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

    /// The timetable from `since` on, of which `used` occurrences are counted already.
    ///
    /// # Errors
    ///
    /// [`Refused::NeverOccurs`] if the rule matches nothing, its end and count aside.
    pub fn resumed(
        rule: &Rule,
        start: Start,
        since: DateTime<Utc>,
        used: u32,
    ) -> Result<Self, Refused> {
        let mut timetable = Self::unending(rule, start, since)?;
        if let Some(end) = rule.end {
            timetable.last = timetable.last.min(timetable.second_up_to(end));
        }
        if let Some(count) = rule.count {
            let left = i64::from(count.saturating_sub(used));
            timetable.last = timetable.last.min(timetable.nth_second(left));
        }
        Ok(timetable)
    }

    /// The timetable of a job without a recurrence: the start, or now where it has passed.
    #[must_use]
    pub fn once(start_time: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Self {
        let at = whole_ticks(start_time.map_or(now, |start| start.max(now)));
        let second = at.timestamp();
        Self {
            start: Start::Given(at),
            rule: None,
            grid: Occurrences::Once,
            nanos: at.timestamp_subsec_nanos(),
            first: Some(second),
            floor: second,
            since: CALENDAR_START,
            last: second.min(CALENDAR_END),
        }
    }

    /// A rule with its start, for as long as the calendar goes on.
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
        let Bound { grid, nanos } = bind(rule, at)?;
        let fires = rule.schedule.is_none() || matches!(start, Start::Anchor(_));
        let mut timetable = Self {
            start,
            rule: Some(*rule),
            grid,
            nanos,
            first: fires.then_some(at.timestamp()),
            floor: CALENDAR_START,
            since: CALENDAR_START,
            last: CALENDAR_END,
        };
        timetable.floor = timetable.second_from(at).max(CALENDAR_START);
        timetable.since = timetable.second_from(since).max(CALENDAR_START);
        if timetable.grid_from(timetable.floor).is_none_or(|second| second > CALENDAR_END) {
            return Err(crate::bind::never(rule, at));
        }
        Ok(timetable)
    }

    /// The first occurrence at or after an instant; `None` when nothing further comes.
    ///
    /// "Cannot tell" is not among the answers: a rule that never matches was refused, and the
    /// calendar repeats, so that every search ends.
    #[must_use]
    pub fn at_or_after(&self, instant: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.instant(self.next_second(self.second_from(instant))?)
    }

    /// The first occurrence after an instant.
    #[must_use]
    pub fn after(&self, instant: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let second = self.second_from(instant);
        let next = if self.instant(second) == Some(instant) { second + 1 } else { second };
        self.instant(self.next_second(next)?)
    }

    /// All occurrences in order.
    pub fn iter(&self) -> impl Iterator<Item = DateTime<Utc>> + use<> {
        let timetable = *self;
        let next = move |second: &i64| timetable.next_second(second + 1);
        std::iter::successors(self.next_second(self.since), next)
            .map_while(move |second| timetable.instant(second))
    }

    /// How many occurrences lie from one instant (inclusive) to another (exclusive).
    ///
    /// Days, weeks, hours and minutes are counted by arithmetic, months at most through one cycle
    /// of the calendar, and in a zone once for each time its clock changes.
    #[must_use]
    pub fn count_between(&self, from: DateTime<Utc>, to: DateTime<Utc>) -> u64 {
        let (from, to) = (self.second_from(from), self.second_from(to));
        let count = self.count(from.max(self.since), to.min(self.last.saturating_add(1)));
        u64::try_from(count).unwrap_or(0)
    }

    /// The smallest distance between two occurrences by the calendar, changes of the clock aside.
    ///
    /// A month counts as 28 days and a year as 365, as they do in a quota. The end, the count and
    /// the first execution of a rule without a start are left aside, too. `None` for a job that
    /// runs once.
    #[must_use]
    pub fn smallest_gap(&self) -> Option<TimeDelta> {
        let seconds = match &self.grid {
            Occurrences::Once => return None,
            Occurrences::Elapsed { step } => *step,
            Occurrences::Civil { pattern, .. } => pattern.smallest_gap(),
        };
        Some(TimeDelta::seconds(seconds))
    }

    /// The zone on whose clock the rule is read; `None` is UTC.
    #[must_use]
    pub fn zone(&self) -> Option<&Zone> {
        self.rule.as_ref().and_then(Rule::zone)
    }

    /// What the clock of the rule's zone shows at an instant, and how far it is ahead of UTC.
    #[must_use]
    pub fn local(&self, instant: DateTime<Utc>) -> (NaiveDateTime, TimeDelta) {
        let offset = self.zone().map_or(0, |zone| zone.offset_at(instant.timestamp()));
        let offset = TimeDelta::seconds(offset);
        let utc = instant.naive_utc();
        (utc.checked_add_signed(offset).unwrap_or(utc), offset)
    }

    /// What a change of the clock did to an occurrence; `None` for nearly all.
    #[must_use]
    pub fn clock_change(&self, occurrence: DateTime<Utc>) -> Option<ClockChange> {
        let Occurrences::Civil { pattern, reading } = &self.grid else {
            return None;
        };
        let timeline = Timeline { zone: self.zone()?, pattern, reading: *reading };
        timeline.clock_change(occurrence.timestamp(), self.nanos)
    }

    fn next_second(&self, second: i64) -> Option<i64> {
        let second = second.max(self.since);
        let next = match self.first {
            Some(first) if second <= first => first,
            _ => self.grid_from(second.max(self.floor))?,
        };
        (next <= self.last).then_some(next)
    }

    /// The first second of the grid at or after one that is not before the floor.
    fn grid_from(&self, second: i64) -> Option<i64> {
        match &self.grid {
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

    /// How many seconds fire from one (inclusive) to another (exclusive), without an end.
    fn count(&self, from: i64, to: i64) -> i64 {
        let lone = self.first.filter(|first| (from..to).contains(first));
        // Where the start fires whatever the grid says, the grid is counted behind it.
        let floor = self.first.map_or(self.floor, |first| first + 1);
        let from = from.max(floor);
        if to <= from {
            return i64::from(lone.is_some());
        }
        let in_grid = match &self.grid {
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
        in_grid + i64::from(lone.is_some())
    }

    /// The second of the n-th occurrence from `since` on; before all seconds if n is 0, and the
    /// end of the calendar if there are not so many.
    fn nth_second(&self, n: i64) -> i64 {
        if n <= 0 {
            return CALENDAR_START - 1;
        }
        let (mut low, mut counted, mut span) = (self.since, 0, DAY);
        // Bounded: doubling a day passes the end of the calendar in 22 steps.
        loop {
            let more = self.count(low, low + span);
            if counted + more >= n {
                break;
            }
            counted += more;
            low += span;
            if low > CALENDAR_END {
                return CALENDAR_END;
            }
            span *= 2;
        }
        // Bounded: halving that span ends at a second in 39 steps.
        while span > 1 {
            let half = span / 2;
            let more = self.count(low, low + half);
            if counted + more >= n {
                span = half;
            } else {
                counted += more;
                low += half;
                span -= half;
            }
        }
        low
    }

    /// The first second whose occurrence would not be before an instant.
    fn second_from(&self, instant: DateTime<Utc>) -> i64 {
        let later = instant.timestamp_subsec_nanos() > self.nanos;
        instant.timestamp() + i64::from(later)
    }

    /// The last second whose occurrence would not be after an instant.
    fn second_up_to(&self, instant: DateTime<Utc>) -> i64 {
        let earlier = instant.timestamp_subsec_nanos() < self.nanos;
        instant.timestamp() - i64::from(earlier)
    }

    pub(crate) fn instant(&self, second: i64) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp(second, self.nanos)
    }
}

impl Start {
    /// The instant, however it came.
    #[must_use]
    pub const fn at(self) -> DateTime<Utc> {
        match self {
            Self::Given(at) | Self::Anchor(at) => at,
        }
    }
}

/// Cuts what is finer than the wire can say.
fn whole_ticks(instant: DateTime<Utc>) -> DateTime<Utc> {
    cut(instant, instant.timestamp_subsec_nanos() / TICK * TICK)
}

fn whole_seconds(instant: DateTime<Utc>) -> DateTime<Utc> {
    cut(instant, 0)
}

fn cut(instant: DateTime<Utc>, nanos: u32) -> DateTime<Utc> {
    DateTime::from_timestamp(instant.timestamp(), nanos).unwrap_or(instant)
}
