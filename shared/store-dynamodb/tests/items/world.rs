//! A store, and the table under it.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use minutehand_ports::store::JobRecord;
use minutehand_store_dynamodb::{DynamoStore, ensure_table};
use minutehand_testkit::back_end;
use minutehand_testkit::conformance::{OpenedStore, SpoiledRow, StorePorts, Subject};
use minutehand_testkit::dynamodb::LocalDynamo;

use crate::requests::Requests;

/// The index of timers.
const DUE_INDEX: &str = "due";

/// An item as it is in the table.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// A store with a table of its own, as tests of behaviours have it, and that table.
pub(crate) struct World {
    subject: Subject,
    client: Client,
    table: String,
    /// The requests of the store, without those that tests send through `client`.
    pub(crate) requests: Requests,
}

impl Deref for World {
    type Target = Subject;

    fn deref(&self) -> &Subject {
        &self.subject
    }
}

/// A table whose store counts its requests.
struct Counted(Client, String);

#[async_trait]
impl OpenedStore for Counted {
    fn ports(&self) -> StorePorts {
        StorePorts::new(Arc::new(DynamoStore::new(self.0.clone(), &self.1)))
    }

    async fn spoil(&self, row: SpoiledRow<'_>) {
        panic!("a test of items spoils them itself: {row:?}");
    }

    async fn remove_expired(&self, _now: DateTime<Utc>) {}

    async fn close(&self) {
        self.0.delete_table().table_name(&self.1).send().await.unwrap();
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        let client = back_end::other().unwrap_or_else(|| LocalDynamo::in_memory().client());
        let table = back_end::new_table("items");
        ensure_table(&client, &table).await.unwrap();
        let requests = Requests::default();
        let counted = client.config().to_builder().interceptor(requests.clone()).build();
        let opened = Counted(Client::from_conf(counted), table.clone());
        Self { subject: Subject::new(Arc::new(opened)), client, table, requests }
    }

    /// Deletes the table.
    pub(crate) async fn close(self) {
        self.subject.close().await;
    }

    /// All items of the table whose attribute has this value.
    pub(crate) async fn items(&self, attribute: &str, value: AttributeValue) -> Vec<Item> {
        let everything = all(self.client.scan().table_name(&self.table).consistent_read(true));
        let items = everything.await.into_iter();
        items.filter(|item| item.get(attribute) == Some(&value)).collect()
    }

    /// The only item of the table whose attribute has this value.
    pub(crate) async fn item(&self, attribute: &str, value: AttributeValue) -> Item {
        let mut items = self.items(attribute, value).await;
        assert_eq!(items.len(), 1, "{items:?}");
        items.remove(0)
    }

    /// The timer of a job.
    pub(crate) async fn timer(&self, job: &JobRecord) -> Item {
        self.item("pk", text(&timers_of(job))).await
    }

    /// The index of timers.
    pub(crate) async fn due_index(&self) -> Vec<Item> {
        all(self.client.scan().table_name(&self.table).index_name(DUE_INDEX)).await
    }

    /// Stores an item as it is given, in place of the one under its key.
    pub(crate) async fn put(&self, item: Item) {
        let put = self.client.put_item().table_name(&self.table).set_item(Some(item));
        put.send().await.unwrap();
    }

    /// Deletes an item.
    pub(crate) async fn delete(&self, item: &Item) {
        let key = ["pk", "sk"].map(|name| (name.to_owned(), item.get(name).unwrap().clone()));
        let delete = self.client.delete_item().table_name(&self.table);
        delete.set_key(Some(HashMap::from(key))).send().await.unwrap();
    }
}

async fn all(scan: ScanFluentBuilder) -> Vec<Item> {
    let mut items = Vec::new();
    let mut from = None;
    loop {
        let page = scan.clone().set_exclusive_start_key(from).send().await.unwrap();
        items.extend(page.items.unwrap_or_default());
        from = page.last_evaluated_key;
        if from.is_none() {
            return items;
        }
    }
}

/// A text as an attribute has it.
pub(crate) fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

/// Where the timers of a job are: its own, and those of retries that are far away.
pub(crate) fn timers_of(job: &JobRecord) -> String {
    format!("T#{}", job.uid)
}
