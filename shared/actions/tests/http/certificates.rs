//! Client certificates.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::action::{Authentication, ClientCertificate, HttpRequest};
use domain::secret::Secret;
use minutehand_actions::{ActionSettings, Actions, Roots};
use rustls::pki_types::CertificateDer;

use crate::authority::Authority;
use crate::sender::{failed, get, send, settings, succeeded, with};
use crate::server::{Server, ok, redirect};

const EC: &[u8] = include_bytes!("../../../pfx/tests/fixtures/ec-new.p12");
const RSA: &[u8] = include_bytes!("../../../pfx/tests/fixtures/rsa-old.p12");

fn by(file: &[u8], password: &str) -> Authentication {
    Authentication::ClientCertificate(ClientCertificate {
        pfx: Secret::new(STANDARD.encode(file)),
        password: Secret::new(password),
        certificate: None,
    })
}

fn certificate(file: &[u8]) -> CertificateDer<'static> {
    pfx::open(file, "minutehand").unwrap().chain.remove(0).into()
}

fn trusting(authority: &Authority) -> Actions {
    let roots = Roots { system: false, extra_pem: authority.pem() };
    with(&ActionSettings { roots, ..settings() })
}

#[tokio::test]
async fn a_client_certificate_is_shown_and_its_connections_are_its_own() {
    let authority = Authority::new("trusted");
    let actions = trusting(&authority);
    for file in [EC, RSA] {
        let config = authority.server_for("target.test", certificate(file));
        let server = Server::start_tls(config, |_| ok("welcome")).await;
        let uri = server.url_by("https", "target.test", "/");
        let request =
            HttpRequest { authentication: Some(by(file, "minutehand")), ..get(uri.clone()) };
        for _ in 0..3 {
            succeeded(send(&actions, request.clone()).await);
        }
        assert_eq!(server.n_connections(), 1);
        let seen = server.seen();
        assert!(seen.iter().all(|seen| seen.peer.as_deref() == Some(&*certificate(file))));
        // Whoever has none does not come in on the connection of whoever has.
        let message = failed(send(&actions, get(uri)).await);
        assert!(message.contains("failed: SecureChannelFailure "), "{message}");
        assert_eq!(server.seen().len(), 3);
    }
}

#[tokio::test]
async fn a_certificate_that_the_server_does_not_know_is_told() {
    let authority = Authority::new("trusted");
    let config = authority.server_for("target.test", certificate(EC));
    let server = Server::start_tls(config, |_| ok("")).await;
    let uri = server.url_by("https", "target.test", "/");
    let request = HttpRequest { authentication: Some(by(RSA, "minutehand")), ..get(uri) };
    let message = failed(send(&trusting(&authority), request).await);
    assert!(message.contains("failed: SecureChannelFailure "), "{message}");
}

#[tokio::test]
async fn a_certificate_goes_to_no_other_origin() {
    let authority = Authority::new("trusted");
    let config = authority.server("elsewhere.test", 2100);
    let elsewhere = Server::start_tls(config, |_| ok("")).await;
    let there = elsewhere.url_by("https", "elsewhere.test", "/");
    let config = authority.server_for("target.test", certificate(EC));
    let server = Server::start_tls(config, move |_| redirect("307 Again", &there)).await;
    let uri = server.url_by("https", "target.test", "/");
    let request = HttpRequest { authentication: Some(by(EC, "minutehand")), ..get(uri) };
    succeeded(send(&trusting(&authority), request).await);
    assert_eq!(elsewhere.only().peer, None);
}

#[tokio::test]
async fn a_certificate_that_does_not_open_is_told_without_its_password() {
    let uri = "https://target.test:1/";
    for (authentication, reason) in [
        (by(EC, "hunter22"), "the password does not open the file"),
        (by(b"nothing", "hunter22"), "the file is not PKCS#12"),
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
async fn over_http_there_is_nothing_to_show_it_in() {
    let server = Server::start(|_| ok("")).await;
    let request =
        HttpRequest { authentication: Some(by(EC, "minutehand")), ..get(server.url("/")) };
    succeeded(send(&with(&settings()), request).await);
}
