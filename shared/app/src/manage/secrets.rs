//! A job's document apart from its secrets.

use domain::action::{Authentication, Target};
use domain::document::{Durations, Secrets, write_job};
use domain::job::JobDefinition;
use domain::refusal::Refusal;
use ports::CertificateReader;
use serde_json::{Map, Value};

use super::Manage;
use crate::error::AppError;

/// What is kept of a job: its document, and its secrets sealed.
pub(super) struct SplitDocument {
    pub(super) document: String,
    pub(super) sealed: Option<Vec<u8>>,
}

impl Manage {
    /// Takes a job's document apart. The secrets are sealed for this job, and open in no other.
    pub(super) async fn keep(
        &self,
        uid: &str,
        job: &JobDefinition,
    ) -> Result<SplitDocument, AppError> {
        let whole = write_job(job, Secrets::Kept, Durations::TimeSpan);
        let shown = write_job(job, Secrets::Omitted, Durations::TimeSpan);
        let sealed = match beyond(&whole, &shown) {
            Some(secrets) => Some(self.ports.sealer.seal(uid, &secrets.to_string()).await?),
            None => None,
        };
        Ok(SplitDocument { document: shown.to_string(), sealed })
    }
}

/// What one document has and another has not, as a patch from the second to the first.
fn beyond(whole: &Value, shown: &Value) -> Option<Value> {
    let (Value::Object(whole), Value::Object(shown)) = (whole, shown) else {
        return None;
    };
    let more: Map<String, Value> = whole
        .iter()
        .filter_map(|(name, value)| {
            let more = match shown.get(name) {
                None => Some(value.clone()),
                Some(known) => beyond(value, known),
            };
            Some((name.clone(), more?))
        })
        .collect();
    (!more.is_empty()).then_some(Value::Object(more))
}

/// Opens the client certificates of a job, and notes what they hold.
pub(super) fn open_certificates(
    job: &mut JobDefinition,
    reader: &dyn CertificateReader,
) -> Result<(), Refusal> {
    let error_action = job.action.error_action.as_mut().map(|action| &mut action.target);
    for target in [Some(&mut job.action.action.target), error_action].into_iter().flatten() {
        let (Target::Http(request) | Target::Https(request)) = target else {
            continue;
        };
        if let Some(Authentication::ClientCertificate(client)) = &mut request.authentication {
            client.certificate = Some(reader.read(client)?);
        }
    }
    Ok(())
}

/// Whether a job authenticates in a way that not every plan includes.
pub(super) fn authenticates(job: &JobDefinition) -> bool {
    let error_action = job.action.error_action.as_ref();
    job.action.action.target.authenticates()
        || error_action.is_some_and(|action| action.target.authenticates())
}

#[cfg(test)]
mod tests {
    use domain::document::{Shape, merge_patch};
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_beyond_merges_back_to_the_whole() {
        let whole = json!({"a": {"b": 1, "secret": "s", "c": {"key": "k"}}, "d": [1]});
        let shown = json!({"a": {"b": 1, "c": {}}, "d": [1]});
        let secrets = beyond(&whole, &shown).unwrap();
        assert_eq!(secrets, json!({"a": {"secret": "s", "c": {"key": "k"}}}));
        assert_eq!(merge_patch(shown, secrets, Shape::Leaf), whole);
        assert_eq!(beyond(&whole, &whole), None);
    }
}
