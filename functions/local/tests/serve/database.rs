//! Processes on one PostgreSQL: they share everything, and a database that cannot be used is named with what
//! to do. Where no PostgreSQL is installed, these tests say so and pass.

use std::io::Write as _;
use std::net::TcpListener;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use minutehand_testkit::InTime as _;
use minutehand_testkit::postgres::{PostgresPlaces, PostgresServer};

use crate::server::{Server, command, job};

/// How long a process may take to notice something.
const HEALTH_MAX: Duration = Duration::from_secs(30);
/// The key of the processes.
const KEY: &str = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";

fn serve(address: &str) -> Command {
    let mut command = command();
    command.args(["--listen", "127.0.0.1:0", "--no-auth"]);
    command.env("MINUTEHAND_DATABASE", address).env("MINUTEHAND_KEY", KEY);
    command
}

fn minutehand(words: &[&str], address: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    command.args(words).env("MINUTEHAND_DATABASE", address).env_remove("MINUTEHAND_KEY");
    command.output_in_time()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What a process says that does not start.
#[track_caller]
fn refusal(address: &str, more: &[&str]) -> String {
    let output = serve(address).args(more).output_in_time();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let errors: Vec<&str> = said.lines().filter_map(|it| it.strip_prefix("error: ")).collect();
    assert_eq!(errors.len(), 1, "one sentence: {said}");
    errors[0].to_owned()
}

#[track_caller]
fn refuses(address: &str, says: [&str; 2]) {
    let said = refusal(address, &[]);
    assert!(said.starts_with("cannot use the database: "), "{said}");
    assert!(says.iter().all(|part| said.contains(part)), "{says:?}: {said}");
}

/// The health of a server, as soon as it has this status and text.
#[track_caller]
fn health(server: &Server, status: u16, says: &str) -> String {
    let since = Instant::now();
    // The process looks once a second.
    while since.elapsed() < HEALTH_MAX {
        let answer = server.send("GET", "/healthz", "");
        if answer.status == status && answer.body.contains(says) {
            return answer.body;
        }
        thread::yield_now();
    }
    panic!("{status} {says}: {:?}", server.send("GET", "/healthz", ""));
}

#[test]
fn processes_share_everything_and_know_of_each_other() {
    let Some(places) = PostgresPlaces::find() else { return };
    let address = places.place();
    let one = Server::spawn(serve(&address));
    let mut polling = serve(&address);
    let two = Server::spawn({
        polling.args(["--database-pooler", "none"]);
        polling
    });
    one.must("PUT", "/c", "{}");
    one.must("PUT", "/c/jobs/j", &job("secret"));
    assert!(two.must("GET", "/c/jobs/j", "").body.contains("2050-01-01"));

    health(&one, 200, "\"processes\":2");
    let name = format!("-{}\"", two.pid());
    assert!(health(&two, 200, "\"processes\":2").contains(&name), "it is named after its number");
    let listed = one.send("GET", "/minutehand/v1/processes", "").json();
    let listed = listed["items"].as_array().unwrap();
    assert_eq!(
        listed.iter().map(|it| it["answers"].as_bool()).collect::<Vec<_>>(),
        [Some(true), Some(false)]
    );
    let notes = one.send("GET", "/minutehand/v1/database", "").json();
    assert_eq!(notes["items"][0]["about"], "schema");
    let home = tempfile::tempdir().unwrap();
    let ask = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
        command.args(words).env("HOME", home.path()).env_remove("MINUTEHAND_CONTEXT");
        let done = command
            .env("MINUTEHAND_URL", format!("http://{}", one.address))
            .env("XDG_CONFIG_HOME", home.path())
            .output_in_time();
        text(&done.stdout)
    };
    let rows = ask(&["processes"]);
    assert_eq!(rows.lines().count(), 2, "{rows}");
    assert!(rows.lines().next().unwrap().contains(" (answers)\t"), "{rows}");
    let checks = ask(&["doctor", "--json"]);
    let checks: Vec<serde_json::Value> = serde_json::from_str(&checks).unwrap();
    let about = |name: &str| checks.iter().find(|check| check["check"] == name).unwrap();
    assert_eq!(about("connections")["ok"], true);
    assert!(about("version")["says"].as_str().unwrap().starts_with("PostgreSQL "));

    let metrics = two.send("GET", "/metrics", "").body;
    assert!(metrics.contains("\nminutehand_processes 2\n"), "{metrics}");
    assert!(metrics.contains("store=\"PostgreSQL\""), "{metrics}");

    two.stop().is_clean();
    // It gave everything back, and is not a process any more.
    health(&one, 200, "\"processes\":1");
    one.stop().is_clean();
}

#[test]
fn a_process_with_another_key_does_not_start() {
    let Some(places) = PostgresPlaces::find() else { return };
    let address = places.place();
    let one = Server::spawn(serve(&address));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("key");
    std::fs::write(&file, "00".repeat(32)).unwrap();
    let key = ["--key-file", file.to_str().unwrap()];
    let mode = |mode: &str| {
        let changed = Command::new("chmod").arg(mode).arg(&file).status().unwrap();
        assert!(changed.success());
    };
    mode("640");
    assert!(refusal(&address, &key).contains("chmod 600"));
    mode("600");
    let said = refusal(&address, &key);
    assert!(said.contains("is not the key of the other processes on this database"), "{said}");
    std::fs::write(&file, "not a key").unwrap();
    assert!(refusal(&address, &key).contains("is not a key of 64 hexadecimal digits"));
    std::fs::write(&file, KEY).unwrap();
    let mut two = serve(&address);
    two.args(key).env_remove("MINUTEHAND_KEY");
    Server::spawn(two).stop().is_clean();
    one.stop().is_clean();
}

#[test]
fn a_database_that_cannot_be_used_is_told_with_what_to_do() {
    let Some(server) = PostgresServer::start() else { return };
    let address = server.address("127.0.0.1");
    let on = |user: &str, database: &str| {
        address.replace("postgres@", &format!("{user}@")).replace("/tests", &format!("/{database}"))
    };
    refuses("postgres://u@127.0.0.1:1/d", ["Connection refused", "check that PostgreSQL runs"]);
    refuses("postgres://u@nowhere.invalid/d", ["connect", "check that PostgreSQL runs"]);
    refuses(&on("postgres", "none"), ["database \"none\" does not exist", "createdb"]);
    refuses(&on("nobody", "tests"), ["role \"nobody\" does not exist", "check user and password"]);

    server.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC; CREATE ROLE small LOGIN");
    refuses(&on("small", "tests"), ["permission denied", "GRANT CREATE ON SCHEMA public"]);
    server.sql("CREATE ROLE few LOGIN CONNECTION LIMIT 0");
    refuses(&on("few", "tests"), ["too many connections", "raise max_connections"]);
    let behind = refusal(&address, &["--no-migrate"]);
    assert!(behind.contains("minutehand database migrate"), "{behind}");

    server.sql("CREATE TABLE jobs (id int)");
    refuses(&address, ["already exists", "tables of another program"]);
    server.sql("DROP TABLE jobs; CREATE TABLE meta (id int)");
    refuses(&address, ["does not exist", "tables of another program"]);
    server.sql("DROP TABLE meta");

    let check = minutehand(&["database", "check"], &address);
    assert_eq!(check.status.code(), Some(1), "{check:?}");
    assert!(text(&check.stdout).starts_with("!! schema "), "{check:?}");
    for says in ["made the tables of this version: schema ", "nothing to do: schema "] {
        let migrated = minutehand(&["database", "migrate"], &address);
        assert!(text(&migrated.stdout).starts_with(says), "{migrated:?}");
    }
    let check = minutehand(&["database", "check"], &address);
    assert_eq!(check.status.code(), Some(0), "{check:?}");
    server.sql("GRANT ALL ON ALL TABLES IN SCHEMA public TO small");
    server.sql("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO small");
    let mut small = serve(&on("small", "tests"));
    small.arg("--no-migrate");
    Server::spawn(small).stop().is_clean();

    server.sql("UPDATE meta SET value = 900 WHERE name IN ('schema', 'works_from')");
    refuses(&address, ["a newer version of Minutehand made this database", "install the newer"]);
}

#[test]
fn a_standby_is_refused_because_it_only_reads() {
    let Some(mut server) = PostgresServer::start() else { return };
    let address = server.address("127.0.0.1");
    Server::spawn(serve(&address)).stop().is_clean();
    server.become_standby();
    refuses(&address, ["recovery", "the address of the primary"]);
    let check = minutehand(&["database", "check"], &address);
    assert!(text(&check.stdout).contains("!! access       the database is read-only"), "{check:?}");
}

#[test]
fn another_program_at_the_address_is_told_apart_from_postgresql() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("postgres://u@{}/d", other.local_addr().unwrap());
    thread::spawn(move || {
        for client in other.incoming() {
            let _ = client.unwrap().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    refuses(&address, ["cannot connect to PostgreSQL", "and no other program"]);
}

#[test]
fn a_process_that_loses_its_database_says_so_and_comes_back_by_itself() {
    let Some(mut database) = PostgresServer::start() else { return };
    let mut server = Server::spawn(serve(&database.address("127.0.0.1")));
    server.must("PUT", "/c", "{}");
    database.quit();
    server.wait_for("the database is lost");
    let lost = health(
        &server,
        503,
        "Jobs do not fire. The database cannot be reached: check that PostgreSQL runs there",
    );
    assert!(lost.contains("ServiceUnavailable"), "{lost}");
    let metrics = server.send("GET", "/metrics", "").body;
    assert!(metrics.contains("\nminutehand_ready 0\n"), "{metrics}");
    database.start_again();
    server.wait_for("the database is back");
    health(&server, 200, "ready");
    server.must("GET", "/c", "");
    server.stop().is_clean();
}

#[test]
fn an_installation_moves_from_a_file_to_a_database_and_back() {
    let Some(places) = PostgresPlaces::find() else { return };
    let dir = tempfile::tempdir().unwrap();
    let [source, target, first, second, third, move_key, back_key] =
        ["source", "target", "first", "second", "third", "move.key", "back.key"]
            .map(|name| dir.path().join(name).to_str().unwrap().to_owned());
    for place in [&first, &second, &third] {
        std::fs::create_dir(place).unwrap();
    }
    let server = Server::open(source.as_ref());
    server.must("PUT", "/c", "{}");
    server.must("PUT", "/c/jobs/j", &job("secret"));
    server.stop().is_clean();

    let address = places.place();
    let key = dir.path().join("key");
    std::fs::write(&key, KEY).unwrap();
    assert!(Command::new("chmod").arg("600").arg(&key).status().unwrap().success());
    let shared = ["--database", &address, "--key-file", key.to_str().unwrap()];
    let run = |words: &[&str]| {
        let done = minutehand(words, "");
        assert_eq!(done.status.code(), Some(0), "{words:?}: {done:?}");
        text(&done.stdout)
    };
    run(&["installation", "export", &first, "--data", &source, "--seal-to", &move_key]);
    let import = ["installation", "import", &first, "--unseal-with", &move_key];
    let brought = run(&[&import[..], &shared].concat());
    assert!(brought.contains("into the database\n  1 collections, 1 jobs"), "{brought}");
    let server = Server::spawn(serve(&address));
    assert!(server.must("GET", "/c/jobs/j", "").body.contains("2050-01-01"));
    let export = ["installation", "export", &second, "--seal-to", &back_key];
    run(&[&export[..], &shared].concat());
    server.stop().is_clean();
    run(&["installation", "import", &second, "--data", &target, "--unseal-with", &back_key]);
    let server = Server::open(target.as_ref());
    assert!(server.must("GET", "/c/jobs/j", "").body.contains("2050-01-01"));
    server.stop().is_clean();

    let both = [&export[..], &shared, &["--data", &source]].concat();
    let both = minutehand(&both, "");
    assert_eq!(both.status.code(), Some(2), "{both:?}");
    let argument = minutehand(&["installation", "export", &third, "--data", &source], &address);
    assert_eq!(argument.status.code(), Some(0), "the argument counts: {argument:?}");
}
