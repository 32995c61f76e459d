//! A world that stands still and remembers.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::action::{CertificateFacts, ClientCertificate};
use domain::name::{Name, PathSegment};
use domain::refusal::Refusal;
use ports::firing::{Advance, Execution};
use ports::store::{CollectionRecord, JobRecord, Page, PageRequest, ResourceGroup, SaveJob, Saved};
use ports::{
    CertificateReader, Clock, Disk, DispatchQueue, History, IdSource, JobStore, QueueError,
    QueueMessage, SealError, Sealer, StoreError, TimerStore,
};

/// When everything happens.
const NOW: i64 = 1_459_370_434; // 2016-03-30T20:40:34Z

/// What the store does instead of answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Trouble {
    #[default]
    None,
    Unavailable,
    Throttled,
    Corrupt,
    /// It answers, and takes no writes.
    Full,
    /// It has a bug.
    Panic,
    /// Whatever is changed has just been changed by others.
    Stale,
}

/// All ports in one.
#[derive(Default)]
pub(crate) struct World {
    collections: Mutex<BTreeMap<[String; 3], CollectionRecord>>,
    jobs: Mutex<BTreeMap<[String; 2], JobRecord>>,
    /// What the only job has executed, the newest first.
    pub(crate) executions: Mutex<Vec<Execution>>,
    /// How many executions were asked for, each time.
    pub(crate) asked_for: Mutex<Vec<u32>>,
    pub(crate) sent: Mutex<Vec<QueueMessage>>,
    pub(crate) trouble: Mutex<Trouble>,
    ids: AtomicU64,
}

impl World {
    /// Changes a job as the scheduler would.
    pub(crate) fn change_job(&self, name: &str, change: impl FnOnce(&mut JobRecord)) {
        let mut jobs = self.jobs.lock().unwrap();
        change(jobs.values_mut().find(|job| job.name.as_str() == name).unwrap());
    }

    fn check(&self) -> Result<bool, StoreError> {
        match *self.trouble.lock().unwrap() {
            Trouble::None | Trouble::Full => Ok(false),
            Trouble::Stale => Ok(true),
            Trouble::Panic => panic!("a bug in the store"),
            Trouble::Unavailable => Err(StoreError::Unavailable("table secret-table".into())),
            Trouble::Throttled => Err(StoreError::Throttled("table secret-table".into())),
            Trouble::Corrupt => {
                let (key, what) = ("secret-key".to_owned(), "cut short".to_owned());
                Err(StoreError::Corrupt { key, what })
            }
        }
    }
}

fn collection_key(place: &ResourceGroup, name: &Name) -> [String; 3] {
    [place.subscription.key(), place.group.key(), name.key()]
}

/// The items after a position, which is the key of the last item before it.
fn page<T>(items: impl Iterator<Item = (String, T)>, page: PageRequest) -> Page<T> {
    let from = page.from.unwrap_or_default();
    let mut items = items.filter(|(key, _)| *key > from).peekable();
    let (mut taken, mut last) = (Vec::new(), None);
    while let Some((key, item)) = items.next_if(|_| taken.len() < page.items_max as usize) {
        taken.push(item);
        last = Some(key);
    }
    Page { items: taken, next: last.filter(|_| items.peek().is_some()) }
}

#[async_trait]
impl Disk for World {
    async fn takes_writes(&self) -> Result<(), StoreError> {
        match *self.trouble.lock().unwrap() {
            Trouble::Full => Err(StoreError::Unavailable("/secret/path is full".into())),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl JobStore for World {
    async fn find_collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        self.check()?;
        Ok(self.collections.lock().unwrap().get(&collection_key(place, name)).cloned())
    }

    async fn list_collections(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        request: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        self.check()?;
        let collections = self.collections.lock().unwrap();
        let mut found: Vec<_> = collections
            .iter()
            .filter(|([of, in_group, _], _)| {
                *of == subscription.key() && group.is_none_or(|group| *in_group == group.key())
            })
            .map(|([_, group, name], record)| (format!("{name}#{group}"), record.clone()))
            .collect();
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(page(found.into_iter(), request))
    }

    async fn create_collection(&self, record: &CollectionRecord) -> Result<Saved, StoreError> {
        self.replace_collection(record).await
    }

    async fn replace_collection(&self, record: &CollectionRecord) -> Result<Saved, StoreError> {
        if self.check()? {
            return Ok(Saved::Stale);
        }
        let key = collection_key(&record.place, &record.collection.name);
        self.collections.lock().unwrap().insert(key, record.clone());
        Ok(Saved::Kept)
    }

    async fn delete_collection(
        &self,
        record: &CollectionRecord,
        _now: DateTime<Utc>,
    ) -> Result<Saved, StoreError> {
        if self.check()? {
            return Ok(Saved::Stale);
        }
        let key = collection_key(&record.place, &record.collection.name);
        self.collections.lock().unwrap().remove(&key);
        Ok(Saved::Kept)
    }

    async fn find_job(&self, uid: &str, name: &Name) -> Result<Option<JobRecord>, StoreError> {
        self.check()?;
        Ok(self.jobs.lock().unwrap().get(&[uid.to_owned(), name.key()]).cloned())
    }

    async fn list_jobs(
        &self,
        uid: &str,
        request: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        self.check()?;
        let jobs = self.jobs.lock().unwrap();
        let found = jobs.iter().filter(|([of, _], _)| of == uid);
        Ok(page(found.map(|([_, name], job)| (name.clone(), job.clone())), request))
    }

    async fn create_job(
        &self,
        save: SaveJob<'_>,
        jobs_max: Option<u32>,
    ) -> Result<Saved, StoreError> {
        if self.check()? {
            return Ok(Saved::Stale);
        }
        let uid = &save.collection.collection.uid;
        let mut jobs = self.jobs.lock().unwrap();
        let count = jobs.keys().filter(|[of, _]| of == uid).count();
        if jobs_max.is_some_and(|max| count >= max as usize) {
            return Ok(Saved::Full);
        }
        jobs.insert([uid.clone(), save.job.name.key()], save.job.clone());
        Ok(Saved::Kept)
    }

    async fn replace_job(&self, save: SaveJob<'_>) -> Result<Saved, StoreError> {
        if self.check()? {
            return Ok(Saved::Stale);
        }
        let key = [save.collection.collection.uid.clone(), save.job.name.key()];
        self.jobs.lock().unwrap().insert(key, save.job.clone());
        Ok(Saved::Kept)
    }

    async fn delete_job(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
    ) -> Result<Saved, StoreError> {
        if self.check()? {
            return Ok(Saved::Stale);
        }
        let key = [collection.collection.uid.clone(), job.name.key()];
        self.jobs.lock().unwrap().remove(&key);
        Ok(Saved::Kept)
    }
}

/// Managing only reads what was executed.
#[async_trait]
impl TimerStore for World {
    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        advances.iter().map(|_| Ok(true)).collect()
    }
}

#[async_trait]
impl History for World {
    async fn executions(
        &self,
        _job_uid: &str,
        request: PageRequest,
    ) -> Result<Page<Execution>, StoreError> {
        self.check()?;
        self.asked_for.lock().unwrap().push(request.items_max);
        let executions = self.executions.lock().unwrap().clone();
        let executions = executions.into_iter().enumerate();
        Ok(page(executions.map(|(n, execution)| (format!("{n:06}"), execution)), request))
    }
}

#[async_trait]
impl DispatchQueue for World {
    async fn send(&self, messages: &[QueueMessage], _now: DateTime<Utc>) -> Result<(), QueueError> {
        self.sent.lock().unwrap().extend_from_slice(messages);
        Ok(())
    }
}

#[async_trait]
impl Sealer for World {
    async fn seal(&self, _place: &str, plain: &str) -> Result<Vec<u8>, SealError> {
        Ok(plain.as_bytes().to_vec())
    }

    async fn open(&self, _place: &str, sealed: &[u8]) -> Result<String, SealError> {
        String::from_utf8(sealed.to_vec()).map_err(|_| SealError::NotOurs)
    }
}

impl CertificateReader for World {
    fn read(&self, _client: &ClientCertificate) -> Result<CertificateFacts, Refusal> {
        Ok(CertificateFacts {
            thumbprint: "77ED5AD8B6E3CDCF68E29FA8C41309EB3A128CEA".to_owned(),
            subject_name: "CN=May14SchedulerMgmt".to_owned(),
            expires_at: self.now(),
        })
    }
}

#[async_trait]
impl Clock for World {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp(NOW, 0).unwrap()
    }

    async fn wait_until(&self, _at: DateTime<Utc>) {}

    async fn wait(&self, _work: Duration) {}
}

impl IdSource for World {
    fn new_id(&self) -> String {
        format!("id{}", self.ids.fetch_add(1, Ordering::Relaxed))
    }
}
