//! The help of every command, at two widths, and the manual.
//!
//! `UPDATE_HELP=1 cargo test -p minutehand --test cli help` writes the files anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use minutehand_testkit::InTime as _;

/// Asks every command for its help, depth first.
fn helps(columns: usize) -> String {
    let mut all = String::new();
    let mut waiting = vec![Vec::new()];
    while let Some(path) = waiting.pop() {
        let help = help(&path, columns, "--help");
        let mut below: Vec<Vec<String>> = subcommands(&help)
            .map(|name| path.iter().cloned().chain([name.to_owned()]).collect())
            .collect();
        below.reverse();
        waiting.extend(below);
        let name = path.join(" ");
        all.extend([format!("=== minutehand {name}\n{help}\n")]);
    }
    let options = help(&["help".to_owned()], columns, "options");
    all + &format!("=== minutehand help options\n{options}\n")
}

fn help(path: &[String], columns: usize, option: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_minutehand"))
        .args(path)
        .arg(option)
        .env("COLUMNS", columns.to_string())
        .output_in_time();
    assert!(output.status.success(), "{path:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    let section = help.split_once("\nCommands:\n").map_or("", |(_, section)| section);
    let section = section.split("\n\n").next().unwrap();
    let names = section.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.map(|line| line.split_whitespace().next().unwrap()).filter(|name| *name != "help")
}

#[test]
fn the_help_of_every_command_fits_the_terminal() {
    for columns in [80, 200] {
        let path =
            PathBuf::from(format!("{}/tests/cli/help-{columns}.txt", env!("CARGO_MANIFEST_DIR")));
        let now = helps(columns);
        let wide = now.lines().find(|line| line.chars().count() > columns && !line.contains("  "));
        assert_eq!(wide, None, "at {columns} columns");
        if std::env::var_os("UPDATE_HELP").is_some() {
            fs::write(&path, &now).unwrap();
        }
        let before = fs::read_to_string(&path).unwrap();
        assert!(now == before, "the help has changed: UPDATE_HELP=1 writes {}", path.display());
    }
}

#[test]
fn the_help_of_job_create_fits_two_screens_with_examples_first() {
    let text = help(&["job".to_owned(), "create".to_owned()], 80, "--help");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() <= 100, "{} lines:\n{text}", lines.len());
    let at = |wanted: &str| lines.iter().position(|line| line.starts_with(wanted)).unwrap();
    assert!(at("Examples:") < at("Options:") && at("Options:") < at("When it fires:"), "{text}");
    assert!(lines.last().unwrap().ends_with("minutehand help options"), "{text}");
    assert!(!text.contains("--context"), "{text}");
}

#[test]
fn the_short_help_is_a_part_of_the_long_one() {
    let path = ["job".to_owned(), "create".to_owned()];
    let (short, long) = (help(&path, 100, "-h"), help(&path, 100, "--help"));
    assert!(short.lines().count() < long.lines().count());
    assert!(long.contains("Examples:") && !short.contains("Examples:"));
}

#[test]
fn every_command_has_a_manual_page() {
    let dir = tempfile::tempdir().unwrap();
    let output =
        Command::new(env!("CARGO_BIN_EXE_minutehand")).arg("man").arg(dir.path()).output_in_time();
    assert!(output.status.success(), "{output:?}");
    for page in
        ["minutehand.1", "minutehand-job.1", "minutehand-job-create.1", "minutehand-serve.1"]
    {
        let text = fs::read_to_string(Path::new(dir.path()).join(page)).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
}
