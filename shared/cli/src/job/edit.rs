//! `job edit`: a job in an editor.

use clap::Args;
use minutehand_client::{Error, Precondition};
use serde_json::{Value, json};

use crate::editor::{self, Saved};
use crate::failure::Result;
use crate::work::Work;

/// The arguments of `job edit`.
#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// Name of the job, or COLLECTION/JOB
    name: String,
}

pub(super) async fn edit(work: &Work, args: &EditArgs) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    let name = work.defaults().short_job(&path);
    let read = work.client().job(&path).await?;
    let mut properties = read.value.properties;
    properties.remove("status");
    let condition = read.etag.as_deref().map_or(Precondition::Always, Precondition::Unchanged);
    let save = async |properties: Value| {
        let document = json!({ "properties": properties });
        match work.client().put_job(&path, &document, condition).await {
            Ok(_) => Ok(Saved::Done),
            Err(Error::Refused(refusal)) if refusal.status == 400 => {
                Ok(Saved::Refused(refusal.message))
            }
            Err(error) => Err(error.into()),
        }
    };
    let before = Value::Object(properties);
    editor::edit(work, &name, &format!("minutehand job set {name} …"), &before, save).await
}
