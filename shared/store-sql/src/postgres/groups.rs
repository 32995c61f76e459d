//! Scripts of one kind that wait at the same time, as one statement.
//!
//! Only scripts that write one row each, of one attempt, are grouped: two processes that group updates of rows
//! which they share would lock each other out. A group is a statement over arrays, in the order of the key.
//! It does what is simple. A script of which it did nothing, and each one after an error, is performed alone.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use tokio::sync::{Semaphore, oneshot};
use tokio_postgres::types::Type;

use super::dialect;
use super::error::PgError;
use super::pool::Pool;
use crate::script::{Need, Script, ScriptOutcome, Value};
use crate::sql::attempts as sql;

/// The most scripts of a group.
const TOGETHER_MAX: usize = 128;
/// How many groups of a kind are under way at the same time: while one waits for its commit, the next is
/// collected.
const GROUPS_MAX: usize = 2;
/// The parameters that are the key of an attempt.
const KEY: usize = 6;
/// The parameter that is the id of a claim.
const CLAIM_ID: usize = 7;

/// A kind of scripts that are grouped.
#[derive(Debug)]
pub(super) struct GroupKind {
    /// The text of its one statement.
    alone: &'static str,
    /// The types of the parameters: bytes, number, text.
    of: &'static str,
    /// The same over arrays.
    together: String,
    waiting: Mutex<VecDeque<Waiting>>,
    turns: Semaphore,
}

#[derive(Debug)]
struct Waiting {
    script: Script,
    tell: oneshot::Sender<Result<ScriptOutcome, PgError>>,
}

/// All kinds.
#[derive(Debug)]
pub(super) struct Groups([GroupKind; 2]);

impl Default for Groups {
    fn default() -> Self {
        // A group claims attempts that have no claim yet.
        Self([
            GroupKind::new(sql::CLAIM, "bnntnnnbnnnnnnt"),
            GroupKind::new(sql::RECORD, "bnntnnnbnnttnntnnt"),
        ])
    }
}

impl Groups {
    /// The kind of a script, if it is of one.
    pub(super) fn kind(&self, script: &Script) -> Option<&GroupKind> {
        let [statement] = script.statements.as_slice() else { return None };
        let is_plain = statement.need == Need::Change && !script.is_alone && !script.wakes;
        self.0.iter().find(|kind| is_plain && kind.alone == statement.sql)
    }
}

impl GroupKind {
    fn new(alone: &'static str, of: &'static str) -> Self {
        let (together, turns) = (together(alone, of.len()), Semaphore::new(GROUPS_MAX));
        Self { alone, of, together, waiting: Mutex::default(), turns }
    }

    /// Performs a script together with the others of its kind that wait.
    pub(super) async fn join(
        &self,
        script: Script,
        pool: &Pool,
        from: &str,
    ) -> Result<ScriptOutcome, PgError> {
        let (tell, mut told) = oneshot::channel();
        self.waiting().push_back(Waiting { script, tell });
        // Each turn takes the oldest scripts, so this one is among them after a few.
        loop {
            tokio::select! {
                biased;
                told = &mut told => return told.unwrap_or(Err(PgError::Closed)),
                turn = self.turns.acquire() => {
                    let _turn = turn.map_err(|_| PgError::Closed)?;
                    self.lead(self.oldest(), pool, from).await;
                }
            }
        }
    }

    /// Performs a group.
    async fn lead(&self, mut group: Vec<Waiting>, pool: &Pool, from: &str) {
        group.sort_by_cached_key(|it| parameters(it).to_vec());
        let is_done = if group.len() > 1 { self.perform(&group, pool).await } else { Vec::new() };
        let mut alone = Vec::new();
        for (n, Waiting { script, tell }) in group.into_iter().enumerate() {
            if is_done.get(n) == Some(&true) {
                // The first claim of an attempt returns the number 1.
                let rows =
                    if self.alone == sql::CLAIM { vec![vec![Value::Integer(1)]] } else { vec![] };
                let _ = tell.send(Ok(ScriptOutcome::Done(vec![rows])));
            } else {
                alone.push(async move {
                    let _ = tell.send(pool.perform(&script, from).await);
                });
            }
        }
        join_all(alone).await;
    }

    /// Performs scripts as one statement. For each, whether it was done; none after an error.
    async fn perform(&self, group: &[Waiting], pool: &Pool) -> Vec<bool> {
        let columns = self.of.bytes().enumerate().map(|(column, of)| {
            let value = |it: &Waiting| parameters(it).get(column).cloned().unwrap_or_default();
            (group.iter().map(value).collect::<Vec<Value>>(), array_of(of))
        });
        let done = pool.perform_together(&self.together, columns.collect()).await;
        let done = done.unwrap_or_else(|error| {
            tracing::debug!(%error, "a group of scripts failed, and each is performed alone");
            Vec::new()
        });
        let is_done = |it: &Waiting| {
            let parameters = parameters(it);
            let key = parameters.iter().take(KEY).chain(parameters.get(CLAIM_ID));
            done.iter().any(|row| row.iter().eq(key.clone()))
        };
        group.iter().map(is_done).collect()
    }

    /// Those that have waited for the longest time.
    fn oldest(&self) -> Vec<Waiting> {
        let mut waiting = self.waiting();
        let count = waiting.len().min(TOGETHER_MAX);
        waiting.drain(..count).collect()
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The parameters of the one statement of a script.
fn parameters(waiting: &Waiting) -> &[Value] {
    waiting.script.statements.first().map_or(&[], |it| it.parameters.as_slice())
}

const fn array_of(of: u8) -> Type {
    match of {
        b'b' => Type::BYTEA_ARRAY,
        b't' => Type::TEXT_ARRAY,
        _ => Type::INT8_ARRAY,
    }
}

/// The text of a statement over arrays, each with one parameter of all scripts. It returns the keys and the
/// claims of what it did.
fn together(alone: &str, parameters: usize) -> String {
    let text = dialect::statement(alone);
    let (text, conflict) = match text.split_once(" ON CONFLICT") {
        Some((insert, _)) => (insert.to_owned(), " ORDER BY g.n ON CONFLICT DO NOTHING"),
        None => (text, ""),
    };
    let own = text.replace('$', "g.p");
    let (what, condition) = own.split_once(" WHERE ").unwrap_or((&own, "true"));
    let numbered = |prefix: &str| {
        let all: Vec<_> = (1..=parameters).map(|n| format!("{prefix}{n}")).collect();
        all.join(", ")
    };
    format!(
        "{what} FROM unnest({}) WITH ORDINALITY AS g({}, n) WHERE {condition}{conflict} RETURNING \
         job_uid, nominal_at, generation, occurrence, role, attempts.number, claim_id",
        numbered("$"),
        numbered("p"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_the_same_statement_over_arrays() {
        let update = "UPDATE attempts SET message = ?12 WHERE job_uid = ?1 AND process = ?2";
        assert_eq!(
            together(update, 2),
            "UPDATE attempts SET message = g.p12 FROM unnest($1, $2) WITH ORDINALITY AS g(p1, p2, n) \
             WHERE job_uid = g.p1 AND process = g.p2 RETURNING \
             job_uid, nominal_at, generation, occurrence, role, attempts.number, claim_id"
        );
        let insert =
            "INSERT INTO attempts (a) SELECT ?1 WHERE 1 = 1 ON CONFLICT (a) DO UPDATE SET a = ?2";
        assert!(together(insert, 1).starts_with(
            "INSERT INTO attempts (a) SELECT g.p1 FROM unnest($1) WITH ORDINALITY AS g(p1, n) \
             WHERE 1 = 1 ORDER BY g.n ON CONFLICT DO NOTHING RETURNING"
        ));
    }

    #[test]
    fn only_scripts_of_one_attempt_are_grouped() {
        let groups = Groups::default();
        for kind in &groups.0 {
            // As many as the statement has.
            assert!(kind.alone.contains(&format!("?{}", kind.of.len())), "{}", kind.alone);
            assert!(!kind.alone.contains(&format!("?{}", kind.of.len() + 1)), "{}", kind.alone);
        }
        let grouped: Vec<&str> = groups.0.iter().map(|kind| kind.alone).collect();
        assert_eq!(grouped, [sql::CLAIM, sql::RECORD], "others write rows that are shared");
    }
}
