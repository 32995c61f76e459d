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

mod alerts;
mod attempts;
mod brakes;
mod browse;
mod cloud_services;
mod collections;
mod counters;
mod error;
mod installation;
mod jobs;
mod layer;
mod open_attempts;
mod page;
mod pings;
mod pulses;
mod removal;
mod retries;
mod seats;
mod slots;
mod snapshots;
mod timers;
mod turns;

pub use alerts::{AlertRead, AlertWrite, Alerts, AlertsLayer};
pub use attempts::{
    Attempts, AttemptsLayer, CLAIMS_MAX, Claim, ClaimRequest, Claimed, History, HistoryEntry,
    HistoryLayer, Recorded,
};
pub use brakes::{Brakes, BrakesLayer, HangingOrigins};
pub use browse::{
    Browse, BrowseLayer, CountedQuarters, PresentAttempt, PresentAttempts, Standing, WaitsFor,
};
pub use cloud_services::{CloudServiceRecord, CloudServices, CloudServicesLayer};
pub use collections::{CollectionRecord, Collections, CollectionsLayer, ResourceGroup};
pub use counters::{AfterUpdate, Counted, CounterUpdate, Counters, CountersAdd, CountersLayer};
pub use error::StoreError;
pub use installation::{
    Brought, Carried, CollectionStanding, Found, Installation, InstallationLayer, Part,
};
pub use jobs::{AskedRun, JobRecord, Jobs, JobsLayer, Recount, SaveJob, Saved, TimerRecord};
pub use layer::{Answering, Call, Layer};
pub use open_attempts::{
    AttemptSeen, LeaveOpen, LeftOpen, OpenAttempt, OpenAttempts, OpenAttemptsLayer, OpenSpan, Said,
};
pub use page::{Page, PageRequest};
pub use pings::{
    ApiSigns, ApiSignsLayer, PingChange, PingFreshness, PingKey, PingOwing, PingRead, PingTaken,
    PingWrite, Pings, PingsLayer, SignsRead,
};
pub use pulses::{PulseOf, PulseRecord, Pulses, PulsesLayer};
pub use removal::{Removal, RemovalLayer};
pub use retries::{LongRetry, RetryTimers, RetryTimersLayer};
pub use seats::{Seats, SeatsLayer};
pub use slots::{SlotRequest, Slots, SlotsLayer};
pub use snapshots::{JobSnapshot, Snapshots, SnapshotsLayer};
pub use timers::{Advance, Due, DueTimer, Finish, JobTimer, Pause, TimerKey, Timers, TimersLayer};
pub use turns::{OwnAttempt, Turns, TurnsLayer, TurnsRead, TurnsWrite};
