//! How durations are written, by who reads them.
//!
//! Answers hold `TimeSpan`, as the original's did. Some of its official clients were generated from
//! a specification that says ISO 8601, and fail on every answer that holds anything else; so they
//! get what they read. Both forms are accepted from everybody.

use domain::duration::Span;
use serde_json::Value;

/// Where a document is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// Alone.
    Alone,
    /// In a list.
    Listed,
}

/// Which forms a client reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// `TimeSpan`, as recorded.
    TimeSpan,
    /// ISO 8601.
    Iso,
    /// ISO 8601 in lists, and `TimeSpan` elsewhere.
    IsoInLists,
}

/// Clients that do not read `TimeSpan` everywhere, by what their `User-Agent` holds.
const CLIENTS: [(&str, Client); 2] = [
    // azure-mgmt-scheduler 7 (Python), which never applies its own patch for `TimeSpan`.
    ("azsdk-python-mgmt-scheduler/", Client::Iso),
    // azure-mgmt-scheduler 2 (Python), which applies it everywhere but in `jobs.list`.
    ("azure-mgmt-scheduler/2.", Client::IsoInLists),
];

/// Properties of an action that hold a duration, each in an object of the action.
const DURATIONS: [(&str, &[&str]); 3] = [
    ("retryInterval", &["retryPolicy"]),
    ("timeToLive", &["serviceBusQueueMessage", "brokeredMessageProperties"]),
    ("timeToLive", &["serviceBusTopicMessage", "brokeredMessageProperties"]),
];

impl Client {
    /// The client that calls itself so.
    pub(crate) fn of(user_agent: &str) -> Self {
        let known = CLIENTS.iter().find(|(part, _)| user_agent.contains(part));
        known.map_or(Self::TimeSpan, |(_, client)| *client)
    }

    /// Writes the durations in the properties of a job as this client reads them.
    pub(crate) fn write_durations(self, properties: &mut Value, position: Position) {
        match (self, position) {
            (Self::TimeSpan, _) | (Self::IsoInLists, Position::Alone) => return,
            (Self::Iso, _) | (Self::IsoInLists, Position::Listed) => {}
        }
        let Some(action) = properties.get_mut("action") else {
            return;
        };
        write_iso(action);
        if let Some(error_action) = action.get_mut("errorAction") {
            write_iso(error_action);
        }
    }
}

fn write_iso(action: &mut Value) {
    for (property, path) in DURATIONS {
        let object = path.iter().try_fold(&mut *action, |value, name| value.get_mut(*name));
        let Some(duration) = object.and_then(|object| object.get_mut(property)) else {
            continue;
        };
        if let Some(span) = duration.as_str().and_then(Span::read) {
            *duration = span.iso().into();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_client_is_known_by_its_user_agent() {
        let sdk_7 = "azsdk-python-mgmt-scheduler/7.0.0 Python/3.12.3 (Linux-6.8.0)";
        let sdk_2 = "python/3.12.3 (Linux-6.8.0) msrest/0.6.21 msrest_azure/0.6.4 \
                     azure-mgmt-scheduler/2.0.0 Azure-SDK-For-Python";
        let sdk_1 = "python/3.6.1 (Linux) msrest/0.4.7 azure-mgmt-scheduler/1.1.3";
        assert_eq!(Client::of(sdk_7), Client::Iso);
        assert_eq!(Client::of(sdk_2), Client::IsoInLists);
        for other in [sdk_1, "", "curl/8.5.0", "Azure-SDK-For-Node"] {
            assert_eq!(Client::of(other), Client::TimeSpan, "{other}");
        }
    }

    #[test]
    fn every_duration_is_written_as_it_is_read_and_nothing_else() {
        let action = |interval: &str, ttl: &str| {
            json!({
                "serviceBusQueueMessage": {
                    "brokeredMessageProperties": {"timeToLive": ttl},
                    "customMessageProperties": {"timeToLive": "00:01:00"},
                },
                "retryPolicy": {"retryType": "fixed", "retryInterval": interval},
                "errorAction": {
                    "serviceBusTopicMessage": {"brokeredMessageProperties": {"timeToLive": ttl}},
                    "retryPolicy": {"retryType": "fixed", "retryInterval": interval},
                },
            })
        };
        let kept = json!({"action": action("00:01:00", "30.00:00:00")});
        let iso = json!({"action": action("PT1M", "P30D")});
        for (client, position, expected) in [
            (Client::TimeSpan, Position::Alone, &kept),
            (Client::TimeSpan, Position::Listed, &kept),
            (Client::Iso, Position::Alone, &iso),
            (Client::Iso, Position::Listed, &iso),
            (Client::IsoInLists, Position::Alone, &kept),
            (Client::IsoInLists, Position::Listed, &iso),
        ] {
            let mut properties = kept.clone();
            client.write_durations(&mut properties, position);
            assert_eq!(&properties, expected, "{client:?} {position:?}");
        }
    }
}
