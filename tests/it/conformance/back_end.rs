//! What answers the store: the embedded one, or another DynamoDB.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};
use embedded::Store;
use store_dynamodb::{DynamoJobStore, ensure_table};
use testkit::conformance::Subject;

/// The address of another DynamoDB, such as `http://127.0.0.1:4566`: one that takes any
/// credentials, as emulators do.
const ENDPOINT: &str = "MINUTEHAND_DYNAMODB_ENDPOINT";

/// A store with a table of its own.
pub(super) async fn subject(behaviour: &str) -> Subject {
    #[expect(clippy::disallowed_methods, reason = "a test has no other way to be told")]
    let client = match std::env::var(ENDPOINT) {
        Ok(endpoint) => client(&endpoint),
        Err(_) => Store::in_memory().unwrap().client(),
    };
    // Not the name of one that an earlier run has left in a store that lasts.
    let table = format!("{behaviour}-{:016x}", getrandom::u64().unwrap());
    ensure_table(&client, &table).await.unwrap();
    Subject::new(&client, &table, DynamoJobStore::new)
}

fn client(endpoint: &str) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(endpoint)
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "tests"))
        .build();
    Client::from_conf(config)
}
