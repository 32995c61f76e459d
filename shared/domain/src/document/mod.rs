//! Jobs and collections as JSON documents: the form in which they are sent, kept and answered.
//!
//! There is one form, with the original service's names. A document that comes in goes through
//! three steps:
//!
//! 1. [`canonical_names`]: property names in the case of the original (any case is accepted);
//! 2. for a PATCH, [`merge_patch`] into the stored document, secrets included;
//! 3. [`read_job`] or [`read_collection`]: every value checked, into types that cannot hold
//!    anything else.
//!
//! [`write_job`] makes the document again, with its secrets for keeping and without them for
//! answering. Unknown properties are ignored, except inside `recurrence`, where they are refused.

mod fields;
mod merge;
mod names;
mod read;
mod read_action;
mod read_aws;
mod read_azure;
mod write;

pub use merge::{merge_patch, secrets_carried_elsewhere};
pub use names::{COLLECTION, JOB, Shape, canonical_names};
pub use read::{JOB_BYTES_MAX, read_collection, read_job};
pub use write::{Durations, Secrets, write_collection, write_job};

#[cfg(test)]
mod tests;
