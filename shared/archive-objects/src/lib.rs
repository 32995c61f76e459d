//! The archive's objects: in a folder, or in a bucket of S3 and of services that speak like it.
//!
//! The API, the executor, the archiver, `carry` and the program for one machine call it. It never knows
//! a store.
//!
//! [`Location`] says where, [`Objects`] stores and fetches, [`ArchiveWriter`] gathers
//! lines into objects, [`ArchivedHistory`] reads back, and
//! [`ArchivedBodies`] keeps what targets answered. There are two kinds of writes: to create what must not
//! exist, and to overwrite.
//!
//! An archive has a mark, the file `minutehand.json` with an id. It is created once, when the archive is
//! first used, and never by a process that has used this archive before. So a folder whose file system is
//! not mounted is noticed, and nothing is written to the disk below. A folder itself is never created
//! for the same reason.
//!
//! A backup of an installation needs no mark: each is in a folder of its own, and its files are only
//! created, never overwritten. Those that a schedule made are deleted when they are old.
//!
//! | step | a crash after it leaves |
//! |---|---|
//! | create the mark | a mark without objects, which the next start takes as its own |
//! | write an object | it, complete; during the step also, in a folder, a file whose name begins with a dot, which no reader looks at and the next write of the object replaces |
//! | write the objects of a repaired day | lines twice, and the view has them once |
//! | delete what was repaired | the same, for what is left |
//! | write the files of a backup | a folder without a manifest, which is not a backup; the next backup has another folder |
//! | write the progress of a backup | a paused backup, which another run ends |
//! | write the manifest of a backup | the backup |
//! | delete the manifest of an old backup | files that are not backups, which a later run deletes, as those of a backup that broke off |
//! | delete its files | the same, for what is left |

mod backups;
mod bodies;
mod bucket;
mod error;
mod folder;
mod history;
mod listing;
mod location;
mod objects;
mod old_backups;
mod paused_backups;
mod store;
mod writer;

pub use backups::BackupWriter;
pub use bodies::ArchivedBodies;
pub use error::ArchiveError;
pub use history::ArchivedHistory;
pub use location::Location;
pub use objects::Objects;
pub use old_backups::{BACKUP_TIME_MAX, RemovedBackups};
pub use paused_backups::BegunBackup;
pub use writer::{ArchiveWriter, Written};
