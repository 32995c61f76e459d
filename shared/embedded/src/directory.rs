//! Opens the two databases of a data directory as a pair, and refuses what is damaged.
//!
//! See [`identity`](crate::identity) for the identity that both carry. These checks come before
//! anything is written, so a start that is refused leaves the directory as it was:
//!
//! 1. the file `identity` says whether both databases, and their logs, have to be there;
//! 2. the store opens, then the queue, which is small and is checked as a whole;
//! 3. both have the identity that the file names.
//!
//! # Repair
//!
//! A queue that is lost can be made anew: [`DataDirectory::begin_repair`] puts what is left of it aside
//! and opens an empty one with the identity of the store. The caller sends again what is owed, and
//! [`DataDirectory::close`] marks the end. A crash before that leaves the mark `damaged`, with which no
//! start succeeds, and the next repair does everything again: a message that is sent twice is claimed
//! once. A store that is lost cannot be made anew.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use minutehand_ports::Clock;

use crate::data_dir::DataDir;
use crate::database::{Database, STORE};
use crate::error::{OpenError, Remedy};
use crate::identity::{Identity, Mark, has_content};
use crate::log::SyncMode;
use crate::queue::{QUEUE, Queue, QueueFile};
use crate::store::Store;

/// The magic numbers with which a log begins.
const LOG_MAGIC: [[u8; 4]; 2] = [[0x37, 0x7f, 0x06, 0x82], [0x37, 0x7f, 0x06, 0x83]];
/// What is put aside gets this ending.
const ASIDE: &str = ".damaged";

/// A data directory whose store and queue are open.
#[derive(Debug)]
pub struct DataDirectory {
    // The order of the fields matters: see `OpenMark`.
    /// Says that both are open.
    pub mark: OpenMark,
    /// The store.
    pub store: Store,
    /// The queue.
    pub queue: Queue,
}

/// The mark of an open directory.
///
/// Dropping it marks the directory as closed, and so has to come before the databases are closed: after
/// it, a log that is missing is no damage, because SQLite removes the logs of a database that it closes.
/// Only [`end`](Self::end) ends a repair.
#[derive(Debug)]
pub struct OpenMark {
    dir: DataDir,
    id: String,
    /// The mark in the file.
    mark: Mark,
}

/// What a repair begins with.
#[derive(Debug)]
pub struct BegunRepair {
    /// The directory, open for the repair.
    pub directory: DataDirectory,
    /// What is damaged, as a start reports it.
    pub damage: OpenError,
    /// Where the damaged queue is now; `None` if the queue is as it was.
    pub aside: Option<PathBuf>,
}

/// The two databases, open and checked.
struct Pair {
    store: Database,
    queue: QueueFile,
}

impl DataDirectory {
    /// Opens the store and the queue. A new directory, and one of a version before the identity, gets
    /// the identity `new_id`.
    ///
    /// # Errors
    ///
    /// If a database is damaged, missing or of another directory, or cannot be opened.
    pub fn open(
        dir: &DataDir,
        sync: SyncMode,
        clock: Arc<dyn Clock>,
        new_id: &str,
    ) -> Result<Self, OpenError> {
        let known = read_identity(dir)?;
        let mut pair = Pair::open_checked(dir, known.as_ref())?;
        let id = match known {
            Some(identity) => identity.id,
            None => pair.add_identity(dir, new_id)?,
        };
        write_identity(dir, &id, Mark::Open)?;
        let mark = OpenMark { dir: dir.clone(), id, mark: Mark::Open };
        Self::start(pair, mark, sync, clock)
    }

    /// Opens a directory that [`open`](Self::open) refuses, with an empty queue if the queue is what is
    /// damaged; `None` if nothing is damaged.
    ///
    /// # Errors
    ///
    /// If the store is damaged, or a file cannot be written.
    pub fn begin_repair(
        dir: &DataDir,
        clock: Arc<dyn Clock>,
        new_id: &str,
    ) -> Result<Option<BegunRepair>, OpenError> {
        let Some(damage) = find_damage(dir)? else {
            return Ok(None);
        };
        if damage.remedy() != Some(Remedy::Repair) {
            return Err(damage);
        }
        let store = Database::open(dir)?;
        let own = store.identity().map_err(|error| in_file(STORE, &dir.store_file(), error))?;
        let id = match (own, read_identity(dir)?) {
            (Some(own), Some(known)) if own != known.id => return Err(foreign(STORE, dir)),
            (None, Some(_)) => return Err(emptied(STORE, dir)),
            (Some(id), _) => id,
            (None, None) => new_id.to_owned(),
        };
        write_identity(dir, &id, Mark::Damaged)?;
        let (queue, aside) = if let Ok(Some(queue)) = Pair::open_queue(dir, &id) {
            (queue, None)
        } else {
            let path = dir.queue_file();
            let aside = set_aside(&path).map_err(in_io(QUEUE, path))?;
            (QueueFile::open(dir)?, aside)
        };
        let mut pair = Pair { store, queue };
        let id = pair.add_identity(dir, &id)?;
        let mark = OpenMark { dir: dir.clone(), id, mark: Mark::Damaged };
        let directory = Self::start(pair, mark, SyncMode::Full, clock)?;
        Ok(Some(BegunRepair { directory, damage, aside }))
    }

    /// Marks the directory as closed, answers what was accepted, and closes both databases.
    ///
    /// # Errors
    ///
    /// If the mark cannot be written. The databases are closed all the same.
    pub async fn close(self) -> Result<(), OpenError> {
        let ended = self.mark.end();
        self.queue.close().await;
        self.store.close().await;
        ended
    }

    fn start(
        pair: Pair,
        mark: OpenMark,
        sync: SyncMode,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        // Before anything of the new format can be written.
        mark.dir.upgrade().map_err(in_io("format of", mark.dir.path().to_owned()))?;
        let store = Store::start(pair.store, sync)?;
        let queue = Queue::start(pair.queue, sync, clock)?;
        Ok(Self { mark, store, queue })
    }
}

impl OpenMark {
    /// The identity of the directory. A copy has the same.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Marks the directory as closed, before the databases are.
    ///
    /// # Errors
    ///
    /// If the mark cannot be written. The next start then takes the missing logs for damage.
    pub fn end(mut self) -> Result<(), OpenError> {
        self.mark = Mark::Closed;
        write_identity(&self.dir, &self.id, Mark::Closed)
    }
}

impl Drop for OpenMark {
    /// A start that fails after the databases are open comes here.
    fn drop(&mut self) {
        if self.mark == Mark::Open {
            let _ = write_identity(&self.dir, &self.id, Mark::Closed);
        }
    }
}

impl Pair {
    /// Opens both databases, and checks them against what is known of the directory.
    fn open_checked(dir: &DataDir, known: Option<&Identity>) -> Result<Self, OpenError> {
        let Some(known) = known else {
            return Self::open(dir);
        };
        check_files(dir, known.mark)?;
        let pair = Self::open(dir).and_then(|pair| pair.check(dir, &known.id).map(|()| pair));
        pair.inspect_err(|_| {
            // Both logs were there, and SQLite has removed them with its connections. Without this,
            // the next start would report that instead.
            let _ = Identity { mark: Mark::Closed, ..known.clone() }.write(dir);
        })
    }

    fn open(dir: &DataDir) -> Result<Self, OpenError> {
        // The queue of an earlier version is as old as its store: with data in one of them, both exist.
        let (has_store, has_queue) = (exists(STORE, dir)?, exists(QUEUE, dir)?);
        if has_queue && !has_store {
            return Err(missing(STORE, dir));
        }
        let store = Database::open(dir)?;
        if !has_queue
            && store.has_tables().map_err(|error| in_file(STORE, &dir.store_file(), error))?
        {
            return Err(missing(QUEUE, dir));
        }
        let queue = QueueFile::open(dir)?;
        Ok(Self { store, queue })
    }

    /// Opens the queue if it has this identity.
    fn open_queue(dir: &DataDir, id: &str) -> Result<Option<QueueFile>, OpenError> {
        if !exists(QUEUE, dir)? {
            return Ok(None);
        }
        let queue = QueueFile::open(dir)?;
        let found = queue.identity().map_err(|error| in_file(QUEUE, &dir.queue_file(), error))?;
        Ok((found.as_deref() == Some(id)).then_some(queue))
    }

    /// Checks that both databases have this identity.
    fn check(&self, dir: &DataDir, id: &str) -> Result<(), OpenError> {
        for (what, found) in [(STORE, self.store.identity()), (QUEUE, self.queue.identity())] {
            match found.map_err(|error| in_file(what, &file_of(what, dir), error))? {
                Some(found) if found == id => {}
                Some(_) => return Err(foreign(what, dir)),
                None => return Err(emptied(what, dir)),
            }
        }
        Ok(())
    }

    /// Gives both databases one identity, durably, and returns it.
    fn add_identity(&mut self, dir: &DataDir, new_id: &str) -> Result<String, OpenError> {
        let in_store = |error| in_file(STORE, &dir.store_file(), error);
        let in_queue = |error| in_file(QUEUE, &dir.queue_file(), error);
        let of_store = self.store.identity().map_err(in_store)?;
        let of_queue = self.queue.identity().map_err(in_queue)?;
        let id = match (&of_store, &of_queue) {
            (Some(store), Some(queue)) if store != queue => return Err(foreign(QUEUE, dir)),
            (Some(id), _) | (None, Some(id)) => id.clone(),
            (None, None) => new_id.to_owned(),
        };
        if of_store.is_none() {
            self.store.add_identity(&id).map_err(in_store)?;
        }
        if of_queue.is_none() {
            self.queue.add_identity(&id).map_err(in_queue)?;
        }
        // Into the databases themselves: a log that is lost must not take the identity with it.
        self.store.checkpoint();
        self.queue.checkpoint();
        if self.store.sync() && self.queue.sync() {
            Ok(id)
        } else {
            let source = io::Error::other("the disk failed");
            Err(OpenError::Io { what: STORE, path: dir.store_file(), source })
        }
    }
}

/// What is damaged; `None` if a start would succeed. This opens the databases as a start does.
fn find_damage(dir: &DataDir) -> Result<Option<OpenError>, OpenError> {
    let known = read_identity(dir)?;
    match Pair::open_checked(dir, known.as_ref()) {
        Ok(pair) => {
            if let Some(known) = known {
                write_identity(dir, &known.id, Mark::Closed)?;
            }
            drop(pair);
            Ok(None)
        }
        Err(error) if error.remedy().is_some() => Ok(Some(error)),
        Err(error) => Err(error),
    }
}

/// Checks that the files are there that the mark promises. SQLite would create what is missing.
fn check_files(dir: &DataDir, mark: Mark) -> Result<(), OpenError> {
    for what in [STORE, QUEUE] {
        if !exists(what, dir)? {
            return Err(missing(what, dir));
        }
        let path = log_of(&file_of(what, dir));
        let why = if mark == Mark::Open && !path.exists() {
            "its log is missing, with changes from before the server was killed"
        } else if !is_log(&path).map_err(in_io(what, path.clone()))? {
            "its log is damaged, with changes from before the server was killed"
        } else {
            continue;
        };
        return Err(OpenError::Damaged { what, path, why: why.to_owned(), remedy: Remedy::Repair });
    }
    if mark == Mark::Damaged {
        return Err(damaged(QUEUE, dir, "a repair was interrupted"));
    }
    Ok(())
}

/// Whether a file is a log, or too short for one. SQLite ignores any other, without a word.
fn is_log(path: &Path) -> io::Result<bool> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    let mut magic = [0; 4];
    match file.read_exact(&mut magic) {
        Ok(()) => Ok(LOG_MAGIC.contains(&magic)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(true),
        Err(error) => Err(error),
    }
}

/// Renames a database and what belongs to it. Returns its new name, if it was there.
fn set_aside(database: &Path) -> io::Result<Option<PathBuf>> {
    let aside = |path: &Path| -> PathBuf { with_ending(path, ASIDE) };
    for path in [log_of(database), with_ending(database, "-shm"), database.to_owned()] {
        // What an interrupted repair has put aside is worth more than what it began with.
        let to = aside(&path);
        let moved = if to.exists() { fs::remove_file(&path) } else { fs::rename(&path, to) };
        match moved {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let aside = aside(database);
    Ok(aside.exists().then_some(aside))
}

fn log_of(database: &Path) -> PathBuf {
    with_ending(database, "-wal")
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

fn file_of(what: &'static str, dir: &DataDir) -> PathBuf {
    if what == STORE { dir.store_file() } else { dir.queue_file() }
}

fn exists(what: &'static str, dir: &DataDir) -> Result<bool, OpenError> {
    let path = file_of(what, dir);
    has_content(&path).map_err(in_io(what, path))
}

fn missing(what: &'static str, dir: &DataDir) -> OpenError {
    damaged(what, dir, "the file is missing or empty")
}

fn emptied(what: &'static str, dir: &DataDir) -> OpenError {
    damaged(what, dir, "it lacks the identity of the data directory")
}

fn foreign(what: &'static str, dir: &DataDir) -> OpenError {
    damaged(what, dir, "it belongs to another data directory")
}

fn damaged(what: &'static str, dir: &DataDir, why: &str) -> OpenError {
    OpenError::damaged(what, &file_of(what, dir), why)
}

fn in_file(what: &'static str, path: &Path, error: rusqlite::Error) -> OpenError {
    OpenError::of_sqlite(what, path, error)
}

pub(crate) fn in_io(what: &'static str, path: PathBuf) -> impl Fn(io::Error) -> OpenError {
    move |source| OpenError::Io { what, path: path.clone(), source }
}

fn read_identity(dir: &DataDir) -> Result<Option<Identity>, OpenError> {
    Identity::read(dir).map_err(in_io("identity of", dir.path().to_owned()))
}

fn write_identity(dir: &DataDir, id: &str, mark: Mark) -> Result<(), OpenError> {
    let identity = Identity { id: id.to_owned(), mark };
    identity.write(dir).map_err(in_io("identity of", dir.path().to_owned()))
}
