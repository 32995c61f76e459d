//! The store's thread: performs the requests that wait for it.
//!
//! In [`SyncMode::Full`] the answers of a pass, from its first write on, wait for one `fsync`. So no
//! caller, not even a reader, learns of a write that a power cut could undo. Each request is still a
//! transaction of its own in SQLite, because dynoxide begins and ends it: the requests of a pass share
//! the `fsync`, but not the commit.

use std::time::Duration;

use aws_smithy_types::body::SdkBody;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::database::{Database, StoreAnswer};
use crate::log::{NoWrites, SyncMode};
use crate::serving::{Server, Waiting};

/// How long a write to the store may stay in the log only.
///
/// With [`SyncMode::Normal`] this is also the most that a power cut can lose.
pub const CHECKPOINT_EVERY: Duration = Duration::from_millis(100);

/// Requests of a pass, whose writes are synced and answered together.
///
/// Sixty-four writes take a few milliseconds, about as long as the disk takes to sync them. More would
/// only make the first request wait for the last.
pub const PASS_MAX: usize = 64;

/// One request of the SDK.
pub(crate) struct StoreRequest {
    pub(crate) operation: String,
    pub(crate) body: SdkBody,
    pub(crate) reply: oneshot::Sender<StoreAnswer>,
    /// The caller's permit, released when the request is answered.
    pub(crate) permit: OwnedSemaphorePermit,
}

/// Serves the requests of the store's channel.
pub(crate) struct StoreServer {
    pub(crate) database: Database,
    pub(crate) sync: SyncMode,
}

impl Server for StoreServer {
    type Request = StoreRequest;

    const CHECKPOINT_EVERY: Duration = CHECKPOINT_EVERY;

    fn pass(&mut self, first: StoreRequest, waiting: &mut Waiting<'_, StoreRequest>) {
        let Self { database, sync } = self;
        let mut held = Vec::new();
        let mut n_served = 0;
        let mut next = Some(first);
        while let Some(call) = next {
            let answer = database.answer(&call.operation, call.body.bytes().unwrap_or_default());
            // The caller may have been cancelled. Its request was performed anyway, like a request
            // whose answer is lost on the way from AWS.
            if *sync == SyncMode::Full && database.is_ahead_of_disk() {
                held.push((call.reply, answer, call.permit));
            } else {
                let _ = call.reply.send(answer);
            }
            n_served += 1;
            next = if n_served < PASS_MAX { waiting.take() } else { None };
        }
        if !held.is_empty() {
            let is_durable = database.sync();
            for (reply, answer, _permit) in held {
                let _ = reply.send(if is_durable { answer } else { Database::failed() });
            }
        }
    }

    fn is_ahead_of_checkpoint(&self) -> bool {
        self.database.is_ahead_of_checkpoint()
    }

    fn checkpoint(&mut self) {
        self.database.checkpoint();
    }

    fn takes_writes(&mut self) -> Result<(), NoWrites> {
        self.database.takes_writes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use tokio::sync::Semaphore;

    #[cfg(unix)]
    use crate::database::tests::{GET, break_disk};
    use crate::database::tests::{PUT, with_table};
    use crate::serving::{IN_FLIGHT_MAX, ThreadMessage, serve};

    /// Queues the requests and a request to stop, serves them, and returns the statuses answered.
    fn serve_all(database: Database, sync: SyncMode, requests: &[(&str, &str)]) -> Vec<u16> {
        let permits = Arc::new(Semaphore::new(IN_FLIGHT_MAX));
        let (messages, received) = channel();
        let mut answers = Vec::new();
        for (operation, body) in requests {
            let (reply, answer) = oneshot::channel();
            let permit = Arc::clone(&permits).try_acquire_owned().unwrap();
            let (operation, body) = ((*operation).to_owned(), SdkBody::from(*body));
            messages
                .send(ThreadMessage::Request(StoreRequest { operation, body, reply, permit }))
                .unwrap();
            answers.push(answer);
        }
        let (reply, mut closed) = oneshot::channel();
        messages.send(ThreadMessage::Close(reply)).unwrap();
        serve(StoreServer { database, sync }, &received);
        closed.try_recv().unwrap();
        assert_eq!(permits.available_permits(), IN_FLIGHT_MAX, "every permit is released");
        answers.iter_mut().map(|answer| answer.try_recv().unwrap().status).collect()
    }

    #[test]
    fn requests_that_were_accepted_before_a_close_are_answered() {
        let dir = tempfile::tempdir().unwrap();
        let requests = [("PutItem", PUT); 3 * PASS_MAX];
        let answers = serve_all(with_table(dir.path()), SyncMode::Full, &requests);
        assert_eq!(answers, [200; 3 * PASS_MAX]);
    }

    #[cfg(unix)]
    #[test]
    fn in_full_mode_no_answer_reveals_a_write_that_is_not_on_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let mut database = with_table(dir.path());
        assert!(database.sync());
        break_disk(&mut database);
        let requests = [("GetItem", GET), ("PutItem", PUT), ("GetItem", GET)];
        // The first read comes before the write; the second would reveal it.
        assert_eq!(serve_all(database, SyncMode::Full, &requests), [200, 500, 500]);
    }

    #[cfg(unix)]
    #[test]
    fn in_normal_mode_no_answer_waits_for_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let mut database = with_table(dir.path());
        break_disk(&mut database);
        assert_eq!(serve_all(database, SyncMode::Normal, &[("PutItem", PUT)]), [200]);
    }
}
