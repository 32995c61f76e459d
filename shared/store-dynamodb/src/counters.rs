//! Counting attempts, each once.
//!
//! The counters of a job and the list of recently counted attempts change in one write. Its
//! condition is that the list is the one that was read. So a crash leaves an attempt counted or not
//! counted, and the next worker that gets its message sees which. Neither is in the index of timers,
//! so counting costs one write unit.
//!
//! Attempts that the list forgets are put into an item of their own first. A crash after that leaves
//! attempts in both places: they are counted wherever they are found. The key of such an item begins
//! with the newest end of its attempts, so that an attempt is looked for only among those that ended
//! when it did or later. The item expires when their history does.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::recently_counted::{Evicted, end_of};
use minutehand_ports::store::{AfterUpdate, CounterUpdate, PageRequest};
use minutehand_ports::{Counters, StoreError};

use crate::conditions::{COUNT, COUNTED};
use crate::store::DynamoStore;
use crate::table::item::{ItemBuilder, Reader, bytes, number, ticks};
use crate::table::keys::EVICTED;
use crate::table::{List, MeteredCall, Write, WriteOutcome, keys};

/// The attributes of a job's timer that hold the list.
pub(crate) const LIST: &str = COUNTED;
pub(crate) const CHECKSUM: &str = "checksum";

/// The attributes of a job's timer that hold the results of the last occurrences, and what was left out
/// last.
pub(crate) const RECENT: &str = "recent";
pub(crate) const LAST_SKIP: &str = "last_skip";

/// The attribute of a job's timer that holds what it remembers of its latest results.
pub(crate) const LATEST: &str = "latest";

/// Items of evicted attempts that are read together.
const PAGE_ITEMS: u32 = 500;

#[async_trait]
impl Counters for DynamoStore {
    async fn add(&self, update: &CounterUpdate) -> Result<bool, StoreError> {
        let after = update.after();
        if let Some(evicted) = &after.evicted {
            // Stored before the list forgets them.
            let write = put(&update.job_uid, evicted, self.history);
            self.table.write(MeteredCall::Count, write).await?;
        }
        Ok(match self.table.write(MeteredCall::Count, count(update, &after)).await? {
            WriteOutcome::Done => true,
            WriteOutcome::ConditionFailed(None) => false,
            // If the list is the one to be written, the write was done and its answer was lost.
            WriteOutcome::ConditionFailed(Some(item)) => {
                let list = Reader::new(&item).optional_bytes(LIST)?;
                list == Some(after.recently_counted.to_bytes())
            }
        })
    }

    async fn is_evicted(
        &self,
        job_uid: &str,
        attempt: &Attempt,
        ended_at: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        let evicted = self.evicted_since(job_uid, end_of(attempt, ended_at)).await?;
        Ok(evicted.iter().any(|it| it.has(attempt)))
    }
}

impl DynamoStore {
    /// The attempts that a job no longer remembers, in items of which some ended at this time or later.
    async fn evicted_since(&self, job_uid: &str, end: i64) -> Result<Vec<Evicted>, StoreError> {
        let pk = keys::timer(job_uid).pk;
        let list = List { call: Some(MeteredCall::FindEvicted), ..List::new(pk, EVICTED) };
        let (mut evicted, mut from) = (Vec::new(), Some(keys::sorted(end)));
        // Bounded by what the job has counted since.
        loop {
            let page = list.page(&self.table, PageRequest { from, items_max: PAGE_ITEMS }).await?;
            for item in &page.items {
                evicted.push(read_evicted(&Reader::new(item))?);
            }
            from = page.next;
            if from.is_none() {
                return Ok(evicted);
            }
        }
    }
}

fn put(job_uid: &str, evicted: &Evicted, history: HistoryDays) -> Write {
    let ids = evicted.to_bytes();
    let newest = DateTime::from_timestamp_millis(evicted.newest());
    let expires_at = newest.map(|newest| history.kept_until(newest));
    let item = ItemBuilder::at(keys::evicted(job_uid, evicted.newest(), &ids))
        .set("ids", bytes(&ids))
        .maybe("expires_at", expires_at.map(|at| number(at.timestamp())));
    Write::put(item)
}

fn read_evicted(reader: &Reader<'_>) -> Result<Evicted, StoreError> {
    let ids = reader.optional_bytes("ids")?.unwrap_or_default();
    // The end matters only for the key.
    Evicted::from_bytes(&ids, 0).ok_or_else(|| reader.corrupt("ids", "they are damaged"))
}

fn count(update: &CounterUpdate, after: &AfterUpdate) -> Write {
    let (CounterUpdate { job_uid, as_read, .. }, add) = (update, update.sum());
    let AfterUpdate { recently_counted, recent, last_skip, latest, .. } = after;
    let mut set = format!("SET {LIST} = :settled, {CHECKSUM} = :checksum, {RECENT} = :recent");
    // A new job has the first three counters; the others are added when they are needed.
    let mut sums = vec![
        ("executions", add.executions),
        ("failures", add.failures),
        ("faulted", add.faulted),
        ("skipped", add.skipped),
    ];
    sums.retain(|(_, by)| *by != 0);
    for &(name, _) in &sums {
        set.extend([", ", name, " = if_not_exists(", name, ", :none) + :", name]);
    }
    let others = [
        ("last_at", add.last_execution_at.map(ticks)),
        (LAST_SKIP, last_skip.map(|skip| bytes(&skip.to_bytes()))),
        (LATEST, latest.map(|latest| bytes(&latest.to_bytes()))),
    ];
    let others = others.into_iter().filter(|(_, value)| value.is_some());
    let nothing_yet = if as_read.is_empty() {
        format!("attribute_not_exists({LIST}) OR ")
    } else {
        String::new()
    };
    let write = Write::update_with(keys::timer(job_uid), &set, others)
        .when(format!("attribute_exists(pk) AND ({nothing_yet}{COUNT})"))
        .with(":settled", bytes(&recently_counted.to_bytes()))
        .with(":checksum", bytes(&recently_counted.checksum()))
        .with(":as_read", bytes(&as_read.to_bytes()))
        .with(":recent", bytes(&recent.to_bytes()))
        .maybe(":none", (!sums.is_empty()).then(|| number(0)));
    sums.into_iter().fold(write, |write, (name, by)| write.with(&format!(":{name}"), number(by)))
}
