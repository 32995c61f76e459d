//! Checks the engine against the predicate: its occurrences fire, and nothing fires in between.

use jiff::{SignedDuration, Timestamp};
use minutehand_recurrence::Timetable;

use crate::instants::{near_clock_change, to_chrono, to_jiff};
use crate::predicate::Predicate;
use crate::rules::{Case, Frequency};
use crate::seeds::{Chance, for_each_seed};

const DAY: i64 = 86_400;

/// jiff cannot represent the instants near the end of the calendar, which are after this year.
const LATEST: &str = "9999-12-28T00:00:00Z";

/// After this year, the rarest rules may have no occurrence before the calendar ends.
const LAST_PERIODS: &str = "9000-01-01T00:00:00Z";

/// Returns the occurrences from one instant (inclusive) to another (exclusive), by one search each.
fn between(timetable: &Timetable, from: Timestamp, to: Timestamp) -> Vec<Timestamp> {
    let first = timetable.at_or_after(to_chrono(from));
    let all = std::iter::successors(first, |last| timetable.after(*last));
    all.map(to_jiff).take_while(|at| *at < to).collect()
}

/// Returns spans of time to check, each at least one day long.
fn windows(
    chance: &mut Chance,
    case: &Case,
    floor: Timestamp,
    timetable: &Timetable,
) -> Vec<(Timestamp, Timestamp)> {
    let days = match case.frequency {
        Frequency::Minute | Frequency::Hour => 1,
        Frequency::Day => 3,
        Frequency::Week => 9,
        Frequency::Month => 70,
        Frequency::Year => 380,
    };
    let latest: Timestamp = LATEST.parse().unwrap();
    let later = |chance: &mut Chance, days: i64| {
        let second = floor.as_second() + chance.within(0..=days * DAY);
        Timestamp::from_second(second.min(latest.as_second())).unwrap()
    };
    let some_time = later(chance, 200 * 365);
    let soon = later(chance, 800);
    let clock_change = near_clock_change(chance, soon, &case.zone);
    let occurrence = timetable.at_or_after(to_chrono(some_time)).map(to_jiff);
    let middles = [Some(floor), Some(some_time), Some(clock_change), occurrence];
    let middles = middles.into_iter().flatten().filter(|middle| *middle < latest);
    let hours = |chance: &mut Chance| SignedDuration::from_hours(chance.within(11..=14) * days);
    let earliest = "0001-01-01T00:00:00Z".parse().unwrap();
    middles
        .map(|middle| {
            let from = (middle - hours(chance)).max(earliest);
            (from, middle.checked_add(hours(chance)).unwrap_or(latest).min(latest))
        })
        .collect()
}

fn agrees_with_the_predicate(case: &Case) {
    let predicate = Predicate::new(case);
    let Some(timetable) = case.timetable(None, None) else {
        // Otherwise the calendar ends before the rule occurs.
        let ends = predicate.floor() > LAST_PERIODS.parse().unwrap();
        assert!(ends || predicate.never_fires(), "a rule that occurs is refused\n{case}");
        return;
    };
    assert!(!predicate.never_fires(), "a rule that never occurs is accepted\n{case}");
    let chance = &mut Chance::new(case.seed + 1);
    for (from, to) in windows(chance, case, predicate.floor(), &timetable) {
        let expected = predicate.scan(from, to);
        let found = between(&timetable, from, to);
        let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        let differs = differs.unwrap_or(found.len().min(expected.len()));
        let (wrong, right) = (found.get(differs), expected.get(differs));
        assert_eq!(wrong, right, "at {differs} from {from} to {to}\n{case}");
        let count = timetable.count_between(to_chrono(from), to_chrono(to));
        assert_eq!(count, expected.len() as u64, "count from {from} to {to}\n{case}");
        for at in &expected {
            let found = timetable.clock_change(to_chrono(*at));
            assert_eq!(found, predicate.clock_change(*at), "at {at}\n{case}");
        }
        // The next occurrence may be far away, but it exists before the end of the calendar.
        match timetable.at_or_after(to_chrono(to)).map(to_jiff) {
            Some(next) => {
                assert!(next >= to, "{next} is before {to}\n{case}");
                let in_reach = next < LATEST.parse().unwrap();
                assert!(!in_reach || predicate.fires(next), "{next} is none\n{case}");
            }
            None => assert!(to > LAST_PERIODS.parse().unwrap(), "none from {to}\n{case}"),
        }
        for _ in 0..10 {
            let asked = chance.within(from.as_second()..=to.as_second());
            let asked = Timestamp::from_second(asked).unwrap().max(from);
            let next = expected.iter().copied().find(|at| *at >= asked);
            let found = timetable.at_or_after(to_chrono(asked)).map(to_jiff);
            assert_eq!(found.filter(|at| *at < to), next, "at or after {asked}\n{case}");
        }
    }
}

#[test]
fn occurrences_agree_with_the_predicate() {
    for_each_seed(1000, |seed| agrees_with_the_predicate(&Case::random(seed)));
}
