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

/// Something that back ends do not do as the others.
#[derive(Debug, Clone, Copy)]
pub struct Difference {
    /// The back ends, by their names in [`BACK_ENDS`].
    pub back_ends: &'static [&'static str],
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
        self.back_ends.contains(&back_end) && self.behaviours.iter().any(is_listed)
    }
}

/// The differences between back ends.
///
/// What is said of AWS is what its documentation says: the suite has not been run there.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        back_ends: &["DynamoDB elsewhere"],
        behaviours: &[],
        reason: "ministack tells no units of batch reads, and answers more than 16 MB of one at once; \
                 tests of prices and of cut batches run on the DynamoDB in the process alone",
    },
    Difference {
        back_ends: &["DynamoDB elsewhere"],
        behaviours: &[],
        reason: "AWS refuses a transaction that meets another one, since nothing waits for a lock; \
                 the suite asks again in every test",
    },
    Difference {
        back_ends: &["DynamoDB elsewhere"],
        behaviours: &[],
        reason: "an index on AWS follows its table a moment later; \
                 the tests that look into the index look at once, and may be too early there",
    },
    Difference {
        back_ends: &["DynamoDB elsewhere"],
        behaviours: &[],
        reason: "AWS takes seconds to create a table, and checks credentials; \
                 the tests are made for emulators, and do not wait",
    },
    Difference {
        back_ends: &["DynamoDB elsewhere"],
        behaviours: &[],
        reason: "AWS refuses a position that is longer than a sort key can be; \
                 a unit test of the store shows that it sends none",
    },
    Difference {
        back_ends: &["simulation"],
        behaviours: &[
            "browse::a_subscription_is_listed_once_it_has_had_a_collection",
            "browse::a_collection_is_found_by_name_and_its_path_by_id",
            "browse::collections_are_listed_by_name_in_pages",
            "browse::jobs_are_listed_by_the_beginning_of_their_names",
            "browse::jobs_that_have_expired_are_not_listed",
            "browse::the_attempts_of_one_instant_are_those_alone",
            "browse::attempts_before_an_instant_come_newest_first",
            "browse::an_attempt_that_has_not_ended_runs_or_waits",
            "browse::an_open_attempt_runs_since_its_start",
            "browse::timers_are_those_of_the_index",
            "browse::a_change_and_its_entry_of_the_journal_are_stored_together",
            "browse::the_entry_of_a_run_is_stored_alone_and_once",
            "browse::a_pause_and_its_entry_of_the_journal_are_stored_together",
            "browse::the_journal_comes_newest_first_in_pages",
            "cloud_services::a_cloud_service_is_kept_as_it_was_given",
            "cloud_services::a_cloud_service_of_the_same_name_is_another_one",
            "cloud_services::cloud_services_are_listed_by_name_and_not_among_collections",
            "cloud_services::only_the_next_version_is_kept",
            "cloud_services::only_the_version_that_was_read_is_deleted",
            "failures::*",
            "firing_races::one_version_of_a_cloud_service_wins",
            "installation::*",
        ],
        reason: "people who read, the classic API, and moves have no part in a simulated run",
    },
    Difference {
        back_ends: &["DynamoDB", "DynamoDB elsewhere"],
        behaviours: &["pings::what_was_left_out_as_not_watched_is_not_opened"],
        reason: "on AWS the API counts as always there, so nothing is left out for that reason; \
                 the check would cost two more write units at each ping",
    },
    Difference {
        back_ends: &["DynamoDB", "DynamoDB elsewhere"],
        behaviours: &["quarters::*"],
        reason: "a count of quarters is one more write at each firing; \
                 what people see is computed from what is stored anyway",
    },
    Difference {
        back_ends: &["simulation"],
        behaviours: &["damage::*"],
        reason: "a row in memory is a value, which cannot be unreadable",
    },
    Difference {
        back_ends: &["DynamoDB", "DynamoDB elsewhere"],
        behaviours: &["pings::signs_are_written_on_those_that_were_read"],
        reason: "the API on AWS counts as always there, so nothing gives signs",
    },
    Difference {
        back_ends: &["SQLite in memory", "SQLite in a file"],
        behaviours: &["brakes::*"],
        reason: "a machine knows what its own calls have shown",
    },
    Difference {
        back_ends: &["PostgreSQL"],
        behaviours: &["brakes::*"],
        reason: "a process that runs all the time knows what its own calls have shown",
    },
    Difference {
        back_ends: &["SQS"],
        behaviours: &["deliveries::*"],
        reason: "Lambda receives, and hands messages over as events; the clock of SQS cannot be set",
    },
];
