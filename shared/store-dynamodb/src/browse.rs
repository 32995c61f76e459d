//! Reads for people: eventually consistent, each counted by the meter.

use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, Utc};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::firing::LeftOut;
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    CollectionRecord, CountedQuarters, Due, HistoryEntry, JobRecord, Page, PageRequest,
    PresentAttempt, PresentAttempts, PulseRecord, ResourceGroup,
};
use minutehand_ports::{Browse, StoreError};

use crate::store::DynamoStore;
use crate::table::item::{Item, Reader, number};
use crate::table::{Consistency, List, MeteredCall, keys, newest_of, read_page};
use crate::{attempts, collections, failures, jobs, journal, left_out, pulses};
use minutehand_domain::attempt_key::nominal_key;

/// The most attempts that are read at one instant: an occurrence has 63 at most, with all retries of
/// the action, the error action and the notice.
const ATTEMPTS_MAX: u32 = 100;

/// The newest attempts of a job among which those are looked for that have not ended.
const PRESENT_MAX: u32 = 10;

/// A name costs as much as the definition that it is in: a thousand are about 75 read units.
const NAMES_MAX: usize = 1_000;

#[async_trait]
impl Browse for DynamoStore {
    async fn subscriptions(&self, page: PageRequest) -> Result<Page<PathSegment>, StoreError> {
        let list = List::new(keys::REGISTRY.to_owned(), "").for_people();
        let page = list.page(&self.table, page).await?;
        read_page(page, read_subscription)
    }

    async fn collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        let found = self.table.browse(keys::collection(place, name)).await?;
        found.as_ref().map(collections::read).transpose()
    }

    async fn collection_path(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionPlace>, StoreError> {
        let switch = self.table.browse(keys::switch(collection_uid)).await?;
        switch.map(|switch| collections::collection_path(&Reader::new(&switch))).transpose()
    }

    async fn job(
        &self,
        collection_uid: &str,
        name: &Name,
    ) -> Result<Option<JobRecord>, StoreError> {
        let Some(definition) = self.table.browse(keys::job(collection_uid, name)).await? else {
            return Ok(None);
        };
        let uid = Reader::new(&definition).text("uid")?;
        // A job whose timer is not there is being created or deleted.
        let timer = self.table.browse(keys::timer(uid)).await?;
        timer.map(|timer| jobs::read(&definition, &timer)).transpose()
    }

    async fn jobs(
        &self,
        collection_uid: &str,
        prefix: &str,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        let begins = keys::jobs_beginning(prefix);
        let list = List::new(keys::inside(collection_uid), begins).for_people();
        let list = List { alive_at: Some(number(now.timestamp())), ..list };
        self.with_timers(list.page(&self.table, page).await?, Consistency::Eventual).await
    }

    async fn attempts(
        &self,
        job_uid: &str,
        nominal_at: DateTime<Utc>,
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        let list = List::new(keys::executions(job_uid), nominal_key(nominal_at)).for_people();
        let page = PageRequest { from: None, items_max: ATTEMPTS_MAX };
        let page = list.page(&self.table, page).await?;
        page.items.iter().map(attempts::read).collect()
    }

    async fn attempts_before(
        &self,
        job_uid: &str,
        before: Option<DateTime<Utc>>,
        items_max: u32,
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        let list = List::new(keys::executions(job_uid), "").for_people();
        let page = PageRequest { from: before.map(nominal_key), items_max };
        let page = List { newest_first: true, ..list }.page(&self.table, page).await?;
        page.items.iter().map(attempts::read).collect()
    }

    async fn job_names(
        &self,
        collection_uid: &str,
        prefix: &str,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Name>, StoreError> {
        let begins = keys::jobs_beginning(prefix);
        let list = List::new(keys::inside(collection_uid), begins).for_people();
        let list = List { alive_at: Some(number(now.timestamp())), ..list };
        let page = list.page(&self.table, page).await?;
        read_page(page, |definition| Reader::new(definition).name("name"))
    }

    fn names_max(&self) -> usize {
        NAMES_MAX
    }

    /// SQS lists no messages, and no index has the attempts that have not ended: it would be written at each
    /// firing.
    async fn present(
        &self,
        _now: DateTime<Utc>,
        _work_now: DateTime<Utc>,
    ) -> Result<Option<PresentAttempts>, StoreError> {
        Ok(None)
    }

    async fn present_of(
        &self,
        job: &JobRef,
        _now: DateTime<Utc>,
        work_now: DateTime<Utc>,
    ) -> Result<Vec<PresentAttempt>, StoreError> {
        let list = List::new(keys::executions(&job.uid), "").for_people();
        let page = PageRequest { from: None, items_max: PRESENT_MAX };
        let page = List { newest_first: true, ..list }.page(&self.table, page).await?;
        let read = |item: &Item| attempts::read_present(item, job, work_now).transpose();
        page.items.iter().filter_map(read).collect()
    }

    async fn left_out(
        &self,
        job_uid: &str,
        before: Option<DateTime<Utc>>,
        items_max: u32,
    ) -> Result<Vec<LeftOut>, StoreError> {
        let list = List::new(keys::timer(job_uid).pk, keys::LEFT_OUT).for_people();
        let from = before.map(keys::left_out_before);
        let page = PageRequest { from, items_max };
        let page = List { newest_first: true, ..list }.page(&self.table, page).await?;
        page.items.iter().map(left_out::read).collect()
    }

    async fn failures(
        &self,
        subscription: &PathSegment,
        day: NaiveDate,
        page: PageRequest,
    ) -> Result<Page<FailedOccurrence>, StoreError> {
        let list = |part| {
            let list = List::new(keys::failures(subscription.as_str(), day, part), "");
            List { newest_first: true, ..list.for_people() }
        };
        let page = newest_of(&self.table, (0..keys::FAILURE_PARTS).map(list), page).await?;
        read_page(page, failures::read)
    }

    /// A count would be one more write at each firing.
    async fn quarters(
        &self,
        _collection_uid: &str,
        _between: [DateTime<Utc>; 2],
    ) -> Result<CountedQuarters, StoreError> {
        Ok(CountedQuarters::NotCounted)
    }

    async fn collections(
        &self,
        subscription: &PathSegment,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        let list = List::new(keys::subscription(subscription), keys::COLLECTIONS).for_people();
        let page = list.page(&self.table, page).await?;
        read_page(page, collections::read)
    }

    fn timer_shards(&self) -> u32 {
        keys::SHARDS
    }

    async fn timers(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        self.due_timers(MeteredCall::Browse, shard, until, page).await
    }

    async fn pulses(&self) -> Result<PulseRecord, StoreError> {
        let item = self.table.browse(keys::pulse()).await?;
        item.map_or(Ok(PulseRecord::default()), |item| pulses::read_both(&item))
    }

    async fn journal(
        &self,
        collection_uid: &str,
        page: PageRequest,
    ) -> Result<Page<JournalEntry>, StoreError> {
        let list = List::new(keys::journal(collection_uid), "").for_people();
        let page = List { newest_first: true, ..list }.page(&self.table, page).await?;
        read_page(page, journal::read)
    }
}

pub(crate) fn read_subscription(item: &Item) -> Result<PathSegment, StoreError> {
    Reader::new(item).segment("subscription")
}
