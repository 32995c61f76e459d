//! Telling work when to stop.

use std::pin::Pin;

use futures_util::FutureExt;
use futures_util::future::{Shared, pending};

/// Tells work when its process is shutting down. Cheap to clone.
#[derive(Clone)]
pub struct Stop(Shared<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Stop {
    /// A token that fires when a future ends.
    pub fn when(requested: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(requested.boxed().shared())
    }

    /// A token that never fires, for a host that never interrupts work.
    #[must_use]
    pub fn never() -> Self {
        Self::when(pending())
    }

    /// Waits until the work is to stop.
    pub async fn requested(&self) {
        self.0.clone().await;
    }
}
