//! Open files: how many the process may have, and what they are for.
//!
//! Every connection is an open file to the system, and so is every part of the store. If attempts
//! took all of them, the API could not accept a connection and the store could not write. So the
//! process raises its limit as far as it may, and divides it once, at the start, into shares. Each
//! share is the limit of the part that uses it.

use minutehand_actions::IDLE_CONNECTIONS_MAX;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Kept for the process itself: its data, its log, name resolution, certificates.
const KEPT: u64 = 128;
/// The API has this share of the others, as one of so many parts.
const CONNECTIONS_PART: u64 = 4;
/// The most connections of the API.
const CONNECTIONS_MAX: u64 = 512;
/// Idle connections to a target have this share of what is left, as one of so many parts.
const IDLE_PART: u64 = 4;
/// The most attempts under way: more would only use memory, about 40 KB each.
const ATTEMPTS_MAX: u64 = 16_384;
/// With fewer files the log has a warning.
const ENOUGH: u64 = 1_024;

/// How many files each part of the process may have open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileShares {
    /// Connections of the API.
    pub(super) connections: usize,
    /// Attempts under way.
    pub(super) attempts: usize,
    /// Connections to a target that wait for the next attempt.
    pub(super) idle: usize,
}

impl FileShares {
    /// Raises the limit of the process as far as it may, and divides it. The log tells the shares.
    pub(super) fn claim() -> Self {
        let files = raise_limit();
        let shares = Self::of(files);
        let Self { connections, attempts, idle } = shares;
        tracing::info!(files, attempts, idle, api = connections, kept = KEPT, "open files");
        if files < ENOUGH {
            tracing::warn!(files, enough = ENOUGH, "few files may be open: raise the limit");
        }
        shares
    }

    /// The shares of so many files. No share is empty, however few there are.
    fn of(files: u64) -> Self {
        let shared = files.saturating_sub(KEPT);
        let connections = (shared / CONNECTIONS_PART).clamp(1, CONNECTIONS_MAX);
        let outgoing = shared.saturating_sub(connections);
        let idle = (outgoing / IDLE_PART).clamp(1, IDLE_CONNECTIONS_MAX as u64);
        let attempts = outgoing.saturating_sub(idle).clamp(1, ATTEMPTS_MAX);
        let [connections, attempts, idle] =
            [connections, attempts, idle].map(|files| usize::try_from(files).unwrap_or(usize::MAX));
        Self { connections, attempts, idle }
    }
}

/// Raises the soft limit to the hard one. Returns how many files may be open now.
fn raise_limit() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return current.unwrap_or(u64::MAX);
    }
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => maximum.unwrap_or(u64::MAX),
        Err(error) => {
            let files = current.unwrap_or(u64::MAX);
            tracing::warn!(%error, files, "the limit of open files could not be raised");
            files
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_divided_between_the_api_attempts_and_idle_connections() {
        for (files, connections, attempts, idle) in [
            (0, 1, 1, 1),
            (130, 1, 1, 1),
            (256, 32, 72, 24),
            (1_024, 224, 504, 168),
            (8_192, 512, 6_528, 1_024),
            (20_000, 512, 16_384, 1_024),
            (u64::MAX, 512, 16_384, 1_024),
        ] {
            let expected = FileShares { connections, attempts, idle };
            assert_eq!(FileShares::of(files), expected, "{files}");
        }
    }

    #[test]
    fn the_shares_and_what_is_kept_never_exceed_the_limit() {
        for files in (KEPT + 3)..40_000 {
            let FileShares { connections, attempts, idle } = FileShares::of(files);
            let used = KEPT + (connections + attempts + idle) as u64;
            assert!(used <= files, "{files}: {used}");
        }
    }
}
