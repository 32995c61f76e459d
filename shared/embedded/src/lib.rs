//! The back end on one machine: a DynamoDB-compatible store and a durable queue, in the process.
//!
//! # The store
//!
//! Minutehand has one storage implementation, which uses the AWS SDK. On AWS the SDK sends its
//! requests over HTTPS. Here they reach [dynoxide], a DynamoDB on SQLite, without a socket:
//!
//! ```text
//! aws-sdk-dynamodb -> Connector -> channel -> the store's thread -> direct ------> SQLite
//!                                                                -> dynoxide ->
//!                                  <- oneshot, the answer as an HTTP response <-
//! ```
//!
//! The module `direct` performs the requests that Minutehand repeats, on dynoxide's tables and with the
//! same results. dynoxide performs all others, and each form of a request the first time.
//!
//! So all code above the SDK's HTTP client is the code that runs on AWS. [`Store::client`] is the
//! way into the store, and [`Store::connector`] a shorter one for requests that the SDK has written.
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
//! The sweeper and the API send work that is due soon to the [`Queue`], and the workers receive it
//! from there. The module [`queue`] says what the queue guarantees, and what a crash leaves.
//!
//! # What the store makes durable, and when
//!
//! SQLite has a write-ahead log, `store.db-wal`. Requests that wait together share one transaction, up
//! to [`PASS_MAX`] of them. They are answered after its commit is in that log, so a killed process
//! loses nothing that was answered. A request that fails undoes its own writes only. If SQLite refuses the
//! transaction, none of its writes is made, and each request is performed alone.
//!
//! [`SyncMode`] decides what a power cut may lose. The database stays consistent in both modes, because
//! SQLite runs at `synchronous = NORMAL` and orders its writes.
//!
//! | after this step | a kill leaves | a power cut leaves |
//! |---|---|---|
//! | request accepted | nothing | nothing |
//! | performed, not committed | nothing | nothing |
//! | committed, not answered | the writes of the transaction; the callers do not know, as with a lost answer on AWS | all writes of the transaction, or nothing |
//! | answered, [`SyncMode::Normal`] | the write | the write, unless it is younger than [`CHECKPOINT_EVERY`] and the requests that were running |
//! | answered, [`SyncMode::Full`] | the write | the write |
//! | during a checkpoint | the log; the next start repeats the checkpoint | the same |
//!
//! If the disk fails to make something durable, the store answers every further request with an
//! `InternalServerError`: what the log holds is unknown then, and only a restart can find out. Until
//! then both files stay as they are: no checkpoint is made, not even at the end of the process.
//!
//! A disk that is full or read-only still answers reads. [`WriteProbe`] tries a write, so that a health
//! check reports such a disk before a write is lost.
//!
//! # What the store does not do
//!
//! The store does not throttle, its indexes are never stale, its transactions never conflict, and its
//! items do not expire by themselves. Tests of those cases use fakes of the ports.

mod connector;
mod data_dir;
mod database;
mod database_file;
mod direct;
mod directory;
mod disk;
mod error;
mod identity;
mod log;
mod operation;
pub mod queue;
mod serving;
mod shared_transaction;
mod snapshot;
mod store;
mod thread;

pub use data_dir::{DataDir, DataDirError, FORMAT, sync_entries};
pub use directory::{BegunRepair, DataDirectory, OpenMark};
pub use disk::WriteProbe;
pub use error::{OpenError, Remedy};
pub use log::SyncMode;
pub use queue::Queue;
pub use serving::IN_FLIGHT_MAX;
pub use snapshot::snapshot_store;
pub use store::Store;
pub use thread::{CHECKPOINT_EVERY, PASS_MAX};
