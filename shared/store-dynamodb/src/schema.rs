//! The definition of the table: two string keys, one index of timers, expiry.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::describe_table::DescribeTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, TimeToLiveSpecification,
};
use minutehand_ports::StoreError;

use crate::table::store_error;

/// The index of timers by when they are due. Timers without a due time are not in it.
pub const DUE_INDEX: &str = "due";

/// The attributes of a timer that a sweep needs beside its keys: of a job's timer the first six, of a
/// retry's the last three. Counting an attempt changes none of them, so it does not write the index.
const DUE_PROJECTION: [&str; 7] =
    ["state", "generation", "timetable", "spent", "collection_uid", "job_key", "attempt_due_at"];

/// Creates the table, if it does not exist. On AWS the template creates it.
///
/// # Errors
///
/// If the service does not answer, or refuses.
pub async fn ensure_table(client: &Client, table: &str) -> Result<(), StoreError> {
    let Err(error) = client.describe_table().table_name(table).send().await else { return Ok(()) };
    let service = error.as_service_error();
    if !service.is_some_and(DescribeTableError::is_resource_not_found_exception) {
        return Err(store_error(error));
    }
    let (attributes, key, index, expiry) =
        parts().map_err(|error| StoreError::Refused(Box::new(error)))?;
    client
        .create_table()
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(attributes))
        .set_key_schema(Some(key))
        .global_secondary_indexes(index)
        .send()
        .await
        .map_err(store_error)?;
    client
        .update_time_to_live()
        .table_name(table)
        .time_to_live_specification(expiry)
        .send()
        .await
        .map_err(store_error)?;
    Ok(())
}

/// The attributes of keys, the key, the index and the expiry.
type Parts = (
    Vec<AttributeDefinition>,
    Vec<KeySchemaElement>,
    GlobalSecondaryIndex,
    TimeToLiveSpecification,
);

fn parts() -> Result<Parts, BuildError> {
    let attribute = |name: &str, kind| {
        AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build()
    };
    let key =
        |name: &str, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build();
    let projection = Projection::builder()
        .projection_type(ProjectionType::Include)
        .set_non_key_attributes(Some(DUE_PROJECTION.map(str::to_owned).to_vec()))
        .build();
    let attributes = vec![
        attribute("pk", ScalarAttributeType::S)?,
        attribute("sk", ScalarAttributeType::S)?,
        attribute("due_shard", ScalarAttributeType::N)?,
        attribute("due_at", ScalarAttributeType::N)?,
    ];
    let index = GlobalSecondaryIndex::builder()
        .index_name(DUE_INDEX)
        .key_schema(key("due_shard", KeyType::Hash)?)
        .key_schema(key("due_at", KeyType::Range)?)
        .projection(projection);
    let expiry = TimeToLiveSpecification::builder().attribute_name("expires_at").enabled(true);
    let key = vec![key("pk", KeyType::Hash)?, key("sk", KeyType::Range)?];
    Ok((attributes, key, index.build()?, expiry.build()?))
}
