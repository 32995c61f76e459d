//! The identity of a data directory, which its two databases share, and the marks of a clean end.
//!
//! A message is sent before its timer moves on, and the two are in different files. So the store
//! without its queue has timers that have moved past messages that are gone, and nothing would ever
//! tell. Therefore both databases contain the same random identity, and the file `identity` contains it
//! once more, with one word on what may be expected of the files:
//!
//! | file `identity` | written | then there must be |
//! |---|---|---|
//! | absent | | two new databases, or two of a version before the identity |
//! | `open` | when both are open | both, with their logs: a kill leaves those |
//! | `closed` | before the databases are closed | both; SQLite moves the logs into them and removes them |
//! | `damaged` | when a repair begins | what the repair has done so far; only another repair goes on |
//!
//! The first start writes the identity into both databases, makes that durable, and writes the file
//! last. A crash in between leaves databases of which one or both have it, and the next start adds what
//! is missing.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _};

use crate::data_dir::{DataDir, private, sync_entries};

const IDENTITY_FILE: &str = "identity";
const IDENTITY_DRAFT: &str = "identity.new";
/// More bytes than the file ever has.
const FILE_BYTES_MAX: u64 = 256;

const CREATE: &str = "CREATE TABLE IF NOT EXISTS _identity (id TEXT NOT NULL) STRICT";
const INSERT: &str = "INSERT INTO _identity (id) VALUES (?1)";
const SELECT: &str = "SELECT id FROM _identity";
const EXISTS: &str = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '_identity'";

/// What the file `identity` contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) id: String,
    pub(crate) mark: Mark,
}

/// What may be expected of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Open,
    Closed,
    Damaged,
}

impl Mark {
    const ALL: [Self; 3] = [Self::Open, Self::Closed, Self::Damaged];

    const fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Damaged => "damaged",
        }
    }
}

impl Identity {
    /// Reads the file; `None` if there is none. A file that says nothing readable counts as damage.
    pub(crate) fn read(dir: &DataDir) -> io::Result<Option<Self>> {
        let file = match File::open(dir.path().join(IDENTITY_FILE)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
        let (id, word) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
        let mark = Mark::ALL.into_iter().find(|mark| mark.word() == word);
        Ok(Some(Self { id: id.to_owned(), mark: mark.unwrap_or(Mark::Damaged) }))
    }

    /// Replaces the file, durably.
    pub(crate) fn write(&self, dir: &DataDir) -> io::Result<()> {
        let draft = dir.path().join(IDENTITY_DRAFT);
        let mut file = private().create(true).truncate(true).open(&draft)?;
        write!(file, "{self}")?;
        file.sync_all()?;
        fs::rename(&draft, dir.path().join(IDENTITY_FILE))?;
        sync_entries(dir.path())
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}", self.id, self.mark.word())
    }
}

/// The identity in a database.
pub(crate) fn of_database(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let has_table: Option<i64> = connection.query_row(EXISTS, [], |row| row.get(0)).optional()?;
    match has_table {
        Some(_) => connection.query_row(SELECT, [], |row| row.get(0)).optional(),
        None => Ok(None),
    }
}

/// Writes the identity into a database that has none.
pub(crate) fn add_to_database(connection: &Connection, id: &str) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    transaction.execute(CREATE, [])?;
    transaction.execute(INSERT, [id])?;
    transaction.commit()
}

/// Whether a database and its log are there with any content.
pub(crate) fn has_content(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(metadata.len() > 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
