//! Counting attempts, each once.
//!
//! The counters and the memory of what is in them change in one write, on the condition that the
//! memory is the one that was read: so a crash leaves an attempt counted or not, and whoever gets
//! its message again sees which. None of it is in the index of timers: it costs one write unit.

use ports::StoreError;
use ports::firing::CounterUpdate;

use crate::DynamoStore;
use crate::groups::{Write, WriteOutcome};
use crate::item::{Reader, bytes, number, ticks};
use crate::keys;
use crate::meter::MeteredCall;

pub(crate) async fn settle(
    store: &DynamoStore,
    settlements: &[CounterUpdate],
) -> Vec<Result<bool, StoreError>> {
    let settled: Vec<Vec<u8>> = settlements.iter().map(|it| it.settled().to_bytes()).collect();
    let writes = settlements.iter().zip(&settled).map(|(it, settled)| count(it, settled)).collect();
    let wrote = store.write_group(MeteredCall::Settle, writes).await;
    settled
        .into_iter()
        .zip(wrote)
        .map(|(settled, wrote)| {
            Ok(match wrote? {
                WriteOutcome::Done => true,
                WriteOutcome::Refused(None) => false,
                // What is to be remembered is remembered: it was done, and the answer was lost.
                WriteOutcome::Refused(Some(item)) => {
                    Reader::of(&item).optional_bytes("settled")? == Some(settled)
                }
            })
        })
        .collect()
}

fn count(settlement: &CounterUpdate, settled: &[u8]) -> Write {
    let (CounterUpdate { job_uid, as_read, .. }, add) = (settlement, settlement.sum());
    let mut set = "SET settled = :settled".to_owned();
    let mut values = vec![(":settled", bytes(settled)), (":as_read", bytes(&as_read.to_bytes()))];
    // The first three are there since the job was created, the others since they were needed.
    let sums = [
        ("executions", ":executions", add.executions),
        ("failures", ":failures", add.failures),
        ("faulted", ":faulted", add.faulted),
        ("skipped", ":skipped", add.skipped),
    ];
    for (name, value, by) in sums {
        if by != 0 {
            set.extend([", ", name, " = if_not_exists(", name, ", :none) + ", value]);
            values.push((value, number(by)));
        }
    }
    if set.contains(":none") {
        values.push((":none", number(0)));
    }
    if let Some(at) = add.last_execution_at {
        set.push_str(", last_at = :at");
        values.push((":at", ticks(at)));
    }
    let nothing_yet = if as_read.is_empty() { "attribute_not_exists(settled) OR " } else { "" };
    let write = Write::update(keys::timer(job_uid), set)
        .only_if(format!("attribute_exists(pk) AND ({nothing_yet}settled = :as_read)"));
    values.into_iter().fold(write, |write, (name, value)| write.with(name, value))
}
