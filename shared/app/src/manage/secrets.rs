//! The secrets of jobs and collections, apart from their documents.

use minutehand_domain::action::{Authentication, Target};
use minutehand_domain::document::{JobDocument, keep_withheld};
use minutehand_domain::job::JobDefinition;
use minutehand_domain::refusal::Refusal;
use minutehand_domain::secret::Secret;
use minutehand_ports::CertificateReader;
use serde_json::Value;

use super::Manage;
use crate::error::Result;

impl Manage {
    /// Splits a job's document into the two parts in which the store keeps it: without its secrets, and these. They
    /// are sealed for this job and open for no other.
    pub(super) async fn seal(
        &self,
        uid: &str,
        document: &JobDocument,
    ) -> Result<(String, Option<Vec<u8>>)> {
        let split = document.split()?;
        Ok((split.shown, self.sealed(uid, split.secrets).await?))
    }

    /// Seals the secrets of a job or a collection, if there are any.
    pub(super) async fn sealed(
        &self,
        uid: &str,
        secrets: Option<Secret>,
    ) -> Result<Option<Vec<u8>>> {
        match secrets {
            Some(secrets) => Ok(Some(self.ports.sealer.seal(uid, secrets.expose()).await?)),
            None => Ok(None),
        }
    }
}

/// Replaces the secrets in a body that are withheld by the stored ones. `stored` are the stored
/// properties.
pub(super) fn keep_secrets(body: &mut Value, stored: Option<&Value>) -> Result<(), Refusal> {
    body.get_mut("properties").map_or(Ok(()), |properties| keep_withheld(properties, stored))
}

/// Opens the client certificates of a job, and adds what they contain to its definition.
pub(super) fn open_certificates(
    job: &mut JobDefinition,
    reader: &dyn CertificateReader,
) -> Result<(), Refusal> {
    job.action.targets_mut().try_for_each(|target| open_certificate(target, reader))
}

/// Opens the client certificate of a target, if it has one.
pub(super) fn open_certificate(
    target: &mut Target,
    reader: &dyn CertificateReader,
) -> Result<(), Refusal> {
    if let Target::Http(request) | Target::Https(request) = target
        && let Some(Authentication::ClientCertificate(client)) = &mut request.authentication
    {
        client.certificate = Some(reader.read(client)?);
    }
    Ok(())
}

/// Whether a job authenticates in a way that the plan Free does not include.
pub(super) fn authenticates(job: &JobDefinition) -> bool {
    job.action.targets().any(Target::authenticates)
}
