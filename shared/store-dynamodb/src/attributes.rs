//! The names of attributes that several kinds of items share.

/// Of an attempt and of a run that is kept: the caller who asked for the run.
pub(crate) const ASKED_BY: &str = "asked_by";
/// From when on an item is as if it did not exist, in seconds since 1970.
pub(crate) const EXPIRES_AT: &str = "expires_at";
/// Of a definition: the timings that the job had before, the oldest first.
pub(crate) const TIMINGS: &str = "timings";
/// When a timer last moved.
pub(crate) const MOVED_AT: &str = "moved_at";
