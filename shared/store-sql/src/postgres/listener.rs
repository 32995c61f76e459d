//! Waking receivers when another process has sent something.
//!
//! A connection of its own listens. A pooler that gives a session to one transaction after another loses
//! what is told to it without a word, so a process first tells itself something: if it hears that, it may
//! rely on the rest. Otherwise receivers look more often by themselves.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_postgres::AsyncMessage;

use super::error::PgError;
use super::perform::{NOTIFY, run};
use super::settings::PgAddress;
use super::task::Task;
use crate::script::{Statement, Value};

/// How long a process waits for what it tells itself.
const HEARD_MAX: Duration = Duration::from_secs(2);
/// The least time between two tries to listen.
const LISTEN_EVERY: Duration = Duration::from_secs(1);

const LISTEN: &str = "LISTEN minutehand";

/// What is told to others that is a question to itself.
const QUESTION: &str = "?";

/// What listens, and what it does.
pub(super) struct Listening {
    /// How the database is reached without a pooler, as far as is known.
    pub(super) direct: PgAddress,
    /// How everything else reaches it.
    pub(super) settings: PgAddress,
    /// What the others are told of this process.
    pub(super) name: String,
    pub(super) woken: Arc<Notify>,
    /// Whether it hears what is told.
    pub(super) is_heard: Arc<AtomicBool>,
}

impl Listening {
    /// Listens, and listens again when the connection breaks.
    pub(super) fn start(self) -> Task {
        Task::spawn(async move {
            let mut tries = interval(LISTEN_EVERY);
            tries.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tries.tick().await;
                if let Err(error) = self.listen().await {
                    tracing::debug!(%error, "the connection that listens has ended");
                }
                self.is_heard.store(false, Ordering::Relaxed);
            }
        })
    }

    /// Listens until the connection breaks.
    async fn listen(&self) -> Result<(), PgError> {
        let (client, mut connection) = self.direct.connect().await?;
        let heard = Arc::new(Notify::new());
        let (of_itself, woken, name) = (heard.clone(), self.woken.clone(), self.name.clone());
        let question = format!("{name}{QUESTION}");
        let told = question.clone();
        // It ends with the client.
        let listening = tokio::spawn(async move {
            while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notification(told) = message? {
                    if told.payload() == question {
                        of_itself.notify_one();
                    } else if told.payload() != name {
                        woken.notify_one();
                    }
                }
            }
            Ok::<(), PgError>(())
        });
        client.batch_execute(LISTEN).await?;
        let is_heard = timeout(HEARD_MAX, self.ask(told, &heard)).await.is_ok_and(|it| it.is_ok());
        self.is_heard.store(is_heard, Ordering::Relaxed);
        if !is_heard {
            tracing::warn!(
                "PostgreSQL does not tell this process what others send, as behind a pooler: it looks more often"
            );
        }
        // It has not heard what was told before it listened.
        self.woken.notify_one();
        listening.await.map_err(|_| PgError::Closed)?
    }

    /// Tells itself something in the way in which others tell it, and waits until it is heard.
    async fn ask(&self, question: String, heard: &Notify) -> Result<(), PgError> {
        let (client, connection) = self.settings.connect().await?;
        // It ends with the client.
        tokio::spawn(connection);
        run(&client, &Statement::new(NOTIFY, vec![Value::Text(question)])).await?;
        heard.notified().await;
        Ok(())
    }
}
