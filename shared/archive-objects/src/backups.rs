//! Backups of an installation, in the same folders and buckets as archives.
//!
//! Every file is created, and none is overwritten. A request that is repeated because its answer was lost
//! finds that the file exists, and then its content decides. The manifest comes last.
//!
//! A backup may be written in parts, by one process after another: see [`BackupWriter::pause`] and
//! [`Objects::resume_backup`]. If two go on at the same time, the second to write other content under a name
//! stops there with [`ArchiveError::BackupExists`]. A manifest names only files that exist as it says: its
//! writer has written each, or found it with this content, and so had the writer of the progress.

use std::pin::pin;

use futures_util::stream::{Stream, StreamExt as _};
use minutehand_archive::{
    BACKUPS, BackupAbout, BackupChunk, BackupEntry, BackupFile, BackupPart, BackupParts,
    BackupProgress, MANIFEST, Manifest, backup_name, backup_time, progress_name, progress_number,
    sha256,
};

use crate::error::ArchiveError;
use crate::objects::Objects;

/// Writes a backup: gathers entries, and writes a file of a kind when it is full.
#[derive(Debug)]
pub struct BackupWriter<'a> {
    objects: &'a Objects,
    name: String,
    parts: BackupParts,
    /// The number of the file of progress that comes next.
    next_progress: u32,
}

impl BackupWriter<'_> {
    /// Adds an entry. Returns the file, if that was written.
    ///
    /// # Errors
    ///
    /// If the place does not accept the file. What is written by then is not a backup.
    pub async fn add(&mut self, entry: BackupEntry) -> Result<Option<BackupFile>, ArchiveError> {
        let full = match entry {
            BackupEntry::Line(line) => self.parts.add(&line),
            BackupEntry::Unreadable => {
                self.parts.leave_out();
                None
            }
        };
        self.write(full).await
    }

    /// Ends a part of the backup: writes what is gathered, and then the progress, with the position from which
    /// the rest is read.
    ///
    /// # Errors
    ///
    /// If the place does not accept a file. Then the backup goes on from the progress before.
    pub async fn pause(mut self, position: String) -> Result<Manifest, ArchiveError> {
        while self.write_rest().await?.is_some() {}
        let (objects, manifest) = (self.objects, self.parts.into_manifest());
        let progress = BackupProgress { manifest, position };
        let file = progress_name(self.next_progress);
        objects.create_in_backup(&self.name, &file, progress.to_bytes()).await?;
        Ok(progress.manifest)
    }

    /// Writes what is gathered, and then the manifest.
    ///
    /// # Errors
    ///
    /// If the place does not accept a file. What is written by then is not a backup.
    pub async fn finish(mut self) -> Result<Manifest, ArchiveError> {
        while self.write_rest().await?.is_some() {}
        let manifest = self.parts.into_manifest();
        self.objects.create_in_backup(&self.name, MANIFEST, manifest.to_bytes()).await?;
        Ok(manifest)
    }

    /// Writes what is gathered of some kind; `None` if nothing is left.
    pub(crate) async fn write_rest(&mut self) -> Result<Option<BackupFile>, ArchiveError> {
        let rest = self.parts.take_rest();
        self.write(rest).await
    }

    /// Packs lines, and writes them as a file.
    async fn write(
        &mut self,
        chunk: Option<BackupChunk>,
    ) -> Result<Option<BackupFile>, ArchiveError> {
        let Some(chunk) = chunk else { return Ok(None) };
        let packed = self.objects.packed(|| chunk.pack(), "pack a file of a backup in").await;
        let BackupPart { file, bytes } = packed?;
        self.objects.create_in_backup(&self.name, &file.name, bytes).await?;
        self.parts.note_written(file.clone());
        Ok(Some(file))
    }
}

impl Objects {
    /// Begins a backup. Nothing is written yet.
    #[must_use]
    pub fn begin_backup(&self, about: BackupAbout) -> BackupWriter<'_> {
        let name = backup_name(about.at);
        BackupWriter { objects: self, name, parts: BackupParts::new(about), next_progress: 1 }
    }

    /// Goes on with a backup that was paused.
    ///
    /// # Errors
    ///
    /// If the place does not answer.
    pub async fn resume_backup(&self, from: Manifest) -> Result<BackupWriter<'_>, ArchiveError> {
        let name = backup_name(from.about.at);
        let folder = self.names_in(&backup_path(&name, "")).await?;
        let last = folder.iter().filter_map(|file| progress_number(file)).max();
        let next_progress = last.unwrap_or(0).saturating_add(1);
        let parts = BackupParts::resumed(from, folder);
        Ok(BackupWriter { objects: self, name, parts, next_progress })
    }

    /// Writes a backup, with its manifest last. `written` is told of each file.
    ///
    /// # Errors
    ///
    /// If an entry is an error, or the place does not accept a file. What is written by then is not a backup.
    pub async fn write_backup<E: From<ArchiveError>>(
        &self,
        about: BackupAbout,
        entries: impl Stream<Item = Result<BackupEntry, E>>,
        mut written: impl FnMut(&BackupFile),
    ) -> Result<Manifest, E> {
        let mut writer = self.begin_backup(about);
        let mut entries = pin!(entries);
        // Bounded by the entries.
        while let Some(entry) = entries.next().await {
            if let Some(file) = writer.add(entry?).await? {
                written(&file);
            }
        }
        while let Some(file) = writer.write_rest().await? {
            written(&file);
        }
        Ok(writer.finish().await?)
    }

    /// The names of the folders of backups, the oldest first. One without a manifest is not a backup.
    ///
    /// # Errors
    ///
    /// If the place does not answer.
    pub async fn backups(&self) -> Result<Vec<String>, ArchiveError> {
        let mut names = self.names_in(BACKUPS).await?;
        names.retain(|name| backup_time(name).is_some());
        Ok(names)
    }

    /// The manifest of a backup, and its content; `None` if the folder is not a backup.
    ///
    /// # Errors
    ///
    /// If the place does not answer, or the manifest cannot be used.
    pub async fn manifest(&self, name: &str) -> Result<Option<(Manifest, Vec<u8>)>, ArchiveError> {
        let Some(bytes) = self.get_at(&backup_path(name, MANIFEST)).await? else {
            return Ok(None);
        };
        match Manifest::read(&bytes) {
            Ok(manifest) => Ok(Some((manifest, bytes))),
            Err(why) => Err(self.bad_backup(name, format!("{MANIFEST}: {why}"))),
        }
    }

    /// The lines of a file of a backup.
    ///
    /// # Errors
    ///
    /// If the place does not answer, or the file is not the one that the manifest means.
    pub async fn backup_lines(
        &self,
        name: &str,
        file: &BackupFile,
    ) -> Result<Vec<String>, ArchiveError> {
        let bad = |why: String| self.bad_backup(name, format!("{}: {why}", file.name));
        let bytes = self.get_at(&backup_path(name, &file.name)).await?;
        let bytes = bytes.ok_or_else(|| bad("it is missing".to_owned()))?;
        file.unpack(&bytes).map_err(bad)
    }

    /// An error about a backup.
    #[must_use]
    pub fn bad_backup(&self, name: &str, why: String) -> ArchiveError {
        let (backup, location) = (backup_path(name, ""), self.location().clone());
        ArchiveError::BadBackup { backup, location, why }
    }

    async fn create_in_backup(
        &self,
        name: &str,
        file: &str,
        bytes: Vec<u8>,
    ) -> Result<(), ArchiveError> {
        let path = backup_path(name, file);
        // Two writers of other content must not share a draft.
        let created = self.create_at(&path, bytes.clone(), &sha256(&bytes)).await?;
        if created || self.get_at(&path).await?.as_deref() == Some(&bytes) {
            return Ok(());
        }
        let (backup, location) = (backup_path(name, ""), self.location().clone());
        Err(ArchiveError::BackupExists { backup, location })
    }
}

/// The name of a file of a backup, or of its folder.
pub(crate) fn backup_path(name: &str, file: &str) -> String {
    format!("{BACKUPS}/{name}/{file}").trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use chrono::DateTime;
    use futures_util::stream;
    use minutehand_archive::{BackupLine, SealedWith};
    use tempfile::TempDir;

    use super::*;
    use crate::location::Location;

    fn opened(folder: &TempDir) -> Objects {
        let location = Location::Folder(folder.path().to_owned());
        Objects::open(&location, |_| None, || DateTime::UNIX_EPOCH).unwrap()
    }

    fn about(second: i64) -> BackupAbout {
        BackupAbout {
            at: DateTime::from_timestamp(second, 0).unwrap(),
            written_by: "t".to_owned(),
            sealed_with: SealedWith::Installation,
            schedule_of: None,
        }
    }

    fn entries(texts: &[&str]) -> impl Stream<Item = Result<BackupEntry, ArchiveError>> + use<> {
        let line = |text: &&str| {
            let line = BackupLine { kind: "jobs", text: (*text).to_owned(), has_secret: false };
            Ok(BackupEntry::Line(line))
        };
        let entries: Vec<_> = texts.iter().map(line).chain([Ok(BackupEntry::Unreadable)]).collect();
        stream::iter(entries)
    }

    #[tokio::test]
    async fn a_backup_reads_back_and_is_none_without_its_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let objects = opened(&folder);
        assert_eq!(objects.backups().await.unwrap(), [""; 0]);
        let mut files = Vec::new();
        let written = objects.write_backup(about(60), entries(&["a", "b"]), |file| {
            files.push(file.name.clone());
        });
        let manifest = written.await.unwrap();
        assert_eq!(files, ["jobs.jsonl.gz"]);
        assert_eq!((manifest.count("jobs"), manifest.unreadable), (2, 1));
        let name = "1970-01-01T000100Z";
        assert_eq!(objects.backups().await.unwrap(), [name]);
        let (read, _) = objects.manifest(name).await.unwrap().unwrap();
        assert_eq!(read, manifest);
        let lines = objects.backup_lines(name, &manifest.files[0]).await.unwrap();
        assert_eq!(lines, ["a", "b"]);

        // The same again changes nothing, and another one of the same second is refused.
        objects.write_backup(about(60), entries(&["a", "b"]), |_| {}).await.unwrap();
        let error = objects.write_backup(about(60), entries(&["c"]), |_| {}).await.unwrap_err();
        assert!(error.to_string().contains("another backup is being written"), "{error}");
        assert_eq!(objects.backup_lines(name, &manifest.files[0]).await.unwrap(), ["a", "b"]);

        let file = folder.path().join("backup").join(name).join("manifest.json");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("\"format\": 2", "\"format\": 7")).unwrap();
        let error = objects.manifest(name).await.unwrap_err();
        assert!(error.to_string().contains("manifest.json: its format is 7"), "{error}");
        fs::remove_file(&file).unwrap();
        assert_eq!(objects.manifest(name).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_backup_that_breaks_off_has_no_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let objects = opened(&folder);
        let broken = stream::iter([Err(objects.bad_backup("b", "broken".to_owned()))]);
        let entries = entries(&["a"]).chain(broken);
        objects.write_backup(about(60), entries, |_| {}).await.unwrap_err();
        assert_eq!(objects.backups().await.unwrap(), [""; 0]);
    }

    #[tokio::test]
    async fn a_file_that_is_missing_or_damaged_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let objects = opened(&folder);
        let manifest = objects.write_backup(about(0), entries(&["a"]), |_| {}).await.unwrap();
        let name = backup_name(manifest.about.at);
        let file = folder.path().join("backup").join(&name).join("jobs.jsonl.gz");
        let bytes = fs::read(&file).unwrap();
        for (content, why) in [
            (Some(&bytes[..bytes.len() - 1]), "jobs.jsonl.gz: it has"),
            (Some(b"x".as_slice()), "jobs.jsonl.gz: it has 1 bytes, and the manifest says"),
            (None, "jobs.jsonl.gz: it is missing"),
        ] {
            match content {
                Some(content) => fs::write(&file, content).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
            let error = objects.backup_lines(&name, &manifest.files[0]).await.unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}
