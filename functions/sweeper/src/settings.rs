//! What the sweeper reads from its environment.

use minutehand_domain::history_days::HistoryDays;
use minutehand_outbound::HeartbeatUrl;
use minutehand_runtime_aws::Variables;

/// The sweeper's settings.
#[derive(Debug, Clone)]
pub struct SweeperSettings {
    /// The table in which everything is kept.
    pub table: String,
    /// For how long history is kept.
    pub history: HistoryDays,
    /// Where what is due goes.
    pub queue_url: String,
    /// Who is told of occurrences that are skipped.
    pub event_bus: Option<String>,
    /// The watcher that is told each minute that jobs fire.
    pub heartbeat: Option<HeartbeatUrl>,
}

impl SweeperSettings {
    /// Reads them.
    pub fn read(variables: &mut Variables) -> Self {
        Self {
            table: variables.table(),
            history: variables.history_days(),
            queue_url: variables.queue_url(),
            event_bus: variables.event_bus(),
            heartbeat: heartbeat(variables),
        }
    }
}

fn heartbeat(variables: &mut Variables) -> Option<HeartbeatUrl> {
    let name = "MINUTEHAND_HEARTBEAT_URL";
    let text = variables.optional(name)?;
    let url = text.parse().ok().and_then(HeartbeatUrl::new);
    if url.is_none() {
        // The text is a secret.
        variables.problem(format!("{name} is not an http or https URL"));
    }
    url
}
