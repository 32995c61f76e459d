//! How far a backup is that is written in parts.
//!
//! `progress-2.jsonl` is in the folder of the backup, and has two lines: the manifest of what is written by
//! then, and the position from which the rest is read. The highest number counts.

use crate::backup::Manifest;

const PREFIX: &str = "progress-";
const EXTENSION: &str = ".jsonl";

/// What is written of a backup, and where the rest begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupProgress {
    /// The files that are written.
    pub manifest: Manifest,
    /// The position, on one line. What it says is a matter of who walks.
    pub position: String,
}

/// The name of a file of progress.
#[must_use]
pub fn progress_name(number: u32) -> String {
    format!("{PREFIX}{number}{EXTENSION}")
}

/// The number in the name of a file of progress; `None` if that is the name of something else.
#[must_use]
pub fn progress_number(name: &str) -> Option<u32> {
    let number = name.strip_prefix(PREFIX)?.strip_suffix(EXTENSION)?.parse().ok()?;
    (progress_name(number) == name).then_some(number)
}

impl BackupProgress {
    /// The progress as the content of its file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        format!("{}\n{}\n", self.manifest.to_json(), self.position).into_bytes()
    }

    /// Reads the content of a file of progress.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let text = str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        let lines = text.strip_suffix('\n').and_then(|text| text.split_once('\n'));
        let (manifest, position) = lines.ok_or("it has not two complete lines")?;
        Ok(Self { manifest: Manifest::read(manifest.as_bytes())?, position: position.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::backup::{BackupAbout, BackupLine, BackupParts, SealedWith};

    fn about() -> BackupAbout {
        BackupAbout {
            at: DateTime::from_timestamp_millis(1_795_443_000_700).unwrap(),
            written_by: "0.1.0".to_owned(),
            sealed_with: SealedWith::Installation,
            schedule_of: Some("s".to_owned()),
        }
    }

    /// Writes a line for each kind, as a part that goes on there, and returns the names of its files.
    fn write(parts: &mut BackupParts, kinds: &[&'static str]) -> Vec<String> {
        for kind in kinds {
            let line = BackupLine { kind, text: "{}".to_owned(), has_secret: true };
            assert!(parts.add(&line).is_none());
        }
        let files = std::iter::from_fn(|| parts.take_rest()).map(|it| it.pack().file);
        let files: Vec<_> = files.collect();
        files.iter().cloned().for_each(|file| parts.note_written(file));
        files.into_iter().map(|file| file.name).collect()
    }

    #[test]
    fn a_backup_goes_on_with_what_is_written_and_takes_no_name_of_the_folder() {
        let mut parts = BackupParts::new(about());
        let mut folder = write(&mut parts, &["collections", "jobs"]);
        parts.leave_out();
        assert_eq!(folder, ["collections.jsonl.gz", "jobs.jsonl.gz"]);
        let progress =
            BackupProgress { manifest: parts.into_manifest(), position: "{}".to_owned() };
        assert_eq!(BackupProgress::read(&progress.to_bytes()), Ok(progress.clone()));

        // What a crash has left, and names of others.
        let left = ["jobs-2.jsonl.gz", "jobs-11.jsonl.gz", "jobs-x.jsonl.gz", "progress-1.jsonl"];
        folder.extend(left.map(str::to_owned));
        folder.push(format!("collections-{}.jsonl.gz", usize::MAX));
        let mut parts = BackupParts::resumed(progress.manifest, folder);
        let next = write(&mut parts, &["retries", "jobs", "collections"]);
        let last = format!("collections-{}.jsonl.gz", usize::MAX);
        assert_eq!(next, ["retries.jsonl.gz", "jobs-12.jsonl.gz", &last]);
        let manifest = parts.into_manifest();
        assert_eq!((manifest.files.len(), manifest.secrets, manifest.unreadable), (5, 5, 1));
        assert_eq!((manifest.about.clone(), manifest.count("jobs")), (about(), 2));
    }

    #[test]
    fn damaged_progress_is_refused_with_the_reason() {
        let manifest = BackupParts::new(about()).into_manifest();
        let bytes = BackupProgress { manifest, position: "there".to_owned() }.to_bytes();
        let text = String::from_utf8(bytes.clone()).unwrap();
        for (damaged, why) in [
            (Vec::new(), "it has not two complete lines"),
            (bytes[..bytes.len() - 1].to_vec(), "it has not two complete lines"),
            (text.replace("\nthere", "").into_bytes(), "it has not two complete lines"),
            (text.replace("\"format\":2", "\"format\":3").into_bytes(), "its format is 3"),
            (text.replace('{', "").into_bytes(), "trailing characters"),
            ([bytes.as_slice(), b"\xff\n"].concat(), "it is not UTF-8"),
        ] {
            let problem = BackupProgress::read(&damaged).unwrap_err();
            assert!(problem.contains(why), "{why}: {problem}");
        }
    }

    #[test]
    fn the_name_of_progress_says_its_number() {
        assert_eq!(progress_number(&progress_name(12)), Some(12));
        let others = ["progress-.jsonl", "progress-+1.jsonl", "progress-01.jsonl", "manifest.json"];
        for other in others {
            assert_eq!(progress_number(other), None, "{other}");
        }
    }
}
