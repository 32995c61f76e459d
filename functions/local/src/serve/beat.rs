//! The signs of life of the executor: a process without work for a while is not an outage.

use std::sync::Arc;

use minutehand_app::fire::Heartbeat;
use minutehand_domain::firing::limits::BEAT_EVERY;
use minutehand_ports::{Clock, chain};

/// Gives signs of life for ever. One that fails is tried again with the next attempt,
/// or the next time.
pub(super) async fn beat(heartbeat: Arc<Heartbeat>, clock: Arc<dyn Clock>) {
    loop {
        if let Err(error) = heartbeat.beat().await {
            tracing::warn!(error = chain(&error), "the executor could not give a sign of life");
        }
        clock.wait(BEAT_EVERY.to_std().unwrap_or_default()).await;
    }
}
