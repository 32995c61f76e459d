//! The classic API with client certificates.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use minutehand_domain::ids;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::client::ResolvesClientCert;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ALL_VERSIONS, ClientConfig, SignatureScheme};
use sha2::{Digest, Sha256};

use crate::client::{Answer, Request, exchange_tls, tls};
use crate::server::{Server, versioned};

const SERVICES: &str = "/s/cloudservices";
/// A certificate of 2014, from Microsoft's `makecert`, with its password.
const MAKECERT: (&[u8], &str) =
    (include_bytes!("../../../../shared/pfx/tests/fixtures/makecert.p12"), "minutehand");
/// Its SHA-1.
const MAKECERT_SHA1: &str = "37F61B86F8DFF522706ECC29A8651A3C8D73FA35";

/// A certificate and a key, which need not be its own.
#[derive(Debug, Clone)]
struct Identity {
    certificate: CertificateDer<'static>,
    key: Arc<PrivateKeyDer<'static>>,
}

impl Identity {
    /// One that signs itself, and is valid in these years.
    fn new(key: &KeyPair, years: (i32, i32)) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.not_before = date_time_ymd(years.0, 1, 1);
        params.not_after = date_time_ymd(years.1, 1, 1);
        let certificate = params.self_signed(key).unwrap().der().clone();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        Self { certificate, key: Arc::new(key) }
    }

    fn valid() -> Self {
        Self::new(&KeyPair::generate().unwrap(), (2001, 2090))
    }

    fn makecert() -> Self {
        let opened = minutehand_pfx::open(MAKECERT.0, MAKECERT.1).unwrap();
        let key = PrivateKeyDer::try_from(opened.key.pkcs8_der().to_vec()).unwrap();
        Self { certificate: opened.chain[0].clone().into(), key: Arc::new(key) }
    }

    fn sha256(&self) -> String {
        ids::hex(&Sha256::digest(&self.certificate))
    }
}

impl ResolvesClientCert for Identity {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let key = any_supported_type(&self.key).unwrap();
        Some(Arc::new(CertifiedKey::new(vec![self.certificate.clone()], key)))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// A server with a list of certificates.
struct Listed {
    server: Server,
    list: PathBuf,
    certificate: PathBuf,
    _dir: tempfile::TempDir,
}

impl Listed {
    fn start(list: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("certificates");
        fs::write(&path, list).unwrap();
        let arguments = ["--memory", "--token", "t", "--tls-self-signed"];
        let list = ["--management-certificates", path.to_str().unwrap()];
        let server = Server::start(arguments.into_iter().chain(list));
        let note = server.notes.iter().find_map(|line| line.strip_prefix("certificate: "));
        let certificate = note.unwrap().split(" (").next().unwrap().into();
        Self { server, list: path, certificate, _dir: dir }
    }

    /// Replaces the list atomically, and waits until the log has a text.
    fn replace(&mut self, list: &str, logged: &str) {
        let draft = self.list.with_extension("draft");
        fs::write(&draft, list).unwrap();
        fs::rename(&draft, &self.list).unwrap();
        self.server.wait_for(logged);
    }

    fn get(
        &self,
        path: &str,
        token: Option<&str>,
        own: Option<&Identity>,
    ) -> std::io::Result<Answer> {
        let config = tls(&self.certificate, ALL_VERSIONS);
        let config = match own {
            Some(own) => config.with_client_cert_resolver(Arc::new(own.clone())),
            None => config.with_no_client_auth(),
        };
        self.exchange(config, path, token)
    }

    fn exchange(
        &self,
        config: ClientConfig,
        path: &str,
        token: Option<&str>,
    ) -> std::io::Result<Answer> {
        let request = Request { method: "GET", path, token, body: "" }.text();
        let request = request.replacen("\r\n", "\r\nx-ms-version: 2013-03-01\r\n", 1);
        exchange_tls(config, self.server.address, "localhost", &request)
    }

    /// The status of a request with a certificate.
    fn status(&self, own: &Identity) -> u16 {
        self.get(SERVICES, None, Some(own)).unwrap().status
    }
}

#[test]
fn a_listed_certificate_or_a_token_opens_the_classic_api() {
    let own = Identity::valid();
    let listed = Listed::start(&format!("# the build\n{}\n", own.sha256()));
    assert_eq!(listed.status(&own), 200);
    assert_eq!(listed.get(SERVICES, Some("t"), None).unwrap().status, 200);
    assert_eq!(listed.get(SERVICES, Some("t"), Some(&Identity::valid())).unwrap().status, 200);
    let none = listed.get(SERVICES, None, None).unwrap();
    assert_eq!(none.status, 403);
    assert!(none.body.contains("<Code>AuthenticationFailed</Code>"), "{}", none.body);
    // The later API needs a token, as before, and clients without a certificate reach it.
    assert_eq!(listed.get(&versioned(""), None, Some(&own)).unwrap().status, 401);
    assert_eq!(listed.get(&versioned(""), Some("t"), None).unwrap().status, 200);
    listed.server.stop().is_clean();
}

#[test]
fn certificates_that_are_unknown_or_out_of_date_or_of_another_subscription_are_refused() {
    let (other, elsewhere) = (Identity::valid(), Identity::valid());
    let [old, early] = [(2001, 2002), (2089, 2090)]
        .map(|years| Identity::new(&KeyPair::generate().unwrap(), years));
    let lines = [old.sha256(), early.sha256(), format!("{} other", elsewhere.sha256())];
    let listed = Listed::start(&lines.join("\n"));
    for (own, why) in [
        (&other, "is not among the management certificates."),
        (&old, "has expired: it was valid until 2002-01-01T00:00:00Z."),
        (&early, "is not valid before 2089-01-01T00:00:00Z."),
        (&elsewhere, "does not open this subscription."),
    ] {
        let refused = listed.get(SERVICES, None, Some(own)).unwrap();
        assert_eq!(refused.status, 403);
        assert!(refused.body.contains(why), "{}", refused.body);
    }
    let open = listed.get("/other/cloudservices", None, Some(&elsewhere)).unwrap();
    assert_eq!(open.status, 200);
    listed.server.stop().is_clean();
}

#[test]
fn a_certificate_without_its_key_opens_nothing() {
    let own = Identity::valid();
    let mut listed = Listed::start(&own.sha256());
    let thief = Identity { key: Identity::valid().key, ..own.clone() };
    for version in [&TLS12, &TLS13] {
        let config = tls(&listed.certificate, &[version]);
        let config = config.with_client_cert_resolver(Arc::new(thief.clone()));
        assert!(listed.exchange(config, SERVICES, None).is_err());
        listed.server.wait_for("client certificate refused");
    }
    // What is not a certificate at all.
    let nonsense = Identity { certificate: vec![0x30, 0x00].into(), ..own.clone() };
    assert!(listed.get(SERVICES, None, Some(&nonsense)).is_err());
    listed.server.wait_for("client certificate refused");
    assert_eq!(listed.status(&own), 200);
    listed.server.stop().is_clean();
}

#[test]
fn certificates_of_the_time_work_in_both_versions_of_tls() {
    let rsa = Identity::makecert();
    let ec = Identity::valid();
    let listed = Listed::start(&format!("{MAKECERT_SHA1} s\n{}", ec.sha256()));
    for version in [&TLS12, &TLS13] {
        for own in [&rsa, &ec] {
            let config = tls(&listed.certificate, &[version]);
            let config = config.with_client_cert_resolver(Arc::new(own.clone()));
            assert_eq!(listed.exchange(config, SERVICES, None).unwrap().status, 200, "{version:?}");
        }
    }
    listed.server.stop().is_clean();
}

#[test]
fn a_list_that_changes_is_read_again_and_one_that_is_invalid_is_not_used() {
    let (first, second) = (Identity::valid(), Identity::valid());
    let mut listed = Listed::start(&first.sha256());
    let statuses = |listed: &Listed| [&first, &second].map(|own| listed.status(own));
    assert_eq!(statuses(&listed), [200, 403]);
    let (reloaded, invalid) =
        ("file of management certificates reloaded", "keeping the previous ones");
    listed.replace(&second.sha256(), reloaded);
    assert_eq!(statuses(&listed), [403, 200]);
    listed.replace(&format!("{}\nnonsense", first.sha256()), invalid);
    assert_eq!(statuses(&listed), [403, 200]);
    fs::remove_file(&listed.list).unwrap();
    listed.server.wait_for(invalid);
    assert_eq!(statuses(&listed), [403, 200]);
    // The last one is taken away by a file without any.
    listed.replace("# none any more\n", reloaded);
    assert_eq!(statuses(&listed), [403, 403]);
    let ended = listed.server.stop();
    ended.is_clean();
    assert!(ended.log.contains("line 2: it does not begin with a thumbprint"), "{}", ended.log);
}
