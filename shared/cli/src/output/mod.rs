//! How answers look: tables, times, JSON, progress and questions.

pub(crate) mod ask;
pub(crate) mod json;
pub(crate) mod marks;
pub(crate) mod progress;
pub(crate) mod screen;
pub(crate) mod table;
pub(crate) mod times;

/// A number of things that a server counted.
pub(crate) fn count(number: u64, thing: &str) -> String {
    plural(usize::try_from(number).unwrap_or(usize::MAX), thing)
}

/// A number of things: `1 job`, `2 jobs`.
pub(crate) fn plural(count: usize, thing: &str) -> String {
    if count == 1 { format!("{count} {thing}") } else { format!("{count} {thing}s") }
}
