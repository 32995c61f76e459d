//! What the services rely on in the traits of [`minutehand_ports::store`] and of the queue, as tests for
//! any back end.
//!
//! Each behaviour of stores is a function of a [`Subject`], a store with nothing in it, which it uses
//! through the ports alone. A [`BackEnd`] is a value that makes such stores. Behaviours of queues are
//! functions of a [`QueueSubject`] in the same way, and `queue_conformance!`
//! makes tests of them. `conformance!`
//! makes a test of each behaviour on one back end:
//!
//! ```text
//! mod in_process {
//!     minutehand_testkit::conformance!(crate::in_process());
//! }
//! ```
//!
//! [`check_all`] does the same in one test, for a back end of which one is made for all.
//!
//! The tests of an adapter do so: `shared/store-dynamodb/tests/conformance`, `shared/store-sql/tests`,
//! `shared/queue-sqs/tests/sqs`, and for the store of the simulation `tests/proofs/simulation/conformance`.
//! Those on DynamoDB use another one than that in the process if a variable names it, and make a table there for each test,
//! which is deleted where the test succeeds:
//!
//! ```text
//! MINUTEHAND_DYNAMODB_ENDPOINT=http://127.0.0.1:4566 cargo nextest run -p minutehand-store-dynamodb conformance
//! ```
//!
//! No behaviour can be skipped silently: what a back end does otherwise is a row of [`DIFFERENCES`], and
//! a behaviour that is listed there and holds all the same fails, too.
//!
//! # Adding behaviours
//!
//! One file is one group: its `behaviours!` at the top lists the functions that are tests, and one
//! that is missing there is reported as dead code. A new file is named twice more: as a module, and in the
//! `groups!` below.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "this is the inside of tests: they say what they expect by panicking"
)]

use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;

use tokio::runtime;

/// Makes the functions named the behaviours of this group.
macro_rules! behaviours {
    ($dollar:tt $group:ident: $($name:ident,)+) => {
        behaviours! { $dollar $group of Subject by check: $($name,)+ }
    };
    ($dollar:tt $group:ident of $subject:ident by $check:ident: $($name:ident,)+) => {
        /// The behaviours of this group.
        pub const BEHAVIOURS: &[
            $crate::conformance::Behaviour<$crate::conformance::$subject>
        ] = &[
            $($crate::conformance::Behaviour {
                group: stringify!($group),
                name: stringify!($name),
                hold: |subject| Box::pin($name(subject)),
            },)+
        ];

        #[doc(hidden)]
        #[macro_export]
        macro_rules! $group {
            ($dollar back_end:expr) => {
                mod $group {
                    $(
                        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                        async fn $name() {
                            let name = (stringify!($group), stringify!($name));
                            $dollar crate::conformance::$check(&$dollar back_end, name).await;
                        }
                    )+
                }
            };
        }
    };
}

/// Makes a function that lists the behaviours of these groups, and a macro that makes their tests.
macro_rules! groups {
    (
        $dollar:tt $(#[$about_all:meta])* $all:ident: $subject:ident,
        $(#[$about_tests:meta])* $tests:ident: $($group:ident,)+
    ) => {
        $(#[$about_all])*
        #[must_use]
        pub fn $all() -> Vec<Behaviour<$subject>> {
            [$($group::BEHAVIOURS,)+].concat()
        }

        $(#[$about_tests])*
        #[macro_export]
        macro_rules! $tests {
            ($dollar back_end:expr) => {
                $($dollar crate::$group!($dollar back_end);)+
            };
        }
    };
}

pub mod alerts;
mod back_end;
pub mod brakes;
pub mod browse;
pub mod claims;
pub mod cloud_services;
pub mod collections;
pub mod counting;
pub mod counts;
pub mod crashes;
pub mod damage;
pub mod deliveries;
mod differences;
pub mod failures;
mod firing;
pub mod firing_races;
pub mod history;
pub mod installation;
pub mod jobs;
pub mod lists;
pub mod open_attempts;
pub mod pings;
pub mod pulses;
pub mod quarters;
mod queues;
pub mod races;
pub mod recording;
pub mod records;
pub mod removal;
pub mod retries;
pub mod seats;
pub mod sending;
pub mod slots;
pub mod snapshots;
mod subject;
pub mod sweeps;
pub mod timers;
pub mod turns;
pub mod values;

pub use back_end::{BackEnd, CoreStore, OpenedStore, SpoiledRow, StorePorts};
pub use differences::{BACK_ENDS, DIFFERENCES, Difference};
pub use queues::{OpenedQueue, QueueBackEnd, QueueSubject};
pub use subject::{Subject, at_once, whole_list};

/// Something that every back end has to do: every store, or every queue.
#[derive(Clone)]
pub struct Behaviour<S: 'static = Subject> {
    /// The file that has it.
    pub group: &'static str,
    /// The name, which says what has to hold.
    pub name: &'static str,
    /// Panics where the back end does not do it.
    pub hold: for<'a> fn(&'a S) -> Pin<Box<dyn Future<Output = ()> + 'a>>,
}

impl<S> fmt::Debug for Behaviour<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.group, self.name)
    }
}

groups! { $
    /// All behaviours of queues.
    queue_behaviours: QueueSubject,

    /// Makes a test of every behaviour of queues on a back end, in one module for each group.
    ///
    /// Takes an expression that is valid in any module, and is a [`QueueBackEnd`].
    queue_conformance: deliveries, sending,
}

groups! { $
    /// All behaviours of stores.
    behaviours: Subject,

    /// Makes a test of every behaviour on a back end, in one module for each group.
    ///
    /// Takes an expression that is valid in any module, and is a [`BackEnd`].
    conformance: alerts, brakes, browse, claims, cloud_services, collections, counting, counts, crashes,
    damage, failures, firing_races, history, installation, jobs, lists, open_attempts, pings, pulses,
    quarters, races, recording, removal, retries, seats, slots, snapshots, sweeps, timers, turns, values,
}

/// Checks one behaviour of a store, named by its group and its own name, on a back end.
pub async fn check(back_end: &dyn BackEnd, (group, name): (&str, &str)) {
    let subject = Subject::new(back_end.open(name).await);
    check_on(back_end.name(), &behaviours(), (group, name), &subject).await;
    subject.close().await;
}

/// Checks one behaviour of a queue, named by its group and its own name, on a back end.
pub async fn check_queue(back_end: &dyn QueueBackEnd, (group, name): (&str, &str)) {
    let subject = QueueSubject::new(back_end.open(name).await);
    check_on(back_end.name(), &queue_behaviours(), (group, name), &subject).await;
}

/// How many behaviours are checked at a time.
const TOGETHER: usize = 4;

/// Checks every behaviour of a store on a back end, some at a time, and returns the names of those that it
/// does not have. For back ends of which one is made for all tests.
#[must_use]
pub fn check_all(back_end: &dyn BackEnd) -> Vec<String> {
    all_of(&behaviours(), |name| Box::pin(check(back_end, name)))
}

/// The same for a queue.
#[must_use]
pub fn check_all_of_queues(back_end: &dyn QueueBackEnd) -> Vec<String> {
    all_of(&queue_behaviours(), |name| Box::pin(check_queue(back_end, name)))
}

fn all_of<'a, S>(
    known: &[Behaviour<S>],
    check: impl Fn((&'static str, &'static str)) -> Pin<Box<dyn Future<Output = ()> + 'a>> + Sync,
) -> Vec<String> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let check_next = || {
        while let Some(Behaviour { group, name, .. }) =
            known.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let run = || {
                let runtime =
                    runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
                runtime.unwrap().block_on(check((group, name)));
            };
            // A thread of its own, so that what panics has the name.
            let name = format!("{group}::{name}");
            let ended = thread::scope(|scope| {
                thread::Builder::new().name(name.clone()).spawn_scoped(scope, run).unwrap().join()
            });
            if ended.is_err() {
                failed.lock().unwrap().push(name);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..TOGETHER {
            scope.spawn(check_next);
        }
    });
    failed.into_inner().unwrap()
}

async fn check_on<S>(
    back_end: &str,
    known: &[Behaviour<S>],
    (group, name): (&str, &str),
    subject: &S,
) {
    let behaviour = known.iter().find(|it| (it.group, it.name) == (group, name));
    let behaviour = behaviour.unwrap_or_else(|| panic!("{group} is not a group of behaviours()"));
    assert!(BACK_ENDS.contains(&back_end), "{back_end} is not a row of BACK_ENDS");
    let difference = DIFFERENCES.iter().find(|it| it.is_of(back_end, behaviour));
    match difference {
        None => (behaviour.hold)(subject).await,
        Some(difference) => {
            let holds = holds(behaviour, subject).await;
            assert!(!holds, "it holds, and DIFFERENCES says: {}", difference.reason);
        }
    }
}

/// Whether a behaviour holds; if not, the panic that says so is in the output of the test.
async fn holds<S>(behaviour: &Behaviour<S>, subject: &S) -> bool {
    let mut trial = (behaviour.hold)(subject);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| trial.as_mut().poll(context)));
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(())) => Poll::Ready(true),
            Err(_) => Poll::Ready(false),
        }
    })
    .await
}
