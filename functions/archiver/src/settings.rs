//! What the archiver reads from its environment.

use std::num::NonZeroU32;

use minutehand_archive_objects::Objects;
use minutehand_runtime_aws::Variables;

/// The archiver's settings.
#[derive(Debug)]
pub struct ArchiverSettings {
    /// The table whose stream it reads.
    pub table: String,
    /// Where it writes; `None` only if there is a problem.
    pub archive: Option<Objects>,
    /// How many backups are kept; `None` if none are made.
    pub backups_kept: Option<NonZeroU32>,
    /// The KMS key that seals secrets, if the function may move the installation.
    pub moving_key_id: Option<String>,
}

impl ArchiverSettings {
    /// Reads them.
    pub fn read(variables: &mut Variables) -> Self {
        variables.required("MINUTEHAND_ARCHIVE", "give the bucket of the archive, as s3://bucket");
        let name = "MINUTEHAND_BACKUPS_KEPT";
        let kept = variables.optional(name).unwrap_or_else(|| "0".to_owned());
        let kept = kept.parse::<u32>().unwrap_or_else(|_| {
            variables.problem(format!("{name} is '{kept}': give a number, or 0 for no backups"));
            0
        });
        Self {
            table: variables.table(),
            archive: variables.archive(),
            backups_kept: NonZeroU32::new(kept),
            moving_key_id: variables.optional("MINUTEHAND_MOVING_KEY_ID"),
        }
    }
}
