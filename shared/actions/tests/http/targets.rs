//! Allowed and forbidden addresses.

use minutehand_actions::{ActionSettings, Actions, TargetPolicy};

use crate::sender::{Names, actions, failed, get, send, settings, succeeded};
use crate::server::{Server, ok, redirect};

fn public_only() -> Actions {
    let settings = ActionSettings { targets: TargetPolicy::PublicOnly, ..settings() };
    Actions::with_resolver(&settings, names()).unwrap()
}

fn allow_private() -> Actions {
    Actions::with_resolver(&settings(), names()).unwrap()
}

fn names() -> std::sync::Arc<Names> {
    Names::new([
        ("loopback.test", &["127.0.0.1"]),
        ("mapped.test", &["::ffff:127.0.0.1"]),
        ("private.test", &["10.1.2.3", "192.168.0.1"]),
        ("metadata.test", &["169.254.169.254"]),
        ("mixed.test", &["169.254.169.254", "127.0.0.1"]),
        ("empty.test", &[]),
    ])
}

#[tokio::test]
async fn private_addresses_are_refused_in_every_notation() {
    let server = Server::start(|_| ok("")).await;
    let actions = public_only();
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0x7f.0.0.1.",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "loopback.test",
        "LOOPBACK.test",
        "mapped.test",
    ] {
        let message = failed(send(&actions, get(server.url_by("http", host, "/"))).await);
        assert!(message.contains(" failed: RequestCanceled The target '"), "{host}: {message}");
        assert!(message.contains("--allow-private-targets"), "{host}: {message}");
    }
    assert_eq!(server.n_connections(), 0);
}

#[tokio::test]
async fn a_refusal_names_the_address_the_rule_and_the_flag() {
    let message = failed(send(&public_only(), get("http://private.test/")).await);
    assert_eq!(
        message,
        "Http Action - Request to host 'private.test' failed: RequestCanceled The target \
         'private.test' is not allowed: 10.1.2.3 is private (10.0.0.0/8), and only public addresses \
         are targets here; --allow-private-targets changes that, and Targets=private on AWS."
    );
    let message = failed(send(&allow_private(), get("http://metadata.test/")).await);
    assert_eq!(
        message,
        "Http Action - Request to host 'metadata.test' failed: RequestCanceled The target \
         'metadata.test' is not allowed: 169.254.169.254 is link-local (169.254.0.0/16), which is \
         never a target; give the job another address."
    );
}

#[tokio::test]
async fn metadata_addresses_are_refused_even_if_private_ones_are_allowed() {
    let actions = allow_private();
    for host in
        ["169.254.169.254", "2852039166", "[fe80::1]", "[fd00:ec2::254]", "[::ffff:a9fe:a9fe]"]
    {
        let message = failed(send(&actions, get(format!("http://{host}/"))).await);
        assert!(
            message.ends_with("which is never a target; give the job another address."),
            "{message}"
        );
    }
}

#[tokio::test]
async fn only_the_allowed_addresses_of_a_name_are_tried() {
    let server = Server::start(|_| ok("")).await;
    let uri = server.url_by("http", "mixed.test", "/");
    succeeded(send(&allow_private(), get(uri.clone())).await);
    let message = failed(send(&public_only(), get(uri)).await);
    assert!(message.contains("169.254.169.254 is link-local"), "{message}");
}

#[tokio::test]
async fn a_name_without_addresses_is_unresolved() {
    let message = failed(send(&allow_private(), get("http://empty.test/")).await);
    assert!(message.contains("failed: NameResolutionFailure "), "{message}");
}

#[tokio::test]
async fn every_redirect_is_checked() {
    for location in ["http://169.254.169.254/latest", "http://metadata.test/latest", "//[fe80::1]/"]
    {
        let server = Server::start(move |_| redirect("302 Found", location)).await;
        let message = failed(send(&allow_private(), get(server.url("/"))).await);
        assert!(
            message.ends_with("which is never a target; give the job another address."),
            "{message}"
        );
    }
}

#[tokio::test]
async fn the_default_resolver_is_the_operating_system() {
    let server = Server::start(|_| ok("")).await;
    let uri = server.url_by("http", "localhost", "/");
    succeeded(send(&Actions::new(&settings()).unwrap(), get(uri.clone())).await);
    let public = ActionSettings { targets: TargetPolicy::PublicOnly, ..settings() };
    let message = failed(send(&Actions::new(&public).unwrap(), get(uri)).await);
    assert!(message.contains(" is loopback ("), "{message}");
}

#[tokio::test]
async fn ipv6_addresses_are_reached() {
    let server = Server::start_at("[::1]:0", None, |_| ok("six")).await;
    let message = succeeded(send(&actions(), get(server.url("/"))).await);
    assert!(message.starts_with("Http Action - Response from host '[::1]': 'OK' "), "{message}");
    assert_eq!(server.only().header("host"), Some(server.address.to_string()));
}
