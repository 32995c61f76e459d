//! Jobs: a definition, and a timer that changes when the job fires.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::earlier_timing::EarlierTiming;
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::missed::Latest;
use minutehand_domain::name::Name;
use minutehand_domain::recent::{LastSkip, Recent};
use minutehand_domain::timing::Timing;
use minutehand_ports::store::{
    AskedRun, CollectionRecord, JobRecord, Page, PageRequest, Recount, SaveJob, Saved, TimerRecord,
};
use minutehand_ports::{Browse, Jobs, StoreError};

use crate::journal;
use crate::script::{Row, ScriptOutcome, Statement, Value};
use crate::sql::{jobs as sql, pings};
use crate::store::{SqlStore, changes, changing, rest, rows_of};
use crate::value::{Columns, id, params, second};

/// Behind everything that begins with a prefix.
const LAST_CHARACTER: char = char::MAX;

#[async_trait]
impl Jobs for SqlStore {
    async fn keep_asked(
        &self,
        job_uid: &str,
        asked: &AskedRun,
        instead_of: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<Option<AskedRun>, StoreError> {
        let AskedRun { key, generation, asked_at, run_id, asked_by, expires_at } = asked;
        let keep = params![
            id(job_uid),
            key.as_str(),
            *generation,
            *asked_at,
            run_id.as_str(),
            second(*expires_at),
            second(now),
            instead_of.unwrap_or(run_id),
            asked_by.as_deref(),
        ];
        let script = rest(job_uid, vec![changes(sql::KEEP_ASKED, keep)]);
        let script = script.or_read(sql::ASKED, params![id(job_uid), key.as_str()]);
        let Some(found) = self.unmet(script).await? else { return Ok(None) };
        let Some(other) = found.into_iter().next() else {
            return Err(StoreError::Throttled("the row of a run is gone".into()));
        };
        let mut row = Columns::after_id("asked", other)?;
        Ok(Some(AskedRun {
            key: key.clone(),
            generation: row.next()?,
            asked_at: row.next()?,
            run_id: row.next()?,
            expires_at: row.next()?,
            asked_by: row.next()?,
        }))
    }

    async fn note(&self, collection_uid: &str, entry: &JournalEntry) -> Result<(), StoreError> {
        let add = journal::add(collection_uid, entry);
        self.perform(rest(collection_uid, vec![add])).await.map(drop)
    }

    async fn find(
        &self,
        collection_uid: &str,
        name: &Name,
    ) -> Result<Option<JobRecord>, StoreError> {
        let found = self.read_one(sql::JOB, params![id(collection_uid), name.key()]).await?;
        found.map(|row| read(&mut Columns::new("jobs", row))).transpose()
    }

    async fn list(
        &self,
        collection_uid: &str,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Page<JobRecord>, StoreError> {
        Browse::jobs(self, collection_uid, "", now, page).await
    }

    async fn create(
        &self,
        save: SaveJob<'_>,
        jobs_max: Option<u32>,
        now: DateTime<Utc>,
    ) -> Result<Saved, StoreError> {
        let SaveJob { collection, job, entry, .. } = save;
        let uid = &collection.collection.uid;
        let named = || params![id(uid), job.name.key(), second(now)];
        let max = jobs_max.unwrap_or(u32::MAX);
        let mut statements = vec![
            // If the plan or the quota changed since it was read, `jobs_max` is another number.
            changes(sql::COUNT_ONE, params![id(uid), collection.version, max]),
            Statement::new(pings::FORGET_EXPIRED_KEY, named()),
            Statement::new(sql::FORGET_TIMER, named()),
            Statement::new(sql::FORGET_JOB, named()),
            changes(sql::CREATE_JOB, definition(uid, job)),
            changes(sql::CREATE_TIMER, timer(uid, job)),
        ];
        statements.extend(entry.map(|entry| journal::add(uid, entry)));
        let script = rest(uid, statements).or_read(sql::STANDING, named());
        let standing = match self.perform(script).await? {
            ScriptOutcome::Done(_) => return Ok(Saved::Kept),
            // Something else changed: the caller reads again.
            ScriptOutcome::Unmet { statement: 1.., .. } => return Ok(Saved::Stale),
            ScriptOutcome::Unmet { otherwise, .. } => otherwise.into_iter().next(),
        };
        let Some(standing) = standing else { return Ok(Saved::Stale) };
        let mut standing = Columns::after_id("collections", standing)?;
        let (version, count): (u64, u32) = (standing.next()?, standing.next()?);
        let exists: bool = standing.next()?;
        let is_full = jobs_max.is_some_and(|max| count >= max);
        let is_full = !exists && version == collection.version && is_full;
        Ok(if is_full { Saved::Full } else { Saved::Stale })
    }

    async fn count(
        &self,
        collection: &CollectionRecord,
        now: DateTime<Utc>,
    ) -> Result<Option<Recount>, StoreError> {
        let parameters = params![id(&collection.collection.uid), second(now)];
        let Some(row) = self.read_one(sql::COUNTS, parameters).await? else { return Ok(None) };
        let mut row = Columns::after_id("collections", row)?;
        Ok(Some(Recount { as_read: row.next()?, creations: row.next()?, jobs: row.next()? }))
    }

    async fn correct_count(
        &self,
        collection: &CollectionRecord,
        Recount { as_read, creations, jobs }: Recount,
    ) -> Result<Saved, StoreError> {
        let uid = &collection.collection.uid;
        let correct = changes(sql::CORRECT_COUNT, params![id(uid), jobs, as_read, creations]);
        self.saves(rest(uid, vec![correct])).await
    }

    async fn replace(
        &self,
        SaveJob { collection, job, timer_changes, entry }: SaveJob<'_>,
    ) -> Result<Saved, StoreError> {
        let uid = &collection.collection.uid;
        let parameters = params![
            ..as_read(uid, job),
            job.name.as_str(),
            job.document.as_str(),
            job.sealed.as_deref(),
            job.expires_at.map(second),
            lines(&job.earlier),
        ];
        let timer = if timer_changes { replace_timing(job) } else { replace_line(job) };
        let mut statements = vec![changes(sql::REPLACE_JOB, parameters), timer];
        statements.extend(entry.map(|entry| journal::add(uid, entry)));
        self.saves(changing(rest(uid, statements), &job.uid)).await
    }

    async fn delete(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let uid = &collection.collection.uid;
        let mut statements = vec![
            changes(sql::COUNT_OFF, params![id(uid)]),
            changes(sql::DELETE_JOB, as_read(uid, job)),
            Statement::new(sql::DELETE_TIMER, params![id(&job.uid)]),
            Statement::new(pings::FORGET_PING_KEY, params![id(&job.uid)]),
        ];
        statements.extend(entry.map(|entry| journal::add(uid, entry)));
        self.saves(changing(rest(uid, statements), &job.uid)).await
    }
}

impl SqlStore {
    /// A page of the jobs that have not expired and whose names begin with a prefix, as rows, and one more.
    pub(crate) async fn job_rows(
        &self,
        collection_uid: &str,
        prefix: &str,
        now: DateTime<Utc>,
        page: PageRequest,
    ) -> Result<Vec<Row>, StoreError> {
        self.read(sql::JOBS, beginning(collection_uid, prefix, now, page)).await
    }
}

/// A page of the jobs that have not expired and whose names begin with a prefix, and one more.
pub(crate) fn beginning(
    collection_uid: &str,
    prefix: &str,
    now: DateTime<Utc>,
    PageRequest { from, items_max }: PageRequest,
) -> Vec<Value> {
    let first = prefix.to_ascii_lowercase();
    let end = format!("{first}{LAST_CHARACTER}");
    params![
        id(collection_uid),
        from.unwrap_or_default(),
        first,
        end,
        second(now),
        rows_of(items_max)
    ]
}

/// The definition of a job as it was read.
fn as_read(collection_uid: &str, job: &JobRecord) -> Vec<Value> {
    params![id(collection_uid), job.name.key(), id(&job.uid), job.version]
}

pub(crate) fn definition(collection_uid: &str, job: &JobRecord) -> Vec<Value> {
    params![
        id(collection_uid),
        job.name.key(),
        id(&job.uid),
        job.name.as_str(),
        job.document.as_str(),
        job.sealed.as_deref(),
        job.version,
        job.expires_at.map(second),
        lines(&job.earlier),
    ]
}

pub(crate) fn timer(collection_uid: &str, job: &JobRecord) -> Vec<Value> {
    let TimerRecord { state, timing, timetable, counters, due_at, is_spent } = &job.timer;
    params![
        id(&job.uid),
        id(collection_uid),
        job.name.key(),
        state.name(),
        timing.generation,
        timing.anchor,
        timing.since,
        timing.used,
        timetable.as_deref(),
        *due_at,
        *is_spent,
        counters.executions,
        counters.failures,
        counters.faulted,
        counters.skipped,
        counters.last_execution_at,
        counters.recent.to_bytes(),
        counters.last_skip.map(LastSkip::to_bytes),
        counters.latest.map(Latest::to_bytes),
    ]
}

fn replace_timing(job: &JobRecord) -> Statement {
    let TimerRecord { state, timing, timetable, due_at, is_spent, .. } = &job.timer;
    let parameters = params![
        id(&job.uid),
        timing.generation.saturating_sub(1),
        state.name(),
        timing.generation,
        timing.anchor,
        timing.since,
        timing.used,
        timetable.as_deref(),
        *due_at,
        *is_spent,
    ];
    changes(sql::REPLACE_TIMING, parameters)
}

fn replace_line(job: &JobRecord) -> Statement {
    changes(sql::REPLACE_LINE, params![id(&job.uid), job.timer.timetable.as_deref()])
}

/// Earlier timings, each with an end of line behind it.
pub(crate) fn lines(timings: &[EarlierTiming]) -> Option<String> {
    let lines: Vec<String> = timings.iter().map(ToString::to_string).collect();
    (!lines.is_empty()).then(|| lines.join("\n") + "\n")
}

/// The position of a job in a list: the last column of its row.
pub(crate) fn position(row: &[Value]) -> String {
    if let [.., Value::Text(name_key)] = row { name_key.clone() } else { String::new() }
}

/// Reads the columns of a job: its id, its definition, its timer.
pub(crate) fn read(row: &mut Columns) -> Result<JobRecord, StoreError> {
    let uid = row.id()?;
    let name = row.named("name", |text| Name::new(text).ok())?;
    let (document, sealed) = (row.next()?, row.next()?);
    let (version, expires_at) = (row.next()?, row.next()?);
    let earlier: Option<String> = row.next()?;
    let earlier: Result<_, _> =
        earlier.unwrap_or_default().lines().map(str::parse::<EarlierTiming>).collect();
    let earlier = earlier.map_err(|_| row.corrupt("its earlier timings are damaged"))?;
    let timer = read_timer(row)?;
    Ok(JobRecord { uid, name, document, sealed, version, expires_at, earlier, timer })
}

fn read_timer(row: &mut Columns) -> Result<TimerRecord, StoreError> {
    let state = row.named("state", JobState::read_name)?;
    let timing = Timing {
        generation: row.next()?,
        anchor: row.next()?,
        since: row.next()?,
        used: row.next()?,
    };
    let (timetable, due_at, is_spent) = (row.next()?, row.next()?, row.next()?);
    let counters = JobCounters {
        executions: row.next()?,
        failures: row.next()?,
        faulted: row.next()?,
        skipped: row.next()?,
        last_execution_at: row.next()?,
        recent: Recent::from_bytes(&row.next::<Vec<u8>>()?)
            .ok_or_else(|| row.corrupt("its results are damaged"))?,
        last_skip: row.next::<Option<Vec<u8>>>()?.and_then(|bytes| LastSkip::from_bytes(&bytes)),
        latest: row.next::<Option<Vec<u8>>>()?.and_then(|bytes| Latest::from_bytes(&bytes)),
    };
    Ok(TimerRecord { state, timing, timetable, counters, due_at, is_spent })
}
