//! A job's document apart from its secrets.

use domain::action::{Authentication, Target};
use domain::document::JobDocument;
use domain::job::JobDefinition;
use domain::refusal::Refusal;
use ports::CertificateReader;

use super::Manage;
use crate::error::AppError;

/// The two parts in which the store keeps a job.
pub(super) struct SealedDocument {
    /// The document without its secrets.
    pub(super) shown: String,
    /// The secrets, sealed.
    pub(super) sealed: Option<Vec<u8>>,
}

impl Manage {
    /// Splits a job's document. The secrets are sealed for this job and open for no other.
    pub(super) async fn seal(
        &self,
        uid: &str,
        document: &JobDocument,
    ) -> Result<SealedDocument, AppError> {
        let split = document.split()?;
        let sealed = match split.secrets {
            Some(secrets) => Some(self.ports.sealer.seal(uid, secrets.expose()).await?),
            None => None,
        };
        Ok(SealedDocument { shown: split.shown, sealed })
    }
}

/// Opens the client certificates of a job, and adds what they contain to its definition.
pub(super) fn open_certificates(
    job: &mut JobDefinition,
    reader: &dyn CertificateReader,
) -> Result<(), Refusal> {
    for target in job.action.targets_mut() {
        let (Target::Http(request) | Target::Https(request)) = target else {
            continue;
        };
        if let Some(Authentication::ClientCertificate(client)) = &mut request.authentication {
            client.certificate = Some(reader.read(client)?);
        }
    }
    Ok(())
}

/// Whether a job authenticates in a way that the plan Free does not include.
pub(super) fn authenticates(job: &JobDefinition) -> bool {
    job.action.targets().any(Target::authenticates)
}
