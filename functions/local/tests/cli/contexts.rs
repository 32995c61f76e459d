//! Contexts: a token is kept for its server, in files that only their owner can read.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::world::{Server, World, at_home, run, words};

const TOKEN: &str = "a-token-of-the-test";

fn server() -> (Server, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    (Server::start(["--memory", "--token", TOKEN]), home)
}

#[test]
fn a_login_keeps_the_token_for_its_owner_and_its_server() {
    let (server, home) = server();
    let mine = |line: &str, input: &str| run(at_home(home.path()).args(words(line)), input);
    let url = &server.url;

    let refused = mine(&format!("login prod --server {url} --token-file -"), "wrong\n");
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(!home.path().join(".config").exists(), "nothing is kept of a token that is refused");

    let line = format!("login prod --server {url} --token-file - --collection ops");
    let kept = mine(&line, &format!("{TOKEN}\n"));
    assert_eq!(kept.code, Some(0), "{kept:?}");
    let dir = home.path().join(".config/minutehand");
    for file in ["config.toml", "tokens/prod"] {
        let mode = fs::metadata(dir.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    assert!(!fs::read_to_string(dir.join("config.toml")).unwrap().contains(TOKEN));

    assert_eq!(mine("collection list", "").code, Some(0));
    let none = mine("job list", "");
    assert!(none.err.contains("'ops'"), "the collection of the context: {none:?}");
    let listed = mine("context list", "");
    assert_eq!(listed.out, format!("prod\tcurrent\tops\t{url}\n"));
    let shown = mine("context show", "");
    assert!(shown.out.starts_with("prod  current\nserver       http://127.0.0.1:"), "{shown:?}");
    assert!(shown.out.contains("/.config/minutehand/tokens/prod\n"), "{shown:?}");
    assert!(!shown.out.contains(TOKEN), "{shown:?}");
    assert_eq!(mine("context show nosuch", "").code, Some(2));

    // Another server does not get the token.
    let elsewhere = World::new();
    let other = mine(&format!("collection list --server {}", elsewhere.url()), "");
    assert_eq!(other.code, Some(0), "{other:?}");
    let other = Server::start(["--memory", "--token", TOKEN]);
    assert_eq!(mine(&format!("collection list --server {}", other.url), "").code, Some(4));

    fs::set_permissions(dir.join("tokens/prod"), fs::Permissions::from_mode(0o640)).unwrap();
    let open = mine("collection list", "");
    assert_eq!(open.code, Some(2));
    assert!(open.err.contains("is accessible to other users (mode 0640)"), "{open:?}");
    assert!(open.err.contains("chmod 600"), "{open:?}");

    assert_eq!(mine("logout", "").code, Some(0));
    assert_eq!(mine("collection list", "").code, Some(4));
    assert_eq!(mine("context remove prod", "").code, Some(0));
    assert_eq!(mine("context list", "").out, "");
}

#[test]
fn a_token_comes_from_the_environment_or_a_command() {
    let (server, home) = server();
    let line = words(&format!("collection list --server {}", server.url));
    assert_eq!(run(at_home(home.path()).args(&line), "").code, Some(4));
    let mut with_token = at_home(home.path());
    assert_eq!(run(with_token.args(&line).env("MINUTEHAND_TOKEN", TOKEN), "").code, Some(0));

    let mine = |line: &str| run(at_home(home.path()).args(words(line)), "");
    let add = format!("context add b --server {} --token-command 'echo {TOKEN}'", server.url);
    assert_eq!(mine(&add).code, Some(0));
    assert_eq!(mine("collection list").code, Some(0));
    let add = format!("context add c --server {} --token-command false", server.url);
    assert_eq!(mine(&add).code, Some(0));
    let failed = mine("collection list --context c");
    assert_eq!(failed.code, Some(1));
    assert!(failed.err.contains("the token command of context 'c' gave no token"), "{failed:?}");
}

#[test]
fn the_token_of_the_server_in_this_directory_is_found() {
    let (server, home) = server();
    let dir = home.path().join(".minutehand");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("token"), TOKEN).unwrap();
    fs::set_permissions(dir.join("token"), fs::Permissions::from_mode(0o600)).unwrap();
    let line = words(&format!("collection list --server {}", server.url));
    assert_eq!(run(at_home(home.path()).args(&line), "").code, Some(0));
}

#[test]
fn a_server_with_tls_is_reached_with_its_certificate_only() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let server =
        Server::start(["--no-auth", "--tls-self-signed", "--data", data.to_str().unwrap()]);
    let ask = |more: &str| {
        let line = format!("collection list --server {} {more}", server.url);
        run(at_home(home.path()).args(words(&line)), "")
    };
    let unknown = ask("");
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(unknown.err.contains("certificate"), "{unknown:?}");
    assert_eq!(ask("--ca data/tls-cert.pem").code, Some(0));
    let junk = ask("--ca data/missing.pem");
    assert!(junk.code == Some(2) && junk.err.contains("cannot read certificates in"), "{junk:?}");
}
