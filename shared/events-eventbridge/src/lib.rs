//! Puts events of jobs on an EventBridge bus, where rules can match them.
//!
//! The sweeper and the executor on AWS call it through its port. It never knows stores or targets.
//!
//! Successful attempts are not put on the bus: metrics and history have them. Everything that a
//! subscriber may want to react to is an event of [`SOURCE`] with one of these detail types:
//!
//! | detail type | when | detail beside `jobUid`, `collectionUid`, `job` |
//! |---|---|---|
//! | `Execution Failed` | an attempt failed; a retry may follow | `attempt`, `action` (`main` or `error`), `try` (0 is the first), `isRun`, `occurrence`, `dueAt`, `startedAt`, `endedAt`, `lateMs`, `repeatCount`, `cause` |
//! | `Occurrences Skipped` | occurrences were overtaken, or their collection was disabled | `occurrences`, `reason` (`Overtaken`, `TooLate`, `Overlap`, `NotWatched` or `CollectionOff`), and `occurrence` if it is a single one |
//! | `Job Completed`, `Job Faulted` | a job finished | `state`, as in the API |
//! | `Job Paused` | a job was disabled, because as many occurrences failed as it allows | `reason`, a sentence |
//!
//! `job` is the job's name in lower case; instants are RFC 3339, in UTC. An event contains nothing else:
//! neither the answer of a target, which is in the history, nor any part of a request.
//!
//! Events are kept until [`Bus::flush`], at the end of an invocation. They are lost if the process ends
//! before, or if the bus does not accept them after several tries; the history is complete in any case.
//! A message that is delivered twice may cause an event twice, with the same `attempt`.

mod bus;
mod detail;

pub use bus::{Bus, EventsLost};

/// The source of all events.
pub const SOURCE: &str = "minutehand";
