//! A small scope, explored completely: two occurrences with a retry each, two workers, and at every
//! step a crash, a lost answer, a second delivery, a lease that ends too early, or a user who disables the
//! job and enables it again.
//!
//! The simulation plays long runs and takes some of what may happen; this takes all of it, for a time
//! that is short. A state is what store, queue, target and workers hold. A step of a worker is one
//! request to the store, and the decisions are those of the product: `minutehand_domain::firing`, the list of
//! counted attempts, and the store's decision on a claim that meets another. The conditions of the writes are
//! those of the store. Each can be left out, and then some order of steps has to show it.
//!
//! `make exhaustive` explores a larger scope.

mod condition;
mod model;
mod product;

use std::num::NonZeroUsize;
use std::time::Instant;

use stateright::{Checker, Model};

use model::{Budget, Firing, Mistake};

const NONE: Budget = Budget { crashes: 0, losses: 0, copies: 0, stalls: 0, changes: 0 };
/// What the test explores: each mishap at each step, and two of them in one run.
const SCOPES: [Budget; 6] = [
    Budget { crashes: 2, ..NONE },
    Budget { crashes: 1, losses: 1, ..NONE },
    Budget { losses: 1, copies: 1, ..NONE },
    Budget { copies: 1, stalls: 1, ..NONE },
    Budget { changes: 2, ..NONE },
    Budget { changes: 1, crashes: 1, ..NONE },
];
/// What `make exhaustive` explores.
const LARGE: [Budget; 4] = [
    Budget { crashes: 1, losses: 1, copies: 1, ..NONE },
    Budget { crashes: 1, copies: 1, stalls: 1, ..NONE },
    Budget { changes: 1, crashes: 1, copies: 1, ..NONE },
    Budget { changes: 1, losses: 1, stalls: 1, ..NONE },
];
/// In which each mistake shows.
const FOR_MISTAKES: [Budget; 4] = [
    Budget { crashes: 1, copies: 1, ..NONE },
    Budget { losses: 1, copies: 1, ..NONE },
    Budget { copies: 1, stalls: 1, ..NONE },
    Budget { changes: 1, ..NONE },
];

/// Explores a scope. Returns the number of states, and what is wrong with a way to it.
fn explore(budget: Budget, mistake: Option<Mistake>) -> (usize, Option<String>) {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let model = Firing { budget, mistake };
    let checker = model.checker().threads(cores).spawn_bfs().join();
    let wrong = checker.discovery("nothing is wrong").map(|path| {
        let last = path.last_state().clone();
        let steps: Vec<_> = path.into_actions().iter().map(|step| format!("  {step:?}")).collect();
        format!("{}\n{}\n{last:#?}", last.wrong.unwrap_or_default(), steps.join("\n"))
    });
    if mistake.is_none() {
        for ends in ["it completes", "it faults"] {
            assert!(checker.discovery(ends).is_some(), "{ends}: never");
        }
    }
    (checker.unique_state_count(), wrong)
}

#[track_caller]
fn explore_all(budgets: &[Budget]) {
    for budget in budgets {
        let begun = Instant::now();
        let (states, wrong) = explore(*budget, None);
        println!("{budget:?}: {states} states in {:.1?}", begun.elapsed());
        assert_eq!(wrong, None);
    }
}

#[test]
fn every_order_of_steps_ends_well() {
    explore_all(&SCOPES);
}

#[test]
fn every_condition_is_needed() {
    for mistake in Mistake::ALL {
        let found = FOR_MISTAKES.iter().find_map(|budget| explore(*budget, Some(mistake)).1);
        let found = found.unwrap_or_else(|| panic!("{mistake:?} is not found"));
        println!("{mistake:?}: {}", found.lines().next().unwrap_or_default());
    }
}

#[test]
#[ignore = "it takes many minutes: `make exhaustive`"]
fn a_large_scope() {
    explore_all(&LARGE);
}
