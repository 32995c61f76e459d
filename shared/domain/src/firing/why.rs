//! Why an occurrence did not fire, or that it did.
//!
//! The answer is a pure function of what is stored. It looks for the first of these that explains the
//! instant: an attempt that was made or is under way; the record of what was left out, which is written
//! before it is; the creation of the job, if it came later; an earlier timing of the job, and what it says;
//! a job that is off or had finished; a recurrence that does not yield the instant; what was left out last;
//! a collection that was off; an attempt that is still to come. What none of them explains is *lost*, which
//! should not be.

use chrono::{DateTime, TimeDelta, Utc};

use super::may_start::SkipReason;
use super::next_step::{FollowPolicy, NextStep, OnFailure, next_step};
use super::outage::{LeftOut, LeftOutReason, Outage, end_beside_outages};
use super::plan::latest_until;
use crate::attempt::{Attempt, Occurrence, Outcome, Record, Role};
use crate::earlier_timing::HeldTiming;
use crate::history_days::HistoryDays;
use crate::job::JobState;
use crate::recent::LastSkip;
use crate::retry::Retries;
use crate::schedule::Schedule;
use crate::tick::TICK;

/// An attempt that starts later than this after its occurrence is late.
pub const LATE: TimeDelta = TimeDelta::seconds(1);
/// How long an occurrence that is due may wait for its attempt. A timer that finds nothing of it looks
/// again within twenty minutes, and a message may be delivered twenty times.
const WAITS_MAX: TimeDelta = TimeDelta::hours(1);
/// Within which time an attempt starts that nothing holds up.
const STARTS_WITHIN: TimeDelta = TimeDelta::minutes(10);

/// What is known about an occurrence.
#[derive(Debug, Clone, Copy)]
pub struct WhyFacts<'a> {
    /// The instant that is asked about.
    pub at: DateTime<Utc>,
    /// The time now.
    pub now: DateTime<Utc>,
    /// For how long history is kept.
    pub history: HistoryDays,
    /// The state of the job.
    pub state: JobState,
    /// When the job was created, if that is known.
    pub created_at: Option<DateTime<Utc>>,
    /// The generation of the job's timing.
    pub generation: u64,
    /// Since when the job has its state, start and recurrence.
    pub since: DateTime<Utc>,
    /// When the job finished, if it did.
    pub finished_at: Option<DateTime<Utc>>,
    /// Its occurrences since then; of a disabled job, those that it would have.
    pub timetable: &'a Schedule,
    /// The earlier timing that held at the instant, as far as it is known.
    pub earlier: Option<&'a HeldTiming>,
    /// The end of its recurrence, if that has one.
    pub ends_at: Option<DateTime<Utc>>,
    /// Since when its collection is on; `None` if it is off.
    pub collection_on_since: Option<DateTime<Utc>>,
    /// The attempts at the occurrence, in any order, each with its record if it has ended.
    pub attempts: &'a [(Attempt, Option<Record>)],
    /// Whether an attempt at its action waits for its slot or a seat.
    pub waits_for_limit: bool,
    /// Whether it waits for a call to an origin that hangs.
    pub waits_for_place: bool,
    /// What was left out around the instant.
    pub left_out: &'a [LeftOut],
    /// What the job left out last.
    pub last_skip: Option<LastSkip>,
    /// The retries of the action.
    pub retries: Retries,
    /// The known outages of sweepers and of workers.
    pub outages: [&'a [Outage]; 2],
    /// The last signs of life of sweepers and of workers.
    pub beats: [Option<DateTime<Utc>>; 2],
}

/// Why an occurrence fired or did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It fired, within a second.
    Fired {
        /// When the attempt started.
        started_at: DateTime<Utc>,
        /// Which attempt it was; 0 is the first.
        number: u32,
    },
    /// It fired, later than that.
    FiredLate {
        /// When the attempt started.
        started_at: DateTime<Utc>,
        /// Which attempt it was; 0 is the first.
        number: u32,
    },
    /// Every attempt failed.
    Failed {
        /// When the last one ended.
        ended_at: DateTime<Utc>,
        /// How many attempts there were.
        attempts: u32,
        /// Whether the error action succeeded; `None` if there is none, or it has not ended.
        error_action: Option<Outcome>,
    },
    /// The last attempt failed, and a retry follows.
    Retrying {
        /// The number of the retry.
        number: u32,
        /// When it is due.
        due_at: DateTime<Utc>,
    },
    /// An attempt is under way.
    UnderWay {
        /// Which attempt it is; 0 is the first.
        number: u32,
    },
    /// It is due, and waits to be sent or for a worker.
    Waiting,
    /// It is due, and waits until its collection lets it start.
    WaitsForLimit,
    /// It is due, and waits because its origin hangs.
    WaitsForPlace,
    /// It is due later.
    NotYet,
    /// The job did not exist yet.
    NotCreated {
        /// When it was created.
        at: DateTime<Utc>,
    },
    /// Its history is no longer kept.
    HistoryGone {
        /// For how long it was.
        history: HistoryDays,
    },
    /// The start, recurrence or state of the job has changed since, and what they were is not known.
    TimingChanged {
        /// When it last changed.
        since: DateTime<Utc>,
    },
    /// The job had another timing, which does not yield the instant.
    OtherTiming {
        /// Until when.
        until: DateTime<Utc>,
    },
    /// The job was changed before an attempt was made.
    Superseded {
        /// When it was changed.
        at: DateTime<Utc>,
    },
    /// The job was disabled.
    JobOff {
        /// Since when.
        since: DateTime<Utc>,
        /// When it was enabled again; `None` if it is disabled.
        until: Option<DateTime<Utc>>,
    },
    /// The job had finished.
    JobFinished {
        /// The time of its end.
        at: DateTime<Utc>,
    },
    /// The recurrence begins later.
    BeforeStart,
    /// The recurrence has ended by its `endTime`.
    AfterEnd,
    /// The occurrences of its `count` are used up.
    CountUsed,
    /// The recurrence does not yield the instant.
    NotScheduled,
    /// The job excludes the date.
    Excluded,
    /// The collection was off.
    CollectionOff {
        /// When it was switched on again; `None` if it is off.
        until: Option<DateTime<Utc>>,
    },
    /// It fell into an outage, and so did its successor.
    Overtaken {
        /// The outage; `None` if it is no longer known.
        outage: Option<Outage>,
    },
    /// It would have started later than the job allows.
    TooLate {
        /// When it was left out, if that is still known.
        at: Option<DateTime<Utc>>,
    },
    /// Another attempt of the job was running, or waited before it.
    Overlap {
        /// When it was left out, if that is still known.
        at: Option<DateTime<Utc>>,
    },
    /// At some moment of the window of its ping nothing could take pings.
    NotWatched,
    /// Nothing explains it.
    Lost,
}

impl Why {
    /// The name for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fired { .. } => "fired",
            Self::FiredLate { .. } => "firedLate",
            Self::Failed { .. } => "failed",
            Self::Retrying { .. } => "retrying",
            Self::UnderWay { .. } => "underWay",
            Self::Waiting => "waiting",
            Self::WaitsForLimit => "waitsForLimit",
            Self::WaitsForPlace => "waitsForPlace",
            Self::NotYet => "notYet",
            Self::NotCreated { .. } => "notCreated",
            Self::HistoryGone { .. } => "historyGone",
            Self::TimingChanged { .. } => "timingChanged",
            Self::OtherTiming { .. } => "otherTiming",
            Self::Superseded { .. } => "superseded",
            Self::JobOff { .. } => "jobOff",
            Self::JobFinished { .. } => "jobFinished",
            Self::BeforeStart => "beforeStart",
            Self::AfterEnd => "afterEnd",
            Self::CountUsed => "countUsed",
            Self::NotScheduled => "notScheduled",
            Self::Excluded => "excluded",
            Self::CollectionOff { .. } => "collectionOff",
            Self::Overtaken { .. } => "overtaken",
            Self::TooLate { .. } => "tooLate",
            Self::Overlap { .. } => "overlap",
            Self::NotWatched => "notWatched",
            Self::Lost => "lost",
        }
    }
}

impl WhyFacts<'_> {
    /// What is explained: the occurrence of the recurrence, or a run if no timing of the job yields the
    /// instant.
    fn explained(&self) -> Option<&Occurrence> {
        let earlier = self.earlier.and_then(|held| held.schedule.as_ref());
        let yields = |schedule: &Schedule| schedule.at_or_after(self.at) == Some(self.at);
        let is_scheduled = yields(self.timetable) || earlier.is_some_and(yields);
        let at = self.attempts.iter().map(|(attempt, _)| &attempt.occurrence);
        let mut of_instant = at.filter(|it| it.nominal_at() == self.at);
        let mut runs = of_instant.clone().filter(|_| !is_scheduled);
        let occurrence = of_instant.find(|it| matches!(it, Occurrence::Scheduled { .. }));
        occurrence.or_else(|| runs.next())
    }
}

/// Explains what became of the occurrence at an instant, or of a run that was asked for then.
#[must_use]
pub fn why(facts: &WhyFacts<'_>) -> Why {
    if facts.waits_for_limit {
        return Why::WaitsForLimit;
    }
    if facts.waits_for_place {
        return Why::WaitsForPlace;
    }
    by_attempts(facts)
        .or_else(|| by_left_out(facts))
        .or_else(|| by_creation(facts))
        .or_else(|| by_history(facts))
        .or_else(|| by_earlier_timing(facts))
        .or_else(|| by_state(facts))
        .or_else(|| by_recurrence(facts))
        .or_else(|| by_last_skip(facts))
        .or_else(|| by_collection(facts, fell_due_since(facts)))
        .or_else(|| by_time(facts))
        .unwrap_or_else(|| {
            if may_start_at(facts, facts.since, facts.now) { Why::Waiting } else { Why::Lost }
        })
}

/// What the attempts say; `None` if there are none.
fn by_attempts(facts: &WhyFacts<'_>) -> Option<Why> {
    let explained = facts.explained()?;
    let is_run = matches!(explained, Occurrence::Run { .. });
    let is_of = |attempt: &Attempt, role| attempt.occurrence == *explained && attempt.role == role;
    let of = |role| facts.attempts.iter().filter(move |(attempt, _)| is_of(attempt, role));
    // A claim of an older generation may stand beside the attempts of this one.
    let (last, record) =
        of(Role::Main).max_by_key(|(attempt, _)| (attempt.generation, attempt.number))?;
    let number = last.number;
    let Some(record) = record else {
        // A worker that left it out may have died before it released its claim.
        let left_out = if number == 0 && !is_run { by_left_out(facts) } else { None };
        return left_out.or(Some(Why::UnderWay { number }));
    };
    if record.outcome == Outcome::Succeeded {
        let started_at = record.started_at;
        let is_late = started_at - facts.at > LATE;
        return Some(if is_late {
            Why::FiredLate { started_at, number }
        } else {
            Why::Fired { started_at, number }
        });
    }
    let error = of(Role::Error).max_by_key(|(attempt, _)| (attempt.generation, attempt.number));
    // A change of the timing drops the retries that are pending, and so does the end of the job.
    let is_current = is_run || record.ended_at >= facts.since || goes_on(facts);
    let goes_on = error.is_none() && is_current && !facts.state.is_final();
    let policy = FollowPolicy {
        retries: facts.retries,
        on_failure: OnFailure::default(),
        horizon: TimeDelta::MAX,
    };
    if let NextStep::Retry(next) = next_step(last, record, policy)
        && goes_on
    {
        return Some(Why::Retrying { number: next.number, due_at: next.due_at });
    }
    let error_action = error.and_then(|(_, record)| record.as_ref()).map(|record| record.outcome);
    Some(Why::Failed { ended_at: record.ended_at, attempts: number + 1, error_action })
}

/// Whether the job goes on with the occurrence, which is of an earlier timing.
fn goes_on(facts: &WhyFacts<'_>) -> bool {
    facts.timetable.goes_on.is_some_and(|it| it.at == facts.at)
}

/// From when on the occurrence may have fallen due. One with which the job goes on did so under an earlier
/// timing.
fn fell_due_since(facts: &WhyFacts<'_>) -> DateTime<Utc> {
    if goes_on(facts) { facts.at } else { facts.since }
}

/// What is recorded to be left out, for an outage or a policy of the job.
fn by_left_out(facts: &WhyFacts<'_>) -> Option<Why> {
    let earlier = facts.earlier.and_then(|it| Some((it.generation, it.schedule.as_ref()?)));
    let now = (facts.at >= begins_at(facts)).then_some((facts.generation, facts.timetable));
    // What is left out is stored as a range, in which there are other instants. Its ends are occurrences;
    // the timing that held at the instant tells which others are, if the range is of that timing. If the
    // clock had shown the instant before and was set back, an earlier timing held at it, and the one of now.
    let is_within = |it: &&LeftOut| {
        earlier.iter().chain(&now).any(|(generation, schedule)| {
            it.contains(*generation, facts.at) && schedule.at_or_after(facts.at) == Some(facts.at)
        })
    };
    let mut left_out = facts.left_out.iter();
    let it = left_out.find(|it| [it.first, it.last].contains(&facts.at) || is_within(it))?;
    match it.reason {
        LeftOutReason::Outage(outage) => Some(Why::Overtaken { outage: Some(outage) }),
        LeftOutReason::TooLate => Some(Why::TooLate { at: Some(it.at) }),
        LeftOutReason::Overlap => Some(Why::Overlap { at: Some(it.at) }),
        LeftOutReason::NotWatched => Some(Why::NotWatched),
    }
}

fn by_creation(facts: &WhyFacts<'_>) -> Option<Why> {
    // The anchor of a schedule, which may be the first occurrence, is cut to whole seconds.
    let created = facts.created_at.filter(|at| facts.at.timestamp() < at.timestamp());
    created.map(|at| Why::NotCreated { at })
}

fn by_history(facts: &WhyFacts<'_>) -> Option<Why> {
    let history = facts.history;
    (facts.at < history.answered_since(facts.now)).then_some(Why::HistoryGone { history })
}

/// From when on the timing of the job holds.
fn begins_at(facts: &WhyFacts<'_>) -> DateTime<Utc> {
    if facts.timetable.goes_on.is_some() && !goes_on(facts) {
        return facts.since;
    }
    // The anchor of a schedule is cut to whole seconds.
    facts.timetable.iter().next().map_or(facts.since, |it| it.min(facts.since))
}

/// What an earlier timing says of an instant before the one that the job has.
fn by_earlier_timing(facts: &WhyFacts<'_>) -> Option<Why> {
    if facts.at >= begins_at(facts) {
        return None;
    }
    let Some(HeldTiming { since, until, schedule, .. }) = facts.earlier else {
        return Some(Why::TimingChanged { since: facts.since });
    };
    let Some(schedule) = schedule else {
        return Some(Why::JobOff { since: *since, until: Some(*until) });
    };
    if schedule.excludes(facts.at) {
        return Some(Why::Excluded);
    }
    if schedule.at_or_after(facts.at) != Some(facts.at) {
        return Some(Why::OtherTiming { until: *until });
    }
    let superseded = |is_it: bool| is_it.then_some(Why::Superseded { at: *until });
    let soon = schedule.start(facts.at).max(*since).checked_add_signed(STARTS_WITHIN)?;
    let why = by_last_skip(facts)
        .or_else(|| superseded(*until <= soon))
        .or_else(|| by_collection(facts, *since))
        .or_else(|| superseded(may_start_at(facts, *since, *until)));
    Some(why.unwrap_or(Why::Lost))
}

/// What the state of the job says.
fn by_state(facts: &WhyFacts<'_>) -> Option<Why> {
    match facts.state {
        JobState::Enabled => None,
        JobState::Disabled => Some(Why::JobOff { since: facts.since, until: None }),
        JobState::Completed | JobState::Faulted => facts
            .finished_at
            .filter(|finished| *finished < facts.at)
            .map(|at| Why::JobFinished { at }),
    }
}

/// What the recurrence says; `None` if it yields the instant.
fn by_recurrence(facts: &WhyFacts<'_>) -> Option<Why> {
    let timetable = facts.timetable;
    if timetable.excludes(facts.at) {
        return Some(Why::Excluded);
    }
    match timetable.at_or_after(facts.at) {
        Some(found) if found == facts.at => None,
        Some(found) if timetable.iter().next() == Some(found) => Some(Why::BeforeStart),
        Some(_) => Some(Why::NotScheduled),
        None if facts.ends_at.is_some_and(|end| end < facts.at) => Some(Why::AfterEnd),
        None if timetable.runs_once() => Some(Why::NotScheduled),
        None => Some(Why::CountUsed),
    }
}

/// What the job counted as left out last.
fn by_last_skip(facts: &WhyFacts<'_>) -> Option<Why> {
    let skip = facts.last_skip?;
    // Between two occurrences that were left out there may be others that a change of the timing has dropped.
    // Each that was left out has a row, except while the collection was off.
    let is_among = match skip.reason {
        SkipReason::CollectionOff => (skip.first..=skip.last).contains(&facts.at),
        _ => [skip.first, skip.last].contains(&facts.at),
    };
    if !is_among {
        return None;
    }
    match skip.reason {
        SkipReason::CollectionOff => Some(Why::CollectionOff { until: facts.collection_on_since }),
        SkipReason::TooLate => Some(Why::TooLate { at: None }),
        SkipReason::Overlap => Some(Why::Overlap { at: None }),
        SkipReason::NotWatched => Some(Why::NotWatched),
        SkipReason::Overtaken => Some(Why::Overtaken { outage: None }),
        // They say no more than the job itself.
        SkipReason::Gone | SkipReason::TimingChanged | SkipReason::NotEnabled => None,
    }
}

/// What the switch of the collection says of an occurrence of a timing that holds since an instant.
fn by_collection(facts: &WhyFacts<'_>, since: DateTime<Utc>) -> Option<Why> {
    match facts.collection_on_since {
        None => Some(Why::CollectionOff { until: None }),
        Some(on_since) if facts.at.max(since) < on_since => {
            Some(Why::CollectionOff { until: Some(on_since) })
        }
        Some(_) => None,
    }
}

fn by_time(facts: &WhyFacts<'_>) -> Option<Why> {
    (facts.timetable.start(facts.at) > facts.now).then_some(Why::NotYet)
}

/// From when on an attempt could start. `since` is when its timing began.
fn ready_at(facts: &WhyFacts<'_>, since: DateTime<Utc>) -> DateTime<Utc> {
    facts.at.max(since).max(facts.collection_on_since.unwrap_or(facts.at))
}

/// Whether an attempt may have been still to come at an instant: it was due only shortly before, or
/// something had not worked since. `since` is when its timing began.
fn may_start_at(facts: &WhyFacts<'_>, since: DateTime<Utc>, instant: DateTime<Utc>) -> bool {
    let outages = facts.outages.into_iter().flatten();
    let limit = end_beside_outages(ready_at(facts, since), WAITS_MAX, outages);
    instant <= limit || facts.beats.into_iter().any(|beat| beat.is_none_or(|beat| beat <= limit))
}

/// The occurrence before an instant, or `None` if there is none.
#[must_use]
pub fn occurrence_before(timetable: &Schedule, at: DateTime<Utc>) -> Option<DateTime<Utc>> {
    latest_until(timetable, timetable.iter().next()?, at.checked_sub_signed(TICK)?)
}

#[cfg(test)]
mod tests {
    use minutehand_recurrence::{Recurrence, Rule, Start, Timetable, WrittenDate};
    use serde_json::json;

    use super::*;
    use crate::duration::Span;
    use crate::goes_on::GoesOn;

    fn at(text: &str) -> DateTime<Utc> {
        WrittenDate::parse(&format!("2027-01-{text}")).unwrap().instant(None).unwrap()
    }

    /// Daily at 09:00 from the second on, ten times.
    fn daily() -> Schedule {
        daily_since(at("01"))
    }

    /// The same, of a timing that began at an instant.
    fn daily_since(since: DateTime<Utc>) -> Schedule {
        let rule = json!({"frequency": "day", "count": 10,
            "schedule": {"hours": [9], "minutes": [0]}});
        let rule = Rule::canonical(&Recurrence::from_json(&rule).unwrap()).unwrap();
        Schedule::from(Timetable::resumed(&rule, Start::Given(at("02")), since, 0).unwrap())
    }

    /// What an outage cost, as it is recorded at its end.
    fn cost(
        first: DateTime<Utc>,
        last: DateTime<Utc>,
        occurrences: u64,
        outage: Outage,
    ) -> LeftOut {
        let (reason, at) = (LeftOutReason::Outage(outage), outage.until);
        LeftOut { generation: 1, first, last, occurrences, reason, at }
    }

    fn attempt(number: u32, role: Role) -> Attempt {
        let first = Attempt::first(1, Occurrence::Scheduled { nominal_at: at("05T09:00") });
        Attempt { role, number, ..first }
    }

    fn ended(at: DateTime<Utc>, outcome: Outcome) -> Record {
        Record::new([at; 2], outcome, "secret")
    }

    const SIXTY: HistoryDays = HistoryDays::Sixty;

    type Change = fn(&mut WhyFacts<'_>);

    /// Of the fifth at noon: nothing is known of an attempt, and everything works.
    fn facts(timetable: &Schedule) -> WhyFacts<'_> {
        WhyFacts {
            at: at("05T09:00"),
            now: at("05T12:00"),
            history: SIXTY,
            state: JobState::Enabled,
            created_at: None,
            generation: 1,
            since: at("01"),
            finished_at: None,
            timetable,
            earlier: None,
            ends_at: None,
            collection_on_since: Some(at("01")),
            left_out: &[],
            last_skip: None,
            attempts: &[],
            waits_for_limit: false,
            waits_for_place: false,
            retries: Retries::new(2, Span::seconds(300)),
            outages: [&[], &[]],
            beats: [Some(at("05T11:59")); 2],
        }
    }

    #[test]
    fn a_claim_that_was_not_released_does_not_hide_that_its_occurrence_was_left_out() {
        let timetable = daily();
        let outage = Outage { from: at("05T08:00"), until: at("05T10:00") };
        let left_out = [cost(at("05T09:00"), at("05T09:00"), 1, outage)];
        let claimed = [(attempt(0, Role::Main), None)];
        let facts = WhyFacts { attempts: &claimed, left_out: &left_out, ..facts(&timetable) };
        assert_eq!(why(&facts), Why::Overtaken { outage: Some(outage) });
    }

    fn ask(attempts: &[(Attempt, Option<Record>)], change: Change) -> Why {
        let timetable = daily();
        let mut facts = WhyFacts { attempts, ..facts(&timetable) };
        change(&mut facts);
        why(&facts)
    }

    #[test]
    fn what_fell_due_before_its_collection_was_on_does_not_wait_when_its_job_goes_on() {
        let goes_on = GoesOn { at: at("05T09:00"), generation: 1 };
        let over: Schedule = "1 once start=2027-01-07T00:00:00Z".parse().unwrap();
        let timetable = Schedule { goes_on: Some(goes_on), ..over };
        let ask = |on_since| {
            let (since, now) = (at("07"), at("07T00:30"));
            why(&WhyFacts {
                now,
                generation: 3,
                since,
                collection_on_since: Some(on_since),
                beats: [Some(now); 2],
                ..facts(&timetable)
            })
        };
        let on_since = at("05T09:01");
        assert_eq!(ask(on_since), Why::CollectionOff { until: Some(on_since) });
        assert_eq!(ask(at("05T09:00")), Why::Waiting);
    }

    #[test]
    fn attempts_speak_first() {
        use Outcome::{Failed, Succeeded};
        let main = |number, second: i64, outcome| {
            let at = at("05T09:00") + TimeDelta::seconds(second);
            (attempt(number, Role::Main), Some(ended(at, outcome)))
        };
        let error = |outcome| (attempt(0, Role::Error), Some(ended(at("05T09:20"), outcome)));
        let at9 = |second| at("05T09:00") + TimeDelta::seconds(second);
        let failed = |attempts, second, error_action| Why::Failed {
            ended_at: at9(second),
            attempts,
            error_action,
        };
        for (attempts, expected) in [
            (vec![main(0, 1, Succeeded)], Why::Fired { started_at: at9(1), number: 0 }),
            (vec![main(0, 2, Succeeded)], Why::FiredLate { started_at: at9(2), number: 0 }),
            (
                vec![main(1, 300, Succeeded), main(0, 0, Failed)],
                Why::FiredLate { started_at: at9(300), number: 1 },
            ),
            (vec![(attempt(0, Role::Main), None)], Why::UnderWay { number: 0 }),
            (vec![main(0, 0, Failed), (attempt(1, Role::Main), None)], Why::UnderWay { number: 1 }),
            (vec![main(0, 0, Failed)], Why::Retrying { number: 1, due_at: at9(300) }),
            (vec![main(2, 600, Failed)], failed(3, 600, None)),
            (vec![main(2, 600, Failed), error(Succeeded)], failed(3, 600, Some(Succeeded))),
            (vec![main(2, 600, Failed), error(Failed)], failed(3, 600, Some(Failed))),
            (vec![main(2, 600, Failed), (attempt(0, Role::Error), None)], failed(3, 600, None)),
        ] {
            assert_eq!(ask(&attempts, |_| {}), expected, "{attempts:?}");
        }
        // A change of the timing, and the end of the job, drop retries.
        let one = [main(0, 0, Failed)];
        assert_eq!(ask(&one, |facts| facts.since = at("05T09:01")), failed(1, 0, None));
        assert_eq!(ask(&one, |facts| facts.state = JobState::Faulted), failed(1, 0, None));
        // Attempts at other occurrences, and runs, say nothing of this one.
        let mut other = attempt(0, Role::Main);
        other.occurrence = Occurrence::Run { asked_at: at("05T09:00"), run_id: "r".to_owned() };
        assert_eq!(ask(&[(other, Some(ended(at9(0), Succeeded)))], |_| {}), Why::Lost);
    }

    #[test]
    fn a_run_is_explained_by_its_own_attempts() {
        let run = |number| {
            let (asked_at, run_id) = (at("05T10:00"), "r".to_owned());
            let first = Attempt::first(1, Occurrence::Run { asked_at, run_id });
            Attempt { number, ..first }
        };
        let failed = |number: u32| {
            let ended_at = at("05T10:00") + TimeDelta::seconds(i64::from(number) * 300);
            (run(number), Some(ended(ended_at, Outcome::Failed)))
        };
        let ask = |attempts: &[_]| {
            ask(attempts, |facts| {
                facts.at = at("05T10:00");
                // A change of the timing does not drop the retries of a run.
                facts.since = at("05T11:00");
            })
        };
        let done = [(run(0), Some(ended(at("05T10:00"), Outcome::Succeeded)))];
        let fired = Why::Fired { started_at: at("05T10:00"), number: 0 };
        assert_eq!(ask(&done), fired);
        let retrying = Why::Retrying { number: 1, due_at: at("05T10:05") };
        assert_eq!(ask(&[failed(0)]), retrying);
        let over = Why::Failed { ended_at: at("05T10:10"), attempts: 3, error_action: None };
        assert_eq!(ask(&[failed(0), failed(1), failed(2)]), over);
    }

    #[test]
    fn without_an_attempt_there_is_a_reason() {
        let cases: [(&str, Change, Why); 19] = [
            ("its collection has limits", |it| it.waits_for_limit = true, Why::WaitsForLimit),
            ("its origin hangs", |it| it.waits_for_place = true, Why::WaitsForPlace),
            ("due just now", |it| it.now = at("05T09:30"), Why::Waiting),
            ("no sweeper since", |it| it.beats[0] = Some(at("05T09:10")), Why::Waiting),
            ("no worker ever", |it| it.beats[1] = None, Why::Waiting),
            ("all works", |_| {}, Why::Lost),
            ("later", |it| it.now = at("05T08:00"), Why::NotYet),
            (
                "sixty days",
                |it| it.now = at("05T09:01") + SIXTY.span(),
                Why::HistoryGone { history: SIXTY },
            ),
            (
                "before the last change",
                |it| it.at = at("01T09:00") - TimeDelta::days(1),
                Why::TimingChanged { since: at("01") },
            ),
            (
                "off",
                |it| it.state = JobState::Disabled,
                Why::JobOff { since: at("01"), until: None },
            ),
            (
                "finished",
                |it| {
                    it.state = JobState::Completed;
                    it.finished_at = Some(at("04T09:00"));
                },
                Why::JobFinished { at: at("04T09:00") },
            ),
            ("no such time", |it| it.at = at("05T09:30"), Why::NotScheduled),
            ("before the start", |it| it.at = at("01T09:00"), Why::BeforeStart),
            (
                "count",
                |it| {
                    it.at = at("12T09:00");
                    it.now = at("13");
                },
                Why::CountUsed,
            ),
            (
                "end",
                |it| {
                    it.at = at("12T09:00");
                    it.ends_at = Some(at("11T10:00"));
                    it.now = at("13");
                },
                Why::AfterEnd,
            ),
            (
                "collection off",
                |it| it.collection_on_since = None,
                Why::CollectionOff { until: None },
            ),
            (
                "collection was off",
                |it| it.collection_on_since = Some(at("05T10:00")),
                Why::CollectionOff { until: Some(at("05T10:00")) },
            ),
            (
                "collection back before",
                |it| it.collection_on_since = Some(at("05T09:00")),
                Why::Lost,
            ),
            ("job back before", |it| it.since = at("05T08:59"), Why::Lost),
        ];
        for (name, change, expected) in cases {
            assert_eq!(ask(&[], change), expected, "{name}");
        }
    }

    #[test]
    fn before_a_job_there_was_no_timing() {
        let cases: [(&str, Change, Why); 4] = [
            (
                "before the job",
                |it| {
                    it.at = at("01T09:00") - TimeDelta::days(1);
                    it.created_at = Some(at("01"));
                },
                Why::NotCreated { at: at("01") },
            ),
            (
                "long before the job",
                |it| {
                    it.at = at("01") - SIXTY.span();
                    it.created_at = Some(at("01"));
                },
                Why::NotCreated { at: at("01") },
            ),
            (
                "in the second of its creation",
                |it| {
                    it.at = at("01T09:00");
                    it.created_at = Some(at("01T09:00:00.7"));
                },
                Why::BeforeStart,
            ),
            (
                "between its creation and the last change",
                |it| {
                    it.at = at("01T09:00") - TimeDelta::days(1);
                    it.created_at = Some(at("01T09:00") - TimeDelta::days(2));
                },
                Why::TimingChanged { since: at("01") },
            ),
        ];
        for (name, change, expected) in cases {
            assert_eq!(ask(&[], change), expected, "{name}");
        }
    }

    #[test]
    fn an_outage_is_the_reason_of_what_is_recorded_with_it() {
        let timetable = daily();
        let outages = [Outage { from: at("04T08:00"), until: at("06T10:00") }];
        let left_out = [cost(at("04T09:00"), at("05T09:00"), 2, outages[0])];
        let facts = WhyFacts {
            now: at("06T12:00"),
            left_out: &left_out,
            beats: [Some(at("06T11:59")); 2],
            ..facts(&timetable)
        };
        let overtaken = Why::Overtaken { outage: Some(outages[0]) };
        assert_eq!(why(&facts), overtaken);
        assert_eq!(why(&WhyFacts { at: at("04T09:00"), ..facts }), overtaken);
        assert_eq!(why(&WhyFacts { at: at("03T09:00"), ..facts }), Why::Lost);
        assert_eq!(why(&WhyFacts { at: at("06T09:00"), ..facts }), Why::Lost);
        // An outage that became known after its occurrences had run cost nothing.
        for outages in [[&outages[..], &[]], [&[], &outages[..]]] {
            let recorded = WhyFacts { outages, ..facts };
            assert_eq!(why(&recorded), overtaken);
            let now = at("07");
            assert_eq!(why(&WhyFacts { left_out: &[], outages, now, ..facts }), Why::Lost);
        }
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "it is a table")]
    fn an_instant_before_the_last_change_is_explained_by_the_timing_of_then() {
        let (since, until) = (at("03"), at("06T10:00"));
        let on = HeldTiming { generation: 1, since, until, schedule: Some(daily()) };
        let off = HeldTiming { schedule: None, ..on.clone() };
        let sudden = HeldTiming { until: at("06T09:01"), ..on.clone() };
        let timetable = daily_since(until);
        let outage = [Outage { from: at("05T09:30"), until: at("06T09:30") }];
        let later_outage = [Outage { from: at("06T10:30"), until: at("08T10:00") }];
        let left_out = [cost(at("05T09:00"), at("05T09:00"), 1, outage[0])];
        let skipped = |reason| Some(LastSkip::one(at("05T09:00"), reason));
        let between = |reason| LastSkip {
            first: at("05T09:00"),
            last: at("07T09:00"),
            occurrences: 2,
            reason,
        };
        let base = WhyFacts {
            now: at("07"),
            generation: 2,
            since: until,
            earlier: Some(&on),
            beats: [Some(at("06T23:59")); 2],
            ..facts(&timetable)
        };
        for (name, facts, expected) in [
            (
                "off",
                WhyFacts { earlier: Some(&off), ..base },
                Why::JobOff { since, until: Some(until) },
            ),
            ("unknown", WhyFacts { earlier: None, ..base }, Why::TimingChanged { since: until }),
            ("another time", WhyFacts { at: at("05T10:00"), ..base }, Why::OtherTiming { until }),
            (
                "shortly before",
                WhyFacts { at: at("06T09:00"), ..base },
                Why::Superseded { at: until },
            ),
            ("long before", base, Why::Lost),
            (
                "the collection was off",
                WhyFacts { collection_on_since: Some(at("05T12:00")), ..base },
                Why::CollectionOff { until: Some(at("05T12:00")) },
            ),
            (
                "an outage",
                WhyFacts { left_out: &left_out, at: at("05T09:00"), ..base },
                Why::Overtaken { outage: Some(outage[0]) },
            ),
            (
                "an outage that cost nothing",
                WhyFacts { outages: [&outage, &[]], at: at("05T09:00"), ..base },
                Why::Superseded { at: until },
            ),
            (
                "an outage after it",
                WhyFacts { outages: [&later_outage, &[]], at: at("06T09:00"), ..base },
                Why::Superseded { at: until },
            ),
            (
                "the collection was off, and later",
                WhyFacts { at: at("06T09:00"), collection_on_since: Some(at("06T12:00")), ..base },
                Why::CollectionOff { until: Some(at("06T12:00")) },
            ),
            (
                "changed at once",
                WhyFacts {
                    earlier: Some(&sudden),
                    since: sudden.until,
                    timetable: &daily_since(sudden.until),
                    at: at("06T09:00"),
                    collection_on_since: Some(at("06T12:00")),
                    ..base
                },
                Why::Superseded { at: sudden.until },
            ),
            (
                "no worker since",
                WhyFacts { beats: [Some(at("05T09:10")), base.beats[1]], ..base },
                Why::Superseded { at: until },
            ),
            (
                "left out last",
                WhyFacts { last_skip: skipped(SkipReason::Overtaken), ..base },
                Why::Overtaken { outage: None },
            ),
            (
                "dropped by the change, between two that were left out",
                WhyFacts {
                    last_skip: Some(between(SkipReason::NotWatched)),
                    at: at("06T09:00"),
                    ..base
                },
                Why::Superseded { at: until },
            ),
            (
                "skipped, and the collection was off before and after it",
                WhyFacts {
                    last_skip: Some(between(SkipReason::CollectionOff)),
                    at: at("06T09:00"),
                    ..base
                },
                Why::CollectionOff { until: base.collection_on_since },
            ),
        ] {
            assert_eq!(why(&facts), expected, "{name}");
        }
    }

    #[test]
    fn what_was_left_out_last_explains_what_is_not_known_otherwise() {
        let timetable = daily();
        let skip = |reason| LastSkip {
            first: at("04T09:00"),
            last: at("05T09:00"),
            occurrences: 2,
            reason,
        };
        for (reason, expected) in [
            (SkipReason::Overtaken, Why::Overtaken { outage: None }),
            (SkipReason::TooLate, Why::TooLate { at: None }),
            (SkipReason::CollectionOff, Why::CollectionOff { until: Some(at("01")) }),
            (SkipReason::TimingChanged, Why::Lost),
        ] {
            let facts = WhyFacts { last_skip: Some(skip(reason)), ..facts(&timetable) };
            assert_eq!(why(&facts), expected, "{reason:?}");
            let other = WhyFacts { at: at("03T09:00"), ..facts };
            assert_eq!(why(&other), Why::Lost, "{reason:?}");
        }
    }

    #[test]
    fn an_instant_in_a_range_that_was_left_out_is_no_occurrence() {
        let timetable = daily();
        let outage = Outage { from: at("03"), until: at("05T10:00") };
        let left_out = [cost(at("03T09:00"), at("05T09:00"), 3, outage)];
        let facts = WhyFacts { left_out: &left_out, ..facts(&timetable) };
        assert_eq!(why(&facts), Why::Overtaken { outage: Some(outage) });
        assert_eq!(why(&WhyFacts { at: at("04T10:00"), ..facts }), Why::NotScheduled);
    }

    #[test]
    fn of_a_timing_that_is_forgotten_only_the_ends_of_a_range_are_occurrences() {
        let since = at("06");
        let timetable = daily_since(since);
        let outage = Outage { from: at("03"), until: at("05T10:00") };
        let left_out = [cost(at("03T09:00"), at("05T09:00"), 3, outage)];
        let facts = WhyFacts { generation: 2, since, left_out: &left_out, ..facts(&timetable) };
        for (instant, expected) in [
            ("03T09:00", Why::Overtaken { outage: Some(outage) }),
            ("04T10:00", Why::TimingChanged { since }),
            ("05T09:00", Why::Overtaken { outage: Some(outage) }),
        ] {
            assert_eq!(why(&WhyFacts { at: at(instant), ..facts }), expected, "{instant}");
        }
    }

    /// The clock had shown the fifth before the second timing began on the third.
    #[test]
    fn after_a_clock_was_set_back_a_range_of_an_earlier_timing_has_no_occurrences_of_this_one() {
        let since = at("03T10:00");
        let (timetable, coming) = (daily_since(since), daily_since(at("05T10:00")));
        let outage = Outage { from: at("03"), until: at("05T10:00") };
        let left_out = [cost(at("03T09:00"), at("05T09:00"), 3, outage)];
        let facts = WhyFacts { generation: 2, since, left_out: &left_out, ..facts(&timetable) };
        let overtaken = Why::Overtaken { outage: Some(outage) };
        let later = WhyFacts { timetable: &coming, ..facts };
        for (name, facts, expected) in [
            ("an occurrence of both", WhyFacts { at: at("04T09:00"), ..facts }, Why::Lost),
            ("the last of the range", facts, overtaken),
            ("of none", WhyFacts { at: at("04T10:00"), ..facts }, Why::NotScheduled),
            ("before the start", WhyFacts { at: at("04T10:00"), ..later }, Why::BeforeStart),
        ] {
            assert_eq!(why(&facts), expected, "{name}");
        }
    }

    /// An earlier timing held at the fifth by the clock of then, and this one holds since the third.
    #[test]
    fn after_a_clock_was_set_back_a_range_of_this_timing_explains_what_an_earlier_one_had_too() {
        let (since, until) = (at("03T10:00"), at("06T10:00"));
        let timetable = daily_since(since);
        let earlier = HeldTiming { generation: 1, since: at("01"), until, schedule: Some(daily()) };
        let outage = Outage { from: at("03"), until: at("06T10:00") };
        let range = cost(at("04T09:00"), at("06T09:00"), 3, outage);
        let left_out = [LeftOut { generation: 2, ..range }];
        let facts = WhyFacts {
            generation: 2,
            since,
            earlier: Some(&earlier),
            left_out: &left_out,
            ..facts(&timetable)
        };
        assert_eq!(why(&facts), Why::Overtaken { outage: Some(outage) });
    }

    #[test]
    fn an_outage_is_named_before_a_collection_that_was_off_later_if_it_is_recorded() {
        let timetable = daily();
        let outage = [Outage { from: at("04T08:00"), until: at("05T10:00") }];
        let facts = WhyFacts {
            at: at("04T09:00"),
            outages: [&outage, &[]],
            collection_on_since: Some(at("05T11:00")),
            ..facts(&timetable)
        };
        let left_out = cost(facts.at, facts.at, 1, outage[0]);
        let recorded = WhyFacts { left_out: std::slice::from_ref(&left_out), ..facts };
        assert_eq!(why(&recorded), Why::Overtaken { outage: Some(outage[0]) });
        let off = why(&facts);
        assert_eq!(off, Why::CollectionOff { until: facts.collection_on_since });
        assert_eq!(
            why(&WhyFacts { at: at("05T09:00"), ..facts }),
            Why::CollectionOff { until: facts.collection_on_since }
        );
    }

    #[test]
    fn what_waits_for_the_end_of_an_outage_is_not_lost() {
        let timetable = daily();
        let outage = [Outage { from: at("05T09:30"), until: at("05T11:30") }];
        let facts = WhyFacts {
            outages: [&[], &outage],
            beats: [Some(at("05T12:31")); 2],
            ..facts(&timetable)
        };
        assert_eq!(why(&facts), Why::Waiting);
        assert_eq!(why(&WhyFacts { now: at("05T12:31"), ..facts }), Why::Lost);
    }

    #[test]
    fn an_excluded_date_is_named() {
        let (base, date) = (daily(), at("05").date_naive());
        let exceptions =
            minutehand_recurrence::Exceptions::new(None, [[date, date]], [at("05T12:00")]);
        let timetable = Schedule { exceptions: Some(exceptions.into()), ..base };
        let outcomes = ["05T09:00", "05T12:00", "05T09:30", "06T09:00"].map(|instant| {
            why(&WhyFacts {
                at: at(instant),
                now: at("07"),
                beats: [Some(at("06T23:59")); 2],
                ..facts(&timetable)
            })
        });
        assert_eq!(outcomes, [Why::Excluded, Why::NotScheduled, Why::NotScheduled, Why::Lost]);
    }

    #[test]
    fn the_occurrence_before_an_instant_is_found() {
        let timetable = daily();
        for (instant, before) in [
            ("02T09:00", None),
            ("02T09:00:00.1", Some("02T09:00")),
            ("03T09:00", Some("02T09:00")),
            ("05T12:00", Some("05T09:00")),
            ("28T12:00", Some("11T09:00")),
        ] {
            assert_eq!(occurrence_before(&timetable, at(instant)), before.map(at), "{instant}");
        }
        assert_eq!(occurrence_before(&timetable, at("01")), None);
    }
}
