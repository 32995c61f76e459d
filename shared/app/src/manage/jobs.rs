//! Operations on jobs: read, list, put, patch, run and delete.

use chrono::{DateTime, Utc};
use minutehand_domain::action::Target;
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::document::{
    JOB, JobDocument, accept, add_time_zone, canonical_names, has_withheld, keep_extensions,
    lacks_extensions, load, merge_patch, names_time_zone, withhold,
};
use minutehand_domain::earlier_timing::EarlierTiming;
use minutehand_domain::extensions::EXTENSIONS;
use minutehand_domain::goes_on::GoesOn;
use minutehand_domain::history_days::JOBS_KEPT_FOR;
use minutehand_domain::job::{JobCounters, JobDefinition, JobState, Switch, keep_paused};
use minutehand_domain::name::Name;
use minutehand_domain::plan::JobLimits;
use minutehand_domain::policies::Policies;
use minutehand_domain::refusal::{Code, Refusal};
use minutehand_domain::schedule::Schedule;
use minutehand_domain::timing::{Change, Timing};
use minutehand_domain::work_item::JobRef;
use minutehand_ports::QueueMessage;
use minutehand_ports::store::{
    CollectionRecord, Due, DueTimer, JobRecord, JobTimer, Page, PageRequest, ResourceGroup,
    SaveJob, Saved, TimerRecord,
};
use serde_json::{Value, json};

use super::describe::{Facts, stored_schedule};
use super::forget::{explain_lost, says_lost};
use super::secrets::{SealedDocument, authenticates, keep_secrets, open_certificates};
use super::{JobStatus, JobView, Manage, retry_on_stale};
use crate::definition::{definition, shown_definition, unreadable, whole_document};
use crate::error::AppError;
use crate::etag::Etag;
use crate::fire::attempt_message;

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
    pub async fn get_job(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        name: &Name,
    ) -> Result<JobView, AppError> {
        let collection = self.collection(place, collection).await.map_err(|error| match error {
            AppError::NoCollection { .. } => AppError::NoJob { name: name.to_string() },
            error => error,
        })?;
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
    ) -> Result<Page<JobView>, AppError> {
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
    pub async fn put_job(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        name: &Name,
        body: Value,
    ) -> Result<(JobView, PutOutcome), AppError> {
        let body = canonical_names(body, JOB)?;
        retry_on_stale(format!("job '{name}'"), || async {
            let collection = self.parent(place, collection).await?;
            let found = self.find_job(&collection, name).await?;
            self.check_job_condition(name, found.as_ref())?;
            let wanted = self.wanted_by_put(&collection, found.as_ref(), &body).await?;
            let (put, saved) = match found {
                Some(old) => {
                    let before = shown_definition(&old.uid, &old.document)?;
                    (
                        PutOutcome::Replaced,
                        self.replace_job(&collection, old, &before, wanted).await?,
                    )
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
    pub async fn patch_job(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        name: &Name,
        body: Value,
    ) -> Result<JobView, AppError> {
        let patch = canonical_names(body, JOB)?;
        retry_on_stale(format!("job '{name}'"), || async {
            let collection = self.parent(place, collection).await?;
            let old = self.job(&collection, name).await?;
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
    pub async fn delete_job(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        name: &Name,
    ) -> Result<(), AppError> {
        retry_on_stale(format!("job '{name}'"), || async {
            let collection = self.parent(place, collection).await?;
            let job = self.job(&collection, name).await?;
            self.check_job_condition(name, Some(&job))?;
            let entry = self.job_entry(&job.name, Some(&job.document), None, false);
            match self.ports.jobs.delete(&collection, &job, Some(&entry)).await? {
                Saved::Kept => Ok(Some(())),
                Saved::Stale | Saved::Full => Ok(None),
            }
        })
        .await
    }

    /// Runs a job once now, in addition to its recurrence.
    ///
    /// # Errors
    ///
    /// If the job does not exist or has ended, or its collection is disabled.
    pub async fn run_job(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        name: &Name,
    ) -> Result<(), AppError> {
        let (collection, job) = self.runnable(place, collection, name).await?;
        let now = self.ports.clock.now();
        let what = Occurrence::Run { asked_at: now, run_id: self.ports.ids.new_id() };
        self.send_run(&collection, &job, what, now).await
    }

    /// A job that a user may run now, and its collection.
    pub(super) async fn runnable(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        name: &Name,
    ) -> Result<(CollectionRecord, JobRecord), AppError> {
        let collection = self.parent(place, collection).await?;
        let job = self.job(&collection, name).await?;
        self.check_job_condition(name, Some(&job))?;
        if !collection.collection.definition.state.is_on() {
            let name = &collection.collection.name;
            return Err(Refusal::new(
                Code::JobCollectionDisabled,
                format!("The job collection '{name}' is disabled. Enable it first."),
            )
            .into());
        }
        check_not_final(&job)?;
        if says_lost(&job) {
            self.whole_definition(&job).await?;
        }
        Ok((collection, job))
    }

    /// Sends the first attempt at a run.
    pub(super) async fn send_run(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
        run: Occurrence,
        now: DateTime<Utc>,
    ) -> Result<(), AppError> {
        Ok(self.ports.queue.send(&[message(collection, job, run)], now).await?)
    }

    /// The definition of a stored job, secrets included.
    pub(super) async fn whole_definition(
        &self,
        job: &JobRecord,
    ) -> Result<JobDefinition, AppError> {
        let sealer = self.ports.sealer.as_ref();
        let found = definition(sealer, &job.uid, &job.document, job.sealed.as_deref()).await;
        found.map_err(|error| explain_lost(job, error))
    }

    /// The document of a stored job, secrets included.
    async fn whole_stored(&self, job: &JobRecord) -> Result<Value, AppError> {
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
    ) -> Result<JobDefinition, AppError> {
        let body = self.with_unsent(body.clone(), found, collection).await?;
        Ok(accept(&body, collection.collection.definition.plan)?)
    }

    /// A stored job, and the job that a PATCH makes of it.
    pub(super) async fn wanted_by_patch(
        &self,
        collection: &CollectionRecord,
        old: &JobRecord,
        patch: &Value,
    ) -> Result<(JobDefinition, JobDefinition), AppError> {
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
    ) -> Result<Value, AppError> {
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

    async fn create_job(
        &self,
        collection: &CollectionRecord,
        name: &Name,
        mut wanted: JobDefinition,
    ) -> Result<Option<JobView>, AppError> {
        let now = self.ports.clock.now();
        let limits = self.check(collection, &mut wanted)?;
        let timing = Timing::created(&wanted, now);
        let uid = self.ports.ids.new_id();
        let schedule = allowed_schedule(&limits, &timing, (&wanted, &uid), now)?;
        let document = wanted.write();
        let SealedDocument { shown, sealed } = self.seal(&uid, &document).await?;
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
    ) -> Result<Option<JobView>, AppError> {
        check_not_final(&old)?;
        let now = self.ports.clock.now();
        keep_paused(before, &mut wanted);
        let limits = self.check(collection, &mut wanted)?;
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
        let SealedDocument { shown, sealed } = self.seal(&old.uid, &document).await?;
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

    /// Checks everything except the timetable, and opens certificates.
    pub(super) fn check(
        &self,
        collection: &CollectionRecord,
        wanted: &mut JobDefinition,
    ) -> Result<JobLimits, AppError> {
        let definition = &collection.collection.definition;
        let limits =
            JobLimits::of(definition.plan, definition.quota.as_ref(), self.settings.plan_limits)?;
        limits.check_authentication(authenticates(wanted))?;
        self.check_aws(wanted.action.targets())?;
        open_certificates(wanted, self.ports.certificates.as_ref())?;
        Ok(limits)
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
                     Start the server with --aws-endpoint, on AWS deploy it with ActionArns, or use \
                     another type.",
                    target.type_name()
                )));
            }
            self.settings.own.check(target).map_err(|own| Refusal::invalid(own.to_string()))?;
        }
        Ok(())
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

    /// The record of a job that must exist.
    pub(super) async fn job(
        &self,
        collection: &CollectionRecord,
        name: &Name,
    ) -> Result<JobRecord, AppError> {
        let found = self.find_job(collection, name).await?;
        found.ok_or_else(|| AppError::NoJob { name: name.to_string() })
    }

    /// The record of a job, unless it has expired.
    async fn find_job(
        &self,
        collection: &CollectionRecord,
        name: &Name,
    ) -> Result<Option<JobRecord>, AppError> {
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
    ) -> Result<bool, AppError> {
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
    ) -> Result<JobView, AppError> {
        match shown_definition(&job.uid, &job.document) {
            Ok(definition) => {
                let document = definition.write();
                Ok(self.view(collection, job, document))
            }
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
    JobView {
        etag,
        place: collection.place.clone(),
        collection: collection.collection.name.clone(),
        name: job.name,
        document,
        state,
        status: JobStatus::in_state(state, counters, next_execution_at),
    }
}

/// The schedule of a job, which must have an occurrence and must not be more frequent than allowed.
pub(super) fn allowed_schedule(
    limits: &JobLimits,
    timing: &Timing,
    (wanted, uid): (&JobDefinition, &str),
    now: DateTime<Utc>,
) -> Result<Schedule, Refusal> {
    let schedule = timing.schedule(wanted, uid, now)?;
    limits.check_gap(schedule.timetable.smallest_gap())?;
    limits.check_gap_with_extra_dates(schedule.smallest_gap())?;
    schedule.policies.check(schedule.smallest_gap())?;
    Ok(schedule)
}

/// The timer of a job whose timing stays, with the policies of its new definition.
fn with_policies(old: &JobRecord, wanted: &JobDefinition) -> Result<TimerRecord, Refusal> {
    let mut timer = old.timer.clone();
    if let Some(schedule) = stored_schedule(old) {
        let policies = Policies::of(wanted.extensions.as_ref(), &old.uid);
        policies.check(schedule.smallest_gap())?;
        timer.timetable = Some(Schedule { policies, ..schedule }.to_string());
    }
    Ok(timer)
}

/// The schedule of a job whose timing changes. If it is enabled again and no occurrence is left, it goes on
/// with the last one.
fn going_on(
    schedule: Schedule,
    old: &JobRecord,
    (wanted, timing): (&JobDefinition, &Timing),
) -> Schedule {
    let is_enabled = old.timer.state == JobState::Disabled && wanted.switch == Switch::Enabled;
    if !is_enabled || coming(&schedule, timing, wanted).is_some() {
        return schedule;
    }
    let timings = [&old.timer.timing, timing];
    let goes_on = GoesOn::of(timings, &schedule, &old.earlier, &old.document);
    Schedule { goes_on, ..schedule }
}

/// The first occurrence of a timing.
fn coming(schedule: &Schedule, timing: &Timing, wanted: &JobDefinition) -> Option<DateTime<Utc>> {
    schedule.iter().next().filter(|_| !timing.is_over(wanted))
}

/// The timer of a job whose timing changes. A job without a next occurrence has ended, or goes on with the
/// last one, which is to be looked at now.
fn timer(
    wanted: &JobDefinition,
    timing: Timing,
    schedule: &Schedule,
    counters: JobCounters,
    now: DateTime<Utc>,
) -> TimerRecord {
    let (state, due_at) = if wanted.switch == Switch::Disabled {
        (JobState::Disabled, None)
    } else if schedule.goes_on.is_some() {
        (JobState::Enabled, Some(now))
    } else if let Some(first) = coming(schedule, &timing, wanted) {
        (JobState::Enabled, Some(schedule.start(first)))
    } else {
        (JobState::Completed, None)
    };
    let is_spent = state.is_final() || schedule.goes_on.is_some();
    let timetable = (state != JobState::Disabled).then(|| schedule.to_string());
    TimerRecord { state, timing, timetable, counters, due_at, is_spent }
}

/// When a job expires that has this timer. A job without any occurrence has finished already.
fn expires_at(timer: &TimerRecord, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    timer.state.is_final().then(|| now + JOBS_KEPT_FOR)
}

fn message(collection: &CollectionRecord, job: &JobRecord, what: Occurrence) -> QueueMessage {
    let first = Attempt::first(job.timer.timing.generation, what);
    let schedule = stored_schedule(job);
    let is_guarded = schedule.as_ref().is_some_and(Schedule::is_guarded);
    let policies = policies(job, schedule);
    let (under_policy, takes_turn) = (is_guarded || !policies.is_default(), policies.takes_turns());
    attempt_message(&job_ref(collection, job), Attempt { under_policy, takes_turn, ..first })
}

/// The policies of a job: those of the schedule in its timer, or if it is disabled those in its document.
fn policies(job: &JobRecord, schedule: Option<Schedule>) -> Policies {
    if job.timer.timetable.is_none() {
        let shown = shown_definition(job.name.as_str(), &job.document);
        let extensions = shown.ok().and_then(|definition| definition.extensions);
        return Policies::of(extensions.as_ref(), &job.uid);
    }
    // A line that cannot be read is of a newer version, which has to know what else there is.
    schedule.map(|schedule| schedule.policies).unwrap_or_default()
}

fn job_ref(collection: &CollectionRecord, job: &JobRecord) -> JobRef {
    JobRef {
        uid: job.uid.clone(),
        collection_uid: collection.collection.uid.clone(),
        key: job.name.key(),
    }
}

pub(super) fn check_not_final(job: &JobRecord) -> Result<(), Refusal> {
    if !job.timer.state.is_final() {
        return Ok(());
    }
    let (name, state) = (&job.name, job.timer.state.name());
    Err(Refusal::new(
        Code::JobFinished,
        format!("The job '{name}' is {state} and cannot change. Delete it and create it again."),
    ))
}
