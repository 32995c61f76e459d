//! Events: what fired, what did not, and which messages could not be handled.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Record};
use minutehand_domain::firing::SkipReason;
use minutehand_domain::job::JobState;
use minutehand_domain::work_item::JobRef;

/// An event that is counted, or sent to subscribers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event<'a> {
    /// The action of an attempt begins.
    Started {
        /// The job of the attempt.
        job: &'a JobRef,
        /// The attempt.
        attempt: &'a Attempt,
        /// How long after its due time the attempt starts.
        late: TimeDelta,
    },
    /// An attempt was made and recorded.
    Executed {
        /// The job of the attempt.
        job: &'a JobRef,
        /// The path of its collection; `None` if the job is gone.
        collection_path: Option<&'a str>,
        /// The attempt.
        attempt: &'a Attempt,
        /// How the attempt ended.
        record: &'a Record,
        /// How long after its due time the attempt started.
        late: TimeDelta,
    },
    /// An attempt may not start, and is given up.
    Dropped {
        /// The job of the attempt.
        job: &'a JobRef,
        /// The attempt.
        attempt: &'a Attempt,
        /// Why the attempt was not made.
        why: SkipReason,
    },
    /// Occurrences were overtaken before they were dispatched.
    Overtaken {
        /// The job of the occurrences.
        job: &'a JobRef,
        /// How many occurrences were overtaken.
        occurrences: u64,
    },
    /// A retry was scheduled.
    Retried {
        /// The job of the retry.
        job: &'a JobRef,
        /// The retry.
        attempt: &'a Attempt,
    },
    /// A job finished.
    Finished {
        /// The job.
        job: &'a JobRef,
        /// The final state: completed or faulted.
        state: JobState,
    },
    /// A job was paused, because too many occurrences failed.
    Paused {
        /// The job.
        job: &'a JobRef,
        /// The instant from which on it is disabled.
        at: DateTime<Utc>,
        /// Why, in a sentence.
        reason: &'a str,
    },
    /// An alert of a job failed for good.
    AlertLost {
        /// The job.
        job: &'a JobRef,
    },
    /// A message is damaged, or a newer version wrote it.
    MessageUnreadable,
    /// A message was delivered for the last time without success.
    DeadLetter,
}

/// Receives events: counts them, or sends them on.
///
/// A sink returns at once and cannot fail. A sink that sends events keeps them until its process
/// flushes it.
pub trait EventSink: Send + Sync {
    /// Receives an event.
    fn note(&self, event: Event<'_>);
}

/// Passes each event to both sinks.
impl<A: EventSink, B: EventSink> EventSink for (A, B) {
    fn note(&self, event: Event<'_>) {
        self.0.note(event);
        self.1.note(event);
    }
}

impl<T: EventSink + ?Sized> EventSink for Arc<T> {
    fn note(&self, event: Event<'_>) {
        self.as_ref().note(event);
    }
}

/// `None` ignores all events.
impl<T: EventSink> EventSink for Option<T> {
    fn note(&self, event: Event<'_>) {
        if let Some(sink) = self {
            sink.note(event);
        }
    }
}

/// Ignores all events.
impl EventSink for () {
    fn note(&self, _event: Event<'_>) {}
}
