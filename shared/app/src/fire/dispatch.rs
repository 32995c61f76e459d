//! Timers handed to the queue: the same for a sweep and for what the API has just changed.
//!
//! 1. What is due within the horizon is sent. A crash here leaves messages that will be sent again:
//!    each attempt is the same whoever sends it, and is claimed once.
//! 2. Once all of it is taken, the timers move on, each if it is where it was. A crash before leaves
//!    them due, and the next sweep begins again. One that is no longer where it was has been moved by
//!    somebody else, or its job changed: then what was sent under the old timing does not start.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use domain::attempt::{Attempt, Occurrence};
use domain::firing::limits::OCCURRENCES_MAX;
use domain::firing::{Window, plan_dispatch};
use domain::work_item::{JobRef, WorkItem};
use ports::firing::{Advance, Due, DueTimer, JobTimer, TimerKey, TimerStore};
use ports::{Clock, DispatchQueue, ErrorType, Event, EventSink, QueueMessage};
use recurrence::Timetable;

use super::{Process, floor, spans};
use crate::error::AppError;

/// A timer that cannot be planned moves on so far, that it does not block those behind it.
const UNREADABLE_WAITS: TimeDelta = TimeDelta::hours(1);

/// Hands what is due to the queue.
#[derive(Clone)]
pub struct Dispatcher {
    store: Arc<dyn TimerStore>,
    queue: Arc<dyn DispatchQueue>,
    events: Arc<dyn EventSink>,
    clock: Arc<dyn Clock>,
    only_process: Option<Process>,
}

/// What a dispatch came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DispatchReport {
    /// Timers that were looked at.
    pub timers: usize,
    /// Messages that the queue took.
    pub messages: usize,
    /// Timers that moved on.
    pub advanced: usize,
    /// Timers that somebody else had moved.
    pub overtaken_by_others: usize,
    /// Timers whose timetable cannot be read; they raise an alarm.
    pub unreadable: usize,
    /// Occurrences that were overtaken, and are not handed over.
    pub overtaken: u64,
}

impl DispatchReport {
    pub(super) fn add(&mut self, other: Self) {
        self.timers += other.timers;
        self.messages += other.messages;
        self.advanced += other.advanced;
        self.overtaken_by_others += other.overtaken_by_others;
        self.unreadable += other.unreadable;
        self.overtaken += other.overtaken;
    }
}

/// What is to be sent and moved for some timers.
#[derive(Default)]
struct Batch {
    messages: Vec<QueueMessage>,
    advances: Vec<Advance>,
    report: DispatchReport,
}

impl Dispatcher {
    /// A dispatcher over these ports.
    #[must_use]
    pub fn new(
        store: Arc<dyn TimerStore>,
        queue: Arc<dyn DispatchQueue>,
        events: Arc<dyn EventSink>,
        clock: Arc<dyn Clock>,
        only_process: Option<Process>,
    ) -> Self {
        Self { store, queue, events, clock, only_process }
    }

    /// Until when a timer has to be due for the API to dispatch it at once.
    pub(crate) fn near_until(&self) -> DateTime<Utc> {
        self.clock.now() + spans(self.clock.as_ref()).horizon
    }

    /// Hands over what these timers are due for, and moves them on.
    ///
    /// # Errors
    ///
    /// If the queue does not take it, or the store does not answer; the timers stay due.
    pub async fn dispatch(&self, due: &[Due]) -> Result<DispatchReport, AppError> {
        let mut batch = Batch::default();
        for due in due {
            self.plan(due, &mut batch);
        }
        let Batch { messages, advances, mut report } = batch;
        if !messages.is_empty() {
            self.queue.send(&messages, self.clock.now()).await?;
        }
        report.messages = messages.len();
        for advanced in self.store.advance(&advances).await {
            if advanced? {
                report.advanced += 1;
            } else {
                report.overtaken_by_others += 1;
            }
        }
        Ok(report)
    }

    fn plan(&self, due: &Due, batch: &mut Batch) {
        let now = self.clock.now();
        let look_again = now + spans(self.clock.as_ref()).look_again;
        batch.report.timers += 1;
        let (work_item, timer, to) = match &due.what {
            DueTimer::Job(timer) if timer.state.is_final() => {
                let (job, generation) = (timer.job.clone(), timer.generation);
                (
                    WorkItem::DeleteJob { job, generation },
                    job_key(timer, timer.is_spent, 0),
                    look_again,
                )
            }
            DueTimer::Job(timer) if timer.is_spent => {
                let (job, generation) = (timer.job.clone(), timer.generation);
                (WorkItem::CheckFinished { job, generation }, job_key(timer, true, 0), look_again)
            }
            DueTimer::Job(timer) => return self.plan_occurrences(timer, due.due_at, batch),
            DueTimer::Retry { job, attempt } => {
                let timer = TimerKey::Retry { job_uid: job.uid.clone(), attempt: attempt.clone() };
                // It stays until its attempt is settled, and is sent again until then.
                let message = execute(job, attempt.clone());
                batch.messages.push(message);
                let to = look_again.max(attempt.due_at);
                batch.advances.push(Advance { timer, from: due.due_at, to });
                return;
            }
            DueTimer::Purge { collection_uid } => {
                let collection_uid = collection_uid.clone();
                let timer = TimerKey::Purge { collection_uid: collection_uid.clone() };
                (WorkItem::PurgeCollection { collection_uid }, timer, look_again)
            }
        };
        // A pass looks ahead, and nothing is deleted before its time.
        batch.messages.push(QueueMessage { work_item, due_at: due.due_at.max(now) });
        batch.advances.push(Advance { timer, from: due.due_at, to });
    }

    fn plan_occurrences(&self, timer: &JobTimer, from: DateTime<Utc>, batch: &mut Batch) {
        let now = self.clock.now();
        let spans = spans(self.clock.as_ref());
        let timetable: Timetable = match timer.rule.parse() {
            Ok(timetable) => timetable,
            Err(error) => {
                tracing::error!(
                    error_type = %ErrorType::TimerUnreadable,
                    job.uid = timer.job.uid,
                    job.key = timer.job.key,
                    %error,
                    "a timer cannot be planned"
                );
                batch.report.unreadable += 1;
                let timer = job_key(timer, false, 0);
                batch.advances.push(Advance { timer, from, to: now + UNREADABLE_WAITS });
                return;
            }
        };
        let plan = plan_dispatch(
            &timetable,
            from,
            &Window {
                now,
                until: now + spans.horizon,
                floor: floor(self.only_process.as_ref(), self.clock.as_ref()),
                occurrences_max: OCCURRENCES_MAX,
                look_again: spans.look_again,
            },
        );
        if plan.overtaken > 0 {
            tracing::warn!(
                job.uid = timer.job.uid,
                job.key = timer.job.key,
                occurrences = plan.overtaken,
                "occurrences were overtaken and do not fire"
            );
            self.events.note(Event::Overtaken { job: &timer.job, occurrences: plan.overtaken });
            batch.report.overtaken += plan.overtaken;
        }
        for nominal_at in plan.send {
            let attempt = Attempt::first(timer.generation, Occurrence::Scheduled { nominal_at });
            batch.messages.push(execute(&timer.job, attempt));
        }
        let key = job_key(timer, plan.next.is_spent(), plan.overtaken);
        batch.advances.push(Advance { timer: key, from, to: plan.next.at() });
    }
}

fn job_key(timer: &JobTimer, is_spent: bool, overtaken: u64) -> TimerKey {
    TimerKey::Job {
        job_uid: timer.job.uid.clone(),
        generation: timer.generation,
        state: timer.state,
        is_spent,
        overtaken,
    }
}

/// The message that asks for one attempt.
pub(crate) fn execute(job: &JobRef, attempt: Attempt) -> QueueMessage {
    let due_at = attempt.due_at;
    QueueMessage { work_item: WorkItem::Attempt { job: job.clone(), attempt }, due_at }
}
