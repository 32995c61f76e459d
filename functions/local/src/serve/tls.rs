//! TLS: with a certificate that is given, or one that we make for ourselves.
//!
//! A certificate of ours is two files, `tls-key.pem` and then `tls-cert.pem`: a crash between them
//! leaves a key without a certificate, and the next start makes both anew. They are used again as
//! long as they are for the address that is listened on. A store in memory keeps nothing, so there
//! the key is never written, and the certificate goes into a directory for temporary files until
//! the process ends.

use std::fs::{self, DirBuilder};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use chrono::{DateTime, Datelike, Utc};
use embedded::DataDir;
use ports::IdSource;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType, date_time_ymd,
};
use runtime::{RandomIds, system_now};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use tokio_rustls::TlsAcceptor;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use zeroize::Zeroizing;

use super::private_file;
use super::settings::Tls;

const CERTIFICATE_FILE: &str = "tls-cert.pem";
const KEY_FILE: &str = "tls-key.pem";
/// How long a certificate of ours is good, in years: clients are told to trust this one alone, and
/// another would have to be brought to all of them.
const YEARS: i32 = 10;

/// What protects connections.
pub(super) struct Protection {
    pub(super) acceptor: TlsAcceptor,
    /// What to tell the user.
    pub(super) note: Option<String>,
    _passing: Option<PassingDir>,
}

/// Makes ready what the settings ask for; `None` for connections in the clear.
pub(super) fn protect(
    tls: &Tls,
    listen: SocketAddr,
    dir: Option<&DataDir>,
) -> Result<Option<Protection>> {
    match tls {
        Tls::Off => Ok(None),
        Tls::Files { certificate, key } => {
            let chain = read_chain(certificate)?;
            let private = PrivateKeyDer::from_pem_file(key)
                .with_context(|| format!("{} holds no private key as PEM", key.display()))?;
            let acceptor = acceptor(chain, private).with_context(|| {
                format!("cannot use {} with {}", certificate.display(), key.display())
            })?;
            Ok(Some(Protection { acceptor, note: None, _passing: None }))
        }
        Tls::SelfSigned => self_signed(listen.ip(), dir).map(Some),
    }
}

fn self_signed(address: IpAddr, dir: Option<&DataDir>) -> Result<Protection> {
    let (own, path, passing) = if let Some(dir) = dir {
        let kept = kept(dir.path())?.filter(|own| own.names(address));
        let own = kept.map_or_else(|| make_and_keep(address, dir.path()), Ok)?;
        (own, dir.path().join(CERTIFICATE_FILE), None)
    } else {
        let made = make(address, system_now())?;
        let passing = PassingDir::create()?;
        let path = passing.0.join(CERTIFICATE_FILE);
        fs::write(&path, &made.certificate)
            .with_context(|| format!("cannot write {}", path.display()))?;
        (made.own()?, path, Some(passing))
    };
    let path = path.display();
    let note = format!("certificate: {path} (SHA-256 {})", own.fingerprint());
    let acceptor =
        acceptor(vec![own.certificate], own.key).context("cannot use our certificate")?;
    Ok(Protection { acceptor, note: Some(note), _passing: passing })
}

fn acceptor(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<TlsAcceptor> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<_, _>>);
    let chain = chain.with_context(|| format!("cannot read certificates in {}", path.display()))?;
    if chain.is_empty() {
        bail!("{} holds no certificate as PEM", path.display());
    }
    Ok(chain)
}

/// A certificate of ours, and its key.
struct Own {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Own {
    fn read(certificate: &str, key: &str) -> Result<Self> {
        Ok(Self {
            certificate: CertificateDer::from_pem_slice(certificate.as_bytes())?,
            key: PrivateKeyDer::from_pem_slice(key.as_bytes())?,
        })
    }

    /// Its SHA-256, as tools print it.
    fn fingerprint(&self) -> String {
        let hash = Sha256::digest(&self.certificate);
        hash.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
    }

    /// Whether a client that calls this address is content with it.
    fn names(&self, address: IpAddr) -> bool {
        // Nobody calls an address that stands for all of them.
        address.is_unspecified() || self.addresses().is_some_and(|all| all.contains(&address))
    }

    fn addresses(&self) -> Option<Vec<IpAddr>> {
        let certificate = Certificate::from_der(&self.certificate).ok()?;
        let (_, names) =
            certificate.tbs_certificate().get_extension::<SubjectAltName>().ok().flatten()?;
        let addresses = names.0.iter().filter_map(|name| match name {
            GeneralName::IpAddress(octets) => match octets.as_bytes() {
                bytes if bytes.len() == 4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
                bytes => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
            },
            _ => None,
        });
        Some(addresses.collect())
    }
}

/// The certificate of an earlier start; `None` if there is none, or only half of one.
fn kept(dir: &Path) -> Result<Option<Own>> {
    let path = dir.join(CERTIFICATE_FILE);
    let certificate = private_file::read(&path)?;
    let key = private_file::read(&dir.join(KEY_FILE))?;
    match (certificate, key) {
        (Some(certificate), Some(key)) => {
            Own::read(&certificate, &key).map(Some).with_context(|| {
                format!("cannot read {} and {KEY_FILE}: remove both for new ones", path.display())
            })
        }
        _ => Ok(None),
    }
}

fn make_and_keep(address: IpAddr, dir: &Path) -> Result<Own> {
    let made = make(address, system_now())?;
    private_file::write(dir, KEY_FILE, &made.key)?;
    private_file::write(dir, CERTIFICATE_FILE, &made.certificate)?;
    made.own()
}

/// A certificate that was just made, as PEM.
struct Made {
    certificate: String,
    key: Zeroizing<String>,
}

impl Made {
    fn own(&self) -> Result<Own> {
        Own::read(&self.certificate, &self.key)
    }
}

fn make(address: IpAddr, now: DateTime<Utc>) -> Result<Made> {
    let mut params = CertificateParams::new(["localhost".to_owned()])?;
    let mut addresses = vec![IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    if !address.is_unspecified() && !addresses.contains(&address) {
        addresses.push(address);
    }
    params.subject_alt_names.extend(addresses.into_iter().map(SanType::IpAddress));
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "minutehand");
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // From the beginning of the year, so that a client's clock may be behind.
    params.not_before = date_time_ymd(now.year(), 1, 1);
    params.not_after = date_time_ymd(now.year() + YEARS, 12, 31);
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok(Made { certificate: certificate.pem(), key: key.serialize_pem().into() })
}

/// A directory for temporary files that is removed when the process ends in good order.
struct PassingDir(PathBuf);

impl PassingDir {
    fn create() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("minutehand-{}", RandomIds.new_id()));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for PassingDir {
    fn drop(&mut self) {
        // What is left is a certificate, which is no secret.
        let _ = fs::remove_dir_all(&self.0);
    }
}
