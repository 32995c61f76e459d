//! Calls to a server that answers as a test says: repetition, links, redirects, failures.

#![cfg(test)]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use minutehand_client::{
    Client, CollectionPath, Error, GroupPath, Limits, Method, Options, ServerUrl,
};
use zeroize::Zeroizing;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 62\r\n\r\n\
                    {\"error\":{\"code\":\"ServiceUnavailable\",\"message\":\"Try again.\"}}";

/// A server that gives one answer for each connection, and tells what it was asked. An empty answer
/// breaks the connection.
fn server(answers: Vec<String>) -> (Client, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (asked, requests) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = vec![0; 8192];
            // The requests of these tests fit into one read.
            let length = stream.read(&mut request).unwrap();
            asked.send(String::from_utf8_lossy(&request[..length]).into_owned()).unwrap();
            let answer = answer.replacen("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1);
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    let options = Options {
        token: Some(Zeroizing::new("t0ken".to_owned())),
        ca: None,
        limits: Limits::default(),
    };
    (Client::new(ServerUrl::parse(&url).unwrap(), &options).unwrap(), requests)
}

fn collection() -> CollectionPath {
    let place = GroupPath { subscription: "s".to_owned(), group: "g".to_owned() };
    CollectionPath { place, collection: "c".to_owned() }
}

#[tokio::test]
async fn a_server_that_asks_for_a_pause_is_asked_again() {
    let (client, requests) = server(vec![BUSY.to_owned(), BUSY.to_owned(), OK.to_owned()]);
    // A run is not a request that may be repeated, but nothing has been done yet.
    client.run_job(&collection().job("j"), None).await.unwrap();
    let asked: Vec<String> = requests.try_iter().collect();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert!(asked.iter().all(|request| request.contains("/jobs/j/run?api-version=")), "{asked:?}");
    assert!(asked.iter().all(|request| request.contains("authorization: Bearer t0ken")));
}

#[tokio::test]
async fn a_server_that_stays_busy_is_reported_as_it_answered() {
    let (client, _requests) = server(vec![BUSY.to_owned(); 4]);
    let error = client.job(&collection().job("j")).await.unwrap_err();
    assert_eq!(error.refusal().map(|refusal| refusal.status.as_u16()), Some(503), "{error}");
    assert_eq!(error.to_string(), "Try again.");
}

#[tokio::test]
async fn a_run_is_not_asked_for_twice_if_its_answer_is_lost() {
    let (client, requests) = server(vec![String::new(), OK.to_owned()]);
    let error = client.run_job(&collection().job("j"), None).await.unwrap_err();
    assert!(matches!(error, Error::Broken { .. }), "{error:?}");
    assert_eq!(requests.try_iter().count(), 1);
}

#[tokio::test]
async fn a_link_to_another_host_is_followed_here() {
    let body = r#"{"value":[],"nextLink":"http://elsewhere.invalid/next?x=1"}"#;
    let first = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let last = "HTTP/1.1 200 OK\r\nContent-Length: 28\r\n\r\n{\"value\":[],\"nextLink\":null}";
    let (client, requests) = server(vec![first, last.to_owned()]);
    let jobs = client.jobs(&collection(), None).up_to(10).await.unwrap();
    assert!(jobs.is_empty());
    assert!(requests.try_iter().nth(1).unwrap().starts_with("GET /next?x=1 HTTP/1.1\r\n"));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let redirect =
        "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.invalid/\r\nContent-Length: 0\r\n\r\n";
    let (client, _requests) = server(vec![redirect.to_owned()]);
    let error = client.call(Method::GET, "/healthz", None).await.unwrap_err();
    assert!(error.to_string().ends_with("it answered 302 Found"), "{error}");
}

#[tokio::test]
async fn a_server_that_does_not_run_is_not_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = Client::new(ServerUrl::parse(&url).unwrap(), &Options::default()).unwrap();
    let error = client.health().await.unwrap_err();
    assert!(matches!(error, Error::NotReached { .. }), "{error:?}");
    assert!(error.to_string().contains("Connection refused"), "{error}");
}

#[test]
fn a_token_that_is_no_header_is_refused_and_not_shown() {
    let url = ServerUrl::parse("http://127.0.0.1:1").unwrap();
    for token in ["", "a\nb"] {
        let token = Some(Zeroizing::new(token.to_owned()));
        let error = Client::new(url.clone(), &Options { token, ..Options::default() }).unwrap_err();
        assert!(matches!(error, Error::Setup(_)) && !error.to_string().contains('\n'), "{error:?}");
    }
    let token = Some(Zeroizing::new("s3cret".to_owned()));
    let options = Options { token, ..Options::default() };
    let client = Client::new(url, &options).unwrap();
    assert!(!format!("{client:?}{options:?}").contains("s3cret"));
}
