//! `minutehand installation export|import`: the collections and jobs of an installation as files, and
//! from there into another installation.
//!
//! An export reads a data directory or a table, and writes a backup: see `archive` for its files, and
//! `carry` for what it carries. It changes nothing of what it reads, but a data directory of an
//! older version gets the format of this one, as by a start.
//!
//! An import reads the whole backup before it writes, and once more to write. First it checks files against
//! the manifest, each line and each schedule; then, with the target open, that this is empty or has none of
//! the names, and that each secret opens, which is another reading. Only then, it writes:
//!
//! | step | a crash after it leaves | repaired by |
//! |---|---|---|
//! | note that the import has begun | a target that another import without `--merge` refuses | the same import, which goes on |
//! | bring cloud services and collections; all of them are off | collections without jobs, which fire nothing | the same |
//! | bring jobs, each in one transaction | some of the jobs, whole, in collections that are off | the same: a job that is there stays as it is |
//! | bring retries | some of them, whose collections are off | the same |
//! | note that the import has ended | nothing | |
//!
//! So nothing fires before a user switches a collection on. What is due before that never fires here: an
//! attempt that was due while its collection was off does not start. And no attempt of the source starts
//! here, because its generation is over.
//!
//! A crash of an export leaves a folder without a manifest, which is no backup, and with `--seal-to` a key
//! file for nothing. The next export writes another folder.

mod export;
mod import;
mod place;
mod secrets;

use std::io::{self, IsTerminal as _, Write as _};

use minutehand_cli::Progress;

pub use export::{ExportOptions, Exported, export};
pub use import::{ImportOptions, Imported, import};
pub use place::Place;

/// The most names of collections that a message lists.
const NAMES_MAX: usize = 50;

/// A bar on a terminal. Elsewhere [`note`] prints lines.
fn bar(doing: &'static str, length: u64) -> Progress {
    Progress::shown(io::stderr().is_terminal(), false, doing, length)
}

/// Says how far the work is, where there is no bar.
fn note(text: &str) {
    let mut out = io::stderr().lock();
    if !out.is_terminal() {
        // If standard error cannot be written, there is no other place to report it.
        let _ = writeln!(out, "{text}");
    }
}

/// Names in lines, as many as a message lists.
fn listed<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    let mut text = String::new();
    for name in names.take(NAMES_MAX) {
        text.extend(["\n  ", name]);
    }
    if more > 0 {
        text.extend(["\n  and ", &more.to_string(), " more"]);
    }
    text
}

#[cfg(test)]
mod tests;
