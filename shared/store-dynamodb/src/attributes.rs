//! The names of attributes that jobs and their timers share.

/// From when on an item is as if it did not exist, in seconds since 1970.
pub(crate) const EXPIRES_AT: &str = "expires_at";
/// Of a definition: the timings that the job had before, the oldest first.
pub(crate) const TIMINGS: &str = "timings";
