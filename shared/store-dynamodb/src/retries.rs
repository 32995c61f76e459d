//! The timers of retries that are too far in the future for a message.

use async_trait::async_trait;
use minutehand_domain::attempt::Attempt;
use minutehand_domain::firing::Waited;
use minutehand_ports::store::{LongRetry, PageRequest};
use minutehand_ports::{RetryTimers, StoreError};

use crate::attempts::own_due_at;
use crate::store::DynamoStore;
use crate::table::item::{ItemBuilder, Reader, text, ticks};
use crate::table::keys::{self, RETRIES};
use crate::table::{List, MeteredCall, Write};
use minutehand_domain::attempt_key::read_attempt;

/// Of the timer of a retry: whether its job has policies, and which of the two marks says so. The
/// attribute is one that the index has, and that says nothing else of a retry.
const UNDER_POLICY: &str = "timetable";
/// The job has policies.
const HAS_POLICIES: &str = "2";
/// It is the timer of a deadline. An earlier version reads policies.
const COMPLETION: &str = "2 completion";
/// The job has policies, and its attempts take turns.
const TAKES_TURN: &str = "2 turns";

/// Of the timer of a retry: the caller who asked for its run. The attribute is another one of the index.
const ASKED_BY: &str = "state";

#[async_trait]
impl RetryTimers for DynamoStore {
    async fn keep(&self, retry: &LongRetry) -> Result<(), StoreError> {
        let write = Write::put(timer(retry)).when("attribute_not_exists(pk)");
        // If the condition failed, the timer exists already.
        self.table.write(MeteredCall::Retries, write).await.map(drop)
    }

    async fn remove(&self, LongRetry { job, attempt }: &LongRetry) -> Result<(), StoreError> {
        let write = Write::delete(keys::retry(&job.uid, attempt));
        self.table.write(MeteredCall::Retries, write).await.map(drop)
    }

    async fn list(&self, job_uid: &str, max: u32) -> Result<Vec<Attempt>, StoreError> {
        let pk = keys::timer(job_uid).pk;
        let list = List { call: Some(MeteredCall::ListRetries), ..List::new(pk, RETRIES) };
        let page = list.page(&self.table, PageRequest { from: None, items_max: max }).await?;
        page.items.iter().map(|item| read_retry(&Reader::new(item))).collect()
    }
}

/// The timer of a retry.
pub(crate) fn timer(LongRetry { job, attempt }: &LongRetry) -> ItemBuilder {
    ItemBuilder::at(keys::retry(&job.uid, attempt))
        .text("collection_uid", &job.collection_uid)
        .text("job_key", &job.key)
        .maybe("attempt_due_at", own_due_at(attempt))
        .maybe(UNDER_POLICY, mark(attempt).map(text))
        .maybe(ASKED_BY, attempt.asked_by.as_deref().map(text))
        .number("due_shard", keys::shard(&job.uid))
        .set("due_at", ticks(attempt.due_at))
}

const fn mark(attempt: &Attempt) -> Option<&'static str> {
    if matches!(attempt.waited, Some(Waited::Completion)) {
        return Some(COMPLETION);
    }
    match (attempt.takes_turn, attempt.under_policy) {
        (true, _) => Some(TAKES_TURN),
        (false, true) => Some(HAS_POLICIES),
        (false, false) => None,
    }
}

pub(crate) fn read_retry(reader: &Reader<'_>) -> Result<Attempt, StoreError> {
    let due_at = reader.optional_ticks("attempt_due_at")?;
    let attempt = reader.text("sk")?.strip_prefix(RETRIES);
    let attempt = attempt.and_then(|attempt| read_attempt(attempt, due_at));
    let attempt = attempt.ok_or_else(|| reader.corrupt("sk", "it is not a timer"))?;
    let mark = reader.optional_text(UNDER_POLICY)?;
    let waited = (mark == Some(COMPLETION)).then_some(Waited::Completion);
    let (under_policy, takes_turn) = (mark.is_some() && waited.is_none(), mark == Some(TAKES_TURN));
    let asked_by = reader.optional_text(ASKED_BY)?.map(str::to_owned);
    Ok(Attempt { is_long: true, under_policy, takes_turn, waited, asked_by, ..attempt })
}
