//! Types of errors, by which alarms and filters recognize them in the log.

use std::error::Error;
use std::fmt;
use std::iter::successors;

use minutehand_domain::named;

named! {
    /// The value of the field `error_type` of a line in the log, and of an error that a function
    /// returns.
    ///
    /// Alarms and filters of operators use these words, so they never change.
    pub enum ErrorType {
        /// The environment of a function is incomplete or invalid.
        SettingsInvalid,
        /// A function could not continue, and its process ended.
        FunctionEnded,
        /// Lambda passed an event that the function does not handle.
        EventUnreadable,
        /// A message is damaged, or another program wrote it.
        MessageUnreadable,
        /// A newer version wrote a message.
        MessageNewer,
        /// The store, the queue or the key failed while a message was handled; it will be retried.
        MessageFailed,
        /// A message took longer than a function may; it will be retried.
        MessageTimedOut,
        /// The handler of a message panicked; the message will be retried.
        MessagePanicked,
        /// A message was delivered for the last time without success; it goes to the dead letters.
        DeadLetter,
        /// A sweep could not read any shard of the index.
        SweepFailed,
        /// A sweep could not read a shard to its end; the next sweep continues there.
        ShardFailed,
        /// The event bus did not accept some events.
        EventsLost,
        /// The stored definition of a job cannot be read; its attempts fail.
        JobUnreadable,
        /// A stored timer cannot be read; its occurrences do not fire.
        TimerUnreadable,
        /// The archive could not be written; history stays in the store until it is.
        ArchiveFailed,
        /// The backup of the day could not be written.
        BackupFailed,
        /// An export or an import that an operator asked for failed.
        MoveFailed,
        /// An item that has ended cannot be read; the archiver has set it aside.
        RecordUnreadable,
        /// A request failed because of an internal error.
        RequestFailed,
        /// The handler of a request panicked.
        RequestPanicked,
    }
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Writes an error and all its sources in one line, for the log.
#[must_use]
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let errors = successors(Some(error), |error| (*error).source());
    errors.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreError;

    #[test]
    fn the_document_explains_each_type_in_the_order_of_the_list() {
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
        let types: Vec<&str> = ErrorType::ALL.iter().map(|it| it.name()).collect();
        assert_eq!(documented, types);
    }

    #[test]
    fn a_chain_is_one_line() {
        let outer = StoreError::Unavailable("inner".into());
        assert_eq!(chain(&outer), "the store is not available: inner");
    }
}
