//! `import`: files of other schedulers become jobs, and nothing fires.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{Server, World, at_home, run, words};

const TEMPLATE: &str = "--template 'https://runner.example.com/run?cmd={command}'";

fn file(world: &World, name: &str, content: &str) {
    fs::write(world.home.path().join(name), content).unwrap();
}

#[test]
fn a_crontab_is_shown_then_imported_and_a_second_time_left_alone() {
    let world = World::new();
    file(&world, "crontab", "*/15 8-17 * * 1-5 /usr/bin/sync\n@reboot /bin/x\n0 0 13 * 5 /bin/y\n");
    let import = format!("import crontab crontab --to ops --zone Europe/Berlin {TEMPLATE}");

    let dry = world.run(&format!("{import} --dry-run"));
    assert_eq!(dry.code, Some(2), "{dry:?}");
    for part in [
        "ops/sync\tcrontab:1\ton\t",
        "refused crontab:2: '@reboot' means the start of a machine",
        "changed crontab:3 (y): cron fires on the day of the month or on the day of the week",
        "2 of 3 schedules can be imported\n",
    ] {
        assert!(dry.out.contains(part), "{part}: {dry:?}");
    }
    assert_eq!(world.run("collection show ops").code, Some(3));

    let first = world.run(&import);
    assert_eq!(first.code, Some(2), "{first:?}");
    assert!(first.out.ends_with("3 created, 0 left alone, 0 failed\n"), "{first:?}");
    let job = world.json("job show ops/sync --json");
    assert_eq!(job["executions"], 0, "{job}");
    let second = world.run(&import);
    assert!(second.out.ends_with("0 created, 3 left alone, 0 failed\n"), "{second:?}");
}

#[test]
fn a_watched_crontab_is_printed_with_pings_and_a_second_time_the_same() {
    let world = World::new();
    let text = "MAILTO=ops\n30 2 * * * /bin/backup --full\n0 0 13 * 5 lucky%in\n@reboot /bin/x\n\
                @daily bare &\n";
    file(&world, "crontab", text);
    let import = "import crontab --watch crontab --to ops --zone UTC --grace 20m";
    let dry = world.run(&format!("{import} --dry-run"));
    assert!(dry.out.contains("ops/backup\tcrontab:2\ton\t"), "{dry:?}");
    assert!(!dry.out.contains("curl"), "{dry:?}");

    let first = world.run(import);
    assert_eq!(first.code, Some(2), "two lines are refused: {first:?}");
    let lines: Vec<&str> = first.out.lines().collect();
    let [mailto, backup, lucky, reboot, bare] = lines.as_slice() else { panic!("{first:?}") };
    assert_eq!([*mailto, *reboot, *bare], ["MAILTO=ops", "@reboot /bin/x", "@daily bare &"]);
    let url = world.json("job show ops/backup --json")["pingUrl"].clone();
    assert!(backup.starts_with("30 2 * * * ( /bin/backup --full ); curl -fsS "), "{backup}");
    if let Some(url) = url.as_str() {
        assert!(backup.ends_with(&format!("{url}/$?")), "{backup}");
    }
    // The day of the month and the day of the week have a job each.
    assert!(lucky.starts_with("0 0 13 * 5 ( lucky ); s=$?; curl "), "{lucky}");
    assert_eq!((lucky.matches("/$s").count(), lucky.ends_with("%in")), (2, true), "{lucky}");
    assert!(
        first.err.contains("refused crontab:5: the command runs on in the background"),
        "{first:?}"
    );
    assert_eq!(world.run(import).out, first.out);

    // The same name at another time is another command.
    file(&world, "crontab", "45 2 * * * /bin/backup\n");
    let other = world.run(import);
    assert_eq!(
        (other.code, other.out.as_str()),
        (Some(2), "45 2 * * * /bin/backup\n"),
        "{other:?}"
    );
    assert!(other.err.contains("it fires otherwise: every day at 02:30 UTC"), "{other:?}");
    let two = world.run("import crontab --watch crontab crontab --to ops");
    assert!(two.err.contains("--watch prints one crontab"), "{two:?}");
}

#[test]
fn a_secret_that_a_file_lacks_is_read_from_the_environment() {
    let world = World::new();
    let job = json!({"name": "c/nightly", "properties": {
        "startTime": "2050-01-01T00:00:00Z",
        "action": {"type": "Https", "request": {"uri": "https://example.com/", "method": "GET",
            "authentication": {"type": "Basic", "username": "u"}}},
    }});
    let past = json!({"name": "c/past", "properties": {
        "startTime": "2015-01-01T00:00:00Z",
        "action": {"type": "Http", "request": {"uri": "http://example.com/", "method": "GET"}},
    }});
    file(&world, "jobs.json", &json!({"value": [job, past]}).to_string());
    let import = "import azure jobs.json --to ops";
    let without = world.run(import);
    assert_eq!(without.code, Some(2), "{without:?}");
    let variable = "MINUTEHAND_IMPORT_NIGHTLY_PASSWORD";
    assert!(without.err.contains(&format!("needs the variables {variable}")), "{without:?}");
    assert!(without.out.contains("disabled jobs.json: value[1] (past): the only time of the job"));
    assert!(without.out.ends_with("1 created, 0 left alone, 1 failed\n"), "{without:?}");

    let with = run(world.command().args(words(import)).env(variable, "hunter2"), "");
    assert_eq!(with.code, Some(0), "{with:?}");
    assert!(!format!("{with:?}").contains("hunter2"));
    assert!(without.out.contains("\nneeded ") && !with.out.contains("needed"), "{with:?}");
    assert_eq!(world.json("job show ops/past --json")["state"], "disabled");
    let nightly = world.json("job show ops/nightly --json");
    assert_eq!((&nightly["state"], &nightly["executions"]), (&json!("enabled"), &json!(0)));
}

#[test]
fn a_template_is_imported_from_standard_input_with_its_parameters() {
    let world = World::new();
    let template = json!({"Resources": {
        "Queue": {"Type": "AWS::SQS::Queue"},
        "Hourly": {"Type": "AWS::Scheduler::Schedule", "Properties": {
            "ScheduleExpression": "rate(1 hour)", "State": {"Ref": "State"},
            "Target": {"Arn": {"Fn::GetAtt": ["Queue", "Arn"]}, "Input": "{}"},
        }},
    }});
    file(&world, "parameters.json", "{\"State\":\"DISABLED\"}");
    let line = "import eventbridge - --dry-run --json --parameters parameters.json \
                --parameter Queue.Arn=arn:aws:sqs:eu-west-1:123456789012:q";
    let ended = world.run_with(&words(line), &template.to_string());
    // The server of this test sends nothing to AWS, and says so before anything is written.
    assert!(
        ended.code == Some(2) && ended.err.contains("Start the server with --aws"),
        "{ended:?}"
    );
    let printed: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(printed["outcomes"], Value::Null);
    let real = line.replace("--dry-run --json", "--to ops --yes");
    let real = world.run_with(&words(&real), &template.to_string());
    assert!(real.code == Some(2) && real.err.contains("Start the server with --aws"), "{real:?}");
    assert_eq!(world.run("collection show ops").code, Some(3), "nothing was made");
    let job = &printed["files"][0]["jobs"][0];
    assert_eq!((&job["name"], &job["state"]), (&json!("Hourly"), &json!("disabled")));
}

#[test]
fn five_hundred_jobs_are_imported_in_seconds() {
    let world = World::new();
    let lines = (0..500).map(|n| format!("{} {} * * * /bin/job{n}", n % 60, n % 24));
    file(&world, "crontab", &lines.collect::<Vec<_>>().join("\n"));
    let started = Instant::now();
    let ended = world.run(&format!("import crontab crontab --to ops --zone UTC {TEMPLATE}"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.ends_with("500 created, 0 left alone, 0 failed\n"), "{ended:?}");
    // The test's own binary is not optimised, and other tests run beside it.
    assert!(started.elapsed() < Duration::from_mins(1), "{:?}", started.elapsed());
}

#[test]
fn what_cannot_be_imported_says_what_to_do() {
    let world = World::new();
    file(&world, "crontab", "0 0 * * * x\n");
    file(&world, "x.json", "{}");
    for (line, said) in [
        ("import crontab crontab", "--template <URL>"),
        ("import crontab crontab --template runner", "the template is not an http or https URL"),
        ("import crontab missing --template https://r/{command}", "cannot read missing"),
        ("import azure x.json", "x.json: the file has no job of Azure Scheduler"),
        ("import azure x.json --parameter a", "'a' is not a parameter: write NAME=VALUE"),
        ("import jenkins x.json", "unrecognized subcommand 'jenkins'"),
    ] {
        let ended = world.run(line);
        assert!(matches!(ended.code, Some(1 | 2)), "{line}: {ended:?}");
        assert!(ended.err.contains(said), "{line}: {ended:?}");
    }
}

#[test]
fn schedules_of_eventbridge_become_jobs_of_a_server_that_reaches_aws() {
    let schedule = json!({"Name": "nightly", "ScheduleExpression": "cron(30 2 * * ? *)",
        "FlexibleTimeWindow": {"Mode": "OFF"}, "State": "ENABLED",
        "Target": {"Arn": "arn:aws:sqs:eu-west-1:123456789012:orders", "Input": "{}",
            "RoleArn": "arn:aws:iam::123456789012:role/x"}});
    let (home, server) = (tempfile::tempdir().unwrap(), Server::for_aws());
    let line = words(&format!("import eventbridge - --to ops --yes --server {}", server.url));
    let imported = run(at_home(home.path()).args(line), &schedule.to_string());
    assert!(imported.out.ends_with("1 created, 0 left alone, 0 failed\n"), "{imported:?}");
    let line = words(&format!("job show ops/nightly --json --server {}", server.url));
    let shown = run(at_home(home.path()).args(line), "");
    assert!(shown.out.contains(r#""type":"Sqs""#), "{shown:?}");
}
