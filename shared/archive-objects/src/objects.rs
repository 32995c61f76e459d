//! Stores and fetches objects.

use std::io;
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, Utc};
use minutehand_archive::{Contents, Object, Stream, day_folder, day_of_folder, unpack};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::bucket::Bucket;
use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::location::Location;
use crate::store::{MARK, Store};

/// The version of the archive's layout.
const FORMAT: u64 = 1;

/// The objects of an archive.
#[derive(Debug, Clone)]
pub struct Objects {
    store: Arc<dyn Store>,
    location: Location,
}

impl Objects {
    /// Prepares the objects of an archive. Nothing is written or sent. A bucket takes its keys and its
    /// region from the environment; `now` is the real time, for signatures.
    ///
    /// # Errors
    ///
    /// If the folder does not exist, or the environment lacks something.
    pub fn open(
        location: &Location,
        environment: impl Fn(&str) -> Option<String>,
        now: fn() -> DateTime<Utc>,
    ) -> Result<Self, ArchiveError> {
        match location {
            Location::Folder(path) if !path.is_dir() => {
                Err(ArchiveError::NoFolder { location: location.clone() })
            }
            _ => Self::open_known(location, environment, now),
        }
    }

    /// The same, for an archive that was used before: its folder may be missing, as while a file system is
    /// not mounted.
    ///
    /// # Errors
    ///
    /// If the environment lacks something.
    pub fn open_known(
        location: &Location,
        environment: impl Fn(&str) -> Option<String>,
        now: fn() -> DateTime<Utc>,
    ) -> Result<Self, ArchiveError> {
        let at = || location.clone();
        let store: Arc<dyn Store> = match location {
            Location::Folder(path) => Arc::new(Folder::new(path.clone())),
            Location::Bucket { bucket, prefix } => {
                let opened = Bucket::open(bucket, prefix, environment, now);
                let setup = |why| ArchiveError::Setup { location: at(), why };
                Arc::new(opened.map_err(setup)?)
            }
        };
        Ok(Self { store, location: at() })
    }

    /// Where they are.
    #[must_use]
    pub const fn location(&self) -> &Location {
        &self.location
    }

    /// The id of the archive, from its mark; `None` if it has none.
    ///
    /// # Errors
    ///
    /// If the archive does not answer, or the mark cannot be read.
    pub async fn mark(&self) -> Result<Option<String>, ArchiveError> {
        let Some(bytes) = self.get_at(MARK).await? else {
            return Ok(None);
        };
        let bad = |why: &str| ArchiveError::BadMark {
            location: self.location.clone(),
            why: why.to_owned(),
        };
        let mark: Value =
            serde_json::from_slice(&bytes).map_err(|error| bad(&error.to_string()))?;
        if mark.get("format").and_then(Value::as_u64) != Some(FORMAT) {
            return Err(bad("a newer version wrote it, or it is not a mark"));
        }
        let id = mark.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        id.map(|id| Some(id.to_owned())).ok_or_else(|| bad("it has no id"))
    }

    /// Gives a new archive its mark, with an id, unless it has one. Returns the id that it has in the
    /// end.
    ///
    /// # Errors
    ///
    /// If the archive does not accept it.
    pub async fn create_mark(&self, id: &str) -> Result<String, ArchiveError> {
        let mark = json!({"format": FORMAT, "id": id}).to_string();
        let created = self.store.create(MARK, mark.into_bytes(), id).await;
        if created.map_err(|error| self.failed(error, "write minutehand.json to"))? {
            return Ok(id.to_owned());
        }
        let mark = self.mark().await?;
        mark.ok_or_else(|| ArchiveError::NoMark { location: self.location.clone() })
    }

    /// Stores an object, in the place of one with its name.
    ///
    /// # Errors
    ///
    /// If the archive does not accept it, or has lost its mark.
    pub async fn put(&self, object: Object) -> Result<(), ArchiveError> {
        self.put_at(&object.name, object.bytes).await
    }

    /// The days of which there are objects, the oldest first.
    ///
    /// # Errors
    ///
    /// If the archive does not answer.
    pub async fn days(&self, stream: Stream) -> Result<Vec<NaiveDate>, ArchiveError> {
        let folders = self.names_in(stream.folder()).await?;
        Ok(folders.iter().filter_map(|folder| day_of_folder(folder)).collect())
    }

    /// The names of the objects of a day, without their folder, in order.
    ///
    /// # Errors
    ///
    /// If the archive does not answer.
    pub async fn names(&self, stream: Stream, day: NaiveDate) -> Result<Vec<String>, ArchiveError> {
        self.names_in(&day_folder(stream, day)).await
    }

    /// The lines of an object; none if it is gone.
    ///
    /// # Errors
    ///
    /// If the archive does not answer.
    pub async fn read(
        &self,
        stream: Stream,
        day: NaiveDate,
        name: &str,
    ) -> Result<Contents, ArchiveError> {
        Ok(self.read_if_there(stream, day, name).await?.unwrap_or_default())
    }

    /// The lines of an object. If it is gone, it was repaired or sorted meanwhile, and its lines are in
    /// another object.
    ///
    /// # Errors
    ///
    /// If the archive does not answer.
    pub async fn read_if_there(
        &self,
        stream: Stream,
        day: NaiveDate,
        name: &str,
    ) -> Result<Option<Contents>, ArchiveError> {
        let path = object_path(stream, day, name);
        let found = self.get_at(&path).await?;
        Ok(found.map(|bytes| unpack(&path, &bytes)))
    }

    /// Deletes an object whose lines are in another one.
    ///
    /// # Errors
    ///
    /// If the archive does not answer.
    pub async fn delete(
        &self,
        stream: Stream,
        day: NaiveDate,
        name: &str,
    ) -> Result<(), ArchiveError> {
        self.delete_at(&object_path(stream, day, name)).await
    }

    /// The names of what is in a folder, in order.
    pub(crate) async fn names_in(&self, folder: &str) -> Result<Vec<String>, ArchiveError> {
        self.store.names(folder).await.map_err(|error| self.failed(error, "list"))
    }

    /// The content of an object; `None` if it does not exist.
    pub(crate) async fn get_at(&self, path: &str) -> Result<Option<Vec<u8>>, ArchiveError> {
        let found = self.store.get(path).await;
        found.map_err(|error| self.failed(error, format!("read {path} of")))
    }

    /// Stores an object, in the place of one with its name.
    pub(crate) async fn put_at(&self, path: &str, bytes: Vec<u8>) -> Result<(), ArchiveError> {
        let put = self.store.put(path, bytes).await;
        put.map_err(|error| self.failed(error, format!("write {path} to")))
    }

    /// Stores an object, unless one has its name. Returns whether it is stored. `key` tells concurrent
    /// writers from each other.
    pub(crate) async fn create_at(
        &self,
        path: &str,
        bytes: Vec<u8>,
        key: &str,
    ) -> Result<bool, ArchiveError> {
        let created = self.store.create(path, bytes, key).await;
        created.map_err(|error| self.failed(error, format!("write {path} to")))
    }

    /// Deletes an object, if it exists.
    pub(crate) async fn delete_at(&self, path: &str) -> Result<(), ArchiveError> {
        let deleted = self.store.delete(path).await;
        deleted.map_err(|error| self.failed(error, format!("delete {path} from")))
    }

    /// What a thread of its own packs: the threads of a server have others to serve meanwhile.
    pub(crate) async fn packed<T: Send + 'static>(
        &self,
        pack: impl FnOnce() -> T + Send + 'static,
        what: &str,
    ) -> Result<T, ArchiveError> {
        spawn_blocking(pack).await.map_err(|error| self.failed(io::Error::other(error), what))
    }

    /// Removes a folder that has become empty. A bucket has none.
    pub(crate) async fn delete_folder(&self, path: &str) -> Result<(), ArchiveError> {
        let deleted = self.store.delete_folder(path).await;
        deleted.map_err(|error| self.failed(error, format!("delete {path} from")))
    }

    fn failed(&self, error: io::Error, what: impl Into<String>) -> ArchiveError {
        ArchiveError::of(error, &self.location, what)
    }
}

fn object_path(stream: Stream, day: NaiveDate, name: &str) -> String {
    format!("{}/{name}", day_folder(stream, day))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn opened(folder: &TempDir) -> Objects {
        Objects::open(&Location::Folder(folder.path().to_owned()), |_| None, now).unwrap()
    }

    fn now() -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }

    fn day(day: u32) -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 11, day).unwrap()
    }

    fn object(name: &str, bytes: &[u8]) -> Object {
        Object { name: name.to_owned(), bytes: bytes.to_vec(), lines: 1 }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn of_many_that_mark_a_new_archive_one_wins_and_all_know_it() {
        let folder = tempfile::tempdir().unwrap();
        let writers: Vec<_> = (0..32)
            .map(|n| {
                let objects = opened(&folder);
                tokio::spawn(async move { objects.create_mark(&format!("id-{n}")).await.unwrap() })
            })
            .collect();
        let mut ids = Vec::new();
        for writer in writers {
            ids.push(writer.await.unwrap());
        }
        ids.dedup();
        assert_eq!(ids.len(), 1, "{ids:?}");
        assert_eq!(opened(&folder).mark().await.unwrap().as_ref(), ids.first());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
    }

    #[tokio::test]
    async fn objects_are_listed_by_day_overwritten_and_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let objects = opened(&folder);
        objects.create_mark("a").await.unwrap();
        assert_eq!(objects.days(Stream::History).await.unwrap(), []);
        for (n, name) in [(22, "b"), (21, "b"), (21, "a"), (21, "b")] {
            let name = object_path(Stream::History, day(n), name);
            objects.put(object(&name, b"x")).await.unwrap();
        }
        fs::write(folder.path().join("history/v1/date=2026-11-21/.c.new"), "half").unwrap();
        assert_eq!(objects.days(Stream::History).await.unwrap(), [day(21), day(22)]);
        assert_eq!(objects.days(Stream::Audit).await.unwrap(), []);
        let names = objects.names(Stream::History, day(21)).await.unwrap();
        assert_eq!(names, ["a", "b"]);
        objects.delete(Stream::History, day(21), "a").await.unwrap();
        objects.delete(Stream::History, day(21), "a").await.unwrap();
        assert_eq!(objects.names(Stream::History, day(21)).await.unwrap(), ["b"]);
        let gone = objects.read(Stream::History, day(21), "a").await.unwrap();
        assert_eq!(gone, Contents { lines: Vec::new(), damage: None });
        let damaged = objects.read(Stream::History, day(21), "b").await.unwrap();
        assert!(damaged.damage.is_some());
    }

    #[tokio::test]
    async fn a_missing_folder_is_not_created_and_a_lost_mark_stops_writing() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("mnt/nas");
        let error = Objects::open(&Location::Folder(missing.clone()), |_| None, now).unwrap_err();
        assert!(error.to_string().contains("does not exist: mount it"), "{error}");
        assert!(!missing.exists());

        // As when its file system is not mounted any more.
        let objects = opened(&folder);
        objects.create_mark("a").await.unwrap();
        fs::remove_file(folder.path().join(MARK)).unwrap();
        objects.put(object("history/v1/date=2026-11-21/a", b"x")).await.unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was written");
    }

    #[tokio::test]
    async fn a_mark_that_is_none_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["", "{}", r#"{"format":2,"id":"a"}"#, r#"{"format":1,"id":""}"#] {
            fs::write(folder.path().join(MARK), text).unwrap();
            let error = opened(&folder).mark().await.unwrap_err();
            assert!(matches!(error, ArchiveError::BadMark { .. }), "{error}");
            assert!(!error.is_passing());
        }
    }
}
