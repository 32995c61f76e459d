//! `job edit`: a job in an editor.

use minutehand_client::Precondition;
use serde_json::{Value, json};

use super::NamedArgs;
use crate::editor;
use crate::failure::Result;
use crate::work::Work;

pub(super) async fn edit(work: &Work, args: &NamedArgs) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    let name = work.defaults().short_job(&path);
    let read = work.client().job(&path).await?;
    let mut properties = read.value.properties;
    properties.remove("status");
    let condition = read.etag.as_deref().map_or(Precondition::Always, Precondition::Unchanged);
    let save = async |properties: Value| {
        let document = json!({ "properties": properties });
        work.client().put_job(&path, &document, condition).await.map(drop)
    };
    let before = Value::Object(properties);
    editor::edit(work, &name, &format!("minutehand job set {name} …"), &before, save).await
}
