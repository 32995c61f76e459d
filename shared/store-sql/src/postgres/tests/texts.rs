//! Tests of every text on a server, and of the schema.

use minutehand_testkit::postgres::PostgresPlaces;
use tokio_postgres::types::Type;

use super::super::error::PgError;
use super::super::settings::PgAddress;
use super::super::{dialect, schema};
use crate::sql;

#[tokio::test]
async fn postgres_accepts_every_statement_and_finds_the_types_that_are_sent() {
    let Some(places) = PostgresPlaces::find() else { return };
    let settings = PgAddress::read(&places.place()).unwrap();
    let (client, connection) = settings.connect().await.unwrap();
    tokio::spawn(connection);
    let installation = schema::prepare(&client, true).await.unwrap();
    assert_eq!(schema::prepare(&client, false).await.unwrap(), installation, "and again");
    let mut problems = Vec::new();
    for (name, text) in [sql::all(), sql::processes::ALL.to_vec()].concat() {
        let postgres = dialect::statement(text);
        // All times of the schedule and of work are given to each table, and not all use them.
        let times = if name == "EXPIRING" { vec![Type::INT8; 3] } else { Vec::new() };
        match client.prepare_typed(&postgres, &times).await {
            Err(error) => problems.push(format!("{name}: {error:?}")),
            Ok(prepared) => {
                let sent = [Type::INT8, Type::TEXT, Type::BYTEA, Type::INT4];
                let others = prepared.params().iter().filter(|it| !sent.contains(it));
                problems.extend(others.map(|it| format!("{name}: a parameter is {it}")));
                let read = [sent.as_slice(), &[Type::BOOL]].concat();
                let others = prepared.columns().iter().filter(|it| !read.contains(it.type_()));
                problems.extend(others.map(|it| format!("{name}: a column is {}", it.type_())));
            }
        }
    }
    assert_eq!(problems, [""; 0]);
}

/// Statements that read a whole table: of some rows, or because a process has died.
const WHOLE: [&str; 3] = ["PULSES", "GIVE_SIGN", "FREE_TURNS"];

#[tokio::test]
async fn every_statement_finds_its_rows_by_an_index_and_none_reads_a_whole_table() {
    let Some(places) = PostgresPlaces::find() else { return };
    let settings = PgAddress::read(&places.place()).unwrap();
    let (client, connection) = settings.connect().await.unwrap();
    tokio::spawn(connection);
    schema::prepare(&client, true).await.unwrap();
    // The tables are empty, and the plan is the one for all parameters.
    client
        .batch_execute("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan")
        .await
        .unwrap();
    let mut problems = Vec::new();
    for (name, text) in [sql::all(), sql::processes::ALL.to_vec()].concat() {
        let postgres = dialect::statement(text);
        let times = if name == "EXPIRING" { "(bigint, bigint, bigint)" } else { "" };
        let prepare = format!("PREPARE explained {times} AS {postgres}");
        client.batch_execute(&prepare).await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let last = (1..30).filter(|n| postgres.contains(&format!("${n}"))).max();
        let nulls = last.map(|last| format!("({})", vec!["NULL"; last].join(", ")));
        let nulls = nulls.unwrap_or_default();
        let explained = client.query(&format!("EXPLAIN EXECUTE explained{nulls}"), &[]).await;
        let lines = explained.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let lines: Vec<String> = lines.iter().map(|row| row.get(0)).collect();
        let is_whole = lines.iter().any(|line| line.contains("Seq Scan on"));
        if is_whole != WHOLE.contains(&name) {
            problems.push(format!("{name}: {}", lines.join("\n")));
        }
        client.batch_execute("DEALLOCATE explained").await.unwrap();
    }
    assert_eq!(problems, [""; 0], "{}", problems.join("\n\n"));
}

/// A connection to an empty place, and one more.
async fn clients(places: &PostgresPlaces) -> [tokio_postgres::Client; 2] {
    let settings = PgAddress::read(&places.place()).unwrap();
    let connect = async || {
        let (client, connection) = settings.connect().await.unwrap();
        tokio::spawn(connection);
        client
    };
    [connect().await, connect().await]
}

/// The schema as the first version made it.
async fn make_first(client: &tokio_postgres::Client) {
    let meta = "CREATE TABLE meta (name TEXT COLLATE \"C\" PRIMARY KEY, value BIGINT NOT NULL); \
         INSERT INTO meta VALUES ('schema', 1), ('works_from', 1), ('installation', 7)";
    client.batch_execute(meta).await.unwrap();
    client.batch_execute(&dialect::tables(sql::MIGRATIONS[0])).await.unwrap();
}

#[tokio::test]
async fn an_upgrade_locks_meta_and_is_tried_again_while_others_use_it() {
    let Some(places) = PostgresPlaces::find() else { return };
    let [client, other] = clients(&places).await;
    make_first(&client).await;
    other
        .batch_execute("INSERT INTO messages (due_at, sent_at, body) VALUES (60, 5, 'x')")
        .await
        .unwrap();
    assert!(matches!(schema::prepare(&client, false).await, Err(PgError::Behind)));
    other.batch_execute("BEGIN; LOCK TABLE meta IN SHARE MODE").await.unwrap();
    let mut upgrade = std::pin::pin!(schema::prepare(&client, true));
    // The first try is over when its transaction has ended.
    let tries = "SELECT count(*) FROM pg_locks WHERE relation = 'meta'::regclass AND NOT granted";
    let mut seen = 0;
    for is_waiting in [1_i64, 0, 1] {
        while other.query_one(tries, &[]).await.unwrap().get::<_, i64>(0) != is_waiting {
            assert!(futures_util::future::poll_immediate(&mut upgrade).await.is_none());
        }
        seen += 1;
    }
    other.batch_execute("COMMIT").await.unwrap();
    assert_eq!((upgrade.await.unwrap(), seen), (7, 3));
    let row = other.query_one("SELECT stands_at, process FROM messages", &[]).await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (60, 0), "what was there is found");
    // A process of the version before works beside it.
    other
        .batch_execute("INSERT INTO messages (due_at, sent_at, body) VALUES (61, 5, 'y')")
        .await
        .unwrap();
    other.batch_execute("UPDATE meta SET value = 99 WHERE name = 'works_from'").await.unwrap();
    assert!(matches!(schema::prepare(&client, true).await, Err(PgError::Newer)));
}
