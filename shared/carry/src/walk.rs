//! A walk over everything that an export carries: first all collections, then all jobs, and then the retries.

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use minutehand_archive::BackupEntry;
use minutehand_domain::attempt::{Attempt, Then};
use minutehand_domain::document::load_shown;
use minutehand_domain::firing::Waited;
use minutehand_domain::firing::limits::LOOK_AGAIN;
use minutehand_domain::name::PathSegment;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Carried, Found, HistoryEntry, JobRecord, LongRetry, PageRequest, Part,
};
use minutehand_ports::{History, Pings, StoreError, chain};

use crate::line::to_line;
use crate::position::{BackupPosition, Step};
use crate::store::StoreOfMoves;

/// Things that one request lists.
const PAGE_ITEMS: u32 = 100;
/// The newest attempts of a job that are looked at for a retry that waits in the queue.
const ATTEMPTS: u32 = 100;
/// How long after the beginning of an attempt its retry may wait in the queue: as long as a message may be
/// delayed, and some time for the attempt itself.
const WAITS_MAX: TimeDelta = LOOK_AGAIN;

/// Walks over everything that an export carries. What has expired is left out.
///
/// The walk is not of one moment: of what changes meanwhile, each thing is as it was when it was read. It
/// costs what there is of collections, jobs and retries, however long the history is.
#[must_use]
pub fn carried(
    store: &dyn StoreOfMoves,
    now: DateTime<Utc>,
) -> BoxStream<'_, Result<Found, StoreError>> {
    let walk = Walk { store, now, position: BackupPosition::default() };
    let pages = stream::try_unfold(walk, async |mut walk| {
        let page = walk.next_page().await?;
        Ok::<_, StoreError>(page.map(|page| (stream::iter(page.into_iter().map(Ok)), walk)))
    });
    pages.try_flatten().boxed()
}

/// The entries of a backup of all that is carried, with its secrets sealed as they are. What cannot be
/// read is in the log.
#[must_use]
pub fn backup_entries(
    store: &dyn StoreOfMoves,
    now: DateTime<Utc>,
) -> BoxStream<'_, Result<BackupEntry, StoreError>> {
    carried(store, now).map_ok(entry).boxed()
}

/// The entries of a page of a backup, which began at `now`, and the position behind it; `None` at the end.
/// A page may be empty. All pages together are [`backup_entries`].
///
/// # Errors
///
/// If the store does not answer.
pub async fn backup_page(
    store: &dyn StoreOfMoves,
    now: DateTime<Utc>,
    from: BackupPosition,
) -> Result<Option<(Vec<BackupEntry>, BackupPosition)>, StoreError> {
    let mut walk = Walk { store, now, position: from };
    let page = walk.next_page().await?;
    Ok(page.map(|page| (page.into_iter().map(entry).collect(), walk.position)))
}

fn entry(found: Found) -> BackupEntry {
    let Found::Carried(mut carried) = found else {
        return BackupEntry::Unreadable;
    };
    to_line(&mut carried).map_or_else(
        |error| {
            tracing::error!(error = chain(&error), "a thing is not a line, and is not exported");
            BackupEntry::Unreadable
        },
        BackupEntry::Line,
    )
}

/// A walk over what is carried.
struct Walk<'a> {
    store: &'a dyn StoreOfMoves,
    now: DateTime<Utc>,
    position: BackupPosition,
}

impl Walk<'_> {
    /// The next page, which may be empty; `None` at the end.
    async fn next_page(&mut self) -> Result<Option<Vec<Found>>, StoreError> {
        match self.next_step() {
            None => Ok(None),
            Some(Step::Subscriptions(from)) => self.subscriptions(from).await.map(Some),
            Some(Step::Part(part, from)) => self.part(part, from).await.map(Some),
        }
    }

    fn next_step(&mut self) -> Option<Step> {
        let BackupPosition { steps, next_shard } = &mut self.position;
        let step = steps.pop_front();
        if step.is_some() || *next_shard >= self.store.timer_shards() {
            return step;
        }
        let retries = Part::Retries(*next_shard);
        *next_shard += 1;
        Some(Step::Part(retries, None))
    }

    async fn subscriptions(&mut self, from: Option<String>) -> Result<Vec<Found>, StoreError> {
        let request = PageRequest { from, items_max: PAGE_ITEMS };
        let page = self.store.subscriptions(request).await?;
        if let Some(next) = page.next {
            self.position.steps.push_front(Step::Subscriptions(Some(next)));
        }
        let parts = |subscription: PathSegment| {
            [Part::CloudServices(subscription.clone()), Part::Collections(subscription)]
        };
        let parts = page.items.into_iter().flat_map(parts);
        self.position.steps.extend(parts.map(|it| Step::Part(it, None)));
        Ok(Vec::new())
    }

    async fn part(&mut self, part: Part, from: Option<String>) -> Result<Vec<Found>, StoreError> {
        let request = PageRequest { from, items_max: PAGE_ITEMS };
        let page = self.store.part(&part, self.now, request).await?;
        if let Some(next) = page.next {
            self.position.steps.push_front(Step::Part(part, Some(next)));
        }
        let mut all = Vec::with_capacity(page.items.len());
        for found in page.items {
            if is_deadline(&found) {
                continue;
            }
            let mut behind = Vec::new();
            match &found {
                Found::Carried(Carried::Collection(record)) => {
                    let jobs = Part::Jobs(record.collection.uid.clone());
                    self.position.steps.push_back(Step::Part(jobs, None));
                }
                Found::Carried(Carried::Job { collection_uid, job }) => {
                    let retries = self.retries_in_queue(collection_uid, job).await?.into_iter();
                    behind.extend(retries.map(|it| Found::Carried(Carried::Retry(it))));
                    behind.extend(self.ping_key(collection_uid, job).await?);
                }
                Found::Carried(
                    Carried::CloudService(_) | Carried::Retry(_) | Carried::PingKey { .. },
                )
                | Found::Unreadable(_) => {}
            }
            all.push(found);
            all.extend(behind);
        }
        Ok(all)
    }

    /// The key of a job that takes pings, if it has one.
    async fn ping_key(
        &self,
        collection_uid: &str,
        job: &JobRecord,
    ) -> Result<Option<Found>, StoreError> {
        if !expects_pings(&job.document) {
            return Ok(None);
        }
        let job = job_ref(collection_uid, job);
        Ok(match Pings::ping_key(self.store, &job.uid).await {
            Ok(key) => key.map(|key| Found::Carried(Carried::PingKey { job, key })),
            Err(StoreError::Corrupt { key, .. }) => Some(Found::Unreadable(key)),
            Err(error) => return Err(error),
        })
    }

    /// The retries of a job that wait in the queue: only their records tell of them.
    async fn retries_in_queue(
        &self,
        collection_uid: &str,
        job: &JobRecord,
    ) -> Result<Vec<LongRetry>, StoreError> {
        let counters = &job.timer.counters;
        let is_recent = |at: DateTime<Utc>| self.now.signed_duration_since(at) <= WAITS_MAX;
        if counters.failures == 0 || !counters.last_execution_at.is_some_and(is_recent) {
            return Ok(Vec::new());
        }
        let request = PageRequest { from: None, items_max: ATTEMPTS };
        let entries = History::list(self.store, &job.uid, request).await?.items;
        let line = job.timer.timetable.as_deref();
        let schedule = line.and_then(|line| Schedule::read(line, &job.document).ok());
        let job = job_ref(collection_uid, job);
        let retry = |attempt: Attempt| {
            let under_policy = schedule.as_ref().is_some_and(Schedule::is_guarded);
            let takes_turn = schedule.as_ref().is_some_and(|it| it.policies.takes_turns());
            let attempt = Attempt { under_policy, takes_turn, ..attempt };
            LongRetry { job: job.clone(), attempt }
        };
        Ok(waiting(&entries, self.now).into_iter().map(retry).collect())
    }
}

fn job_ref(collection_uid: &str, job: &JobRecord) -> JobRef {
    JobRef { uid: job.uid.clone(), collection_uid: collection_uid.to_owned(), key: job.name.key() }
}

fn expects_pings(document: &str) -> bool {
    let shown = serde_json::from_str(document).ok();
    let job = shown.and_then(|shown| load_shown(&shown).ok());
    job.is_some_and(|job| job.action.ping_window().is_some())
}

/// Whether it is the timer of an attempt that is open: the attempt stays where it is.
fn is_deadline(found: &Found) -> bool {
    matches!(found, Found::Carried(Carried::Retry(retry)) if retry.attempt.waited == Some(Waited::Completion))
}

/// The attempts that follow others as short retries, and that no worker has claimed. One that is due by now
/// is not carried: it would find that its collection was off.
fn waiting(entries: &[HistoryEntry], now: DateTime<Utc>) -> Vec<Attempt> {
    let follows = |entry: &HistoryEntry| {
        let Some(Then::Retry { due_at, is_long: false }) = entry.record.as_ref()?.then else {
            return None;
        };
        let number = entry.attempt.number.saturating_add(1);
        let (sent_late_at, waited) = (None, None);
        let attempt = entry.attempt.clone();
        let next = Attempt { number, due_at, is_long: true, sent_late_at, waited, ..attempt };
        (due_at > now).then_some(next)
    };
    let is_new = |next: &Attempt| !entries.iter().any(|entry| entry.attempt.is_same(next));
    entries.iter().filter_map(follows).filter(is_new).collect()
}

#[cfg(test)]
mod tests {
    use minutehand_domain::attempt::{Occurrence, Outcome, Record};

    use super::*;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(60 * minute, 0).unwrap()
    }

    /// An attempt at the occurrence of this minute, and what its record says of the next one; without it,
    /// it is under way.
    fn entry(minute: i64, number: u32, then: Option<Then>) -> HistoryEntry {
        let first = Attempt::first(3, Occurrence::Scheduled { nominal_at: at(minute) });
        let failed = Record::new([at(minute); 2], Outcome::Failed, "");
        let record = then.map(|then| Record { then: Some(then), ..failed });
        HistoryEntry { attempt: Attempt { number, ..first }, record, waits: false }
    }

    #[test]
    fn a_short_retry_waits_if_it_is_due_later_and_no_worker_has_claimed_it() {
        let retry = |minute| Some(Then::Retry { due_at: at(minute), is_long: false });
        let long = Some(Then::Retry { due_at: at(99), is_long: true });
        for (entries, expected) in [
            (vec![entry(10, 0, retry(15))], vec![(10, 1, 15)]),
            (vec![entry(10, 2, retry(15)), entry(9, 0, retry(14))], vec![(10, 3, 15), (9, 1, 14)]),
            // Due already, claimed, recorded, in a timer, the last one.
            (vec![entry(10, 0, retry(12))], vec![]),
            (vec![entry(10, 1, None), entry(10, 0, retry(15))], vec![]),
            (vec![entry(10, 1, Some(Then::Nothing)), entry(10, 0, retry(15))], vec![]),
            (vec![entry(10, 0, long)], vec![]),
            (vec![entry(10, 4, Some(Then::ErrorAction))], vec![]),
            (vec![], vec![]),
        ] {
            let found: Vec<_> = waiting(&entries, at(12))
                .into_iter()
                .map(|it| {
                    assert!(it.is_long && it.generation == 3);
                    let minute = |at: DateTime<Utc>| at.timestamp() / 60;
                    (minute(it.occurrence.nominal_at()), it.number, minute(it.due_at))
                })
                .collect();
            assert_eq!(found, expected, "{entries:?}");
        }
    }
}
