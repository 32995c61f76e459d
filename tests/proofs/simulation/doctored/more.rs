//! Runs of pings and of many processes that are made wrong.

use minutehand_domain::attempt::Role;
use minutehand_domain::completion::EndedBy;

use crate::simulation::judge::{Executed, Row, Run, judge};
use crate::simulation::pings::PingWhat;
use crate::simulation::play::{Scenario, play};
use crate::simulation::postgres::{SharedNote, SharedWhat};
use crate::simulation::time::SECOND;

/// What is done to a run, and what the judge says then.
type Change = (&'static str, fn(&mut Run));

#[track_caller]
fn finds(scenario: Scenario, changes: &[Change]) {
    let mut runs = (0..60).map(|seed| play(seed, scenario, None));
    let has_it = |run: &Run| scenario != Scenario::Pings || find_ended(run, None).is_some();
    let good = runs.find(has_it).unwrap();
    assert_eq!(judge(&good), [""; 0]);
    for (word, change) in changes {
        let mut run = good.clone();
        change(&mut run);
        let found = judge(&run);
        assert!(found.iter().any(|found| found.starts_with(word)), "{word}: {found:?}");
    }
}

/// The first attempt that ended so, far from the begin and from any change.
fn find_ended(run: &Run, by: Option<EndedBy>) -> Option<usize> {
    let is_far = |it: &Executed| {
        run.changes.iter().all(|change| (change.at - it.ended).abs() > 1_600 * SECOND)
    };
    let is_early = |it: &Executed| it.ended < run.span + 3_600 * SECOND;
    let is_it =
        |it: &Executed| it.role == Role::Main && it.ended_by == by && is_far(it) && is_early(it);
    run.executions.iter().position(is_it)
}

fn ended(run: &Run, by: Option<EndedBy>) -> usize {
    find_ended(run, by).unwrap()
}

/// The row of its occurrence, left out because nothing took pings.
fn not_watched(it: Executed) -> Row {
    let nominal = it.nominal.unwrap();
    Row {
        uid: it.uid,
        generation: it.generation,
        first: nominal,
        last: nominal,
        reason: "notWatched",
        at: it.ended,
    }
}

#[test]
fn the_judge_finds_what_is_wrong_with_pings() {
    finds(
        Scenario::Pings,
        &[
            ("neither paid", |run| {
                run.executions.remove(ended(run, None));
            }),
            ("ended without a ping", |run| {
                let at = ended(run, None);
                run.executions[at].is_success = true;
            }),
            ("left out, and ended", |run| {
                let it = run.executions[ended(run, None)].clone();
                run.left_out.push(not_watched(it));
            }),
            ("left out though it was watched", |run| {
                let it = run.executions.remove(ended(run, None));
                run.left_out.push(not_watched(it));
            }),
            ("failed though nothing took pings", |run| {
                let at = run.executions[ended(run, None)].nominal.unwrap();
                run.api_lives.retain(|life| life.from > at || life.until < at - 300 * SECOND);
            }),
            ("not what pings did", |run| {
                let is_paid = |it: &&mut Executed| it.ended_by == Some(EndedBy::Success);
                let paid = run.executions.iter_mut().filter(is_paid);
                paid.for_each(|it| it.is_success = false);
            }),
            ("a ping is lost", |run| {
                run.pings.retain(|note| !matches!(note.what, PingWhat::Stored(_)));
            }),
        ],
    );
}

#[test]
fn the_judge_finds_what_is_wrong_with_processes() {
    finds(
        Scenario::Processes,
        &[
            ("taken for dead", |run| {
                let is_sign = |note: &&SharedNote| matches!(note.what, SharedWhat::Sign { .. });
                let sign = run.shared.iter().filter(is_sign).nth(100).unwrap().clone();
                let SharedWhat::Sign { number } = sign.what else { unreachable!() };
                let place = run.shared.iter().position(|note| note.at > sign.at).unwrap();
                let dead = SharedNote { at: sign.at, what: SharedWhat::Dead { number } };
                run.shared.insert(place, dead);
            }),
            ("sweeps without its lease", |run| {
                let is_lease = |note: &SharedNote| matches!(note.what, SharedWhat::Lease { .. });
                let place = run.shared.iter().position(is_lease).unwrap();
                let at = run.shared[place].at;
                let sweeps = SharedNote { at, what: SharedWhat::Sweeps { process: u64::MAX } };
                run.shared.insert(place + 1, sweeps);
            }),
            ("early by the database's clock", |run| {
                let fire = run.fires.iter_mut().find(|it| it.due.is_some()).unwrap();
                fire.at = fire.due.unwrap() - 1;
            }),
            ("doubled", |run| {
                let fire = run.fires.iter().find(|it| !it.is_unrecorded).unwrap().clone();
                run.fires.push(fire);
            }),
            ("missed", |run| {
                run.fires.clear();
                run.executions.clear();
            }),
        ],
    );
}
