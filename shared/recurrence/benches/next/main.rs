//! Compares the time to find the next occurrence with other engines, in one table.
//!
//! Every engine gets the same rules and the same instants, and its answers are compared with ours. A
//! search that takes very long is measured once.

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
use minutehand_recurrence::{Recurrence, Rule, Timetable};

use engines::{Engine, RULES, Sample};

/// The minimum duration of one round of a measurement.
const ROUND: Duration = Duration::from_millis(20);
/// The number of rounds; the fastest counts, because a disturbance only makes a round slower.
const ROUNDS: usize = 5;
/// A call that takes longer than this is measured once.
const SLOW: Duration = Duration::from_millis(100);
/// The number of calls between two readings of the clock.
const BATCH: u32 = 64;

/// The upper limits in nanoseconds for the next occurrence, in UTC and in a zone.
const BARS: [(&str, f64); 2] = [("UTC", 1_000.0), ("America/New_York", 2_000.0)];

fn main() {
    let now = DateTime::from_timestamp(1_795_256_220, 0).unwrap_or_default();
    let instants: Vec<_> = (0..64).map(|i| now + TimeDelta::seconds(1 + i * 9_973)).collect();
    println!("next occurrence after {now} and later, in nanoseconds (times ours)\n");
    println!(
        "{:<24} {:<4} {:>5} {:>8} {:>26} {:>18} {:>18} {:>18}",
        "rule", "zone", "start", "ours", "rrule", "croner", "cron", "saffron"
    );
    let mut worst = [0.0_f64; 2];
    for rule in RULES {
        for ((zone, _), worst) in BARS.iter().zip(&mut worst) {
            for years in [1, 50] {
                let sample = Sample { rule, zone, start: now - TimeDelta::days(years * 365) };
                let ours = row(&sample, years, &instants);
                *worst = worst.max(ours);
            }
        }
    }
    println!();
    for ((zone, bar), worst) in BARS.iter().zip(worst) {
        let verdict = if worst <= *bar { "met" } else { "MISSED" };
        println!("slowest in {zone}: {worst:.0} ns, bar {bar:.0} ns: {verdict}");
    }
    // From this start, an interval of 7 months reaches the rarest Februaries.
    hard_rules(now - TimeDelta::days(174));
    other_questions(now);
}

/// Prints one row, and returns our nanoseconds.
fn row(sample: &Sample<'_>, years: i64, instants: &[DateTime<Utc>]) -> f64 {
    let zone = if sample.zone == "UTC" { "UTC" } else { "NY" };
    print!("{:<24} {zone:<4} {years:>3} y", sample.rule.name);
    let [ours, others @ ..] = Engine::all(sample);
    let ours = ours.map_or(f64::NAN, |mut ours| {
        let allocations = allocation_counter::measure(|| {
            black_box(ours.next(instants[0]));
        });
        assert_eq!(allocations.count_total, 0, "the next occurrence allocates");
        let nanos = nanos_of(|i| {
            black_box(ours.next(instants[i % instants.len()]));
        });
        print!(" {nanos:>8.0}");
        for (other, width) in others.into_iter().zip([26, 18, 18, 18]) {
            let Some(mut other) = other else {
                print!(" {:>width$}", "-");
                continue;
            };
            let same = other.next(instants[0]) == ours.next(instants[0]);
            let theirs = nanos_of(|i| {
                black_box(other.next(instants[i % instants.len()]));
            });
            let differs = if same { "" } else { "≠ " };
            let text = format!("{differs}{} ({}x)", grouped(theirs), grouped(theirs / nanos));
            print!(" {text:>width$}");
        }
        nanos
    });
    println!();
    ours
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

/// A rule in its three forms.
struct Forms {
    json: String,
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
        Forms { line: timetable.to_string(), json, timetable }
    });
    let ask = |name: &str, question: &dyn Fn(&Forms)| {
        let [utc, zoned] = forms.each_ref().map(|forms| nanos_of(|_| question(forms)));
        println!("{name:<28} {utc:>8.0} {zoned:>8.0}");
    };
    println!("\nother questions, in nanoseconds: UTC, New York");
    println!("(Monday, Wednesday, Friday 09:15, start 50 years back)");
    ask("JSON to timetable, and next", &|forms| {
        black_box(timetable(&forms.json, start).at_or_after(now));
    });
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
    let parsed = serde_json::from_str(json).map_err(|error| error.to_string());
    let timetable = parsed
        .and_then(|json| Recurrence::from_json(&json).map_err(|error| error.to_string()))
        .and_then(|sent| Rule::canonical(&sent).map_err(|error| error.to_string()))
        .and_then(|rule| {
            Timetable::new(&rule, Some(start), start).map_err(|error| error.to_string())
        });
    match timetable {
        Ok(timetable) => timetable,
        Err(error) => panic!("{json}: {error}"),
    }
}

/// Returns the nanoseconds of one call; its argument is the number of the call.
fn nanos_of(mut call: impl FnMut(usize)) -> f64 {
    let began = Instant::now();
    call(0);
    let once = began.elapsed();
    if once > SLOW {
        return once.as_secs_f64() * 1e9;
    }
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let (began, mut batches) = (Instant::now(), 0);
        while began.elapsed() < ROUND {
            (0..BATCH as usize).for_each(&mut call);
            batches += 1;
        }
        let calls = f64::from(batches) * f64::from(BATCH);
        best = best.min(began.elapsed().as_secs_f64() * 1e9 / calls);
    }
    best
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
