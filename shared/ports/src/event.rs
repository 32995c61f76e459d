//! Telling the world what fired and what did not.

use chrono::TimeDelta;
use domain::attempt::{Attempt, Record};
use domain::firing::SkipReason;
use domain::job::JobState;
use domain::work_item::JobRef;

/// Something that happened to a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event<'a> {
    /// An attempt was made, and is recorded.
    Executed {
        /// Whose.
        job: &'a JobRef,
        /// Which.
        attempt: &'a Attempt,
        /// How it ended.
        record: &'a Record,
        /// How long after it was due it started.
        late: TimeDelta,
    },
    /// An attempt was not made.
    Dropped {
        /// Whose.
        job: &'a JobRef,
        /// Which.
        attempt: &'a Attempt,
        /// Why.
        why: SkipReason,
    },
    /// Occurrences were overtaken before they were handed over.
    Overtaken {
        /// Whose.
        job: &'a JobRef,
        /// How many.
        occurrences: u64,
    },
    /// A retry is on its way.
    Retried {
        /// Whose.
        job: &'a JobRef,
        /// Which.
        attempt: &'a Attempt,
    },
    /// A job is over.
    Finished {
        /// Which.
        job: &'a JobRef,
        /// Completed or faulted.
        state: JobState,
    },
}

/// Takes note of events: counts them, or sends them on.
///
/// It answers at once, and cannot fail: what it has to send it keeps until its process sends it.
pub trait EventSink: Send + Sync {
    /// Takes note.
    fn note(&self, event: Event<'_>);
}

/// Both take note.
impl<A: EventSink, B: EventSink> EventSink for (A, B) {
    fn note(&self, event: Event<'_>) {
        self.0.note(event);
        self.1.note(event);
    }
}

/// Whoever shares it takes note.
impl<T: EventSink + ?Sized> EventSink for std::sync::Arc<T> {
    fn note(&self, event: Event<'_>) {
        self.as_ref().note(event);
    }
}

/// Whoever is there takes note.
impl<T: EventSink> EventSink for Option<T> {
    fn note(&self, event: Event<'_>) {
        if let Some(sink) = self {
            sink.note(event);
        }
    }
}

/// Takes no note.
impl EventSink for () {
    fn note(&self, _event: Event<'_>) {}
}
