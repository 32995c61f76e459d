//! The log: one line per event on standard error, as text for people or JSON for programs.
//!
//! The log level applies to Minutehand's own crates. Other crates log warnings and errors only,
//! whatever the level: some of them log whole requests, which may contain secrets. For the same reason,
//! the message of a panic is logged only if it is a literal in the program; a formatted message may
//! quote the data that was being processed.

use std::io;
use std::panic::PanicHookInfo;

use tracing::Level;
pub use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::{Registry, fmt};

/// All of Minutehand's crates, and so the targets of their events, begin with this.
const OWN_CRATES: &str = "minutehand";

/// The AWS SDK warns here for each request that failed, beside the line of the one that made it.
const POISONED_CONNECTIONS: &str = "aws_smithy_runtime::client::http::connection_poisoning";

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line: `timestamp`, `level`, `target`, `message`, and the event's fields.
    Json,
}

/// The words for the least severe level that is logged.
pub const LOG_LEVELS: [(&str, LevelFilter); 5] = [
    // Failures.
    ("error", LevelFilter::ERROR),
    // Conditions that may lead to a failure.
    ("warn", LevelFilter::WARN),
    // One line per request, attempt or sweep.
    ("info", LevelFilter::INFO),
    // The steps of each of them.
    ("debug", LevelFilter::DEBUG),
    // Everything.
    ("trace", LevelFilter::TRACE),
];

/// Starts logging in this process, including panics. Only the first call has an effect.
pub fn start_log(format: LogFormat, level: LevelFilter) {
    let lines = match format {
        LogFormat::Text => fmt::layer().with_ansi(false).with_writer(io::stderr).boxed(),
        LogFormat::Json => fmt::layer().json().flatten_event(true).with_writer(io::stderr).boxed(),
    };
    let log = Registry::default().with(lines.with_filter(filter_for(level)));
    if tracing::subscriber::set_global_default(log).is_ok() {
        std::panic::set_hook(Box::new(log_panic));
    }
}

fn filter_for(own: LevelFilter) -> Targets {
    let others = own.min(LevelFilter::from_level(Level::WARN));
    let errors = own.min(LevelFilter::ERROR);
    Targets::new()
        .with_default(others)
        .with_target(OWN_CRATES, own)
        .with_target(POISONED_CONNECTIONS, errors)
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    let panic = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or("(not logged)");
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or_default();
    tracing::error!(location, panic, thread, "panicked; please report this");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_in_the_workspace_has_the_prefix_that_is_logged() {
        let manifest = include_str!("../../../Cargo.toml");
        let (_, dependencies) = manifest.split_once("[workspace.dependencies]").unwrap();
        let (dependencies, _) = dependencies.split_once("\n[").unwrap();
        for line in dependencies.lines().filter(|line| line.contains(" path = \"")) {
            assert!(line.starts_with(OWN_CRATES), "{line}");
        }
    }

    #[test]
    fn other_crates_log_warnings_and_errors_only() {
        let debug = filter_for(LevelFilter::DEBUG);
        assert!(debug.would_enable("minutehand_rest::serve", &Level::DEBUG));
        assert!(!debug.would_enable("minutehand_rest::serve", &Level::TRACE));
        assert!(debug.would_enable("hyper::proto", &Level::WARN));
        assert!(!debug.would_enable("hyper::proto", &Level::INFO));
        assert!(!debug.would_enable(POISONED_CONNECTIONS, &Level::WARN));
        assert!(debug.would_enable(POISONED_CONNECTIONS, &Level::ERROR));
        assert!(!filter_for(LevelFilter::ERROR).would_enable("hyper::proto", &Level::WARN));
    }
}
