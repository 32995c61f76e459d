//! The signals that end the process: SIGTERM, SIGINT and SIGHUP.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Receives the signals that end the process.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// `None` if the process was started with SIGHUP ignored, as `nohup` does.
    hang_up: Option<Signal>,
}

impl Signals {
    /// Installs the handlers. From here on a signal is returned by [`Self::next`] and no longer ends
    /// the process by itself.
    pub(super) fn install() -> io::Result<Self> {
        let hang_up = (!ignores_hang_up()).then(|| signal(SignalKind::hangup()));
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: hang_up.transpose()?,
        })
    }

    /// Waits for the next signal and returns its name.
    pub(super) async fn next(&mut self) -> &'static str {
        let Self { terminate, interrupt, hang_up } = self;
        let hung_up = async {
            match hang_up {
                Some(hang_up) => hang_up.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
            _ = hung_up => "SIGHUP",
        }
    }

    /// Waits for the next signal that asks to hurry. SIGHUP is none: a terminal that closes, and some
    /// service managers, send it together with another signal.
    pub(super) async fn next_urgent(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// Whether the process was started with SIGHUP ignored. Linux tells it in a mask of hexadecimal digits
/// whose lowest bit is signal 1, SIGHUP; elsewhere it is not known.
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}
