//! The signals that end the process: SIGTERM and SIGINT, or what the platform has for them.

use std::io;

/// Hears the signals that end the process.
pub(super) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    /// From here on the signals come to [`Self::next`] and do not end the process by themselves.
    #[cfg(unix)]
    pub(super) fn hear() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next one, and names it.
    #[cfg(unix)]
    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    /// As on Unix.
    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere hearing can fail")]
    pub(super) fn hear() -> io::Result<Self> {
        Ok(Self {})
    }

    /// As on Unix.
    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) -> &'static str {
        let _ = tokio::signal::ctrl_c().await;
        "Ctrl-C"
    }
}
