//! Alerts for people: how those of a collection are doing, and a test of them.

use std::future::ready;

use chrono::TimeDelta;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use minutehand_domain::alert::{AlertTrouble, JobAlert};
use minutehand_domain::attempt::{Occurrence, Outcome};
use minutehand_domain::cause::Cause;
use minutehand_domain::chain::Depth;
use minutehand_domain::failure_event::{FailureEvent, JobFacts, JobNames, Told};
use minutehand_domain::missed::Missed;
use minutehand_domain::name::Name;
use minutehand_domain::refusal::{Code, Refusal};
use minutehand_ports::store::{AlertRead, AlertWrite, CollectionRecord, ResourceGroup};
use minutehand_ports::{ActionOutcome, AttemptContext};

use super::Manage;
use crate::definition::collection_definition;
use crate::error::AppError;

/// What stands for the name of a job in a test.
const TEST: &str = "alert-test";
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

/// What came back when a test alert was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertTested {
    /// Whether the receiver accepted it.
    pub outcome: Outcome,
    /// Why it failed.
    pub cause: Option<Cause>,
    /// What the receiver or the connection said.
    pub message: String,
    /// How long it took.
    pub took: TimeDelta,
}

impl Manage {
    /// Whether the alerts of a collection arrive.
    ///
    /// # Errors
    ///
    /// [`AppError::NoCollection`] if it does not exist.
    pub async fn alert_setting(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<AlertSetting, AppError> {
        let record = self.collection(place, name).await?;
        let is_set = record.collection.definition.on_failure().is_some();
        Ok(AlertSetting { is_set, trouble: self.alert_trouble(&record).await? })
    }

    /// What is known of a job for the alerts of its collection.
    ///
    /// # Errors
    ///
    /// If the collection or the job does not exist.
    pub async fn job_alert(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        name: &Name,
    ) -> Result<JobAlertSetting, AppError> {
        let (collection, job) = self.browsed_job(place, collection, name).await?;
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
    /// If the collection has no failure action, or if this process may not call its receiver.
    pub async fn test_alert(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<AlertTested, AppError> {
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
        let Some(sender) = &self.ports.sender else {
            return Err(Refusal::new(
                Code::NotOnThisInstallation,
                "On AWS the API may not call what jobs call, so it cannot send a test alert. Run a job \
                 that fails instead; its history shows the alert.",
            )
            .into());
        };
        let (now, id) = (self.ports.clock.now(), self.ports.ids.new_id());
        let occurrence = Occurrence::Run { asked_at: now, run_id: id.clone() };
        let CollectionRecord { place, collection, .. } = &record;
        let event = FailureEvent {
            id: format!("{}.{TEST}.{id}", collection.uid),
            names: JobNames {
                subscription: place.subscription.as_str(),
                group: place.group.as_str(),
                collection: collection.name.as_str(),
                job: TEST,
            },
            occurrence: &occurrence,
            attempts: &[],
            next_at: None,
            paused: None,
            said: None,
            told: Told::Test,
            facts: JobFacts::default(),
        };
        let context = AttemptContext {
            execution_id: event.id.clone(),
            job: TEST.to_owned(),
            job_path: format!("{}/{TEST}", place.collection_path(&collection.name)),
            job_uid: collection.uid.clone(),
            collection_uid: collection.uid.clone(),
            expected_at: now,
            sent_at: self.ports.clock.outside_now(),
            region: self.settings.region.clone(),
            signed: None,
            time_max: None,
            missed: Missed::default(),
            depth: Depth::default().next(),
        };
        let ended = sender.send(&action.with_event(&event), &context).await?;
        let ActionOutcome { outcome, cause, message, .. } = ended;
        if outcome == Outcome::Succeeded {
            self.end_alert_trouble(&record).await?;
        }
        let took = self.ports.clock.now() - now;
        Ok(AlertTested { outcome, cause, message, took })
    }

    async fn alert_trouble(
        &self,
        record: &CollectionRecord,
    ) -> Result<Option<AlertTrouble>, AppError> {
        if record.collection.definition.on_failure().is_none() {
            return Ok(None);
        }
        let read = self.ports.alerts.read_alert(&record.collection.uid).await?;
        Ok(AlertTrouble::read_stored(&read.state))
    }

    /// If an alert fails meanwhile, its trouble stays.
    async fn end_alert_trouble(&self, record: &CollectionRecord) -> Result<(), AppError> {
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
    ) -> Result<Vec<(ResourceGroup, Name, AlertTrouble)>, AppError> {
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
