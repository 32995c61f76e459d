//! Reuse of connections.

use crate::sender::{actions, failed, get, post, send, succeeded};
use crate::server::{Reply, Seen, Server, ok, reply};

#[tokio::test]
async fn a_connection_serves_many_requests() {
    // Successes, failures, the first requests of redirects, and long bodies that are still read to
    // their end.
    let server = Server::start(|seen| match seen.path() {
        "/long" => ok(&"x".repeat(30_000)),
        "/sorry" => reply("500 Sorry", "", "sorry"),
        "/moved" => crate::server::redirect("302 Found", "/"),
        _ => ok("short"),
    })
    .await;
    let actions = actions();
    for _ in 0..5 {
        succeeded(send(&actions, get(server.url("/"))).await);
        succeeded(send(&actions, post(server.url("/long"), "body")).await);
        succeeded(send(&actions, get(server.url("/moved"))).await);
        failed(send(&actions, get(server.url("/sorry"))).await);
    }
    let after_redirects = |seen: &Seen| seen.connection != 0;
    assert_eq!(server.seen().iter().filter(|seen| after_redirects(seen)).count(), 5);
    assert_eq!(server.n_connections(), 1 + 5);
    assert_eq!(server.seen().len(), 25);
}

#[tokio::test]
async fn a_connection_is_closed_if_the_body_is_too_long() {
    let server = Server::start(|_| ok(&"x".repeat(1_000_000))).await;
    let actions = actions();
    for _ in 0..2 {
        succeeded(send(&actions, get(server.url("/"))).await);
    }
    assert_eq!(server.n_connections(), 2);
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_not_used_again() {
    let server =
        Server::start(|_| Reply::Close("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned()))
            .await;
    let actions = actions();
    for _ in 0..20 {
        succeeded(send(&actions, get(server.url("/"))).await);
    }
    assert_eq!(server.seen().len(), 20);
}

#[tokio::test]
async fn concurrent_requests_share_idle_connections() {
    const IN_FLIGHT: usize = 32;
    let server = Server::start(|_| ok("")).await;
    let actions = std::sync::Arc::new(actions());
    let tasks: Vec<_> = (0..IN_FLIGHT)
        .map(|_| {
            let (actions, uri) = (std::sync::Arc::clone(&actions), server.url("/"));
            tokio::spawn(async move {
                for _ in 0..20 {
                    succeeded(send(&actions, get(uri.clone())).await);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(server.seen().len(), IN_FLIGHT * 20);
    // A request that finds no idle connection dials, but uses one that becomes idle before. Some
    // connections are therefore dialled without need.
    assert!(server.n_connections() <= 2 * IN_FLIGHT, "{}", server.n_connections());
}
