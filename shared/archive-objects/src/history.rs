//! Reads history: from the store, and what has expired there from the archive.
//!
//! A page of the archive begins with the newest day that may have something, and reads one day after
//! another, and of each day the objects that may have lines of the job. A page has all that a day has of
//! the job, since objects of a day are in no order.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, Utc};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use minutehand_archive::{
    Execution, JobHistory, Stream, may_contain, newest_day_below, position_below,
};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::firing::LeftOut;
use minutehand_ports::store::{HistoryEntry, Page, PageRequest};
use minutehand_ports::{History, StoreError};
use tokio::time::timeout;

use crate::objects::Objects;

/// The most requests to the archive for a page. A page that needs more ends with the day that it reads,
/// and the next page goes on.
const REQUESTS_MAX: usize = 64;
/// Objects that are read at a time.
const READS_AT_ONCE: usize = 8;
/// How often a day is read if objects go away meanwhile.
const READS_OF_A_DAY_MAX: usize = 4;
/// How long a page may take: a request reads up to three, and a function has 29 seconds for it.
const PAGE_TIME_MAX: Duration = Duration::from_secs(9);

/// The history of a store with an archive.
pub struct ArchivedHistory {
    store: Arc<dyn History>,
    objects: Objects,
}

impl ArchivedHistory {
    /// The history of the store, and behind it the archive.
    #[must_use]
    pub fn new(store: Arc<dyn History>, objects: Objects) -> Self {
        Self { store, objects }
    }

    /// Adds what a day has of a job that ended until an instant. Returns how many requests it took.
    async fn read_day(
        &self,
        day: NaiveDate,
        job_uid: &str,
        until: DateTime<Utc>,
        history: &mut JobHistory<'_>,
    ) -> Result<usize, StoreError> {
        let mut requests = 0;
        for _ in 0..READS_OF_A_DAY_MAX {
            let mut names = self.objects.names(Stream::History, day).await?;
            names.retain(|name| may_contain(name, job_uid));
            requests += 1 + names.len();
            // A list, since the compiler cannot follow the lifetimes of a lazy iterator through the stream.
            let reads: Vec<_> =
                names.iter().map(|name| self.read_object(day, name, job_uid)).collect();
            let mut reads = stream::iter(reads).buffer_unordered(READS_AT_ONCE);
            let mut is_whole = true;
            while let Some(executions) = reads.try_next().await? {
                is_whole = is_whole && executions.is_some();
                for execution in executions.into_iter().flatten() {
                    if execution.record.ended_at <= until {
                        history.add(execution);
                    }
                }
            }
            if is_whole {
                return Ok(requests);
            }
        }
        Err(StoreError::Unavailable("the archive is being sorted".into()))
    }

    /// The executions of a job in an object; `None` if it is gone, and they are in another one.
    async fn read_object(
        &self,
        day: NaiveDate,
        name: &str,
        job_uid: &str,
    ) -> Result<Option<Vec<Execution>>, StoreError> {
        let contents = self.objects.read_if_there(Stream::History, day, name).await;
        let Some(contents) = contents? else {
            return Ok(None);
        };
        if let Some(damage) = contents.damage {
            return Err(corrupt(&damage.name, &damage.why));
        }
        let lines = contents.lines.iter().filter(|line| line.contains(job_uid));
        let read = lines.map(|line| Execution::read(line)).collect::<Result<_, _>>();
        read.map(Some).map_err(|why| corrupt(&format!("{day}/{name}"), &why))
    }

    async fn page(
        &self,
        job_uid: &str,
        page: PageRequest,
        until: DateTime<Utc>,
    ) -> Result<Page<HistoryEntry>, StoreError> {
        let items_max = usize::try_from(page.items_max).unwrap_or(usize::MAX);
        let newest = page.from.as_deref().and_then(newest_day_below);
        let newest = newest.unwrap_or(until.date_naive());
        let mut days = self.objects.days(Stream::History).await?;
        days.retain(|day| *day <= newest);
        let mut history = JobHistory::of(job_uid, page.from);
        let (mut requests, mut rest) = (1, None);
        while let Some(day) = days.pop() {
            requests += self.read_day(day, job_uid, until, &mut history).await?;
            if (history.count() >= items_max || requests >= REQUESTS_MAX) && !days.is_empty() {
                rest = Some(position_below(day));
                break;
            }
        }
        let (executions, next) = history.first(items_max);
        let items = executions.into_iter().map(|it| HistoryEntry {
            attempt: it.attempt,
            record: Some(it.record),
            waits: false,
        });
        Ok(Page { items: items.collect(), next: next.or(rest) })
    }
}

#[async_trait]
impl History for ArchivedHistory {
    async fn list(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<HistoryEntry>, StoreError> {
        self.store.list(job_uid, page).await
    }

    async fn attempts_between(
        &self,
        job_uid: &str,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Vec<Attempt>, StoreError> {
        self.store.attempts_between(job_uid, from, until).await
    }

    fn has_archive(&self) -> bool {
        true
    }

    async fn list_archived(
        &self,
        job_uid: &str,
        page: PageRequest,
        until: DateTime<Utc>,
    ) -> Result<Page<HistoryEntry>, StoreError> {
        let page = timeout(PAGE_TIME_MAX, self.page(job_uid, page, until));
        page.await.unwrap_or_else(|_| {
            Err(StoreError::Unavailable(
                "the archive has too much of this day to read it in time: query its files instead"
                    .into(),
            ))
        })
    }

    async fn list_left_out(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<LeftOut>, StoreError> {
        self.store.list_left_out(job_uid, page).await
    }
}

fn corrupt(name: &str, why: &str) -> StoreError {
    StoreError::Corrupt {
        key: format!("{name} of the archive"),
        what: format!("{why}; `minutehand archive repair` writes its day again"),
    }
}
