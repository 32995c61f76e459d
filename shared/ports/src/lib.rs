//! The ports: traits for everything that the services need from the world, and their errors.
//!
//! `app` and `carry` call them, adapters implement them. A port never knows HTTP, AWS or SQL. Losing a
//! race is an answer, not an error; not found is `None`. A method that stores a time takes it as a
//! parameter.
//!
//! The words of firing are explained in `shared/GLOSSARY.md`.

mod action;
mod body;
mod certificate;
mod clock;
mod dead_letters;
mod deliveries;
mod disk;
mod error_type;
mod event;
mod id;
mod queue;
mod seal;
mod steps;
pub mod store;

pub use action::{ActionOutcome, ActionSender, AttemptContext, FailureBody, NotMade, SignedAs};
pub use body::{Bytes, FailureBodies};
pub use certificate::CertificateReader;
pub use clock::Clock;
pub use dead_letters::{
    CHOSEN_MAX, ChosenLetters, DeadLetter, DeadLetters, DeadLettersDone, DeadLettersSeen,
};
pub use deliveries::{Deliveries, HIDDEN_MAX, ReceiptHandle, TakenMessage};
pub use disk::Disk;
pub use error_type::{ErrorType, chain};
pub use event::{Event, EventSink};
pub use id::IdSource;
pub use queue::{DispatchQueue, QueueError, QueueMessage};
pub use seal::{DataKeys, GivenKey, PurposeKey, PurposeKeyError, SealError, Sealer};
pub use steps::{DispatchStep, SettleStep, Settled, Settlement, StepError};
pub use store::{
    Alerts, ApiSigns, Attempts, Brakes, Browse, CloudServices, Collections, Counters,
    HangingOrigins, History, Installation, Jobs, OpenAttempts, Pings, Pulses, Removal, RetryTimers,
    Seats, Slots, Snapshots, StoreError, Timers, Turns,
};
