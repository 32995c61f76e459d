//! `apply`: files become jobs, twice is a no-op, and secrets stay references.

use std::fs;

use serde_json::{Value, json};

use crate::world::{World, run, words};

fn jobs(world: &World, file: &str, document: &Value) {
    let dir = world.home.path().join("jobs");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join(file), document.to_string()).unwrap();
}

fn billing() -> Value {
    json!({"collection": "billing", "properties": {"minutehand": {"timeZone": "Europe/Berlin"}},
    "jobs": {
        "export": {"startTime": "2027-01-01", "action": {"type": "https",
                "retryPolicy": {"retryType": "Fixed", "retryInterval": "PT1M", "retryCount": 3},
                "request": {"method": "post", "uri": "https://example.com/export",
                    "headers": {"Accept": "*/*", "X-Api-Key": {"$env": "KEY"}},
                    "authentication": {"type": "basic", "username": "u",
                        "password": {"$file": "password"}}}},
            "recurrence": {"frequency": "Week", "endTime": "2050-01-01",
                "schedule": {"weekDays": ["Monday"], "hours": [2], "minutes": [30]}}},
        "once": {"startTime": "2050-01-01T00:00:00+01:00", "state": "disabled",
            "action": {"type": "Http", "request": {"method": "GET", "uri": "http://a/?b=c"}}},
    }})
}

#[test]
fn applying_twice_changes_nothing() {
    let world = World::new();
    jobs(&world, "a.json", &billing());
    fs::write(world.home.path().join("jobs/password"), "hunter2\n").unwrap();
    let apply = |line: &str| run(world.command().args(words(line)).env("KEY", "k3y"), "");

    let dry = apply("apply -f jobs --dry-run");
    assert_eq!(dry.code, Some(0), "{dry:?}");
    assert!(
        dry.out.contains("+ billing/export  every week on Monday at 02:30 Europe/Berlin time"),
        "{dry:?}"
    );
    assert!(
        dry.out.ends_with("3 to create, 0 to change, 0 to delete; nothing was done\n"),
        "{dry:?}"
    );
    assert_eq!(world.run("collection show billing").code, Some(3));

    let first = apply("apply -f jobs --yes");
    assert_eq!(first.code, Some(0), "{first:?}");
    let second = apply("apply -f jobs --yes");
    assert_eq!(second.out, "nothing to do; 2 jobs as the files say\n", "{second:?}");
    // The secrets are stored, so the second time needs none of them.
    assert_eq!(world.must("diff -f jobs"), "nothing to do; 2 jobs as the files say\n");
    let steps = world.json("diff -f jobs --json");
    assert_eq!(steps["steps"], json!([]));

    let mut changed = billing();
    changed["jobs"]["export"]["recurrence"]["schedule"]["minutes"] = json!([37]);
    changed["jobs"]["once"]["state"] = json!("enabled");
    jobs(&world, "a.json", &changed);
    let diff = world.must("diff -f jobs");
    assert!(diff.contains("~ billing/once    state: \"disabled\" -> \"enabled\""), "{diff}");
    assert!(diff.contains("at 02:37"), "{diff}");
    // A PATCH of what differs leaves the stored secrets alone.
    world.must("apply -f jobs --yes");
    assert_eq!(world.must("apply -f jobs --yes"), "nothing to do; 2 jobs as the files say\n");
    assert!(world.must("job next billing/export --limit 1").contains(" 02:37 "));

    let sent = apply("apply -f jobs --send-secrets --yes");
    assert!(sent.out.contains("~ billing/export  the secrets are sent"), "{sent:?}");
    for ended in [&dry, &first, &second, &sent] {
        let all = format!("{}{}", ended.out, ended.err);
        assert!(!all.contains("hunter2") && !all.contains("k3y"), "{all}");
    }
    let unset = world.run("apply -f jobs --send-secrets --yes");
    assert!(unset.err.contains("the variable KEY is not set"), "{unset:?}");
}

#[test]
fn pruning_deletes_only_in_the_collections_of_the_files() {
    let world = World::new();
    for name in ["billing", "shop"] {
        world.must(&format!("collection create {name}"));
        world.must(&format!("job create {name}/old --every 1h --url http://a/"));
    }
    let mut document = billing();
    document["jobs"].as_object_mut().unwrap().remove("export");
    jobs(&world, "a.json", &document);

    let unasked = world.run("apply -f jobs");
    assert!(unasked.err.contains("Make these changes? Add --yes"), "{unasked:?}");
    let kept = world.must("apply -f jobs --yes");
    assert!(kept.contains("- billing/old   only with --prune"), "{kept}");
    let unasked = world.run("apply -f jobs --prune");
    assert_eq!(unasked.code, Some(2), "{unasked:?}");
    assert!(unasked.out.contains("- billing/old  delete"), "{unasked:?}");
    assert!(unasked.err.contains("delete 1 job for good? Add --yes"), "{unasked:?}");
    world.must("apply -f jobs --prune --yes");
    assert_eq!(world.run("job show billing/old").code, Some(3));
    assert_eq!(world.run("job show shop/old").code, Some(0));
}

#[test]
fn a_file_with_a_mistake_changes_nothing() {
    let world = World::new();
    for (change, says) in [
        (json!({"password": "hunter2"}), "'action.password' is a secret"),
        (
            json!({"request": {"headers": {"Cookie": "c"}}}),
            "'action.request.headers.Cookie' is a secret",
        ),
    ] {
        let mut document = billing();
        document["jobs"]["export"]["action"] = change;
        jobs(&world, "a.json", &document);
        let ended = world.run("apply -f jobs --yes");
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:?}");
        assert!(ended.err.contains(says) && !ended.err.contains("hunter2"), "{ended:?}");
    }
    let mut document = billing();
    document["jobs"]["once"].as_object_mut().unwrap().remove("startTime");
    document["jobs"].as_object_mut().unwrap().remove("export");
    jobs(&world, "a.json", &document);
    let ended = world.run("apply -f jobs --yes");
    assert!(ended.err.contains("jobs/a.json:1: job 'once': 'startTime' is missing"), "{ended:?}");
    assert_eq!(world.run("collection show billing").code, Some(3), "nothing was made");
}

#[test]
fn what_the_server_refuses_is_said_at_once_and_nothing_is_written() {
    let world = World::new();
    world.must("collection create shop");
    world.must("job create shop/there --every 1h --url http://a/");
    let good = json!({"startTime": "2027-01-01", "recurrence": {"frequency": "day"},
        "action": {"type": "Http", "request": {"method": "GET", "uri": "http://a/"}}});
    let with = |change: &str, value: Value| {
        let mut job = good.clone();
        *job.pointer_mut(change).unwrap() = value;
        job
    };
    let many: serde_json::Map<String, Value> =
        (0..120).map(|n| (format!("j{n}"), good.clone())).collect();
    jobs(&world, "a.json", &json!({"collection": "many", "jobs": many}));
    let zone = json!({"frequency": "day", "timeZone": "Berlin"});
    jobs(
        &world,
        "b.json",
        &json!({"collection": "many", "properties": {"quota": {"maxJobs": 5}},
        "jobs": {"k1": with("/recurrence", zone), "k2": with("/action/request", json!({"uri": "http://a/"}))}}),
    );
    jobs(
        &world,
        "c.json",
        &json!({"collection": "shop", "jobs": {
        "there": with("/action/request/method", json!("FETCH")), "local": {"action": {}}}}),
    );
    for command in ["apply -f jobs --yes", "apply -f jobs --dry-run", "diff -f jobs"] {
        let ended = world.run(command);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{command}: {ended:?}");
        for says in [
            "5 problems, and nothing was changed",
            "jobs/b.json:1: collection 'many': ",
            "maxJobCount",
            "jobs/b.json:1: job 'k1': ",
            "jobs/b.json:1: job 'k2': 'action.request.method' is missing",
            "jobs/c.json:1: job 'there': 'action.request.method' is \"FETCH\"",
            "jobs/c.json:1: job 'local': 'startTime' is missing, so the job would run at once; add a date",
        ] {
            assert!(ended.err.contains(says), "{command}: {says}: {}", ended.err);
        }
    }
    assert_eq!(world.run("collection show many").code, Some(3), "nothing was made");
    let there = world.json("job show shop/there --json");
    assert_eq!(there["properties"]["action"]["request"]["method"], "GET");

    // The quota counts what the pages before create.
    fs::remove_file(world.home.path().join("jobs/c.json")).unwrap();
    jobs(
        &world,
        "b.json",
        &json!({"collection": "many", "properties": {"quota": {"maxJobCount": 119}},
        "jobs": {}}),
    );
    let full = world.run("apply -f jobs --yes");
    assert_eq!((full.code, full.out.as_str()), (Some(2), ""), "{full:?}");
    assert!(
        full.err.contains("job 'j99': The job collection may have at most 119 jobs"),
        "{full:?}"
    );
    assert!(!full.err.contains("problems"), "one job is too many: {full:?}");
}

#[test]
fn a_difference_has_an_exit_code_of_its_own() {
    let world = World::new();
    jobs(
        &world,
        "a.json",
        &json!({"collection": "ops", "jobs": {"a": {"startTime": "2050-01-01",
        "action": {"type": "Http", "request": {"method": "GET", "uri": "http://a/"}}}}}),
    );
    assert_eq!(world.run("diff -f jobs").code, Some(0));
    let differs = world.run("diff -f jobs --exit-code");
    assert_eq!((differs.code, differs.err.as_str()), (Some(2), ""), "{differs:?}");
    assert!(
        differs.out.contains("1 to create") || differs.out.contains("2 to create"),
        "{differs:?}"
    );
    world.must("apply -f jobs --yes");
    assert_eq!(world.must("diff -f jobs --exit-code"), "nothing to do; 1 job as the files say\n");
    assert_eq!(world.run("diff -f none --exit-code").code, Some(1));
}

#[test]
fn files_may_be_yaml() {
    let world = World::new();
    let dir = world.home.path().join("jobs");
    fs::create_dir_all(&dir).unwrap();
    let text = "\
$schema: minutehand.schema.json
collection: ops
properties: { minutehand: { timeZone: Europe/Berlin } }
jobs:
  # Every morning.
  a: &a
    startTime: 2027-01-01
    recurrence: { frequency: day, schedule: { hours: [2], minutes: [30] } }
    action:
      type: Http
      request: { method: POST, uri: http://a/, body: 'yes', headers: { X-Api-Key: { $env: KEY } } }
  b: *a
";
    fs::write(dir.join("a.yaml"), text).unwrap();
    fs::write(dir.join("b.yml"), "collection: ops\njobs: {}\n").unwrap();
    let applied = run(world.command().args(words("apply -f jobs --yes")).env("KEY", "k"), "");
    assert_eq!(applied.code, Some(0), "{applied:?}");
    assert!(applied.out.contains("+ ops/b  every day at 02:30 Europe/Berlin time"), "{applied:?}");
    assert_eq!(world.must("diff -f jobs --exit-code"), "nothing to do; 2 jobs as the files say\n");
    let piped = world.run_with(&["diff", "-f", "-"], text);
    assert_eq!(piped.code, Some(0), "{piped:?}");
    fs::write(dir.join("b.yml"), "collection: ops\njobs:\n\ta: {}\n").unwrap();
    let wrong = world.run("diff -f jobs");
    assert!(wrong.err.contains("jobs/b.yml is not valid YAML: line 3, column "), "{wrong:?}");
    let text = "collection: ops\njobs:\n  c:\n    startTime: 2027-01-01\n    action:\n      type: Http\n      request: {uri: http://a/}\n";
    fs::write(dir.join("b.yml"), text).unwrap();
    let refused = world.run("diff -f jobs");
    let says = "jobs/b.yml:7: job 'c': 'action.request.method' is missing";
    assert!(refused.err.contains(says), "{refused:?}");
    let made = world.run_with(
        &["job", "create", "ops/c", "-f", "-"],
        "startTime: 2050-01-01\naction:\n  type: Http\n  request: {method: GET, uri: http://a/}\n",
    );
    assert_eq!(made.code, Some(0), "{made:?}");
}

#[test]
fn an_export_for_another_installation_names_variables_in_place_of_secrets() {
    let world = World::new();
    world.must("collection create ops");
    fs::write(world.home.path().join("password"), "hunter2\n").unwrap();
    world.must(
        "job create ops/a --every 1h --url http://a/ --user u --password-file password \
         --header-file X-Api-Key=password",
    );
    let out = world.run("export ops -o files --secrets-as-env");
    assert!(
        out.err.ends_with("apply needs these variables: OPS_A_PASSWORD, OPS_A_X_API_KEY\n"),
        "{out:?}"
    );
    assert_eq!(world.must("diff -f files --exit-code"), "nothing to do; 1 job as the files say\n");
    let other = World::new();
    let files = world.home.path().join("files");
    let line = format!("apply -f {} --yes", files.display());
    let unset = other.run(&line);
    assert!(unset.err.contains("job 'a': the variable OPS_A_X_API_KEY is not set"), "{unset:?}");
    let mut set = other.command();
    let applied =
        run(set.args(words(&line)).envs([("OPS_A_PASSWORD", "p"), ("OPS_A_X_API_KEY", "k")]), "");
    assert_eq!(applied.code, Some(0), "{applied:?}");
    assert_eq!(other.must("export ops"), world.must("export ops"));
    let arm = world.run("export ops --format arm --secrets-as-env");
    assert!(arm.code == Some(2) && arm.err.contains("leave --format out"), "{arm:?}");
}

#[test]
fn the_schema_of_the_files_is_printed_without_a_server() {
    let home = tempfile::tempdir().unwrap();
    let printed = run(crate::world::at_home(home.path()).arg("schema"), "");
    assert_eq!((printed.code, printed.err.as_str()), (Some(0), ""));
    let schema: Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!(schema["properties"]["jobs"]["type"], "object");
}

#[test]
fn a_dry_run_refuses_what_the_server_would_refuse() {
    let world = World::new();
    world.must("job create there --every 1h --url http://a/");
    for (options, code, says) in [
        ("--retry 50", 2, "retryCount"),
        ("--retry-every 5s", 2, "retryInterval"),
        ("--exclude-date christmas", 2, "christmas"),
        ("--retry-factor 99", 2, "factor"),
        ("--method FETCH", 2, "'action.request.method' is \"FETCH\""),
        ("--max-lateness 0s", 2, "maxLateness"),
    ] {
        let ended =
            world.run(&format!("job create w --every 1h --url http://a/ {options} --dry-run"));
        assert_eq!((ended.code, ended.out.as_str()), (Some(code), ""), "{options}: {ended:?}");
        assert!(ended.err.contains(says), "{options}: {ended:?}");
    }
    let missing = world.run("job create nope/w --every 1h --url http://a/ --dry-run");
    assert_eq!(missing.code, Some(3), "{missing:?}");
    let taken = world.run("job create there --every 2h --url http://a/ --dry-run");
    assert!(taken.err.contains("there is a job 'default/there' already"), "{taken:?}");
    world.must("job create there --every 2h --url http://a/ --replace --dry-run");
    let dry = world.must(
        "job create w --at 09:00 --daily --exclude-date 2027-12-24 --url http://a/ --dry-run",
    );
    assert!(
        dry.contains("would create default/w: every day at 09:00 UTC")
            && dry.contains("2027-12-24")
            || dry.contains("except on 1 date"),
        "{dry}"
    );
    assert_eq!(world.run("job show w").code, Some(3));
    let home = tempfile::tempdir().unwrap();
    let line = "job create w --every 1h --url http://a/ --dry-run --server http://127.0.0.1:1";
    let alone = run(crate::world::at_home(home.path()).args(words(line)), "");
    assert_eq!(alone.code, Some(0), "{alone:?}");
    assert!(alone.err.contains("the server has not checked it: cannot reach"), "{alone:?}");
}

#[test]
fn what_is_exported_can_be_applied() {
    let world = World::new();
    world.must("collection create ops --zone Europe/Berlin --max-per-second 10 --max-concurrent 5");
    world.must("job create ops/a --at 02:30 --on mon-fri --url http://a/ --retry 2");
    world.must("job create ops/b --every 15m --url http://b/ --body x --disabled");
    world.must("job copy ops/a ops/c");
    let out = world.run("export ops -o files");
    assert_eq!((out.code, out.err.as_str()), (Some(0), "files/ops.json: 3 jobs\n"), "{out:?}");
    assert_eq!(world.must("diff -f files"), "nothing to do; 3 jobs as the files say\n");
    let printed: Value = world.json("export ops");
    assert_eq!(printed["jobs"].as_object().unwrap().len(), 3);
    assert_eq!(printed["properties"]["minutehand"], limits());

    let other = World::new();
    fs::create_dir(other.home.path().join("files")).unwrap();
    fs::copy(world.home.path().join("files/ops.json"), other.home.path().join("files/ops.json"))
        .unwrap();
    let applied = other.must("apply -f files --yes");
    assert!(applied.ends_with("4 to create, 0 to change, 0 to delete\ndone\n"), "{applied}");
    assert_eq!(other.must("apply -f files --yes"), "nothing to do; 3 jobs as the files say\n");
    assert_eq!(other.must("export ops"), world.must("export ops"));

    // A limit is changed, and removed.
    for (limit, shown) in [(json!(7), "7"), (Value::Null, "null")] {
        let mut document = printed.clone();
        document["properties"]["minutehand"]["maxConcurrent"] = limit.clone();
        fs::write(other.home.path().join("files/ops.json"), document.to_string()).unwrap();
        let applied = other.must("apply -f files --yes");
        assert!(applied.contains("maxConcurrent") && applied.contains(shown), "{applied}");
        let left = &other.json("collection show ops --json")["properties"]["minutehand"];
        assert_eq!(left.get("maxConcurrent").unwrap_or(&Value::Null), &limit, "{left}");
        assert_eq!(left["maxPerSecond"], 10);
        assert_eq!(other.must("apply -f files --yes"), "nothing to do; 3 jobs as the files say\n");
    }
}

/// What `minutehand` of the collection `ops` says.
fn limits() -> Value {
    json!({"timeZone": "Europe/Berlin", "maxPerSecond": 10, "maxConcurrent": 5})
}

/// A collection with two jobs, which only the API can have made: one has no start.
fn exportable() -> World {
    let world = World::new();
    world.must("collection create ops --zone Europe/Berlin");
    world.must("collection set ops tags.team=shop --max-per-second 10 --max-concurrent 5");
    world.must("job create ops/a --at 02:30 --on mon-fri --url http://a/ --retry 2 --body [x]");
    let body = r#"{"properties":{"recurrence":{"frequency":"day"},"state":"disabled",
        "action":{"type":"Http","request":{"uri":"http://b/","method":"GET","body":"it's"}}}}"#;
    let path = "/subscriptions/me/resourceGroups/dev/providers/Microsoft.Scheduler/jobCollections/\
                ops/jobs/b?api-version=2016-03-01";
    let put = world.run_with(&["api", "PUT", path, "-f", "-"], body);
    assert_eq!(put.code, Some(0), "{put:?}");
    world
}

#[test]
fn a_template_that_is_exported_can_be_imported() {
    let world = exportable();
    let template = world.json("export ops --format arm");
    assert_eq!(template["resources"].as_array().unwrap().len(), 3, "{template}");
    assert_eq!(template["resources"][0]["tags"]["team"], "shop");
    assert_eq!(template["resources"][0]["properties"]["minutehand"], limits());
    let one = world.json("export ops/a --format arm");
    assert_eq!(one["resources"][0]["name"], "ops/a", "{one}");

    let other = World::new();
    let made =
        other.run_with(&["import", "azure", "-", "--to", "ops", "--yes"], &template.to_string());
    assert_eq!(made.code, Some(0), "{made:?}");
    for (world, starts) in [(&world, "a"), (&other, "a")] {
        let job = world.json(&format!("job show ops/{starts} --json"));
        assert_eq!(job["properties"]["action"]["request"]["body"], "[x]", "{job}");
    }
}

#[test]
fn commands_that_are_exported_make_the_same_jobs() {
    let world = exportable();
    let script = world.must("export ops --format cli");
    let other = World::new();
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_minutehand")).parent().unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.arg("-e").env_clear().env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    shell.env("HOME", other.home.path()).env("MINUTEHAND_URL", other.url());
    let made = run(shell.current_dir(other.home.path()), &script);
    assert_eq!(made.code, Some(0), "{script}\n{made:?}");
    let without_start = |world: &World| {
        let mut file = world.json("export ops");
        file["jobs"]["b"].as_object_mut().unwrap().remove("startTime");
        file
    };
    assert_eq!(without_start(&other), without_start(&world));
    let made = other.json("collection show ops --json");
    assert_eq!(made["properties"]["minutehand"], limits());
    assert_eq!(other.json("export ops --format arm")["resources"][0]["tags"]["team"], "shop");
    assert_eq!(
        world.must("export ops/a --format cli").lines().next().unwrap(),
        "minutehand job create ops/a -f - <<'JSON'"
    );
    assert_eq!(world.run("export ops/nosuch").code, Some(3));
}
