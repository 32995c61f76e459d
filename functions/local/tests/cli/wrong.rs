//! Wrong inputs and their answers: every command, every operation of the API, every flag of `serve`.
//!
//! `wrong.txt` has for each input its points and the answer. 3 points: the answer says what is wrong and what
//! to write instead. 2: one of both. 1: something else. 0: nothing, or it was accepted. A person gives the
//! points; the answers are compared. `UPDATE_WRONG=1 cargo test -p minutehand --test cli wrong` writes the
//! answers anew, and keeps the points of answers that stay as they were.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::{collections::BTreeSet, fmt::Write as _};

use minutehand_testkit::InTime as _;
use serde_json::Value;

use crate::world::{World, at_home, run, words};

/// The least mean of the points.
const MEAN_MIN: f64 = 2.85;
/// How many inputs are asked at a time.
const AT_A_TIME: usize = 4;
/// The least number of inputs.
const INPUTS_MIN: usize = 120;
/// What the paths of collections begin with, in Azure's API and in our own.
const AZURE: &str =
    "/subscriptions/me/resourceGroups/dev/providers/Microsoft.Scheduler/jobCollections";
const OWN: &str = "/minutehand/v1/subscriptions/me/resourceGroups/dev/jobCollections";
const METHODS: [&str; 5] = ["GET", "PUT", "POST", "PATCH", "DELETE"];

/// An input with its points, or a line of the file that is none.
enum Row {
    Note(String),
    Input { points: u8, input: String, answer: Vec<String> },
}

/// Reads the file: a line that begins with a digit is an input, and the indented ones below are its answer.
fn rows(text: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("    "), line.split_once("  ")) {
            (Some(said), _) => match rows.last_mut() {
                Some(Row::Input { answer, .. }) => answer.push(said.to_owned()),
                _ => panic!("an answer without an input: {line}"),
            },
            (None, Some((points, input))) if points.parse::<u8>().is_ok() => {
                let (points, input) = (points.parse().unwrap(), input.to_owned());
                rows.push(Row::Input { points, input, answer: Vec::new() });
            }
            (None, _) => rows.push(Row::Note(line.to_owned())),
        }
    }
    rows
}

/// What all inputs are answered. None of them changes anything, so several are asked at a time.
fn answers(world: &World, rows: &[Row]) -> Vec<Vec<String>> {
    let asked = &|row: &Row| match row {
        Row::Note(_) => Vec::new(),
        Row::Input { input, .. } => answer(world, input),
    };
    let each = rows.len().div_ceil(AT_A_TIME);
    std::thread::scope(|scope| {
        let parts: Vec<_> = rows
            .chunks(each)
            .map(|rows| scope.spawn(move || rows.iter().map(asked).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

/// What an input is answered: the exit code or the status, and the text.
fn answer(world: &World, input: &str) -> Vec<String> {
    let first = input.split(' ').next().unwrap();
    let said =
        if METHODS.contains(&first) { of_api(world, input) } else { of_command(world, input) };
    let said = said.replace(world.url(), "http://server");
    let noise = ["For more information, try", "INFO minutehand"];
    let lines = said.lines().filter(|line| !noise.iter().any(|noise| line.contains(noise)));
    lines.filter(|line| !line.trim().is_empty()).map(|line| line.trim_end().to_owned()).collect()
}

fn of_command(world: &World, input: &str) -> String {
    let (line, given) = input.split_once(" <<< ").unwrap_or((input, ""));
    let home = tempfile::tempdir().unwrap();
    let is_server = line.starts_with("serve");
    let ended = if is_server {
        run(at_home(home.path()).args(words(line)), given)
    } else {
        run(world.command().args(words(line)), given)
    };
    let code = ended.code.unwrap_or(-1);
    let text = format!("{code} {}{}", ended.err, ended.out);
    let home = if is_server { home.path() } else { world.home.path() };
    text.replace(&home.display().to_string(), "$HOME")
}

fn of_api(world: &World, input: &str) -> String {
    let mut parts = input.splitn(3, ' ');
    let (method, path) = (parts.next().unwrap(), parts.next().unwrap());
    let body = parts.next().unwrap_or_default();
    let path = whole(path);
    let answer = world.ask(method, &path, body);
    let message: Value = serde_json::from_str(&answer.1).unwrap_or_default();
    let error = |name| message.pointer(&format!("/error/{name}")).and_then(Value::as_str);
    match (error("code"), error("message")) {
        (Some(code), Some(message)) => format!("{} {code}: {message}", answer.0),
        _ => format!("{} {}", answer.0, answer.1),
    }
}

/// A path with what the file leaves out: `~` and `%` for collections, and the version.
fn whole(path: &str) -> String {
    let path = match (path.strip_prefix('~'), path.strip_prefix('%')) {
        (Some(rest), _) => format!("{AZURE}{rest}"),
        (_, Some(rest)) => format!("{OWN}{rest}"),
        (None, None) => path.to_owned(),
    };
    if !path.starts_with("/subscriptions") || path.contains("api-version") {
        return path;
    }
    let joined = if path.contains('?') { '&' } else { '?' };
    format!("{path}{joined}api-version=2016-03-01")
}

#[test]
fn every_wrong_input_is_answered_with_what_to_write() {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/wrong.txt"));
    let before = fs::read_to_string(&path).unwrap();
    let world = World::new();
    world.must("job create a --every 1h --url http://127.0.0.1:1/");
    let (mut now, mut all, mut ungraded) = (String::new(), Vec::new(), Vec::new());
    let rows = rows(&before);
    let answers = answers(&world, &rows);
    for (row, said) in rows.into_iter().zip(answers) {
        match row {
            Row::Note(line) => now.extend([&line, "\n"]),
            Row::Input { points, input, answer: before } => {
                if said != before && std::env::var_os("UPDATE_WRONG").is_some() {
                    ungraded.push(input.clone());
                }
                writeln!(now, "{points}  {input}").unwrap();
                for line in &said {
                    writeln!(now, "    {line}").unwrap();
                }
                all.push((points, input));
            }
        }
    }
    // None of them has done anything.
    assert_eq!(world.must("job list --jsonl").lines().count(), 1);
    if std::env::var_os("UPDATE_WRONG").is_some() {
        fs::write(&path, &now).unwrap();
        println!("look at the points of {ungraded:#?}");
        return;
    }
    for (now, before) in now.lines().zip(before.lines()) {
        assert_eq!(now, before, "UPDATE_WRONG=1 writes {}", path.display());
    }
    assert_eq!(now.lines().count(), before.lines().count());
    is_good_enough(&all);
    let inputs: Vec<String> = all.into_iter().map(|(_, input)| input).collect();
    has_every_flag_of_serve(&inputs);
    has_every_command(&inputs);
    has_every_operation(&world, &inputs);
}

fn is_good_enough(all: &[(u8, String)]) {
    assert!(all.len() >= INPUTS_MIN, "{}", all.len());
    let zeros: Vec<_> = all.iter().filter(|(points, _)| *points == 0).collect();
    assert!(zeros.is_empty(), "{zeros:?}");
    let sum: u32 = all.iter().map(|(points, _)| u32::from(*points)).sum();
    let mean = f64::from(sum) / f64::from(u32::try_from(all.len()).unwrap());
    assert!(mean >= MEAN_MIN && all.iter().all(|(points, _)| *points <= 3), "{mean}");
}

fn help(of: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    let output = command.args(of).arg("--help").env("COLUMNS", "200").output_in_time();
    String::from_utf8(output.stdout).unwrap()
}

fn has_every_flag_of_serve(inputs: &[String]) {
    let help = help(&["serve"]);
    let flags = help.lines().filter_map(|line| {
        let flag = line.trim_start().strip_prefix("--")?.split([' ', '=']).next()?;
        Some(format!("--{flag}"))
    });
    let starts: Vec<&String> = inputs.iter().filter(|input| input.starts_with("serve ")).collect();
    let missing: BTreeSet<String> = flags
        .filter(|flag| !starts.iter().any(|start| start.split(' ').any(|word| word == flag)))
        .collect();
    assert!(missing.is_empty(), "no wrong input has {missing:?}");
}

fn has_every_command(inputs: &[String]) {
    let mut waiting = vec![String::new()];
    while let Some(command) = waiting.pop() {
        let help = help(&command.split_whitespace().collect::<Vec<_>>());
        let Some((_, section)) = help.split_once("\nCommands:\n") else {
            let has = inputs.iter().any(|input| {
                input == command.trim() || input.starts_with(&format!("{} ", command.trim()))
            });
            assert!(has, "no wrong input is of {command}");
            continue;
        };
        let section = section.split("\n\n").next().unwrap();
        let lines = section.lines().filter(|line| !line.starts_with("   "));
        let names = lines.filter_map(|line| line.split_whitespace().next());
        waiting
            .extend(names.filter(|name| *name != "help").map(|name| format!("{command} {name}")));
    }
}

fn has_every_operation(world: &World, inputs: &[String]) {
    let description: Value =
        serde_json::from_str(&world.ask("GET", "/openapi.json", "").1).unwrap();
    for (template, operations) in description["paths"].as_object().unwrap() {
        // An answer to HEAD has no text.
        let methods = operations.as_object().unwrap().keys().map(|method| method.to_uppercase());
        for method in methods.filter(|method| METHODS.contains(&method.as_str())) {
            let has = inputs.iter().any(|input| {
                let mut parts = input.split(' ');
                let asked = parts.next() == Some(method.as_str());
                asked && parts.next().is_some_and(|path| is_of(&whole(path), template))
            });
            // What takes no input is asked in another way.
            let is_asked = || {
                inputs.iter().any(|input| {
                    input.split(' ').nth(1).is_some_and(|path| is_of(&whole(path), template))
                })
            };
            assert!(
                has || ((method == "GET" || template.ends_with("/register")) && is_asked()),
                "no wrong input is of {method} {template}"
            );
        }
    }
}

/// Whether a path is one of a template, in which names stand in braces.
fn is_of(path: &str, template: &str) -> bool {
    let path = path.split('?').next().unwrap();
    let (path, template): (Vec<_>, Vec<_>) =
        (path.split('/').collect(), template.split('/').collect());
    path.len() == template.len()
        && path.iter().zip(template).all(|(part, name)| name.starts_with('{') || *part == name)
}
