//! Performing one write by itself.

use std::collections::HashMap;

use aws_sdk_dynamodb::operation::delete_item::{DeleteItemError, DeleteItemInput};
use aws_sdk_dynamodb::operation::put_item::{PutItemError, PutItemInput};
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemInput};
use aws_sdk_dynamodb::types::error::ConditionalCheckFailedException;
use aws_sdk_dynamodb::types::{ReturnValue, ReturnValuesOnConditionCheckFailure};
use minutehand_ports::StoreError;

use super::client::Table;
use super::error::store_error;
use super::item::{Item, key};
use super::meter::MeteredCall;
use super::write::{What, Write, WriteOutcome};

impl Table {
    /// Performs one write.
    pub(crate) async fn write(
        &self,
        call: MeteredCall,
        write: Write,
    ) -> Result<WriteOutcome, StoreError> {
        let written = self.perform(call, write, ReturnValue::None).await?;
        Ok(written.map_or_else(WriteOutcome::ConditionFailed, |_| WriteOutcome::Done))
    }

    /// Performs one write; `false` if its condition failed.
    pub(crate) async fn does(&self, call: MeteredCall, write: Write) -> Result<bool, StoreError> {
        Ok(matches!(self.write(call, write).await?, WriteOutcome::Done))
    }

    /// Performs one update, and returns the item after it; `None` if the condition failed.
    pub(crate) async fn update_returning(
        &self,
        call: MeteredCall,
        write: Write,
    ) -> Result<Option<Item>, StoreError> {
        Ok(self.perform(call, write, ReturnValue::AllNew).await?.ok())
    }

    /// Performs one write, and returns what is wanted of the item. If the condition failed, as an error, the item
    /// as it is, if it exists; not if something is wanted of the item after the write.
    async fn perform(
        &self,
        call: MeteredCall,
        write: Write,
        wanted: ReturnValue,
    ) -> Result<Result<Item, Option<Item>>, StoreError> {
        let Write { key: at, what, condition, names, values } = write;
        let (names, values) = (non_empty(names), non_empty(values));
        let (old, wanted) = match wanted {
            ReturnValue::None => (Some(ReturnValuesOnConditionCheckFailure::AllOld), None),
            wanted => (None, Some(wanted)),
        };
        // The three requests have these methods in common, and no trait for them.
        macro_rules! send {
            ($request:expr, $error:ident) => {{
                let request = $request
                    .table_name(&self.name)
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .set_return_values(wanted)
                    .set_return_values_on_condition_check_failure(old)
                    .set_return_consumed_capacity(self.capacity_to_return());
                match self.send(request).await {
                    Ok(done) => {
                        self.consumed(call, done.consumed_capacity());
                        Ok(Ok(done.attributes.unwrap_or_default()))
                    }
                    Err(error) => match error.as_service_error() {
                        Some($error::ConditionalCheckFailedException(failed)) => {
                            self.condition_failed(call, 1);
                            Ok(Err(image(failed)))
                        }
                        _ => Err(store_error(error)),
                    },
                }
            }};
        }
        match what {
            What::Put(whole) => {
                send!(PutItemInput::builder().set_item(Some(whole)), PutItemError)
            }
            What::Update(expression) => send!(
                UpdateItemInput::builder().set_key(Some(key(at))).update_expression(expression),
                UpdateItemError
            ),
            What::Delete => {
                send!(DeleteItemInput::builder().set_key(Some(key(at))), DeleteItemError)
            }
        }
    }
}

/// The names or values of an expression, or nothing: an empty map is invalid.
pub(super) fn non_empty<V>(map: HashMap<String, V>) -> Option<HashMap<String, V>> {
    (!map.is_empty()).then_some(map)
}

fn image(failed: &ConditionalCheckFailedException) -> Option<Item> {
    failed.item().filter(|item| !item.is_empty()).cloned()
}
