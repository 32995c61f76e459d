//! Measures what a firing costs the store and the queue, how many jobs are created in a second, and how many
//! bytes a job and its history take. Prints one table.
//!
//! A firing is what `minutehand_app::fire` asks of its ports for an attempt that succeeds: dispatch, receive,
//! claim, prefetch, read, record, settle. It runs with [`IN_FLIGHT`] attempts at the same time. At the end it
//! measures how long claims wait [beside others](beside).

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::expect_used, clippy::panic, reason = "a bench stops at an unexpected result")]

mod beside;

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Then};
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::work_item::{JobRef, WorkItem};
use minutehand_ports::store::{
    Advance, Claim, ClaimRequest, Claimed, CollectionRecord, Counted, CounterUpdate, CountersAdd,
    JobRecord, PageRequest, Recorded, SaveJob, Saved, TimerKey,
};
use minutehand_ports::{
    Attempts, Browse, Collections, Deliveries, DispatchStep, Jobs, QueueMessage, SettleStep,
    Settlement, Snapshots, TakenMessage,
};
use minutehand_store_sql::sqlite::{DATABASE, Database, Durability};
use minutehand_store_sql::{SqlQueue, SqlStore};
use minutehand_testkit::ManualClock;
use minutehand_testkit::conformance::records;
use rustix::time::{ClockId, clock_gettime};
use tokio::task::JoinSet;

use beside::{Bench, Wait};

const JOBS: u32 = 60_000;
/// Firings of each job.
const FIRINGS: u32 = 3;
/// Creates at the same time.
const CREATES: usize = 64;
/// Attempts at the same time, as in a burst.
const IN_FLIGHT: usize = 1_000;
/// Places that are free before messages are taken, as a worker takes them.
const FREE_MIN: usize = 100;
/// Timers of a page of the sweeper.
const SWEPT_TOGETHER: usize = 100;

#[tokio::main]
async fn main() {
    for sync in [Durability::Normal, Durability::Full] {
        println!("{sync:?}");
        measure(sync).await;
    }
}

async fn measure(sync: Durability) {
    let dir = tempfile::tempdir().expect("a directory");
    // A clean end leaves one file.
    let bytes = || std::fs::metadata(dir.path().join(DATABASE)).expect("a file").len();
    let (database, threads) = Database::open(dir.path(), sync).expect("a database");
    let store = SqlStore::new(database);
    let new = records::collection("jc");
    let created = Collections::create(&store, &new, None).await;
    assert_eq!(created.expect("an answer"), Saved::Kept);
    let found = Collections::find(&store, &new.place, &new.collection.name).await;
    let collection = Arc::new(found.expect("an answer").expect("it is there"));
    let meter = Meter::start();
    create_all(&store, &collection).await;
    meter.print("create", JOBS);
    drop(store);
    threads.join();
    let of_jobs = bytes();
    println!("{:>24} bytes a job", of_jobs / u64::from(JOBS));

    let (database, threads) = Database::open(dir.path(), sync).expect("a database");
    let store = SqlStore::new(database.clone()).alone();
    let clock = Arc::new(ManualClock::at(records::now()));
    let queue = SqlQueue::open(database, clock.clone()).await.expect("a queue");
    let mut due_at = records::now() + TimeDelta::hours(1);
    for _ in 0..FIRINGS {
        clock.advance(TimeDelta::hours(1));
        let meter = Meter::start();
        dispatch_all(&store, due_at).await;
        meter.print("dispatch", JOBS);
        let meter = Meter::start();
        fire_all(&store, &queue, IN_FLIGHT).await;
        meter.print("fire", JOBS);
        due_at += TimeDelta::hours(1);
    }
    let meter = Meter::start();
    let listed = list_all(&store, &collection).await;
    meter.print("list", listed);
    drop((store, queue));
    threads.join();
    let of_history = bytes().saturating_sub(of_jobs);
    println!("{:>24} bytes a firing", of_history / u64::from(JOBS * FIRINGS));

    let (database, threads) = Database::open(dir.path(), sync).expect("a database");
    let store = SqlStore::new(database.clone()).alone();
    let queue = SqlQueue::open(database, clock.clone()).await.expect("a queue");
    let dir = dir.path();
    let bench = Bench { dir, store: &store, queue: &queue, clock: &clock, collection: &collection };
    bench.measure(due_at).await;
    drop((store, queue));
    threads.join();
}

/// Lists the jobs as the API does, page by page.
async fn list_all(store: &SqlStore, collection: &CollectionRecord) -> u32 {
    let (mut from, mut listed) = (None, 0);
    loop {
        let page = PageRequest { from, items_max: 200 };
        let uid = &collection.collection.uid;
        let page = Browse::jobs(store, uid, "", records::now(), page).await.expect("a page");
        listed += u32::try_from(page.items.len()).expect("few");
        from = page.next;
        if from.is_none() {
            return listed;
        }
    }
}

async fn create_all(store: &SqlStore, collection: &Arc<CollectionRecord>) {
    let mut creating = JoinSet::new();
    for n in 0..JOBS {
        if creating.len() == CREATES {
            creating.join_next().await;
        }
        let (store, collection) = (store.clone(), collection.clone());
        creating.spawn(async move {
            let job = job(n);
            let save =
                SaveJob { collection: &collection, job: &job, timer_changes: true, entry: None };
            let created = Jobs::create(&store, save, None, records::now()).await;
            assert_eq!(created.expect("an answer"), Saved::Kept);
        });
    }
    creating.join_all().await;
}

/// A job of the usual size, under an id that is spread as random ones are.
fn job(n: u32) -> JobRecord {
    let uid = u128::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    let document = format!(r#"{{"name":"job-{n}","filling":"{}"}}"#, "x".repeat(400));
    JobRecord { uid: format!("{uid:032x}"), document, ..records::job(&format!("job-{n:06}")) }
}

/// Sweeps once.
async fn dispatch_all(store: &SqlStore, due_at: DateTime<Utc>) {
    let all: Vec<u32> = (0..JOBS).collect();
    for together in all.chunks(SWEPT_TOGETHER) {
        let job_ref = |n: &u32| reference(&job(*n));
        let messages: Vec<_> = together
            .iter()
            .map(|n| {
                let nominal_at = due_at;
                let attempt = Attempt::first(0, Occurrence::Scheduled { nominal_at });
                QueueMessage { work_item: WorkItem::Attempt { job: job_ref(n), attempt }, due_at }
            })
            .collect();
        let moves: Vec<_> = together
            .iter()
            .map(|n| {
                let timer = TimerKey::Job {
                    job_uid: job_ref(n).uid,
                    generation: 0,
                    state: JobState::Enabled,
                    is_spent: false,
                    left_out: Vec::new(),
                };
                Advance { timer, from: due_at, to: due_at + TimeDelta::hours(1), at: due_at }
            })
            .collect();
        let answers = store.dispatch(&messages, &moves, due_at).await.expect("an answer");
        assert!(answers.into_iter().all(|is_moved| is_moved.expect("an answer")));
    }
}

fn reference(job: &JobRecord) -> JobRef {
    let collection_uid = records::collection("jc").collection.uid;
    JobRef { uid: job.uid.clone(), collection_uid, key: job.name.key() }
}

/// Fires what is due, so many attempts at the same time, and says when each was claimed.
async fn fire_all(store: &SqlStore, queue: &SqlQueue, in_flight: usize) -> Vec<Wait> {
    let mut firing = JoinSet::new();
    let mut waits = Vec::new();
    let mut left = JOBS;
    while left > 0 {
        let free = in_flight - firing.len();
        for taken in queue.receive(free).await.expect("messages") {
            left -= 1;
            firing.spawn(fire(store.clone(), taken));
        }
        while firing.len() > in_flight - FREE_MIN.min(in_flight / 2) {
            waits.extend(firing.join_next().await.into_iter().flatten());
        }
    }
    waits.extend(firing.join_all().await);
    waits
}

async fn fire(store: SqlStore, taken: TakenMessage) -> Wait {
    let Ok(WorkItem::Attempt { job, attempt }) = taken.work_item else {
        panic!("only attempts are dispatched");
    };
    let now = attempt.due_at;
    let claim_id = format!("{:032x}", taken.receipt.id);
    let claim = Claim { job, attempt, claim_id, lease_until: now + TimeDelta::seconds(100) };
    let asked = Instant::now();
    let claimed = store.claim(&ClaimRequest { claim: claim.clone(), now }).await;
    let answered = Instant::now();
    assert_eq!(claimed.expect("an answer"), Claimed::Won);
    store.prefetch(&claim).await.expect("a snapshot");
    let snapshot = store.read_for_start(&claim).await.expect("an answer").expect("it is there");
    let record = Record {
        started_at: now,
        ended_at: now + TimeDelta::milliseconds(20),
        outcome: Outcome::Succeeded,
        message: format!(
            "Http Action - Response from host 'example.org': 'OK' {}",
            "x".repeat(150)
        ),
        repeat_count: 1,
        cause: None,
        body_bytes: 0,
        then: Some(Then::Nothing),
    };
    let recorded = store.record(&claim, &record).await.expect("an answer");
    assert_eq!(recorded, Recorded::Kept);
    let add = CountersAdd {
        executions: 1,
        last_execution_at: Some(now),
        mark: Some(minutehand_domain::recent::Mark::Ok),
        ..CountersAdd::default()
    };
    let counted = Counted { attempt: claim.attempt.clone(), ended_at: Some(record.ended_at), add };
    let count = CounterUpdate {
        job_uid: claim.job.uid.clone(),
        as_read: snapshot.recently_counted.clone(),
        counters: JobCounters { ..snapshot.counters },
        counted: vec![counted],
    };
    let settlement = Settlement {
        next: &[],
        count: Some(&count),
        finish: None,
        receipt: Some(taken.receipt),
        now,
    };
    store.settle(settlement).await.expect("an answer");
    (asked, answered)
}

/// Time and processor time of this process.
struct Meter {
    at: Instant,
    processor: Duration,
}

impl Meter {
    fn start() -> Self {
        Self { at: Instant::now(), processor: processor() }
    }

    fn print(&self, what: &str, count: u32) {
        let count = f64::from(count);
        let per_second = count / self.at.elapsed().as_secs_f64();
        let used = processor().saturating_sub(self.processor);
        let micros = used.as_secs_f64() * 1e6 / count;
        println!("{what:>10} {per_second:>8.0} a second, {micros:>6.1} us of processor each");
    }
}

fn processor() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let nanos = u32::try_from(time.tv_nsec).expect("less than a second");
    Duration::new(time.tv_sec.unsigned_abs(), nanos)
}
