//! Pings of jobs that expect them, and the addresses at which they come.
//!
//! A ping is decided from what one read finds: the job of its key, and the [`PingBook`]. It is stored together with
//! the attempt that it opens or ends, and a message asks a worker to record that.
//!
//! | after | a crash leaves | repaired by |
//! |---|---|---|
//! | the ping is stored | an attempt that has ended and is not recorded | the timer of its deadline |

use std::sync::Arc;

use chrono::{DateTime, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::completion::{EndedBy, Ending};
use minutehand_domain::firing::Waited;
use minutehand_domain::ids::hex;
use minutehand_domain::job::JobState;
use minutehand_domain::name::Name;
use minutehand_domain::ping::{
    Ping, PingBook, PingEffect, PingEntry, PingKind, UnreadableBook, Uuid,
};
use minutehand_domain::refusal::Refusal;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    CollectionRecord, JobRecord, OpenSpan, PingChange, PingKey, PingRead, PingTaken, PingWrite,
    ResourceGroup,
};
use minutehand_ports::{Pings, SealError};
use sha2::{Digest as _, Sha256};

use super::Manage;
use super::describe::stored_schedule;
use super::run::job_ref;
use crate::definition::shown_definition;
use crate::error::AppError;
use crate::fire::{HELD_FOR, attempt_message};

/// How often a ping is tried while others come first.
const ROUNDS_MAX: usize = 20;
/// Before the id of a job in the place for which its key is sealed.
const SEALED_FOR: &str = "ping ";

/// What became of a ping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pinged {
    /// It is taken, whether or not something owed it.
    Taken,
    /// No job has this key.
    Unknown,
}

/// Where a job takes pings, and the last ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingAddress {
    /// The key.
    pub key: Uuid,
    /// The whole address, if this server knows its public one.
    pub url: Option<String>,
    /// The last pings, the newest first.
    pub entries: Vec<PingEntry>,
}

/// The job of a key.
struct Owing {
    job: JobRef,
    /// Its schedule and generation, if it owes pings now.
    schedule: Option<(Schedule, u64)>,
}

impl Manage {
    /// Takes a ping.
    ///
    /// # Errors
    ///
    /// If the store or the queue fails. The sender may ping again.
    pub async fn ping(
        &self,
        key: &Uuid,
        (kind, rid): (PingKind, Option<Uuid>),
        (exit_status, body): (Option<u8>, &str),
    ) -> Result<Pinged, AppError> {
        let Some(pings) = &self.pings else { return Ok(Pinged::Unknown) };
        let hash = hash(key);
        let ping = Ping::new(self.ports.clock.now(), kind, rid, exit_status, body);
        // The occurrences that turned out to have ended.
        let mut over = Vec::new();
        for _ in 0..ROUNDS_MAX {
            let Some(read) = pings.find_ping(&hash).await? else { return Ok(Pinged::Unknown) };
            let Some(owing) = self.owing(&read.job).await? else { return Ok(Pinged::Unknown) };
            let book = over.iter().fold(read_book(&read)?, |book, at| book.without(*at));
            let schedule = owing.schedule.as_ref().map(|(schedule, it)| (schedule, *it));
            let (book, effect) = book.taking(&ping, schedule);
            if effect == PingEffect::Repeated {
                return Ok(Pinged::Taken);
            }
            let (change, ended) = self.change(&owing, &ping, effect);
            let PingRead { job, number, .. } = read;
            let (hash, book) = (hash.clone(), book.to_string());
            let write = PingWrite { hash, job, as_read: number, book, change };
            match pings.take_ping(&write).await? {
                PingTaken::Kept => {
                    self.ask_to_record(&owing.job, ended).await?;
                    return Ok(Pinged::Taken);
                }
                PingTaken::Stale => {}
                PingTaken::Over => over.extend(effect.nominal_at()),
            }
        }
        Err(AppError::Busy { what: "a ping".to_owned() })
    }

    /// The job of a key as it is now; `None` if it is gone.
    async fn owing(&self, job: &JobRef) -> Result<Option<Owing>, AppError> {
        let Ok(name) = Name::new(&job.key) else { return Ok(None) };
        let found = self.ports.jobs.find(&job.collection_uid, &name).await?;
        let now = self.ports.clock.now();
        let is_it = |record: &JobRecord| {
            record.uid == job.uid && record.expires_at.is_none_or(|expires_at| expires_at > now)
        };
        let Some(record) = found.filter(is_it) else { return Ok(None) };
        let is_on = record.timer.state == JobState::Enabled;
        let schedule = stored_schedule(&record).filter(|it| is_on && it.policies.pings.is_some());
        let generation = record.timer.timing.generation;
        let schedule = schedule.map(|schedule| (schedule, generation));
        Ok(Some(Owing { job: job.clone(), schedule }))
    }

    /// What is stored for what a ping does, and the attempt that it ends.
    fn change(
        &self,
        owing: &Owing,
        ping: &Ping,
        effect: PingEffect,
    ) -> (PingChange, Option<Attempt>) {
        let attempt = |nominal_at| {
            let (schedule, generation) = owing.schedule.as_ref()?;
            let attempt = schedule.attempt(*generation, nominal_at);
            // It begins with the ping, which may come before its instant.
            Some(Attempt { waited: None, due_at: ping.at, ..attempt })
        };
        let by = match ping.kind {
            PingKind::Failure => EndedBy::Failure,
            PingKind::Success | PingKind::Start | PingKind::Log => EndedBy::Success,
        };
        let ending = Ending::new(ping.at, by, &ping.text);
        let opens = |attempt: Attempt, until: DateTime<Utc>, ending| PingChange::Opens {
            attempt: Box::new(attempt),
            claim_id: self.ports.ids.new_id(),
            span: OpenSpan { started_at: ping.at, until },
            held_until: self.ports.clock.work_now() + HELD_FOR,
            ending,
        };
        match effect {
            PingEffect::Repeated | PingEffect::Noted => (PingChange::Nothing, None),
            PingEffect::Starts { nominal_at, until } => match attempt(nominal_at) {
                Some(attempt) => (opens(attempt, until, None), None),
                None => (PingChange::Nothing, None),
            },
            PingEffect::Pays { nominal_at, until } => match attempt(nominal_at) {
                Some(attempt) => (opens(attempt.clone(), until, Some(ending)), Some(attempt)),
                None => (PingChange::Nothing, None),
            },
            PingEffect::Ends { nominal_at, generation } => {
                let occurrence = Occurrence::Scheduled { nominal_at };
                let attempt = Attempt::first(generation, occurrence);
                (PingChange::Ends { attempt: Box::new(attempt.clone()), ending }, Some(attempt))
            }
        }
    }

    /// Asks a worker to record the attempt that a ping has ended.
    async fn ask_to_record(&self, job: &JobRef, ended: Option<Attempt>) -> Result<(), AppError> {
        let Some(attempt) = ended else { return Ok(()) };
        let due_at = self.ports.clock.now();
        let waited = Some(Waited::Completion);
        let ends = Attempt { due_at, is_long: true, waited, ..attempt };
        Ok(self.ports.queue.send(&[attempt_message(job, ends)], due_at).await?)
    }

    /// Where a job takes pings. The first request makes its key.
    ///
    /// # Errors
    ///
    /// If the collection or the job does not exist, or the job expects no pings.
    pub async fn ping_address(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        name: &Name,
    ) -> Result<PingAddress, AppError> {
        let (pings, collection, job) = self.pinged(place, collection, name).await?;
        for _ in 0..ROUNDS_MAX {
            if let Some(PingKey { hash, sealed }) = pings.ping_key(&job.uid).await? {
                let opened = self.ports.sealer.open(&sealed_for(&job.uid), &sealed).await;
                let key = opened.map_err(|error| match error {
                    SealError::NotOurs => AppError::from(Refusal::invalid(format!(
                        "The key of this installation does not open the URL of the job '{name}'. Replace it with \
                         'job rotate-ping'."
                    ))),
                    error @ SealError::NoKey(_) => error.into(),
                })?;
                let key = Uuid::read(&key).ok_or_else(|| newer(&job.uid))?;
                let read = pings.find_ping(&hash).await?;
                let book = read.as_ref().map(read_book).transpose()?.unwrap_or_default();
                return Ok(self.address(key, &book));
            }
            if let Some(key) = self.new_key(pings.as_ref(), &collection, &job, None).await? {
                return Ok(self.address(key, &PingBook::default()));
            }
        }
        Err(AppError::Busy { what: format!("the pings of job '{name}'") })
    }

    /// Replaces the key of a job: pings with the one before are not taken any more.
    ///
    /// # Errors
    ///
    /// As [`ping_address`](Self::ping_address).
    pub async fn rotate_ping(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        name: &Name,
    ) -> Result<PingAddress, AppError> {
        let (pings, collection, job) = self.pinged(place, collection, name).await?;
        let entry = self.job_entry(&job.name, Some(&job.document), Some(&job.document), true);
        self.ports.jobs.note(&collection.collection.uid, &entry).await?;
        for _ in 0..ROUNDS_MAX {
            let before = pings.ping_key(&job.uid).await?.map(|it| it.hash);
            let made = self.new_key(pings.as_ref(), &collection, &job, before.as_deref()).await?;
            if let Some(key) = made {
                return Ok(self.address(key, &PingBook::default()));
            }
        }
        Err(AppError::Busy { what: format!("the pings of job '{name}'") })
    }

    /// A job that expects pings.
    async fn pinged(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        name: &Name,
    ) -> Result<(Arc<dyn Pings>, CollectionRecord, JobRecord), AppError> {
        let collection = self.parent(place, collection).await?;
        let job = self.job(&collection, name).await?;
        let definition = shown_definition(&job.uid, &job.document)?;
        match (&self.pings, definition.action.ping_window()) {
            (Some(pings), Some(_)) => Ok((pings.clone(), collection, job)),
            _ => Err(Refusal::about(
                "action.type",
                format!(
                    "of the job '{name}' is '{}', which takes no pings. Only a job of type Expect has a URL for \
                     them.",
                    definition.action.action.target.type_name()
                ),
            )
            .into()),
        }
    }

    /// Makes a key of a job in place of another one; `None` if the job has yet another one now.
    async fn new_key(
        &self,
        pings: &dyn Pings,
        collection: &CollectionRecord,
        job: &JobRecord,
        instead_of: Option<&str>,
    ) -> Result<Option<Uuid>, AppError> {
        let random = Sha256::digest(self.ports.ids.new_id());
        let (bits, _) = random.split_first_chunk().ok_or_else(|| newer(&job.uid))?;
        let key = Uuid::of_bits(u128::from_be_bytes(*bits));
        let sealed = self.ports.sealer.seal(&sealed_for(&job.uid), key.as_str()).await?;
        let stored = PingKey { hash: hash(&key), sealed };
        let is_kept = pings.set_ping_key(&job_ref(collection, job), &stored, instead_of).await?;
        Ok(is_kept.then_some(key))
    }

    fn address(&self, key: Uuid, book: &PingBook) -> PingAddress {
        let url = self.ports.completions.as_ref().map(|urls| urls.below(key.as_str()));
        PingAddress { key, url, entries: book.entries().cloned().collect() }
    }
}

fn sealed_for(job_uid: &str) -> String {
    format!("{SEALED_FOR}{job_uid}")
}

fn hash(key: &Uuid) -> String {
    hex(&Sha256::digest(key.as_str()))
}

fn read_book(read: &PingRead) -> Result<PingBook, AppError> {
    read.book.parse().map_err(|UnreadableBook| newer(&read.job.uid))
}

/// What is stored of the pings of a job is of a newer version.
fn newer(job_uid: &str) -> AppError {
    AppError::Newer { name: job_uid.to_owned(), what: "pings".to_owned() }
}
