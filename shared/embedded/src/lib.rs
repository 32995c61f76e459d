//! The back end on one machine: a DynamoDB-compatible store and a durable queue in the process.
//!
//! # The store
//!
//! There is one storage implementation, and it speaks to the AWS SDK. On AWS the SDK's requests
//! leave by HTTPS; here they reach [dynoxide], a DynamoDB on SQLite, without a socket:
//!
//! ```text
//! aws-sdk-dynamodb -> Connector -> channel -> the store's thread -> dynoxide -> SQLite
//!                                  <- oneshot, the answer as an HTTP response <-
//! ```
//!
//! So every line above the SDK's HTTP client is the one that runs on AWS, and this crate offers
//! no second way into the store: [`Store::client`] is all there is.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = minutehand_embedded::Store::in_memory()?;
//! let tables = store.client().list_tables().send().await?;
//! assert!(tables.table_names().is_empty());
//! store.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # The queue
//!
//! [`Queue`] is where the sweeper and the API leave what is due soon, and where the workers take it
//! from. What it promises, and what a crash leaves of it, is said in [`queue`].
//!
//! # What of the store is durable, and when
//!
//! SQLite writes ahead to a log, `store.db-wal`. A request is answered after its commit is in that
//! log, so a process that is killed loses nothing that was answered. What a power cut takes is
//! [`SyncMode`]'s choice; it never takes consistency, since SQLite runs at `synchronous = NORMAL`
//! and orders what it writes.
//!
//! | after this step | a kill leaves | a power cut leaves |
//! |---|---|---|
//! | request accepted | nothing of it | nothing of it |
//! | committed, not answered | the write; the caller does not know, as with a lost answer on AWS | all of it or nothing |
//! | answered, [`SyncMode::Normal`] | the write | nothing, for at most [`CHECKPOINT_EVERY`] and the request that was running |
//! | answered, [`SyncMode::Full`] | the write | the write |
//! | in the middle of a checkpoint | the log, from which the next start repeats it | the same |
//!
//! If the disk refuses to make something durable, the store answers every further request with an
//! `InternalServerError`: what is in the log is then unknown, and only a new start can find out.
//!
//! A disk that is full, or may only be read, still answers: [`WriteProbe`] tries a write, so that somebody
//! is told before one is lost.
//!
//! # What the store does not do
//!
//! It does not throttle, its indexes are never stale, transactions never conflict, and items do
//! not expire by themselves: who needs to see those tests them at the ports.

mod connector;
mod data_dir;
mod database;
mod disk;
mod error;
mod log;
mod operation;
pub mod queue;
mod serving;
mod store;
mod thread;

pub use data_dir::{DataDir, DataDirError, FORMAT, sync_entries};
pub use disk::WriteProbe;
pub use error::OpenError;
pub use log::SyncMode;
pub use queue::Queue;
pub use serving::IN_FLIGHT_MAX;
pub use store::Store;
pub use thread::{CHECKPOINT_EVERY, PASS_MAX};
