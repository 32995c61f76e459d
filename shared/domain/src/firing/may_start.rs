//! The check before an attempt starts.

use std::fmt;

use chrono::{DateTime, Utc};
use minutehand_recurrence::named;

use super::outage::{Outage, overtaken_in};
use crate::attempt::{Attempt, Occurrence, Role};
use crate::job::JobState;
use crate::schedule::Schedule;

/// What the check must know of the job.
#[derive(Debug, Clone, Copy)]
pub struct JobStanding<'a> {
    /// Its state.
    pub state: JobState,
    /// The generation of its timing.
    pub generation: u64,
    /// Since when its timing holds.
    pub since: DateTime<Utc>,
    /// Its timetable; `None` while it is disabled.
    pub timetable: Option<&'a Schedule>,
    /// Since when its collection is on; `None` if it is off.
    pub collection_on_since: Option<DateTime<Utc>>,
    /// Whether the scheduler has disabled it, because too many occurrences failed.
    pub is_paused: bool,
}

impl JobStanding<'_> {
    /// Whether an attempt is of the timing that the job has: another one cancels it.
    #[must_use]
    pub fn has(&self, attempt: &Attempt) -> bool {
        attempt.generation == self.generation
            || self.timetable.is_some_and(|it| it.has(self.generation, attempt))
    }

    /// Whether an attempt follows others at the last occurrence of the job. It starts after its collection
    /// was off, too: without it, the occurrence would end without a result.
    fn ends_timing(&self, attempt: &Attempt) -> bool {
        let Occurrence::Scheduled { nominal_at } = attempt.occurrence else { return false };
        !attempt.is_first()
            && self.has(attempt)
            && self.timetable.is_some_and(|schedule| schedule.is_last(nominal_at))
    }

    /// Since when a ping was owed for the first attempt at an occurrence, if one was.
    fn owed_since(&self, attempt: &Attempt, nominal_at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let owed = self.timetable.filter(|_| attempt.is_first())?.owed_ping(nominal_at)?;
        Some(owed.from.max(self.since))
    }

    /// Whether an attempt belongs to the failures after which the job paused: its error action and its
    /// notice still run.
    #[must_use]
    pub fn follows_pause(&self, attempt: &Attempt) -> bool {
        self.is_paused
            && attempt.role != Role::Main
            && attempt.generation.checked_add(1) == Some(self.generation)
    }
}

named! {
    /// Why an attempt does not start. A reason is stored under its place in this list.
    pub enum SkipReason: fn words {
        /// The job or its collection is deleted.
        Gone = "gone": "the job is deleted",
        /// The job's collection is off, or was off when the attempt was due.
        CollectionOff = "collectionOff": "its collection is disabled, or was when it fell due",
        /// The job's start, recurrence or state has changed since the attempt was sent, and the job does not go
        /// on with its occurrence.
        TimingChanged = "timingChanged": "the job's start, recurrence or state has changed",
        /// The job is disabled or has finished.
        NotEnabled = "notEnabled": "the job is disabled, or has finished",
        /// The occurrence fell into an outage, and the job makes up for others of it or for none.
        Overtaken = "overtaken": "it fell into an outage, and the job's policy does not make up for it",
        /// The occurrence would start later than the job allows.
        TooLate = "tooLate": "it would start later than the job's maxLateness allows",
        /// Another attempt of the job was running, or waited before it.
        Overlap = "overlap": "another attempt of the job runs or waits, and the job lets none overlap",
        /// At some moment of the window of its ping nothing could take pings.
        NotWatched = "notWatched": "at some moment of its window nothing could take its ping",
    }
}

impl SkipReason {
    /// The number under which it is stored, which never changes.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The reason that is stored under a number; `None` if this version does not know it.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.number() == number)
    }

    /// Whether the user may miss the occurrence, so that it counts as skipped.
    #[must_use]
    pub const fn is_skip(self) -> bool {
        !matches!(self, Self::Gone | Self::TimingChanged | Self::NotEnabled)
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// When an attempt is about to start.
#[derive(Debug, Clone, Copy)]
pub struct StartCheck<'a> {
    /// The time now.
    pub now: DateTime<Utc>,
    /// As for [`overtaken_in`].
    pub ready_at: DateTime<Utc>,
    /// The outages of workers.
    pub outages: &'a [Outage],
}

/// Checks whether an attempt may start.
///
/// # Errors
///
/// The reason why it may not.
pub fn may_start(
    attempt: &Attempt,
    standing: Option<JobStanding<'_>>,
    start: StartCheck<'_>,
) -> Result<(), SkipReason> {
    let standing = standing.ok_or(SkipReason::Gone)?;
    let is_run = matches!(attempt.occurrence, Occurrence::Run { .. });
    // First, because a cancelled occurrence does not count as skipped, even if the collection is off.
    if !is_run && !standing.has(attempt) && !standing.follows_pause(attempt) {
        return Err(SkipReason::TimingChanged);
    }
    // The due time of the attempt decides, not the instant of the occurrence: a retry that was waiting
    // while the collection was off may start if it is due after the collection is on again.
    let fell_due_at = fell_due_at(attempt, standing.generation, standing.since);
    // A run was asked for when its collection was on, whatever the clock shows.
    let fell_due_at = match attempt.occurrence {
        Occurrence::Run { asked_at, .. } => fell_due_at.max(asked_at),
        // A ping is owed for some time before that.
        Occurrence::Scheduled { nominal_at } => standing
            .owed_since(attempt, nominal_at)
            .map_or(fell_due_at, |owed_since| fell_due_at.min(owed_since)),
    };
    let was_off = |since| fell_due_at < since && !standing.ends_timing(attempt);
    if standing.collection_on_since.is_none_or(was_off) {
        return Err(SkipReason::CollectionOff);
    }
    // A user asked for a run, and it was accepted then.
    let Occurrence::Scheduled { nominal_at } = attempt.occurrence else { return Ok(()) };
    if standing.follows_pause(attempt) {
        return Ok(());
    }
    let of_first = standing.timetable.filter(|_| attempt.is_first());
    let is_overtaken = of_first.is_some_and(|schedule| {
        overtaken_in(schedule, nominal_at, start.ready_at, start.outages).is_some()
    });
    let max_lateness = of_first.and_then(|schedule| schedule.policies.max_lateness);
    let is_too_late = max_lateness.is_some_and(|max| start.now - attempt.due_at > max.delta());
    match attempt.role {
        _ if standing.state == JobState::Disabled => Err(SkipReason::NotEnabled),
        // The outage may have cost the last occurrences but one, so that the job has finished already.
        _ if is_overtaken => Err(SkipReason::Overtaken),
        // Its worker may have died before it counted what it had written.
        _ if is_too_late => Err(SkipReason::TooLate),
        Role::Main if standing.state.is_final() => Err(SkipReason::NotEnabled),
        Role::Main | Role::Error | Role::Notice => Ok(()),
    }
}

/// When an attempt fell due, if the timing has this generation since then. The anchor of a schedule is cut to
/// whole seconds, so that the first occurrence of a timing can be a moment before the timing itself.
pub(super) fn fell_due_at(
    attempt: &Attempt,
    generation: u64,
    since: DateTime<Utc>,
) -> DateTime<Utc> {
    if attempt.generation == generation { attempt.due_at.max(since) } else { attempt.due_at }
}

#[cfg(test)]
mod tests {
    use minutehand_recurrence::{Recurrence, Rule, Timetable};

    use super::*;
    use crate::goes_on::GoesOn;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(60 * minute, 0).unwrap()
    }

    fn minutely() -> Schedule {
        let rule = serde_json::json!({"frequency": "minute"});
        let rule = Rule::canonical(&Recurrence::from_json(&rule).unwrap()).unwrap();
        Schedule::from(Timetable::new(&rule, None, at(0)).unwrap())
    }

    /// Everything as it should be, and what each change of it comes to.
    #[test]
    fn the_table() {
        let timetable = minutely();
        let good = JobStanding {
            state: JobState::Enabled,
            generation: 3,
            since: at(0),
            timetable: Some(&timetable),
            collection_on_since: Some(at(0)),
            is_paused: false,
        };
        let first = Attempt::first(3, Occurrence::Scheduled { nominal_at: at(60) });
        let retry = Attempt { number: 1, due_at: at(62), ..first.clone() };
        let error = Attempt { role: Role::Error, due_at: at(62), ..first.clone() };
        let run = Attempt::first(1, Occurrence::Run { asked_at: at(60), run_id: String::new() });
        let all = [&first, &retry, &error, &run];
        let none: &[Outage] = &[];
        let check = |what: &str, standing, outages: &[Outage], expected: [_; 4]| {
            let found = all.map(|it| may_start(it, standing, starting(it, it.due_at, outages)));
            assert_eq!(found, expected, "{what}");
        };
        let (ok, changed) = (Ok(()), Err(SkipReason::TimingChanged));
        let (off, not) = (Err(SkipReason::CollectionOff), Err(SkipReason::NotEnabled));
        check("good", Some(good), none, [ok; 4]);
        check("gone", None, none, [Err(SkipReason::Gone); 4]);
        let with = |state| Some(JobStanding { state, ..good });
        check("disabled", with(JobState::Disabled), none, [not, not, not, ok]);
        check("completed", with(JobState::Completed), none, [not, not, ok, ok]);
        check("faulted", with(JobState::Faulted), none, [not, not, ok, ok]);
        let other = Some(JobStanding { generation: 4, ..good });
        check("another timing", other, none, [changed, changed, changed, ok]);
        let other_off = Some(JobStanding { generation: 4, collection_on_since: None, ..good });
        check("another timing, off", other_off, none, [changed, changed, changed, off]);
        let since = |since| Some(JobStanding { collection_on_since: since, ..good });
        let with_on = |on| JobStanding { collection_on_since: Some(on), ..good };
        check("collection off", since(None), none, [off; 4]);
        check("on again between", since(Some(at(61))), none, [off, ok, ok, off]);
        check("on again at the instant", since(Some(at(60))), none, [ok; 4]);
        check("on again as the retry is due", since(Some(at(62))), none, [off, ok, ok, off]);
        check("on again after that", since(Some(at(63))), none, [off; 4]);
        // The timing began within the second of its first occurrence, after the collection was on.
        let cut = |since, on| Some(JobStanding { since, ..with_on(on) });
        let moment = |millis| at(60) + chrono::TimeDelta::milliseconds(millis);
        check("on, then put", cut(moment(300), moment(200)), none, [ok, ok, ok, off]);
        check("put, then on", cut(moment(200), moment(300)), none, [off, ok, ok, off]);
        // Its successor, 01:01, was due at the end of the outage.
        let until = |until| [Outage { from: at(55), until }];
        check("overtaken", Some(good), &until(at(61)), [Err(SkipReason::Overtaken), ok, ok, ok]);
        let over = with(JobState::Completed);
        check("and completed", over, &until(at(61)), [Err(SkipReason::Overtaken), not, ok, ok]);
        check("not quite", Some(good), &until(at(61) - chrono::TimeDelta::seconds(1)), [ok; 4]);
        let [outage] = until(at(61));
        let sent_later = may_start(&first, Some(good), starting(&first, at(62), &[outage]));
        assert_eq!(sent_later, ok, "it was sent when the outage was over");
    }

    #[test]
    fn attempts_at_an_occurrence_with_which_a_job_goes_on_start() {
        let goes_on = GoesOn { at: at(60), generation: 3 };
        let timetable = Schedule { goes_on: Some(goes_on), ..minutely() };
        let good = JobStanding {
            state: JobState::Enabled,
            generation: 5,
            // It was enabled again.
            since: at(90),
            timetable: Some(&timetable),
            collection_on_since: Some(at(0)),
            is_paused: false,
        };
        let first = timetable.attempt(5, at(60));
        let retry = Attempt { number: 1, due_at: at(62), ..first.clone() };
        let error = Attempt { role: Role::Error, due_at: at(62), ..first.clone() };
        let older = Attempt { generation: 2, ..first.clone() };
        let other = Attempt::first(3, Occurrence::Scheduled { nominal_at: at(59) });
        let all = [&first, &retry, &error, &older, &other];
        let check = |what: &str, standing: JobStanding<'_>, expected: [_; 5]| {
            let found = all.map(|it| may_start(it, Some(standing), starting(it, it.due_at, &[])));
            assert_eq!(found, expected, "{what}");
        };
        let (ok, changed) = (Ok(()), Err(SkipReason::TimingChanged));
        let (off, not) = (Err(SkipReason::CollectionOff), Err(SkipReason::NotEnabled));
        check("good", good, [ok, ok, ok, changed, changed]);
        let disabled = JobStanding { state: JobState::Disabled, timetable: None, ..good };
        check("disabled", disabled, [changed; 5]);
        let faulted = JobStanding { state: JobState::Faulted, ..good };
        check("faulted", faulted, [not, not, ok, changed, changed]);
        let was_off = JobStanding { collection_on_since: Some(at(70)), ..good };
        check("collection was off", was_off, [off, ok, ok, changed, changed]);
        let is_off = JobStanding { collection_on_since: None, ..good };
        check("collection off", is_off, [off, off, off, changed, changed]);
    }

    #[test]
    fn what_follows_at_the_last_occurrence_starts_after_the_collection_was_off() {
        let rule = serde_json::json!({"frequency": "minute", "count": 2});
        let rule = Rule::canonical(&Recurrence::from_json(&rule).unwrap()).unwrap();
        let timetable = Schedule::from(Timetable::new(&rule, None, at(0)).unwrap());
        let standing = JobStanding {
            state: JobState::Enabled,
            generation: 3,
            since: at(0),
            timetable: Some(&timetable),
            collection_on_since: Some(at(70)),
            is_paused: false,
        };
        let (ok, off) = (Ok(()), Err(SkipReason::CollectionOff));
        for (minute, number, role, expected) in [
            (0, 1, Role::Main, off),
            (0, 0, Role::Error, off),
            (1, 0, Role::Main, off),
            (1, 1, Role::Main, ok),
            (1, 0, Role::Error, ok),
            (1, 0, Role::Notice, ok),
        ] {
            let attempt = Attempt { role, number, ..timetable.attempt(3, at(minute)) };
            let found = may_start(&attempt, Some(standing), starting(&attempt, at(2), &[]));
            assert_eq!(found, expected, "{minute} {number} {role:?}");
        }
        let run = Occurrence::Run { asked_at: at(1), run_id: String::new() };
        let run = Attempt { number: 1, ..Attempt::first(3, run) };
        assert_eq!(may_start(&run, Some(standing), starting(&run, at(2), &[])), off);
    }

    fn starting<'a>(
        attempt: &Attempt,
        ready_at: DateTime<Utc>,
        outages: &'a [Outage],
    ) -> StartCheck<'a> {
        StartCheck { now: attempt.due_at, ready_at, outages }
    }

    #[test]
    fn a_run_starts_although_its_clock_was_set_back() {
        let asked_at = at(62);
        let run = Attempt::first(3, Occurrence::Run { asked_at, run_id: String::new() });
        // The clock of the one who asked showed less than when the collection was switched on.
        let run = Attempt { due_at: at(60), ..run };
        let retry = Attempt { number: 1, due_at: at(61), ..run.clone() };
        let check = |attempt, on_since| {
            let standing = JobStanding {
                state: JobState::Enabled,
                generation: 3,
                since: at(0),
                timetable: None,
                collection_on_since: Some(on_since),
                is_paused: false,
            };
            may_start(attempt, Some(standing), starting(attempt, at(63), &[]))
        };
        for attempt in [&run, &retry] {
            assert_eq!(check(attempt, asked_at), Ok(()));
            assert_eq!(check(attempt, at(63)), Err(SkipReason::CollectionOff));
        }
    }

    #[test]
    fn a_first_attempt_may_be_too_late_and_nothing_else() {
        let schedule: Schedule =
            "2 maxLateness=60000 1 every=1minute start=1970-01-01T00:00:00Z".parse().unwrap();
        let standing = JobStanding {
            state: JobState::Enabled,
            generation: 3,
            since: at(0),
            timetable: Some(&schedule),
            collection_on_since: Some(at(0)),
            is_paused: false,
        };
        let first = schedule.attempt(3, at(60));
        let retry = Attempt { number: 1, ..first.clone() };
        let error = Attempt { role: Role::Error, ..first.clone() };
        let run = Attempt::first(1, Occurrence::Run { asked_at: at(60), run_id: String::new() });
        let check = |attempt, now| {
            may_start(attempt, Some(standing), StartCheck { now, ready_at: at(60), outages: &[] })
        };
        assert_eq!(check(&first, at(61)), Ok(()));
        let late = at(61) + chrono::TimeDelta::milliseconds(1);
        assert_eq!(check(&first, late), Err(SkipReason::TooLate));
        for other in [&retry, &error, &run] {
            assert_eq!(check(other, late), Ok(()));
        }
        let over = JobStanding { state: JobState::Completed, ..standing };
        let start = |now| StartCheck { now, ready_at: at(60), outages: &[] };
        assert_eq!(may_start(&first, Some(over), start(late)), Err(SkipReason::TooLate));
        assert_eq!(may_start(&first, Some(over), start(at(61))), Err(SkipReason::NotEnabled));
        // Lateness counts from a start that is spread.
        let spread = Attempt { due_at: at(63), ..first.clone() };
        assert_eq!(check(&spread, at(64)), Ok(()));
    }
}
