//! The executor: a batch of messages, each performed by itself, with an outcome of its own.
//!
//! All messages of a batch are under way at once, so that a slow target holds up nobody; what they
//! ask of the store gathers, and is read together. Lambda is told which messages come back, and
//! deletes the others. Before, those that know when to come back are told to the queue:
//!
//! | outcome | the message |
//! |---|---|
//! | done | is deleted |
//! | another worker has it | comes back when that one's lease is over |
//! | the store, the queue or the key failed | comes back soon, and later each time |
//! | it took too long, or tripped over itself | comes back when the queue says: its lease is over then |
//! | it cannot be read | comes back at once, until it goes to the dead letters |
//! | a newer version wrote it | comes back when the queue says: a newer worker may be on its way |
//!
//! What a crash leaves in the store is said in `app::fire`; in the queue it leaves all messages of the
//! batch, which come back when the queue says, and find in the store how far they came.

mod batch;
mod settings;

pub use batch::{ExecutorClients, Function};
pub use settings::ExecutorSettings;
