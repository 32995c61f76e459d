//! Incidents of collections: who notices them, and which worker sends their alerts.
//!
//! Where its collection asks for it,
//!
//! - a worker notices that an occurrence started late when it follows the record of the first attempt,
//! - a worker notices that a limit lets an occurrence wait each time that the attempt waits again, and when it
//!   follows the record,
//! - the sweeper or a worker notices that an outage cost occurrences when it leaves them out.
//!
//! Each sends a message with the alert to the workers before it goes on. The worker that receives it holds the
//! alert in the [log](minutehand_domain::alert::AlertLog) of the collection, sends it, and notes that it is over.
//! Incidents of one kind within a quarter of an hour are one alert, whoever notices them.
//!
//! | a crash after | leaves | repaired by |
//! |---|---|---|
//! | the record, or what is left out | no message | the message of the attempt, or the timer: the next worker or sweeper notices the same, at the same instant |
//! | the message | what was noticed, once more | the log: the second message finds the alert held or over |
//! | hold | an alert that is held | the message, which comes again when that time is over |
//! | send | the same; the receiver has the alert | the same: it is sent again with the same id, as every alert |
//! | the message of another try | two messages, and an alert that is held | both wait until it is not |
//! | note for people that it arrived, or did not | the same as after send | it is sent again, and counted once |
//! | note that it is over, or when it is tried again | the message | it finds that |

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::alert::{
    AlertLog, CollectionAlert, Hold, LostAlert, NextTry, Tells, TestResult, log_uid,
};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Role};
use minutehand_domain::firing::Waited;
use minutehand_domain::firing::limits::LEASE;
use minutehand_domain::incident::{INCIDENT_MIN, Incident};
use minutehand_domain::work_item::{JobRef, WorkItem};
use minutehand_ports::store::{AlertRead, AlertWrite};
use minutehand_ports::{ActionOutcome, AttemptContext, QueueMessage};

use super::execute::{Executor, Performed};
use super::follow::EndedAttempt;
use super::loaded_job::{LoadedJob, if_readable};
use super::sighting::Sighting;
use super::spans;
use crate::collection_alert::alert_call;
use crate::error::{AppError, Result};

/// How often the log of a collection is read and written again when others wrote it first.
const ROUNDS_MAX: usize = 20;
/// How long to wait before it is noted again what became of a try.
const NOTE_AGAIN: Duration = Duration::from_secs(1);

impl Executor {
    /// Notices that an occurrence started late: because a limit let it wait, or for another reason.
    pub(super) async fn notice_late_start(
        &self,
        EndedAttempt { job, attempt, record }: EndedAttempt<'_>,
        loaded: &LoadedJob,
    ) -> Result<()> {
        let by = record.started_at - attempt.due_at;
        let incident = match attempt.waited {
            None | Some(Waited::Place) => Incident::Late { by },
            Some(_) => Incident::Behind { by },
        };
        self.notice_wait(job, attempt, loaded, (incident, by, record.started_at)).await
    }

    /// Notices that a limit of the collection lets an attempt wait.
    pub(super) async fn notice_limit(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        loaded: &LoadedJob,
    ) -> Result<()> {
        let now = self.ports.clock.now();
        let by = now - attempt.due_at;
        self.notice_wait(job, attempt, loaded, (Incident::Behind { by }, by, now)).await
    }

    async fn notice_wait(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        loaded: &LoadedJob,
        (incident, by, at): (Incident, TimeDelta, DateTime<Utc>),
    ) -> Result<()> {
        let Occurrence::Scheduled { nominal_at } = attempt.occurrence else { return Ok(()) };
        if !attempt.is_first() || by < INCIDENT_MIN.delta() {
            return Ok(());
        }
        // Boxed, since thousands of attempts wait in here, and few of them are incidents.
        let sighting = Sighting { job, occurrence: nominal_at, at, incident };
        Box::pin(self.notice_incident(&sighting, loaded)).await
    }

    /// Notices an incident: has its alert sent, if the collection asks for that.
    pub(super) async fn notice_incident(
        &self,
        sighting: &Sighting<'_>,
        loaded: &LoadedJob,
    ) -> Result<()> {
        if !loaded.snapshot.alert_use.tells_incidents() {
            return Ok(());
        }
        let Sighting { job, at, incident, .. } = sighting;
        let (uid, kind) = (job.collection_uid.as_str(), incident.kind());
        if self.noticed.has(uid, kind, *at) {
            return Ok(());
        }
        let read = self.ports.store.snapshots.read_collection(uid).await;
        let record = if_readable(read.map_err(AppError::from))?.flatten();
        let on_failure = record.as_ref().and_then(|it| it.collection.definition.on_failure());
        if on_failure.is_some_and(|action| action.rules().tell(incident)) {
            let name = loaded.snapshot.name.as_str();
            self.send(&[sighting.message(name, self.ports.clock.now())]).await?;
            self.noticed.remember(uid, kind, *at);
        }
        Ok(())
    }

    /// Sends an alert of a collection, unless that was done, or the collection does not ask for it any more.
    pub(super) async fn send_alert(
        &self,
        collection_uid: &str,
        alert: &CollectionAlert,
    ) -> Result<Performed> {
        let collection = if_readable(self.failure_action(collection_uid).await)?.flatten();
        let Some((record, action)) = collection else { return Ok(Performed::Done) };
        let is_asked = match &alert.tells {
            Tells::Incident { incident, .. } => {
                record.collection.definition.state.is_on() && action.rules().tell(incident)
            }
            Tells::Test { .. } => true,
        };
        if !is_asked {
            return Ok(Performed::Done);
        }
        let clock = self.ports.clock.as_ref();
        let held_until = clock.work_now() + LEASE;
        let (at, tries_before) = match self.hold_alert(collection_uid, alert).await? {
            Hold::Taken { at, tries_before, .. } => (at, tries_before),
            Hold::Over => return Ok(Performed::Done),
            Hold::Until(until) => {
                self.send(&[self.alert_message(collection_uid, alert, until)]).await?;
                return Ok(Performed::Done);
            }
        };
        let alert = &CollectionAlert { at, tells: alert.tells.clone() };
        let (region, sent_at) = (&self.settings.region, clock.outside_now());
        let (target, context) = alert_call(alert, &record, &action, region, sent_at);
        let started_at = clock.now();
        let ended = self.ports.sender.send(&target, &context).await?;
        let ActionOutcome { outcome, cause, message, .. } = ended;
        let ended_at = clock.now();
        let has_failed = outcome == Outcome::Failed;
        let next = match &alert.tells {
            Tells::Test { .. } => {
                let (cause, took) = (cause.clone(), ended_at - started_at);
                NextTry::Never(Some(TestResult { outcome, cause, message, took }))
            }
            Tells::Incident { .. } => {
                let tried = tried(alert, tries_before);
                let retries = action.retries(record.collection.definition.plan);
                let due_at = retries.due_at(&tried, ended_at);
                due_at.filter(|_| has_failed).map_or(NextTry::Never(None), NextTry::At)
            }
        };
        if let NextTry::At(due_at) = next {
            self.send(&[self.alert_message(collection_uid, alert, due_at)]).await?;
        }
        let is_over = matches!(next, NextTry::Never(_));
        let is_test = matches!(alert.tells, Tells::Test { .. });
        // A test that does not arrive is not a lost alert: the caller is told.
        if is_over && !(is_test && has_failed) {
            let AttemptContext { execution_id: id, job: key, job_path, .. } = context;
            let lost = LostAlert { id, job: key.clone(), ended_at, cause };
            let uid = collection_uid.to_owned();
            let job = JobRef { uid: uid.clone(), collection_uid: uid, key };
            let lost = has_failed.then_some(&lost);
            self.note_arrival(&job, &job_path, lost, ended_at).await;
        }
        self.note_try(collection_uid, alert, &next, held_until).await?;
        Ok(Performed::Done)
    }

    /// The message that asks for an alert again. One that comes before its time is sent again.
    fn alert_message(
        &self,
        uid: &str,
        alert: &CollectionAlert,
        due_at: DateTime<Utc>,
    ) -> QueueMessage {
        let clock = self.ports.clock.as_ref();
        let due_at = due_at.min(clock.now() + spans(clock).horizon);
        let (collection_uid, alert) = (uid.to_owned(), alert.clone());
        QueueMessage { work_item: WorkItem::Alert { collection_uid, alert }, due_at }
    }

    async fn hold_alert(&self, uid: &str, alert: &CollectionAlert) -> Result<Hold> {
        let (alerts, clock) = (&self.ports.store.alerts, self.ports.clock.as_ref());
        let log_uid = log_uid(uid);
        for _ in 0..ROUNDS_MAX {
            let AlertRead { number, state } = alerts.read_alert(&log_uid).await?;
            let now = clock.now();
            let until = now + clock.scheduled_during(LEASE);
            let hold = AlertLog::read_stored(&state).hold(alert, now, until);
            let Hold::Taken { log, .. } = &hold else { return Ok(hold) };
            let write = AlertWrite::at(now, &log_uid, number, log.to_stored());
            if alerts.write_alert(&write).await? {
                return Ok(hold);
            }
        }
        Err(AppError::Busy { what: format!("the alerts of job collection '{uid}'") })
    }

    /// Notes what became of a try, and tries that while the alert is held: the receiver has it, and it would be
    /// sent again.
    async fn note_try(
        &self,
        uid: &str,
        alert: &CollectionAlert,
        next: &NextTry,
        held_until: DateTime<Utc>,
    ) -> Result<()> {
        loop {
            match self.try_to_note(uid, alert, next).await {
                Err(error) if error.is_retryable() && self.ports.clock.work_now() < held_until => {
                    self.ports.clock.wait(NOTE_AGAIN).await;
                }
                noted => return noted,
            }
        }
    }

    async fn try_to_note(&self, uid: &str, alert: &CollectionAlert, next: &NextTry) -> Result<()> {
        let alerts = &self.ports.store.alerts;
        let log_uid = log_uid(uid);
        for _ in 0..ROUNDS_MAX {
            let AlertRead { number, state } = alerts.read_alert(&log_uid).await?;
            let log = AlertLog::read_stored(&state).after(alert, next.clone());
            let Some(log) = log else { return Ok(()) };
            let now = self.ports.clock.now();
            let write = AlertWrite::at(now, &log_uid, number, log.to_stored());
            if alerts.write_alert(&write).await? {
                return Ok(());
            }
        }
        Err(AppError::Busy { what: format!("the alerts of job collection '{uid}'") })
    }
}

/// The try as a retry policy wants it.
fn tried(alert: &CollectionAlert, tries_before: u32) -> Attempt {
    let first = Attempt::first(0, Occurrence::Scheduled { nominal_at: alert.at });
    Attempt { role: Role::Notice, number: tries_before, ..first }
}
