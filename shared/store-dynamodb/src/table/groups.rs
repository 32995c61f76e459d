//! Performing a group of conditional writes: each ends by itself, and together they cost as little
//! as possible.
//!
//! On one machine a commit is what costs, so a group is performed as transactions of up to a
//! hundred writes. If conditions of a transaction fail, it is tried again without those writes. If a
//! transaction is refused as a whole, its writes are performed singly, so that an invalid write does
//! not take others with it. On AWS a transaction costs twice as much as its writes, so there a group
//! is performed as single writes, several at a time.
//!
//! A transaction may not hold an item twice, and concurrent single writes have no order. So writes
//! of the same item are performed in rounds, in the order of the group.
//!
//! A crash in between leaves some writes of a group done and others not, each whole. No write of a
//! group may depend on another one of it.

use std::collections::HashMap;

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsInput;
use aws_sdk_dynamodb::types::{
    Delete, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update,
};
use futures_util::stream::{StreamExt, iter};
use minutehand_ports::StoreError;

use super::client::Table;
use super::error::failed_writes;
use super::item::key;
use super::keys::Key;
use super::meter::MeteredCall;
use super::shared_error::SharedError;
use super::single::non_empty;
use super::transact::item;
use super::write::{What, Write, WriteOutcome};

/// The most writes of one transaction.
const TRANSACTION_MAX: usize = 100;
/// How often a transaction is tried without the writes whose conditions failed. The writes that are
/// left then are performed singly.
const TRANSACTION_TRIES_MAX: usize = 4;
/// The most transactions of a group in progress at a time: the store prepares one while it performs
/// another.
const TRANSACTIONS_IN_FLIGHT_MAX: usize = 4;
/// The most single writes of a group in progress at a time.
pub const SINGLES_IN_FLIGHT_MAX: usize = 16;

/// How a group of writes is performed. The results are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Groups {
    /// As transactions, which is the fewest commits. For one machine.
    Transactions,
    /// One by one, several at a time, which is the fewest write units. For AWS.
    #[default]
    Singles,
}

/// A write with its position in the group.
type Placed = (usize, Write);
type Outcome = (usize, Result<WriteOutcome, StoreError>);

impl Table {
    /// Performs a group of writes. The outcomes are in its order.
    pub(crate) async fn write_group(
        &self,
        call: MeteredCall,
        writes: Vec<Write>,
    ) -> Vec<Result<WriteOutcome, StoreError>> {
        let mut outcomes: Vec<Option<Result<WriteOutcome, StoreError>>> = Vec::new();
        outcomes.resize_with(writes.len(), || None);
        for round in rounds(writes) {
            let ended = match self.groups {
                Groups::Transactions => self.in_transactions(call, round).await,
                Groups::Singles => self.singly(call, round).await,
            };
            for (position, outcome) in ended {
                if let Some(slot) = outcomes.get_mut(position) {
                    *slot = Some(outcome);
                }
            }
        }
        let unanswered = || Err(StoreError::Unavailable("a write was not performed".into()));
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(unanswered)).collect()
    }

    /// Performs writes as one transaction; `false` if a condition failed, and nothing was written.
    pub(crate) async fn write_together(
        &self,
        call: MeteredCall,
        writes: Vec<Write>,
    ) -> Result<bool, StoreError> {
        let items = writes.into_iter().map(|write| self.transact_item(write));
        let failed = self.transact_for(call, items.collect::<Result<_, _>>()?).await?;
        Ok(failed.is_none())
    }

    async fn singly(&self, call: MeteredCall, writes: Vec<Placed>) -> Vec<Outcome> {
        let writes = writes
            .into_iter()
            .map(|(position, write)| async move { (position, self.write(call, write).await) });
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
                    let done = |(position, _)| (position, Ok(WriteOutcome::Done));
                    ended.extend(left.into_iter().map(done));
                    return ended;
                }
                Ok(Some(failed)) => {
                    self.condition_failed(call, failed.iter().flatten().count());
                    let mut again = Vec::new();
                    for (write, failed) in left.into_iter().zip(failed) {
                        match failed {
                            Some(failed) => ended.push((write.0, Ok(failed))),
                            None => again.push(write),
                        }
                    }
                    left = again;
                }
                Err(error) if error.is_retryable() => {
                    let error = SharedError::new(error);
                    let failed = |(position, _)| (position, Err(error.copy()));
                    ended.extend(left.into_iter().map(failed));
                    return ended;
                }
                // One of the writes is invalid. Performed singly, the others succeed.
                Err(_) => break,
            }
        }
        ended.extend(self.singly(call, left).await);
        ended
    }

    /// Tries a transaction; returns its writes whose conditions failed, or `None` if it was done.
    async fn try_transaction(
        &self,
        call: MeteredCall,
        writes: &[Placed],
    ) -> Result<Option<Vec<Option<WriteOutcome>>>, StoreError> {
        let items = writes.iter().map(|(_, write)| self.transact_item(write.clone()));
        // Without a token, which makes a repeated transaction harmless: no connector of one machine
        // repeats one.
        let request = TransactWriteItemsInput::builder()
            .set_transact_items(Some(items.collect::<Result<_, _>>()?))
            .set_return_consumed_capacity(self.capacity_to_return());
        let in_progress = self.begin_write(writes.iter().map(|(_, write)| &write.key));
        let failed = match self.send(request).await {
            Ok(done) => {
                self.consumed(call, done.consumed_capacity());
                None
            }
            Err(error) => Some(failed_writes(error)?),
        };
        Self::end_write(in_progress);
        Ok(failed)
    }

    fn transact_item(&self, write: Write) -> Result<TransactWriteItem, StoreError> {
        let Write { key: at, what, condition, names, values } = write;
        let (names, values) = (non_empty(names), non_empty(values));
        let old = ReturnValuesOnConditionCheckFailure::AllOld;
        match what {
            What::Put(whole) => {
                let put = Put::builder()
                    .table_name(&self.name)
                    .set_item(Some(whole))
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(old);
                item(|it| Ok(it.put(put.build()?)))
            }
            What::Update(expression) => {
                let update = Update::builder()
                    .table_name(&self.name)
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
                    .table_name(&self.name)
                    .set_key(Some(key(at)))
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(old);
                item(|it| Ok(it.delete(delete.build()?)))
            }
        }
    }
}

/// Splits a group into rounds, each of which writes an item at most once.
fn rounds(writes: Vec<Write>) -> Vec<Vec<Placed>> {
    let mut written: HashMap<Key, usize> = HashMap::new();
    let mut rounds: Vec<Vec<Placed>> = Vec::new();
    for (position, write) in writes.into_iter().enumerate() {
        let before = written.entry(write.key.clone()).or_default();
        match rounds.get_mut(*before) {
            Some(round) => round.push((position, write)),
            // The round before has the item, so this is the next round.
            None => rounds.push(vec![(position, write)]),
        }
        *before += 1;
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::super::keys;
    use super::*;

    #[test]
    fn a_round_writes_an_item_once_and_keeps_the_order_of_the_group() {
        let writes = ["a", "b", "a", "c", "a", "b"];
        let writes = writes.map(|uid| Write::delete(keys::timer(uid))).to_vec();
        let positions: Vec<Vec<usize>> = rounds(writes)
            .iter()
            .map(|round| round.iter().map(|(position, _)| *position).collect())
            .collect();
        assert_eq!(positions, [vec![0, 1, 3], vec![2, 5], vec![4]]);
    }
}
