//! Performing a group of conditional writes: each ends by itself.
//!
//! A transaction costs twice as much as its writes, so a group is performed as single writes, several at a
//! time. Such writes have no order. So writes of the same item are performed in rounds, in the order of the
//! group.
//!
//! A crash in between leaves some writes of a group done and others not, each whole. No write of a
//! group may depend on another one of it.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{
    Delete, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update,
};
use futures_util::stream::{StreamExt, iter};
use minutehand_ports::StoreError;

use super::client::Table;
use super::item::key;
use super::keys::Key;
use super::meter::MeteredCall;
use super::single::non_empty;
use super::transact::item;
use super::write::{What, Write, WriteOutcome};

/// The most writes of a group in progress at a time.
pub const WRITES_IN_FLIGHT_MAX: usize = 16;

/// A write with its position in the group.
type Placed = (usize, Write);

impl Table {
    /// Performs a group of writes. The outcomes are in its order.
    pub(crate) async fn write_group(
        &self,
        call: MeteredCall,
        writes: Vec<Write>,
    ) -> Vec<Result<WriteOutcome, StoreError>> {
        let mut outcomes = Vec::with_capacity(writes.len());
        for round in rounds(writes) {
            let writes = round
                .into_iter()
                .map(|(position, write)| async move { (position, self.write(call, write).await) });
            let mut ended = iter(writes).buffer_unordered(WRITES_IN_FLIGHT_MAX);
            while let Some(outcome) = ended.next().await {
                outcomes.push(outcome);
            }
        }
        outcomes.sort_unstable_by_key(|(position, _)| *position);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    /// Performs writes as one transaction; `false` if a condition failed, and nothing was written.
    pub(crate) async fn write_together(
        &self,
        call: MeteredCall,
        writes: Vec<Write>,
    ) -> Result<bool, StoreError> {
        Ok(self.write_all(call, writes).await?.is_none())
    }

    /// The same; says which conditions failed, write by write, or `None` if all is written.
    pub(crate) async fn write_all(
        &self,
        call: MeteredCall,
        writes: Vec<Write>,
    ) -> Result<Option<Vec<bool>>, StoreError> {
        let items = writes.into_iter().map(|write| self.transact_item(write));
        self.transact_for(call, items.collect::<Result<_, _>>()?).await
    }

    /// A write as a part of a transaction.
    pub(crate) fn transact_item(&self, write: Write) -> Result<TransactWriteItem, StoreError> {
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
