//! Reads for people: all beside the writes.

use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, Utc};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::firing::LeftOut;
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::tick::ticks;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    CollectionRecord, CountedQuarters, Due, HistoryEntry, JobRecord, Page, PageRequest,
    PresentAttempt, PresentAttempts, PulseRecord, ResourceGroup,
};
use minutehand_ports::{Browse, Collections, Jobs, Pulses, StoreError};

use crate::history::before as before_attempts;
use crate::script::Row;
use crate::sql::jobs as sql;
use crate::store::{SqlStore, page_of, rows_of};
use crate::timers::SHARDS;
use crate::value::{Columns, params};

/// A name is read from memory, or from a disk beside the process.
const NAMES_MAX: usize = 100_000;

#[async_trait]
impl Browse for SqlStore {
    async fn subscriptions(
        &self,
        PageRequest { from, items_max }: PageRequest,
    ) -> Result<Page<PathSegment>, StoreError> {
        let parameters = params![from.unwrap_or_default(), rows_of(items_max)];
        let rows = self.read(sql::SUBSCRIPTIONS, parameters).await?;
        let read = |row: Row| {
            let mut row = Columns::new("subscriptions", row);
            let _key: String = row.next()?;
            row.named("name", |text| PathSegment::new(text).ok())
        };
        let items = rows.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(page_of(items, items_max, PathSegment::key))
    }

    async fn collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        Collections::find(self, place, name).await
    }

    async fn collection_path(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionPlace>, StoreError> {
        self.path_of(collection_uid).await
    }

    async fn job(
        &self,
        collection_uid: &str,
        name: &Name,
    ) -> Result<Option<JobRecord>, StoreError> {
        Jobs::find(self, collection_uid, name).await
    }

    async fn jobs(
        &self,
        collection_uid: &str,
        prefix: &str,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        self.jobs_beginning(collection_uid, prefix, now, page).await
    }

    async fn attempts(
        &self,
        job_uid: &str,
        nominal_at: DateTime<Utc>,
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        self.between(job_uid, [nominal_at; 2]).await
    }

    async fn attempts_before(
        &self,
        job_uid: &str,
        before: Option<DateTime<Utc>>,
        items_max: u32,
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        let found = self.newest(before_attempts(job_uid, before), items_max).await?;
        Ok(page_of(found, items_max, |_| String::new()).items)
    }

    async fn job_names(
        &self,
        collection_uid: &str,
        prefix: &str,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Name>, StoreError> {
        self.names_beginning(collection_uid, prefix, now, page).await
    }

    fn names_max(&self) -> usize {
        NAMES_MAX
    }

    async fn present(
        &self,
        now: DateTime<Utc>,
        work_now: DateTime<Utc>,
    ) -> Result<Option<PresentAttempts>, StoreError> {
        self.read_present(now, work_now).await.map(Some)
    }

    async fn present_of(
        &self,
        job: &JobRef,
        now: DateTime<Utc>,
        work_now: DateTime<Utc>,
    ) -> Result<Vec<PresentAttempt>, StoreError> {
        let present = self.read_present(now, work_now).await?;
        Ok(present.items.into_iter().filter(|it| it.job.uid == job.uid).collect())
    }

    async fn left_out(
        &self,
        job_uid: &str,
        before: Option<DateTime<Utc>>,
        items_max: u32,
    ) -> Result<Vec<LeftOut>, StoreError> {
        let behind = [before.map_or(i64::MAX, ticks), i64::MIN, 0];
        let found = self.left_out_behind(job_uid, behind, items_max).await?;
        Ok(page_of(found, items_max, |_| String::new()).items)
    }

    async fn failures(
        &self,
        subscription: &PathSegment,
        day: NaiveDate,
        page: PageRequest,
    ) -> Result<Page<FailedOccurrence>, StoreError> {
        self.failures_of_day(subscription, day, page).await
    }

    async fn quarters(
        &self,
        collection_uid: &str,
        between: [DateTime<Utc>; 2],
    ) -> Result<CountedQuarters, StoreError> {
        self.read_quarters(collection_uid, between).await.map(CountedQuarters::Counted)
    }

    async fn collections(
        &self,
        subscription: &PathSegment,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        Collections::list(self, subscription, None, page).await
    }

    fn timer_shards(&self) -> u32 {
        SHARDS
    }

    async fn timers(
        &self,
        _shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        self.due_timers(until, page).await
    }

    async fn pulses(&self) -> Result<PulseRecord, StoreError> {
        self.read_pulses().await
    }

    async fn journal(
        &self,
        collection_uid: &str,
        page: PageRequest,
    ) -> Result<Page<JournalEntry>, StoreError> {
        self.entries(collection_uid, page).await
    }
}
