//! Reads for people: all beside the writes.

use async_trait::async_trait;
use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
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
use minutehand_ports::{Browse, Collections, Jobs, Pulses, StoreError, Timers};

use crate::history::{before as before_attempts, read_failure, read_failure_position};
use crate::quarters::read as read_quarter;
use crate::script::{Row, Value};
use crate::sql::{attempts, jobs as sql, other, quarters};
use crate::store::{SqlStore, page_of, rows_of};
use crate::timers::SHARDS;
use crate::value::{Columns, id, params};
use crate::{jobs, journal};

/// The most quarters that are read at once: more than are kept.
const QUARTERS_MAX: u32 = 1_000;

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
        Timers::collection_path(self, collection_uid).await
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
        let items_max = page.items_max;
        let rows = self.job_rows(collection_uid, prefix, now, page).await?;
        let items = rows.into_iter().map(|row| jobs::read(&mut Columns::new("jobs", row)));
        Ok(page_of(items.collect::<Result<_, _>>()?, items_max, |last: &JobRecord| last.name.key()))
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
        let items_max = page.items_max;
        let parameters = jobs::beginning(collection_uid, prefix, now, page);
        let rows = self.read(sql::JOB_NAMES, parameters).await?.into_iter();
        let read = |row| Columns::new("jobs", row).named("name", |text| Name::new(text).ok());
        Ok(page_of(rows.map(read).collect::<Result<_, _>>()?, items_max, Name::key))
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
        PageRequest { from, items_max }: PageRequest,
    ) -> Result<Page<FailedOccurrence>, StoreError> {
        let start = |day: NaiveDate| ticks(day.and_time(NaiveTime::MIN).and_utc());
        let end = start(day.checked_add_days(Days::new(1)).unwrap_or(NaiveDate::MAX));
        let (ended, nominal, job) = match from {
            None => (end, i64::MIN, Value::Bytes(Vec::new())),
            Some(from) => read_failure_position(&from).ok_or_else(StoreError::no_position)?,
        };
        let parameters = params![
            subscription.key(),
            start(day),
            ended.min(end),
            nominal,
            job,
            rows_of(items_max)
        ];
        let rows = self.read(attempts::FAILURES, parameters).await?;
        let items = rows.into_iter().map(read_failure).collect::<Result<_, _>>()?;
        Ok(page_of(items, items_max, |last: &FailedOccurrence| {
            format!("{} {} {}", ticks(last.ended_at), ticks(last.nominal_at), last.job_uid)
        }))
    }

    async fn quarters(
        &self,
        collection_uid: &str,
        [from, to]: [DateTime<Utc>; 2],
    ) -> Result<CountedQuarters, StoreError> {
        let parameters = params![id(collection_uid), from, to, QUARTERS_MAX];
        let rows = self.read(quarters::QUARTERS, parameters).await?.into_iter();
        rows.map(read_quarter).collect::<Result<_, _>>().map(CountedQuarters::Counted)
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
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        Timers::due(self, shard, until, page).await
    }

    async fn pulses(&self) -> Result<PulseRecord, StoreError> {
        self.read_pulses().await
    }

    async fn journal(
        &self,
        collection_uid: &str,
        PageRequest { from, items_max }: PageRequest,
    ) -> Result<Page<JournalEntry>, StoreError> {
        let position = from.unwrap_or_else(|| format!("{} ", i64::MAX));
        let mut parts = position.splitn(3, ' ');
        let at: Option<i64> = parts.next().and_then(|at| at.parse().ok());
        let (at, job) = at.zip(parts.next()).ok_or_else(StoreError::no_position)?;
        let request_id = parts.next().unwrap_or_default();
        let parameters = params![id(collection_uid), at, job, request_id, rows_of(items_max)];
        let rows = self.read(other::JOURNAL, parameters).await?;
        let items = rows.into_iter().map(journal::read).collect::<Result<_, _>>()?;
        Ok(page_of(items, items_max, |last: &JournalEntry| {
            let job = last.job.as_ref().map(Name::key).unwrap_or_default();
            format!("{} {job} {}", ticks(last.at), last.request_id)
        }))
    }
}
