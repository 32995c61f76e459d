//! How a client is set up.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use zeroize::Zeroizing;

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// To open a connection, with TLS.
    pub connect: Duration,
    /// From the request to the end of its answer, connection included. Each repetition has it anew.
    pub answer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), answer: Duration::from_mins(1) }
    }
}

/// How a client is set up.
#[derive(Default)]
pub struct Options {
    /// The token; without one, requests have no `Authorization`.
    pub token: Option<Zeroizing<String>>,
    /// The only certificates to trust, as PEM; without it, the system's.
    pub ca: Option<PathBuf>,
    /// How long things may take.
    pub limits: Limits,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { token, ca, limits } = self;
        let has_token = token.is_some();
        f.debug_struct("Options")
            .field("has_token", &has_token)
            .field("ca", ca)
            .field("limits", limits)
            .finish()
    }
}
