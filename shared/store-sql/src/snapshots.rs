//! Snapshots of jobs: definition, timer and collection, as of one instant.

use std::sync::Arc;

use async_trait::async_trait;
use minutehand_domain::alert::AlertUse;
use minutehand_domain::collection::CollectionState;
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::limits::{CollectionLimits, Concurrent, PerSecond};
use minutehand_domain::plan::Plan;
use minutehand_domain::recently_counted::RecentlyCounted;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{Claim, CollectionRecord, JobRecord, JobSnapshot};
use minutehand_ports::{Snapshots, StoreError};

use crate::changed::hash;
use crate::jobs;
use crate::prefetched::Entry;
use crate::script::{Row, Statement};
use crate::sql::jobs as sql;
use crate::store::{SqlStore, first_rows, rest};
use crate::timers::job_row;
use crate::value::Columns;

#[async_trait]
impl Snapshots for SqlStore {
    async fn read(&self, job: &JobRef) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        let row = self.read_now(&job.collection_uid, sql::SNAPSHOT, job_row(job)).await?;
        Ok(row.map(read).transpose()?.map(Arc::new))
    }

    async fn read_collection(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        self.collection_of_uid(collection_uid).await
    }

    async fn prefetch(&self, claim: &Claim) -> Option<Arc<JobSnapshot>> {
        // Changes that other processes write are not counted here.
        if self.process == 0 {
            return None;
        }
        // The counts are taken before the read, so that no change falls between the two.
        let counts = self.counts(&claim.job)?;
        // By the thread that writes: the pages are in its cache, and a reader's is void after each commit.
        let statement = Statement::new(sql::SNAPSHOT, job_row(&claim.job));
        let script = rest(&claim.job.collection_uid, vec![statement]);
        let row = first_rows(self.perform(script).await.ok()?).ok()?.into_iter().next()?;
        let snapshot = Arc::new(read(row).ok()?);
        let entry = Entry { counts, snapshot: snapshot.clone() };
        self.prefetched.keep(&claim.claim_id, entry).then_some(snapshot)
    }

    async fn read_for_start(&self, claim: &Claim) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        match self.prefetched.take(&claim.claim_id) {
            Some(Entry { counts, snapshot }) if Some(counts) == self.counts(&claim.job) => {
                Ok(Some(snapshot))
            }
            _ => Snapshots::read(self, &claim.job).await,
        }
    }
}

impl SqlStore {
    fn counts(&self, job: &JobRef) -> Option<[u32; 2]> {
        self.database().changes_of([hash(&job.uid), hash(&job.collection_uid)])
    }
}

fn read(row: Row) -> Result<JobSnapshot, StoreError> {
    let mut row = Columns::new("jobs", row);
    let JobRecord { name, document, sealed, version, timer, .. } = jobs::read(&mut row)?;
    let (list, checksum): (Option<Vec<u8>>, Option<Vec<u8>>) = (row.next()?, row.next()?);
    let recently_counted =
        RecentlyCounted::from_bytes(&list.unwrap_or_default(), checksum.as_deref());
    let recently_counted =
        recently_counted.ok_or_else(|| row.corrupt("what it counted is damaged"))?;
    let has_policies = timer.timetable.as_deref().is_some_and(Schedule::has_policies);
    let recently_counted =
        if has_policies { recently_counted.beside_policies() } else { recently_counted };
    let collection_path = row.named("path", CollectionPlace::read)?;
    let plan = row.named("plan", Plan::read)?;
    let state = row.named("state", CollectionState::read_name)?;
    let on_since = row.next()?;
    let has_failure_action = row.next()?;
    let alert_use = AlertUse::from_number(row.next()?);
    let limits = CollectionLimits {
        per_second: row.next::<Option<u32>>()?.and_then(PerSecond::new),
        concurrent: row.next::<Option<u32>>()?.and_then(Concurrent::new),
    };
    Ok(JobSnapshot {
        name,
        collection_path,
        version,
        document,
        sealed,
        state: timer.state,
        timing: timer.timing,
        timetable: timer.timetable,
        counters: timer.counters,
        recently_counted,
        is_spent: timer.is_spent,
        moved_at: None,
        plan,
        collection_on_since: state.is_on().then_some(on_since),
        has_failure_action,
        alert_use,
        limits,
    })
}
