//! Messages on their way to the receiver that asked for them.
//!
//! A receiver may be cancelled at any moment, even after the messages were hidden for it. They would
//! stay hidden for two minutes. So messages that no receiver takes go back as if never delivered.

use std::mem;
use std::sync::mpsc::Sender;

use minutehand_ports::ReceiptHandle;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::table::{self, ReceiveQuery, Received};
use super::thread::{Kind, QueueCommand, QueueFailure, Task, Work};
use crate::serving::ThreadMessage;

/// Messages that were hidden for a receiver. Dropping them unopened gives them back.
pub(super) struct TakenMessages {
    received: Received,
    sender: Sender<ThreadMessage<QueueCommand>>,
}

/// The work of receiving.
pub(super) struct Receiving {
    pub(super) query: ReceiveQuery,
    pub(super) received: Received,
    /// Carries messages back that no receiver takes.
    pub(super) sender: Sender<ThreadMessage<QueueCommand>>,
    pub(super) reply: oneshot::Sender<Result<TakenMessages, QueueFailure>>,
}

impl TakenMessages {
    pub(super) fn open(mut self) -> Received {
        mem::take(&mut self.received)
    }
}

impl Drop for TakenMessages {
    fn drop(&mut self) {
        let receipts: Vec<ReceiptHandle> =
            self.received.delivered.iter().map(|message| message.receipt).collect();
        if receipts.is_empty() {
            return;
        }
        let n_messages = receipts.len();
        let (reply, _answer) = oneshot::channel();
        let undo = move |connection: &Connection| table::undo_deliveries(connection, &receipts);
        let work = Box::new(Task::new(undo, reply));
        let command = QueueCommand { kind: Kind::PutBack, n_messages, work, permit: None };
        // If the queue is closed, the next start voids these deliveries.
        let _ = self.sender.send(ThreadMessage::Request(command));
    }
}

impl Work for Receiving {
    fn perform(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.received = table::receive(connection, &self.query)?;
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), QueueFailure>) {
        let Self { received, sender, reply, .. } = *self;
        // If the receiver was cancelled, the messages are dropped here and go back.
        let _ = reply.send(outcome.map(|()| TakenMessages { received, sender }));
    }
}
