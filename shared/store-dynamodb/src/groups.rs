//! How a group of conditional writes is performed: each of them ends by itself, and yet they cost
//! as little as can be.
//!
//! On one machine a commit is the price, so a group is transactions of up to a hundred writes. One
//! whose conditions fail in part is tried again without those; one that is refused as a whole is
//! taken apart, so that a write that cannot be does not take others with it. On AWS a transaction
//! costs twice what its writes do, so there a group is single writes, several at once.
//!
//! A transaction holds no item twice, and of single writes of one item the order would be open. So
//! writes of the same item are performed in turns, in the order of the group, in either way.
//!
//! A crash in between leaves some writes of a group done and others not, each whole: callers ask
//! for nothing that needs another one of the same group.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::error::ConditionalCheckFailedException;
use aws_sdk_dynamodb::types::{
    AttributeValue, Delete, Put, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};
use futures_util::stream::{StreamExt, iter};
use ports::StoreError;

use crate::DynamoStore;
use crate::changes::ended;
use crate::error::{refused_items, store_error};
use crate::item::{Item, ItemBuilder, key};
use crate::keys::Key;
use crate::meter::{Meter, MeteredCall};
use crate::transaction::item;

/// The most writes of one transaction.
const TRANSACTION_MAX: usize = 100;
/// The most times that a transaction is tried without the writes that were refused; what is left
/// then is written singly.
const TRANSACTION_TRIES_MAX: usize = 4;
/// The most transactions of a group under way at once: the store prepares one while it performs
/// another.
const TRANSACTIONS_IN_FLIGHT_MAX: usize = 4;
/// The most single writes of a group under way at once.
pub const SINGLES_IN_FLIGHT_MAX: usize = 16;

/// How a group of writes is performed. What comes of it is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Groups {
    /// As transactions: least commits. For one machine.
    Transactions,
    /// One by one, several at once: least write units. For AWS.
    #[default]
    Singles,
}

/// A write of one item, on a condition.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    key: Key,
    what: What,
    condition: Option<String>,
    names: HashMap<String, String>,
    values: Item,
}

#[derive(Debug, Clone)]
enum What {
    Put(Item),
    Update(String),
    Delete,
}

/// How a write ended.
#[derive(Debug)]
pub(crate) enum WriteOutcome {
    /// It is done.
    Done,
    /// Its condition failed; this is the item as it is, if there is one.
    Refused(Option<Item>),
}

impl Write {
    fn new(key: Key, what: What) -> Self {
        Self { key, what, condition: None, names: HashMap::new(), values: Item::new() }
    }

    /// Puts an item.
    pub(crate) fn put(key: Key, item: ItemBuilder) -> Self {
        Self::new(key, What::Put(item.done()))
    }

    /// Changes an item.
    pub(crate) fn update(key: Key, expression: impl Into<String>) -> Self {
        Self::new(key, What::Update(expression.into()))
    }

    /// Deletes an item.
    pub(crate) fn delete(key: Key) -> Self {
        Self::new(key, What::Delete)
    }

    /// On this condition only.
    pub(crate) fn only_if(mut self, condition: impl Into<String>) -> Self {
        self.condition = Some(condition.into());
        self
    }

    /// With a value that an expression names.
    pub(crate) fn with(mut self, name: &str, value: AttributeValue) -> Self {
        self.values.insert(name.to_owned(), value);
        self
    }

    /// With an attribute whose name no expression may use as it is.
    pub(crate) fn naming(mut self, name: &str, attribute: &str) -> Self {
        self.names.insert(name.to_owned(), attribute.to_owned());
        self
    }
}

/// A write with its place in the group.
type Placed = (usize, Write);
type Outcome = (usize, Result<WriteOutcome, StoreError>);

impl DynamoStore {
    /// Performs a group of writes; the answers are in its order.
    pub(crate) async fn write_group(
        &self,
        call: MeteredCall,
        writes: Vec<Write>,
    ) -> Vec<Result<WriteOutcome, StoreError>> {
        let mut outcomes: Vec<Option<Result<WriteOutcome, StoreError>>> = Vec::new();
        outcomes.resize_with(writes.len(), || None);
        for turn in turns(writes) {
            let ended = match self.groups {
                Groups::Transactions => self.in_transactions(call, turn).await,
                Groups::Singles => self.singly(call, turn).await,
            };
            for (place, outcome) in ended {
                if let Some(slot) = outcomes.get_mut(place) {
                    *slot = Some(outcome);
                }
            }
        }
        let unanswered = || Err(StoreError::Unavailable("a write was not performed".into()));
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(unanswered)).collect()
    }

    async fn singly(&self, call: MeteredCall, writes: Vec<Placed>) -> Vec<Outcome> {
        let writes = writes
            .into_iter()
            .map(|(place, write)| async move { (place, self.write(call, write).await) });
        iter(writes).buffer_unordered(SINGLES_IN_FLIGHT_MAX).collect().await
    }

    async fn in_transactions(&self, call: MeteredCall, mut writes: Vec<Placed>) -> Vec<Outcome> {
        let mut chunks = Vec::new();
        while !writes.is_empty() {
            let rest = writes.split_off(writes.len().min(TRANSACTION_MAX));
            chunks.push(self.in_one_transaction(call, std::mem::replace(&mut writes, rest)));
        }
        let ended: Vec<Vec<Outcome>> =
            iter(chunks).buffer_unordered(TRANSACTIONS_IN_FLIGHT_MAX).collect().await;
        ended.into_iter().flatten().collect()
    }

    async fn in_one_transaction(&self, call: MeteredCall, mut left: Vec<Placed>) -> Vec<Outcome> {
        let mut ended = Vec::new();
        for _ in 0..TRANSACTION_TRIES_MAX {
            if left.len() < 2 {
                break;
            }
            match self.try_transaction(call, &left).await {
                Ok(None) => {
                    ended
                        .extend(left.into_iter().map(|(place, _)| (place, Ok(WriteOutcome::Done))));
                    return ended;
                }
                Ok(Some(refused)) => {
                    let mut again = Vec::new();
                    for (write, refused) in left.into_iter().zip(refused) {
                        match refused {
                            Some(refused) => ended.push((write.0, Ok(refused))),
                            None => again.push(write),
                        }
                    }
                    left = again;
                }
                Err(error) if error.is_retryable() => {
                    let error = Shared(Arc::new(error));
                    ended.extend(left.into_iter().map(|(place, _)| (place, Err(error.copy()))));
                    return ended;
                }
                // One of them cannot be; alone, the others can.
                Err(_) => break,
            }
        }
        ended.extend(self.singly(call, left).await);
        ended
    }

    /// Tries a transaction; what comes back is which of its writes were refused.
    async fn try_transaction(
        &self,
        call: MeteredCall,
        writes: &[Placed],
    ) -> Result<Option<Vec<Option<WriteOutcome>>>, StoreError> {
        let items = writes.iter().map(|(_, write)| self.transacted(write.clone()));
        let request = self
            .client
            .transact_write_items()
            .set_transact_items(Some(items.collect::<Result<_, _>>()?))
            .set_return_consumed_capacity(self.asks_for_capacity());
        let writing = self.begin(writes.iter().map(|(_, write)| &write.key));
        let refused = match request.send().await {
            Ok(done) => {
                self.consumed(call, done.consumed_capacity());
                None
            }
            Err(error) => Some(refused_items(error)?),
        };
        ended(writing);
        Ok(refused)
    }

    fn transacted(&self, write: Write) -> Result<TransactWriteItem, StoreError> {
        let Write { key: at, what, condition, names, values } = write;
        let (names, values) = (non_empty(names), non_empty(values));
        let old = ReturnValuesOnConditionCheckFailure::AllOld;
        match what {
            What::Put(whole) => {
                let put = Put::builder()
                    .table_name(&self.table)
                    .set_item(Some(whole))
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(old);
                item(|it| Ok(it.put(put.build()?)))
            }
            What::Update(expression) => {
                let update = Update::builder()
                    .table_name(&self.table)
                    .set_key(Some(key(at)))
                    .update_expression(expression)
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(old);
                item(|it| Ok(it.update(update.build()?)))
            }
            What::Delete => {
                let delete = Delete::builder()
                    .table_name(&self.table)
                    .set_key(Some(key(at)))
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(old);
                item(|it| Ok(it.delete(delete.build()?)))
            }
        }
    }

    /// Performs one write by itself.
    pub(crate) async fn write(
        &self,
        call: MeteredCall,
        write: Write,
    ) -> Result<WriteOutcome, StoreError> {
        let Write { key: at, what, condition, names, values } = write;
        let (names, values) = (non_empty(names), non_empty(values));
        let old = ReturnValuesOnConditionCheckFailure::AllOld;
        let writing = self.begin([&at]);
        // The three kinds of requests have these in common, and no trait for it.
        macro_rules! send {
            ($request:expr, $error:ident) => {
                match $request
                    .table_name(&self.table)
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(old)
                    .set_return_consumed_capacity(self.asks_for_capacity())
                    .send()
                    .await
                {
                    Ok(done) => {
                        self.consumed(call, done.consumed_capacity());
                        Ok(WriteOutcome::Done)
                    }
                    Err(error) => match error.as_service_error() {
                        Some($error::ConditionalCheckFailedException(refused)) => {
                            Ok(WriteOutcome::Refused(image(refused)))
                        }
                        _ => Err(store_error(error)),
                    },
                }
            };
        }
        let outcome = match what {
            What::Put(whole) => {
                send!(self.client.put_item().set_item(Some(whole)), PutItemError)
            }
            What::Update(expression) => send!(
                self.client.update_item().set_key(Some(key(at))).update_expression(expression),
                UpdateItemError
            ),
            What::Delete => {
                send!(self.client.delete_item().set_key(Some(key(at))), DeleteItemError)
            }
        }?;
        ended(writing);
        Ok(outcome)
    }

    /// What a request asks of its price: nothing, unless somebody counts.
    pub(crate) fn asks_for_capacity(&self) -> Option<ReturnConsumedCapacity> {
        self.meter.as_ref().map(|_| ReturnConsumedCapacity::Total)
    }

    /// Counts what a request consumed, if somebody counts.
    pub(crate) fn consumed<'a>(
        &self,
        call: MeteredCall,
        consumed: impl IntoIterator<Item = &'a aws_sdk_dynamodb::types::ConsumedCapacity>,
    ) {
        let meter: Option<&Meter> = self.meter.as_deref();
        if let Some(meter) = meter {
            meter.count(call, consumed);
        }
    }
}

/// Splits a group into turns, in each of which no item is written twice.
fn turns(writes: Vec<Write>) -> Vec<Vec<Placed>> {
    let mut written: HashMap<Key, usize> = HashMap::new();
    let mut turns: Vec<Vec<Placed>> = Vec::new();
    for (place, write) in writes.into_iter().enumerate() {
        let before = written.entry(write.key.clone()).or_default();
        match turns.get_mut(*before) {
            Some(turn) => turn.push((place, write)),
            // The turn before has the item, so this is the next.
            None => turns.push(vec![(place, write)]),
        }
        *before += 1;
    }
    turns
}

/// An expression without names or values has none, not an empty map of them.
fn non_empty<V>(map: HashMap<String, V>) -> Option<HashMap<String, V>> {
    (!map.is_empty()).then_some(map)
}

fn image(refused: &ConditionalCheckFailedException) -> Option<Item> {
    refused.item().filter(|item| !item.is_empty()).cloned()
}

/// One error that several writes ended with.
#[derive(Debug, Clone)]
struct Shared(Arc<StoreError>);

impl Shared {
    fn copy(&self) -> StoreError {
        match &*self.0 {
            StoreError::Unavailable(_) => StoreError::Unavailable(Box::new(self.clone())),
            StoreError::Throttled(_) => StoreError::Throttled(Box::new(self.clone())),
            StoreError::Refused(_) => StoreError::Refused(Box::new(self.clone())),
            StoreError::Corrupt { key, what } => {
                StoreError::Corrupt { key: key.clone(), what: what.clone() }
            }
        }
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a transaction of several writes failed")
    }
}

impl std::error::Error for Shared {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;

    #[test]
    fn an_item_is_written_once_a_turn_and_in_order() {
        let writes = ["a", "b", "a", "c", "a", "b"];
        let writes = writes.map(|uid| Write::delete(keys::timer(uid))).to_vec();
        let turns = turns(writes);
        let places: Vec<Vec<usize>> =
            turns.iter().map(|turn| turn.iter().map(|(place, _)| *place).collect()).collect();
        assert_eq!(places, [vec![0, 1, 3], vec![2, 5], vec![4]]);
    }
}
