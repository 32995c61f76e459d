//! Authentication by tokens.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use minutehand_testkit::InTime as _;

use crate::client::Request;
use crate::server::{Server, command, versioned};

/// The SHA-256 of `first` and of `second`.
const FIRST: &str = "a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e";
const SECOND: &str = "16367aacb67a4a017c8da8ab95682ccb390863780f7114dda0a0e0c55644c7c4";

#[test]
fn a_token_is_created_at_the_first_start_printed_once_and_saved() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let start = || Server::start(["--data".as_ref(), data.as_os_str()]);
    let server = start();
    let token = server.token.clone().expect("the token is printed");
    let console = |server: &Server| format!("console: http://{}/console/", server.address);
    let link = format!("{}#token={token}", console(&server));
    assert!(server.notes.contains(&link), "{:?}", server.notes);
    assert_eq!(server.status_with(Some(&token)), 200);
    let without =
        Request { method: "GET", path: &versioned(""), token: None, body: "" }.send(server.address);
    let without = without.unwrap();
    assert_eq!((without.status, without.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(server.status_with(Some("other")), 401);
    for open in ["/healthz", "/openapi.json"] {
        assert_eq!(server.send("GET", open, "").status, 200);
    }
    let page = Request { method: "GET", path: "/console/", token: None, body: "" };
    let page = page.send(server.address).unwrap();
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let ended = server.stop();
    ended.is_clean();
    assert!(!ended.log.contains(&token));

    let kept = data.join("token");
    assert_eq!(fs::read_to_string(&kept).unwrap().trim(), token);
    for name in ["token", "key", "key.check", "minutehand.db"] {
        let mode = fs::metadata(data.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let again = start();
    assert_eq!(again.token, None);
    let kept = format!("the token is in {}", kept.canonicalize().unwrap().display());
    assert!(again.notes.contains(&kept), "{:?}", again.notes);
    assert!(again.notes.contains(&console(&again)), "{:?}", again.notes);
    assert_eq!(again.status_with(Some(&token)), 200);
    again.stop().is_clean();
}

#[test]
fn a_token_can_be_an_argument_or_come_from_the_environment() {
    let server = Server::start(["--memory", "--token", "first"]);
    assert_eq!(server.token, None, "a given token is not printed");
    assert_eq!([Some("first"), Some("second")].map(|token| server.status_with(token)), [200, 401]);
    server.stop().is_clean();

    let mut command = command();
    command.args(["--memory", "--listen", "127.0.0.1:0"]).env("MINUTEHAND_TOKEN", "second");
    let server = Server::spawn(command);
    assert_eq!([Some("first"), Some("second")].map(|token| server.status_with(token)), [401, 200]);
    server.stop().is_clean();
}

#[test]
fn a_created_token_reaches_its_collections_and_is_named_in_the_journal() {
    let made = Command::new(env!("CARGO_BIN_EXE_minutehand"))
        .args(["token", "create", "--collections", "mine-*", "--name", "shop"])
        .output_in_time();
    let made = String::from_utf8(made.stdout).unwrap();
    let field = |name: &str| made.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tokens");
    put(&file, field("line: "));
    let server = Server::start(["--memory", "--token-file", file.to_str().unwrap()]);
    let send = |method, path: &str, body| {
        let token = Some(field("token: "));
        Request { method, path, token, body }.send(server.address).unwrap()
    };
    assert_eq!(send("PUT", &versioned("/mine-a"), "{}").status, 201);
    assert_eq!(send("PUT", &versioned("/other"), "{}").status, 403);
    assert_eq!(send("GET", "/metrics", "").status, 403);
    let journal = versioned("/mine-a").replace("/providers/Microsoft.Scheduler", "");
    let journal = journal.split('?').next().unwrap();
    let journal = send("GET", &format!("/minutehand/v1{journal}/journal"), "");
    assert!(journal.status == 200 && journal.body.contains(r#""who":"shop""#), "{}", journal.body);
    server.stop().is_clean();
}

/// Replaces a file atomically, so that the server never reads half of it.
fn put(file: &Path, content: &str) {
    let draft = file.with_extension("draft");
    fs::write(&draft, content).unwrap();
    fs::rename(&draft, file).unwrap();
}

#[test]
fn a_changed_token_file_is_reloaded_without_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tokens");
    put(&file, &format!("# who\n{FIRST} # until the spring\n\n"));
    let file_text = file.to_str().unwrap();
    let mut server = Server::start(["--memory", "--token-file", file_text]);
    let statuses = |server: &Server| ["first", "second"].map(|one| server.status_with(Some(one)));
    assert_eq!(statuses(&server), [200, 401]);

    put(&file, &format!("{FIRST}\n{}\n", SECOND.to_uppercase()));
    server.wait_for("token file reloaded");
    assert_eq!(statuses(&server), [200, 200]);
    put(&file, SECOND);
    server.wait_for("token file reloaded");
    assert_eq!(statuses(&server), [401, 200]);

    // An invalid file changes nothing: the previous token stays valid.
    for bad in ["", "# none\n", "first\n", &format!("{FIRST}\n{SECOND}0\n")] {
        put(&file, bad);
        server.wait_for("token file is invalid; keeping the previous tokens");
        assert_eq!(statuses(&server), [401, 200], "{bad}");
    }
    fs::remove_file(&file).unwrap();
    server.wait_for("token file is invalid; keeping the previous tokens");
    assert_eq!(statuses(&server), [401, 200]);
    put(&file, FIRST);
    server.wait_for("token file reloaded");
    assert_eq!(statuses(&server), [200, 401]);
    let ended = server.stop();
    ended.is_clean();
    assert_eq!(
        ended.log.matches("token file is invalid").count(),
        5,
        "each is logged once: {}",
        ended.log
    );
}
