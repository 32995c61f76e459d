//! A database that goes away, and comes back.

use minutehand_store_sql::postgres::PgError;
use minutehand_store_sql::script::{ScriptOutcome, Value};
use minutehand_testkit::postgres::PostgresServer;

use crate::world::{ADD, changes, connect, on, queue, receive, script, send, stored};

/// More connections than a process has: each may have to find out for itself.
const CONNECTIONS: usize = 32;

#[tokio::test]
async fn after_a_crash_of_the_database_everything_that_was_answered_is_there_and_work_goes_on() {
    let Some(mut server) = PostgresServer::start() else { return };
    let (here, there) =
        (connect(&server.address("127.0.0.1")).await, connect(&server.address("127.0.0.1")).await);
    let keys: Vec<String> = (0..20).map(|n| format!("{n:02}")).collect();
    let add = |key: &String| script(vec![changes(ADD, &[key, "1"]), on(ADD, &["x", "2"])]);
    for answer in here.perform_all(keys.iter().map(add).collect()).await {
        answer.unwrap();
    }
    let ((receiver, _), (sender, _)) = (queue(&here).await, queue(&there).await);
    send(&sender, "before").await;
    assert_eq!(receive(&receiver).await, "before");
    server.quit();
    server.start_again();
    let mut failed = 0;
    let stored = loop {
        match here.read(script(vec![on("SELECT key FROM subscriptions", &[])])).await {
            Ok(_) => break stored(&here).await,
            Err(error) => assert!(!matches!(error, PgError::Closed), "{error}"),
        }
        failed += 1;
        assert!(failed < CONNECTIONS, "it does not come back");
    };
    assert_eq!(stored.len(), 21, "{stored:?}");
    for database in [&here, &there] {
        let mut failed = 0;
        while database.perform(script(vec![on(ADD, &["y", "3"])])).await.is_err() {
            failed += 1;
            assert!(failed < CONNECTIONS, "it does not come back");
        }
    }
    // A receiver is told again, once its process listens again.
    let receiving = tokio::spawn(async move { receive(&receiver).await });
    send(&sender, "after").await;
    assert_eq!(receiving.await.unwrap(), "after");
}

#[tokio::test]
async fn a_closed_database_performs_nothing() {
    let Some(server) = PostgresServer::start() else { return };
    let database = connect(&server.address("127.0.0.1")).await;
    let (queue, _) = queue(&database).await;
    let waiting = tokio::spawn(async move {
        use minutehand_ports::Deliveries as _;
        queue.receive(1).await
    });
    tokio::task::yield_now().await;
    database.close();
    assert!(matches!(
        database.perform(script(vec![on(ADD, &["a", "1"])])).await,
        Err(PgError::Closed)
    ));
    assert!(waiting.await.unwrap().is_err(), "the receiver that waits is told");
}

#[tokio::test]
async fn after_a_crash_of_the_database_a_process_gives_signs_again_within_two_seconds() {
    let Some(mut server) = PostgresServer::start() else { return };
    let database = connect(&server.address("127.0.0.1")).await;
    let before = database.process();
    server.quit();
    server.start_again();
    // By the database's clock: ticks since it has been there.
    let first = "SELECT (seen_at - extract(epoch FROM pg_postmaster_start_time()) * 10000000)::bigint FROM signs";
    let mut failed = 0;
    let after = loop {
        match database.read(script(vec![on(first, &[])])).await {
            Ok(ScriptOutcome::Done(rows)) => match rows[0][0][0] {
                Value::Integer(ticks) if ticks > 0 => break ticks,
                _ => {}
            },
            Ok(unmet) => panic!("{unmet:?}"),
            Err(_) => failed += 1,
        }
        assert!(failed < CONNECTIONS, "it does not come back");
    };
    assert!(after < 2 * 10_000_000, "{after} ticks");
    assert_eq!(database.process(), before, "no process took it for dead");
}
