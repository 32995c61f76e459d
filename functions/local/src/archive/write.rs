//! Writes what has ended as objects.

use anyhow::{Context, Result};
use minutehand_archive::Line;
use minutehand_archive_objects::ArchiveWriter;
use minutehand_store_sql::{EndedWhen, SqlStore};

/// Walks through the store, and adds the lines that are wanted. Returns how many items cannot be read, which
/// are in the log.
pub(super) async fn write(
    jobs: &SqlStore,
    writer: &mut ArchiveWriter<'_>,
    when: EndedWhen,
    mut is_wanted: impl FnMut(&Line) -> bool,
) -> Result<u64> {
    let (mut unreadable, mut from) = (0, None);
    loop {
        let page = jobs.ended(when, from).await.context("cannot read the store")?;
        unreadable += page.unreadable;
        for line in page.found.into_iter().map(Line::from).filter(|line| is_wanted(line)) {
            writer.add(&line).await?;
        }
        from = page.next;
        if from.is_none() {
            return Ok(unreadable);
        }
    }
}
