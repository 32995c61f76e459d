//! The store and the queue in plain SQL tables.
//!
//! The program `minutehand` calls it through ports. It never knows services or the environment.
//!
//! The SQL text exists once, in `sql`. Below it is an engine: [`sqlite`], one file on one machine, or
//! [`postgres`], one database of many processes. Every change is a [`script`](script::Script): a few
//! statements, each with what has to be true of its result. A crash leaves all of a script or nothing of it,
//! so there is nothing to repair.
//!
//! Several processes write at once. What a script reads and does not write, and relies on, it locks, or it
//! runs [alone](script::Script::is_alone).
//!
//! | part | what it does |
//! |---|---|
//! | `script` | the form in which anything is asked of a database |
//! | `sql` | the tables, and the text of every statement |
//! | `database` | either engine |
//! | `sqlite` | performs scripts: the thread that writes, its log, readers, files, backups |
//! | `postgres` | performs scripts: connections, transactions, the schema, being told of what others send |
//! | `collections`, `jobs`, `journal`, `timers`, `attempts`, `open_attempts`, `pings`, `history`, `turns`, `limits`, `snapshots`, `counters`, `other`, `browse`, `installation` | the traits of [`minutehand_ports::store`] |
//! | `queue` | the queue, and the steps that change it together with the store |
//! | `ended`, `expired`, `sealed`, `states` | walks through all that is stored: for the archive, the removal of what has expired, a lost key, figures |
//! | `changed`, `prefetched` | snapshots that are read before their attempts are due |
//!
//! | script | rows | what it needs |
//! |---|---|---|
//! | create a collection | collection, subscription in use | it does not exist |
//! | replace a collection | collection | the version and the number of jobs that were read |
//! | delete a collection | collection, purge | the version that was read |
//! | store or delete a cloud service | cloud service | the version before it, or that it does not exist |
//! | create a job | collection's count, definition, timer, key of an expired one | the collection has the version that was read, and is not full; the job does not exist, or has expired |
//! | replace a job | definition, timer | the version that was read, the generation if the timing changes, and that the job has not finished |
//! | delete a job | definition, timer, key for pings, collection's count | the version that was read |
//! | pause a job | definition, timer | its version and generation, and that it is enabled |
//! | correct a count of jobs | collection | the count and the number of creations are those that were read |
//! | move a timer, with what was left out | timer, left out | its due time is the one that was seen; of a job, also its generation and state |
//! | expire a definition | definition | its version |
//! | finish a job | timer | its generation, the version of its definition, and that it is enabled or still due |
//! | keep or remove a retry | retry | none |
//! | claim | attempt | see `attempts` |
//! | release, postpone or record | attempt | the claim is the caller's, and has not ended |
//! | leave open, with its deadline, turn and seat | attempt, retry, turns, seats | the claim is the caller's, and no ending is said |
//! | say an ending | attempt | none is said, it has not ended, and the deadline allows it |
//! | record an ending | attempt | an ending is said, and it has not ended |
//! | set the key for pings of a job | key | it is the one that was read |
//! | take a ping | key, attempt, retry | the book has the number that was read; see `pings` |
//! | give a sign of the API | presence | it is the one that was read |
//! | write an order of turns, with what was left out | turns, left out | the order has the number that was read |
//! | give back a turn or a seat | turns, seats | the claim has it |
//! | open a book of slots | slots | it is the one that was read |
//! | take a slot | slots | the limit is the same, and the slot is in the time that is asked for |
//! | take a seat | seats | fewer others are taken than the limit says |
//! | count, with what is forgotten | timer, counted, quarters | the recently counted attempts are those that were read |
//! | leave occurrences out | left out | that it is more than is recorded |
//! | bring a cloud service | cloud service | it does not exist |
//! | bring a job | definition, timer | neither exists |
//! | begin an import | import | none is under way, or it is the same one, or takes the place of it |
//! | end an import | import | none |
//! | beat | pulse | the last beat is the one that was read |
//! | dispatch | messages, quarters, timers, left out | none: each timer moves if it is where it was seen |
//! | settle | timer, counted, messages, quarters | as for counting |
//! | finish, put back, set aside, take again or bury | messages, dead letters | the receipt is that of the last delivery |
//!
//! A change of a user has its entry of the journal in the same script.

mod alerts;
mod attempts;
mod browse;
pub mod changed;
mod collections;
mod counters;
mod database;
mod ended;
mod expired;
mod history;
mod installation;
mod jobs;
mod journal;
mod limits;
mod marks;
mod open_attempts;
mod other;
mod pings;
pub mod postgres;
mod prefetched;
mod present;
mod quarters;
pub mod queue;
pub mod script;
mod sealed;
mod snapshots;
mod sql;
pub mod sqlite;
mod states;
mod store;
mod timers;
mod turns;
mod value;

pub use database::{AnyDatabase, DatabaseError};
pub use ended::{EndedPosition, EndedSlice, EndedWhen};
pub use marks::CollectionMark;
pub use queue::{QueueStanding, SqlQueue};
pub use sealed::{Sealed, SealedOf, SealedPosition};
pub use states::{StateCounts, StatePosition};
pub use store::SqlStore;
