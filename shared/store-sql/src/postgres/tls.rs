//! TLS to a database: what of its certificate is checked.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use rustls_platform_verifier::Verifier;

use super::error::PgError;

/// What the certificates of the system are called.
const SYSTEM: &str = "system";

/// What is checked of a server, and by which authorities: a file of them, or those of the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Check {
    Nothing,
    Certificate(Option<String>),
    CertificateAndName(Option<String>),
}

/// The client's side of TLS.
pub(super) fn client(check: &Check) -> Result<ClientConfig, PgError> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match check {
        Check::Nothing => Arc::new(Lenient { provider: provider.clone(), inner: None }),
        Check::Certificate(authorities) => {
            let inner = Some(strict(authorities.as_deref(), &provider)?);
            Arc::new(Lenient { provider: provider.clone(), inner })
        }
        Check::CertificateAndName(authorities) => strict(authorities.as_deref(), &provider)?,
    };
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| PgError::Tls(error.to_string()))?;
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Checks everything.
fn strict(
    authorities: Option<&str>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, PgError> {
    let Some(file) = authorities.filter(|file| *file != SYSTEM) else {
        let verifier = Verifier::new(provider.clone());
        return Ok(Arc::new(verifier.map_err(|error| PgError::Tls(error.to_string()))?));
    };
    let problem = |what: &dyn std::fmt::Display| PgError::Tls(format!("{file}: {what}"));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| problem(&error))? {
        let certificate = certificate.map_err(|error| problem(&error))?;
        roots.add(certificate).map_err(|error| problem(&error))?;
    }
    let builder = WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone());
    Ok(builder.build().map_err(|error| problem(&error))?)
}

/// Checks a certificate and not its name, or not even the certificate. Signatures are always checked.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    inner: Option<Arc<dyn ServerCertVerifier>>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        match inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is checked last.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
