//! Many seeds, on every core: until it is stopped, or until so many actions were performed.
//!
//! Every few seconds it prints how far it came, and writes that to a file if it has one; when it is
//! started with the same file again, it goes on from there. Seeds are taken in order, and a seed counts
//! when all before it are played, so stopping it loses a few seconds of work and counts nothing twice.

use std::collections::BTreeMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::judge::{Excused, judge_counted};
use super::play::{Scenario, play_counted};
use super::tally::Tally;
use super::time::SECOND;
use super::{EXCUSED_MAX, scenario};

/// How often progress is printed and kept.
const REPORT_EVERY: Duration = Duration::from_secs(5);
const YEAR: f64 = 365.25 * 86_400.0;

/// Where to begin and to end.
pub(super) struct Task {
    pub(super) from: u64,
    pub(super) until: u64,
    /// It ends when so many actions were performed.
    pub(super) actions: Option<u64>,
    /// Where it keeps how far it came.
    pub(super) state: Option<PathBuf>,
    /// Instead of the scenario of each seed.
    pub(super) scenario: Option<Scenario>,
}

/// What one run was.
struct Played {
    actions: u64,
    /// In simulated time.
    micros: i64,
    found: Vec<String>,
    tally: Tally,
    scenario: Scenario,
    excused: Excused,
}

impl Played {
    fn nothing(scenario: Scenario) -> Self {
        let (tally, excused) = (Tally::default(), Excused::default());
        Self { actions: 0, micros: 0, found: Vec::new(), tally, scenario, excused }
    }
}

/// How far it came.
#[derive(Default)]
struct Progress {
    /// All seeds below are played and counted.
    next: u64,
    runs: u64,
    actions: u64,
    seconds: u64,
    wrong: u64,
    tally: Tally,
    /// What was excused since it was started, by scenario.
    excused: BTreeMap<String, Excused>,
    /// Played before one with a lower number.
    ahead: BTreeMap<u64, Played>,
}

impl Progress {
    fn of(task: &Task) -> Self {
        let kept = task.state.as_ref().and_then(|path| std::fs::read_to_string(path).ok());
        let Some(kept) = kept else { return Self { next: task.from, ..Self::default() } };
        let kept: Value = serde_json::from_str(&kept).expect("the file of progress");
        let number = |name: &str| kept[name].as_u64().expect(name);
        let progress = Self {
            next: number("next"),
            runs: number("runs"),
            actions: number("actions"),
            seconds: number("seconds"),
            wrong: number("wrong"),
            tally: Tally::read(&kept["faults"]),
            excused: BTreeMap::new(),
            ahead: BTreeMap::new(),
        };
        println!("{} runs are played, it goes on with seed {}", progress.runs, progress.next);
        progress
    }

    fn add(&mut self, seed: u64, played: Played) {
        self.ahead.insert(seed, played);
        while let Some(played) = self.ahead.remove(&self.next) {
            if !played.found.is_empty() {
                self.wrong += 1;
                let Played { scenario, found, .. } = &played;
                let again = format!("SCENARIO={scenario:?} SEED={} make simulate", self.next);
                println!("\nseed {}, again with `{again}`: {found:#?}", self.next);
            }
            self.next += 1;
            self.runs += 1;
            self.actions += played.actions;
            self.seconds += u64::try_from(played.micros / SECOND).unwrap_or(0);
            self.tally.add(&played.tally);
            let of_scenario = self.excused.entry(format!("{:?}", played.scenario)).or_default();
            of_scenario.add(played.excused);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "it is printed to a tenth")]
    fn years(&self) -> f64 {
        self.seconds as f64 / YEAR
    }

    fn keep(&self, task: &Task) {
        let Some(path) = &task.state else { return };
        let Self { next, runs, actions, seconds, wrong, tally, .. } = self;
        let kept = json!({
            "next": next, "runs": runs, "actions": actions, "seconds": seconds, "wrong": wrong,
            "faults": tally.to_json(),
        });
        let new = path.with_extension("new");
        std::fs::write(&new, kept.to_string()).unwrap();
        std::fs::rename(&new, path).unwrap();
    }

    fn line(&self) -> String {
        let Self { runs, actions, wrong, next, .. } = self;
        let years = self.years();
        format!("{runs} runs, {years:.1} years, {actions} actions, {wrong} wrong, next seed {next}")
    }
}

/// Plays seeds on every core; panics at the end if one was wrong.
pub(super) fn play_many(task: &Task) {
    let begun = Instant::now();
    let progress = Mutex::new(Progress::of(task));
    let next = AtomicU64::new(progress.lock().unwrap().next);
    let is_over = AtomicBool::new(false);
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores)
            .map(|_| {
                scope.spawn(|| {
                    while !is_over.load(Relaxed) {
                        let seed = next.fetch_add(1, Relaxed);
                        if seed >= task.until {
                            return;
                        }
                        let played = play_one(seed, task.scenario);
                        let mut progress = progress.lock().unwrap();
                        progress.add(seed, played);
                        if task.actions.is_some_and(|enough| progress.actions >= enough) {
                            is_over.store(true, Relaxed);
                        }
                    }
                })
            })
            .collect();
        let mut reported = Instant::now();
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::park_timeout(Duration::from_millis(200));
            if reported.elapsed() >= REPORT_EVERY {
                reported = Instant::now();
                let progress = progress.lock().unwrap();
                progress.keep(task);
                print!("\r{}, {} s", progress.line(), begun.elapsed().as_secs());
                std::io::stdout().flush().unwrap();
            }
        }
    });
    let progress = progress.into_inner().unwrap();
    progress.keep(task);
    println!("\r{} in {:.0?}", progress.line(), begun.elapsed());
    print!("{}", progress.tally);
    let mut in_all = Excused::default();
    for (scenario, excused) in progress.excused {
        println!("{scenario}: {excused}");
        in_all.add(excused);
    }
    println!("in all: {in_all}");
    assert_eq!(progress.wrong, 0);
    if task.scenario.is_none() {
        in_all.assert_at_most(EXCUSED_MAX);
    }
}

fn play_one(seed: u64, instead: Option<Scenario>) -> Played {
    let scenario = instead.unwrap_or_else(|| scenario(seed));
    let played = catch_unwind(|| play_counted(seed, scenario));
    let Ok((run, tally)) = played else {
        let found = vec!["it panicked, as printed before".to_owned()];
        return Played { found, ..Played::nothing(scenario) };
    };
    let actions = u64::try_from(run.fires.len()).unwrap_or(u64::MAX);
    let (found, excused) = judge_counted(&run);
    Played { actions, micros: run.ended_at, found, tally, scenario, excused }
}
