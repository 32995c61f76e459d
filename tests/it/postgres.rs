//! Firing and managing on PostgreSQL, where it is installed: the tests of both once more, each on one server.

use std::process::Command;

use minutehand_store_sql::postgres::{PgAddress, PgDatabase, PgOptions};
use minutehand_store_sql::{AnyDatabase, sqlite};
use minutehand_testkit::postgres::{PostgresPlaces, PostgresServer};

/// What is in the names of tests that stand on a table of DynamoDB, where they do the same once more.
const ON_A_TABLE: [&str; 5] =
    ["fire::cost::", "fire::hanging::", "costs_a_few_writes", "writes_nothing", "manage::units::"];

/// An empty database of several processes: in memory, or, in the run below, on PostgreSQL.
pub(crate) async fn shared_database() -> AnyDatabase {
    match PostgresPlaces::other() {
        // Its thread ends with its last handle.
        None => sqlite::Database::in_memory().unwrap().0.into(),
        Some(places) => {
            let settings = PgAddress::read(&places.place()).unwrap();
            PgDatabase::connect(settings, PgOptions::default()).await.unwrap().into()
        }
    }
}

#[test]
fn firing_does_the_same_on_postgres() {
    run("fire::", 100);
}

#[test]
fn managing_does_the_same_on_postgres() {
    run("manage::", 50);
}

/// Runs the tests of a module on a server of their own.
fn run(module: &str, at_least: usize) {
    let Some(mut server) = PostgresServer::start() else { return };
    server.serves_many_tests();
    let tests = std::env::current_exe().unwrap();
    let ran = Command::new(tests)
        .args([module, "--test-threads=4"])
        .args(ON_A_TABLE.iter().flat_map(|part| ["--skip", part]))
        .env("MINUTEHAND_POSTGRES", server.address("127.0.0.1"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}");
    let passed = said.lines().filter(|line| line.ends_with("... ok")).count();
    assert!(passed > at_least, "{passed} tests: their module has another name");
}
