//! Several processes on one database.

use std::collections::BTreeSet;
use std::time::Instant;

use chrono::TimeDelta;
use futures_util::future::{join, join_all, poll_immediate};
use minutehand_domain::tick::from_ticks;
use minutehand_ports::Deliveries as _;
use minutehand_store_sql::postgres::{PgDatabase, ServerTime, ShownTime};
use minutehand_store_sql::script::Value;
use minutehand_testkit::postgres::PostgresPlaces;

use crate::world::{connect, on, queue, receive, script, send};

#[tokio::test]
async fn processes_that_start_together_make_one_schema_and_have_numbers_of_their_own() {
    let Some(places) = PostgresPlaces::find() else { return };
    let place = places.place();
    let databases = join_all((0..6).map(|_| connect(&place))).await;
    let processes: BTreeSet<i64> = databases.iter().map(PgDatabase::process).collect();
    assert!(processes.into_iter().eq(1..=6));
    let installations: BTreeSet<String> = databases.iter().map(PgDatabase::installation).collect();
    assert_eq!(installations.len(), 1);
    let other = connect(&places.place()).await;
    assert!(!installations.contains(&other.installation()));
}

#[tokio::test]
async fn a_process_waits_for_one_that_migrates_for_longer_than_a_lock_may_take() {
    let Some(places) = PostgresPlaces::find() else { return };
    let migrating = connect(&places.place()).await;
    // As a migration of 2.5 s: a try waits 2 s for its lock.
    let lock = on("SELECT 1 FROM pg_advisory_xact_lock(85115220096101), pg_sleep(2.5)", &[]);
    let held = on("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted", &[]);
    let place = places.place();
    let starts = async {
        while migrating.read(script(vec![held.clone()])).await.unwrap().first().is_none() {}
        connect(&place).await
    };
    let (_, started) = join(migrating.read(script(vec![lock])), starts).await;
    assert_eq!(started.process(), 1);
}

/// The database's clock. The stopwatch shows the time since an instant.
async fn read_time(database: &PgDatabase, since: Instant) -> ShownTime {
    let clock = "SELECT (extract(epoch FROM clock_timestamp()) * 10000000)::bigint";
    let sent = since.elapsed();
    let read = database.read(script(vec![on(clock, &[])])).await.unwrap();
    let arrived = since.elapsed();
    let Some(Value::Integer(shown)) = read.first() else { panic!("no time") };
    ShownTime { shown: from_ticks(shown).unwrap(), sent, arrived }
}

#[tokio::test]
async fn the_time_of_a_process_is_never_before_the_clock_of_the_database() {
    let Some(places) = PostgresPlaces::find() else { return };
    let database = connect(&places.place()).await;
    let (since, mut time) = (Instant::now(), ServerTime::default());
    for _ in 0..20 {
        let answer = read_time(&database, since).await;
        assert!(answer.sent <= answer.arrived);
        assert!(!time.learn(answer));
        let here = time.at(since.elapsed()).unwrap();
        assert!(answer.shown <= here, "it goes on");
        assert!(here <= read_time(&database, since).await.shown, "it is not early");
    }
}

#[tokio::test]
async fn a_receiver_that_waits_is_woken_by_what_another_process_sends() {
    let Some(places) = PostgresPlaces::find() else { return };
    let place = places.place();
    let (here, there) = (connect(&place).await, connect(&place).await);
    // The clock stands, so the receiver never looks by itself.
    let ((receiver, _clock), (sender, _)) = (queue(&here).await, queue(&there).await);
    for name in ["first", "second"] {
        let receiver = receiver.clone();
        let receiving = tokio::spawn(async move { receive(&receiver).await });
        send(&sender, name).await;
        assert_eq!(receiving.await.unwrap(), name);
    }
}

#[tokio::test]
async fn a_receiver_that_is_not_told_looks_by_itself() {
    let Some(places) = PostgresPlaces::find() else { return };
    let place = places.place();
    let (here, there) = (connect(&place).await, connect(&place).await);
    let ((receiver, clock), (sender, _)) = (queue(&here).await, queue(&there).await);
    send(&sender, "one").await;
    let receiving = receiver.clone();
    let mut receiving = tokio::spawn(async move { receive(&receiving).await });
    loop {
        clock.advance(TimeDelta::milliseconds(200));
        match poll_immediate(&mut receiving).await {
            Some(name) => break assert_eq!(name.unwrap(), "one"),
            None => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn fetches_begin_before_what_is_expected_and_every_ten_seconds_at_the_beginning() {
    let Some(places) = PostgresPlaces::find() else { return };
    let database = connect(&places.place()).await;
    let (queue, clock) = queue(&database).await;
    send(&queue, "one").await;
    assert_eq!(receive(&queue).await, "one", "a look from the beginning");
    // What commits late stands before what is expected.
    let late = "INSERT INTO messages (due_at, sent_at, body, stands_at) \
         SELECT due_at, sent_at, body, -60 * 10000000::bigint FROM messages";
    database.perform(script(vec![on(late, &[])])).await.unwrap();
    clock.advance(TimeDelta::seconds(3));
    send(&queue, "two").await;
    assert_eq!(queue.receive(10).await.unwrap().len(), 1, "not what is late");
    clock.advance(TimeDelta::seconds(7));
    assert_eq!(receive(&queue).await, "one");
}
