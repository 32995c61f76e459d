//! `job enable` and `job disable`.

use minutehand_client::Precondition;
use serde_json::json;

use super::many::{ManyArgs, each};
use crate::failure::Result;
use crate::output::{ask, plural};
use crate::work::Work;

pub(super) async fn switch(work: &Work, args: &ManyArgs, on: bool) -> Result<()> {
    let jobs = args.jobs(work).await?;
    let (verb, state, doing) =
        if on { ("Enable", "enabled", "enabling") } else { ("Disable", "disabled", "disabling") };
    if args.is_pattern() {
        ask::confirm(&work.screen, &format!("{verb} {}?", plural(jobs.len(), "job")), args.yes)?;
    }
    let changes = json!({"properties": {"state": state}});
    each(work, &jobs, doing, |job| {
        let changes = &changes;
        async move {
            work.client().patch_job(&job, changes, Precondition::Always).await?;
            Ok(state.to_owned())
        }
    })
    .await
}
