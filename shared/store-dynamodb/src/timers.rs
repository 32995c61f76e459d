//! Timers: what is due, and when it is due next.
//!
//! Three kinds of items are in the index of timers: a job's, a retry's that is too far away for a
//! message, and that of a collection whose jobs are to be purged. The index may show what was a
//! moment ago, so every change names what was seen as its condition: a timer that has moved or is
//! gone stays as it is.
//!
//! A crash leaves a timer where it was or where it moved to, and in either case in the index: a
//! sweep finds it again, and what it sends a second time is known again by its attempt.

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use domain::attempt::Attempt;
use domain::job::JobState;
use domain::work_item::JobRef;
use ports::firing::{Advance, Due, DueTimer, Finish, JobTimer, LongRetry, TimerKey};
use ports::store::{Page, PageRequest};
use ports::{ErrorType, StoreError};

use crate::attempts::{attempt_key, read_attempt};
use crate::error::store_error;
use crate::executions::own_due_at;
use crate::groups::{Write, WriteOutcome};
use crate::item::{Item, ItemBuilder, Reader, number, text, ticks};
use crate::keys::{self, RETRIES, TIMERS};
use crate::list::List;
use crate::meter::MeteredCall;
use crate::{DUE_INDEX, DynamoStore};

pub(crate) async fn due(
    store: &DynamoStore,
    shard: u32,
    until: DateTime<Utc>,
    page: PageRequest,
) -> Result<Page<Due>, StoreError> {
    let start = page.from.map(|position| read_position(shard, &position)).transpose()?;
    let found = store
        .client
        .query()
        .table_name(&store.table)
        .index_name(DUE_INDEX)
        .key_condition_expression("due_shard = :shard AND due_at <= :until")
        .expression_attribute_values(":shard", number(shard))
        .expression_attribute_values(":until", ticks(until))
        .set_exclusive_start_key(start)
        .limit(i32::try_from(page.items_max).unwrap_or(i32::MAX))
        .set_return_consumed_capacity(store.asks_for_capacity())
        .send()
        .await
        .map_err(store_error)?;
    store.consumed(MeteredCall::Due, found.consumed_capacity());
    let next = found.last_evaluated_key.as_ref().map(write_position).transpose()?;
    let items = found.items.unwrap_or_default();
    Ok(Page { items: items.iter().filter_map(readable).collect(), next })
}

/// What is due, unless it cannot be read: then the log says so at every pass, and what is behind it
/// goes on.
fn readable(item: &Item) -> Option<Due> {
    match read_due(item) {
        Ok(due) => Some(due),
        Err(error) => {
            let error_type = ErrorType::TimerUnreadable;
            tracing::error!(%error_type, %error, "a timer cannot be read, and does not fire");
            None
        }
    }
}

/// Where a page of the index ended: the keys of its last item.
fn write_position(last: &Item) -> Result<String, StoreError> {
    let reader = Reader::of(last);
    let due_at: i64 = reader.number("due_at")?;
    Ok(format!("{due_at} {} {}", reader.text("pk")?, reader.text("sk")?))
}

fn read_position(shard: u32, position: &str) -> Result<Item, StoreError> {
    let mut parts = position.splitn(3, ' ');
    let (Some(due_at), Some(pk), Some(sk)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(StoreError::Refused("no position in the index of timers".into()));
    };
    let start = ItemBuilder::default()
        .number("due_shard", shard)
        .set("due_at", AttributeValue::N(due_at.to_owned()));
    Ok(start.text("pk", pk).text("sk", sk).done())
}

fn read_due(item: &Item) -> Result<Due, StoreError> {
    let reader = Reader::of(item);
    let due_at = reader.ticks("due_at")?;
    let uid = reader.text("pk")?.strip_prefix(TIMERS);
    let uid = uid.ok_or_else(|| reader.corrupt("pk", "it is no timer's"))?.to_owned();
    let job = |uid| -> Result<JobRef, StoreError> {
        Ok(JobRef {
            uid,
            collection_uid: reader.text("collection_uid")?.to_owned(),
            key: reader.text("job_key")?.to_owned(),
        })
    };
    let what = match reader.text("sk")? {
        keys::TIMER => DueTimer::Job(JobTimer {
            job: job(uid)?,
            state: read_state(&reader)?,
            generation: reader.number("generation")?,
            // One without is nothing that can be planned, and one of a job that is over needs none.
            rule: reader.optional_text("timetable")?.unwrap_or_default().to_owned(),
            is_spent: reader.is_set("spent")?,
        }),
        keys::PURGE => DueTimer::Purge { collection_uid: uid },
        _ => DueTimer::Retry { job: job(uid)?, attempt: read_retry(&reader)? },
    };
    Ok(Due { due_at, what })
}

pub(crate) fn read_state(reader: &Reader<'_>) -> Result<JobState, StoreError> {
    let state = reader.text("state")?;
    JobState::read(state).ok_or_else(|| reader.corrupt("state", "it is none"))
}

pub(crate) async fn advance(
    store: &DynamoStore,
    advances: &[Advance],
) -> Vec<Result<bool, StoreError>> {
    let wrote = store.write_group(MeteredCall::Advance, advances.iter().map(moved).collect()).await;
    wrote.into_iter().map(|wrote| Ok(matches!(wrote?, WriteOutcome::Done))).collect()
}

fn moved(advance: &Advance) -> Write {
    const SEEN: &str = "due_at = :from";
    let Advance { timer, from, to } = advance;
    let write = match timer {
        TimerKey::Job { job_uid, generation, state, is_spent, overtaken } => {
            let spent = if *is_spent { ", spent = :spent" } else { " REMOVE spent" };
            let skipped = if *overtaken > 0 {
                ", skipped = if_not_exists(skipped, :none) + :overtaken"
            } else {
                ""
            };
            let set = format!("SET due_at = :to{skipped}{spent}");
            let write = Write::update(keys::timer(job_uid), set)
                .only_if(format!("{SEEN} AND generation = :generation AND #state = :state"))
                .naming("#state", "state")
                .with(":generation", number(*generation))
                .with(":state", text(state.name()));
            let write = if *overtaken > 0 {
                write.with(":overtaken", number(*overtaken)).with(":none", number(0))
            } else {
                write
            };
            if *is_spent { write.with(":spent", AttributeValue::Bool(true)) } else { write }
        }
        TimerKey::Retry { job_uid, attempt } => {
            let at = keys::retry(job_uid, &attempt_key(attempt));
            Write::update(at, "SET due_at = :to").only_if(SEEN)
        }
        TimerKey::Purge { collection_uid } => {
            Write::update(keys::purge(collection_uid), "SET due_at = :to").only_if(SEEN)
        }
    };
    write.with(":from", ticks(*from)).with(":to", ticks(*to))
}

pub(crate) async fn finish(store: &DynamoStore, finish: &Finish) -> Result<bool, StoreError> {
    let Finish { job_uid, generation, state, delete_at } = finish;
    let write = Write::update(
        keys::timer(job_uid),
        "SET #state = :state, due_at = :delete_at, due_shard = :shard",
    )
    .only_if("generation = :generation AND #state = :enabled")
    .naming("#state", "state")
    .with(":state", text(state.name()))
    .with(":delete_at", ticks(*delete_at))
    .with(":shard", number(keys::shard(job_uid)))
    .with(":generation", number(*generation))
    .with(":enabled", text(JobState::Enabled.name()));
    match store.write(MeteredCall::Finish, write).await? {
        WriteOutcome::Done => Ok(true),
        WriteOutcome::Refused(None) => Ok(false),
        // It was done, and the answer was lost.
        WriteOutcome::Refused(Some(item)) => {
            let reader = Reader::of(&item);
            Ok(reader.number::<u64>("generation")? == *generation
                && read_state(&reader)? == *state
                && item.get("due_at") == Some(&ticks(*delete_at)))
        }
    }
}

pub(crate) async fn keep_retries(
    store: &DynamoStore,
    retries: &[LongRetry],
) -> Vec<Result<(), StoreError>> {
    let keep = |LongRetry { job, attempt }: &LongRetry| {
        let at = keys::retry(&job.uid, &attempt_key(attempt));
        let item = ItemBuilder::at(at.clone())
            .text("collection_uid", &job.collection_uid)
            .text("job_key", &job.key)
            .maybe("attempt_due_at", own_due_at(attempt))
            .number("due_shard", keys::shard(&job.uid))
            .set("due_at", ticks(attempt.due_at));
        Write::put(at, item).only_if("attribute_not_exists(pk)")
    };
    all_done(store.write_group(MeteredCall::Retries, retries.iter().map(keep).collect()).await)
}

pub(crate) async fn drop_retries(
    store: &DynamoStore,
    retries: &[LongRetry],
) -> Vec<Result<(), StoreError>> {
    let drop = |LongRetry { job, attempt }: &LongRetry| {
        Write::delete(keys::retry(&job.uid, &attempt_key(attempt)))
    };
    all_done(store.write_group(MeteredCall::Retries, retries.iter().map(drop).collect()).await)
}

/// What was refused was done before.
fn all_done(wrote: Vec<Result<WriteOutcome, StoreError>>) -> Vec<Result<(), StoreError>> {
    wrote.into_iter().map(|wrote| wrote.map(|_| ())).collect()
}

pub(crate) async fn retries(
    store: &DynamoStore,
    job_uid: &str,
    max: u32,
) -> Result<Vec<Attempt>, StoreError> {
    let pk = keys::timer(job_uid).pk;
    let list = List { call: Some(MeteredCall::Pending), ..List::of(pk, RETRIES) };
    let page = list.page(store, PageRequest { from: None, items_max: max }).await?;
    page.items.iter().map(|item| read_retry(&Reader::of(item))).collect()
}

fn read_retry(reader: &Reader<'_>) -> Result<Attempt, StoreError> {
    let due_at = reader.optional_ticks("attempt_due_at")?;
    let attempt = reader.text("sk")?.strip_prefix(RETRIES);
    let attempt = attempt.and_then(|attempt| read_attempt(attempt, due_at));
    let attempt = attempt.ok_or_else(|| reader.corrupt("sk", "it is no timer"))?;
    Ok(Attempt { is_long: true, ..attempt })
}
