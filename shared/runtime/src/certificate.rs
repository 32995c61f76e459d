//! Opening client certificates, over `pfx`.

use domain::action::{CertificateFacts, ClientCertificate};
use domain::refusal::Refusal;
use ports::CertificateReader;

/// Opens PKCS#12 files that were sent as base64.
#[derive(Debug, Clone, Copy, Default)]
pub struct PfxReader;

impl CertificateReader for PfxReader {
    fn read(&self, client: &ClientCertificate) -> Result<CertificateFacts, Refusal> {
        let opened = pfx::open_base64(client.pfx.expose(), client.password.expose())
            .map_err(|error| Refusal::invalid(format!("The client certificate: {error}.")))?;
        Ok(CertificateFacts {
            thumbprint: opened.thumbprint,
            expires_at: opened.expires_at,
            subject_name: opened.subject,
        })
    }
}
