//! Reads bodies of answers, but not more than is needed.

use std::time::Duration;

use reqwest::Response;

use crate::outcome::ReadBody;

/// The maximum number of bytes that are read only to keep the connection open. Opening a new
/// connection is cheaper than reading more.
const DRAIN_BYTES_MAX: u64 = 64 * 1024;

/// The time limit for reading those bytes.
const DRAIN_TIME_MAX: Duration = Duration::from_millis(250);

/// Reads the beginning of a body, which may be endless.
///
/// If only little follows, the rest is read as well, so that the connection can be used again.
/// Otherwise the connection is closed.
pub(crate) async fn read(
    mut response: Response,
    n_bytes: usize,
) -> Result<ReadBody, reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = n_bytes - bytes.len();
        match chunk.split_at_checked(room) {
            None => bytes.extend_from_slice(&chunk),
            Some((fits, rest)) => {
                bytes.extend_from_slice(fits);
                let n_read = chunk.len() as u64;
                if !rest.is_empty() {
                    drain(response, n_read).await;
                    return Ok(ReadBody { bytes, is_cut: true });
                }
            }
        }
    }
    Ok(ReadBody { bytes, is_cut: false })
}

/// Discards a body. If it is short, the connection can be used again.
pub(crate) async fn discard(response: Response) {
    drain(response, 0).await;
}

/// Reads the rest of a body if it is short and arrives soon. Errors do not matter any more.
async fn drain(mut response: Response, n_read: u64) {
    if response.content_length().is_some_and(|length| length > DRAIN_BYTES_MAX) {
        return;
    }
    let drained = async {
        let mut n_read = n_read;
        while let Ok(Some(chunk)) = response.chunk().await {
            n_read += chunk.len() as u64;
            if n_read > DRAIN_BYTES_MAX {
                return;
            }
        }
    };
    // If the body arrives too slowly, dropping the response closes the connection.
    let _ = tokio::time::timeout(DRAIN_TIME_MAX, drained).await;
}
