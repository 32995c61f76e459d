//! The judge: it assigns an attempt to every occurrence that must fire, and reports what is missing,
//! extra, too early or too late.
//!
//! It computes occurrences by itself, from the documents of jobs and from when they were changed,
//! and asks none of the code that it judges.
//!
//! Accepted of an earlier version that was rolled back to: it does not count an attempt that ended when
//! those did that it has forgotten, and it decides anew what follows a record when a message comes again.
//!
//! Accepted, and so not reported: what was due within [`LAG`] before its job's timing changed, or
//! its job was deleted or its collection switched off; a second firing whose first worker died or
//! was not able to record; an attempt that is recorded as lost with its workers counts as made.
//!
//! Where the queue loses messages, the last occurrence of an unchanged job must still happen, with its
//! retries, and so must every long retry: they are sent again. Where faults are much more frequent, a
//! message may end among the dead letters.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::atomic::Ordering::Relaxed;

use chrono::DateTime;
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Role};
use minutehand_domain::job::JobState;
use minutehand_domain::limits::{CollectionLimits, Concurrent, PerSecond};
use minutehand_ports::store::TimerRecord;
use serde_json::{Value, json};

use super::earlier::is_forgotten;
use super::machine::Life;
use super::memory::{Change, Changed, JobItem, Tables};
use super::play::{Outage, QUOTA, Scenario};
use super::time::{SECOND, instant, micros};
use super::why::Explained;
use super::world::{Fire, TurnNote, TurnWhat, World};

mod goes_on;
mod why;

pub(super) use why::Question;

/// An occurrence that is due this shortly before a change may be left out.
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
const LONG: i64 = 840 * SECOND;
/// How long a job that is over is kept.
const KEPT: i64 = 60 * 24 * 3_600 * SECOND;
/// The largest difference between two clocks.
const SKEW: i64 = 10 * SECOND;
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

/// The facts about a run, as the judge knows them.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) scenario: Scenario,
    /// The instant of the last fault.
    pub(super) span: i64,
    pub(super) outage: Option<Outage>,
    pub(super) changes: Vec<Changed>,
    pub(super) fires: Vec<Fire>,
    pub(super) executions: Vec<Executed>,
    /// The jobs that exist at the end.
    pub(super) jobs: Vec<Left>,
    /// Jobs with a retry timer.
    pub(super) retrying: BTreeSet<String>,
    pub(super) dead_letters: usize,
    /// When workers gave their first sign of life.
    pub(super) workers_since: i64,
    /// Packets that were performed.
    pub(super) packets: u64,
    pub(super) runs: Vec<(i64, String, String)>,
    /// The recorded attempts: their execution ids, their end times, and how far the clocks were off.
    pub(super) records: Vec<(String, i64, i64)>,
    /// The processes on one machine, one after the other; empty otherwise.
    pub(super) lives: Vec<Life>,
    /// When the queue of one machine was lost, and computed from the store.
    pub(super) queue_losses: Vec<i64>,
    /// Whether what the queue has lost is sent again.
    pub(super) heals: bool,
    /// How often a message of an attempt was lost.
    pub(super) vanished: BTreeMap<String, u32>,
    /// What was left out.
    pub(super) left_out: Vec<Row>,
    /// The turns of jobs that let no attempts overlap.
    pub(super) turns: Vec<TurnNote>,
    pub(super) kept: Kept,
    /// What the service says of the occurrences; empty if it was not asked.
    pub(super) explained: Vec<Explained>,
    pub(super) ended_at: i64,
    /// The content of the store long after the end.
    pub(super) later: Option<Later>,
}

/// Occurrences that the history says were left out.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) uid: String,
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) reason: &'static str,
    /// When they were left out.
    pub(super) at: i64,
}

/// The content of the store at one instant, without timers and attempts.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    /// Collections, and how many jobs they count.
    pub(super) collections: BTreeMap<String, usize>,
    /// The job definitions of each collection.
    pub(super) definitions: Vec<(String, String)>,
    /// Jobs that have a timer.
    pub(super) timers: BTreeSet<String>,
    /// Collections whose jobs are still to be purged.
    pub(super) purges: usize,
}

/// The content of the store after finished jobs have expired.
#[derive(Debug, Clone)]
pub(super) struct Later {
    pub(super) kept: Kept,
    /// The events of the run, in order.
    pub(super) changes: Vec<Changed>,
    /// Refusals of jobs for which there was room.
    pub(super) refusals: Vec<String>,
}

/// An execution that ended.
#[derive(Debug, Clone)]
pub(super) struct Executed {
    pub(super) uid: String,
    pub(super) generation: u64,
    pub(super) nominal: Option<i64>,
    pub(super) role: Role,
    pub(super) number: u32,
    pub(super) started: i64,
    pub(super) ended: i64,
    /// When by its worker's clock; on one machine it jumps.
    pub(super) ended_clock: i64,
    pub(super) is_success: bool,
    /// Whether the record says what follows.
    pub(super) is_decided: bool,
    /// Whether the memory of an earlier version takes it for counted, though it is not.
    pub(super) is_forgotten: bool,
    pub(super) id: String,
}

/// A job that exists at the end.
#[derive(Debug, Clone)]
pub(super) struct Left {
    pub(super) uid: String,
    pub(super) collection_uid: String,
    pub(super) timer: TimerRecord,
    /// When it is as if it did not exist.
    pub(super) expires_at: Option<i64>,
}

/// The timing and the retry policy of a job, read from its document.
#[derive(Debug, Clone, PartialEq)]
struct Spec {
    start: i64,
    every: Option<i64>,
    count: Option<i64>,
    end: Option<i64>,
    retries: u32,
    interval: i64,
    /// The retries of the error action, if there is one.
    error_action: Option<Retry>,
    /// Of the occurrences of an outage, so many of the latest run.
    made_up: i64,
    /// And only those that are not older than this at its end.
    made_up_within: i64,
    /// How late a first attempt may start.
    lateness_max: Option<i64>,
    /// Within which time after its instant an occurrence starts.
    jitter: i64,
    /// When no occurrence exists: from, until.
    excluded: Vec<(i64, i64)>,
    /// The further occurrences, in order.
    extra: Vec<i64>,
    /// Whether it lets no attempts overlap.
    takes_turns: bool,
    /// After how many failures in a row it pauses.
    pauses_after: Option<u64>,
    /// Whether it says that it is paused.
    is_paused: bool,
}

/// A retry policy.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Retry {
    count: u32,
    interval: i64,
}

/// A period in which a job's timing did not change.
#[derive(Debug, Clone)]
struct Segment {
    uid: String,
    collection_uid: String,
    /// More than one if a change renewed the generation by mistake.
    generations: Vec<u64>,
    spec: Spec,
    since: i64,
    used: i64,
    begins_at: i64,
    ends_at: Option<i64>,
    /// When the job was paused: after its end only if that was the deletion of its collection.
    paused_at: Option<i64>,
    /// The next change of a job that was paused: until then error actions and notices of its failures
    /// still run.
    paused_until: Option<i64>,
}

/// The final state of an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OccurrenceStatus {
    Nothing,
    Open,
    /// Its collection was off.
    Void,
    Ended {
        is_success: bool,
    },
}

/// A duration as it is kept: hours, minutes and seconds.
fn span(text: &str) -> i64 {
    SECOND * text.split(':').fold(0, |sum, part| 60 * sum + part.parse::<i64>().unwrap())
}

impl Retry {
    /// The policy in the document of an action.
    fn of(action: &Value) -> Self {
        let retry = &action["retryPolicy"];
        let interval = span(retry["retryInterval"].as_str().unwrap_or("00:00:30"));
        let count = retry["retryCount"].as_u64().map_or(0, |count| u32::try_from(count).unwrap());
        Self { count, interval }
    }

    fn read(action: &str) -> Self {
        Self::of(&serde_json::from_str(action).unwrap())
    }
}

impl Spec {
    fn read(document: &str) -> Self {
        let document: Value = serde_json::from_str(document).unwrap();
        let at = |value: &Value| {
            value.as_str().map(|text| micros(DateTime::parse_from_rfc3339(text).unwrap().into()))
        };
        let recurrence = &document["recurrence"];
        let Retry { count: retries, interval } = Retry::of(&document["action"]);
        let error_action = &document["action"]["errorAction"];
        let policies = &document["minutehand"];
        let catch_up = &policies["catchUp"];
        let (made_up, made_up_within) = match catch_up["policy"].as_str() {
            Some("none") => (0, EVER),
            Some("all") => {
                (catch_up["max"].as_i64().unwrap(), span(catch_up["window"].as_str().unwrap()))
            }
            Some(_) | None => (1, EVER),
        };
        Self {
            made_up,
            made_up_within,
            lateness_max: policies["maxLateness"].as_str().map(span),
            jitter: policies["jitter"]["window"].as_str().map_or(0, span),
            excluded: excluded(policies, recurrence["timeZone"].as_str()),
            extra: listed(&policies["extraDates"])
                .map(|date| at(&json!(date)).unwrap())
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
            takes_turns: policies["overlap"]["policy"] == "skip",
            start: at(&document["startTime"]).unwrap(),
            every: recurrence["interval"].as_i64().map(|minutes| 60 * SECOND * minutes),
            count: recurrence["count"].as_i64(),
            end: at(&recurrence["endTime"]),
            retries,
            interval,
            error_action: error_action.is_object().then(|| Retry::of(error_action)),
            pauses_after: document["minutehand"]["pauseOnFailure"]["after"].as_u64(),
            is_paused: document["minutehand"]["paused"].is_object(),
        }
    }

    /// Whether another document differs in its action at most.
    fn fires_as(&self, other: &Self) -> bool {
        self.has_rule_of(other)
            && (self.jitter, &self.excluded, &self.extra)
                == (other.jitter, &other.excluded, &other.extra)
    }

    /// Whether another document has the same recurrence, so that its count goes on.
    fn has_rule_of(&self, other: &Self) -> bool {
        (self.start, self.every, self.count, self.end)
            == (other.start, other.every, other.count, other.end)
    }

    fn is_excluded(&self, at: i64) -> bool {
        self.excluded.iter().any(|(from, until)| (*from..*until).contains(&at))
    }
}

fn listed(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap())
}

/// The excluded days of policies. Zones have names such as `Etc/GMT+3`, which is three hours behind.
fn excluded(policies: &Value, zone: Option<&str>) -> Vec<(i64, i64)> {
    let behind = zone.map_or(0, |zone| {
        3_600 * SECOND * zone.strip_prefix("Etc/GMT").unwrap().parse::<i64>().unwrap()
    });
    let midnight = |text: &str| {
        let date: chrono::NaiveDate = text.parse().unwrap();
        micros(date.and_time(chrono::NaiveTime::MIN).and_utc()) + behind
    };
    let days = listed(&policies["exclude"]["dates"]).map(|text| {
        let (first, last) = text.split_once('/').unwrap_or((text, text));
        (midnight(first), midnight(last) + 24 * 3_600 * SECOND)
    });
    days.collect()
}

impl Segment {
    /// The occurrences of the rule and the further ones, but for those that are excluded.
    fn all(&self) -> Box<dyn Iterator<Item = i64> + '_> {
        let Spec { start, every, count, end, .. } = self.spec;
        let Some(every) = every else {
            return Box::new((self.used == 0).then(|| start.max(self.since)).into_iter());
        };
        let skipped = (self.since - start + every - 1).div_euclid(every).max(0);
        let is_in_time = move |at: &i64| end.is_none_or(|end| *at <= end);
        let by_rule = (skipped..).map(move |n| start + n * every).take_while(is_in_time);
        let begins = start.max(self.since);
        let extra = self.spec.extra.iter().copied();
        let extra = extra.filter(move |at| *at >= begins && is_in_time(at));
        let (mut by_rule, mut extra) = (by_rule.peekable(), extra.peekable());
        let merged = std::iter::from_fn(move || {
            let at = by_rule.peek().into_iter().chain(extra.peek()).min().copied()?;
            by_rule.next_if_eq(&at);
            extra.next_if_eq(&at);
            Some(at)
        });
        let left = count.map_or(usize::MAX, |count| usize::try_from(count - self.used).unwrap());
        Box::new(merged.filter(|at| !self.spec.is_excluded(*at)).take(left))
    }

    fn occurrences(&self, until: i64) -> impl Iterator<Item = (i64, Option<i64>)> + '_ {
        let mut all = self.all().peekable();
        std::iter::from_fn(move || all.next().map(|at| (at, all.peek().copied())))
            .take_while(move |(at, _)| *at < until)
    }

    /// The last one, if there is one.
    fn last(&self) -> Option<i64> {
        let ends =
            self.spec.every.is_none() || self.spec.count.is_some() || self.spec.end.is_some();
        if !ends {
            return None;
        }
        self.occurrences(EVER).last().map(|(at, _)| at)
    }

    fn ends_ever(&self) -> bool {
        self.spec.every.is_none() || self.spec.count.is_some() || self.spec.end.is_some()
    }

    /// The number of occurrences that fall due until then.
    fn due_until(&self, at: i64) -> i64 {
        i64::try_from(self.occurrences(at).count()).unwrap()
    }
}

impl Run {
    pub(super) fn of(world: &World, scenario: Scenario, span: i64, outage: Option<Outage>) -> Self {
        let tables = world.memory.tables();
        let jobs = tables.timers.iter().map(|(uid, item)| Left {
            uid: uid.clone(),
            collection_uid: item.collection_uid.clone(),
            timer: item.record.clone(),
            expires_at: item.expires_at.map(micros),
        });
        let records = world.records.lock().unwrap().clone();
        let lives = world.lives.lock().unwrap().clone();
        let skews: BTreeMap<&str, i64> = match lives.as_slice() {
            [] => BTreeMap::new(),
            _ => records.iter().map(|(id, _, skew)| (id.as_str(), *skew)).collect(),
        };
        let mut executions = Vec::new();
        for (uid, of_job) in &tables.executions {
            for item in of_job.values() {
                if let Some(record) = &item.record {
                    let timer = tables.timers.get(uid);
                    let forgets = |it: &JobItem| is_forgotten(it, &item.attempt, record);
                    let is_forgotten = timer.is_some_and(forgets);
                    let executed = Executed::of(uid, &item.attempt, record, &skews);
                    executions.push(Executed { is_forgotten, ..executed });
                }
            }
        }
        Self {
            scenario,
            span,
            outage,
            changes: tables.changes.clone(),
            fires: world.fires.lock().unwrap().clone(),
            executions,
            jobs: jobs.collect(),
            retrying: tables.retries.keys().map(|(uid, _)| uid.clone()).collect(),
            dead_letters: world.sqs.lock().unwrap().dead.len() + world.local_dead_letters(),
            workers_since: world.workers_since.load(Relaxed),
            packets: world.packets.load(Relaxed),
            runs: world.runs.lock().unwrap().clone(),
            heals: world.heals(),
            vanished: world.vanished.lock().unwrap().clone(),
            left_out: tables
                .left_out
                .iter()
                .flat_map(|(uid, rows)| rows.values().map(move |row| (uid, row)))
                .map(|(uid, row)| Row {
                    uid: uid.clone(),
                    first: micros(row.first),
                    last: micros(row.last),
                    reason: row.reason.name(),
                    at: micros(row.at),
                })
                .collect(),
            turns: world.turns.lock().unwrap().clone(),
            records: records.clone(),
            lives,
            queue_losses: world.queue_losses.lock().unwrap().clone(),
            kept: Kept::of(&tables),
            explained: Vec::new(),
            ended_at: world.time.now(),
            later: None,
        }
    }
}

impl Kept {
    fn of(tables: &Tables) -> Self {
        let collections = tables
            .collections
            .values()
            .map(|it| (it.collection.uid.clone(), usize::try_from(it.job_count).unwrap()));
        let definitions = tables.jobs.iter().map(|((of, _), job)| (of.clone(), job.uid.clone()));
        Self {
            collections: collections.collect(),
            definitions: definitions.collect(),
            timers: tables.timers.keys().cloned().collect(),
            purges: tables.purges.len(),
        }
    }
}

impl Later {
    pub(super) fn of(world: &World) -> Self {
        let tables = world.memory.tables();
        let refusals = world.refusals.lock().unwrap().clone();
        Self { kept: Kept::of(&tables), changes: tables.changes.clone(), refusals }
    }
}

impl Executed {
    /// `skews` says how far the clocks were off where that is by more than two clocks differ.
    fn of(uid: &str, attempt: &Attempt, record: &Record, skews: &BTreeMap<&str, i64>) -> Self {
        let id = format!("{uid}.{}", attempt.id());
        let skew = skews.get(id.as_str()).copied().unwrap_or(0);
        let is_run = matches!(attempt.occurrence, Occurrence::Run { .. });
        Self {
            uid: uid.to_owned(),
            generation: attempt.generation,
            nominal: (!is_run).then(|| micros(attempt.occurrence.nominal_at())),
            role: attempt.role,
            number: attempt.number,
            started: micros(record.started_at) - skew,
            ended: micros(record.ended_at) - skew,
            ended_clock: micros(record.ended_at),
            is_success: record.outcome == Outcome::Succeeded,
            is_decided: record.then.is_some(),
            is_forgotten: false,
            id,
        }
    }
}

/// The faults of a run. Empty if the run is correct.
pub(super) fn judge(run: &Run) -> Vec<String> {
    let mut judge = Judge::of(run);
    judge.early();
    judge.doubled();
    judge.missed();
    judge.late();
    judge.flood();
    judge.starts();
    judge.overlaps();
    judge.overlapped();
    judge.too_many();
    judge.too_many_at_once();
    judge.stale();
    judge.chains();
    judge.notices();
    judge.pauses();
    judge.ends();
    judge.counters();
    judge.runs();
    judge.recorded();
    judge.expiries();
    judge.explained();
    judge.kept(&run.kept, usize::eq);
    if let Some(later) = &run.later {
        // What expires is not taken off.
        judge.kept(&later.kept, usize::le);
        judge.later(later);
    }
    if run.dead_letters > 0 && run.scenario != Scenario::Harsh {
        judge.bad.push(format!("dead letters: {}", run.dead_letters));
    }
    judge.bad
}

/// An instant on a clock, and when the clock shows it.
#[derive(Debug, Clone, Copy)]
struct Due {
    clock: i64,
    at: i64,
}

/// A time in which no process of a machine ran.
#[derive(Debug, Clone, Copy)]
struct Gap {
    from: i64,
    until: i64,
    /// What the clocks showed at both ends.
    clock: [i64; 2],
}

impl Gap {
    fn between(before: &Life, after: &Life) -> Self {
        let clock = [before.until + before.skew, after.from + after.skew];
        Self { from: before.until, until: after.from, clock }
    }
}

/// An attempt at a notice that must happen.
struct NoticeDue {
    id: String,
    at: i64,
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
    /// The retry policies that jobs had, and since when.
    policies: BTreeMap<String, Vec<(i64, Spec)>>,
    /// When jobs were deleted, alone or with their collection.
    gone: BTreeMap<String, i64>,
    lag: i64,
    /// Later events are not judged.
    horizon: i64,
    bad: Vec<String>,
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
            policies: BTreeMap::new(),
            gone: BTreeMap::new(),
            lag: match run.scenario {
                // Many runs at once wait for their slots or seats, and others behind them.
                Scenario::Harsh | Scenario::Limits | Scenario::Seats => LAG_HARSH,
                Scenario::Lossy => LAG_LOSSY,
                Scenario::Burst => LAG_BURST,
                Scenario::Mixed
                | Scenario::Again
                | Scenario::Outage
                | Scenario::Policies
                | Scenario::Overlap
                | Scenario::Gone
                | Scenario::Upgrade
                | Scenario::Machine => LAG,
            },
            horizon: run.span + 2 * 3_600 * SECOND,
            bad: Vec::new(),
        };
        judge.read_changes();
        judge.find_goes_on();
        judge
    }

    fn read_changes(&mut self) {
        // For each job: its timing, the used part of its count, and its collection.
        let mut known: BTreeMap<&str, (Spec, i64, &str)> = BTreeMap::new();
        for Changed { at, what } in &self.run.changes {
            match what {
                Change::Collection { uid, on_since, on_failure, limits } => {
                    self.limits.entry(uid.clone()).or_default().push((*at, *limits));
                    self.note_collection(uid, *at, on_since.map(micros), on_failure.as_deref());
                }
                Change::JobFinished { .. } => {}
                Change::JobPaused { uid } => {
                    self.note_pause(uid, *at, known.get(uid.as_str()).map(|(spec, ..)| spec));
                }
                Change::JobExpired { uid } => {
                    self.bad.push(format!("gone too soon: {uid} at {}", Self::at(*at)));
                }
                Change::CollectionDeleted { uid } => {
                    let inside = known.iter().filter(|(_, (_, _, of))| of == uid);
                    self.note_deletion(uid, *at, inside.map(|(job, _)| *job));
                }
                Change::JobDeleted { uid } => {
                    self.gone.insert(uid.clone(), *at);
                    if let Some(open) = self.open(uid) {
                        open.ends_at = Some(*at);
                    }
                }
                Change::JobEdited { uid, document } => {
                    self.note_policy(uid, *at, Spec::read(document));
                }
                Change::Job { uid, collection_uid, timer, document } => {
                    let spec = Spec::read(document);
                    self.note_policy(uid, *at, spec.clone());
                    let since = micros(timer.timing.since);
                    let old = known.get(uid.as_str()).map(|(old, ..)| old);
                    let is_same = old.is_some_and(|old| old.fires_as(&spec));
                    let goes_on = old.is_some_and(|old| old.has_rule_of(&spec));
                    let is_on = timer.state != JobState::Disabled;
                    let mut used = known.get(uid.as_str()).map_or(0, |(_, used, _)| *used);
                    self.end_pause(uid, *at);
                    if let Some(open) = self.open(uid) {
                        if is_same && is_on {
                            open.generations.push(timer.timing.generation);
                            continue;
                        }
                        open.ends_at = Some(*at);
                        used += open.due_until(since);
                    }
                    let used = if goes_on { used } else { 0 };
                    known.insert(uid, (spec.clone(), used, collection_uid));
                    if is_on {
                        self.segments.push(Segment {
                            uid: uid.clone(),
                            collection_uid: collection_uid.clone(),
                            generations: vec![timer.timing.generation],
                            spec,
                            since,
                            used,
                            begins_at: *at,
                            ends_at: None,
                            paused_at: None,
                            paused_until: None,
                        });
                    }
                }
            }
        }
    }

    /// What a collection became: since when it is on, and its failure action.
    fn note_collection(
        &mut self,
        uid: &str,
        at: i64,
        on_since: Option<i64>,
        on_failure: Option<&str>,
    ) {
        let offs = self.offs.entry(uid.to_owned()).or_default();
        let is_off = offs.last().is_some_and(|(_, until)| *until == EVER);
        match (on_since, is_off) {
            (None, false) => offs.push((at, EVER)),
            (Some(_), true) => offs.last_mut().unwrap().1 = at,
            _ => {}
        }
        if let Some(clock) = on_since {
            let ons = self.ons.entry(uid.to_owned()).or_default();
            if ons.last().is_none_or(|(_, last)| *last != clock) {
                ons.push((at, clock));
            }
        }
        self.on_since.insert(uid.to_owned(), on_since);
        if let Some(action) = on_failure {
            self.notices.insert(uid.to_owned(), Retry::read(action));
        }
    }

    fn note_deletion<'b>(
        &mut self,
        collection: &str,
        at: i64,
        jobs: impl Iterator<Item = &'b str>,
    ) {
        for segment in self.segments.iter_mut().filter(|it| it.collection_uid == *collection) {
            segment.ends_at.get_or_insert(at);
        }
        for job in jobs {
            self.gone.entry(job.to_owned()).or_insert(at);
        }
    }

    /// That the scheduler has disabled a job.
    fn note_pause(&mut self, uid: &str, at: i64, spec: Option<&Spec>) {
        if let Some(last) = self.segments.iter_mut().rfind(|it| it.uid == *uid) {
            last.paused_at = Some(at);
            last.paused_until = Some(EVER);
        }
        if spec.is_none_or(|spec| !spec.is_paused) {
            self.bad.push(format!("paused without a word: {uid}"));
        }
    }

    /// The next change of a job that is paused.
    fn end_pause(&mut self, uid: &str, at: i64) {
        let of_job = self.segments.iter_mut().filter(|it| it.uid == *uid);
        if let Some(last) = of_job.last().filter(|it| it.paused_until == Some(EVER)) {
            last.paused_until = Some(at);
        }
    }

    fn note_policy(&mut self, uid: &str, at: i64, spec: Spec) {
        self.policies.entry(uid.to_owned()).or_default().push((at, spec));
    }

    fn open(&mut self, uid: &str) -> Option<&mut Segment> {
        self.segments.iter_mut().rev().find(|it| it.uid == uid).filter(|it| it.ends_at.is_none())
    }

    fn segment_of(&self, fire: &Fire) -> Option<&Segment> {
        let mut segments = self.segments.iter();
        segments.find(|it| it.uid == fire.uid && it.generations.contains(&fire.generation))
    }

    /// Whether a collection was off about this time.
    fn is_off(&self, collection_uid: &str, at: i64, before: i64, after: i64) -> bool {
        let mut offs = self.offs.get(collection_uid).into_iter().flatten();
        offs.any(|(from, until)| self.worked(at, *from) < before && at < until + after)
    }

    /// Whether a collection was off when an occurrence was due for the first time. By a clock that was set
    /// back it is due again, and nothing asks for it any more.
    fn was_off(&self, segment: &Segment, nominal: i64) -> bool {
        let first = self.due_of(segment, nominal).at;
        !self.run.lives.is_empty()
            && self.is_off(&segment.collection_uid, first, self.lag, 6 * SECOND)
    }

    /// Whether something is due before its collection was switched on, by a clock that was set back.
    fn is_before_on(&self, collection_uid: &str, due: Due) -> bool {
        let mut ons = self.ons.get(collection_uid).into_iter().flatten();
        let in_force = ons.rfind(|(at, _)| *at <= due.at);
        !self.run.lives.is_empty() && in_force.is_some_and(|(_, clock)| due.clock < *clock)
    }

    /// When a clock shows an instant: the first time after something began.
    fn due(&self, clock: i64, begins_at: i64) -> Due {
        let lives = &self.run.lives;
        let shows = |life: &Life| {
            Some((clock - life.skew).max(life.from).max(begins_at)).filter(|at| *at < life.until)
        };
        let at =
            if lives.is_empty() { clock } else { lives.iter().find_map(shows).unwrap_or(EVER) };
        Due { clock, at }
    }

    /// When an occurrence is due.
    fn due_of(&self, segment: &Segment, nominal: i64) -> Due {
        self.due(nominal, segment.begins_at)
    }

    /// Each time that an occurrence is due before an instant, and the first in any case: a clock that was
    /// set back shows it again.
    fn dues(&self, segment: &Segment, nominal: i64, before: i64) -> Vec<Due> {
        let mut due = self.due_of(segment, nominal);
        let mut dues = vec![due];
        for life in self.run.lives.iter().filter(|life| life.from <= before) {
            if due.at < life.from && life.from + life.skew < nominal {
                due = self.due(nominal, life.from);
                dues.push(due);
            }
        }
        dues
    }

    /// When an attempt that was called, and not recorded, is made again. A clock that is set back before that
    /// is done shows its instant again, and until then its message waits.
    fn made_again_at(&self, clock: i64, called_at: i64) -> i64 {
        let mut at = called_at;
        for life in &self.run.lives {
            let is_open = at < life.from && self.worked(at, life.from) < self.lag;
            if is_open && life.from + life.skew < clock {
                at = self.due(clock, life.from).at;
            }
        }
        at
    }

    /// When an occurrence is due for the last time before an instant.
    fn last_due(&self, segment: &Segment, nominal: i64, before: i64) -> Due {
        *self.dues(segment, nominal, before).last().unwrap()
    }

    /// From when on the clock shows an instant, or a later one.
    fn over(&self, clock: i64) -> i64 {
        let mut over = clock;
        for life in &self.run.lives {
            let reached = clock - life.skew;
            over = if reached >= life.until { EVER } else { over.max(reached) };
        }
        over
    }

    /// What the clock has shown at most until an instant.
    fn shown_until(&self, at: i64) -> i64 {
        let lives = self.run.lives.iter().filter(|life| life.from < at);
        lives.map(|life| life.until.min(at) + life.skew).max().unwrap_or(at)
    }

    /// What the clock showed at most at the last sign of life before a process ended then. One that
    /// ran for a moment only may have given none.
    fn alive_until(&self, ended_at: i64) -> i64 {
        let mut shown = i64::MIN;
        for life in self.run.lives.iter().rev().skip_while(|life| life.until > ended_at) {
            shown = shown.max(life.until + life.skew);
            if life.until - life.from >= BEAT {
                break;
            }
        }
        shown
    }

    /// How far the clock was off at an instant.
    fn skew_at(&self, at: i64) -> i64 {
        let lives = self.run.lives.iter().rev();
        lives.skip_while(|life| life.from > at).map(|life| life.skew).next().unwrap_or(0)
    }

    /// From when on something could be done that was due at an instant: not in an outage. So a failure that
    /// pauses a job right after it ends what waited.
    fn able_from(&self, due: i64) -> i64 {
        let outage = self.run.outage.filter(|it| (it.from - LAG..it.until).contains(&due));
        outage.map_or(due, |it| it.until)
    }

    /// From when on workers could do something after an instant: not in an outage of theirs.
    fn workers_able_from(&self, at: i64) -> i64 {
        let is_away = self.run.outage.is_some_and(|it| it.of_workers);
        if is_away { self.able_from(at) } else { at }
    }

    /// How long processes ran in a time.
    fn worked(&self, from: i64, until: i64) -> i64 {
        if self.run.lives.is_empty() || until <= from {
            return until - from;
        }
        let lives = self.run.lives.iter();
        lives.map(|life| (life.until.min(until) - life.from.max(from)).max(0)).sum()
    }

    /// Whether a process began between two instants with a clock that showed less than this.
    fn is_set_back(&self, from: i64, until: i64, clock: i64) -> bool {
        let mut lives = self.run.lives.iter();
        lives.any(|it| from < it.from && it.from <= until && it.from + it.skew < clock)
    }

    /// The times in which no process of a machine gave a sign of life. A process that runs for a moment
    /// may give none.
    fn gaps(&self) -> Vec<Gap> {
        let lives = &self.run.lives;
        let mut gaps = Vec::new();
        for (n, after) in lives.iter().enumerate() {
            for before in lives[..n].iter().rev() {
                gaps.push(Gap::between(before, after));
                if before.until - before.from >= BEAT {
                    break;
                }
            }
        }
        gaps.retain(|it| it.clock[1] - it.clock[0] > 2 * BEAT / 3);
        gaps
    }

    /// A name for an instant.
    fn at(at: i64) -> String {
        format!("{}.{:03} s", at / SECOND, at % SECOND / 1_000)
    }

    fn early(&mut self) {
        for fire in &self.run.fires {
            if fire.due.is_some_and(|due| fire.clock < due) {
                self.bad.push(format!("early: {} at {}", fire.execution_id, Self::at(fire.at)));
            }
        }
    }

    fn doubled(&mut self) {
        let mut before: BTreeMap<&str, &Fire> = BTreeMap::new();
        for fire in &self.run.fires {
            if let Some(first) = before.insert(&fire.execution_id, fire)
                && !first.is_unrecorded
            {
                self.bad.push(format!("doubled: {} at {}", fire.execution_id, Self::at(fire.at)));
            }
        }
    }

    fn missed(&mut self) {
        let mut bad = Vec::new();
        for segment in &self.segments {
            let until = self.horizon.min(segment.ends_at.unwrap_or(EVER));
            for (nominal, next) in segment.occurrences(self.shown_until(until)) {
                let due = self.last_due(segment, nominal, until);
                if due.at >= until
                    || segment
                        .ends_at
                        .is_some_and(|at| self.worked(self.able_from(due.at), at) < self.lag)
                    || self.is_off(&segment.collection_uid, due.at, self.lag, 6 * SECOND)
                    || self.was_off(segment, nominal)
                    || self.is_before_on(&segment.collection_uid, due)
                    || self.is_lost_for_good(segment, nominal)
                {
                    continue;
                }
                let has = segment.generations.iter().any(|generation| {
                    let key = (segment.uid.clone(), *generation, nominal, Role::Main, 0);
                    self.fired.contains(&key) || self.executed.contains_key(&key)
                });
                let is_too_late = segment.spec.lateness_max.is_some()
                    && self.row_of(&segment.uid, nominal, "tooLate").is_some();
                // Workers that had nothing to do gave no signs of life. What ends their silence, and is held
                // up then, is left out by a job that makes up for nothing.
                let ends_silence = segment.spec.made_up == 0
                    && self.row_of(&segment.uid, nominal, "outage").is_some();
                let is_overlapped = self.row_of(&segment.uid, nominal, "overlap").is_some();
                let is_excused = is_too_late || ends_silence || is_overlapped;
                if has || self.is_idle(segment, nominal) || is_excused {
                    continue;
                }
                if self.is_overtaken(segment, nominal, next) {
                    if self.run.dead_letters == 0 && !self.is_recorded(&segment.uid, nominal) {
                        let at = Self::at(nominal);
                        bad.push(format!("left out without a word: {at} of {}", segment.uid));
                    }
                } else {
                    bad.push(format!("missed: {} of {}", Self::at(nominal), segment.uid));
                }
            }
        }
        self.bad.extend(bad);
    }

    /// Whether an occurrence was left out, and its lost message may have been all that workers had to do
    /// for ten minutes. Without a sign of life, that is an outage to them.
    fn is_idle(&self, segment: &Segment, nominal: i64) -> bool {
        self.run.scenario == Scenario::Lossy
            && self.losses(segment, nominal) > 0
            && self.is_recorded(&segment.uid, nominal)
    }

    /// Whether it is recorded that an occurrence was left out.
    fn is_recorded(&self, uid: &str, nominal: i64) -> bool {
        let mut rows = self.run.left_out.iter().filter(|row| row.uid == uid);
        rows.any(|row| (row.first..=row.last).contains(&nominal))
    }

    /// The row that says that an occurrence was left out for a reason.
    fn row_of(&self, uid: &str, nominal: i64, reason: &str) -> Option<&Row> {
        let mut rows = self.run.left_out.iter().filter(|row| row.uid == uid);
        rows.find(|row| (row.first..=row.last).contains(&nominal) && row.reason == reason)
    }

    /// Whether an outage ended so late that the occurrence may be left out.
    fn is_overtaken(&self, segment: &Segment, nominal: i64, next: Option<i64>) -> bool {
        let dues = self.dues(segment, nominal, EVER);
        let dues_of_next = next.map(|next| self.dues(segment, next, EVER)).unwrap_or_default();
        let is_in = |due: &Due, gap: &Gap| {
            let until = gap.until + BEAT;
            gap.from - BEAT <= due.at
                && dues_of_next.iter().any(|next| due.at <= next.at && next.at <= until)
        };
        if self.gaps().iter().any(|gap| dues.iter().any(|due| is_in(due, gap))) {
            return true;
        }
        let Spec { every, made_up, made_up_within, jitter, .. } = segment.spec;
        let newer_until = |until: i64| {
            let newer = segment.occurrences(until).filter(|(at, _)| *at > nominal).count();
            i64::try_from(newer).unwrap()
        };
        if self.run.dead_letters > 0 {
            // Its message may be among them.
            return segment.occurrences(EVER).any(|(at, _)| at > nominal);
        }
        if every.is_none() {
            return false;
        }
        let Some(Outage { from, until, .. }) = self.run.outage.filter(|it| it.is_known) else {
            return false;
        };
        let known_at = until + KNOWN_AFTER;
        from - LAG <= nominal + jitter
            && nominal <= known_at
            && (newer_until(known_at + 1) >= made_up || known_at - nominal > made_up_within)
    }

    /// Whether the queue may have lost what asks for an occurrence, or for what follows it, so that
    /// nobody looks for it again.
    fn may_be_lost(&self, segment: &Segment, nominal: i64) -> bool {
        self.run.scenario == Scenario::Lossy
            && (segment.last() != Some(nominal) || self.is_touched(segment))
    }

    /// Whether a job or its collection was changed.
    fn is_touched(&self, segment: &Segment) -> bool {
        let mut of_job = self.segments.iter().filter(|it| it.uid == segment.uid);
        of_job.any(|it| it.ends_at.is_some() || it.generations != segment.generations)
            || self.offs.get(&segment.collection_uid).is_some_and(|offs| !offs.is_empty())
    }

    /// Whether the queue has lost every message of a first attempt: it is sent again when its job is
    /// planned the next time, and once more if that is soon.
    fn is_lost_for_good(&self, segment: &Segment, nominal: i64) -> bool {
        let is_last_plan = segment.ends_ever();
        self.may_be_lost(segment, nominal)
            && (!self.run.heals
                || self.is_touched(segment)
                || is_last_plan
                || self.losses(segment, nominal) > 1)
    }

    /// How many messages of a first attempt were lost.
    fn losses(&self, segment: &Segment, nominal: i64) -> u32 {
        let id = |generation: &u64| {
            let nominal_at = instant(nominal);
            let what = Occurrence::Scheduled { nominal_at };
            format!("{}.{}", segment.uid, Attempt::first(*generation, what).id())
        };
        segment.generations.iter().filter_map(|it| self.run.vanished.get(&id(it))).sum()
    }

    /// Reports first attempts that are late on one machine, although its process ran and nothing else was
    /// in the way.
    fn late(&mut self) {
        if self.run.lives.is_empty() {
            return;
        }
        let mut first: BTreeMap<Key, i64> = BTreeMap::new();
        for it in &self.run.fires {
            if let (Some(nominal), Role::Main, 0) = (it.nominal, it.role, it.number) {
                let key = (it.uid.clone(), it.generation, nominal, it.role, it.number);
                first.entry(key).or_insert(it.at);
            }
        }
        for ((uid, generation, nominal, ..), at) in first {
            let mut segments = self.segments.iter();
            let of_job = |it: &&Segment| it.uid == uid && it.generations.contains(&generation);
            let Some(segment) = segments.find(of_job) else { continue };
            let goes_on = self.going_on(segment, nominal).map(|it| it.begins_at);
            let since = goes_on.filter(|since| *since <= at).max().unwrap_or(0);
            let late = self.worked(self.last_due(segment, nominal, at).at.max(since), at);
            if late > self.lag && !self.was_off(segment, nominal) {
                let late = Self::at(late);
                self.bad.push(format!("late: {} of {uid} by {late}", Self::at(nominal)));
            }
        }
    }

    /// Reports jobs that make up for more than the last occurrence while no process of a machine ran.
    fn flood_of_machine(&mut self) {
        let pairs = self.run.lives.windows(2);
        for gap in pairs.map(|pair| Gap::between(&pair[0], &pair[1])) {
            let range = self.alive_until(gap.from) + BEATS..gap.clock[1] - 5 * SECOND;
            for segment in &self.segments {
                let fires = self.run.fires.iter().filter(|it| it.uid == segment.uid);
                let late: BTreeSet<i64> = fires
                    .filter(|it| it.role == Role::Main && it.number == 0 && it.at >= gap.until)
                    .filter(|it| segment.generations.contains(&it.generation))
                    .filter(|it| !self.is_set_back(gap.until, it.at, gap.clock[1]))
                    .filter_map(|it| it.nominal.filter(|at| range.contains(at)))
                    .filter(|at| self.due_of(segment, *at).at == gap.until)
                    .collect();
                if late.len() > 1 {
                    let at = Self::at(gap.until);
                    self.bad.push(format!("flood: {} of {} at {at}", late.len(), segment.uid));
                }
            }
        }
    }

    /// Reports jobs that make up for more occurrences of an outage than their policy says.
    fn flood(&mut self) {
        self.flood_of_machine();
        let Some(outage) = self.run.outage.filter(|it| it.is_known) else { return };
        let Outage { from, until, of_workers, .. } = outage;
        if of_workers && self.run.workers_since >= from {
            // An outage is known between two signs of life, and these workers have given none before.
            // So what was sent to them is late for no known reason, and runs.
            return;
        }
        for segment in &self.segments {
            let late: BTreeSet<i64> = self
                .run
                .fires
                .iter()
                .filter(|it| it.uid == segment.uid && it.role == Role::Main && it.number == 0)
                .filter(|it| segment.generations.contains(&it.generation) && it.at >= until)
                .filter_map(|it| it.nominal)
                .filter(|at| (from + LAG..until - LATE - 130 * SECOND).contains(at))
                .collect();
            let Spec { every, made_up, made_up_within, .. } = segment.spec;
            let is_old = |at: &&i64| until - **at > made_up_within + 130 * SECOND;
            let old = late.iter().filter(is_old).count();
            let is_many = i64::try_from(late.len()).unwrap() > made_up || old > 0;
            if is_many && every.is_some() {
                self.bad.push(format!("flood: {} of {}", late.len(), segment.uid));
            }
        }
    }

    /// Reports first attempts that start outside of their window, or later than their job allows, and
    /// occurrences that were left out as too late and were not.
    fn starts(&mut self) {
        let mut bad = Vec::new();
        for fire in self.run.fires.iter().filter(|it| it.role == Role::Main && it.number == 0) {
            let (Some(segment), Some(nominal), Some(due)) =
                (self.segment_of(fire), fire.nominal, fire.due)
            else {
                continue;
            };
            let at = Self::at(fire.at);
            let window = segment.spec.jitter.max(1);
            if !(nominal..nominal + window).contains(&due) {
                bad.push(format!("starts outside of its window: {} at {at}", fire.execution_id));
            }
            let max = segment.spec.lateness_max.unwrap_or(EVER);
            if fire.clock - due > max + SECOND {
                bad.push(format!("started too late: {} at {at}", fire.execution_id));
            }
        }
        for row in self.run.left_out.iter().filter(|row| row.reason == "tooLate") {
            let of_job = self.policies.get(&row.uid).into_iter().flatten();
            let lateness = of_job.filter_map(|(_, spec)| spec.lateness_max).min();
            if lateness.is_none_or(|max| row.at - row.first <= max) {
                bad.push(format!("not too late: {} of {}", Self::at(row.first), row.uid));
            }
        }
        self.bad.extend(bad);
    }

    /// Whether a job lets no attempts overlap: always in a time, or at some time of it; `None` if it always
    /// lets them.
    fn takes_turns(&self, uid: &str, from: i64, until: i64) -> Option<bool> {
        let of_job = self.policies.get(uid).map(Vec::as_slice).unwrap_or_default();
        let first = of_job.iter().rposition(|(at, _)| *at <= from).unwrap_or(0);
        let held = || of_job.iter().skip(first).filter(|(at, _)| *at <= until);
        let always = held().all(|(_, spec)| spec.takes_turns);
        held().any(|(_, spec)| spec.takes_turns).then_some(always)
    }

    /// Reports attempts that run at the same time although their job lets none overlap.
    fn overlaps(&mut self) {
        let mut running: BTreeMap<&str, (&Fire, i64)> = BTreeMap::new();
        let mut bad = Vec::new();
        for fire in self.run.fires.iter().filter(|it| it.role == Role::Main) {
            let mut until = fire.at + fire.took;
            if let Some(life) = self.run.lives.iter().rfind(|life| life.from <= fire.at) {
                until = until.min(life.until);
            }
            if let Some((other, other_until)) = running.get(fire.uid.as_str())
                && fire.at < *other_until
                && self.takes_turns(&fire.uid, other.at - DECIDED_WITHIN, fire.at) == Some(true)
            {
                let (one, at) = (&other.execution_id, Self::at(fire.at));
                bad.push(format!("overlap: {one} and {} at {at}", fire.execution_id));
            }
            let last = running.entry(&fire.uid).or_insert((fire, until));
            if until > last.1 {
                *last = (fire, until);
            }
        }
        self.bad.extend(bad);
    }

    /// Reports occurrences that were left out although nothing ran or waited, or that had begun, or that
    /// ran after all.
    fn overlapped(&mut self) {
        let mut bad = Vec::new();
        for note in self.run.turns.iter().filter(|it| it.what == TurnWhat::LeftOut) {
            let at = Self::at(note.at);
            let name = format!("{} of {}", note.id, note.uid);
            if self.takes_turns(&note.uid, note.at - DECIDED_WITHIN, note.at).is_none() {
                bad.push(format!("left out, and may overlap: {name} at {at}"));
            }
            if note.nominal.is_none() || note.number > 0 {
                bad.push(format!("left out, and owed: {name} at {at}"));
            }
            let of_occurrence = self.run.fires.iter().filter(|it| {
                it.uid == note.uid
                    && it.role == Role::Main
                    && it.nominal == note.nominal
                    && it.generation == note.generation
            });
            if of_occurrence.count() > 0 {
                bad.push(format!("left out, and run: {name} at {at}"));
            }
            if !self.is_busy(note) {
                bad.push(format!("left out, and nothing ran: {name} at {at}"));
            }
        }
        self.bad.extend(bad);
    }

    /// Whether another attempt of the job ran or waited when one was left out.
    fn is_busy(&self, left_out: &TurnNote) -> bool {
        let mut of_job = self.run.turns.iter().filter(|it| it.uid == left_out.uid);
        of_job.any(|note| {
            let holds = match note.what {
                TurnWhat::Takes => LEASE,
                TurnWhat::Waits => PLACE,
                TurnWhat::Back | TurnWhat::Ended | TurnWhat::LeftOut => return false,
            };
            let since = note.at..left_out.at - READ_WITHIN;
            let is_over = |it: &TurnNote| {
                let is_end = match it.what {
                    TurnWhat::Back | TurnWhat::Ended | TurnWhat::LeftOut => true,
                    TurnWhat::Takes => note.what == TurnWhat::Waits,
                    TurnWhat::Waits => false,
                };
                is_end && it.id == note.id && it.uid == note.uid && since.contains(&it.at)
            };
            note.id != left_out.id
                && note.at <= left_out.at
                && left_out.at <= note.at + holds + SKEW
                && !self.run.turns.iter().any(is_over)
        })
    }

    /// Reports starts that are closer to each other than the limit of their collection allows. A start is as
    /// late as its slot is kept, by the clock of its worker.
    fn too_many(&mut self) {
        let per_second = |limits: CollectionLimits| limits.per_second.map(PerSecond::get);
        let mut bad = Vec::new();
        for (collection, mut fires) in self.fires_of_collections() {
            fires.sort_by_key(|fire| fire.clock);
            for (n, first) in fires.iter().enumerate() {
                let since = first.clock - DECIDED_WITHIN;
                let limit = self.limit(collection, since..=first.clock + SKEW, per_second);
                let Some(limit) = limit else { continue };
                // Slots are given out one after the other, so a burst shows in a few starts.
                for (more, last) in (2_i64..).zip(fires.iter().skip(n + 1).take(20)) {
                    let until = last.clock + SKEW;
                    if self.limit(collection, since..=until, per_second) != Some(limit) {
                        break;
                    }
                    let slots = (last.clock - first.clock + STARTS_WITHIN) * i64::from(limit);
                    if more > slots / SECOND + 1 {
                        let at = Self::at(last.at);
                        bad.push(format!("too many starts: {} at {at}", last.execution_id));
                        break;
                    }
                }
            }
        }
        self.bad.extend(bad);
    }

    /// Reports attempts of a collection of which more run at the same time than its limit allows. Those
    /// that began before the limit count for none.
    fn too_many_at_once(&mut self) {
        let mut bad = Vec::new();
        for (collection, fires) in self.fires_of_collections() {
            let mut running: Vec<i64> = Vec::new();
            for fire in fires {
                running.retain(|until| *until > fire.at);
                let mut until = fire.at + fire.took;
                if let Some(life) = self.run.lives.iter().rfind(|life| life.from <= fire.at) {
                    until = until.min(life.until);
                }
                running.push(until);
                let limit = self.limit(collection, fire.at - LEASE..=fire.at, |limits| {
                    limits.concurrent.map(Concurrent::get)
                });
                if limit.is_some_and(|limit| running.len() > limit as usize) {
                    let at = Self::at(fire.at);
                    bad.push(format!("too many at once: {} at {at}", fire.execution_id));
                }
            }
        }
        self.bad.extend(bad);
    }

    /// What the jobs of each collection did, in the order in which it began.
    fn fires_of_collections(&self) -> BTreeMap<&'a str, Vec<&'a Fire>> {
        let of_job = |changed: &'a Changed| match &changed.what {
            Change::Job { uid, collection_uid, .. } => {
                Some((uid.as_str(), collection_uid.as_str()))
            }
            _ => None,
        };
        let of_jobs: BTreeMap<_, _> = self.run.changes.iter().filter_map(of_job).collect();
        let mut fires: BTreeMap<&str, Vec<&Fire>> = BTreeMap::new();
        for fire in &self.run.fires {
            if let Some(of) = of_jobs.get(fire.uid.as_str()) {
                fires.entry(of).or_default().push(fire);
            }
        }
        fires
    }

    /// A limit that a collection had for all of a time.
    fn limit(
        &self,
        collection: &str,
        time: RangeInclusive<i64>,
        which: impl Fn(CollectionLimits) -> Option<u32>,
    ) -> Option<u32> {
        let of_collection = self.limits.get(collection).map(Vec::as_slice).unwrap_or_default();
        let first = of_collection.iter().rposition(|(at, _)| at <= time.start())?;
        let held = of_collection.iter().skip(first).filter(|(at, _)| at <= time.end());
        let mut held = held.map(|(_, limits)| which(*limits));
        let limit = held.next()?;
        held.all(|other| other == limit).then_some(limit).flatten()
    }

    fn stale(&mut self) {
        let mut bad = Vec::new();
        for fire in &self.run.fires {
            if self.gone.get(&fire.uid).is_some_and(|gone| fire.at > gone + TOLERANCE) {
                let at = Self::at(fire.at);
                bad.push(format!("after its job was deleted: {} at {at}", fire.execution_id));
            }
            let Some(segment) = self.segment_of(fire) else {
                if fire.nominal.is_some() {
                    bad.push(format!("of no timing: {}", fire.execution_id));
                }
                continue;
            };
            let at = Self::at(fire.at);
            let ends_at = match segment.paused_until {
                Some(until) if fire.role != Role::Main => Some(until),
                _ => segment.ends_at,
            };
            let goes_on = |nominal| self.goes_on_at(segment, nominal, fire.at);
            let is_late = ends_at.is_some_and(|end| fire.at > end + TOLERANCE)
                && !fire.nominal.is_some_and(goes_on);
            if fire.nominal.is_some() && is_late {
                bad.push(format!("stale: {} at {at}", fire.execution_id));
            }
            let offs = self.offs.get(&segment.collection_uid).into_iter().flatten();
            if offs.into_iter().any(|(from, until)| from + TOLERANCE < fire.at && fire.at < *until)
            {
                bad.push(format!("while its collection is off: {} at {at}", fire.execution_id));
            }
            if let Some(nominal) = fire.nominal
                && segment.occurrences(nominal + 1).last().is_none_or(|(last, _)| last != nominal)
            {
                bad.push(format!("extra: {} at {at}", fire.execution_id));
            }
        }
        self.bad.extend(bad);
    }

    /// The policies under which an attempt may have been recorded: those that its job had from when it
    /// started until it was recorded. The records of an earlier version do not say what follows, so that
    /// each later policy may decide: whether a job has finished is checked every twenty minutes, and what
    /// such a record leaves open is sent by the policy of that time. Seed 9693 shows it.
    fn policies_of(&self, it: &Executed) -> Vec<&Spec> {
        let of_job = self.policies.get(&it.uid).map(Vec::as_slice).unwrap_or_default();
        let (from, until) = (it.started - SKEW - DECIDED_WITHIN, it.ended + SKEW + DECIDED_WITHIN);
        let is_earlier = self.run.scenario == Scenario::Upgrade && !it.is_decided;
        let until = if is_earlier { EVER } else { until };
        let first = of_job.iter().rposition(|(at, _)| *at <= from).unwrap_or(0);
        let held = of_job.iter().skip(first).filter(|(at, _)| *at <= until);
        held.map(|(_, spec)| spec).collect()
    }

    /// Whether an attempt that failed may have been the last one under a policy of its job.
    fn may_close(&self, it: &Executed) -> bool {
        self.policies_of(it).iter().any(|spec| it.number >= spec.retries)
    }

    /// Whether an attempt that failed was the last one under every policy of its job.
    fn closes(&self, it: &Executed) -> bool {
        self.policies_of(it).iter().all(|spec| it.number >= spec.retries)
    }

    fn has(&self, key: &Key) -> bool {
        self.fired.contains(key) || self.executed.contains_key(key)
    }

    /// Checks the retries and the error action after a failure.
    fn chains(&mut self) {
        let mut bad = Vec::new();
        for it in &self.run.executions {
            let Some(nominal) = it.nominal.filter(|_| it.role == Role::Main && !it.is_success)
            else {
                continue;
            };
            let mut segments = self.segments.iter();
            let segment =
                segments.find(|s| s.uid == it.uid && s.generations.contains(&it.generation));
            let Some(segment) = segment else { continue };
            let Some(owed_since) = self.owed_since(segment, nominal) else { continue };
            let is_off = |due: Due| {
                self.is_off(&segment.collection_uid, due.at, self.lag, self.lag)
                    || self.is_before_on(&segment.collection_uid, due)
            };
            let key = |role, number| (it.uid.clone(), it.generation, nominal, role, number);
            let policies = self.policies_of(it);
            let is_retried = self.has(&key(Role::Main, it.number + 1));
            let is_told = self.has(&key(Role::Error, 0));
            let [spec] = policies.as_slice() else {
                // Its policy changed while it was under way.
                continue;
            };
            if it.number < spec.retries {
                let due = self.due(it.ended_clock + spec.interval, it.ended);
                if spec.interval <= LONG && self.may_be_lost(segment, nominal) {
                    continue;
                }
                let is_near = due.at.max(owed_since) < self.horizon - self.lag;
                if is_near && !is_off(due) && !is_retried {
                    bad.push(format!("retry lost: after {}", it.id));
                }
            } else if is_retried {
                bad.push(format!("a retry too many: after {}", it.id));
            } else if spec.error_action.is_some()
                && self.run.scenario != Scenario::Lossy
                && it.ended.max(owed_since) < self.horizon - self.lag
                && !is_off(Due { clock: it.ended_clock, at: it.ended })
                && !is_told
            {
                bad.push(format!("error action lost: after {}", it.id));
            }
        }
        self.bad.extend(bad);
    }

    /// Checks that exactly the occurrences and runs that have failed for good are told, after the
    /// error action.
    fn notices(&mut self) {
        let fired = self.run.fires.iter().map(|fire| fire.execution_id.as_str());
        let ids: BTreeSet<&str> =
            fired.chain(self.run.executions.iter().map(|it| it.id.as_str())).collect();
        let ended: BTreeMap<&str, &Executed> =
            self.run.executions.iter().map(|it| (it.id.as_str(), it)).collect();
        let mut bad = Vec::new();
        for it in &self.run.executions {
            if let Some(due) = self.next_notice(it)
                && !ids.contains(due.id.as_str())
                && due.at < self.horizon - self.lag
            {
                bad.push(format!("notice lost: after {}", it.id));
            }
        }
        for fire in self.run.fires.iter().filter(|fire| fire.role == Role::Notice) {
            let (occurrence, _) = fire.execution_id.rsplit_once('.').unwrap();
            if !self.segments.iter().any(|it| it.uid == fire.uid) {
                continue;
            }
            let last = |letter, of: Retry| {
                let mut all = (0..=of.count).rev();
                let last =
                    all.find_map(|n| ended.get(format!("{occurrence}.{letter}{n}").as_str()));
                last.filter(|it| it.ended <= fire.at + SKEW)
                    .filter(|it| it.number == of.count || it.is_success)
            };
            let mut mains = (0..=RETRIES_MAX).rev();
            let main = mains.find_map(|n| ended.get(format!("{occurrence}.m{n}").as_str()));
            let has_failed = |it: &&&Executed| {
                it.ended <= fire.at + SKEW && !it.is_success && self.may_close(it)
            };
            let decided_anew = || {
                let mut mains = (0..=RETRIES_MAX)
                    .filter_map(|n| ended.get(format!("{occurrence}.m{n}").as_str()));
                self.run.scenario == Scenario::Upgrade
                    && mains.any(|it| !it.is_decided && has_failed(&it))
            };
            if main.as_ref().is_none_or(|it| !has_failed(it)) && !decided_anew() {
                bad.push(format!("told without a failure: {}", fire.execution_id));
            }
            // What the job had when its last attempt was recorded.
            let policies = main.map(|it| self.policies_of(it)).unwrap_or_default();
            let error_actions: Option<Vec<Retry>> =
                policies.iter().map(|spec| spec.error_action).collect();
            let is_told = |of: &Retry| last('e', *of).is_some();
            if error_actions.is_some_and(|of| !of.is_empty() && !of.iter().any(is_told)) {
                bad.push(format!("told before its error action: {}", fire.execution_id));
            }
        }
        self.bad.extend(bad);
    }

    /// The attempt at a notice that must follow an attempt.
    fn next_notice(&self, it: &Executed) -> Option<NoticeDue> {
        let mut segments = self.segments.iter();
        let segment = segments
            .find(|s| s.uid == it.uid && s.generations.contains(&it.generation))
            .filter(|segment| segment.ends_at.is_none())?;
        let retry = self.notices.get(&segment.collection_uid)?;
        let spec = &segment.spec;
        let has_closed = self.policies_of(it).iter().all(|spec| it.number >= spec.retries);
        let (number, interval) = match (it.role, spec.error_action) {
            (Role::Main, None) if !it.is_success && has_closed => (0, 0),
            (Role::Error, Some(of)) if it.is_success || it.number == of.count => (0, 0),
            (Role::Notice, _) if !it.is_success && it.number < retry.count => {
                (it.number + 1, retry.interval)
            }
            _ => return None,
        };
        let due = self.due(it.ended_clock + interval, it.ended);
        let is_off = |at| self.is_off(&segment.collection_uid, at, self.lag, self.lag);
        // What is lost here is not sent again, except by the timer of a long retry.
        let may_be_lost = self.run.scenario == Scenario::Lossy && interval <= LONG;
        let ended = Due { clock: it.ended_clock, at: it.ended };
        let is_before_on =
            [due, ended].into_iter().any(|due| self.is_before_on(&segment.collection_uid, due));
        if may_be_lost || is_off(due.at) || is_off(it.ended) || is_before_on {
            return None;
        }
        let (occurrence, _) = it.id.rsplit_once('.')?;
        Some(NoticeDue { id: format!("{occurrence}.n{number}"), at: due.at })
    }

    /// The rows of occurrences that failed for good one after the other: when the last attempt of each
    /// was recorded. Other occurrences of the timing with attempts end a row.
    fn failed_rows(&self, segment: &Segment, generation: u64) -> Vec<Vec<(i64, i64)>> {
        let mut ended: BTreeMap<i64, Option<i64>> = BTreeMap::new();
        for ((uid, of, nominal, role, number), it) in &self.executed {
            if *uid != segment.uid || *of != generation || *role != Role::Main {
                continue;
            }
            let next = (uid.clone(), *of, *nominal, *role, number + 1);
            let is_last = !it.is_success && self.may_close(it) && !self.has(&next);
            let ended = ended.entry(*nominal).or_default();
            if is_last {
                *ended = Some(it.ended);
            }
        }
        let ended: Vec<_> = ended.into_iter().collect();
        let rows = ended.split(|(_, at)| at.is_none());
        rows.map(|row| row.iter().filter_map(|(nominal, at)| Some((*nominal, (*at)?))).collect())
            .collect()
    }

    /// Checks that jobs pause after as many failures in a row as they say, and not before; and that the
    /// error actions of these failures run.
    fn pauses(&mut self) {
        let mut bad = Vec::new();
        let may_lose = self.run.dead_letters > 0
            || matches!(
                self.run.scenario,
                Scenario::Lossy | Scenario::Upgrade | Scenario::Outage | Scenario::Gone
            );
        for segment in &self.segments {
            let Some(after) = segment.spec.pauses_after else { continue };
            let after = usize::try_from(after).unwrap();
            let rows: Vec<_> =
                segment.generations.iter().flat_map(|it| self.failed_rows(segment, *it)).collect();
            let (Some(end), Some(paused_until)) = (segment.paused_at, segment.paused_until) else {
                let goes_on = |at| {
                    segment.ends_at.is_none_or(|end| at + self.lag < end)
                        && segment.occurrences(EVER).any(|(it, _)| it > at + self.lag)
                };
                let last = |row: &Vec<(i64, i64)>| row.iter().map(|(_, at)| *at).max();
                let long = rows.iter().filter(|row| row.len() >= after).filter_map(last);
                let missed =
                    long.into_iter().find(|at| *at < self.horizon - self.lag && goes_on(*at));
                if let Some(at) = missed.filter(|_| !may_lose) {
                    bad.push(format!("not paused: {} after {}", segment.uid, Self::at(at)));
                }
                continue;
            };
            let is_caused = |row: &Vec<(i64, i64)>| {
                row.iter().filter(|(_, at)| *at <= end + SKEW).count() >= after
            };
            if !rows.iter().any(is_caused) {
                bad.push(format!("paused without failures: {} at {}", segment.uid, Self::at(end)));
            }
            // A worker may have died after it paused the job. What it left begun goes on when workers are back,
            // unless the job was changed before that.
            let able_from = self.workers_able_from(end);
            let is_quiet = paused_until > able_from + self.lag && end < self.horizon - self.lag;
            let gone_at = self.gone.get(&segment.uid);
            if may_lose
                || !is_quiet
                || gone_at.is_some_and(|gone| *gone < end + self.lag)
                || self.is_off(&segment.collection_uid, end, self.lag, self.lag)
            {
                continue;
            }
            for (nominal, at) in rows.iter().flatten().filter(|(_, at)| *at <= end + SKEW) {
                let is_told = segment.generations.iter().any(|generation| {
                    self.has(&(segment.uid.clone(), *generation, *nominal, Role::Error, 0))
                });
                // One with a retry under a policy of then may not have failed for good.
                let is_closed = self.run.executions.iter().any(|it| {
                    it.uid == segment.uid
                        && (it.nominal, it.ended) == (Some(*nominal), *at)
                        && self.closes(it)
                });
                let is_owed = segment.spec.error_action.is_some() && is_closed;
                if is_owed && !is_told && *at + self.lag > end {
                    let at = Self::at(*nominal);
                    bad.push(format!("error action lost before a pause: {at} of {}", segment.uid));
                }
            }
        }
        self.bad.extend(bad);
    }

    /// Computes the final state of the last occurrence. What follows its first attempt is made after its
    /// collection was off, too.
    fn stand(&self, segment: &Segment, nominal: i64) -> OccurrenceStatus {
        let on_since =
            self.on_since.get(&segment.collection_uid).copied().flatten().unwrap_or(EVER);
        let mut due = nominal;
        let found = |number| {
            segment.generations.iter().find_map(|generation| {
                self.executed.get(&(segment.uid.clone(), *generation, nominal, Role::Main, number))
            })
        };
        let has = |number| found(number).is_some();
        for number in 0.. {
            match found(number) {
                None if due < on_since && number == 0 => return OccurrenceStatus::Void,
                None if number == 0 => return OccurrenceStatus::Nothing,
                None => return OccurrenceStatus::Open,
                Some(it) if it.is_success => {
                    return OccurrenceStatus::Ended { is_success: true };
                }
                Some(it) if self.may_close(it) && !has(number + 1) => {
                    return OccurrenceStatus::Ended { is_success: false };
                }
                Some(it) => {
                    let interval = self.policies_of(it).last().map_or(0, |spec| spec.interval);
                    due = it.ended_clock + interval;
                }
            }
        }
        OccurrenceStatus::Open
    }

    fn ends(&mut self) {
        let mut bad = Vec::new();
        for Left { uid, collection_uid, timer, .. } in &self.run.jobs {
            let segment = self.segments.iter().rev().find(|it| it.uid == *uid);
            let Some(segment) = segment.filter(|it| it.ends_at.is_none()) else { continue };
            let (of, last) = match self.last_of(segment) {
                Some((of, last)) => (of, Some(Some(last))),
                None => (segment, segment.ends_ever().then(|| segment.last())),
            };
            // The longest of the policies that it had.
            let policies = self.policies.get(uid).into_iter().flatten();
            let policies = policies.map(|(_, spec)| (i64::from(spec.retries), spec.interval));
            let (retries, interval) =
                policies.fold((0, 0), |(n, far), it| (n.max(it.0), far.max(it.1)));
            if timer.state == JobState::Enabled {
                let Some(last) = last else { continue };
                // What waits for its turn waits for others of the job.
                let takes_turns = self.takes_turns(uid, 0, EVER).is_some();
                let waits = if takes_turns { LAG } else { 0 };
                let chain = (retries + 1) * (interval + waits + 60 * SECOND);
                let is_over = last.is_none_or(|at| {
                    self.over(at.max(segment.begins_at) + chain) < self.horizon - 3_000 * SECOND
                });
                let is_off = last.is_some_and(|at| {
                    (0..=retries).any(|n| {
                        let due = self.due(at + n * interval, segment.begins_at);
                        self.is_off(collection_uid, due.at, self.lag, self.lag)
                    })
                });
                let is_on = self.on_since.get(collection_uid).copied().flatten().is_some();
                if is_over && is_on && !is_off && !self.run.retrying.contains(uid) {
                    bad.push(format!("never final: {uid}"));
                }
                continue;
            }
            let Some(Some(last)) = last else { continue };
            match self.stand(of, last) {
                OccurrenceStatus::Nothing if self.is_recorded(uid, last) => {}
                OccurrenceStatus::Nothing | OccurrenceStatus::Open => {
                    bad.push(format!("final too soon: {uid}"));
                }
                OccurrenceStatus::Ended { is_success }
                    if is_success != (timer.state == JobState::Completed) =>
                {
                    bad.push(format!("wrong final state: {uid}"));
                }
                OccurrenceStatus::Void | OccurrenceStatus::Ended { .. } => {}
            }
        }
        self.bad.extend(bad);
    }

    fn counters(&mut self) {
        for Left { uid, timer, .. } in &self.run.jobs {
            let of_job = self.run.executions.iter().filter(|it| it.uid == *uid);
            let of_job: Vec<_> = of_job.filter(|it| it.role == Role::Main).collect();
            if of_job.iter().any(|it| it.ended > self.run.ended_at - 8 * SECOND) {
                continue;
            }
            // The memory of an earlier version takes what ended long ago for counted.
            let forgets = self.run.scenario == Scenario::Upgrade;
            let of_job: Vec<_> =
                of_job.into_iter().filter(|it| !(forgets && it.is_forgotten)).collect();
            let failures = of_job.iter().filter(|it| !it.is_success).count();
            let want = [of_job.len(), failures].map(|n| u64::try_from(n).unwrap());
            let have = [timer.counters.executions, timer.counters.failures];
            if have != want {
                self.bad.push(format!("counters: {uid} has {have:?} and not {want:?}"));
            }
        }
    }

    /// Reports requested runs that never happened.
    fn runs(&mut self) {
        if self.run.scenario == Scenario::Lossy {
            return;
        }
        for (at, uid, id) in &self.run.runs {
            let Some(job) = self.run.jobs.iter().find(|job| job.uid == *uid) else { continue };
            let is_fired = self.run.fires.iter().any(|fire| fire.execution_id == *id);
            // Which runs a lost queue held is not known to the store.
            let is_lost = self.run.queue_losses.iter().any(|loss| at <= loss);
            let due = Due { clock: *at + self.skew_at(*at), at: *at };
            let is_off = self.is_off(&job.collection_uid, *at, self.lag, self.lag)
                || self.is_before_on(&job.collection_uid, due);
            if !is_fired && !is_lost && !is_off {
                self.bad.push(format!("run lost: {id}"));
            }
        }
    }
    /// Checks that history holds each attempt once and never changes it.
    fn recorded(&mut self) {
        let mut ends: BTreeMap<&str, i64> = BTreeMap::new();
        for (id, ended_at, _) in &self.run.records {
            if ends.insert(id, *ended_at).is_some_and(|before| before != *ended_at) {
                self.bad.push(format!("recorded twice: {id}"));
            }
        }
        let mut bad = Vec::new();
        // An attempt whose workers die is repeated until it is recorded, or may not start any more.
        let last: BTreeMap<&str, i64> =
            self.run.fires.iter().map(|fire| (fire.execution_id.as_str(), fire.at)).collect();
        for fire in self.run.fires.iter().filter(|fire| fire.at < self.horizon) {
            let last = last.get(fire.execution_id.as_str()).copied().unwrap_or(fire.at);
            let again = fire.due.map_or(last, |due| self.made_again_at(due, last));
            let segment = self.segment_of(fire);
            // A later look may find that the attempt must not start any more.
            let is_ended = segment.is_some_and(|it| {
                let overtaken = fire.nominal.is_some_and(|nominal| {
                    let next = it.occurrences(EVER).find(|(at, _)| *at > nominal);
                    self.is_overtaken(it, nominal, next.map(|(at, _)| at))
                        || self.is_recorded(&it.uid, nominal)
                });
                it.ends_at.is_some()
                    || overtaken
                    // By a clock that was set back it is due again.
                    || fire.nominal.is_some_and(|nominal| {
                        let due = self.last_due(it, nominal, EVER).at;
                        self.is_off(&it.collection_uid, due, self.lag, self.lag)
                    })
            });
            // A run of a disabled job has no segment.
            let job = self.run.jobs.iter().find(|job| job.uid == fire.uid);
            let is_off = job.is_some_and(|job| {
                let of = &job.collection_uid;
                // By a clock that was set back, a retry may be due before its collection was switched on.
                let is_before_on =
                    fire.due.is_some_and(|clock| self.is_before_on(of, Due { clock, at: again }));
                self.is_off(of, again, self.lag, self.lag) || is_before_on
            });
            // Nothing tells of a run whose claim the next process gave back, when its message was lost with the
            // queue after that.
            let restarted_until = |loss: &i64| {
                self.run.lives.iter().any(|life| last < life.from && life.from < *loss)
            };
            let is_lost =
                fire.nominal.is_none() && self.run.queue_losses.iter().any(restarted_until);
            let is_excused = is_ended || is_off || is_lost || self.gone.contains_key(&fire.uid);
            if !is_excused && !ends.contains_key(fire.execution_id.as_str()) {
                bad.push(format!("never recorded: {}", fire.execution_id));
            }
        }
        self.bad.extend(bad);
    }

    /// Checks that a job that has finished is kept for sixty days from then on, and no other expires.
    fn expiries(&mut self) {
        let mut finished: BTreeMap<&str, i64> = BTreeMap::new();
        for Changed { at, what } in &self.run.changes {
            match what {
                Change::JobFinished { uid } => drop(finished.insert(uid, *at)),
                Change::Job { uid, timer, .. } if timer.state.is_final() => {
                    finished.insert(uid, *at);
                }
                _ => {}
            }
        }
        for Left { uid, expires_at, .. } in &self.run.jobs {
            let Some(expires_at) = expires_at else { continue };
            let since = finished.get(uid.as_str()).map(|since| since + self.skew_at(*since));
            if since.is_none_or(|since| *expires_at < since + KEPT - 6 * SKEW) {
                self.bad.push(format!("gone too soon: {uid} at {}", Self::at(*expires_at)));
            }
        }
    }

    /// Checks that the items of the store fit together.
    fn kept(&mut self, kept: &Kept, is_right: impl Fn(&usize, &usize) -> bool) {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut defined = BTreeSet::new();
        for (collection, uid) in &kept.definitions {
            *counts.entry(collection).or_default() += 1;
            defined.insert(uid);
            if !kept.collections.contains_key(collection) {
                self.bad.push(format!("not purged: {uid}"));
            } else if !kept.timers.contains(uid) {
                self.bad.push(format!("without a timer: {uid}"));
            }
        }
        for uid in kept.timers.iter().filter(|uid| !defined.contains(uid)) {
            self.bad.push(format!("a timer without its job: {uid}"));
        }
        for (uid, count) in &kept.collections {
            let is = counts.get(uid.as_str()).copied().unwrap_or(0);
            if self.run.scenario == Scenario::Gone && is > QUOTA as usize {
                self.bad.push(format!("more than the quota: {uid} has {is} jobs"));
            }
            if !is_right(&is, count) {
                self.bad.push(format!("counted wrong: {uid} has {is} jobs and counts {count}"));
            }
        }
        if kept.purges > 0 {
            self.bad.push(format!("never purged: {} collections", kept.purges));
        }
    }

    /// Jobs that are over are kept for sixty days, and no longer; all others for ever.
    fn later(&mut self, later: &Later) {
        self.bad.extend(later.refusals.iter().cloned());
        let mut finished: BTreeMap<&str, i64> = BTreeMap::new();
        let mut expired = BTreeSet::new();
        for Changed { at, what } in &later.changes {
            match what {
                Change::JobFinished { uid } => drop(finished.insert(uid, *at)),
                Change::Job { uid, timer, .. } if timer.state.is_final() => {
                    finished.insert(uid, *at);
                }
                Change::Job { uid, .. } => drop(finished.remove(uid.as_str())),
                Change::JobExpired { uid } => {
                    expired.insert(uid);
                    if finished.get(uid.as_str()).is_none_or(|since| *at < since + KEPT - SKEW) {
                        self.bad.push(format!("gone too soon: {uid} at {}", Self::at(*at)));
                    }
                }
                Change::JobEdited { .. }
                | Change::JobPaused { .. }
                | Change::JobDeleted { .. }
                | Change::Collection { .. }
                | Change::CollectionDeleted { .. } => {}
            }
        }
        for job in &self.run.jobs {
            let is_over =
                finished.get(job.uid.as_str()).is_some_and(|since| *since < self.run.ended_at);
            match (later.kept.timers.contains(&job.uid), is_over) {
                (true, true) => self.bad.push(format!("kept too long: {}", job.uid)),
                (false, _) if !expired.contains(&job.uid) => {
                    self.bad.push(format!("gone: {}", job.uid));
                }
                _ => {}
            }
        }
    }
}
