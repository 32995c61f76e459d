//! Timers: which are due, and when they are due next.
//!
//! Three kinds of items are in the index of timers: the timer of a job, the timer of a retry that is
//! too far in the future for a message, and the timer of a deleted collection whose jobs are to be
//! purged. The index may be a moment old. So every change has as its condition what was seen: a timer
//! that has moved or is gone stays as it is.
//!
//! A crash leaves a timer where it was or where it moved to, and in either case in the index. The
//! next sweep finds it again. A message that it then sends a second time is recognised by its
//! attempt.

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::query::QueryInput;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::earlier_timing::EarlierTiming;
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::job::JobState;
use minutehand_domain::recent::LastSkip;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Advance, Due, DueTimer, Finish, JobTimer, Page, PageRequest, Pause, TimerKey,
};
use minutehand_ports::{ErrorType, StoreError, Timers};

use crate::DUE_INDEX;
use crate::attributes::{EXPIRES_AT, MOVED_AT, TIMINGS};
use crate::collections::collection_path;
use crate::conditions::FINISH;
use crate::journal;
use crate::left_out;
use crate::retries::read_retry;
use crate::store::DynamoStore;
use crate::table::item::{Item, ItemBuilder, Reader, bytes, number, text, texts, ticks};
use crate::table::keys::{self, Key, SHARDS, TIMERS};
use crate::table::{MeteredCall, SharedError, Write, WriteOutcome, store_error};

#[async_trait]
impl Timers for DynamoStore {
    fn shards(&self) -> u32 {
        SHARDS
    }

    async fn due(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        self.due_timers(MeteredCall::Due, shard, until, page).await
    }

    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        // A crash after this leaves occurrences recorded whose timer is due again: they are left out
        // once more, and recorded as the same.
        let left_out =
            advances.iter().flat_map(|advance| left_out_by(advance, self.history)).collect();
        let noted = self.table.write_group(MeteredCall::LeaveOut, left_out).await;
        if let Some(error) = noted.into_iter().find_map(Result::err) {
            let error = SharedError::new(error);
            return advances.iter().map(|_| Err(error.copy())).collect();
        }
        let wrote = self
            .table
            .write_group(MeteredCall::Advance, advances.iter().map(moved).collect())
            .await;
        wrote.into_iter().map(|wrote| Ok(matches!(wrote?, WriteOutcome::Done))).collect()
    }

    async fn collection_path(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionPlace>, StoreError> {
        let switch = self.table.get(keys::switch(collection_uid)).await?;
        switch.map(|switch| collection_path(&Reader::new(&switch))).transpose()
    }

    async fn expire_definition(&self, finish: &Finish) -> Result<bool, StoreError> {
        let Finish { job, version, expires_at, .. } = finish;
        let write = Write::update(
            keys::job_of_key(&job.collection_uid, &job.key),
            "SET expires_at = :expires",
        )
        .when("uid = :uid AND version = :version")
        .with(":expires", number(expires_at.timestamp()))
        .with(":uid", text(&job.uid))
        .with(":version", number(*version));
        self.table.does(MeteredCall::Finish, write).await
    }

    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError> {
        match self.table.write(MeteredCall::Finish, finished(finish)).await? {
            WriteOutcome::Done => Ok(true),
            WriteOutcome::ConditionFailed(None) => Ok(false),
            // The write was done before, and its answer was lost.
            WriteOutcome::ConditionFailed(Some(item)) => {
                let reader = Reader::new(&item);
                let expires_at = number(finish.expires_at.timestamp());
                Ok(reader.number::<u64>("generation")? == finish.generation
                    && read_state(&reader)? == finish.state
                    && item.get(EXPIRES_AT) == Some(&expires_at))
            }
        }
    }

    async fn pause(&self, pause: &Pause) -> Result<bool, StoreError> {
        let entry = journal::write(&pause.job.collection_uid, &pause.entry);
        let writes = vec![paused_definition(pause), paused_timer(pause), entry];
        self.table.write_together(MeteredCall::Pause, writes).await
    }
}

/// The definition of a job that pauses.
fn paused_definition(pause: &Pause) -> Write {
    let Pause { job, version, document, ended, .. } = pause;
    // A user resumes the job before it pauses again, and writes no more than a few.
    let set = format!(
        "SET document = :document, version = :next, \
         {TIMINGS} = list_append(if_not_exists({TIMINGS}, :none), :ended) REMOVE expires_at"
    );
    Write::update(keys::job_of_key(&job.collection_uid, &job.key), set)
        .when("uid = :uid AND version = :version")
        .with(":document", text(document))
        .with(":next", number(version + 1))
        .with(":none", texts::<EarlierTiming>(&[]))
        .with(":ended", texts(std::slice::from_ref(ended)))
        .with(":uid", text(&job.uid))
        .with(":version", number(*version))
}

/// The timer of a job that pauses.
fn paused_timer(pause: &Pause) -> Write {
    let Pause { job, version, timing, .. } = pause;
    let set = "SET #state = :disabled, generation = :generation, since = :since, used = :used, \
               version = :next REMOVE timetable, due_at, due_shard, spent";
    Write::update(keys::timer(&job.uid), set)
        .when("generation = :before AND #state = :enabled")
        .naming("#state", "state")
        .with(":disabled", text(JobState::Disabled.name()))
        .with(":enabled", text(JobState::Enabled.name()))
        .with(":generation", number(timing.generation))
        .with(":before", number(timing.generation.saturating_sub(1)))
        .with(":since", ticks(timing.since))
        .with(":used", number(timing.used))
        .with(":next", number(version + 1))
}

impl DynamoStore {
    /// A page of the timers that are due until an instant.
    pub(crate) async fn due_timers(
        &self,
        call: MeteredCall,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        let start = page.from.map(|position| read_position(shard, &position)).transpose()?;
        let request = QueryInput::builder()
            .table_name(&self.table.name)
            .index_name(DUE_INDEX)
            .key_condition_expression("due_shard = :shard AND due_at <= :until")
            .expression_attribute_values(":shard", number(shard))
            .expression_attribute_values(":until", ticks(until))
            .set_exclusive_start_key(start)
            .limit(i32::try_from(page.items_max).unwrap_or(i32::MAX))
            .set_return_consumed_capacity(self.table.capacity_to_return());
        let found = self.table.send(request).await.map_err(store_error)?;
        self.table.consumed(call, found.consumed_capacity());
        let next = found.last_evaluated_key.as_ref().map(write_position).transpose()?;
        let items = found.items.unwrap_or_default();
        Ok(Page { items: items.iter().filter_map(readable).collect(), next })
    }
}

/// The timer of a job that has finished.
fn finished(finish: &Finish) -> Write {
    let Finish { job, version, generation, state, expires_at } = finish;
    Write::update(
        keys::timer(&job.uid),
        "SET #state = :state, expires_at = :expires REMOVE due_at, due_shard",
    )
    .when(FINISH)
    .naming("#state", "state")
    .with(":state", text(state.name()))
    .with(":expires", number(expires_at.timestamp()))
    .with(":version", number(*version))
    .with(":generation", number(*generation))
    .with(":enabled", text(JobState::Enabled.name()))
}

/// Reads a timer that is due. If it cannot be read, each pass logs that, and the timers behind it go
/// on.
fn readable(item: &Item) -> Option<Due> {
    let due = read_due(item).inspect_err(|error| {
        let error_type = ErrorType::TimerUnreadable;
        tracing::error!(%error_type, %error, "a timer cannot be read, and does not fire");
    });
    due.ok()
}

/// The position where a page of the index ended: the keys of its last item.
fn write_position(last: &Item) -> Result<String, StoreError> {
    let reader = Reader::new(last);
    let due_at: i64 = reader.number("due_at")?;
    Ok(format!("{due_at} {} {}", reader.text("pk")?, reader.text("sk")?))
}

fn read_position(shard: u32, position: &str) -> Result<Item, StoreError> {
    let mut parts = position.splitn(3, ' ');
    // Clients send positions, so anything may come. No position leads out of the shard.
    let due_at = parts.next().and_then(|due_at| due_at.parse::<i64>().ok());
    let (Some(due_at), Some(pk), Some(sk)) = (due_at, parts.next(), parts.next()) else {
        return Err(StoreError::Refused("no position in the index of timers".into()));
    };
    let start = ItemBuilder::at(Key { pk: pk.to_owned(), sk: sk.to_owned() });
    Ok(start.number("due_shard", shard).number("due_at", due_at).item)
}

fn read_due(item: &Item) -> Result<Due, StoreError> {
    let reader = Reader::new(item);
    let due_at = reader.ticks("due_at")?;
    let what = match reader.text("sk")? {
        keys::TIMER => DueTimer::Job(JobTimer {
            job: read_job(&reader)?,
            state: read_state(&reader)?,
            generation: reader.number("generation")?,
            // Without a timetable nothing can be planned. A job that has finished needs none.
            timetable: reader.optional_text("timetable")?.unwrap_or_default().to_owned(),
            is_spent: reader.is_set("spent")?,
        }),
        keys::PURGE => DueTimer::Purge { collection_uid: read_uid(&reader)?.to_owned() },
        _ => DueTimer::Retry { job: read_job(&reader)?, attempt: read_retry(&reader)? },
    };
    Ok(Due { due_at, what })
}

/// The job of a timer.
pub(crate) fn read_job(reader: &Reader<'_>) -> Result<JobRef, StoreError> {
    Ok(JobRef {
        uid: read_uid(reader)?.to_owned(),
        collection_uid: reader.text("collection_uid")?.to_owned(),
        key: reader.text("job_key")?.to_owned(),
    })
}

/// The uid in the key of a timer: of a job or a collection.
fn read_uid<'a>(reader: &Reader<'a>) -> Result<&'a str, StoreError> {
    let uid = reader.text("pk")?.strip_prefix(TIMERS);
    uid.ok_or_else(|| reader.corrupt("pk", "it is not timer's"))
}

pub(crate) fn read_state(reader: &Reader<'_>) -> Result<JobState, StoreError> {
    let state = reader.text("state")?;
    JobState::read_name(state).ok_or_else(|| reader.corrupt("state", "it is none"))
}

/// The writes of what a plan left out.
fn left_out_by(advance: &Advance, history: HistoryDays) -> Vec<Write> {
    let TimerKey::Job { job_uid, left_out, .. } = &advance.timer else { return Vec::new() };
    left_out.iter().map(|it| left_out::write(job_uid, it, history)).collect()
}

fn moved(advance: &Advance) -> Write {
    const SEEN: &str = "due_at = :from";
    let Advance { timer, from, to, at } = advance;
    let write = match timer {
        TimerKey::Job { job_uid, generation, state, is_spent, left_out } => {
            let overtaken: u64 = left_out.iter().map(|it| it.occurrences).sum();
            let spent = if *is_spent { ", spent = :spent" } else { " REMOVE spent" };
            let last_skip = left_out.last().map(LastSkip::from);
            let skipped = if last_skip.is_some() {
                ", skipped = if_not_exists(skipped, :none) + :overtaken, last_skip = :skip"
            } else {
                ""
            };
            // After a failover, a timer whose messages were all delivered before stays where it is.
            let set = format!("SET due_at = :to, {MOVED_AT} = :at{skipped}{spent}");
            Write::update(keys::timer(job_uid), set)
                .with(":at", ticks(*at))
                .when(format!("{SEEN} AND generation = :generation AND #state = :state"))
                .naming("#state", "state")
                .with(":generation", number(*generation))
                .with(":state", text(state.name()))
                .maybe(":overtaken", last_skip.map(|_| number(overtaken)))
                .maybe(":none", last_skip.map(|_| number(0)))
                .maybe(":skip", last_skip.map(|skip| bytes(&skip.to_bytes())))
                .maybe(":spent", is_spent.then_some(AttributeValue::Bool(true)))
        }
        TimerKey::Retry { job_uid, attempt } => {
            Write::update(keys::retry(job_uid, attempt), "SET due_at = :to").when(SEEN)
        }
        TimerKey::Purge { collection_uid } => {
            Write::update(keys::purge(collection_uid), "SET due_at = :to").when(SEEN)
        }
    };
    write.with(":from", ticks(*from)).with(":to", ticks(*to))
}
