//! `minutehand preview` from the outside: arguments and a file in; text, JSON and an exit code out.

#![cfg(test)]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use minutehand_testkit::Process;
use serde_json::json;

fn minutehand(args: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Process::start(&mut command);
    // Fails if the process exits without reading its input, because an argument is invalid.
    let _ = process.child().stdin.take().unwrap().write_all(input.as_bytes());
    process.output()
}

/// Asserts the output for a job on standard input; `args` is one string with spaces.
#[track_caller]
fn check(job: &str, args: &str, stdout: &str) {
    let args: Vec<_> = ["preview", "-"].into_iter().chain(args.split(' ')).collect();
    let output = minutehand(&args, job);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{job}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), stdout, "{job}");
    assert_eq!(output.status.code(), Some(0));
}

/// The output of `--json`, with its exact order of properties.
fn json_output<S: AsRef<str>>(occurrences: &[S], ends: bool) -> String {
    let occurrences: Vec<&str> = occurrences.iter().map(AsRef::as_ref).collect();
    [
        "{\"occurrences\":",
        &json!(occurrences).to_string(),
        ",\"ends\":",
        &json!(ends).to_string(),
        "}\n",
    ]
    .concat()
}

#[track_caller]
fn check_refused(job: &str, stderr: &str) {
    let output = minutehand(&["preview", "-", "--from", "2027-01-01"], job);
    assert_eq!(String::from_utf8_lossy(&output.stderr), stderr, "{job}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{job}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_whole_job_its_properties_and_a_recurrence_are_accepted() {
    let args = "--from 2027-01-01 --limit 2 --json";
    let twice =
        "{\"occurrences\":[\"2027-01-01T09:00:00Z\",\"2027-01-02T09:00:00Z\"],\"ends\":false}\n";
    let mut properties =
        json!({"recurrence": {"frequency": "day"}, "startTime": "2026-12-01T09:00:00Z"});
    check(&properties.to_string(), args, twice);
    check(&format!("\u{feff}{properties}"), args, twice);
    properties["state"] = "Enabled".into();
    check(&json!({"properties": properties, "id": "x"}).to_string(), args, twice);
    check(r#"{"frequency":"day","startTime":"2026-12-01T09:00:00Z"}"#, args, twice);
    check(
        r#"{"Frequency":"Daily","StartTime":"2026-12-01T04:00","TimeZone":"America/New_York"}"#,
        args,
        twice,
    );
}

#[test]
fn a_job_without_a_recurrence_runs_once() {
    let once = |at: &str| json_output(&[at], true);
    let args = "--from 2027-01-01T10:00:00Z --json";
    check(
        r#"{"startTime":"2027-03-01T09:00:00.25+01:00"}"#,
        args,
        &once("2027-03-01T08:00:00.25Z"),
    );
    check(r#"{"startTime":"2020-03-01"}"#, args, &once("2027-01-01T10:00:00Z"));
    check(r#"{"properties":{"action":{"type":"Http"}}}"#, args, &once("2027-01-01T10:00:00Z"));
    check(
        r#"{"properties":{"recurrence":null,"startTime":null}}"#,
        args,
        &once("2027-01-01T10:00:00Z"),
    );
}

#[test]
fn without_a_start_time_the_first_occurrence_is_from() {
    check(
        r#"{"frequency":"day","schedule":{"hours":[8],"minutes":[0]},"count":3}"#,
        "--from 2027-01-01T10:17:23.5Z --json",
        "{\"occurrences\":[\"2027-01-01T10:17:23Z\",\"2027-01-02T08:00:00Z\",\"2027-01-03T08:00:00Z\"],\"ends\":true}\n",
    );
}

#[test]
fn a_job_without_a_start_time_shows_that_it_runs_at_once() {
    check(
        r#"{"frequency":"week","schedule":{"weekDays":["monday"],"hours":[9]}}"#,
        "--from 2027-01-01T10:38:17.5Z --limit 2",
        "\
Every week on Monday at 09:38:17 UTC (minute 38 and second 17 are taken from the start); without a startTime, the first run is at 2027-01-01 10:38:17 UTC

#  UTC                  weekday  in
1  2027-01-01 10:38:17  Fri      now          * at once: the job has no startTime
2  2027-01-04 09:38:17  Mon      2 days 22 h
",
    );
}

#[test]
fn ends_says_that_nothing_follows_the_last_one_printed() {
    let job = r#"{"frequency":"day","startTime":"2027-01-01","endTime":"2027-01-03"}"#;
    let days = |days: &[&str], ends: bool| {
        let days: Vec<_> = days.iter().map(|day| format!("2027-01-{day}T00:00:00Z")).collect();
        json_output(&days, ends)
    };
    check(job, "--from 2027-01-01 --json --limit 2", &days(&["01", "02"], false));
    check(job, "--from 2027-01-01 --json --limit 3", &days(&["01", "02", "03"], true));
    check(job, "--from 2027-01-01 --json", &days(&["01", "02", "03"], true));
    check(job, "--from 2027-01-04 --json", &days(&[], true));
}

#[test]
fn the_table_shows_utc_and_local_time_and_explains_clock_changes() {
    check(
        r#"{"recurrence":{"frequency":"day","schedule":{"hours":[2],"minutes":[30]},"timeZone":"Eastern Standard Time"},"startTime":"2027-01-01"}"#,
        "--from 2027-03-13T06:00:00Z --limit 3",
        "\
Every day at 02:30 America/New_York time

#  UTC                  America/New_York            weekday  in
1  2027-03-13 07:30:00  2027-03-13 02:30:00 -05:00  Sat      1 h 30 min
2  2027-03-14 07:30:00  2027-03-14 03:30:00 -04:00  Sun      1 day 1 h   * the clock skips 02:30: moved to 03:30
3  2027-03-15 06:30:00  2027-03-15 02:30:00 -04:00  Mon      2 days
",
    );
    check(
        r#"{"frequency":"day","schedule":{"minutes":[30]},"startTime":"2026-11-01T00:45","timeZone":"America/New_York"}"#,
        "--from 2026-11-01 --limit 3",
        "\
Every day at minute 30 of every hour America/New_York time

#  UTC                  America/New_York            weekday  in
1  2026-11-01 05:30:00  2026-11-01 01:30:00 -04:00  Sun      5 h 30 min  * the first of two 01:30
2  2026-11-01 06:30:00  2026-11-01 01:30:00 -05:00  Sun      6 h 30 min  * the second of two 01:30
3  2026-11-01 07:30:00  2026-11-01 02:30:00 -05:00  Sun      7 h 30 min
",
    );
}

#[test]
fn the_table_shows_where_a_rule_ends_and_that_a_job_is_disabled() {
    check(
        r#"{"properties":{"startTime":"2027-01-01","state":"disabled"}}"#,
        "--from 2026-12-31T23:59:59Z",
        "\
Once at 2027-01-01 00:00 UTC
The job is disabled: this is what it would do if it were enabled.

#  UTC                  weekday  in
1  2027-01-01 00:00:00  Fri      1 s

Nothing follows.
",
    );
    check(
        r#"{"frequency":"hour","endTime":"2020-01-01"}"#,
        "--from 2027-01-01",
        "Every hour, until 2020-01-01 00:00 UTC\n\nNothing follows: the rule has ended.\n",
    );
}

#[test]
fn an_invalid_job_exits_with_2_and_says_what_to_change() {
    check_refused(
        "0 9 * * 1-5",
        "error: The job is only a text: '0 9 * * 1-5'.\n  Give a whole job, its 'properties', or a recurrence such as {\"frequency\":\"day\"}. For a cron expression: `minutehand job create x --cron '…' --url http://localhost/ --dry-run`.\n",
    );
    check_refused(
        " \n",
        "error: This is not a job: the input is empty. Give a whole job, its 'properties', or a recurrence such as {\"frequency\":\"day\"}.\n",
    );
    check_refused(
        "[]",
        "error: This is not a job: it is not a JSON object. Give a whole job, its 'properties', or a recurrence such as {\"frequency\":\"day\"}.\n",
    );
    check_refused(
        r#"{"frequncy":"day"}"#,
        "error: This is not a job: it has neither 'properties' nor 'recurrence', 'frequency' or 'startTime'. Give a whole job, its 'properties', or a recurrence such as {\"frequency\":\"day\"}.\n",
    );
    check_refused(
        r#"{"frequency":"week","schedule":{"monthDays":[31]}}"#,
        "error: Cannot set days of month with recurrence unit 'Week'.\n  'recurrence.schedule.monthDays' is only allowed with frequency 'month'\n",
    );
    check_refused(
        r#"{"frequency":"day","schedul":{}}"#,
        "error: 'recurrence.schedul' is not a property; did you mean 'schedule'?\n",
    );
    check_refused(
        r#"{"startTime":"2027-06-01","recurrence":{"frequency":"day","endTime":"2027-05-31"}}"#,
        "error: 'recurrence.endTime' is 2027-05-31T00:00:00Z; use an instant that is not before 'startTime', 2027-06-01T00:00:00Z.\n",
    );
    check_refused(
        r#"{"startTime":"tomorrow"}"#,
        "error: 'startTime' is \"tomorrow\"; write it as YYYY-MM-DD[Thh:mm[:ss[.fffffff]]][Z|±hh:mm], for example 2027-01-31T09:30:00Z.\n",
    );
}

#[test]
fn invalid_arguments_exit_with_2_and_a_missing_file_with_1() {
    let code = |args: &[&str]| minutehand(args, "{}").status.code();
    assert_eq!(code(&["preview"]), Some(2));
    assert_eq!(code(&["preview", "-", "--from", "yesterday"]), Some(2));
    assert_eq!(code(&["preview", "-", "--limit", "0"]), Some(2));
    assert_eq!(code(&["preview", "-", "--limit", "100001"]), Some(2));
    assert_eq!(code(&["preview", "no such file"]), Some(1));
    assert_eq!(code(&["preview", "--help"]), Some(0));
}

#[test]
fn a_job_that_is_too_long_is_refused() {
    let long = ["{", &" ".repeat(1 << 20), "}"].concat();
    let output = minutehand(&["preview", "-"], &long);
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: cannot read -: a job has at most 1048576 bytes\n"
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_version_names_the_commit_and_the_time_zones() {
    let version = String::from_utf8(minutehand(&["--version"], "").stdout).unwrap();
    assert!(version.starts_with("minutehand ") && version.contains("(commit "), "{version}");
    assert!(version.contains(minutehand_recurrence::zone::database_version()), "{version}");
}

#[test]
fn all_examples_can_be_previewed() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let mut previewed = 0;
    for example in std::fs::read_dir(examples).unwrap() {
        let path = example.unwrap().path();
        let output = minutehand(&["preview", path.to_str().unwrap(), "--json"], "");
        assert_eq!(output.status.code(), Some(0), "{}", path.display());
        let example: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let start = example.pointer("/properties/startTime").or(example.get("startTime"));
        assert!(start.is_some(), "{} would run at once", path.display());
        previewed += 1;
    }
    assert!(previewed > 0);
}

#[test]
fn options_say_when_a_job_would_fire_and_need_no_file() {
    let preview = |line: &[&str]| {
        let output =
            minutehand(&[&["preview", "--from", "2026-12-23T10:00:00Z"], line].concat(), "");
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let line = "--at 09:00 --on mon-fri --zone Europe/Berlin --exclude-date 2026-12-24 --json -n 2";
    let line: Vec<&str> = line.split(' ').collect();
    let times = ["2026-12-25T08:00:00Z", "2026-12-28T08:00:00Z"];
    assert_eq!(preview(&line), (json_output(&times, false), String::new()));
    // One job cannot fire on either; these are two.
    let two = preview(&["--cron", "0 9 1 * mon", "--json", "--limit", "1"]).0;
    assert_eq!(two.lines().count(), 2, "{two}");
    for (line, says) in [
        (vec!["--at", "09:00"], "--at alone does not say on which days"),
        (vec!["job.json", "--every", "1h"], "a file and options both say when the job fires"),
        (vec!["--every", "1h", "--zone", "Berlin"], "did you mean 'Europe/Berlin'?"),
        (vec!["--zone", "UTC"], "required"),
    ] {
        let (out, err) = preview(&line);
        assert!(out.is_empty() && err.contains(says), "{line:?}: {err}");
    }
}
