//! What has sealed secrets, for a key that is to be checked or is lost: a walk beside the writes.

use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::name::Name;
use minutehand_ports::StoreError;

use crate::script::{Row, Value};
use crate::sql::jobs as sql;
use crate::store::SqlStore;
use crate::value::{Columns, params};

/// The rows that are read together.
const SLICE: u16 = 100;

/// A job or a collection that has sealed secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Its uid, for which they are sealed.
    pub uid: String,
    /// The secrets.
    pub secrets: Vec<u8>,
    /// What it is.
    pub of: SealedOf,
}

/// What has secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SealedOf {
    /// A job.
    Job {
        /// Its collection.
        collection_uid: String,
        /// Its name.
        name: Name,
    },
    /// A collection.
    Collection(CollectionPlace),
}

/// A place in the walk: behind the job or the collection with this key.
#[derive(Debug, Clone)]
pub struct SealedPosition {
    is_of_jobs: bool,
    behind: Vec<Value>,
}

impl SqlStore {
    /// A page of what has secrets, jobs first, and where the next one begins.
    ///
    /// # Errors
    ///
    /// If the store does not answer, or cannot read a row.
    pub async fn sealed(
        &self,
        from: Option<SealedPosition>,
    ) -> Result<(Vec<Sealed>, Option<SealedPosition>), StoreError> {
        let SealedPosition { is_of_jobs, behind } = from.unwrap_or_else(|| SealedPosition {
            is_of_jobs: true,
            behind: params![Vec::new(), ""],
        });
        let sql = if is_of_jobs { sql::SEALED_JOBS } else { sql::SEALED_COLLECTIONS };
        let rows = self.read(sql, params![..behind, u32::from(SLICE)]).await?;
        let read = if is_of_jobs { read_job } else { read_collection };
        let key = if is_of_jobs { 2..4 } else { 0..1 };
        let last = rows.last().filter(|_| rows.len() == usize::from(SLICE));
        let next = match last.and_then(|row| row.get(key)) {
            Some(behind) => Some(SealedPosition { is_of_jobs, behind: behind.to_vec() }),
            None if is_of_jobs => {
                Some(SealedPosition { is_of_jobs: false, behind: params![Vec::new()] })
            }
            None => None,
        };
        let found = rows.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok((found, next))
    }

    /// Something that has secrets, if anything has.
    ///
    /// # Errors
    ///
    /// As [`sealed`](Self::sealed).
    pub async fn any_sealed(&self) -> Result<Option<Sealed>, StoreError> {
        let mut from = None;
        loop {
            let (found, next) = self.sealed(from).await?;
            if let Some(first) = found.into_iter().next() {
                return Ok(Some(first));
            }
            from = next;
            if from.is_none() {
                return Ok(None);
            }
        }
    }
}

fn read_job(row: Row) -> Result<Sealed, StoreError> {
    let mut row = Columns::new("jobs", row);
    let (uid, secrets, collection_uid) = (row.id()?, row.next()?, row.id()?);
    let _key: String = row.next()?;
    let name = row.named("name", |text| Name::new(text).ok())?;
    Ok(Sealed { uid, secrets, of: SealedOf::Job { collection_uid, name } })
}

fn read_collection(row: Row) -> Result<Sealed, StoreError> {
    let mut row = Columns::new("collections", row);
    let (uid, secrets) = (row.id()?, row.next()?);
    let place = row.named("path", CollectionPlace::read)?;
    Ok(Sealed { uid, secrets, of: SealedOf::Collection(place) })
}
