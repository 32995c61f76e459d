//! Firing, as decisions: what to hand to the queue, what may still start, what follows an attempt,
//! and when a job is over.
//!
//! Every decision is a pure function of what was read and of the time. Sweeper, worker and API ask
//! the same ones, so that none of them can think differently of an occurrence.
//!
//! Spans of [`limits`] are of work time; on a test clock the caller stretches them to the schedule's
//! before they come in here.

mod finish_check;
pub mod limits;
mod may_start;
mod next_step;
mod plan;

pub use finish_check::{
    FinishCheck, JobProgress, check_finished, last_until_now, longest_gap, seen_from,
};
pub use may_start::{JobStanding, SkipReason, may_start};
pub use next_step::{NO_RETRY_FOLLOWS, NextStep, is_final_failure, next_step};
pub use plan::{DispatchPlan, NextLook, Window, is_owed, latest_until, plan_dispatch};
