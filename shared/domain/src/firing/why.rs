//! Why an occurrence did not fire, or that it did.
//!
//! The answer is a pure function of what is stored. It looks for the first of these that explains the
//! instant: an attempt that was made or is under way; a timing that did not hold yet; a job that was
//! off or had finished; a recurrence that does not yield the instant; a collection that was off; an
//! outage; an attempt that is still to come. What none of them explains is *lost*, which should not be.

use chrono::{DateTime, TimeDelta, Utc};

use super::next_step::{FollowPolicy, NextStep, OnFailure, next_step};
use super::outage::{LeftOut, LeftOutReason, Outage, is_cost};
use crate::attempt::{Attempt, KEPT_FOR, Occurrence, Outcome, Record, Role};
use crate::job::JobState;
use crate::retry::Retries;
use crate::schedule::Schedule;

/// An attempt that starts later than this after its occurrence is late.
pub const LATE: TimeDelta = TimeDelta::seconds(1);
/// How long an occurrence that is due may wait for its attempt. A timer that finds nothing of it looks
/// again within twenty minutes, and a message may be delivered twenty times.
const WAITS_MAX: TimeDelta = TimeDelta::hours(1);

/// What is known about an occurrence.
#[derive(Debug, Clone, Copy)]
pub struct WhyFacts<'a> {
    /// The instant that is asked about.
    pub at: DateTime<Utc>,
    /// The time now.
    pub now: DateTime<Utc>,
    /// The state of the job.
    pub state: JobState,
    /// Since when the job has its state, start and recurrence.
    pub since: DateTime<Utc>,
    /// When the job finished, if it did.
    pub finished_at: Option<DateTime<Utc>>,
    /// Its occurrences since then; of a disabled job, those that it would have.
    pub timetable: &'a Schedule,
    /// The end of its recurrence, if that has one.
    pub ends_at: Option<DateTime<Utc>>,
    /// Since when its collection is on; `None` if it is off.
    pub collection_on_since: Option<DateTime<Utc>>,
    /// The attempts at the occurrence, in any order, each with its record if it has ended.
    pub attempts: &'a [(Attempt, Option<Record>)],
    /// What was left out around the instant.
    pub left_out: &'a [LeftOut],
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
    /// It is due later.
    NotYet,
    /// Its history is no longer kept.
    HistoryGone,
    /// The start, recurrence or state of the job has changed since.
    TimingChanged {
        /// When it last changed.
        since: DateTime<Utc>,
    },
    /// The job was disabled.
    JobOff {
        /// Since when.
        since: DateTime<Utc>,
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
    /// The collection was off.
    CollectionOff {
        /// When it was switched on again; `None` if it is off.
        until: Option<DateTime<Utc>>,
    },
    /// It fell into an outage, and so did its successor.
    Overtaken {
        /// The outage.
        outage: Outage,
    },
    /// It would have started later than the job allows.
    TooLate {
        /// When it was left out.
        at: DateTime<Utc>,
    },
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
            Self::NotYet => "notYet",
            Self::HistoryGone => "historyGone",
            Self::TimingChanged { .. } => "timingChanged",
            Self::JobOff { .. } => "jobOff",
            Self::JobFinished { .. } => "jobFinished",
            Self::BeforeStart => "beforeStart",
            Self::AfterEnd => "afterEnd",
            Self::CountUsed => "countUsed",
            Self::NotScheduled => "notScheduled",
            Self::CollectionOff { .. } => "collectionOff",
            Self::Overtaken { .. } => "overtaken",
            Self::TooLate { .. } => "tooLate",
            Self::Lost => "lost",
        }
    }
}

/// Explains what became of the occurrence at an instant.
#[must_use]
pub fn why(facts: &WhyFacts<'_>) -> Why {
    by_attempts(facts)
        .or_else(|| by_left_out(facts))
        .or_else(|| by_history(facts))
        .or_else(|| by_timing(facts))
        .or_else(|| by_recurrence(facts))
        .or_else(|| by_collection(facts))
        .or_else(|| by_time(facts))
        .or_else(|| by_outage(facts))
        .unwrap_or_else(|| if may_still_start(facts) { Why::Waiting } else { Why::Lost })
}

/// What the attempts say; `None` if there are none.
fn by_attempts(facts: &WhyFacts<'_>) -> Option<Why> {
    let is_of = |attempt: &Attempt, role| {
        let is_it = matches!(attempt.occurrence, Occurrence::Scheduled { nominal_at }
            if nominal_at == facts.at);
        is_it && attempt.role == role
    };
    let of = |role| facts.attempts.iter().filter(move |(attempt, _)| is_of(attempt, role));
    // A claim of an older generation may stand beside the attempts of this one.
    let (last, record) =
        of(Role::Main).max_by_key(|(attempt, _)| (attempt.generation, attempt.number))?;
    let number = last.number;
    let Some(record) = record else {
        return Some(Why::UnderWay { number });
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
    let goes_on = error.is_none() && record.ended_at >= facts.since && !facts.state.is_final();
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

/// What is recorded to be left out of the job's occurrences for its policies.
fn by_left_out(facts: &WhyFacts<'_>) -> Option<Why> {
    let mut left_out = facts.left_out.iter();
    let it = left_out.find(|it| (it.first..=it.last).contains(&facts.at))?;
    match it.reason {
        LeftOutReason::Outage(outage) => Some(Why::Overtaken { outage }),
        LeftOutReason::TooLate => Some(Why::TooLate { at: it.at }),
    }
}

fn by_history(facts: &WhyFacts<'_>) -> Option<Why> {
    (facts.now - facts.at > KEPT_FOR).then_some(Why::HistoryGone)
}

/// What the state of the job says.
fn by_timing(facts: &WhyFacts<'_>) -> Option<Why> {
    // The anchor of a schedule is cut to whole seconds.
    let begins_at = facts.timetable.iter().next().map_or(facts.since, |it| it.min(facts.since));
    if facts.at < begins_at {
        return Some(Why::TimingChanged { since: facts.since });
    }
    match facts.state {
        JobState::Enabled => None,
        JobState::Disabled => Some(Why::JobOff { since: facts.since }),
        JobState::Completed | JobState::Faulted => facts
            .finished_at
            .filter(|finished| *finished < facts.at)
            .map(|at| Why::JobFinished { at }),
    }
}

/// What the recurrence says; `None` if it yields the instant.
fn by_recurrence(facts: &WhyFacts<'_>) -> Option<Why> {
    let timetable = facts.timetable;
    match timetable.at_or_after(facts.at) {
        Some(found) if found == facts.at => None,
        Some(found) if timetable.iter().next() == Some(found) => Some(Why::BeforeStart),
        Some(_) => Some(Why::NotScheduled),
        None if facts.ends_at.is_some_and(|end| end < facts.at) => Some(Why::AfterEnd),
        None if timetable.runs_once() => Some(Why::NotScheduled),
        None => Some(Why::CountUsed),
    }
}

fn by_collection(facts: &WhyFacts<'_>) -> Option<Why> {
    match facts.collection_on_since {
        None => Some(Why::CollectionOff { until: None }),
        Some(since) if facts.at.max(facts.since) < since => {
            Some(Why::CollectionOff { until: Some(since) })
        }
        Some(_) => None,
    }
}

fn by_time(facts: &WhyFacts<'_>) -> Option<Why> {
    (facts.timetable.start(facts.at) > facts.now).then_some(Why::NotYet)
}

/// The outage for which an occurrence was left out. An occurrence that is older than the
/// outage was sent in it: otherwise there would be an attempt.
fn by_outage(facts: &WhyFacts<'_>) -> Option<Why> {
    let mut known = facts.outages.into_iter().flatten();
    let is_it =
        |outage: &&Outage| facts.at <= outage.until && is_cost(facts.timetable, facts.at, outage);
    let outage = known.find(is_it)?;
    Some(Why::Overtaken { outage: *outage })
}

/// Whether the attempt may still come: it is due only now, or something has not worked since.
fn may_still_start(facts: &WhyFacts<'_>) -> bool {
    let ready_at = facts.at.max(facts.since).max(facts.collection_on_since.unwrap_or(facts.at));
    let limit = ready_at.checked_add_signed(WAITS_MAX).unwrap_or(facts.now);
    facts.now <= limit || facts.beats.into_iter().any(|beat| beat.is_none_or(|beat| beat <= limit))
}

/// The occurrence before an instant, or `None` if there is none.
#[must_use]
pub fn occurrence_before(timetable: &Schedule, at: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let first = timetable.iter().next().filter(|first| *first < at)?;
    let (mut low, mut high) = (first, at);
    // Bounded: the span between the two halves each time, and ends below a second.
    while high - low > TimeDelta::seconds(1) {
        let middle = low + (high - low) / 2;
        match timetable.at_or_after(middle).filter(|found| *found < at) {
            Some(found) => low = found.max(middle),
            None => high = middle,
        }
    }
    timetable.at_or_after(low).filter(|found| *found < at).or(Some(low))
}

#[cfg(test)]
mod tests {
    use recurrence::{Recurrence, Rule, Timetable, WrittenDate};
    use serde_json::json;

    use super::*;
    use crate::duration::Span;

    fn at(text: &str) -> DateTime<Utc> {
        WrittenDate::parse(&format!("2027-01-{text}")).unwrap().instant(None).unwrap()
    }

    /// Daily at 09:00 from the second on, ten times.
    fn daily() -> Schedule {
        let rule = json!({"frequency": "day", "count": 10,
            "schedule": {"hours": [9], "minutes": [0]}});
        let rule = Rule::canonical(&Recurrence::from_json(&rule).unwrap()).unwrap();
        Schedule::from(Timetable::new(&rule, Some(at("02")), at("01")).unwrap())
    }

    fn attempt(number: u32, role: Role) -> Attempt {
        let first = Attempt::first(1, Occurrence::Scheduled { nominal_at: at("05T09:00") });
        Attempt { role, number, ..first }
    }

    fn ended(at: DateTime<Utc>, outcome: Outcome) -> Record {
        let (message, repeat_count) = ("secret".to_owned(), 1);
        Record { started_at: at, ended_at: at, outcome, message, repeat_count, then: None }
    }

    type Change = fn(&mut WhyFacts<'_>);

    fn ask(attempts: &[(Attempt, Option<Record>)], change: Change) -> Why {
        let timetable = daily();
        let mut facts = WhyFacts {
            at: at("05T09:00"),
            now: at("05T12:00"),
            state: JobState::Enabled,
            since: at("01"),
            finished_at: None,
            timetable: &timetable,
            ends_at: None,
            collection_on_since: Some(at("01")),
            left_out: &[],
            attempts,
            retries: Retries::new(2, Span::seconds(300)),
            outages: [&[], &[]],
            beats: [Some(at("05T11:59")); 2],
        };
        change(&mut facts);
        why(&facts)
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
        // Attempts at other occurrences and runs are no answer.
        let mut other = attempt(0, Role::Main);
        other.occurrence = Occurrence::Run { asked_at: at("05T09:00"), run_id: "r".to_owned() };
        assert_eq!(ask(&[(other, Some(ended(at9(0), Succeeded)))], |_| {}), Why::Lost);
    }

    #[test]
    fn without_an_attempt_there_is_a_reason() {
        let cases: [(&str, Change, Why); 17] = [
            ("due just now", |it| it.now = at("05T09:30"), Why::Waiting),
            ("no sweeper since", |it| it.beats[0] = Some(at("05T09:10")), Why::Waiting),
            ("no worker ever", |it| it.beats[1] = None, Why::Waiting),
            ("all works", |_| {}, Why::Lost),
            ("later", |it| it.now = at("05T08:00"), Why::NotYet),
            ("sixty days", |it| it.now = at("05T09:01") + KEPT_FOR, Why::HistoryGone),
            (
                "before the last change",
                |it| it.at = at("01T09:00") - TimeDelta::days(1),
                Why::TimingChanged { since: at("01") },
            ),
            ("off", |it| it.state = JobState::Disabled, Why::JobOff { since: at("01") }),
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
    fn an_outage_explains_all_but_its_last_occurrence() {
        let timetable = daily();
        let outages = [Outage { from: at("05T08:00"), until: at("06T10:00") }];
        let base = WhyFacts {
            at: at("05T09:00"),
            now: at("06T12:00"),
            state: JobState::Enabled,
            since: at("01"),
            finished_at: None,
            timetable: &timetable,
            ends_at: None,
            collection_on_since: Some(at("01")),
            left_out: &[],
            attempts: &[],
            retries: Retries::new(0, Span::seconds(300)),
            outages: [&outages, &[]],
            beats: [Some(at("06T11:59")); 2],
        };
        let overtaken = Why::Overtaken { outage: outages[0] };
        assert_eq!(why(&base), overtaken);
        // It was sent in the outage, although it was due before.
        assert_eq!(why(&WhyFacts { at: at("04T09:00"), ..base }), overtaken);
        // The last one in the outage runs.
        assert_eq!(why(&WhyFacts { at: at("06T09:00"), ..base }), Why::Lost);
        let swapped = WhyFacts { outages: [&[], &outages], ..base };
        assert_eq!(why(&swapped), overtaken);
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
