//! TLS: rustls, on the cryptography of `ring`.

use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;

use crate::settings::{Roots, SettingsError};

/// HTTP/1.1 alone: the original spoke it, every target does, and a connection of HTTP/2 would make
/// all executions of one target wait for the slowest.
const PROTOCOL: &[u8] = b"http/1.1";

/// What all connections share: whom they trust, and with which cryptography.
#[derive(Clone)]
pub(crate) struct Tls {
    provider: Arc<CryptoProvider>,
    trust: Arc<Trust>,
}

impl Tls {
    pub(crate) fn new(roots: &Roots) -> Result<Self, SettingsError> {
        let extra: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(roots.extra_pem.as_bytes()).collect();
        let extra = extra.map_err(|_| SettingsError::ExtraRoots)?;
        if extra.is_empty() && !roots.extra_pem.trim().is_empty() {
            return Err(SettingsError::ExtraRoots);
        }
        let provider = Arc::new(ring::default_provider());
        let trust = Trust {
            system: roots.system,
            extra,
            provider: Arc::clone(&provider),
            verifier: OnceLock::new(),
        };
        Ok(Self { provider, trust: Arc::new(trust) })
    }

    /// Connections of nobody in particular.
    pub(crate) fn plain(&self) -> Result<ClientConfig, Error> {
        self.config(|builder| Ok(builder.with_no_client_auth()))
    }

    /// Connections over which something else than HTTP is spoken, and nothing is to be agreed.
    pub(crate) fn bare(&self) -> Result<ClientConfig, Error> {
        let mut config = self.plain()?;
        config.alpn_protocols.clear();
        Ok(config)
    }

    /// Connections of whom a certificate names.
    pub(crate) fn identified(
        &self,
        identity: &pfx::OpenedCertificate,
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
            .with_custom_certificate_verifier(Arc::clone(&self.trust) as Arc<_>);
        let mut config = finish(builder)?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(config)
    }
}

/// Verifies servers by the system's authorities, which are read when first needed.
///
/// Reading them costs milliseconds of a start, and many installations never call `https`. One
/// without any still calls `http`.
#[derive(Debug)]
struct Trust {
    system: bool,
    extra: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
    verifier: OnceLock<Result<Arc<dyn ServerCertVerifier>, Error>>,
}

impl Trust {
    fn verifier(&self) -> Result<&Arc<dyn ServerCertVerifier>, Error> {
        self.verifier.get_or_init(|| self.load()).as_ref().map_err(Error::clone)
    }

    fn load(&self) -> Result<Arc<dyn ServerCertVerifier>, Error> {
        let provider = Arc::clone(&self.provider);
        if self.system {
            let verifier = Verifier::new_with_extra_roots(self.extra.iter().cloned(), provider)?;
            return Ok(Arc::new(verifier));
        }
        let mut roots = RootCertStore::empty();
        for certificate in &self.extra {
            roots.add(certificate.clone())?;
        }
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map(|verifier| verifier as Arc<_>)
            .map_err(|_| Error::General("No certificate authority is trusted here".to_owned()))
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verifier = self.verifier()?;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
