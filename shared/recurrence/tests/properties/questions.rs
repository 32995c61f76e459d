//! Checks that the engine's answers to different questions agree.

use chrono::{DateTime, TimeDelta, Utc};
use jiff::Timestamp;
use minutehand_recurrence::{Recurrence, Rule, Start, Timetable};
use serde_json::Value;

use crate::instants::{to_chrono, to_jiff};
use crate::rules::{Case, Frequency};
use crate::seeds::{Chance, for_each_seed};

const DAY: i64 = 86_400;

/// The smallest step of an instant.
const TICK: TimeDelta = TimeDelta::nanoseconds(100);

/// Returns a random rule that occurs, with its timetable.
fn occurring(seed: u64) -> Option<(Case, Timetable)> {
    let case = Case::random(seed);
    let timetable = case.timetable(None, None)?;
    Some((case, timetable))
}

/// Returns an instant after the first occurrence, mostly within a few years.
fn some_time(chance: &mut Chance, case: &Case) -> DateTime<Utc> {
    let days = *chance.pick(&[2, 400, 4000, 400_000]);
    let floor = case.start.map_or(case.now, |start| start.max(case.now));
    let second = floor.as_second() + chance.within(0..=days * DAY);
    DateTime::from_timestamp(second.min(253_402_300_799), 0).unwrap()
}

#[test]
fn a_count_and_an_end_keep_the_same_first_occurrences() {
    for_each_seed(3000, |seed| {
        let Some((case, open)) = occurring(seed) else { return };
        let chance = &mut Chance::new(seed + 2);
        let all: Vec<_> = open.iter().take(45).collect();
        if all.is_empty() {
            return;
        }
        let count = chance.within(1..=40);
        let kept = usize::try_from(count).unwrap().min(all.len());
        check_ends(&case, Some(count), None, &all[..kept]);

        let last = chance.within(0..=i64::try_from(all.len()).unwrap() - 1);
        let last = usize::try_from(last).unwrap();
        let end = to_jiff(all[last]);
        if end < Timestamp::MAX {
            check_ends(&case, None, Some(end), &all[..=last]);
            check_ends(&case, None, Some(to_jiff(all[last] - TICK)), &all[..last]);
            check_ends(&case, Some(count), Some(end), &all[..kept.min(last + 1)]);
        }
    });
}

/// Checks that a timetable has these occurrences and no others.
fn check_ends(case: &Case, count: Option<i64>, end: Option<Timestamp>, all: &[DateTime<Utc>]) {
    let context = format!("count {count:?} end {end:?}\n{case}");
    let timetable = case.timetable(count, end).unwrap();
    let found: Vec<_> = timetable.iter().take(all.len() + 1).collect();
    assert_eq!(found, all, "{context}");
    let total = timetable.count_between(DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
    assert_eq!(total, all.len() as u64, "{context}");
    if let Some(last) = all.last() {
        assert_eq!(timetable.at_or_after(*last), Some(*last), "{context}");
        assert_eq!(timetable.at_or_after(*last + TICK), None, "{context}");
        assert_eq!(timetable.after(*last), None, "{context}");
        assert_eq!(timetable.count_between(*last, *last), 0, "{context}");
        assert_eq!(timetable.count_between(*last, *last + TICK), 1, "{context}");
    }
}

#[test]
fn searching_iterating_and_counting_agree() {
    for_each_seed(3000, |seed| {
        let Some((case, timetable)) = occurring(seed) else { return };
        let chance = &mut Chance::new(seed + 3);
        let walked: Vec<_> = timetable.iter().take(30).collect();
        for (n, at) in walked.iter().enumerate() {
            assert_eq!(timetable.at_or_after(*at), Some(*at), "{case}");
            assert_eq!(timetable.after(*at - TICK), Some(*at), "{case}");
            assert_eq!(timetable.after(*at), timetable.at_or_after(*at + TICK), "{case}");
            let before = timetable.count_between(DateTime::<Utc>::MIN_UTC, *at);
            assert_eq!(before, n as u64, "before {at}\n{case}");
        }
        assert!(walked.is_sorted_by(|a, b| a < b), "{case}");

        let asked = some_time(chance, &case);
        let Some(first) = timetable.at_or_after(asked) else { return };
        assert!(first >= asked, "{first} is before {asked}\n{case}");
        let far = std::iter::successors(Some(first), |at| timetable.after(*at));
        let far: Vec<_> = far.take(40).collect();
        assert!(far.is_sorted_by(|a, b| a < b), "{case}");
        let count = timetable.count_between(asked, far[far.len() - 1]);
        assert_eq!(count, far.len() as u64 - 1, "from {asked}\n{case}");
    });
}

#[test]
fn counts_of_adjacent_spans_add_up() {
    for_each_seed(300, |seed| {
        let Some((case, timetable)) = occurring(seed) else { return };
        let chance = &mut Chance::new(seed + 4);
        let mut ends = [(); 3].map(|()| some_time(chance, &case));
        ends.sort();
        let [from, middle, to] = ends;
        let count = |from, to| timetable.count_between(from, to);
        let whole = count(from, to);
        assert_eq!(count(from, middle) + count(middle, to), whole, "{from} {middle} {to}\n{case}");
        assert_eq!(count(middle, middle), 0, "{case}");
        assert_eq!(count(to, from), 0, "{case}");
        let all = count(DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
        let before = count(DateTime::<Utc>::MIN_UTC, from);
        let after = count(to, DateTime::<Utc>::MAX_UTC);
        assert_eq!(before + whole + after, all, "{from} {to}\n{case}");
    });
}

#[test]
fn a_resumed_timetable_continues_where_it_stopped() {
    for_each_seed(3000, |seed| {
        let Some((case, open)) = occurring(seed) else { return };
        let chance = &mut Chance::new(seed + 5);
        let count = chance.within(1..=20);
        let rule = case.rule(Some(count), None);
        let all: Vec<_> = open.iter().take(usize::try_from(count).unwrap()).collect();
        if all.is_empty() {
            return;
        }
        let used = chance.within(1..=i64::try_from(all.len()).unwrap());
        let used = usize::try_from(used).unwrap();
        let now = to_chrono(case.now);
        let start = case.start.map(to_chrono).map_or(Start::Anchor(now), Start::Given);
        // An anchor cut to whole seconds is before now.
        let since = all[used - 1].max(now) + TICK;
        let rest = Timetable::resumed(&rule, start, since, u32::try_from(used).unwrap()).unwrap();
        let rest: Vec<_> = rest.iter().take(21).collect();
        assert_eq!(rest, all[used..], "{used} of {count} used\n{case}");
    });
}

#[test]
fn no_gap_is_smaller_than_the_smallest() {
    for_each_seed(5000, |seed| {
        let Some((case, timetable)) = occurring(seed) else { return };
        if !case.is_utc() {
            return;
        }
        let smallest = timetable.smallest_gap().unwrap();
        // The distance from the anchor to the next occurrence can be smaller.
        let skipped = usize::from(case.start.is_none());
        let some: Vec<_> = timetable.iter().skip(skipped).take(100).collect();
        for pair in some.windows(2) {
            assert!(pair[1] - pair[0] >= smallest, "{smallest}: {pair:?}\n{case}");
        }
    });
}

/// Periods of equal length have the smallest gap among their first occurrences.
#[test]
fn the_smallest_gap_occurs() {
    for_each_seed(4000, |seed| {
        let Some((case, timetable)) = occurring(seed) else { return };
        let minutes = match case.frequency {
            // The place in the day repeats within this number of steps.
            Frequency::Minute | Frequency::Hour | Frequency::Day => 1440 * case.interval,
            Frequency::Week => 7 * 1440 * case.interval,
            Frequency::Month | Frequency::Year => return,
        };
        let Some(first) = timetable.iter().nth(1) else { return };
        let cycle = TimeDelta::minutes(minutes);
        let Some(end) = first.checked_add_signed(cycle) else { return };
        let calendar_ends = end.format("%Y").to_string().len() > 4;
        if !case.is_utc() || calendar_ends || timetable.count_between(first, end) > 2000 {
            return;
        }
        let cycle = std::iter::successors(Some(first), |at| timetable.after(*at));
        let cycle: Vec<_> = cycle.take_while(|at| *at <= end).collect();
        let found = cycle.windows(2).map(|pair| pair[1] - pair[0]).min();
        assert_eq!(timetable.smallest_gap(), found, "{case}");
    });
}

#[test]
fn printing_and_parsing_a_recurrence_is_the_identity() {
    for_each_seed(3000, |seed| {
        let case = Case::random(seed);
        let chance = &mut Chance::new(seed + 6);
        let count = chance.percent(30).then(|| chance.within(1..=2_147_483_647));
        let end = chance.percent(30).then_some(case.now);
        let sent = case.recurrence(count, end);
        let printed: Value = serde_json::from_str(&sent.to_string()).unwrap();

        let mut expected = case.canonical();
        if let Some(count) = count {
            expected["count"] = count.into();
        }
        if let Some(end) = end {
            expected["endTime"] = minutehand_recurrence::format_instant(to_chrono(end)).into();
        }
        assert_eq!(printed, expected, "{case}");

        let parsed = Recurrence::from_json(&printed).unwrap();
        assert_eq!(parsed, sent, "{case}");
        assert_eq!(parsed.to_string(), sent.to_string(), "{case}");
        assert_eq!(Rule::canonical(&parsed), Rule::canonical(&sent), "{case}");
    });
}

/// The usual form of a text is read in another way than the forms that are left to a [`Value`].
#[test]
fn a_text_means_the_same_as_its_value() {
    for_each_seed(3000, |seed| {
        let case = Case::random(seed);
        let chance = &mut Chance::new(seed + 8);
        let count = chance.percent(30).then(|| chance.within(1..=5000));
        let end = chance.percent(30).then(|| to_jiff(some_time(chance, &case)));
        let now = to_chrono(case.now);
        let mut canonical = case.canonical();
        for (name, value) in
            [("count", count.map(Value::from)), ("endTime", end.map(|end| end.to_string().into()))]
        {
            if let Some(value) = value {
                canonical[name] = value;
            }
        }
        for json in [case.json(count, end), canonical] {
            let mut timing = serde_json::json!({"recurrence": json});
            if let Some(start) = case.start {
                timing["startTime"] = start.to_string().into();
            }
            let read = Timetable::from_json_text(&timing.to_string(), now).ok();
            let ends_before_start = end.zip(case.start).is_some_and(|(end, start)| end < start);
            let stepwise = case.timetable(count, end).filter(|_| !ends_before_start);
            assert_eq!(read, stepwise, "{timing}");
            let alone = Timetable::from_json_text(&json.to_string(), now).ok();
            let rule = case.rule(count, end);
            assert_eq!(alone, Timetable::new(&rule, None, now).ok(), "{json}");
        }
    });
}

#[test]
fn printing_and_parsing_a_timetable_is_the_identity() {
    for_each_seed(3000, |seed| {
        let case = Case::random(seed);
        let chance = &mut Chance::new(seed + 7);
        let count = chance.percent(50).then(|| chance.within(1..=5000));
        let end = chance.percent(50).then(|| to_jiff(some_time(chance, &case)));
        let Some(timetable) = case.timetable(count, end) else { return };
        let line = timetable.to_string();
        let parsed: Timetable = line.parse().unwrap_or_else(|error| panic!("{error}\n{case}"));
        assert_eq!(parsed, timetable, "{line}\n{case}");
        assert_eq!(parsed.to_string(), line, "{case}");
        assert!(parsed.iter().take(5).eq(timetable.iter().take(5)), "{line}\n{case}");
        assert!(line.lines().count() == 1 && line.is_ascii(), "{line}\n{case}");
        // The line must fit into a small item of the store.
        assert!(line.len() <= 700, "{} characters: {line}\n{case}", line.len());
    });
}

#[test]
fn each_rule_has_a_sentence() {
    for_each_seed(3000, |seed| {
        let Some((case, timetable)) = occurring(seed) else { return };
        let sentence = timetable.sentence();
        assert_eq!(sentence.lines().count(), 1, "{sentence}\n{case}");
        assert!(!sentence.contains("  ") && sentence.trim() == sentence, "{sentence}\n{case}");
    });
}

#[test]
fn every_instant_has_an_answer() {
    for_each_seed(3000, |seed| {
        let Some((case, timetable)) = occurring(seed) else { return };
        let (first, last) = (DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
        assert_eq!(timetable.at_or_after(first), timetable.iter().next(), "{case}");
        assert_eq!(timetable.after(first), timetable.iter().next(), "{case}");
        assert_eq!(timetable.at_or_after(last), None, "{case}");
        assert_eq!(timetable.after(last), None, "{case}");
        let _ = timetable.local(first);
        let _ = timetable.local(last);
        let _ = timetable.clock_change(first);
        let _ = timetable.clock_change(last);
        // Nothing occurs after the last second of the calendar.
        let end = DateTime::from_timestamp(253_402_300_800, 0).unwrap();
        assert_eq!(timetable.at_or_after(end), None, "{case}");
        let latest = TimeDelta::days(400);
        if let Some(at) = timetable.at_or_after(end - latest) {
            assert!(at < end, "{at}\n{case}");
        }
    });
}
