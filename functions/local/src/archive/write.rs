//! Writes what has ended as objects.

use anyhow::{Context, Result};
use archive::{ArchivedChange, Batches, Chunk, Execution, Line};
use archive_objects::Objects;
use store_dynamodb::{DynamoStore, EndedItem, EndedWhen};
use tokio::task::spawn_blocking;

/// What was written.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) lines: u64,
    /// The names of the objects.
    pub(super) objects: Vec<String>,
    /// Items of the store that cannot be read, and are in the log.
    pub(super) unreadable: u64,
}

impl Written {
    /// Stores an object.
    pub(super) async fn put(&mut self, objects: &Objects, chunk: Chunk) -> Result<()> {
        // The threads of the server have others to serve meanwhile.
        let object = spawn_blocking(|| chunk.pack()).await.context("cannot pack an object")?;
        let (name, lines) = (object.name.clone(), object.lines);
        objects.put(object).await?;
        self.lines += lines;
        self.objects.push(name);
        Ok(())
    }

    /// Stores what is left.
    pub(super) async fn finish(&mut self, objects: &Objects, mut batches: Batches) -> Result<()> {
        while let Some(chunk) = batches.take_rest() {
            self.put(objects, chunk).await?;
        }
        Ok(())
    }
}

/// Walks through the store, and writes the lines that are wanted.
pub(super) async fn write(
    jobs: &DynamoStore,
    objects: &Objects,
    when: EndedWhen,
    mut is_wanted: impl FnMut(&Line) -> bool,
) -> Result<Written> {
    let (mut batches, mut written, mut from) = (Batches::default(), Written::default(), None);
    loop {
        let page = jobs.ended(when, from).await.context("cannot read the store")?;
        written.unreadable += page.unreadable;
        for line in page.found.into_iter().map(line).filter(|line| is_wanted(line)) {
            if let Some(chunk) = batches.add(&line) {
                written.put(objects, chunk).await?;
            }
        }
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    written.finish(objects, batches).await?;
    Ok(written)
}

fn line(ended: EndedItem) -> Line {
    match ended {
        EndedItem::Attempt { job_uid, attempt, record } => {
            Line::from(&Execution { job_uid, attempt, record })
        }
        EndedItem::Change { collection_uid, entry } => {
            Line::from(&ArchivedChange { collection_uid, entry })
        }
    }
}
