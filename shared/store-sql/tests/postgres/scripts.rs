//! A script is performed whole or not at all.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use minutehand_store_sql::postgres::PgError;
use minutehand_store_sql::script::{Need, ScriptOutcome, Value};
use minutehand_testkit::postgres::PostgresPlaces;

use crate::world::{ADD, ADD_ANYWAY, ALL, SET, changes, connect, on, script, stored};

#[tokio::test]
async fn a_script_with_an_unmet_need_undoes_everything_and_says_which_need() {
    let Some(places) = PostgresPlaces::find() else { return };
    let database = connect(&places.place()).await;
    let whole = script(vec![changes(ADD, &["a", "1"]), on(ADD, &["b", "2"])]);
    assert_eq!(database.perform(whole).await.unwrap(), ScriptOutcome::Done(vec![vec![], vec![]]));
    let mut undone =
        script(vec![changes(ADD, &["c", "3"]), changes(SET, &["x", "0"]), on(ADD, &["d", "4"])]);
    undone.otherwise = Some(on("SELECT name FROM subscriptions WHERE key = ?1", &["a"]));
    let seen = vec![vec![Value::Text("1".to_owned())]];
    let unmet = ScriptOutcome::Unmet { statement: 1, otherwise: seen.clone() };
    assert_eq!(database.perform(undone).await.unwrap(), unmet);
    let mut single = script(vec![changes(ADD, &["a", "9"])]);
    single.otherwise = Some(on("SELECT name FROM subscriptions WHERE key = ?1", &["a"]));
    let unmet = ScriptOutcome::Unmet { statement: 0, otherwise: seen };
    assert_eq!(database.perform(single).await.unwrap(), unmet);
    let strange = script(vec![on(ADD, &["e", "5"]).needs(Need::Row)]);
    let unmet = ScriptOutcome::Unmet { statement: 0, otherwise: vec![] };
    assert_eq!(database.perform(strange).await.unwrap(), unmet);
    assert_eq!(stored(&database).await, ["a=1", "b=2"]);
}

#[tokio::test]
async fn a_statement_that_fails_undoes_its_script_and_leaves_the_connections_usable() {
    let Some(places) = PostgresPlaces::find() else { return };
    let database = connect(&places.place()).await;
    database.perform(script(vec![on(ADD, &["a", "1"])])).await.unwrap();
    let fails = || on(ADD_ANYWAY, &["a", "9"]);
    for (what, statements) in [
        ("nothing is needed", vec![on(ADD, &["b", "2"]), fails(), on(ADD, &["c", "3"])]),
        ("something is needed", vec![changes(ADD, &["b", "2"]), fails(), on(ADD, &["c", "3"])]),
        ("one statement", vec![fails()]),
    ] {
        // More often than there are connections.
        for _ in 0..20 {
            let error = database.perform(script(statements.clone())).await.unwrap_err();
            assert!(matches!(error, PgError::Postgres(_)), "{what}: {error:?}");
        }
    }
    assert_eq!(stored(&database).await, ["a=1"]);
}

#[tokio::test]
async fn a_need_that_is_not_met_before_an_error_is_what_is_answered() {
    let Some(places) = PostgresPlaces::find() else { return };
    let database = connect(&places.place()).await;
    let both = script(vec![changes(SET, &["x", "0"]), on("SELECT 1 / 0", &[])]);
    let unmet = ScriptOutcome::Unmet { statement: 0, otherwise: vec![] };
    assert_eq!(database.perform(both).await.unwrap(), unmet);
}

#[tokio::test]
async fn scripts_that_lock_each_other_out_are_all_performed() {
    let Some(places) = PostgresPlaces::find() else { return };
    let database = connect(&places.place()).await;
    database.perform(script(vec![on(ADD, &["a", "0"]), on(ADD, &["b", "0"])])).await.unwrap();
    let scripts = (0..40).map(|n| {
        let mut keys = ["a", "b"];
        keys.rotate_left(n % 2);
        let add = "UPDATE subscriptions SET name = (name::int + 1)::text WHERE key = ?1";
        script(keys.map(|key| changes(add, &[key])).to_vec())
    });
    for answer in database.perform_all(scripts.collect()).await {
        assert!(matches!(answer.unwrap(), ScriptOutcome::Done(_)));
    }
    assert_eq!(stored(&database).await, ["a=40", "b=40"]);
}

#[tokio::test]
async fn of_scripts_that_are_alone_each_sees_what_the_one_before_did() {
    let Some(places) = PostgresPlaces::find() else { return };
    let database = connect(&places.place()).await;
    // Without more they would count the same rows at the same time.
    let add = "INSERT INTO subscriptions (key, name) SELECT ?1, count(*)::text FROM subscriptions";
    let scripts = (0..20).map(|n| {
        let mut alone = script(vec![on(add, &[&format!("{n:02}")])]);
        alone.is_alone = true;
        alone
    });
    for answer in database.perform_all(scripts.collect()).await {
        answer.unwrap();
    }
    let mut counts: Vec<u32> = stored(&database)
        .await
        .iter()
        .map(|line| line.split_once('=').unwrap().1.parse().unwrap())
        .collect();
    counts.sort_unstable();
    assert!(counts.into_iter().eq(0..20));
}

#[tokio::test]
async fn a_script_whose_caller_goes_away_is_performed_all_the_same() {
    let Some(places) = PostgresPlaces::find() else { return };
    let database = connect(&places.place()).await;
    {
        let adding = script(vec![changes(ADD, &["a", "1"]), on(ADD, &["b", "2"])]);
        let mut adding = pin!(database.perform(adding));
        poll_fn(|context| {
            assert!(adding.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
    }
    // Bounded by the time of the test.
    while stored(&database).await != ["a=1", "b=2"] {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_list_without_a_bound_is_refused() {
    let Some(places) = PostgresPlaces::find() else { return };
    let database = connect(&places.place()).await;
    let long = script(vec![on("SELECT n FROM generate_series(1, 30000) AS n", &[])]);
    assert!(matches!(database.read(long).await, Err(PgError::TooManyRows)));
    assert_eq!(stored(&database).await, [""; 0], "and others are answered: {ALL}");
}
