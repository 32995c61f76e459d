//! `kill -9` during writes, repeatedly.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::client::Request;
use crate::server::{Server, job, versioned};

const ROUNDS: usize = 10;
const WRITERS: usize = 4;
/// The number of answered writes after which a round kills the server.
const WRITES: usize = 25;

/// The answered writes: for each job the HTTP method of its last version, or `None` if it was deleted.
type Known = BTreeMap<String, Option<String>>;

#[test]
fn every_answered_write_survives_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let known = Mutex::new(Known::new());
    // Writes without an answer may have happened or not.
    let open = Mutex::new(BTreeMap::<String, Vec<Option<String>>>::new());
    for round in 0..ROUNDS {
        let server = Server::open(dir.path());
        if round == 0 {
            server.must("PUT", "/jc", r#"{"properties":{"sku":{"name":"P20Premium"}}}"#);
        }
        check(&server, &known.lock().unwrap(), &open.lock().unwrap());
        let (is_killed, answered) = (AtomicBool::new(false), Mutex::new(0));
        let enough = std::sync::Condvar::new();
        std::thread::scope(|scope| {
            let address = server.address;
            let (is_killed, answered, enough) = (&is_killed, &answered, &enough);
            let (known, open) = (&known, &open);
            for writer in 0..WRITERS {
                scope.spawn(move || {
                    for n in 0.. {
                        let name = format!("r{round}w{writer}n{}", n / 3);
                        if !change(address, &name, n % 3, known, open) {
                            break;
                        }
                        *answered.lock().unwrap() += 1;
                        enough.notify_one();
                    }
                    assert!(is_killed.load(Ordering::SeqCst), "a request failed before the kill");
                });
            }
            let count = answered.lock().unwrap();
            drop(enough.wait_while(count, |count| *count < WRITES).unwrap());
            is_killed.store(true, Ordering::SeqCst);
            server.signal("KILL");
        });
        server.wait();
    }
    let server = Server::open(dir.path());
    check(&server, &known.lock().unwrap(), &open.lock().unwrap());
    server.stop().is_clean();
}

/// Puts, patches or deletes a job; false if there was no answer.
fn change(
    server: SocketAddr,
    name: &str,
    step: usize,
    known: &Mutex<Known>,
    open: &Mutex<BTreeMap<String, Vec<Option<String>>>>,
) -> bool {
    let other = r#"{"properties":{"action":{"request":{"method":"POST"}}}}"#.to_owned();
    let (method, body, after) = match step {
        0 => ("PUT", job("p"), Some("GET".to_owned())),
        1 => ("PATCH", other, Some("POST".to_owned())),
        // Every other job is kept.
        _ if name.ends_with(['0', '2', '4', '6', '8']) => ("DELETE", String::new(), None),
        _ => return true,
    };
    let before = known.lock().unwrap().get(name).cloned().flatten();
    open.lock().unwrap().insert(name.to_owned(), vec![before, after.clone()]);
    let path = &versioned(&format!("/jc/jobs/{name}"));
    let Ok(answer) = (Request { method, path, token: None, body: &body }).send(server) else {
        return false;
    };
    assert!((200..300).contains(&answer.status), "{method} {name}: {answer:?}");
    open.lock().unwrap().remove(name);
    known.lock().unwrap().insert(name.to_owned(), after);
    true
}

/// Compares the list with the answered writes, and the collection's job count with the list.
fn check(server: &Server, known: &Known, open: &BTreeMap<String, Vec<Option<String>>>) {
    let list = server.must("GET", "/jc/jobs", "").json();
    assert!(list["nextLink"].is_null(), "the test has fewer jobs than a page");
    let listed: BTreeMap<String, String> = list["value"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| {
            let name = job["name"].as_str().unwrap().strip_prefix("jc/").unwrap().to_owned();
            (name, job["properties"]["action"]["request"]["method"].as_str().unwrap().to_owned())
        })
        .collect();
    for name in listed.keys().chain(known.keys()) {
        let found = listed.get(name).cloned();
        match open.get(name) {
            Some(either) => assert!(either.contains(&found), "{name}: {found:?} of {either:?}"),
            None => assert_eq!(known.get(name), Some(&found), "{name}"),
        }
        let status = server.ask("GET", &format!("/jc/jobs/{name}"), "").status;
        assert_eq!(status == 200, found.is_some(), "{name}: {status}");
    }
    let count = listed.len();
    if count > 1 {
        // A quota must not be lower than the number of jobs in the collection.
        let quota = |max| json!({"properties": {"quota": {"maxJobCount": max}}}).to_string();
        assert_eq!(server.ask("PATCH", "/jc", &quota(count - 1)).status, 409);
        server.must("PATCH", "/jc", &quota(count));
        server.must("PATCH", "/jc", r#"{"properties":{"quota":null}}"#);
    }
}
