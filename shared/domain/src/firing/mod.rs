//! The decisions of firing: which occurrences to dispatch, which attempts may start, what follows an
//! attempt, and when a job has finished.
//!
//! Every decision is a pure function of stored facts and the time. The sweeper, the worker and the
//! API use the same functions, so they cannot disagree on an occurrence.
//!
//! The spans of [`limits`] are on the clock of work. With a test clock the caller stretches them to
//! the clock of the schedule first.

mod brake;
mod failed_in_row;
mod finish_check;
pub mod limits;
mod may_start;
mod next_occurrence;
mod next_step;
mod outage;
mod places;
mod plan;
mod seat;
mod sent_before;
mod slot;
mod turn;
mod why;

pub use brake::{ANSWERS_WITHIN, BRAKED_AT_ONCE, BRAKED_EVERY, BRAKED_FOR, SharedBrake};
pub use failed_in_row::{FailedInRow, failed_in_row};
pub use finish_check::{
    FinishCheck, JobProgress, check_finished, held_up, last_occurrence, seen_before_outages,
    seen_from,
};
pub use may_start::{JobStanding, SkipReason, StartCheck, may_start};
pub use next_occurrence::{NotFiring, next_occurrence, not_firing};
pub use next_step::{
    FollowPolicy, NO_RETRY_FOLLOWS, NextStep, OnFailure, alert_of, decide_then, is_final_failure,
    next_step,
};
pub use outage::{Around, LeftOut, LeftOutReason, OUTAGES_MAX, Outage, Pulse, overtaken_in};
pub use places::{HANGING_AT_ONCE, Place, Places, Share};
pub use plan::{DispatchPlan, NextLook, Window, latest_until, plan_dispatch};
pub use seat::{PLACE_LOOK_MAX, SEAT_LOOK_MAX, SEAT_LOOK_MIN, Waited, place_pause, seat_pause};
pub use sent_before::sent_before;
pub use slot::{
    NO_SLOT_PAUSE, SLOT_KEEPS, SLOT_LOOK, SLOTS_AHEAD, Slot, SlotBook, SlotStep, next_slot,
};
pub use turn::{
    TURN_PAUSE, TurnCheck, TurnHolder, TurnOrder, TurnStep, WAITING_MAX, Waiter, next_turn,
    takes_turns,
};
pub use why::{LATE, Why, WhyFacts, occurrence_before, why};
