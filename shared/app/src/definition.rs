//! A job's definition as it is kept: a document, and its secrets apart from it, sealed.

use domain::document::{Shape, merge_patch, read_job};
use domain::job::JobDefinition;
use domain::pricing_tier::PricingTier;
use ports::Sealer;
use serde_json::{Value, json};

use crate::error::AppError;

/// The whole document of a job, secrets included. They were sealed for this job, and open in no
/// other.
pub(crate) async fn whole_document(
    opener: &dyn Sealer,
    uid: &str,
    document: &str,
    sealed: Option<&[u8]>,
) -> Result<Value, AppError> {
    let shown: Value = serde_json::from_str(document).map_err(unreadable(uid))?;
    let Some(sealed) = sealed else {
        return Ok(shown);
    };
    let secrets = opener.open(uid, sealed).await?;
    let secrets = serde_json::from_str(&secrets).map_err(unreadable(uid))?;
    Ok(merge_patch(shown, secrets, Shape::Leaf))
}

/// The definition of a job, secrets included.
pub(crate) async fn definition(
    opener: &dyn Sealer,
    uid: &str,
    document: &str,
    sealed: Option<&[u8]>,
    plan: PricingTier,
) -> Result<JobDefinition, AppError> {
    let whole = whole_document(opener, uid, document, sealed).await?;
    read_job(&json!({"properties": whole}), plan)
        .map_err(|refusal| AppError::Unreadable { name: uid.to_owned(), source: Box::new(refusal) })
}

fn unreadable(uid: &str) -> impl Fn(serde_json::Error) -> AppError + use<> {
    let name = uid.to_owned();
    move |source| AppError::Unreadable { name: name.clone(), source: Box::new(source) }
}
