//! What runs until the process is asked to end: one task for each role, and small ones beside them.

use std::time::Duration;

use anyhow::anyhow;
pub(super) use app::fire::Stop;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long a task that is dropped may go on until it waits for something.
const DROPPING_MAX: Duration = Duration::from_millis(500);

/// The tasks of the process.
pub(super) struct Tasks {
    running: JoinSet<&'static str>,
    stop: watch::Sender<bool>,
}

impl Tasks {
    pub(super) fn new() -> Self {
        Self { running: JoinSet::new(), stop: watch::Sender::new(false) }
    }

    /// Starts a task, which is to end when it is asked to, and not before.
    pub(super) fn start<F>(&mut self, name: &'static str, task: impl FnOnce(Stop) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut asked = self.stop.subscribe();
        let task = task(Stop::when(async move {
            // If the sender is gone, the process ends, too.
            let _ = asked.wait_for(|stop| *stop).await;
        }));
        self.running.spawn(async move {
            task.await;
            name
        });
    }

    /// Waits for a task that ends without having been asked: the process cannot go on as promised.
    pub(super) async fn failed(&mut self) -> anyhow::Error {
        match self.running.join_next().await {
            Some(Ok(name)) => anyhow!("the task '{name}' ended by itself"),
            Some(Err(_)) => anyhow!("a task tripped over itself; the log says where"),
            None => std::future::pending().await,
        }
    }

    /// Asks all to stop, and waits until they have. What takes longer than this is dropped, which
    /// is no failure: a client that sends half a request would make it one.
    pub(super) async fn stop(&mut self, time_max: Duration) {
        self.stop.send_replace(true);
        let all = async { while self.running.join_next().await.is_some() {} };
        if timeout(time_max, all).await.is_err() {
            let seconds = time_max.as_secs();
            tracing::warn!(seconds, "not all work ended in time, and what is left is dropped");
            self.drop_all().await;
        }
    }

    /// Drops what still runs, where it waits next. What they stand on may be closed then: none is
    /// left that would find it gone, and call that an error.
    pub(super) async fn drop_all(&mut self) {
        // One that never waits ends with the process.
        let _ = timeout(DROPPING_MAX, self.running.shutdown()).await;
    }
}
