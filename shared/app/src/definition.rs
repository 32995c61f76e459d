//! The definition of a stored job: a document, and its secrets apart from it, sealed.

use std::error::Error;

use minutehand_domain::collection::{Collection, CollectionDefinition};
use minutehand_domain::document::{
    Shape, load, load_collection, load_shown, merge_patch, unknown_extension, write_collection,
};
use minutehand_domain::job::JobDefinition;
use minutehand_ports::Sealer;
use minutehand_ports::store::CollectionRecord;
use serde_json::Value;

use crate::error::{AppError, Result};

/// The properties of a document for the journal. What cannot be read, as a newer version wrote it, has none.
pub(crate) fn properties_of(document: &str) -> Value {
    serde_json::from_str(document).unwrap_or_default()
}

/// The document of a job, secrets included. They were sealed for this job and open for no other.
pub(crate) async fn whole_document(
    opener: &dyn Sealer,
    uid: &str,
    document: &str,
    sealed: Option<&[u8]>,
) -> Result<Value> {
    let shown: Value = serde_json::from_str(document).map_err(unreadable(uid))?;
    let Some(sealed) = sealed else {
        return Ok(shown);
    };
    let secrets = opener.open(uid, sealed).await?;
    let secrets = serde_json::from_str(&secrets).map_err(unreadable(uid))?;
    Ok(merge_patch(shown, secrets, Shape::Leaf))
}

/// The definition of a job, secrets included. Only its structure is checked: a limit that was
/// tightened since the job was accepted must not keep it from firing.
pub(crate) async fn definition(
    opener: &dyn Sealer,
    uid: &str,
    document: &str,
    sealed: Option<&[u8]>,
) -> Result<JobDefinition> {
    let whole = whole_document(opener, uid, document, sealed).await?;
    check_known(uid, &whole)?;
    load(&whole).map_err(unreadable(uid))
}

/// Refuses a job of which this version would ignore something. A newer version can fire it.
fn check_known(uid: &str, document: &Value) -> Result<()> {
    let newer = |what| AppError::Newer { name: uid.to_owned(), what };
    unknown_extension(document).map_or(Ok(()), |what| Err(newer(what)))
}

/// The definition of a collection, secrets included.
pub(crate) async fn collection_definition(
    opener: &dyn Sealer,
    record: &CollectionRecord,
) -> Result<CollectionDefinition> {
    let whole = whole_collection(opener, record).await?;
    load_collection(&whole).map_err(unreadable(record.collection.name.as_str()))
}

/// The document of a collection, secrets included. They were sealed for this collection.
pub(crate) async fn whole_collection(
    opener: &dyn Sealer,
    record: &CollectionRecord,
) -> Result<Value> {
    let Collection { uid, definition, .. } = &record.collection;
    let shown = write_collection(definition).to_string();
    whole_document(opener, uid, &shown, record.sealed.as_deref()).await
}

/// The definition of a job whose secrets stay sealed.
pub(crate) fn shown_definition(uid: &str, document: &str) -> Result<JobDefinition> {
    let shown = serde_json::from_str(document).map_err(unreadable(uid))?;
    check_known(uid, &shown)?;
    load_shown(&shown).map_err(unreadable(uid))
}

/// The error of a stored job that is not what was accepted.
pub(crate) fn unreadable<E>(name: &str) -> impl Fn(E) -> AppError + use<E>
where
    E: Error + Send + Sync + 'static,
{
    let name = name.to_owned();
    move |source| AppError::Unreadable { name: name.clone(), source: Box::new(source) }
}
