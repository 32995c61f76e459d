//! Reads client certificates with the `pfx` crate.

use minutehand_domain::action::{CertificateFacts, ClientCertificate};
use minutehand_domain::refusal::Refusal;
use minutehand_ports::CertificateReader;

/// Reads PKCS#12 files that jobs contain as Base64.
#[derive(Debug, Clone, Copy, Default)]
pub struct PfxReader;

impl CertificateReader for PfxReader {
    fn read(&self, client: &ClientCertificate) -> Result<CertificateFacts, Refusal> {
        let opened = minutehand_pfx::open_base64(client.pfx.expose(), client.password.expose())
            .map_err(|error| Refusal::invalid(format!("The client certificate: {error}.")))?;
        Ok(CertificateFacts {
            thumbprint: opened.thumbprint,
            expires_at: opened.expires_at,
            subject_name: opened.subject,
        })
    }
}
