//! The log: one line for each event, on standard error, as text for people or JSON for programs.
//!
//! The level is ours alone. What other crates log below a warning is dropped at every level: some
//! of them write whole requests, and nothing of ours may end up there that is not meant to be read.
//! For the same reason a panic is logged with its place, and with its message only where that is
//! written out in the program: one that is put together may quote what was being worked on.

use std::io;
use std::panic::PanicHookInfo;

use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::{Registry, fmt};

/// The target of every event of ours begins with this: our crates are called `minutehand…`.
const OURS: &str = "minutehand";

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs: an object a line, its fields beside `timestamp`, `level`, `target`, `message`.
    Json,
}

/// From where on events are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// What failed.
    Error,
    /// What may fail soon.
    Warn,
    /// One line for each piece of work.
    Info,
    /// The steps of each.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    const fn filter(self) -> LevelFilter {
        match self {
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
            Self::Trace => LevelFilter::TRACE,
        }
    }
}

/// Starts the log of this process, panics included. Only the first call has an effect.
pub fn start_log(format: LogFormat, level: LogLevel) {
    let lines = match format {
        LogFormat::Text => fmt::layer().with_ansi(false).with_writer(io::stderr).boxed(),
        LogFormat::Json => fmt::layer().json().flatten_event(true).with_writer(io::stderr).boxed(),
    };
    let log = Registry::default().with(lines.with_filter(wanted(level)));
    if tracing::subscriber::set_global_default(log).is_ok() {
        std::panic::set_hook(Box::new(log_panic));
    }
}

fn wanted(level: LogLevel) -> Targets {
    let ours = level.filter();
    let others = ours.min(LevelFilter::from_level(Level::WARN));
    Targets::new().with_default(others).with_target(OURS, ours)
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let said = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or("(not logged)");
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or_default();
    tracing::error!(place, said, thread, "the program tripped over itself: please report this");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_of_ours_is_called_minutehand() {
        let manifest = include_str!("../../../Cargo.toml");
        let ours = manifest.lines().filter(|line| line.contains(" path = \""));
        for line in ours {
            assert!(line.contains(&format!("package = \"{OURS}")), "{line}");
        }
    }

    #[test]
    fn others_are_heard_only_when_something_is_wrong() {
        let debug = wanted(LogLevel::Debug);
        assert!(debug.would_enable("minutehand_rest::serve", &Level::DEBUG));
        assert!(!debug.would_enable("minutehand_rest::serve", &Level::TRACE));
        assert!(debug.would_enable("hyper::proto", &Level::WARN));
        assert!(!debug.would_enable("hyper::proto", &Level::INFO));
        assert!(!wanted(LogLevel::Error).would_enable("hyper::proto", &Level::WARN));
    }
}
