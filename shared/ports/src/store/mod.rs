//! The store, as one trait for each kind of item.
//!
//! A method handles one item. How concurrent calls share a request is a matter of the
//! implementation, below these traits. The exception is [`Timers::advance`], which moves a page of
//! timers, because the dispatcher always has a page of them.
//!
//! A change is made on what was read: each record has a version, and a change of an older version
//! ends as [`Saved::Stale`]. The caller then reads again and decides anew.
//!
//! Every method can be repeated. If an answer is lost, the caller asks again and gets the same
//! answer.

mod attempts;
mod browse;
mod cloud_services;
mod collections;
mod counters;
mod error;
mod installation;
mod jobs;
mod page;
mod pulses;
mod removal;
mod retries;
mod seats;
mod slots;
mod snapshots;
mod timers;
mod turns;

pub use attempts::{
    Attempts, CLAIMS_MAX, Claim, ClaimRequest, Claimed, History, HistoryEntry, Recorded,
};
pub use browse::Browse;
pub use cloud_services::{CloudServiceRecord, CloudServices};
pub use collections::{CollectionRecord, Collections, ResourceGroup};
pub use counters::{AfterUpdate, Counted, CounterUpdate, Counters, CountersAdd};
pub use error::StoreError;
pub use installation::{Brought, Carried, CollectionStanding, Found, Installation, Part};
pub use jobs::{JobRecord, Jobs, Recount, SaveJob, Saved, TimerRecord};
pub use page::{Page, PageRequest};
pub use pulses::{PulseOf, PulseRecord, Pulses};
pub use removal::Removal;
pub use retries::{LongRetry, RetryTimers};
pub use seats::Seats;
pub use slots::{SlotRequest, Slots};
pub use snapshots::{JobSnapshot, Snapshots};
pub use timers::{Advance, Due, DueTimer, Finish, JobTimer, JobsAtRest, Pause, TimerKey, Timers};
pub use turns::{OwnAttempt, Turns, TurnsRead, TurnsWrite};
