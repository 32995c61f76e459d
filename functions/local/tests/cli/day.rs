//! A day with the command line: every command, one after the other.

use serde_json::Value;

use crate::world::{World, target};

#[test]
fn a_job_is_created_without_json_and_says_what_was_understood() {
    let world = World::new();
    let made = world.run(
        "job create weekdays --at 09:00 --on mon-fri --zone Europe/Berlin \
         --url https://example.com/report --retry 5",
    );
    assert_eq!(made.code, Some(0), "{made:?}");
    assert_eq!(made.err, "created the collection 'default'\n");
    let mut lines = made.out.lines();
    assert_eq!(
        lines.next().unwrap(),
        "created default/weekdays: every week on Monday, Tuesday, Wednesday, Thursday and Friday \
         at 09:00 Europe/Berlin time"
    );
    let first = lines.next().unwrap();
    assert!(first.starts_with("first fires ") && first.contains(" 09:00 +0"), "{first}");

    let job = world.json("job show weekdays --json");
    let properties = &job["properties"];
    assert!(properties["startTime"].is_string(), "nothing fires by surprise");
    assert_eq!(properties["action"]["retryPolicy"]["retryCount"], 5);
    assert_eq!(job["executions"], 0);

    let again = world.run("job create weekdays --every 1h --url http://a/");
    assert_eq!(again.code, Some(2));
    assert!(
        again.err.starts_with("error: there is a job 'default/weekdays' already\n"),
        "{again:?}"
    );
    world.must("job create weekdays --every 1h --url http://a/ --replace");
    assert_eq!(world.json("job show weekdays --json")["sentence"], "every hour");
}

#[test]
fn a_job_is_listed_switched_run_and_deleted() {
    let world = World::new();
    world.must("collection create ops --zone Europe/Berlin");
    let target = target(200);
    world.must(&format!("job create ops/a --every 1h --url http://{target}/"));
    world.must(&format!("job create ops/b --at 02:30 --daily --url http://{target}/ --disabled"));

    let list = world.must("job list ops");
    let rows: Vec<Vec<&str>> = list.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len(), 2, "{list}");
    assert_eq!((rows[0][0], rows[0][1], rows[0][7]), ("a", "on", "every hour"));
    assert_eq!((rows[1][0], rows[1][1], rows[1][3]), ("b", "off", "-"));
    assert_eq!(world.must("job list ops --state disabled").lines().count(), 1);
    assert_eq!(world.must("job list ops --limit 1").lines().count(), 1);
    assert!(world.must("job list ops --titles").starts_with("job\tstate\tlast\tnext\tin\t"));
    let names = world.must("job list ops --jsonl --json=name");
    assert_eq!(names, "{\"name\":\"ops/a\"}\n{\"name\":\"ops/b\"}\n");

    assert_eq!(world.must("job enable ops/b"), "ops/b\tenabled\n");
    assert!(world.must("job next ops/b --limit 3").lines().all(|line| line.contains(" 02:30 +0")));
    let off = world.must("job disable --matching '*' --collection ops --yes");
    assert_eq!(off, "ops/a\tdisabled\nops/b\tdisabled\n");
    let shown = world.must("job show ops/a");
    assert!(shown.contains("never: The job is disabled since "), "{shown}");
    world.must("job enable ops/a ops/b");

    let ran = world.must("job run ops/a --wait");
    assert!(ran.starts_with("ops/a: ok: Http Action - Response from host"), "{ran}");
    let history = world.must("job history ops/a");
    assert_eq!(history.lines().count(), 1, "{history}");
    assert!(history.ends_with("\t#1 run\tok\t\n"), "{history}");
    assert_eq!(world.must("job history ops/a --failed"), "");
    let shown = world.must("job show ops/a --ascii");
    assert!(shown.contains("\nlast      o\nruns      1 attempt, 0 failed\n"), "{shown}");
    let set = world.must("job set ops/a recurrence.interval=2");
    assert!(set.starts_with("changed ops/a: every 2 hours"), "{set}");

    let unasked = world.run("job delete ops/a");
    assert_eq!((unasked.code, unasked.out.as_str()), (Some(2), ""));
    assert!(unasked.err.contains("Add --yes to do it without a terminal."), "{unasked:?}");
    assert_eq!(world.must("job delete ops/a ops/b --yes"), "ops/a\tdeleted\nops/b\tdeleted\n");
    assert_eq!(world.must("job list ops"), "");
    assert_eq!(world.must("collection list"), "ops\ton\tEurope/Berlin\n");
    assert!(world.must("collection disable ops").contains("none of its jobs fires"));
    assert!(world.must("collection show ops").contains("do not fire while it is off"));
    let set = world.must("collection set ops minutehand.timeZone=Asia/Tokyo quota.maxJobCount=3");
    assert_eq!(set, "changed ops\n");
    assert!(world.must("collection show ops").contains("time zone Asia/Tokyo"));
    assert_eq!(world.must("collection delete ops --yes"), "deleted ops\n");
}

#[test]
fn a_run_that_fails_has_an_exit_code_of_its_own() {
    let world = World::new();
    let target = target(500);
    world.must(&format!("job create a --every 1h --url http://{target}/ --retry 0"));
    let ran = world.run("job run a --wait");
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.out.starts_with("default/a: failed: HTTP 500"), "{ran:?}");
    let item: Value = serde_json::from_str(&world.run("job run a --wait --json").out).unwrap();
    assert_eq!(item["properties"]["status"], "failed");
}

#[test]
fn a_dry_run_sends_nothing_and_shows_no_secret() {
    let world = World::new();
    std::fs::write(world.home.path().join("pw"), "hunter2\n").unwrap();
    let line = "job create a --at 18:00 --on last --url https://example.com/ --user u \
                --password-file pw --dry-run";
    let said = world.must(line);
    assert!(said.starts_with("would create default/a: every month on the last day at 18:00 UTC\n"));
    let document = world.json(&format!("{line} --json"));
    let authentication = &document["properties"]["action"]["request"]["authentication"];
    assert_eq!(authentication["password"], "(withheld)");
    assert_eq!(world.run("job show a").code, Some(3));
}

#[test]
fn an_occurrence_is_explained() {
    let world = World::new();
    world.must("job create a --at 09:00 --on mon --zone Europe/Berlin --url http://a/");
    let why = world.must("job why a '2051-01-03 09:00'");
    let lines: Vec<&str> = why.lines().collect();
    assert_eq!(lines[0], "The recurrence does not yield this instant.", "{why}");
    assert!(why.contains("Mon 9 Jan 2051 09:00 +01:00\tthe next occurrence\n"), "{why}");
    assert!(world.must("job why a '2051-01-02 09:00'").starts_with("It is not due yet.\n"));
    let json = world.json("job why a '2051-01-03 09:00' --json");
    assert_eq!(json["verdict"], "notScheduled", "{json}");
    let wrong = world.run("job why a whenever");
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}

#[test]
fn a_list_says_that_there_is_more() {
    let world = World::new();
    for name in ["a", "b"] {
        world.must(&format!("job create {name} --every 1h --url http://a/"));
    }
    for (line, lines) in [("job list --limit 1", 1), ("job list --limit 1 --jsonl", 1)] {
        let listed = world.run(line);
        assert_eq!(listed.out.lines().count(), lines, "{listed:?}");
        assert_eq!(listed.err, "only the first 1 job; --all lists every one\n", "{line}");
    }
    assert_eq!(world.must("job list --late"), "");
    assert_eq!(world.run("job list --limit 2").err, "");
}

#[test]
fn any_request_can_be_sent() {
    let world = World::new();
    assert_eq!(world.json("api GET /healthz")["status"], "ready");
    let path = "/subscriptions/me/resourceGroups/dev/providers/Microsoft.Scheduler/jobCollections";
    let made = world.run_with(
        &["api", "PUT", &format!("{path}/x?api-version=2016-03-01"), "--file", "-"],
        "{}",
    );
    assert_eq!(made.code, Some(0), "{made:?}");
    assert_eq!(world.run("api GET /nothing").code, Some(3));
}

#[test]
fn a_cron_expression_with_two_kinds_of_days_is_two_jobs() {
    let world = World::new();
    let one = world.must("job create a --cron '30 2 * * 1-5' --url http://a/");
    assert!(one.starts_with("created default/a: every week on Monday, Tuesday,"), "{one}");
    let two = world.run("job create b --cron '0 6 1 * mon' --zone Europe/Paris --url http://a/");
    assert!(two.err.contains("these are two jobs"), "{two:?}");
    assert!(
        two.out.contains("created default/b-1: every month on day 1 at 06:00 Europe/Paris time")
    );
    assert!(
        two.out.contains("created default/b-2: every week on Monday at 06:00 Europe/Paris time")
    );
}

#[test]
fn json_is_what_the_api_answers() {
    let world = World::new();
    world.must("job create a --every 1h --url http://127.0.0.1:1/ --retry 0");
    world.run("job run a --wait");
    let place = "subscriptions/me/resourceGroups/dev";
    let azure = format!("/{place}/providers/Microsoft.Scheduler/jobCollections");
    let ours = format!("/minutehand/v1/{place}/jobCollections/default/jobs/a");
    let version = "api-version=2016-03-01";
    let asked = |path: &str| world.json(&format!("api GET {path}"));
    assert_eq!(world.json("job show a --json"), asked(&ours));
    for (line, path) in [
        ("collection list --json", format!("{azure}?{version}")),
        ("job list --json", format!("{azure}/default/jobs?{version}")),
        ("job history a --json", format!("{azure}/default/jobs/a/history?{version}")),
    ] {
        let answered = asked(&path);
        assert_eq!(world.json(line), answered["value"], "{line}");
        assert!(!answered["value"].as_array().unwrap().is_empty(), "{line}");
    }
    assert_eq!(
        world.json("collection show default --json"),
        asked(&format!("{azure}/default?{version}"))
    );
}

#[test]
fn what_failed_is_repeated_and_policies_are_shown() {
    let world = World::new();
    std::fs::write(world.home.path().join("secret"), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
        .unwrap();
    let line =
        "job create a --every 1h --url http://127.0.0.1:1/ --retry 0 --pause-after 2 --sign secret";
    let shown = world.json(&format!("{line} --dry-run --json"));
    assert_eq!(shown["properties"]["minutehand"]["sign"]["secrets"][0], "(withheld)");
    world.must(line);
    let shown = world.must("job show a");
    assert!(shown.contains("pauses    after 2 failures in a row\n"), "{shown}");
    assert!(shown.contains("signs     its requests, with 1 secret\n"), "{shown}");
    let ran: Value = serde_json::from_str(&world.run("job run a --wait --json").out).unwrap();
    let at = ran["properties"]["expectedExecutionTime"].as_str().unwrap().to_owned();
    let again = world.must(&format!("job redrive a {at}"));
    assert!(again.starts_with("default/a runs now, for the occurrence "), "{again}");
    let refused = world.run("job redrive a 2051-01-01T00:00:00Z");
    assert!(refused.err.contains("has no attempt at 2051-01-01T00:00:00Z"), "{refused:?}");
    let refused = world.run("job resume a");
    assert_eq!(refused.code, Some(0), "it is enabled: {refused:?}");
    world.must("job disable a");
    let refused = world.run("job resume a");
    assert!(refused.err.contains("was not paused by the scheduler"), "{refused:?}");
    // A second secret beside the stored one, which stays.
    let secrets = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n(withheld)\n";
    std::fs::write(world.home.path().join("secret"), secrets).unwrap();
    world.must("job set a minutehand.sign.secrets=@secret");
    assert!(world.must("job show a").contains("its requests, with 2 secrets\n"));
}

#[test]
fn a_snooze_is_shown_until_it_is_taken_back_and_is_in_no_file() {
    let world = World::new();
    world.must("collection create ops --zone Europe/Berlin");
    world.must("job create ops/a --every 1h --url http://127.0.0.1:1/");
    let snoozed = world.must("job snooze ops/a 2h");
    assert!(snoozed.starts_with("ops/a is snoozed until "), "{snoozed}");
    assert!(snoozed.ends_with(": it fires and alerts as before\n"), "{snoozed}");
    assert!(world.must("job show ops/a").contains("\nsnoozed   until "));
    let snoozed = world.json("collection snooze ops 1d --json");
    assert!(snoozed["properties"]["minutehand"]["snoozedUntil"].is_string(), "{snoozed}");
    assert!(world.must("collection show ops").contains("\nSnoozed until "));
    // A file neither has it nor takes it back.
    let files = world.must("export ops");
    assert!(!files.contains("snoozed"), "{files}");
    std::fs::write(world.home.path().join("ops.yaml"), files).unwrap();
    assert!(world.must("diff -f ops.yaml").contains("nothing"), "there is a difference");
    assert_eq!(world.must("job snooze ops/a off"), "ops/a is not snoozed\n");
    assert!(!world.must("job show ops/a").contains("snoozed"));
    let refused = world.run("job snooze ops/a 31d");
    assert!(refused.err.contains("at most 30 days ahead"), "{refused:?}");
    let refused = world.run("collection snooze ops soon");
    assert!(refused.err.contains("'soon' is not an instant"), "{refused:?}");
}

#[test]
fn jobs_are_found_by_a_part_of_their_names() {
    let world = World::new();
    for (collection, job) in
        [("ops", "nightly-export"), ("billing", "export-invoices"), ("ops", "ping")]
    {
        world.run(&format!("collection create {collection}"));
        world.must(&format!("job create {collection}/{job} --every 1h --url http://127.0.0.1:1/"));
    }
    let found = world.must("find EXPORT");
    let names: Vec<_> = found.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(names, ["billing/export-invoices", "ops/nightly-export"]);
    assert_eq!(world.must("find ops/p --jsonl").lines().count(), 2);
    assert_eq!(world.must("find export -n 1 --jsonl").lines().count(), 1);
    assert_eq!(world.must("find nothing-like-it"), "");
    assert!(world.run("find x -n 21").err.contains("use a number from 1 to 20"));
}

#[test]
fn options_change_a_job_and_keep_the_rest() {
    let world = World::new();
    world.must("collection create ops --zone Europe/Berlin");
    world.must(
        "job create ops/a --at 09:00 --on mon-fri --url http://a/x --method POST --body b \
         --header 'Accept: x' --retry 3 --retry-every 2m --catch-up all:20",
    );
    let changed = world.must("job set ops/a --at 10:30");
    assert!(changed.contains("Thursday and Friday at 10:30 Europe/Berlin time"), "{changed}");
    world.must("job set ops/a --on sat,sun --retry 5 --url https://b/y --catch-up last");
    let job = world.json("job show ops/a --json");
    let at = |pointer: &str| job["properties"].pointer(pointer).cloned().unwrap_or_default();
    assert_eq!(at("/recurrence/schedule/hours/0"), 10);
    assert_eq!(at("/recurrence/schedule/weekDays").as_array().unwrap().len(), 2);
    assert_eq!(at("/action/type"), "Https");
    for (pointer, value) in
        [("uri", "https://b/y"), ("method", "POST"), ("body", "b"), ("headers/Accept", "x")]
    {
        assert_eq!(at(&format!("/action/request/{pointer}")), value, "{pointer}");
    }
    assert_eq!(at("/action/retryPolicy/retryCount"), 5);
    assert_eq!(at("/action/retryPolicy/retryInterval"), "00:02:00");

    let dry = world.must("job set ops/a --every 30m --dry-run");
    assert!(dry.starts_with("would change ops/a: every 30 minutes"), "{dry}");
    let refused = world.run("job set ops/a --retry 50 --dry-run");
    assert!(refused.code == Some(2) && refused.err.contains("retryCount"), "{refused:?}");
    assert_eq!(world.json("job show ops/a --json")["properties"], job["properties"]);
    let file = world.run_with(&["job", "set", "ops/a", "-f", "-"], "state: disabled\n");
    assert_eq!(file.code, Some(0), "{file:?}");
    assert_eq!(world.json("job show ops/a --json")["properties"]["state"], "disabled");

    world.must("collection set ops --zone Asia/Tokyo --max-jobs 5 --max-per-second 3");
    let collection = world.json("collection show ops --json");
    assert_eq!(collection["properties"]["quota"]["maxJobCount"], 5);
    assert_eq!(collection["properties"]["minutehand"]["timeZone"], "Asia/Tokyo");
    world.must("collection set ops --max-jobs off");
    let collection = world.json("collection show ops --json");
    assert_eq!(collection["properties"].pointer("/quota/maxJobCount"), None, "{collection}");
}
