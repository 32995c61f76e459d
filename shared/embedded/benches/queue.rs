//! Measures how many messages the queue sends and receives in a second. Prints one table.
//!
//! A call sends one message or a batch. Every message is on the disk before its call is answered, so the
//! bench prints the cost of one `fsync` on this machine first. The last table shows the load of ten
//! thousand jobs that fire at one instant.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::expect_used, reason = "a bench stops at an unexpected result")]

mod disk;

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use disk::{fsync_micros, new_dir};
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::work_item::{JobRef, WorkItem};
use minutehand_embedded::{DataDir, Queue, SyncMode};
use minutehand_ports::{Clock, Deliveries as _, DispatchQueue as _, QueueMessage, ReceiptHandle};
use tempfile::TempDir;
use tokio::task::JoinSet;

/// The duration of one measurement.
const ROUND: Duration = Duration::from_millis(500);
/// Numbers of concurrent calls.
const IN_FLIGHT: [usize; 3] = [1, 16, 64];
/// Numbers of messages in one call.
const BATCHES: [usize; 3] = [1, 10, 100];
/// Messages of the burst, and of the batches that receive and finish it.
const N_BURST: usize = 10_000;
const BATCH: usize = 100;

/// A clock that stands still: every message is due.
struct Standing;

struct Subject {
    name: &'static str,
    queue: Queue,
    _dir: TempDir,
}

#[tokio::main]
async fn main() {
    let dir = new_dir();
    let (median, p99) = fsync_micros(dir.path());
    let message = minutehand_domain::work_item::encode(&message(0).work_item);
    println!("one fsync of an appended page: median {median} us, p99 {p99} us");
    println!("a message has {} bytes\n", message.len());
    print!("{:<9} |", "sent/s");
    for batch in BATCHES {
        print!(" {:^26} |", format!("calls of {batch}"));
    }
    print!("\n{:<9} |", "in flight");
    for _ in BATCHES {
        for in_flight in IN_FLIGHT {
            print!(" {in_flight:>8}");
        }
        print!(" |");
    }
    println!();
    for subject in subjects() {
        print!("{:<9} |", subject.name);
        for batch in BATCHES {
            for in_flight in IN_FLIGHT {
                print!(" {:>8.0}", rate(&subject.queue, in_flight, batch).await);
            }
            print!(" |");
        }
        println!();
    }
    println!("\n{N_BURST} messages, milliseconds:");
    println!(
        "{:<9} | {:>18} | {:>18} | {:>26} |",
        "", "sent by ones", "sent by hundreds", "received, finished by 100"
    );
    for subject in subjects() {
        let by_ones = burst(&subject.queue, 1).await;
        work_off(&subject.queue).await;
        let by_hundreds = burst(&subject.queue, BATCH).await;
        let (receiving, finishing) = work_off(&subject.queue).await;
        println!(
            "{:<9} | {:>18} | {:>18} | {:>26} |",
            subject.name,
            by_ones.as_millis(),
            by_hundreds.as_millis(),
            format!("{} + {}", receiving.as_millis(), finishing.as_millis()),
        );
    }
}

fn subjects() -> Vec<Subject> {
    let memory = Queue::in_memory(Arc::new(Standing)).expect("a queue in memory");
    let mut subjects = vec![Subject { name: "memory", queue: memory, _dir: new_dir() }];
    for (name, sync) in [("normal", SyncMode::Normal), ("full", SyncMode::Full)] {
        let dir = new_dir();
        let data_dir = DataDir::open(dir.path()).expect("a new directory");
        let queue = Queue::open(&data_dir, sync, Arc::new(Standing)).expect("a new queue");
        subjects.push(Subject { name, queue, _dir: dir });
    }
    subjects
}

/// Messages sent in a second, with this many concurrent calls.
async fn rate(queue: &Queue, in_flight: usize, batch: usize) -> f64 {
    let start = Instant::now();
    let mut senders = JoinSet::new();
    for sender in 0..in_flight {
        let queue = queue.clone();
        senders.spawn(async move {
            let mut n_sent = 0_u32;
            while start.elapsed() < ROUND {
                let messages: Vec<_> = (0..batch).map(|n| message(sender * batch + n)).collect();
                queue.send(&messages, now()).await.expect("a send");
                n_sent += u32::try_from(batch).expect("a batch is small");
            }
            n_sent
        });
    }
    let n_sent: u32 = senders.join_all().await.into_iter().sum();
    f64::from(n_sent) / start.elapsed().as_secs_f64()
}

/// Sends the burst with concurrent calls.
async fn burst(queue: &Queue, batch: usize) -> Duration {
    let start = Instant::now();
    let mut senders = JoinSet::new();
    for call in 0..N_BURST / batch {
        let queue = queue.clone();
        senders.spawn(async move {
            let messages: Vec<_> = (0..batch).map(|n| message(call * batch + n)).collect();
            queue.send(&messages, now()).await.expect("a send");
        });
    }
    senders.join_all().await;
    start.elapsed()
}

/// Receives the burst, then finishes it.
async fn work_off(queue: &Queue) -> (Duration, Duration) {
    let start = Instant::now();
    let mut batches: Vec<Vec<ReceiptHandle>> = Vec::new();
    while batches.len() * BATCH < N_BURST {
        let received = queue.receive(BATCH).await.expect("messages");
        batches.push(received.iter().map(|delivery| delivery.receipt).collect());
    }
    let receiving = start.elapsed();
    let start = Instant::now();
    for batch in batches {
        queue.finish(&batch).await.expect("a batch that is done");
    }
    (receiving, start.elapsed())
}

/// The message of a typical occurrence.
fn message(n: usize) -> QueueMessage {
    let job = JobRef {
        uid: format!("0123456789abcdef01234567{n:08x}"),
        collection_uid: "0123456789abcdef0123456789abcdef".to_owned(),
        key: format!("subscription/group/collection/job-{n}"),
    };
    let first = Attempt::first(1, Occurrence::Scheduled { nominal_at: now() });
    QueueMessage { work_item: WorkItem::Attempt { job, attempt: first }, due_at: now() }
}

const fn now() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH
}

#[async_trait]
impl Clock for Standing {
    fn now(&self) -> DateTime<Utc> {
        now()
    }

    async fn wait_until(&self, _at: DateTime<Utc>) {
        std::future::pending::<()>().await;
    }

    async fn wait(&self, _work: Duration) {
        std::future::pending::<()>().await;
    }
}
