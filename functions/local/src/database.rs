//! `minutehand database check|migrate`: looks at the database of many processes, and makes its tables.
//!
//! A crash of a migration leaves the tables as they were: each is one transaction.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use minutehand_store_sql::postgres::PgFacts;

use crate::serve::{DatabaseArgs, DatabasePlace, cannot_use};
use crate::{BadArguments, Variables, wait_for};

/// The end of the help of `database check`.
pub const CHECK_EXAMPLES: &str = "\
Examples:
  minutehand database check --database postgres://minutehand@db.example/minutehand
  MINUTEHAND_DATABASE=postgres://… minutehand database check

It tells whether the schema fits this version, and what an operator should know: the version of the server, \
its clock, connections, synchronous_commit and replicas, autovacuum, and the rows that vacuum has left. It \
changes nothing.

Exit codes:
  0  all is well, or has a warning only
  1  a check failed, or the database cannot be used
  2  invalid argument";

/// The end of the help of `database migrate`.
pub const MIGRATE_EXAMPLES: &str = "\
Examples:
  minutehand database migrate --database postgres://owner@db.example/minutehand

`serve` does the same when it starts, unless it has --no-migrate. So this is for a role that owns the tables, \
while the role of the processes may only use them. Processes of the version before continue meanwhile.

Exit codes:
  0  the tables are those of this version
  1  the database cannot be used
  2  invalid argument";

/// What a check found.
#[derive(Debug)]
pub struct Checked {
    /// A line for each finding, and a line for what to do about it.
    pub report: String,
    /// How many need something done.
    pub failed: usize,
}

/// Looks at a database.
///
/// # Errors
///
/// If it cannot be read.
pub fn check(args: &DatabaseArgs, environment: impl Fn(&str) -> Option<String>) -> Result<Checked> {
    let place = place(args, &environment)?;
    let findings = wait_for(facts(&place))?.findings();
    let mut checked = Checked { report: String::new(), failed: 0 };
    for finding in findings {
        let mark = match (&finding.remedy, finding.is_warning) {
            (None, _) => "ok",
            (Some(_), true) => "!",
            (Some(_), false) => "!!",
        };
        checked.failed += usize::from(mark == "!!");
        // Writing to a string does not fail.
        let _ = writeln!(checked.report, "{mark:<2} {:<12} {}", finding.about, finding.says);
        if let Some(remedy) = finding.remedy {
            let _ = writeln!(checked.report, "   {remedy}");
        }
    }
    Ok(checked)
}

/// Makes the tables of a database those of this version. Returns what was done.
///
/// # Errors
///
/// If the database refuses.
pub fn migrate(
    args: &DatabaseArgs,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<String> {
    let place = place(args, &environment)?;
    wait_for(async {
        let was_current = facts(&place).await?.is_current();
        place.connect(true).await?.end().await.map_err(|error| cannot_use(&error))?;
        let after = facts(&place).await?;
        if !after.is_current() {
            bail!(
                "the tables are not those of this version; another version migrates at the same time"
            );
        }
        let done = if was_current { "nothing to do" } else { "made the tables of this version" };
        let schema = after.findings().into_iter().next().map(|schema| schema.says);
        Ok(format!("{done}: {}\n", schema.unwrap_or_default()))
    })
}

async fn facts(place: &DatabasePlace) -> Result<PgFacts> {
    place.facts().await.map_err(|error| cannot_use(&error))
}

fn place(args: &DatabaseArgs, environment: Variables<'_>) -> Result<DatabasePlace> {
    let place = args.read(environment).map_err(BadArguments)?;
    let missing =
        "give --database, such as postgres://user@host/database, or set MINUTEHAND_DATABASE";
    Ok(place.ok_or_else(|| BadArguments(vec![missing.to_owned()]))?)
}
