//! `job delete`.

use super::many::{ManyArgs, each};
use crate::failure::Result;
use crate::output::ask;
use crate::work::Work;

pub(super) async fn delete(work: &Work, args: &ManyArgs) -> Result<()> {
    let jobs = args.jobs(work).await?;
    let question = match &jobs[..] {
        [job] => format!("Delete {} and its history?", work.defaults().short_job(job)),
        jobs => format!("Delete {} jobs and their history?", jobs.len()),
    };
    ask::confirm(&work.screen, &question, args.yes)?;
    each(work, &jobs, "deleting", |job| async move {
        work.client().delete_job(&job).await?;
        Ok("deleted".to_owned())
    })
    .await
}
