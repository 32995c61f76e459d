//! Pings of the store in memory, the signs of those who take them, and the counts of quarters.

use minutehand_domain::quarter::{Quarter, QuarterCounts, spread};
use minutehand_ports::store::{
    CountedQuarters, PingChange, PingFreshness, PingKey, PingRead, PingTaken, PingWrite, SignsRead,
};
use minutehand_ports::{ApiSigns, Pings};

use super::open::{NO_PROCESS, OpenPart, deadline_timer};
use super::*;

/// The key of a job, and the book of its pings.
#[derive(Debug, Clone)]
pub(in super::super) struct PingItem {
    job: JobRef,
    key: PingKey,
    number: u64,
    book: String,
}

#[async_trait]
impl Pings for Memory {
    async fn ping_key(&self, job_uid: &str) -> Result<Option<PingKey>, StoreError> {
        Ok(self.tables().pings.get(job_uid).map(|item| item.key.clone()))
    }

    async fn set_ping_key(
        &self,
        job: &JobRef,
        key: &PingKey,
        instead_of: Option<&str>,
    ) -> Result<bool, StoreError> {
        let mut tables = self.tables();
        let stored = tables.pings.get_mut(&job.uid);
        match (stored, instead_of) {
            (None, None) => {
                let (job, key) = (job.clone(), key.clone());
                let item = PingItem { job, key, number: 0, book: String::new() };
                tables.pings.insert(item.job.uid.clone(), item);
            }
            (Some(item), Some(before)) if item.key.hash == before => item.key = key.clone(),
            (None, Some(_)) | (Some(_), _) => return Ok(false),
        }
        Ok(true)
    }

    async fn find_ping(
        &self,
        hash: &str,
        _: PingFreshness,
    ) -> Result<Option<PingRead>, StoreError> {
        let tables = self.tables();
        let found = tables.pings.values().find(|item| {
            let name = (item.job.collection_uid.clone(), item.job.key.clone());
            item.key.hash == hash && tables.jobs.get(&name).is_some_and(|it| it.uid == item.job.uid)
        });
        Ok(found.map(|PingItem { job, number, book, .. }| PingRead {
            job: job.clone(),
            number: *number,
            book: book.clone(),
            owing: None,
        }))
    }

    async fn take_ping(&self, write: &PingWrite) -> Result<PingTaken, StoreError> {
        let PingWrite { hash, job, as_read, book, change } = write;
        let mut tables = self.tables();
        let is_it = |item: &&PingItem| {
            let is_as_read = item.number == *as_read || self.is(Mutation::BookHasNoCondition);
            item.key.hash == *hash && is_as_read
        };
        if tables.pings.values().find(is_it).is_none() {
            return Ok(PingTaken::Stale);
        }
        let is_left_out = match change {
            PingChange::Opens { attempt, .. } => {
                let (nominal_at, generation, ..) = attempt_key(attempt);
                let row = left_out_key(nominal_at, generation, LeftOutReason::NotWatched);
                tables.left_out.get(&job.uid).is_some_and(|rows| rows.contains_key(&row))
            }
            PingChange::Ends { .. } | PingChange::Nothing => false,
        };
        let of_job = tables.executions.entry(job.uid.clone()).or_default();
        match change {
            PingChange::Opens { attempt, claim_id, span, held_until, ending } => {
                let key = attempt_key(attempt);
                let is_free = of_job.get(&key).is_none_or(|item| {
                    let is_held = item.record.is_none() && item.open.span.is_none();
                    is_held && self.is(Mutation::PingOverClaim)
                });
                if !is_free || is_left_out {
                    return Ok(PingTaken::Over);
                }
                if !self.is(Mutation::PingOnlyNoted) {
                    let ending = ending.as_ref().map(|it| Ending { at: tick(it.at), ..it.clone() });
                    let open = OpenPart::opened((tick(span.started_at), tick(span.until)), ending);
                    of_job.insert(
                        key.clone(),
                        ExecutionItem {
                            attempt: plain(attempt),
                            claim_id: claim_id.clone(),
                            lease_until: tick(*held_until),
                            claims: 1,
                            process: NO_PROCESS,
                            open,
                            record: None,
                        },
                    );
                    if !self.is(Mutation::DeadlineIsLost) {
                        let key = (job.uid.clone(), key);
                        tables
                            .retries
                            .insert(key.clone(), deadline_timer(job, attempt, span.until));
                        self.show_retry(&mut tables, &key);
                    }
                }
            }
            PingChange::Ends { attempt, ending } => {
                let Some(item) = of_job.get_mut(&attempt_key(attempt)) else {
                    return Ok(PingTaken::Over);
                };
                if !item.may_be_said(ending, self.mutation) {
                    return Ok(PingTaken::Over);
                }
                item.open.ending = Some(Ending { at: tick(ending.at), ..ending.clone() });
            }
            PingChange::Nothing => {}
        }
        if let Some(item) = tables.pings.get_mut(&job.uid) {
            item.number += 1;
            item.book.clone_from(book);
        }
        Ok(PingTaken::Kept)
    }
}

/// What a key and a record have of an attempt.
fn plain(attempt: &Attempt) -> Attempt {
    Attempt {
        sent_late_at: None,
        under_policy: false,
        takes_turn: false,
        waited: None,
        is_alert: false,
        is_long: false,
        ..attempt.clone()
    }
}

#[async_trait]
impl ApiSigns for Memory {
    async fn read_signs(&self) -> Result<SignsRead, StoreError> {
        Ok(self.tables().signs.clone())
    }

    async fn write_signs(&self, as_read: u64, state: &str) -> Result<bool, StoreError> {
        let signs = &mut self.tables().signs;
        let is_as_read = signs.number == as_read;
        if is_as_read {
            *signs = SignsRead { number: as_read + 1, state: state.to_owned() };
        }
        Ok(is_as_read)
    }
}

impl Memory {
    /// Counts the occurrences of an update in their quarters.
    pub(super) fn count_quarters(&self, tables: &mut Tables, update: &CounterUpdate) {
        let Some(item) = tables.timers.get(&update.job_uid) else { return };
        let of = item.collection_uid.clone();
        for (quarter, counts) in update.quarters() {
            let ended_at = update.counted.first().and_then(|it| it.ended_at);
            let is_mistaken = self.is(Mutation::QuarterOfEnd);
            let quarter = ended_at.filter(|_| is_mistaken).map_or(quarter, Quarter::of);
            *tables.quarters.entry((of.clone(), quarter)).or_default() += counts;
        }
    }

    /// Counts what a sweeper has left out in its quarters.
    pub(super) fn count_left_out(tables: &mut Tables, job_uid: &str, left_out: &[LeftOut]) {
        let Some(item) = tables.timers.get(job_uid) else { return };
        let of = item.collection_uid.clone();
        for it in left_out {
            for (quarter, skipped) in spread([it.first, it.last], it.occurrences) {
                let counts = QuarterCounts { skipped, ..QuarterCounts::default() };
                *tables.quarters.entry((of.clone(), quarter)).or_default() += counts;
            }
        }
    }

    /// The counts of a collection in the quarters that begin in a time.
    pub(in super::super) fn read_quarters(
        &self,
        collection_uid: &str,
        [from, until]: [DateTime<Utc>; 2],
    ) -> CountedQuarters {
        let tables = self.tables();
        let found = tables.quarters.iter().filter(|((of, quarter), _)| {
            of == collection_uid && (from..until).contains(&quarter.start())
        });
        CountedQuarters::Counted(found.map(|((_, quarter), it)| (*quarter, *it)).collect())
    }

    /// Removes the counts that are no longer kept.
    pub(in super::super) fn expire_quarters(tables: &mut Tables, now: DateTime<Utc>) {
        tables.quarters.retain(|(_, quarter), _| quarter.kept_until() > now);
    }
}

/// The quarters of collections.
pub(in super::super) type Quarters = BTreeMap<(String, Quarter), QuarterCounts>;
