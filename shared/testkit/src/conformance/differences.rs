//! The back ends of the suite, and what they do otherwise.

use super::Behaviour;

/// The back ends on which the suite is run.
pub const BACK_ENDS: [&str; 3] =
    ["DynamoDB, transactions", "DynamoDB, single writes", "DynamoDB elsewhere"];

/// Something that a back end does not do as the others.
#[derive(Debug, Clone, Copy)]
pub struct Difference {
    /// The back end, by the name in [`BACK_ENDS`].
    pub back_end: &'static str,
    /// The behaviours that do not hold there, each as `group::name`. None if the suite does not see it.
    pub behaviours: &'static [&'static str],
    /// The difference and its reason.
    pub reason: &'static str,
}

impl Difference {
    /// Whether it says that the back end does not have this behaviour.
    pub(super) fn is_of(&self, back_end: &str, behaviour: &Behaviour) -> bool {
        let name = format!("{}::{}", behaviour.group, behaviour.name);
        self.back_end == back_end && self.behaviours.contains(&name.as_str())
    }
}

/// The differences between back ends.
///
/// What is said of AWS is what its documentation says: the suite has not been run there.
pub const DIFFERENCES: [Difference; 5] = [
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
];
