//! The product's decisions, for the model's states.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record};
use minutehand_domain::duration::Span;
use minutehand_domain::firing::limits::{HORIZON, LEASE, Spans};
use minutehand_domain::firing::{
    FollowPolicy, JobProgress, JobStanding, NextStep, OnFailure, StartCheck, check_finished,
    decide_then, may_start, next_step,
};
use minutehand_domain::goes_on::GoesOn;
use minutehand_domain::job::JobState;
use minutehand_domain::recently_counted::{IsCounted, RecentlyCounted};
use minutehand_domain::retry::Retries;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{Claim, ClaimRequest, Claimed};
use minutehand_recurrence::{Recurrence, Rule, Timetable};
use minutehand_store_dynamodb::conditions::{
    CLAIM, COUNT, COUNTED, FINISH, TAKE_OVER, UNDER_CLAIM,
};
use minutehand_store_dynamodb::{ClaimDecision, SeenClaim, decide_claim};

use super::condition::Known;
use super::model::{Id, Item, Phase};

/// The occurrences of the job.
pub(super) const OCCURRENCES: u8 = 2;
/// The retries of each occurrence.
pub(super) const RETRIES: u8 = 1;
const GENERATION: u64 = 1;

/// An instant, in seconds: the occurrences are a minute apart.
pub(super) fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
}

/// When everything happens: after the last occurrence.
pub(super) fn now() -> DateTime<Utc> {
    at(600)
}

pub(super) static SCHEDULE: LazyLock<Schedule> = LazyLock::new(|| {
    let rule = serde_json::json!({"frequency": "minute", "count": OCCURRENCES});
    let rule = Rule::canonical(&Recurrence::from_json(&rule).unwrap()).unwrap();
    Timetable::new(&rule, None, at(0)).unwrap().into()
});

/// The schedule of the job when it is enabled again.
static AGAIN: LazyLock<Schedule> = LazyLock::new(|| {
    let last = 60 * (i64::from(OCCURRENCES) - 1);
    let goes_on = Some(GoesOn { at: at(last), generation: GENERATION });
    Schedule { goes_on, ..SCHEDULE.clone() }
});

impl Phase {
    /// The generation of the timing, since when it holds, and the schedule.
    fn timing(self) -> (u64, DateTime<Utc>, Option<&'static Schedule>) {
        match self {
            Self::On => (GENERATION, at(0), Some(&SCHEDULE)),
            Self::Off => (GENERATION + 1, at(400), None),
            Self::Again => (GENERATION + 2, at(500), Some(&AGAIN)),
        }
    }
}

pub(super) static JOB: LazyLock<JobRef> = LazyLock::new(|| JobRef {
    uid: "j".to_owned(),
    collection_uid: "c".to_owned(),
    key: "k".to_owned(),
});

fn retries() -> Retries {
    Retries::new(u32::from(RETRIES), Span::seconds(30))
}

pub(super) fn attempt(id: Id) -> Attempt {
    let nominal_at = at(60 * i64::from(id.occurrence));
    let first = Attempt::first(GENERATION, Occurrence::Scheduled { nominal_at });
    let due_at = nominal_at + TimeDelta::seconds(31 * i64::from(id.number));
    Attempt { number: u32::from(id.number), due_at, ..first }
}

fn policy() -> FollowPolicy {
    FollowPolicy { retries: retries(), on_failure: OnFailure::default(), horizon: HORIZON }
}

/// The same ending for the same attempt, so that a retry is due at one time. What follows is decided
/// when it is recorded.
pub(super) fn record(id: Id, ok: bool) -> Record {
    let attempt = attempt(id);
    let started_at = attempt.due_at;
    let record = Record {
        started_at,
        ended_at: started_at + TimeDelta::seconds(1),
        outcome: if ok { Outcome::Succeeded } else { Outcome::Failed },
        message: String::new(),
        repeat_count: 1,
        cause: None,
        body_bytes: 0,
        then: None,
    };
    Record { then: Some(decide_then(&attempt, &record, policy())), ..record }
}

/// What the store does about a claim that meets another.
pub(super) enum OnClaim {
    TakeOver { claims: u8 },
    Ended { ok: bool },
    Held,
    Won,
}

pub(super) fn on_claim(id: Id, claim: u8, seen: &Item) -> OnClaim {
    let lease_until = if seen.is_live { now() + LEASE } else { now() - TimeDelta::seconds(1) };
    let seen = SeenClaim {
        claim_id: seen.claim.to_string(),
        lease_until: seen.record.is_none().then_some(lease_until),
        claims: u32::from(seen.claims),
        is_open: false,
        ending: None,
        record: seen.record.map(|ok| record(id, ok)),
    };
    let (job, claim_id) = (JOB.clone(), claim.to_string());
    let claim = Claim { job, attempt: attempt(id), claim_id, lease_until: now() + LEASE };
    match decide_claim(&ClaimRequest { claim, now: now() }, &seen) {
        ClaimDecision::TakeOver { claims } => {
            OnClaim::TakeOver { claims: u8::try_from(claims).unwrap() }
        }
        ClaimDecision::Answer(Claimed::Ended(record)) => {
            OnClaim::Ended { ok: record.outcome == Outcome::Succeeded }
        }
        ClaimDecision::Answer(Claimed::Held { .. } | Claimed::Open(_)) | ClaimDecision::Open => {
            OnClaim::Held
        }
        ClaimDecision::Answer(Claimed::Won | Claimed::Exhausted) => OnClaim::Won,
    }
}

/// The answers of conditions that are asked over and over.
pub(super) struct Answers<T>(BTreeMap<T, bool>);

impl<T: Ord + Copy> Answers<T> {
    pub(super) fn to(questions: impl IntoIterator<Item = T>, answer: impl Fn(T) -> bool) -> Self {
        Self(questions.into_iter().map(|question| (question, answer(question))).collect())
    }

    pub(super) fn of(&self, question: T) -> bool {
        self.0[&question]
    }
}

/// Whether the claim of an attempt in the store is the one that a worker has, or has seen, and whether the
/// attempt has ended.
type Stored = Option<(bool, bool)>;

static OF_ATTEMPTS: LazyLock<Answers<(&str, Stored)>> = LazyLock::new(|| {
    let both = [false, true];
    let stored = both.into_iter().flat_map(|is_it| both.map(|has_ended| Some((is_it, has_ended))));
    let stored: Vec<Stored> = stored.chain([None]).collect();
    let all = [CLAIM, TAKE_OVER, UNDER_CLAIM];
    let questions = all.into_iter().flat_map(|of| stored.iter().map(move |stored| (of, *stored)));
    Answers::to(questions, |(condition, stored)| {
        let mut known = Known::default();
        if let Some((is_it, has_ended)) = stored {
            let claim = if is_it { "mine" } else { "another" };
            known.has("pk", JOB.uid.as_str()).has("claim_id", claim);
            // A lease is that of its claim.
            known.has(if has_ended { "ended_at" } else { "lease_until" }, claim);
        }
        known.asks(":mine", "mine").asks(":seen", "mine").asks(":seen_lease", "mine");
        known.holds(condition)
    })
});

/// Whether the condition of a write holds for an attempt as the store has it, for a worker with a claim, or one
/// that has seen a claim.
pub(super) fn holds_for(condition: &'static str, item: Option<&Item>, claim: u8) -> bool {
    let stored = item.map(|item| (item.claim == claim, item.record.is_some()));
    OF_ATTEMPTS.of((condition, stored))
}

static OF_COUNTERS: LazyLock<Answers<bool>> = LazyLock::new(|| {
    Answers::to([false, true], |is_same| {
        let mut known = Known::default();
        known.has(COUNTED, "list").asks(":as_read", if is_same { "list" } else { "another" });
        known.holds(COUNT)
    })
});

/// Whether counters may be added to.
pub(super) fn may_count(counted: &[Id], as_read: &[Id]) -> bool {
    OF_COUNTERS.of(counted == as_read)
}

/// A phase, the final state, and as what a job is to be finished that was seen in a phase.
type Finishing = (Phase, Option<bool>, Phase, bool);

static OF_JOBS: LazyLock<Answers<Finishing>> = LazyLock::new(|| {
    let phases = [Phase::On, Phase::Off, Phase::Again];
    let outcomes = [None, Some(false), Some(true)];
    let now = phases.into_iter().flat_map(|phase| outcomes.map(|outcome| (phase, outcome)));
    let seen = phases.into_iter().flat_map(|phase| [false, true].map(|to| (phase, to)));
    let seen: Vec<_> = seen.collect();
    let questions = now
        .flat_map(|(phase, outcome)| seen.iter().map(move |(of, to)| (phase, outcome, *of, *to)));
    Answers::to(questions, |(phase, outcome, seen, to)| {
        let generation = |phase: Phase| phase.timing().0.to_string();
        let (is, was) = (generation(phase), generation(seen));
        let mut known = Known::default();
        known.has("generation", is.as_str()).has("version", is);
        known.has("#state", standing(phase, outcome).state.name());
        known.asks(":generation", was.as_str()).asks(":version", was);
        known.asks(":enabled", JobState::Enabled.name());
        known.asks(":state", if to { JobState::Completed } else { JobState::Faulted }.name());
        known.holds(FINISH)
    })
});

/// Whether a job may be finished as decided when it was in a phase.
pub(super) fn may_finish(
    (phase, outcome): (Phase, Option<bool>),
    (seen, to): (Phase, bool),
) -> bool {
    OF_JOBS.of((phase, outcome, seen, to))
}

fn standing(phase: Phase, outcome: Option<bool>) -> JobStanding<'static> {
    let (generation, since, timetable) = phase.timing();
    let state = match (phase, outcome) {
        (Phase::Off, _) => JobState::Disabled,
        (_, None) => JobState::Enabled,
        (_, Some(true)) => JobState::Completed,
        (_, Some(false)) => JobState::Faulted,
    };
    let collection_on_since = Some(at(-1));
    JobStanding { state, generation, since, timetable, collection_on_since, is_paused: false }
}

/// Whether an attempt may start in a job of this state.
pub(super) fn starts(id: Id, phase: Phase, outcome: Option<bool>) -> bool {
    let attempt = attempt(id);
    let start = StartCheck { now: attempt.due_at, ready_at: attempt.due_at, outages: &[] };
    may_start(&attempt, Some(standing(phase, outcome)), start).is_ok()
}

/// Whether what follows an attempt is sent.
pub(super) fn is_current(id: Id, phase: Phase) -> bool {
    standing(phase, None).has(&attempt(id))
}

/// The retry that follows a record.
pub(super) fn retry(id: Id, ok: bool) -> Option<Id> {
    match next_step(&attempt(id), &record(id, ok), policy()) {
        NextStep::Retry(next) => Some(Id { number: u8::try_from(next.number).unwrap(), ..id }),
        NextStep::Nothing | NextStep::ErrorAction(_) | NextStep::Notice(_) => None,
    }
}

/// Whether an attempt is among those that were counted.
pub(super) fn is_counted(counted: &[Id], id: Id) -> bool {
    let mut recently = RecentlyCounted::default();
    for id in counted {
        recently.add(&attempt(*id), Some(record(*id, true).ended_at));
    }
    recently.has(&attempt(id), Some(record(id, true).ended_at)) == IsCounted::Yes
}

/// The state in which the job finishes with these items, if it does; and what is sent again.
///
/// An item is an attempt that has begun, with how it ended; the timers of these attempts wait.
pub(super) fn finishes(
    items: &[(Id, Option<bool>)],
    timers: &[Id],
    phase: Phase,
) -> (Option<bool>, Vec<Id>) {
    let mut executions: Vec<_> =
        items.iter().map(|(id, ended)| (attempt(*id), ended.map(|ok| record(*id, ok)))).collect();
    executions.reverse();
    let pending: Vec<_> = timers.iter().map(|id| attempt(*id)).collect();
    let (generation, since, Some(timetable)) = phase.timing() else { return (None, Vec::new()) };
    let progress = JobProgress {
        timetable,
        generation,
        since,
        retries: retries(),
        on_failure: OnFailure::default(),
        collection_on_since: Some(at(-1)),
        seen_from: at(0),
        executions: &executions,
        pending: &pending,
        known_since: at(-1),
        left_out: &[],
        outages_of_sweepers: &[],
        outages_of_workers: &[],
    };
    let check = check_finished(&progress, now(), &Spans::WORK);
    let resend = check.resend.iter().map(|attempt| Id {
        occurrence: u8::try_from((attempt.occurrence.nominal_at() - at(0)).num_minutes()).unwrap(),
        number: u8::try_from(attempt.number).unwrap(),
    });
    (check.over.map(|state| state == JobState::Completed), resend.collect())
}
