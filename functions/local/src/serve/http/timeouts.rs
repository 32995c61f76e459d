//! A timeout for writes to a client.
//!
//! Hyper has timeouts for reading requests, but none for writing responses. Without one, a client that
//! never reads its response would occupy a connection for as long as it likes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// How long a client may read nothing while the server has something to write.
const WRITE_MAX: Duration = Duration::from_secs(30);

/// A stream whose writes fail when the other side stops reading.
pub(super) struct WriteTimeout<S> {
    stream: S,
    /// Runs while a write waits for the other side; `None` after a write that made progress.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncWrite + Unpin> WriteTimeout<S> {
    pub(super) const fn new(stream: S) -> Self {
        Self { stream, timer: None }
    }

    fn limit<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = write(Pin::new(&mut self.stream), context);
        if written.is_ready() {
            self.timer = None;
            return written;
        }
        let start = || Box::pin(sleep_until(Instant::now() + WRITE_MAX));
        let timer = self.timer.get_or_insert_with(start);
        timer.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.limit(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.limit(context, |stream, context| stream.poll_write_vectored(context, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.limit(context, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.limit(context, AsyncWrite::poll_shutdown)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_write_fails_if_the_client_reads_nothing_for_the_whole_timeout() {
        let (ours, _theirs) = duplex(8);
        let since = Instant::now();
        let error = WriteTimeout::new(ours).write_all(&[0; 9]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(since.elapsed().as_secs(), WRITE_MAX.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_receives_everything() {
        let (ours, mut theirs) = duplex(8);
        let reading = tokio::spawn(async move {
            let mut read = Vec::new();
            while theirs.read_buf(&mut read).await.unwrap() > 0 {
                tokio::time::advance(WRITE_MAX / 2).await;
            }
            read.len()
        });
        let mut ours = WriteTimeout::new(ours);
        ours.write_all(&[0; 80]).await.unwrap();
        drop(ours);
        assert_eq!(reading.await.unwrap(), 80);
    }
}
