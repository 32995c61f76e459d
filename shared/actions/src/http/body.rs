//! Reads bodies of answers, but not more than is needed.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Bytes, Incoming};

use crate::net::HttpError;
use crate::outcome::ReadBody;

/// The maximum number of bytes that are read only to keep the connection open. Opening a new
/// connection is cheaper than reading more.
const DRAIN_BYTES_MAX: u64 = 64 * 1024;

/// The time limit for reading those bytes.
const DRAIN_TIME_MAX: Duration = Duration::from_millis(250);

/// The time limit for what is read of a body only to keep it.
const LONG_TIME_MAX: Duration = Duration::from_secs(2);

/// Reads the beginning of a body, which may be endless.
///
/// If only little follows, the rest is read as well, so that the connection can be used again.
/// Otherwise the connection is closed.
pub(crate) async fn read(mut body: Incoming, n_bytes: usize) -> Result<ReadBody, HttpError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = next_chunk(&mut body).await? {
        let room = n_bytes - bytes.len();
        match chunk.split_at_checked(room) {
            None => bytes.extend_from_slice(&chunk),
            Some((fits, rest)) => {
                bytes.extend_from_slice(fits);
                let n_read = chunk.len() as u64;
                if !rest.is_empty() {
                    drain(body, n_read).await;
                    return Ok(ReadBody { bytes, is_cut: true });
                }
            }
        }
    }
    Ok(ReadBody { bytes, is_cut: false })
}

/// Reads the beginning of a body, of which more may be read to be kept. Returns what is not read, too.
pub(crate) async fn read_open(
    mut body: Incoming,
    n_bytes: usize,
) -> Result<(ReadBody, Option<Incoming>), HttpError> {
    let mut bytes = Vec::new();
    while bytes.len() <= n_bytes {
        match next_chunk(&mut body).await? {
            Some(chunk) => bytes.extend_from_slice(&chunk),
            None => return Ok((ReadBody { bytes, is_cut: false }, None)),
        }
    }
    Ok((ReadBody { bytes, is_cut: true }, Some(body)))
}

/// Reads more of a body, if it comes soon. What does not come is as what is cut.
pub(crate) async fn read_more(read: &mut ReadBody, mut body: Incoming, n_bytes: usize) {
    let ReadBody { bytes, is_cut } = read;
    let more = async {
        while bytes.len() <= n_bytes {
            match next_chunk(&mut body).await {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        false
    };
    *is_cut = !tokio::time::timeout(LONG_TIME_MAX, more).await.unwrap_or_default();
    bytes.truncate(n_bytes);
}

/// Discards a body. If it is short, the connection can be used again.
pub(crate) async fn discard(body: Incoming) {
    drain(body, 0).await;
}

/// Reads the rest of a body if it is short and arrives soon. Errors do not matter any more.
async fn drain(mut body: Incoming, n_read: u64) {
    if body.size_hint().exact().is_some_and(|length| length > DRAIN_BYTES_MAX) {
        return;
    }
    let drained = async {
        let mut n_read = n_read;
        while let Ok(Some(chunk)) = next_chunk(&mut body).await {
            n_read += chunk.len() as u64;
            if n_read > DRAIN_BYTES_MAX {
                return;
            }
        }
    };
    // If the body arrives too slowly, dropping the body closes the connection.
    let _ = tokio::time::timeout(DRAIN_TIME_MAX, drained).await;
}

/// The next bytes of a body; `None` at its end. Trailers are ignored.
async fn next_chunk(body: &mut Incoming) -> Result<Option<Bytes>, hyper::Error> {
    while let Some(frame) = body.frame().await {
        if let Ok(chunk) = frame?.into_data() {
            return Ok(Some(chunk));
        }
    }
    Ok(None)
}
