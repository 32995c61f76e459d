//! The way to a server: proxies, and names that are no path.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use crate::world::{World, at_home, run, words};

/// A proxy that gives one answer to every request, and tells the heads of the requests.
fn proxy(answer: &'static str) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (asked, heads) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 8192];
            // The requests of these tests fit into one read.
            let length = stream.read(&mut head).unwrap();
            let _ = asked.send(String::from_utf8_lossy(&head[..length]).into_owned());
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (url, heads)
}

const EMPTY_LIST: &str = "HTTP/1.1 200 OK\r\nContent-Length: 28\r\nConnection: close\r\n\r\n{\"value\":[],\"nextLink\":null}";
const FORBIDDEN: &str = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

#[test]
fn the_proxy_of_the_environment_is_asked() {
    let home = tempfile::tempdir().unwrap();
    let (url, heads) = proxy(EMPTY_LIST);
    let list = |server: &str, variables: &[(&str, &str)]| {
        let line = words(&format!("collection list --json --server {server}"));
        let mut command = at_home(home.path());
        command.envs(variables.iter().copied()).env("MINUTEHAND_TOKEN", "t0ken");
        run(command.args(line), "")
    };
    for variable in ["HTTP_PROXY", "http_proxy"] {
        let ended = list("http://server.invalid", &[(variable, &url)]);
        assert_eq!(ended.code, Some(0), "{variable}: {ended:?}");
        let head = heads.try_recv().unwrap();
        assert!(head.starts_with("GET http://server.invalid/subscriptions/me/"), "{head}");
        assert!(head.contains("authorization: Bearer t0ken"), "{head}");
    }
    let around = [("HTTP_PROXY", url.as_str()), ("NO_PROXY", "other.example,server.invalid")];
    assert_eq!(list("http://server.invalid", &around).code, Some(1));
    assert!(heads.try_recv().is_err(), "the proxy was asked");
}

#[test]
fn a_proxy_that_opens_no_connection_is_named_with_the_way_around_it() {
    let home = tempfile::tempdir().unwrap();
    let (url, heads) = proxy(FORBIDDEN);
    let mut command = at_home(home.path());
    command.env("HTTPS_PROXY", &url).env("MINUTEHAND_TOKEN", "t0ken");
    let ended = run(command.args(words("collection list --server https://server.invalid")), "");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("NO_PROXY=HOST goes around the proxy"), "{ended:?}");
    let head = heads.try_recv().unwrap();
    assert!(head.starts_with("CONNECT server.invalid:443 HTTP/1.1\r\n"), "{head}");
    assert!(!head.contains("t0ken"), "the token is for the server only: {head}");
}

#[test]
fn a_server_on_this_machine_is_asked_without_a_proxy() {
    let world = World::new();
    let (url, heads) = proxy(FORBIDDEN);
    let mut command = world.command();
    let ended = run(command.env("HTTP_PROXY", url).args(words("collection list")), "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(heads.try_recv().is_err(), "the proxy was asked");
}

#[test]
fn a_name_that_a_url_resolves_reaches_nothing_else() {
    let world = World::new();
    world.must("job create a --every 1h --url http://127.0.0.1:1/");
    for line in ["job delete default/.. --yes", "job show default/.", "collection show .."] {
        let ended = world.run(line);
        assert_eq!(ended.code, Some(2), "{line}: {ended:?}");
        assert!(ended.err.contains("may be '.' or '..'"), "{line}: {ended:?}");
    }
    world.must("job show a");
}
