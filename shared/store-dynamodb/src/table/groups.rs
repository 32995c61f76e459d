//! Performing a group of conditional writes: each ends by itself.
//!
//! A transaction costs twice as much as its writes, so a group is performed as single writes, several at a
//! time. Such writes have no order. So writes of the same item are performed in rounds, in the order of the
//! group.
//!
//! A crash in between leaves some writes of a group done and others not, each whole. No write of a
//! group may depend on another one of it.

use std::collections::HashMap;

use futures_util::stream::{StreamExt, iter};
use minutehand_ports::StoreError;

use super::client::Table;
use super::keys::Key;
use super::meter::MeteredCall;
use super::write::{Write, WriteOutcome};

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
