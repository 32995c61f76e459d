//! Databases, and scripts for them.

use std::sync::Arc;

use chrono::DateTime;
use minutehand_domain::work_item::WorkItem;
use minutehand_ports::{Deliveries as _, DispatchQueue as _, QueueMessage};
use minutehand_store_sql::SqlQueue;
use minutehand_store_sql::postgres::{PgAddress, PgDatabase, PgOptions};
use minutehand_store_sql::script::{
    Need, Row, Script, ScriptOutcome, Statement, Turn, Urgency, Value,
};
use minutehand_testkit::ManualClock;

/// Adds a row, if there is none with the key.
pub(crate) const ADD: &str =
    "INSERT INTO subscriptions (key, name) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
pub(crate) const ADD_ANYWAY: &str = "INSERT INTO subscriptions (key, name) VALUES (?1, ?2)";
pub(crate) const SET: &str = "UPDATE subscriptions SET name = ?2 WHERE key = ?1";
pub(crate) const ALL: &str = "SELECT key, name FROM subscriptions ORDER BY key";

/// A process on the database.
pub(crate) async fn connect(address: &str) -> PgDatabase {
    PgDatabase::connect(PgAddress::read(address).unwrap(), PgOptions::default()).await.unwrap()
}

pub(crate) fn on(sql: &'static str, values: &[&str]) -> Statement {
    let text = |value: &&str| Value::Text((*value).to_owned());
    Statement::new(sql, values.iter().map(text).collect())
}

/// A statement that has to change something.
pub(crate) fn changes(sql: &'static str, values: &[&str]) -> Statement {
    on(sql, values).needs(Need::Change)
}

pub(crate) fn script(statements: Vec<Statement>) -> Script {
    Script::new(Urgency::Record, Turn::default(), statements)
}

/// The keys and names that are stored.
pub(crate) async fn stored(database: &PgDatabase) -> Vec<String> {
    let ScriptOutcome::Done(rows) = database.read(script(vec![on(ALL, &[])])).await.unwrap() else {
        panic!("a read needs nothing");
    };
    let line = |row: &Row| match row.as_slice() {
        [Value::Text(key), Value::Text(name)] => format!("{key}={name}"),
        other => panic!("{other:?}"),
    };
    rows.iter().flatten().map(line).collect()
}

/// A queue, and its clock, which stands.
pub(crate) async fn queue(database: &PgDatabase) -> (SqlQueue, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(DateTime::UNIX_EPOCH));
    (SqlQueue::open(database.clone(), clock.clone()).await.unwrap(), clock)
}

/// Sends a message that is due.
pub(crate) async fn send(queue: &SqlQueue, name: &str) {
    let work_item = WorkItem::PurgeCollection { collection_uid: name.to_owned() };
    let message = QueueMessage { work_item, due_at: DateTime::UNIX_EPOCH };
    queue.send(&[message], DateTime::UNIX_EPOCH).await.unwrap();
}

/// The name of the next message, as soon as there is one.
pub(crate) async fn receive(queue: &SqlQueue) -> String {
    let taken = queue.receive(1).await.unwrap();
    taken[0].work_item.as_ref().unwrap().collection_uid().to_owned()
}
