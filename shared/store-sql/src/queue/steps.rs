//! The steps of firing that change the queue and the store: one script each.
//!
//! | step | a crash leaves |
//! |---|---|
//! | dispatch | the messages and the moved timers, or nothing; of more than one script together, messages whose timers are still due, which the next sweep sends again |
//! | settle | the next attempt, the count and no message, or nothing |

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_ports::store::{Advance, StoreError};
use minutehand_ports::{
    DispatchStep, QueueError, QueueMessage, SettleStep, Settled, Settlement, StepError, Timers,
};

use super::{TOGETHER_MAX, finish, send};
use crate::counters::{Counting, counting};
use crate::script::{Script, ScriptOutcome, Statement};
use crate::store::{SqlStore, record};

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
        // No script is so long that a claim has to wait for it.
        let is_long = messages.len() + moves.len() > TOGETHER_MAX;
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
        let sent = messages.len();
        let (statements, changed) = self.moving(moves);
        messages.extend(statements);
        let script = record("", messages).waking();
        let outcome = self.database().perform(Script { changed, ..script }).await?;
        let ScriptOutcome::Done(rows) = outcome else {
            return Err(QueueError::Refused("nothing was needed".into()));
        };
        // The last statements are the moves.
        let answers = rows.into_iter().skip(sent);
        Ok(answers.take(moves.len()).map(|rows| Ok(!rows.is_empty())).collect())
    }
}

#[async_trait]
impl SettleStep for SqlStore {
    async fn settle(&self, settlement: Settlement<'_>) -> Result<Settled, StepError> {
        let Settlement { next, count, receipt, now } = settlement;
        let others = || -> Result<Vec<Statement>, QueueError> {
            let sent: Result<Vec<_>, _> = next.iter().map(|it| send(it, now, now)).collect();
            Ok(sent?.into_iter().chain(receipt.map(finish)).collect())
        };
        let is_finished = receipt.is_some();
        if let Some(update) = count {
            let Counting { mut statements, settled, after } = counting(update, self.history);
            statements.extend(others()?);
            let mut script = wake_for(next, record(&update.job_uid, statements));
            script.otherwise = Some(settled);
            match self.perform(script).await? {
                ScriptOutcome::Done(_) => return Ok(Settled::Done { is_finished }),
                ScriptOutcome::Unmet { otherwise, .. } => {
                    if !after.is_in(otherwise)? {
                        return Ok(Settled::Stale { is_sent: false });
                    }
                }
            }
            // It was counted before, and the answer was lost. The message may have been delivered again.
        }
        let others = others()?;
        if !others.is_empty() {
            self.perform(wake_for(next, record("", others))).await?;
        }
        Ok(Settled::Done { is_finished })
    }
}

/// The script, which wakes a receiver if it sends something.
fn wake_for(next: &[QueueMessage], script: Script) -> Script {
    if next.is_empty() { script } else { script.waking() }
}
