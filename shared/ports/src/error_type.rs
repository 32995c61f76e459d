//! The types of errors, for alarms and filters: the field `error_type` of every logged error.

use std::fmt;

/// The type of an error, as it is in the log and in the answers of functions. The names never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorType {
    /// The environment lacks a setting, or has an invalid one.
    SettingsInvalid,
    /// The process of the function ended.
    FunctionEnded,
    /// Lambda delivered an event that the function cannot read.
    EventUnreadable,
    /// A message is not a work item, or is damaged.
    MessageUnreadable,
    /// A message was written by a newer version.
    MessageNewer,
    /// The store, the queue or the key failed; the message is delivered again.
    MessageFailed,
    /// The work of a message timed out; the message is delivered again.
    MessageTimedOut,
    /// The work of a message panicked; the message is delivered again.
    MessagePanicked,
    /// A message was delivered too often, and goes to the dead-letter queue.
    DeadLetter,
    /// No shard of the index could be read.
    SweepFailed,
    /// A shard of the index was not read to its end; the next pass goes on there.
    ShardFailed,
    /// Events of jobs could not be put on the bus.
    EventsLost,
    /// A job cannot be read; its attempts fail.
    JobUnreadable,
    /// A timer cannot be read; its job does not fire.
    TimerUnreadable,
    /// A request failed because of the service, not of the client.
    RequestFailed,
    /// The handler of a request panicked.
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

    /// The name, as it is logged.
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
        let table = include_str!("../../ARCHITECTURE.md");
        let rows = table.lines().skip_while(|line| !line.starts_with("| `error_type` in the log"));
        let rows = rows.skip(2).take_while(|line| line.starts_with("| `"));
        let first = rows.filter_map(|row| row.split('|').nth(1));
        let documented: Vec<&str> = first
            .flat_map(|cell| cell.split(','))
            .map(|name| name.trim().trim_matches('`'))
            .collect();
        assert_eq!(documented, ErrorType::ALL.map(ErrorType::as_str));
    }
}
