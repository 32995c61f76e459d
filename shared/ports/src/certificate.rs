//! Opening client certificates.

use domain::action::{CertificateFacts, ClientCertificate};
use domain::refusal::Refusal;

/// Opens the file of a client certificate.
pub trait CertificateReader: Send + Sync {
    /// Reads the facts of the certificate in the file.
    ///
    /// # Errors
    ///
    /// A refusal that says what is wrong with the file or its password, and quotes neither.
    fn read(&self, client: &ClientCertificate) -> Result<CertificateFacts, Refusal>;
}
