//! The signals that end the process: SIGTERM and SIGINT, or Ctrl-C where there are no signals.

use std::io;

/// Receives the signals that end the process.
pub(super) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    /// Installs the handlers. From here on a signal is returned by [`Self::next`] and no longer ends
    /// the process by itself.
    #[cfg(unix)]
    pub(super) fn install() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal and returns its name.
    #[cfg(unix)]
    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    /// As on Unix; there is nothing to install.
    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "on Unix it can fail")]
    pub(super) fn install() -> io::Result<Self> {
        Ok(Self {})
    }

    /// As on Unix.
    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) -> &'static str {
        let _ = tokio::signal::ctrl_c().await;
        "Ctrl-C"
    }
}
