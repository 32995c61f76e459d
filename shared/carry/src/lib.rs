//! Exports an installation as lines that are the same for every store, and imports them into another
//! one: collections with their jobs, cloud services, and the retries that wait.
//!
//! The archiver and the program for one machine call it, for exports, imports and daily backups. It
//! knows stores by their ports alone, and never which store it is; `archive` has the files.
//!
//! A cloud service is found with the collections of its subscription. If that never had one, it is not
//! found.
//!
//! An import reads the whole backup before it writes, and once more to write. First it checks files against
//! the manifest, each line and each schedule; then, with the target open, that this is empty or has none of
//! the names, and that each secret opens, which is another reading. Only then, it writes. To bring something
//! again changes nothing, so the same import goes on after a crash:
//!
//! | step | condition | a crash after it leaves |
//! |---|---|---|
//! | begin an import | none is under way, or it is the same one, or it may stand beside others | a target that another import is refused by |
//! | bring a cloud service | it does not exist | it |
//! | bring a collection, which is off | it does not exist | a collection whose jobs do not fire, and that counts more jobs than it has |
//! | bring a job | neither its definition nor its timer exists | the job |
//! | bring the key for pings of a job | the job has none | the key, which finds the job |
//! | bring a retry | it does not exist | its timer, which fires only if its collection is on when it is due |
//! | end an import | it is the same one | nothing |
//!
//! So nothing fires before a user switches a collection on. What is due before that never fires here: an
//! attempt that was due while its collection was off does not start. And no attempt of the source starts
//! here, because its generation is over.

mod bring;
mod export;
mod failed;
mod import;
mod line;
mod moved;
mod names;
mod position;
mod resealing;
mod store;
mod walk;
mod watcher;

pub use bring::bring;
pub use export::{Export, Exported};
pub use failed::{MoveFailed, SecretFailed};
pub use import::{Backup, Import, ImportHow, Imported, Members};
pub use line::{BadLine, CARRIED_KINDS, kind, read_line, sealed, to_line};
pub use names::listed;
pub use position::BackupPosition;
pub use resealing::Resealing;
pub use store::StoreOfMoves;
pub use walk::{backup_entries, backup_page, carried};
pub use watcher::Watcher;
