//! The way of each attempt to its call: what was in its way, and when.
//!
//! The judges excuse by this what did not run in time. It is noted where the simulation makes something wait
//! or fail, and nothing of it is asked of the services.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use minutehand_domain::work_item::WorkItem;
use serde_json::{Value, json};

/// A time in which a message was hidden, or a worker had it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) from: i64,
    pub(super) until: i64,
    /// The worker that had it; `None` if it was hidden in the queue.
    pub(super) worker: Option<u64>,
    /// The message, if a worker has it.
    pub(super) message: Option<u64>,
}

impl Hold {
    pub(super) const fn hidden(from: i64, until: i64) -> Self {
        Self { from, until, worker: None, message: None }
    }
}

/// What one of several sweepers sweeps: a part, counted from zero, of so many, in a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    pub(super) part: u32,
    pub(super) of: u32,
    pub(super) round: u32,
}

impl Share {
    /// All timers.
    pub(super) const WHOLE: Self = Self { part: 0, of: 1, round: 0 };
}

/// A pass of a sweeper that came to its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct SweepPass {
    pub(super) from: i64,
    pub(super) until: i64,
    pub(super) process: u64,
    pub(super) share: Share,
}

/// What was in the way of the attempts of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Obstacles {
    /// By the ids of attempts.
    pub(super) holds: BTreeMap<String, Vec<Hold>>,
    /// When messages of attempts were accepted.
    pub(super) sent: BTreeMap<String, Vec<i64>>,
    /// When messages of attempts were lost.
    pub(super) lost: BTreeMap<String, Vec<i64>>,
    /// The attempts and checks with a message among the dead letters.
    pub(super) dead: BTreeSet<String>,
    /// When something failed for a process, or it died.
    pub(super) troubles: BTreeMap<u64, Vec<i64>>,
    pub(super) passes: Vec<SweepPass>,
    /// When sweepers gave signs of life.
    pub(super) signs: Vec<i64>,
    /// When timers of attempts were stored that wait for long.
    pub(super) planned: BTreeMap<String, Vec<i64>>,
    /// When the index did not show the timers of a job as they were.
    pub(super) behind: BTreeMap<String, Vec<(i64, i64)>>,
}

#[derive(Default)]
struct Noted {
    obstacles: Obstacles,
    /// The attempts of messages that workers have.
    received: BTreeMap<u64, Vec<String>>,
}

/// Notes what is in the way of attempts.
#[derive(Default)]
pub(super) struct Ways(Mutex<Noted>);

/// The id of what a work item is about.
pub(super) fn id_of(work_item: &WorkItem) -> Option<String> {
    match work_item {
        WorkItem::Attempt { job, attempt } => Some(format!("{}.{}", job.uid, attempt.id())),
        WorkItem::CheckFinished { job, .. } => Some(job.uid.clone()),
        WorkItem::DeleteJob { .. } | WorkItem::PurgeCollection { .. } | WorkItem::Alert { .. } => {
            None
        }
    }
}

impl Ways {
    fn with(&self, change: impl FnOnce(&mut Noted)) {
        change(&mut self.0.lock().unwrap());
    }

    /// A message was accepted, and is hidden until an instant.
    pub(super) fn sent(&self, work_item: &WorkItem, now: i64, until: i64) {
        let Some(id) = id_of(work_item) else { return };
        self.with(|noted| {
            noted.obstacles.sent.entry(id.clone()).or_default().push(now);
            noted.hold(id, Hold::hidden(now, until));
        });
    }

    /// A message was accepted, and is lost.
    pub(super) fn lost(&self, work_item: &WorkItem, now: i64) {
        let Some(id) = id_of(work_item) else { return };
        self.with(|noted| {
            noted.obstacles.sent.entry(id.clone()).or_default().push(now);
            noted.obstacles.lost.entry(id).or_default().push(now);
        });
    }

    pub(super) fn dead(&self, work_item: &WorkItem) {
        self.with(|noted| noted.obstacles.dead.extend(id_of(work_item)));
    }

    /// A worker has a message until an instant, unless it is done with it before; `None` cannot read it.
    pub(super) fn received(
        &self,
        message: u64,
        work_items: &[WorkItem],
        worker: Option<u64>,
        (from, until): (i64, i64),
    ) {
        let ids: Vec<String> = work_items.iter().filter_map(id_of).collect();
        self.with(|noted| {
            for id in &ids {
                let message = Some(message);
                noted.hold(id.clone(), Hold { from, until, worker, message });
            }
            noted.received.insert(message, ids);
        });
    }

    /// A worker is done with one attempt of a message.
    pub(super) fn ended(&self, message: u64, work_item: &WorkItem, now: i64) {
        let Some(id) = id_of(work_item) else { return };
        self.with(|noted| noted.release(&id, now, message));
    }

    /// A worker is done with one attempt of a message, and starts it no more: the message comes again.
    pub(super) fn put_off(&self, message: u64, work_item: &WorkItem, now: i64) {
        let Some(id) = id_of(work_item) else { return };
        self.with(|noted| {
            let holds = noted.obstacles.holds.get_mut(&id).into_iter().flatten();
            let of_message = holds.filter(|it| it.until > now && it.message == Some(message));
            let mut hidden = None;
            for hold in of_message {
                hidden = Some(Hold { from: now, worker: None, ..*hold });
                hold.until = now;
            }
            if let Some(hidden) = hidden {
                noted.hold(id, hidden);
            }
        });
    }

    /// A worker is done with a message, which is hidden until an instant or gone.
    pub(super) fn settled(&self, message: u64, now: i64, hidden_until: Option<i64>) {
        self.with(|noted| {
            for id in noted.received.remove(&message).unwrap_or_default() {
                noted.release(&id, now, message);
                if let Some(until) = hidden_until {
                    noted.hold(id, Hold::hidden(now, until));
                }
            }
        });
    }

    /// The process of a machine begins: what it finds in the queue is hidden until these instants.
    pub(super) fn restarted(&self, now: i64, hidden: Vec<(WorkItem, i64)>) {
        self.with(|noted| {
            noted.received.clear();
            for hold in noted.obstacles.holds.values_mut().flatten() {
                hold.until = hold.until.min(now);
            }
            for (work_item, until) in hidden {
                if let Some(id) = id_of(&work_item) {
                    noted.hold(id, Hold::hidden(now, until));
                }
            }
        });
    }

    pub(super) fn trouble(&self, process: u64, now: i64) {
        self.with(|noted| noted.obstacles.troubles.entry(process).or_default().push(now));
    }

    pub(super) fn passed(&self, pass: SweepPass) {
        self.with(|noted| noted.obstacles.passes.push(pass));
    }

    pub(super) fn signed(&self, now: i64) {
        self.with(|noted| noted.obstacles.signs.push(now));
    }

    /// The timer of an attempt that waits for long was stored.
    pub(super) fn planned(&self, id: String, now: i64) {
        self.with(|noted| noted.obstacles.planned.entry(id).or_default().push(now));
    }

    pub(super) fn behind(&self, uid: &str, from: i64, until: i64) {
        if until > from {
            let of_job = |noted: &mut Noted| {
                noted.obstacles.behind.entry(uid.to_owned()).or_default().push((from, until));
            };
            self.with(of_job);
        }
    }

    pub(super) fn obstacles(&self) -> Obstacles {
        self.0.lock().unwrap().obstacles.clone()
    }

    /// The lines of the log.
    pub(super) fn lines(&self) -> Vec<Value> {
        let noted = self.0.lock().unwrap();
        let Obstacles { holds, troubles, passes, planned, behind, .. } = &noted.obstacles;
        let holds = holds.iter().map(|(id, holds)| {
            let holds: Vec<_> =
                holds.iter().map(|it| json!([it.from, it.until, it.worker])).collect();
            json!({"e": "way", "id": id, "holds": holds})
        });
        let planned =
            planned.iter().map(|(id, times)| json!({"e": "planned", "id": id, "times": times}));
        let passes = passes.iter().map(|it| {
            let none = Vec::new();
            let of_process = troubles.get(&it.process).unwrap_or(&none);
            let is_troubled = of_process.iter().any(|at| (it.from..=it.until).contains(at));
            let Share { part, of, round } = it.share;
            json!({
                "e": "pass", "from": it.from, "until": it.until, "failed": is_troubled,
                "share": [part, of, round],
            })
        });
        let behind =
            behind.iter().map(|(uid, times)| json!({"e": "behind", "job": uid, "times": times}));
        let troubles =
            troubles.iter().map(|(id, at)| json!({"e": "trouble", "worker": id, "at": at}));
        holds.chain(planned).chain(passes).chain(behind).chain(troubles).collect()
    }
}

impl Noted {
    fn hold(&mut self, id: String, hold: Hold) {
        self.obstacles.holds.entry(id).or_default().push(hold);
    }

    /// Ends what a message holds of an attempt.
    fn release(&mut self, id: &str, now: i64, message: u64) {
        let holds = self.obstacles.holds.get_mut(id).into_iter().flatten();
        for hold in holds.filter(|hold| hold.until > now && hold.message == Some(message)) {
            hold.until = now;
        }
    }
}
