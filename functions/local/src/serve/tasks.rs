//! The background tasks of the process: one for each role, and smaller ones beside them.

use std::time::Duration;

use anyhow::anyhow;
pub(super) use minutehand_app::fire::Stop;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long to wait for cancelled tasks. A task ends at its next `await`; one that never gets there
/// must not delay the exit.
const CANCEL_MAX: Duration = Duration::from_millis(500);

/// The tasks of the process.
pub(super) struct Tasks {
    running: JoinSet<&'static str>,
    stop: watch::Sender<bool>,
}

impl Tasks {
    pub(super) fn new() -> Self {
        Self { running: JoinSet::new(), stop: watch::Sender::new(false) }
    }

    /// Starts a task that runs until it is asked to stop.
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

    /// Starts a task that needs no time to stop: it is dropped wherever it waits.
    pub(super) fn start_dropped<F>(&mut self, name: &'static str, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.start(name, |stop| async move {
            tokio::select! {
                () = stop.requested() => {}
                () = task => {}
            }
        });
    }

    /// Waits for a task that ends without a request: the process has lost one of its roles.
    pub(super) async fn failed(&mut self) -> anyhow::Error {
        match self.running.join_next().await {
            Some(Ok(name)) => anyhow!("the {name} task stopped unexpectedly"),
            Some(Err(_)) => anyhow!("a task panicked; the log says where"),
            None => std::future::pending().await,
        }
    }

    /// Asks all tasks to stop and waits for them, for at most `time_max`. Returns whether all of them
    /// have ended; the caller cancels the others.
    pub(super) async fn stop(&mut self, time_max: Duration) -> bool {
        self.stop.send_replace(true);
        let all = async { while self.running.join_next().await.is_some() {} };
        timeout(time_max, all).await.is_ok()
    }

    /// Cancels all tasks and waits until they are gone. The store can be closed afterwards: no task
    /// is left that would find it closed and log an error.
    pub(super) async fn cancel_all(&mut self) {
        let _ = timeout(CANCEL_MAX, self.running.shutdown()).await;
    }
}
