//! Pings of jobs that expect them. The item of a key, found by its hash, has the job and what is remembered of its
//! pings; an item beside the timer has the key itself, sealed.
//!
//! | step | condition | a crash after it leaves |
//! |---|---|---|
//! | make a key, as two items | the job has none | nothing |
//! | replace a key, with what is remembered | the job has the one that was read, and the book its number | nothing |
//! | note a ping | the book has the number that was read | nothing |
//! | open an attempt, with the timer of its deadline | the same, and there is nothing of the attempt | an open attempt, that its ending or its deadline ends |
//! | end an attempt | the same, and as for saying an ending | an ending, which the timer's message records |
//!
//! On AWS the API counts as always there, so no occurrence is left out because nothing could take its ping, and no
//! write looks for that: it would cost two units at each ping.
//!
//! A ping reads the item of its key and the timer of the job, both as they were a moment ago, which is one read unit
//! together. The book that was read is a condition of what is stored, so an older one is read again as it is now; so
//! are a key that is not found, and a job that owes nothing. An older timer is one that was changed while the ping
//! came. A key that no job has costs one and a half, and half a unit more a job with excluded dates, whose line needs
//! its document.
//!
//! The items go with their job. Those of a job that expires stay behind, and find nothing.

use async_trait::async_trait;
use minutehand_domain::attempt::Attempt;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    LongRetry, OpenSpan, PingChange, PingFreshness, PingKey, PingOwing, PingRead, PingTaken,
    PingWrite, TimerRecord,
};
use minutehand_ports::{Pings, StoreError};

use crate::attempts::{expiry, own_due_at};
use crate::conditions::CLAIM;
use crate::open_attempts::says;
use crate::open_item::{ENDING, OPEN_UNTIL};
use crate::ping_keys::{HASH, SEALED, read_key};
use crate::store::DynamoStore;
use crate::table::item::{Item, ItemBuilder, Reader, bytes, number, text, ticks};
use crate::table::keys;
use crate::table::{Consistency, MeteredCall, Write};
use crate::{jobs, retries};

/// Of the item that a key finds.
const UID: &str = "uid";
const NUMBER: &str = "book_number";
const BOOK: &str = "book";

/// Reading what decides about a ping.
const CALL: Option<MeteredCall> = Some(MeteredCall::FindPing);

/// How often a key is replaced while pings come.
const ROUNDS_MAX: usize = 10;

#[async_trait]
impl Pings for DynamoStore {
    async fn ping_key(&self, job_uid: &str) -> Result<Option<PingKey>, StoreError> {
        let at = keys::ping_key(job_uid);
        // As jobs are listed, so that a backup needs no other permission.
        let found = self.table.get_many(None, Consistency::Strong, [at.clone()]).await?;
        found.get(&at).map(read_key).transpose()
    }

    async fn set_ping_key(
        &self,
        job: &JobRef,
        key: &PingKey,
        instead_of: Option<&str>,
    ) -> Result<bool, StoreError> {
        let own = ItemBuilder::at(keys::ping_key(&job.uid));
        let own = Write::put(own.text(HASH, &key.hash).set(SEALED, bytes(&key.sealed)));
        let Some(before) = instead_of else {
            let own = own.when("attribute_not_exists(pk)");
            let found = found_by(key, job, (0, "")).when("attribute_not_exists(pk)");
            return self.table.write_together(MeteredCall::Change, vec![own, found]).await;
        };
        for _ in 0..ROUNDS_MAX {
            let found = self.table.get_for(CALL, keys::ping(before)).await?;
            let found = found.as_ref().map(read_found).transpose()?;
            let Some(read) = found.filter(|read| read.job == *job) else { return Ok(false) };
            let own = own.clone().when(format!("{HASH} = :before")).with(":before", text(before));
            let found = found_by(key, job, (read.number, &read.book));
            let found = found.when("attribute_not_exists(pk)");
            let gone = Write::delete(keys::ping(before))
                .when(format!("{NUMBER} = :as_read"))
                .with(":as_read", number(read.number));
            let writes = vec![own, found, gone];
            match self.table.write_all(MeteredCall::Change, writes).await?.as_deref() {
                None => return Ok(true),
                // A ping came meanwhile.
                Some([false, false, true]) => {}
                Some(_) => return Ok(false),
            }
        }
        Err(StoreError::Throttled("pings of the job come all the time".into()))
    }

    async fn find_ping(
        &self,
        hash: &str,
        freshness: PingFreshness,
    ) -> Result<Option<PingRead>, StoreError> {
        for consistency in as_fresh_as(freshness) {
            let found = self.table.read(CALL, *consistency, keys::ping(hash)).await?;
            let Some(found) = found else { continue };
            let found = read_found(&found)?;
            let Some(owing) = self.owing(&found.job, freshness).await? else { return Ok(None) };
            return Ok(Some(PingRead { owing: Some(Box::new(owing)), ..found }));
        }
        Ok(None)
    }

    async fn take_ping(&self, write: &PingWrite) -> Result<PingTaken, StoreError> {
        let PingWrite { hash, job, as_read, book, change } = write;
        let set = format!("SET {BOOK} = :book, {NUMBER} = :next");
        let noted = Write::update(keys::ping(hash), set)
            .when(format!("{NUMBER} = :as_read"))
            .with(":book", text(book))
            .with(":next", number(as_read + 1))
            .with(":as_read", number(*as_read));
        let others = match change {
            PingChange::Nothing => {
                let is_kept = self.table.does(MeteredCall::TakePing, noted).await?;
                return Ok(if is_kept { PingTaken::Kept } else { PingTaken::Stale });
            }
            PingChange::Opens { attempt, claim_id, span, held_until, ending } => {
                let OpenSpan { started_at, until } = *span;
                let row = ItemBuilder::at(keys::execution(&job.uid, attempt))
                    .text("claim_id", claim_id)
                    .number("claims", 1)
                    .set("lease_until", ticks(*held_until))
                    .maybe("attempt_due_at", own_due_at(attempt))
                    .set("started_at", ticks(started_at))
                    .set(OPEN_UNTIL, ticks(until))
                    .maybe(ENDING, ending.as_ref().map(|it| text(it.to_stored())))
                    .set("expires_at", expiry(until, self.history));
                let attempt = Attempt { due_at: until, ..attempt.as_ref().clone() }.to_end();
                let timer = retries::timer(&LongRetry { job: job.clone(), attempt });
                vec![Write::put(row).when(CLAIM), Write::put(timer)]
            }
            PingChange::Ends { attempt, ending } => vec![says(&job.uid, attempt, ending)],
        };
        let writes = [vec![noted], others].concat();
        let failed = self.table.write_all(MeteredCall::TakePing, writes).await?;
        Ok(match failed.as_deref() {
            None => PingTaken::Kept,
            Some([true, ..]) => PingTaken::Stale,
            Some(_) => PingTaken::Over,
        })
    }
}

impl DynamoStore {
    /// What a job owes, from its timer alone, unless its line needs the document. Of a job that owes nothing, or
    /// whose line and document do not belong together, as it is now.
    async fn owing(
        &self,
        job: &JobRef,
        freshness: PingFreshness,
    ) -> Result<Option<PingOwing>, StoreError> {
        let mut seen = None;
        for consistency in as_fresh_as(freshness) {
            seen = self.owing_as(job, *consistency).await?;
            if seen.as_ref().is_some_and(|it| it.schedule().is_some()) {
                break;
            }
        }
        Ok(seen)
    }

    async fn owing_as(
        &self,
        job: &JobRef,
        consistency: Consistency,
    ) -> Result<Option<PingOwing>, StoreError> {
        let Some(timer) = self.table.read(CALL, consistency, keys::timer(&job.uid)).await? else {
            return Ok(None);
        };
        let reader = Reader::new(&timer);
        let TimerRecord { state, timing, timetable, .. } = jobs::read_timer(&reader)?;
        let document = match &timetable {
            Some(line) if Schedule::needs_document(line) => {
                let at = keys::job_of_key(&job.collection_uid, &job.key);
                let Some(definition) = self.table.read(CALL, consistency, at).await? else {
                    return Ok(None);
                };
                Reader::new(&definition).text("document")?.to_owned()
            }
            Some(_) | None => String::new(),
        };
        let expires_at = jobs::read_expiry(&reader)?;
        let generation = timing.generation;
        Ok(Some(PingOwing { state, generation, timetable, document, expires_at }))
    }
}

/// How what decides about a ping is read: at half the price first, if that may be old.
const fn as_fresh_as(freshness: PingFreshness) -> &'static [Consistency] {
    match freshness {
        PingFreshness::AMomentAgo => &[Consistency::Eventual, Consistency::Strong],
        PingFreshness::Now => &[Consistency::Strong],
    }
}

/// The item by which a key finds its job.
fn found_by(key: &PingKey, job: &JobRef, (book_number, book): (u64, &str)) -> Write {
    let item = ItemBuilder::at(keys::ping(&key.hash))
        .text(UID, &job.uid)
        .text("collection_uid", &job.collection_uid)
        .text("job_key", &job.key)
        .number(NUMBER, book_number)
        .text(BOOK, book);
    Write::put(item)
}

fn read_found(item: &Item) -> Result<PingRead, StoreError> {
    let reader = Reader::new(item);
    let job = JobRef {
        uid: reader.text(UID)?.to_owned(),
        collection_uid: reader.text("collection_uid")?.to_owned(),
        key: reader.text("job_key")?.to_owned(),
    };
    let (number, book) = (reader.number(NUMBER)?, reader.text(BOOK)?.to_owned());
    Ok(PingRead { job, number, book, owing: None })
}
