//! Performs operations: takes the name and body of a request, returns the body of the answer.
//!
//! dynoxide's own server has such a table too, but it is private and needs a socket. This table calls
//! the same public functions. It leaves out streams, tags, PartiQL and vector search, which Minutehand
//! does not use. It also leaves out the exact wording with which DynamoDB refuses JSON of wrong types,
//! because the SDK cannot send such JSON.

use std::future::Future;

use dynoxide::DynoxideError;
use dynoxide::actions::transact_write_items::{self, TransactWriteItemsRequest};
use dynoxide::actions::vector_lifecycle::VectorIndexLifecycle;
use dynoxide::actions::{
    batch_get_item, batch_write_item, create_table, delete_item, delete_table, describe_table,
    describe_time_to_live, get_item, list_tables, put_item, query, scan, transact_get_items,
    update_item, update_table, update_time_to_live,
};
use dynoxide::storage::Storage;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The answer to an unknown operation, in the form of DynamoDB.
const UNKNOWN_OPERATION: &str = r#"{"__type":"com.amazon.coral.service#UnknownOperationException","message":"the embedded store does not offer this operation"}"#;

/// The body of an answer; an error also has a status.
pub(crate) type OperationAnswer = Result<Vec<u8>, (u16, Vec<u8>)>;

/// Performs the operation with that name.
pub(crate) fn perform(
    storage: &Storage,
    vectors: &VectorIndexLifecycle,
    operation: &str,
    body: &[u8],
) -> OperationAnswer {
    let s = storage;
    match operation {
        "BatchGetItem" => run(body, |request| batch_get_item::execute(s, request)),
        "BatchWriteItem" => run(body, |request| batch_write_item::execute(s, request)),
        "CreateTable" => run(body, |request| create_table::execute(s, request)),
        "DeleteItem" => run(body, |request| delete_item::execute(s, request)),
        "DeleteTable" => run(body, |request| delete_table::execute(s, request, vectors)),
        "DescribeTable" => run(body, |request| describe_table::execute(s, request, vectors)),
        "DescribeTimeToLive" => run(body, |request| describe_time_to_live::execute(s, request)),
        "GetItem" => run(body, |request| get_item::execute(s, request)),
        "ListTables" => run(body, |request| list_tables::execute(s, request)),
        "PutItem" => run(body, |request| put_item::execute(s, request)),
        "Query" => run(body, |request| query::execute(s, request)),
        "Scan" => run(body, |request| scan::execute(s, request)),
        "TransactGetItems" => run(body, |request| transact_get_items::execute(s, request)),
        // The idempotency token is ignored. The SDK puts a new one into every request, and dynoxide
        // would scan its ten-minute list of them for each further one. Nothing is repeated here: no
        // answer is lost, and no client retries.
        "TransactWriteItems" => run(body, |request: TransactWriteItemsRequest| {
            transact_write_items::execute(s, request)
        }),
        "UpdateItem" => run(body, |request| update_item::execute(s, request)),
        "UpdateTable" => run(body, |request| update_table::execute(s, request, vectors)),
        "UpdateTimeToLive" => run(body, |request| update_time_to_live::execute(s, request)),
        _ => Err((400, UNKNOWN_OPERATION.into())),
    }
}

/// Returns whether the operation changes a table itself instead of its items.
pub(crate) fn changes_table(operation: &str) -> bool {
    matches!(operation, "CreateTable" | "DeleteTable" | "UpdateTable" | "UpdateTimeToLive")
}

/// Returns whether the operation never writes.
pub(crate) fn only_reads(operation: &str) -> bool {
    matches!(operation, "BatchGetItem" | "GetItem" | "Query" | "Scan" | "TransactGetItems")
}

/// Returns the answer to a request that failed because of an internal error.
pub(crate) fn internal_error(message: &str) -> (u16, Vec<u8>) {
    refusal(&DynoxideError::InternalServerError(message.to_owned()))
}

fn run<Q, A, F>(body: &[u8], execute: impl FnOnce(Q) -> F) -> OperationAnswer
where
    Q: DeserializeOwned,
    A: Serialize,
    F: Future<Output = dynoxide::Result<A>>,
{
    let request = serde_json::from_slice(body).map_err(|error| refusal(&unreadable(&error)))?;
    // On SQLite these futures never wait; they complete at the first poll.
    let answer = pollster::block_on(execute(request)).map_err(|error| refusal(&error))?;
    serde_json::to_vec(&answer).map_err(|error| internal_error(&error.to_string()))
}

fn refusal(error: &DynoxideError) -> (u16, Vec<u8>) {
    (error.status_code(), error.to_json().into_bytes())
}

/// Reads the prefix with which dynoxide marks the kind of an error.
fn unreadable(error: &serde_json::Error) -> DynoxideError {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    for prefix in ["VALIDATION:", "VALIDATION_REQUEST:", "VALIDATION_AS_READ:"] {
        if let Some(message) = text.strip_prefix(prefix) {
            return DynoxideError::ValidationException(message.to_owned());
        }
    }
    let text = text.strip_prefix("SERIALIZATION:").unwrap_or(text);
    DynoxideError::SerializationException(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_body_is_refused_with_dynamodbs_error_types() {
        let storage = Storage::memory().unwrap();
        let perform = |body: &str| {
            let vectors = VectorIndexLifecycle::new();
            let (status, body) =
                perform(&storage, &vectors, "GetItem", body.as_bytes()).unwrap_err();
            (status, String::from_utf8(body).unwrap())
        };
        let (status, body) = perform("{");
        assert_eq!(status, 400);
        assert!(body.contains("#SerializationException"), "{body}");

        let two_types = r#"{"TableName": "t", "Key": {"pk": {"S": "a", "N": "1"}}}"#;
        let (status, body) = perform(two_types);
        assert_eq!(status, 400);
        assert!(body.contains("#ValidationException"), "{body}");
        assert!(!body.contains("VALIDATION"), "{body}");
    }
}
