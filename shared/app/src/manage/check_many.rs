//! Checks the changes of a collection and of many of its jobs, without making them.
//!
//! A client that wants to make many changes asks first. If one of them would be refused, it makes none.
//! Jobs are checked against the collection as it would be after its own change. Unlike other checks, this
//! one reads the latest state of the store.

use futures_util::stream::{StreamExt as _, TryStreamExt as _, iter};
use minutehand_domain::collection::{Collection, CollectionDefinition};
use minutehand_domain::document::{COLLECTION, accept_collection, canonical_names};
use minutehand_domain::name::Name;
use minutehand_domain::plan::JobLimits;
use minutehand_domain::refusal::Refusal;
use minutehand_ports::store::{CollectionRecord, JobRecord, ResourceGroup};
use serde_json::json;

use super::Manage;
use super::check::{CheckedRequest, JobCheck};
use crate::error::{AppError, Result};

/// The most jobs that are read at once.
const READS_AT_ONCE: usize = 8;

/// Changes of a collection and its jobs, in the order in which they would be made.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedChanges {
    /// The change of the collection itself, if there is one.
    pub collection: Option<CheckedRequest>,
    /// Changes of jobs, by their names.
    pub jobs: Vec<(Name, CheckedRequest)>,
    /// How many jobs would be created before these.
    pub created_before: u32,
}

/// What would become of changes.
#[derive(Debug)]
pub struct ChangesCheck {
    /// Why the change of the collection would be refused.
    pub collection: Option<Refusal>,
    /// What the change of each job would do, in order. The only error is a PATCH of a job that does not
    /// exist.
    pub jobs: Vec<Result<JobCheck>>,
}

impl Manage {
    /// Checks changes, and makes none.
    ///
    /// # Errors
    ///
    /// If the collection does not exist, and is not to be created. What is refused is not an error.
    pub async fn check_changes(
        &self,
        place: &ResourceGroup,
        name: &Name,
        changes: CheckedChanges,
    ) -> Result<ChangesCheck> {
        let found = self.find_collection(place, name).await?;
        let exists = found.is_some();
        let (mut collection, refusal) = match (changes.collection, found) {
            (None, None) => return Err(AppError::no_parent(place, name)),
            (None, Some(found)) => (found, None),
            (Some(request), found) => self.collection_after(place, name, request, found).await?,
        };
        let found = if exists {
            let names = changes.jobs.iter().map(|(name, _)| name.clone()).collect();
            self.found_jobs(&collection, names).await?
        } else {
            Vec::new()
        };
        self.correct_read_count(&mut collection, &changes.jobs, changes.created_before).await?;
        let count = &mut collection.job_count;
        *count = count.saturating_add(changes.created_before);
        let mut jobs = Vec::new();
        let found = found.into_iter().chain(std::iter::repeat_with(|| None));
        for ((name, request), found) in changes.jobs.into_iter().zip(found) {
            let is_new = found.is_none();
            match self.check_one(&collection, &name, found, request).await {
                Ok(check) => {
                    let count = &mut collection.job_count;
                    *count = count.saturating_add(u32::from(is_new));
                    jobs.push(Ok(check));
                }
                Err(error @ AppError::NoJob { .. }) => jobs.push(Err(error)),
                Err(error) => return Err(error),
            }
        }
        Ok(ChangesCheck { collection: refusal, jobs })
    }

    /// The collection after a change, and why that would be refused. Then it is the one that is there, or
    /// one that says nothing of itself, so that its jobs are checked all the same.
    async fn collection_after(
        &self,
        place: &ResourceGroup,
        name: &Name,
        request: CheckedRequest,
        found: Option<CollectionRecord>,
    ) -> Result<(CollectionRecord, Option<Refusal>)> {
        let checked = self.checked_collection(place, name, request, found.as_ref()).await;
        let (definition, refusal) = match checked {
            Ok(wanted) => (Some(wanted), None),
            Err(AppError::Refused(refusal)) => (None, Some(refusal)),
            Err(error) => return Err(error),
        };
        let record = match (found, definition) {
            (Some(found), None) => found,
            (Some(found), Some(definition)) => CollectionRecord {
                collection: Collection { definition, ..found.collection },
                ..found
            },
            (None, definition) => {
                let definition = match definition {
                    Some(definition) => definition,
                    None => accept_collection(&canonical_names(json!({}), COLLECTION)?)?,
                };
                // It is stored nowhere, so it needs no identifier.
                CollectionRecord {
                    place: place.clone(),
                    collection: Collection { uid: String::new(), name: name.clone(), definition },
                    job_count: 0,
                    on_since: CollectionRecord::NEVER_SWITCHED,
                    sealed: None,
                    state_since: None,
                    label: None,
                    version: 0,
                }
            }
        };
        Ok((record, refusal))
    }

    async fn checked_collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
        request: CheckedRequest,
        found: Option<&CollectionRecord>,
    ) -> Result<CollectionDefinition> {
        let mut wanted = match (request, found) {
            (CheckedRequest::Put(body), found) => {
                let body = canonical_names(body, COLLECTION)?;
                self.wanted_collection_by_put(found, body).await?
            }
            (CheckedRequest::Patch(patch), Some(found)) => {
                let patch = canonical_names(patch, COLLECTION)?;
                self.wanted_collection_by_patch(found, patch).await?
            }
            (CheckedRequest::Patch(_), None) => return Err(AppError::no_parent(place, name)),
        };
        match found {
            Some(old) => self.check_replaced(old, &mut wanted).await?,
            None => self.check_created(place, name, &mut wanted).await?,
        }
        Ok(wanted)
    }

    /// The jobs of these names, in their order.
    async fn found_jobs(
        &self,
        collection: &CollectionRecord,
        names: Vec<Name>,
    ) -> Result<Vec<Option<JobRecord>>> {
        // Collected first, because a stream of futures that borrow is not `Send`.
        let found: Vec<_> = names.iter().map(|name| self.find_job(collection, name)).collect();
        iter(found).buffered(READS_AT_ONCE).try_collect().await
    }

    /// Counts the jobs of a collection that seems to have no room for new ones: jobs that expire are not
    /// taken off the number that is stored.
    async fn correct_read_count(
        &self,
        collection: &mut CollectionRecord,
        changes: &[(Name, CheckedRequest)],
        created_before: u32,
    ) -> Result<()> {
        let definition = &collection.collection.definition;
        let (plan, quota) = (definition.plan, definition.quota.as_ref());
        let Ok(limits) = JobLimits::of(plan, quota, self.settings.plan_limits) else {
            // The check of each job says so.
            return Ok(());
        };
        let new = u32::try_from(changes.len()).unwrap_or(u32::MAX).saturating_add(created_before);
        if limits.check_job_count(collection.job_count.saturating_add(new)).is_ok()
            || collection.job_count == 0
        {
            return Ok(());
        }
        if let Some(recount) = self.ports.jobs.count(collection, self.ports.clock.now()).await? {
            collection.job_count = recount.jobs;
        }
        Ok(())
    }
}
