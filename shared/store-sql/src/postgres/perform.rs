//! A script as one transaction, from a connection and a script to an answer.
//!
//! Where the server is reached directly, a [`Session`] has statements under names, which the server need not
//! read and plan each time. Otherwise they have none.
//!
//! What belongs together is sent together: the beginning, each statement, and, if nothing has to be true of
//! any result, the end. So such a script takes one round trip, and others two. A single statement needs no
//! transaction around it.
//!
//! | the process ends, or the connection breaks, after | it leaves |
//! |---|---|
//! | any statement | nothing: PostgreSQL undoes what was not committed |
//! | the commit, before its answer | the whole script; callers ask again and find what they wrote |
//!
//! A process that stops in the middle without ending, because its machine is frozen, would keep its locks:
//! PostgreSQL ends its transaction after [`IDLE_MS`].

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use futures_util::TryStreamExt;
use futures_util::future::{BoxFuture, FutureExt, MaybeDone, maybe_done};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, RowStream, Statement as Named};

use super::dialect;
use super::error::PgError;
use crate::script::{Need, ROWS_MAX, Row, Script, ScriptOutcome, Statement, Turn, Value};

/// How long a statement may take, by the server's clock: less than the caller waits.
const STATEMENT_MS: u32 = 20_000;
/// How long a statement waits for a lock of others.
const LOCK_MS: u32 = 10_000;
/// How long a transaction may wait for its process.
const IDLE_MS: u32 = 5_000;

const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";

/// Scripts that are alone wait for a number of their own, whatever other programs lock.
const ALONE: i64 = 0x4d69_6e75 << 32;
const WAIT_FOR_TURN: &str = "SELECT 1 FROM pg_advisory_xact_lock(?1)";

/// Tells the other processes that another message may come first.
pub(super) const NOTIFY: &str = "SELECT 1 FROM pg_notify('minutehand', ?1)";

/// The most statements that have names on one connection. There are fewer texts.
const NAMED_MAX: usize = 500;

/// How many rows a statement changed, and the rows that it returned.
type Answer = (u64, Vec<Row>);

/// A connection, and the statements that have names on it.
pub(super) struct Session {
    client: Client,
    /// `None` if a pooler may stand between, so that another program may get the session next. A statement has a
    /// name for each way in which its parameters are null, whose types PostgreSQL finds itself.
    named: Option<HashMap<(&'static str, Vec<Type>), Named>>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

impl Session {
    /// A session on a new connection. One that is ours alone gets the limits of its transactions once.
    pub(super) async fn open(client: Client, is_ours: bool) -> Result<Self, PgError> {
        if is_ours {
            let limits = limits("SESSION");
            client.batch_execute(&limits).await?;
        }
        Ok(Self { client, named: is_ours.then(HashMap::new) })
    }

    pub(super) const fn client(&self) -> &Client {
        &self.client
    }

    /// Names statements that have no name yet. Later they are sent one behind the other, without waiting.
    async fn name<'a>(
        &mut self,
        statements: impl Iterator<Item = &'a Statement>,
    ) -> Result<(), PgError> {
        let Some(named) = &mut self.named else { return Ok(()) };
        for statement in statements {
            let key = (statement.sql, types(statement));
            if named.len() < NAMED_MAX && !named.contains_key(&key) {
                let text = dialect::statement(statement.sql);
                let prepared = self.client.prepare_typed(&text, &key.1).await?;
                named.insert(key, prepared);
            }
        }
        Ok(())
    }

    /// Runs a statement to its end.
    async fn run(&self, statement: &Statement) -> Result<Answer, PgError> {
        let key = (statement.sql, types(statement));
        match self.named.as_ref().and_then(|named| named.get(&key)) {
            Some(named) => read(self.client.query_raw(named, &statement.parameters).await?).await,
            None => run(&self.client, statement).await,
        }
    }
}

fn types(statement: &Statement) -> Vec<Type> {
    statement.parameters.iter().map(dialect::type_of).collect()
}

/// Performs a script. `from` is what the other processes are told of this one.
pub(super) async fn perform(
    session: &mut Session,
    script: &Script,
    from: &str,
) -> Result<ScriptOutcome, PgError> {
    session.name(script.statements.iter().chain(&script.otherwise)).await?;
    let session = &*session;
    let client = &session.client;
    if let [statement] = script.statements.as_slice()
        && matches!(statement.need, Need::Nothing | Need::Change)
        && !script.is_alone
        && !script.wakes
    {
        // If it changed nothing, there is nothing to undo.
        let (changed, rows) = session.run(statement).await?;
        return if statement.need.is_met(changed, rows.len()) {
            Ok(ScriptOutcome::Done(vec![rows]))
        } else {
            let otherwise = otherwise(session, script).await?;
            Ok(ScriptOutcome::Unmet { statement: 0, otherwise })
        };
    }
    let lock = script.is_alone.then(|| wait_for(script.turn));
    let notify = script.wakes.then(|| Statement::new(NOTIFY, vec![Value::Text(from.to_owned())]));
    let begin = begin(session.named.is_some());
    let needs_nothing = script.statements.iter().all(|it| it.need == Need::Nothing);
    let mut requests: Vec<BoxFuture<'_, _>> =
        vec![simple(client, &begin).boxed(), simple(client, GUARD).boxed()];
    requests.extend(lock.iter().map(|it| run(client, it).boxed()));
    let before = requests.len();
    requests.extend(script.statements.iter().map(|it| session.run(it).boxed()));
    requests.extend(notify.iter().map(|it| run(client, it).boxed()));
    if needs_nothing {
        // After an error it undoes everything.
        requests.push(simple(client, COMMIT).boxed());
    }
    let answers = in_order(requests).await?;
    match judge(script, answers, before) {
        Ok(rows) if needs_nothing => Ok(ScriptOutcome::Done(rows)),
        Ok(rows) => {
            simple(client, COMMIT).await?;
            Ok(ScriptOutcome::Done(rows))
        }
        Err(Failed::Unmet(statement)) => {
            simple(client, ROLLBACK).await?;
            let otherwise = otherwise(session, script).await?;
            Ok(ScriptOutcome::Unmet { statement, otherwise })
        }
        Err(Failed::Error(error)) => {
            if !needs_nothing {
                // Where no transaction has begun, the connection has ended, and this error says why.
                let _ = simple(client, ROLLBACK).await;
            }
            Err(error)
        }
    }
}

/// Why a script is undone.
enum Failed {
    Unmet(usize),
    Error(PgError),
}

/// The rows of the statements, if all that has to be true is. What comes after the first that failed says
/// nothing.
fn judge(
    script: &Script,
    answers: Vec<Result<Answer, PgError>>,
    before: usize,
) -> Result<Vec<Vec<Row>>, Failed> {
    let mut rows = Vec::with_capacity(script.statements.len());
    for (position, answer) in answers.into_iter().enumerate() {
        let (changed, found) = answer.map_err(Failed::Error)?;
        let Some(statement) = position.checked_sub(before) else { continue };
        if let Some(it) = script.statements.get(statement) {
            if !it.need.is_met(changed, found.len()) {
                return Err(Failed::Unmet(statement));
            }
            rows.push(found);
        }
    }
    Ok(rows)
}

/// Ends the connection if no transaction has begun: without one, the statements behind it would be performed
/// one by one, and what was done stay when a later one fails.
const GUARD: &str = "SELECT CASE current_setting('minutehand.script', true) WHEN 'begun' THEN true \
     ELSE pg_terminate_backend(pg_backend_pid()) END";

/// Begins a transaction in which each statement sees what others have committed before it.
fn begin(has_limits: bool) -> String {
    let limits = if has_limits { String::new() } else { limits("LOCAL") };
    format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {limits}SET LOCAL minutehand.script = 'begun'"
    )
}

/// Sets the limits of a transaction, or of all those of a session.
fn limits(of: &str) -> String {
    format!(
        "SET {of} statement_timeout = {STATEMENT_MS}; SET {of} lock_timeout = {LOCK_MS}; \
         SET {of} idle_in_transaction_session_timeout = {IDLE_MS}; "
    )
}

fn wait_for(Turn(turn): Turn) -> Statement {
    let turn = i64::from(u32::try_from(turn).unwrap_or(u32::MAX));
    Statement::new(WAIT_FOR_TURN, vec![Value::Integer(ALONE | turn)])
}

async fn otherwise(session: &Session, script: &Script) -> Result<Vec<Row>, PgError> {
    match &script.otherwise {
        None => Ok(Vec::new()),
        Some(read) => session.run(read).await.map(|(_, rows)| rows),
    }
}

/// Performs statements that return nothing.
async fn simple(client: &Client, text: &str) -> Result<Answer, PgError> {
    client.batch_execute(text).await?;
    Ok((0, Vec::new()))
}

/// Runs a statement to its end. It has no name, and leaves nothing in the session.
pub(super) async fn run(client: &Client, statement: &Statement) -> Result<Answer, PgError> {
    let text = dialect::statement(statement.sql);
    let parameters = statement.parameters.iter().map(|value| (value, dialect::type_of(value)));
    read(client.query_typed_raw(&text, parameters).await?).await
}

/// Runs a statement over arrays.
pub(super) async fn run_together(
    client: &Client,
    text: &str,
    arrays: Vec<(Vec<Value>, Type)>,
) -> Result<Vec<Row>, PgError> {
    let (_, rows) = read(client.query_typed_raw(text, arrays).await?).await?;
    Ok(rows)
}

/// Reads what a statement returns, to the end.
async fn read(stream: RowStream) -> Result<Answer, PgError> {
    let mut stream = pin!(stream);
    let mut rows = Vec::new();
    while let Some(row) = stream.as_mut().try_next().await? {
        if rows.len() == ROWS_MAX {
            return Err(PgError::TooManyRows);
        }
        rows.push(dialect::values(&row)?);
    }
    Ok((stream.rows_affected().unwrap_or_default(), rows))
}

/// Sends requests in their order, and then waits for their answers. An error if one of them cannot be sent:
/// then those behind it are not, and the connection is of no use.
async fn in_order(
    requests: Vec<BoxFuture<'_, Result<Answer, PgError>>>,
) -> Result<Vec<Result<Answer, PgError>>, PgError> {
    let mut requests: Vec<MaybeDone<_>> = requests.into_iter().map(maybe_done).collect();
    let mut unsent = None;
    poll_fn(|context| {
        // A request is sent when it is polled for the first time.
        for request in &mut requests {
            if Pin::new(&mut *request).poll(context).is_ready()
                && let MaybeDone::Done(Err(_)) = request
            {
                unsent = Pin::new(request).take_output().and_then(Result::err);
                break;
            }
        }
        Poll::Ready(())
    })
    .await;
    if let Some(error) = unsent {
        return Err(PgError::Unsent(Box::new(error)));
    }
    let mut answers = Vec::with_capacity(requests.len());
    for mut request in requests {
        Pin::new(&mut request).await;
        answers.extend(Pin::new(&mut request).take_output());
    }
    Ok(answers)
}
