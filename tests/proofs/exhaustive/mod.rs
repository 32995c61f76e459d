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
//! `make exhaustive` explores a larger scope, and leaves out each condition.

mod condition;
mod model;
mod open;
mod open_product;
mod owed;
mod product;

use std::fmt::Debug;
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::time::Instant;

use stateright::{Checker, Model};

use model::{Budget, Firing, Mishaps, Mistake};
use open::{OpenBudget, OpenMistake, Opening};
use owed::{Owing, PingBudget, PingMistake};

const NONE: Budget = Budget { mishaps: Mishaps::NONE, changes: 0 };
/// What the test explores: each mishap at each step, and two of them in one run.
const SCOPES: [Budget; 6] = [
    Budget { mishaps: Mishaps { crashes: 2, ..Mishaps::NONE }, ..NONE },
    Budget { mishaps: Mishaps { crashes: 1, losses: 1, ..Mishaps::NONE }, ..NONE },
    Budget { mishaps: Mishaps { losses: 1, copies: 1, ..Mishaps::NONE }, ..NONE },
    Budget { mishaps: Mishaps { copies: 1, stalls: 1, ..Mishaps::NONE }, ..NONE },
    Budget { changes: 2, ..NONE },
    Budget { changes: 1, mishaps: Mishaps { crashes: 1, ..Mishaps::NONE } },
];
/// What `make exhaustive` explores.
const LARGE: [Budget; 4] = [
    Budget { mishaps: Mishaps { crashes: 1, losses: 1, copies: 1, ..Mishaps::NONE }, ..NONE },
    Budget { mishaps: Mishaps { crashes: 1, copies: 1, stalls: 1, ..Mishaps::NONE }, ..NONE },
    Budget { changes: 1, mishaps: Mishaps { crashes: 1, copies: 1, ..Mishaps::NONE } },
    Budget { changes: 1, mishaps: Mishaps { losses: 1, stalls: 1, ..Mishaps::NONE } },
];
/// In which each mistake shows.
const FOR_MISTAKES: [Budget; 4] = [
    Budget { mishaps: Mishaps { crashes: 1, copies: 1, ..Mishaps::NONE }, ..NONE },
    Budget { mishaps: Mishaps { losses: 1, copies: 1, ..Mishaps::NONE }, ..NONE },
    Budget { mishaps: Mishaps { copies: 1, stalls: 1, ..Mishaps::NONE }, ..NONE },
    Budget { changes: 1, ..NONE },
];

const SHUT: OpenBudget =
    OpenBudget { reports: 0, cancels: 0, mishaps: Mishaps::NONE, earlier: 0, is_alone: false };
const ALONE: OpenBudget = OpenBudget { is_alone: true, ..SHUT };
/// What the test explores of attempts that stay open: each of what may end them, with each mishap.
const OPEN_SCOPES: [OpenBudget; 7] = [
    OpenBudget { reports: 2, ..SHUT },
    OpenBudget { reports: 1, cancels: 1, ..ALONE },
    OpenBudget { reports: 1, mishaps: Mishaps { losses: 1, ..Mishaps::NONE }, ..SHUT },
    OpenBudget { reports: 1, mishaps: Mishaps { crashes: 1, ..Mishaps::NONE }, ..ALONE },
    OpenBudget { mishaps: Mishaps { crashes: 1, losses: 1, ..Mishaps::NONE }, ..ALONE },
    OpenBudget { reports: 1, earlier: 1, mishaps: Mishaps { copies: 1, ..Mishaps::NONE }, ..ALONE },
    OpenBudget { reports: 1, mishaps: Mishaps { stalls: 1, ..Mishaps::NONE }, ..ALONE },
];
/// What `make exhaustive` explores of them.
const OPEN_LARGE: [OpenBudget; 7] = [
    OpenBudget { reports: 1, mishaps: Mishaps { crashes: 1, ..Mishaps::NONE }, ..SHUT },
    OpenBudget { reports: 1, earlier: 1, mishaps: Mishaps { copies: 1, ..Mishaps::NONE }, ..SHUT },
    OpenBudget { reports: 1, mishaps: Mishaps { crashes: 1, losses: 1, ..Mishaps::NONE }, ..ALONE },
    OpenBudget { reports: 1, mishaps: Mishaps { crashes: 1, stalls: 1, ..Mishaps::NONE }, ..ALONE },
    OpenBudget { reports: 2, cancels: 1, mishaps: Mishaps { copies: 1, ..Mishaps::NONE }, ..ALONE },
    OpenBudget { reports: 2, mishaps: Mishaps { crashes: 1, losses: 1, ..Mishaps::NONE }, ..ALONE },
    OpenBudget {
        reports: 1,
        cancels: 1,
        mishaps: Mishaps { crashes: 2, ..Mishaps::NONE },
        ..ALONE
    },
];
/// In which each mistake with them shows.
const OPEN_FOR_MISTAKES: [OpenBudget; 5] = [
    SHUT,
    OpenBudget { reports: 2, cancels: 1, ..ALONE },
    OpenBudget { reports: 1, mishaps: Mishaps { crashes: 1, ..Mishaps::NONE }, ..ALONE },
    OpenBudget { earlier: 1, mishaps: Mishaps { copies: 1, ..Mishaps::NONE }, ..ALONE },
    OpenBudget { mishaps: Mishaps { crashes: 1, losses: 1, ..Mishaps::NONE }, ..ALONE },
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

/// Explores a model. Returns the number of states, and what is wrong with a way to one of them. If nothing is, each
/// of `ends` is reached.
fn explore<M>(
    model: M,
    wrong_with: fn(&M::State) -> Option<&'static str>,
    ends: &[&'static str],
) -> (usize, Option<String>)
where
    M: Model<
            State: Clone + Debug + Hash + PartialEq + Send + Sync,
            Action: Clone + Debug + PartialEq,
        > + Send
        + Sync
        + 'static,
{
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let checker = model.checker().threads(cores).spawn_bfs().join();
    let wrong = checker.discovery("nothing is wrong").map(|path| {
        let last = path.last_state().clone();
        let steps: Vec<_> = path.into_actions().iter().map(|step| format!("  {step:?}")).collect();
        format!("{}\n{}\n{last:#?}", wrong_with(&last).unwrap_or_default(), steps.join("\n"))
    });
    if wrong.is_none() {
        for end in ends {
            assert!(checker.discovery(end).is_some(), "{end}: never");
        }
    }
    (checker.unique_state_count(), wrong)
}

#[track_caller]
fn explore_all<B: Copy + Debug>(budgets: &[B], explore: impl Fn(B) -> (usize, Option<String>)) {
    for budget in budgets {
        let begun = Instant::now();
        let (states, wrong) = explore(*budget);
        println!("{budget:?}: {states} states in {:.1?}", begun.elapsed());
        assert_eq!(wrong, None);
    }
}

/// Finds what is wrong with each mistake, in one of the budgets.
#[track_caller]
fn find_all<B: Copy, E: Copy + Debug>(
    mistakes: &[E],
    budgets: &[B],
    explore: impl Fn(B, E) -> (usize, Option<String>),
) {
    for mistake in mistakes {
        let found = budgets.iter().find_map(|budget| explore(*budget, *mistake).1);
        let found = found.unwrap_or_else(|| panic!("{mistake:?} is not found"));
        println!("{mistake:?}: {}", found.lines().next().unwrap_or_default());
    }
}

fn explore_firing(budget: Budget, mistake: Option<Mistake>) -> (usize, Option<String>) {
    let ends: &[_] = if mistake.is_none() { &["it completes", "it faults"] } else { &[] };
    explore(Firing { budget, mistake }, |it| it.wrong, ends)
}

fn explore_open(budget: OpenBudget, mistake: Option<OpenMistake>) -> (usize, Option<String>) {
    let model = Opening { budget, mistake };
    let mut ends: Vec<_> = model.properties().iter().skip(1).map(|it| it.name).collect();
    ends.retain(|_| mistake.is_none());
    explore(model, |it| it.wrong, &ends)
}

fn explore_pings(budget: PingBudget, mistake: Option<PingMistake>) -> (usize, Option<String>) {
    let is_rich = mistake.is_none() && budget.pings > 1;
    let ends: &[_] =
        if is_rich { &["both are paid", "one has begun, and no end comes"] } else { &[] };
    explore(Owing { budget, mistake }, |it| it.wrong, ends)
}

#[test]
fn every_order_of_steps_ends_well() {
    explore_all(&SCOPES, |budget| explore_firing(budget, None));
}

#[test]
#[ignore = "only a change of the model changes it, and it takes minutes: `make exhaustive`"]
fn every_condition_is_needed() {
    find_all(&Mistake::ALL, &FOR_MISTAKES, |budget, it| explore_firing(budget, Some(it)));
}

#[test]
#[ignore = "it takes many minutes: `make exhaustive`"]
fn a_large_scope() {
    explore_all(&LARGE, |budget| explore_firing(budget, None));
}

#[test]
fn what_is_open_ends_once_in_every_order_of_steps() {
    explore_all(&OPEN_SCOPES, |budget| explore_open(budget, None));
}

#[test]
#[ignore = "only a change of the model changes it, and it takes minutes: `make exhaustive`"]
fn every_condition_of_open_attempts_is_needed() {
    find_all(&OpenMistake::ALL, &OPEN_FOR_MISTAKES, |budget, it| explore_open(budget, Some(it)));
}

#[test]
#[ignore = "it takes minutes: `make exhaustive`"]
fn a_large_scope_of_open_attempts() {
    explore_all(&OPEN_LARGE, |budget| explore_open(budget, None));
}

#[test]
fn each_occurrence_is_paid_once_in_every_order_of_steps() {
    explore_all(&PING_SCOPES, |budget| explore_pings(budget, None));
}

#[test]
#[ignore = "only a change of the model changes it, and it takes minutes: `make exhaustive`"]
fn every_condition_of_pings_is_needed() {
    find_all(&PingMistake::ALL, &PING_FOR_MISTAKES, |budget, it| explore_pings(budget, Some(it)));
}

#[test]
#[ignore = "it takes minutes: `make exhaustive`"]
fn a_large_scope_of_pings() {
    explore_all(&PING_LARGE, |budget| explore_pings(budget, None));
}
