//! `minutehand installation export|import`: the collections and jobs of an installation as files, and
//! from there into another installation.
//!
//! `carry` exports and imports, and says what a crash leaves. Here are data directories, keys, and what is
//! said to the user. An installation on AWS is moved by its archiver. An export changes nothing of what it
//! reads, but the database of an older version gets the schema of this one, as by a start.
//!
//! A crash of an export leaves a folder without a manifest, which is not a backup, and with `--seal-to` a key
//! file for nothing. The next export writes another folder.

mod export;
mod import;
mod place;

use std::cell::RefCell;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use minutehand_carry::Watcher;
use minutehand_cli::Progress;

pub use export::{ExportArgs, Exported, export};
pub use import::{ImportArgs, Imported, import};

/// Shows how far an export or an import is: by a bar on a terminal, elsewhere by lines.
#[derive(Default)]
struct Shown(RefCell<Option<Progress>>);

impl Watcher for Shown {
    fn begin(&self, doing: &'static str, things: u64) {
        let bar = Progress::shown(io::stderr().is_terminal(), false, doing, things);
        self.0.replace(Some(bar));
    }

    fn grow(&self, by: u64) {
        if let Some(bar) = &*self.0.borrow() {
            bar.grow(by);
        }
    }

    fn step(&self) {
        if let Some(bar) = &*self.0.borrow() {
            bar.step();
        }
    }

    fn note(&self, text: &str) {
        let mut out = io::stderr().lock();
        if !out.is_terminal() {
            // If standard error cannot be written, there is no other place to report it.
            let _ = writeln!(out, "{text}");
        }
    }
}

/// Reads a data directory of an export or an import. An installation on AWS moves by itself.
fn data_directory(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() || text.contains("://") {
        return Err(
            "give a data directory, like .minutehand; the archiver moves a stack on AWS".to_owned()
        );
    }
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use crate::serve::{create_key_file, read_key_file};

    #[tokio::test]
    async fn a_key_file_opens_what_it_sealed_and_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("move.key");
        let sealed = create_key_file(&file).unwrap().seal("u", "hunter2").await.unwrap();
        let opened = read_key_file(&file).unwrap().open("u", &sealed).await.unwrap();
        assert_eq!(opened, "hunter2");
        let error = create_key_file(&file).err().unwrap();
        assert!(error.to_string().contains("exists, and is never overwritten"), "{error}");
        let error = read_key_file(&folder.path().join("none")).err().unwrap();
        assert!(error.to_string().ends_with("does not exist"), "{error}");
    }
}
