//! Starts that fail: all problems are reported, each with what to change.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use minutehand_testkit::InTime as _;

use crate::server::{Server, command, job};

/// Asserts the exit code and the errors of a start that fails. Returns what it said.
#[track_caller]
fn refuses(arguments: &[&str], code: i32, errors: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let output = command().args(arguments).current_dir(dir.path()).output_in_time();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    let found: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("error: ")).collect();
    assert_eq!(found.len(), errors.len(), "{arguments:?}: {said}");
    for (found, error) in found.iter().zip(errors) {
        assert!(found.contains(error), "{arguments:?}: {said}");
    }
    if code == 2 {
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing was created");
    }
    said
}

#[test]
fn conflicting_arguments_are_refused() {
    refuses(&["--memory", "--data", "d"], 2, &["--memory and --data exclude each other"]);
    refuses(&["--memory", "--sync", "full"], 2, &["--memory and --sync exclude each other"]);
    for flag in ["--forget-secrets", "--accept-copy"] {
        let error = format!("--memory and {flag} exclude each other");
        refuses(&["--memory", flag], 2, &[&error]);
    }
    let without_archive = ["--keep-bodies", "failures"];
    refuses(
        &without_archive,
        2,
        &["--keep-bodies failures keeps them in the archive: add --archive"],
    );
    for other in [&["--token-file", "f"][..], &["--no-auth"]] {
        let arguments = [&["--token", "t"], other].concat();
        let error = format!("--token and {} exclude each other", other[0]);
        refuses(&arguments, 2, &[&error]);
    }
    refuses(&["--token", ""], 2, &["--token is not a valid token"]);
    refuses(&["--token", "two words"], 2, &["--token is not a valid token"]);
    for url in ["login", "ftp://login", "https://"] {
        refuses(&["--oauth-authority", url], 2, &["give an http or https URL"]);
        refuses(&["--heartbeat-url", url], 2, &["give an http or https URL"]);
    }
    refuses(&["--tls-cert", "c"], 2, &["--tls-cert needs its private key: add --tls-key"]);
    refuses(&["--tls-key", "k"], 2, &["--tls-key needs its certificate: add --tls-cert"]);
    let both = ["--tls-cert", "c", "--tls-key", "k", "--tls-self-signed"];
    refuses(&both, 2, &["--tls-cert and --tls-self-signed exclude each other"]);
    let both = ["--tls-self-signed", "--insecure-http"];
    refuses(&both, 2, &["--tls-self-signed and --insecure-http exclude each other"]);
    let alone = ["--tls-name", "scheduler.example"];
    refuses(&alone, 2, &["--tls-name is for the certificate of --tls-self-signed"]);
    let list = ["--management-certificates", "c"];
    refuses(&list, 2, &["--management-certificates needs TLS, in which clients present them"]);
    let both = [&list[..], &["--tls-self-signed", "--no-auth"]].concat();
    refuses(&both, 2, &["--management-certificates and --no-auth exclude each other"]);
    let both = ["--allow-private-targets", "--public-targets-only"];
    refuses(&both, 2, &["--allow-private-targets and --public-targets-only exclude each other"]);
}

#[test]
fn what_a_database_and_a_data_directory_need_is_told_apart() {
    let key = ["--database", "postgres://u@127.0.0.1:1/d", "--key-file", "k", "--no-auth"];
    for flag in [
        &["--data", "d"][..],
        &["--memory"],
        &["--sync", "full"],
        &["--accept-copy"],
        &["--archive", "."],
        &["--tls-self-signed"],
        &["--clock-start", "2027-01-01"],
        &["--clock-rate", "60"],
    ] {
        let error = format!("--database and {} exclude each other", flag[0]);
        refuses(&[&key[..], flag].concat(), 2, &[&error]);
    }
    for flag in [
        &["--database-pooler", "none"][..],
        &["--database-direct", "postgres://u@h/d"],
        &["--key-file", "k"],
        &["--no-migrate"],
    ] {
        let error = format!("{} is for a database: add --database", flag[0]);
        refuses(&[&["--memory"], flag].concat(), 2, &[&error]);
    }
    refuses(
        &["--database", "postgres://u@h/d"],
        2,
        &["a database needs the key that seals secrets", "need a token that all of them accept"],
    );
    let direct = ["--database-pooler", "none", "--database-direct", "postgres://u@h/d"];
    let error = "--database-direct and --database-pooler none exclude each other";
    refuses(&[&key[..], &direct].concat(), 2, &[error]);
    for (url, error) in [
        ("mysql://h/d", "--database: the address of the database is not valid: it does not begin"),
        ("postgres:///d", "it names no host"),
        ("postgres://h/d?sslmode=maybe", "sslmode"),
    ] {
        refuses(&["--database", url, "--key-file", "k", "--no-auth"], 2, &[error]);
    }
    refuses(&key, 1, &["k does not exist"]);
}

#[test]
fn an_invalid_token_from_the_environment_is_refused() {
    for bad in [&b"two words"[..], b"\xff"] {
        let mut command = command();
        command.arg("--memory").env("MINUTEHAND_TOKEN", OsStr::from_bytes(bad));
        let output = command.output_in_time();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("error: MINUTEHAND_TOKEN is not a valid token"), "{said}");
    }
}

#[test]
fn an_address_that_other_machines_reach_needs_tls_and_tokens() {
    let clear = "tokens would be sent unencrypted";
    refuses(&["--listen", "0.0.0.0:0"], 2, &[clear]);
    refuses(&["--listen", "[::]:0"], 2, &[clear]);
    let open = "--no-auth would give everyone who can reach 0.0.0.0:0 full access";
    let arguments = ["--listen", "0.0.0.0:0", "--no-auth", "--insecure-http"];
    refuses(&arguments, 2, &[open]);
    refuses(&["--listen", "0.0.0.0:0", "--no-auth"], 2, &[open, clear]);
}

#[test]
fn all_problems_are_reported_at_once() {
    let arguments = ["--memory", "--data", "d", "--token", "t", "--no-auth", "--tls-key", "k"];
    let errors =
        ["--memory and --data", "--token and --no-auth", "--tls-key needs its certificate"];
    refuses(&arguments, 2, &errors);
}

#[test]
fn an_invalid_value_is_refused() {
    for (flag, value, error) in [
        ("--listen", "7070", "give an IP address and a port"),
        ("--clock-rate", "0", "a rate is a number from 0.1 to 100000"),
        ("--clock-rate", "1e9", "a rate is a number from 0.1 to 100000"),
        ("--clock-start", "tomorrow", "--clock-start"),
        ("--roles", "api,dispatcher", "dispatcher"),
        ("--roles", "", "--roles"),
        ("--drain", "71", "71"),
        ("--tls-name", "two words", "give a host name or an IP address"),
        ("--plan-limits", "maybe", "maybe"),
        ("--log-level", "loud", "loud"),
        ("--sync", "often", "often"),
    ] {
        refuses(&[flag, value], 2, &[error]);
    }
}

#[test]
fn a_start_that_fails_says_why() {
    refuses(&["--memory", "--token-file", "none"], 1, &["cannot read none"]);
    refuses(
        &["--memory", "--tls-cert", "c", "--tls-key", "k"],
        1,
        &["cannot read certificates in c"],
    );
    let with_list = ["--memory", "--tls-self-signed", "--management-certificates"];
    refuses(&[&with_list[..], &["none"]].concat(), 1, &["cannot read none"]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "# the build\n\n37F61B86 s1\n").unwrap();
    let with_list = [&with_list[..], &[file.to_str().unwrap()]].concat();
    refuses(&with_list, 1, &["file: line 3: it does not begin with a thumbprint"]);
    fs::write(&file, "").unwrap();
    refuses(&["--data", file.to_str().unwrap()], 1, &["is not a directory: give one with --data"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = refuses(
        &["--memory", "--no-auth", "--listen", &address],
        1,
        &[&format!("cannot listen on {address}: ")],
    );
    assert!(said.contains("stop it, or try --listen with another one"), "{said}");
}

#[test]
fn a_port_in_use_stops_the_start_before_anything_is_written() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let dir = tempfile::tempdir().unwrap();
    let mut command = command();
    command.args(["--listen", &address, "--data"]).arg(dir.path().join("data"));
    let output = command.output_in_time();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{said}");
    assert!(said.contains("another program uses the port: stop it, or try --listen"), "{said}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing was created");
}

#[test]
fn a_directory_with_files_of_others_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.txt"), "").unwrap();
    let said = refusal(dir.path());
    assert!(
        said.contains("it contains other files, such as thesis.txt: choose an empty"),
        "{said}"
    );
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing was created");
}

#[test]
fn a_start_that_fails_late_does_not_look_like_damage() {
    let dir = tempfile::tempdir().unwrap();
    Server::open(dir.path()).stop().is_clean();
    for arguments in [&["--token-file", "none"][..], &["--tls-cert", "none", "--tls-key", "none"]] {
        let mut command = command();
        command.args(["--listen", "127.0.0.1:0", "--data"]).arg(dir.path());
        let output = command.args(arguments).output_in_time();
        assert_eq!(output.status.code(), Some(1));
    }
    Server::open(dir.path()).stop().is_clean();
}

#[test]
fn a_misspelt_command_or_flag_is_answered_with_the_right_one() {
    let said = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_minutehand"));
        let output = command.args(arguments).output_in_time();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let commands = said(&["start"]);
    assert!(
        commands.contains(
            "tip: the commands are serve, demo, preview, schema, backup, archive, installation"
        ),
        "{commands}"
    );
    let port = said(&["serve", "--port", "8080"]);
    assert!(
        port.contains("tip: the port is a part of --listen, like --listen 127.0.0.1:"),
        "{port}"
    );
}

#[test]
fn the_short_help_is_short_and_neither_is_wider_than_a_terminal() {
    let help = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_minutehand"));
        let output = command.args(arguments).env("COLUMNS", "80").output_in_time();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    for command in ["serve", "preview", "backup", "health"] {
        let (short, long) = (help(&[command, "-h"]), help(&[command, "--help"]));
        assert!(short.lines().count() < long.lines().count(), "{command}: {short}");
        assert!(!short.contains("Exit codes") && long.contains("Example"), "{command}: {short}");
        for line in short.lines().chain(long.lines()) {
            assert!(line.chars().count() <= 80, "{command}: {line}");
        }
    }
    assert!(help(&["serve", "-h"]).lines().count() <= 80);
}

#[test]
fn a_damaged_database_is_reported_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    Server::open(dir.path()).stop().is_clean();
    fs::write(
        dir.path().join("minutehand.db"),
        "not a database, but long enough for a header".repeat(99),
    )
    .unwrap();
    let said = refusal(dir.path());
    assert!(
        said.contains("minutehand.db is damaged, or not a database: restore the data"),
        "{said}"
    );
    assert!(!said.contains("encryption"), "{said}");
}

/// The error of a server that cannot open this directory.
fn refusal(data: &Path) -> String {
    let mut command = command();
    command.args(["--no-auth", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    let output = command.output_in_time();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_store_opens_only_with_its_own_key() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::open(dir.path());
    server.must("PUT", "/jc", "{}");
    server.must("PUT", "/jc/jobs/j", &job("p"));
    server.stop().is_clean();
    Server::open(other.path()).stop().is_clean();

    let key = dir.path().join("key");
    let ours = fs::read_to_string(&key).unwrap();
    fs::set_permissions(&key, Permissions::from_mode(0o640)).unwrap();
    let said = refusal(dir.path());
    assert!(said.contains("is accessible to other users (mode 0640): run `chmod 600 "), "{said}");

    fs::remove_file(&key).unwrap();
    let said = refusal(dir.path());
    assert!(said.contains("is missing, and without it the secrets"), "{said}");

    fs::copy(other.path().join("key"), &key).unwrap();
    let said = refusal(dir.path());
    assert!(said.contains("is not the key that sealed the secrets in this directory"), "{said}");

    // Without the check, the stored secrets show it.
    let check = dir.path().join("key.check");
    let checked = fs::read(&check).unwrap();
    fs::remove_file(&check).unwrap();
    let said = refusal(dir.path());
    assert!(said.contains("is not the key that sealed the secrets in this directory"), "{said}");
    assert!(!check.exists());
    fs::write(&check, checked).unwrap();
    fs::set_permissions(&check, Permissions::from_mode(0o600)).unwrap();

    for damaged in ["", "beef", &ours.replace(|_: char| true, "g")] {
        fs::write(&key, damaged).unwrap();
        let said = refusal(dir.path());
        assert!(said.contains("does not contain a key of 64 hexadecimal digits"), "{said}");
        assert!(said.contains("delete this file and start once with --forget-secrets"), "{said}");
        assert!(!said.contains(ours.trim()), "{said}");
    }

    fs::write(&key, ours).unwrap();
    // A temporary file that a crash left is replaced.
    fs::write(dir.path().join("key.check.new"), "half").unwrap();
    fs::remove_file(dir.path().join("key.check")).unwrap();
    let server = Server::open(dir.path());
    server.must("PATCH", "/jc/jobs/j", r#"{"properties":{"startTime":"2051-01-01"}}"#);
    server.stop().is_clean();
    assert!(!dir.path().join("key.check.new").exists());
}

#[test]
fn a_directory_and_a_database_that_all_users_can_access_are_mended() {
    let dir = tempfile::tempdir().unwrap();
    Server::open(dir.path()).stop().is_clean();
    for (name, mode) in [("", 0o777), ("minutehand.db", 0o666)] {
        fs::set_permissions(dir.path().join(name), Permissions::from_mode(mode)).unwrap();
    }
    let ended = Server::open(dir.path()).stop();
    ended.is_clean();
    assert_eq!(
        ended.log.matches("was accessible to all users (mode 0").count(),
        2,
        "{}",
        ended.log
    );
    for (name, expected) in [("", 0o770), ("minutehand.db", 0o660)] {
        let mode = fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, expected, "{name}");
    }
}

#[test]
fn a_token_file_that_other_users_can_read_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    Server::start(["--data".as_ref(), dir.path().as_os_str()]).stop().is_clean();
    fs::set_permissions(dir.path().join("token"), Permissions::from_mode(0o604)).unwrap();
    let mut command = command();
    let output =
        command.args(["--listen", "127.0.0.1:0", "--data"]).arg(dir.path()).output_in_time();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("token is accessible to other users (mode 0604)"), "{said}");
}
