//! Requests that fail without an answer.

use std::time::Duration;

use minutehand_actions::{ActionSettings, Roots, SendLimits};
use minutehand_domain::action::{HttpRequest, Target};
use minutehand_ports::ActionSender as _;
use tokio::io::AsyncReadExt as _;

use crate::authority::Authority;
use crate::sender::{actions, context, failed, get, post, send, settings, succeeded, with};
use crate::server::{Reply, Server, ok};

/// A port on which no server listens.
async fn closed_port() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().port()
}

#[tokio::test]
async fn an_unresolved_name_has_the_recorded_message() {
    let message = failed(send(&actions(), get("http://www.bing1111.com/")).await);
    assert_eq!(
        message,
        "Http Action - Request to host 'www.bing1111.com' failed: NameResolutionFailure The remote \
         name could not be resolved: 'www.bing1111.com'"
    );
}

#[tokio::test]
async fn a_closed_port_has_the_recorded_message() {
    for scheme in ["http", "https"] {
        let uri = format!("{scheme}://127.0.0.1:{}/", closed_port().await);
        let message = failed(send(&actions(), get(uri)).await);
        assert_eq!(
            message,
            "Http Action - Request to host '127.0.0.1' failed: ConnectFailure Unable to connect to \
             the remote server"
        );
    }
}

fn short_timeout() -> ActionSettings {
    let total = Duration::from_millis(300);
    ActionSettings { limits: SendLimits { total, ..SendLimits::DEFAULT }, ..settings() }
}

#[tokio::test]
async fn a_slow_server_times_out() {
    let expected = "Http Action - Request to host '127.0.0.1' failed: Timeout The operation has \
                    timed out; the limit is 0.3 seconds.";
    for start in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"] {
        let server = Server::start(move |_| Reply::Stall(start.to_owned())).await;
        let message = failed(send(&with(&short_timeout()), get(server.url("/"))).await);
        assert_eq!(message, expected);
    }
}

#[tokio::test]
async fn the_time_limit_covers_all_redirects() {
    // The first three answers are redirects without delay. The last one never comes.
    let server = Server::start(|seen| match seen.path() {
        "/3" => Reply::Stall(String::new()),
        path => {
            let n: u32 = path.trim_start_matches('/').parse().unwrap();
            crate::server::redirect("302 Found", &format!("/{}", n + 1))
        }
    })
    .await;
    let message = failed(send(&with(&short_timeout()), get(server.url("/0"))).await);
    assert!(message.contains("failed: Timeout "), "{message}");
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn a_slow_handshake_is_a_failure_to_connect() {
    // The listener accepts TCP connections, but never begins the TLS handshake.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("https://{}/", listener.local_addr().unwrap());
    let limits = SendLimits { connect: Duration::from_millis(200), ..settings().limits };
    let actions = with(&ActionSettings { limits, ..settings() });
    let message = failed(send(&actions, get(uri)).await);
    assert!(
        message.ends_with("ConnectFailure Unable to connect to the remote server"),
        "{message}"
    );
}

#[tokio::test]
async fn an_incomplete_answer_is_a_closed_connection() {
    for start in [
        "",
        "HTTP/1.1 200 OK\r\nContent-",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nha",
    ] {
        let server = Server::start(move |_| Reply::Close(start.to_owned())).await;
        let message = failed(send(&actions(), get(server.url("/"))).await);
        assert_eq!(
            message,
            "Http Action - Request to host '127.0.0.1' failed: ConnectionClosed The underlying \
             connection was closed: The connection was closed unexpectedly.",
            "{start:?}"
        );
    }
}

#[tokio::test]
async fn a_reset_connection_is_a_failure_to_receive() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4_096]).await;
        // Without lingering, closing the socket sends a reset.
        stream.set_zero_linger().unwrap();
    });
    let message = failed(send(&actions(), get(uri)).await);
    assert_eq!(
        message,
        "Http Action - Request to host '127.0.0.1' failed: ReceiveFailure The underlying connection \
         was closed: An unexpected error occurred on a receive."
    );
}

#[tokio::test]
async fn a_request_that_may_have_arrived_is_not_repeated() {
    let server = Server::start(|_| Reply::Close(String::new())).await;
    failed(send(&actions(), post(server.url("/"), "once")).await);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn an_answer_that_is_not_http_is_a_protocol_violation() {
    for answer in ["220 smtp.example ESMTP\r\n", "HTTP/1.1 abc\r\n\r\n"] {
        let server = Server::start(move |_| Reply::Stall(answer.to_owned())).await;
        let message = failed(send(&actions(), get(server.url("/"))).await);
        assert_eq!(
            message,
            "Http Action - Request to host '127.0.0.1' failed: ServerProtocolViolation The server \
             committed a protocol violation."
        );
    }
}

#[tokio::test]
async fn interim_answers_without_end_are_a_protocol_error() {
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let endless = Server::start(move |_| Reply::Endless(String::new(), early.repeat(100))).await;
    let message = failed(send(&actions(), get(endless.url("/"))).await);
    assert_eq!(
        message,
        "Http Action - Request to host '127.0.0.1' failed: ProtocolError The server sent more than \
         32 interim answers (1xx)."
    );
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let actions = actions();
    for n in [32, 33, 100] {
        let burst =
            Server::start(move |_| Reply::Keep(format!("{}{answer}", early.repeat(n)))).await;
        let pieces = move || (0..n).map(|_| early).chain([answer]).map(str::to_owned).collect();
        let slow = Server::start(move |_| Reply::Pieces(pieces())).await;
        for server in [burst, slow] {
            // The number is counted for each request, not for each connection.
            for _ in 0..3 {
                let outcome = send(&actions, get(server.url("/"))).await;
                if n == 32 {
                    succeeded(outcome);
                } else {
                    assert!(failed(outcome).contains("more than 32 interim answers"), "{n}");
                }
            }
            if n == 32 {
                assert_eq!(server.n_connections(), 1);
            }
        }
    }
}

#[tokio::test]
async fn an_attempt_without_files_for_it_is_not_made() {
    let actions = actions();
    let send = |uri: String| {
        let (actions, target) = (&actions, Target::Http(get(uri)));
        async move { actions.send(&target, &context()).await }
    };
    let not_made = send("http://out-of-files.test/".to_owned()).await.unwrap_err();
    assert_eq!(not_made.to_string(), "an action could not begin: out of open files");
    // After a request was sent, the attempt was made.
    let server =
        Server::start(|_| crate::server::redirect("302 Found", "http://out-of-files.test/")).await;
    let message = failed(send(server.url("/")).await.unwrap());
    assert_eq!(
        message,
        "Http Action - Request to host 'out-of-files.test' failed: InternalError This scheduler is \
         out of open files, so no connection could be opened."
    );
}

#[tokio::test]
async fn a_port_without_tls_is_a_failed_handshake() {
    let server = Server::start(|_| ok("")).await;
    let uri = server.url_by("https", "target.test", "/");
    let message = failed(send(&actions(), get(uri)).await);
    let start = "Http Action - Request to host 'target.test' failed: SecureChannelFailure The \
                 request was aborted: Could not create SSL/TLS secure channel. ";
    assert!(message.starts_with(start), "{message}");
}

#[tokio::test]
async fn an_invalid_server_certificate_names_the_reason() {
    let (trusted, other) = (Authority::new("trusted"), Authority::new("other"));
    let roots = Roots { system: false, extra_pem: trusted.pem() };
    let actions = with(&ActionSettings { roots, ..settings() });
    for (config, reason) in [
        (trusted.server("target.test", 2021), "The certificate has expired."),
        (trusted.server("other.test", 2100), "The certificate is for another name."),
        (
            other.server("target.test", 2100),
            "The certificate is of an authority that is not trusted here.",
        ),
    ] {
        let server = Server::start_tls(config, |_| ok("")).await;
        let uri = server.url_by("https", "target.test", "/");
        let message = failed(send(&actions, get(uri)).await);
        assert_eq!(
            message,
            format!(
                "Http Action - Request to host 'target.test' failed: TrustFailure The underlying \
                 connection was closed: Could not establish trust relationship for the SSL/TLS \
                 secure channel. {reason}"
            )
        );
        assert_eq!(server.seen().len(), 0);
    }
}

#[tokio::test]
async fn without_any_authority_https_fails_with_the_reason() {
    let authority = Authority::new("trusted");
    let server = Server::start_tls(authority.server("target.test", 2100), |_| ok("")).await;
    let uri = server.url_by("https", "target.test", "/");
    let message = failed(send(&actions(), get(uri)).await);
    assert!(message.ends_with(" No certificate authority is trusted here."), "{message}");
}

#[tokio::test]
async fn additional_authorities_are_trusted_beside_those_of_the_system() {
    let authority = Authority::new("trusted");
    let server = Server::start_tls(authority.server("target.test", 2100), |_| ok("")).await;
    let uri = server.url_by("https", "target.test", "/");
    let with_roots = |extra_pem| {
        with(&ActionSettings { roots: Roots { system: true, extra_pem }, ..settings() })
    };
    // The test's authority is not one of the machine's.
    let message = failed(send(&with_roots(String::new()), get(uri.clone())).await);
    assert!(message.contains("failed: TrustFailure "), "{message}");
    succeeded(send(&with_roots(authority.pem()), get(uri)).await);
}

#[test]
fn the_default_time_limit_is_a_minute() {
    let settings = ActionSettings::new(minutehand_actions::TargetPolicy::PublicOnly);
    assert_eq!(settings.limits.total, Duration::from_mins(1));
}

#[tokio::test]
async fn an_invalid_stored_request_is_a_failure() {
    // The API refuses such requests, but the executor does not rely on that.
    for request in [
        get("not a url"),
        HttpRequest { method: "A B".to_owned(), ..get("http://target.test/") },
        HttpRequest {
            headers: Some(crate::sender::headers(&[("a b", "c")])),
            ..get("http://target.test/")
        },
    ] {
        let message = failed(send(&actions(), request).await);
        assert!(message.contains("failed: RequestCanceled The stored request is not"), "{message}");
    }
}
