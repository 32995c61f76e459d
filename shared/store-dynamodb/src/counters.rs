//! Counting attempts, each once.
//!
//! The counters of a job and the list of recently counted attempts change in one write. Its
//! condition is that the list is the one that was read. So a crash leaves an attempt counted or not
//! counted, and the next worker that gets its message sees which. Neither is in the index of timers,
//! so counting costs one write unit.

use async_trait::async_trait;
use ports::store::CounterUpdate;
use ports::{Counters, StoreError};

use crate::only_answer;
use crate::store::DynamoStore;
use crate::table::item::{Reader, bytes, number, ticks};
use crate::table::{MeteredCall, Write, WriteOutcome, keys};

#[async_trait]
impl Counters for DynamoStore {
    async fn add(&self, update: &CounterUpdate) -> Result<bool, StoreError> {
        only_answer(self.add_all(std::slice::from_ref(update)).await)
    }
}

impl DynamoStore {
    /// Counts the attempts of a group of updates. The answers are in its order. Of two updates of
    /// one job the second fails, because its reading is then out of date.
    pub async fn add_all(&self, updates: &[CounterUpdate]) -> Vec<Result<bool, StoreError>> {
        let after: Vec<Vec<u8>> =
            updates.iter().map(|update| update.recently_counted().to_bytes()).collect();
        let writes = updates.iter().zip(&after).map(|(update, after)| count(update, after));
        let wrote = self.table.write_group(MeteredCall::Count, writes.collect()).await;
        let answer = |(after, wrote): (Vec<u8>, Result<WriteOutcome, StoreError>)| {
            Ok(match wrote? {
                WriteOutcome::Done => true,
                WriteOutcome::ConditionFailed(None) => false,
                // If the list is the one to be written, the write was done and its answer was lost.
                WriteOutcome::ConditionFailed(Some(item)) => {
                    Reader::new(&item).optional_bytes("settled")? == Some(after)
                }
            })
        };
        after.into_iter().zip(wrote).map(answer).collect()
    }
}

fn count(update: &CounterUpdate, recently_counted: &[u8]) -> Write {
    let (CounterUpdate { job_uid, as_read, .. }, add) = (update, update.sum());
    let mut set = "SET settled = :settled".to_owned();
    let mut values =
        vec![(":settled", bytes(recently_counted)), (":as_read", bytes(&as_read.to_bytes()))];
    // A new job has the first three counters; the others are added when they are needed.
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
        .when(format!("attribute_exists(pk) AND ({nothing_yet}settled = :as_read)"));
    values.into_iter().fold(write, |write, (name, value)| write.with(name, value))
}
