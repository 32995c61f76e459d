//! Open attempts: rows of attempts with a deadline, which belong to no process.
//!
//! | step | condition | a crash after it leaves |
//! |---|---|---|
//! | leave open, with the timer of the deadline, turn and seat | the claim is the caller's, and no ending is said | an attempt that its ending or its deadline ends |
//! | say an ending | none is said, the attempt has not ended; of a report that the deadline is not over, of others that the attempt is open | an ending, which the timer's message records |
//! | record the ending | an ending is said, and the attempt has not ended | the record, as that of any attempt |
//!
//! The row, the turn and the seat of an open attempt have the number 0 in place of a process. So neither the next
//! process nor one that takes others for dead gives them away.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::attempt::{Attempt, Record};
use minutehand_domain::completion::Ending;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{AttemptSeen, Claim, LeaveOpen, LeftOpen, Recorded, Said};
use minutehand_ports::{OpenAttempts, StoreError};

use crate::attempts::{Seen, expiry, key};
use crate::script::Statement;
use crate::sql::attempts as sql;
use crate::sql::jobs;
use crate::store::{SqlStore, changes, record};
use crate::timers::retry_row;
use crate::value::{id, params};

#[async_trait]
impl OpenAttempts for SqlStore {
    async fn leave_open(&self, claim: &Claim, open: &LeaveOpen) -> Result<LeftOpen, StoreError> {
        let LeaveOpen { started_at, until, held_until, has_seat } = *open;
        let Claim { job, attempt, .. } = claim;
        let expires_at = expiry(until, self.history);
        let row = params![..self.held(claim), started_at, until, held_until, expires_at];
        let expires_at = expiry(held_until, self.history);
        let turn =
            params![id(&job.uid), self.taker(), id(&claim.claim_id), held_until, expires_at,];
        let mut statements = vec![
            changes(sql::LEAVE_OPEN, row),
            timer_of_end(job, attempt, until),
            Statement::new(sql::KEEP_TURN, turn),
        ];
        if has_seat {
            let seat = params![..self.seat(claim), held_until];
            statements.push(Statement::new(sql::KEEP_SEAT, seat));
        }
        let script = record(&job.collection_uid, statements);
        let script = script.or_read(sql::ONE, key(&job.uid, attempt));
        let Some(found) = self.unmet(script).await? else { return Ok(LeftOpen::Open) };
        let Some(seen) = Seen::first(found)? else { return Ok(LeftOpen::Lost) };
        let is_mine = seen.claim_id == claim.claim_id;
        Ok(LeftOpen::found(is_mine, seen.record, seen.open_until.is_some(), seen.ending))
    }

    async fn say(
        &self,
        job_uid: &str,
        attempt: &Attempt,
        ending: &Ending,
    ) -> Result<Said, StoreError> {
        let is_report = ending.by.is_report();
        let not_over = if is_report { ending.at } else { DateTime::<Utc>::UNIX_EPOCH };
        let parameters = params![..key(job_uid, attempt), ending.to_stored(), not_over, is_report];
        let script = record("", vec![changes(sql::SAY_ENDING, parameters)]);
        let script = script.or_read(sql::ONE, key(job_uid, attempt));
        let Some(found) = self.unmet(script).await? else { return Ok(Said::First) };
        let Some(seen) = Seen::first(found)? else { return Ok(Said::Nothing) };
        Ok(match seen {
            Seen { ending: Some(other), .. } => Said::Already(other),
            Seen { record: None, open_until: Some(_), .. } if is_report => Said::Late,
            _ => Said::Nothing,
        })
    }

    async fn note_progress(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        line: &str,
    ) -> Result<bool, StoreError> {
        let note = changes(sql::NOTE_PROGRESS, params![..key(&job.uid, attempt), line]);
        self.does(record("", vec![note])).await
    }

    async fn see(&self, job_uid: &str, attempt: &Attempt) -> Result<AttemptSeen, StoreError> {
        let row = self.read_now("", sql::ONE, key(job_uid, attempt)).await?;
        let Some(seen) = row.map(Seen::read).transpose()? else { return Ok(AttemptSeen::Nothing) };
        Ok(match seen {
            Seen { record: Some(record), .. } => AttemptSeen::Recorded(record),
            Seen { open_until: Some(_), .. } => AttemptSeen::Open(Box::new(seen.open())),
            _ => AttemptSeen::Claimed,
        })
    }

    async fn record_ending(&self, claim: &Claim, ended: &Record) -> Result<Recorded, StoreError> {
        let Claim { job, attempt, .. } = claim;
        let mut parameters = key(&job.uid, attempt);
        parameters.extend(self.record_values(ended));
        let close = changes(sql::RECORD_ENDING, parameters);
        let script = record(&job.collection_uid, vec![close]);
        let script = script.or_read(sql::ONE, key(&job.uid, attempt));
        let Some(found) = self.unmet(script).await? else { return Ok(Recorded::Kept) };
        let seen = Seen::first(found)?.and_then(|seen| seen.record);
        Ok(seen.map_or(Recorded::Lost, Recorded::Already))
    }
}

/// Sets the timer of the deadline of an open attempt.
pub(crate) fn timer_of_end(job: &JobRef, attempt: &Attempt, until: DateTime<Utc>) -> Statement {
    let ends = Attempt { due_at: until, ..attempt.clone() }.to_end();
    Statement::new(jobs::SET_RETRY, retry_row(job, &ends))
}
