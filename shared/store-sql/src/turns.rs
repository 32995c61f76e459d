//! Turns: one row for each job that lets no attempts overlap, with the attempt that has the turn and
//! those that wait. Other jobs have none.
//!
//! An attempt that ends does not change the row. Whether the attempt with the turn has ended is in that
//! attempt's own row. It is read after the order: of what was read before the order, the order could be
//! newer.
//!
//! | step | condition | a crash after it leaves |
//! |---|---|---|
//! | take the turn | the order has the number that was read | a turn that ends with its lease |
//! | get or keep a place | the same | a place that is given up after some minutes |
//! | leave an occurrence out, with its row | the same | the row, from which every worker knows it |
//! | give a turn back | the claim has it | nothing |
//!
//! Where one process is alone on the database, the turn of an earlier process is void, as its claims are. Among
//! many processes, that of one that died is given back. The turn of an open attempt belongs to no process.

use async_trait::async_trait;
use chrono::DateTime;
use minutehand_domain::attempt::Attempt;
use minutehand_domain::attempt_key::{attempt_key, read_attempt};
use minutehand_domain::firing::{LeftOutReason, TurnHolder, TurnOrder, Waiter};
use minutehand_domain::tick::{from_ticks, ticks};
use minutehand_ports::store::{Claim, OwnAttempt, TurnsRead, TurnsWrite};
use minutehand_ports::{StoreError, Turns};

use crate::attempts::{Seen, expiry, key, leave_out, reason_number};
use crate::script::{Row, ScriptOutcome, Statement};
use crate::sql::attempts as sql;
use crate::store::{SqlStore, changes, start};
use crate::value::{Columns, id, params, read_id};

/// In place of a process in an order whose holder is open.
const OPEN: i64 = 0;

#[async_trait]
impl Turns for SqlStore {
    async fn read_turns(&self, job_uid: &str, attempt: &Attempt) -> Result<TurnsRead, StoreError> {
        let stored = self.read_now(job_uid, sql::TURNS, params![id(job_uid)]).await?;
        let (number, mut order) =
            stored.map(|row| self.read_order(row)).transpose()?.unwrap_or_default();
        let row = |attempt| Statement::new(sql::ONE, key(job_uid, attempt));
        let overlap = params![
            id(job_uid),
            attempt.occurrence.nominal_at(),
            attempt.generation,
            reason_number(LeftOutReason::Overlap)
        ];
        let mut statements = vec![row(attempt), Statement::new(sql::IS_LEFT_OUT, overlap)];
        statements.extend(order.holder.as_ref().map(|holder| row(&holder.attempt)));
        let ScriptOutcome::Done(found) = self.perform(start(job_uid, statements)).await? else {
            return Err(StoreError::Refused("a read was answered with nothing".into()));
        };
        let mut found = found.into_iter().map(|rows| rows.into_iter().next());
        let mut next = || found.next().flatten();
        let (own, left_out, holder) = (next(), next(), next());
        if holder.map(Seen::read).transpose()?.is_some_and(|holder| holder.record.is_some()) {
            order.holder = None;
        }
        let own = match own.map(|row| Seen::read(row).map(Seen::entry)).transpose()? {
            // No worker has it, so it is as it was before.
            Some(entry) if entry.waits => OwnAttempt::New,
            Some(entry) => entry.record.map_or(OwnAttempt::Begun, OwnAttempt::Ended),
            None if left_out.is_some() => OwnAttempt::LeftOut,
            None => OwnAttempt::New,
        };
        Ok(TurnsRead { number, order, own })
    }

    async fn write_turns(&self, write: &TurnsWrite) -> Result<bool, StoreError> {
        let TurnsWrite { job_uid, as_read, order: TurnOrder { holder, waiting }, left_out } = write;
        // Leases are on the clock of work, and so the row expires on that clock.
        let ends = holder.iter().map(|holder| holder.lease_until);
        let ends = ends.chain(waiting.iter().map(|waiter| waiter.until));
        let ends = ends.max().unwrap_or(DateTime::UNIX_EPOCH);
        let lease_until = holder.as_ref().map_or(ends, |holder| holder.lease_until);
        let parameters = params![
            id(job_uid),
            *as_read,
            holder.as_ref().map(|holder| attempt_key(&holder.attempt)),
            self.taker(),
            holder.as_ref().map(|holder| id(&holder.claim_id)),
            lease_until,
            waiting.iter().map(write_waiter).collect::<String>(),
            expiry(ends, self.history),
        ];
        let text = if *as_read == 0 { sql::FIRST_TURNS } else { sql::NEXT_TURNS };
        let mut statements = vec![changes(text, parameters)];
        statements.extend(left_out.as_ref().map(|row| leave_out(job_uid, row, self.history)));
        self.does(start(job_uid, statements)).await
    }

    async fn give_back_turn(&self, claim: &Claim) -> Result<(), StoreError> {
        let parameters = params![id(&claim.job.uid), self.taker(), id(&claim.claim_id)];
        let give_back = Statement::new(sql::GIVE_BACK_TURN, parameters);
        // A turn that the caller no longer has need not be given back.
        self.perform(start(&claim.job.uid, vec![give_back])).await.map(drop)
    }
}

impl SqlStore {
    fn read_order(&self, row: Row) -> Result<(u64, TurnOrder), StoreError> {
        let mut row = Columns::after_id("turns", row)?;
        let (number, turn) = (row.next()?, row.next::<Option<String>>()?);
        let (process, claim_id) = (row.next::<i64>()?, row.next::<Option<Vec<u8>>>()?);
        let (lease_until, waiting) = (row.next()?, row.next::<String>()?);
        // A holder that is void runs no longer.
        let is_void = self.process != 0 && process != self.process && process != OPEN;
        let holder = turn.zip(claim_id).filter(|_| !is_void).map(|(turn, claim_id)| {
            let (attempt, claim_id) = read_attempt(&turn, None).zip(read_id(&claim_id))?;
            Some(TurnHolder { attempt, claim_id, lease_until })
        });
        if holder == Some(None) {
            return Err(row.corrupt("its holder is damaged"));
        }
        let waiting: Option<Vec<Waiter>> = waiting.lines().map(read_waiter).collect();
        let waiting = waiting.ok_or_else(|| row.corrupt("those that wait are damaged"))?;
        Ok((number, TurnOrder { holder: holder.flatten(), waiting }))
    }
}

/// A waiter in a line: until when it keeps its place, and its attempt.
fn write_waiter(Waiter { attempt, until }: &Waiter) -> String {
    format!("{} {}\n", ticks(*until), attempt_key(attempt))
}

fn read_waiter(line: &str) -> Option<Waiter> {
    let (until, attempt) = line.split_once(' ')?;
    let until = from_ticks(until.parse().ok()?)?;
    Some(Waiter { attempt: read_attempt(attempt, None)?, until })
}
