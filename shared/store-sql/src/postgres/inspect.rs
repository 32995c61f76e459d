//! What an operator has to know of a database: its version, its schema, connections, what vacuum has left,
//! and what a crash or a failover may lose. It changes nothing.
//!
//! [`PgFacts`] are read by a connection of its own; [`PgFacts::findings`] judges them.

use std::time::Instant;

use chrono::{DateTime, Utc};

use super::error::PgError;
use super::perform::run;
use super::pool::Pool;
use super::remedy::{FULL, NEWER, READ_ONLY};
use super::settings::PgAddress;
use crate::script::{Row, Statement, Value};
use crate::sql::MIGRATIONS;
use crate::value::Columns;

/// The oldest version that tests run on, as PostgreSQL numbers it.
const VERSION_MIN: i64 = 140_000;
/// The part of the connections, in percent, from which on they are scarce.
const CONNECTIONS_MAX: i64 = 80;
/// Dead rows beside live ones from which on vacuum does not keep up.
const DEAD_MIN: i64 = 50_000;
/// How many times as many dead rows as live ones a table may have.
const DEAD_FACTOR: i64 = 4;
/// How long a transaction may be open, in seconds, before it is in the way of vacuum.
const OPEN_SECONDS_MAX: i64 = 300;
/// How far the clocks may be apart, in milliseconds.
const APART_MS_MAX: i64 = 1_000;

const SERVER: &str = "SELECT current_setting('server_version_num')::bigint, \
     split_part(current_setting('server_version'), ' ', 1), \
     current_setting('max_connections')::bigint, \
     (SELECT sum(numbackends) FROM pg_stat_database)::bigint, \
     current_setting('synchronous_commit'), \
     (SELECT count(*) FROM pg_stat_replication)::bigint, \
     (SELECT count(*) FROM pg_stat_replication WHERE sync_state <> 'async')::bigint, \
     (current_setting('autovacuum') = 'on')::int::bigint, \
     (pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on')::int::bigint, \
     COALESCE((SELECT max(extract(epoch FROM clock_timestamp() - xact_start)) FROM pg_stat_activity \
       WHERE state LIKE 'idle in transaction%' OR state = 'active'), 0)::bigint, \
     (extract(epoch FROM clock_timestamp()) * 10000000)::bigint";

const TABLES: &str = "SELECT s.relname::text, n_live_tup::bigint, n_dead_tup::bigint, \
     pg_total_relation_size(s.relid)::bigint, \
     (COALESCE(array_to_string(c.reloptions, ','), '') LIKE '%autovacuum_enabled=false%')::int::bigint \
     FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid \
     WHERE s.schemaname = current_schema() AND s.relname IN ('messages', 'attempts', 'timers') \
     ORDER BY s.relname";

const HAS_META: &str = "SELECT 1 WHERE to_regclass('meta') IS NOT NULL";
const SCHEMA: &str = "SELECT name, value FROM meta WHERE name IN ('schema', 'works_from')";

/// Facts about a database and its server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PgFacts {
    version_number: i64,
    version: String,
    connections_max: i64,
    connections: i64,
    synchronous_commit: String,
    replicas: i64,
    synchronous_replicas: i64,
    has_autovacuum: bool,
    is_read_only: bool,
    /// How long the oldest transaction has been open, in seconds.
    open_seconds: i64,
    /// How far the database's clock is ahead, at least and at most, in milliseconds.
    ahead_ms: (i64, i64),
    /// The version of the schema; `None` without tables of Minutehand.
    schema: Option<i64>,
    /// The oldest version that works with the schema.
    works_from: i64,
    tables: Vec<TableFacts>,
}

/// Facts about a table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TableFacts {
    name: String,
    live: i64,
    dead: i64,
    bytes: i64,
    has_autovacuum: bool,
}

/// Something to know of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PgFinding {
    /// The part that it is about, in a word.
    pub about: &'static str,
    /// What it is.
    pub says: String,
    /// What to do; `None` if all is well.
    pub remedy: Option<String>,
    /// The remedy can wait.
    pub is_warning: bool,
}

impl PgFacts {
    /// Reads the facts. `now` is the clock of this machine.
    ///
    /// # Errors
    ///
    /// If no connection can be made, or the database has tables of another program.
    pub async fn read(
        address: &PgAddress,
        now: impl Fn() -> DateTime<Utc>,
    ) -> Result<Self, PgError> {
        let client = Pool::new(address.clone(), 1).connect().await?;
        let ask =
            async |sql| Ok::<_, PgError>(run(&client, &Statement::new(sql, Vec::new())).await?.1);
        let (sent, since) = (now(), Instant::now());
        let server = ask(SERVER).await?;
        let took = i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX);
        let mut facts = Self::of_server(server).ok_or(PgError::NoTime)?;
        // It was read after the question was sent, and before the answer came.
        let (time, sent) = (facts.ahead_ms.0, sent.timestamp_millis());
        facts.ahead_ms = (time - sent - took, time - sent);
        if !ask(HAS_META).await?.is_empty() {
            for row in ask(SCHEMA).await? {
                if let [Value::Text(name), Value::Integer(value)] = row.as_slice() {
                    match name.as_str() {
                        "schema" => facts.schema = Some(*value),
                        _ => facts.works_from = *value,
                    }
                }
            }
            facts.tables = ask(TABLES).await?.into_iter().filter_map(TableFacts::read).collect();
        }
        Ok(facts)
    }

    fn of_server(rows: Vec<Row>) -> Option<Self> {
        let mut row = Columns::new("server", rows.into_iter().next()?);
        let facts = Self {
            version_number: row.next().ok()?,
            version: row.next().ok()?,
            connections_max: row.next().ok()?,
            connections: row.next().ok()?,
            synchronous_commit: row.next().ok()?,
            replicas: row.next().ok()?,
            synchronous_replicas: row.next().ok()?,
            has_autovacuum: row.next().ok()?,
            is_read_only: row.next().ok()?,
            open_seconds: row.next().ok()?,
            ..Self::default()
        };
        let time = row.next::<DateTime<Utc>>().ok()?.timestamp_millis();
        Some(Self { ahead_ms: (time, time), ..facts })
    }

    /// What an operator has to know, the schema first.
    #[must_use]
    pub fn findings(&self) -> Vec<PgFinding> {
        let mut findings = vec![self.schema(), self.version(), self.access(), self.clock()];
        findings.extend([self.connections(), self.commits(), self.vacuum()]);
        findings.extend(self.tables.iter().map(|table| table.bloat(self.open_seconds)));
        findings
    }

    /// Whether tables are missing that this version needs, or it is too old for those that are there.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.schema().remedy.is_none()
    }

    fn schema(&self) -> PgFinding {
        let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
        let migrate =
            "run `minutehand database migrate`, or `minutehand serve` without --no-migrate";
        match self.schema {
            None => PgFinding::bad("schema", "there are no tables of Minutehand yet", migrate),
            Some(schema) if self.works_from > known => PgFinding::bad(
                "schema",
                format!("schema {schema} is of a newer version, and this one cannot use it"),
                NEWER,
            ),
            Some(schema) if schema < known => PgFinding::bad(
                "schema",
                format!("schema {schema}, and this version has {known}"),
                migrate,
            ),
            Some(schema) => PgFinding::good("schema", format!("schema {schema}")),
        }
    }

    fn version(&self) -> PgFinding {
        let says = format!("PostgreSQL {}", self.version);
        if self.version_number >= VERSION_MIN {
            return PgFinding::good("version", says);
        }
        PgFinding::bad("version", says, "upgrade the server to PostgreSQL 14 or newer")
    }

    fn access(&self) -> PgFinding {
        if self.is_read_only {
            return PgFinding::bad("access", "the database is read-only", READ_ONLY);
        }
        PgFinding::good("access", "the database accepts changes")
    }

    fn clock(&self) -> PgFinding {
        let (at_least, at_most) = self.ahead_ms;
        let remedy = "synchronise both machines with NTP: jobs fire by the clock of the database";
        if at_least > APART_MS_MAX {
            let says =
                format!("the database's clock is at least {at_least} ms ahead of this machine's");
            return PgFinding::bad("clock", says, remedy).warning();
        }
        if at_most < -APART_MS_MAX {
            let says =
                format!("the database's clock is at least {} ms behind this machine's", -at_most);
            return PgFinding::bad("clock", says, remedy).warning();
        }
        PgFinding::good("clock", "the database and this machine agree to a second")
    }

    fn connections(&self) -> PgFinding {
        let says =
            format!("{} of {} connections are in use", self.connections, self.connections_max);
        let is_scarce = self.connections.saturating_mul(100)
            > self.connections_max.saturating_mul(CONNECTIONS_MAX);
        if is_scarce {
            return PgFinding::bad("connections", says, FULL);
        }
        PgFinding::good("connections", says)
    }

    /// What a crash or a failover may lose.
    fn commits(&self) -> PgFinding {
        let Self { synchronous_commit: mode, replicas, synchronous_replicas: synchronous, .. } =
            self;
        let says = format!(
            "synchronous_commit is {mode}; replicas: {replicas}, synchronous: {synchronous}"
        );
        if mode == "off" {
            let lost = format!("{says}; a crash of the server loses what it answered just before");
            let remedy = "set synchronous_commit to on for this database, unless that is accepted";
            return PgFinding::bad("commits", lost, remedy).warning();
        }
        if *replicas > 0 && (*synchronous == 0 || mode == "local") {
            let lost = format!("{says}; a failover loses what its replica has not received");
            let remedy = "set synchronous_standby_names, and synchronous_commit to on, unless that is accepted";
            return PgFinding::bad("commits", lost, remedy).warning();
        }
        PgFinding::good("commits", says)
    }

    fn vacuum(&self) -> PgFinding {
        let off: Vec<_> = self
            .tables
            .iter()
            .filter(|table| !table.has_autovacuum)
            .map(|it| it.name.as_str())
            .collect();
        if !self.has_autovacuum {
            let remedy = "set autovacuum to on: without it, tables grow and fetches become slow";
            return PgFinding::bad("vacuum", "autovacuum is off", remedy);
        }
        if !off.is_empty() {
            let says = format!("autovacuum is off for {}", off.join(", "));
            return PgFinding::bad(
                "vacuum",
                says,
                "run ALTER TABLE … RESET (autovacuum_enabled) for each",
            );
        }
        PgFinding::good("vacuum", "autovacuum is on")
    }
}

impl TableFacts {
    fn read(row: Row) -> Option<Self> {
        let mut row = Columns::new("tables", row);
        Some(Self {
            name: row.next().ok()?,
            live: row.next().ok()?,
            dead: row.next().ok()?,
            bytes: row.next().ok()?,
            has_autovacuum: !row.next::<bool>().ok()?,
        })
    }

    fn bloat(&self, open_seconds: i64) -> PgFinding {
        let Self { name, live, dead, bytes, .. } = self;
        let says = format!("{name}: {live} rows, {dead} dead, {} MiB", bytes >> 20);
        if *dead < DEAD_MIN || *dead < live.saturating_mul(DEAD_FACTOR) {
            return PgFinding::good("table", says);
        }
        let remedy = if open_seconds > OPEN_SECONDS_MAX {
            format!(
                "end the transaction that has been open for {open_seconds} s (SELECT pid, query FROM \
                 pg_stat_activity ORDER BY xact_start), which keeps dead rows; then run VACUUM {name}"
            )
        } else {
            format!(
                "run VACUUM {name}; if that does not help, look for replication slots and prepared transactions"
            )
        };
        PgFinding::bad("table", says, remedy)
    }
}

impl PgFinding {
    fn good(about: &'static str, says: impl Into<String>) -> Self {
        Self { about, says: says.into(), remedy: None, is_warning: false }
    }

    fn bad(about: &'static str, says: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..Self::good(about, says) }
    }

    fn warning(self) -> Self {
        Self { is_warning: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn well() -> PgFacts {
        let table = |name: &str| TableFacts {
            name: name.to_owned(),
            live: 10_000,
            dead: 39_000,
            bytes: 3 << 20,
            has_autovacuum: true,
        };
        PgFacts {
            version_number: 150_003,
            version: "15.3".to_owned(),
            connections_max: 100,
            connections: 80,
            synchronous_commit: "on".to_owned(),
            has_autovacuum: true,
            open_seconds: 400,
            ahead_ms: (-900, 3_000),
            schema: i64::try_from(MIGRATIONS.len()).ok(),
            works_from: 1,
            tables: vec![table("attempts"), table("messages")],
            ..PgFacts::default()
        }
    }

    #[test]
    fn a_database_that_is_well_needs_nothing() {
        let troubles: Vec<_> =
            well().findings().into_iter().filter(|it| it.remedy.is_some()).collect();
        assert_eq!(troubles, []);
        assert!(well().is_current());
    }

    #[test]
    fn each_trouble_is_told_once_with_what_to_do() {
        let dead = |dead, open_seconds| {
            let mut facts = PgFacts { open_seconds, ..well() };
            facts.tables[1].dead = dead;
            facts
        };
        let off_for_one = {
            let mut facts = well();
            facts.tables[0].has_autovacuum = false;
            facts
        };
        for (facts, about, remedy) in [
            (PgFacts { schema: None, ..well() }, "schema", "minutehand database migrate"),
            (PgFacts { schema: Some(0), ..well() }, "schema", "minutehand database migrate"),
            (PgFacts { works_from: 900, ..well() }, "schema", "install the newer version"),
            (PgFacts { version_number: 130_009, ..well() }, "version", "PostgreSQL 14 or newer"),
            (PgFacts { is_read_only: true, ..well() }, "access", "target_session_attrs"),
            (PgFacts { ahead_ms: (1_001, 2_000), ..well() }, "clock", "NTP"),
            (PgFacts { ahead_ms: (-9_000, -1_001), ..well() }, "clock", "NTP"),
            (PgFacts { connections: 81, ..well() }, "connections", "max_connections"),
            (PgFacts { synchronous_commit: "off".to_owned(), ..well() }, "commits", "to on"),
            (PgFacts { replicas: 1, ..well() }, "commits", "synchronous_standby_names"),
            (PgFacts { has_autovacuum: false, ..well() }, "vacuum", "set autovacuum to on"),
            (off_for_one, "vacuum", "RESET (autovacuum_enabled)"),
            (dead(50_000, 400), "table", "end the transaction that has been open for 400 s"),
            (dead(50_000, 0), "table", "run VACUUM messages"),
        ] {
            let troubles: Vec<_> =
                facts.findings().into_iter().filter(|it| it.remedy.is_some()).collect();
            assert_eq!(troubles.len(), 1, "{troubles:?}");
            assert_eq!(troubles[0].about, about);
            assert!(troubles[0].remedy.as_deref().unwrap().contains(remedy), "{troubles:?}");
        }
        let synchronous = PgFacts { replicas: 2, synchronous_replicas: 1, ..well() };
        assert!(synchronous.findings().iter().all(|it| it.remedy.is_none()));
        assert!(!PgFacts { works_from: 900, ..well() }.is_current());
    }
}
