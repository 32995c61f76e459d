//! The schema of a database: what it has, what is missing, and whether this program may use it.
//!
//! Several processes may start at once, and one of them migrates: it locks `meta` until its transaction ends, so
//! that the others read what it made. It waits two seconds for those that use the tables, and tries again:
//! behind a migration that waits, everything else would wait, too. A crash leaves the schema as it was.
//!
//! Processes of the version before go on meanwhile: a migration adds what they do not know, and says in
//! `works_from` which ones it works with.

use tokio_postgres::Client;

use super::dialect;
use super::error::PgError;
use super::perform::run;
use crate::script::{Statement, Value};
use crate::sql::{MIGRATIONS, POSTGRES_STORAGE, POSTGRES_VIEWS, WORKS_FROM};
use crate::value::params;

/// How often a process tries to migrate while another one does: each waits for [`LOCK_MS`].
const TRIES_MAX: u32 = 30;
/// How long one try waits for locks of others. A migration that waited longer would hold up the statements
/// that wait behind it.
const LOCK_MS: u32 = 2_000;
/// The lock of the process that makes `meta`, of which there is only one before there is a table.
const MIGRATING: i64 = 0x4d69_6e75_7465;

const HAS_META: &str = "SELECT 1 WHERE to_regclass('meta') IS NOT NULL";
const META: &str =
    "CREATE TABLE IF NOT EXISTS meta (name TEXT COLLATE \"C\" PRIMARY KEY, value BIGINT NOT NULL)";
const LOCK: &str = "LOCK TABLE meta";
const READ: &str = "SELECT value FROM meta WHERE name = ?1";
const WRITE: &str = "INSERT INTO meta (name, value) VALUES (?1, ?2) \
     ON CONFLICT (name) DO UPDATE SET value = excluded.value";
/// What tells this database from others for good.
const INSTALLATION: &str = "INSERT INTO meta (name, value) \
     SELECT 'installation', ('x' || left(replace(gen_random_uuid()::text, '-', ''), 16))::bit(64)::bigint \
     ON CONFLICT (name) DO NOTHING";
/// Brings the schema up to date, or says that it is not. Returns what tells this database from others.
pub(super) async fn prepare(client: &Client, migrates: bool) -> Result<i64, PgError> {
    let mut tries = 1;
    while !is_current(client).await? {
        if !migrates {
            return Err(PgError::Behind);
        }
        match migrate(client).await {
            Err(error) if error.is_locked_out() && tries < TRIES_MAX => tries += 1,
            done => done?,
        }
    }
    Ok(read(client, "installation").await?.unwrap_or_default())
}

/// Whether nothing is missing. An error if this program is too old.
async fn is_current(client: &Client) -> Result<bool, PgError> {
    if run(client, &Statement::new(HAS_META, Vec::new())).await?.1.is_empty() {
        return Ok(false);
    }
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    if read(client, "works_from").await?.unwrap_or_default() > known {
        return Err(PgError::Newer);
    }
    Ok(read(client, "schema").await?.unwrap_or_default() >= known)
}

async fn migrate(client: &Client) -> Result<(), PgError> {
    match missing(client).await {
        Ok(()) => Ok(client.batch_execute("COMMIT").await?),
        Err(error) => {
            // Also if it did not get the lock: the transaction has begun.
            client.batch_execute("ROLLBACK").await?;
            Err(error)
        }
    }
}

/// Makes what is missing, in a transaction that stays open: another process may have made it meanwhile.
async fn missing(client: &Client) -> Result<(), PgError> {
    let begin = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = {LOCK_MS}; \
         SELECT pg_advisory_xact_lock({MIGRATING})"
    );
    client.batch_execute(&begin).await?;
    client.batch_execute(META).await?;
    client.batch_execute(LOCK).await?;
    let schema = read(client, "schema").await?.unwrap_or_default();
    let missing = MIGRATIONS.iter().skip(usize::try_from(schema).unwrap_or(usize::MAX));
    for migration in missing.clone() {
        client.batch_execute(&dialect::tables(migration)).await?;
    }
    if missing.len() > 0 {
        client.batch_execute(POSTGRES_STORAGE).await?;
        client.batch_execute(POSTGRES_VIEWS).await?;
        let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
        for (name, value) in [("schema", known), ("works_from", WORKS_FROM.into())] {
            run(client, &Statement::new(WRITE, params![name, value])).await?;
        }
    }
    run(client, &Statement::new(INSTALLATION, Vec::new())).await.map(drop)
}

async fn read(client: &Client, name: &str) -> Result<Option<i64>, PgError> {
    let (_, rows) = run(client, &Statement::new(READ, params![name])).await?;
    let first = rows.into_iter().flatten().next();
    Ok(if let Some(Value::Integer(number)) = first { Some(number) } else { None })
}
