//! Another DynamoDB than the one in the process, for the tests of the store.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use chrono::{DateTime, Utc};

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
        .http_client(plain_http())
        .endpoint_url(endpoint)
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "tests"))
        .build();
    Some(Client::from_conf(config))
}

/// Names the address of an SQS: an emulator, such as `http://127.0.0.1:4566`.
const SQS_ENDPOINT: &str = "MINUTEHAND_SQS_ENDPOINT";

/// The address of the SQS that the environment names.
///
/// # Panics
///
/// If it names none: the tests that need one are not run without it.
#[must_use]
#[expect(clippy::expect_used, reason = "a test says what it expects by panicking")]
pub fn sqs_endpoint() -> String {
    #[expect(clippy::disallowed_methods, reason = "a test has no other way to be told")]
    std::env::var(SQS_ENDPOINT).expect("MINUTEHAND_SQS_ENDPOINT names an SQS")
}

/// An HTTP client for an emulator on this machine.
#[must_use]
pub fn plain_http() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new().build_http()
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

/// Removes the items of a table that have expired by then, as DynamoDB does within days. Returns how many.
///
/// # Panics
///
/// If the store does not answer.
#[expect(clippy::unwrap_used, reason = "a test says what it expects by panicking")]
pub async fn remove_expired(client: &Client, table: &str, now: DateTime<Utc>) -> u64 {
    let expired = "expires_at <= :now";
    let now = AttributeValue::N(now.timestamp().to_string());
    let (mut removed, mut from) = (0, None);
    loop {
        let scan = client.scan().table_name(table).set_exclusive_start_key(from);
        let scan = scan.filter_expression(expired).projection_expression("pk, sk");
        let page = scan.expression_attribute_values(":now", now.clone()).send().await.unwrap();
        for key in page.items() {
            let delete = client.delete_item().table_name(table).set_key(Some(key.clone()));
            delete.send().await.unwrap();
            removed += 1;
        }
        from = page.last_evaluated_key;
        if from.is_none() {
            return removed;
        }
    }
}
