//! The command line: arguments in, exit code out.

use std::collections::BTreeSet;
use std::env::VarError;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error, Parser, Subcommand};
use minutehand::backup::backup;
use minutehand::database::{self, Checked};
use minutehand::health;
use minutehand::installation::{self, ExportArgs, ImportArgs};
use minutehand::schema::schema;
use minutehand::serve::{
    COMMIT, DATA_DIR, DEMO_EXAMPLES, DatabaseArgs, DemoArgs, ServeArgs, ServeSettings, URL_DEFAULT,
    VERSION, demo, serve, store_version,
};
use minutehand::{BadArguments, archive};
use minutehand_archive_objects::Location;
use minutehand_client::ServerUrl;
use minutehand_domain::document::{JOB, Shape};

use crate::help;
use crate::preview_command::{EXAMPLES, PreviewArgs, Unshown};
use crate::tips::with_tip;
use crate::token_command::TokenCommand;
use crate::words;

/// Exit code if a file cannot be read or written, or the server cannot run.
const FAILED: u8 = 1;
/// Exit code if an argument or a job is invalid.
const REFUSED: u8 = 2;
/// The end of each error of the command line.
const FOOTER: &str = "For more information";
/// Longer help lines are hard to read, however wide the terminal is.
const HELP_WIDTH_MAX: usize = 100;

const SERVE_EXAMPLES: &str = "\
Examples:
  minutehand serve
  minutehand serve --memory --no-auth --listen 127.0.0.1:0
  minutehand serve --data /var/lib/minutehand \\
      --listen 10.0.0.5:7070 --tls-self-signed
  minutehand serve --memory \\
      --clock-start 2027-03-28T00:00:00Z --clock-rate 3600

  MINUTEHAND_DATABASE=postgres://minutehand@db.example/minutehand \\
      minutehand serve --key-file minutehand.key --token-file tokens

Environment:
  MINUTEHAND_TOKEN     the token; --token takes precedence
  MINUTEHAND_DATABASE  the database of many processes; --database takes precedence
  MINUTEHAND_KEY       the key that seals secrets there; --key-file takes precedence
  PGPASSWORD, PGPASSFILE  the password of the database, as libpq reads it

Output: the start-up lines go to standard output; the last one shows the address. The log goes to \
standard error.

Shutdown: SIGTERM, SIGINT and SIGHUP stop the server. It starts no more actions, waits for those \
under way for the seconds of --drain, and exits within 3 s more; a second signal stops it \
immediately. Actions that are interrupted are sent again at the next start.

Guarantees: every occurrence that is due runs at least once, and never early. If occurrences of a \
job fell due while no server ran, the last one runs. GET /metrics reports what fires.

Data: the data directory contains everything, including the key that seals secrets. Anyone with a \
copy of it can read them. Only one process can use it at a time. With --database, any number of \
processes share a PostgreSQL, each with the same key; shared/docs/postgres.md shows how.

Exit codes:
  0  stopped by a signal
  1  cannot start or continue: port or data directory in use, unreadable file, no database
  2  invalid argument";

const BACKUP_EXAMPLES: &str = "\
Examples:
  minutehand backup /backups/monday --data /var/lib/minutehand
  minutehand serve --data /backups/monday

The second command restores: it serves from the copy.

The server may run. The copy has everything as it was at one moment: jobs, history, what is still to \
run, and dead letters. Never copy the directory of a running server with other programs: its files would \
be of different moments.

Exit codes:
  0  success
  1  failure: a file cannot be read or written
  2  invalid argument";

const ARCHIVE_REPAIR_EXAMPLES: &str = "\
Examples:
  minutehand archive repair --day 2026-11-20 --data /var/lib/minutehand

It writes what the store has of the day and the archive has not. An object that is damaged is replaced
by what can be read of it. Objects that can be read stay as they are, so a repair loses nothing and can
be repeated. The server may run meanwhile.

Exit codes:
  0  success
  1  failure: the archive or the data directory cannot be read or written
  2  invalid argument";

const EXPORT_EXAMPLES: &str = "\
Examples:
  minutehand installation export /mnt/nas --data /var/lib/minutehand
  minutehand installation export s3://backups/minutehand \\
      --data /var/lib/minutehand --seal-to move.key

It writes the folder backup/TIME: cloud services, collections, jobs with their timers and counters, and \
retries that wait, as JSON lines in gzip. The file manifest.json comes last; a folder without it is no \
backup.

The data directory must not be in use. While its server runs, export from a copy that `minutehand \
backup` has made. A directory of an older version gets the format of this one, as by a start.

Secrets are in the backup as they are sealed, and open with the key of the installation only. With \
--seal-to they are sealed with a new key, which is written to FILE. With FILE and the export, anybody \
can read the secrets: keep them apart.

Environment:
  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and
  AWS_ENDPOINT_URL are for s3://

Exit codes:
  0  success
  1  failure: something cannot be read or written
  2  invalid argument";

const IMPORT_EXAMPLES: &str = "\
Examples:
  minutehand installation import /mnt/nas --data /var/lib/minutehand
  minutehand installation import /mnt/nas --data new --backup 2026-11-20T010512Z
  minutehand installation import s3://backups/minutehand \\
      --data /var/lib/minutehand --unseal-with move.key

To move an installation so that nothing fires twice:
  1. at the source: minutehand collection disable NAME, for each;
     wait for 2 minutes, until what runs has ended
  2. minutehand installation export PLACE --data SOURCE
  3. minutehand installation import PLACE --data TARGET
  4. at the target: minutehand collection enable NAME, for each
Never enable a collection again at the source.

It takes the newest backup of the place, also of those that `serve --archive PLACE` writes each day. For \
these, first copy the file `key` of the lost data directory into the new one.

Everything is checked before anything is written. All collections come disabled, so nothing fires before \
step 4, and what is due before it is left out. An import that was interrupted continues when it is repeated. Ids \
stay, so history in an archive belongs to the same jobs.

Environment:
  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and
  AWS_ENDPOINT_URL are for s3://

Exit codes:
  0  success
  1  failure: the backup is damaged or does not fit, or a place cannot be used
  2  invalid argument";

const HEALTH_EXAMPLES: &str = "\
Examples:
  minutehand health
  minutehand health --server https://127.0.0.1:7070
  minutehand health --server https://10.0.0.5:7070 --ca .minutehand/tls-cert.pem

Environment:
  MINUTEHAND_URL  the server, as --server; an argument comes first

It asks for /healthz, which needs no token. On a loopback address the server may show any
certificate; elsewhere the system or --ca has to trust it.

Exit codes:
  0  the server is healthy
  1  it is not, or did not answer in time; standard error says why
  2  an argument is refused";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  minutehand schema > minutehand.schema.json

A file of JSON names it: {\"$schema\": \"./minutehand.schema.json\", \"collection\": …}. A file of \
YAML begins with a comment for the editor:
  # yaml-language-server: $schema=minutehand.schema.json";

/// The variable of the environment that may hold the URL of the server to ask.
const URL_VARIABLE: &str = "MINUTEHAND_URL";
const URL_HELP: &str = "The server; or set MINUTEHAND_URL [default: http://127.0.0.1:7070]";

/// Job scheduler: calls URLs and sends messages on a calendar, with retries and history
#[derive(Parser)]
#[command(name = "minutehand", version = version(), max_term_width = HELP_WIDTH_MAX)]
#[command(after_long_help = minutehand_cli::EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the scheduler on this machine
    #[command(after_long_help = SERVE_EXAMPLES)]
    Serve(Box<ServeArgs>),
    /// Take the tour: thirty jobs on a fast clock, in memory
    #[command(after_long_help = DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// Show when a job would fire, without a server
    #[command(after_long_help = EXAMPLES)]
    Preview(Box<PreviewArgs>),
    /// Print the JSON Schema of the files of apply, for editors
    #[command(after_long_help = SCHEMA_EXAMPLES)]
    Schema,
    /// Copy a data directory, while its server runs or when it is stopped
    #[command(after_long_help = BACKUP_EXAMPLES)]
    Backup(BackupArgs),
    /// Look after the archive of `serve --archive`
    #[command(subcommand)]
    Archive(ArchiveCommand),
    /// Carry collections and jobs to another installation, or keep them as files
    #[command(subcommand)]
    Installation(InstallationCommand),
    /// Look at a PostgreSQL database of many processes, and make its tables
    #[command(subcommand)]
    Database(DatabaseCommand),
    /// Make tokens for the file of `serve --token-file`
    #[command(subcommand)]
    Token(TokenCommand),
    /// Ask a running server whether it is healthy
    #[command(after_long_help = HEALTH_EXAMPLES)]
    Health(HealthArgs),
    #[command(flatten)]
    Client(Box<minutehand_cli::Command>),
}

const ENVIRONMENT: minutehand_cli::Environment =
    minutehand_cli::Environment { variable: environment, now };
const COMPLETION: minutehand_cli::ShellCompletion =
    minutehand_cli::ShellCompletion { environment: ENVIRONMENT, properties, words: typed_words };

#[derive(clap::Args)]
struct HealthArgs {
    /// The server.
    #[arg(long, alias = "url", value_name = "URL", help = URL_HELP, value_parser = ServerUrl::parse)]
    server: Option<ServerUrl>,
    /// The certificates to trust instead of the system's, as PEM
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// How many seconds the answer may take
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=300))]
    timeout: u64,
}

#[derive(clap::Args)]
struct BackupArgs {
    /// Directory to create for the copy; it must not exist
    target: PathBuf,
    /// Data directory to copy
    #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
    data: PathBuf,
}

#[derive(Subcommand)]
enum ArchiveCommand {
    /// Write a day of the archive again
    #[command(after_long_help = ARCHIVE_REPAIR_EXAMPLES)]
    Repair(ArchiveRepairArgs),
}

#[derive(clap::Args)]
struct ArchiveRepairArgs {
    /// The day, in UTC: of occurrences, and of changes in the journal
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    day: NaiveDate,
    /// Data directory that has the history
    #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
    data: PathBuf,
    /// The archive [default: the one that the data directory has used last]
    #[arg(long, value_name = "DIR|s3://…", value_parser = Location::parse)]
    archive: Option<Location>,
}

#[derive(Subcommand)]
enum InstallationCommand {
    /// Write collections and jobs as a backup
    #[command(after_long_help = EXPORT_EXAMPLES)]
    Export(ExportArgs),
    /// Bring the collections and jobs of a backup into an installation
    #[command(after_long_help = IMPORT_EXAMPLES)]
    Import(ImportArgs),
}

#[derive(Subcommand)]
enum DatabaseCommand {
    /// Tell whether the database can be used, and what to do about it
    #[command(after_long_help = database::CHECK_EXAMPLES)]
    Check(DatabaseArgs),
    /// Make the tables of this version, which `serve` also does
    #[command(after_long_help = database::MIGRATE_EXAMPLES)]
    Migrate(DatabaseArgs),
}

/// Runs the command that the arguments name.
pub(crate) fn run() -> ExitCode {
    minutehand_cli::complete(|| minutehand_cli::with_values(Cli::command(), COMPLETION));
    let mut given = words::in_order(std::env::args_os().collect(), &Cli::command());
    show_help(&mut given);
    let cli = parse(given).unwrap_or_else(|(earlier, last)| {
        let mut out = io::stderr().lock();
        for error in earlier {
            let text = with_tip(error, &Cli::command()).to_string();
            // If standard error cannot be written, there is no other place to report it.
            let _ = writeln!(out, "{}", text.split(FOOTER).next().unwrap_or_default().trim_end());
        }
        with_tip(last, &Cli::command()).exit()
    });
    match cli.command {
        Command::Serve(args) => tell(run_server(&args)),
        Command::Demo(args) => tell(demo(&args, environment).map(|()| "")),
        Command::Preview(args) => match args.run(now()) {
            Ok(text) => print(&text),
            Err(Unshown { is_refused, message, detail }) => {
                fail(if is_refused { REFUSED } else { FAILED }, message, detail)
            }
        },
        Command::Schema => tell(schema()),
        Command::Backup(args) => tell(backup(&args.data, &args.target)),
        Command::Archive(ArchiveCommand::Repair(args)) => {
            tell(archive::repair(&args.data, args.archive, args.day, environment))
        }
        Command::Installation(InstallationCommand::Export(args)) => {
            tell(installation::export(&args, environment))
        }
        Command::Installation(InstallationCommand::Import(args)) => {
            tell(installation::import(&args, environment))
        }
        Command::Database(DatabaseCommand::Check(args)) => check_database(&args),
        Command::Database(DatabaseCommand::Migrate(args)) => {
            tell(database::migrate(&args, environment))
        }
        Command::Token(TokenCommand::Create(args)) => print(&args.run()),
        Command::Health(args) => health(args),
        Command::Client(command) => minutehand_cli::run(*command, Cli::command(), ENVIRONMENT),
    }
}

/// Shows help and ends the process, if the words ask for it.
fn show_help(words: &mut Vec<OsString>) {
    let Some(asked) = help::asked(words, &Cli::command()) else { return };
    let described = help::described(Cli::command(), asked);
    match described.max_term_width(HELP_WIDTH_MAX).try_get_matches_from(words.iter()) {
        Err(error) if error.kind() == ErrorKind::DisplayHelp => error.exit(),
        // A mistake is found again, and told with its remedy.
        Ok(_) | Err(_) => {}
    }
}

/// What a property of a job may begin with, as far as it is typed: the names at one level.
fn properties(typed: &str) -> Vec<String> {
    let (before, last) = typed.rsplit_once('.').unwrap_or(("", typed));
    let mut shape = inner(JOB, "properties");
    // Bounded by what is typed.
    for name in before.split('.').filter(|name| !name.is_empty()) {
        shape = inner(shape, name);
    }
    let (Shape::Object(known) | Shape::Whole(known)) = shape else { return Vec::new() };
    let begun = known.iter().filter(|(name, _)| name.starts_with(last));
    let names: BTreeSet<String> = begun
        .map(|(name, inner)| {
            let end = if matches!(inner, Shape::Object(_) | Shape::Whole(_)) { '.' } else { '=' };
            let dot = if before.is_empty() { "" } else { "." };
            format!("{before}{dot}{name}{end}")
        })
        .collect();
    names.into_iter().collect()
}

/// The shape of a property.
fn inner(shape: Shape, name: &str) -> Shape {
    let (Shape::Object(known) | Shape::Whole(known)) = shape else { return Shape::Leaf };
    known.iter().find(|(known, _)| *known == name).map_or(Shape::Leaf, |(_, inner)| *inner)
}

fn typed_words() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Parses the command line. It goes on after an option with a wrong value, so that the user reads of
/// all of them at once. The error is the last one, with those before it.
fn parse(mut words: Vec<OsString>) -> Result<Cli, (Vec<Error>, Error)> {
    let mut earlier = Vec::new();
    loop {
        let error = match (Cli::try_parse_from(&words), earlier.pop()) {
            (Ok(cli), None) => return Ok(cli),
            (Ok(_), Some(last)) => return Err((earlier, last)),
            // An option that was taken out may be missing now.
            (Err(error), Some(last)) if error.kind() == ErrorKind::MissingRequiredArgument => {
                return Err((earlier, last));
            }
            (Err(error), last) => {
                earlier.extend(last);
                error
            }
        };
        let Some(place) = place_of_value(&error, &words) else {
            return Err((earlier, error));
        };
        words.drain(place);
        earlier.push(error);
    }
}

/// Where the option stands whose value is wrong.
fn place_of_value(error: &Error, words: &[OsString]) -> Option<Range<usize>> {
    let (Some(ContextValue::String(option)), Some(ContextValue::String(value))) =
        (error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue))
    else {
        return None;
    };
    let option = option.split(' ').next().filter(|option| option.starts_with("--"))?;
    // A list has the value between commas.
    let is_wrong = |given: &str| given == value || given.split(',').any(|part| part == value);
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    words.iter().enumerate().find_map(|(n, word)| {
        let rest = word.strip_prefix(option)?;
        let next = words.get(n + 1).filter(|next| rest.is_empty() && is_wrong(next));
        match (rest.strip_prefix('='), next) {
            (Some(given), _) if is_wrong(given) => Some(n..n + 1),
            (None, Some(_)) => Some(n..n + 2),
            (Some(_) | None, _) => None,
        }
    })
}

fn health(args: HealthArgs) -> ExitCode {
    let given = args.server.map(Ok).or_else(|| {
        let url = environment(URL_VARIABLE).filter(|url| !url.is_empty())?;
        Some(ServerUrl::parse(&url).map_err(|why| format!("{URL_VARIABLE}: {why}")))
    });
    let url = match given.unwrap_or_else(|| ServerUrl::parse(URL_DEFAULT)) {
        Ok(url) => url,
        Err(problem) => return fail(REFUSED, problem, None),
    };
    let checked = health::check(&url, args.ca.as_deref(), Duration::from_secs(args.timeout));
    tell(checked.map(|line| format!("{line}\n")))
}

/// Serves; the answer, once it is over, is nothing to print.
fn run_server(args: &ServeArgs) -> anyhow::Result<&'static str> {
    serve(ServeSettings::read(args, environment).map_err(BadArguments)?)?;
    Ok("")
}

fn check_database(args: &DatabaseArgs) -> ExitCode {
    match database::check(args, environment) {
        Ok(Checked { report, failed: 0 }) => print(&report),
        Ok(Checked { report, failed }) => {
            print(&report);
            fail(FAILED, format!("{failed} of these need something done"), None)
        }
        Err(error) => fail_of(error),
    }
}

#[expect(clippy::disallowed_methods, reason = "the binary is where the environment is read")]
fn environment(name: &str) -> Option<String> {
    match std::env::var(name) {
        Ok(value) => Some(value),
        Err(VarError::NotPresent) => None,
        // Kept, so that the setting is reported as invalid instead of being ignored.
        Err(VarError::NotUnicode(value)) => Some(value.to_string_lossy().into_owned()),
    }
}

#[expect(clippy::disallowed_methods, reason = "the binary is where the clock is read")]
fn now() -> DateTime<Utc> {
    Utc::now()
}

fn day(text: &str) -> Result<NaiveDate, String> {
    text.parse().map_err(|_| "give a day like 2026-11-20".to_owned())
}

fn version() -> String {
    let (store, zones) = (store_version(), minutehand_recurrence::zone::database_version());
    format!("{VERSION} (commit {COMMIT}, store {store}, time zones {zones})")
}

/// Prints what was done, or why it was not.
fn tell<T: Display>(done: anyhow::Result<T>) -> ExitCode {
    match done {
        Ok(done) => print(&done.to_string()),
        Err(error) => fail_of(error),
    }
}

/// Prints an error, or each problem of arguments.
fn fail_of(error: anyhow::Error) -> ExitCode {
    match error.downcast::<BadArguments>() {
        Ok(BadArguments(problems)) => {
            for problem in problems {
                fail(REFUSED, problem, None);
            }
            ExitCode::from(REFUSED)
        }
        Err(error) => fail(FAILED, format!("{error:#}"), None),
    }
}

fn print(text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // The reader, such as `head`, has closed the pipe on purpose.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => fail(FAILED, format!("cannot write the output: {error}"), None),
        Ok(()) => ExitCode::SUCCESS,
    }
}

fn fail(code: u8, message: impl Display, detail: Option<String>) -> ExitCode {
    // If standard error cannot be written, there is no other place to report it.
    let mut out = io::stderr().lock();
    let _ = writeln!(out, "error: {message}");
    if let Some(detail) = detail {
        let _ = writeln!(out, "  {detail}");
    }
    ExitCode::from(code)
}
