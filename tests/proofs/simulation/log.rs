//! The log of a run, for the second judge: one JSON object a line, written only when it is asked for.
//!
//! It says what an observer outside sees, and what the store held when: requests as they were sent, and
//! their answers; which of them took effect, and what the clock showed that decided them; messages;
//! signs of life; each call at a target; each row of history; what there is at the end. It holds
//! nothing that the services computed, but for names: ids of jobs, and the token of a job's timing.
//! `tests/judge/README.md` lists the lines.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Role};
use minutehand_domain::collection::CollectionState;
use minutehand_domain::firing::TurnOrder;
use minutehand_domain::work_item::{JobRef, WorkItem};
use minutehand_ports::Timers as _;
use minutehand_ports::store::{CollectionRecord, Pause, Saved, TurnsWrite};
use serde_json::{Value, json};

use super::memory::Tables;
use super::play::{Kind, Request, Scenario};
use super::time::{Process, micros};
use super::world::{Faults, TurnNote, TurnWhat, World};

/// The version of the log: `tests/judge/README.md` says what each one added.
const VERSION: u32 = 2;

/// The lines of a run.
#[derive(Default)]
pub(super) struct Log {
    is_on: AtomicBool,
    lines: Mutex<String>,
}

impl Log {
    /// A log that is written.
    pub(super) fn on() -> Self {
        Self { is_on: AtomicBool::new(true), lines: Mutex::default() }
    }

    /// Adds a line.
    pub(super) fn note(&self, line: impl FnOnce() -> Value) {
        if self.is_on.load(Relaxed) {
            writeln!(self.lines.lock().unwrap(), "{}", line()).unwrap();
        }
    }

    pub(super) fn take(&self) -> String {
        std::mem::take(&mut *self.lines.lock().unwrap())
    }
}

/// An attempt as a target and the history name it.
pub(super) fn described(job: &JobRef, attempt: &Attempt) -> Value {
    let is_run = matches!(attempt.occurrence, Occurrence::Run { .. });
    let role = match attempt.role {
        Role::Main => "main",
        Role::Error => "error",
        Role::Notice => "notice",
    };
    json!({
        "id": format!("{}.{}", job.uid, attempt.id()),
        "job": job.uid,
        "timing": attempt.generation,
        "run": is_run,
        "nominal": micros(attempt.occurrence.nominal_at()),
        "role": role,
        "number": attempt.number,
    })
}

impl World {
    /// What the run is.
    pub(super) fn log_start(&self, scenario: Scenario) {
        self.log.note(|| {
            json!({
                "e": "run", "seed": self.seed, "scenario": format!("{scenario:?}"),
                "mutation": self.mutation.map(|it| format!("{it:?}")),
                "version": VERSION, "shards": self.memory.shards(),
                "epoch": micros(chrono::DateTime::UNIX_EPOCH),
            })
        });
    }

    /// What goes wrong from now on.
    pub(super) fn log_faults(&self, faults: Faults) {
        self.log.note(|| {
            json!({
                "e": "faults", "skew": faults.skew, "stalls": faults.stalls > 0,
                "loses": faults.vanished > 0,
            })
        });
    }

    /// A request to the API as it was sent.
    pub(super) fn log_request(&self, process: &Process, request: &Request) {
        let switch = |state: &CollectionState, quota: Option<u32>| {
            let quota = quota.map(|jobs_max| json!({"maxJobCount": jobs_max}));
            json!({"properties": {"state": state.name(), "quota": quota}})
        };
        let (what, name, body) = match request {
            Request::Put { job, body, .. } => ("put", Some(job), body.clone()),
            Request::Patch { job, body } => ("patch", Some(job), body.clone()),
            Request::Delete { job } => ("delete", Some(job), Value::Null),
            Request::Run { job } => ("run", Some(job), Value::Null),
            Request::Redrive { job } => ("redrive", Some(job), Value::Null),
            // It does what this change does.
            Request::Resume { job } => {
                ("patch", Some(job), json!({"properties": {"state": "enabled"}}))
            }
            Request::Switch { state, quota, .. } => ("put", None, switch(state, *quota)),
            Request::Notify { action, .. } => {
                ("patch", None, json!({"properties": {"minutehand": {"onFailure": action}}}))
            }
            Request::Limit { limits, .. } => ("patch", None, limits.clone()),
            Request::DeleteCollection { .. } => ("delete", None, Value::Null),
        };
        self.log.note(|| {
            json!({
                "e": "ask", "what": what, "name": name, "body": body,
                "at": self.time.now(), "worker": process.id,
            })
        });
    }

    /// A job was refused because its collection is full.
    pub(super) fn log_full(&self, process: &Process, collection: &str) {
        self.log.note(|| {
            json!({
                "e": "full", "collection": collection, "at": self.time.now(), "worker": process.id,
            })
        });
    }

    /// A change of the store that a process made.
    fn log_change(&self, process: &Process, saved: Saved, what: impl FnOnce() -> Value) {
        if saved != Saved::Kept {
            return;
        }
        self.log.note(|| {
            let mut line = what();
            line["at"] = json!(self.time.now());
            line["worker"] = json!(process.id);
            line["clock"] = json!(process.last_read());
            line
        });
    }

    pub(super) fn log_collection(
        &self,
        process: &Process,
        saved: Saved,
        record: &CollectionRecord,
        is_deleted: bool,
    ) {
        let collection = &record.collection;
        self.log_change(process, saved, || {
            json!({
                "e": "collection", "uid": collection.uid, "name": collection.name.to_string(),
                "deleted": is_deleted,
            })
        });
    }

    /// A change of a job: which one, and the token of its timing.
    pub(super) fn log_job(
        &self,
        process: &Process,
        saved: Saved,
        (collection, job): (&CollectionRecord, &minutehand_ports::store::JobRecord),
        is_deleted: bool,
    ) {
        self.log_change(process, saved, || {
            json!({
                "e": "job", "uid": job.uid, "collection": collection.collection.uid,
                "name": job.name.to_string(), "deleted": is_deleted,
                "timing": job.timer.timing.generation,
            })
        });
    }

    /// A job that was paused after failures.
    pub(super) fn log_pause(&self, process: &Process, pause: &Pause) {
        self.log_change(process, Saved::Kept, || {
            json!({
                "e": "pause", "uid": pause.job.uid, "timing": pause.timing.generation,
                "since": micros(pause.timing.since),
            })
        });
    }

    /// A message on its way: sent, lost, or among the dead letters.
    pub(super) fn log_message(&self, what: &str, work_item: &WorkItem) {
        self.log.note(|| {
            let mut line = match work_item {
                WorkItem::Attempt { job, attempt } => described(job, attempt),
                WorkItem::CheckFinished { job, .. } => json!({"check": job.uid}),
                WorkItem::DeleteJob { job, .. } => json!({"delete": job.uid}),
                WorkItem::PurgeCollection { collection_uid } => json!({"purge": collection_uid}),
                WorkItem::Alert { collection_uid, .. } => json!({"alert": collection_uid}),
            };
            line["e"] = json!(what);
            line["at"] = json!(self.time.now());
            line
        });
    }

    /// That something stops working, or works again.
    pub(super) fn log_outage(&self, kind: Kind, is_down: bool) {
        let what = match kind {
            Kind::Workers => &["workers"][..],
            Kind::Sweepers => &["sweepers"],
            Kind::Both => &["workers", "sweepers"],
            Kind::Blind => &["index"],
        };
        for what in what {
            self.log.note(|| {
                json!({"e": if is_down { "down" } else { "up" }, "what": what, "at": self.time.now()})
            });
        }
    }

    /// The one process on a machine begins, and what its clock shows.
    pub(super) fn log_begin(&self, process: &Process) {
        self.log.note(|| {
            json!({
                "e": "begin", "at": self.time.now(), "clock": process.clock(), "worker": process.id,
            })
        });
    }

    /// The one process on a machine has ended.
    pub(super) fn log_end_of_process(&self) {
        self.log.note(|| json!({"e": "ended", "at": self.time.now()}));
    }

    /// A row of history, when it is written.
    pub(super) fn log_row(
        &self,
        process: &Process,
        job: &JobRef,
        (attempt, record): (&Attempt, &Record),
    ) {
        self.log.note(|| {
            let mut line = row(&job.uid, attempt, record);
            line["e"] = json!("row");
            line["at"] = json!(self.time.now());
            line["worker"] = json!(process.id);
            line
        });
    }

    /// What the store was told of the turns of a job: who takes one, who waits, and what is left out.
    pub(super) fn note_turns(&self, before: &TurnOrder, write: &TurnsWrite) {
        let TurnsWrite { job_uid, order, left_out, .. } = write;
        if let Some(row) = left_out {
            let what = Occurrence::Scheduled { nominal_at: row.first };
            let attempt = Attempt::first(row.generation, what);
            self.note_turn(job_uid, &attempt, TurnWhat::LeftOut);
            return;
        }
        let claim_id = before.holder.as_ref().map(|holder| &holder.claim_id);
        if let Some(holder) = order.holder.as_ref().filter(|it| Some(&it.claim_id) != claim_id) {
            self.note_turn(job_uid, &holder.attempt, TurnWhat::Takes);
        }
        for waiter in order.waiting.iter().filter(|it| !before.waiting.contains(it)) {
            self.note_turn(job_uid, &waiter.attempt, TurnWhat::Waits);
        }
    }

    pub(super) fn note_turn(&self, job_uid: &str, attempt: &Attempt, what: TurnWhat) {
        if attempt.role != Role::Main {
            return;
        }
        let is_run = matches!(attempt.occurrence, Occurrence::Run { .. });
        self.turns.lock().unwrap().push(TurnNote {
            at: self.time.now(),
            uid: job_uid.to_owned(),
            generation: attempt.generation,
            nominal: (!is_run).then(|| micros(attempt.occurrence.nominal_at())),
            number: attempt.number,
            id: attempt.id().to_string(),
            what,
        });
        let what = match what {
            TurnWhat::Takes => "takes",
            TurnWhat::Waits => "waits",
            TurnWhat::Back => "back",
            TurnWhat::LeftOut => "leaves out",
            // The row says so.
            TurnWhat::Ended => return,
        };
        self.log.note(|| {
            let job = JobRef {
                uid: job_uid.to_owned(),
                collection_uid: String::new(),
                key: String::new(),
            };
            let mut line = described(&job, attempt);
            line["e"] = json!("turn");
            line["what"] = json!(what);
            line["at"] = json!(self.time.now());
            line
        });
    }

    /// What there is at the end.
    pub(super) fn log_end(&self, what: &str) {
        if what == "end" {
            for line in self.time.ways.lines() {
                self.log.note(|| line);
            }
        }
        self.log.note(|| {
            let tables = self.memory.tables();
            let mut line = kept(&tables);
            line["e"] = json!(what);
            line["at"] = json!(self.time.now());
            line
        });
    }
}

fn row(job_uid: &str, attempt: &Attempt, record: &Record) -> Value {
    let job = JobRef { uid: job_uid.to_owned(), collection_uid: String::new(), key: String::new() };
    let mut row = described(&job, attempt);
    row["started"] = json!(micros(record.started_at));
    row["ended"] = json!(micros(record.ended_at));
    row["ok"] = json!(record.outcome == Outcome::Succeeded);
    row["message"] = json!(record.message);
    row["next"] = json!(record.then.is_some());
    row
}

/// Jobs with their counters, rows of history, and which items there are.
fn kept(tables: &Tables) -> Value {
    let timers = tables.timers.iter().map(|(uid, item)| {
        let counters = item.record.counters;
        json!({
            "uid": uid, "collection": item.collection_uid, "state": item.record.state.name(),
            "executions": counters.executions, "failures": counters.failures,
            "faulted": counters.faulted, "skipped": counters.skipped,
            "last": counters.last_execution_at.map(micros),
            "expires": item.expires_at.map(micros),
        })
    });
    let rows = tables.executions.iter().flat_map(|(uid, of_job)| {
        of_job.values().filter_map(move |item| {
            item.record.as_ref().map(|record| row(uid, &item.attempt, record))
        })
    });
    let left_out = tables.left_out.iter().flat_map(|(uid, of_job)| {
        of_job.values().map(move |it| {
            json!({
                "job": uid, "timing": it.generation, "occurrences": it.occurrences,
                "first": micros(it.first), "last": micros(it.last),
                "reason": it.reason.name(), "at": micros(it.at),
                "from": it.reason.outage().map(|it| micros(it.from)),
                "until": it.reason.outage().map(|it| micros(it.until)),
            })
        })
    });
    let quarters = tables.quarters.iter().map(|((collection, quarter), it)| {
        json!({
            "collection": collection, "from": micros(quarter.start()),
            "succeeded": it.ok + it.retried + it.late, "failed": it.failed, "skipped": it.skipped,
        })
    });
    let collections = tables.collections.values();
    let collections = collections.map(|it| json!({"uid": it.collection.uid, "jobs": it.job_count}));
    json!({
        "timers": timers.collect::<Vec<_>>(),
        "rows": rows.collect::<Vec<_>>(),
        "left_out": left_out.collect::<Vec<_>>(),
        "quarters": quarters.collect::<Vec<_>>(),
        "collections": collections.collect::<Vec<_>>(),
        "definitions": tables.jobs.iter().map(|((of, _), it)| json!([of, it.uid])).collect::<Vec<_>>(),
        "retries": tables.retries.keys().map(|(uid, _)| uid).collect::<Vec<_>>(),
        "purges": tables.purges.len(),
    })
}
