//! The version of a resource, as clients see it.

use std::fmt;

use minutehand_domain::ids::fnv1a;
use minutehand_ports::store::{CollectionRecord, JobRecord};

/// The `ETag` of a job or a collection: the version of its definition. A firing does not change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Etag(String);

impl Etag {
    /// The `ETag` of a version. The id tells apart resources that had one name, one after the other.
    pub(crate) fn new(uid: &str, version: u64) -> Self {
        Self(format!("{version}-{:08x}", fnv1a(uid.as_bytes())))
    }

    /// The `ETag` without quotation marks, as a condition names it.
    #[must_use]
    pub fn inner(&self) -> &str {
        &self.0
    }
}

impl From<&JobRecord> for Etag {
    fn from(job: &JobRecord) -> Self {
        Self::new(&job.uid, job.version)
    }
}

impl From<&CollectionRecord> for Etag {
    fn from(record: &CollectionRecord) -> Self {
        Self::new(&record.collection.uid, record.version)
    }
}

/// The `ETag` as headers have it, in quotation marks.
impl fmt::Display for Etag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}
