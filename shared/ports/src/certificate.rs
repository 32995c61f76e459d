//! Opening client certificates.

use minutehand_domain::action::{CertificateFacts, ClientCertificate};
use minutehand_domain::refusal::Refusal;

/// Opens the file of a client certificate.
pub trait CertificateReader: Send + Sync {
    /// Reads the facts of the certificate in the file.
    ///
    /// # Errors
    ///
    /// A refusal that says what is wrong with the file or its password, and quotes neither.
    fn read(&self, client: &ClientCertificate) -> Result<CertificateFacts, Refusal>;
}
