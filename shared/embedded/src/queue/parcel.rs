//! Messages on their way to who asked for them.
//!
//! Who asks may stop waiting at any moment, after the messages were hidden for it. They would stay
//! hidden from everybody for two minutes; so what nobody takes goes back as if never delivered.

use std::mem;
use std::sync::mpsc::Sender;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::ReceiptHandle;
use super::table::{self, Found, Look};
use super::thread::{Kind, QueueCommand, QueueFailure, Task, Work};
use crate::serving::ThreadMessage;

/// What a look found. It goes back unless it is opened.
pub(super) struct TakenMessages {
    found: Found,
    sender: Sender<ThreadMessage<QueueCommand>>,
}

/// The work of looking.
pub(super) struct Looking {
    pub(super) look: Look,
    pub(super) found: Found,
    /// Where what is not wanted goes back to.
    pub(super) sender: Sender<ThreadMessage<QueueCommand>>,
    pub(super) reply: oneshot::Sender<Result<TakenMessages, QueueFailure>>,
}

impl TakenMessages {
    pub(super) fn open(mut self) -> Found {
        mem::take(&mut self.found)
    }
}

impl Drop for TakenMessages {
    fn drop(&mut self) {
        let receipts: Vec<ReceiptHandle> =
            self.found.letters.iter().map(|letter| letter.receipt).collect();
        if receipts.is_empty() {
            return;
        }
        let n_messages = receipts.len();
        let (reply, _nobody) = oneshot::channel();
        let give_back = move |connection: &Connection| table::give_back(connection, &receipts);
        let work = Box::new(Task::new(give_back, reply));
        let call = QueueCommand { kind: Kind::Returns, n_messages, work, place: None };
        // A queue that is closed has voided them.
        let _ = self.sender.send(ThreadMessage::Request(call));
    }
}

impl Work for Looking {
    fn perform(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.found = table::receive(connection, &self.look)?;
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), QueueFailure>) {
        let Self { found, sender, reply, .. } = *self;
        // If nobody takes it, it is dropped here.
        let _ = reply.send(outcome.map(|()| TakenMessages { found, sender }));
    }
}
