//! The form of durations in an answer, which depends on the client.
//!
//! Answers contain `TimeSpan`, as the original's did. Some of its official clients were generated
//! from a specification that says ISO 8601, and fail on every answer in another form; they get
//! ISO 8601. Requests may use both forms.

use minutehand_domain::document::Durations;

/// Where a document is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// The document is the answer.
    Alone,
    /// The document is an item of a list.
    Listed,
}

/// The forms that a client reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// `TimeSpan`, as recorded.
    TimeSpan,
    /// ISO 8601.
    Iso,
    /// ISO 8601 in lists, and `TimeSpan` elsewhere.
    IsoInLists,
}

/// Clients that do not read `TimeSpan` everywhere, by a part of their `User-Agent`.
const CLIENTS: [(&str, Client); 2] = [
    // azure-mgmt-scheduler 7 (Python), which never applies its own patch for `TimeSpan`.
    ("azsdk-python-mgmt-scheduler/", Client::Iso),
    // azure-mgmt-scheduler 2 (Python), which applies it everywhere except in `jobs.list`.
    ("azure-mgmt-scheduler/2.", Client::IsoInLists),
];

impl Client {
    /// The client that sends this `User-Agent`.
    pub(crate) fn from_user_agent(user_agent: &str) -> Self {
        let known = CLIENTS.iter().find(|(part, _)| user_agent.contains(part));
        known.map_or(Self::TimeSpan, |(_, client)| *client)
    }

    /// The form that this client reads at a position.
    pub(crate) const fn durations(self, position: Position) -> Durations {
        match (self, position) {
            (Self::TimeSpan, _) | (Self::IsoInLists, Position::Alone) => Durations::TimeSpan,
            (Self::Iso, _) | (Self::IsoInLists, Position::Listed) => Durations::Iso,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_known_by_its_user_agent() {
        let sdk_7 = "azsdk-python-mgmt-scheduler/7.0.0 Python/3.12.3 (Linux-6.8.0)";
        let sdk_2 = "python/3.12.3 (Linux-6.8.0) msrest/0.6.21 msrest_azure/0.6.4 \
                     azure-mgmt-scheduler/2.0.0 Azure-SDK-For-Python";
        let sdk_1 = "python/3.6.1 (Linux) msrest/0.4.7 azure-mgmt-scheduler/1.1.3";
        assert_eq!(Client::from_user_agent(sdk_7), Client::Iso);
        assert_eq!(Client::from_user_agent(sdk_2), Client::IsoInLists);
        for other in [sdk_1, "", "curl/8.5.0", "Azure-SDK-For-Node"] {
            assert_eq!(Client::from_user_agent(other), Client::TimeSpan, "{other}");
        }
    }

    #[test]
    fn each_client_gets_the_form_that_it_reads() {
        for (client, position, expected) in [
            (Client::TimeSpan, Position::Alone, Durations::TimeSpan),
            (Client::TimeSpan, Position::Listed, Durations::TimeSpan),
            (Client::Iso, Position::Alone, Durations::Iso),
            (Client::Iso, Position::Listed, Durations::Iso),
            (Client::IsoInLists, Position::Alone, Durations::TimeSpan),
            (Client::IsoInLists, Position::Listed, Durations::Iso),
        ] {
            assert_eq!(client.durations(position), expected, "{client:?} {position:?}");
        }
    }
}
