//! Transactions: writes that are performed together, or not at all.

use std::time::Duration;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsInput;
use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem, Update};
use minutehand_domain::ids::fnv1a;
use minutehand_ports::StoreError;
use minutehand_ports::store::Saved;
use tokio::time::{Instant, sleep_until};

use super::client::Table;
use super::error::failed_conditions;
use super::item::key;
use super::keys::Key;
use super::meter::MeteredCall;
use super::single::non_empty;
use super::write::{What, Write};

/// How often a transaction that conflicts with another one is tried.
const TRIES_MAX: u32 = 12;
/// The longest wait before the second try. Each further wait is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(20);
/// The longest wait between two tries. All waits together take less than three seconds.
const WAIT_MAX: Duration = Duration::from_millis(320);

/// The wait before the next try, after this number of tries: a part of the longest wait, from a half
/// to the whole, that depends on the transaction. Transactions that collided meet less often then.
fn wait_after(tries: u32, keys: &[Key]) -> Duration {
    let longest = FIRST_WAIT.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(WAIT_MAX);
    let written = keys.iter().flat_map(|key| [key.pk.as_bytes(), key.sk.as_bytes()]);
    let of_this_try: Vec<u8> = written.flatten().copied().chain(tries.to_be_bytes()).collect();
    longest / 2 + (longest / 2).mul_f64(f64::from(fnv1a(&of_this_try)) / f64::from(u32::MAX))
}

/// A token, with which the service performs a request once that is sent to it several times.
fn token() -> Result<String, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| StoreError::Unavailable(error.to_string().into()))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

impl Table {
    /// Performs writes as one transaction; returns which conditions failed, write by write, or `None` if
    /// all is written.
    ///
    /// A transaction that conflicts with another one is tried again, after a wait. Two jobs that are
    /// created in one collection conflict, because both are counted there.
    pub(crate) async fn write_all(
        &self,
        call: MeteredCall,
        writes: Vec<Write>,
    ) -> Result<Option<Vec<bool>>, StoreError> {
        let keys: Vec<Key> = writes.iter().map(|write| write.key.clone()).collect();
        let items: Result<Vec<_>, _> = writes.into_iter().map(|write| self.part(write)).collect();
        let items = items.map_err(|error| StoreError::Refused(Box::new(error)))?;
        let mut tries = 1;
        loop {
            let request = TransactWriteItemsInput::builder()
                .set_transact_items(Some(items.clone()))
                .client_request_token(token()?)
                .set_return_consumed_capacity(self.capacity_to_return());
            match self.send(request).await {
                Ok(done) => {
                    self.consumed(call, done.consumed_capacity());
                    return Ok(None);
                }
                Err(error) => match failed_conditions(error) {
                    Err(StoreError::Throttled(_)) if tries < TRIES_MAX => {
                        sleep_until(Instant::now() + wait_after(tries, &keys)).await;
                        tries += 1;
                    }
                    failed => return failed.map(Some),
                },
            }
        }
    }

    /// The same; `false` if a condition failed, and nothing was written.
    pub(crate) async fn write_together(
        &self,
        call: MeteredCall,
        writes: Vec<Write>,
    ) -> Result<bool, StoreError> {
        Ok(self.write_all(call, writes).await?.is_none())
    }

    /// Performs a change whose conditions all say that nothing changed since it was read.
    pub(crate) async fn save(&self, writes: Vec<Write>) -> Result<Saved, StoreError> {
        let is_kept = self.write_together(MeteredCall::Change, writes).await?;
        Ok(if is_kept { Saved::Kept } else { Saved::Stale })
    }

    /// A write as a part of a transaction.
    fn part(&self, write: Write) -> Result<TransactWriteItem, BuildError> {
        let Write { key: at, what, condition, names, values } = write;
        let part = TransactWriteItem::builder();
        // The three parts have these methods in common, and no trait for them.
        macro_rules! built {
            ($builder:expr) => {
                $builder
                    .table_name(&self.name)
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(non_empty(names))
                    .set_expression_attribute_values(non_empty(values))
                    .build()?
            };
        }
        let part = match what {
            What::Put(whole) => part.put(built!(Put::builder().set_item(Some(whole)))),
            What::Update(expression) => part.update(built!(
                Update::builder().set_key(Some(key(at))).update_expression(expression)
            )),
            What::Delete => part.delete(built!(Delete::builder().set_key(Some(key(at))))),
        };
        Ok(part.build())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use minutehand_testkit::aws::{AwsAnswer, FakeAws};
    use minutehand_testkit::fake_client;
    use serde_json::json;
    use tokio::task::JoinSet;

    use super::super::item::ItemBuilder;
    use super::*;

    /// The time that a transaction of AWS holds its items.
    const HELD: Duration = Duration::from_millis(10);

    /// As DynamoDB does: while one transaction holds the item, every other one is cancelled.
    fn one_at_a_time(busy_for: Duration) -> FakeAws {
        let free_at = Mutex::new(Instant::now() + busy_for);
        FakeAws::new(move |_| {
            let mut free_at = free_at.lock().unwrap();
            if Instant::now() < *free_at {
                return AwsAnswer::FailedWith(
                    400,
                    json!({
                        "__type": "TransactionCanceledException",
                        "CancellationReasons": [{ "Code": "TransactionConflict" }],
                    }),
                );
            }
            *free_at = Instant::now() + HELD;
            AwsAnswer::Done(json!({}))
        })
    }

    fn put(name: &str) -> Vec<Write> {
        let at = Key { pk: "S#s".to_owned(), sk: name.to_owned() };
        vec![Write::put(ItemBuilder::at(at))]
    }

    #[tokio::test(start_paused = true)]
    async fn fifty_transactions_that_collide_for_half_a_second_all_succeed() {
        let aws = one_at_a_time(Duration::from_millis(500));
        let table = Table::new(fake_client!(aws_sdk_dynamodb, aws), "t".to_owned());
        let mut saves = JoinSet::new();
        for n in 0..50 {
            let table = table.clone();
            saves.spawn(async move { table.save(put(&format!("job-{n}"))).await });
        }
        let results = saves.join_all().await;
        for saved in &results {
            assert!(matches!(saved, Ok(Saved::Kept)), "{saved:?}");
        }
        assert!(aws.calls().len() > 100, "the transactions collided");
    }

    #[tokio::test(start_paused = true)]
    async fn a_transaction_that_always_collides_fails_within_three_seconds() {
        let aws = one_at_a_time(Duration::from_hours(1));
        let table = Table::new(fake_client!(aws_sdk_dynamodb, aws), "t".to_owned());
        let began = Instant::now();
        let saved = table.save(put("job")).await;
        assert!(matches!(saved, Err(StoreError::Throttled(_))), "{saved:?}");
        assert_eq!(aws.calls().len(), TRIES_MAX as usize);
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    }
}
