//! `job enable` and `job disable`.

use client::Precondition;
use serde_json::json;

use super::many::{ManyArgs, each};
use crate::failure::Result;
use crate::output::ask;
use crate::work::Work;

pub(super) async fn switch(work: &Work, args: &ManyArgs, on: bool) -> Result<()> {
    let jobs = args.jobs(work).await?;
    let (word, state, doing) =
        if on { ("Enable", "enabled", "enabling") } else { ("Disable", "disabled", "disabling") };
    if args.is_pattern() {
        ask::confirm(&work.screen, &format!("{word} {} jobs?", jobs.len()), args.yes)?;
    }
    let patch = json!({"properties": {"state": state}});
    each(work, &jobs, doing, |job| {
        let patch = &patch;
        async move {
            work.client().patch_job(&job, patch, Precondition::Always).await?;
            Ok(state.to_owned())
        }
    })
    .await
}
