//! Removing what has expired. A table is read in slices, in the order of its key, behind a position; what
//! has expired of a slice is removed by its key, if it has expired still.
//!
//! `?1` is the time of the schedule, `?2` that of work and `?3` until when the archive has everything.

/// The statements of one table.
#[derive(Debug)]
pub(crate) struct Expiring {
    /// How many columns its key has.
    pub(crate) key_columns: usize,
    /// The first slice: the key, and whether the row has expired. `?4` is the size of a slice.
    pub(crate) first: &'static str,
    /// The slice behind the key whose columns are the parameters from `?5` on.
    pub(crate) next: &'static str,
    /// Removes the row of a key, whose columns are the parameters from `?4` on.
    pub(crate) remove: &'static [&'static str],
}

macro_rules! expiring {
    ($columns:literal, $table:literal, $key:literal, $own:literal, $behind:literal, $expired:literal
     $(, $before:literal)*) => {
        Expiring {
            key_columns: $columns,
            first: concat!(
                "SELECT ", $key, ", CASE WHEN ", $expired, " THEN 1 ELSE 0 END FROM ", $table,
                " ORDER BY ", $key, " LIMIT ?4"
            ),
            next: concat!(
                "SELECT ", $key, ", CASE WHEN ", $expired, " THEN 1 ELSE 0 END FROM ", $table,
                " WHERE (", $key, ") > (", $behind, ") ORDER BY ", $key, " LIMIT ?4"
            ),
            remove: &[
                $($before,)*
                concat!("DELETE FROM ", $table, " WHERE (", $key, ") = (", $own, ") AND ", $expired),
            ],
        }
    };
}

/// Every table with rows that expire. A claim does so by the clock of work, and what the archive is to have
/// and does not have yet stays.
pub(crate) const EXPIRING: [Expiring; 12] = [
    expiring!(
        6,
        "attempts",
        "job_uid, nominal_at, generation, occurrence, role, number",
        "?4, ?5, ?6, ?7, ?8, ?9",
        "?5, ?6, ?7, ?8, ?9, ?10",
        "expires_at <= CASE WHEN ended_at IS NULL THEN ?2 ELSE ?1 END \
         AND (ended_at IS NULL OR ended_at < ?3)"
    ),
    expiring!(
        4,
        "journal",
        "collection_uid, at, job_key, request_id",
        "?4, ?5, ?6, ?7",
        "?5, ?6, ?7, ?8",
        "expires_at <= ?1 AND at < ?3"
    ),
    expiring!(
        2,
        "jobs",
        "collection_uid, name_key",
        "?4, ?5",
        "?5, ?6",
        "expires_at <= ?1",
        "DELETE FROM pings WHERE job_uid = (SELECT uid FROM jobs \
         WHERE collection_uid = ?4 AND name_key = ?5 AND expires_at <= ?1 /*pg FOR UPDATE*/)",
        "DELETE FROM timers WHERE job_uid = (SELECT uid FROM jobs \
         WHERE collection_uid = ?4 AND name_key = ?5 AND expires_at <= ?1 /*pg FOR UPDATE*/)"
    ),
    expiring!(3, "counted", "job_uid, newest, ids", "?4, ?5, ?6", "?5, ?6, ?7", "expires_at <= ?1"),
    expiring!(
        4,
        "left_out",
        "job_uid, first_at, generation, reason",
        "?4, ?5, ?6, ?7",
        "?5, ?6, ?7, ?8",
        "expires_at <= ?1"
    ),
    expiring!(
        4,
        "failures",
        "subscription_key, ended_at, nominal_at, job_uid",
        "?4, ?5, ?6, ?7",
        "?5, ?6, ?7, ?8",
        "expires_at <= ?1"
    ),
    expiring!(2, "asked", "job_uid, asked_key", "?4, ?5", "?5, ?6", "expires_at <= ?1"),
    expiring!(
        3,
        "quarters",
        "collection_uid, at, part",
        "?4, ?5, ?6",
        "?5, ?6, ?7",
        "expires_at <= ?1"
    ),
    expiring!(1, "turns", "job_uid", "?4", "?5", "expires_at <= ?2"),
    expiring!(1, "alerts", "uid", "?4", "?5", "expires_at <= ?1"),
    expiring!(1, "slots", "collection_uid", "?4", "?5", "expires_at <= ?1"),
    expiring!(
        3,
        "seats",
        "collection_uid, process, claim_id",
        "?4, ?5, ?6",
        "?5, ?6, ?7",
        "lease_until < ?2"
    ),
];
