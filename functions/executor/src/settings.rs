//! The settings of the executor, read from its environment.

use actions::{AUTHORITY, TargetPolicy, is_authority};
use runtime_aws::Variables;

/// The executor's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutorSettings {
    /// The table that stores everything.
    pub table: String,
    /// The queue from which messages come, and to which follow-up messages go.
    pub queue_url: String,
    /// The event bus that receives events of jobs.
    pub event_bus: Option<String>,
    /// The key with which secrets are sealed.
    pub key_id: String,
    /// Which addresses actions may reach.
    pub targets: TargetPolicy,
    /// The base URL of the authority that issues tokens.
    pub authority: String,
}

impl ExecutorSettings {
    /// Reads the settings.
    pub fn read(variables: &mut Variables) -> Self {
        let targets =
            [("public", TargetPolicy::PublicOnly), ("private", TargetPolicy::AllowPrivate)];
        Self {
            table: variables.table(),
            queue_url: variables.queue_url(),
            event_bus: variables.event_bus(),
            key_id: variables.key_id(),
            targets: variables.choice("MINUTEHAND_TARGETS", &targets, TargetPolicy::PublicOnly),
            authority: authority(variables),
        }
    }
}

fn authority(variables: &mut Variables) -> String {
    let name = "MINUTEHAND_OAUTH_AUTHORITY";
    let Some(url) = variables.optional(name) else { return AUTHORITY.to_owned() };
    if !is_authority(&url) {
        variables.problem(format!("{name} is '{url}': give a URL, like {AUTHORITY}"));
    }
    url
}
