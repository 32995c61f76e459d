//! A table like that of Minutehand: string keys and one sparse index.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement,
    KeyType, Projection, ProjectionType, ScalarAttributeType,
};

pub(crate) const TABLE: &str = "table";
pub(crate) const INDEX: &str = "due";

pub(crate) type Item = HashMap<String, AttributeValue>;

pub(crate) fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(crate) fn key(pk: &str, sk: &str) -> Item {
    HashMap::from([("pk".to_owned(), s(pk)), ("sk".to_owned(), s(sk))])
}

/// A put that fails if the item is already there.
pub(crate) fn put_new(client: &Client, pk: &str, sk: &str) -> PutItemFluentBuilder {
    client
        .put_item()
        .table_name(TABLE)
        .set_item(Some(key(pk, sk)))
        .condition_expression("attribute_not_exists(pk)")
}

pub(crate) async fn get(client: &Client, pk: &str, sk: &str) -> Option<Item> {
    let request = client.get_item().table_name(TABLE).set_key(Some(key(pk, sk)));
    request.consistent_read(true).send().await.unwrap().item
}

pub(crate) async fn create(client: &Client) {
    let attribute = |name: &str| {
        let definition = AttributeDefinition::builder().attribute_name(name);
        definition.attribute_type(ScalarAttributeType::S).build().unwrap()
    };
    let index = GlobalSecondaryIndex::builder()
        .index_name(INDEX)
        .key_schema(part("due_shard", KeyType::Hash))
        .key_schema(part("due_at", KeyType::Range))
        .projection(Projection::builder().projection_type(ProjectionType::KeysOnly).build());
    client
        .create_table()
        .table_name(TABLE)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute("pk"))
        .attribute_definitions(attribute("sk"))
        .attribute_definitions(attribute("due_shard"))
        .attribute_definitions(attribute("due_at"))
        .key_schema(part("pk", KeyType::Hash))
        .key_schema(part("sk", KeyType::Range))
        .global_secondary_indexes(index.build().unwrap())
        .send()
        .await
        .unwrap();
}

fn part(name: &str, kind: KeyType) -> KeySchemaElement {
    KeySchemaElement::builder().attribute_name(name).key_type(kind).build().unwrap()
}
