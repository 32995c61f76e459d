//! Pings: a row for each job that takes them, with its key and what is remembered. A ping changes that row and
//! the attempt that it concerns in one script.
//!
//! | step | condition | a crash after it leaves |
//! |---|---|---|
//! | note a ping | the book has the number that was read | nothing |
//! | open an attempt, with the timer of its deadline | the same, there is nothing of the attempt, and it was not left out as not watched | an open attempt, that its ending or its deadline ends |
//! | end an attempt | the same, and as for saying an ending | an ending, which the timer's message records |

use async_trait::async_trait;
use minutehand_domain::completion::Ending;
use minutehand_domain::firing::LeftOutReason;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    OpenSpan, PingChange, PingFreshness, PingKey, PingRead, PingTaken, PingWrite, SignsRead,
};
use minutehand_ports::{ApiSigns, Pings, StoreError};

use crate::attempts::{expiry, key, reason_number};
use crate::jobs::read as read_job;
use crate::open_attempts::timer_of_end;
use crate::script::{Need, ScriptOutcome, Statement};
use crate::sql::{attempts, jobs, pings as sql};
use crate::store::{SqlStore, changes, record, rest};
use crate::value::{Columns, id, params};

#[async_trait]
impl Pings for SqlStore {
    async fn ping_key(&self, job_uid: &str) -> Result<Option<PingKey>, StoreError> {
        let Some(row) = self.read_one(sql::PING_KEY, params![id(job_uid)]).await? else {
            return Ok(None);
        };
        let mut row = Columns::after_id("pings", row)?;
        Ok(Some(PingKey { hash: row.next()?, sealed: row.next()? }))
    }

    async fn set_ping_key(
        &self,
        job: &JobRef,
        key: &PingKey,
        instead_of: Option<&str>,
    ) -> Result<bool, StoreError> {
        let PingKey { hash, sealed } = key;
        let statement = match instead_of {
            None => {
                let (collection, name) = (id(&job.collection_uid), job.key.as_str());
                let own = params![id(&job.uid), collection, name, hash.as_str(), sealed.as_slice()];
                changes(sql::FIRST_PING_KEY, own)
            }
            Some(before) => {
                let own = params![id(&job.uid), hash.as_str(), sealed.as_slice(), before];
                changes(sql::NEXT_PING_KEY, own)
            }
        };
        self.does(rest(&job.collection_uid, vec![statement])).await
    }

    async fn find_ping(
        &self,
        hash: &str,
        _: PingFreshness,
    ) -> Result<Option<PingRead>, StoreError> {
        let Some(row) = self.read_one(jobs::JOB_OF_PING, params![hash]).await? else {
            return Ok(None);
        };
        let mut row = Columns::new("jobs", row);
        let record = read_job(&mut row)?;
        let job = JobRef { uid: record.uid.clone(), collection_uid: row.id()?, key: row.next()? };
        let (number, book) = (row.next()?, row.next()?);
        Ok(Some(PingRead { job, number, book, owing: Some(Box::new(record.into())) }))
    }

    async fn take_ping(&self, write: &PingWrite) -> Result<PingTaken, StoreError> {
        let PingWrite { hash, job, as_read, book, change } = write;
        let book = params![hash.as_str(), *as_read, book.as_str()];
        let mut statements = vec![changes(sql::NEXT_BOOK, book)];
        match change {
            PingChange::Nothing => {}
            PingChange::Opens { attempt, claim_id, span, held_until, ending } => {
                let OpenSpan { started_at, until } = *span;
                let row = params![
                    ..key(&job.uid, attempt),
                    id(claim_id),
                    *held_until,
                    attempt.due_at,
                    expiry(until, self.history),
                    started_at,
                    until,
                    ending.as_ref().map(Ending::to_stored),
                ];
                statements.push(changes(sql::OPEN_BY_PING, row));
                // Behind it: who leaves the occurrence out stores that before its claim is gone.
                let not_watched = params![
                    id(&job.uid),
                    attempt.occurrence.nominal_at(),
                    attempt.generation,
                    reason_number(LeftOutReason::NotWatched),
                ];
                let not_watched = Statement::new(attempts::IS_LEFT_OUT, not_watched);
                statements.push(not_watched.needs(Need::NoRow));
                statements.push(timer_of_end(job, attempt, until));
            }
            PingChange::Ends { attempt, ending } => {
                let (at, is_report) = (ending.at, ending.by.is_report());
                let row = params![..key(&job.uid, attempt), ending.to_stored(), at, is_report];
                statements.push(changes(attempts::SAY_ENDING, row));
            }
        }
        Ok(match self.perform(record(&job.collection_uid, statements)).await? {
            ScriptOutcome::Done(_) => PingTaken::Kept,
            ScriptOutcome::Unmet { statement: 0, .. } => PingTaken::Stale,
            ScriptOutcome::Unmet { .. } => PingTaken::Over,
        })
    }
}

#[async_trait]
impl ApiSigns for SqlStore {
    async fn read_signs(&self) -> Result<SignsRead, StoreError> {
        let Some(row) = self.read_now("", sql::PRESENCE, Vec::new()).await? else {
            return Ok(SignsRead::default());
        };
        let mut row = Columns::new("presence", row);
        let _one: u64 = row.next()?;
        Ok(SignsRead { number: row.next()?, state: row.next()? })
    }

    async fn write_signs(&self, as_read: u64, state: &str) -> Result<bool, StoreError> {
        let text = if as_read == 0 { sql::FIRST_PRESENCE } else { sql::NEXT_PRESENCE };
        self.does(rest("", vec![changes(text, params![as_read, state])])).await
    }
}
