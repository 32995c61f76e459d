//! Events: what fired and what did not.

use chrono::TimeDelta;
use domain::attempt::{Attempt, Record};
use domain::firing::SkipReason;
use domain::job::JobState;
use domain::work_item::JobRef;

/// Something that happened to a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event<'a> {
    /// An attempt was made and is recorded.
    Executed {
        /// The job.
        job: &'a JobRef,
        /// The attempt.
        attempt: &'a Attempt,
        /// How the attempt ended.
        record: &'a Record,
        /// The time between when it was due and when it started.
        late: TimeDelta,
    },
    /// An attempt may not start, and is given up.
    Dropped {
        /// The job.
        job: &'a JobRef,
        /// The attempt.
        attempt: &'a Attempt,
        /// The reason.
        why: SkipReason,
    },
    /// Occurrences were overtaken before they were dispatched.
    Overtaken {
        /// The job.
        job: &'a JobRef,
        /// How many occurrences.
        occurrences: u64,
    },
    /// A retry follows.
    Retried {
        /// The job.
        job: &'a JobRef,
        /// The retry.
        attempt: &'a Attempt,
    },
    /// A job has finished.
    Finished {
        /// The job.
        job: &'a JobRef,
        /// Completed or faulted.
        state: JobState,
    },
}

/// Takes events, to count them or to send them on.
///
/// It returns at once and cannot fail. A sink that sends events keeps them until its process sends
/// them.
pub trait EventSink: Send + Sync {
    /// Takes an event.
    fn note(&self, event: Event<'_>);
}

/// Both sinks take the event.
impl<A: EventSink, B: EventSink> EventSink for (A, B) {
    fn note(&self, event: Event<'_>) {
        self.0.note(event);
        self.1.note(event);
    }
}

/// The shared sink takes the event.
impl<T: EventSink + ?Sized> EventSink for std::sync::Arc<T> {
    fn note(&self, event: Event<'_>) {
        self.as_ref().note(event);
    }
}

/// The sink, if there is one, takes the event.
impl<T: EventSink> EventSink for Option<T> {
    fn note(&self, event: Event<'_>) {
        if let Some(sink) = self {
            sink.note(event);
        }
    }
}

/// Drops events.
impl EventSink for () {
    fn note(&self, _event: Event<'_>) {}
}
