//! The settings of the executor, read from its environment.

use actions::{AUTHORITY, TargetPolicy, is_authority};
use domain::own::OwnResources;
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
    /// The installation's own resources, to which no job may send.
    pub own: OwnResources,
    /// The role in which jobs send to AWS; `None` if they may send nowhere.
    pub actions_role: Option<String>,
    /// Which addresses actions may reach.
    pub targets: TargetPolicy,
    /// The base URL of the authority that issues tokens.
    pub authority: String,
}

impl ExecutorSettings {
    /// Reads the settings.
    pub fn read(variables: &mut Variables) -> Self {
        // On loopback is the runtime API of Lambda, which jobs must not call.
        let targets = [
            ("public", TargetPolicy::PublicOnly),
            ("private", TargetPolicy::AllowPrivateNotLoopback),
        ];
        Self {
            table: variables.table(),
            queue_url: variables.queue_url(),
            event_bus: variables.event_bus(),
            key_id: variables.key_id(),
            own: variables.own_resources(),
            actions_role: variables.optional("MINUTEHAND_ACTIONS_ROLE"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_setting_makes_the_runtime_api_of_lambda_a_target() {
        let runtime_api = "127.0.0.1".parse().unwrap();
        for targets in ["", "public", "private"] {
            let mut variables = Variables::of([("MINUTEHAND_TARGETS", targets)]);
            let settings = ExecutorSettings::read(&mut variables);
            assert!(settings.targets.check(runtime_api).is_err(), "{targets}");
            assert_eq!(
                settings.targets.check("10.1.2.3".parse().unwrap()).is_ok(),
                targets == "private"
            );
        }
    }
}
