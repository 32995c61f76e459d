//! Open attempts: items of attempts with a deadline.
//!
//! | step | condition | a crash after it leaves |
//! |---|---|---|
//! | leave open, with the timer of the deadline, turn and seat, as one transaction | the claim is the caller's, and no ending is said | an attempt that its ending or its deadline ends |
//! | say an ending | none is said, the attempt has not ended; of a report that the deadline is not over, of others that the attempt is open | an ending, which the timer's message records |
//! | record the ending | an ending is said, and the attempt has not ended | the record, as that of any attempt |
//!
//! Leases of open attempts, of their turns and of their seats end long after the deadline, so a worker of an earlier
//! version takes an open attempt for one that another worker holds.

use async_trait::async_trait;
use minutehand_domain::attempt::{Attempt, Record};
use minutehand_domain::completion::Ending;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{AttemptSeen, Claim, LeaveOpen, LeftOpen, LongRetry, Recorded, Said};
use minutehand_ports::{OpenAttempts, StoreError};

use crate::attempts::{SeenClaim, close_when, expiry, read};
use crate::conditions::{OPENS, RECORDS_ENDING, SAYS_ENDING};
use crate::open_item::{ENDING, OPEN_UNTIL, PROGRESS, read_open};
use crate::store::DynamoStore;
use crate::table::item::{number, text, ticks};
use crate::table::{MeteredCall, Write, WriteOutcome, keys};
use crate::{retries, seats, turns};

/// How often a transaction is tried without a turn or a seat that is lost.
const TRIES_MAX: usize = 3;

#[async_trait]
impl OpenAttempts for DynamoStore {
    async fn leave_open(&self, claim: &Claim, open: &LeaveOpen) -> Result<LeftOpen, StoreError> {
        let LeaveOpen { started_at, until, held_until, has_seat } = *open;
        let Claim { job, attempt, claim_id, .. } = claim;
        let at = keys::execution(&job.uid, attempt);
        let row = Write::update(
            at.clone(),
            format!(
                "SET started_at = :started, {OPEN_UNTIL} = :until, lease_until = :held, \
                 expires_at = :expires"
            ),
        )
        .when(OPENS)
        .with(":mine", text(claim_id))
        .with(":started", ticks(started_at))
        .with(":until", ticks(until))
        .with(":held", ticks(held_until))
        .with(":expires", expiry(until, self.history));
        let ends = Attempt { due_at: until, ..attempt.clone() }.to_end();
        let timer = LongRetry { job: job.clone(), attempt: ends };
        let timer = Write::put(retries::timer(&timer));
        let turn = attempt.takes_turn.then(|| turns::keep(claim, held_until, self.history));
        let seat = has_seat.then(|| seats::keep(claim, held_until));
        let mut others: Vec<Write> = turn.into_iter().chain(seat).collect();
        for _ in 0..TRIES_MAX {
            let writes = [vec![row.clone(), timer.clone()], others.clone()].concat();
            let failed = self.table.write_all(MeteredCall::LeaveOpen, writes).await?;
            let Some(failed) = failed else { return Ok(LeftOpen::Open) };
            if failed.first().is_none_or(|failed| *failed) {
                break;
            }
            // A turn or a seat that the claim no longer has is not kept.
            let mut is_lost = failed.into_iter().skip(2);
            others.retain(|_| !is_lost.next().unwrap_or_default());
        }
        let Some(item) = self.table.get_for(Some(MeteredCall::See), at).await? else {
            return Ok(LeftOpen::Lost);
        };
        let seen = SeenClaim::read(&item)?;
        let is_mine = seen.claim_id == *claim_id;
        Ok(LeftOpen::found(is_mine, seen.record, seen.is_open, seen.ending))
    }

    async fn say(
        &self,
        job_uid: &str,
        attempt: &Attempt,
        ending: &Ending,
    ) -> Result<Said, StoreError> {
        let is_report = ending.by.is_report();
        let write = says(job_uid, attempt, ending);
        let item = match self.table.write(MeteredCall::SayEnding, write).await? {
            WriteOutcome::Done => return Ok(Said::First),
            WriteOutcome::ConditionFailed(item) => item,
        };
        let Some(seen) = item.as_ref().map(SeenClaim::read).transpose()? else {
            return Ok(Said::Nothing);
        };
        Ok(match seen {
            SeenClaim { ending: Some(other), .. } => Said::Already(other),
            SeenClaim { record: None, is_open: true, .. } if is_report => Said::Late,
            _ => Said::Nothing,
        })
    }

    async fn note_progress(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        line: &str,
    ) -> Result<bool, StoreError> {
        let write =
            Write::update(keys::execution(&job.uid, attempt), format!("SET {PROGRESS} = :line"))
                .when(SAYS_ENDING)
                .with(":line", text(line))
                .with(":none", number(0));
        self.table.does(MeteredCall::SayEnding, write).await
    }

    async fn see(&self, job_uid: &str, attempt: &Attempt) -> Result<AttemptSeen, StoreError> {
        let at = keys::execution(job_uid, attempt);
        let Some(item) = self.table.get_for(Some(MeteredCall::See), at).await? else {
            return Ok(AttemptSeen::Nothing);
        };
        let seen = SeenClaim::read(&item)?;
        Ok(match seen {
            SeenClaim { record: Some(record), .. } => AttemptSeen::Recorded(record),
            SeenClaim { is_open: true, .. } => {
                AttemptSeen::Open(Box::new(read_open(&item, read(&item)?.attempt)?))
            }
            _ => AttemptSeen::Claimed,
        })
    }

    async fn record_ending(&self, claim: &Claim, record: &Record) -> Result<Recorded, StoreError> {
        let write = close_when(RECORDS_ENDING, claim, record, self.history);
        let item = match self.table.write(MeteredCall::Record, write).await? {
            WriteOutcome::Done => return Ok(Recorded::Kept),
            WriteOutcome::ConditionFailed(item) => item,
        };
        let seen = item.as_ref().map(SeenClaim::read).transpose()?;
        Ok(seen.and_then(|seen| seen.record).map_or(Recorded::Lost, Recorded::Already))
    }
}

/// Says how an attempt ends.
pub(crate) fn says(job_uid: &str, attempt: &Attempt, ending: &Ending) -> Write {
    let is_report = ending.by.is_report();
    let allowed = if is_report {
        format!(" AND (attribute_not_exists({OPEN_UNTIL}) OR {OPEN_UNTIL} >= :at)")
    } else {
        format!(" AND attribute_exists({OPEN_UNTIL})")
    };
    Write::update(keys::execution(job_uid, attempt), format!("SET {ENDING} = :ending"))
        .when(format!("{SAYS_ENDING}{allowed}"))
        .with(":ending", text(ending.to_stored()))
        .with(":none", number(0))
        .maybe(":at", is_report.then(|| ticks(ending.at)))
}
