//! Work items: what a message of the queue asks a worker to do.

use crate::attempt::Attempt;

/// What is needed to find a job, in whatever state it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobRef {
    /// Its own, never reused.
    pub uid: String,
    /// Its collection.
    pub collection_uid: String,
    /// Its name, as its definition is found.
    pub key: String,
}

/// What a worker is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkItem {
    /// Make these attempts, which are of one job.
    Execute {
        /// Whose they are.
        job: JobRef,
        /// At least one.
        attempts: Vec<Attempt>,
    },
    /// See whether a job with nothing left to dispatch is over.
    Conclude {
        /// The job.
        job: JobRef,
        /// The timing it had when it was seen.
        generation: u64,
    },
    /// Delete a job that was over long ago.
    Delete {
        /// The job.
        job: JobRef,
        /// The timing with which it ended.
        generation: u64,
    },
    /// Delete the jobs of a collection that is deleted.
    Purge {
        /// The collection.
        collection_uid: String,
    },
}
