//! Another DynamoDB than the embedded one, for the tests of the store.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};

/// Names the address of another DynamoDB, such as `http://127.0.0.1:4566`: one that takes any
/// credentials, as emulators do.
const ENDPOINT: &str = "MINUTEHAND_DYNAMODB_ENDPOINT";

/// A client of the DynamoDB that the environment names, if it does.
#[must_use]
pub fn other() -> Option<Client> {
    #[expect(clippy::disallowed_methods, reason = "a test has no other way to be told")]
    let endpoint = std::env::var(ENDPOINT).ok()?;
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(endpoint)
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "tests"))
        .build();
    Some(Client::from_conf(config))
}

/// The name of a table that no earlier run has left in a store that lasts.
///
/// # Panics
///
/// If the system has no randomness.
#[must_use]
#[expect(clippy::unwrap_used, reason = "a test says what it expects by panicking")]
pub fn new_table(of: &str) -> String {
    format!("{of}-{:016x}", getrandom::u64().unwrap())
}
