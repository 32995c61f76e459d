//! Incidents as sweepers and workers notice them: see [`incident`](super::incident).
//!
//! A process remembers for a minute what it noticed, so that thousands of late attempts are a few messages. It
//! remembers that only after the message is sent.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::alert::{CollectionAlert, Tells};
use minutehand_domain::incident::{Incident, IncidentKind};
use minutehand_domain::work_item::{JobRef, WorkItem};
use minutehand_ports::QueueMessage;

/// For how long a process sends no message about another incident of one kind.
const REMEMBERED_FOR: TimeDelta = TimeDelta::minutes(1);
/// The most collections and kinds that a process remembers. What is noticed of others is sent each time.
const REMEMBERED_MAX: usize = 1_000;

/// Which incidents this process has noticed, by collection and kind.
#[derive(Default)]
pub(super) struct Noticed(Mutex<HashMap<(String, IncidentKind), DateTime<Utc>>>);

impl Noticed {
    fn known(&self) -> MutexGuard<'_, HashMap<(String, IncidentKind), DateTime<Utc>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an incident of this kind was noticed shortly before or after this instant.
    pub(super) fn has(&self, collection_uid: &str, kind: IncidentKind, at: DateTime<Utc>) -> bool {
        let known = self.known().get(&(collection_uid.to_owned(), kind)).copied();
        known.is_some_and(|known| (at - known).abs() < REMEMBERED_FOR)
    }

    /// Remembers an incident whose message is sent.
    pub(super) fn remember(&self, collection_uid: &str, kind: IncidentKind, at: DateTime<Utc>) {
        let mut known = self.known();
        if known.len() >= REMEMBERED_MAX {
            known.retain(|_, known| (at - *known).abs() < REMEMBERED_FOR);
        }
        if known.len() < REMEMBERED_MAX {
            known.insert((collection_uid.to_owned(), kind), at);
        }
    }
}

/// An incident, and where and when it was noticed.
pub(super) struct Sighting<'a> {
    pub(super) job: &'a JobRef,
    /// The occurrence of the job.
    pub(super) occurrence: DateTime<Utc>,
    pub(super) at: DateTime<Utc>,
    pub(super) incident: Incident,
}

impl Sighting<'_> {
    /// The message that asks for its alert. The name of the job is better than its key, if it is known.
    pub(super) fn message(&self, job: &str, now: DateTime<Utc>) -> QueueMessage {
        let Self { occurrence, at, incident, .. } = *self;
        let tells = Tells::Incident { incident, job: job.to_owned(), occurrence };
        let collection_uid = self.job.collection_uid.clone();
        let alert = CollectionAlert { at, tells };
        QueueMessage { work_item: WorkItem::Alert { collection_uid, alert }, due_at: now }
    }
}
