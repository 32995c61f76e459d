//! The back ends of the suite, and what they do otherwise.

use super::Behaviour;

/// The back ends on which the suite is run.
pub const BACK_ENDS: [&str; 7] = [
    "DynamoDB",
    "DynamoDB elsewhere",
    "simulation",
    "SQS",
    "SQLite in memory",
    "SQLite in a file",
    "PostgreSQL",
];

/// Something that a back end does not do as the others.
#[derive(Debug, Clone, Copy)]
pub struct Difference {
    /// The back end, by the name in [`BACK_ENDS`].
    pub back_end: &'static str,
    /// The behaviours that do not hold there, each as `group::name`, or `group::*` for all of a group.
    /// None if the suite does not see it.
    pub behaviours: &'static [&'static str],
    /// The difference and its reason.
    pub reason: &'static str,
}

impl Difference {
    /// Whether it says that the back end does not have this behaviour.
    pub(super) fn is_of<S>(&self, back_end: &str, behaviour: &Behaviour<S>) -> bool {
        let (name, all) = (format!("{behaviour:?}"), format!("{}::*", behaviour.group));
        let is_listed = |it: &&str| **it == name || **it == all;
        self.back_end == back_end && self.behaviours.iter().any(is_listed)
    }
}

/// The differences between back ends.
///
/// What is said of AWS is what its documentation says: the suite has not been run there.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        back_end: "DynamoDB elsewhere",
        behaviours: &[],
        reason: "ministack tells no units of batch reads, and answers more than 16 MB of one at once; \
                 tests of prices and of cut batches run on the DynamoDB in the process alone",
    },
    Difference {
        back_end: "DynamoDB elsewhere",
        behaviours: &[],
        reason: "AWS refuses a transaction that meets another one, since nothing waits for a lock; \
                 the suite asks again in every test",
    },
    Difference {
        back_end: "DynamoDB elsewhere",
        behaviours: &[],
        reason: "an index on AWS follows its table a moment later; \
                 the tests that look into the index look at once, and may be too early there",
    },
    Difference {
        back_end: "DynamoDB elsewhere",
        behaviours: &[],
        reason: "AWS takes seconds to create a table, and checks credentials; \
                 the tests are made for emulators, and do not wait",
    },
    Difference {
        back_end: "DynamoDB elsewhere",
        behaviours: &[],
        reason: "AWS refuses a position that is longer than a sort key can be; \
                 a unit test of the store shows that it sends none",
    },
    Difference {
        back_end: "simulation",
        behaviours: &[
            "browse::*",
            "cloud_services::a_cloud_service_is_kept_as_it_was_given",
            "cloud_services::a_cloud_service_of_the_same_name_is_another_one",
            "cloud_services::cloud_services_are_listed_by_name_and_not_among_collections",
            "cloud_services::only_the_next_version_is_kept",
            "cloud_services::only_the_version_that_was_read_is_deleted",
            "failures::*",
            "firing_races::one_version_of_a_cloud_service_wins",
            "installation::*",
            "quarters::*",
        ],
        reason: "people who read, the classic API, and moves have no part in a simulated run",
    },
    Difference {
        back_end: "DynamoDB",
        behaviours: &["quarters::*"],
        reason: "a count of quarters is one more write at each firing; \
                 what people see is computed from what is stored anyway",
    },
    Difference {
        back_end: "DynamoDB elsewhere",
        behaviours: &["quarters::*"],
        reason: "a count of quarters is one more write at each firing; \
                 what people see is computed from what is stored anyway",
    },
    Difference {
        back_end: "simulation",
        behaviours: &["damage::*"],
        reason: "a row in memory is a value, which cannot be unreadable",
    },
    Difference {
        back_end: "simulation",
        behaviours: &["pings::*"],
        reason: "its world has no senders of pings",
    },
    Difference {
        back_end: "DynamoDB",
        behaviours: &["pings::signs_are_written_on_those_that_were_read"],
        reason: "the API on AWS counts as always there, so nothing gives signs",
    },
    Difference {
        back_end: "DynamoDB elsewhere",
        behaviours: &["pings::signs_are_written_on_those_that_were_read"],
        reason: "the API on AWS counts as always there, so nothing gives signs",
    },
    Difference {
        back_end: "SQS",
        behaviours: &["deliveries::*"],
        reason: "Lambda receives, and hands messages over as events; the clock of SQS cannot be set",
    },
];
