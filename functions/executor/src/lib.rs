//! The executor: handles batches of messages, each message with an outcome of its own.
//!
//! Lambda calls it. It never decides what becomes of work: `app` does.
//!
//! All messages of a batch are handled concurrently, and so are the work items of a packet. A slow
//! target delays no other message, and their requests to the store are grouped. `minutehand_app::fire` sees one
//! work item at a time and decides what becomes of it; this function tells Lambda and the queue:
//!
//! | disposition | a message with one work item | a work item of a packet |
//! |---|---|---|
//! | delete | is left out of the answer; Lambda deletes it | is done |
//! | retry after a time | its visibility is changed to that time, and it is reported as failed | is sent as a message of its own |
//! | retry at the visibility timeout | is reported as failed | is sent as a message of its own |
//! | wait | is sent on, and left out of the answer | is sent as a message of its own |
//! | bury | is made visible at once, and reported as failed: SQS moves it to the dead letters after its last delivery | |
//!
//! A packet is left out of the answer when each of its work items is done or was sent. So a work item
//! that cannot be done does not hold up the others. A packet that is delivered for the fifth time has
//! ended its processes: it is divided, so that the work item that does it stands alone.
//!
//! `minutehand_app::fire` says what a crash leaves in the store. In the queue it leaves:
//!
//! | after | leaves | repaired by |
//! |---|---|---|
//! | some work is done | all messages of the batch | SQS, which delivers them again: each work item finds in the store how far its work came |
//! | a work item of a packet was sent | its message, and the packet | the worker of either: an attempt is claimed once |
//! | a packet was divided | its messages, and the packet | the same |
//! | all work items of a packet are done or sent | the packet | SQS, which delivers it again: nothing is left to do |

mod batch;
mod gathered;
mod settings;

pub use batch::{ExecutorClients, Function};
pub use settings::ExecutorSettings;
