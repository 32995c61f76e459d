//! TLS to a database: what of its certificate is checked.

use std::sync::Arc;

use minutehand_outbound::{CheckedServer, trusting};
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{CertificateError, ClientConfig, Error};
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
        Check::Nothing => Arc::new(CheckedServer::new(provider.clone(), |_| Ok(()))),
        Check::Certificate(authorities) => {
            let strict = strict(authorities.as_deref(), &provider)?;
            Arc::new(CheckedServer::new(provider.clone(), move |shown| {
                match shown.check_by(strict.as_ref()) {
                    // The name is checked last.
                    Err(Error::InvalidCertificate(
                        CertificateError::NotValidForName
                        | CertificateError::NotValidForNameContext { .. },
                    )) => Ok(()),
                    checked => checked,
                }
            }))
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
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let certificates = certificates.map_err(|error| problem(&error))?;
    trusting(certificates, provider.clone()).map_err(|error| problem(&error))
}
