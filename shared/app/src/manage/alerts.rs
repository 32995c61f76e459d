//! Alerts for people: how those of a collection are doing, and a test of them.

use std::future::ready;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use minutehand_domain::alert::{
    AlertLog, AlertTrouble, CollectionAlert, JobAlert, Tells, TestResult, log_uid,
};
use minutehand_domain::attempt::Outcome;
use minutehand_domain::name::Name;
use minutehand_domain::refusal::{Code, Refusal};
use minutehand_domain::work_item::WorkItem;
use minutehand_ports::store::{AlertRead, AlertWrite, CollectionRecord, ResourceGroup};
use minutehand_ports::{ActionOutcome, QueueMessage};

use super::{JobPlace, Manage};
use crate::collection_alert::alert_call;
use crate::definition::collection_definition;
use crate::error::Result;

/// How often a process that may not call targets looks for the result of a test, and how many times. Together
/// that is less than an answer of API Gateway may take.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const LOOKS_MAX: u32 = 40;
/// What is answered if there is none.
const NOT_KNOWN: &str = "No worker has said within 20 seconds what came back. The alert may still arrive; if it \
    does not, look at the workers and the dead letters.";
/// The most collections whose alerts are looked at together.
const LOOKED_AT_MAX: usize = 100;
/// How many of them are read at once.
const AT_ONCE: usize = 16;

/// Whether a collection has a failure action, and whether its alerts arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertSetting {
    /// Whether it has one.
    pub is_set: bool,
    /// The alerts that did not arrive since the last one that did.
    pub trouble: Option<AlertTrouble>,
}

/// What is known of a job for alerts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobAlertSetting {
    /// Whether its collection has a failure action.
    pub is_set: bool,
    /// Its state; `None` if the failure action has no rules that need one, or if nothing has failed yet.
    pub state: Option<JobAlert>,
}

impl Manage {
    /// Whether the alerts of a collection arrive.
    ///
    /// # Errors
    ///
    /// [`NoCollection`](crate::AppError::NoCollection) if it does not exist.
    pub async fn alert_setting(&self, place: &ResourceGroup, name: &Name) -> Result<AlertSetting> {
        let record = self.collection(place, name).await?;
        let is_set = record.collection.definition.on_failure().is_some();
        Ok(AlertSetting { is_set, trouble: self.alert_trouble(&record).await? })
    }

    /// What is known of a job for the alerts of its collection.
    ///
    /// # Errors
    ///
    /// If the collection or the job does not exist.
    pub async fn job_alert(&self, of: JobPlace<'_>) -> Result<JobAlertSetting> {
        let (collection, job) = self.browsed_job(of).await?;
        let on_failure = collection.collection.definition.on_failure();
        let has_rules = on_failure.is_some_and(|action| action.rules().need_state());
        let state = if has_rules {
            let read = self.ports.alerts.read_alert(&job.uid).await?;
            JobAlert::read_stored(&read.state)
        } else {
            None
        };
        Ok(JobAlertSetting { is_set: on_failure.is_some(), state })
    }

    /// Sends one alert of a collection now, and says what came back. It is sent once, without retries. A test
    /// that arrives ends the trouble that earlier alerts had.
    ///
    /// # Errors
    ///
    /// If the collection has no failure action.
    pub async fn test_alert(&self, place: &ResourceGroup, name: &Name) -> Result<TestResult> {
        let record = self.collection(place, name).await?;
        let definition = collection_definition(self.ports.sealer.as_ref(), &record).await?;
        let Some(action) = definition.on_failure() else {
            return Err(Refusal::new(
                Code::NoFailureAction,
                format!(
                    "The job collection '{name}' has no 'onFailure' that could send an alert. Set \
                     'properties.minutehand.onFailure' first."
                ),
            )
            .into());
        };
        let (asked_at, id) = (self.ports.clock.now(), self.ports.ids.new_id());
        let test = CollectionAlert { at: asked_at, tells: Tells::Test { id } };
        let Some(sender) = &self.ports.sender else {
            return self.tested_by_workers(&record, &test).await;
        };
        let (region, sent_at) = (&self.settings.region, self.ports.clock.outside_now());
        let (target, context) = alert_call(&test, &record, action, region, sent_at);
        let ended = sender.send(&target, &context).await?;
        let ActionOutcome { outcome, cause, message, .. } = ended;
        if outcome == Outcome::Succeeded {
            self.end_alert_trouble(&record).await?;
        }
        let took = self.ports.clock.now() - asked_at;
        Ok(TestResult { outcome, cause, message, took })
    }

    /// Lets a worker send a test, as this process may not call what jobs call, and waits for what came back.
    async fn tested_by_workers(
        &self,
        record: &CollectionRecord,
        test: &CollectionAlert,
    ) -> Result<TestResult> {
        let (uid, clock) = (&record.collection.uid, &self.ports.clock);
        let log_uid = log_uid(uid);
        let (due_at, alert) = (test.at, test.clone());
        let work_item = WorkItem::Alert { collection_uid: uid.clone(), alert };
        self.ports.queue.send(&[QueueMessage { work_item, due_at }], due_at).await?;
        for _ in 0..LOOKS_MAX {
            clock.wait(LOOK_EVERY).await;
            let read = self.ports.alerts.read_alert(&log_uid).await?;
            if let Some(result) = AlertLog::read_stored(&read.state).result_of(test) {
                return Ok(result.clone());
            }
        }
        Ok(TestResult {
            outcome: Outcome::Failed,
            cause: None,
            message: NOT_KNOWN.to_owned(),
            took: clock.now() - test.at,
        })
    }

    async fn alert_trouble(&self, record: &CollectionRecord) -> Result<Option<AlertTrouble>> {
        if record.collection.definition.on_failure().is_none() {
            return Ok(None);
        }
        let read = self.ports.alerts.read_alert(&record.collection.uid).await?;
        Ok(AlertTrouble::read_stored(&read.state))
    }

    /// If an alert fails meanwhile, its trouble stays.
    async fn end_alert_trouble(&self, record: &CollectionRecord) -> Result<()> {
        let uid = &record.collection.uid;
        let AlertRead { number, state } = self.ports.alerts.read_alert(uid).await?;
        if state.is_empty() {
            return Ok(());
        }
        let write = AlertWrite::at(self.ports.clock.now(), uid, number, String::new());
        self.ports.alerts.write_alert(&write).await?;
        Ok(())
    }

    /// The collections among these whose alerts do not arrive.
    pub(super) async fn troubled_alerts(
        &self,
        collections: impl Iterator<Item = &CollectionRecord>,
    ) -> Result<Vec<(ResourceGroup, Name, AlertTrouble)>> {
        let with_alerts =
            collections.filter(|record| record.collection.definition.on_failure().is_some());
        let looked_at: Vec<_> = with_alerts
            .take(LOOKED_AT_MAX)
            .map(|record| async move {
                let trouble = self.alert_trouble(record).await?;
                let named = |it| (record.place.clone(), record.collection.name.clone(), it);
                Ok(trouble.map(named))
            })
            .collect();
        let troubled = stream::iter(looked_at).buffered(AT_ONCE);
        troubled.try_filter_map(|it| ready(Ok(it))).try_collect().await
    }
}
