//! The store's thread: performs the requests that wait for it.
//!
//! The requests that wait together are a pass: they share one transaction of SQLite, and in
//! [`SyncMode::Full`] one `fsync`. All their answers wait for both. So no caller, not even a reader,
//! learns of a write that can still be undone: by a refused commit, by a kill before the commit, or in
//! [`SyncMode::Full`] by a power cut.
//!
//! A request that waits alone is a transaction of its own, and so is one that changes a table.

use std::time::Duration;

use aws_smithy_types::body::SdkBody;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::database::{Database, StoreAnswer};
use crate::log::{NoWrites, SyncMode};
use crate::operation::changes_table;
use crate::serving::{Server, Waiting};

/// How long a write to the store may stay in the log only.
///
/// With [`SyncMode::Normal`] this is also the most that a power cut can lose.
pub const CHECKPOINT_EVERY: Duration = Duration::from_millis(100);

/// Requests of a pass, whose writes are committed, synced and answered together.
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

impl StoreRequest {
    fn content(&self) -> (&str, &[u8]) {
        (&self.operation, self.body.bytes().unwrap_or_default())
    }
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
        let mut requests = vec![first];
        while requests.len() < PASS_MAX
            && let Some(request) = waiting.take()
        {
            requests.push(request);
        }
        let contents: Vec<_> = requests.iter().map(StoreRequest::content).collect();
        // Neighbours share a transaction if neither changes a table.
        let groups = contents.chunk_by(|a, b| !changes_table(a.0) && !changes_table(b.0));
        let mut answers: Vec<_> =
            groups.flat_map(|group| self.database.answer_together(group)).collect();
        if self.sync == SyncMode::Full && self.database.is_ahead_of_disk() && !self.database.sync()
        {
            answers.fill_with(Database::failed);
        }
        for (request, answer) in requests.into_iter().zip(answers) {
            // The caller may have been cancelled. Its request was performed anyway, like a request
            // whose answer is lost on the way from AWS.
            let _ = request.reply.send(answer);
            drop(request.permit);
        }
    }

    fn is_ahead_of_checkpoint(&self) -> bool {
        self.database.is_ahead_of_checkpoint()
    }

    fn checkpoint(&mut self) {
        self.database.checkpoint();
    }

    fn accepts_writes(&mut self) -> Result<(), NoWrites> {
        self.database.accepts_writes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, channel};

    use dynoxide::storage::Storage;
    use tokio::sync::Semaphore;

    #[cfg(unix)]
    use crate::database::tests::break_disk;
    use crate::database::tests::{CREATE, GET, OTHER_PUT, PUT, connection, with_table};
    use crate::serving::{IN_FLIGHT_MAX, ThreadMessage, serve};

    type Answers = Vec<oneshot::Receiver<StoreAnswer>>;

    /// Queues the requests and a request to stop.
    fn queue(
        requests: &[(&str, &str)],
        permits: &Arc<Semaphore>,
    ) -> (Receiver<ThreadMessage<StoreRequest>>, Answers) {
        let (messages, received) = channel();
        let mut answers = Vec::new();
        for (operation, body) in requests {
            let (reply, answer) = oneshot::channel();
            let permit = Arc::clone(permits).try_acquire_owned().unwrap();
            let (operation, body) = ((*operation).to_owned(), SdkBody::from(*body));
            messages
                .send(ThreadMessage::Request(StoreRequest { operation, body, reply, permit }))
                .unwrap();
            answers.push(answer);
        }
        messages.send(ThreadMessage::Close(oneshot::channel().0)).unwrap();
        (received, answers)
    }

    /// Queues the requests, serves them, and returns the statuses answered.
    fn serve_all(database: Database, sync: SyncMode, requests: &[(&str, &str)]) -> Vec<u16> {
        let permits = Arc::new(Semaphore::new(IN_FLIGHT_MAX));
        let (received, mut answers) = queue(requests, &permits);
        serve(StoreServer { database, sync }, &received);
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
        assert_eq!(serve_all(database, SyncMode::Full, &requests), [500; 3]);
    }

    #[test]
    fn a_pass_is_one_commit_and_no_answer_or_other_reader_reveals_it_before() {
        let dir = tempfile::tempdir().unwrap();
        let database = with_table(dir.path());
        let reader = Storage::new(dir.path().join("store.db").to_str().unwrap()).unwrap();
        let requests = [("PutItem", PUT), ("GetItem", GET), ("PutItem", OTHER_PUT)];
        let (received, mut answers) = queue(&requests, &Arc::new(Semaphore::new(IN_FLIGHT_MAX)));

        let n_items = |reader: &Storage| reader.count_items("table").unwrap();
        let (seen, commits) = channel();
        connection(&database).commit_hook(Some(move || {
            let n_answered = answers.iter_mut().filter_map(|answer| answer.try_recv().ok()).count();
            let answers = std::mem::take(&mut answers);
            seen.send((n_answered, n_items(&reader), answers)).is_err()
        }));
        serve(StoreServer { database, sync: SyncMode::Normal }, &received);

        let (n_answered, n_items_seen, mut answers) = commits.try_recv().unwrap();
        assert_eq!((n_answered, n_items_seen), (0, 0));
        assert!(commits.try_recv().is_err(), "there is one commit");
        assert!(answers.iter_mut().all(|answer| answer.try_recv().unwrap().status == 200));
        let reader = Storage::new(dir.path().join("store.db").to_str().unwrap()).unwrap();
        assert_eq!(n_items(&reader), 2);
    }

    #[test]
    fn a_pass_may_change_tables() {
        let dir = tempfile::tempdir().unwrap();
        let database = with_table(dir.path());
        let requests = [
            ("PutItem", PUT),
            ("PutItem", OTHER_PUT),
            ("DeleteTable", r#"{"TableName": "table"}"#),
            ("PutItem", PUT),
            ("GetItem", GET),
            ("CreateTable", CREATE),
            ("PutItem", PUT),
            ("GetItem", GET),
        ];
        let answers = serve_all(database, SyncMode::Full, &requests);
        assert_eq!(answers, [200, 200, 200, 400, 400, 200, 200, 200]);
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
