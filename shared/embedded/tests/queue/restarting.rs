//! Restarts: what a process leaves to the next one.

use std::fs;
use std::path::Path;
use std::time::Duration;

use minutehand_embedded::queue::RECEIVES_MAX;
use minutehand_embedded::{DataDir, OpenError, Queue, SyncMode};
use minutehand_ports::Deliveries as _;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::world::{
    ManualClock, counts, name, receipts, receive, receive_names, receive_one, send,
};

fn open(dir: &Path) -> Queue {
    let data_dir = DataDir::open(dir).unwrap();
    Queue::open(&data_dir, SyncMode::Normal, ManualClock::new()).unwrap()
}

fn new_dir() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Copies the directory as a killed process would leave it. The queue must be idle: without writes, a
/// checkpoint does not change the log.
fn image(dir: &Path) -> TempDir {
    let copy = new_dir();
    for file in ["format", "queue.db", "queue.db-wal"] {
        fs::copy(dir.join(file), copy.path().join(file)).unwrap();
    }
    copy
}

#[tokio::test]
async fn sent_messages_survive_a_close_and_a_crash() {
    for sync in [SyncMode::Normal, SyncMode::Full] {
        let dir = new_dir();
        let data_dir = DataDir::open(dir.path()).unwrap();
        let queue = Queue::open(&data_dir, sync, ManualClock::new()).unwrap();
        drop(data_dir);
        send(&queue, &[("a", 0), ("b", 0), ("later", 60)]).await;
        let received = queue.receive(1).await.unwrap();
        queue.finish(&receipts(&received)).await.unwrap();

        let crashed = image(dir.path());
        queue.close().await;
        for dir in [crashed.path(), dir.path()] {
            let queue = open(dir);
            assert_eq!(counts(&queue).await, [1, 1, 0, 0]);
            assert_eq!(receive_names(&queue).await, ["b"]);
            queue.close().await;
        }
    }
}

#[tokio::test]
async fn a_closed_queue_leaves_one_data_file_readable_by_its_owner_only() {
    let dir = new_dir();
    open(dir.path()).close().await;
    let mut names: Vec<_> =
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["format", "lock", "queue.db"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let queue = open(dir.path());
        for file in ["queue.db", "queue.db-wal"] {
            let mode = fs::metadata(dir.path().join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
        queue.close().await;
    }
}

#[tokio::test]
async fn deliveries_of_an_earlier_process_are_void_and_restarts_alone_bury_no_message() {
    let mut dir = new_dir();
    let queue = open(dir.path());
    send(&queue, &[("a", 0)]).await;
    queue.close().await;
    for _ in 0..=RECEIVES_MAX {
        let queue = open(dir.path());
        assert_eq!(receive_one(&queue).await.receive_count, 1);
        let crashed = image(dir.path());
        queue.close().await;
        dir = crashed;
    }
    let queue = open(dir.path());
    assert_eq!(counts(&queue).await, [1, 0, 0, 0]);
}

#[tokio::test]
async fn after_a_restart_a_message_that_was_put_back_is_visible_and_its_delivery_counts() {
    let dir = new_dir();
    let queue = open(dir.path());
    send(&queue, &[("a", 0)]).await;
    let first = receive_one(&queue).await;
    queue.put_back(&[(first.receipt, Duration::from_hours(1))]).await.unwrap();
    queue.close().await;
    let queue = open(dir.path());
    assert_eq!(receive_one(&queue).await.receive_count, 2);
}

#[tokio::test]
async fn a_receipt_of_an_earlier_process_is_void() {
    let dir = new_dir();
    let queue = open(dir.path());
    send(&queue, &[("a", 0)]).await;
    let earlier = receive_one(&queue).await;
    queue.close().await;
    let queue = open(dir.path());
    let later = receive_one(&queue).await;
    assert_ne!(earlier.receipt, later.receipt);
    queue.finish(&[earlier.receipt]).await.unwrap();
    assert_eq!(counts(&queue).await, [0, 0, 1, 0]);
}

#[tokio::test]
async fn unreadable_messages_are_delivered_as_errors_and_can_be_buried() {
    let dir = new_dir();
    let queue = open(dir.path());
    send(&queue, &[("newer", 0), ("damaged", 0), ("binary", 0), ("good", 0)]).await;
    queue.close().await;
    let database = Connection::open(dir.path().join("queue.db")).unwrap();
    let damage = "UPDATE message SET body = CASE id
        WHEN 1 THEN '{\"v\":6,\"do\":\"dance\"}'
        WHEN 2 THEN substr(body, 1, 9)
        WHEN 3 THEN CAST(x'FF00FE' AS TEXT)
        ELSE body END";
    database.execute(damage, []).unwrap();
    database.close().unwrap();

    let queue = open(dir.path());
    let received = receive(&queue).await;
    for (delivery, expected) in received.iter().zip(["version 6", "EOF", "expected value"]) {
        let why = delivery.work_item.as_ref().unwrap_err().to_string();
        assert!(why.contains(expected), "{why}");
        queue.bury(&[delivery.receipt], &why).await.unwrap();
    }
    assert_eq!(name(&received[3]), "good");
    assert_eq!(counts(&queue).await, [0, 0, 1, 3]);
    let dead = queue.dead_letters(3).await.unwrap();
    assert_eq!(dead[2].body, r#"{"v":6,"do":"dance"}"#);
    assert_eq!(dead[0].body, "\u{fffd}\0\u{fffd}");
    queue.close().await;
}

#[tokio::test]
async fn a_packet_which_this_queue_does_not_send_is_unreadable() {
    let dir = new_dir();
    let queue = open(dir.path());
    send(&queue, &[("a", 0)]).await;
    queue.close().await;
    let database = Connection::open(dir.path().join("queue.db")).unwrap();
    let several = "UPDATE message SET body =
        '{\"v\":1,\"do\":\"x\",\"j\":{\"u\":\"u\",\"c\":\"c\",\"k\":\"k\"},\"a\":[{\"g\":1,\"n\":0},{\"g\":1,\"n\":7}]}'";
    assert_eq!(database.execute(several, []).unwrap(), 1);
    database.close().unwrap();
    let queue = open(dir.path());
    let why = receive_one(&queue).await.work_item.unwrap_err().to_string();
    assert!(why.contains("several attempts"), "{why}");
}

#[tokio::test]
async fn a_queue_of_a_newer_version_is_refused_and_not_changed() {
    let dir = new_dir();
    open(dir.path()).close().await;
    let version = |sql: &str| {
        let database = Connection::open(dir.path().join("queue.db")).unwrap();
        database.execute_batch(sql).unwrap();
        database.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0)).unwrap()
    };
    version("PRAGMA user_version = 2");
    let data_dir = DataDir::open(dir.path()).unwrap();
    let refused = Queue::open(&data_dir, SyncMode::Normal, ManualClock::new()).unwrap_err();
    assert!(matches!(refused, OpenError::Newer { found: 2, newest: 1, .. }), "{refused}");
    assert!(refused.to_string().contains("has version 2, and this version reads up to 1"));
    assert_eq!(version(""), 2);
}

#[tokio::test]
async fn a_file_that_is_not_a_database_is_refused() {
    let dir = new_dir();
    let data_dir = DataDir::open(dir.path()).unwrap();
    fs::write(dir.path().join("queue.db"), [7; 4096]).unwrap();
    let refused = Queue::open(&data_dir, SyncMode::Normal, ManualClock::new()).unwrap_err();
    assert!(refused.to_string().contains("is damaged: it is not a database; run"), "{refused}");
}

#[tokio::test]
async fn a_queue_without_a_format_file_is_refused() {
    let dir = new_dir();
    open(dir.path()).close().await;
    fs::remove_file(dir.path().join("format")).unwrap();
    assert!(DataDir::open(dir.path()).is_err());
}
