//! One error for several callers.

use std::fmt;
use std::sync::Arc;

use minutehand_ports::StoreError;

/// The error of a request that served several callers.
#[derive(Debug, Clone)]
pub(crate) struct SharedError(Arc<StoreError>);

impl SharedError {
    pub(crate) fn new(error: StoreError) -> Self {
        Self(Arc::new(error))
    }

    /// An error of the same kind, with this one as its source.
    pub(crate) fn copy(&self) -> StoreError {
        match &*self.0 {
            StoreError::Unavailable(_) => StoreError::Unavailable(Box::new(self.clone())),
            StoreError::Throttled(_) => StoreError::Throttled(Box::new(self.clone())),
            StoreError::Refused(_) => StoreError::Refused(Box::new(self.clone())),
            StoreError::Corrupt { key, what } => {
                StoreError::Corrupt { key: key.clone(), what: what.clone() }
            }
        }
    }
}

impl fmt::Display for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request for several items failed")
    }
}

impl std::error::Error for SharedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&*self.0)
    }
}
