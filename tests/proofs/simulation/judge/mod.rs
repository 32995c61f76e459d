//! The judge: it assigns an attempt to every occurrence that must fire, and reports what is missing,
//! extra, too early or too late.
//!
//! It computes occurrences by itself, from the documents of jobs and from when they were changed,
//! and asks none of the code that it judges.
//!
//! Accepted of an earlier version that was rolled back to: it does not count an attempt that ended when
//! those did that it has forgotten, and it decides anew what follows a record when a message comes again.
//!
//! Accepted, and so not reported: what something was in the way of until its job's timing changed, or its
//! job was deleted or its collection switched off; a second firing whose first worker died or was not
//! able to record; an attempt that is recorded as lost with its workers counts as made. [`ways`] knows what
//! was in the way, and each run counts the occurrences that are excused by it.
//!
//! Of what the history says was left out, fewer may count as skipped if a change came before their
//! messages, and one may count twice if a sweeper died. The clock of a machine that was set back may
//! show an outage where an occurrence ran.
//!
//! Where the queue loses messages, only what was lost is excused: not the last occurrence of an unchanged job,
//! with its retries, nor a long retry, which are sent again. Where faults are much more frequent, a message
//! may end among the dead letters, and excuses what it asked for.

use std::collections::{BTreeMap, BTreeSet};

use minutehand_domain::attempt::Role;
use minutehand_domain::limits::CollectionLimits;

use crate::simulation::play::Scenario;
use crate::simulation::time::{SECOND, begin_at};
use spec::{Retry, Segment, Spec};

mod calls;
mod chains;
mod changes;
mod clocks;
mod counters;
mod ends;
mod floods;
mod goes_on;
mod hanging;
mod kept;
mod late;
mod limits;
mod missed;
mod notices;
mod opens;
mod overlaps;
mod parts;
mod pauses;
mod pings;
mod processes;
mod quarters;
mod recorded;
mod run;
mod runs;
mod spec;
mod starts;
mod ways;
mod why;
mod zone;

pub(super) use run::{Executed, Later, Row, Run};
pub(super) use why::Question;

/// How long what asks for something else than an attempt may be under way; and a first attempt, while a
/// process of a machine runs.
const LAG: i64 = 400 * SECOND;
/// The longest time between the start check of an attempt and its end.
const TOLERANCE: i64 = SECOND / 4;
/// What is late for a shorter time starts, whatever the reason.
const LATE: i64 = 600 * SECOND;
/// How long after the end of an outage all sweepers and workers know of it: a tick may be lost.
const KNOWN_AFTER: i64 = 200 * SECOND;
/// The first limit where workers die three times as often, so that some messages come back four times.
const LAG_BURST: i64 = 600 * SECOND;
/// The same limit where faults are much more frequent.
const LAG_HARSH: i64 = 1_500 * SECOND;
/// The same limit where messages are lost: a timer looks again after twenty minutes, and that message
/// may be lost as well.
const LAG_LOSSY: i64 = 2_700 * SECOND;
/// A retry that is further away than this waits in a timer.
const LONG: i64 = 900 * SECOND;
/// How long a job that is over is kept.
const KEPT: i64 = 60 * 24 * 3_600 * SECOND;
/// The largest difference between two clocks.
const SKEW: i64 = 10 * SECOND;
/// How often a timer looks at a job with nothing left.
const LOOKS_EVERY: i64 = 1_200 * SECOND;
/// The most retries of an action.
const RETRIES_MAX: u32 = 20;
/// How long before the end of a process, and after the beginning of the next one, a sign of life may be.
const BEAT: i64 = 60 * SECOND;
/// Without a sign of life for longer, there is an outage on one machine.
const BEATS: i64 = 110 * SECOND;
/// How long before its start a job is read, and after its end the attempt is recorded.
const DECIDED_WITHIN: i64 = 10 * SECOND;
/// How long an attempt that took its turn may run without a record.
const LEASE: i64 = 100 * SECOND;
/// How long an attempt that waits keeps its place without looking again.
const PLACE: i64 = 220 * SECOND;
/// How late after its slot an attempt may start, and how long it takes it to do so.
const STARTS_WITHIN: i64 = 6 * SECOND;
/// From reading whose turn it is until the answer is stored.
const READ_WITHIN: i64 = 5 * SECOND;
/// The end of time.
const EVER: i64 = i64::MAX / 4;

/// The faults of a run. Empty if the run is correct.
pub(super) fn judge(run: &Run) -> Vec<String> {
    judge_counted(run).0
}

/// The faults of a run, and what was excused.
pub(super) fn judge_counted(run: &Run) -> (Vec<String>, Excused) {
    begin_at(run.scenario.beginning(run.seed));
    let mut judge = Judge::of(run);
    if run.scenario == Scenario::Pings {
        judge.pings();
        judge.quarters();
        judge.notices();
        judge.pauses();
        judge.kept(&run.kept, usize::eq);
        return (judge.bad, judge.excused);
    }
    if run.scenario == Scenario::Processes {
        judge.processes();
        judge.counters();
        judge.quarters();
        judge.notices();
        judge.pauses();
        judge.kept(&run.kept, usize::eq);
        return (judge.bad, judge.excused);
    }
    judge.early();
    judge.doubled();
    judge.missed();
    // What waits for a turn or a seat waits for minutes.
    if run.scenario != Scenario::Completion {
        judge.late();
    }
    if run.lives.is_empty() {
        judge.signs();
    }
    judge.opens();
    judge.flood();
    judge.starts();
    judge.overlaps();
    judge.overlapped();
    judge.too_many();
    judge.too_many_at_once();
    judge.hanging();
    judge.stale();
    judge.chains();
    judge.notices();
    judge.pauses();
    judge.ends();
    judge.counters();
    judge.quarters();
    judge.left_out();
    judge.runs();
    judge.redriven();
    judge.recorded();
    judge.expiries();
    if run.scenario != Scenario::Completion {
        judge.explained();
    }
    judge.kept(&run.kept, usize::eq);
    if let Some(later) = &run.later {
        // What expires is not taken off.
        judge.kept(&later.kept, usize::le);
        judge.later(later);
    }
    if run.dead_letters > 0 && run.scenario != Scenario::Harsh {
        judge.bad.push(format!("dead letters: {}", run.dead_letters));
    }
    (judge.bad, judge.excused)
}

struct Judge<'a> {
    run: &'a Run,
    segments: Vec<Segment>,
    goes_on: goes_on::GoesOn,
    /// When collections were off.
    offs: BTreeMap<String, Vec<(i64, i64)>>,
    /// Since when they are on, by the clock that switched them on.
    on_since: BTreeMap<String, Option<i64>>,
    /// When collections were switched on, and what the clock showed.
    ons: BTreeMap<String, Vec<(i64, i64)>>,
    /// The limits of collections, and since when.
    limits: BTreeMap<String, Vec<(i64, CollectionLimits)>>,
    /// The retries of failure actions, by collection. A collection has one from the beginning or not
    /// at all.
    notices: BTreeMap<String, Retry>,
    executed: BTreeMap<Key, &'a Executed>,
    fired: BTreeSet<Key>,
    /// When retries of the action that were called were due.
    due_of_retries: BTreeMap<String, i64>,
    /// The retry policies that jobs had, and since when.
    policies: BTreeMap<String, Vec<(i64, Spec)>>,
    /// When jobs were deleted, alone or with their collection.
    gone: BTreeMap<String, i64>,
    lag: i64,
    /// Later events are not judged.
    horizon: i64,
    excused: Excused,
    bad: Vec<String>,
}

/// The occurrences of a run that were owed, and how many of them the judge excused from running, by cause.
#[derive(Debug, Clone, Default)]
pub(super) struct Excused {
    pub(super) owed: u32,
    pub(super) causes: BTreeMap<&'static str, u32>,
}

impl Excused {
    pub(super) fn count(&self) -> u32 {
        self.causes.values().sum()
    }

    /// Fails if more than so many of a thousand occurrences are excused.
    #[track_caller]
    pub(super) fn assert_at_most(&self, of_a_thousand: u32) {
        let (count, owed) = (u64::from(self.count()), u64::from(self.owed));
        assert!(count * 1_000 <= owed * u64::from(of_a_thousand), "excuses too much: {self}");
    }

    pub(super) fn add(&mut self, other: Self) {
        self.owed += other.owed;
        for (cause, count) in other.causes {
            *self.causes.entry(cause).or_default() += count;
        }
    }
}

impl std::fmt::Display for Excused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} occurrences are excused {:?}", self.count(), self.owed, self.causes)
    }
}

/// An attempt: job, generation, nominal, role, number.
type Key = (String, u64, i64, Role, u32);

impl<'a> Judge<'a> {
    fn of(run: &'a Run) -> Self {
        let executed = run.executions.iter().filter_map(|it| {
            let key = (it.uid.clone(), it.generation, it.nominal?, it.role, it.number);
            Some((key, it))
        });
        let fired = run.fires.iter().filter_map(|it| {
            Some((it.uid.clone(), it.generation, it.nominal?, it.role, it.number))
        });
        let retried = run.fires.iter().filter(|it| it.role == Role::Main && it.number > 0);
        let due_of_retries = retried.filter_map(|it| Some((it.execution_id.clone(), it.due?)));
        let mut judge = Self {
            run,
            segments: Vec::new(),
            goes_on: BTreeMap::new(),
            offs: BTreeMap::new(),
            on_since: BTreeMap::new(),
            ons: BTreeMap::new(),
            limits: BTreeMap::new(),
            notices: BTreeMap::new(),
            executed: executed.collect(),
            fired: fired.collect(),
            due_of_retries: due_of_retries.collect(),
            policies: BTreeMap::new(),
            gone: BTreeMap::new(),
            lag: match run.scenario {
                // Many runs at once wait for their slots or seats, and others behind them.
                Scenario::Harsh
                | Scenario::Limits
                | Scenario::Seats
                | Scenario::Hanging
                | Scenario::Completion => LAG_HARSH,
                Scenario::Lossy | Scenario::Parts => LAG_LOSSY,
                Scenario::Burst => LAG_BURST,
                Scenario::Mixed
                | Scenario::Again
                | Scenario::Outage
                | Scenario::Policies
                | Scenario::Overlap
                | Scenario::Gone
                | Scenario::Upgrade
                | Scenario::Zones
                | Scenario::Pings
                | Scenario::Processes
                | Scenario::Machine => LAG,
            },
            horizon: run.span + run.scenario.tail() * 2 / 3,
            excused: Excused::default(),
            bad: Vec::new(),
        };
        judge.read_changes();
        judge.find_goes_on();
        judge
    }

    /// A name for an instant.
    fn at(at: i64) -> String {
        format!("{}.{:03} s", at / SECOND, at % SECOND / 1_000)
    }
}
