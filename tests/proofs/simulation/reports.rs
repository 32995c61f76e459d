//! Targets that answer that they go on, and report later how it ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use minutehand_app::{CompletionUrls, Report, Reported};
use minutehand_domain::completion::Ending;
use minutehand_ports::{AttemptContext, GivenKey};
use serde_json::json;

use super::time::{Process, SECOND, micros};
use super::world::World;

/// For how long an attempt may be open.
pub(super) const WITHIN: i64 = 120 * SECOND;
/// How often a target reports until it is answered.
const TRIES_MAX: usize = 20;
/// How long it waits for an answer.
const ANSWER_WITHIN: i64 = 10 * SECOND;

/// A report that was sent.
#[derive(Debug, Clone)]
pub(super) struct SentReport {
    pub(super) id: String,
    pub(super) is_success: bool,
    /// When, by the clock of the process that took it.
    pub(super) clock: i64,
    /// What was answered, if anything.
    pub(super) answer: Option<Reported>,
}

/// When an attempt was left open, and by which worker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opened {
    pub(super) at: i64,
    pub(super) worker: u64,
}

/// Open attempts, and what their targets report.
#[derive(Default)]
pub(super) struct Reports {
    pub(super) sent: Mutex<Vec<SentReport>>,
    /// The attempts that were left open.
    pub(super) opened: Mutex<BTreeMap<String, Opened>>,
    /// When the first ending of an attempt was stored.
    pub(super) ended: Mutex<BTreeMap<String, i64>>,
    /// Executions whose targets know what they report.
    planned: Mutex<BTreeSet<String>>,
}

impl Reports {
    /// Notes a report, and returns its place.
    fn send(&self, report: SentReport) -> usize {
        let mut sent = self.sent.lock().unwrap();
        sent.push(report);
        sent.len() - 1
    }
}

/// Where targets report.
pub(super) fn completion_urls() -> Arc<CompletionUrls> {
    let key = Arc::new(GivenKey(vec![7; 32].into()));
    Arc::new(CompletionUrls::new("http://here.example", key))
}

impl World {
    /// Whether the target of an execution answers that it goes on: always the same. With the first call it is
    /// known what it reports.
    pub(super) fn accepts(self: &Arc<Self>, context: &AttemptContext, took: i64) -> bool {
        let (Some(url), id) = (&context.completion_url, &context.execution_id) else {
            return false;
        };
        let mut chance = self.chance_of(&format!("{id} goes on"));
        if !chance.happens(800_000) {
            return false;
        }
        if !self.reports.planned.lock().unwrap().insert(id.clone()) {
            return true;
        }
        let now = self.time.now();
        let later = now + took + chance.between(SECOND / 10, 50 * SECOND);
        let is_success = chance.happens(600_000);
        let plan = match chance.below(11) {
            // Before the answer.
            0 | 1 => vec![(now + took / 2, is_success)],
            // Twice, and not the same.
            2 => vec![(later, is_success), (later + chance.between(0, 3 * SECOND), is_success)],
            3 => vec![(later, true), (later + chance.between(0, SECOND / 10), false)],
            // At once with the deadline, after it, and never.
            4 => vec![(now + WITHIN + chance.between(-SECOND, SECOND), is_success)],
            5 => vec![(now + WITHIN + chance.between(5 * SECOND, 200 * SECOND), is_success)],
            6 => Vec::new(),
            _ => vec![(later, is_success)],
        };
        for (at, is_success) in plan {
            self.report(url, id, (at, is_success));
        }
        true
    }

    /// Reports until it is answered.
    fn report(self: &Arc<Self>, url: &str, id: &str, (at, is_success): (i64, bool)) {
        let key = url.rsplit('/').next().unwrap_or_default().to_owned();
        let (world, id) = (self.clone(), id.to_owned());
        self.time.spawn(&self.keeper, async move {
            world.time.until(at).await;
            for _ in 0..TRIES_MAX {
                if let Some((process, manage)) = world.answering() {
                    let clock = process.clock();
                    let sent = SentReport { id: id.clone(), is_success, clock, answer: None };
                    let place = world.reports.send(sent);
                    world.log.note(|| {
                        let at = world.time.now();
                        json!({
                            "e": "report", "report": place, "id": id, "ok": is_success, "at": at,
                            "clock": clock,
                        })
                    });
                    let (noting, key) = (world.clone(), key.clone());
                    world.time.spawn(&process, async move {
                        let report = if is_success { Report::Success } else { Report::Failure };
                        let answer = manage.report(&key, report, "").await;
                        noting.reported(place, answer.ok());
                    });
                    world.time.until(world.time.now() + ANSWER_WITHIN).await;
                    if world.reports.sent.lock().unwrap()[place].answer.is_some() {
                        return;
                    }
                } else {
                    world.time.until(world.time.now() + ANSWER_WITHIN).await;
                }
            }
        });
    }

    /// Notes how a report was answered.
    fn reported(&self, place: usize, answer: Option<Reported>) {
        self.reports.sent.lock().unwrap()[place].answer = answer;
        self.log.note(|| {
            let answer = answer.map(|answer| match answer {
                Reported::Kept => "kept",
                Reported::Over => "over",
                Reported::Unknown => "unknown",
            });
            json!({"e": "reported", "report": place, "answer": answer, "at": self.time.now()})
        });
    }

    /// Notes that an attempt is left open by a process, so that it is not made again.
    pub(super) fn opened(&self, id: &str, process: &Process) {
        let now = self.time.now();
        let opened = Opened { at: now, worker: process.id };
        self.reports.opened.lock().unwrap().entry(id.to_owned()).or_insert(opened);
        self.log.note(|| json!({"e": "open", "id": id, "at": now}));
        let mut fires = self.fires.lock().unwrap();
        let mut of_it = fires.iter_mut().rev().filter(|fire| fire.execution_id == id);
        if let Some(fire) = of_it.find(|fire| fire.worker == process.id) {
            fire.is_unrecorded = false;
        }
    }

    /// Notes that an ending is stored.
    pub(super) fn ended(&self, id: &str, ending: &Ending) {
        let now = self.time.now();
        self.log.note(|| {
            let (by, clock) = (ending.by.name(), micros(ending.at));
            json!({"e": "said", "id": id, "by": by, "at": now, "clock": clock})
        });
        self.reports.ended.lock().unwrap().entry(id.to_owned()).or_insert(now);
    }
}
