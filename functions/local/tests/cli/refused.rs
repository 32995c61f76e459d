//! What is wrong is refused with what to change, and with the right exit code.

use crate::world::{Server, World, at_home, run, words};

/// Command lines, the exit code of each, and what its error says.
const REFUSED: &[(&str, i32, &str)] = &[
    (
        "job create b --at 09:00 --url http://a/",
        2,
        "--on mon-fri (or other days), --daily, or --once",
    ),
    ("job create b --url http://a/", 2, "it is not said when the job fires"),
    ("job create b --every 1h", 2, "add --url URL, --expect, or -f FILE"),
    ("job create b --every 1h --url example.com", 2, "like https://example.com/path"),
    ("job create b --every 10s --url http://a/", 2, "at most once a minute"),
    (
        "job create b --every 1h --url http://a/ --zone Europe/Berln",
        2,
        "did you mean 'Europe/Berlin'?",
    ),
    ("job create b --at 02:30 --on 30 --months feb --url http://a/", 2, "never occurs"),
    ("job create b", 2, "--every 15m --url https://example.com/"),
    ("job create b --cron '0 9 15W * *' --url http://a/", 2, "'15W'"),
    ("job create b --cron @daily --every 1h --url http://a/", 2, "cannot be used with"),
    ("job create ops/b --every 1h --url http://a/", 3, "minutehand collection create ops"),
    ("job create b -f none.json", 1, "cannot read none.json"),
    ("job create b --every 1h --url http://a/ --retry 21", 2, "retryCount"),
    ("job create a/b/c --every 1h --url http://a/", 2, "SUBSCRIPTION/GROUP/COLLECTION/JOB"),
    (
        "job create b --every 1h --url http://a/ --header 'Authorization: x'",
        2,
        "--header-file Authorization=FILE",
    ),
    ("job create b --at 09:00 --daily --once --url http://a/", 2, "cannot be used with"),
    ("job show none", 3, "none"),
    ("job list none", 3, "none"),
    ("job set a", 2, "PROPERTY=VALUE"),
    ("job show default/aa", 3, "did you mean 'default/a'?"),
    ("job delete nothing --yes", 3, "`minutehand job list default` lists the jobs"),
    ("job show defalt/a", 3, "did you mean 'default'?"),
    ("job list defaul", 3, "did you mean 'default'?"),
    ("collection delete nope --yes", 3, "`minutehand collection list` lists the collections"),
    ("collection delete defautl --yes", 3, "did you mean 'default'?"),
    ("collection disable", 2, "<NAME>"),
    ("collection disable --all", 2, "Disable 1 collection of the group? Add --yes"),
    ("collection set default --zone Berlin", 2, "did you mean 'Europe/Berlin'?"),
    ("job set a stat=disabled", 2, "state"),
    ("job set a recurrence.interval=often", 2, "interval"),
    ("job history a --since whenever", 2, "yesterday 02:30"),
    ("job next a --limit 0", 2, "limit"),
    ("job list --json=nme", 2, "there is no field 'nme'"),
    ("job run a --timeout 5s", 2, "--wait"),
    ("job run a --wait --timeout soon", 2, "write a span like 90s"),
    ("job create b --every 1h --url http://a/ --retry -1", 2, "use a whole number"),
    ("job create b --every 1h --url http://a/ --count many", 2, "a whole number of at least 1"),
    ("job create b --every 1h --url http://a/ --zone tokyo", 2, "did you mean 'Asia/Tokyo'?"),
    (
        "job create b --at '2027-03-28 02:30' --once --zone Europe/Berlin --url http://a/",
        2,
        "the clock skips it: write '2027-03-28 03:30'",
    ),
    ("job list --limit 0", 2, "a whole number of at least 1"),
    ("job history a --limit x", 2, "a whole number of at least 1"),
    ("job copy a a", 2, "minutehand job set default/a"),
    ("collection show none", 3, "minutehand collection create none"),
    ("collection set none quota.maxJobCount=5", 3, "there is no collection 'none'"),
    ("collection set default", 2, "PROPERTY=VALUE"),
    ("collection set default quota.maxJobs=5", 2, "maxJobCount"),
    ("collection disable none", 3, "there is no collection 'none'"),
    ("watch none", 3, "there is no collection 'none'"),
    ("export none", 3, "there is no collection 'none'"),
    ("job creat b", 2, "create"),
    ("collection create default", 2, "already"),
    ("collection create x --zone Mars", 2, "IANA"),
    ("context use prod", 2, "minutehand login NAME --server URL"),
    ("login a/b", 2, "cannot name a context"),
    ("login", 2, "--token-file"),
    ("api GET healthz", 2, "begin with /"),
    ("completions tcsh", 2, "'tcsh' is not one of"),
    ("apply -f none", 1, "cannot read none"),
    ("job list --server localhost:7070", 2, "like http://127.0.0.1:7070"),
];

#[test]
fn what_is_wrong_says_what_to_change() {
    let world = World::new();
    world.must("job create a --every 1h --url http://127.0.0.1:1/");
    let mut problems = Vec::new();
    for &(line, code, says) in REFUSED {
        let ended = world.run(line);
        if ended.code != Some(code) || !ended.err.contains(says) || !ended.out.is_empty() {
            problems.push(format!("{line}: {says:?} and {code} are expected: {ended:?}"));
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn a_file_that_is_no_job_is_refused() {
    let world = World::new();
    for (text, says) in [
        ("", "standard input is empty"),
        ("*/5 * * * *", "is not valid YAML: line 1, column "),
        ("{\"a\": ", "is not valid JSON: EOF while parsing a value at line 1 column 6"),
        ("a: b: c", "is not valid YAML: line 1, column "),
        ("[]", "is not an object"),
        ("often", "is not an object"),
        (r#"{"action":{"type":"Http"}}"#, "add \"startTime\""),
        (r#"{"startTime":"2050-01-01"}"#, "it is not said what the job does"),
        (
            r#"{"startTime":"2050-01-01","recurence":{},"action":{"type":"Http","request":{"uri":"http://a/","method":"GET"}}}"#,
            "recurrence",
        ),
    ] {
        let ended = world.run_with(&["job", "create", "a", "-f", "-"], text);
        assert_eq!(ended.code, Some(2), "{text}: {ended:?}");
        assert!(ended.err.contains(says), "{text}: {ended:?}");
    }
}

#[test]
fn a_server_that_speaks_otherwise_is_named_with_what_to_change() {
    let world = World::new();
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let own = Server::start(["--no-auth", "--tls-self-signed", "--data", data.to_str().unwrap()]);
    let list = |server: &str, more: &str| {
        let line = words(&format!("collection list --server {server}{more}"));
        run(at_home(home.path()).args(line), "")
    };
    for (server, says) in [
        (world.url().replace("http:", "https:"), "write http:// in its address"),
        (own.url.clone(), "--ca FILE trusts it"),
    ] {
        let ended = list(&server, "");
        assert!(ended.code == Some(1) && ended.err.contains(says), "{server}: {ended:?}");
    }
    let ca = format!(" --ca {}", data.join("tls-cert.pem").display());
    assert_eq!(list(&own.url, &ca).code, Some(0));
    let plain = list(&own.url.replace("https:", "http:"), "");
    assert!(plain.code == Some(2) && plain.err.contains("use https://"), "{plain:?}");
}

#[test]
fn a_refused_token_names_the_server_and_the_context() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::start(["--memory", "--token", "a-token-of-the-test"]);
    let line = words(&format!("collection list --server {}", server.url));
    let ended = run(at_home(home.path()).args(line), "");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let says = format!("({}, no context)\n  `minutehand login` keeps a token", server.url);
    assert!(ended.err.contains(&says), "{ended:?}");
}

#[test]
fn everything_is_stopped_by_one_command_and_comes_back_by_another() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.must(&format!("collection create {name}"));
    }
    world.must("collection disable c");
    let off = world.must("collection disable --all --yes");
    assert_eq!(off.lines().count(), 2, "{off}");
    let states = world.must("collection list");
    assert!(states.lines().all(|line| line.contains("off")), "{states}");
    assert_eq!(world.must("collection disable --all --yes"), "there is nothing to disable\n");
    world.must("collection enable a b");
    // Options of every command may stand before it.
    let state = world.must("--json=properties.state collection show a");
    assert!(state.contains("Enabled"), "{state}");
    assert!(world.must("--json=properties.state collection show c").contains("Disabled"));
}

#[test]
fn a_server_that_does_not_run_is_named_with_the_way_out() {
    let home = tempfile::tempdir().unwrap();
    let line = words("job list --server http://127.0.0.1:1");
    let ended = run(at_home(home.path()).args(line), "");
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.starts_with("error: cannot reach http://127.0.0.1:1: "), "{ended:?}");
    assert!(ended.err.contains("`minutehand serve` starts one here"), "{ended:?}");
}
