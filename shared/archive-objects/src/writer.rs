//! Writes lines as objects.

use minutehand_archive::{Batches, Chunk, Line};

use crate::error::ArchiveError;
use crate::objects::Objects;

/// What was written.
#[derive(Debug, Default)]
pub struct Written {
    /// How many lines.
    pub lines: u64,
    /// The names of the objects.
    pub objects: Vec<String>,
}

/// Gathers lines, and stores an object when one is full. After a crash the lines are written again: into the
/// same objects if they come in the same order, otherwise a second time.
#[derive(Debug)]
pub struct ArchiveWriter<'a> {
    objects: &'a Objects,
    batches: Batches,
    written: Written,
}

impl<'a> ArchiveWriter<'a> {
    /// A writer that has no lines yet.
    #[must_use]
    pub fn new(objects: &'a Objects) -> Self {
        Self::with_batches(objects, Batches::default())
    }

    /// A writer with limits of its own.
    #[must_use]
    pub fn with_batches(objects: &'a Objects, batches: Batches) -> Self {
        Self { objects, batches, written: Written::default() }
    }

    /// Adds a line.
    ///
    /// # Errors
    ///
    /// If an object is full, and the archive does not accept it.
    pub async fn add(&mut self, line: &Line) -> Result<(), ArchiveError> {
        match self.batches.add(line) {
            Some(chunk) => self.put(chunk).await,
            None => Ok(()),
        }
    }

    /// Stores what is left.
    ///
    /// # Errors
    ///
    /// If the archive does not accept it.
    pub async fn finish(mut self) -> Result<Written, ArchiveError> {
        while let Some(chunk) = self.batches.take_rest() {
            self.put(chunk).await?;
        }
        Ok(self.written)
    }

    async fn put(&mut self, chunk: Chunk) -> Result<(), ArchiveError> {
        let object = self.objects.packed(|| chunk.pack(), "pack an object of").await?;
        let (name, lines) = (object.name.clone(), object.lines);
        self.objects.put(object).await?;
        self.written.lines += lines;
        self.written.objects.push(name);
        Ok(())
    }
}

impl Written {
    /// Adds what was written beside it.
    pub fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.objects.extend(other.objects);
    }
}
