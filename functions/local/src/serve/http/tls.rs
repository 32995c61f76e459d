//! TLS, with the user's certificate or a self-signed one.
//!
//! The user's certificate is read again when its files change: see `certificate_files`.
//!
//! A self-signed certificate is two files, written in this order: `tls-key.pem`, `tls-cert.pem`. A
//! crash between them leaves a key without a certificate, and the next start creates both again. Later
//! starts use the same certificate as long as it covers the listen address.
//!
//! With `--memory` there is no data directory: the key is never written, and the certificate is in a
//! temporary directory until the process ends.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use chrono::{DateTime, Datelike, Utc};
use minutehand_ports::IdSource;
use minutehand_runtime::{RandomIds, system_now};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ResolvesServerCert;
use rustls::sign::SingleCertAndKey;
use sha2::{Digest, Sha256};
use tokio_rustls::TlsAcceptor;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use zeroize::Zeroizing;

use super::certificate_files::{CertificateFiles, certified};
use super::client_certificates::{AnyCertificate, Clients};
use crate::data_dir::{DataDir, private_dir};
use crate::serve::secrets::{read_private_file, write_private_file};
use crate::serve::settings::Tls;

pub(in crate::serve) const CERTIFICATE_FILE: &str = "tls-cert.pem";
const KEY_FILE: &str = "tls-key.pem";
/// Validity of a self-signed certificate in years. It is long because every client has to be given a
/// new certificate by hand.
const YEARS: i32 = 10;

/// The TLS side of the server.
pub(in crate::serve) struct ServerTls {
    pub(in crate::serve) acceptor: TlsAcceptor,
    /// The line that tells the user where a self-signed certificate is.
    pub(in crate::serve) note: Option<String>,
    /// The user's files, to be watched.
    pub(in crate::serve) files: Option<CertificateFiles>,
    _temporary: Option<TemporaryDir>,
}

/// Loads or creates the certificate; `None` if the settings ask for no TLS.
pub(in crate::serve) fn prepare_tls(
    tls: &Tls,
    listen: SocketAddr,
    dir: Option<&DataDir>,
    clients: Clients,
) -> Result<Option<ServerTls>> {
    match tls {
        Tls::Off => Ok(None),
        Tls::Files { certificate, key } => {
            let files = CertificateFiles::open(certificate, key)?;
            let acceptor = acceptor(files.current(), clients)?;
            Ok(Some(ServerTls { acceptor, note: None, files: Some(files), _temporary: None }))
        }
        Tls::SelfSigned(names) => {
            let names = ServerNames { address: listen.ip(), more: names };
            self_signed(names, dir, clients).map(Some)
        }
    }
}

/// What clients may call the server, beside `localhost` and the loopback addresses.
#[derive(Clone, Copy)]
struct ServerNames<'a> {
    /// The address on which the server listens.
    address: IpAddr,
    more: &'a [String],
}

impl ServerNames<'_> {
    /// The names as a certificate has them. Clients never call an unspecified address, such as 0.0.0.0.
    fn all(self) -> (Vec<String>, Vec<IpAddr>) {
        let mut hosts = vec!["localhost".to_owned()];
        let mut addresses =
            vec![IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
        if !self.address.is_unspecified() && !addresses.contains(&self.address) {
            addresses.push(self.address);
        }
        for name in self.more {
            match name.parse() {
                Ok(address) if !addresses.contains(&address) => addresses.push(address),
                Err(_) if !hosts.contains(name) => hosts.push(name.clone()),
                Ok(_) | Err(_) => {}
            }
        }
        (hosts, addresses)
    }
}

fn self_signed(
    names: ServerNames<'_>,
    dir: Option<&DataDir>,
    clients: Clients,
) -> Result<ServerTls> {
    let (identity, path, temporary) = if let Some(dir) = dir {
        let saved = load(dir.path())?.filter(|identity| identity.covers(names));
        let identity = saved.map_or_else(|| create_and_save(names, dir.path()), Ok)?;
        (identity, dir.path().join(CERTIFICATE_FILE), None)
    } else {
        let pem = create(names, system_now())?;
        let temporary = TemporaryDir::create()?;
        let path = temporary.0.join(CERTIFICATE_FILE);
        fs::write(&path, &pem.certificate)
            .with_context(|| format!("cannot write {}", path.display()))?;
        (Identity::parse(&pem.certificate, &pem.key)?, path, Some(temporary))
    };
    let path = path.display();
    let note = format!("certificate: {path} (SHA-256 {})", identity.fingerprint());
    let certificate = certified(vec![identity.certificate], identity.key)
        .context("cannot use the self-signed certificate")?;
    let acceptor = acceptor(Arc::new(SingleCertAndKey::from(certificate)), clients)?;
    Ok(ServerTls { acceptor, note: Some(note), files: None, _temporary: temporary })
}

fn acceptor(certificate: Arc<dyn ResolvesServerCert>, clients: Clients) -> Result<TlsAcceptor> {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    let config = match clients {
        Clients::Anonymous => config.with_no_client_auth(),
        Clients::Asked => config.with_client_cert_verifier(Arc::new(AnyCertificate::new())),
    };
    let mut config = config.with_cert_resolver(certificate);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// A self-signed certificate and its key.
struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    fn parse(certificate: &str, key: &str) -> Result<Self> {
        Ok(Self {
            certificate: CertificateDer::from_pem_slice(certificate.as_bytes())?,
            key: PrivateKeyDer::from_pem_slice(key.as_bytes())?,
        })
    }

    /// The SHA-256 of the certificate, as tools print it.
    fn fingerprint(&self) -> String {
        let hash = Sha256::digest(&self.certificate);
        hash.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
    }

    /// Whether the certificate has all of these names.
    fn covers(&self, names: ServerNames<'_>) -> bool {
        let Some((own_hosts, own_addresses)) = self.names() else {
            return false;
        };
        let (hosts, addresses) = names.all();
        hosts.iter().all(|host| own_hosts.contains(host))
            && addresses.iter().all(|address| own_addresses.contains(address))
    }

    /// The names in the certificate.
    fn names(&self) -> Option<(Vec<String>, Vec<IpAddr>)> {
        let certificate = Certificate::from_der(&self.certificate).ok()?;
        let (_, names) =
            certificate.tbs_certificate().get_extension::<SubjectAltName>().ok().flatten()?;
        let (mut hosts, mut addresses) = (Vec::new(), Vec::new());
        for name in &names.0 {
            match name {
                GeneralName::DnsName(host) => hosts.push(host.as_str().to_owned()),
                GeneralName::IpAddress(octets) => match octets.as_bytes() {
                    bytes if bytes.len() == 4 => {
                        addresses.extend(<[u8; 4]>::try_from(bytes).ok().map(IpAddr::from));
                    }
                    bytes => addresses.extend(<[u8; 16]>::try_from(bytes).ok().map(IpAddr::from)),
                },
                _ => {}
            }
        }
        Some((hosts, addresses))
    }
}

/// Loads the certificate of an earlier start; `None` unless both files exist.
fn load(dir: &Path) -> Result<Option<Identity>> {
    let path = dir.join(CERTIFICATE_FILE);
    let certificate = read_private_file(&path)?;
    let key = read_private_file(&dir.join(KEY_FILE))?;
    let (Some(certificate), Some(key)) = (certificate, key) else { return Ok(None) };
    Identity::parse(&certificate, &key).map(Some).with_context(|| {
        format!("cannot read {} and {KEY_FILE}: delete both to create new ones", path.display())
    })
}

fn create_and_save(names: ServerNames<'_>, dir: &Path) -> Result<Identity> {
    let pem = create(names, system_now())?;
    write_private_file(dir, KEY_FILE, &pem.key)?;
    write_private_file(dir, CERTIFICATE_FILE, &pem.certificate)?;
    Identity::parse(&pem.certificate, &pem.key)
}

/// A new certificate and its key in PEM format, as they are written to files.
struct IdentityPem {
    certificate: String,
    key: Zeroizing<String>,
}

fn create(names: ServerNames<'_>, now: DateTime<Utc>) -> Result<IdentityPem> {
    let (hosts, addresses) = names.all();
    let mut params = CertificateParams::new(hosts)?;
    params.subject_alt_names.extend(addresses.into_iter().map(SanType::IpAddress));
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "minutehand");
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // Valid from the beginning of the year, in case a client's clock is behind.
    params.not_before = date_time_ymd(now.year(), 1, 1);
    params.not_after = date_time_ymd(now.year() + YEARS, 12, 31);
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok(IdentityPem { certificate: certificate.pem(), key: key.serialize_pem().into() })
}

/// A temporary directory that is removed when the process ends normally.
struct TemporaryDir(PathBuf);

impl TemporaryDir {
    fn create() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("minutehand-{}", RandomIds.new_id()));
        private_dir().create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        // If this fails, a certificate is left behind, which is not a secret.
        let _ = fs::remove_dir_all(&self.0);
    }
}
