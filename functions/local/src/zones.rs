//! Reads the time zones of the system: a tree of TZif files, such as `/usr/share/zoneinfo`.
//!
//! Only files of zones that are built in are read, so no other file of the tree matters, and a job reads
//! back whatever becomes of the tree.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use minutehand_recurrence::zone;

/// The most bytes of a file. The largest zones have some 4 KB.
const FILE_BYTES_MAX: u64 = 256 << 10;
/// The most characters of the name of a release.
const RELEASE_CHARS_MAX: usize = 16;
/// The most names of missing zones in the log.
const NAMES_MAX: usize = 5;

/// The zones of a tree, as they were taken.
#[derive(Debug)]
pub struct TakenZones {
    dir: PathBuf,
    files: usize,
    /// The zones that stay as they are built in.
    missing: Vec<&'static str>,
}

impl TakenZones {
    /// Uses the zones of a tree in the place of the built-in ones, until the process ends.
    ///
    /// # Errors
    ///
    /// If the tree has no zones, or one of them is damaged.
    pub fn take(dir: &Path) -> Result<Self> {
        let (mut files, mut missing) = (Vec::new(), Vec::new());
        for name in zone::names() {
            match read(&dir.join(name))? {
                Some(content) => files.push((name.to_owned(), content)),
                None => missing.push(name),
            }
        }
        let taken = files.len();
        if taken == 0 {
            bail!(
                "{} has no time zones: give a folder like /usr/share/zoneinfo, or leave --zones out",
                dir.display()
            );
        }
        let release = release(dir)?;
        zone::replace(release.as_deref().unwrap_or("unknown"), files).with_context(|| {
            let dir = dir.display();
            format!("cannot use the time zones of {dir}: install them again, or leave --zones out")
        })?;
        Ok(Self { dir: dir.to_owned(), files: taken, missing })
    }

    /// Says in the log which zones are used.
    pub(crate) fn log(&self) {
        let (dir, release) = (self.dir.display(), zone::database_version());
        tracing::info!(%dir, release, zones = self.files, "time zones");
        let built_in = zone::built_in_version();
        // The names of releases are in order.
        if release < built_in {
            tracing::warn!(
                %dir,
                release,
                built_in,
                "these time zones are older than the built-in ones: update them, or leave --zones out"
            );
        }
        if let Some(named) =
            self.missing.get(..NAMES_MAX.min(self.missing.len())).filter(|it| !it.is_empty())
        {
            tracing::warn!(
                %dir,
                missing = self.missing.len(),
                first = named.join(", "),
                "some time zones are missing: the built-in ones are used for them"
            );
        }
    }
}

/// The content of a file; `None` if there is none.
fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let failed = || format!("cannot read the time zones: {}", path.display());
    match fs::metadata(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error).with_context(failed),
        // A device or a pipe may never answer.
        Ok(about) if !about.is_file() => bail!("{}: it is not a file", failed()),
        Ok(_) => {}
    }
    let mut content = Vec::new();
    let file = File::open(path).with_context(failed)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut content).with_context(failed)?;
    if content.len() as u64 > FILE_BYTES_MAX {
        bail!("{}: it is larger than {FILE_BYTES_MAX} bytes", failed());
    }
    Ok(Some(content))
}

/// The release of a tree, which it says in `+VERSION` or in the first line of `tzdata.zi`.
fn release(dir: &Path) -> Result<Option<String>> {
    for (name, before) in [("+VERSION", ""), ("tzdata.zi", "# version ")] {
        let path = dir.join(name);
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            opened => opened.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let mut start = Vec::new();
        file.take(64).read_to_end(&mut start)?;
        let start = String::from_utf8_lossy(&start);
        let release = start.lines().next().and_then(|line| line.strip_prefix(before));
        let release = release.map(str::trim).filter(|it| {
            it.len() <= RELEASE_CHARS_MAX
                && it.starts_with(|c: char| c.is_ascii_digit())
                && it.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.')
        });
        if release.is_some() {
            return Ok(release.map(str::to_owned));
        }
    }
    Ok(None)
}
