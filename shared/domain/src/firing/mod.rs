//! Firing, as decisions: what to hand to the queue, what may still start, what follows an attempt,
//! and when a job is over.
//!
//! Every decision is a pure function of what was read and of the time. Sweeper, worker and API ask
//! the same ones, so that none of them can think differently of an occurrence.
//!
//! Spans of [`limits`] are of work time; on a test clock the caller stretches them to the schedule's
//! before they come in here.

mod conclude;
mod fence;
mod follow;
pub mod limits;
mod plan;

pub use conclude::{Chain, Conclusion, conclude, last_until_now, longest_gap, seen_from};
pub use fence::{Standing, Why, fence};
pub use follow::{Follow, NO_RETRY_FOLLOWS, follow, is_final_failure};
pub use plan::{NextLook, Plan, Window, is_owed, latest_until, plan};
