//! A number by which a process notices that it has another key than those before it.
//!
//! The first process that stores one has it. All others compare theirs with it.

use super::database::PgDatabase;
use super::error::PgError;
use crate::script::{Script, Statement, Turn, Urgency, Value};

const READ: &str = "SELECT value FROM meta WHERE name = 'key'";
const ADD: &str = "INSERT INTO meta (name, value) VALUES ('key', ?1) ON CONFLICT (name) DO NOTHING";
const REPLACE: &str = "INSERT INTO meta (name, value) VALUES ('key', ?1) \
     ON CONFLICT (name) DO UPDATE SET value = excluded.value";

impl PgDatabase {
    /// The check of the key; `None` if no process has stored one.
    ///
    /// # Errors
    ///
    /// As [`perform`](Self::perform).
    pub async fn key_check(&self) -> Result<Option<i64>, PgError> {
        let read = Statement::new(READ, Vec::new());
        let read = self.read(Script::new(Urgency::Rest, Turn::default(), vec![read])).await?;
        Ok(if let Some(Value::Integer(check)) = read.first() { Some(check) } else { None })
    }

    /// Stores the check of the key, if there is none.
    ///
    /// # Errors
    ///
    /// As [`perform`](Self::perform).
    pub async fn add_key_check(&self, check: i64) -> Result<(), PgError> {
        self.write_key_check(ADD, check).await
    }

    /// Stores the check of the key that takes the place of a lost one.
    ///
    /// # Errors
    ///
    /// As [`perform`](Self::perform).
    pub async fn replace_key_check(&self, check: i64) -> Result<(), PgError> {
        self.write_key_check(REPLACE, check).await
    }

    async fn write_key_check(&self, sql: &'static str, check: i64) -> Result<(), PgError> {
        let write = Statement::new(sql, vec![Value::Integer(check)]);
        self.perform(Script::new(Urgency::Rest, Turn::default(), vec![write])).await.map(drop)
    }
}
