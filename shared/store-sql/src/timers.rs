//! Timers: which are due, and when they are due next.
//!
//! Three kinds of rows are due: the timer of a job, the timer of a retry that is too far in the future for a
//! message, and a deleted collection whose jobs are to be removed. Every change has as its condition what
//! was seen: a timer that has moved or is gone stays as it is.
//!
//! A crash leaves a timer where it was or where it moved to. The next sweep finds it again. A message that
//! it then sends a second time is recognised by its attempt.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::attempt_key::{attempt_key, read_attempt};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::firing::Waited;
use minutehand_domain::ids::{hex, unhex};
use minutehand_domain::job::JobState;
use minutehand_domain::recent::LastSkip;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Advance, Due, DueTimer, Finish, JobTimer, LongRetry, Page, PageRequest, Pause, TimerKey,
};
use minutehand_ports::{ErrorType, RetryTimers, StoreError, Timers};

use crate::attempts::leave_out;
use crate::changed::hash;
use crate::jobs::lines;
use crate::journal;
use crate::script::{Need, Row, Script, ScriptOutcome, Statement, Value};
use crate::sql::jobs as sql;
use crate::store::{SqlStore, changes, changing, page_of, record, rest, rows_of};
use crate::value::{Columns, id, params, second};

/// One index of timers: one database holds all of them.
pub(crate) const SHARDS: u32 = 1;

/// Before the first timer of an instant.
const NO_KIND: i64 = -1;
const JOB: i64 = 0;
const RETRY: i64 = 1;
const PURGE: i64 = 2;

#[async_trait]
impl Timers for SqlStore {
    fn shards(&self) -> u32 {
        SHARDS
    }

    async fn due(
        &self,
        _shard: u32,
        until: DateTime<Utc>,
        PageRequest { from, items_max }: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        let behind = match from {
            None => params![i64::MIN, Vec::new(), NO_KIND, ""],
            Some(from) => read_position(&from).ok_or_else(StoreError::no_position)?,
        };
        let mut parameters = params![until];
        parameters.extend(params![..behind, rows_of(items_max)]);
        let rows = self.read(sql::DUE, parameters).await?;
        let found = rows.into_iter().map(|row| {
            let position = write_position(&row);
            (position, readable(row))
        });
        let page = page_of(found.collect(), items_max, |(position, _)| position.clone());
        let items = page.items.into_iter().filter_map(|(_, due)| due).collect();
        Ok(Page { items, next: page.next })
    }

    async fn advance(&self, advances: &[Advance]) -> Vec<Result<bool, StoreError>> {
        let scripts = advances.iter().map(|advance| self.moved(advance)).collect();
        let answers = self.database().perform_all(scripts).await.into_iter();
        answers.map(|answer| Ok(matches!(answer?, ScriptOutcome::Done(_)))).collect()
    }

    async fn collection_path(
        &self,
        collection_uid: &str,
    ) -> Result<Option<CollectionPlace>, StoreError> {
        let row = self.read_one(sql::COLLECTION_PATH, params![id(collection_uid)]).await?;
        let path =
            |row| Columns::after_id("collections", row)?.named("path", CollectionPlace::read);
        row.map(path).transpose()
    }

    async fn expire_definition(&self, finish: &Finish) -> Result<bool, StoreError> {
        let [expire, _] = finishing(finish);
        self.does(record(&finish.job.collection_uid, vec![expire])).await
    }

    async fn finish(&self, finish: &Finish) -> Result<bool, StoreError> {
        let Finish { job, version, generation, state, expires_at } = finish;
        let [_, end] = finishing(finish);
        let statements =
            vec![Statement::new(sql::HAS_VERSION, as_read(job, *version)).needs(Need::Row), end];
        let script = changing(record(&job.collection_uid, statements), &job.uid);
        let finished = params![..job_row(job), *generation, state.name(), second(*expires_at)];
        let found = self.unmet(script.or_read(sql::IS_FINISHED, finished)).await?;
        Ok(found.is_none_or(|found| !found.is_empty()))
    }

    async fn pause(&self, pause: &Pause) -> Result<bool, StoreError> {
        let Pause { job, version, timing, document, ended, entry } = pause;
        let ended = lines(std::slice::from_ref(ended));
        let parameters = params![..as_read(job, *version), document.as_str(), ended];
        let before = timing.generation.saturating_sub(1);
        let timer = params![id(&job.uid), before, timing.generation, timing.since, timing.used];
        let statements = vec![
            changes(sql::PAUSE_JOB, parameters),
            changes(sql::PAUSE_TIMER, timer),
            journal::add(&job.collection_uid, entry),
        ];
        self.does(changing(record(&job.collection_uid, statements), &job.uid)).await
    }
}

#[async_trait]
impl RetryTimers for SqlStore {
    async fn keep(&self, LongRetry { job, attempt }: &LongRetry) -> Result<(), StoreError> {
        let keep = Statement::new(sql::KEEP_RETRY, retry_row(job, attempt));
        self.perform(record(&job.collection_uid, vec![keep])).await.map(drop)
    }

    async fn remove(&self, LongRetry { job, attempt }: &LongRetry) -> Result<(), StoreError> {
        let remove = Statement::new(sql::REMOVE_RETRY, params![id(&job.uid), attempt_key(attempt)]);
        self.perform(record(&job.collection_uid, vec![remove])).await.map(drop)
    }

    async fn list(&self, job_uid: &str, max: u32) -> Result<Vec<Attempt>, StoreError> {
        let rows = self.read(sql::RETRIES, params![id(job_uid), max]).await?;
        let read = |row: Row| {
            let mut row = Columns::after_id("retries", row)?;
            let (key, due_at, policy) = (row.next::<String>()?, row.next()?, row.next()?);
            let retry = read_retry(&key, due_at, (policy, row.next()?));
            retry.ok_or_else(|| row.corrupt("it is not an attempt"))
        };
        rows.into_iter().map(read).collect()
    }
}

impl SqlStore {
    /// Moves a timer. What its plan left out is recorded with the move.
    fn moved(&self, advance: &Advance) -> Script {
        let mut statements = self.count_left_out(advance);
        statements.push(move_timer(advance).needs(Need::Change));
        statements.extend(self.left_out_by(advance));
        let script = rest("", statements);
        Script { changed: changed_by(advance).into_iter().collect(), ..script }
    }

    /// Moves timers, each or not, and records what their plans left out whether or not they move: it is
    /// recorded as the same again. The first statements are the moves, which return a row each. What is left out is
    /// counted before them.
    pub(crate) fn moving(&self, moves: &[Advance]) -> (Vec<Statement>, Vec<u32>) {
        let left_out = moves.iter().flat_map(|advance| self.left_out_by(advance));
        let statements = moves.iter().map(move_timer).chain(left_out).collect();
        (statements, moves.iter().filter_map(changed_by).collect())
    }

    fn left_out_by(&self, Advance { timer, .. }: &Advance) -> Vec<Statement> {
        let TimerKey::Job { job_uid, left_out, .. } = timer else { return Vec::new() };
        left_out.iter().map(|it| leave_out(job_uid, it, self.history)).collect()
    }
}

/// What finishes a job: its definition expires, and its timer leaves the index.
pub(crate) fn finishing(finish: &Finish) -> [Statement; 2] {
    let Finish { job, version, generation, state, expires_at } = finish;
    let expire = params![..as_read(job, *version), second(*expires_at)];
    let end = params![id(&job.uid), *generation, state.name()];
    [changes(sql::EXPIRE_JOB, expire), changes(sql::FINISH, end)]
}

fn move_timer(Advance { timer, from, to, .. }: &Advance) -> Statement {
    match timer {
        TimerKey::Job { job_uid, generation, state, is_spent, left_out } => {
            let overtaken: u64 = left_out.iter().map(|it| it.occurrences).sum();
            let skip = left_out.last().map(LastSkip::from);
            let parameters = params![
                id(job_uid),
                *from,
                *to,
                *is_spent,
                overtaken,
                skip.map(LastSkip::to_bytes),
                *generation,
                state.name(),
            ];
            Statement::new(sql::MOVE_TIMER, parameters)
        }
        TimerKey::Retry { job_uid, attempt } => {
            let parameters = params![id(job_uid), *from, *to, attempt_key(attempt)];
            Statement::new(sql::MOVE_RETRY, parameters)
        }
        TimerKey::Purge { collection_uid } => {
            Statement::new(sql::MOVE_PURGE, params![id(collection_uid), *from, *to])
        }
    }
}

/// The job whose starts read something else after a move: nothing but whether everything is dispatched.
fn changed_by(Advance { timer, .. }: &Advance) -> Option<u32> {
    match timer {
        TimerKey::Job { job_uid, is_spent: true, .. } => Some(hash(job_uid)),
        _ => None,
    }
}

/// What finds the definition of a job.
pub(crate) fn job_row(job: &JobRef) -> Vec<Value> {
    params![id(&job.collection_uid), job.key.as_str(), id(&job.uid)]
}

/// The definition of a job in the version that was read.
fn as_read(job: &JobRef, version: u64) -> Vec<Value> {
    params![..job_row(job), version]
}

/// Reads a timer that is due. If it cannot be read, each pass logs that, and the timers behind it go
/// on.
fn readable(row: Row) -> Option<Due> {
    let due = read_due(row).inspect_err(|error| {
        let error_type = ErrorType::TimerUnreadable;
        tracing::error!(%error_type, %error, "a timer cannot be read, and does not fire");
    });
    due.ok()
}

fn read_due(row: Row) -> Result<Due, StoreError> {
    let mut row = Columns::new("timers", row);
    let (uid, kind, key) = (row.id()?, row.next::<i64>()?, row.next::<String>()?);
    let (due_at, collection_uid) = (row.next()?, row.id()?);
    let job = JobRef { uid, collection_uid, key: row.next()? };
    let what = match kind {
        JOB => DueTimer::Job(JobTimer {
            job,
            state: row.named("state", JobState::read_name)?,
            generation: row.next()?,
            // Without a timetable nothing can be planned. A job that has finished needs none.
            timetable: row.next::<Option<String>>()?.unwrap_or_default(),
            is_spent: row.next()?,
        }),
        RETRY => {
            // The column of the state has the caller.
            let asked_by = Some(row.next::<String>()?).filter(|caller| !caller.is_empty());
            let _: (i64, String) = (row.next()?, row.next()?);
            let (policy, due_at) = (row.next()?, row.next()?);
            let attempt = read_retry(&key, due_at, (policy, asked_by));
            DueTimer::Retry {
                job,
                attempt: attempt.ok_or_else(|| row.corrupt("it is not an attempt"))?,
            }
        }
        PURGE => DueTimer::Purge { collection_uid: job.collection_uid },
        _ => return Err(row.corrupt("it is of no kind")),
    };
    Ok(Due { due_at, what })
}

/// The position of a timer: its instant, its id, its kind and, of a retry, its attempt.
fn write_position(row: &[Value]) -> String {
    match row {
        [
            Value::Bytes(uid),
            Value::Integer(kind),
            Value::Text(attempt),
            Value::Integer(due_at),
            ..,
        ] => {
            format!("{due_at} {} {kind} {attempt}", hex(uid))
        }
        _ => String::new(),
    }
}

/// Clients send positions, so anything may come. None leads out of the index.
fn read_position(text: &str) -> Option<Vec<Value>> {
    let mut parts = text.splitn(4, ' ');
    let due_at: i64 = parts.next()?.parse().ok()?;
    let uid = unhex(parts.next()?)?;
    let kind: i64 = parts.next()?.parse().ok()?;
    Some(params![due_at, uid, kind, parts.next()?])
}

/// The row of the timer of a retry, or of the deadline of an open attempt.
pub(crate) fn retry_row(job: &JobRef, attempt: &Attempt) -> Vec<Value> {
    params![
        id(&job.uid),
        attempt_key(attempt),
        id(&job.collection_uid),
        job.key.as_str(),
        attempt.due_at,
        policy(attempt),
        attempt.asked_by.as_deref(),
    ]
}

/// What the timer of a deadline has in place of that: an earlier version reads policies.
const COMPLETION: u32 = 3;

/// Whether the job of a retry has policies, and takes turns; or that it is the timer of a deadline.
const fn policy(attempt: &Attempt) -> u32 {
    if matches!(attempt.waited, Some(Waited::Completion)) {
        return COMPLETION;
    }
    match (attempt.takes_turn, attempt.under_policy) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    }
}

pub(crate) fn read_retry(
    key: &str,
    due_at: DateTime<Utc>,
    (policy, asked_by): (u32, Option<String>),
) -> Option<Attempt> {
    let attempt = read_attempt(key, Some(due_at))?;
    let (under_policy, takes_turn) = (matches!(policy, 1 | 2), policy == 2);
    let waited = (policy == COMPLETION).then_some(Waited::Completion);
    Some(Attempt { is_long: true, under_policy, takes_turn, waited, asked_by, ..attempt })
}

#[cfg(test)]
mod tests {
    use super::*;

    use minutehand_domain::tick::ticks;

    #[test]
    fn positions_read_back_and_nothing_else_does() {
        let row = params![vec![1_u8, 255], RETRY, "8000.a b", ticks(DateTime::UNIX_EPOCH)];
        let position = write_position(&row);
        let read = read_position(&position).unwrap();
        assert_eq!(read, params![0_i64, vec![1_u8, 255], RETRY, "8000.a b"]);
        for made_up in ["", "0", "0 ff", "0 zz 1 ", "x ff 1 ", "0 ff 1"] {
            assert_eq!(read_position(made_up), None, "{made_up}");
        }
    }
}
