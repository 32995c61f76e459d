//! TLS to the database, as `sslmode` asks for it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use minutehand_store_sql::postgres::{PgAddress, PgDatabase, PgError, PgOptions};
use minutehand_testkit::postgres::PostgresServer;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// Makes an authority, another one, and a certificate of the first for `localhost`. Returns the settings of a server.
fn certificates(dir: &Path) -> Vec<String> {
    let authority = || {
        let mut of = CertificateParams::default();
        of.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(of, KeyPair::generate().unwrap()).unwrap()
    };
    let (ours, other) = (authority(), authority());
    let key = KeyPair::generate().unwrap();
    let of = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = of.signed_by(&key, &ours).unwrap();
    for (name, text) in [
        ("ours.pem", ours.pem()),
        ("other.pem", other.pem()),
        ("server.pem", certificate.pem()),
        ("server.key", key.serialize_pem()),
    ] {
        fs::write(dir.join(name), text).unwrap();
    }
    let key = dir.join("server.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let file = dir.join("server.pem");
    vec![
        "ssl=on".to_owned(),
        format!("ssl_cert_file={}", file.display()),
        format!("ssl_key_file={}", key.display()),
    ]
}

#[tokio::test]
async fn sslmode_checks_what_it_checks_in_libpq() {
    let files = tempfile::tempdir().unwrap();
    let made = |dir: &Path| {
        let settings = certificates(dir);
        for name in ["ours.pem", "other.pem"] {
            fs::copy(dir.join(name), files.path().join(name)).unwrap();
        }
        settings
    };
    let Some(server) = PostgresServer::start_with(made) else { return };
    let of = |name: &str| format!("&sslrootcert={}", files.path().join(name).display());
    let (ours, other) = (of("ours.pem"), of("other.pem"));
    for (host, mode, authorities, works) in [
        ("localhost", "disable", "", true),
        ("localhost", "allow", "", true),
        ("localhost", "prefer", "", true),
        ("localhost", "require", "", true),
        ("localhost", "require", ours.as_str(), true),
        ("localhost", "require", other.as_str(), false),
        ("127.0.0.1", "verify-ca", ours.as_str(), true),
        ("127.0.0.1", "verify-ca", other.as_str(), false),
        ("localhost", "verify-full", ours.as_str(), true),
        ("127.0.0.1", "verify-full", ours.as_str(), false),
        ("localhost", "verify-full", "", false),
    ] {
        let address = format!("{}?sslmode={mode}{authorities}", server.address(host));
        let connected =
            PgDatabase::connect(PgAddress::read(&address).unwrap(), PgOptions::default()).await;
        match connected {
            Ok(_) => assert!(works, "{address}"),
            Err(error) => {
                assert!(!works && matches!(error, PgError::Connect(_)), "{address}: {error:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_server_without_tls_is_used_only_if_the_mode_allows_it() {
    let Some(server) = PostgresServer::start() else { return };
    for (mode, works) in [
        ("disable", true),
        ("allow", true),
        ("prefer", true),
        ("require", false),
        ("verify-full", false),
    ] {
        let address = format!("{}?sslmode={mode}", server.address("127.0.0.1"));
        let connected =
            PgDatabase::connect(PgAddress::read(&address).unwrap(), PgOptions::default()).await;
        assert_eq!(connected.is_ok(), works, "{mode}");
    }
}
