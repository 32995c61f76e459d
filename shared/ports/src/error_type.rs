//! By what alarms and filters know errors: a field `error_type` of whatever is logged as one.

use std::fmt;

/// The type of an error, as the log and the answers of functions have it. It stays as it is.
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
    MessageFailed,
    /// A message took longer than the function may; it comes back.
    MessageTimedOut,
    /// A message made the function trip over itself; it comes back.
    MessagePanicked,
    /// A message came back for the last time, and goes to the dead letters.
    DeadLetter,
    /// No shard of the index was swept.
    SweepFailed,
    /// A shard of the index was not swept to its end; the next pass goes on there.
    ShardFailed,
    /// Events of jobs could not be put on the bus.
    EventsLost,
    /// A job cannot be read, and what is due of it fails.
    JobUnreadable,
    /// A timer cannot be read, and what it stands for does not fire.
    TimerUnreadable,
    /// A request failed for a reason of ours.
    RequestFailed,
    /// A request made the program trip over itself.
    RequestPanicked,
}

impl ErrorType {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::SettingsInvalid,
        Self::FunctionEnded,
        Self::EventUnreadable,
        Self::MessageUnreadable,
        Self::MessageNewer,
        Self::MessageFailed,
        Self::MessageTimedOut,
        Self::MessagePanicked,
        Self::DeadLetter,
        Self::SweepFailed,
        Self::ShardFailed,
        Self::EventsLost,
        Self::JobUnreadable,
        Self::TimerUnreadable,
        Self::RequestFailed,
        Self::RequestPanicked,
    ];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SettingsInvalid => "SettingsInvalid",
            Self::FunctionEnded => "FunctionEnded",
            Self::EventUnreadable => "EventUnreadable",
            Self::MessageUnreadable => "MessageUnreadable",
            Self::MessageNewer => "MessageNewer",
            Self::MessageFailed => "MessageFailed",
            Self::MessageTimedOut => "MessageTimedOut",
            Self::MessagePanicked => "MessagePanicked",
            Self::DeadLetter => "DeadLetter",
            Self::SweepFailed => "SweepFailed",
            Self::ShardFailed => "ShardFailed",
            Self::EventsLost => "EventsLost",
            Self::JobUnreadable => "JobUnreadable",
            Self::TimerUnreadable => "TimerUnreadable",
            Self::RequestFailed => "RequestFailed",
            Self::RequestPanicked => "RequestPanicked",
        }
    }
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_types_is_the_enum() {
        let page = include_str!("../../docs/operations.md");
        let rows = page.lines().skip_while(|line| !line.starts_with("| `error_type` in the log |"));
        let rows = rows.skip(2).take_while(|line| line.starts_with("| `"));
        let first = rows.filter_map(|row| {
            // A type, what happened, and what to do.
            let [_, name, happened, remedy, _] = row.split('|').collect::<Vec<_>>()[..] else {
                return None;
            };
            assert!(!happened.trim().is_empty() && !remedy.trim().is_empty(), "{row}");
            Some(name.trim().trim_matches('`'))
        });
        let documented: Vec<&str> = first.collect();
        assert_eq!(documented, ErrorType::ALL.map(ErrorType::as_str));
    }
}
