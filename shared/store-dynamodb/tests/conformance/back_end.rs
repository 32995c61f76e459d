//! DynamoDB as a back end of the suite.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use chrono::{DateTime, Utc};
use minutehand_store_dynamodb::{DynamoStore, ensure_table};
use minutehand_testkit::back_end;
use minutehand_testkit::conformance::{BackEnd, OpenedStore, SpoiledRow, StorePorts};
use minutehand_testkit::dynamodb::LocalDynamo;

/// DynamoDB in the process, or the one that the environment names.
pub(crate) struct Dynamo;

/// A table with nothing in it.
struct OpenedTable {
    client: Client,
    /// The way past the client, as on AWS. The store in the process alone has one.
    connector: Option<SharedHttpConnector>,
    table: String,
}

#[async_trait]
impl BackEnd for Dynamo {
    fn name(&self) -> &'static str {
        if back_end::other().is_some() { "DynamoDB elsewhere" } else { "DynamoDB" }
    }

    async fn open(&self, test: &str) -> Arc<dyn OpenedStore> {
        let (client, connector) = if let Some(client) = back_end::other() {
            (client, None)
        } else {
            let store = LocalDynamo::in_memory();
            (store.client(), Some(store.connector()))
        };
        let table = back_end::new_table(test);
        ensure_table(&client, &table).await.unwrap();
        Arc::new(OpenedTable { client, connector, table })
    }
}

impl OpenedTable {
    fn store(&self) -> DynamoStore {
        DynamoStore::new(self.client.clone(), &self.table).with_connector(self.connector.clone())
    }

    /// All items whose attribute has this value.
    async fn items(&self, attribute: &str, value: &str) -> Vec<HashMap<String, AttributeValue>> {
        let scan = self.client.scan().table_name(&self.table).consistent_read(true);
        let items = scan.send().await.unwrap().items.unwrap_or_default();
        let value = AttributeValue::S(value.to_owned());
        items.into_iter().filter(|item| item.get(attribute) == Some(&value)).collect()
    }
}

#[async_trait]
impl OpenedStore for OpenedTable {
    fn ports(&self) -> StorePorts {
        let store = Arc::new(self.store());
        StorePorts {
            brakes: Some(store.clone()),
            hanging: Some(store.clone()),
            ..StorePorts::new(store)
        }
    }

    async fn spoil(&self, row: SpoiledRow<'_>) {
        let (rows, attribute) = match row {
            SpoiledRow::Collection(it) => (("uid", it.collection.uid.clone()), "document"),
            SpoiledRow::Definition(it) => (("uid", it.uid.clone()), "document"),
            SpoiledRow::Timer(it) => (("pk", format!("T#{}", it.uid)), "state"),
            SpoiledRow::Attempts(uid) => (("pk", format!("H#{uid}")), "claim_id"),
        };
        let items = self.items(rows.0, &rows.1).await;
        assert!(!items.is_empty(), "there is nothing to spoil: {row:?}");
        for mut item in items {
            item.insert(attribute.to_owned(), AttributeValue::Bool(true));
            let put = self.client.put_item().table_name(&self.table).set_item(Some(item));
            put.send().await.unwrap();
        }
    }

    async fn remove_expired(&self, now: DateTime<Utc>) {
        back_end::remove_expired(&self.client, &self.table, now).await;
    }

    async fn close(&self) {
        self.client.delete_table().table_name(&self.table).send().await.unwrap();
    }
}
