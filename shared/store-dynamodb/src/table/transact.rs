//! Transactions: what creating, replacing and deleting collections and jobs have in common.

use std::time::Duration;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsInput;
use aws_sdk_dynamodb::types::builders::TransactWriteItemBuilder;
use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem, Update};
use minutehand_domain::ids::fnv1a;
use minutehand_ports::StoreError;
use minutehand_ports::store::Saved;
use tokio::time::{Instant, sleep_until};

use super::client::Table;
use super::error::failed_conditions;
use super::item::Reader;
use super::keys::Key;
use super::meter::MeteredCall;

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

/// One item of a transaction.
pub(crate) fn item(
    build: impl FnOnce(TransactWriteItemBuilder) -> Result<TransactWriteItemBuilder, BuildError>,
) -> Result<TransactWriteItem, StoreError> {
    let item = build(TransactWriteItem::builder()).map(TransactWriteItemBuilder::build);
    item.map_err(|error| StoreError::Refused(Box::new(error)))
}

/// A token, with which the service performs a request once that is sent to it several times.
fn token() -> Result<String, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| StoreError::Unavailable(error.to_string().into()))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// The key that an item of a transaction writes.
fn written_key(item: &TransactWriteItem) -> Option<Key> {
    let put = item.put().map(Put::item);
    let update = item.update().map(Update::key);
    let delete = item.delete().map(Delete::key);
    let reader = put.or(update).or(delete).map(Reader::new)?;
    let (pk, sk) = (reader.text("pk").ok()?, reader.text("sk").ok()?);
    Some(Key { pk: pk.to_owned(), sk: sk.to_owned() })
}

impl Table {
    /// Performs a transaction; returns which conditions failed, item by item, or `None` if it was
    /// done.
    ///
    /// A transaction that conflicts with another one is tried again, after a wait. Two jobs that are
    /// created in one collection conflict, because both are counted there.
    pub(crate) async fn transact(
        &self,
        items: Vec<TransactWriteItem>,
    ) -> Result<Option<Vec<bool>>, StoreError> {
        self.transact_for(MeteredCall::Change, items).await
    }

    /// Performs a transaction, and adds what that consumes to the meter.
    pub(crate) async fn transact_for(
        &self,
        call: MeteredCall,
        items: Vec<TransactWriteItem>,
    ) -> Result<Option<Vec<bool>>, StoreError> {
        let keys: Vec<Key> = items.iter().filter_map(written_key).collect();
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

    /// Performs a transaction whose conditions all say that nothing changed since it was read.
    pub(crate) async fn save(&self, items: Vec<TransactWriteItem>) -> Result<Saved, StoreError> {
        Ok(match self.transact(items).await? {
            None => Saved::Kept,
            Some(_) => Saved::Stale,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use aws_sdk_dynamodb::types::AttributeValue;
    use minutehand_testkit::aws::{AwsAnswer, FakeAws};
    use minutehand_testkit::fake_client;
    use serde_json::json;
    use tokio::task::JoinSet;

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

    fn put(name: &str) -> Vec<TransactWriteItem> {
        let put = Put::builder()
            .table_name("t")
            .item("pk", AttributeValue::S("S#s".to_owned()))
            .item("sk", AttributeValue::S(name.to_owned()))
            .build();
        vec![TransactWriteItem::builder().put(put.unwrap()).build()]
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
