//! A service that gives out credentials.

use std::io::{self, ErrorKind};
use std::time::Duration;

use http::Request;
use http_body_util::Full;
use hyper::body::Bytes;

use super::NoCredentials;
use crate::pool::{Exchange, Pool, exchange, pool};

/// The most bytes of an answer.
const BYTES_MAX: usize = 64 << 10;
/// How often a request is sent that fails in a way that may pass.
const TRIES_MAX: usize = 3;

/// A service, and how it is asked.
pub(super) struct Service {
    pool: Pool,
    time_max: Duration,
    /// Whether a request that timed out is sent again. That does not help where there is no such service.
    pub(super) repeats_timeouts: bool,
}

impl Service {
    /// A service that is asked with a limit for connecting, and for the whole answer.
    pub(super) fn new(is_https: bool, time_max: Duration) -> Result<Self, NoCredentials> {
        let pool = pool(is_https, time_max);
        let pool = pool.map_err(|error| NoCredentials::new(error.to_string()))?;
        Ok(Self { pool, time_max, repeats_timeouts: true })
    }

    /// Sends a request, and again while the service fails or does not answer. Returns the last answer.
    pub(super) async fn ask(&self, request: Request<Full<Bytes>>) -> io::Result<Exchange> {
        for _ in 1..TRIES_MAX {
            match self.ask_once(request.clone()).await {
                Ok(answer) if answer.status.is_server_error() => {}
                Err(error) if self.repeats_timeouts || error.kind() != ErrorKind::TimedOut => {}
                ended => return ended,
            }
        }
        self.ask_once(request).await
    }

    async fn ask_once(&self, request: Request<Full<Bytes>>) -> io::Result<Exchange> {
        exchange(&self.pool, request, self.time_max, BYTES_MAX).await
    }
}
