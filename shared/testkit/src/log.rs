//! Keeps what the code under test logs.

use std::cell::RefCell;
use std::fmt::{Debug, Write};
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

thread_local! {
    /// The lines that the test on this thread has logged.
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// A subscriber that keeps events as lines.
///
/// All threads share one global subscriber. `tracing` caches which events are enabled, and
/// subscribers that tests install and remove would race for this cache.
pub struct KeptLog {
    /// Whether an event is kept.
    pub is_kept: fn(&Metadata<'_>) -> bool,
    /// Fields that lines leave out, because they differ from run to run.
    pub left_out: &'static [&'static str],
}

impl KeptLog {
    /// Keeps events from now on. Each test of a program calls it with the same rules.
    ///
    /// # Panics
    ///
    /// If the program has another global subscriber.
    pub fn start(self) {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            let installed = tracing::subscriber::set_global_default(self);
            assert!(installed.is_ok(), "the program has another global subscriber");
        });
        LINES.take();
    }
}

/// The lines that this thread has logged since the last call.
#[must_use]
pub fn logged() -> Vec<String> {
    LINES.take()
}

struct Line {
    text: String,
    left_out: &'static [&'static str],
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if !self.left_out.contains(&field.name()) {
            // Writing to a `String` cannot fail.
            let _ = write!(self.text, " {field}={value:?}");
        }
    }
}

impl Subscriber for KeptLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        (self.is_kept)(metadata)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let text = event.metadata().level().to_string();
        let mut line = Line { text, left_out: self.left_out };
        event.record(&mut line);
        LINES.with_borrow_mut(|lines| lines.push(line.text));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
