//! The certificates of clients, which the server asks for if some of them open the classic API.
//!
//! The handshake accepts every certificate, of whatever issuer and date, once the client has proved that
//! it has the key; and it accepts clients that have none. What a certificate opens is decided for each
//! request, by its thumbprint and its dates, so that a client reads why it is refused.

use std::io;

use chrono::{DateTime, Utc};
use minutehand_rest::PresentedCertificate;
use minutehand_runtime::system_now;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use sha1::{Digest, Sha1};
use sha2::Sha256;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::time::Time;

/// Whether a server asks its clients for certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::serve) enum Clients {
    /// It does not.
    Anonymous,
    /// It does, and accepts clients without one.
    Asked,
}

/// Accepts every certificate whose key the client has.
#[derive(Debug)]
pub(super) struct AnyCertificate(WebPkiSupportedAlgorithms);

impl AnyCertificate {
    pub(super) fn new() -> Self {
        Self(ring::default_provider().signature_verification_algorithms)
    }
}

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    /// None: the issuers do not matter.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        _issuers: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let certificate = presented(own);
        certificate
            .map(|_| ClientCertVerified::assertion())
            .ok_or_else(|| Error::InvalidCertificate(CertificateError::BadEncoding))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, own, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, own, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// What the server has to know of a certificate in DER; `None` if it is none.
pub(super) fn presented(certificate: &[u8]) -> Option<PresentedCertificate> {
    let parsed = Certificate::from_der(certificate).ok()?;
    let validity = parsed.tbs_certificate().validity();
    Some(PresentedCertificate {
        sha1: Sha1::digest(certificate).into(),
        sha256: Sha256::digest(certificate).into(),
        valid_from: instant(validity.not_before)?,
        valid_until: instant(validity.not_after)?,
        at: system_now(),
    })
}

fn instant(time: Time) -> Option<DateTime<Utc>> {
    let seconds = time.to_unix_duration().as_secs();
    DateTime::from_timestamp(i64::try_from(seconds).ok()?, 0)
}

/// Whether a handshake failed because of the certificate of the client.
pub(super) fn is_refused(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    matches!(inner, Some(Error::InvalidCertificate(_)))
}
