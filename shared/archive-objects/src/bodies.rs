//! Bodies of failures: an object for each, in a folder for each day on which attempts started.
//!
//! So those of a day are found without a list of all. They have no index and no record of their own: an
//! object that was lost is as one that was never kept.

use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, Utc};
use minutehand_archive::{date_folder, day_of_folder};
use minutehand_domain::history_name::HistoryName;
use minutehand_ports::{Bytes, FailureBodies, StoreError};

use crate::error::ArchiveError;
use crate::objects::Objects;

/// The folder of all of them.
const FOLDER: &str = "bodies/v1";

/// Keeps bodies of failures in an archive.
#[derive(Debug, Clone)]
pub struct ArchivedBodies(Objects);

impl ArchivedBodies {
    /// The bodies in this archive.
    #[must_use]
    pub const fn new(objects: Objects) -> Self {
        Self(objects)
    }

    /// Deletes the bodies of attempts that started before a day, and returns how many.
    ///
    /// # Errors
    ///
    /// If the archive does not answer. Some bodies may be deleted by then.
    pub async fn remove_before(&self, day: NaiveDate) -> Result<u64, ArchiveError> {
        let mut removed = 0;
        for folder in self.0.names_in(FOLDER).await? {
            let of_day = day_of_folder(&folder);
            if of_day.is_none_or(|of_day| of_day >= day) {
                continue;
            }
            let folder = format!("{FOLDER}/{folder}");
            for name in self.0.names_in(&folder).await? {
                self.0.delete_at(&format!("{folder}/{name}")).await?;
                removed += 1;
            }
            self.0.delete_folder(&folder).await?;
        }
        Ok(removed)
    }
}

#[async_trait]
impl FailureBodies for ArchivedBodies {
    async fn put(&self, job_uid: &str, name: HistoryName, body: Bytes) -> Result<(), StoreError> {
        let Some(path) = path(job_uid, name) else {
            return Err(StoreError::Refused(
                format!("'{name}' is not a name of an attempt").into(),
            ));
        };
        Ok(self.0.put_at(&path, body.to_vec()).await?)
    }

    async fn get(&self, job_uid: &str, name: HistoryName) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(path) = path(job_uid, name) else { return Ok(None) };
        Ok(self.0.get_at(&path).await?)
    }
}

/// Where the body of an attempt is; `None` if the name is of no instant.
fn path(job_uid: &str, name: HistoryName) -> Option<String> {
    let day = name.started_at().map(|at: DateTime<Utc>| at.date_naive())?;
    // File systems do not allow a colon everywhere.
    let name = name.to_string().replace(':', "-");
    Some(format!("{FOLDER}/{}/{job_uid}-{name}", date_folder(day)))
}

#[cfg(test)]
mod tests {
    use minutehand_domain::attempt::{Attempt, Occurrence};
    use tempfile::TempDir;

    use super::*;
    use crate::location::Location;

    fn instant(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn name(number: u32, started_at: &str) -> HistoryName {
        let nominal_at = instant("2026-11-21T23:59:00Z");
        let first = Attempt::first(1, Occurrence::Scheduled { nominal_at });
        HistoryName::new(&Attempt { number, ..first }, instant(started_at))
    }

    async fn opened(folder: &TempDir) -> ArchivedBodies {
        let location = Location::Folder(folder.path().to_owned());
        let objects = Objects::open(&location, |_| None, DateTime::default).unwrap();
        objects.create_mark("a").await.unwrap();
        ArchivedBodies::new(objects)
    }

    #[tokio::test]
    async fn a_body_is_of_one_attempt_and_goes_with_the_day_on_which_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let bodies = opened(&folder).await;
        let (evening, night, next) = (
            name(0, "2026-11-21T23:59:59Z"),
            name(1, "2026-11-22T00:00:00Z"),
            name(2, "2026-11-23T00:00:00Z"),
        );
        for (name, body) in [(evening, "one"), (night, "two"), (next, "three"), (night, "again")] {
            bodies.put("uid", name, Bytes::from(body)).await.unwrap();
        }
        let get = |uid: &'static str, name| {
            let bodies = bodies.clone();
            async move { bodies.get(uid, name).await.unwrap() }
        };
        assert_eq!(get("uid", night).await.as_deref(), Some(&b"again"[..]));
        assert_eq!(get("other", night).await, None);
        assert_eq!(get("uid", name(3, "2026-11-22T00:00:00Z")).await, None);

        std::fs::create_dir(folder.path().join("bodies/v1/notes")).unwrap();
        let day = |day| NaiveDate::from_ymd_opt(2026, 11, day).unwrap();
        assert_eq!(bodies.remove_before(day(21)).await.unwrap(), 0);
        assert_eq!(bodies.remove_before(day(23)).await.unwrap(), 2);
        assert_eq!((get("uid", evening).await, get("uid", night).await), (None, None));
        assert_eq!(get("uid", next).await.as_deref(), Some(&b"three"[..]));
        let left = std::fs::read_dir(folder.path().join("bodies/v1")).unwrap().count();
        assert_eq!(left, 2, "a folder of this archive, and one that is not");
    }

    #[tokio::test]
    async fn a_folder_that_is_not_mounted_any_more_keeps_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let bodies = opened(&folder).await;
        std::fs::remove_file(folder.path().join("minutehand.json")).unwrap();
        let put = bodies.put("uid", name(0, "2026-11-21T23:59:59Z"), Bytes::from("x")).await;
        assert!(put.unwrap_err().is_retryable());
        assert!(!folder.path().join("bodies").exists());
    }
}
