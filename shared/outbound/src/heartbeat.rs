//! A watcher elsewhere that takes pings, and notices when none come.

use std::fmt;
use std::io;
use std::str::FromStr;
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

/// The text is no http or https URL with a host. It is not shown, because it may be a secret with an error in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("give an http or https URL, like https://watch.example.org/ping/2f6a1c")]
pub struct NoHeartbeatUrl;

impl FromStr for HeartbeatUrl {
    type Err = NoHeartbeatUrl;

    fn from_str(text: &str) -> Result<Self, NoHeartbeatUrl> {
        let url = Url::parse(text).map_err(|_| NoHeartbeatUrl)?;
        let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
        if is_http { Ok(Self(url)) } else { Err(NoHeartbeatUrl) }
    }
}

impl HeartbeatUrl {
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
        let url: HeartbeatUrl = "https://watch.example.org/secret".parse().unwrap();
        assert_eq!(format!("{url:?}"), "HeartbeatUrl(watch.example.org)");
        for wrong in ["ftp://watch.example.org/", "mailto:a@b", "watch.example.org/secret", ""] {
            assert_eq!(wrong.parse::<HeartbeatUrl>().unwrap_err(), NoHeartbeatUrl, "{wrong}");
        }
    }
}
