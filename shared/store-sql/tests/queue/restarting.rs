//! Restarts: what a process leaves to the next one.

use std::fs;
use std::path::Path;
use std::time::Duration;

use minutehand_domain::firing::limits::RECEIVES_MAX;
use minutehand_ports::{DeadLetters as _, Deliveries as _};
use minutehand_store_sql::SqlQueue;
use minutehand_store_sql::sqlite::{Database, Durability, Threads};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::world::{
    ManualClock, counts, name, receipts, receive, receive_names, receive_one, send,
};

const DATABASE: &str = "minutehand.db";

/// A process: it is closed, or killed when its files are copied before.
struct Process {
    queue: SqlQueue,
    database: Database,
    threads: Threads,
}

impl Process {
    async fn close(self) {
        self.database.close();
        self.threads.ended().await;
    }
}

async fn open_with(dir: &Path, sync: Durability) -> Process {
    let (database, threads) = Database::open(dir, sync).unwrap();
    let queue = SqlQueue::open(database.clone(), ManualClock::new()).await.unwrap();
    Process { queue, database, threads }
}

async fn open(dir: &Path) -> Process {
    open_with(dir, Durability::Normal).await
}

fn new_dir() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Copies the directory as a killed process would leave it. The queue must be idle.
fn image(dir: &Path) -> TempDir {
    let copy = new_dir();
    for file in ["open", DATABASE, "minutehand.db-wal"] {
        fs::copy(dir.join(file), copy.path().join(file)).unwrap();
    }
    copy
}

#[tokio::test]
async fn sent_messages_survive_a_close_and_a_crash() {
    for sync in [Durability::Normal, Durability::Full] {
        let dir = new_dir();
        let process = open_with(dir.path(), sync).await;
        let queue = &process.queue;
        send(queue, &[("a", 0), ("b", 0), ("later", 60)]).await;
        let received = queue.receive(1).await.unwrap();
        queue.finish(&receipts(&received)).await.unwrap();

        let crashed = image(dir.path());
        process.close().await;
        for dir in [crashed.path(), dir.path()] {
            let process = open(dir).await;
            assert_eq!(counts(&process.queue).await, [1, 1, 0, 0]);
            assert_eq!(receive_names(&process.queue).await, ["b"]);
            process.close().await;
        }
    }
}

#[tokio::test]
async fn deliveries_of_an_earlier_process_are_void_and_restarts_alone_bury_no_message() {
    let mut dir = new_dir();
    let process = open(dir.path()).await;
    send(&process.queue, &[("a", 0)]).await;
    process.close().await;
    for _ in 0..=RECEIVES_MAX {
        let process = open(dir.path()).await;
        assert_eq!(receive_one(&process.queue).await.receive_count, 1);
        let crashed = image(dir.path());
        process.close().await;
        dir = crashed;
    }
    let process = open(dir.path()).await;
    assert_eq!(counts(&process.queue).await, [1, 0, 0, 0]);
}

#[tokio::test]
async fn after_a_restart_a_message_that_was_put_back_is_visible_and_its_delivery_counts() {
    let dir = new_dir();
    let process = open(dir.path()).await;
    send(&process.queue, &[("a", 0)]).await;
    let first = receive_one(&process.queue).await;
    process.queue.put_back(&[(first.receipt, Duration::from_hours(1))]).await.unwrap();
    process.close().await;
    let process = open(dir.path()).await;
    assert_eq!(receive_one(&process.queue).await.receive_count, 2);
}

#[tokio::test]
async fn a_receipt_of_an_earlier_process_is_void() {
    let dir = new_dir();
    let process = open(dir.path()).await;
    send(&process.queue, &[("a", 0)]).await;
    let earlier = receive_one(&process.queue).await;
    process.close().await;
    let process = open(dir.path()).await;
    let later = receive_one(&process.queue).await;
    assert_ne!(earlier.receipt, later.receipt);
    process.queue.finish(&[earlier.receipt]).await.unwrap();
    assert_eq!(counts(&process.queue).await, [0, 0, 1, 0]);
}

#[tokio::test]
async fn unreadable_messages_are_delivered_as_errors_and_can_be_buried() {
    let dir = new_dir();
    let process = open(dir.path()).await;
    send(&process.queue, &[("newer", 0), ("damaged", 0), ("binary", 0), ("good", 0)]).await;
    process.close().await;
    let database = Connection::open(dir.path().join(DATABASE)).unwrap();
    let damage = "UPDATE messages SET body = CASE id
        WHEN 1 THEN '{\"v\":9,\"do\":\"dance\"}'
        WHEN 2 THEN substr(body, 1, 9)
        WHEN 3 THEN CAST(x'FF00FE' AS TEXT)
        ELSE body END";
    database.execute(damage, []).unwrap();
    database.close().unwrap();

    let process = open(dir.path()).await;
    let received = receive(&process.queue).await;
    for (delivery, expected) in received.iter().zip(["version 9", "EOF", "expected value"]) {
        let why = delivery.work_item.as_ref().unwrap_err().to_string();
        assert!(why.contains(expected), "{why}");
        process.queue.bury(&[delivery.receipt], &why).await.unwrap();
    }
    assert_eq!(name(&received[3]), "good");
    assert_eq!(counts(&process.queue).await, [0, 0, 1, 3]);
    // They stay as they are.
    let seen = process.queue.look(3).await.unwrap();
    assert!(seen.items.iter().all(|letter| letter.work_items.is_err()), "{seen:?}");
    process.close().await;
}

#[tokio::test]
async fn a_packet_which_this_queue_does_not_send_is_unreadable() {
    let dir = new_dir();
    let process = open(dir.path()).await;
    send(&process.queue, &[("a", 0)]).await;
    process.close().await;
    let database = Connection::open(dir.path().join(DATABASE)).unwrap();
    let several = "UPDATE messages SET body =
        '{\"v\":1,\"do\":\"x\",\"j\":{\"u\":\"u\",\"c\":\"c\",\"k\":\"k\"},\"a\":[{\"g\":1,\"n\":0},{\"g\":1,\"n\":7}]}'";
    assert_eq!(database.execute(several, []).unwrap(), 1);
    database.close().unwrap();
    let process = open(dir.path()).await;
    let why = receive_one(&process.queue).await.work_item.unwrap_err().to_string();
    assert!(why.contains("several attempts"), "{why}");
}
