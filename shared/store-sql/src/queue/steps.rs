//! The steps of firing that change the queue and the store: one script each.
//!
//! | step | a crash leaves |
//! |---|---|
//! | dispatch | the messages and the moved timers, or nothing; of more than one script together, messages whose timers are still due, which the next sweep sends again |
//! | settle | the next attempt, the count, the finished job and no message, or nothing |

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_ports::store::{Advance, CounterUpdate, Finish, StoreError};
use minutehand_ports::{
    DispatchStep, QueueError, QueueMessage, ReceiptHandle, SettleStep, Settled, Settlement,
    StepError, Timers,
};

use super::{TOGETHER_MAX, finish, send};
use crate::counters::{Counting, counting};
use crate::script::{Script, ScriptOutcome, Statement};
use crate::store::{SqlStore, changing, record};
use crate::timers::finishing;

#[async_trait]
impl DispatchStep for SqlStore {
    async fn dispatch(
        &self,
        messages: &[QueueMessage],
        moves: &[Advance],
        now: DateTime<Utc>,
    ) -> Result<Vec<Result<bool, StoreError>>, QueueError> {
        let mut messages: Vec<Statement> =
            messages.iter().map(|it| send(it, now, now)).collect::<Result<_, _>>()?;
        let left_out: Vec<_> = moves.iter().flat_map(|it| self.count_left_out(it)).collect();
        // No script is so long that a claim has to wait for it.
        let is_long = messages.len() + moves.len() + left_out.len() > TOGETHER_MAX;
        while is_long && !messages.is_empty() {
            let rest = messages.split_off(messages.len().min(TOGETHER_MAX));
            self.database().perform(record("", messages).waking()).await?;
            messages = rest;
        }
        if is_long || moves.is_empty() {
            if !messages.is_empty() {
                self.database().perform(record("", messages).waking()).await?;
            }
            return Ok(self.advance(moves).await);
        }
        messages.extend(left_out);
        let before = messages.len();
        let (statements, changed) = self.moving(moves);
        messages.extend(statements);
        let script = record("", messages).waking();
        let outcome = self.database().perform(Script { changed, ..script }).await?;
        let ScriptOutcome::Done(rows) = outcome else {
            return Err(QueueError::Refused("nothing was needed".into()));
        };
        // The last statements are the moves, and what they leave out.
        let answers = rows.into_iter().skip(before);
        Ok(answers.take(moves.len()).map(|rows| Ok(!rows.is_empty())).collect())
    }
}

#[async_trait]
impl SettleStep for SqlStore {
    async fn settle(&self, settlement: Settlement<'_>) -> Result<Settled, StepError> {
        let Settlement { next, count, finish: job, receipt, now } = settlement;
        let sent: Result<Vec<_>, _> = next.iter().map(|it| send(it, now, now)).collect();
        let mut others = sent?;
        if let Some(job) = job {
            let finished = self.finish_and(job, count, (&others, receipt));
            if self.does(wake_for(next, finished)).await? {
                let is_finished = receipt.is_some();
                return Ok(Settled::Done { is_finished, is_job_finished: true });
            }
            // The job has changed, or others were counted: the message stays until the caller has looked again.
        }
        let receipt = receipt.filter(|_| job.is_none());
        others.extend(receipt.map(finish));
        let done = Settled::Done { is_finished: receipt.is_some(), is_job_finished: false };
        if let Some(update) = count {
            let Counting { mut statements, settled, after } = counting(update, self.history);
            statements.extend(others.iter().cloned());
            statements.extend(self.count_quarters(update));
            let script = wake_for(next, record(&update.job_uid, statements));
            let script = Script { otherwise: Some(settled), ..script };
            let Some(found) = self.unmet(script).await? else { return Ok(done) };
            if !after.is_in(found)? {
                return Ok(Settled::Stale { is_sent: false });
            }
            // It was counted before, and the answer was lost. The message may have been delivered again.
        }
        if !others.is_empty() {
            self.perform(wake_for(next, record("", others))).await?;
        }
        Ok(done)
    }

    fn finishes_jobs(&self) -> bool {
        true
    }
}

impl SqlStore {
    /// Counts the last attempt of a job, finishes the job, and deletes the message of the attempt. The order
    /// of the tables is that of other scripts, so that none waits for another that waits for it.
    fn finish_and(
        &self,
        job: &Finish,
        count: Option<&CounterUpdate>,
        (sent, receipt): (&[Statement], Option<ReceiptHandle>),
    ) -> Script {
        let [expire, end] = finishing(job);
        let mut statements = vec![expire];
        statements.extend(count.into_iter().flat_map(|it| counting(it, self.history).statements));
        statements.push(end);
        statements.extend_from_slice(sent);
        statements.extend(receipt.map(finish));
        statements.extend(count.into_iter().flat_map(|it| self.count_quarters(it)));
        changing(record(&job.job.uid, statements), &job.job.uid)
    }
}

/// The script, which wakes a receiver if it sends something.
fn wake_for(next: &[QueueMessage], script: Script) -> Script {
    if next.is_empty() { script } else { script.waking() }
}
