//! Commands that look at many jobs: `doctor`, `watch`, `top`, `calendar`, `failures`.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use minutehand_testkit::Process;
use serde_json::Value;

use crate::world::{Server, World, at_home, run, target, words};

#[test]
fn the_doctor_says_what_to_do() {
    let world = World::new();
    let bad = target(500);
    world.must("collection create ops");
    world.must("job create ops/fine --every 1h --url http://a/");
    let well = world.run("doctor --ascii");
    assert_eq!(well.code, Some(0), "{well:?}");
    assert!(well.out.contains("ok failures     no occurrence failed for good\n"), "{well:?}");

    world.must(&format!("job create ops/bad --every 1h --url http://{bad}/ --retry 0"));
    assert_eq!(world.run("job run ops/bad --wait").code, Some(5));
    world.must("collection disable ops");
    let ill = world.run("doctor --ascii");
    assert_eq!(ill.code, Some(5), "{ill:?}");
    assert!(
        ill.out
            .contains("!! collections  switched off: ops\n    minutehand collection enable NAME\n")
    );
    let checks: Value = serde_json::from_str(&world.run("doctor --json").out).unwrap();
    assert!(checks.as_array().unwrap().iter().any(|check| check["ok"] == false), "{checks}");
}

#[test]
fn the_doctor_notices_a_server_that_is_away_and_a_token_that_is_wrong() {
    let home = tempfile::tempdir().unwrap();
    let ask = |server: &str| {
        run(at_home(home.path()).args(words(&format!("doctor --ascii --server {server}"))), "")
    };
    let away = ask("http://127.0.0.1:1");
    assert_eq!(away.code, Some(5), "{away:?}");
    assert!(away.out.starts_with("!! server       cannot reach http://127.0.0.1:1"), "{away:?}");
    let server = Server::start(["--memory", "--token", "t"]);
    let closed = ask(&server.url);
    assert_eq!(closed.code, Some(5), "{closed:?}");
    assert!(closed.out.contains("!! token        ") && closed.out.contains("minutehand login"));
}

#[test]
fn attempts_are_shown_as_they_happen() {
    let world = World::new();
    let target = target(200);
    world.must(&format!("job create a --every 1h --url http://{target}/"));
    world.must("job run a --wait");
    let watching = world.command();
    let watching = std::thread::spawn(move || {
        let mut watching = watching;
        run(watching.args(["watch", "default/a", "--count", "1"]), "")
    });
    // What has happened before is not shown: the runs go on until one is.
    while !watching.is_finished() {
        world.must("job run a --wait");
    }
    let watched = watching.join().unwrap();
    assert_eq!(watched.code, Some(0), "{watched:?}");
    assert!(watched.out.ends_with("\tdefault/a\tok\t\n"), "{watched:?}");
    assert_eq!(watched.out.lines().count(), 1);
}

#[test]
fn the_next_ones_are_listed_soonest_first() {
    let world = World::new();
    world.must("job create later --every 3h --url http://a/");
    world.must("job create sooner --every 2h --url http://a/");
    world.must("job create off --every 1h --url http://a/ --disabled");
    let top = world.must("top");
    assert!(top.starts_with("3 jobs in 1 collection\n\n"), "{top}");
    let rows: Vec<Vec<&str>> = top.lines().skip(2).map(|row| row.split('\t').collect()).collect();
    let first: Vec<_> = rows.iter().take(2).map(|row| (row[2], row[3])).collect();
    assert_eq!(
        first,
        [("default/sooner", "every 2 hours"), ("default/later", "every 3 hours")],
        "{top}"
    );
    assert!(!top.contains("default/off"), "{top}");
}

#[test]
fn the_calendar_counts_what_fires_in_each_hour() {
    let world = World::new();
    world.must("job create a --at 02:30 --daily --url http://a/");
    world.must("job create b --at 02:00 --on mon --url http://a/");
    let calendar = world.json("calendar --week 2030-W10 --json");
    let days = calendar["days"].as_array().unwrap();
    assert_eq!(days.len(), 7);
    assert_eq!((&days[0]["date"], &days[0]["counts"][2]), (&"2030-03-04".into(), &2.into()));
    assert_eq!((&days[1]["counts"][2], &days[1]["counts"][3]), (&1.into(), &0.into()));
    let map = world.must("calendar --week 2030-W10 --ascii");
    assert_eq!(map.lines().count(), 9, "{map}");
    assert!(map.contains("Mon  4 Mar    ....44"), "{map}");
    assert_eq!(world.run("calendar --week soon").code, Some(2));
}

#[test]
fn the_journal_says_who_changed_what() {
    let world = World::new();
    world.must("collection create ops");
    world.must("job create ops/a --every 1h --url http://a/");
    world.must("job disable ops/a");
    world.must("job create ops/b --every 1h --url http://b/");
    let all = world.must("journal ops");
    let rows: Vec<Vec<&str>> = all.lines().map(|line| line.split('\t').collect()).collect();
    let what: Vec<_> = rows.iter().map(|row| (row[2], row[3])).collect();
    assert_eq!(
        what,
        [("created", "b"), ("switched off", "a"), ("created", "a"), ("created", "(collection)")]
    );
    assert_eq!(rows[1][4], "state");
    assert_eq!(world.must("journal ops/a").lines().count(), 2);
    assert_eq!(world.must("journal ops --limit 1").lines().count(), 1);
    let json = world.json("journal ops/a --json=operation,job");
    assert_eq!(json[0], serde_json::json!({"operation": "switchedOff", "job": "a"}));
    assert_eq!(world.run("journal nosuch").code, Some(3));
    world.must("job run ops/b");
    assert!(world.must("journal ops/b").contains("\tran\tb\t"));
    let told = world.must("alert show ops");
    assert!(told.contains("sends no alerts"), "{told}");
    world.must("collection set ops --alert slack=http://127.0.0.1:1/x --alert-after 2");
    assert_eq!(world.must("alert show ops").trim(), "no alert has failed to arrive");
    assert!(world.must("alert show ops/b").contains("nothing else is known"));
}

#[test]
fn dead_letters_are_listed_and_chosen() {
    let world = World::new();
    let none = world.run("dead list");
    assert_eq!((none.code, none.out.as_str()), (Some(0), ""), "{none:?}");
    assert_eq!(world.json("dead list --json"), serde_json::json!([]));
    assert_eq!(world.run("dead show 7").code, Some(3));
    let missing = world.run("dead redrive 7");
    assert_eq!(missing.code, Some(3), "{missing:?}");
    assert!(missing.err.contains("there is no dead letter 7"), "{missing:?}");
    // Without a terminal nothing is deleted, and not all is sent, without a word.
    for command in ["dead delete 7", "dead delete --all", "dead redrive --all"] {
        let refused = world.run(command);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains("Add --yes"), "{refused:?}");
    }
    assert_eq!(world.must("dead redrive --all --yes"), "sent 0 dead letters again\n");
    assert_eq!(world.must("dead delete --all --yes"), "deleted 0 dead letters\n");
    assert_eq!(world.run("dead redrive").code, Some(2));
}

#[test]
fn the_load_of_a_collection_is_counted() {
    let world = World::new();
    world.must("job create a --every 30m --url http://a/ --start 2030-03-04T00:00");
    let span = "--from 2030-03-04T00:00 --to 2030-03-04T02:00";
    let load = world.must(&format!("collection load default {span} --utc"));
    let counts: Vec<&str> = load.lines().map(|line| line.rsplit('\t').next().unwrap()).collect();
    assert_eq!(counts, ["2", "2"], "{load}");
    let json = world.json(&format!("collection load default {span} --step 15m --json"));
    assert_eq!(json["counts"], serde_json::json!([1, 0, 1, 0, 1, 0, 1, 0]));
    assert_eq!(world.run("collection load nosuch").code, Some(3));
    assert_eq!(world.run("collection load default --step 2h").code, Some(2));
}

#[test]
fn the_limits_of_a_collection_are_set_shown_and_removed() {
    for (option, name, says, beyond) in [
        ("--max-per-second", "maxPerSecond", "attempts start in a second", 1_001),
        ("--max-concurrent", "maxConcurrent", "attempts run at the same time", 101),
    ] {
        let world = World::new();
        world.must(&format!("collection create ops {option} 10"));
        let limit = || {
            let shown = world.json("collection show ops --json");
            shown["properties"]["minutehand"][name].clone()
        };
        let shown = world.must("collection show ops");
        assert!(shown.contains(&format!("At most 10 {says}; others wait.\n")), "{shown}");
        let listed = world.must("collection list");
        assert!(listed.lines().any(|line| line.contains("ops") && line.contains("10")), "{listed}");
        world.must(&format!("collection set ops {option} 25"));
        assert_eq!(limit(), 25);
        world.must(&format!("collection set ops minutehand.timeZone=UTC {option} off"));
        assert!(limit().is_null());
        assert!(!world.must("collection show ops").contains("At most"));
        for wrong in ["", " 0", " many", &format!(" {beyond}")] {
            let option = if wrong.is_empty() { "" } else { option };
            let set = format!("collection set ops {option}{wrong}");
            assert_eq!(world.run(&set).code, Some(2), "{set}");
        }
    }
}

#[test]
fn the_versions_of_program_and_server_are_told() {
    let world = World::new();
    let told = world.must("version");
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("minutehand "), "{told}");
    assert!(lines.last().unwrap().starts_with("server http://127.0.0.1:"), "{told}");
    assert!(world.json("version --json")["server"]["version"].is_string());
    let home = tempfile::tempdir().unwrap();
    let away = run(at_home(home.path()).args(words("version --server http://127.0.0.1:1")), "");
    assert_eq!(away.code, Some(0), "{away:?}");
}

#[test]
fn occurrences_that_failed_for_good_are_listed() {
    let world = World::new();
    let bad = target(503);
    world.must("collection create ops");
    assert_eq!(world.run("failures ops").out, "");
    world.must(&format!("job create ops/bad --every 1h --url http://{bad}/ --retry 0"));
    world.must(&format!("job create ops/worse --every 1h --url http://{bad}/ --retry 0"));
    for job in ["bad", "worse"] {
        assert_eq!(world.run(&format!("job run ops/{job} --wait")).code, Some(5));
    }
    let rows = world.must("failures");
    let jobs: Vec<&str> = rows.lines().map(|row| row.split('\t').nth(1).unwrap()).collect();
    assert_eq!(jobs, ["ops/worse", "ops/bad"], "{rows}");
    assert!(rows.lines().all(|row| row.contains(", run\t")), "{rows}");
    assert_eq!(world.must("failures ops/bad").lines().count(), 1);
    assert_eq!(world.must("failures ops --limit 1").lines().count(), 1);
    assert_eq!(world.must("failures --since now"), "");
    assert_eq!(world.json("failures ops/bad --json=job,attempts")[0]["attempts"], 1);
    assert_eq!(world.run("failures nosuch").code, Some(3));
    assert_eq!(world.run("failures --since soon").code, Some(2));
}

#[test]
fn a_pipe_gets_the_lines_that_change() {
    let world = World::new();
    world.must("job create a --every 3h --url http://a/");
    world.must("job create b --every 3h --url http://a/");
    let mut command = world.command();
    command.args(["job", "list", "--watch=1s"]).stdout(Stdio::piped());
    let mut watching = Process::start(&mut command);
    let mut lines = BufReader::new(watching.child().stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert!(next().starts_with("a\ton\t"));
    assert!(next().starts_with("b\ton\t"));
    world.must("job disable b");
    assert!(next().starts_with("b\toff\t"));
    assert_eq!(world.run("job list --watch=1ms").code, Some(2));
    assert_eq!(world.run("job show nosuch --watch").code, Some(3));
}

#[test]
fn the_clock_of_a_server_here_is_the_one_that_counts() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::start(["--memory", "--no-auth", "--clock-start", "2031-03-04T05:06:07Z"]);
    let ask = |line: &str| {
        let ended =
            run(at_home(home.path()).env("MINUTEHAND_URL", &server.url).args(words(line)), "");
        assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
        ended.out
    };
    ask("job create a --every 10d --url http://a/");
    let job: Value = serde_json::from_str(&ask("job show a --json")).unwrap();
    let start = job["properties"]["startTime"].as_str().unwrap();
    assert!(start.starts_with("2031-03-14T05:"), "{start}");
    let row = ask("job list");
    assert!(row.contains("\t9 days 23 h\t"), "{row}");
}

#[test]
fn the_steps_of_the_calendar_are_parts_of_a_day() {
    let world = World::new();
    world.must("job create a --at 02:30 --daily --url http://a/");
    let counts = |step: &str| {
        let calendar = world.json(&format!("calendar --week 2030-W10 --step {step} --json"));
        calendar["days"][0]["counts"].as_array().unwrap().clone()
    };
    for (step, count, place) in [("15m", 96, 10), ("30m", 48, 5), ("1h", 24, 2), ("6h", 4, 0)] {
        let counts = counts(step);
        assert_eq!((counts.len(), &counts[place]), (count, &1.into()), "{step}");
    }
    assert_eq!(world.run("calendar --step 5h").code, Some(2));
}
