//! `job copy`: a job once more, under another name.

use clap::Args;
use serde_json::json;

use super::create::{describe, put_new};
use crate::export::definition;
use crate::failure::{Failure, Result};
use crate::work::Work;

/// The arguments of `job copy`.
#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    /// Name of the job, or COLLECTION/JOB
    name: String,
    /// Name of the copy, or COLLECTION/JOB
    to: String,
    /// Create the copy switched off
    #[arg(long)]
    disabled: bool,
}

pub(super) async fn copy(work: &Work, args: &CopyArgs) -> Result<()> {
    let (from, to) = (work.defaults().job(&args.name)?, work.defaults().job(&args.to)?);
    let mut properties = definition(&work.client().job(&from).await?.value);
    if !properties.contains_key("startTime") {
        let name = work.defaults().short_job(&from);
        return Err(Failure::refused(format!(
            "{name} has no startTime, so a copy would run at once"
        ))
        .hint(format!("`minutehand job set {name} startTime=2027-01-01` gives it one")));
    }
    if args.disabled {
        properties.insert("state".to_owned(), "disabled".into());
    }
    let created = put_new(work, &to, &json!({ "properties": properties })).await?;
    describe(work, &to, &created).await
}
