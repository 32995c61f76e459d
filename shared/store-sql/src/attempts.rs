//! Attempts: a row is a claim, and becomes an entry of the history when the attempt ends.
//!
//! The worker that claims an attempt inserts its row, with a lease. After a crash the row stays like
//! that; when the lease is over, another claim takes its place. A record closes the row for ever. A
//! worker that records with a claim that it has lost is told so, and nothing is stored.
//!
//! | step | condition | a crash after it leaves |
//! |---|---|---|
//! | claim | there is no row, or its lease is over, or it waits and may go on, or its process has ended | a claim that another worker takes over when its lease is over |
//! | release | the claim is the caller's, and has not ended | nothing |
//! | postpone | the same | an attempt that waits for its slot or a seat: a claim that does not count, and that gives way to who has waited |
//! | record | the same | the record, from which every later step can be repeated |
//!
//! Claims that led to nothing are counted. The last claim that is allowed is not for acting, but for
//! recording that the earlier workers died. It stays so when it is taken over in turn.

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{
    Attempt, MESSAGE_BYTES_MAX, Occurrence, Outcome, Record, Role, Then,
};
use minutehand_domain::cause::Cause;
use minutehand_domain::completion::Ending;
use minutehand_domain::failed_occurrence::{FailedOccurrence, FailureKey};
use minutehand_domain::firing::{LeftOut, LeftOutReason, Outage};
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::name::PathSegment;
use minutehand_ports::store::{
    CLAIMS_MAX, Claim, ClaimRequest, Claimed, HistoryEntry, OpenAttempt, OpenSpan, Recorded,
    Standing,
};
use minutehand_ports::{Attempts, StoreError};

use crate::database::{ANY_PROCESS, AnyDatabase, DatabaseError};
use crate::script::{Row, ScriptOutcome, Statement, Value};
use crate::sql::attempts as sql;
use crate::store::{SqlStore, changes, record, rest, start};
use crate::value::{Columns, id, params, second};

/// The process stood still for so long that what it had claimed was given to others.
#[derive(Debug, thiserror::Error)]
#[error("this process gave no sign of life for some seconds, and the others took its attempts")]
struct TakenForDead;

#[async_trait]
impl Attempts for SqlStore {
    async fn claim(
        &self,
        ClaimRequest { claim, now }: &ClaimRequest,
    ) -> Result<Claimed, StoreError> {
        let attempt = &claim.attempt;
        let own_due_at =
            (attempt.due_at != attempt.occurrence.nominal_at()).then_some(attempt.due_at);
        let parameters = params![
            ..self.held(claim),
            claim.lease_until,
            own_due_at,
            expiry(claim.lease_until, self.history),
            *now,
            attempt.waited.is_some(),
            CLAIMS_MAX,
            attempt.asked_by.as_deref(),
        ];
        let script = start(&claim.job.collection_uid, vec![changes(sql::CLAIM, parameters)]);
        let script = script.or_read(sql::ONE, key(&claim.job.uid, attempt));
        let seen = match self.perform(script).await? {
            ScriptOutcome::Done(rows) => {
                let claimed = rows.into_iter().flatten().next().unwrap_or_default();
                let claims: u32 = Columns::new("attempts", claimed).next()?;
                return Ok(if claims < CLAIMS_MAX { Claimed::Won } else { Claimed::Exhausted });
            }
            ScriptOutcome::Unmet { otherwise, .. } => Seen::first(otherwise)?,
        };
        let seen =
            seen.ok_or_else(|| StoreError::Throttled("the claim that was there is gone".into()))?;
        if let Some(record) = seen.record {
            return Ok(Claimed::Ended(record));
        }
        let lease_until = seen.lease_until.unwrap_or(DateTime::UNIX_EPOCH);
        let is_void = self.process != 0 && seen.process != self.process;
        let is_over = seen.ending.is_some() && (is_void || lease_until < *now);
        Ok(if seen.open_until.is_some() || is_over {
            Claimed::Open(Box::new(seen.open()))
        } else {
            Claimed::Held { left: lease_until - now }
        })
    }

    async fn may_act(&self, claim: &Claim) -> Result<(), StoreError> {
        let AnyDatabase::Postgres(database) = self.database() else { return Ok(()) };
        let may_be_lost = database.confirm().await.map_err(DatabaseError::from)?;
        if !may_be_lost {
            return Ok(());
        }
        let uid = &claim.job.collection_uid;
        let is_mine = self.read_now(uid, sql::IS_MINE, self.held(claim)).await?;
        is_mine.map(drop).ok_or_else(|| StoreError::Unavailable(Box::new(TakenForDead)))
    }

    async fn release(&self, claim: &Claim) -> Result<(), StoreError> {
        self.prefetched.take(&claim.claim_id);
        // What the caller no longer holds need not be given back.
        let release = Statement::new(sql::RELEASE, self.held(claim));
        self.perform(record(&claim.job.collection_uid, vec![release])).await.map(drop)
    }

    async fn postpone(
        &self,
        claim: &Claim,
        hold: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.prefetched.take(&claim.claim_id);
        let until = now + hold;
        let parameters = params![..self.held(claim), until, expiry(until, self.history)];
        let postpone = Statement::new(sql::POSTPONE, parameters);
        self.perform(record(&claim.job.collection_uid, vec![postpone])).await.map(drop)
    }

    async fn record(&self, claim: &Claim, ended: &Record) -> Result<Recorded, StoreError> {
        let mut parameters = self.held(claim);
        parameters.extend(self.record_values(ended));
        let script = record(&claim.job.collection_uid, vec![changes(sql::RECORD, parameters)]);
        let script = script.or_read(sql::ONE, key(&claim.job.uid, &claim.attempt));
        let Some(found) = self.unmet(script).await? else { return Ok(Recorded::Kept) };
        // A claim that is gone was given back, or expired long ago.
        let Some(seen) = Seen::first(found)? else { return Ok(Recorded::Lost) };
        Ok(match seen.record {
            Some(_) if (seen.process, &seen.claim_id) == (self.taker(), &claim.claim_id) => {
                Recorded::Kept
            }
            Some(record) => Recorded::Already(record),
            None => Recorded::Lost,
        })
    }

    async fn leave_out(&self, job_uid: &str, left_out: &LeftOut) -> Result<(), StoreError> {
        let statement = leave_out(job_uid, left_out, self.history);
        self.perform(record(job_uid, vec![statement])).await.map(drop)
    }

    async fn remove_failure(&self, failure: FailureKey<'_>) -> Result<(), StoreError> {
        let FailureKey { job_uid, collection_path, nominal_at, ended_at } = failure;
        let subscription = subscription_key(collection_path.subscription());
        let parameters = params![subscription, ended_at, nominal_at, id(job_uid)];
        let remove = Statement::new(sql::REMOVE_FAILURE, parameters);
        self.perform(rest(job_uid, vec![remove])).await.map(drop)
    }

    async fn add_failure(&self, failed: &FailedOccurrence) -> Result<(), StoreError> {
        let FailedOccurrence { job_uid, collection_path, nominal_at, ended_at, .. } = failed;
        let parameters = params![
            subscription_key(collection_path.subscription()),
            *ended_at,
            *nominal_at,
            id(job_uid),
            collection_path.as_str(),
            failed.job.as_str(),
            failed.is_run,
            failed.attempts,
            failed.message.as_str(),
            failed.target.as_deref(),
            failed.cause.as_ref().map(Cause::to_stored),
            failed.said.as_deref(),
            expiry(*ended_at, self.history),
        ];
        let add = Statement::new(sql::ADD_FAILURE, parameters);
        self.perform(rest(job_uid, vec![add])).await.map(drop)
    }
}

impl SqlStore {
    /// What tells the caller's claim from others: its row, its process and its id.
    pub(crate) fn held(&self, claim: &Claim) -> Vec<Value> {
        params![..key(&claim.job.uid, &claim.attempt), self.taker(), id(&claim.claim_id)]
    }

    /// The values of a record.
    pub(crate) fn record_values(&self, record: &Record) -> Vec<Value> {
        let (kept, _) =
            record.message.split_at(record.message.floor_char_boundary(MESSAGE_BYTES_MAX));
        let (what_next, next_at) = write_then(record.then);
        params![
            record.started_at,
            record.ended_at,
            record.outcome.name(),
            kept,
            record.repeat_count,
            record.body_bytes,
            what_next,
            next_at,
            expiry(record.ended_at, self.history),
            record.cause.as_ref().map(Cause::to_stored),
        ]
    }
}

/// A stored row: another worker's claim, or the caller's own if an answer was lost.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) attempt: Attempt,
    process: i64,
    pub(crate) claim_id: String,
    claims: u32,
    lease_until: Option<DateTime<Utc>>,
    /// Its deadline, if it is or was open.
    pub(crate) open_until: Option<DateTime<Utc>>,
    /// How it ended, if that was said.
    pub(crate) ending: Option<Ending>,
    progress: Option<String>,
    /// When it started, if it is open or has ended.
    started_at: Option<DateTime<Utc>>,
    pub(crate) record: Option<Record>,
}

impl Seen {
    /// Reads the first row of those of one attempt.
    pub(crate) fn first(rows: Vec<Row>) -> Result<Option<Self>, StoreError> {
        rows.into_iter().next().map(Self::read).transpose()
    }

    /// Reads the columns of the statements that read attempts.
    pub(crate) fn read(row: Row) -> Result<Self, StoreError> {
        let mut row = Columns::after_id("attempts", row)?;
        let nominal_at: DateTime<Utc> = row.next()?;
        let generation = row.next()?;
        let occurrence = row.named("occurrence", |text| match text.strip_prefix('r') {
            Some(run) => Some(Occurrence::Run { asked_at: nominal_at, run_id: run.to_owned() }),
            None => (text == "s").then_some(Occurrence::Scheduled { nominal_at }),
        })?;
        let role = row.next::<u32>()?;
        let role = ROLES.into_iter().find(|it| role_number(*it) == role);
        let role = role.ok_or_else(|| row.corrupt("its role is none"))?;
        let number = row.next()?;
        let due_at: Option<DateTime<Utc>> = row.next()?;
        let attempt = Attempt {
            role,
            number,
            due_at: due_at.unwrap_or(nominal_at),
            ..Attempt::first(generation, occurrence)
        };
        let (process, claim_id) = (row.next()?, row.id()?);
        let (claims, lease_until) = (row.next()?, row.next()?);
        let attempt = Attempt { asked_by: row.next()?, ..attempt };
        let open_until = row.next()?;
        let ending: Option<String> = row.next()?;
        let ending = ending
            .map(|text| Ending::read_stored(&text).ok_or_else(|| row.corrupt("its ending is none")))
            .transpose()?;
        let (progress, started_at) = (row.next()?, row.next()?);
        let record = read_record(row, started_at)?;
        Ok(Self {
            attempt,
            process,
            claim_id,
            claims,
            lease_until,
            open_until,
            ending,
            progress,
            started_at,
            record,
        })
    }

    /// The row of an open attempt.
    pub(crate) fn open(self) -> OpenAttempt {
        let Self { attempt, claim_id, open_until, ending, progress, started_at, .. } = self;
        let open = started_at.zip(open_until);
        let open = open.map(|(started_at, until)| OpenSpan { started_at, until });
        OpenAttempt { attempt, claim_id, open, ending, progress }
    }

    /// The attempt of a row that has not ended, and what it does. If there is one process alone, the claims of
    /// others are void.
    pub(crate) fn present(self, alone: i64, work_now: DateTime<Utc>) -> (Attempt, Standing) {
        if let (Some(started_at), Some(until)) = (self.started_at, self.open_until) {
            let span = OpenSpan { started_at, until };
            return (self.attempt, Standing::Open { span, progress: self.progress });
        }
        let is_void = alone != ANY_PROCESS && self.process != alone;
        let lease_until = self.lease_until.filter(|_| !is_void).unwrap_or(DateTime::UNIX_EPOCH);
        (self.attempt, Standing::of_claim(self.claims == 0, lease_until, work_now))
    }

    /// The row as the history shows it.
    pub(crate) fn entry(self) -> HistoryEntry {
        let waits = self.record.is_none() && self.claims == 0;
        HistoryEntry { attempt: self.attempt, record: self.record, waits }
    }
}

fn read_record(
    mut row: Columns,
    started_at: Option<DateTime<Utc>>,
) -> Result<Option<Record>, StoreError> {
    let ended_at: Option<_> = row.next()?;
    let (Some(started_at), Some(ended_at)) = (started_at, ended_at) else { return Ok(None) };
    let outcome = row.named("outcome", Outcome::read_name)?;
    let (message, repeat_count, body_bytes) = (row.next()?, row.next()?, row.next()?);
    let (what_next, next_at): (Option<String>, _) = (row.next()?, row.next()?);
    let then = what_next
        .map(|name| read_then(&name, next_at).ok_or_else(|| row.corrupt("its next step is none")));
    let then = then.transpose()?;
    let cause = read_cause(&mut row)?;
    Ok(Some(Record {
        started_at,
        ended_at,
        outcome,
        cause,
        message,
        repeat_count,
        body_bytes,
        then,
    }))
}

/// A stored cause; `None` for one of a later version, too.
pub(crate) fn read_cause(row: &mut Columns) -> Result<Option<Cause>, StoreError> {
    let stored: Option<String> = row.next()?;
    Ok(stored.as_deref().and_then(Cause::read_stored))
}

/// The row of an attempt.
pub(crate) fn key(job_uid: &str, attempt: &Attempt) -> Vec<Value> {
    let Attempt { generation, occurrence, role, number, .. } = attempt;
    let what = match occurrence {
        Occurrence::Scheduled { .. } => "s".to_owned(),
        Occurrence::Run { run_id, .. } => format!("r{run_id}"),
    };
    params![id(job_uid), occurrence.nominal_at(), *generation, what, role_number(*role), *number]
}

const ROLES: [Role; 3] = [Role::Main, Role::Error, Role::Notice];

/// Later actions of an occurrence have greater numbers.
const fn role_number(role: Role) -> u32 {
    match role {
        Role::Main => 0,
        Role::Error => 1,
        Role::Notice => 2,
    }
}

/// What follows, and when. The names are stored.
const fn write_then(then: Option<Then>) -> (Option<&'static str>, Option<DateTime<Utc>>) {
    match then {
        None => (None, None),
        Some(Then::Nothing) => (Some("nothing"), None),
        Some(Then::Retry { due_at, is_long: false }) => (Some("retry"), Some(due_at)),
        Some(Then::Retry { due_at, is_long: true }) => (Some("long"), Some(due_at)),
        Some(Then::ErrorAction) => (Some("error"), None),
        Some(Then::Notice) => (Some("notice"), None),
    }
}

fn read_then(name: &str, at: Option<DateTime<Utc>>) -> Option<Then> {
    Some(match (name, at) {
        ("retry", Some(due_at)) => Then::Retry { due_at, is_long: false },
        ("long", Some(due_at)) => Then::Retry { due_at, is_long: true },
        ("nothing", None) => Then::Nothing,
        ("error", None) => Then::ErrorAction,
        ("notice", None) => Then::Notice,
        _ => return None,
    })
}

/// When what was written about an instant may be removed.
pub(crate) fn expiry(from: DateTime<Utc>, history: HistoryDays) -> DateTime<Utc> {
    second(history.kept_until(from))
}

/// The form of a subscription's name by which it is found.
pub(crate) fn subscription_key(name: &str) -> String {
    PathSegment::new(name).map_or_else(|_| name.to_lowercase(), |segment| segment.key())
}

/// Records what was left out, unless it is recorded that more was.
pub(crate) fn leave_out(job_uid: &str, left_out: &LeftOut, history: HistoryDays) -> Statement {
    let LeftOut { generation, first, last, occurrences, reason, at } = left_out;
    let outage = reason.outage();
    let parameters = params![
        id(job_uid),
        *first,
        *generation,
        reason_number(*reason),
        *last,
        *occurrences,
        *at,
        outage.map(|it| second(it.from)),
        outage.map(|it| second(it.until)),
        expiry(*at, history),
    ];
    Statement::new(sql::LEAVE_OUT, parameters)
}

/// What an outage cost and what a policy cost are rows of their own, so that neither takes the reason of
/// the other.
pub(crate) const fn reason_number(reason: LeftOutReason) -> u32 {
    match reason {
        LeftOutReason::Outage(_) => 0,
        LeftOutReason::TooLate => 1,
        LeftOutReason::Overlap => 2,
        LeftOutReason::NotWatched => 3,
    }
}

pub(crate) fn read_left_out(row: Row) -> Result<LeftOut, StoreError> {
    let mut row = Columns::after_id("left_out", row)?;
    let (first, generation, reason) = (row.next()?, row.next()?, row.next::<u32>()?);
    let (last, occurrences, at) = (row.next()?, row.next()?, row.next()?);
    let (from, until) = (row.next()?, row.next()?);
    let reason = match (reason, from, until) {
        (0, Some(from), Some(until)) => LeftOutReason::Outage(Outage { from, until }),
        (1, ..) => LeftOutReason::TooLate,
        (2, ..) => LeftOutReason::Overlap,
        (3, ..) => LeftOutReason::NotWatched,
        _ => return Err(row.corrupt("its reason is none")),
    };
    Ok(LeftOut { generation, first, last, occurrences, reason, at })
}
