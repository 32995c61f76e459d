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
//! A model of its own explores attempts that stay open after a 202, with what ends them: reports, the deadline, a
//! cancel; and the turn or the seat that they hold. A third one explores occurrences that owe pings.
//!
//! `make exhaustive` explores a larger scope.

mod condition;
mod model;
mod open;
mod open_product;
mod owed;
mod product;

use std::num::NonZeroUsize;
use std::time::Instant;

use stateright::{Checker, Model};

use model::{Budget, Firing, Mistake};
use open::{OpenBudget, OpenMistake, Opening};
use owed::{Owing, PingBudget, PingMistake};

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

const SHUT: OpenBudget = OpenBudget {
    reports: 0,
    cancels: 0,
    crashes: 0,
    losses: 0,
    copies: 0,
    stalls: 0,
    earlier: 0,
    is_alone: false,
};
const ALONE: OpenBudget = OpenBudget { is_alone: true, ..SHUT };
/// What the test explores of attempts that stay open: each of what may end them, with each mishap.
const OPEN_SCOPES: [OpenBudget; 7] = [
    OpenBudget { reports: 2, ..SHUT },
    OpenBudget { reports: 1, cancels: 1, ..ALONE },
    OpenBudget { reports: 1, losses: 1, ..SHUT },
    OpenBudget { reports: 1, crashes: 1, ..ALONE },
    OpenBudget { crashes: 1, losses: 1, ..ALONE },
    OpenBudget { reports: 1, copies: 1, earlier: 1, ..ALONE },
    OpenBudget { reports: 1, stalls: 1, ..ALONE },
];
/// What `make exhaustive` explores of them.
const OPEN_LARGE: [OpenBudget; 7] = [
    OpenBudget { reports: 1, crashes: 1, ..SHUT },
    OpenBudget { reports: 1, copies: 1, earlier: 1, ..SHUT },
    OpenBudget { reports: 1, crashes: 1, losses: 1, ..ALONE },
    OpenBudget { reports: 1, crashes: 1, stalls: 1, ..ALONE },
    OpenBudget { reports: 2, cancels: 1, copies: 1, ..ALONE },
    OpenBudget { reports: 2, crashes: 1, losses: 1, ..ALONE },
    OpenBudget { reports: 1, cancels: 1, crashes: 2, ..ALONE },
];
/// In which each mistake with them shows.
const OPEN_FOR_MISTAKES: [OpenBudget; 5] = [
    SHUT,
    OpenBudget { reports: 2, cancels: 1, ..ALONE },
    OpenBudget { reports: 1, crashes: 1, ..ALONE },
    OpenBudget { copies: 1, earlier: 1, ..ALONE },
    OpenBudget { crashes: 1, losses: 1, ..ALONE },
];

/// What the test explores of occurrences that owe pings.
const PING_SCOPES: [PingBudget; 2] = [
    PingBudget { pings: 2, crashes: 0, losses: 0 },
    PingBudget { pings: 1, crashes: 1, losses: 1 },
];
/// What `make exhaustive` explores of them.
const PING_LARGE: [PingBudget; 1] = [PingBudget { pings: 2, crashes: 1, losses: 0 }];
/// In which each mistake with them shows.
const PING_FOR_MISTAKES: [PingBudget; 2] = [
    PingBudget { pings: 2, crashes: 0, losses: 0 },
    PingBudget { pings: 3, crashes: 0, losses: 0 },
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

/// Explores a scope of attempts that stay open.
fn explore_open(budget: OpenBudget, mistake: Option<OpenMistake>) -> (usize, Option<String>) {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let model = Opening { budget, mistake };
    let reached: Vec<_> = model.properties().iter().map(|property| property.name).collect();
    let checker = model.checker().threads(cores).spawn_bfs().join();
    let wrong = checker.discovery("nothing is wrong").map(|path| {
        let last = path.last_state().clone();
        let steps: Vec<_> = path.into_actions().iter().map(|step| format!("  {step:?}")).collect();
        format!("{}\n{}\n{last:#?}", last.wrong.unwrap_or_default(), steps.join("\n"))
    });
    if mistake.is_none() && wrong.is_none() {
        for ends in reached.into_iter().skip(1) {
            assert!(checker.discovery(ends).is_some(), "{ends}: never");
        }
    }
    (checker.unique_state_count(), wrong)
}

#[track_caller]
fn explore_all_open(budgets: &[OpenBudget]) {
    for budget in budgets {
        let begun = Instant::now();
        let (states, wrong) = explore_open(*budget, None);
        println!("{budget:?}: {states} states in {:.1?}", begun.elapsed());
        assert_eq!(wrong, None);
    }
}

#[test]
fn every_order_of_steps_ends_well() {
    explore_all(&SCOPES);
}

#[test]
fn what_is_open_ends_once_in_every_order_of_steps() {
    explore_all_open(&OPEN_SCOPES);
}

#[test]
fn every_condition_of_open_attempts_is_needed() {
    for mistake in OpenMistake::ALL {
        let found =
            OPEN_FOR_MISTAKES.iter().find_map(|budget| explore_open(*budget, Some(mistake)).1);
        let found = found.unwrap_or_else(|| panic!("{mistake:?} is not found"));
        println!("{mistake:?}: {}", found.lines().next().unwrap_or_default());
    }
}

#[test]
fn every_condition_is_needed() {
    for mistake in Mistake::ALL {
        let found = FOR_MISTAKES.iter().find_map(|budget| explore(*budget, Some(mistake)).1);
        let found = found.unwrap_or_else(|| panic!("{mistake:?} is not found"));
        println!("{mistake:?}: {}", found.lines().next().unwrap_or_default());
    }
}

/// Explores a scope of occurrences that owe pings.
fn explore_pings(budget: PingBudget, mistake: Option<PingMistake>) -> (usize, Option<String>) {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let checker = Owing { budget, mistake }.checker().threads(cores).spawn_bfs().join();
    let wrong = checker.discovery("nothing is wrong").map(|path| {
        let last = path.last_state().clone();
        let steps: Vec<_> = path.into_actions().iter().map(|step| format!("  {step:?}")).collect();
        format!("{}\n{}\n{last:#?}", last.wrong.unwrap_or_default(), steps.join("\n"))
    });
    if mistake.is_none() && wrong.is_none() && budget.pings > 1 {
        for ends in ["both are paid", "one has begun, and no end comes"] {
            assert!(checker.discovery(ends).is_some(), "{ends}: never");
        }
    }
    (checker.unique_state_count(), wrong)
}

#[track_caller]
fn explore_all_pings(budgets: &[PingBudget]) {
    for budget in budgets {
        let begun = Instant::now();
        let (states, wrong) = explore_pings(*budget, None);
        println!("{budget:?}: {states} states in {:.1?}", begun.elapsed());
        assert_eq!(wrong, None);
    }
}

#[test]
fn each_occurrence_is_paid_once_in_every_order_of_steps() {
    explore_all_pings(&PING_SCOPES);
}

#[test]
fn every_condition_of_pings_is_needed() {
    for mistake in PingMistake::ALL {
        let found =
            PING_FOR_MISTAKES.iter().find_map(|budget| explore_pings(*budget, Some(mistake)).1);
        let found = found.unwrap_or_else(|| panic!("{mistake:?} is not found"));
        println!("{mistake:?}: {}", found.lines().next().unwrap_or_default());
    }
}

#[test]
#[ignore = "it takes minutes: `make exhaustive`"]
fn a_large_scope_of_pings() {
    explore_all_pings(&PING_LARGE);
}

#[test]
#[ignore = "it takes many minutes: `make exhaustive`"]
fn a_large_scope() {
    explore_all(&LARGE);
}

#[test]
#[ignore = "it takes minutes: `make exhaustive`"]
fn a_large_scope_of_open_attempts() {
    explore_all_open(&OPEN_LARGE);
}
