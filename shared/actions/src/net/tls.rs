//! TLS with `rustls`, and the cryptography of `ring`.

use std::error::Error as StdError;
use std::sync::{Arc, OnceLock};

use minutehand_outbound::{CheckedServer, trusting};
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, Error};
use rustls_platform_verifier::Verifier;

/// Only HTTP/1.1: Azure used it, and every target supports it. Over one HTTP/2 connection, the
/// requests to a target could delay each other.
const PROTOCOL: &[u8] = b"http/1.1";

/// Settings with which no connection can be opened.
#[derive(Debug)]
pub(crate) enum NetError {
    /// The additional certificate authorities are not valid PEM.
    ExtraRoots,
    /// The TLS library or the HTTP library refuses the settings.
    Client(Box<dyn StdError + Send + Sync>),
}

/// The certificate authorities that are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// Whether the authorities of the operating system are trusted.
    pub system: bool,
    /// Additional authorities, as PEM.
    pub extra_pem: String,
}

impl Default for Roots {
    fn default() -> Self {
        Self { system: true, extra_pem: String::new() }
    }
}

/// The configuration that all TLS connections share.
#[derive(Clone)]
pub(super) struct Tls {
    provider: Arc<CryptoProvider>,
    trust: Arc<dyn ServerCertVerifier>,
}

impl Tls {
    pub(super) fn new(roots: &Roots) -> Result<Self, NetError> {
        let extra: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(roots.extra_pem.as_bytes()).collect();
        let extra = extra.map_err(|_| NetError::ExtraRoots)?;
        if extra.is_empty() && !roots.extra_pem.trim().is_empty() {
            return Err(NetError::ExtraRoots);
        }
        let provider = Arc::new(ring::default_provider());
        let trust = trust(roots.system, extra, &provider);
        Ok(Self { provider, trust })
    }

    /// For HTTP connections without a client certificate.
    pub(super) fn without_certificate(&self) -> Result<ClientConfig, Error> {
        self.config(|builder| Ok(builder.with_no_client_auth()))
    }

    /// For connections of other protocols, which do not negotiate a protocol within TLS.
    pub(super) fn without_protocol(&self) -> Result<ClientConfig, Error> {
        let mut config = self.without_certificate()?;
        config.alpn_protocols.clear();
        Ok(config)
    }

    /// For HTTP connections with a client certificate.
    pub(super) fn with_certificate(
        &self,
        identity: &minutehand_pfx::OpenedCertificate,
    ) -> Result<ClientConfig, Error> {
        let chain = identity.chain.iter().map(|der| CertificateDer::from(der.clone())).collect();
        let key = PrivatePkcs8KeyDer::from(identity.key.pkcs8_der().to_vec());
        self.config(|builder| builder.with_client_auth_cert(chain, PrivateKeyDer::from(key)))
    }

    fn config(
        &self,
        finish: impl FnOnce(
            rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>,
        ) -> Result<ClientConfig, Error>,
    ) -> Result<ClientConfig, Error> {
        let builder = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&self.trust));
        let mut config = finish(builder)?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(config)
    }
}

/// Verifies servers with the certificate authorities, which are loaded when they are first needed.
///
/// Loading takes some milliseconds, and many installations never call an `https` URL. An
/// installation without any authority can still call `http` URLs.
fn trust(
    system: bool,
    extra: Vec<CertificateDer<'static>>,
    provider: &Arc<CryptoProvider>,
) -> Arc<dyn ServerCertVerifier> {
    let loaded: OnceLock<Result<Arc<dyn ServerCertVerifier>, Error>> = OnceLock::new();
    let of_loading = Arc::clone(provider);
    let load = move || {
        let (extra, provider) = (extra.iter().cloned(), Arc::clone(&of_loading));
        if system {
            return Ok(Arc::new(Verifier::new_with_extra_roots(extra, provider)?) as Arc<_>);
        }
        trusting(extra, provider)
    };
    Arc::new(CheckedServer::new(Arc::clone(provider), move |shown| {
        let verifier = loaded.get_or_init(&load).as_ref().map_err(Error::clone)?;
        shown.check_by(verifier.as_ref())
    }))
}
