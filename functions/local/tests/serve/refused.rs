//! What is refused at the start: everything that is wrong, each with what to change.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::server::{Server, command, job};

/// How a start with these arguments ends that does not get far.
#[track_caller]
fn refuses(arguments: &[&str], code: i32, errors: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let output = command().args(arguments).current_dir(dir.path()).output().unwrap();
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
}

#[test]
fn arguments_that_do_not_go_together_are_refused() {
    refuses(&["--memory", "--data", "d"], 2, &["--memory and --data exclude each other"]);
    refuses(&["--memory", "--sync", "full"], 2, &["--memory and --sync exclude each other"]);
    for other in [&["--token-file", "f"][..], &["--no-auth"]] {
        let arguments = [&["--token", "t"], other].concat();
        let error = format!("--token and {} exclude each other", other[0]);
        refuses(&arguments, 2, &[&error]);
    }
    refuses(&["--token", ""], 2, &["--token holds no token"]);
    refuses(&["--token", "two words"], 2, &["--token holds no token"]);
    for url in ["login", "ftp://login", "https://"] {
        refuses(&["--oauth-authority", url], 2, &["give an http or https URL"]);
    }
    refuses(&["--tls-cert", "c"], 2, &["--tls-cert needs its private key: add --tls-key"]);
    refuses(&["--tls-key", "k"], 2, &["--tls-key needs its certificate: add --tls-cert"]);
    let both = ["--tls-cert", "c", "--tls-key", "k", "--tls-self-signed"];
    refuses(&both, 2, &["--tls-cert and --tls-self-signed exclude each other"]);
    let both = ["--tls-self-signed", "--insecure-http"];
    refuses(&both, 2, &["--tls-self-signed and --insecure-http exclude each other"]);
    let both = ["--allow-private-targets", "--public-targets-only"];
    refuses(&both, 2, &["--allow-private-targets and --public-targets-only exclude each other"]);
}

#[test]
fn a_token_from_the_environment_is_looked_at_like_one_that_is_an_argument() {
    for bad in [&b""[..], b"two words", b"\xff"] {
        let mut command = command();
        command.arg("--memory").env("MINUTEHAND_TOKEN", OsStr::from_bytes(bad));
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("error: MINUTEHAND_TOKEN holds no token"), "{said}");
    }
}

#[test]
fn an_address_that_others_reach_needs_tls_and_tokens() {
    let clear = "tokens would go there in the clear";
    refuses(&["--listen", "0.0.0.0:0"], 2, &[clear]);
    refuses(&["--listen", "[::]:0"], 2, &[clear]);
    let open = "--no-auth would let everybody in who reaches 0.0.0.0:0";
    let arguments = ["--listen", "0.0.0.0:0", "--no-auth", "--insecure-http"];
    refuses(&arguments, 2, &[open]);
    refuses(&["--listen", "0.0.0.0:0", "--no-auth"], 2, &[open, clear]);
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let arguments = ["--memory", "--data", "d", "--token", "t", "--no-auth", "--tls-key", "k"];
    let errors =
        ["--memory and --data", "--token and --no-auth", "--tls-key needs its certificate"];
    refuses(&arguments, 2, &errors);
}

#[test]
fn a_value_that_is_none_is_refused() {
    for (flag, value, error) in [
        ("--listen", "7070", "give an IP address and a port"),
        ("--clock-rate", "0", "a rate is a number from 0.1 to 100000"),
        ("--clock-rate", "1e9", "a rate is a number from 0.1 to 100000"),
        ("--clock-start", "tomorrow", "--clock-start"),
        ("--roles", "api,dispatcher", "dispatcher"),
        ("--roles", "", "--roles"),
        ("--plan-limits", "maybe", "maybe"),
        ("--log-level", "loud", "loud"),
        ("--sync", "often", "often"),
    ] {
        refuses(&[flag, value], 2, &[error]);
    }
}

#[test]
fn a_start_that_cannot_be_made_says_why() {
    refuses(&["--memory", "--token-file", "none"], 1, &["cannot read none"]);
    refuses(
        &["--memory", "--tls-cert", "c", "--tls-key", "k"],
        1,
        &["cannot read certificates in c"],
    );
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = format!("cannot listen on {address}: ");
    refuses(&["--memory", "--no-auth", "--listen", &address], 1, &[&error]);
}

/// What a server says that does not open this directory.
fn refusal(data: &Path) -> String {
    let mut command = command();
    command.args(["--no-auth", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_store_opens_with_its_own_key_alone() {
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
    assert!(said.contains("is open to others than its owner (mode 0640): `chmod 600 "), "{said}");

    fs::remove_file(&key).unwrap();
    let said = refusal(dir.path());
    assert!(said.contains("is missing, and without it the secrets"), "{said}");

    fs::copy(other.path().join("key"), &key).unwrap();
    let said = refusal(dir.path());
    assert!(said.contains("is not the key with which secrets here were sealed"), "{said}");

    for damaged in ["", "beef", &ours.replace(|_: char| true, "g")] {
        fs::write(&key, damaged).unwrap();
        let said = refusal(dir.path());
        assert!(said.contains("holds no key, which is 64 hexadecimal digits"), "{said}");
        assert!(!said.contains(ours.trim()), "{said}");
    }

    fs::write(&key, ours).unwrap();
    // What a crash may leave beside it is in nobody's way.
    fs::write(dir.path().join("key.check.new"), "half").unwrap();
    fs::remove_file(dir.path().join("key.check")).unwrap();
    let server = Server::open(dir.path());
    server.must("PATCH", "/jc/jobs/j", r#"{"properties":{"startTime":"2051-01-01"}}"#);
    server.stop().is_clean();
    assert!(!dir.path().join("key.check.new").exists());
}

#[test]
fn a_token_that_others_may_read_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    Server::start(["--data".as_ref(), dir.path().as_os_str()]).stop().is_clean();
    fs::set_permissions(dir.path().join("token"), Permissions::from_mode(0o604)).unwrap();
    let mut command = command();
    let output = command.args(["--listen", "127.0.0.1:0", "--data"]).arg(dir.path()).output();
    let said = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(said.contains("token is open to others than its owner (mode 0604)"), "{said}");
}
