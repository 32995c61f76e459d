//! What answers the store: the embedded one, or another DynamoDB.

use minutehand_embedded::Store;
use minutehand_store_dynamodb::{DynamoStore, ensure_table};
use minutehand_testkit::back_end;
use minutehand_testkit::conformance::Subject;

/// A store with a table of its own.
pub(super) async fn subject(behaviour: &str) -> Subject {
    let store = Store::in_memory().unwrap();
    // Tests elsewhere send every request with the client.
    let (client, connector) = match back_end::other() {
        Some(client) => (client, None),
        None => (store.client(), Some(store.connector())),
    };
    let table = back_end::new_table(behaviour);
    ensure_table(&client, &table).await.unwrap();
    Subject::new(&client, &table, |client, table| {
        DynamoStore::new(client, table).with_connector(connector.clone())
    })
}
