//! The facts about a run, as the judge knows them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;

use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Role};
use minutehand_domain::completion::EndedBy;
use minutehand_domain::quarter::{Quarter, QuarterCounts};
use minutehand_ports::Timers as _;
use minutehand_ports::store::TimerRecord;

use crate::simulation::earlier::is_forgotten;
use crate::simulation::hanging::BrakeNote;
use crate::simulation::machine::Life;
use crate::simulation::memory::{Changed, JobItem, Tables};
use crate::simulation::pings::{ApiLife, PingNote};
use crate::simulation::play::{Outage, Scenario};
use crate::simulation::postgres::SharedNote;
use crate::simulation::reports::{Opened, SentReport};
use crate::simulation::time::micros;
use crate::simulation::way::Obstacles;
use crate::simulation::why::Explained;
use crate::simulation::world::{Fire, Redrive, TurnNote, World};

/// The facts about a run, as the judge knows them.
#[derive(Debug, Clone)]
pub(in crate::simulation) struct Run {
    pub(in crate::simulation) scenario: Scenario,
    pub(in crate::simulation) seed: u64,
    /// The instant of the last fault.
    pub(in crate::simulation) span: i64,
    pub(in crate::simulation) outage: Option<Outage>,
    pub(in crate::simulation) changes: Vec<Changed>,
    pub(in crate::simulation) fires: Vec<Fire>,
    pub(in crate::simulation) executions: Vec<Executed>,
    /// The jobs that exist at the end.
    pub(in crate::simulation) jobs: Vec<Left>,
    /// Jobs with a retry timer.
    pub(in crate::simulation) retrying: BTreeSet<String>,
    pub(in crate::simulation) dead_letters: usize,
    /// When workers gave their first sign of life.
    pub(in crate::simulation) workers_since: i64,
    /// Packets that were performed.
    pub(in crate::simulation) packets: u64,
    pub(in crate::simulation) runs: Vec<(i64, String, String)>,
    /// The recorded attempts: their execution ids, their end times, and how far the clocks were off.
    pub(in crate::simulation) records: Vec<(String, i64, i64)>,
    /// The processes on one machine, one after the other; empty otherwise.
    pub(in crate::simulation) lives: Vec<Life>,
    pub(in crate::simulation) redrives: Vec<Redrive>,
    /// Whether what the queue has lost is sent again.
    pub(in crate::simulation) heals: bool,
    /// How often a message of an attempt was lost.
    pub(in crate::simulation) vanished: BTreeMap<String, u32>,
    /// How far a clock may be off, where it does not jump.
    pub(in crate::simulation) skew: i64,
    /// What was in the way of attempts.
    pub(in crate::simulation) obstacles: Obstacles,
    /// The shards of the timers.
    pub(in crate::simulation) shards: u32,
    /// What was left out.
    pub(in crate::simulation) left_out: Vec<Row>,
    /// The turns of jobs that let no attempts overlap.
    pub(in crate::simulation) turns: Vec<TurnNote>,
    /// What happened to origins, where workers share their brakes.
    pub(in crate::simulation) brakes: Vec<BrakeNote>,
    pub(in crate::simulation) kept: Kept,
    /// The processes that take pings, and what happened to pings, in order.
    pub(in crate::simulation) api_lives: Vec<ApiLife>,
    pub(in crate::simulation) pings: Vec<PingNote>,
    /// What quarters of an hour count, by collection and begin.
    pub(in crate::simulation) quarters: BTreeMap<(String, i64), Counts>,
    /// What happened to processes that share a database, in order.
    pub(in crate::simulation) shared: Vec<SharedNote>,
    /// What targets reported.
    pub(in crate::simulation) reports: Vec<SentReport>,
    /// The attempts that were left open, and when that ended.
    pub(in crate::simulation) opened: BTreeMap<String, Opened>,
    pub(in crate::simulation) endings: BTreeMap<String, i64>,
    /// What the service says of the occurrences; empty if it was not asked.
    pub(in crate::simulation) explained: Vec<Explained>,
    pub(in crate::simulation) ended_at: i64,
    /// The content of the store long after the end.
    pub(in crate::simulation) later: Option<Later>,
}

/// Occurrences that the history says were left out.
#[derive(Debug, Clone)]
pub(in crate::simulation) struct Row {
    pub(in crate::simulation) uid: String,
    pub(in crate::simulation) generation: u64,
    pub(in crate::simulation) first: i64,
    pub(in crate::simulation) last: i64,
    pub(in crate::simulation) reason: &'static str,
    /// When they were left out.
    pub(in crate::simulation) at: i64,
}

/// What a quarter of an hour counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::simulation) struct Counts {
    /// The occurrences that succeeded, whenever.
    pub(in crate::simulation) ended: u64,
    pub(in crate::simulation) failed: u64,
    pub(in crate::simulation) skipped: u64,
    /// The first attempts.
    pub(in crate::simulation) started: u64,
}

/// The content of the store at one instant, without timers and attempts.
#[derive(Debug, Clone)]
pub(in crate::simulation) struct Kept {
    /// Collections, and how many jobs they count.
    pub(in crate::simulation) collections: BTreeMap<String, usize>,
    /// The job definitions of each collection.
    pub(in crate::simulation) definitions: Vec<(String, String)>,
    /// Jobs that have a timer.
    pub(in crate::simulation) timers: BTreeSet<String>,
    /// Collections whose jobs are still to be purged.
    pub(in crate::simulation) purges: usize,
}

/// The content of the store after finished jobs have expired.
#[derive(Debug, Clone)]
pub(in crate::simulation) struct Later {
    pub(in crate::simulation) kept: Kept,
    /// The events of the run, in order.
    pub(in crate::simulation) changes: Vec<Changed>,
    /// Refusals of jobs for which there was room.
    pub(in crate::simulation) refusals: Vec<String>,
}

/// An execution that ended.
#[derive(Debug, Clone)]
pub(in crate::simulation) struct Executed {
    pub(in crate::simulation) uid: String,
    pub(in crate::simulation) generation: u64,
    pub(in crate::simulation) nominal: Option<i64>,
    pub(in crate::simulation) role: Role,
    pub(in crate::simulation) number: u32,
    /// The begin of the quarter of an hour in which it was due.
    pub(in crate::simulation) quarter: i64,
    pub(in crate::simulation) started: i64,
    pub(in crate::simulation) ended: i64,
    /// When by its worker's clock; on one machine it jumps.
    pub(in crate::simulation) started_clock: i64,
    pub(in crate::simulation) ended_clock: i64,
    pub(in crate::simulation) is_success: bool,
    /// Whether the record says what follows.
    pub(in crate::simulation) is_decided: bool,
    /// Whether the memory of an earlier version takes it for counted, though it is not.
    pub(in crate::simulation) is_forgotten: bool,
    pub(in crate::simulation) id: String,
    /// How long the target asked to wait.
    pub(in crate::simulation) asked: Option<i64>,
    /// What ended it, if it was open or its target reported the end before.
    pub(in crate::simulation) ended_by: Option<EndedBy>,
}

/// A job that exists at the end.
#[derive(Debug, Clone)]
pub(in crate::simulation) struct Left {
    pub(in crate::simulation) uid: String,
    pub(in crate::simulation) collection_uid: String,
    pub(in crate::simulation) timer: TimerRecord,
    /// When it is as if it did not exist.
    pub(in crate::simulation) expires_at: Option<i64>,
}

impl Run {
    /// Whether the queue loses messages.
    pub(in crate::simulation) fn loses(&self) -> bool {
        matches!(self.scenario, Scenario::Lossy | Scenario::Parts)
    }

    pub(in crate::simulation) fn of(
        world: &World,
        scenario: Scenario,
        span: i64,
        outage: Option<Outage>,
    ) -> Self {
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
        Self {
            scenario,
            seed: world.seed,
            span,
            outage,
            changes: tables.changes.clone(),
            fires: world.fires.lock().unwrap().clone(),
            executions: executed(world, &tables, &skews),
            jobs: jobs.collect(),
            retrying: tables.retries.keys().map(|(uid, _)| uid.clone()).collect(),
            dead_letters: world.sqs.lock().unwrap().dead.len() + world.local_dead_letters().len(),
            workers_since: world.workers_since.load(Relaxed),
            packets: world.packets.load(Relaxed),
            runs: world.runs.lock().unwrap().clone(),
            heals: world.heals(),
            vanished: world.vanished.lock().unwrap().clone(),
            skew: world.faults().skew,
            obstacles: world.time.ways.obstacles(),
            shards: world.memory.shards(),
            left_out: tables
                .left_out
                .iter()
                .flat_map(|(uid, rows)| rows.values().map(move |row| (uid, row)))
                .map(|(uid, row)| Row {
                    uid: uid.clone(),
                    generation: row.generation,
                    first: micros(row.first),
                    last: micros(row.last),
                    reason: row.reason.name(),
                    at: micros(row.at),
                })
                .collect(),
            turns: world.turns.lock().unwrap().clone(),
            brakes: world.hanging.notes.lock().unwrap().clone(),
            records: records.clone(),
            lives,
            redrives: world.redrives.lock().unwrap().clone(),
            kept: Kept::of(&tables),
            api_lives: world.pinged.lives.lock().unwrap().clone(),
            quarters: quarters(&tables),
            shared: world.shared.notes.lock().unwrap().clone(),
            pings: world.pinged.notes.lock().unwrap().clone(),
            reports: world.reports.sent.lock().unwrap().clone(),
            opened: world.reports.opened.lock().unwrap().clone(),
            endings: world.reports.ended.lock().unwrap().clone(),
            explained: Vec::new(),
            ended_at: world.time.now(),
            later: None,
        }
    }
}

/// What the store counts by quarters.
fn quarters(tables: &Tables) -> BTreeMap<(String, i64), Counts> {
    let all = tables.quarters.iter().map(|((collection, quarter), counts)| {
        let QuarterCounts { ok, retried, late, failed, skipped, starts } = *counts;
        let (ended, started) = (ok + retried + late, starts.0.iter().sum());
        let key = (collection.clone(), micros(quarter.start()));
        (key, Counts { ended, failed, skipped, started })
    });
    all.collect()
}

/// What the history has, with what the world knows of it.
fn executed(world: &World, tables: &Tables, skews: &BTreeMap<&str, i64>) -> Vec<Executed> {
    let mut executions = Vec::new();
    for (uid, of_job) in &tables.executions {
        for item in of_job.values() {
            if let Some(record) = &item.record {
                let timer = tables.timers.get(uid);
                let forgets = |it: &JobItem| is_forgotten(it, &item.attempt, record);
                let is_forgotten = timer.is_some_and(forgets);
                let executed = Executed::of(uid, &item.attempt, record, skews);
                // Of a worker that was lost nobody knows what its target said.
                let is_answered = !record.message.contains("workers were lost");
                let asked = world.asked(&executed.id).filter(|_| is_answered);
                let ended_by = item.open.ending.as_ref().map(|ending| ending.by);
                let asked = asked.filter(|_| ended_by.is_none());
                executions.push(Executed { is_forgotten, asked, ended_by, ..executed });
            }
        }
    }
    executions
}

impl Kept {
    pub(super) fn of(tables: &Tables) -> Self {
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
    pub(in crate::simulation) fn of(world: &World) -> Self {
        let tables = world.memory.tables();
        let refusals = world.refusals.lock().unwrap().clone();
        Self { kept: Kept::of(&tables), changes: tables.changes.clone(), refusals }
    }
}

impl Executed {
    /// `skews` says how far the clocks were off where that is by more than two clocks differ.
    pub(super) fn of(
        uid: &str,
        attempt: &Attempt,
        record: &Record,
        skews: &BTreeMap<&str, i64>,
    ) -> Self {
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
            started_clock: micros(record.started_at),
            ended: micros(record.ended_at) - skew,
            ended_clock: micros(record.ended_at),
            is_success: record.outcome == Outcome::Succeeded,
            is_decided: record.then.is_some(),
            is_forgotten: false,
            id,
            quarter: micros(Quarter::of(attempt.occurrence.nominal_at()).start()),
            asked: None,
            ended_by: None,
        }
    }
}
