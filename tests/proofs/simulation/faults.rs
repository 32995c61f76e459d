//! The store as a process meets it: slow, busy, with answers that get lost, and mistaken if a
//! mutation says so.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_app::fire::StoreOfFiring;
use minutehand_domain::attempt::{Attempt, Outcome, Record, Role};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::completion::{EndedBy, Ending};
use minutehand_domain::duration::Span;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::firing::{LeftOut, LeftOutReason, Outage, Pulse, Slot, TurnHolder};
use minutehand_domain::goes_on::GoesOn;
use minutehand_domain::history_days::JOBS_KEPT_FOR;
use minutehand_domain::job::{JobState, Switch};
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::limits::{CollectionLimits, Concurrent};
use minutehand_domain::policies::CatchUp;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Advance, AlertsLayer, AttemptSeen, AttemptsLayer, Call, Claim, ClaimRequest, Claimed,
    CollectionRecord, CollectionsLayer, CounterUpdate, CountersLayer, Due, DueTimer, Finish,
    HistoryLayer, JobRecord, JobSnapshot, JobsLayer, Layer, LeaveOpen, LeftOpen, OpenAttemptsLayer,
    OwnAttempt, Page, PageRequest, Pause, PulseOf, PulseRecord, PulsesLayer, Recorded, Recount,
    RemovalLayer, RetryTimersLayer, Said, SaveJob, Saved, SeatsLayer, SlotRequest, SlotsLayer,
    SnapshotsLayer, TimersLayer, TurnsLayer, TurnsRead, TurnsWrite,
};
use minutehand_ports::{
    Collections, Counters as _, Jobs, QueueMessage, Settled, Settlement, Snapshots, StoreError,
    Timers as _,
};
use serde_json::{Value, json};

use super::earlier::read_early;
use super::memory::Memory;
use super::mutation::Mutation;
use super::pings::PingWhat;
use super::postgres::SharedWhat;
use super::queue::QueuePort;
use super::tally::Fault;
use super::time::{Process, SECOND, instant, micros};
use super::world::{TurnWhat, World};

/// All ports of a store that are simulated.
pub(super) trait Ports: StoreOfFiring + Collections + Jobs {}

impl<S: StoreOfFiring + Collections + Jobs> Ports for S {}

/// What a store does beside its ports, in no simulated time.
pub(super) trait Beside: Send + Sync {
    /// Removes what has expired.
    fn remove_expired(&self, at: DateTime<Utc>);

    /// A process begins that is alone: what the one before it knew is forgotten, and its claims are void.
    fn begin_process(&self, process: u64);

    /// Moves timers, and with them sends the messages if it has the queue.
    fn dispatch(
        &self,
        messages: &[QueueMessage],
        moves: &[Advance],
        at: DateTime<Utc>,
    ) -> Vec<Result<bool, StoreError>>;

    /// Counts, and with that does what else is to be settled if it has the queue.
    fn settle(&self, settlement: Settlement<'_>) -> Settled;
}

/// A store that implements all of its ports.
pub(super) trait Store: Ports + Beside {}

impl<S: Ports + Beside> Store for S {}

/// What a settlement comes to once its attempt is counted.
pub(super) fn settled(
    Settlement { count, finish, receipt, .. }: Settlement<'_>,
    add: impl FnOnce(&CounterUpdate) -> Result<bool, StoreError>,
    end: impl FnOnce(&Finish) -> Result<bool, StoreError>,
) -> Settled {
    if !count.is_none_or(|count| add(count).unwrap()) {
        return Settled::Stale { is_sent: false };
    }
    let is_job_finished = finish.is_some_and(|finish| end(finish).unwrap());
    let is_finished = receipt.is_some() && finish.is_some() == is_job_finished;
    Settled::Done { is_finished, is_job_finished }
}

impl Beside for Memory {
    fn remove_expired(&self, at: DateTime<Utc>) {
        Self::remove_expired(self, at);
    }

    fn begin_process(&self, process: u64) {
        Self::begin_process(self, process);
    }

    fn dispatch(
        &self,
        _messages: &[QueueMessage],
        moves: &[Advance],
        _at: DateTime<Utc>,
    ) -> Vec<Result<bool, StoreError>> {
        now(self.advance(moves))
    }

    fn settle(&self, settlement: Settlement<'_>) -> Settled {
        settled(settlement, |count| now(self.add(count)), |finish| Ok(self.finish_whole(finish)))
    }
}

/// The store of one process.
pub(super) struct StorePort {
    pub(super) world: Arc<World>,
    pub(super) process: Arc<Process>,
    /// What a mutation sends only after its timer has moved on.
    held_back: Option<Arc<QueuePort>>,
    /// The snapshots that a mutation read too early, by the ids of their jobs.
    too_early: Mutex<HashMap<String, Option<Arc<JobSnapshot>>>>,
    /// The snapshots that were prefetched, by the ids of their claims.
    prefetched: Mutex<HashMap<String, Arc<JobSnapshot>>>,
    /// The generations that a mutation takes for the jobs' own.
    claimed: Mutex<HashMap<String, u64>>,
    /// Whether a mutation found an attempt to have ended.
    pub(super) found_ended: AtomicBool,
    /// Whether the process runs an earlier version.
    is_early: bool,
    /// Whether a mutation gives no sign of life.
    pub(super) is_silent: AtomicBool,
}

impl StorePort {
    pub(super) fn new(
        world: &Arc<World>,
        process: &Arc<Process>,
        held_back: Option<Arc<QueuePort>>,
    ) -> Self {
        Self {
            world: world.clone(),
            process: process.clone(),
            held_back,
            too_early: Mutex::default(),
            prefetched: Mutex::default(),
            claimed: Mutex::default(),
            found_ended: AtomicBool::new(false),
            is_early: world.is_early(process),
            is_silent: AtomicBool::new(false),
        }
    }

    pub(super) fn is(&self, mutation: Mutation) -> bool {
        self.world.mutation == Some(mutation)
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.world.memory
    }

    /// Performs something, with all that may happen to it on the way. `repeats` says that it is
    /// performed again when its answer is lost, as the SDK does; a transaction has a token by which
    /// a second one is known to be the first.
    pub(super) async fn op<T: Send>(
        &self,
        repeats: bool,
        perform: impl Fn() -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        self.process.pause(2_000, 15_000).await;
        let faults = self.world.faults();
        if self.world.database_is_away() {
            // Nobody waits longer for an answer.
            let until = self.world.shared.away_until().min(self.world.time.now() + 5 * SECOND);
            self.world.time.until(until).await;
            self.process.trouble();
            return Err(StoreError::Unavailable("the database is away".into()));
        }
        if self.chance(faults.throttled) {
            self.process.time().tally.note(Fault::Throttled);
            self.process.trouble();
            return Err(StoreError::Throttled("the simulation says so".into()));
        }
        let mut answer = perform();
        if self.chance(faults.lost) {
            self.process.time().tally.note(Fault::AnswerLost);
            self.process.pause(SECOND / 10, SECOND / 10 + 1).await;
            if repeats {
                answer = perform();
            }
        }
        self.process.pause(2_000, 15_000).await;
        if self.chance(faults.lost / 10) {
            self.process.time().tally.note(Fault::AnswerLost);
            self.process.trouble();
            // The second answer is lost, too.
            return Err(StoreError::Unavailable("the simulation lost the answer".into()));
        }
        answer
    }

    fn chance(&self, in_a_million: u64) -> bool {
        self.process.time().chance().happens(in_a_million)
    }

    /// Notes a sign of life: what gave it, and when by its clock.
    fn note_beat(&self, of: PulseOf, pulse: &Pulse, is_kept: bool) {
        let Some(beat_at) = pulse.beat_at.filter(|_| is_kept) else { return };
        if of == PulseOf::Workers {
            self.world.workers_since.fetch_min(self.world.time.now(), Relaxed);
        } else {
            self.world.time.ways.signed(self.world.time.now());
        }
        self.world.log.note(|| {
            let of = match of {
                PulseOf::Sweepers => "sweepers",
                PulseOf::Workers => "workers",
            };
            json!({"e": "beat", "of": of, "at": self.world.time.now(), "clock": micros(beat_at)})
        });
    }

    /// The store beneath the faults.
    pub(super) fn inner(&self) -> &dyn Store {
        self.world.store.as_ref()
    }

    pub(super) fn claim_now(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        let lease = match self.world.mutation {
            Some(Mutation::LostClaimAcks) => 300,
            Some(Mutation::LeaseOverVisibility) => 900,
            _ => 100,
        };
        let mut request = request.clone();
        if lease != 100 {
            request.claim.lease_until = request.now + TimeDelta::seconds(lease);
        }
        let member = self.world.shared.member_of(&self.process);
        if member.as_ref().is_some_and(|member| !member.has_row()) {
            return Err(StoreError::Unavailable("this process was taken for dead".into()));
        }
        let claimed = now(self.inner().claim(&request))?;
        if let Some(member) = member {
            let id = execution_id(&request.claim.job.uid, &request.claim.attempt);
            match claimed {
                Claimed::Won | Claimed::Exhausted => member.claims(&request.claim, &id),
                Claimed::Held { .. } => self.world.note_shared(SharedWhat::Held { id }),
                Claimed::Open(_) | Claimed::Ended(_) => {}
            }
        }
        let Claim { job, attempt, .. } = request.claim;
        if matches!(claimed, Claimed::Won | Claimed::Exhausted) && attempt.is_first() {
            let nominal = micros(attempt.occurrence.nominal_at());
            let (generation, clock) = (attempt.generation, self.process.clock());
            self.world.note_ping(&job.uid, PingWhat::Claimed { generation, nominal, clock });
        }
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
                Ok(Claimed::Held { left: TimeDelta::zero() })
            }
            other => Ok(other),
        }
    }

    /// Reads a job, unless a mutation has read it before.
    pub(super) fn snapshot_now(
        &self,
        job: &JobRef,
        read: impl FnOnce() -> Result<Option<Arc<JobSnapshot>>, StoreError>,
    ) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        if let Some(snapshot) = self.too_early.lock().unwrap().remove(&job.uid) {
            return Ok(snapshot);
        }
        let mut snapshot = read()?;
        if self.is_early
            && let Some(snapshot) = &mut snapshot
        {
            read_early(Arc::make_mut(snapshot));
        }
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

    pub(super) fn record_now(
        &self,
        claim: &Claim,
        record: &Record,
    ) -> Result<Recorded, StoreError> {
        let record = &match self.world.mutation {
            Some(Mutation::VerdictLate) => Record { then: None, ..record.clone() },
            _ if self.is_early => Record { then: None, ..record.clone() },
            _ => record.clone(),
        };
        let recorded = now(self.inner().record(claim, record))?;
        if recorded == Recorded::Kept {
            let Claim { job, attempt, .. } = claim;
            self.note_record(claim, record);
            if self.is(Mutation::FinalOnLast) && record.outcome == Outcome::Succeeded {
                self.end_with(&job.uid, attempt);
            }
        }
        Ok(recorded)
    }

    /// Notes a record.
    fn note_record(&self, claim: &Claim, record: &Record) {
        let Claim { job, attempt, .. } = claim;
        let id = execution_id(&job.uid, attempt);
        self.world.recorded(&id, micros(record.ended_at), &self.process);
        self.world.log_row(&self.process, job, (attempt, record));
        self.world.note_turn(&job.uid, attempt, TurnWhat::Ended);
    }

    /// Ends the job of an attempt if that is of its last occurrence.
    fn end_with(&self, job_uid: &str, attempt: &Attempt) {
        let tables = self.memory().tables();
        let line = tables.timers.get(job_uid).and_then(|item| item.record.timetable.clone());
        drop(tables);
        let timetable: Option<Schedule> = line.and_then(|line| line.parse().ok());
        let nominal_at = attempt.occurrence.nominal_at();
        let is_last = timetable.is_some_and(|it| it.after(nominal_at).is_none());
        if is_last && attempt.role == Role::Main {
            self.finish_as(job_uid, attempt.generation, JobState::Completed);
        }
    }

    /// Lets the definition of a job expire that is about to finish.
    pub(super) fn expire_now(&self, finish: &Finish) -> Result<bool, StoreError> {
        match self.world.mutation {
            _ if self.is_early => Ok(true),
            Some(Mutation::NeverExpires) => Ok(true),
            Some(Mutation::TimerExpiresFirst) => now(self.inner().finish(finish)),
            _ => now(self.inner().expire_definition(finish)),
        }
    }

    /// Finishes a job.
    pub(super) fn end_now(&self, finish: &Finish) -> Result<bool, StoreError> {
        match self.world.mutation {
            _ if self.is_early => Ok(self.memory().finish_early(finish)),
            Some(Mutation::TimerExpiresFirst) => now(self.inner().expire_definition(finish)),
            _ => now(self.inner().finish(finish)),
        }
    }

    pub(super) fn finish_as(&self, job_uid: &str, generation: u64, state: JobState) {
        let expires_at = instant(self.process.clock()) + TimeDelta::days(60);
        let tables = self.memory().tables();
        let found = tables.timers.get(job_uid).map(|item| JobRef {
            uid: job_uid.to_owned(),
            collection_uid: item.collection_uid.clone(),
            key: item.key.clone(),
        });
        let Some(job) = found else { return };
        let name = (job.collection_uid.clone(), job.key.clone());
        let version = tables.jobs.get(&name).map_or(0, |it| it.version);
        drop(tables);
        self.memory().finish_now(&Finish { job, version, generation, state, expires_at });
    }

    /// What a mutation makes of the policies in a timer.
    fn mistaken_line(&self, line: &str) -> String {
        if self.is(Mutation::DatesAreIgnored) {
            let words = line.split(' ').filter(|word| !word.starts_with("dates="));
            return words.collect::<Vec<_>>().join(" ");
        }
        let Ok(mut schedule) = line.parse::<Schedule>() else { return line.to_owned() };
        let policies = &mut schedule.policies;
        match (self.world.mutation, policies.catch_up) {
            (Some(Mutation::AllUnbounded), CatchUp::All { .. }) => {
                let window = Some(Span::days(60));
                policies.catch_up = CatchUp::All { window, max: Some(1_000) };
            }
            (Some(Mutation::NoneRunsLast), CatchUp::None) => policies.catch_up = CatchUp::Last,
            (Some(Mutation::LatenessIsIgnored), _) => policies.max_lateness = None,
            (Some(Mutation::JitterIsDoubled), _) => {
                if let Some(jitter) = &mut policies.jitter {
                    jitter.window = Span::of_millis(2 * jitter.window.millis());
                }
            }
            _ => return line.to_owned(),
        }
        schedule.to_string()
    }

    /// What a mutation makes of the turns of a job.
    fn mistaken_turns(&self, job_uid: &str, attempt: &Attempt, mut read: TurnsRead) -> TurnsRead {
        let of_other = |holder: &TurnHolder| !holder.attempt.is_same(attempt);
        let other = self.memory().turns_of(job_uid).1.holder.filter(of_other);
        match self.world.mutation {
            Some(Mutation::OverlapByEntry) => read.order.holder = other.or(read.order.holder),
            Some(Mutation::DeadRunOn) => {
                if let Some(holder) = read.order.holder.as_mut().filter(|it| of_other(it)) {
                    // Long after the end of the run.
                    holder.lease_until = instant(self.process.clock()) + TimeDelta::days(1_000);
                }
            }
            Some(Mutation::OverlapSkipsBegun) => {
                let is_ended = matches!(read.own, OwnAttempt::Ended(_));
                let clock = instant(self.process.clock());
                let runs = |it: &TurnHolder| it.lease_until >= clock && of_other(it);
                if !is_ended && read.order.holder.as_ref().is_some_and(runs) {
                    let (generation, at) = (attempt.generation, attempt.occurrence.nominal_at());
                    let row = LeftOut::one(generation, at, LeftOutReason::Overlap, clock);
                    now(self.inner().leave_out(job_uid, &row)).unwrap();
                    self.world.note_turn(job_uid, attempt, TurnWhat::LeftOut);
                    read.own = OwnAttempt::LeftOut;
                }
            }
            _ => {}
        }
        read
    }

    /// The time by which the leases of seats are judged.
    fn when_seats_end(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        if self.is(Mutation::SeatsOutlive) { DateTime::UNIX_EPOCH } else { now }
    }

    fn mistaken_snapshot(&self, snapshot: Arc<JobSnapshot>) -> Arc<JobSnapshot> {
        if self.is(Mutation::LimitsAreIgnored) {
            let limits = CollectionLimits::NONE;
            return Arc::new(JobSnapshot { limits, ..snapshot.as_ref().clone() });
        }
        let line = snapshot.timetable.as_deref().map(|line| self.mistaken_line(line));
        if line == snapshot.timetable {
            return snapshot;
        }
        Arc::new(JobSnapshot { timetable: line, ..snapshot.as_ref().clone() })
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
        if let Some(schedule) = timetable(job.timer.timetable.as_deref())
            && let Some(goes_on) = schedule.goes_on
        {
            let generation = job.timer.timing.generation;
            if self.is(Mutation::EndsWhenEnabled) {
                job.timer.timetable = Some(Schedule { goes_on: None, ..schedule }.to_string());
                (job.timer.state, job.timer.due_at) = (JobState::Completed, None);
                job.expires_at = Some(at + JOBS_KEPT_FOR);
            } else if self.is(Mutation::BeginsAnew) {
                let goes_on = Some(GoesOn { generation, ..goes_on });
                job.timer.timetable = Some(Schedule { goes_on, ..schedule }.to_string());
            }
        }
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

fn execution_id(job_uid: &str, attempt: &Attempt) -> String {
    format!("{job_uid}.{}", attempt.id())
}

fn timetable(line: Option<&str>) -> Option<Schedule> {
    line.and_then(|line| line.parse().ok())
}

/// What a store answers that does not take any simulated time.
pub(super) fn now<T>(work: impl Future<Output = T>) -> T {
    pollster::block_on(work)
}

/// Calls that may be performed again take time and may fail; nothing else happens to them.
impl Layer for StorePort {
    type Inner = dyn Store;

    fn inner(&self) -> Arc<dyn Store> {
        self.world.store.clone()
    }

    async fn try_call<'a, T: Debug + Send + 'a>(
        &'a self,
        call: impl Call<'a, dyn Store, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.op(true, || now(call(self.world.store.clone()))).await
    }
}

#[async_trait]
impl CollectionsLayer for StorePort {
    async fn create(
        &self,
        collection: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let create = || {
            let saved = now(Collections::create(self.inner(), collection, entry))?;
            self.world.log_collection(&self.process, saved, collection, false);
            Ok(saved)
        };
        self.op(false, create).await
    }

    async fn replace(
        &self,
        collection: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let replace = || {
            let saved = now(Collections::replace(self.inner(), collection, entry))?;
            self.world.log_collection(&self.process, saved, collection, false);
            Ok(saved)
        };
        self.op(false, replace).await
    }

    async fn delete(
        &self,
        collection: &CollectionRecord,
        at: DateTime<Utc>,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let delete = || {
            let saved = now(Collections::delete(self.inner(), collection, at, entry))?;
            self.world.log_collection(&self.process, saved, collection, true);
            Ok(saved)
        };
        self.op(false, delete).await
    }
}

#[async_trait]
impl JobsLayer for StorePort {
    async fn create(
        &self,
        save: SaveJob<'_>,
        jobs_max: Option<u32>,
        at: DateTime<Utc>,
    ) -> Result<Saved, StoreError> {
        let SaveJob { collection, job, timer_changes, entry } = save;
        let save = || SaveJob { collection, job, timer_changes, entry };
        if self.is(Mutation::RequiredUnlocked) && self.chance(500_000) {
            // What it relies on is read, and it waits for something else.
            self.process.pause(SECOND, 4 * SECOND).await;
        }
        let create = || {
            let saved = now(Jobs::create(self.inner(), save(), jobs_max, at))?;
            self.world.log_job(&self.process, saved, (collection, job), false);
            Ok(saved)
        };
        self.op(false, create).await
    }

    async fn count(
        &self,
        collection: &CollectionRecord,
        at: DateTime<Utc>,
    ) -> Result<Option<Recount>, StoreError> {
        let counted = self.op(true, || now(Jobs::count(self.inner(), collection, at))).await?;
        let is_blind = self.is(Mutation::NoRecount);
        Ok(counted.map(|it| if is_blind { Recount { jobs: it.as_read, ..it } } else { it }))
    }

    async fn correct_count(
        &self,
        collection: &CollectionRecord,
        recount: Recount,
    ) -> Result<Saved, StoreError> {
        let correct = || {
            let recount = if self.is(Mutation::RecountAtOnce) {
                let as_it_is = now(Jobs::count(self.inner(), collection, DateTime::UNIX_EPOCH))?;
                as_it_is.map_or(recount, |it| Recount { jobs: recount.jobs, ..it })
            } else {
                recount
            };
            now(self.inner().correct_count(collection, recount))
        };
        self.op(true, correct).await
    }

    async fn replace(&self, save: SaveJob<'_>) -> Result<Saved, StoreError> {
        let (job, timer_changes) = self.mistaken(save.job, save.timer_changes);
        let SaveJob { collection, entry, .. } = save;
        let saving = || SaveJob { collection, job: &job, timer_changes, entry };
        let replace = || {
            let saved = now(Jobs::replace(self.inner(), saving()))?;
            self.world.log_job(&self.process, saved, (collection, &job), false);
            Ok(saved)
        };
        self.op(false, replace).await
    }

    async fn delete(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let delete = || {
            let saved = now(Jobs::delete(self.inner(), collection, job, entry))?;
            self.world.log_job(&self.process, saved, (collection, job), true);
            Ok(saved)
        };
        self.op(false, delete).await
    }
}

#[async_trait]
impl TimersLayer for StorePort {
    async fn due(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        if self.world.are_sweepers_blind.load(Relaxed) {
            self.process.trouble();
            return Err(StoreError::Unavailable("the index cannot be read".into()));
        }
        let mut page = self.op(true, || now(self.inner().due(shard, until, page.clone()))).await?;
        for due in &mut page.items {
            if let DueTimer::Job(timer) = &mut due.what {
                timer.timetable = self.mistaken_line(&timer.timetable);
            }
        }
        Ok(page)
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

    /// For the log alone: it takes no time, and nothing happens to it.
    async fn collection_path(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionPlace>, StoreError> {
        self.inner().collection_path(collection_uid).await
    }

    async fn expire_definition(&self, finish: &Finish) -> Result<bool, StoreError> {
        self.op(true, || self.expire_now(finish)).await
    }

    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError> {
        self.op(true, || self.end_now(finish)).await
    }

    async fn pause(&self, pause: &Pause) -> Result<bool, StoreError> {
        let mut pause = pause.clone();
        match self.world.mutation {
            Some(Mutation::NeverPauses) => return Ok(true),
            Some(Mutation::PauseIsSilent) => {
                let mut document: Value = serde_json::from_str(&pause.document).unwrap();
                document["minutehand"]["paused"] = Value::Null;
                pause.document = document.to_string();
            }
            _ => {}
        }
        let disable = || {
            let is_paused = now(self.inner().pause(&pause))?;
            if is_paused {
                self.world.log_pause(&self.process, &pause);
            }
            Ok(is_paused)
        };
        self.op(true, disable).await
    }
}

#[async_trait]
impl HistoryLayer for StorePort {
    async fn attempts_between(
        &self,
        job_uid: &str,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Vec<Attempt>, StoreError> {
        let found =
            self.op(true, || now(self.inner().attempts_between(job_uid, from, until))).await?;
        if self.is(Mutation::NeverHeals) {
            return Err(StoreError::Unavailable("nothing is healed".into()));
        }
        if self.is(Mutation::PaidIsOwedAgain) {
            let generation = self.memory().generation_of(job_uid);
            let is_it = |it: &Attempt| Some(it.generation) == generation;
            return Ok(found.into_iter().filter(is_it).collect());
        }
        Ok(found)
    }
}

#[async_trait]
impl AttemptsLayer for StorePort {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        self.op(true, || self.claim_now(request)).await
    }

    async fn record(&self, claim: &Claim, record: &Record) -> Result<Recorded, StoreError> {
        self.op(true, || self.record_now(claim, record)).await
    }

    async fn may_act(&self, claim: &Claim) -> Result<(), StoreError> {
        let Some(member) = self.world.shared.member_of(&self.process) else { return Ok(()) };
        if member.may_act(claim).await {
            Ok(())
        } else {
            Err(StoreError::Unavailable("this process was taken for dead".into()))
        }
    }

    async fn release(&self, claim: &Claim) -> Result<(), StoreError> {
        let release = || {
            let is_held = self.memory().is_claimed(claim);
            now(self.inner().release(claim))?;
            if !is_held || self.memory().is_claimed(claim) {
                return Ok(());
            }
            let nominal = micros(claim.attempt.occurrence.nominal_at());
            let generation = claim.attempt.generation;
            self.world.note_ping(&claim.job.uid, PingWhat::Released { generation, nominal });
            Ok(())
        };
        self.op(true, release).await
    }

    /// A crash here is one at the next operation: nothing reads the list.
    async fn add_failure(&self, failed: &FailedOccurrence) -> Result<(), StoreError> {
        self.inner().add_failure(failed).await
    }
}

#[async_trait]
impl SlotsLayer for StorePort {
    async fn take_slot(&self, request: SlotRequest<'_>) -> Result<Option<Slot>, StoreError> {
        let take = || {
            if self.is(Mutation::SlotsAreShared) {
                let book = now(self.inner().read_slots(request.collection_uid))?;
                return Ok(book.map(|it| Slot { at: it.next_at, book: it.number }));
            }
            now(self.inner().take_slot(request))
        };
        self.op(true, take).await
    }
}

#[async_trait]
impl SeatsLayer for StorePort {
    async fn taken_seats(
        &self,
        collection_uid: &str,
        now: DateTime<Utc>,
    ) -> Result<u32, StoreError> {
        let now_or_never = self.when_seats_end(now);
        self.op(true, || self::now(self.inner().taken_seats(collection_uid, now_or_never))).await
    }

    async fn take_seat(
        &self,
        claim: &Claim,
        limit: Concurrent,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let now_or_never = self.when_seats_end(now);
        let take = || {
            let taken = self::now(self.inner().take_seat(claim, limit, now_or_never))?;
            Ok(taken || self.is(Mutation::SeatsAreShared))
        };
        self.op(true, take).await
    }

    async fn give_back_seat(&self, claim: &Claim) -> Result<(), StoreError> {
        let give_back = || {
            if self.is(Mutation::SeatsStay) {
                return Ok(());
            }
            now(self.inner().give_back_seat(claim))
        };
        self.op(true, give_back).await
    }
}

impl AlertsLayer for StorePort {}

#[async_trait]
impl OpenAttemptsLayer for StorePort {
    /// A transaction.
    async fn leave_open(&self, claim: &Claim, open: &LeaveOpen) -> Result<LeftOpen, StoreError> {
        let leave = || {
            let left = now(self.inner().leave_open(claim, open))?;
            if left == LeftOpen::Open {
                self.world.opened(&execution_id(&claim.job.uid, &claim.attempt), &self.process);
            }
            Ok(left)
        };
        self.op(false, leave).await
    }

    async fn say(
        &self,
        job_uid: &str,
        attempt: &Attempt,
        ending: &Ending,
    ) -> Result<Said, StoreError> {
        let say = || {
            if self.is(Mutation::DeadlineDoesNotAsk) && ending.by == EndedBy::Deadline {
                return Ok(Said::First);
            }
            let said = now(self.inner().say(job_uid, attempt, ending))?;
            if said == Said::First {
                self.world.ended(&execution_id(job_uid, attempt), ending);
                let nominal = micros(attempt.occurrence.nominal_at());
                self.world.note_ping(job_uid, PingWhat::Over { nominal });
            }
            Ok(said)
        };
        self.op(true, say).await
    }

    async fn see(&self, job_uid: &str, attempt: &Attempt) -> Result<AttemptSeen, StoreError> {
        let see = || {
            let seen = now(self.inner().see(job_uid, attempt))?;
            Ok(match seen {
                AttemptSeen::Recorded(_) if self.is(Mutation::RecordedAcks) => AttemptSeen::Nothing,
                seen => seen,
            })
        };
        self.op(true, see).await
    }

    async fn record_ending(&self, claim: &Claim, record: &Record) -> Result<Recorded, StoreError> {
        let end = || {
            let recorded = now(self.inner().record_ending(claim, record))?;
            if recorded == Recorded::Kept {
                self.note_record(claim, record);
            }
            Ok(recorded)
        };
        self.op(true, end).await
    }
}

#[async_trait]
impl TurnsLayer for StorePort {
    async fn read_turns(&self, job_uid: &str, attempt: &Attempt) -> Result<TurnsRead, StoreError> {
        let read = || {
            let read = now(self.inner().read_turns(job_uid, attempt))?;
            Ok(self.mistaken_turns(job_uid, attempt, read))
        };
        self.op(true, read).await
    }

    /// A row is stored with the order in a transaction.
    async fn write_turns(&self, write: &TurnsWrite) -> Result<bool, StoreError> {
        let store = || {
            let before = self.memory().turns_of(&write.job_uid);
            let mut write = write.clone();
            if self.is(Mutation::OverlapNoSeq) {
                write.as_read = before.0;
            }
            let is_stored = now(self.inner().write_turns(&write))?;
            if is_stored {
                self.world.note_turns(&before.1, &write);
            }
            Ok(is_stored)
        };
        self.op(write.left_out.is_none(), store).await
    }

    async fn give_back_turn(&self, claim: &Claim) -> Result<(), StoreError> {
        let give_back = || {
            now(self.inner().give_back_turn(claim))?;
            self.world.note_turn(&claim.job.uid, &claim.attempt, TurnWhat::Back);
            Ok(())
        };
        self.op(true, give_back).await
    }
}

#[async_trait]
impl SnapshotsLayer for StorePort {
    async fn read(&self, job: &JobRef) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        let read = || self.snapshot_now(job, || now(Snapshots::read(self.inner(), job)));
        Ok(self.op(true, read).await?.map(|snapshot| self.mistaken_snapshot(snapshot)))
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
        let found = self.op(true, || self.snapshot_now(&claim.job, read)).await?;
        let mut found = found.map(|snapshot| self.mistaken_snapshot(snapshot));
        if let Some(snapshot) = &mut found
            && self.is(Mutation::OnlyActionsGoOn)
            && claim.attempt.role != Role::Main
            && snapshot.timetable.as_deref().and_then(GoesOn::of_line).is_some()
        {
            Arc::make_mut(snapshot).timetable = None;
        }
        Ok(found)
    }
}

#[async_trait]
impl CountersLayer for StorePort {
    async fn add(&self, update: &CounterUpdate) -> Result<bool, StoreError> {
        let add = || {
            if self.is_early {
                Ok(self.memory().count_early(update))
            } else {
                let is_done = now(self.inner().add(update))?;
                Ok(self.world.is_grouped(&update.job_uid, is_done) || is_done)
            }
        };
        self.op(true, add).await
    }

    async fn is_evicted(
        &self,
        job_uid: &str,
        attempt: &Attempt,
        ended_at: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        if self.is(Mutation::ForgetsEvicted) {
            return Ok(false);
        }
        if self.is(Mutation::PresumesEvicted) {
            return Ok(true);
        }
        self.op(true, || now(self.inner().is_evicted(job_uid, attempt, ended_at))).await
    }
}

#[async_trait]
impl PulsesLayer for StorePort {
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
            Some(Mutation::FirstBeats) if self.is_silent.load(Relaxed) => {
                read.sweepers.beat_at = Some(clock);
            }
            // A beat in the future is what tells that the clock was set back.
            Some(Mutation::OutagesStand) => {
                for pulse in [&mut read.sweepers, &mut read.workers] {
                    pulse.beat_at = pulse.beat_at.map(|at| at.min(clock));
                }
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
        let beat = || {
            let as_read = if self.is(Mutation::OutagesStand) {
                now(self.inner().read_pulses())?.of(of).beat_at
            } else {
                as_read
            };
            let is_kept = now(self.inner().beat(of, as_read, &pulse))?;
            self.note_beat(of, &pulse, is_kept);
            Ok(is_kept)
        };
        self.op(true, beat).await
    }
}

impl RetryTimersLayer for StorePort {}
impl RemovalLayer for StorePort {}
