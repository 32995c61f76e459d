use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::firing::SharedBrake;
use minutehand_ports_macro::port;

use super::StoreError;

/// What processes that share nothing else know of origins that do not answer.
///
/// A process that is alone knows that by itself, so not every store has this.
#[port]
pub trait Brakes: Send + Sync {
    /// What is known of each origin, as it was a moment ago: of a thousand at most. Some of it may be
    /// forgotten already.
    async fn read_brakes(&self) -> Result<Vec<(String, SharedBrake)>, StoreError>;

    /// Counts a call that has no answer. A call may be counted twice if an answer of the store was lost.
    async fn count_unanswered(
        &self,
        origin: &str,
        now: DateTime<Utc>,
    ) -> Result<SharedBrake, StoreError>;

    /// Takes the call that an origin that hangs gets now; `false` if another one took it. A call whose
    /// answer was lost is lost: the next one is due as if it had begun.
    async fn take_call(&self, origin: &str, now: DateTime<Utc>) -> Result<bool, StoreError>;

    /// Forgets what is known of an origin, because it has answered.
    async fn release_brake(&self, origin: &str) -> Result<(), StoreError>;
}

/// Tells which origins hang. `()` knows of none.
#[async_trait]
pub trait HangingOrigins: Send + Sync {
    /// Those that hang at this work time, as it was a moment ago: of a thousand at most.
    async fn hanging_origins(&self, work_now: DateTime<Utc>) -> Result<Vec<String>, StoreError>;
}

#[async_trait]
impl HangingOrigins for () {
    async fn hanging_origins(&self, _work_now: DateTime<Utc>) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl<S: Brakes> HangingOrigins for S {
    async fn hanging_origins(&self, work_now: DateTime<Utc>) -> Result<Vec<String>, StoreError> {
        let brakes = self.read_brakes().await?.into_iter();
        Ok(brakes.filter(|(_, brake)| brake.hangs(work_now)).map(|(origin, _)| origin).collect())
    }
}
