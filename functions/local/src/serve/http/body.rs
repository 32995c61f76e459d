//! The body of a request: it has to arrive in time, and the wait for it does not occupy a place.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::places::ConnectionPlace;

/// Time limit for a body, beside the time that it gets for its size.
const BODY_MAX: Duration = Duration::from_secs(10);
/// A body of some size gets the time that it needs at this rate.
const BODY_BYTES_PER_SECOND_MIN: u64 = 4 * 1_024;

/// A body that fails if it arrives too slowly, or if its connection has to close.
pub(super) struct RequestBody<B> {
    body: B,
    place: Arc<ConnectionPlace>,
    since: Instant,
    received: u64,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<B> RequestBody<B> {
    pub(super) fn new(body: B, place: Arc<ConnectionPlace>) -> Self {
        Self { body, place, since: Instant::now(), received: 0, timer: None }
    }
}

/// How long a body may take, of which so much has arrived.
const fn time_max(received: u64) -> Duration {
    BODY_MAX.saturating_add(Duration::from_millis(
        received.saturating_mul(1_000) / BODY_BYTES_PER_SECOND_MIN,
    ))
}

impl<B> HttpBody for RequestBody<B>
where
    B: HttpBody<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Unpin,
{
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
            self.place.set_idle();
            let due = self.since + time_max(self.received);
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
            if timer.deadline() != due {
                timer.as_mut().reset(due);
            }
            ready!(timer.as_mut().poll(context));
            return Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into())));
        };
        if !self.place.set_busy() {
            return Poll::Ready(Some(Err(io::ErrorKind::ConnectionAborted.into())));
        }
        let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
        let length = data.map_or(0, |data| u64::try_from(data.len()).unwrap_or(u64::MAX));
        self.received = self.received.saturating_add(length);
        Poll::Ready(frame.map(|frame| frame.map_err(io::Error::other)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use futures_util::stream::{self, BoxStream};
    use http_body_util::{BodyExt, StreamBody};

    use super::*;
    use crate::serve::http::places::ConnectionPlaces;

    /// How long a body is read that arrives in pieces of these bytes, one a second, and then ends or
    /// stops to arrive; and whether it was read.
    async fn read(pieces: &[usize], ends: bool) -> (u64, io::Result<usize>) {
        let pieces: Vec<usize> = pieces.to_vec();
        let sent = stream::iter(pieces).then(|length| async move {
            sleep_until(Instant::now() + Duration::from_secs(1)).await;
            io::Result::Ok(Frame::data(Bytes::from(vec![0; length])))
        });
        let sent: BoxStream<'_, _> =
            if ends { sent.boxed() } else { sent.chain(stream::pending()).boxed() };
        let place = Arc::new(ConnectionPlaces::new(1).take([10, 0, 0, 1].into()));
        let since = Instant::now();
        let body = RequestBody::new(StreamBody::new(sent), place).collect().await;
        (since.elapsed().as_secs(), body.map(|body| body.to_bytes().len()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_has_ten_seconds_and_the_time_of_its_size() {
        let second = usize::try_from(BODY_BYTES_PER_SECOND_MIN).unwrap();
        for (why, pieces, ends, expected) in [
            ("nothing arrives", vec![], false, (10, None)),
            ("a byte a second", vec![1; 60], true, (10, None)),
            ("the rate, then nothing", vec![second; 5], false, (15, None)),
            ("the rate", vec![second; 40], true, (40, Some(40 * second))),
            ("a small one", vec![1, 1, 1], true, (3, Some(3))),
        ] {
            let (seconds, read) = read(&pieces, ends).await;
            if let Err(error) = &read {
                assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{why}");
            }
            assert_eq!((seconds, read.ok()), expected, "{why}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_waits_for_a_body_makes_room() {
        let places = ConnectionPlaces::new(2);
        let place = Arc::new(places.take([10, 0, 0, 1].into()));
        assert!(place.set_busy());
        let waits = stream::pending::<io::Result<Frame<Bytes>>>();
        let body = RequestBody::new(StreamBody::new(waits), place.clone()).collect();
        let _other = places.take([10, 0, 0, 2].into());
        tokio::select! {
            biased;
            _ = body => unreachable!("nothing arrives"),
            () = places.make_room() => unreachable!("it waits until a connection has ended"),
            () = place.needed() => {}
        }
    }
}
