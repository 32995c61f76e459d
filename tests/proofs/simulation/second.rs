//! The second judge: a program in Python that reads the log of a run. It and the first judge have to
//! agree on every run, with and without mutations.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use serde_json::Value;

use super::judge::judge;
use super::mutation::Mutation;
use super::play::{Scenario, play_logged};
use super::{number, on_every_core, scenario};

/// Seeds of the short test.
const SEEDS: u64 = 48;

/// What both judges say of a run.
#[derive(Debug)]
struct Verdicts {
    seed: u64,
    mutation: Option<Mutation>,
    first: Vec<String>,
    second: Vec<String>,
}

impl Verdicts {
    /// Whether both find the run correct, or both find it wrong. A run with a mutation is wrong, so
    /// the second judge may find that where the first one does not.
    fn agree(&self) -> bool {
        match self.mutation {
            None => self.first.is_empty() && self.second.is_empty(),
            // The second judge reads no quarters.
            Some(Mutation::QuarterOfEnd) => true,
            Some(_) => self.first.is_empty() || !self.second.is_empty(),
        }
    }

    /// Whether only the second judge finds a mutation in it.
    fn is_sharper(&self) -> bool {
        self.first.is_empty() && !self.second.is_empty()
    }
}

/// What a program prints for these lines; its path is relative to this package.
pub(super) fn ask_python(program: &str, lines: Vec<String>) -> String {
    let mut child = Command::new("python3")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(program))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the second judge needs Python 3");
    let mut stdin = child.stdin.take().unwrap();
    let writing = std::thread::spawn(move || {
        lines.iter().all(|lines| stdin.write_all(lines.as_bytes()).is_ok())
    });
    let output = child.wait_with_output().unwrap();
    let is_read = writing.join().unwrap();
    assert!(is_read && output.status.success(), "{program} failed: its error stands above");
    String::from_utf8(output.stdout).unwrap()
}

/// Lets the second judge read logs, each of one run.
fn read(logs: Vec<String>) -> Vec<Vec<String>> {
    let runs = logs.len();
    let printed = ask_python("../judge/judge.py", logs);
    let found = printed.lines().map(|line| {
        let verdict: Value = serde_json::from_str(line).unwrap();
        let found = verdict["found"].as_array().unwrap();
        found.iter().map(|it| it.as_str().unwrap().to_owned()).collect()
    });
    let found: Vec<_> = found.collect();
    assert_eq!(found.len(), runs);
    found
}

/// Plays runs and asks both judges.
fn both(runs: &[(u64, Scenario)], mutation: Option<Mutation>) -> Vec<Verdicts> {
    let mut logs = Vec::new();
    let mut firsts = Vec::new();
    for (seed, scenario) in runs {
        let (run, log) = play_logged(*seed, *scenario, mutation);
        firsts.push((*seed, judge(&run)));
        logs.push(log);
    }
    let verdicts = firsts.into_iter().zip(read(logs));
    let verdicts =
        verdicts.map(|((seed, first), second)| Verdicts { seed, mutation, first, second });
    verdicts.collect()
}

/// Plays a mutation until the first judge finds it, and asks the second one of the same runs.
fn both_of(mutation: Mutation, seeds_max: u64) -> Vec<Verdicts> {
    let mut logs = Vec::new();
    let mut firsts = Vec::new();
    for seed in 0..seeds_max {
        let scenario = mutation.shows_in().unwrap_or_else(|| scenario(seed));
        let (run, log) = play_logged(seed, scenario, Some(mutation));
        let found = judge(&run);
        let is_caught = !found.is_empty();
        firsts.push((seed, found));
        logs.push(log);
        if is_caught {
            break;
        }
    }
    let verdicts = firsts.into_iter().zip(read(logs));
    let of = |((seed, first), second)| Verdicts { seed, mutation: Some(mutation), first, second };
    verdicts.map(of).collect()
}

fn report(verdicts: &Verdicts) -> String {
    let Verdicts { seed, mutation, first, second } = verdicts;
    format!("seed {seed}, {mutation:?}:\n  first: {first:?}\n  second: {second:?}")
}

#[test]
#[ignore = "`make judge`"]
fn the_judges_agree() {
    let runs = (0..SEEDS).map(|seed| (seed, scenario(seed)));
    let runs = runs.chain((0..SEEDS).map(|seed| (seed, Scenario::Policies)));
    let runs = runs.chain((0..SEEDS).map(|seed| (seed, Scenario::Overlap)));
    let runs = runs.chain((0..SEEDS).map(|seed| (seed, Scenario::Again)));
    let runs = runs.chain((0..SEEDS).map(|seed| (seed, Scenario::Zones)));
    let runs = runs.chain((0..SEEDS).map(|seed| (seed, Scenario::Limits)));
    let runs = runs.chain((0..SEEDS).map(|seed| (seed, Scenario::Parts)));
    let runs = runs.chain((0..SEEDS).map(|seed| (seed, Scenario::Completion)));
    let runs = runs.chain((0..SEEDS).map(|seed| (seed, Scenario::Hanging)));
    let runs = runs.chain((0..SEEDS).map(|seed| (seed, Scenario::Pings)));
    let runs = runs.chain((0..SEEDS).map(|seed| (seed, Scenario::Processes)));
    let runs: Vec<_> = runs.chain((0..SEEDS).map(|seed| (seed, Scenario::Seats))).collect();
    let verdicts = both(&runs, None);
    let differ: Vec<_> = verdicts.iter().filter(|it| !it.agree()).map(report).collect();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
#[ignore = "`make judge`"]
fn both_judges_find_each_mistake_about_origins_that_hang() {
    let mistakes = [
        Mutation::BrakesAreIgnored,
        Mutation::CallsAreShared,
        Mutation::CallsAreLost,
        Mutation::BrakesStay,
    ];
    for mistake in mistakes {
        let verdicts = both_of(mistake, 30);
        assert!(verdicts.iter().all(Verdicts::agree), "{mistake:?}");
        let found = verdicts.last().unwrap();
        assert!(!found.first.is_empty() && !found.second.is_empty(), "{}", report(found));
    }
}

/// Both judges on seeds `FROM` to `UNTIL`, and on every mutation, on every core; prints each disagreement.
#[test]
#[ignore = "it takes minutes: `make judge`"]
fn on_many_seeds() {
    let (from, until) = (number("FROM").unwrap_or(0), number("UNTIL").unwrap_or(2_000));
    let seeds: Vec<_> = (from..until).map(|seed| (seed, scenario(seed))).collect();
    let disagreements = AtomicUsize::new(0);
    let tell = |verdicts: &[Verdicts]| {
        for verdicts in verdicts.iter().filter(|it| !it.agree()) {
            disagreements.fetch_add(1, Relaxed);
            println!("{}", report(verdicts));
        }
    };
    on_every_core(seeds.chunks(100), |runs| {
        tell(&both(runs, None));
        println!("{} runs from seed {} on", runs.len(), runs[0].0);
    });
    on_every_core(Mutation::ALL.into_iter(), |mutation| {
        let verdicts = both_of(mutation, 1_000);
        let sharper = verdicts.iter().filter(|it| it.is_sharper()).count();
        println!("{mutation:?}: {} runs, in {sharper} only the second finds it", verdicts.len());
        tell(&verdicts);
    });
    assert_eq!(disagreements.into_inner(), 0, "the judges disagree");
}

/// Changes what a log says of an attempt.
type Change = fn(&mut Vec<Value>, &str);

/// What the second judge says of a correct run whose log is changed.
fn doctored(change: impl Fn(&mut Vec<Value>)) -> Vec<String> {
    let (_, log) = play_logged(9, Scenario::Mixed, None);
    let mut lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    change(&mut lines);
    let log: Vec<_> = lines.iter().map(|line| format!("{line}\n")).collect();
    read(vec![log.concat()]).remove(0)
}

/// The first attempt of an occurrence in the middle of a run, far from any request.
fn middle(lines: &[Value]) -> String {
    let far = 700_000_000;
    let at = |line: &Value| line["at"].as_i64().unwrap_or(0);
    let is_far = |call: &Value| {
        let mut asks = lines.iter().filter(|line| line["e"] == "ask");
        asks.all(|ask| (at(ask) - at(call)).abs() > far)
    };
    let is_first =
        |line: &&Value| line["role"] == "main" && line["number"] == 0 && line["run"] == false;
    let calls = lines.iter().filter(|line| line["e"] == "call").filter(is_first);
    let mut found = calls.filter(|call| is_far(call)).map(|call| call["id"].as_str().unwrap());
    found.next().unwrap().to_owned()
}

#[test]
#[ignore = "`make judge`"]
fn the_second_judge_finds_each_fault_in_a_log() {
    assert_eq!(doctored(|_| {}), [""; 0]);
    let changes: [(&str, Change); 7] = [
        ("missed", |lines, id| lines.retain(|line| line["id"] != id)),
        ("early", |lines, id| {
            let call = lines.iter_mut().find(|it| it["e"] == "call" && it["id"] == id).unwrap();
            call["clock"] = (call["nominal"].as_i64().unwrap() - 1).into();
        }),
        ("again though it is recorded", |lines, id| {
            let call = lines.iter().find(|it| it["e"] == "call" && it["id"] == id).unwrap();
            let mut call = call.clone();
            call["at"] = (call["at"].as_i64().unwrap() + 200_000_000).into();
            let end = lines.iter().position(|it| it["e"] == "end").unwrap();
            lines.insert(end, call);
        }),
        ("a row that says otherwise than its target", |lines, id| {
            let row = lines.iter_mut().find(|it| it["e"] == "row" && it["id"] == id).unwrap();
            row["ok"] = (!row["ok"].as_bool().unwrap()).into();
        }),
        ("counted wrong", |lines, _| {
            let end = lines.iter_mut().find(|it| it["e"] == "end").unwrap();
            for timer in end["timers"].as_array_mut().unwrap() {
                timer["executions"] = (timer["executions"].as_u64().unwrap() + 1).into();
            }
        }),
        ("a row that is gone", |lines, id| {
            let end = lines.iter_mut().find(|it| it["e"] == "end").unwrap();
            end["rows"].as_array_mut().unwrap().retain(|row| row["id"] != id);
        }),
        ("extra", |lines, id| {
            let of_it = |line: &&mut Value| line["id"] == id && line["nominal"].is_i64();
            for line in lines.iter_mut().filter(of_it) {
                line["nominal"] = (line["nominal"].as_i64().unwrap() + 1_000_000).into();
                line["clock"] = (line["clock"].as_i64().unwrap_or(0) + 1_000_000).into();
            }
        }),
    ];
    for (word, change) in changes {
        let found = doctored(|lines| {
            let id = middle(lines);
            change(lines, &id);
        });
        assert!(found.iter().any(|found| found.starts_with(word)), "{word}: {found:?}");
    }
}
