//! TLS with self-signed certificates and with the user's own.

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, KeyPair};

use crate::client::{Answer, Request};
use crate::server::{Server, versioned};

fn self_signed(data: &Path) -> Server {
    let server = ["--no-auth", "--tls-self-signed", "--data"].map(AsRef::as_ref);
    Server::start(server.into_iter().chain([data.as_os_str()]))
}

/// The certificate's path and fingerprint from the start-up lines.
fn certificate(server: &Server) -> (PathBuf, String) {
    let note = server.notes.iter().find_map(|line| line.strip_prefix("certificate: ")).unwrap();
    let (path, fingerprint) = note.split_once(" (SHA-256 ").unwrap();
    (path.into(), fingerprint.trim_end_matches(')').to_owned())
}

fn health(server: &Server, name: &str, certificate: &Path) -> std::io::Result<Answer> {
    Request { method: "GET", path: "/healthz", token: None, body: "" }.send_tls(
        server.address,
        name,
        certificate,
    )
}

#[test]
fn a_self_signed_certificate_covers_the_address_and_localhost_and_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let server = self_signed(dir.path());
    assert_eq!(server.notes.last().unwrap(), &format!("listening on https://{}", server.address));
    let (path, fingerprint) = certificate(&server);
    assert_eq!(path, dir.path().canonicalize().unwrap().join("tls-cert.pem"));
    assert_eq!((fingerprint.len(), fingerprint.matches(':').count()), (95, 31));
    for name in ["127.0.0.1", "localhost", "::1"] {
        assert_eq!(health(&server, name, &path).unwrap().status, 200, "{name}");
    }
    assert!(health(&server, "example.org", &path).is_err());
    // Both requests must succeed over TLS.
    for n in 0..2 {
        let put = versioned(&format!("/jc{n}"));
        Request { method: "PUT", path: &put, token: None, body: "{}" }
            .send_tls(server.address, "localhost", &path)
            .unwrap();
    }
    server.stop().is_clean();

    let again = self_signed(dir.path());
    assert_eq!(certificate(&again), (path.clone(), fingerprint.clone()));
    assert_eq!(health(&again, "localhost", &path).unwrap().status, 200);
    again.stop().is_clean();

    // A crash left only one of the two files.
    fs::remove_file(&path).unwrap();
    let anew = self_signed(dir.path());
    assert_ne!(certificate(&anew).1, fingerprint);
    assert_eq!(health(&anew, "localhost", &path).unwrap().status, 200);
    anew.stop().is_clean();
}

#[test]
fn in_memory_the_certificate_is_a_temporary_file() {
    let server = Server::start(["--no-auth", "--memory", "--tls-self-signed"]);
    let (path, _) = certificate(&server);
    assert_eq!(health(&server, "127.0.0.1", &path).unwrap().status, 200);
    let files = fs::read_dir(path.parent().unwrap()).unwrap();
    assert_eq!(files.count(), 1, "the key is not written");
    server.stop().is_clean();
    assert!(!path.parent().unwrap().exists());
}

#[test]
fn the_users_certificate_is_presented() {
    let dir = tempfile::tempdir().unwrap();
    let key = KeyPair::generate().unwrap();
    let names = ["scheduler.example".to_owned()];
    let made = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    let (cert, private) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    fs::write(&cert, made.pem()).unwrap();
    fs::write(&private, key.serialize_pem()).unwrap();
    let server = Server::start([
        "--no-auth",
        "--memory",
        "--tls-cert",
        cert.to_str().unwrap(),
        "--tls-key",
        private.to_str().unwrap(),
    ]);
    assert_eq!(health(&server, "scheduler.example", &cert).unwrap().status, 200);
    assert!(health(&server, "localhost", &cert).is_err());
    server.stop().is_clean();
}

#[test]
fn a_certificate_that_changes_is_reloaded_without_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (cert, private) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    let replace = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let made = CertificateParams::new([name.to_owned()]).unwrap().self_signed(&key).unwrap();
        for (path, text) in [(&cert, made.pem()), (&private, key.serialize_pem())] {
            let draft = path.with_extension("draft");
            fs::write(&draft, text).unwrap();
            fs::rename(&draft, path).unwrap();
        }
    };
    replace("first.example");
    let (cert_path, key_path) = (cert.to_str().unwrap(), private.to_str().unwrap());
    let files = ["--tls-cert", cert_path, "--tls-key", key_path];
    let mut server = Server::start(["--no-auth", "--memory"].into_iter().chain(files));
    assert_eq!(health(&server, "first.example", &cert).unwrap().status, 200);
    let first = dir.path().join("first.pem");
    fs::copy(&cert, &first).unwrap();

    // A key that does not belong to the certificate changes nothing, and is logged once.
    fs::write(&private, KeyPair::generate().unwrap().serialize_pem()).unwrap();
    server.wait_for("certificate is invalid; keeping the previous one");
    assert_eq!(health(&server, "first.example", &first).unwrap().status, 200);

    replace("second.example");
    server.wait_for("certificate reloaded");
    assert_eq!(health(&server, "second.example", &cert).unwrap().status, 200);
    assert!(health(&server, "first.example", &first).is_err());
    let ended = server.stop();
    ended.is_clean();
    assert_eq!(ended.log.matches("certificate is invalid").count(), 1, "{}", ended.log);
}

#[test]
fn a_self_signed_certificate_has_the_names_that_clients_use() {
    let dir = tempfile::tempdir().unwrap();
    let start = |names: &[&str]| {
        let mut arguments = vec!["--no-auth", "--tls-self-signed"];
        arguments.extend(names.iter().flat_map(|name| ["--tls-name", name]));
        let data = dir.path().to_str().unwrap();
        Server::start(arguments.into_iter().chain(["--data", data]))
    };
    let server = start(&["Scheduler.example", "10.0.0.5"]);
    let (path, fingerprint) = certificate(&server);
    for name in ["scheduler.example", "10.0.0.5", "localhost", "127.0.0.1"] {
        assert_eq!(health(&server, name, &path).unwrap().status, 200, "{name}");
    }
    server.stop().is_clean();
    // Fewer names are covered by the same certificate, another one is not.
    let server = start(&["10.0.0.5"]);
    assert_eq!(certificate(&server).1, fingerprint);
    server.stop().is_clean();
    let server = start(&["other.example"]);
    assert_ne!(certificate(&server).1, fingerprint);
    assert_eq!(health(&server, "other.example", &path).unwrap().status, 200);
    server.stop().is_clean();
}

#[test]
fn clients_without_a_tls_handshake_do_not_block_others() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = self_signed(dir.path());
    let silent: Vec<TcpStream> =
        (0..20).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    let path = certificate(&server).0;
    assert_eq!(health(&server, "localhost", &path).unwrap().status, 200);
    // A client without TLS does not block others, either, and is told what to do.
    let clear = Request { method: "PUT", path: "/healthz", token: Some("t"), body: "{}" };
    let answer = clear.send(server.address).unwrap();
    assert_eq!(answer.status, 400, "{answer:?}");
    assert_eq!(answer.json()["error"]["message"], "This port uses TLS; use https://.");
    server.wait_for("request without TLS refused: clients have to use https");
    server.stop().is_clean();
    for mut stream in silent {
        assert!(matches!(stream.read(&mut [0; 8]), Ok(0) | Err(_)));
    }
}
