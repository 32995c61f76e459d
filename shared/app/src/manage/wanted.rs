//! The job that a request asks for: what was sent, with what the client left as it is or cannot send.

use minutehand_domain::action::Target;
use minutehand_domain::document::{
    JOB, accept, add_time_zone, has_withheld, keep_extensions, lacks_extensions, load, merge_patch,
    names_time_zone, withhold,
};
use minutehand_domain::extensions::EXTENSIONS;
use minutehand_domain::job::JobDefinition;
use minutehand_domain::plan::JobLimits;
use minutehand_domain::refusal::Refusal;
use minutehand_domain::snooze::check_snooze;
use minutehand_ports::store::{CollectionRecord, JobRecord};
use serde_json::{Value, json};

use super::Manage;
use super::forget::explain_lost;
use super::secrets::{authenticates, keep_secrets, open_certificates};
use crate::definition::{definition, unreadable, whole_document};
use crate::error::{AppError, Result};

impl Manage {
    /// The definition of a stored job, secrets included.
    pub(super) async fn whole_definition(&self, job: &JobRecord) -> Result<JobDefinition> {
        let sealer = self.ports.sealer.as_ref();
        let found = definition(sealer, &job.uid, &job.document, job.sealed.as_deref()).await;
        found.map_err(|error| explain_lost(job, error))
    }

    /// The document of a stored job, secrets included.
    async fn whole_stored(&self, job: &JobRecord) -> Result<Value> {
        let JobRecord { uid, document, sealed, .. } = job;
        let sealer = self.ports.sealer.as_ref();
        let found = whole_document(sealer, uid, document, sealed.as_deref()).await;
        found.map_err(|error| explain_lost(job, error))
    }

    /// The job that the body of a PUT describes.
    pub(super) async fn wanted_by_put(
        &self,
        collection: &CollectionRecord,
        found: Option<&JobRecord>,
        body: &Value,
    ) -> Result<JobDefinition> {
        let body = self.with_unsent(body.clone(), found, collection).await?;
        Ok(accept(&body, collection.collection.definition.plan)?)
    }

    /// A stored job, and the job that a PATCH makes of it.
    pub(super) async fn wanted_by_patch(
        &self,
        collection: &CollectionRecord,
        old: &JobRecord,
        patch: &Value,
    ) -> Result<(JobDefinition, JobDefinition)> {
        let whole = self.whole_stored(old).await?;
        let before = load(&whole).map_err(unreadable(old.name.as_str()))?;
        let mut shown = whole.clone();
        withhold(&mut shown);
        let mut merged = merge_patch(json!({"properties": shown}), patch.clone(), JOB);
        keep_secrets(&mut merged, Some(&whole))?;
        let definition = &collection.collection.definition;
        if !names_time_zone(patch) {
            add_time_zone(&mut merged, Some(&whole), definition.time_zone());
        }
        Ok((before, accept(&merged, definition.plan)?))
    }

    /// The body of a PUT with what the client left as it is or cannot send: secrets that are withheld,
    /// the stored extensions and time zone, or the collection's time zone.
    async fn with_unsent(
        &self,
        mut body: Value,
        found: Option<&JobRecord>,
        collection: &CollectionRecord,
    ) -> Result<Value> {
        let zone = collection.collection.definition.time_zone();
        let Some(old) = found else {
            keep_secrets(&mut body, None)?;
            add_time_zone(&mut body, None, zone);
            return Ok(body);
        };
        let sealer = self.ports.sealer.as_ref();
        let mut stored = whole_document(sealer, &old.uid, &old.document, None).await?;
        // Secrets are opened only if some are kept. Extensions may contain some.
        let keeps_extensions = stored.get(EXTENSIONS).is_some() && lacks_extensions(&body);
        let keeps_secrets = body.get("properties").is_some_and(has_withheld);
        if old.sealed.is_some() && (keeps_extensions || keeps_secrets) {
            match self.whole_stored(old).await {
                Ok(whole) => stored = whole,
                // They are lost. Who sends all others again keeps extensions without secrets.
                Err(AppError::Refused(_)) if !keeps_secrets => {}
                Err(error) => return Err(error),
            }
        }
        // Kept extensions contain secrets, which are kept by the same rule as those that were sent.
        let mut shown = stored.clone();
        withhold(&mut shown);
        keep_extensions(&mut body, &shown);
        keep_secrets(&mut body, Some(&stored))?;
        add_time_zone(&mut body, Some(&stored), zone);
        Ok(body)
    }

    /// Checks everything except the timetable, and opens certificates.
    pub(super) fn check(
        &self,
        collection: &CollectionRecord,
        before: Option<&JobDefinition>,
        wanted: &mut JobDefinition,
    ) -> Result<JobLimits> {
        let snoozed_before = before.and_then(JobDefinition::snoozed_until);
        check_snooze(snoozed_before, wanted.snoozed_until(), self.ports.clock.now())?;
        let definition = &collection.collection.definition;
        let limits =
            JobLimits::of(definition.plan, definition.quota.as_ref(), self.settings.plan_limits)?;
        limits.check_authentication(authenticates(wanted))?;
        self.check_aws(wanted.action.targets())?;
        self.check_completion(wanted)?;
        self.check_pings(wanted)?;
        open_certificates(wanted, self.ports.certificates.as_ref())?;
        Ok(limits)
    }

    /// Refuses a completion of which no target could be told.
    fn check_completion(&self, wanted: &JobDefinition) -> Result<(), Refusal> {
        if wanted.completion().is_none() || self.ports.completions.is_some() {
            return Ok(());
        }
        Err(Refusal::about(
            "minutehand.completion",
            "needs the public address of this server, which is not known. Start the server with --public-url, \
             or leave this out. A stack on AWS has none if its domain asks for client certificates.",
        ))
    }

    /// Refuses a job that expects pings where none are taken.
    fn check_pings(&self, wanted: &JobDefinition) -> Result<(), Refusal> {
        if wanted.action.ping_window().is_none() || self.pings.is_some() {
            return Ok(());
        }
        Err(Refusal::about(
            "action.type",
            "is 'Expect', but this installation takes no pings: a stack on AWS has no address for them if its \
             domain asks for client certificates. Use another type.",
        ))
    }

    /// Refuses actions that are sent to AWS if the installation has no AWS, as each attempt would fail,
    /// and those that are sent to the scheduler itself.
    pub(super) fn check_aws<'a>(
        &self,
        targets: impl Iterator<Item = &'a Target>,
    ) -> Result<(), Refusal> {
        for target in targets.filter(|target| target.is_aws()) {
            if !self.settings.has_aws {
                return Err(Refusal::invalid(format!(
                    "Actions of type '{}' are sent to AWS, and this installation sends nothing there. \
                     Start the server with --aws, on AWS deploy it with ActionArns, or use \
                     another type.",
                    target.type_name()
                )));
            }
            self.settings.own.check(target).map_err(|own| Refusal::invalid(own.to_string()))?;
        }
        Ok(())
    }
}
