//! The database of many processes: its arguments, how it is reached, and its errors in words.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use minutehand_cli::one_of;
use minutehand_runtime::{chain, system_now};
use minutehand_store_sql::postgres::{
    PgAddress, PgDatabase, PgError, PgFacts, PgOptions, ProcessName,
};
use rustix::system::uname;
use zeroize::Zeroizing;

use super::build_info::VERSION;

/// The environment variable for the address. Unlike an argument, it does not appear in process lists.
pub(super) const DATABASE_VARIABLE: &str = "MINUTEHAND_DATABASE";
/// The environment variable for the key.
pub(super) const KEY_VARIABLE: &str = "MINUTEHAND_KEY";

/// The heading of these arguments in the help.
const HEADING: &str = "Data";
const DATABASE_HELP: &str = "PostgreSQL that several processes share";
const DATABASE_LONG_HELP: &str = "\
PostgreSQL database that any number of processes share, in place of a data directory: \
postgres://user@host/database?sslmode=verify-full, with options as libpq has them. Arguments appear in process lists, so leave \
the password out, or set MINUTEHAND_DATABASE instead: the password is also taken from PGPASSWORD, and from \
PGPASSFILE or ~/.pgpass";

/// How statements reach a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooler {
    /// Each connection is a session of its own.
    Nothing,
    /// A pooler gives a session to one transaction after another.
    Transaction,
}

/// The arguments that say where a database is.
#[derive(Debug, Clone, clap::Args)]
pub struct DatabaseArgs {
    #[arg(long, value_name = "URL", help_heading = HEADING, help = DATABASE_HELP, long_help = DATABASE_LONG_HELP)]
    database: Option<String>,
    /// What is between the server and the database: none, or a pooler of transactions such as PgBouncer
    /// [default: transaction, which also works without one]
    ///
    /// With none, statements are prepared once for each connection, which saves time.
    #[arg(
        long,
        value_name = "none|transaction",
        hide_short_help = true,
        help_heading = HEADING,
        value_parser = one_of([("none", Pooler::Nothing), ("transaction", Pooler::Transaction)])
    )]
    database_pooler: Option<Pooler>,
    /// Address of the same database without the pooler, to be told of new messages and to migrate
    ///
    /// Without it, a process behind a pooler looks for messages five times a second.
    #[arg(long, value_name = "URL", help_heading = HEADING, hide_short_help = true)]
    database_direct: Option<String>,
}

/// The argument that says where the key is that seals secrets.
#[derive(Debug, Clone, clap::Args)]
pub struct KeyArgs {
    /// File with the key that seals secrets, the same for every process; or set `MINUTEHAND_KEY`
    ///
    /// 64 hexadecimal digits, as `openssl rand -hex 32` makes them. A process with another key than
    /// the others does not start. Keep a copy: without the key, no secret can be read.
    #[arg(long, value_name = "FILE", help_heading = HEADING, hide_short_help = true)]
    key_file: Option<PathBuf>,
}

/// Where a database is.
#[derive(Debug, Clone)]
pub(crate) struct DatabasePlace {
    address: PgAddress,
    /// The same one without a pooler.
    direct: Option<PgAddress>,
    pooler: Pooler,
    /// How the user said it: the name of the argument or of the variable.
    pub(crate) said: &'static str,
}

/// Where the key is that seals secrets. `Debug` is written by hand because a key is a secret.
#[derive(Clone)]
pub(crate) enum GivenKey {
    File(PathBuf),
    /// The key itself, from the environment.
    Text(Zeroizing<String>),
}

impl std::fmt::Debug for GivenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Text(_) => f.write_str("Text(..)"),
        }
    }
}

impl DatabaseArgs {
    /// Whether a database is named.
    pub(crate) fn is_given(&self, environment: impl Fn(&str) -> Option<String>) -> bool {
        self.database.is_some() || environment(DATABASE_VARIABLE).is_some_and(|it| !it.is_empty())
    }

    /// Where the database is; `None` if none is given.
    ///
    /// # Errors
    ///
    /// All problems, each as a sentence that says what to change.
    pub(crate) fn read(
        &self,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<DatabasePlace>, Vec<String>> {
        let from_environment = environment(DATABASE_VARIABLE).filter(|url| !url.is_empty());
        let given = self.database.clone().map(|url| ("--database", url));
        let Some((said, url)) = given.or(from_environment.map(|url| (DATABASE_VARIABLE, url)))
        else {
            let alone = [
                ("--database-pooler", self.database_pooler.is_some()),
                ("--database-direct", self.database_direct.is_some()),
            ];
            return refuse_without_database(&alone).map(|()| None);
        };
        let mut problems = Vec::new();
        let mut address = |said: &str, url: &str| {
            let read = PgAddress::read(url).and_then(|it| it.with_password_of(&environment));
            read.map_err(|error| problems.push(format!("{said}: {}", chain(&error)))).ok()
        };
        let found = address(said, &url);
        let direct = self.database_direct.as_deref();
        let direct = direct.map(|url| address("--database-direct", url));
        if direct.is_some() && self.database_pooler == Some(Pooler::Nothing) {
            problems.push(
                "--database-direct and --database-pooler none exclude each other: without a pooler, \
                 --database is direct"
                    .to_owned(),
            );
        }
        let (Some(address), true) = (found, problems.is_empty()) else { return Err(problems) };
        let pooler = self.database_pooler.unwrap_or(Pooler::Transaction);
        Ok(Some(DatabasePlace { address, direct: direct.flatten(), pooler, said }))
    }
}

impl KeyArgs {
    /// Where the key is, for a database or for none.
    pub(crate) fn read(
        &self,
        has_database: bool,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<GivenKey>, Vec<String>> {
        let text = environment(KEY_VARIABLE).filter(|text| !text.is_empty());
        if !has_database {
            let alone = [("--key-file", self.key_file.is_some()), (KEY_VARIABLE, text.is_some())];
            return refuse_without_database(&alone).map(|()| None);
        }
        match (self.key_file.clone().map(GivenKey::File), text) {
            (Some(file), _) => Ok(Some(file)),
            (None, Some(text)) => Ok(Some(GivenKey::Text(text.into()))),
            (None, None) => Err(vec![format!(
                "a database needs the key that seals secrets, the same for every process: make one with \
                 `(umask 077; openssl rand -hex 32 > minutehand.key)`, and give it with --key-file \
                 minutehand.key or {KEY_VARIABLE}"
            )]),
        }
    }
}

/// Refuses arguments that only a database needs.
pub(super) fn refuse_without_database(given: &[(&str, bool)]) -> Result<(), Vec<String>> {
    let problems: Vec<_> = given
        .iter()
        .filter(|(_, is_given)| *is_given)
        .map(|(flag, _)| {
            format!("{flag} is for a database: add --database, or set {DATABASE_VARIABLE}")
        })
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

impl DatabasePlace {
    /// Connects to the database, as one of its processes.
    pub(crate) async fn connect(&self, migrates: bool) -> Result<PgDatabase> {
        let options = PgOptions {
            direct: self.direct.clone(),
            has_named_statements: self.pooler == Pooler::Nothing,
            process: process_name(),
            migrates,
        };
        let connected = PgDatabase::connect(self.address.clone(), options).await;
        connected.map_err(|error| cannot_use(&error))
    }

    /// Reads what an operator has to know of the database.
    pub(crate) async fn facts(&self) -> Result<PgFacts, PgError> {
        PgFacts::read(&self.address, system_now).await
    }
}

/// What this process is called: by its machine, and its number there.
pub(super) fn process_name() -> ProcessName {
    let machine = uname().nodename().to_string_lossy().into_owned();
    ProcessName { name: format!("{machine}-{}", std::process::id()), version: VERSION.to_owned() }
}

/// Says why a database cannot be used, and what to do.
pub(crate) fn cannot_use(error: &PgError) -> anyhow::Error {
    let what = chain(error);
    match error.remedy() {
        Some(remedy) => anyhow!("cannot use the database: {what}; {remedy}"),
        None => anyhow!("cannot use the database: {what}"),
    }
}
