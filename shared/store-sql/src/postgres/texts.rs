//! Tests of every text on a server.

use minutehand_testkit::postgres::PostgresPlaces;
use tokio_postgres::types::Type;

use super::settings::PgAddress;
use super::{dialect, schema};
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
