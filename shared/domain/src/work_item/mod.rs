//! Work items: what a message in the queue asks a worker to do.
//!
//! [`encode`], [`encode_waiting`] and [`decode`] define how work items are written into messages, and
//! [`pack`] which of them share a message.

mod common_end;
mod packet;
mod wire;

use crate::alert::CollectionAlert;
use crate::attempt::Attempt;

pub use common_end::planned_until;
pub use packet::{PACKET_ATTEMPTS_MAX, PACKET_RECEIVES_MAX, Packet, SHARED_GROUP, pack};
pub use wire::{UnreadableMessage, decode, decode_one, deliveries_before, encode, encode_waiting};

/// Identifies a job and where its items are stored, whatever the job's state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobRef {
    /// The job's identity, never reused.
    pub uid: String,
    /// The identity of the job's collection.
    pub collection_uid: String,
    /// The job's name in the form under which its definition is stored.
    pub key: String,
}

/// What a message asks a worker to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkItem {
    /// Make one attempt.
    Attempt {
        /// The job that the attempt belongs to.
        job: JobRef,
        /// The attempt to make.
        attempt: Attempt,
    },
    /// Check whether a job with nothing left to dispatch has finished.
    CheckFinished {
        /// The job to check.
        job: JobRef,
        /// The generation of the job's timing when the sweeper read it.
        generation: u64,
    },
    /// Let a job expire that finished long ago. Only jobs that an earlier version finished ask for it.
    DeleteJob {
        /// The job.
        job: JobRef,
        /// The generation of the timing with which the job finished.
        generation: u64,
    },
    /// Delete the jobs of a deleted collection.
    PurgeCollection {
        /// The identity of the collection.
        collection_uid: String,
    },
    /// Send an alert of a collection that follows no attempt.
    Alert {
        /// The identity of the collection.
        collection_uid: String,
        /// The alert.
        alert: CollectionAlert,
    },
}

impl WorkItem {
    /// The job that the work item is about.
    #[must_use]
    pub const fn job(&self) -> Option<&JobRef> {
        match self {
            Self::Attempt { job, .. }
            | Self::CheckFinished { job, .. }
            | Self::DeleteJob { job, .. } => Some(job),
            Self::PurgeCollection { .. } | Self::Alert { .. } => None,
        }
    }

    /// The identity of the collection that the work item is about.
    #[must_use]
    pub fn collection_uid(&self) -> &str {
        match self {
            Self::Attempt { job, .. }
            | Self::CheckFinished { job, .. }
            | Self::DeleteJob { job, .. } => &job.collection_uid,
            Self::PurgeCollection { collection_uid } | Self::Alert { collection_uid, .. } => {
                collection_uid
            }
        }
    }
}
