//! What stands beside the store, each for one port.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::action::{CertificateFacts, ClientCertificate};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::firing::LeftOut;
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::refusal::Refusal;
use minutehand_ports::store::{
    Call, CollectionRecord, CollectionsLayer, HistoryEntry, Layer, Page, PageRequest, Saved,
};
use minutehand_ports::{
    CertificateReader, Collections, Disk, DispatchQueue, History, QueueError, QueueMessage,
    StoreError,
};
use minutehand_rest::{DatabaseNote, HealthNote, Peers, ProcessNote, Readiness};

/// What fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Trouble {
    #[default]
    None,
    /// The store cannot be reached.
    Unavailable,
    /// The store throttles.
    Throttled,
    /// A stored item cannot be read.
    Corrupt,
    /// The store answers, and the disk takes no writes.
    Full,
    /// The store is well, and the process cannot fire.
    NotFiring,
    /// All is well but the archive.
    Noted,
    /// Another process shares the database, of which nothing is wrong.
    Shared,
    /// The database is away, and the process knows.
    Lost,
    /// The store has a bug.
    Panic,
    /// Another change always comes first.
    Stale,
}

/// The trouble of a test.
#[derive(Debug, Default)]
pub(crate) struct Troubles(Mutex<Trouble>);

impl Troubles {
    pub(crate) fn set(&self, trouble: Trouble) {
        *self.0.lock().unwrap() = trouble;
    }

    fn get(&self) -> Trouble {
        *self.0.lock().unwrap()
    }

    /// Whether a change comes too late, if the store answers at all.
    fn check(&self) -> Result<bool, StoreError> {
        match self.get() {
            Trouble::None
            | Trouble::Full
            | Trouble::NotFiring
            | Trouble::Noted
            | Trouble::Shared
            | Trouble::Lost => Ok(false),
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

/// Collections of another store, with the trouble of the test.
pub(super) struct TroubledCollections {
    pub(super) inner: Arc<dyn Collections>,
    pub(super) troubles: Arc<Troubles>,
}

impl Layer for TroubledCollections {
    type Inner = dyn Collections;

    fn inner(&self) -> Arc<dyn Collections> {
        self.inner.clone()
    }

    async fn try_call<'a, T: Debug + Send + 'a>(
        &'a self,
        call: impl Call<'a, dyn Collections, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.troubles.check()?;
        call(self.inner.clone()).await
    }
}

#[async_trait]
impl CollectionsLayer for TroubledCollections {
    async fn create(
        &self,
        collection: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        if self.troubles.check()? {
            return Ok(Saved::Stale);
        }
        self.inner.create(collection, entry).await
    }

    async fn replace(
        &self,
        collection: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        if self.troubles.check()? {
            return Ok(Saved::Stale);
        }
        self.inner.replace(collection, entry).await
    }

    async fn delete(
        &self,
        collection: &CollectionRecord,
        now: DateTime<Utc>,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        if self.troubles.check()? {
            return Ok(Saved::Stale);
        }
        self.inner.delete(collection, now, entry).await
    }
}

#[async_trait]
impl Readiness for Troubles {
    fn lost_database(&self) -> Option<String> {
        (self.get() == Trouble::Lost).then(|| "PostgreSQL does not answer.".to_owned())
    }

    fn peers(&self) -> Option<Peers> {
        (self.get() == Trouble::Shared).then(|| Peers { name: "a-1".to_owned(), live: 2 })
    }

    async fn processes(&self) -> Result<Vec<ProcessNote>, String> {
        if let Some(reason) = self.lost_database() {
            return Err(reason);
        }
        let process = |name: &str, answers| ProcessNote {
            name: name.to_owned(),
            version: "1.2.3".to_owned(),
            since: DateTime::UNIX_EPOCH,
            seen_at: DateTime::UNIX_EPOCH,
            attempts: 3,
            answers,
        };
        let shared = vec![process("a-1", true), process("b-1", false)];
        Ok(if self.get() == Trouble::Shared { shared } else { Vec::new() })
    }

    async fn database(&self) -> Result<Vec<DatabaseNote>, String> {
        if let Some(reason) = self.lost_database() {
            return Err(reason);
        }
        let remedy = Some("set autovacuum to on".to_owned());
        let says = "autovacuum is off".to_owned();
        let note = DatabaseNote { about: "vacuum", says, remedy, is_warning: false };
        Ok((self.get() == Trouble::Shared).then_some(note).into_iter().collect())
    }

    fn trouble(&self) -> Option<String> {
        (self.get() == Trouble::NotFiring).then(|| "Messages cannot be taken.".to_owned())
    }

    fn notes(&self) -> Vec<HealthNote> {
        let (says, remedy) = ("access is denied".to_owned(), "renew the keys".to_owned());
        let note = HealthNote { about: "archive", says, remedy };
        (self.get() == Trouble::Noted).then_some(note).into_iter().collect()
    }
}

#[async_trait]
impl Disk for Troubles {
    async fn accepts_writes(&self) -> Result<(), StoreError> {
        match self.get() {
            Trouble::Full => Err(StoreError::Unavailable("/secret/path is full".into())),
            _ => Ok(()),
        }
    }
}

/// The history that a test wrote down, of the only job. It remembers how much was read.
#[derive(Default)]
pub(crate) struct WrittenHistory {
    /// The newest attempt first.
    pub(crate) entries: Mutex<Vec<HistoryEntry>>,
    /// What was left out.
    pub(crate) left_out: Mutex<Vec<LeftOut>>,
    /// How many entries were asked for, each time.
    pub(crate) asked_for: Mutex<Vec<u32>>,
}

#[async_trait]
impl History for WrittenHistory {
    async fn list(
        &self,
        _job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<HistoryEntry>, StoreError> {
        self.asked_for.lock().unwrap().push(page.items_max);
        let entries = self.entries.lock().unwrap();
        // A position is the number of entries before it.
        let first = page.from.map_or(0, |from| from.parse().unwrap());
        let items: Vec<_> =
            entries.iter().skip(first).take(page.items_max as usize).cloned().collect();
        let end = first + items.len();
        let next = (end < entries.len()).then(|| format!("{end:06}"));
        Ok(Page { items, next })
    }

    async fn attempts_between(
        &self,
        _job_uid: &str,
        _from: DateTime<Utc>,
        _until: DateTime<Utc>,
    ) -> Result<Vec<Attempt>, StoreError> {
        Ok(Vec::new())
    }

    async fn list_left_out(
        &self,
        _job_uid: &str,
        _page: PageRequest,
    ) -> Result<Page<LeftOut>, StoreError> {
        Ok(Page { items: self.left_out.lock().unwrap().clone(), next: None })
    }
}

/// Keeps what was sent.
#[derive(Default)]
pub(crate) struct SentMessages(pub(crate) Mutex<Vec<QueueMessage>>);

#[async_trait]
impl DispatchQueue for SentMessages {
    async fn send(&self, messages: &[QueueMessage], _now: DateTime<Utc>) -> Result<(), QueueError> {
        self.0.lock().unwrap().extend_from_slice(messages);
        Ok(())
    }
}

/// Finds the same facts in every certificate, which expires now.
pub(super) struct KnownCertificate(pub(super) DateTime<Utc>);

impl CertificateReader for KnownCertificate {
    fn read(&self, _client: &ClientCertificate) -> Result<CertificateFacts, Refusal> {
        Ok(CertificateFacts {
            thumbprint: "77ED5AD8B6E3CDCF68E29FA8C41309EB3A128CEA".to_owned(),
            subject_name: "CN=May14SchedulerMgmt".to_owned(),
            expires_at: self.0,
        })
    }
}
