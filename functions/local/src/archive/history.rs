//! Reads history: from the store, and what has expired there from the archive.
//!
//! A page of the archive begins with the newest day that may have something, and reads one day after
//! another, and of each day the objects that may have lines of the job.

use std::sync::Arc;

use archive::{Execution, JobHistory, Position, Stream, may_contain};
use archive_objects::{ArchiveError, Objects};
use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, Utc};
use domain::attempt::Attempt;
use domain::firing::LeftOut;
use ports::store::{HistoryEntry, Page, PageRequest};
use ports::{History, StoreError};
use store_dynamodb::DynamoStore;

/// The most requests to the archive for a page. A page that needs more ends there, and the next one goes
/// on.
const REQUESTS_MAX: usize = 64;

/// The history of a store with an archive.
#[derive(Debug)]
pub(crate) struct ArchivedHistory {
    store: Arc<DynamoStore>,
    objects: Objects,
}

impl ArchivedHistory {
    pub(crate) fn new(store: Arc<DynamoStore>, objects: Objects) -> Self {
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
        let names = self.objects.names(Stream::History, day).await.map_err(unavailable)?;
        let mut requests = 1;
        for name in names.iter().filter(|name| may_contain(name, job_uid)) {
            requests += 1;
            let contents = self.objects.read(Stream::History, day, name).await;
            let contents = contents.map_err(unavailable)?;
            if let Some(damage) = contents.damage {
                return Err(corrupt(&damage.name, &damage.why));
            }
            for line in contents.lines.iter().filter(|line| line.contains(job_uid)) {
                let execution = Execution::read(line);
                let execution = execution.map_err(|why| corrupt(&format!("{day}/{name}"), &why))?;
                if execution.record.ended_at <= until {
                    history.add(execution);
                }
            }
        }
        Ok(requests)
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
        let items_max = usize::try_from(page.items_max).unwrap_or(usize::MAX);
        let position = Position::new(page.from);
        let newest = position.newest_day().unwrap_or(until.date_naive());
        let mut days = self.objects.days(Stream::History).await.map_err(unavailable)?;
        days.retain(|day| *day <= newest);
        let mut history = JobHistory::of(job_uid, position);
        let (mut requests, mut rest) = (1, None);
        while let Some(day) = days.pop() {
            requests += self.read_day(day, job_uid, until, &mut history).await?;
            if (history.len() >= items_max || requests >= REQUESTS_MAX) && !days.is_empty() {
                rest = Some(Position::below(day));
                break;
            }
        }
        let (executions, next) = history.first(items_max);
        let items = executions.into_iter().map(|it| HistoryEntry {
            attempt: it.attempt,
            record: Some(it.record),
            waits: false,
        });
        Ok(Page { items: items.collect(), next: next.or(rest).and_then(Position::into_text) })
    }

    async fn list_left_out(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<LeftOut>, StoreError> {
        self.store.list_left_out(job_uid, page).await
    }
}

fn unavailable(error: ArchiveError) -> StoreError {
    StoreError::Unavailable(error.into())
}

fn corrupt(name: &str, why: &str) -> StoreError {
    StoreError::Corrupt {
        key: format!("{name} of the archive"),
        what: format!("{why}; `minutehand archive repair` writes its day again"),
    }
}
