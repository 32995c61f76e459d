//! The data directory: holds everything durable, belongs to one process at a time, and has a format
//! with a version.
//!
//! Opening takes three steps, in this order:
//!
//! 1. Create the directory if it is missing, accessible to its owner only.
//! 2. Lock the directory and the file `lock`, for as long as the [`DataDir`] or anything opened in it
//!    lives. The file names the process; the lock on the directory holds even if the file is removed.
//! 3. Read the file `format`, or write it into a new directory. A directory with files of others is
//!    refused: it was probably named by mistake.
//!
//! A crash after step 1 leaves an empty directory. A crash after step 2 leaves a file `lock` without a
//! lock on it: the operating system releases locks when a process ends. `format` is renamed into place
//! before anything else is created. A directory with data but without `format` was damaged, and is
//! refused.
//!
//! | format | since then |
//! |---|---|
//! | 1 | the first |
//! | 2 | queue and history may contain notices of failures, which a reader of format 1 refuses |
//! | 3 | records say what follows them, and counted attempts are remembered in items of their own: a reader of format 2 would miscount |
//! | 4 | jobs may let no attempts overlap, and collections may have limits, which a reader of format 3 does not know |
//!
//! A directory of an older format keeps it until it is opened for firing: a backup does not change it.
//! Each format contains the earlier ones, so nothing but `format` is written, in one step.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The version of the directory's format that this build writes, and the newest that it reads.
pub const FORMAT: u32 = 4;
/// The oldest format that this build reads: the first.
const FORMAT_OLDEST: u32 = 1;

const LOCK_FILE: &str = "lock";
const FORMAT_FILE: &str = "format";
/// The name of `format` before it is renamed into place.
const FORMAT_DRAFT: &str = "format.new";
pub(crate) const STORE_FILE: &str = "store.db";
const QUEUE_FILE: &str = "queue.db";

/// What may be in a directory before its first start: what an interrupted start left, secrets that
/// the user puts there, and the directory that some file systems keep in their root.
const BEFORE_FIRST_START: [&str; 11] = [
    LOCK_FILE,
    FORMAT_DRAFT,
    "key",
    "key.new",
    "key.check",
    "key.check.new",
    "token",
    "token.new",
    "tls-cert.pem",
    "tls-key.pem",
    "lost+found",
];

/// More bytes than a lock or format file ever has.
const SMALL_FILE_BYTES_MAX: u64 = 64;

/// A data directory that this process has locked.
///
/// Cheap to clone. Dropping the last clone releases the lock. A [`Store`](crate::Store) and a
/// [`Queue`](crate::Queue) keep a clone for as long as their threads run.
#[derive(Debug, Clone)]
pub struct DataDir(Arc<DirLock>);

#[derive(Debug)]
struct DirLock {
    path: PathBuf,
    lock: File,
    /// The directory itself, where the system can lock it.
    directory: Option<File>,
    format: u32,
    is_new: bool,
    mended: Vec<String>,
}

impl Drop for DirLock {
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
pub enum DataDirError {
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
    /// A newer version wrote the directory.
    #[error(
        "the data directory {} has format {found}, and this version reads up to {FORMAT}: it was \
         written by a newer version, use that one",
        path.display()
    )]
    Newer {
        /// The directory.
        path: PathBuf,
        /// The version of the directory.
        found: u32,
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
    /// The directory has data but no readable format version.
    #[error(
        "the data directory {} has no readable format version: restore its file `{FORMAT_FILE}`, \
         which holds a number, or restore the directory from a backup",
        path.display()
    )]
    Damaged {
        /// The directory.
        path: PathBuf,
    },
}

impl DataDir {
    /// Opens a directory, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// Returns an error if another process uses the directory, if a newer version wrote it, or if the
    /// file system refuses access.
    pub fn open(path: &Path) -> Result<Self, DataDirError> {
        create(path)
            .map_err(|source| DataDirError::NotCreated { path: path.to_owned(), source })?;
        // SQLite would treat a relative path that begins with `file:` as a URI.
        let path = &fs::canonicalize(path).map_err(io_error("resolve", path))?;
        check_new(path)?;
        let directory = lock_directory(path)?;
        let lock = lock(path)?;
        let mended = mend_modes(path)?;
        let format = read_format(path)?;
        match format {
            Some(FORMAT_OLDEST..=FORMAT) => {}
            Some(found) if found > FORMAT => {
                return Err(DataDirError::Newer { path: path.clone(), found });
            }
            Some(_) => return Err(DataDirError::Damaged { path: path.clone() }),
            None => {
                write_format(path).map_err(io_error("write", &path.join(FORMAT_FILE)))?;
            }
        }
        let (is_new, format) = (format.is_none(), format.unwrap_or(FORMAT));
        let path = path.clone();
        Ok(Self(Arc::new(DirLock { path, lock, directory, format, is_new, mended })))
    }

    /// Returns what was changed because other users could access it, one sentence for each.
    #[must_use]
    pub fn mended(&self) -> &[String] {
        &self.0.mended
    }

    /// Returns whether this was the directory's first opening.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.0.is_new
    }

    /// Returns the directory's absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Gives a directory of an older format the format that this build writes.
    pub(crate) fn upgrade(&self) -> io::Result<()> {
        if self.0.format == FORMAT { Ok(()) } else { write_format(self.path()) }
    }

    /// Returns whether a store was ever opened here.
    #[must_use]
    pub fn has_store(&self) -> bool {
        self.store_file().exists()
    }

    /// Returns the path of the store's database.
    pub(crate) fn store_file(&self) -> PathBuf {
        self.path().join(STORE_FILE)
    }

    /// Returns the path of the queue's database.
    pub(crate) fn queue_file(&self) -> PathBuf {
        self.path().join(QUEUE_FILE)
    }

    /// Makes the directory's entries durable: they are written separately from the files.
    pub(crate) fn sync(&self) -> io::Result<()> {
        sync_entries(self.path())
    }
}

/// Options to open a file that only its owner may read.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn create(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Locks the directory itself; `None` where the system cannot, as on some network file systems.
fn lock_directory(dir: &Path) -> Result<Option<File>, DataDirError> {
    if !cfg!(unix) {
        return Ok(None);
    }
    let directory = File::open(dir).map_err(io_error("open", dir))?;
    match directory.try_lock() {
        Ok(()) => Ok(Some(directory)),
        Err(TryLockError::WouldBlock) => Err(in_use(dir)),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

fn in_use(dir: &Path) -> DataDirError {
    let text = File::open(dir.join(LOCK_FILE)).and_then(|mut file| read_small(&mut file));
    let pid = text.ok().and_then(|text| text.trim().parse().ok());
    DataDirError::InUse { path: dir.to_owned(), pid }
}

/// Takes the access of all users away from the directory and its databases. Secrets are files of their
/// own, which are refused instead: another user may have read them.
#[cfg(unix)]
fn mend_modes(dir: &Path) -> Result<Vec<String>, DataDirError> {
    use std::os::unix::fs::PermissionsExt as _;
    const OTHERS: u32 = 0o007;
    const OTHERS_WRITE: u32 = 0o002;
    let mut mended = Vec::new();
    for (path, refused) in [
        (dir.to_owned(), OTHERS_WRITE),
        (dir.join(STORE_FILE), OTHERS),
        (dir.join(QUEUE_FILE), OTHERS),
    ] {
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

#[cfg(not(unix))]
fn mend_modes(_dir: &Path) -> Result<Vec<String>, DataDirError> {
    Ok(Vec::new())
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

/// Refuses a directory without a format that has files of others. This comes before the lock, so that
/// nothing is written there. A database without a format is reported as damage, later.
fn check_new(dir: &Path) -> Result<(), DataDirError> {
    let io = io_error("list", dir);
    let (mut has_data, mut foreign) = (false, None);
    for entry in fs::read_dir(dir).map_err(&io)? {
        let name = entry.map_err(&io)?.file_name().to_string_lossy().into_owned();
        has_data |= [FORMAT_FILE, STORE_FILE, QUEUE_FILE].contains(&name.as_str());
        if !BEFORE_FIRST_START.contains(&name.as_str()) {
            foreign.get_or_insert(name);
        }
    }
    match foreign {
        Some(file) if !has_data => Err(DataDirError::Foreign { path: dir.to_owned(), file }),
        _ => Ok(()),
    }
}

/// Reads the format's version; `None` for a new directory.
fn read_format(dir: &Path) -> Result<Option<u32>, DataDirError> {
    let path = dir.join(FORMAT_FILE);
    let damaged = || DataDirError::Damaged { path: dir.to_owned() };
    match File::open(&path) {
        Ok(mut file) => {
            let text = read_small(&mut file).map_err(io_error("read", &path))?;
            text.trim().parse().map(Some).map_err(|_| damaged())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            for file in [STORE_FILE, QUEUE_FILE] {
                if dir.join(file).try_exists().map_err(io_error("look for data in", dir))? {
                    return Err(damaged());
                }
            }
            Ok(None)
        }
        Err(error) => Err(io_error("read", &path)(error)),
    }
}

fn write_format(dir: &Path) -> io::Result<()> {
    let draft = dir.join(FORMAT_DRAFT);
    let mut file = private().create(true).truncate(true).open(&draft)?;
    writeln!(file, "{FORMAT}")?;
    file.sync_all()?;
    fs::rename(&draft, dir.join(FORMAT_FILE))?;
    sync_entries(dir)?;
    // The directory's own entry is in its parent, which this process may not be allowed to open.
    // Then this process did not create the directory there either.
    let _ = dir.parent().map(sync_entries);
    Ok(())
}

/// Makes the entries of a directory durable: they are written separately from the files. Does nothing
/// on systems where a directory cannot be opened.
///
/// # Errors
///
/// Returns an error if the file system refuses.
pub fn sync_entries(dir: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
}

fn read_small(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.take(SMALL_FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

fn io_error(what: &'static str, path: &Path) -> impl Fn(io::Error) -> DataDirError {
    let path = path.to_owned();
    move |source| DataDirError::Io { what, path: path.clone(), source }
}
