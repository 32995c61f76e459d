//! The data directory: holds everything durable, and belongs to one process at a time.
//!
//! Opening takes three steps, in this order:
//!
//! 1. Create the directory if it is missing, accessible to its owner only.
//! 2. Refuse a directory that is not one of Minutehand, one of an earlier version, and one whose database is
//!    gone.
//! 3. Lock the directory and the file `lock`, for as long as the [`DataDir`] lives. The file names the process;
//!    the lock on the directory holds even if the file is removed.
//!
//! A crash after step 1 leaves an empty directory. A crash after step 3 leaves a file `lock` without a lock on
//! it: the operating system releases locks when a process ends. `key.check` is written when the database is on
//! the disk. So a directory with that file and without a database has lost it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use minutehand_store_sql::sqlite::DATABASE;

const LOCK_FILE: &str = "lock";
/// The file that is written once there is a database: see `serve::secrets`.
pub(crate) const CHECK_FILE: &str = "key.check";

/// What an earlier version kept in its directory.
const EARLIER: [&str; 2] = ["store.db", "queue.db"];

/// What may be in a directory before its first start: what an interrupted start left, secrets that
/// the user puts there, and the directory that some file systems keep in their root.
const BEFORE_FIRST_START: [&str; 10] = [
    LOCK_FILE,
    "key",
    "key.new",
    "key.check.new",
    "open",
    "token",
    "token.new",
    "tls-cert.pem",
    "tls-key.pem",
    "lost+found",
];

/// More bytes than a lock file ever has.
const LOCK_BYTES_MAX: u64 = 64;

/// A data directory that this process has locked.
///
/// Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct DataDir {
    path: PathBuf,
    lock: File,
    /// The directory itself, where the system can lock it.
    directory: Option<File>,
    /// Whether there was no database when it was opened.
    pub(crate) is_new: bool,
    /// What was changed because other users could access it, one sentence for each.
    pub(crate) mended: Vec<String>,
}

impl Drop for DataDir {
    /// Unlocks the file instead of only closing it: a child process that is just being started has a
    /// copy of every open file until it executes its program.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
        if let Some(directory) = &self.directory {
            let _ = directory.unlock();
        }
    }
}

/// Why a data directory could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DataDirError {
    /// A file or the directory could not be created, read or written.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// The operation that failed.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The directory could not be created.
    #[error(
        "cannot create the data directory {}; choose one that this user may create, with --data",
        path.display()
    )]
    NotCreated {
        /// The directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another process has the directory open, or this one has it open twice.
    #[error(
        "the data directory {} is in use by {}: stop that process, or choose another directory",
        path.display(),
        pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process that holds it, if the lock file names one.
        pid: Option<u32>,
    },
    /// An earlier version wrote the directory.
    #[error(
        "the data directory {} is of an earlier version, which kept its data in {file}: write its collections and \
         jobs to files with `minutehand export` of that version, start this version on another directory, and \
         give the files to it with `minutehand apply`. Secrets are not in them: give those again",
        path.display()
    )]
    Earlier {
        /// The directory.
        path: PathBuf,
        /// One of the files of an earlier version.
        file: &'static str,
    },
    /// The directory has files, and none of them is of Minutehand.
    #[error(
        "{} is not a data directory, and it contains other files, such as {file}: choose an empty \
         directory, or one that does not exist",
        path.display()
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// One of the files.
        file: String,
    },
    /// The directory was used before, and its database is gone.
    #[error(
        "{} is missing or empty, and it was there before: restore the data directory from a backup. To begin anew \
         with the same key, remove {CHECK_FILE}",
        path.join(DATABASE).display()
    )]
    Lost {
        /// The directory.
        path: PathBuf,
    },
}

/// Refuses a directory without data. Opening it would make it one.
pub(crate) fn check_is_data(dir: &Path) -> anyhow::Result<()> {
    refuse_earlier(dir)?;
    if !dir.join(DATABASE).exists() {
        anyhow::bail!(
            "{} is not a data directory: with --data, name the directory that `minutehand serve` \
             uses; it contains a file {DATABASE}",
            dir.display()
        );
    }
    Ok(())
}

impl DataDir {
    /// Opens a directory, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// If another process uses the directory, it is none of this version, its database is gone, or the file
    /// system refuses access.
    pub(crate) fn open(path: &Path) -> Result<Self, DataDirError> {
        private_dir()
            .recursive(true)
            .create(path)
            .map_err(|source| DataDirError::NotCreated { path: path.to_owned(), source })?;
        // SQLite would treat a relative path that begins with `file:` as a URI.
        let path = fs::canonicalize(path).map_err(io_error("resolve", path))?;
        refuse_earlier(&path)?;
        let is_new = is_new(&path)?;
        let directory = lock_directory(&path)?;
        let lock = lock(&path)?;
        let mended = mend_modes(&path)?;
        // A new directory's own entry is in its parent, which this process may not be allowed to open: then this
        // process did not create the directory there either.
        let _ = path.parent().map(sync_entries);
        sync_entries(&path).map_err(io_error("sync", &path))?;
        Ok(Self { path, lock, directory, is_new, mended })
    }

    /// The directory's absolute path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Options to open a file that only its owner may read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options.mode(0o600);
    options
}

/// Creates directories for their owner alone.
pub(crate) fn private_dir() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Locks the directory itself; `None` where the system cannot, as on some network file systems.
fn lock_directory(dir: &Path) -> Result<Option<File>, DataDirError> {
    let directory = File::open(dir).map_err(io_error("open", dir))?;
    match directory.try_lock() {
        Ok(()) => Ok(Some(directory)),
        Err(TryLockError::WouldBlock) => Err(in_use(dir)),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

fn in_use(dir: &Path) -> DataDirError {
    let mut text = String::new();
    let file = File::open(dir.join(LOCK_FILE)).map(|file| file.take(LOCK_BYTES_MAX));
    let read = file.and_then(|mut file| file.read_to_string(&mut text));
    let pid = read.ok().and_then(|_| text.trim().parse().ok());
    DataDirError::InUse { path: dir.to_owned(), pid }
}

/// Takes the access of all users away from the directory and its database. Secrets are files of their
/// own, which are refused instead: another user may have read them.
fn mend_modes(dir: &Path) -> Result<Vec<String>, DataDirError> {
    const OTHERS: u32 = 0o007;
    const OTHERS_WRITE: u32 = 0o002;
    let mut mended = Vec::new();
    for (path, refused) in [(dir.to_owned(), OTHERS_WRITE), (dir.join(DATABASE), OTHERS)] {
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        let mode = metadata.permissions().mode() & 0o7777;
        if metadata.is_symlink() || mode & refused == 0 {
            continue;
        }
        let permissions = fs::Permissions::from_mode(mode & !OTHERS);
        fs::set_permissions(&path, permissions).map_err(io_error("restrict access to", &path))?;
        mended.push(format!(
            "{} was accessible to all users (mode {mode:04o}), and no longer is; restore a backup if \
             another user may have changed it",
            path.display()
        ));
    }
    Ok(mended)
}

fn lock(dir: &Path) -> Result<File, DataDirError> {
    let path = dir.join(LOCK_FILE);
    // Do not truncate the file before it is locked: it names the process that holds the lock.
    let mut file =
        private().create(true).truncate(false).open(&path).map_err(io_error("open", &path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use(dir)),
        Err(TryLockError::Error(error)) => return Err(io_error("lock", &path)(error)),
    }
    file.set_len(0)
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .map_err(io_error("write", &path))?;
    Ok(file)
}

/// Refuses a directory of an earlier version. This comes before the lock, so that nothing is written there.
fn refuse_earlier(dir: &Path) -> Result<(), DataDirError> {
    match EARLIER.into_iter().find(|name| dir.join(name).exists()) {
        Some(file) => Err(DataDirError::Earlier { path: dir.to_owned(), file }),
        None => Ok(()),
    }
}

/// Whether there is no database yet. A directory with files of others, and one whose database is gone, is
/// refused. This comes before the lock, so that nothing is written there.
fn is_new(dir: &Path) -> Result<bool, DataDirError> {
    match fs::metadata(dir.join(DATABASE)) {
        Ok(metadata) if metadata.len() > 0 || !metadata.is_file() => return Ok(false),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(io_error("look at", &dir.join(DATABASE))(error));
        }
        _ => {}
    }
    if dir.join(CHECK_FILE).exists() {
        return Err(DataDirError::Lost { path: dir.to_owned() });
    }
    let io = io_error("list", dir);
    for entry in fs::read_dir(dir).map_err(&io)? {
        let name = entry.map_err(&io)?.file_name().to_string_lossy().into_owned();
        if !BEFORE_FIRST_START.contains(&name.as_str()) && !name.starts_with(DATABASE) {
            return Err(DataDirError::Foreign { path: dir.to_owned(), file: name });
        }
    }
    Ok(true)
}

/// Makes the entries of a directory durable: they are written separately from the files.
pub(crate) fn sync_entries(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn io_error(what: &'static str, path: &Path) -> impl Fn(io::Error) -> DataDirError {
    let path = path.to_owned();
    move |source| DataDirError::Io { what, path: path.clone(), source }
}
