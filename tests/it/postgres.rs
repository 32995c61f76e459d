//! Firing and managing on PostgreSQL, where it is installed: the tests of both once more, on one server.

use std::process::Command;

use minutehand_store_sql::postgres::{PgAddress, PgDatabase};
use minutehand_store_sql::{AnyDatabase, sqlite};
use minutehand_testkit::postgres::{PostgresPlaces, PostgresServer};

/// An empty database of several processes: in memory, or, in the run below, on PostgreSQL.
pub(crate) async fn shared_database() -> AnyDatabase {
    match PostgresPlaces::other() {
        // Its thread ends with its last handle.
        None => sqlite::Database::in_memory().unwrap().0.into(),
        Some(places) => {
            let settings = PgAddress::read(&places.place()).unwrap();
            PgDatabase::connect(settings, None).await.unwrap().into()
        }
    }
}

#[test]
fn firing_and_managing_do_the_same_on_postgres() {
    let Some(server) = PostgresServer::start() else { return };
    let tests = std::env::current_exe().unwrap();
    let ran = Command::new(tests)
        .args(["fire::", "manage::", "--test-threads=4"])
        .env("MINUTEHAND_POSTGRES", server.address("127.0.0.1"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}");
    let passed = said.lines().filter(|line| line.ends_with("... ok")).count();
    assert!(passed > 100, "{passed} tests: their modules have other names");
}
