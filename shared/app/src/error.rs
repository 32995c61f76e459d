//! Errors of the services, independent of HTTP.

use minutehand_domain::history_name::HistoryName;
use minutehand_domain::name::Name;
use minutehand_domain::refusal::Refusal;
use minutehand_ports::store::ResourceGroup;
use minutehand_ports::{NotMade, PurposeKeyError, QueueError, SealError, StepError, StoreError};

use crate::etag::Etag;

pub(crate) type Result<T, E = AppError> = std::result::Result<T, E>;

/// Why a service did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The caller is limited to some collections, and asks for something else.
    #[error("the caller may reach only '{reach}'")]
    OutOfReach {
        /// What the caller asks for; `None` for the whole installation.
        what: Option<String>,
        /// The patterns of what it may reach.
        reach: String,
    },
    /// The collection does not exist.
    #[error("job collection '{name}' in resource group '{group}' not found")]
    NoCollection {
        /// The resource group in the request.
        group: String,
        /// The name in the request.
        name: String,
    },
    /// The collection of a job does not exist, so that nothing can be done with its jobs.
    #[error("job collection '{name}' in resource group '{group}' not found")]
    NoParent {
        /// The resource group in the request.
        group: String,
        /// The name of the collection in the request.
        name: String,
    },
    /// The cloud service does not exist.
    #[error("cloud service '{name}' not found")]
    NoCloudService {
        /// The name in the request.
        name: String,
    },
    /// The job does not exist.
    #[error("job '{name}' not found")]
    NoJob {
        /// The name in the request.
        name: String,
    },
    /// No body is kept of an attempt.
    #[error("no body of attempt '{of}'")]
    NoBody {
        /// The attempt.
        of: HistoryName,
        /// Whether this installation keeps bodies of failures at all.
        kept: bool,
    },
    /// The request is refused; the message is for the caller.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The condition of a change does not hold.
    #[error("{what} is not as the request expects")]
    ConditionFailed {
        /// The kind and the name of the thing.
        what: String,
        /// Its `ETag`; `None` if it does not exist.
        etag: Option<Etag>,
    },
    /// Concurrent changes came first at every retry.
    #[error("{what} is being modified concurrently")]
    Busy {
        /// The kind and the name of the thing.
        what: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The disk is full or read-only.
    #[error("the disk accepts no writes")]
    NoWrites(#[source] StoreError),
    /// Secrets could not be sealed or opened.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A key of the installation is not known.
    #[error(transparent)]
    Key(#[from] PurposeKeyError),
    /// The queue did not accept a message that the request asked for.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// An action was not begun, for lack of something that the process needs.
    #[error(transparent)]
    NotMade(#[from] NotMade),
    /// A newer version wrote a stored job, with something that this one does not know and must not
    /// ignore.
    #[error("a newer version wrote stored job '{name}': this one does not know '{what}'")]
    Newer {
        /// The identifier of the job.
        name: String,
        /// What it does not know.
        what: String,
    },
    /// A stored job does not have the structure of a job.
    #[error("stored job '{name}' cannot be read")]
    Unreadable {
        /// The name or the identifier of the job.
        name: String,
        /// The part that cannot be read.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl From<StepError> for AppError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Queue(error) => error.into(),
            StepError::Store(error) => error.into(),
        }
    }
}

impl AppError {
    pub(crate) fn no_collection(place: &ResourceGroup, name: &Name) -> Self {
        Self::NoCollection { group: place.group.to_string(), name: name.to_string() }
    }

    pub(crate) fn no_parent(place: &ResourceGroup, name: &Name) -> Self {
        Self::NoParent { group: place.group.to_string(), name: name.to_string() }
    }

    pub(crate) fn no_job(name: &Name) -> Self {
        Self::NoJob { name: name.to_string() }
    }

    /// Whether the store asks for fewer requests.
    #[must_use]
    pub const fn is_throttling(&self) -> bool {
        matches!(self, Self::Store(StoreError::Throttled(_)))
    }

    /// Whether the same request may succeed later, because a service that it needs was unavailable.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Store(error)
            | Self::NoWrites(error)
            | Self::Key(PurposeKeyError::Store(error)) => error.is_retryable(),
            Self::Queue(error) => error.is_retryable(),
            Self::Seal(error) | Self::Key(PurposeKeyError::Seal(error)) => error.is_retryable(),
            Self::Busy { .. } | Self::NotMade(_) | Self::Newer { .. } => true,
            Self::OutOfReach { .. }
            | Self::NoCollection { .. }
            | Self::NoParent { .. }
            | Self::NoCloudService { .. }
            | Self::NoJob { .. }
            | Self::NoBody { .. }
            | Self::Refused(_)
            | Self::ConditionFailed { .. }
            | Self::Unreadable { .. } => false,
        }
    }
}
