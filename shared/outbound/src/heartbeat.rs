//! A watcher elsewhere that takes pings, and notices when none come.

use std::fmt;
use std::io;
use std::time::Duration;

use http::{Request, StatusCode};
use http_body_util::Full;
use url::Url;

use crate::pool::{Pool, exchange, pool};

const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);
const ANSWER_BYTES_MAX: usize = 64 * 1_024;

/// The URL at which a watcher takes pings. Anyone who knows it can send pings, so it is a secret.
#[derive(Clone)]
pub struct HeartbeatUrl(Url);

impl fmt::Debug for HeartbeatUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeartbeatUrl({})", self.host())
    }
}

/// Why a ping did not arrive. It tells nothing of the path of the URL.
#[derive(Debug, thiserror::Error)]
pub enum PingFailed {
    /// No answer came.
    #[error(transparent)]
    Exchange(#[from] io::Error),
    /// The answer is not a success.
    #[error("the answer is {0}")]
    Status(StatusCode),
    /// The URL cannot be asked for.
    #[error("the URL cannot be asked for")]
    Request(#[source] http::Error),
}

impl HeartbeatUrl {
    /// An http or https URL with a host; `None` if it is another.
    #[must_use]
    pub fn new(url: Url) -> Option<Self> {
        let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
        is_http.then_some(Self(url))
    }

    /// The host, which is no secret.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The connections to the watcher.
    ///
    /// # Errors
    ///
    /// If TLS cannot be used.
    pub fn pool(&self) -> Result<Pool, rustls::Error> {
        pool(self.0.scheme() == "https", CONNECT_TIME_MAX)
    }

    /// Sends one ping.
    ///
    /// # Errors
    ///
    /// If it does not arrive.
    pub async fn ping(&self, pool: &Pool) -> Result<(), PingFailed> {
        let request = Request::get(self.0.as_str())
            .header("user-agent", concat!("minutehand/", env!("CARGO_PKG_VERSION")))
            .body(Full::default())
            .map_err(PingFailed::Request)?;
        let status = exchange(pool, request, ANSWER_TIME_MAX, ANSWER_BYTES_MAX).await?.status;
        if status.is_success() { Ok(()) } else { Err(PingFailed::Status(status)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_host_is_ever_shown() {
        let url = |text| Url::parse(text).ok().and_then(HeartbeatUrl::new);
        let shown = format!("{:?}", url("https://watch.example.org/secret").unwrap());
        assert_eq!(shown, "HeartbeatUrl(watch.example.org)");
        assert!(url("ftp://watch.example.org/").is_none() && url("mailto:a@b").is_none());
    }
}
