//! Jobs and collections as JSON documents: the form in which they are sent, stored and answered.
//!
//! There is one form, with the original service's names, and it is read through two doors:
//!
//! - [`accept`] reads what a client sends. It checks every value against the limits of today. Before
//!   it, [`canonical_names`] refuses unknown property names and brings the others into the original's
//!   case, a PATCH is merged into the stored document by [`merge_patch`], what official clients cannot
//!   send is added by [`keep_extensions`] and [`add_time_zone`], and secrets that the client left as
//!   they are by [`keep_withheld`].
//! - [`load`] reads what was accepted before, and [`load_shown`] the same without its secrets. They
//!   check the structure only: the types of values, names from a fixed list, and what becomes a part
//!   of a host name or a path. A limit that is tightened later does not break a stored job.
//!
//! A stored job with an extension that this version does not know is left to the newer version that
//! wrote it: [`unknown_extension`] finds out.
//!
//! [`JobDefinition::write`] writes a job once, and the [`JobDocument`] is rendered for the store and
//! for clients.
//!
//! [`JobDefinition::write`]: crate::job::JobDefinition::write

mod checks;
mod merge;
mod names;
mod read;
mod unsent;
mod withheld;
mod write;

pub use merge::merge_patch;
pub use names::{CARRIED, COLLECTION, JOB, NESTED, canonical_names, unknown_extension};
pub use read::{
    accept, accept_collection, load, load_collection, load_collection_shown, load_shown,
};
pub use unsent::{add_time_zone, keep_extensions, lacks_extensions, names_time_zone};
pub use withheld::{has_withheld, keep_withheld, withhold};
#[cfg(feature = "count-writes")]
pub use write::job_writes;
pub use write::{JOB_BYTES_MAX, JobDocument, collection_secrets, write_collection};

pub use crate::json::{Durations, Shape, SplitDocument};

#[cfg(test)]
mod tests;
