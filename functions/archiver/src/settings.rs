//! What the archiver reads from its environment.

use archive_objects::Objects;
use runtime_aws::Variables;

/// The archiver's settings.
#[derive(Debug)]
pub struct ArchiverSettings {
    /// The table whose stream it reads.
    pub table: String,
    /// Where it writes; `None` only if there is a problem.
    pub archive: Option<Objects>,
}

impl ArchiverSettings {
    /// Reads them.
    pub fn read(variables: &mut Variables) -> Self {
        variables.required("MINUTEHAND_ARCHIVE", "give the bucket of the archive, as s3://bucket");
        Self { table: variables.table(), archive: variables.archive() }
    }
}
