//! Collections and jobs: their properties and limits, and the effect of a change.
//!
//! Services and adapters call it. It is pure, and never knows async, I/O, a clock, or how anything is
//! stored. JSON documents are read into types that hold only values with a meaning, and are written
//! from them; see [`document`].
//!
//! The words of recurrences and of firing are explained in `shared/GLOSSARY.md`.

pub mod action;
pub mod alert;
pub mod arn;
pub mod attempt;
pub mod attempt_key;
pub mod backoff;
pub mod cause;
pub mod chain;
pub mod collection;
pub mod collection_place;
pub mod completion;
pub mod credentials;
pub mod dates;
pub mod document;
pub mod duration;
pub mod earlier_timing;
pub mod ended;
pub mod extensions;
pub mod failed_occurrence;
pub mod failure_event;
pub mod far;
pub mod firing;
pub mod goes_on;
pub mod history_days;
pub mod history_name;
pub mod idempotency_key;
pub mod ids;
pub mod incident;
pub mod job;
pub mod journal;
mod json;
pub mod limits;
pub mod load;
pub mod location;
pub mod message;
pub mod missed;
pub mod name;
pub mod own;
pub mod pause;
pub mod ping;
mod ping_window;
pub mod plan;
pub mod policies;
pub mod presence;
pub mod preview;
pub mod quarter;
pub mod reach;
pub mod recent;
pub mod recently_counted;
pub mod refusal;
pub mod retry;
pub mod said;
pub mod schedule;
pub mod secret;
pub mod sign;
pub mod snooze;
pub mod template;
pub mod tick;
pub mod timing;
pub mod warnings;
pub mod work_item;

pub use minutehand_recurrence::named;
