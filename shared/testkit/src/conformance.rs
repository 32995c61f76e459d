//! What the services rely on in [`Collections`](minutehand_ports::Collections),
//! [`CloudServices`](minutehand_ports::CloudServices), [`Jobs`](minutehand_ports::Jobs) and
//! [`Snapshots`](minutehand_ports::Snapshots), as tests for any back end.
//!
//! The store is one implementation over the DynamoDB API, and what answers that API differs: the
//! embedded store, an emulator, AWS. So each behaviour is a function of a [`Subject`], a store with
//! a table of its own, and [`conformance!`](crate::conformance!) makes a test of each:
//!
//! ```text
//! /// A store with an empty table of that name.
//! async fn subject(table: &str) -> Subject { .. }
//!
//! minutehand_testkit::conformance!(crate::conformance::subject);
//! ```
//!
//! `tests/it/conformance` does so on the embedded store, with every `make test`. The same tests use
//! another DynamoDB instead if a variable names one, and make a table there for each of them, which
//! is deleted where the test succeeds:
//!
//! ```text
//! MINUTEHAND_DYNAMODB_ENDPOINT=http://127.0.0.1:4566 cargo nextest run -p minutehand-tests conformance
//! ```
//!
//! No behaviour is left out on any back end: there is no way to skip one. Where back ends differ
//! all the same, that is a row of [`KNOWN_DIFFERENCES`] with what the suite makes of it.
//!
//! # Adding behaviours
//!
//! One file is one group: its `behaviours!` at the top lists the functions that are tests, and one
//! that is missing there is reported as dead code. A new file is named once more, in
//! [`conformance!`](crate::conformance!).
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "this is the inside of tests: they say what they expect by panicking"
)]

/// Makes the functions named the tests of this group.
macro_rules! behaviours {
    ($dollar:tt $group:ident as $tests:ident: $($name:ident,)+) => {
        /// The behaviours, one function each; they panic where the store does not have them.
        pub mod listed {
            use crate::conformance::Subject;

            $(
                #[doc = concat!("Checks that `", stringify!($name), "`.")]
                pub async fn $name(subject: &Subject) {
                    super::$name(subject).await;
                }
            )+
        }

        #[doc(hidden)]
        #[macro_export]
        macro_rules! $tests {
            ($dollar open:path) => {
                mod $group {
                    $(
                        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                        async fn $name() {
                            let subject = $dollar open(stringify!($name)).await;
                            $dollar crate::conformance::$group::listed::$name(&subject).await;
                            subject.close().await;
                        }
                    )+
                }
            };
        }
    };
}

pub mod cloud_services;
pub mod collections;
pub mod corruption;
pub mod counts;
pub mod jobs;
pub mod lists;
pub mod races;
mod records;
mod requests;
pub mod scale;
mod subject;
pub mod timers;
pub mod values;

pub use subject::Subject;

/// Something that is not the same on every back end.
#[derive(Debug)]
pub struct Difference {
    /// Where it is.
    pub back_end: &'static str,
    /// The difference and its reason.
    pub what: &'static str,
    /// The suite's reaction to the difference.
    pub here: &'static str,
}

/// The differences between back ends.
///
/// The embedded store and ministack 1.5 have none of it. What is said of AWS is what its
/// documentation says: the suite has not been run there.
pub const KNOWN_DIFFERENCES: [Difference; 5] = [
    Difference {
        back_end: "ministack",
        what: "it tells no units of batch reads, and answers more than 16 MB of one at once",
        here: "tests of prices and of cut batches run on the embedded store alone",
    },
    Difference {
        back_end: "AWS",
        what: "a transaction that meets another one is refused, since nothing waits for a lock",
        here: "a change that is refused for this reason is asked for again, in every test",
    },
    Difference {
        back_end: "AWS",
        what: "an index follows its table a moment later, since it is kept elsewhere",
        here: "the tests that look into the index look at once, and may be too early there",
    },
    Difference {
        back_end: "AWS",
        what: "a table takes seconds to be created, and credentials are checked",
        here: "a test that opens a subject waits for its table; `tests/it` is made for emulators, and does not",
    },
    Difference {
        back_end: "AWS",
        what: "a position that is longer than a sort key can be is refused, where emulators do not look",
        here: "a unit test of the store shows that it sends none",
    },
];

/// Makes a test of every behaviour, in one module for each group.
///
/// Takes the absolute path of an `async fn(&str) -> Subject`, which opens a store on an empty table;
/// it is given the name of the test, which is not unique beyond its group.
#[macro_export]
macro_rules! conformance {
    ($open:path) => {
        $crate::conformance_of_cloud_services!($open);
        $crate::conformance_of_collections!($open);
        $crate::conformance_of_corruption!($open);
        $crate::conformance_of_counts!($open);
        $crate::conformance_of_jobs!($open);
        $crate::conformance_of_lists!($open);
        $crate::conformance_of_races!($open);
        $crate::conformance_of_scale!($open);
        $crate::conformance_of_timers!($open);
        $crate::conformance_of_values!($open);
    };
}
