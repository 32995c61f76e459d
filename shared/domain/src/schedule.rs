//! A job's schedule: its timetable, and the policies that decide what becomes of an occurrence.
//!
//! A timer holds it as one line. Without policies that is the timetable's line; with policies it is
//!
//! ```text
//! 2 catchUp=all:86400000:100 1 every=1hour start=2027-01-01T00:00:00Z
//! ```
//!
//! Of excluded and extra dates it has a hash, and which of the extra ones are within the timetable:
//!
//! ```text
//! 2 dates=1f3a77c0:0:12 1 every=1day start=2027-01-01T09:00:00Z
//! ```
//!
//! The dates themselves are in the definition, so such a line is read with [`Schedule::read`]. If the
//! definition is another one, its dates have another hash, and the line is not read.
//!
//! A job that goes on with its last occurrence has that before its policies: see [`GoesOn`].
//!
//! A version that does not know policies cannot read the line, nor a policy that it does not know. It
//! then reports the timer and leaves it to a newer version, and does not fire without the policy.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_recurrence::{Exceptions, Refused, Rule, Start, Timetable, UnreadableTimetable};

use crate::attempt::{Attempt, Occurrence};
use crate::dates::stored_exceptions;
use crate::duration::Span;
use crate::goes_on::GoesOn;
use crate::ids::fnv1a;
use crate::policies::Policies;

/// The first word of a line with policies.
const WITH_POLICIES: &str = "2 ";
/// The first word of a line without.
const WITHOUT_POLICIES: &str = "1 ";
/// The word for dates begins so.
const DATES: &str = "dates=";
/// How often the time between two instants is halved before it is less than the smallest step of time.
const HALVINGS_MAX: usize = 72;

/// When a job fires, and its policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The occurrences of its recurrence.
    pub timetable: Timetable,
    /// Its policies.
    pub policies: Policies,
    /// Its excluded and extra dates, if it has any.
    pub exceptions: Option<Arc<Exceptions>>,
    /// The occurrence of an earlier timing with which the job goes on. Then it is the only one.
    pub goes_on: Option<GoesOn>,
}

/// The dates of a line: their hash, and the places of the extra ones that are within the timetable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DatesWord {
    hash: u32,
    places: [usize; 2],
}

impl Schedule {
    /// The schedule of a rule with exceptions, from `since` on and after `used` occurrences of its count.
    ///
    /// # Errors
    ///
    /// If it has no occurrence, its end and count aside.
    pub(crate) fn of_rule(
        rule: &Rule,
        start: Start,
        (since, used): (DateTime<Utc>, u32),
        exceptions: Option<&Exceptions>,
    ) -> Result<Self, Refused> {
        let Some(exceptions) = exceptions else {
            return Ok(Timetable::resumed(rule, start, since, used)?.into());
        };
        let (timetable, exceptions) = exceptions.applied_to(rule, start, since, used)?;
        Ok(Self { exceptions: Some(Arc::new(exceptions)), ..timetable.into() })
    }

    /// Reads the line of a timer, given the stored document of its job, which is parsed only if the line
    /// names dates.
    ///
    /// # Errors
    ///
    /// If this version cannot read the line, or the document has other dates.
    pub fn read(line: &str, document: &str) -> Result<Self, UnreadableTimetable> {
        let (schedule, word) = parsed(line)?;
        let Some(word) = word else { return Ok(schedule) };
        let exceptions = stored_exceptions(document, schedule.timetable.zone());
        let exceptions = exceptions.filter(|it| hash(it) == word.hash);
        let exceptions = exceptions.ok_or_else(|| word.unreadable())?.with_places(word.places);
        Ok(Self { exceptions: Some(Arc::new(exceptions)), ..schedule })
    }

    /// Whether a timer's line can only be read with the document of its job.
    #[must_use]
    pub fn needs_document(line: &str) -> bool {
        line.starts_with(WITH_POLICIES) && line.contains(DATES)
    }

    /// Whether it is more than a timetable, so that a version without policies must not fire it.
    #[must_use]
    pub fn is_guarded(&self) -> bool {
        self.policies != Policies::default() || self.exceptions.is_some()
    }

    /// Whether the rule yields an instant that is on an excluded date.
    #[must_use]
    pub fn excludes(&self, at: DateTime<Utc>) -> bool {
        self.exceptions.as_ref().is_some_and(|it| it.excludes(&self.timetable, at))
    }

    /// Whether an instant is an extra date, and not one of the rule's.
    #[must_use]
    pub fn adds(&self, at: DateTime<Utc>) -> bool {
        self.exceptions.as_ref().is_some_and(|it| it.adds(&self.timetable, at))
    }

    /// Whether a timer's line has policies, whether or not this version knows them.
    #[must_use]
    pub fn has_policies(line: &str) -> bool {
        !line.starts_with(WITHOUT_POLICIES)
    }

    /// Whether another schedule has the same dates.
    pub(crate) fn has_dates_of(&self, other: &Self) -> bool {
        let hash = |it: &Self| it.exceptions.as_deref().map(hash);
        hash(self) == hash(other)
    }

    /// Whether an attempt is of this schedule, whose timing has this generation.
    #[must_use]
    pub fn has(&self, generation: u64, attempt: &Attempt) -> bool {
        attempt.generation == generation
            || self.goes_on.is_some_and(|it| it.has(generation, attempt))
    }

    /// Whether no occurrence follows one.
    #[must_use]
    pub fn is_last(&self, nominal_at: DateTime<Utc>) -> bool {
        self.after(nominal_at).is_none()
    }

    /// The first attempt at an occurrence, in a timing of this generation.
    #[must_use]
    pub fn attempt(&self, generation: u64, nominal_at: DateTime<Utc>) -> Attempt {
        let generation = self.goes_on.map_or(generation, |it| it.generation);
        let first = Attempt {
            due_at: self.start(nominal_at),
            under_policy: self.is_guarded(),
            takes_turn: self.policies.takes_turns(),
            ..Attempt::first(generation, Occurrence::Scheduled { nominal_at })
        };
        // When its ping is no longer owed, it ends.
        if self.policies.pings.is_some() { first.to_end() } else { first }
    }

    /// When an occurrence starts. One that owes a ping does when the time for that is over.
    #[must_use]
    pub fn start(&self, nominal_at: DateTime<Utc>) -> DateTime<Utc> {
        if let Some(pings) = self.policies.pings {
            return nominal_at.checked_add_signed(pings.grace.delta()).unwrap_or(nominal_at);
        }
        let delay = self.policies.jitter.map(|jitter| jitter.delay(nominal_at));
        delay.and_then(|delay| nominal_at.checked_add_signed(delay)).unwrap_or(nominal_at)
    }

    /// When an occurrence starts, if its start is spread.
    #[must_use]
    pub fn delayed(&self, nominal_at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let start = self.policies.jitter.map(|_| self.start(nominal_at));
        start.filter(|start| *start != nominal_at)
    }

    /// The first occurrence that starts at an instant or after it.
    #[must_use]
    pub fn starting_from(&self, instant: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let Policies { jitter, pings, .. } = self.policies;
        let window = pings.map(|it| it.grace).or(jitter.map(|it| it.window));
        let window = window.map(Span::delta).unwrap_or_default();
        let earliest = instant.checked_sub_signed(window).unwrap_or(instant);
        // Bounded: the window of a spread is shorter than the time between two occurrences, and all that owe
        // pings start equally long after their instants.
        let mut coming = std::iter::successors(self.at_or_after(earliest), |at| self.after(*at));
        coming.find(|at| self.start(*at) >= instant)
    }

    /// The first occurrence at an instant or after it.
    #[must_use]
    pub fn at_or_after(&self, instant: DateTime<Utc>) -> Option<DateTime<Utc>> {
        match (self.goes_on, &self.exceptions) {
            (Some(only), _) => Some(only.at).filter(|at| *at >= instant),
            (None, Some(exceptions)) => exceptions.at_or_after(&self.timetable, instant),
            (None, None) => self.timetable.at_or_after(instant),
        }
    }

    /// The first occurrence after an instant.
    #[must_use]
    pub fn after(&self, instant: DateTime<Utc>) -> Option<DateTime<Utc>> {
        match (self.goes_on, &self.exceptions) {
            (Some(only), _) => Some(only.at).filter(|at| *at > instant),
            (None, Some(exceptions)) => exceptions.after(&self.timetable, instant),
            (None, None) => self.timetable.after(instant),
        }
    }

    /// The last occurrence before an instant.
    #[must_use]
    pub fn before(&self, instant: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let is_before = |at: &DateTime<Utc>| *at < instant;
        let mut found = self.iter().next().filter(is_before)?;
        let mut end = instant;
        for _ in 0..HALVINGS_MAX {
            // Between the two, the occurrences after one that was found are sought by halves.
            let Some(next) = self.after(found).filter(is_before) else { break };
            let middle = next + (end - next) / 2;
            if let Some(later) = self.at_or_after(middle).filter(is_before) {
                found = later;
            } else {
                (found, end) = (next, middle);
            }
        }
        Some(found)
    }

    /// The occurrences, from the first on.
    pub fn iter(&self) -> impl Iterator<Item = DateTime<Utc>> + '_ {
        let first = match (self.goes_on, &self.exceptions) {
            (None, None) => self.timetable.iter().next(),
            _ => self.at_or_after(DateTime::<Utc>::MIN_UTC),
        };
        std::iter::successors(first, |at| self.after(*at))
    }

    /// Whether there is one occurrence, without a recurrence.
    #[must_use]
    pub const fn runs_once(&self) -> bool {
        self.timetable.runs_once()
    }

    /// The first occurrence, if it is due at once.
    #[must_use]
    pub fn at_once(&self) -> Option<DateTime<Utc>> {
        let at_once = self.timetable.at_once().filter(|at| !self.excludes(*at));
        at_once.filter(|_| self.goes_on.is_none())
    }

    /// How many occurrences there are from one instant (inclusive) to another (exclusive).
    #[must_use]
    pub fn count_between(&self, from: DateTime<Utc>, to: DateTime<Utc>) -> u64 {
        match (self.goes_on, &self.exceptions) {
            (Some(only), _) => u64::from(from <= only.at && only.at < to),
            (None, Some(exceptions)) => exceptions.count_between(&self.timetable, from, to),
            (None, None) => self.timetable.count_between(from, to),
        }
    }

    /// How many occurrences there are before an instant.
    #[must_use]
    pub fn count_before(&self, instant: DateTime<Utc>) -> u64 {
        self.count_between(DateTime::<Utc>::MIN_UTC, instant)
    }

    /// The smallest distance between two occurrences by the calendar.
    #[must_use]
    pub fn smallest_gap(&self) -> Option<TimeDelta> {
        match &self.exceptions {
            Some(exceptions) => exceptions.smallest_gap(&self.timetable),
            None => self.timetable.smallest_gap(),
        }
    }

    /// In words.
    #[must_use]
    pub fn sentence(&self) -> String {
        let sentence = match self.goes_on {
            // By the calendar alone, a one-time job whose instant is over runs when it is enabled.
            Some(last) if self.timetable.runs_once() => {
                Timetable::once(Some(last.at), last.at).sentence()
            }
            _ => self.timetable.sentence(),
        };
        let Some(exceptions) = &self.exceptions else { return sentence };
        let [excluded, extra] = exceptions.counts();
        let excluded = numbered("; except on", excluded, "date");
        sentence + &excluded + &numbered("; also on", extra, "extra date")
    }
}

fn numbered(before: &str, n: usize, what: &str) -> String {
    match n {
        0 => String::new(),
        1 => format!("{before} 1 {what}"),
        n => format!("{before} {n} {what}s"),
    }
}

fn hash(exceptions: &Exceptions) -> u32 {
    fnv1a(exceptions.to_string().as_bytes())
}

impl DatesWord {
    fn read(word: &str) -> Option<Self> {
        let (hash, places) = word.strip_prefix(DATES)?.split_once(':')?;
        let (from, to) = places.split_once(':')?;
        let hash = u32::from_str_radix(hash, 16).ok()?;
        Some(Self { hash, places: [from.parse().ok()?, to.parse().ok()?] })
    }

    fn unreadable(self) -> UnreadableTimetable {
        UnreadableTimetable { word: self.to_string() }
    }
}

impl fmt::Display for DatesWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hash, places: [from, to] } = self;
        write!(f, "{DATES}{hash:08x}:{from}:{to}")
    }
}

/// A schedule without policies.
impl From<Timetable> for Schedule {
    fn from(timetable: Timetable) -> Self {
        Self { timetable, policies: Policies::default(), exceptions: None, goes_on: None }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { timetable, policies, exceptions, goes_on } = self;
        if self.is_guarded() || goes_on.is_some() {
            f.write_str(WITH_POLICIES)?;
        }
        if let Some(goes_on) = goes_on {
            write!(f, "{goes_on} ")?;
        }
        policies.fmt(f)?;
        if let Some(exceptions) = exceptions {
            let (hash, places) = (hash(exceptions), exceptions.places());
            write!(f, "{} ", DatesWord { hash, places })?;
        }
        timetable.fmt(f)
    }
}

/// Reads a line without dates. A line with dates is not read: see [`Schedule::read`].
impl FromStr for Schedule {
    type Err = UnreadableTimetable;

    fn from_str(line: &str) -> Result<Self, UnreadableTimetable> {
        match parsed(line)? {
            (schedule, None) => Ok(schedule),
            (_, Some(word)) => Err(word.unreadable()),
        }
    }
}

/// A line without the dates that it names.
fn parsed(line: &str) -> Result<(Schedule, Option<DatesWord>), UnreadableTimetable> {
    let Some(line) = line.strip_prefix(WITH_POLICIES) else {
        return Ok((line.parse::<Timetable>()?.into(), None));
    };
    // Words of policies have a '='; the first word of a timetable has none.
    let is_policy = |word: &&str| word.contains('=');
    let end = line.split_inclusive(' ').take_while(is_policy).map(str::len).sum();
    let (words, timetable) = line.split_at_checked(end).unwrap_or((line, ""));
    let goes_on =
        words.split_once(' ').and_then(|(first, rest)| Some((GoesOn::read(first)?, rest)));
    let (goes_on, words) = goes_on.map_or((None, words), |(goes_on, rest)| (Some(goes_on), rest));
    // The dates are the last of them.
    let (words, dates) = match words.trim_end().rsplit_once(DATES) {
        Some((words, dates)) => {
            let word = format!("{DATES}{dates}");
            (words, Some(DatesWord::read(&word).ok_or(UnreadableTimetable { word })?))
        }
        None => (words, None),
    };
    let (policies, timetable) = (Policies::read(words)?, timetable.parse()?);
    Ok((Schedule { timetable, policies, exceptions: None, goes_on }, dates))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::CatchUp;

    #[test]
    fn a_line_reads_back_and_without_policies_it_is_the_timetables() {
        let line = "1 every=1hour start=2027-01-01T00:00:00Z";
        let plain: Schedule = line.parse().unwrap();
        assert_eq!(plain.policies, Policies::default());
        assert_eq!(plain.to_string(), line);
        let with = format!("2 catchUp=none {line}");
        let schedule: Schedule = with.parse().unwrap();
        assert_eq!(schedule.policies.catch_up, CatchUp::None);
        assert_eq!((schedule.timetable, schedule.to_string()), (plain.timetable, with.clone()));
        // A version that knows no policies.
        assert_eq!(with.parse::<Timetable>().unwrap_err().word, "2");
    }

    #[test]
    fn the_occurrence_before_an_instant_is_found_however_many_there_are() {
        let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        let minutely = "1 every=1minute start=0001-01-01T00:00:00Z";
        let weekly = "1 every=1week minutes=0 hours=9 on=monday start=2026-12-30T12:00:00Z";
        for (line, instant, before) in [
            (minutely, "2027-01-01T00:00:00Z", Some("2026-12-31T23:59:00Z")),
            (minutely, "2027-01-01T00:00:00.5Z", Some("2027-01-01T00:00:00Z")),
            (minutely, "0001-01-01T00:00:00Z", None),
            (weekly, "2027-01-11T09:00:00Z", Some("2027-01-04T09:00:00Z")),
            (weekly, "2027-01-11T09:00:01Z", Some("2027-01-11T09:00:00Z")),
            (weekly, "2027-01-04T09:00:00Z", None),
        ] {
            let schedule: Schedule = line.parse().unwrap();
            assert_eq!(schedule.before(at(instant)), before.map(at), "{line} {instant}");
        }
    }

    #[test]
    fn a_line_with_an_unknown_policy_is_not_read() {
        for (line, word) in [
            ("2 moon=full 1 every=1hour start=2027-01-01T00:00:00Z", "moon=full"),
            ("2 catchUp=none", ""),
            ("2 catchUp=none 3 x", "3"),
            ("3 catchUp=none 1 every=1hour start=2027-01-01T00:00:00Z", "3"),
        ] {
            assert_eq!(line.parse::<Schedule>().unwrap_err().word, word, "{line}");
        }
    }

    #[test]
    fn attempts_of_a_job_with_policies_are_marked() {
        let line = "1 every=1hour start=2027-01-01T00:00:00Z";
        for (line, expected) in [(line.to_owned(), false), (format!("2 catchUp=none {line}"), true)]
        {
            let schedule: Schedule = line.parse().unwrap();
            let at = schedule.iter().next().unwrap();
            assert_eq!(schedule.attempt(1, at).under_policy, expected);
        }
    }

    /// The stored properties of a job with dates.
    fn document(excluded: &str) -> String {
        serde_json::json!({"minutehand": {"exclude": {"dates": [excluded]},
            "extraDates": ["2027-01-01T12:00:00", "2027-01-03T12:00:00"]}})
        .to_string()
    }

    #[test]
    fn a_line_with_dates_is_read_with_their_definition_only() {
        let document = document("2027-01-02");
        let exceptions = stored_exceptions(&document, None).unwrap();
        let rule = serde_json::json!({"frequency": "day", "count": 5});
        let rule =
            Rule::canonical(&minutehand_recurrence::Recurrence::from_json(&rule).unwrap()).unwrap();
        let start = "2027-01-01T09:00:00Z".parse().unwrap();
        let since = "2027-01-01T18:00:00Z".parse().unwrap();
        let schedule =
            Schedule::of_rule(&rule, Start::Given(start), (since, 2), Some(&exceptions)).unwrap();
        let line = schedule.to_string();
        // Kept for ever: it is in timers.
        assert_eq!(
            line,
            "2 dates=0dd1b9b2:1:2 1 every=1day count=5 start=2027-01-01T09:00:00Z since=1798826400 \
             last=1799053200"
        );
        assert!(Schedule::needs_document(&line) && Schedule::has_policies(&line));
        let read = Schedule::read(&line, &document).unwrap();
        assert_eq!(read, schedule);
        let all: Vec<_> = read.iter().map(minutehand_recurrence::format_instant).collect();
        assert_eq!(all, ["2027-01-03T09:00:00Z", "2027-01-03T12:00:00Z", "2027-01-04T09:00:00Z"]);
        assert_eq!(
            schedule.sentence(),
            "every day at 09:00 UTC, 5 times; except on 1 date; also on 2 extra dates"
        );
        assert!(schedule.attempt(1, start).under_policy);
        let word = line.split(' ').nth(1).unwrap();
        assert_eq!(line.parse::<Schedule>().unwrap_err().word, word);
        for other in [super::tests::document("2027-01-04"), "{}".to_owned(), "x".to_owned()] {
            assert_eq!(Schedule::read(&line, &other).unwrap_err().word, word);
        }
        // A version that knows policies and no dates.
        assert_eq!(Policies::read(word).unwrap_err().word, word);
    }

    #[test]
    fn a_line_without_dates_needs_no_definition() {
        for line in [
            "1 every=1hour start=2027-01-01T00:00:00Z",
            "2 catchUp=none 1 every=1hour start=2027-01-01T00:00:00Z",
        ] {
            assert!(!Schedule::needs_document(line));
            assert_eq!(Schedule::read(line, "").unwrap().to_string(), line);
        }
    }

    #[test]
    fn dates_stand_beside_policies() {
        let document = document("2027-01-02");
        let hash = hash(&stored_exceptions(&document, None).unwrap());
        let line = format!(
            "2 catchUp=none jitter=1000:7 dates={hash:08x}:0:2 1 every=1day start=2027-01-01T09:00:00Z"
        );
        let schedule = Schedule::read(&line, &document).unwrap();
        assert_eq!(schedule.policies.catch_up, CatchUp::None);
        assert_eq!(schedule.to_string(), line);
    }

    #[test]
    fn a_schedule_that_goes_on_has_one_occurrence_and_stands_before_policies() {
        let line =
            "2 goesOn=17987976000000000:3 catchUp=none 1 every=1hour start=2027-01-01T00:00:00Z";
        let schedule: Schedule = line.parse().unwrap();
        assert_eq!(
            (schedule.to_string(), schedule.policies.catch_up),
            (line.to_owned(), CatchUp::None)
        );
        let at = "2027-01-01T10:00:00Z".parse().unwrap();
        assert_eq!(schedule.goes_on, Some(GoesOn { at, generation: 3 }));
        let tick = TimeDelta::nanoseconds(100);
        assert_eq!(schedule.iter().collect::<Vec<_>>(), [at]);
        assert_eq!([schedule.at_or_after(at), schedule.at_or_after(at + tick)], [Some(at), None]);
        assert_eq!([schedule.after(at - tick), schedule.after(at)], [Some(at), None]);
        assert_eq!([schedule.count_before(at), schedule.count_before(at + tick)], [0, 1]);
        assert_eq!((schedule.is_last(at), schedule.at_once()), (true, None));
        assert_eq!(schedule.attempt(7, at).generation, 3);
        // A version that knows policies only.
        assert!(Policies::read("goesOn=17987976000000000:3 ").is_err());
        let plain = Schedule { policies: Policies::default(), ..schedule };
        let line = "2 goesOn=17987976000000000:3 1 every=1hour start=2027-01-01T00:00:00Z";
        assert_eq!((plain.to_string(), line.parse()), (line.to_owned(), Ok(plain.clone())));
        assert!(!plain.attempt(7, at).under_policy);
    }

    #[test]
    fn a_one_time_job_that_goes_on_says_when_it_fell_due() {
        let [at, enabled_at] = ["2027-01-01T10:00:00Z", "2027-01-01T10:05:00Z"];
        let once: Schedule =
            Timetable::once(Some(at.parse().unwrap()), enabled_at.parse().unwrap()).into();
        assert_eq!(once.sentence(), "once at 2027-01-01 10:05 UTC");
        let goes_on = Some(GoesOn { at: at.parse().unwrap(), generation: 3 });
        let once = Schedule { goes_on, ..once };
        assert_eq!(once.sentence(), "once at 2027-01-01 10:00 UTC");
    }
}
