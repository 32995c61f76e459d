//! Pings of jobs that expect them, and the addresses at which they come.
//!
//! A ping is decided from what one read finds: the job of its key, and the [`PingBook`]. It is stored together with
//! the attempt that it opens or ends, and a message asks a worker to record that.
//!
//! | after | a crash leaves | repaired by |
//! |---|---|---|
//! | the body is kept, if it is long | a body without a record, which is deleted when its time is over | |
//! | the ping is stored | an attempt that has ended and is not recorded | the timer of its deadline |
//!
//! A message that cannot be sent is as one that was lost: the ping counts, and the timer records it.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::completion::{EndedBy, Ending};
use minutehand_domain::history_name::HistoryName;
use minutehand_domain::ids::hex;
use minutehand_domain::name::Name;
use minutehand_domain::ping::{Ping, PingBook, PingEffect, PingEntry, PingKind, Uuid};
use minutehand_domain::refusal::Refusal;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    CollectionRecord, JobRecord, OpenSpan, PingChange, PingFreshness, PingKey, PingOwing, PingRead,
    PingTaken, PingWrite,
};
use minutehand_ports::{Bytes, Pings, SealError, chain};
use sha2::{Digest as _, Sha256};

use super::describe::job_ref;
use super::{JobPlace, Manage};
use crate::definition::shown_definition;
use crate::error::{AppError, Result};
use crate::fire::{HELD_FOR, attempt_message, put_in_time};

/// How often a ping is tried while others come first.
const ROUNDS_MAX: usize = 20;

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
    ) -> Result<Pinged> {
        let Some(pings) = self.pings.as_ref().map(|pings| &pings.store) else {
            return Ok(Pinged::Unknown);
        };
        let hash = hash(key);
        let ping = Ping::new(self.ports.clock.now(), kind, rid, exit_status, body);
        // The occurrences that turned out to have ended.
        let mut over = Vec::new();
        let mut freshness = PingFreshness::AMomentAgo;
        for _ in 0..ROUNDS_MAX {
            let Some(read) = pings.find_ping(&hash, freshness).await? else {
                return Ok(Pinged::Unknown);
            };
            let Some(owing) = self.owing(&read).await? else { return Ok(Pinged::Unknown) };
            let book = over.iter().fold(read_book(&read)?, |book, at| book.without(*at));
            let schedule = owing.schedule.as_ref().map(|(schedule, it)| (schedule, *it));
            let (book, effect) = book.taking(&ping, schedule);
            if effect == PingEffect::Repeated {
                return Ok(Pinged::Taken);
            }
            let whole = (body.trim().len() > ping.text.len()).then_some(body);
            let change = self.change(&owing, &ping, effect, whole).await;
            let ended = change.ended().cloned();
            let PingRead { job, number, .. } = read;
            let (hash, book) = (hash.clone(), book.to_string());
            let write = PingWrite { hash, job, as_read: number, book, change };
            match pings.take_ping(&write).await? {
                PingTaken::Kept => {
                    if let Some(attempt) = ended {
                        self.ask_to_record(&owing.job, attempt).await;
                    }
                    return Ok(Pinged::Taken);
                }
                PingTaken::Stale => {}
                PingTaken::Over => over.extend(effect.nominal_at()),
            }
            freshness = PingFreshness::Now;
        }
        Err(AppError::Busy { what: "a ping".to_owned() })
    }

    /// The job of a key as it is now; `None` if it is gone.
    async fn owing(&self, read: &PingRead) -> Result<Option<Owing>> {
        let job = &read.job;
        let found = match (&read.owing, Name::new(&job.key)) {
            (Some(owing), _) => Some(PingOwing::clone(owing)),
            (None, Ok(name)) => {
                let record = self.ports.jobs.find(&job.collection_uid, &name).await?;
                record.filter(|record| record.uid == job.uid).map(PingOwing::from)
            }
            (None, Err(_)) => None,
        };
        let now = self.ports.clock.now();
        let is_alive =
            |owing: &PingOwing| owing.expires_at.is_none_or(|expires_at| expires_at > now);
        let Some(owing) = found.filter(is_alive) else { return Ok(None) };
        let schedule = owing.schedule().map(|schedule| (schedule, owing.generation));
        Ok(Some(Owing { job: job.clone(), schedule }))
    }

    /// What is stored for what a ping does. `whole` is its body, if that is longer than what history has of it.
    async fn change(
        &self,
        owing: &Owing,
        ping: &Ping,
        effect: PingEffect,
        whole: Option<&str>,
    ) -> PingChange {
        let attempt = |nominal_at| {
            let (schedule, generation) = owing.schedule.as_ref()?;
            let attempt = schedule.attempt(*generation, nominal_at);
            // It begins with the ping, which may come before its instant.
            Some(Box::new(Attempt { waited: None, due_at: ping.at, ..attempt }))
        };
        let opened = match effect {
            PingEffect::Repeated | PingEffect::Noted => None,
            PingEffect::Starts { nominal_at, until } => {
                attempt(nominal_at).map(|attempt| (attempt, until, None))
            }
            PingEffect::Pays { nominal_at, until } => match attempt(nominal_at) {
                Some(attempt) => {
                    let ending = self.ending(owing, ping, (&attempt, ping.at), whole).await;
                    Some((attempt, until, Some(ending)))
                }
                None => None,
            },
            PingEffect::Ends { nominal_at, generation, started_at } => {
                let occurrence = Occurrence::Scheduled { nominal_at };
                let attempt = Box::new(Attempt::first(generation, occurrence));
                let ending = self.ending(owing, ping, (&attempt, started_at), whole).await;
                return PingChange::Ends { attempt, ending };
            }
        };
        let Some((attempt, until, ending)) = opened else { return PingChange::Nothing };
        PingChange::Opens {
            attempt,
            claim_id: self.ports.ids.new_id(),
            span: OpenSpan { started_at: ping.at, until },
            held_until: self.ports.clock.work_now() + HELD_FOR,
            ending,
        }
    }

    /// The ending of an attempt that began at an instant. Its whole body is kept, if it is to be.
    async fn ending(
        &self,
        Owing { job, .. }: &Owing,
        ping: &Ping,
        (attempt, started_at): (&Attempt, DateTime<Utc>),
        whole: Option<&str>,
    ) -> Ending {
        let by = match ping.kind {
            PingKind::Failure => EndedBy::Failure,
            PingKind::Success | PingKind::Start | PingKind::Log => EndedBy::Success,
        };
        let ending = Ending::new(ping.at, by, &ping.text);
        let bodies = self.pings.as_ref().and_then(|pings| pings.bodies.as_ref());
        let (Some(bodies), Some(whole)) = (bodies, whole) else { return ending };
        let place = (job.uid.as_str(), HistoryName::new(attempt, started_at));
        let body = Bytes::copy_from_slice(whole.as_bytes());
        match put_in_time(&**bodies, &*self.ports.clock, place, body).await {
            Ok(body_bytes) => Ending { body_bytes, ..ending },
            Err(error) => {
                let (uid, id) = (&job.uid, attempt.id());
                tracing::warn!(job.uid = uid, attempt = %id, error, "the body of a ping is not kept");
                ending
            }
        }
    }

    /// Asks a worker to record an attempt that a ping has ended. The ping is stored, so it need not be sent again if
    /// this fails.
    async fn ask_to_record(&self, job: &JobRef, attempt: Attempt) {
        let due_at = self.ports.clock.now();
        let ends = Attempt { due_at, is_long: true, ..attempt }.to_end();
        if let Err(error) = self.ports.queue.send(&[attempt_message(job, ends)], due_at).await {
            let (uid, error) = (&job.uid, chain(&error));
            tracing::warn!(job.uid = uid, error, "a ping is recorded at its deadline, and not now");
        }
    }

    /// Where a job takes pings. The first request makes its key.
    ///
    /// # Errors
    ///
    /// If the collection or the job does not exist, or the job expects no pings.
    pub async fn ping_address(&self, of: JobPlace<'_>) -> Result<PingAddress> {
        let pinged = self.pinged(of).await?;
        self.key_of(&pinged, true).await
    }

    /// Replaces the key of a job: pings with the one before are not taken any more.
    ///
    /// # Errors
    ///
    /// As [`ping_address`](Self::ping_address).
    pub async fn rotate_ping(&self, of: JobPlace<'_>) -> Result<PingAddress> {
        let pinged = self.pinged(of).await?;
        let (_, collection, job) = &pinged;
        let entry = self.job_entry(&job.name, Some(&job.document), Some(&job.document), true);
        self.ports.jobs.note(&collection.collection.uid, &entry).await?;
        self.key_of(&pinged, false).await
    }

    /// The key of a job: the one that it has, if that is wanted, else a new one.
    async fn key_of(
        &self,
        (pings, collection, job): &(Arc<dyn Pings>, CollectionRecord, JobRecord),
        keeps: bool,
    ) -> Result<PingAddress> {
        for _ in 0..ROUNDS_MAX {
            let before = pings.ping_key(&job.uid).await?;
            if let Some(PingKey { hash, sealed }) = before.as_ref().filter(|_| keeps) {
                let key = self.opened_key(job, sealed).await?;
                let read = pings.find_ping(hash, PingFreshness::Now).await?;
                let book = read.as_ref().map(read_book).transpose()?.unwrap_or_default();
                return Ok(self.address(key, &book));
            }
            let before = before.map(|it| it.hash);
            let made = self.new_key(pings.as_ref(), collection, job, before.as_deref()).await?;
            if let Some(key) = made {
                return Ok(self.address(key, &PingBook::default()));
            }
        }
        Err(AppError::Busy { what: format!("the pings of job '{}'", job.name) })
    }

    async fn opened_key(&self, job: &JobRecord, sealed: &[u8]) -> Result<Uuid> {
        let opened = self.ports.sealer.open(&PingKey::sealed_for(&job.uid), sealed).await;
        let key = opened.map_err(|error| match error {
            SealError::NotOurs => AppError::from(Refusal::invalid(format!(
                "The key of this installation does not open the URL of the job '{}'. Replace it with \
                 'job rotate-ping'.",
                job.name
            ))),
            error @ SealError::NoKey(_) => error.into(),
        })?;
        Uuid::read(&key).ok_or_else(|| newer(&job.uid))
    }

    /// A job that expects pings.
    async fn pinged(
        &self,
        of: JobPlace<'_>,
    ) -> Result<(Arc<dyn Pings>, CollectionRecord, JobRecord)> {
        let (.., name) = of;
        let (collection, job) = self.parent_and_job(of).await?;
        let definition = shown_definition(&job.uid, &job.document)?;
        match (&self.pings, definition.action.ping_window()) {
            (Some(pings), Some(_)) => Ok((pings.store.clone(), collection, job)),
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
    ) -> Result<Option<Uuid>> {
        let random = Sha256::digest(self.ports.ids.new_id());
        let (bits, _) = random.split_first_chunk().ok_or_else(|| newer(&job.uid))?;
        let key = Uuid::of_bits(u128::from_be_bytes(*bits));
        let sealed = self.ports.sealer.seal(&PingKey::sealed_for(&job.uid), key.as_str()).await?;
        let stored = PingKey { hash: hash(&key), sealed };
        let is_kept = pings.set_ping_key(&job_ref(collection, job), &stored, instead_of).await?;
        Ok(is_kept.then_some(key))
    }

    fn address(&self, key: Uuid, book: &PingBook) -> PingAddress {
        let url = self.ports.completions.as_ref().map(|urls| urls.below(key.as_str()));
        PingAddress { key, url, entries: book.entries().cloned().collect() }
    }
}

fn hash(key: &Uuid) -> String {
    hex(&Sha256::digest(key.as_str()))
}

fn read_book(read: &PingRead) -> Result<PingBook> {
    PingBook::read(&read.book).ok_or_else(|| newer(&read.job.uid))
}

/// What is stored of the pings of a job is of a newer version.
fn newer(job_uid: &str) -> AppError {
    AppError::Newer { name: job_uid.to_owned(), what: "pings".to_owned() }
}
