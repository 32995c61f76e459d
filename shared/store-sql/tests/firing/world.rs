//! A store with a collection and a job, and its processes.

use chrono::{DateTime, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{Claim, ClaimRequest, CollectionRecord, JobRecord, SaveJob, Saved};
use minutehand_ports::{Collections, Jobs};
use minutehand_store_sql::SqlStore;
use minutehand_store_sql::sqlite::{Database, Durability, Threads};
use minutehand_testkit::conformance::records;
use tempfile::TempDir;

pub(crate) struct World {
    dir: TempDir,
    pub(crate) store: SqlStore,
    threads: Option<Threads>,
}

impl World {
    /// A first process, with a collection and a job.
    pub(crate) async fn with_job() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (store, threads) = open(&dir);
        let world = Self { dir, store, threads: Some(threads) };
        let created = Collections::create(&world.store, &records::collection("jc"), None).await;
        assert_eq!(created.unwrap(), Saved::Kept);
        let (collection, job) = (world.collection().await, records::job("j"));
        let save = SaveJob { collection: &collection, job: &job, timer_changes: true, entry: None };
        let created = Jobs::create(&world.store, save, None, records::now()).await;
        assert_eq!(created.unwrap(), Saved::Kept);
        world
    }

    /// The next process, after this one ended.
    pub(crate) fn next(self) -> Self {
        let Self { dir, store, threads } = self;
        drop(store);
        threads.unwrap().join();
        let (store, threads) = open(&dir);
        Self { dir, store, threads: Some(threads) }
    }

    pub(crate) async fn collection(&self) -> CollectionRecord {
        let asked = records::collection("jc");
        let found = Collections::find(&self.store, &asked.place, &asked.collection.name).await;
        found.unwrap().unwrap()
    }

    pub(crate) async fn job(&self) -> JobRecord {
        let collection = records::collection("jc").collection.uid;
        Jobs::find(&self.store, &collection, &records::named("j")).await.unwrap().unwrap()
    }
}

fn open(dir: &TempDir) -> (SqlStore, Threads) {
    let (database, threads) = Database::open(dir.path(), Durability::Normal).unwrap();
    (SqlStore::new(database).alone(), threads)
}

pub(crate) fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
}

pub(crate) fn attempt(second: i64) -> Attempt {
    Attempt::first(0, Occurrence::Scheduled { nominal_at: at(second) })
}

/// A claim with a lease until second 200.
pub(crate) fn claim(attempt: &Attempt, claim_id: &str) -> Claim {
    let (collection, job) = (records::collection("jc"), records::job("j"));
    Claim {
        job: JobRef {
            uid: job.uid,
            collection_uid: collection.collection.uid,
            key: job.name.key(),
        },
        attempt: attempt.clone(),
        claim_id: claim_id.to_owned(),
        lease_until: at(200),
    }
}

pub(crate) fn request(attempt: &Attempt, claim_id: &str) -> ClaimRequest {
    ClaimRequest { claim: claim(attempt, claim_id), now: at(100) }
}
