//! Client certificates.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minutehand_actions::{ActionSettings, Actions, Roots};
use minutehand_domain::action::{Authentication, ClientCertificate, HttpRequest};
use minutehand_domain::secret::Secret;
use rustls::pki_types::CertificateDer;

use crate::authority::Authority;
use crate::sender::{failed, get, send, settings, succeeded, with};
use crate::server::{Server, ok, redirect};

const EC: &[u8] = include_bytes!("../../../pfx/tests/fixtures/ec-new.p12");
const RSA: &[u8] = include_bytes!("../../../pfx/tests/fixtures/rsa-old.p12");

fn client_certificate(file: &[u8], password: &str) -> Authentication {
    Authentication::ClientCertificate(ClientCertificate {
        pfx: Secret::new(STANDARD.encode(file)),
        password: Secret::new(password),
        certificate: None,
    })
}

fn certificate(file: &[u8]) -> CertificateDer<'static> {
    minutehand_pfx::open(file, "minutehand").unwrap().chain.remove(0).into()
}

fn trusting(authority: &Authority) -> Actions {
    let roots = Roots { system: false, extra_pem: authority.pem() };
    with(&ActionSettings { roots, ..settings() })
}

#[tokio::test]
async fn connections_with_a_client_certificate_are_not_shared() {
    let authority = Authority::new("trusted");
    let actions = trusting(&authority);
    for file in [EC, RSA] {
        let config = authority.server_for("target.test", certificate(file));
        let server = Server::start_tls(config, |_| ok("welcome")).await;
        let uri = server.url_by("https", "target.test", "/");
        let request = HttpRequest {
            authentication: Some(client_certificate(file, "minutehand")),
            ..get(uri.clone())
        };
        for _ in 0..3 {
            succeeded(send(&actions, request.clone()).await);
        }
        assert_eq!(server.n_connections(), 1);
        let seen = server.seen();
        assert!(seen.iter().all(|seen| seen.peer.as_deref() == Some(&*certificate(file))));
        // A request without a certificate does not use the connection that has one.
        let message = failed(send(&actions, get(uri)).await);
        assert!(message.contains("failed: SecureChannelFailure "), "{message}");
        assert_eq!(server.seen().len(), 3);
    }
}

#[tokio::test]
async fn an_unknown_client_certificate_fails_the_handshake() {
    let authority = Authority::new("trusted");
    let config = authority.server_for("target.test", certificate(EC));
    let server = Server::start_tls(config, |_| ok("")).await;
    let uri = server.url_by("https", "target.test", "/");
    let request =
        HttpRequest { authentication: Some(client_certificate(RSA, "minutehand")), ..get(uri) };
    let message = failed(send(&trusting(&authority), request).await);
    assert!(message.contains("failed: SecureChannelFailure "), "{message}");
}

#[tokio::test]
async fn a_client_certificate_is_not_sent_to_another_origin() {
    let authority = Authority::new("trusted");
    let config = authority.server("elsewhere.test", 2100);
    let elsewhere = Server::start_tls(config, |_| ok("")).await;
    let there = elsewhere.url_by("https", "elsewhere.test", "/");
    let config = authority.server_for("target.test", certificate(EC));
    let server = Server::start_tls(config, move |_| redirect("307 Again", &there)).await;
    let uri = server.url_by("https", "target.test", "/");
    let request =
        HttpRequest { authentication: Some(client_certificate(EC, "minutehand")), ..get(uri) };
    succeeded(send(&trusting(&authority), request).await);
    assert_eq!(elsewhere.only().peer, None);
}

#[tokio::test]
async fn the_failure_to_open_a_certificate_does_not_reveal_its_password() {
    let uri = "https://target.test:1/";
    for (authentication, reason) in [
        (client_certificate(EC, "hunter22"), "the password does not open the file"),
        (client_certificate(b"nothing", "hunter22"), "the file is not PKCS#12"),
    ] {
        let request = HttpRequest { authentication: Some(authentication), ..get(uri) };
        let message = failed(send(&with(&settings()), request).await);
        let start = "Http Action - Request to host 'target.test' failed: RequestCanceled The client \
                     certificate cannot be used: ";
        assert!(message.starts_with(&format!("{start}{reason}")), "{message}");
        assert!(!message.contains("hunter22"), "{message}");
    }
}

#[tokio::test]
async fn over_http_the_certificate_is_not_used() {
    let server = Server::start(|_| ok("")).await;
    let request = HttpRequest {
        authentication: Some(client_certificate(EC, "minutehand")),
        ..get(server.url("/"))
    };
    succeeded(send(&with(&settings()), request).await);
}
