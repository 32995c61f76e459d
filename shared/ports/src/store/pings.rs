use chrono::{DateTime, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::completion::Ending;
use minutehand_domain::job::JobState;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::timing::Timing;
use minutehand_domain::work_item::JobRef;
use minutehand_ports_macro::port;

use super::{JobRecord, OpenSpan, StoreError, TimerRecord};

/// The key of the address at which a job takes pings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingKey {
    /// The hash of the key, by which it is found.
    pub hash: String,
    /// The key itself, sealed.
    pub sealed: Vec<u8>,
}

impl PingKey {
    /// For what the key of a job is sealed.
    #[must_use]
    pub fn sealed_for(job_uid: &str) -> String {
        format!("ping {job_uid}")
    }
}

/// The job of a key, and what is remembered of its pings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingRead {
    /// The job.
    pub job: JobRef,
    /// The number of the book.
    pub number: u64,
    /// The book as text; empty if there is none yet.
    pub book: String,
    /// What decides which pings the job owes, if the same read has that.
    pub owing: Option<Box<PingOwing>>,
}

/// What decides which pings a job owes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingOwing {
    /// The state of the job.
    pub state: JobState,
    /// The generation of its timing.
    pub generation: u64,
    /// Its timetable as one line; `None` while it is disabled.
    pub timetable: Option<String>,
    /// Its document; empty if the line can be read without it.
    pub document: String,
    /// From when on it is as if the job did not exist; `None` while it has not finished.
    pub expires_at: Option<DateTime<Utc>>,
}

impl PingOwing {
    /// When the job fires; `None` if it does not, or if the line and the document are of different changes.
    #[must_use]
    pub fn schedule(&self) -> Option<Schedule> {
        let line = self.timetable.as_deref().filter(|_| self.state == JobState::Enabled)?;
        Schedule::read(line, &self.document).ok().filter(|it| it.policies.pings.is_some())
    }
}

impl From<JobRecord> for PingOwing {
    fn from(record: JobRecord) -> Self {
        let JobRecord { document, expires_at, timer, .. } = record;
        let TimerRecord { state, timing: Timing { generation, .. }, timetable, .. } = timer;
        Self { state, generation, timetable, document, expires_at }
    }
}

/// How fresh it must be what decides about a ping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PingFreshness {
    /// As it was a moment ago, if the store asks less for that. Storing a ping tells if the book was older.
    AMomentAgo,
    /// As it is now.
    Now,
}

/// A ping to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingWrite {
    /// The hash of the key with which it came.
    pub hash: String,
    /// The job.
    pub job: JobRef,
    /// The number of the book that was read.
    pub as_read: u64,
    /// The book after the ping. It gets the next number.
    pub book: String,
    /// What it does beside that.
    pub change: PingChange,
}

/// What a ping does to an occurrence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PingChange {
    /// Nothing.
    Nothing,
    /// It opens an attempt of which there is nothing yet, with the timer of its deadline. If it says how the
    /// attempt ended, that is stored with it.
    Opens {
        /// The attempt.
        attempt: Box<Attempt>,
        /// Stands for the claim under which it was made.
        claim_id: String,
        /// Since when it is at work, and its deadline.
        span: OpenSpan,
        /// Far behind its deadline, on the clock of work.
        held_until: DateTime<Utc>,
        /// How it ended, if it did.
        ending: Option<Ending>,
    },
    /// It says how an open attempt ended.
    Ends {
        /// The attempt.
        attempt: Box<Attempt>,
        /// How it ended.
        ending: Ending,
    },
}

impl PingChange {
    /// The attempt that ends with it.
    #[must_use]
    pub const fn ended(&self) -> Option<&Attempt> {
        match self {
            Self::Nothing | Self::Opens { ending: None, .. } => None,
            Self::Opens { attempt, .. } | Self::Ends { attempt, .. } => Some(attempt),
        }
    }
}

/// How storing a ping ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PingTaken {
    /// It is stored.
    Kept,
    /// Nothing is stored: another ping came first, or the key is another one now.
    Stale,
    /// Nothing is stored: a worker or another ending came first, or nothing could take pings at some time.
    Over,
}

/// The pings of jobs that expect them.
#[port]
pub trait Pings: Send + Sync {
    /// The key of a job, if it has one.
    async fn ping_key(&self, job_uid: &str) -> Result<Option<PingKey>, StoreError>;

    /// Stores the key of a job in place of the one that was read; `false` if it has another one now.
    async fn set_ping_key(
        &self,
        job: &JobRef,
        key: &PingKey,
        instead_of: Option<&str>,
    ) -> Result<bool, StoreError>;

    /// Finds the job of a key; `None` if no key has this hash, or the job is gone.
    async fn find_ping(
        &self,
        hash: &str,
        freshness: PingFreshness,
    ) -> Result<Option<PingRead>, StoreError>;

    /// Stores a ping with what it does: all of it or nothing.
    async fn take_ping(&self, write: &PingWrite) -> Result<PingTaken, StoreError>;
}

/// The signs of the processes with the API, as text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SignsRead {
    /// The number of the text; 0 if there is none yet.
    pub number: u64,
    /// What the signs tell.
    pub state: String,
}

/// The signs of the processes with the API, from which it is known when something could take pings.
#[port]
pub trait ApiSigns: Send + Sync {
    /// Reads the signs as they are now.
    async fn read_signs(&self) -> Result<SignsRead, StoreError>;

    /// Stores signs; `false` if they have changed since they were read with a number.
    async fn write_signs(&self, as_read: u64, state: &str) -> Result<bool, StoreError>;
}
