//! The user's certificate: two files that are read once a second, so that a renewed certificate needs
//! no restart.
//!
//! The two files are replaced one after the other, so a pair counts only when two readings in a row are
//! equal. If it is valid, new connections get it; if not, the certificate in use stays, and the error
//! is logged once. Open connections keep theirs.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::task::spawn_blocking;
use zeroize::Zeroizing;

/// How often the files are read.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// More bytes than a chain of certificates or a key ever has.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The certificate that new connections get.
#[derive(Debug)]
pub(super) struct CurrentCertificate(RwLock<Arc<CertifiedKey>>);

/// The files of the user's certificate and its key.
pub(in crate::serve) struct CertificateFiles {
    paths: Paths,
    current: Arc<CurrentCertificate>,
    /// What was last applied, valid or not.
    applied: Result<FilePair, String>,
}

#[derive(Clone)]
struct Paths {
    certificate: PathBuf,
    key: PathBuf,
}

/// The content of both files.
#[derive(PartialEq)]
struct FilePair {
    certificate: Vec<u8>,
    key: Zeroizing<Vec<u8>>,
}

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl CertificateFiles {
    /// Reads the files for the first time.
    ///
    /// # Errors
    ///
    /// If they do not hold a certificate and its key.
    pub(super) fn open(certificate: &Path, key: &Path) -> Result<Self> {
        let paths = Paths { certificate: certificate.to_owned(), key: key.to_owned() };
        let pair = paths.read()?;
        let first = paths.parse(&pair)?;
        let current = Arc::new(CurrentCertificate(RwLock::new(Arc::new(first))));
        Ok(Self { paths, current, applied: Ok(pair) })
    }

    pub(super) fn current(&self) -> Arc<CurrentCertificate> {
        Arc::clone(&self.current)
    }

    /// Replaces the certificate whenever the files change.
    pub(in crate::serve) async fn watch(mut self) {
        let mut ticks = tokio::time::interval(POLL_EVERY);
        let mut last = None;
        loop {
            ticks.tick().await;
            let paths = self.paths.clone();
            let Ok(found) = spawn_blocking(move || paths.read()).await else {
                continue;
            };
            let found = found.map_err(|error| format!("{error:#}"));
            if found == self.applied {
                last = None;
            } else if last.as_ref() == Some(&found) {
                self.apply(&found);
                self.applied = found;
            } else {
                last = Some(found);
            }
        }
    }

    fn apply(&self, found: &Result<FilePair, String>) {
        let parsed = match found {
            Ok(pair) => self.paths.parse(pair).map_err(|error| format!("{error:#}")),
            Err(error) => Err(error.clone()),
        };
        let path = self.paths.certificate.display();
        match parsed {
            Ok(certificate) => {
                let mut current = self.current.0.write().unwrap_or_else(PoisonError::into_inner);
                *current = Arc::new(certificate);
                tracing::info!(%path, "certificate reloaded");
            }
            Err(error) => {
                tracing::error!(%path, error, "certificate is invalid; keeping the previous one");
            }
        }
    }
}

impl Paths {
    fn read(&self) -> Result<FilePair> {
        let certificate = read(&self.certificate).with_context(|| {
            format!("cannot read certificates in {}", self.certificate.display())
        })?;
        let key = read(&self.key)
            .with_context(|| format!("cannot read the private key in {}", self.key.display()))?;
        Ok(FilePair { certificate, key: key.into() })
    }

    fn parse(&self, pair: &FilePair) -> Result<CertifiedKey> {
        let (certificate, key) = (self.certificate.display(), self.key.display());
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&pair.certificate)
            .collect::<Result<_, _>>()
            .with_context(|| format!("cannot read certificates in {certificate}"))?;
        if chain.is_empty() {
            bail!(
                "{certificate} does not contain a certificate in PEM format: it has to contain \
                 -----BEGIN CERTIFICATE-----"
            );
        }
        let private = PrivateKeyDer::from_pem_slice(&pair.key)
            .with_context(|| format!("{key} does not contain a private key in PEM format"))?;
        certified(chain, private)
            .with_context(|| format!("cannot use the certificate {certificate} with the key {key}"))
    }
}

/// A certificate with its key, after a check that they belong together.
pub(super) fn certified(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<CertifiedKey> {
    Ok(CertifiedKey::from_der(chain, key, &ring::default_provider())?)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}
