//! The event that Lambda passes.

use std::fmt;

use minutehand_domain::work_item::{UnreadableMessage, WorkItem, decode, deliveries_before};
use serde::Deserialize;

/// The messages of an invocation.
#[derive(Debug, Deserialize)]
pub struct Batch {
    #[serde(rename = "Records")]
    records: Vec<SqsRecord>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SqsRecord {
    message_id: String,
    receipt_handle: String,
    body: Option<String>,
    #[serde(default)]
    attributes: Attributes,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Attributes {
    approximate_receive_count: Option<String>,
}

/// One delivery of one message.
#[derive(Debug)]
pub struct SqsDelivery {
    /// Identifies the message in the answer to Lambda.
    pub message_id: String,
    /// Identifies this delivery in requests to the queue.
    pub receipt: SqsReceipt,
    /// How often the message was delivered, this time included, and so were those that it replaces
    /// because they had to wait.
    pub receives: u32,
    /// What the message asks for: at least one work item.
    pub work_items: Result<Vec<WorkItem>, UnreadableMessage>,
}

/// Identifies a delivery in requests to the queue. `Debug` hides it, because it is long and opaque.
#[derive(Clone, PartialEq, Eq)]
pub struct SqsReceipt(pub(crate) String);

impl fmt::Debug for SqsReceipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receipt(..)")
    }
}

impl Batch {
    /// Decodes the messages.
    #[must_use]
    pub fn deliveries(self) -> Vec<SqsDelivery> {
        self.records.into_iter().map(SqsDelivery::new).collect()
    }
}

impl SqsDelivery {
    fn new(record: SqsRecord) -> Self {
        let SqsRecord { message_id, receipt_handle, body, attributes } = record;
        let receives = attributes.approximate_receive_count;
        // Without a count, assume the first delivery.
        let receives: u32 = receives.and_then(|count| count.parse().ok()).unwrap_or(1);
        let body = body.unwrap_or_default();
        Self {
            message_id,
            receipt: SqsReceipt(receipt_handle),
            receives: receives.saturating_add(deliveries_before(&body)),
            work_items: decode(&body),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> Vec<SqsDelivery> {
        let path = format!("{}/../../tests/events/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        serde_json::from_str::<Batch>(&text).unwrap().deliveries()
    }

    #[test]
    fn each_message_of_a_batch_is_decoded() {
        let deliveries = fixture("sqs-good");
        assert_eq!(deliveries.len(), 3);
        assert!(deliveries.iter().all(|delivery| delivery.work_items.is_ok()));
        let receives: Vec<u32> = deliveries.iter().map(|delivery| delivery.receives).collect();
        assert_eq!(receives, [1, 1, 2]);
        let ids: Vec<&str> = deliveries.iter().map(|it| it.message_id.as_str()).collect();
        assert_eq!(ids[0], "059f36b4-87a3-44ab-83d2-661975830a7d");
    }

    #[test]
    fn a_packet_is_one_work_item_for_each_attempt() {
        let [packet] = fixture("sqs-packet").try_into().unwrap();
        let work_items = packet.work_items.unwrap();
        let jobs: Vec<_> = work_items.iter().filter_map(WorkItem::job).collect();
        assert_eq!(jobs.iter().map(|job| job.uid.as_str()).collect::<Vec<_>>(), ["job1", "job2"]);
    }

    #[test]
    fn the_deliveries_before_a_wait_count() {
        let body = minutehand_domain::work_item::encode_waiting(
            &WorkItem::PurgeCollection { collection_uid: "c".to_owned() },
            7,
        );
        let record = serde_json::json!({
            "messageId": "m",
            "receiptHandle": "r",
            "body": body,
            "attributes": {"ApproximateReceiveCount": "2"},
        });
        let batch: Batch =
            serde_json::from_value(serde_json::json!({"Records": [record]})).unwrap();
        assert_eq!(batch.deliveries()[0].receives, 9);
    }

    #[test]
    fn an_unreadable_message_does_not_affect_the_others() {
        let work_items: Vec<_> = fixture("sqs-mixed").into_iter().map(|it| it.work_items).collect();
        assert!(work_items[0].is_ok());
        assert!(matches!(work_items[1], Err(UnreadableMessage::NotJson(_))));
        assert!(matches!(work_items[2], Err(UnreadableMessage::Newer { found: 9 })));
        assert!(work_items[3].is_ok());
    }

    #[test]
    fn malformed_messages_and_newer_versions_are_different_errors() {
        let bad = fixture("sqs-bad");
        assert_eq!(bad.len(), 4);
        assert!(bad.iter().all(|it| {
            matches!(
                it.work_items,
                Err(UnreadableMessage::NotJson(_) | UnreadableMessage::NotAWorkItem(_))
            )
        }));
        let newer = fixture("sqs-newer-version");
        assert!(
            newer.iter().all(|it| matches!(it.work_items, Err(UnreadableMessage::Newer { .. })))
        );
    }

    #[test]
    fn messages_of_the_first_version_are_readable() {
        assert!(fixture("sqs-first-version").iter().all(|it| it.work_items.is_ok()));
    }
}
