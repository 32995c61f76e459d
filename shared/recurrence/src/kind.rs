//! The kinds of timetables: what decides the seconds at which one fires.

use crate::pattern::Pattern;
use crate::timeline::Reading;

/// How the seconds of the occurrences are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "stays `Copy`: boxing would allocate on every clone")]
pub(crate) enum Occurrences {
    /// The start is the only occurrence.
    Once,
    /// Elapsed time: an occurrence every `step` seconds from the start.
    Elapsed { step: i64 },
    /// Civil times: the clock of the zone shows one that the pattern contains.
    Civil { pattern: Pattern, reading: Reading },
}
