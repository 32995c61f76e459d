//! The settings of the executor, read from its environment.

use minutehand_actions::{AUTHORITY, TargetPolicy, is_authority, is_on_loopback};
use minutehand_archive_objects::Objects;
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::own::OwnResources;
use minutehand_runtime_aws::Variables;

/// The executor's settings.
#[derive(Debug, Clone)]
pub struct ExecutorSettings {
    /// The table that stores everything.
    pub table: String,
    /// For how long history is kept.
    pub history: HistoryDays,
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
    /// The address at which targets reach the API.
    pub public_url: Option<String>,
    /// The base URL of the authority that issues tokens.
    pub authority: String,
    /// Where bodies of failures are kept, if they are.
    pub bodies: Option<Objects>,
}

impl ExecutorSettings {
    /// Reads the settings.
    pub fn read(variables: &mut Variables) -> Self {
        // On loopback is the runtime API of Lambda, which jobs must not call. Where AWS itself is on
        // loopback, this is not a Lambda but a developer's machine.
        let aws = variables.optional("AWS_ENDPOINT_URL");
        let private = if aws.is_some_and(|url| is_on_loopback(&url)) {
            TargetPolicy::AllowPrivate
        } else {
            TargetPolicy::AllowPrivateNotLoopback
        };
        let archive = variables.archive();
        let targets = [("public", TargetPolicy::PublicOnly), ("private", private)];
        Self {
            table: variables.table(),
            history: variables.history_days(),
            queue_url: variables.queue_url(),
            event_bus: variables.event_bus(),
            key_id: variables.key_id(),
            own: variables.own_resources(),
            actions_role: variables.optional("MINUTEHAND_ACTIONS_ROLE"),
            targets: variables.choice("MINUTEHAND_TARGETS", &targets, TargetPolicy::PublicOnly),
            public_url: variables.public_url(),
            authority: authority(variables),
            bodies: variables.keeps_bodies(archive.as_ref()),
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
    fn the_runtime_api_of_lambda_is_never_a_target() {
        let [runtime_api, inside] = ["127.0.0.1", "10.1.2.3"].map(|it| it.parse().unwrap());
        for targets in ["", "public", "private"] {
            for endpoint in ["", "https://vpce-1.dynamodb.eu-west-1.vpce.amazonaws.com"] {
                let policy = policy(targets, endpoint);
                assert!(policy.check(runtime_api).is_err(), "{targets}, {endpoint}");
                assert_eq!(policy.check(inside).is_ok(), targets == "private");
            }
        }
    }

    #[test]
    fn beside_an_emulator_of_aws_a_job_may_call_the_machine_itself() {
        let emulator = "http://127.0.0.1:4566";
        let address = "127.0.0.1".parse().unwrap();
        assert!(policy("private", emulator).check(address).is_ok());
        assert!(policy("public", emulator).check(address).is_err());
    }

    fn policy(targets: &'static str, endpoint: &'static str) -> TargetPolicy {
        let variables = [("MINUTEHAND_TARGETS", targets), ("AWS_ENDPOINT_URL", endpoint)];
        ExecutorSettings::read(&mut Variables::of(variables)).targets
    }
}
