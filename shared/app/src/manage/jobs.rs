//! Operations on jobs: read, list, put, patch and delete.

use chrono::{DateTime, Utc};
use minutehand_domain::document::{JOB, JobDocument, canonical_names};
use minutehand_domain::earlier_timing::EarlierTiming;
use minutehand_domain::job::{JobCounters, JobDefinition, JobState, keep_paused};
use minutehand_domain::name::Name;
use minutehand_domain::refusal::Refusal;
use minutehand_domain::timing::{Change, Timing};
use minutehand_ports::store::{
    CollectionRecord, Due, DueTimer, JobRecord, JobTimer, Page, PageRequest, ResourceGroup,
    SaveJob, Saved, TimerRecord,
};
use serde_json::Value;

use super::describe::{Facts, job_ref};
use super::run::check_not_final;
use super::timing::{allowed_schedule, expires_at, going_on, timer, with_policies};
use super::{JobPlace, JobStatus, JobView, Manage, retry_on_stale};
use crate::definition::shown_definition;
use crate::error::{AppError, Result};
use crate::etag::Etag;

/// Whether a PUT created a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    /// The job did not exist.
    Created,
    /// The job existed and was replaced.
    Replaced,
}

impl Manage {
    /// Reads a job.
    ///
    /// # Errors
    ///
    /// If the job does not exist. A missing collection has no jobs, as in the original: it is not
    /// an error of its own here.
    pub async fn get_job(&self, of: JobPlace<'_>) -> Result<JobView> {
        let (place, collection, name) = of;
        let found = self.find_collection(place, collection).await?;
        let collection = found.ok_or_else(|| AppError::no_job(name))?;
        let job = self.job(&collection, name).await?;
        self.stored_view(&collection, job)
    }

    /// A page of the jobs of a collection, sorted by name.
    ///
    /// # Errors
    ///
    /// If the collection does not exist.
    pub async fn list_jobs(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        page: PageRequest,
    ) -> Result<Page<JobView>> {
        let collection = self.parent(place, collection).await?;
        let now = self.ports.clock.now();
        let page = self.ports.jobs.list(&collection.collection.uid, now, page).await?;
        let views = page.items.into_iter().map(|job| self.stored_view(&collection, job));
        Ok(Page { items: views.collect::<Result<_, _>>()?, next: page.next })
    }

    /// Creates a job, or replaces the user's part of it; counters and history stay.
    ///
    /// # Errors
    ///
    /// If the collection does not exist, or the body is refused.
    pub async fn put_job(&self, of: JobPlace<'_>, body: Value) -> Result<(JobView, PutOutcome)> {
        let (place, collection, name) = of;
        self.depth.check()?;
        let body = canonical_names(body, JOB)?;
        retry_on_stale(format!("job '{name}'"), || async {
            let collection = self.parent(place, collection).await?;
            let found = self.find_job(&collection, name).await?;
            self.check_job_condition(name, found.as_ref())?;
            let wanted = self.wanted_by_put(&collection, found.as_ref(), &body).await?;
            let (put, saved) = match found {
                Some(old) => {
                    let before = shown_definition(&old.uid, &old.document)?;
                    let saved = self.replace_job(&collection, old, &before, wanted).await?;
                    (PutOutcome::Replaced, saved)
                }
                None => (PutOutcome::Created, self.create_job(&collection, name, wanted).await?),
            };
            Ok(saved.map(|view| (view, put)))
        })
        .await
    }

    /// Changes the properties that a body contains, and leaves the others.
    ///
    /// # Errors
    ///
    /// If the job does not exist, or the merged job is refused.
    pub async fn patch_job(&self, of: JobPlace<'_>, body: Value) -> Result<JobView> {
        let (.., name) = of;
        self.depth.check()?;
        let patch = canonical_names(body, JOB)?;
        retry_on_stale(format!("job '{name}'"), || async {
            let (collection, old) = self.parent_and_job(of).await?;
            self.check_job_condition(name, Some(&old))?;
            let (before, wanted) = self.wanted_by_patch(&collection, &old, &patch).await?;
            self.replace_job(&collection, old, &before, wanted).await
        })
        .await
    }

    /// Deletes a job.
    ///
    /// # Errors
    ///
    /// If the collection or the job does not exist.
    pub async fn delete_job(&self, of: JobPlace<'_>) -> Result<()> {
        let (.., name) = of;
        retry_on_stale(format!("job '{name}'"), || async {
            let (collection, job) = self.parent_and_job(of).await?;
            self.check_job_condition(name, Some(&job))?;
            let entry = self.job_entry(&job.name, Some(&job.document), None, false);
            match self.ports.jobs.delete(&collection, &job, Some(&entry)).await? {
                Saved::Kept => Ok(Some(())),
                Saved::Stale | Saved::Full => Ok(None),
            }
        })
        .await
    }

    async fn create_job(
        &self,
        collection: &CollectionRecord,
        name: &Name,
        mut wanted: JobDefinition,
    ) -> Result<Option<JobView>> {
        let now = self.ports.clock.now();
        wanted.set_depth(self.depth);
        let limits = self.check(collection, None, &mut wanted)?;
        let timing = Timing::created(&wanted, now);
        let uid = self.ports.ids.new_id();
        let schedule = allowed_schedule(&limits, &timing, (&wanted, &uid), now)?;
        let document = wanted.write();
        let (shown, sealed) = self.seal(&uid, &document).await?;
        let timer = timer(&wanted, timing, &schedule, JobCounters::default(), now);
        let (name, expires_at) = (name.clone(), expires_at(&timer, now));
        let entry = self.job_entry(&name, None, Some(&shown), sealed.is_some());
        let job = JobRecord {
            uid,
            name,
            document: shown,
            sealed,
            version: 1,
            expires_at,
            earlier: Vec::new(),
            timer,
        };
        let save = SaveJob { collection, job: &job, timer_changes: true, entry: Some(&entry) };
        match self.ports.jobs.create(save, limits.jobs_max(), now).await? {
            Saved::Kept => {
                self.dispatch_soon(collection, &job).await;
                Ok(Some(self.view(collection, job, document)))
            }
            Saved::Stale => Ok(None),
            Saved::Full => {
                let is_full = |jobs: u32| limits.check_job_count(jobs.saturating_add(1)).is_err();
                if !self.has_room(collection, is_full).await? {
                    // The collection is full, whatever the count was when it was read.
                    limits.check_job_count(u32::MAX)?;
                }
                Ok(None)
            }
        }
    }

    pub(super) async fn replace_job(
        &self,
        collection: &CollectionRecord,
        old: JobRecord,
        before: &JobDefinition,
        mut wanted: JobDefinition,
    ) -> Result<Option<JobView>> {
        check_not_final(&old)?;
        let now = self.ports.clock.now();
        keep_paused(before, &mut wanted);
        wanted.set_depth(self.depth);
        let limits = self.check(collection, Some(before), &mut wanted)?;
        let change = old.timer.timing.changed([before, &wanted], &old.uid, now);
        let (timer, timer_changes) = match change.map_err(Refusal::from)? {
            Change::Keeps => (with_policies(&old, &wanted)?, false),
            Change::Becomes(timing) => {
                let schedule = allowed_schedule(&limits, &timing, (&wanted, &old.uid), now)?;
                let schedule = going_on(schedule, &old, (&wanted, &timing));
                let counters = old.timer.counters;
                (timer(&wanted, timing, &schedule, counters, now), true)
            }
        };
        let document = wanted.write();
        let (shown, sealed) = self.seal(&old.uid, &document).await?;
        // A PUT does not open the secrets before it, so they count as others.
        let writes_secrets = sealed.is_some()
            && (before.action != wanted.action || before.signing() != wanted.signing());
        let entry = self.job_entry(&old.name, Some(&old.document), Some(&shown), writes_secrets);
        let expires_at = expires_at(&timer, now);
        let earlier = if timer_changes {
            EarlierTiming::ending(&old.timer.timing, old.timer.timetable).after(old.earlier)
        } else {
            old.earlier
        };
        let job = JobRecord { document: shown, sealed, expires_at, earlier, timer, ..old };
        let save = SaveJob { collection, job: &job, timer_changes, entry: Some(&entry) };
        match self.ports.jobs.replace(save).await? {
            Saved::Kept => {
                if timer_changes {
                    self.dispatch_soon(collection, &job).await;
                }
                let job = JobRecord { version: job.version + 1, ..job };
                Ok(Some(self.view(collection, job, document)))
            }
            Saved::Stale | Saved::Full => Ok(None),
        }
    }

    /// Dispatches the occurrences within the horizon, as a sweep does. If this fails, the next sweep
    /// does it.
    async fn dispatch_soon(&self, collection: &CollectionRecord, job: &JobRecord) {
        let timer = &job.timer;
        let (Some(due_at), Some(timetable), JobState::Enabled) =
            (timer.due_at, &timer.timetable, timer.state)
        else {
            return;
        };
        let dispatcher = &self.ports.dispatcher;
        if due_at > dispatcher.near_until() {
            return;
        }
        let timer = JobTimer {
            job: job_ref(collection, job),
            state: timer.state,
            generation: timer.timing.generation,
            timetable: timetable.clone(),
            is_spent: timer.is_spent,
        };
        let due = Due { due_at, what: DueTimer::Job(timer) };
        // The change is committed and its timer is in the index, so a failure is not the caller's.
        if let Err(error) = dispatcher.dispatch(&[due], &[]).await {
            let parent = collection.place.collection_path(&collection.collection.name);
            let job_path = format!("{parent}/{}", job.name);
            tracing::warn!(job.path = job_path, job.uid, %error, "could not dispatch occurrences that are due soon; the next sweep will");
        }
    }

    /// A job and its collection.
    pub(super) async fn parent_and_job(
        &self,
        of: JobPlace<'_>,
    ) -> Result<(CollectionRecord, JobRecord)> {
        let (place, collection, name) = of;
        let collection = self.parent(place, collection).await?;
        let job = self.job(&collection, name).await?;
        Ok((collection, job))
    }

    /// The record of a job that must exist.
    pub(super) async fn job(
        &self,
        collection: &CollectionRecord,
        name: &Name,
    ) -> Result<JobRecord> {
        let found = self.find_job(collection, name).await?;
        found.ok_or_else(|| AppError::no_job(name))
    }

    /// The record of a job, unless it has expired.
    pub(super) async fn find_job(
        &self,
        collection: &CollectionRecord,
        name: &Name,
    ) -> Result<Option<JobRecord>> {
        let now = self.ports.clock.now();
        let found = self.ports.jobs.find(&collection.collection.uid, name).await?;
        Ok(found.filter(|job| job.expires_at.is_none_or(|at| at > now)))
    }

    /// Whether a collection that seems to be full may have room after all. The number of its jobs may
    /// be too high, because jobs that expire are not taken off: then it is corrected.
    pub(super) async fn has_room(
        &self,
        collection: &CollectionRecord,
        is_full: impl Fn(u32) -> bool + Send,
    ) -> Result<bool> {
        let now = self.ports.clock.now();
        match self.ports.jobs.count(collection, now).await? {
            // Another request has corrected it.
            Some(recount) if !is_full(recount.as_read) => Ok(true),
            Some(recount) if recount.jobs < recount.as_read => {
                // If another change came first, the caller reads the collection again in any case.
                let (Saved::Kept | Saved::Stale | Saved::Full) =
                    self.ports.jobs.correct_count(collection, recount).await?;
                Ok(true)
            }
            Some(_) => Ok(false),
            None => Ok(true),
        }
    }

    /// The view of a job that was read. A job that this version cannot read, as a newer one wrote
    /// it, is answered as it is stored: it must not make a whole list fail.
    pub(super) fn stored_view(
        &self,
        collection: &CollectionRecord,
        job: JobRecord,
    ) -> Result<JobView> {
        match shown_definition(&job.uid, &job.document) {
            Ok(definition) => Ok(self.view(collection, job, definition.write())),
            Err(error) => {
                let Ok(Value::Object(properties)) = serde_json::from_str(&job.document) else {
                    return Err(error);
                };
                let document = JobDocument::unread(properties);
                Ok(view_with_next(collection, job, document, None))
            }
        }
    }

    fn view(
        &self,
        collection: &CollectionRecord,
        job: JobRecord,
        document: JobDocument,
    ) -> JobView {
        let next = Facts::of(collection, &job).next_occurrence(self.ports.clock.now());
        view_with_next(collection, job, document, next)
    }
}

fn view_with_next(
    collection: &CollectionRecord,
    job: JobRecord,
    document: JobDocument,
    next_execution_at: Option<DateTime<Utc>>,
) -> JobView {
    let etag = Etag::from(&job);
    let TimerRecord { state, counters, .. } = job.timer;
    let never_ran = state == JobState::Disabled && counters.last_execution_at.is_none();
    JobView {
        etag,
        place: collection.place.clone(),
        collection: collection.collection.name.clone(),
        name: job.name,
        document,
        state,
        status: (!never_ran).then_some(JobStatus { counters, next_execution_at }),
    }
}
