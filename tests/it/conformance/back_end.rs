//! What answers the store: the embedded one, or another DynamoDB.

use embedded::Store;
use store_dynamodb::{DynamoStore, ensure_table};
use testkit::back_end;
use testkit::conformance::Subject;

/// A store with a table of its own.
pub(super) async fn subject(behaviour: &str) -> Subject {
    let client = back_end::other().unwrap_or_else(|| Store::in_memory().unwrap().client());
    let table = back_end::new_table(behaviour);
    ensure_table(&client, &table).await.unwrap();
    Subject::new(&client, &table, DynamoStore::new)
}
