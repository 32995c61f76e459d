//! How full messages are, and how many timers move in a pass: minutely jobs over four hours, planned as the
//! sweeper plans them.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::firing::limits::{AHEAD, HORIZON};
use minutehand_domain::work_item::{PACKET_ATTEMPTS_MAX, planned_until};

const MINUTE: TimeDelta = TimeDelta::minutes(1);
/// Timers that the sweeper gathers for one dispatch.
const GATHERED_MAX: usize = 800;
/// After these minutes plans have found their ends.
const SETTLED: i64 = 120;
const MINUTES: i64 = 240;

/// Jobs that are created in one hour, at instants without order, and then fire each minute: at second 0, or
/// at the second of their creation.
fn created(jobs: u32, is_at_full_minute: bool) -> Vec<DateTime<Utc>> {
    let mut random = 7_u64;
    let mut next = |below: u64| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from((random >> 33) % below).unwrap()
    };
    let at = |second| DateTime::from_timestamp(second, 0).unwrap();
    let second = |second: i64| if is_at_full_minute { second / 60 * 60 } else { second };
    (0..jobs).map(|_| at(second(next(3_600)))).collect()
}

/// The attempts of a message, and the most timers that move in a pass.
fn played(mut due: Vec<DateTime<Utc>>) -> (f64, usize) {
    let (mut attempts, mut messages, mut moves_max) = (0, 0, 0);
    for minute in 0..MINUTES {
        // The tick has its own second.
        let now = DateTime::from_timestamp(minute * 60 + 23, 0).unwrap();
        let mut found: Vec<_> = due.iter_mut().filter(|due| **due <= now + AHEAD).collect();
        found.sort();
        if minute >= SETTLED {
            moves_max = moves_max.max(found.len());
        }
        for gathered in found.chunks_mut(GATHERED_MAX) {
            let mut of_second: BTreeMap<_, usize> = BTreeMap::new();
            for due in gathered.iter() {
                *of_second.entry(**due).or_default() += 1;
            }
            let mut sent: BTreeMap<_, usize> = BTreeMap::new();
            for due in gathered {
                let until = planned_until(**due, of_second[&**due], now + HORIZON);
                while **due <= until {
                    *sent.entry(**due).or_default() += 1;
                    **due += MINUTE;
                }
            }
            if minute >= SETTLED {
                attempts += sent.values().sum::<usize>();
                let packets = sent.values().map(|sent| sent.div_ceil(PACKET_ATTEMPTS_MAX));
                messages += packets.sum::<usize>();
            }
        }
    }
    let number = |n: usize| f64::from(u32::try_from(n).unwrap());
    (number(attempts) / number(messages), moves_max)
}

#[test]
fn timers_that_do_not_fill_messages_are_planned_together_and_others_stay_spread() {
    for (jobs, is_at_full_minute, fill, moves) in [
        (10, true, 10.0, 10),
        (100, true, 25.0, 100),
        (1_000, false, 16.0, 1_000),
        (10_000, false, 21.0, 4_000),
        // Together move those that were created within twelve minutes.
        (100_000, false, 20.0, 23_000),
        (10_000, true, 24.0, 1_200),
    ] {
        let (filled, moved) = played(created(jobs, is_at_full_minute));
        println!(
            "{jobs} jobs, {is_at_full_minute}: {filled:.1} attempts a message, {moved} moves at most"
        );
        assert!(filled >= fill, "{jobs} {is_at_full_minute}: {filled}");
        assert!(moved <= moves, "{jobs} {is_at_full_minute}: {moved}");
    }
}
