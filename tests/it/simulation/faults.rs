//! The store as a process meets it: slow, busy, with answers that get lost, and mistaken if a
//! mutation says so.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use app::fire::StoreOfFiring;
use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use domain::attempt::{Attempt, Outcome, Record, Role};
use domain::firing::{Outage, Pulse};
use domain::job::{JobState, Switch};
use domain::journal::JournalEntry;
use domain::name::{Name, PathSegment};
use domain::work_item::JobRef;
use ports::store::{
    Advance, Claim, ClaimRequest, Claimed, CollectionRecord, CounterUpdate, Due, Finish,
    HistoryEntry, JobRecord, JobSnapshot, LongRetry, Page, PageRequest, PulseOf, PulseRecord,
    Recorded, ResourceGroup, SaveJob, Saved,
};
use ports::{
    Attempts, Collections, Counters, History, Jobs, Pulses, Removal, RetryTimers, Snapshots,
    StoreError, Timers,
};
use recurrence::Timetable;

use super::memory::Memory;
use super::mutation::Mutation;
use super::queue::QueuePort;
use super::time::{Process, SECOND, instant, micros};
use super::world::World;

/// A store that implements all of its ports.
pub(super) trait Store: StoreOfFiring + Collections + Jobs {}

impl<S: StoreOfFiring + Collections + Jobs> Store for S {}

/// The store of one process.
pub(super) struct StorePort {
    pub(super) world: Arc<World>,
    pub(super) process: Arc<Process>,
    /// What a mutation sends only after its timer has moved on.
    pub(super) held_back: Option<Arc<QueuePort>>,
    /// The snapshots that a mutation read too early, by the ids of their jobs.
    pub(super) too_early: Mutex<HashMap<String, Option<Arc<JobSnapshot>>>>,
    /// The snapshots that were prefetched, by the ids of their claims.
    pub(super) prefetched: Mutex<HashMap<String, Arc<JobSnapshot>>>,
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

    /// The store beneath the faults.
    fn inner(&self) -> &dyn Store {
        self.world.store.as_ref()
    }

    fn claim_now(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        let lease = match self.world.mutation {
            Some(Mutation::LostClaimAcks) => 300,
            Some(Mutation::LeaseOverVisibility) => 900,
            _ => 100,
        };
        let mut request = request.clone();
        if lease != 100 {
            request.claim.lease_until = request.now + TimeDelta::seconds(lease);
        }
        let claimed = now(self.inner().claim(&request))?;
        let Claim { job, attempt, .. } = request.claim;
        match claimed {
            Claimed::Won if self.is(Mutation::NoFence) => {
                self.claimed.lock().unwrap().insert(job.uid, attempt.generation);
                Ok(Claimed::Won)
            }
            Claimed::Won if self.is(Mutation::CheckThenClaim) => {
                let tables = self.memory().tables();
                let found = tables.timers.get(&job.uid).map(|item| JobRef {
                    uid: job.uid.clone(),
                    collection_uid: item.collection_uid.clone(),
                    key: item.key.clone(),
                });
                drop(tables);
                let snapshot = found.and_then(|job| self.memory().snapshot(&job));
                self.too_early.lock().unwrap().insert(job.uid, snapshot.map(Arc::new));
                Ok(Claimed::Won)
            }
            Claimed::Ended(_) if self.is(Mutation::DoneAcks) => {
                self.found_ended.store(true, Relaxed);
                Ok(Claimed::Held { lease_until: request.now })
            }
            other => Ok(other),
        }
    }

    /// Reads a job, unless a mutation has read it before.
    fn snapshot_now(
        &self,
        job: &JobRef,
        read: impl FnOnce() -> Result<Option<Arc<JobSnapshot>>, StoreError>,
    ) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        if let Some(snapshot) = self.too_early.lock().unwrap().remove(&job.uid) {
            return Ok(snapshot);
        }
        let mut snapshot = read()?;
        if let Some(generation) = self.claimed.lock().unwrap().remove(&job.uid)
            && let Some(snapshot) = &mut snapshot
        {
            let snapshot = Arc::make_mut(snapshot);
            snapshot.timing.generation = generation;
            snapshot.state = JobState::Enabled;
            snapshot.collection_on_since = Some(DateTime::UNIX_EPOCH);
        }
        Ok(snapshot)
    }

    fn record_now(&self, claim: &Claim, record: &Record) -> Result<Recorded, StoreError> {
        let recorded = now(self.inner().record(claim, record))?;
        if recorded == Recorded::Kept {
            let Claim { job, attempt, .. } = claim;
            let id = format!("{}.{}", job.uid, attempt.id());
            self.world.recorded(&id, micros(record.ended_at), &self.process);
            if self.is(Mutation::FinalOnLast) && record.outcome == Outcome::Succeeded {
                self.end_with(&job.uid, attempt);
            }
        }
        Ok(recorded)
    }

    /// Ends the job of an attempt if that is of its last occurrence.
    fn end_with(&self, job_uid: &str, attempt: &Attempt) {
        let tables = self.memory().tables();
        let line = tables.timers.get(job_uid).and_then(|item| item.record.timetable.clone());
        drop(tables);
        let timetable: Option<Timetable> = line.and_then(|line| line.parse().ok());
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
                && let Some(timetable) = timetable(old.timetable.as_deref())
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
                timetable(job.timer.timetable.as_deref()).and_then(|it| it.at_or_after(at))
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

fn timetable(line: Option<&str>) -> Option<Timetable> {
    line.and_then(|line| line.parse().ok())
}

/// What a store answers that does not take any simulated time.
pub(super) fn now<T>(work: impl Future<Output = T>) -> T {
    pollster::block_on(work)
}

#[async_trait]
impl Collections for StorePort {
    async fn find(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        self.op(true, || now(Collections::find(self.inner(), place, name))).await
    }

    async fn list(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        let ask = || now(Collections::list(self.inner(), subscription, group, page.clone()));
        self.op(true, ask).await
    }

    async fn create(
        &self,
        collection: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        self.op(false, || now(Collections::create(self.inner(), collection, entry))).await
    }

    async fn replace(
        &self,
        collection: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        self.op(false, || now(Collections::replace(self.inner(), collection, entry))).await
    }

    async fn delete(
        &self,
        collection: &CollectionRecord,
        at: DateTime<Utc>,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        self.op(false, || now(Collections::delete(self.inner(), collection, at, entry))).await
    }
}

#[async_trait]
impl Jobs for StorePort {
    async fn find(
        &self,
        collection_uid: &str,
        name: &Name,
    ) -> Result<Option<JobRecord>, StoreError> {
        self.op(true, || now(Jobs::find(self.inner(), collection_uid, name))).await
    }

    async fn list(
        &self,
        collection_uid: &str,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        self.op(true, || now(Jobs::list(self.inner(), collection_uid, page.clone()))).await
    }

    async fn create(&self, save: SaveJob<'_>, jobs_max: Option<u32>) -> Result<Saved, StoreError> {
        let SaveJob { collection, job, timer_changes, entry } = save;
        let save = || SaveJob { collection, job, timer_changes, entry };
        self.op(false, || now(Jobs::create(self.inner(), save(), jobs_max))).await
    }

    async fn replace(&self, save: SaveJob<'_>) -> Result<Saved, StoreError> {
        let (job, timer_changes) = self.mistaken(save.job, save.timer_changes);
        let save =
            || SaveJob { collection: save.collection, job: &job, timer_changes, entry: save.entry };
        self.op(false, || now(Jobs::replace(self.inner(), save()))).await
    }

    async fn delete(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        self.op(false, || now(Jobs::delete(self.inner(), collection, job, entry))).await
    }
}

#[async_trait]
impl Timers for StorePort {
    fn shards(&self) -> u32 {
        self.inner().shards()
    }

    async fn due(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        if self.world.are_sweepers_blind.load(Relaxed) {
            return Err(StoreError::Unavailable("the index cannot be read".into()));
        }
        self.op(true, || now(self.inner().due(shard, until, page.clone()))).await
    }

    /// Moves the timers of a page by single writes, as on AWS.
    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        let mut answers = Vec::new();
        for advance in advances {
            let advance = || now(self.inner().advance(std::slice::from_ref(advance))).remove(0);
            answers.push(self.op(true, advance).await);
        }
        if let Some(queue) = &self.held_back {
            queue.send_held_back().await;
        }
        answers
    }

    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError> {
        self.op(true, || now(self.inner().finish(finish))).await
    }
}

#[async_trait]
impl History for StorePort {
    async fn list(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<HistoryEntry>, StoreError> {
        self.op(true, || now(History::list(self.inner(), job_uid, page.clone()))).await
    }
}

#[async_trait]
impl Attempts for StorePort {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        self.op(true, || self.claim_now(request)).await
    }

    async fn release(&self, claim: &Claim) -> Result<(), StoreError> {
        self.op(true, || now(self.inner().release(claim))).await
    }

    async fn record(&self, claim: &Claim, record: &Record) -> Result<Recorded, StoreError> {
        self.op(true, || self.record_now(claim, record)).await
    }
}

#[async_trait]
impl Snapshots for StorePort {
    async fn read(&self, job: &JobRef) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        let read = || self.snapshot_now(job, || now(Snapshots::read(self.inner(), job)));
        self.op(true, read).await
    }

    async fn read_collection(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        self.op(true, || now(self.inner().read_collection(collection_uid))).await
    }

    async fn prefetch(&self, claim: &Claim) -> Option<Arc<JobSnapshot>> {
        if !self.memory().is_alone() {
            return None;
        }
        let read = || self.snapshot_now(&claim.job, || Ok(now(self.inner().prefetch(claim))));
        let snapshot = self.op(true, read).await.ok()??;
        self.prefetched.lock().unwrap().insert(claim.claim_id.clone(), snapshot.clone());
        Some(snapshot)
    }

    async fn read_for_start(&self, claim: &Claim) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        let read = || now(self.inner().read_for_start(claim));
        if let Some(snapshot) = self.prefetched.lock().unwrap().remove(&claim.claim_id) {
            let is_mistaken = self.is(Mutation::CheckThenClaim)
                || self.is(Mutation::NoFence)
                || self.is(Mutation::AheadStands);
            if is_mistaken {
                return Ok(Some(snapshot));
            }
            if self.memory().is_unchanged(claim) {
                // It takes no time.
                return read();
            }
        }
        self.op(true, || self.snapshot_now(&claim.job, read)).await
    }
}

#[async_trait]
impl Counters for StorePort {
    async fn add(&self, update: &CounterUpdate) -> Result<bool, StoreError> {
        self.op(true, || now(self.inner().add(update))).await
    }
}

#[async_trait]
impl Pulses for StorePort {
    async fn read_pulses(&self) -> Result<PulseRecord, StoreError> {
        let mut read = self.op(true, || now(self.inner().read_pulses())).await?;
        let clock = instant(self.process.clock());
        let always_until = |until| Outage { from: DateTime::UNIX_EPOCH, until };
        match self.world.mutation {
            Some(Mutation::LateIsOutage) => {
                read.workers.outages = vec![always_until(clock - TimeDelta::minutes(10))];
            }
            Some(Mutation::SweepCollapsesAll) => {
                read.sweepers.outages = vec![always_until(clock)];
            }
            _ => {}
        }
        Ok(read)
    }

    async fn beat(
        &self,
        of: PulseOf,
        as_read: Option<DateTime<Utc>>,
        pulse: &Pulse,
    ) -> Result<bool, StoreError> {
        let forgets = self.is(Mutation::PulseForgets)
            || self.is(Mutation::NoExecGap) && of == PulseOf::Workers;
        let mut pulse = pulse.clone();
        if forgets {
            pulse.outages.clear();
        }
        self.op(true, || now(self.inner().beat(of, as_read, &pulse))).await
    }
}

#[async_trait]
impl RetryTimers for StorePort {
    async fn keep(&self, retry: &LongRetry) -> Result<(), StoreError> {
        self.op(true, || now(self.inner().keep(retry))).await
    }

    async fn remove(&self, retry: &LongRetry) -> Result<(), StoreError> {
        self.op(true, || now(self.inner().remove(retry))).await
    }

    async fn list(&self, job_uid: &str, max: u32) -> Result<Vec<Attempt>, StoreError> {
        self.op(true, || now(RetryTimers::list(self.inner(), job_uid, max))).await
    }
}

#[async_trait]
impl Removal for StorePort {
    async fn delete_finished(&self, job: &JobRef, generation: u64) -> Result<(), StoreError> {
        self.op(false, || now(self.inner().delete_finished(job, generation))).await
    }

    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError> {
        self.op(true, || now(self.inner().purge(collection_uid))).await
    }
}
