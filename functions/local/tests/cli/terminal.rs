//! A terminal: tables that fit it, colours, and questions. `script` provides it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use minutehand_testkit::Process;

use crate::world::{Ended, World, run};

/// Runs a line on a terminal of this width, and types the input.
fn on_terminal(world: &World, columns: usize, line: &str, input: &str) -> Ended {
    on_terminal_at(world.home.path(), world.url(), columns, line, input)
}

/// The same with any home directory and server.
pub(crate) fn on_terminal_at(
    home: &Path,
    url: &str,
    columns: usize,
    line: &str,
    input: &str,
) -> Ended {
    let program = env!("CARGO_BIN_EXE_minutehand");
    let line = format!("stty cols {columns} rows 24 -echo; exec {program} {line}");
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("TERM", "xterm");
    command.env("HOME", home).env("MINUTEHAND_URL", url);
    run(command.current_dir(home), input)
}

fn world() -> World {
    let world = World::new();
    world.must(
        "job create weekdays --at 09:00 --on mon-fri --zone Europe/Berlin \
         --url https://example.com/report",
    );
    world.must("job create ping --every 15m --url http://127.0.0.1:1/ --disabled");
    world
}

/// The text without escape sequences.
pub(crate) fn plain(text: &str) -> String {
    console(text).replace('\r', "")
}

fn console(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        if c == '\u{1b}' {
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            out.push(c);
        }
    }
    out
}

#[test]
fn a_table_fits_the_terminal() {
    let world = world();
    for (columns, cut) in [(80, true), (200, false)] {
        let ended = on_terminal(&world, columns, "job list --utc", "");
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let text = plain(&ended.out);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("job       state  last  next"), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= columns), "{text}");
        assert_eq!(text.contains('…'), cut, "{text}");
        assert!(lines[1].starts_with("ping      off          -"), "{text}");
        if !cut {
            assert!(lines[2].ends_with(" at 09:00 Europe/Berlin time"), "{text}");
        }
    }
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let world = world();
    assert!(on_terminal(&world, 100, "job list", "").out.contains("\u{1b}[32mon"));
    assert!(!on_terminal(&world, 100, "job list --color never", "").out.contains("\u{1b}[3"));
    assert!(!world.must("job list").contains('\u{1b}'));
    assert!(world.must("job list --color always").contains("\u{1b}[32mon"));
    let mut with_no_color = world.command();
    with_no_color.args(["job", "list"]).env("NO_COLOR", "1").env("CLICOLOR_FORCE", "1");
    assert!(!run(&mut with_no_color, "").out.contains('\u{1b}'));
}

#[test]
fn a_question_is_asked_and_its_answer_counts() {
    let world = world();
    let no = on_terminal(&world, 100, "job delete ping", "n");
    assert_eq!(no.code, Some(130), "{no:?}");
    assert!(plain(&no.out).contains("Delete default/ping and its history? [y/N]"), "{no:?}");
    world.must("job show ping");
    let yes = on_terminal(&world, 100, "job delete ping", "y");
    assert_eq!(yes.code, Some(0), "{yes:?}");
    assert_eq!(world.run("job show ping").code, Some(3));
}

#[test]
fn a_job_is_created_by_answering_questions() {
    let world = World::new();
    // The return key alone takes the first choice, or the default. What is wrong is asked again.
    let typed = "weekdays\r\rsoon\r09:00\rmon-fri\rEurope/Berlin\rexample.com\r\
                 https://example.com/report\rpost\r{}\r5\ry";
    let made = on_terminal(&world, 160, "job create -i", typed);
    assert_eq!(made.code, Some(0), "{made:?}");
    let said = plain(&made.out);
    for words in [
        "Name of the job",
        "'soon' is not a time of day",
        "'example.com' is not a URL",
        "Every week on Monday, Tuesday, Wednesday, Thursday and Friday at 09:00 Europe/Berlin time",
        "first fires ",
        "Create it? [Y/n]",
        "created default/weekdays: every week on Monday",
        "without questions: minutehand job create weekdays --at 09:00 --on mon-fri --zone \
         Europe/Berlin --url https://example.com/report --method POST --body '{}' --retry 5",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let job = world.json("job show weekdays --json");
    let action = &job["properties"]["action"];
    assert_eq!(action["request"]["body"], "{}");
    assert_eq!(action["retryPolicy"]["retryCount"], 5);

    // What the options say is not asked, and a no creates nothing.
    let line = "job create ping -i --every 15m --url http://127.0.0.1:1/ --retry 0";
    let no = on_terminal(&world, 160, line, "n");
    assert_eq!(no.code, Some(130), "{no:?}");
    assert!(plain(&no.out).contains("Every 15 minutes"), "{no:?}");
    assert_eq!(world.run("job show ping").code, Some(3));
    let piped = world.run("job create -i");
    assert_eq!(piped.code, Some(2), "{piped:?}");
    assert!(piped.err.contains("there is no terminal to ask questions"), "{piped:?}");
}

#[test]
fn work_on_many_jobs_shows_how_far_it_is() {
    let world = world();
    for n in 0..20 {
        world.must(&format!("job create many-{n} --every 1h --url http://127.0.0.1:1/"));
    }
    let ended = on_terminal(&world, 100, "job disable --matching 'many-*' --yes", "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(plain(&ended.out).contains("disabling"), "{ended:?}");
    let piped = world.run("job enable --matching many-* --yes");
    assert_eq!((piped.code, piped.err.as_str()), (Some(0), ""), "{piped:?}");
}

#[test]
fn the_first_start_says_how_to_go_on() {
    let home = tempfile::tempdir().unwrap();
    let start = || {
        let program = env!("CARGO_BIN_EXE_minutehand");
        let line = format!("{program} serve --listen 127.0.0.1:0 --log-level error");
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home.path());
        command.current_dir(home.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Process::start(&mut command);
        let mut lines = BufReader::new(process.child().stdout.take().unwrap()).lines();
        let mut said = Vec::new();
        while !said.last().is_some_and(|line: &String| line.starts_with("listening on ")) {
            said.push(plain(&lines.next().unwrap().unwrap()));
        }
        // Ctrl-C.
        process.child().stdin.take().unwrap().write_all(b"\x03").unwrap();
        lines.for_each(drop);
        process.wait();
        said
    };
    let first = start();
    let begins: Vec<&str> = first.iter().filter_map(|line| line.split(": ").next()).collect();
    assert_eq!(begins[..4], ["new data directory", "token", "console", "first job"], "{first:?}");
    // The directory is the default one, so that the command finds the token.
    let url = first[4].strip_prefix("listening on ").unwrap();
    let job = "minutehand job create hello --every 1m --url https://example.com/";
    assert_eq!(first[3], format!("first job: {job} --server {url}"));
    let second = start();
    assert!(!second.iter().any(|line| line.starts_with("first job: ")), "{second:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let world = world();
    let program = env!("CARGO_BIN_EXE_minutehand");
    let line = format!("set -o pipefail; {program} job list --jsonl | head -c 1");
    let mut command = Command::new("bash");
    command.args(["-c", &line]).env_clear().env("PATH", "/usr/bin:/bin");
    command.env("HOME", world.home.path()).env("MINUTEHAND_URL", world.url());
    let ended = run(&mut command, "");
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
}
