//! A pass: scripts that share one transaction, as a plain function from a connection to answers.
//!
//! The function knows no thread and no clock, so that a simulation can call it and make it fail.
//!
//! | it ends after | it leaves |
//! |---|---|
//! | any statement | nothing: the transaction is not committed, and SQLite ignores its frames in the log |
//! | the commit, before an answer | the whole pass; callers ask again and find what they wrote |
//!
//! Mostly the need that is not met is that of a script's first statement, and nothing has to be undone. If a
//! script fails later, the pass is undone and performed again. Then each script of several statements has
//! a savepoint of its own, and one that is undone undoes nothing else. For a savepoint, SQLite copies every page
//! that a script changes. Some errors end the whole transaction (a full disk, a disk error). Then nothing of
//! the pass is stored, and each of its scripts is performed again, alone: only what SQLite refuses fails.

use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, ToSql, types::ToSqlOutput};

use super::error::SqlError;
use crate::script::{Need, ROWS_MAX, Row, Script, ScriptOutcome, Statement, Value};

/// The pragma whose value is the number of the last commit: see [`super::copies`].
const NUMBER: &str = "user_version";

/// The answers to scripts, in their order.
pub type Answers = Vec<Result<ScriptOutcome, SqlError>>;

/// What a pass came to.
#[derive(Debug)]
pub struct PerformedPass {
    /// The answers, in the order of the scripts.
    pub answers: Answers,
    /// Whether its number is stored: then the next pass has the next one.
    pub is_numbered: bool,
}

/// Performs scripts together, and commits.
///
/// `number` is stored with the commit, if the pass changes anything. A pass that is performed script by
/// script uses the same number for all.
pub fn perform(connection: &Connection, scripts: &[&Script], number: u32) -> PerformedPass {
    match together(connection, scripts, number, Undo::Pass) {
        Ok(performed) => performed,
        Err(error) if scripts.len() == 1 => failed(error),
        Err(_) => {
            let alone =
                |script| together(connection, &[script], number, Undo::Pass).unwrap_or_else(failed);
            let alone = scripts.iter().copied().map(alone);
            let mut all = PerformedPass { answers: Vec::new(), is_numbered: false };
            for PerformedPass { answers, is_numbered } in alone {
                all.answers.extend(answers);
                all.is_numbered |= is_numbered;
            }
            all
        }
    }
}

fn failed(error: SqlError) -> PerformedPass {
    PerformedPass { answers: vec![Err(error)], is_numbered: false }
}

/// What is undone when a script fails that has changed something. With the pass, it is performed again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Undo {
    /// All scripts of the pass.
    Pass,
    /// The script.
    Script,
}

/// Performs scripts in one transaction; an error if the transaction has ended without a commit.
fn together(
    connection: &Connection,
    scripts: &[&Script],
    number: u32,
    undo: Undo,
) -> Result<PerformedPass, SqlError> {
    let transaction = connection.unchecked_transaction()?;
    let changes_before = connection.total_changes();
    let mut answers = Vec::with_capacity(scripts.len());
    for script in scripts {
        let answer = one(connection, script, undo);
        if connection.is_autocommit() {
            // SQLite has ended the transaction: what was answered before is undone, too.
            return Err(answer.err().unwrap_or(SqlError::Ended));
        }
        if undo == Undo::Pass && answer.is_err() {
            transaction.rollback()?;
            return together(connection, scripts, number, Undo::Script);
        }
        answers.push(answer);
    }
    let is_numbered = connection.total_changes() != changes_before;
    if is_numbered {
        write_number(connection, number)?;
    }
    transaction.commit()?;
    Ok(PerformedPass { answers, is_numbered })
}

/// Writes the number of a commit. SQLite reads it as a signed one.
pub(super) fn write_number(connection: &Connection, number: u32) -> rusqlite::Result<()> {
    connection.pragma_update(None, NUMBER, number.cast_signed())
}

/// The number of the last commit.
pub(super) fn read_number(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, NUMBER, |row| row.get::<_, i32>(0)).map(i32::cast_unsigned)
}

/// Performs one script inside the transaction. After an error nothing of it is left, if the error undoes
/// only the script.
fn one(connection: &Connection, script: &Script, undo: Undo) -> Result<ScriptOutcome, SqlError> {
    // A single statement undoes itself if it fails. If it changed something, its need of a change is met.
    if let [statement] = script.statements.as_slice()
        && matches!(statement.need, Need::Nothing | Need::Change)
    {
        let (changed, rows) = run(connection, statement)?;
        return if statement.need.is_met(changed, rows.len()) {
            Ok(ScriptOutcome::Done(vec![rows]))
        } else {
            unmet(connection, script, 0)
        };
    }
    if undo == Undo::Pass {
        let changes_before = connection.total_changes();
        return match statements(connection, script)? {
            Progress::Done(rows) => Ok(ScriptOutcome::Done(rows)),
            Progress::Unmet(statement) if connection.total_changes() == changes_before => {
                unmet(connection, script, statement)
            }
            Progress::Unmet(_) => Err(SqlError::Ended),
        };
    }
    connection.prepare_cached("SAVEPOINT script")?.execute([])?;
    let done = statements(connection, script);
    if !matches!(done, Ok(Progress::Done(_))) && !connection.is_autocommit() {
        connection.prepare_cached("ROLLBACK TO script")?.execute([])?;
    }
    if !connection.is_autocommit() {
        connection.prepare_cached("RELEASE script")?.execute([])?;
    }
    match done? {
        Progress::Done(rows) => Ok(ScriptOutcome::Done(rows)),
        Progress::Unmet(statement) => unmet(connection, script, statement),
    }
}

enum Progress {
    Done(Vec<Vec<Row>>),
    Unmet(usize),
}

fn statements(connection: &Connection, script: &Script) -> Result<Progress, SqlError> {
    let mut all = Vec::with_capacity(script.statements.len());
    for (position, statement) in script.statements.iter().enumerate() {
        let (changed, rows) = run(connection, statement)?;
        if !statement.need.is_met(changed, rows.len()) {
            return Ok(Progress::Unmet(position));
        }
        all.push(rows);
    }
    Ok(Progress::Done(all))
}

fn unmet(
    connection: &Connection,
    script: &Script,
    statement: usize,
) -> Result<ScriptOutcome, SqlError> {
    let otherwise = script.otherwise.as_ref();
    let otherwise = otherwise.map(|read| run(connection, read)).transpose()?;
    let otherwise = otherwise.map(|(_, rows)| rows).unwrap_or_default();
    Ok(ScriptOutcome::Unmet { statement, otherwise })
}

/// Runs a statement to its end. Returns how many rows it changed, and the rows that it returned.
pub(super) fn run(
    connection: &Connection,
    statement: &Statement,
) -> Result<(u64, Vec<Row>), SqlError> {
    let mut prepared = connection.prepare_cached(statement.sql)?;
    for (position, value) in statement.parameters.iter().enumerate() {
        prepared.raw_bind_parameter(position + 1, value)?;
    }
    let changes_before = connection.total_changes();
    let rows = read_rows(&mut prepared)?;
    Ok((connection.total_changes() - changes_before, rows))
}

fn read_rows(prepared: &mut CachedStatement<'_>) -> Result<Vec<Row>, SqlError> {
    let columns = prepared.column_count();
    let mut found = prepared.raw_query();
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        if rows.len() == ROWS_MAX {
            return Err(SqlError::TooManyRows);
        }
        let values = (0..columns).map(|column| Ok(value(row.get_ref(column)?)));
        rows.push(values.collect::<rusqlite::Result<Row>>()?);
    }
    Ok(rows)
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        // No column holds a fraction; a damaged one is read as a text that no reader accepts.
        ValueRef::Real(fraction) => Value::Text(fraction.to_string()),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::script::{Turn, Urgency};

    const INSERT: &str = "INSERT INTO t (k, v) VALUES (?1, ?2) ON CONFLICT (k) DO NOTHING";
    const INSERT_NEW: &str = "INSERT INTO t (k, v) VALUES (?1, ?2)";
    const UPDATE: &str = "UPDATE t SET v = ?2 WHERE k = ?1";
    const SELECT: &str = "SELECT v FROM t WHERE k = ?1";

    fn database() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER) STRICT")
            .unwrap();
        connection
    }

    fn on(sql: &'static str, values: &[i64]) -> Statement {
        Statement::new(sql, values.iter().map(|value| Value::Integer(*value)).collect())
    }

    fn script(statements: Vec<Statement>) -> Script {
        Script::new(Urgency::Rest, Turn(0), statements)
    }

    fn all(connection: &Connection) -> Vec<(i64, i64)> {
        let mut rows = connection.prepare("SELECT k, v FROM t ORDER BY k").unwrap();
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    }

    fn number(connection: &Connection) -> u32 {
        read_number(connection).unwrap()
    }

    #[test]
    fn a_script_with_an_unmet_need_undoes_only_itself_and_says_which_need() {
        let connection = database();
        let whole = script(vec![on(INSERT, &[1, 10]).needs(Need::Change), on(INSERT, &[2, 20])]);
        let mut undone = script(vec![
            on(INSERT, &[3, 30]).needs(Need::Change),
            on(UPDATE, &[9, 0]).needs(Need::Change),
            on(INSERT, &[4, 40]),
        ]);
        undone.otherwise = Some(on(SELECT, &[1]));
        let single = script(vec![on(INSERT, &[1, 11]).needs(Need::Change)]);
        let answers = perform(&connection, &[&whole, &undone, &single], 7).answers;
        let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
        assert_eq!(answers[0], ScriptOutcome::Done(vec![vec![], vec![]]));
        let seen = vec![vec![Value::Integer(10)]];
        assert_eq!(answers[1], ScriptOutcome::Unmet { statement: 1, otherwise: seen });
        assert_eq!(answers[2], ScriptOutcome::Unmet { statement: 0, otherwise: vec![] });
        assert_eq!(all(&connection), [(1, 10), (2, 20)]);
        assert_eq!(number(&connection), 7);
    }

    #[test]
    fn needs_of_rows_are_met_or_not() {
        let connection = database();
        connection.execute_batch("INSERT INTO t VALUES (1, 10)").unwrap();
        for (need, key, is_met) in [
            (Need::Row, 1, true),
            (Need::Row, 2, false),
            (Need::NoRow, 1, false),
            (Need::NoRow, 2, true),
            (Need::Nothing, 2, true),
        ] {
            let asked = script(vec![on(SELECT, &[key]).needs(need)]);
            let answer = perform(&connection, &[&asked], 1).answers.remove(0).unwrap();
            assert_eq!(matches!(answer, ScriptOutcome::Done(_)), is_met, "{need:?} {key}");
        }
    }

    #[test]
    fn a_single_statement_whose_need_is_not_met_changes_nothing_either() {
        let connection = database();
        let strange = script(vec![on(INSERT, &[1, 10]).needs(Need::Row)]);
        let answer = perform(&connection, &[&strange], 1).answers.remove(0).unwrap();
        assert!(matches!(answer, ScriptOutcome::Unmet { statement: 0, .. }));
        assert_eq!(all(&connection), []);
    }

    #[test]
    fn a_pass_that_only_reads_writes_no_number() {
        let connection = database();
        let read = script(vec![on(SELECT, &[1])]);
        let performed = perform(&connection, &[&read], 3);
        assert_eq!(performed.answers, [Ok(ScriptOutcome::Done(vec![vec![]]))]);
        assert!(!performed.is_numbered);
        assert_eq!(number(&connection), 0);
    }

    #[test]
    fn a_statement_that_fails_undoes_its_script_and_no_other() {
        let connection = database();
        let before = script(vec![on(INSERT, &[1, 10])]);
        let fails = script(vec![on(INSERT, &[2, 20]), on(INSERT_NEW, &[1, 0])]);
        let after = script(vec![on(INSERT, &[3, 30])]);
        let answers = perform(&connection, &[&before, &fails, &after], 1).answers;
        assert!(answers[0].is_ok() && answers[1].is_err() && answers[2].is_ok(), "{answers:?}");
        assert_eq!(all(&connection), [(1, 10), (3, 30)]);
    }

    #[test]
    fn after_a_refused_commit_each_script_is_performed_alone() {
        let mut connection = database();
        connection.commit_hook(Some(|| true)).unwrap();
        let [first, second] = [[1, 10], [2, 20]].map(|row| script(vec![on(INSERT, &row)]));
        let read = script(vec![on(SELECT, &[1])]);
        let answers = perform(&connection, &[&first, &read, &second], 1).answers;
        assert!(answers[0].is_err() && answers[1].is_ok() && answers[2].is_err(), "{answers:?}");
        assert!(connection.is_autocommit());
        connection.commit_hook(None::<fn() -> bool>).unwrap();
        assert!(perform(&connection, &[&first, &second], 2).answers.iter().all(Result::is_ok));
        assert_eq!(all(&connection), [(1, 10), (2, 20)]);
    }

    #[test]
    fn when_sqlite_ends_the_transaction_only_what_it_refuses_fails() {
        let connection = database();
        connection
            .execute_batch(
                "CREATE TRIGGER refuse BEFORE INSERT ON t WHEN new.k = 2
                 BEGIN SELECT raise(ROLLBACK, 'no'); END",
            )
            .unwrap();
        let scripts = [1, 2, 3].map(|key| script(vec![on(INSERT, &[key, 0]), on(SELECT, &[key])]));
        let answers = perform(&connection, &scripts.each_ref(), 1).answers;
        assert!(answers[0].is_ok() && answers[1].is_err() && answers[2].is_ok(), "{answers:?}");
        assert_eq!(all(&connection), [(1, 0), (3, 0)]);
    }

    #[test]
    fn a_full_disk_fails_only_what_has_no_room() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (k INTEGER PRIMARY KEY, v ANY) STRICT").unwrap();
        connection.pragma_update(None, "max_page_count", 3).unwrap();
        let large = Statement::new(INSERT, vec![Value::Integer(2), Value::Bytes(vec![1; 100_000])]);
        let scripts = [
            script(vec![on(INSERT, &[1, 0])]),
            script(vec![large]),
            script(vec![on(INSERT, &[3, 0])]),
        ];
        let answers = perform(&connection, &scripts.each_ref(), 1).answers;
        assert!(answers[0].is_ok() && answers[1].is_err() && answers[2].is_ok(), "{answers:?}");
    }

    #[test]
    fn values_come_back_as_they_went_in_and_say_nothing_in_a_log() {
        let connection = Connection::open_in_memory().unwrap();
        let values = vec![
            Value::Null,
            Value::Integer(i64::MIN),
            Value::Text("Grüße\0".to_owned()),
            Value::Bytes(vec![0, 255]),
        ];
        let same = script(vec![Statement::new("SELECT ?1, ?2, ?3, ?4", values.clone())]);
        assert_eq!(
            perform(&connection, &[&same], 1).answers,
            [Ok(ScriptOutcome::Done(vec![vec![values.clone()]]))]
        );
        let shown = format!("{values:?}");
        assert!(!shown.contains("Gr") && shown.contains("Text(8 bytes)"), "{shown}");
    }
}
