//! By what alarms know errors.

use std::fmt;

/// The type of an error, as the log and the answers of functions have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorType {
    /// The environment does not say what the function has to know.
    SettingsInvalid,
    /// The function could not go on, and its process ended.
    FunctionEnded,
    /// What Lambda handed over is not what the function is for.
    EventUnreadable,
    /// A message is not one of ours, or damaged.
    MessageUnreadable,
    /// A message was written by a newer version.
    MessageNewer,
    /// The store, the queue or the key did not do their part; the message comes back.
    ErrandFailed,
    /// A message took longer than the function may; it comes back.
    ErrandOverran,
    /// A message made the function trip over itself; it comes back.
    ErrandTripped,
    /// A message came back for the last time, and goes to the dead letters.
    DeadLetter,
    /// No shard of the index was swept.
    SweepFailed,
    /// Events of jobs could not be put on the bus.
    EventsLost,
}

impl ErrorType {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SettingsInvalid => "SettingsInvalid",
            Self::FunctionEnded => "FunctionEnded",
            Self::EventUnreadable => "EventUnreadable",
            Self::MessageUnreadable => "MessageUnreadable",
            Self::MessageNewer => "MessageNewer",
            Self::ErrandFailed => "ErrandFailed",
            Self::ErrandOverran => "ErrandOverran",
            Self::ErrandTripped => "ErrandTripped",
            Self::DeadLetter => "DeadLetter",
            Self::SweepFailed => "SweepFailed",
            Self::EventsLost => "EventsLost",
        }
    }
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
