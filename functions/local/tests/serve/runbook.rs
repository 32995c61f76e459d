//! The commands that the documents give an operator do what the documents say.

use std::path::Path;
use std::process::Command;

use minutehand_testkit::InTime as _;
use serde_json::Value;

use crate::server::{Server, job};

const OPERATIONS: &str = include_str!("../../../../shared/docs/operations.md");
const ONE_MACHINE: &str = include_str!("../../../../shared/docs/one-machine.md");

/// The block of commands that begins with this line.
fn commands<'a>(page: &'a str, first_line: &str) -> &'a str {
    let blocks = page.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    let mut found = blocks.filter(|block| block.lines().next() == Some(first_line));
    let block = found.next().unwrap_or_else(|| panic!("no block begins with {first_line:?}"));
    assert!(found.next().is_none(), "several blocks begin with {first_line:?}");
    block
}

/// Runs commands in a shell, without a service manager and as the user of the test.
#[track_caller]
fn run(commands: &str, environment: &[(&str, &str)]) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_minutehand")).parent().unwrap();
    let setting = "set -eu\nsudo() { \"$@\"; }\nsystemctl() { :; }\n";
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{setting}export PATH={}:\"$PATH\"\n{commands}", binary.display()));
    let output = shell.envs(environment.iter().copied()).output_in_time();
    assert!(output.status.success(), "{output:?}");
    [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat()
}

#[test]
fn all_firing_of_a_group_can_be_stopped_and_begun_again() {
    const GROUPS: [&str; 2] = ["g", "a%20group%20(1)%20%C3%BC"];
    let server = Server::start(["--memory"]);
    let path = |subscription: &str, group: &str, rest: &str| {
        format!(
            "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Scheduler\
             /jobCollections{rest}?api-version=2016-03-01"
        )
    };
    let send = |method: &str, path: &str, body: &str| -> Value {
        let answer = server.send(method, path, body);
        assert!((200..300).contains(&answer.status), "{answer:?}");
        answer.json()
    };
    for (subscription, group, name) in
        [("s", GROUPS[0], "/jc"), ("s", GROUPS[1], "/jc"), ("other", GROUPS[0], "/jc")]
    {
        send("PUT", &path(subscription, group, name), "{}");
    }
    // More than one page of the list.
    for number in 0..500 {
        send("PUT", &path("s", GROUPS[0], &format!("/c{number}")), "{}");
    }
    let states = |subscription: &str, group: &str| -> Vec<String> {
        let list = send("GET", &path(subscription, group, ""), "");
        let collections = list["value"].as_array().unwrap().clone();
        let state = |it: &Value| it["properties"]["state"].as_str().unwrap().to_owned();
        collections.iter().map(state).collect()
    };
    let url = format!("http://{}", server.address);
    let home = tempfile::tempdir().unwrap();
    let environment = [
        ("MINUTEHAND_TOKEN", server.token.as_deref().unwrap()),
        ("MINUTEHAND_URL", &url),
        ("HOME", home.path().to_str().unwrap()),
    ];
    let of_group = " --subscription s --group g";
    let disable = commands(OPERATIONS, "minutehand collection disable --all --yes").trim_end();
    let enable = disable.replace("disable", "enable");
    for (command, says, expected) in
        [(disable, " is off", "disabled"), (&enable, " is on", "enabled")]
    {
        let said = run(&format!("{command}{of_group}"), &environment);
        assert_eq!(said.lines().filter(|line| line.contains(says)).count(), 501, "{said}");
        let all = states("s", GROUPS[0]);
        assert!(all.len() > 100 && all.iter().all(|it| it.eq_ignore_ascii_case(expected)));
        for (subscription, group) in [("s", GROUPS[1]), ("other", GROUPS[0])] {
            let others = states(subscription, group);
            assert!(others.iter().all(|it| it.eq_ignore_ascii_case("enabled")), "{group}");
        }
    }
    server.stop().is_clean();
}

#[test]
fn a_backup_of_the_service_is_restored_by_the_commands_of_the_page() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_str().unwrap();
    std::fs::create_dir_all(dir.path().join("backup")).unwrap();
    std::fs::create_dir_all(dir.path().join("var/lib/private")).unwrap();
    let data = dir.path().join("var/lib/private/minutehand");
    let here = |commands: &str| {
        commands
            .replace(" /backup/", &format!(" {root}/backup/"))
            .replace(" /var/", &format!(" {root}/var/"))
    };
    let server = Server::open(&data);
    server.must("PUT", "/jc", "{}");
    server.must("PUT", "/jc/jobs/j", &job("p"));

    let section = ONE_MACHINE.split_once("To make a backup of the service").unwrap().1;
    let mut blocks = section.split("```sh\n").skip(1);
    let mut next = || here(blocks.next().unwrap().split("```").next().unwrap());
    let (backup, restore) = (next(), next());
    assert!(run(&backup, &[]).contains("copied "));
    server.must("DELETE", "/jc/jobs/j", "");
    server.stop().is_clean();
    assert_eq!(run(&restore, &[]), "");
    let server = Server::open(&data);
    server.must("GET", "/jc/jobs/j", "");
    server.stop().is_clean();
    // What was there before is kept.
    let server = Server::open(&data.with_extension("old"));
    assert_eq!(server.ask("GET", "/jc/jobs/j", "").status, 404);
    server.stop().is_clean();
}
