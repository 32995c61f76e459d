//! The archive: history and journals as files, for as long as their owner keeps them.
//!
//! `archive-objects`, `carry`, the archiver and the program for one machine call it. It is pure, and
//! never knows where files are: it turns what ended into objects, and objects into executions.
//!
//! An object holds lines of JSON, one for each finished attempt or each entry of a journal, in gzip. It
//! belongs to one day, which its name says: `history/v1/date=2026-11-21/{first}-{last}-{hash}.jsonl.gz`.
//! Journals are below `audit/v1/`. The day of an attempt is that of its occurrence, so that a list by
//! occurrences reads one day after another.
//!
//! An object is never changed. Its name follows from its lines, so the same lines written again make the
//! same object. Other lines make another object, which may hold some lines a second time. So a line is
//! in the files at least once, and [`JobHistory`] has each execution exactly once.
//!
//! [`BackupParts`] has another purpose: it makes the files of a copy of an installation.
//!
//! No line of the archive contains a secret: attempts and journal entries have none.

mod backup;
mod batches;
mod due;
mod line;
mod merge;
mod name;
mod object;
mod progress;
mod view;

pub use backup::{
    BACKUPS, BackupAbout, BackupChunk, BackupEntry, BackupFile, BackupLine, BackupPart,
    BackupParts, MANIFEST, Manifest, SealedWith, backup_name, backup_time, sha256,
};
pub use batches::{Batches, Chunk, Object};
pub use due::{ArchivedDays, DaySpan, DueDays, day_before, open_day};
pub use line::{Execution, Line, Stream};
pub use merge::{DamagedObject, DayMerge};
pub use name::{date_folder, day_folder, day_of_folder, has_several_letters, letter, may_contain};
pub use object::{Contents, Unreadable, unpack};
pub use progress::{BackupProgress, progress_name, progress_number};
pub use view::{JobHistory, newest_day_below, position_below};
