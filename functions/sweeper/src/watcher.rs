//! The watcher elsewhere that is told each minute that jobs fire, so it notices a silent installation.
//!
//! Nothing is sent after a pass that was not whole, or while messages wait and no executor gives a sign of
//! life. A crash leaves a ping that is not sent; the next pass sends one.

use std::sync::Arc;

use minutehand_domain::firing::limits::SILENT_AFTER;
use minutehand_outbound::{HeartbeatUrl, Pool};
use minutehand_ports::{Clock, Pulses as _, chain};
use minutehand_queue_sqs::SqsQueue;
use minutehand_store_dynamodb::DynamoStore;
use tokio::sync::OnceCell;

/// Pings the watcher.
pub(crate) struct Watcher {
    pub(crate) url: HeartbeatUrl,
    pub(crate) store: Arc<DynamoStore>,
    pub(crate) queue: Arc<SqsQueue>,
    pub(crate) clock: Arc<dyn Clock>,
    /// The connections, once they were needed.
    pub(crate) pool: OnceCell<Pool>,
}

impl Watcher {
    /// Pings after a pass, if jobs fire. Why no ping arrives is logged.
    pub(crate) async fn ping(&self, is_whole: bool) {
        let trouble =
            if is_whole { self.trouble().await } else { Some("the pass failed".to_owned()) };
        if let Some(trouble) = trouble {
            tracing::warn!(trouble, "HeartbeatUrl: no ping is sent");
            return;
        }
        let sent = async {
            let pool = self.pool.get_or_try_init(async || self.url.pool()).await;
            let pool = pool.map_err(|error| chain(&error))?;
            self.url.ping(pool).await.map_err(|error| chain(&error))
        };
        if let Err(error) = sent.await {
            tracing::warn!(host = self.url.host(), error, "HeartbeatUrl: a ping did not arrive");
        }
    }

    /// Why jobs do not fire; `None` if they do.
    async fn trouble(&self) -> Option<String> {
        let pulses = match self.store.read_pulses().await {
            Ok(pulses) => pulses,
            Err(error) => return Some(chain(&error)),
        };
        if !pulses.workers.is_silent(self.clock.now(), SILENT_AFTER) {
            return None;
        }
        // Without work there is no sign of life.
        match self.queue.waiting().await {
            Ok(0) => None,
            Ok(_) => Some("messages wait, and no executor gives a sign of life".to_owned()),
            Err(error) => Some(chain(&error)),
        }
    }
}
