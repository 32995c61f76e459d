//! The store as a process meets it: slow, busy, with answers that get lost, and mistaken if a
//! mutation says so.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use domain::attempt::{Attempt, Outcome, Role};
use domain::job::{JobState, Switch};
use domain::name::{Name, PathSegment};
use domain::work_item::JobRef;
use ports::firing::{
    Advance, Claim, Claimed, CounterUpdate, Due, Execution, Finish, Held, JobSnapshot, LongRetry,
    Mark, Recorded, Recording,
};
use ports::store::{CollectionRecord, JobRecord, Page, PageRequest, ResourceGroup, SaveJob, Saved};
use ports::{FiringStore, History, JobStore, StoreError, TimerStore};
use recurrence::Timetable;

use super::memory::Memory;
use super::mutation::Mutation;
use super::queue::QueuePort;
use super::time::{Process, SECOND, instant, micros};
use super::world::World;

/// A store of both ports.
pub(super) trait Store: JobStore + FiringStore {}

impl<T: JobStore + FiringStore> Store for T {}

/// The store of one process.
pub(super) struct StorePort {
    pub(super) world: Arc<World>,
    pub(super) process: Arc<Process>,
    /// What a mutation sends only after its timer has moved on.
    pub(super) held_back: Option<Arc<QueuePort>>,
    /// What a mutation looked at too early.
    pub(super) too_early: Mutex<HashMap<String, Option<JobSnapshot>>>,
    /// The generations that a mutation takes for the jobs' own.
    pub(super) claimed: Mutex<HashMap<String, u64>>,
    /// Whether a mutation found an attempt to have ended.
    pub(super) found_ended: AtomicBool,
}

impl StorePort {
    fn is(&self, mutation: Mutation) -> bool {
        self.world.mutation == Some(mutation)
    }

    fn memory(&self) -> &Memory {
        &self.world.memory
    }

    /// Performs something, with all that may happen to it on the way. `repeats` says that it is
    /// performed again when its answer is lost, as the SDK does; a transaction has a token by which
    /// a second one is known to be the first.
    async fn op<T: Send>(
        &self,
        repeats: bool,
        perform: impl Fn() -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        self.process.pause(2_000, 15_000).await;
        let faults = self.world.faults();
        if self.chance(faults.throttled) {
            return Err(StoreError::Throttled("the simulation says so".into()));
        }
        let mut answer = perform();
        if self.chance(faults.lost) {
            self.process.pause(SECOND / 10, SECOND / 10 + 1).await;
            if repeats {
                answer = perform();
            }
        }
        self.process.pause(2_000, 15_000).await;
        if self.chance(faults.lost / 10) {
            // The second answer is lost, too.
            return Err(StoreError::Unavailable("the simulation lost the answer".into()));
        }
        answer
    }

    fn chance(&self, in_a_million: u64) -> bool {
        self.process.time().chance().happens(in_a_million)
    }

    /// The same for each of a group, as single writes.
    async fn each<I: Sync, T: Send>(
        &self,
        group: &[I],
        one: impl Fn(&I) -> Result<T, StoreError> + Send + Sync,
    ) -> Vec<Result<T, StoreError>> {
        let mut answers = Vec::new();
        for item in group {
            answers.push(self.op(true, || one(item)).await);
        }
        answers
    }

    /// The same, of both ports, on what is under all faults.
    fn inner(&self) -> &dyn Store {
        self.world.store.as_ref()
    }

    fn claim_one(&self, claim: &Claim) -> Result<Claimed, StoreError> {
        let lease = match self.world.mutation {
            Some(Mutation::LostClaimAcks) => 300,
            Some(Mutation::LeaseOverVisibility) => 900,
            _ => 100,
        };
        let lease_until = claim.now + TimeDelta::seconds(lease);
        let lease_until = if lease == 100 { claim.lease_until } else { lease_until };
        let claim = Claim { lease_until, ..claim.clone() };
        let claimed = only(now(self.inner().claim(std::slice::from_ref(&claim))))?;
        match claimed {
            Claimed::Won if self.is(Mutation::NoFence) => {
                let generation = claim.attempt.generation;
                self.claimed.lock().unwrap().insert(claim.job_uid, generation);
                Ok(Claimed::Won)
            }
            Claimed::Won if self.is(Mutation::CheckThenClaim) => {
                let tables = self.memory().tables();
                let job = tables.timers.get(&claim.job_uid).map(|item| JobRef {
                    uid: claim.job_uid.clone(),
                    collection_uid: item.collection_uid.clone(),
                    key: item.key.clone(),
                });
                drop(tables);
                let sight = job.and_then(|job| self.memory().sight(&job));
                self.too_early.lock().unwrap().insert(claim.job_uid, sight);
                Ok(Claimed::Won)
            }
            Claimed::Ended(_) if self.is(Mutation::DoneAcks) => {
                self.found_ended.store(true, Relaxed);
                Ok(Claimed::Held { claim_id: String::new(), lease_until: claim.now })
            }
            other => Ok(other),
        }
    }

    fn look_now(&self, job: &JobRef) -> Result<Option<JobSnapshot>, StoreError> {
        if let Some(seen) = self.too_early.lock().unwrap().remove(&job.uid) {
            return Ok(seen);
        }
        let mut seen = now(self.inner().look(std::slice::from_ref(job)))?.remove(0);
        if let Some(generation) = self.claimed.lock().unwrap().remove(&job.uid)
            && let Some(sight) = &mut seen
        {
            sight.timing.generation = generation;
            sight.state = JobState::Enabled;
            sight.collection_on_since = Some(DateTime::UNIX_EPOCH);
        }
        Ok(seen)
    }

    fn record_one(&self, recording: &Recording) -> Result<Recorded, StoreError> {
        let recorded = only(now(self.inner().record(std::slice::from_ref(recording))))?;
        if recorded == Recorded::Kept {
            let Held { job_uid, attempt, .. } = &recording.held;
            let id = format!("{job_uid}.{}", attempt.id());
            self.world.recorded(&id, micros(recording.record.ended_at), &self.process);
            if self.is(Mutation::FinalOnLast) && recording.record.outcome == Outcome::Succeeded {
                self.end_with(job_uid, attempt);
            }
        }
        Ok(recorded)
    }

    /// Ends the job of an attempt if that is of its last occurrence.
    fn end_with(&self, job_uid: &str, attempt: &Attempt) {
        let tables = self.memory().tables();
        let rule = tables.timers.get(job_uid).and_then(|item| item.record.rule.clone());
        drop(tables);
        let timetable: Option<Timetable> = rule.and_then(|rule| rule.parse().ok());
        let nominal_at = attempt.occurrence.nominal_at();
        let is_last = timetable.is_some_and(|it| it.after(nominal_at).is_none());
        if is_last && attempt.role == Role::Main {
            self.finish_as(job_uid, attempt.generation, JobState::Completed);
        }
    }

    pub(super) fn finish_as(&self, job_uid: &str, generation: u64, state: JobState) {
        let delete_at = instant(self.process.clock()) + TimeDelta::days(60);
        let job_uid = job_uid.to_owned();
        self.memory().finish_now(&Finish { job_uid, generation, state, delete_at });
    }

    /// What a mutation makes of a change of a job.
    fn mistaken(&self, job: &JobRecord, timer_changes: bool) -> (JobRecord, bool) {
        let mut job = job.clone();
        if self.is(Mutation::EnableFromCursor) && timer_changes {
            let tables = self.memory().tables();
            let old = tables.timers.get(&job.uid).map(|item| item.record.clone());
            if let Some(old) = old.filter(|old| old.state == JobState::Enabled)
                && job.timer.state == JobState::Disabled
                && let Some(timetable) = timetable(old.rule.as_deref())
            {
                let cursor =
                    if old.is_spent { DateTime::<Utc>::MAX_UTC } else { old.due_at.unwrap() };
                let dispatched = timetable.count_between(old.timing.since, cursor);
                job.timer.timing.used = old.timing.used + u32::try_from(dispatched).unwrap();
            }
        }
        let at = instant(self.process.clock());
        if self.is(Mutation::EditRestarts)
            && !timer_changes
            && job.timer.state.switch() == Some(Switch::Enabled)
            && let Some(next) =
                timetable(job.timer.rule.as_deref()).and_then(|it| it.at_or_after(at))
        {
            job.timer.timing.generation += 1;
            job.timer.timing.since = at;
            job.timer.due_at = Some(next);
            job.timer.is_spent = false;
            return (job, true);
        }
        (job, timer_changes)
    }
}

fn timetable(rule: Option<&str>) -> Option<Timetable> {
    rule.and_then(|rule| rule.parse().ok())
}

/// What a store answers that does not take any simulated time.
pub(super) fn now<T>(work: impl Future<Output = T>) -> T {
    pollster::block_on(work)
}

fn only<T>(answers: Vec<Result<T, StoreError>>) -> Result<T, StoreError> {
    answers.into_iter().next().unwrap()
}

#[async_trait]
impl JobStore for StorePort {
    async fn find_collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        self.op(true, || now(self.inner().find_collection(place, name))).await
    }

    async fn list_collections(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        let ask = || now(self.inner().list_collections(subscription, group, page.clone()));
        self.op(true, ask).await
    }

    async fn create_collection(&self, collection: &CollectionRecord) -> Result<Saved, StoreError> {
        self.op(false, || now(self.inner().create_collection(collection))).await
    }

    async fn replace_collection(&self, collection: &CollectionRecord) -> Result<Saved, StoreError> {
        self.op(false, || now(self.inner().replace_collection(collection))).await
    }

    async fn delete_collection(
        &self,
        collection: &CollectionRecord,
        at: DateTime<Utc>,
    ) -> Result<Saved, StoreError> {
        self.op(false, || now(self.inner().delete_collection(collection, at))).await
    }

    async fn find_job(
        &self,
        collection_uid: &str,
        name: &Name,
    ) -> Result<Option<JobRecord>, StoreError> {
        self.op(true, || now(self.inner().find_job(collection_uid, name))).await
    }

    async fn list_jobs(
        &self,
        collection_uid: &str,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        self.op(true, || now(self.inner().list_jobs(collection_uid, page.clone()))).await
    }

    async fn create_job(
        &self,
        save: SaveJob<'_>,
        jobs_max: Option<u32>,
    ) -> Result<Saved, StoreError> {
        let SaveJob { collection, job, timer_changes } = save;
        let save = || SaveJob { collection, job, timer_changes };
        self.op(false, || now(self.inner().create_job(save(), jobs_max))).await
    }

    async fn replace_job(&self, save: SaveJob<'_>) -> Result<Saved, StoreError> {
        let (job, timer_changes) = self.mistaken(save.job, save.timer_changes);
        let save = || SaveJob { collection: save.collection, job: &job, timer_changes };
        self.op(false, || now(self.inner().replace_job(save()))).await
    }

    async fn delete_job(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
    ) -> Result<Saved, StoreError> {
        self.op(false, || now(self.inner().delete_job(collection, job))).await
    }
}

#[async_trait]
impl TimerStore for StorePort {
    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        let one =
            |advance: &Advance| only(now(self.inner().advance(std::slice::from_ref(advance))));
        let answers = self.each(advances, one).await;
        if let Some(queue) = &self.held_back {
            queue.send_held_back().await;
        }
        answers
    }
}

#[async_trait]
impl History for StorePort {
    async fn executions(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<Execution>, StoreError> {
        self.op(true, || now(self.inner().executions(job_uid, page.clone()))).await
    }
}

#[async_trait]
impl FiringStore for StorePort {
    fn shards(&self) -> u32 {
        self.inner().shards()
    }

    async fn due(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        self.op(true, || now(self.inner().due(shard, until, page.clone()))).await
    }

    async fn claim(&self, claims: &[Claim]) -> Vec<Result<Claimed, StoreError>> {
        self.each(claims, |claim| self.claim_one(claim)).await
    }

    async fn release(&self, claims: &[Held]) -> Vec<Result<(), StoreError>> {
        let one = |held: &Held| only(now(self.inner().release(std::slice::from_ref(held))));
        self.each(claims, one).await
    }

    async fn look(&self, jobs: &[JobRef]) -> Result<Vec<Option<JobSnapshot>>, StoreError> {
        self.op(true, || jobs.iter().map(|job| self.look_now(job)).collect()).await
    }

    fn mark(&self) -> Option<Mark> {
        self.inner().mark()
    }

    fn stands(&self, job: &JobRef, since: Mark) -> bool {
        // What a mutation wants to be seen is seen.
        let is_made_up = self.is(Mutation::CheckThenClaim) || self.is(Mutation::NoFence);
        is_made_up || self.is(Mutation::AheadStands) || self.inner().stands(job, since)
    }

    async fn record(&self, recordings: &[Recording]) -> Vec<Result<Recorded, StoreError>> {
        self.each(recordings, |recording| self.record_one(recording)).await
    }

    async fn settle(&self, settlements: &[CounterUpdate]) -> Vec<Result<bool, StoreError>> {
        let one = |it: &CounterUpdate| only(now(self.inner().settle(std::slice::from_ref(it))));
        self.each(settlements, one).await
    }

    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError> {
        self.op(true, || now(self.inner().finish(finish))).await
    }

    async fn keep_retries(&self, retries: &[LongRetry]) -> Vec<Result<(), StoreError>> {
        let one = |it: &LongRetry| only(now(self.inner().keep_retries(std::slice::from_ref(it))));
        self.each(retries, one).await
    }

    async fn drop_retries(&self, retries: &[LongRetry]) -> Vec<Result<(), StoreError>> {
        let one = |it: &LongRetry| only(now(self.inner().drop_retries(std::slice::from_ref(it))));
        self.each(retries, one).await
    }

    async fn retries(&self, job_uid: &str, max: u32) -> Result<Vec<Attempt>, StoreError> {
        self.op(true, || now(self.inner().retries(job_uid, max))).await
    }

    async fn delete_finished(&self, job: &JobRef, generation: u64) -> Result<(), StoreError> {
        self.op(false, || now(self.inner().delete_finished(job, generation))).await
    }

    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError> {
        self.op(true, || now(self.inner().purge(collection_uid))).await
    }
}
