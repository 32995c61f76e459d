//! What the documents show of `minutehand preview` is what it prints.

#![cfg(test)]

use std::path::Path;
use std::process::Command;

use chrono::{DateTime, Utc};
use minutehand::preview::Preview;
use minutehand_testkit::InTime as _;
use serde_json::Value;

const README: &str = include_str!("../../../README.md");
const RECURRENCES: &str = include_str!("../../../shared/docs/recurrences.md");

/// The README says that the recipes start here.
const RECIPES_FROM: &str = "2027-01-01T00:00:00Z";

#[test]
fn every_recipe_of_the_readme_fires_as_it_says() {
    assert!(README.contains("assume `--start 2027-01-01`"));
    let (_, section) = README.split_once("\n## Recipes\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
    assert_eq!(rows.len(), 10);
    for row in rows {
        if let Some(problem) = recipe_problem(row) {
            panic!("{row}\n{problem}");
        }
    }
}

#[test]
fn every_command_of_the_page_prints_what_it_shows() {
    let commands = commands(RECURRENCES);
    assert!(commands.len() > 3, "the page has no commands: correct how this test finds them");
    for (command, shown) in commands {
        assert_eq!(printed(&command), shown, "{command}");
    }
}

/// The job that the command line makes of some options, from the start that the README names.
fn created(options: &str) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    command.args(["job", "create", "x", "--url", "http://localhost/", "--dry-run", "--json"]);
    for (n, part) in options.split('\'').enumerate() {
        // What stands between quotes is one argument.
        if n % 2 == 1 {
            command.arg(part)
        } else {
            command.args(part.split_whitespace())
        };
    }
    command.env_remove("MINUTEHAND_CONTEXT");
    // No server runs there: a dry run needs none.
    command.env("MINUTEHAND_URL", "http://127.0.0.1:1");
    if !options.contains("--once") {
        command.args(["--start", "2027-01-01"]);
    }
    let output = command.output_in_time();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// What a row says that the preview does not; `None` if they agree.
fn recipe_problem(row: &str) -> Option<String> {
    let [_, options, sentence, first] = cells(row)[..] else {
        return Some("a recipe has four cells".to_owned());
    };
    let shown: Vec<&str> = first.split(", ").collect();
    let count = u32::try_from(shown.len()).unwrap();
    let job = match created(options.trim_matches('`')) {
        Ok(job) => job,
        Err(refused) => return Some(refused),
    };
    let preview = match Preview::of(&job, from(), count) {
        Ok(preview) => preview,
        Err(error) => return Some(error.to_string()),
    };
    let text = preview.text();
    let says = text.lines().next().unwrap_or_default();
    if says != sentence {
        return Some(format!("the preview says: {says}"));
    }
    let json: Value = serde_json::from_str(&preview.json()).unwrap();
    let occurrences = json["occurrences"].as_array().unwrap().iter();
    let occurrences: Vec<String> =
        occurrences.map(|at| at.as_str().unwrap()[..16].replace('T', " ")).collect();
    (occurrences != shown).then(|| format!("the preview has {}", occurrences.join(", ")))
}

fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).collect()
}

fn from() -> DateTime<Utc> {
    RECIPES_FROM.parse().unwrap()
}

/// The commands of a page with what they print: lines after `$` in blocks of the type `console`.
fn commands(page: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for block in page.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for line in block.lines() {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((command.to_owned(), String::new())),
                (None, Some((_, shown))) => {
                    shown.push_str(line);
                    shown.push('\n');
                }
                (None, None) => panic!("{line:?} comes before a command"),
            }
        }
    }
    commands
}

/// What a command of the shell prints in the root of the repository, on both outputs.
fn printed(command: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_minutehand")).parent().unwrap();
    let output = Command::new("sh")
        .args(["-c", &format!("export PATH={}:\"$PATH\"; {command}", binary.display())])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output_in_time();
    let printed = [output.stdout, output.stderr].concat();
    String::from_utf8(printed).unwrap()
}

// The tests below show that the checks can fail.

#[test]
fn a_recipe_that_says_something_else_is_found() {
    let row = |options: &str, sentence: &str, first: &str| {
        recipe_problem(&format!("| A goal | `{options}` | {sentence} | {first} |"))
    };
    let daily = "--at 06:00 --daily";
    let says = "Every day at 06:00 UTC";
    assert_eq!(row(daily, says, "2027-01-01 06:00, 2027-01-02 06:00"), None);
    assert!(row(daily, "Every day at 07:00 UTC", "2027-01-01 06:00").is_some());
    assert!(row(daily, says, "2027-01-01 07:00").is_some());
    assert!(row(daily, says, "2027-01-01 06:00, 2027-01-03 06:00").is_some());
    assert!(row("--at 06:00", says, "2027-01-01 06:00").is_some());
    assert!(recipe_problem("| A goal | `{}` |").is_some());
}
