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
    let url: Result<HeartbeatUrl, _> = variables.optional(name)?.parse();
    url.map_err(|error| variables.problem(format!("{name}: {error}"))).ok()
}
