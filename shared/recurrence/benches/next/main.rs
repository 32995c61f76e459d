//! Compares the time to find the next occurrence with other engines, in one table.
//!
//! Every engine gets the same rules and the same instants, and its answers are compared with ours. The
//! engines take turns in every round. A search that takes very long is measured once.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a bench stops at an unexpected result"
)]

mod engines;

use std::hint::black_box;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_recurrence::{Timetable, format_instant};

use engines::{Engine, RULES, Sample};

/// The minimum duration of one round of a measurement.
const ROUND: Duration = Duration::from_millis(10);
/// The number of rounds; the fastest counts, because a disturbance only makes a round slower.
const ROUNDS: usize = 10;
/// A call that takes longer than this is measured once.
const SLOW: Duration = Duration::from_millis(100);
/// The number of calls between two readings of the clock.
const BATCH: u32 = 64;

/// The upper limits in nanoseconds for the next occurrence, in UTC and in a zone.
const BARS: [(&str, f64); 2] = [("UTC", 1_000.0), ("America/New_York", 2_000.0)];
/// The upper limit in nanoseconds from JSON text to the next occurrence.
const JSON_BAR: f64 = 1_000.0;
/// The number of instants that are asked about.
const INSTANTS: usize = 64;

fn main() {
    let now = DateTime::from_timestamp(1_795_256_220, 0).unwrap_or_default();
    let step = |i: usize| TimeDelta::seconds(9_973) * i32::try_from(i).unwrap_or(0);
    let instants = std::array::from_fn(|i| now + TimeDelta::seconds(1) + step(i));
    println!("next occurrence after {now} and later, in nanoseconds (times ours)\n");
    println!(
        "{:<24} {:<4} {:>5} {:>8} {:>26} {:>18} {:>18} {:>18}",
        "rule", "zone", "start", "ours", "rrule", "croner", "cron", "saffron"
    );
    let mut worst = [0.0_f64; 2];
    // Our time, as a part of the time of the fastest other engine.
    let mut closest = 0.0_f64;
    for rule in RULES {
        for ((zone, _), worst) in BARS.iter().zip(&mut worst) {
            for years in [1, 50] {
                let sample = Sample { rule, zone, start: now - TimeDelta::days(years * 365) };
                let [ours, others @ ..] = row(&sample, years, &instants);
                *worst = worst.max(ours);
                closest = closest.max(ours / others.into_iter().fold(f64::INFINITY, f64::min));
            }
        }
    }
    println!();
    for ((zone, bar), worst) in BARS.iter().zip(worst) {
        let verdict = if worst <= *bar { "met" } else { "MISSED" };
        println!("slowest in {zone}: {worst:.0} ns, bar {bar:.0} ns: {verdict}");
    }
    let verdict = if closest < 1.0 { "met" } else { "MISSED" };
    println!("at most {closest:.2} of the time of the fastest other engine, bar 1: {verdict}");
    json_to_answer(now - TimeDelta::days(50 * 365), &instants);
    // From this start, an interval of 7 months reaches the rarest Februaries.
    hard_rules(now - TimeDelta::days(174));
    other_questions(now);
}

/// Prints one row, and returns the nanoseconds of each engine; infinite if it cannot express the rule.
fn row(sample: &Sample<'_>, years: i64, instants: &[DateTime<Utc>; INSTANTS]) -> [f64; 5] {
    let zone = if sample.zone == "UTC" { "UTC" } else { "NY" };
    print!("{:<24} {zone:<4} {years:>3} y", sample.rule.name);
    let mut engines = Engine::all(sample);
    let answers = engines.each_mut().map(|engine| engine.as_mut()?.next(instants[0]));
    if let [Some(ours), ..] = &mut engines {
        let allocations = allocation_counter::measure(|| {
            black_box(ours.next(instants[0]));
        });
        assert_eq!(allocations.count_total, 0, "the next occurrence allocates");
    }
    let mut best = [f64::INFINITY; 5];
    for _ in 0..ROUNDS {
        for (engine, best) in engines.iter_mut().zip(&mut best) {
            let is_slow = best.is_finite() && *best > SLOW.as_secs_f64() * 1e9;
            if let (Some(engine), false) = (engine, is_slow) {
                let nanos = round(|i| {
                    black_box(engine.next(instants[i % INSTANTS]));
                });
                *best = best.min(nanos);
            }
        }
    }
    let [ours, others @ ..] = best;
    print!(" {ours:>8.1}");
    for ((theirs, answer), width) in others.into_iter().zip(&answers[1..]).zip([26, 18, 18, 18]) {
        if theirs.is_infinite() {
            print!(" {:>width$}", "-");
            continue;
        }
        let differs = if *answer == answers[0] { "" } else { "≠ " };
        let text = format!("{differs}{} ({}x)", grouped(theirs), grouped(theirs / ours));
        print!(" {text:>width$}");
    }
    println!();
    best
}

/// Measures the way from JSON text to the next occurrence.
fn json_to_answer(start: DateTime<Utc>, instants: &[DateTime<Utc>; INSTANTS]) {
    println!("\nfrom JSON text to the next occurrence, in nanoseconds: UTC, New York");
    let mut worst = 0.0_f64;
    for rule in RULES {
        let figures = BARS.map(|(zone, _)| {
            let json = rule.json(zone);
            nanos_of(|i| {
                let timetable = Timetable::from_json_text(black_box(&json), start).ok();
                black_box(timetable.and_then(|it| it.after(instants[i % INSTANTS])));
            })
        });
        println!("{:<28} {:>8.0} {:>8.0}", rule.name, figures[0], figures[1]);
        worst = figures.into_iter().fold(worst, f64::max);
    }
    let verdict = if worst <= JSON_BAR { "met" } else { "MISSED" };
    println!("slowest: {worst:.0} ns, bar {JSON_BAR:.0} ns: {verdict}");
}

/// Measures the rules with the longest searches, at their longest wait for the next occurrence.
fn hard_rules(start: DateTime<Utc>) {
    let fifth_sunday =
        r#""schedule":{"months":[2],"monthlyOccurrences":[{"day":"sunday","occurrence":5}]"#;
    let rules = [
        ("fifth Sunday of February", format!(r#"{{"frequency":"month",{fifth_sunday}"#)),
        (
            "the same every 7 months",
            format!(r#"{{"frequency":"month","interval":7,{fifth_sunday}"#),
        ),
        (
            "every 721 minutes, 2 hours",
            r#"{"frequency":"minute","interval":721,"schedule":{"hours":[0,1]"#.to_owned(),
        ),
        (
            "every 997 minutes, 03:00",
            r#"{"frequency":"minute","interval":997,"schedule":{"hours":[3],"minutes":[0]"#
                .to_owned(),
        ),
        (
            "every 100 years",
            r#"{"frequency":"year","interval":100,"schedule":{"minutes":[0]"#.to_owned(),
        ),
    ];
    println!("\nthe longest searches, in nanoseconds: UTC, New York, and the days of that wait");
    for (name, json) in rules {
        let mut days = 0;
        let figures = BARS.map(|(zone, _)| {
            let timetable = timetable(&format!("{json}}},\"timeZone\":\"{zone}\"}}"), start);
            let occurrences: Vec<_> = timetable.iter().take(100).collect();
            let waits = occurrences.windows(2).map(|pair| (pair[1] - pair[0], pair[0]));
            let (wait, from) = waits.max().unwrap_or((TimeDelta::zero(), start));
            days = wait.num_days();
            let from = from + TimeDelta::seconds(1);
            nanos_of(|_| {
                black_box(timetable.at_or_after(black_box(from)));
            })
        });
        println!("{name:<28} {:>8.0} {:>8.0} {days:>8}", figures[0], figures[1]);
    }
}

/// A timetable, and its line.
struct Forms {
    timetable: Timetable,
    line: String,
}

/// Measures the other operations of a timetable.
fn other_questions(now: DateTime<Utc>) {
    let start = now - TimeDelta::days(50 * 365);
    let forms = BARS.map(|(zone, _)| {
        let json = format!(
            r#"{{"frequency":"week","schedule":{{"weekDays":["monday","wednesday","friday"],"hours":[9],"minutes":[15]}},"timeZone":"{zone}"}}"#
        );
        let timetable = timetable(&json, start);
        Forms { line: timetable.to_string(), timetable }
    });
    let ask = |name: &str, question: &dyn Fn(&Forms)| {
        let [utc, zoned] = forms.each_ref().map(|forms| nanos_of(|_| question(forms)));
        println!("{name:<28} {utc:>8.0} {zoned:>8.0}");
    };
    println!("\nother questions, in nanoseconds: UTC, New York");
    println!("(Monday, Wednesday, Friday 09:15, start 50 years back)");
    ask("line to timetable, and next", &|forms| {
        let read = forms.line.parse::<Timetable>();
        black_box(read.ok().and_then(|timetable| timetable.at_or_after(now)));
    });
    ask("timetable to line", &|forms| {
        black_box(forms.timetable.to_string());
    });
    ask("count over the 50 years", &|forms| {
        black_box(forms.timetable.count_between(start, now));
    });
}

fn timetable(json: &str, start: DateTime<Utc>) -> Timetable {
    let timing = format!(r#"{{"startTime":"{}","recurrence":{json}}}"#, format_instant(start));
    match Timetable::from_json_text(&timing, start) {
        Ok(timetable) => timetable,
        Err(error) => panic!("{json}: {error}"),
    }
}

/// Returns the nanoseconds of one call in the best of all rounds; its argument is the number of the call.
fn nanos_of(mut call: impl FnMut(usize)) -> f64 {
    (0..ROUNDS).map(|_| round(&mut call)).fold(f64::INFINITY, f64::min)
}

/// Returns the nanoseconds of one call in one round.
fn round(mut call: impl FnMut(usize)) -> f64 {
    let began = Instant::now();
    call(0);
    if began.elapsed() > SLOW {
        return began.elapsed().as_secs_f64() * 1e9;
    }
    let (began, mut batches) = (Instant::now(), 0);
    while began.elapsed() < ROUND {
        (0..BATCH as usize).for_each(&mut call);
        batches += 1;
    }
    began.elapsed().as_secs_f64() * 1e9 / (f64::from(batches) * f64::from(BATCH))
}

/// Writes a number with thousands separators.
fn grouped(number: f64) -> String {
    if number < 10.0 {
        return format!("{number:.1}");
    }
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
