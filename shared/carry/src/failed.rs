//! Why an export or an import fails.

use minutehand_archive_objects::ArchiveError;
use minutehand_ports::{SealError, StoreError};

use crate::line::BadLine;

/// An export or an import failed.
#[derive(Debug, thiserror::Error)]
pub enum MoveFailed {
    /// It is refused with this reason, and nothing has changed.
    #[error("{0}")]
    Refused(String),
    /// There is more to export than there is time for.
    #[error("the time was over after {0} things, and nothing was exported")]
    TooLong(u64),
    /// The store does not answer.
    #[error("{doing}")]
    Store {
        /// What was to be done.
        doing: String,
        /// Why it was not.
        #[source]
        why: StoreError,
    },
    /// The place of the export does not answer, or a file there is damaged.
    #[error(transparent)]
    Objects(#[from] ArchiveError),
    /// A line of a file cannot be read.
    #[error("{line}")]
    Line {
        /// The line, and the backup that it is in.
        line: Box<ArchiveError>,
        /// Why it cannot be read.
        #[source]
        why: BadLine,
    },
    /// A secret cannot be opened or sealed.
    #[error("{of}")]
    Secret {
        /// What has the secret.
        of: String,
        /// Why it cannot.
        #[source]
        why: SecretFailed,
    },
}

/// A secret cannot be opened or sealed.
#[derive(Debug, thiserror::Error)]
pub enum SecretFailed {
    /// It is sealed with another key.
    #[error("{0}")]
    WrongKey(&'static str),
    /// The key does not answer.
    #[error("cannot open a secret")]
    Open(#[source] SealError),
    /// The key does not answer.
    #[error("cannot seal a secret")]
    Seal(#[source] SealError),
}

impl MoveFailed {
    pub(crate) fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }

    /// What a failure of the store is that happened while this was done.
    pub(crate) fn store(doing: impl Into<String>) -> impl Fn(StoreError) -> Self {
        let doing = doing.into();
        move |why| Self::Store { doing: doing.clone(), why }
    }
}
