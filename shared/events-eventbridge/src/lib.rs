//! What happens to jobs, put on an EventBridge bus, so that rules can be hung on it.
//!
//! Most executions succeed, and nobody waits for news of that: it is in the metrics and in the
//! history. What somebody may want to act on becomes an event, of [`SOURCE`], with one of these
//! detail types:
//!
//! | detail type | when | detail beside `jobUid`, `collectionUid`, `job` |
//! |---|---|---|
//! | `Execution Failed` | an attempt failed; a retry may follow | `attempt`, `action` (`main` or `error`), `try` (0 is the first), `isRun`, `occurrence`, `dueAt`, `startedAt`, `endedAt`, `lateMs`, `repeatCount` |
//! | `Occurrences Skipped` | occurrences were not owed: overtaken, or their collection was off | `occurrences`, `reason` (`Overtaken` or `CollectionOff`), and of a single one `occurrence` |
//! | `Job Completed`, `Job Faulted` | a job is over | `state`, as the API answers it |
//!
//! `job` is the job's name in small letters, as names match; instants are RFC 3339, in UTC. Nothing
//! else is in them: neither what a target answered, which the history has, nor anything of a request.
//!
//! Events are kept until [`Bus::flush`], at the end of an invocation. A process that ends before that
//! loses them, and so does a bus that takes none for as long as we try: the history is what happened,
//! events only tell of it. A message that comes twice may tell twice; `attempt` is then the same.

mod bus;
mod detail;

pub use bus::{Bus, EventsLost};

/// The source of all events.
pub const SOURCE: &str = "minutehand";
