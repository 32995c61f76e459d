//! Reading as much of an answer as is needed, and no more.

use std::time::Duration;

use reqwest::Response;

use crate::message::Body;

/// How much of a body is read only to keep the connection: more costs more than a new one.
const DRAIN_BYTES_MAX: u64 = 64 * 1024;

/// How long is waited for it.
const DRAIN_TIME_MAX: Duration = Duration::from_millis(250);

/// Reads the beginning of a body.
///
/// A body may be endless. If little follows what is needed, it is read too, so that the connection
/// can serve again; otherwise it is given up.
pub(crate) async fn read(mut response: Response, n_bytes: usize) -> Result<Body, reqwest::Error> {
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
                    return Ok(Body { bytes, is_cut: true });
                }
            }
        }
    }
    Ok(Body { bytes, is_cut: false })
}

/// Gives up a body of which nothing is needed; the connection can serve again if it is short.
pub(crate) async fn discard(response: Response) {
    drain(response, 0).await;
}

/// Reads what is left, if it is little and comes soon. Whatever goes wrong is no matter any more.
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
    // Too slow is as good as too much.
    let _ = tokio::time::timeout(DRAIN_TIME_MAX, drained).await;
}
