//! A store in memory, with an index that may be stale.
//!
//! It is what makes thousands of simulated hours affordable. That it answers as the real one does
//! is shown by running both side by side: see [`twin`](super::twin).

mod open;
mod pings;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, MESSAGE_BYTES_MAX, Occurrence, Record, Role};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::completion::Ending;
use minutehand_domain::document::write_collection;
use minutehand_domain::earlier_timing::EarlierTiming;
use minutehand_domain::failed_occurrence::{FailedOccurrence, FailureKey};
use minutehand_domain::firing::{
    LeftOut, LeftOutReason, Pulse, SharedBrake, Slot, SlotBook, TurnHolder, TurnOrder,
};
use minutehand_domain::job::{self, JobState};
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::limits::{CollectionLimits, Concurrent};
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::recent::LastSkip;
use minutehand_domain::recently_counted::{Evicted, RecentlyCounted, end_of};
use minutehand_domain::schedule::Schedule;
use minutehand_domain::tick::{from_ticks, ticks};
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Advance, AfterUpdate, AlertRead, AlertWrite, AskedRun, CLAIMS_MAX, Claim, ClaimRequest,
    Claimed, CollectionRecord, CounterUpdate, CountersAdd, Due, DueTimer, Finish, HistoryEntry,
    JobRecord, JobSnapshot, JobTimer, LongRetry, OwnAttempt, Page, PageRequest, Pause, PulseOf,
    PulseRecord, Recorded, Recount, ResourceGroup, SaveJob, Saved, SignsRead, SlotRequest,
    TimerKey, TimerRecord, TurnsRead, TurnsWrite,
};
use minutehand_ports::{
    Alerts, Attempts, Brakes, Collections, Counters, History, Jobs, Pulses, Removal, RetryTimers,
    Seats, Slots, Snapshots, StoreError, Timers, Turns,
};

use self::open::{NO_PROCESS, OpenPart};
use self::pings::{PingItem, Quarters};
use super::mutation::Mutation;
use super::tally::Fault;
use super::time::Time;

/// Few, as each costs a question in every pass; more where sweepers divide them.
const SHARDS: u32 = 2;

/// Timers of a page. Few, so that there is more than one page.
const DUE_MAX: usize = 3;

/// What decides how late the index follows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Staleness {
    /// How late it usually is at most.
    pub(super) usual_max: i64,
    /// How often, in a million, it is minutes late.
    pub(super) slow: u64,
    pub(super) slow_max: i64,
}

pub(super) struct Memory {
    time: Arc<Time>,
    mutation: Option<Mutation>,
    pub(super) staleness: Mutex<Staleness>,
    /// The jobs of a page that is purged.
    pub(super) purged_max: AtomicUsize,
    /// Whether no other process writes.
    is_alone: AtomicBool,
    shards: AtomicU32,
    /// The one process on a machine: claims of those before it are void.
    process: AtomicU64,
    /// Prefetched snapshots by the ids of their claims.
    prefetched: Mutex<HashMap<String, Arc<JobSnapshot>>>,
    tables: Mutex<Tables>,
    /// Where a store beside it has answered something else.
    pub(super) differences: Mutex<Vec<String>>,
}

/// Attempts in the order of history: the oldest first.
pub(super) type AttemptKey = (DateTime<Utc>, u64, String, u8, u32, String);

#[derive(Default)]
pub(super) struct Tables {
    pub(super) collections: BTreeMap<String, CollectionRecord>,
    pub(super) jobs: BTreeMap<(String, String), Definition>,
    pub(super) timers: BTreeMap<String, JobItem>,
    pub(super) retries: BTreeMap<(String, AttemptKey), RetryItem>,
    /// When the jobs of collections that are deleted are purged.
    pub(super) purges: BTreeMap<String, DateTime<Utc>>,
    pub(super) executions: BTreeMap<String, BTreeMap<AttemptKey, ExecutionItem>>,
    /// What was left out, by job.
    pub(super) left_out: BTreeMap<String, BTreeMap<LeftOutKey, LeftOut>>,
    /// Whose turn it is, by job.
    turns: BTreeMap<String, TurnsItem>,
    /// The states of alerts, by job or collection.
    alerts: BTreeMap<String, AlertRead>,
    /// The next slot, by collection.
    slots: BTreeMap<String, SlotBook>,
    /// The claims that have seats, by collection, with the ends of their leases and their processes.
    seats: BTreeMap<String, BTreeMap<String, (DateTime<Utc>, u64)>>,
    /// What is known of origins whose last calls had no answer.
    brakes: BTreeMap<String, SharedBrake>,
    /// How many jobs were created, by collection.
    creations: BTreeMap<String, u64>,
    /// Deleted collections whose switch a mutation leaves.
    pub(super) switches: BTreeMap<String, CollectionRecord>,
    /// What jobs have counted and no longer remember.
    evicted: BTreeMap<String, Vec<Evicted>>,
    /// The runs that were asked for under keys, by job.
    asked: BTreeMap<String, BTreeMap<String, AskedRun>>,
    pulses: PulseRecord,
    /// The keys and the books of jobs that expect pings.
    pings: BTreeMap<String, PingItem>,
    /// The signs of those who take pings.
    signs: SignsRead,
    /// What became of occurrences, by collection and quarter of an hour.
    pub(super) quarters: Quarters,
    index: BTreeMap<IndexKey, Vec<(i64, Option<Due>)>>,
    /// The events for the judge.
    pub(super) changes: Vec<Changed>,
}

/// The first occurrence that was left out, its generation, and for which kind of reason.
type LeftOutKey = (DateTime<Utc>, u64, u8);

/// The turns of a job.
#[derive(Debug, Clone, Default)]
struct TurnsItem {
    number: u64,
    order: TurnOrder,
    /// The process on a machine whose worker has the turn.
    process: u64,
}

type IndexKey = (String, Option<AttemptKey>);

/// A change that the judge has to know of.
#[derive(Debug, Clone)]
pub(super) struct Changed {
    pub(super) at: i64,
    pub(super) what: Change,
}

#[derive(Debug, Clone)]
pub(super) enum Change {
    /// A job is there, or has another timing.
    Job {
        uid: String,
        collection_uid: String,
        timer: Box<TimerRecord>,
        document: String,
    },
    /// A job has another document, and the same timing.
    JobEdited {
        uid: String,
        document: String,
    },
    JobDeleted {
        uid: String,
    },
    /// A job is over.
    JobFinished {
        uid: String,
    },
    /// The scheduler has disabled a job, as the change before says.
    JobPaused {
        uid: String,
    },
    /// A job that was over is deleted.
    JobExpired {
        uid: String,
    },
    Collection {
        uid: String,
        on_since: Option<DateTime<Utc>>,
        /// Its failure action.
        on_failure: Option<String>,
        /// Its limits.
        limits: CollectionLimits,
    },
    CollectionDeleted {
        uid: String,
    },
}

#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) uid: String,
    name: Name,
    pub(super) document: String,
    sealed: Option<Vec<u8>>,
    pub(super) version: u64,
    pub(super) expires_at: Option<DateTime<Utc>>,
    earlier: Vec<EarlierTiming>,
}

#[derive(Debug, Clone)]
pub(super) struct JobItem {
    pub(super) collection_uid: String,
    pub(super) key: String,
    pub(super) record: TimerRecord,
    pub(super) recently_counted: RecentlyCounted,
    /// The attempts that its counters hold.
    pub(super) counted: BTreeSet<String>,
    /// When the timer last moved.
    moved_at: Option<DateTime<Utc>>,
    pub(super) expires_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone)]
pub(super) struct RetryItem {
    job: JobRef,
    pub(super) attempt: Attempt,
    due_at: DateTime<Utc>,
}

#[derive(Debug, Clone)]
pub(super) struct ExecutionItem {
    pub(super) attempt: Attempt,
    claim_id: String,
    lease_until: DateTime<Utc>,
    claims: u32,
    /// The process on a machine that claimed it.
    process: u64,
    pub(super) open: OpenPart,
    pub(super) record: Option<Record>,
}

impl ExecutionItem {
    /// Whether it waits for its slot or a seat.
    pub(super) fn waits(&self) -> bool {
        self.claims == 0 && self.record.is_none()
    }
}

impl JobItem {
    pub(super) fn add(&mut self, update: &CounterUpdate, add: CountersAdd) {
        let counted = update.counted.iter().map(|it| it.attempt.id().to_string());
        self.counted.extend(counted);
        let job::JobCounters { executions, failures, faulted, skipped, last_execution_at, .. } =
            &mut self.record.counters;
        *executions += add.executions;
        *failures += add.failures;
        *faulted += add.faulted;
        *skipped += add.skipped;
        if add.last_execution_at.is_some() {
            *last_execution_at = add.last_execution_at;
        }
    }
}

/// A record as it is stored.
fn cut(record: &Record) -> Record {
    let (message, _) =
        record.message.split_at(record.message.floor_char_boundary(MESSAGE_BYTES_MAX));
    Record { message: message.to_owned(), ..record.clone() }
}

/// Where it is kept what was left out.
fn left_out_key(first: DateTime<Utc>, generation: u64, reason: LeftOutReason) -> LeftOutKey {
    let reason = match reason {
        LeftOutReason::Outage(_) => 0,
        LeftOutReason::TooLate => 1,
        LeftOutReason::Overlap => 2,
        LeftOutReason::NotWatched => 3,
    };
    (first, generation, reason)
}

/// Where an attempt is kept.
pub(super) fn attempt_key(attempt: &Attempt) -> AttemptKey {
    let what = match &attempt.occurrence {
        Occurrence::Scheduled { .. } => String::new(),
        Occurrence::Run { run_id, .. } => run_id.clone(),
    };
    let role = match attempt.role {
        Role::Main => 0,
        Role::Error => 1,
        Role::Notice => 2,
    };
    let nominal_at = attempt.occurrence.nominal_at();
    (nominal_at, attempt.generation, what, role, attempt.number, String::new())
}

pub(super) fn place_key(place: &ResourceGroup, name: &Name) -> String {
    format!("{}#{}#{}", place.subscription.key(), name.key(), place.group.key())
}

fn shard(uid: &str, of: u32) -> u32 {
    uid.bytes().fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(byte))) % of
}

impl Memory {
    pub(super) fn new(time: &Arc<Time>, mutation: Option<Mutation>, is_alone: bool) -> Arc<Self> {
        Arc::new(Self {
            time: time.clone(),
            mutation,
            staleness: Mutex::default(),
            // Few, so that there is more than one page.
            purged_max: AtomicUsize::new(2),
            is_alone: AtomicBool::new(is_alone),
            shards: AtomicU32::new(SHARDS),
            process: AtomicU64::new(0),
            prefetched: Mutex::default(),
            tables: Mutex::default(),
            differences: Mutex::default(),
        })
    }

    pub(super) fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap()
    }

    pub(super) fn is(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    fn key(&self, attempt: &Attempt, claim_id: &str) -> AttemptKey {
        let mut key = attempt_key(attempt);
        if self.is(Mutation::KeyByStart) {
            // Two workers do not start in one instant.
            claim_id.clone_into(&mut key.5);
        }
        key
    }

    /// The index will show it so, in a moment.
    fn show(&self, tables: &mut Tables, key: IndexKey, due: Option<Due>) {
        let now = self.time.now();
        let Staleness { usual_max, slow, slow_max } = *self.staleness.lock().unwrap();
        let mut chance = self.time.chance();
        let is_slow = chance.happens(slow);
        if is_slow {
            self.time.tally.note(Fault::IndexLate);
        }
        let lag = chance.between(0, if is_slow { slow_max } else { usual_max });
        drop(chance);
        let uid = key.0.clone();
        let history = tables.index.entry(key).or_default();
        // Changes of one item come in their order.
        let at = history.last().map_or(now + lag, |(at, _)| (*at).max(now + lag));
        history.push((at, due));
        self.time.ways.behind(&uid, now, at);
    }

    pub(super) fn show_job(&self, tables: &mut Tables, uid: &str) {
        let due = tables.timers.get(uid).and_then(|item| {
            let what = DueTimer::Job(JobTimer {
                job: JobRef {
                    uid: uid.to_owned(),
                    collection_uid: item.collection_uid.clone(),
                    key: item.key.clone(),
                },
                state: item.record.state,
                generation: item.record.timing.generation,
                timetable: item.record.timetable.clone().unwrap_or_default(),
                is_spent: item.record.is_spent,
            });
            item.record.due_at.map(|due_at| Due { due_at, what })
        });
        self.show(tables, (uid.to_owned(), None), due);
    }

    fn show_retry(&self, tables: &mut Tables, key: &(String, AttemptKey)) {
        let due = tables.retries.get(key).map(|item| Due {
            due_at: item.due_at,
            what: DueTimer::Retry { job: item.job.clone(), attempt: item.attempt.clone() },
        });
        self.show(tables, (key.0.clone(), Some(key.1.clone())), due);
    }

    pub(super) fn show_purge(&self, tables: &mut Tables, uid: &str) {
        let due = tables.purges.get(uid).map(|due_at| Due {
            due_at: *due_at,
            what: DueTimer::Purge { collection_uid: uid.to_owned() },
        });
        self.show(tables, (uid.to_owned(), None), due);
    }

    /// Notes for the judge what happened.
    pub(super) fn note(&self, tables: &mut Tables, what: Change) {
        tables.changes.push(Changed { at: self.time.now(), what });
    }

    fn note_job(&self, tables: &mut Tables, uid: &str) {
        let Some(item) = tables.timers.get(uid) else { return };
        let (collection_uid, timer) = (item.collection_uid.clone(), Box::new(item.record.clone()));
        let name = (item.collection_uid.clone(), item.key.clone());
        let document = tables.jobs.get(&name).map(|job| job.document.clone()).unwrap_or_default();
        self.note(tables, Change::Job { uid: uid.to_owned(), collection_uid, timer, document });
    }

    fn note_collection(&self, tables: &mut Tables, record: &CollectionRecord) {
        let on = record.collection.definition.state.is_on();
        let on_since = on.then_some(record.on_since);
        let document = write_collection(&record.collection.definition);
        let on_failure = document.pointer("/properties/minutehand/onFailure");
        let on_failure = on_failure.map(ToString::to_string);
        let uid = record.collection.uid.clone();
        let limits = record.collection.definition.limits();
        self.note(tables, Change::Collection { uid, on_since, on_failure, limits });
    }

    fn expire_definition_now(&self, Finish { job, version, expires_at, .. }: &Finish) -> bool {
        let mut tables = self.tables();
        let name = (job.collection_uid.clone(), job.key.clone());
        let as_read = |it: &&mut Definition| it.uid == job.uid && it.version == *version;
        let Some(definition) = tables.jobs.get_mut(&name).filter(as_read) else { return false };
        definition.expires_at = whole(Some(*expires_at));
        true
    }

    /// Says when a definition expires and ends its job, or does nothing.
    pub(super) fn finish_whole(&self, finish: &Finish) -> bool {
        let Finish { job, version, generation, .. } = finish;
        let tables = self.tables();
        let name = (job.collection_uid.clone(), job.key.clone());
        let is_read =
            tables.jobs.get(&name).is_some_and(|it| it.uid == job.uid && it.version == *version);
        let is_on = tables.timers.get(&job.uid).is_some_and(|item| {
            let record = &item.record;
            record.timing.generation == *generation && record.state == JobState::Enabled
        });
        drop(tables);
        is_read && is_on && self.expire_definition_now(finish) && self.finish_now(finish)
    }

    /// Ends a job as `finish` does.
    pub(super) fn finish_now(&self, finish: &Finish) -> bool {
        let mut tables = self.tables();
        let Finish { job: JobRef { uid, collection_uid, key }, version, .. } = finish;
        let name = (collection_uid.clone(), key.clone());
        // The timer has the version of its definition.
        let is_same = tables.jobs.get(&name).is_some_and(|it| it.version == *version);
        let Some(item) = tables.timers.get_mut(uid) else { return false };
        let record = &mut item.record;
        if record.timing.generation != finish.generation {
            return false;
        }
        let is_early = record.state == finish.state && record.due_at.is_some();
        if record.state != JobState::Enabled && !is_early {
            return record.state == finish.state
                && item.expires_at == whole(Some(finish.expires_at));
        }
        if !is_same {
            return false;
        }
        record.state = finish.state;
        record.due_at = None;
        item.expires_at = whole(Some(finish.expires_at));
        self.show_job(&mut tables, uid);
        if !is_early {
            self.note(&mut tables, Change::JobFinished { uid: uid.clone() });
        }
        true
    }

    /// Whether a job was finished as another worker asks for.
    pub(super) fn is_finished(&self, Finish { job, generation, state, .. }: &Finish) -> bool {
        let tables = self.tables();
        let found = tables.timers.get(&job.uid).map(|item| &item.record);
        found.is_some_and(|it| it.timing.generation == *generation && it.state == *state)
    }

    /// Disables a job as `pause` does.
    fn pause_now(&self, pause: &Pause) -> bool {
        let mut tables = self.tables();
        let Pause { job, version, timing, document, ended, .. } = pause;
        let JobRef { uid, collection_uid, key } = job;
        let name = (collection_uid.clone(), key.clone());
        let before = timing.generation.saturating_sub(1);
        let is_same =
            tables.jobs.get(&name).is_some_and(|it| it.uid == *uid && it.version == *version);
        let Some(item) = tables.timers.get_mut(uid).filter(|_| is_same) else { return false };
        let record = &mut item.record;
        if record.timing.generation != before || record.state != JobState::Enabled {
            return false;
        }
        let counters = record.counters;
        *record = TimerRecord {
            state: JobState::Disabled,
            timing: *timing,
            timetable: None,
            counters,
            due_at: None,
            is_spent: false,
        };
        if let Some(definition) = tables.jobs.get_mut(&name) {
            definition.document.clone_from(document);
            definition.version = version + 1;
            definition.expires_at = None;
            definition.earlier.push(ended.clone());
        }
        self.show_job(&mut tables, uid);
        self.note_job(&mut tables, uid);
        self.note(&mut tables, Change::JobPaused { uid: uid.clone() });
        true
    }

    fn claim_now(&self, ClaimRequest { claim, now }: &ClaimRequest) -> Claimed {
        let mut tables = self.tables();
        let key = self.key(&claim.attempt, &claim.claim_id);
        let of_job = tables.executions.entry(claim.job.uid.clone()).or_default();
        let won = |claims| if claims < CLAIMS_MAX { Claimed::Won } else { Claimed::Exhausted };
        let process = self.process.load(Relaxed);
        let Some(seen) = of_job.get_mut(&key) else {
            of_job.insert(
                key,
                ExecutionItem {
                    // When it was sent is in the message alone.
                    attempt: Attempt {
                        sent_late_at: None,
                        under_policy: false,
                        takes_turn: false,
                        waited: None,
                        is_alert: false,
                        ..claim.attempt.clone()
                    },
                    claim_id: claim.claim_id.clone(),
                    lease_until: claim.lease_until,
                    claims: 1,
                    process,
                    open: OpenPart::default(),
                    record: None,
                },
            );
            return Claimed::Won;
        };
        if let Some(record) = &seen.record {
            return Claimed::Ended(record.clone());
        }
        let is_over = seen.lease_until < *now || seen.process != process;
        let is_open = seen.open.span.is_some() && !self.is(Mutation::OpenLapses);
        if is_open || (seen.open.ending.is_some() && is_over) {
            return Claimed::Open(seen.open());
        }
        let claims = if seen.waits() {
            if claim.attempt.waited.is_none() && seen.lease_until > *now {
                return Claimed::Held { left: seen.lease_until - *now };
            }
            1
        } else if seen.claim_id == claim.claim_id {
            seen.claims
        } else if seen.lease_until < *now {
            (seen.claims + 1).min(CLAIMS_MAX)
        } else if seen.process != process && !self.is(Mutation::LeasesOutlive) {
            seen.claims
        } else {
            return Claimed::Held { left: seen.lease_until - *now };
        };
        (seen.claims, seen.process) = (claims, process);
        seen.claim_id.clone_from(&claim.claim_id);
        seen.lease_until = claim.lease_until;
        won(claims)
    }

    fn release_now(&self, claim: &Claim) {
        let mut tables = self.tables();
        let key = self.key(&claim.attempt, &claim.claim_id);
        let Some(of_job) = tables.executions.get_mut(&claim.job.uid) else { return };
        let is_held = |it: &ExecutionItem| it.claim_id == claim.claim_id && it.record.is_none();
        if of_job.get(&key).is_some_and(is_held) {
            of_job.remove(&key);
        }
    }

    /// Frees what these claims hold: attempts, turns and seats, but not what is open.
    pub(super) fn free_claims(&self, claims: &BTreeSet<String>) {
        let mut tables = self.tables();
        let items = tables.executions.values_mut().flat_map(BTreeMap::values_mut);
        let is_held = |it: &&mut ExecutionItem| {
            it.record.is_none() && it.open.span.is_none() && claims.contains(&it.claim_id)
        };
        for item in items.filter(is_held) {
            item.lease_until = DateTime::UNIX_EPOCH;
        }
        for item in tables.turns.values_mut().filter(|it| it.process != NO_PROCESS) {
            if item.order.holder.as_ref().is_some_and(|it| claims.contains(&it.claim_id)) {
                item.number += 1;
                item.order.holder = None;
            }
        }
        for seats in tables.seats.values_mut() {
            seats.retain(|claim_id, (_, of)| *of == NO_PROCESS || !claims.contains(claim_id));
        }
    }

    /// Whether there is an attempt that a claim holds.
    pub(super) fn is_claimed(&self, claim: &Claim) -> bool {
        let key = self.key(&claim.attempt, &claim.claim_id);
        let tables = self.tables();
        let item = tables.executions.get(&claim.job.uid).and_then(|of_job| of_job.get(&key));
        item.is_some_and(|item| item.claim_id == claim.claim_id)
    }

    fn postpone_now(&self, claim: &Claim, until: DateTime<Utc>) {
        let mut tables = self.tables();
        let key = self.key(&claim.attempt, &claim.claim_id);
        let of_job = tables.executions.get_mut(&claim.job.uid);
        let Some(item) = of_job.and_then(|of_job| of_job.get_mut(&key)) else { return };
        if item.claim_id == claim.claim_id && item.record.is_none() && item.claims > 0 {
            item.claims -= 1;
            item.lease_until = tick(until);
        }
    }

    fn record_now(&self, claim: &Claim, record: &Record) -> Recorded {
        let mut tables = self.tables();
        let key = self.key(&claim.attempt, &claim.claim_id);
        let of_job = tables.executions.entry(claim.job.uid.clone()).or_default();
        let Some(item) = of_job.get_mut(&key) else { return Recorded::Lost };
        if self.is(Mutation::NoFenceRecord) {
            item.record = Some(record.clone());
            return Recorded::Kept;
        }
        match &item.record {
            Some(_) if item.claim_id == claim.claim_id => Recorded::Kept,
            Some(other) => Recorded::Already(other.clone()),
            None if item.claim_id == claim.claim_id => {
                item.record = Some(cut(record));
                Recorded::Kept
            }
            None => Recorded::Lost,
        }
    }

    /// The generation of a job's timing.
    pub(super) fn generation_of(&self, job_uid: &str) -> Option<u64> {
        self.tables().timers.get(job_uid).map(|item| item.record.timing.generation)
    }

    /// Who has the turn of a job, whether or not it has ended.
    fn turn_holder(&self, job_uid: &str) -> Option<TurnHolder> {
        let tables = self.tables();
        let item = tables.turns.get(job_uid)?;
        let processes = [self.process.load(Relaxed), NO_PROCESS];
        item.order.holder.clone().filter(|_| processes.contains(&item.process))
    }

    /// The number and the order of a job's turns, whether or not its holder has ended.
    pub(super) fn turns_of(&self, job_uid: &str) -> (u64, TurnOrder) {
        let tables = self.tables();
        tables.turns.get(job_uid).map(|item| (item.number, item.order.clone())).unwrap_or_default()
    }

    fn read_turns_now(&self, job_uid: &str, attempt: &Attempt) -> TurnsRead {
        let holder = self.turn_holder(job_uid);
        let tables = self.tables();
        let TurnsItem { number, mut order, .. } =
            tables.turns.get(job_uid).cloned().unwrap_or_default();
        let item = |attempt: &Attempt| tables.executions.get(job_uid)?.get(&attempt_key(attempt));
        let has_ended = |it: &TurnHolder| item(&it.attempt).is_some_and(|it| it.record.is_some());
        order.holder = holder.filter(|holder| !has_ended(holder));
        let nominal_at = attempt.occurrence.nominal_at();
        let row = left_out_key(nominal_at, attempt.generation, LeftOutReason::Overlap);
        let own = match item(attempt).map(|item| item.record.clone()) {
            Some(Some(record)) => OwnAttempt::Ended(record),
            Some(None) if item(attempt).is_some_and(ExecutionItem::waits) => OwnAttempt::New,
            Some(None) => OwnAttempt::Begun,
            None if tables.left_out.get(job_uid).is_some_and(|it| it.contains_key(&row)) => {
                OwnAttempt::LeftOut
            }
            None => OwnAttempt::New,
        };
        TurnsRead { number, order, own }
    }

    fn write_turns_now(&self, write: &TurnsWrite) -> bool {
        let TurnsWrite { job_uid, as_read, order, left_out } = write;
        let mut tables = self.tables();
        if tables.turns.get(job_uid).map_or(0, |item| item.number) != *as_read {
            return false;
        }
        let process = self.process.load(Relaxed);
        // Of an attempt only what it is, as in a key.
        let known = |attempt: &Attempt| {
            let Attempt { generation, occurrence, role, number, .. } = attempt.clone();
            Attempt { role, number, ..Attempt::first(generation, occurrence) }
        };
        let mut order = order.clone();
        if let Some(holder) = &mut order.holder {
            holder.attempt = known(&holder.attempt);
        }
        for waiter in &mut order.waiting {
            waiter.attempt = known(&waiter.attempt);
        }
        // A holder that stays is of the process that it was of.
        let before = tables.turns.get(job_uid);
        let stays = before.filter(|it| {
            let claim_id = |order: &TurnOrder| order.holder.as_ref().map(|it| it.claim_id.clone());
            claim_id(&order).is_some() && claim_id(&it.order) == claim_id(&order)
        });
        let process = stays.map_or(process, |it| it.process);
        let item = TurnsItem { number: as_read + 1, order, process };
        tables.turns.insert(job_uid.clone(), item);
        if let Some(left_out) = left_out {
            self.leave_out_now(&mut tables, job_uid, left_out);
        }
        true
    }

    fn give_back_turn_now(&self, claim: &Claim) {
        let mut tables = self.tables();
        let Some(item) = tables.turns.get_mut(&claim.job.uid) else { return };
        if item.order.holder.as_ref().is_some_and(|it| it.claim_id == claim.claim_id) {
            item.number += 1;
            item.order.holder = None;
        }
    }

    fn count_now(&self, update: &CounterUpdate) -> bool {
        let mut tables = self.tables();
        let is_plain = self.is(Mutation::PlainAdd);
        let AfterUpdate { recently_counted: after, evicted, recent, last_skip, latest } =
            update.after();
        // As it is read back: ends of long ago are not told apart.
        let after =
            RecentlyCounted::from_bytes(&after.to_bytes(), Some(&after.checksum())).unwrap();
        let of_job = tables.evicted.entry(update.job_uid.clone()).or_default();
        of_job.extend(evicted.filter(|evicted| !of_job.contains(evicted)));
        let Some(item) = tables.timers.get_mut(&update.job_uid) else { return false };
        if !is_plain && item.recently_counted.to_bytes() != update.as_read.to_bytes() {
            return item.recently_counted.to_bytes() == after.to_bytes();
        }
        item.recently_counted = if self.is(Mutation::Seen8) { short_memory(&after) } else { after };
        item.add(update, update.sum());
        let counters = &mut item.record.counters;
        counters.recent = recent;
        counters.last_skip = last_skip.or(counters.last_skip);
        counters.latest = latest.or(counters.latest);
        self.count_quarters(&mut tables, update);
        true
    }

    pub(super) fn is_evicted_now(&self, job_uid: &str, attempt: &Attempt, end: i64) -> bool {
        let tables = self.tables();
        let mut of_job = tables.evicted.get(job_uid).into_iter().flatten();
        of_job.any(|it| it.newest() >= end && it.has(attempt))
    }

    fn leave_out_now(&self, tables: &mut Tables, job_uid: &str, left_out: &LeftOut) {
        if self.is(Mutation::LeftOutIsSilent) {
            return;
        }
        let of_job = tables.left_out.entry(job_uid.to_owned()).or_default();
        let key = left_out_key(left_out.first, left_out.generation, left_out.reason);
        if of_job.get(&key).is_none_or(|known| known.last < left_out.last) {
            of_job.insert(key, left_out.clone());
        }
    }

    fn advance_now(&self, advance: &Advance) -> bool {
        let mut tables = self.tables();
        let is_upsert = self.is(Mutation::UnconditionalAdvance);
        match &advance.timer {
            TimerKey::Job { job_uid, generation, state, is_spent, left_out } => {
                for it in left_out {
                    self.leave_out_now(&mut tables, job_uid, it);
                }
                let overtaken: u64 = left_out.iter().map(|it| it.occurrences).sum();
                let Some(item) = tables.timers.get_mut(job_uid) else { return false };
                let JobItem { record, moved_at, .. } = item;
                let as_seen = record.due_at == Some(advance.from)
                    && record.timing.generation == *generation
                    && record.state == *state;
                if !as_seen && !is_upsert {
                    return false;
                }
                *moved_at = Some(advance.at);
                record.due_at = Some(advance.to);
                record.is_spent = *is_spent;
                record.counters.skipped += overtaken;
                let last_skip = left_out.last().map(LastSkip::from);
                record.counters.last_skip = last_skip.or(record.counters.last_skip);
                Self::count_left_out(&mut tables, job_uid, left_out);
                self.show_job(&mut tables, job_uid);
                true
            }
            TimerKey::Retry { job_uid, attempt } => {
                let key = (job_uid.clone(), attempt_key(attempt));
                let Some(item) = tables.retries.get_mut(&key) else { return false };
                if item.due_at != advance.from {
                    return false;
                }
                if self.is(Mutation::RetryTimerGone) {
                    tables.retries.remove(&key);
                    self.show_retry(&mut tables, &key);
                    return true;
                }
                item.due_at = advance.to;
                self.show_retry(&mut tables, &key);
                true
            }
            TimerKey::Purge { collection_uid } => {
                self.advance_purge(&mut tables, collection_uid, advance)
            }
        }
    }

    fn keep_retry_now(&self, LongRetry { job, attempt }: &LongRetry) {
        let mut tables = self.tables();
        if self.is(Mutation::OneTimer) {
            let due_at = tables.timers.get(&job.uid).and_then(|item| item.record.due_at);
            if due_at.is_some_and(|at| at < attempt.due_at) {
                // There is one timer, and the next occurrence is in it.
                return;
            }
        }
        let key = (job.uid.clone(), attempt_key(attempt));
        if tables.retries.contains_key(&key) {
            return;
        }
        self.time.ways.planned(format!("{}.{}", job.uid, attempt.id()), self.time.now());
        let item = RetryItem {
            job: job.clone(),
            attempt: Attempt { is_long: true, ..attempt.clone() },
            due_at: attempt.due_at,
        };
        tables.retries.insert(key.clone(), item);
        self.show_retry(&mut tables, &key);
    }

    fn remove_retry_now(&self, LongRetry { job, attempt }: &LongRetry) {
        let mut tables = self.tables();
        let key = (job.uid.clone(), attempt_key(attempt));
        if tables.retries.remove(&key).is_some() {
            self.show_retry(&mut tables, &key);
        }
    }

    /// A job as it is now.
    pub(super) fn snapshot(&self, job: &JobRef) -> Option<JobSnapshot> {
        let tables = self.tables();
        let definition = tables.jobs.get(&(job.collection_uid.clone(), job.key.clone()))?;
        if definition.uid != job.uid && !self.is(Mutation::GenerationRestarts) {
            return None;
        }
        let item = tables.timers.get(&definition.uid)?;
        let mut places = tables.collections.values();
        let collection = places.find(|it| it.collection.uid == job.collection_uid);
        let collection = collection.or_else(|| tables.switches.get(&job.collection_uid))?;
        let on = collection.collection.definition.state.is_on();
        let mut recently_counted = item.recently_counted.clone();
        if item.record.timetable.as_deref().is_some_and(Schedule::has_policies) {
            recently_counted = recently_counted.beside_policies();
        }
        let forgets = self.is(Mutation::PlainAdd);
        Some(JobSnapshot {
            collection_path: collection.place.collection_path(&collection.collection.name),
            name: definition.name.clone(),
            version: definition.version,
            document: definition.document.clone(),
            sealed: definition.sealed.clone(),
            state: item.record.state,
            timing: item.record.timing,
            timetable: item.record.timetable.clone(),
            counters: item.record.counters,
            recently_counted: if forgets { RecentlyCounted::default() } else { recently_counted },
            is_spent: item.record.is_spent,
            moved_at: item.moved_at,
            plan: collection.collection.definition.plan,
            collection_on_since: on.then_some(collection.on_since),
            has_failure_action: collection.collection.definition.on_failure().is_some(),
            alert_use: collection.collection.definition.alert_use(),
            limits: collection.collection.definition.limits(),
        })
    }
}

/// Only the last eight attempts, and nothing of those before.
fn short_memory(counted: &RecentlyCounted) -> RecentlyCounted {
    let bytes = counted.to_bytes();
    let (head, entries) = bytes.split_at(16);
    let kept = &entries[entries.len().saturating_sub(8 * 8)..];
    let short = [&head[..8], &i64::MIN.to_be_bytes()[..], kept].concat();
    RecentlyCounted::from_bytes(&short, None).unwrap()
}

/// A page of what has these keys, in their order. A position is a key.
fn page_of<'a, T>(items: impl Iterator<Item = (&'a str, T)>, page: &PageRequest) -> Page<T> {
    let from = page.from.as_deref();
    let mut left = items.skip_while(|(key, _)| from.is_some_and(|from| *key <= from)).peekable();
    let (mut found, mut next) = (Vec::new(), None);
    while found.len() < page.items_max as usize
        && let Some((key, item)) = left.next()
    {
        found.push(item);
        next = left.peek().map(|_| key.to_owned());
    }
    Page { items: found, next }
}

#[async_trait]
impl Collections for Memory {
    async fn find(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        Ok(self.tables().collections.get(&place_key(place, name)).cloned())
    }

    async fn list(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        let tables = self.tables();
        let inside = tables.collections.iter().filter(|(_, it)| {
            it.place.subscription.key() == subscription.key()
                && group.is_none_or(|group| it.place.group.key() == group.key())
        });
        Ok(page_of(inside.map(|(key, it)| (key.as_str(), it.clone())), &page))
    }

    async fn create(
        &self,
        record: &CollectionRecord,
        _entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let mut tables = self.tables();
        let key = place_key(&record.place, &record.collection.name);
        if tables.collections.contains_key(&key) {
            return Ok(Saved::Stale);
        }
        self.note_collection(&mut tables, record);
        tables.collections.insert(key, record.clone());
        Ok(Saved::Kept)
    }

    async fn replace(
        &self,
        record: &CollectionRecord,
        _entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let mut tables = self.tables();
        let key = place_key(&record.place, &record.collection.name);
        let Some(old) = tables.collections.get_mut(&key) else { return Ok(Saved::Stale) };
        let as_read = old.version == record.version
            && old.collection.uid == record.collection.uid
            && old.job_count == record.job_count;
        if !as_read {
            return Ok(Saved::Stale);
        }
        let (place, name) = (old.place.clone(), old.collection.name.clone());
        *old = CollectionRecord { version: record.version + 1, place, ..record.clone() };
        old.collection.name = name;
        self.note_collection(&mut tables, record);
        Ok(Saved::Kept)
    }

    async fn delete(
        &self,
        collection: &CollectionRecord,
        now: DateTime<Utc>,
        _entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        Ok(self.delete_collection_now(collection, now))
    }
}

#[async_trait]
impl Jobs for Memory {
    /// It has no journal.
    async fn note(&self, _collection_uid: &str, _entry: &JournalEntry) -> Result<(), StoreError> {
        Ok(())
    }

    async fn keep_asked(
        &self,
        job_uid: &str,
        asked: &AskedRun,
        instead_of: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<Option<AskedRun>, StoreError> {
        let mut tables = self.tables();
        let of_job = tables.asked.entry(job_uid.to_owned()).or_default();
        let other = of_job.get(&asked.key).filter(|other| {
            let is_replaced = [Some(asked.run_id.as_str()), instead_of];
            other.expires_at > now && !is_replaced.contains(&Some(other.run_id.as_str()))
        });
        if let Some(other) = other {
            return Ok(Some(other.clone()));
        }
        of_job.insert(asked.key.clone(), asked.clone());
        Ok(None)
    }

    async fn find(
        &self,
        collection_uid: &str,
        name: &Name,
    ) -> Result<Option<JobRecord>, StoreError> {
        let tables = self.tables();
        let found = tables.jobs.get(&(collection_uid.to_owned(), name.key()));
        Ok(found.and_then(|job| tables.record_of(job)))
    }

    async fn list(
        &self,
        collection_uid: &str,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        let tables = self.tables();
        let inside = tables.jobs.iter().filter(|((of, _), it)| {
            of == collection_uid && it.expires_at.is_none_or(|expires| expires > now)
        });
        let records =
            inside.filter_map(|((_, name), it)| Some((name.as_str(), tables.record_of(it)?)));
        Ok(page_of(records, &page))
    }

    async fn create(
        &self,
        save: SaveJob<'_>,
        jobs_max: Option<u32>,
        at: DateTime<Utc>,
    ) -> Result<Saved, StoreError> {
        let mut tables = self.tables();
        let SaveJob { collection, job, .. } = save;
        let uid = &collection.collection.uid;
        let key = place_key(&collection.place, &collection.collection.name);
        let name = (uid.clone(), job.name.key());
        let is_alive = |it: &Definition| it.expires_at.is_none_or(|expires| expires > at);
        let is_there = tables.jobs.get(&name).is_some_and(is_alive);
        if self.is(Mutation::RequiredUnlocked) && !tables.collections.contains_key(&key) {
            // The collection was there when it was read, and nothing has locked it since.
            tables.jobs.insert(name, definition(job));
            return Ok(Saved::Kept);
        }
        let Some(now) = tables.collections.get_mut(&key) else { return Ok(Saved::Stale) };
        if is_there || now.version != collection.version || now.collection.uid != *uid {
            return Ok(Saved::Stale);
        }
        if now.job_count >= jobs_max.unwrap_or(u32::MAX) {
            return Ok(Saved::Full);
        }
        now.job_count += 1;
        *tables.creations.entry(uid.clone()).or_default() += 1;
        tables.jobs.insert(name, definition(job));
        let timer = JobItem {
            collection_uid: uid.clone(),
            key: job.name.key(),
            record: job.timer.clone(),
            recently_counted: RecentlyCounted::default(),
            counted: BTreeSet::new(),
            moved_at: None,
            expires_at: whole(job.expires_at),
        };
        tables.timers.insert(job.uid.clone(), timer);
        self.show_job(&mut tables, &job.uid);
        self.note_job(&mut tables, &job.uid);
        Ok(Saved::Kept)
    }

    async fn count(
        &self,
        collection: &CollectionRecord,
        now: DateTime<Utc>,
    ) -> Result<Option<Recount>, StoreError> {
        let tables = self.tables();
        let uid = &collection.collection.uid;
        let mut collections = tables.collections.values();
        let Some(found) = collections.find(|it| it.collection.uid == *uid) else {
            return Ok(None);
        };
        let creations = tables.creations.get(uid).copied().unwrap_or_default();
        let jobs = tables.jobs_of(uid, now);
        Ok(Some(Recount { as_read: found.job_count, creations, jobs }))
    }

    async fn correct_count(
        &self,
        collection: &CollectionRecord,
        Recount { as_read, creations, jobs }: Recount,
    ) -> Result<Saved, StoreError> {
        let mut tables = self.tables();
        let uid = &collection.collection.uid;
        let created = tables.creations.get(uid).copied().unwrap_or_default();
        let mut collections = tables.collections.values_mut();
        let found = collections.find(|it| it.collection.uid == *uid);
        let found = found.filter(|it| it.job_count == as_read && created == creations);
        let Some(found) = found else { return Ok(Saved::Stale) };
        found.job_count = jobs;
        Ok(Saved::Kept)
    }

    async fn replace(&self, save: SaveJob<'_>) -> Result<Saved, StoreError> {
        let mut tables = self.tables();
        let SaveJob { collection, job, timer_changes, .. } = save;
        let name = (collection.collection.uid.clone(), job.name.key());
        let as_read =
            tables.jobs.get(&name).is_some_and(|it| it.uid == job.uid && it.version == job.version);
        let Some(item) = tables.timers.get_mut(&job.uid).filter(|_| as_read) else {
            return Ok(Saved::Stale);
        };
        if timer_changes {
            let before = job.timer.timing.generation.saturating_sub(1);
            if item.record.timing.generation != before || item.record.state.is_final() {
                return Ok(Saved::Stale);
            }
            // What a firing counts stays.
            item.record = TimerRecord { counters: item.record.counters, ..job.timer.clone() };
            item.expires_at = whole(job.expires_at);
        } else if item.record.state.is_final() {
            return Ok(Saved::Stale);
        }
        let has_other_line =
            job.timer.timetable.is_some() && job.timer.timetable != item.record.timetable;
        if has_other_line {
            item.record.timetable.clone_from(&job.timer.timetable);
        }
        tables.jobs.insert(name, Definition { version: job.version + 1, ..definition(job) });
        if timer_changes {
            self.show_job(&mut tables, &job.uid);
            self.note_job(&mut tables, &job.uid);
        } else {
            if has_other_line {
                self.show_job(&mut tables, &job.uid);
            }
            let (uid, document) = (job.uid.clone(), job.document.clone());
            self.note(&mut tables, Change::JobEdited { uid, document });
        }
        Ok(Saved::Kept)
    }

    async fn delete(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
        _entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let mut tables = self.tables();
        let name = (collection.collection.uid.clone(), job.name.key());
        let as_read =
            tables.jobs.get(&name).is_some_and(|it| it.uid == job.uid && it.version == job.version);
        let key = place_key(&collection.place, &collection.collection.name);
        let is_same = |it: &&mut CollectionRecord| it.collection.uid == collection.collection.uid;
        let counted = tables.collections.get_mut(&key).filter(is_same);
        let Some(counted) = counted.filter(|_| as_read) else { return Ok(Saved::Stale) };
        counted.job_count -= 1;
        tables.jobs.remove(&name);
        tables.timers.remove(&job.uid);
        tables.pings.remove(&job.uid);
        self.show_job(&mut tables, &job.uid);
        self.note(&mut tables, Change::JobDeleted { uid: job.uid.clone() });
        Ok(Saved::Kept)
    }
}

fn definition(job: &JobRecord) -> Definition {
    Definition {
        uid: job.uid.clone(),
        name: job.name.clone(),
        document: job.document.clone(),
        sealed: job.sealed.clone(),
        version: job.version,
        expires_at: whole(job.expires_at),
        earlier: job.earlier.clone(),
    }
}

/// An instant as the store keeps it, to the tick.
fn tick(at: DateTime<Utc>) -> DateTime<Utc> {
    from_ticks(ticks(at)).unwrap()
}

/// The whole seconds of an instant, as the store keeps it.
fn whole(at: Option<DateTime<Utc>>) -> Option<DateTime<Utc>> {
    at.and_then(|at| DateTime::from_timestamp(at.timestamp(), 0))
}

impl Tables {
    /// A job with its timer.
    fn record_of(&self, job: &Definition) -> Option<JobRecord> {
        self.timers.get(&job.uid).map(|item| JobRecord {
            uid: job.uid.clone(),
            name: job.name.clone(),
            document: job.document.clone(),
            sealed: job.sealed.clone(),
            version: job.version,
            expires_at: job.expires_at,
            earlier: job.earlier.clone(),
            timer: item.record.clone(),
        })
    }

    /// How many jobs of a collection have not expired.
    pub(super) fn jobs_of(&self, collection_uid: &str, now: DateTime<Utc>) -> u32 {
        let is_alive = |it: &Definition| it.expires_at.is_none_or(|expires| expires > now);
        let inside = self.jobs.iter().filter(|((of, _), it)| of == collection_uid && is_alive(it));
        u32::try_from(inside.count()).unwrap()
    }
}

#[async_trait]
impl History for Memory {
    async fn list(
        &self,
        job_uid: &str,
        _page: PageRequest,
    ) -> Result<Page<HistoryEntry>, StoreError> {
        let tables = self.tables();
        let of_job = tables.executions.get(job_uid).into_iter().flatten().rev();
        let items = of_job.map(|(_, item)| HistoryEntry {
            // History does not tell whether an attempt waited in a timer.
            attempt: Attempt { is_long: false, ..item.attempt.clone() },
            record: item.record.clone(),
            waits: item.waits(),
        });
        Ok(Page { items: items.collect(), next: None })
    }

    async fn attempts_between(
        &self,
        job_uid: &str,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Vec<Attempt>, StoreError> {
        let tables = self.tables();
        let of_job = tables.executions.get(job_uid).into_iter().flat_map(BTreeMap::values);
        let attempts = of_job.map(|item| item.attempt.clone());
        let is_between = |it: &Attempt| (from..=until).contains(&it.occurrence.nominal_at());
        Ok(attempts.filter(is_between).collect())
    }

    async fn list_left_out(
        &self,
        job_uid: &str,
        _page: PageRequest,
    ) -> Result<Page<LeftOut>, StoreError> {
        let tables = self.tables();
        let of_job = tables.left_out.get(job_uid).into_iter().flatten().rev();
        Ok(Page { items: of_job.map(|(_, it)| it.clone()).collect(), next: None })
    }
}

#[async_trait]
impl Timers for Memory {
    fn shards(&self) -> u32 {
        self.shards.load(Relaxed)
    }

    async fn due(
        &self,
        wanted: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        let (now, shards) = (self.time.now(), Timers::shards(self));
        // In the order of the index: by when they are due, then by their keys.
        let mut places = BTreeMap::new();
        for (key, history) in &mut self.tables().index {
            if shard(&key.0, shards) != wanted {
                continue;
            }
            let Some(shown) = history.iter().rposition(|(at, _)| *at <= now) else { continue };
            history.drain(..shown);
            if let Some((_, Some(due))) = history.first()
                && due.due_at <= until
            {
                let place = format!("{:020} {key:?}", due.due_at.timestamp_micros());
                if page.from.as_ref().is_none_or(|from| place > *from) {
                    places.insert(place, due.clone());
                }
            }
        }
        let mut items: Vec<_> = places.into_iter().take(DUE_MAX + 1).collect();
        let has_more = items.len() > DUE_MAX;
        items.truncate(DUE_MAX);
        let next = items.last().filter(|_| has_more).map(|(place, _)| place.clone());
        Ok(Page { items: items.into_iter().map(|(_, due)| due).collect(), next })
    }

    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        advances.iter().map(|advance| Ok(self.advance_now(advance))).collect()
    }

    async fn collection_path(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionPlace>, StoreError> {
        let tables = self.tables();
        let found = tables.collections.values().find(|it| it.collection.uid == collection_uid);
        Ok(found.map(|it| it.place.collection_path(&it.collection.name)))
    }

    async fn expire_definition(&self, finish: &Finish) -> Result<bool, StoreError> {
        Ok(self.expire_definition_now(finish))
    }

    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError> {
        Ok(self.finish_now(finish))
    }

    async fn pause(&self, pause: &Pause) -> Result<bool, StoreError> {
        Ok(self.pause_now(pause))
    }
}

#[async_trait]
impl Attempts for Memory {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        Ok(self.claim_now(request))
    }

    async fn release(&self, claim: &Claim) -> Result<(), StoreError> {
        self.release_now(claim);
        Ok(())
    }

    async fn postpone(
        &self,
        claim: &Claim,
        hold: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let until = now + hold;
        self.postpone_now(claim, until);
        Ok(())
    }

    async fn record(&self, claim: &Claim, record: &Record) -> Result<Recorded, StoreError> {
        Ok(self.record_now(claim, record))
    }

    async fn leave_out(&self, job_uid: &str, left_out: &LeftOut) -> Result<(), StoreError> {
        self.leave_out_now(&mut self.tables(), job_uid, left_out);
        Ok(())
    }

    async fn remove_failure(&self, _failure: FailureKey<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    /// The list is for people, who do not read in a simulation.
    async fn add_failure(&self, _failed: &FailedOccurrence) -> Result<(), StoreError> {
        Ok(())
    }
}

#[async_trait]
impl Turns for Memory {
    async fn read_turns(&self, job_uid: &str, attempt: &Attempt) -> Result<TurnsRead, StoreError> {
        Ok(self.read_turns_now(job_uid, attempt))
    }

    async fn write_turns(&self, write: &TurnsWrite) -> Result<bool, StoreError> {
        Ok(self.write_turns_now(write))
    }

    async fn give_back_turn(&self, claim: &Claim) -> Result<(), StoreError> {
        self.give_back_turn_now(claim);
        Ok(())
    }
}

#[async_trait]
impl Alerts for Memory {
    async fn read_alert(&self, uid: &str) -> Result<AlertRead, StoreError> {
        Ok(self.tables().alerts.get(uid).cloned().unwrap_or_default())
    }

    async fn write_alert(&self, write: &AlertWrite) -> Result<bool, StoreError> {
        let AlertWrite { uid, as_read, state, .. } = write;
        let mut tables = self.tables();
        if tables.alerts.get(uid).map_or(0, |stored| stored.number) != *as_read {
            return Ok(false);
        }
        let stored = AlertRead { number: as_read + 1, state: state.clone() };
        tables.alerts.insert(uid.clone(), stored);
        Ok(true)
    }
}

#[async_trait]
impl Slots for Memory {
    async fn read_slots(&self, collection_uid: &str) -> Result<Option<SlotBook>, StoreError> {
        Ok(self.tables().slots.get(collection_uid).copied())
    }

    async fn open_slots(
        &self,
        collection_uid: &str,
        as_read: Option<SlotBook>,
        book: SlotBook,
    ) -> Result<bool, StoreError> {
        let slots = &mut self.tables().slots;
        let is_as_read = slots.get(collection_uid).copied() == as_read;
        if is_as_read {
            let next_at = tick(book.next_at);
            slots.insert(collection_uid.to_owned(), SlotBook { next_at, ..book });
        }
        Ok(is_as_read)
    }

    async fn take_slot(&self, request: SlotRequest<'_>) -> Result<Option<Slot>, StoreError> {
        let SlotRequest { collection_uid, per_second, not_before, not_after } = request;
        let mut tables = self.tables();
        let Some(book) = tables.slots.get_mut(collection_uid) else { return Ok(None) };
        let range = tick(not_before)..=tick(not_after);
        if book.per_second != per_second || !range.contains(&book.next_at) {
            return Ok(None);
        }
        let slot = Slot { at: book.next_at, book: book.number };
        *book = SlotBook::after(slot, per_second);
        Ok(Some(slot))
    }
}

#[async_trait]
impl Seats for Memory {
    async fn taken_seats(
        &self,
        collection_uid: &str,
        now: DateTime<Utc>,
    ) -> Result<u32, StoreError> {
        let tables = self.tables();
        let process = self.process.load(Relaxed);
        let seats = tables.seats.get(collection_uid).into_iter().flat_map(BTreeMap::values);
        let is_taken = |(until, of): &&(DateTime<Utc>, u64)| {
            *until >= now && [process, NO_PROCESS].contains(of)
        };
        let taken = seats.filter(is_taken).count();
        Ok(u32::try_from(taken).unwrap())
    }

    async fn take_seat(
        &self,
        claim: &Claim,
        limit: Concurrent,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let process = self.process.load(Relaxed);
        let mut tables = self.tables();
        let seats = tables.seats.entry(claim.job.collection_uid.clone()).or_default();
        seats.retain(|_, (until, of)| *until >= now && [process, NO_PROCESS].contains(of));
        let is_free = seats.len() < limit.get() as usize || seats.contains_key(&claim.claim_id);
        if is_free {
            seats.insert(claim.claim_id.clone(), (tick(claim.lease_until), process));
        }
        Ok(is_free)
    }

    async fn give_back_seat(&self, claim: &Claim) -> Result<(), StoreError> {
        if let Some(seats) = self.tables().seats.get_mut(&claim.job.collection_uid) {
            seats.remove(&claim.claim_id);
        }
        Ok(())
    }
}

#[async_trait]
impl Brakes for Memory {
    async fn read_brakes(&self) -> Result<Vec<(String, SharedBrake)>, StoreError> {
        Ok(self.brakes().into_iter().collect())
    }

    async fn count_unanswered(
        &self,
        origin: &str,
        now: DateTime<Utc>,
    ) -> Result<SharedBrake, StoreError> {
        Ok(self.count_brake(origin, now))
    }

    async fn take_call(&self, origin: &str, now: DateTime<Utc>) -> Result<bool, StoreError> {
        Ok(self.take_call_now(origin, now))
    }

    async fn release_brake(&self, origin: &str) -> Result<(), StoreError> {
        self.release_brake_now(origin);
        Ok(())
    }
}

impl Memory {
    pub(super) fn brakes(&self) -> BTreeMap<String, SharedBrake> {
        self.tables().brakes.clone()
    }

    pub(super) fn count_brake(&self, origin: &str, now: DateTime<Utc>) -> SharedBrake {
        let mut tables = self.tables();
        let before = tables.brakes.get(origin).copied();
        let brake = before.map_or_else(|| SharedBrake::first(now), |brake| brake.counted(now));
        tables.brakes.insert(origin.to_owned(), brake);
        brake
    }

    pub(super) fn take_call_now(&self, origin: &str, now: DateTime<Utc>) -> bool {
        let mut tables = self.tables();
        let Some(brake) = tables.brakes.get_mut(origin) else { return true };
        let is_due = brake.next_at <= now;
        if is_due {
            *brake = brake.called(now);
        }
        is_due
    }

    pub(super) fn release_brake_now(&self, origin: &str) {
        self.tables().brakes.remove(origin);
    }
}

impl Memory {
    /// Whether one process is the only writer.
    pub(super) fn is_alone(&self) -> bool {
        self.is_alone.load(Relaxed)
    }

    /// Many processes write, and divide the timers by so many shards.
    pub(super) fn divide(&self, shards: u32) {
        self.is_alone.store(false, Relaxed);
        self.shards.store(shards, Relaxed);
    }

    /// A process begins that is alone.
    pub(super) fn begin_process(&self, process: u64) {
        self.is_alone.store(true, Relaxed);
        self.process.store(process, Relaxed);
        self.prefetched.lock().unwrap().clear();
    }

    /// Keeps a snapshot that was prefetched under a claim.
    pub(super) fn keep_prefetched(&self, claim: &Claim, snapshot: &Arc<JobSnapshot>) {
        self.prefetched.lock().unwrap().insert(claim.claim_id.clone(), snapshot.clone());
    }

    /// The prefetched snapshot, and whether the job is still the same.
    pub(super) fn take_prefetched(&self, claim: &Claim) -> Option<(Arc<JobSnapshot>, bool)> {
        let before = self.prefetched.lock().unwrap().remove(&claim.claim_id)?;
        let is_unchanged = self.snapshot(&claim.job).as_ref() == Some(before.as_ref());
        Some((before, is_unchanged))
    }

    /// Whether the job of a claim is as it was prefetched.
    pub(super) fn is_unchanged(&self, claim: &Claim) -> bool {
        let before = self.prefetched.lock().unwrap().get(&claim.claim_id).cloned();
        before.is_some_and(|before| self.snapshot(&claim.job).as_ref() == Some(before.as_ref()))
    }
}

#[async_trait]
impl Snapshots for Memory {
    async fn read(&self, job: &JobRef) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        Ok(self.snapshot(job).map(Arc::new))
    }

    async fn read_collection(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        let tables = self.tables();
        let mut collections = tables.collections.values();
        Ok(collections.find(|it| it.collection.uid == collection_uid).cloned())
    }

    async fn prefetch(&self, claim: &Claim) -> Option<Arc<JobSnapshot>> {
        if !self.is_alone() {
            return None;
        }
        let snapshot = Arc::new(self.snapshot(&claim.job)?);
        self.keep_prefetched(claim, &snapshot);
        Some(snapshot)
    }

    async fn read_for_start(&self, claim: &Claim) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        match self.take_prefetched(claim) {
            Some((snapshot, true)) => Ok(Some(snapshot)),
            Some((_, false)) | None => self.read(&claim.job).await,
        }
    }
}

#[async_trait]
impl Counters for Memory {
    async fn add(&self, update: &CounterUpdate) -> Result<bool, StoreError> {
        Ok(self.count_now(update))
    }

    async fn is_evicted(
        &self,
        job_uid: &str,
        attempt: &Attempt,
        ended_at: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        Ok(self.is_evicted_now(job_uid, attempt, end_of(attempt, ended_at)))
    }
}

#[async_trait]
impl RetryTimers for Memory {
    async fn keep(&self, retry: &LongRetry) -> Result<(), StoreError> {
        self.keep_retry_now(retry);
        Ok(())
    }

    async fn remove(&self, retry: &LongRetry) -> Result<(), StoreError> {
        self.remove_retry_now(retry);
        Ok(())
    }

    async fn list(&self, job_uid: &str, max: u32) -> Result<Vec<Attempt>, StoreError> {
        let tables = self.tables();
        let of_job = tables.retries.iter().filter(|((uid, _), _)| uid == job_uid);
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        Ok(of_job.take(max).map(|(_, item)| item.attempt.clone()).collect())
    }
}

#[async_trait]
impl Pulses for Memory {
    async fn read_pulses(&self) -> Result<PulseRecord, StoreError> {
        Ok(self.tables().pulses.clone())
    }

    async fn beat(
        &self,
        of: PulseOf,
        as_read: Option<DateTime<Utc>>,
        pulse: &Pulse,
    ) -> Result<bool, StoreError> {
        let pulses = &mut self.tables().pulses;
        let stored = match of {
            PulseOf::Sweepers => &mut pulses.sweepers,
            PulseOf::Workers => &mut pulses.workers,
        };
        let is_as_read = stored.beat_at == as_read;
        if is_as_read {
            pulse.clone_into(stored);
        }
        Ok(is_as_read)
    }
}

#[async_trait]
impl Removal for Memory {
    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError> {
        Ok(self.purge_now(collection_uid))
    }
}
