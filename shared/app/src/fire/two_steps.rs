//! The steps of firing where the queue and the store are two services, as SQS and DynamoDB are on AWS. Each
//! step first adds to the queue, and then changes the store. The message of a settled attempt is deleted by
//! the host.
//!
//! | step | a crash after it leaves | repaired by |
//! |---|---|---|
//! | dispatch: messages are sent | messages, and timers that are still due | the next sweep, which sends the same attempts again; each is claimed once |
//! | dispatch: timers move | nothing | |
//! | settle: messages are sent | the next attempt, and an attempt that is not counted | the message of the attempt, which is delivered again: its worker sends the same again, and counts |
//! | settle: the attempt is counted | everything but the deletion of the message | the same: its worker finds the attempt counted |
//!
//! In the other order, a crash would lose messages: a timer that has moved asks for nothing again.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_ports::store::{Advance, StoreError};
use minutehand_ports::{
    Counters, DispatchQueue, DispatchStep, QueueError, QueueMessage, SettleStep, Settled,
    Settlement, StepError, Timers,
};

/// Sends the messages, and then moves the timers.
pub(super) struct SendThenMove {
    pub(super) queue: Arc<dyn DispatchQueue>,
    pub(super) timers: Arc<dyn Timers>,
}

#[async_trait]
impl DispatchStep for SendThenMove {
    async fn dispatch(
        &self,
        messages: &[QueueMessage],
        moves: &[Advance],
        now: DateTime<Utc>,
    ) -> Result<Vec<Result<bool, StoreError>>, QueueError> {
        if !messages.is_empty() {
            self.queue.send(messages, now).await?;
        }
        Ok(self.timers.advance(moves).await)
    }
}

/// Sends the messages, and then counts.
pub struct SendThenCount {
    /// Takes the messages.
    pub queue: Arc<dyn DispatchQueue>,
    /// Counts.
    pub counters: Arc<dyn Counters>,
}

#[async_trait]
impl SettleStep for SendThenCount {
    async fn settle(&self, settlement: Settlement<'_>) -> Result<Settled, StepError> {
        let Settlement { next, count, now, .. } = settlement;
        if !next.is_empty() {
            self.queue.send(next, now).await?;
        }
        if let Some(count) = count
            && !self.counters.add(count).await?
        {
            return Ok(Settled::Stale { is_sent: true });
        }
        Ok(Settled::Done { is_finished: false, is_job_finished: false })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use minutehand_domain::attempt::Attempt;
    use minutehand_domain::job::JobCounters;
    use minutehand_domain::recently_counted::RecentlyCounted;
    use minutehand_domain::work_item::{JobRef, WorkItem};
    use minutehand_ports::ReceiptHandle;
    use minutehand_ports::store::{CounterUpdate, Layer, TimerKey, TimersLayer};
    use minutehand_testkit::services::NoTimers;
    use pollster::block_on;

    use super::*;

    /// A queue and a store that write down what they are asked, and refuse one thing.
    #[derive(Default)]
    struct Noted {
        steps: Mutex<Vec<&'static str>>,
        refuses: &'static str,
    }

    impl Noted {
        fn refusing(refuses: &'static str) -> Arc<Self> {
            Arc::new(Self { refuses, ..Self::default() })
        }

        /// Whether it does it.
        fn step(&self, step: &'static str) -> bool {
            self.steps.lock().unwrap().push(step);
            self.refuses != step
        }

        fn steps(&self) -> Vec<&'static str> {
            self.steps.lock().unwrap().clone()
        }
    }

    #[async_trait]
    impl DispatchQueue for Noted {
        async fn send(&self, _: &[QueueMessage], _: DateTime<Utc>) -> Result<(), QueueError> {
            let refused = || QueueError::Unavailable("the test asked for it".into());
            self.step("send").then_some(()).ok_or_else(refused)
        }
    }

    #[async_trait]
    impl Counters for Noted {
        async fn add(&self, _: &CounterUpdate) -> Result<bool, StoreError> {
            Ok(self.step("count"))
        }

        async fn is_evicted(
            &self,
            _: &str,
            attempt: &Attempt,
            _: Option<DateTime<Utc>>,
        ) -> Result<bool, StoreError> {
            panic!("not of these tests: {attempt:?}")
        }
    }

    impl Layer for Noted {
        type Inner = NoTimers;

        fn inner(&self) -> Arc<NoTimers> {
            Arc::new(NoTimers)
        }
    }

    #[async_trait]
    impl TimersLayer for Noted {
        async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
            advances.iter().map(|_| Ok(self.step("move"))).collect()
        }
    }

    fn message() -> QueueMessage {
        let job = JobRef { uid: "u".into(), collection_uid: "c".into(), key: "k".into() };
        let work_item = WorkItem::CheckFinished { job, generation: 1 };
        QueueMessage { work_item, due_at: DateTime::UNIX_EPOCH }
    }

    #[test]
    fn a_timer_moves_after_its_messages_are_stored() {
        for (refuses, messages, expected) in [
            ("", 1, vec!["send", "move"]),
            ("", 0, vec!["move"]),
            ("send", 1, vec!["send"]),
            ("move", 1, vec!["send", "move"]),
        ] {
            let noted = Noted::refusing(refuses);
            let step = SendThenMove { queue: noted.clone(), timers: noted.clone() };
            let timer = TimerKey::Purge { collection_uid: "c".to_owned() };
            let (from, to) = (DateTime::UNIX_EPOCH, DateTime::UNIX_EPOCH);
            let moves = [Advance { timer, from, to, at: from }];
            let answers = block_on(step.dispatch(&vec![message(); messages], &moves, from));
            assert_eq!(noted.steps(), expected, "{refuses}");
            match refuses {
                "send" => assert!(answers.is_err()),
                _ => assert_eq!(*answers.unwrap()[0].as_ref().unwrap(), refuses != "move"),
            }
        }
    }

    #[test]
    fn a_settlement_is_done_in_its_order_and_stops_where_it_fails() {
        let done = Some(Settled::Done { is_finished: false, is_job_finished: false });
        for (refuses, steps, expected) in [
            ("", vec!["send", "count"], done),
            ("send", vec!["send"], None),
            ("count", vec!["send", "count"], Some(Settled::Stale { is_sent: true })),
        ] {
            let noted = Noted::refusing(refuses);
            let step = SendThenCount { queue: noted.clone(), counters: noted.clone() };
            let count = CounterUpdate {
                job_uid: "u".to_owned(),
                as_read: RecentlyCounted::default(),
                counters: JobCounters::default(),
                counted: Vec::new(),
            };
            let (next, count) = (&[message()][..], Some(&count));
            // Its host deletes the message.
            let receipt = Some(ReceiptHandle { id: 1, delivery: 2 });
            let now = DateTime::UNIX_EPOCH;
            let settled =
                block_on(step.settle(Settlement { next, count, finish: None, receipt, now }));
            assert_eq!(noted.steps(), steps, "{refuses}");
            assert_eq!(settled.ok(), expected, "{refuses}");
        }
    }
}
