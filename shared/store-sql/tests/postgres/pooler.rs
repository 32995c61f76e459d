//! A pooler between the processes and the database, which gives a connection to one transaction after
//! another, and passes on no notifications.

use chrono::TimeDelta;
use futures_util::future::poll_immediate;
use minutehand_store_sql::postgres::{PgAddress, PgDatabase, PgOptions};
use minutehand_store_sql::script::ScriptOutcome;
use minutehand_testkit::postgres::{PgBouncer, PostgresServer};

use crate::world::{ADD, SET, changes, connect, on, queue, receive, script, send, stored};

#[tokio::test]
async fn behind_a_pooler_scripts_are_whole_and_receivers_look_by_themselves() {
    let Some(server) = PostgresServer::start() else { return };
    let Some(pooler) = PgBouncer::start(&server) else { return };
    let (here, there) =
        (connect(&pooler.address("tests")).await, connect(&pooler.address("tests")).await);
    database_is_whole(&here).await;
    let ((receiver, clock), (sender, _)) = (queue(&here).await, queue(&there).await);
    let receiving = receiver.clone();
    let mut receiving = tokio::spawn(async move { receive(&receiving).await });
    send(&sender, "one").await;
    loop {
        clock.advance(TimeDelta::milliseconds(200));
        match poll_immediate(&mut receiving).await {
            Some(name) => break assert_eq!(name.unwrap(), "one"),
            None => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn beside_a_pooler_receivers_are_told_by_the_direct_way() {
    let Some(server) = PostgresServer::start() else { return };
    let Some(pooler) = PgBouncer::start(&server) else { return };
    let settings = || PgAddress::read(&pooler.address("tests")).unwrap();
    let direct = || PgOptions {
        direct: Some(PgAddress::read(&server.address("127.0.0.1")).unwrap()),
        ..PgOptions::default()
    };
    let here = PgDatabase::connect(settings(), direct()).await.unwrap();
    let there = PgDatabase::connect(settings(), direct()).await.unwrap();
    let ((receiver, _), (sender, _)) = (queue(&here).await, queue(&there).await);
    let receiving = tokio::spawn(async move { receive(&receiver).await });
    send(&sender, "one").await;
    assert_eq!(receiving.await.unwrap(), "one");
}

/// Many more scripts than the pooler has connections.
async fn database_is_whole(database: &PgDatabase) {
    let keys: Vec<String> = (0..60).map(|n| format!("{n:02}")).collect();
    let scripts = keys.iter().map(|key| {
        // Every other one is undone.
        let last = if key.ends_with(['0', '2', '4', '6', '8']) { key } else { "none" };
        script(vec![changes(ADD, &[key, "1"]), on(ADD, &[key, "2"]), changes(SET, &[last, "3"])])
    });
    let answers = database.perform_all(scripts.collect()).await;
    let done = answers.into_iter().filter(|it| matches!(it, Ok(ScriptOutcome::Done(_)))).count();
    assert_eq!(done, 30);
    let expected = (0..60).step_by(2).map(|n| format!("{n:02}=3"));
    assert!(stored(database).await.into_iter().eq(expected));
}
