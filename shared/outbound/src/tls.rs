//! How the certificates of servers are checked.

use std::fmt;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// What a server shows to a client.
#[derive(Debug)]
pub struct ShownCertificate<'a> {
    end_entity: &'a CertificateDer<'a>,
    intermediates: &'a [CertificateDer<'a>],
    server_name: &'a ServerName<'a>,
    ocsp_response: &'a [u8],
    now: UnixTime,
}

impl ShownCertificate<'_> {
    /// Checks it as another verifier does.
    ///
    /// # Errors
    ///
    /// If that one refuses it.
    pub fn check_by(&self, verifier: &dyn ServerCertVerifier) -> Result<(), Error> {
        let Self { end_entity, intermediates, server_name, ocsp_response, now } = self;
        verifier
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, *now)
            .map(drop)
    }
}

/// Verifies servers by a check of their certificates. That a server has the key of its certificate is always
/// checked.
pub struct CheckedServer<F> {
    provider: Arc<CryptoProvider>,
    check: F,
}

impl<F> CheckedServer<F>
where
    F: Fn(&ShownCertificate<'_>) -> Result<(), Error> + Send + Sync,
{
    /// A verifier with this check.
    pub const fn new(provider: Arc<CryptoProvider>, check: F) -> Self {
        Self { provider, check }
    }
}

impl<F> fmt::Debug for CheckedServer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedServer").finish_non_exhaustive()
    }
}

impl<F> ServerCertVerifier for CheckedServer<F>
where
    F: Fn(&ShownCertificate<'_>) -> Result<(), Error> + Send + Sync,
{
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown = ShownCertificate { end_entity, intermediates, server_name, ocsp_response, now };
        (self.check)(&shown).map(|()| ServerCertVerified::assertion())
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

/// A verifier that trusts these authorities alone.
///
/// # Errors
///
/// If one of them cannot be an authority, or there is none.
pub fn trusting(
    authorities: impl IntoIterator<Item = CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, Error> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority)?;
    }
    WebPkiServerVerifier::builder_with_provider(roots.into(), provider)
        .build()
        .map(|verifier| verifier as Arc<_>)
        .map_err(|_| Error::General("No certificate authority is trusted here".to_owned()))
}
