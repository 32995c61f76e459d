//! What an export of an installation carries: its collections with their jobs, its cloud services, and the
//! retries that wait. As lines, which are the same for every store, and how it comes into another
//! installation.
//!
//! Exports, imports and the backups of each day use it. It knows stores by their ports alone, and nothing of
//! files: see `archive` for those.
//!
//! A cloud service is found with the collections of its subscription. If that never had one, it is not
//! found.
//!
//! To bring something again changes nothing:
//!
//! | step | condition | a crash after it leaves |
//! |---|---|---|
//! | begin an import | none is under way, or it is the same one | a store that says which import goes on |
//! | bring a cloud service | it does not exist | it |
//! | bring a collection, which is off | it does not exist | a collection whose jobs do not fire, and that counts more jobs than it has |
//! | bring a job | neither its definition nor its timer exists | the job |
//! | bring a retry | it does not exist | its timer, which fires only if its collection is on when it is due |
//! | end an import | it is the same one | nothing |

mod bring;
mod line;
mod moved;
mod store;
mod walk;

pub use bring::{bring, has_collections};
pub use line::{BadLine, CARRIED_KINDS, kind, read_line, sealed, to_line};
pub use moved::{moved_collection, moved_job, moved_retry};
pub use store::StoreOfMoves;
pub use walk::{backup_entries, carried};
