//! The arguments of `serve`. Each value is checked by itself here; `settings` checks how they combine.

use std::net::SocketAddr;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::{ArgAction, ValueEnum};
use minutehand_actions::Endpoint;
use minutehand_archive_objects::Location;
use minutehand_cli::one_of;
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::plan::PlanLimits;
use minutehand_outbound::HeartbeatUrl;
use minutehand_recurrence::WrittenDate;
use minutehand_runtime::{LOG_LEVELS, LevelFilter, LogFormat, Rate};
use minutehand_store_sql::sqlite::Durability;
use rustls::pki_types::ServerName;
use url::Url;

use super::database::{DatabaseArgs, KeyArgs};

/// The environment variable for the token. Unlike an argument, it does not appear in process lists.
pub(super) const TOKEN_VARIABLE: &str = "MINUTEHAND_TOKEN";

const ARCHIVE_HELP: &str = "Keep history for good";
const ARCHIVE_LONG_HELP: &str = "\
Keep history for good, in a folder or in s3://bucket/prefix

It gets the history and the journal of each day when the day is over, and nothing expires before. A \
folder has to exist: to create it could hide a file system that is not mounted. A bucket takes \
AWS_REGION from the environment, AWS_ENDPOINT_URL_S3 for a service other than Amazon's, and \
credentials from there (AWS_ACCESS_KEY_ID and so on), from a profile, or from the role of the workload, \
the container or the machine.";

const TOKEN_HELP: &str = "Token that clients send; MINUTEHAND_TOKEN is safer [default: created]";

const TOKEN_LONG_HELP: &str = "\
Token that clients send as 'Authorization: Bearer T'. The environment variable MINUTEHAND_TOKEN is \
safer: arguments appear in process lists; if it is empty, it counts as not set [default: created at \
the first start, and printed]";

const PUBLIC_URL_HELP: &str =
    "Address at which this server is reached from outside, such as https://jobs.example.org";

const PUBLIC_URL_LONG_HELP: &str = "\
Address at which this server is reached from outside, such as https://jobs.example.org

Targets that answer 202 report the end of their work below it. Jobs with 'minutehand.completion' need it.";

/// The environment variable for the URL that is pinged, which is a secret.
pub(super) const HEARTBEAT_VARIABLE: &str = "MINUTEHAND_HEARTBEAT_URL";

const HEARTBEAT_HELP: &str =
    "URL to GET each minute while jobs fire, so that another watcher notices if they do not";

const HEARTBEAT_LONG_HELP: &str = "\
URL to GET each minute while timers are swept and attempts are made, so that another watcher, such as \
Healthchecks, notices if they are not. The environment variable MINUTEHAND_HEARTBEAT_URL is safer: \
arguments appear in process lists";

const STORAGE_HELP: &str = "Azure Storage queues: the domain suffix of accounts, or a URL";

const STORAGE_LONG_HELP: &str = "\
Azure Storage queues: the domain suffix of accounts, like core.chinacloudapi.cn, or the URL of an \
emulator, like http://127.0.0.1:10001";

const AMQP_HELP: &str = "Azure Service Bus over AMQP: the domain suffix of namespaces, or a URL";

const AMQP_LONG_HELP: &str = "\
Azure Service Bus over AMQP: the domain suffix of namespaces, with or without a port, or a URL, like \
amqp://127.0.0.1:5672 [default: the same hosts as over HTTPS, port 5671]";

const OWN_AWS_HELP: &str = "Let jobs send to SQS, SNS, Lambda and EventBridge of AWS";

const OWN_AWS_LONG_HELP: &str = "\
Let jobs send to SQS, SNS, Lambda and EventBridge of AWS, with the rights of this process: AWS_REGION or the \
region of the profile, and credentials from the environment (AWS_ACCESS_KEY_ID and so on), from a profile, or from the role of the \
workload, the container or the machine [default: jobs with these action types are rejected]";

const AWS_HELP: &str = "Endpoint of SQS, SNS, Lambda and EventBridge [default: none]";

const AWS_LONG_HELP: &str = "\
Endpoint of SQS, SNS, Lambda and EventBridge in place of --aws, like http://127.0.0.1:4566. Requests are signed with \
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, for AWS_REGION [default: none; jobs \
with these action types are rejected]";

/// The most backups that may be kept: ten years of them.
const BACKUPS_MAX: u32 = 3_660;

fn backups(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| *number <= BACKUPS_MAX);
    number.ok_or_else(|| format!("give a number of days from 0 to {BACKUPS_MAX}"))
}

/// The longest drain in seconds: an action, and what comes after it.
const DRAIN_MAX: u64 = 70;

const DATA: &str = "Data";
const ACCESS: &str = "Access";
const TLS: &str = "TLS";
const FIRING: &str = "Jobs";
const SERVICES: &str = "Services";
const LOG: &str = "Log";

/// The arguments of `minutehand serve`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ServeArgs {
    /// Address and port to listen on
    ///
    /// Port 0 picks a free port, which the last start-up line shows.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7070", value_parser = address)]
    pub(super) listen: SocketAddr,

    /// Directory for all data [default: .minutehand]
    #[arg(long, value_name = "DIR", help_heading = DATA)]
    pub(super) data: Option<PathBuf>,
    /// Keep everything in memory; all data is lost when the process ends
    #[arg(long, help_heading = DATA)]
    pub(super) memory: bool,
    /// How much recent data a power cut may lose: up to 100 ms (normal) or none (full)
    /// [default: normal]
    #[arg(
        long,
        help_heading = DATA,
        value_name = "MODE",
        value_parser = one_of([("normal", Durability::Normal), ("full", Durability::Full)])
    )]
    pub(super) sync: Option<Durability>,
    #[arg(
        long,
        value_name = "DIR|s3://…",
        help = ARCHIVE_HELP,
        long_help = ARCHIVE_LONG_HELP,
        value_parser = Location::parse,
        help_heading = DATA
    )]
    pub(super) archive: Option<Location>,
    /// Bodies of answers to keep in the archive
    ///
    /// If an HTTP action fails with an answer, the first 256 KB of it are kept for as long as history. `job
    /// history --body` prints them. Targets wrote them, so they may contain data of the targets.
    #[arg(long, value_name = "WHICH", default_value = "none", action = ArgAction::Set, value_parser = one_of([("none", false), ("failures", true)]), help_heading = DATA, hide_short_help = true)]
    pub(super) keep_bodies: bool,
    /// Daily backups that are kept in the archive; 0 for none [default: 35 with --archive]
    ///
    /// A backup has all collections and jobs, and `installation import` makes an installation of it. Its
    /// secrets are sealed with the key of the data directory, which no backup contains: keep a copy of the
    /// key elsewhere. Exports that you make yourself are never deleted.
    #[arg(long, value_name = "N", value_parser = backups, help_heading = DATA, hide_short_help = true)]
    pub(super) backups_kept: Option<u32>,
    /// Start without a lost key: jobs that need a secret are disabled
    ///
    /// If no backup has the key. The server makes a new one. It disables the jobs whose secrets cannot be
    /// opened, removes such failure actions from collections, and names each of them in the log: send them
    /// again, with their secrets. With the right key it changes nothing.
    #[arg(long, hide_short_help = true, help_heading = DATA)]
    pub(super) forget_secrets: bool,
    /// Start on a copy whose files do not belong together
    ///
    /// A copy of a running server's directory may have a database and a log of different moments. Without this,
    /// the server refuses it. With it, the server checks the whole database, recovers what it can from the files,
    /// and says in the log what may be missing. A backup is better: `minutehand backup` copies a running server.
    #[arg(long, hide_short_help = true, help_heading = DATA)]
    pub(super) accept_copy: bool,
    /// Days for which history is kept: 7, 15, 30 or 60
    ///
    /// It holds for what ends from then on. Messages and dead letters are kept a day less: a machine that
    /// is off for longer than that forgets what was under way when it stopped. With an archive, older
    /// history is read from there. Jobs that are over stay for 60 days in any case.
    #[arg(long, value_name = "DAYS", default_value_t, help_heading = DATA)]
    pub(super) history_days: HistoryDays,

    #[command(flatten)]
    pub(super) database: DatabaseArgs,
    #[command(flatten)]
    pub(super) key: KeyArgs,
    /// Refuse to start where tables are missing, instead of making them
    ///
    /// For a role that may not create tables: `minutehand database migrate` makes them with another one.
    #[arg(long, help_heading = DATA, hide_short_help = true)]
    pub(super) no_migrate: bool,

    /// Token that clients send as `Authorization: Bearer T`
    #[arg(long, value_name = "T", help_heading = ACCESS, help = TOKEN_HELP, long_help = TOKEN_LONG_HELP)]
    pub(super) token: Option<String>,
    /// File with the SHA-256 hash of each token, one per line
    ///
    /// `minutehand token create` prints such a line. It is what sha256sum prints, and may end with
    /// scope=read (GET and HEAD only), scope=run (also POST …/run) or scope=all, which is the default,
    /// and with collections=PATTERN,…, the only collections that the token reaches. # starts a comment,
    /// which names the token in the journal. Changes take effect within a second, without a restart.
    #[arg(long, value_name = "FILE", help_heading = ACCESS)]
    pub(super) token_file: Option<PathBuf>,
    /// File with the thumbprint of each client certificate that opens the classic API, one per line
    ///
    /// A line is the SHA-1 or SHA-256 of a certificate, and may end with the subscription that it
    /// opens; without one it opens all. # starts a comment. Changes take effect within a second,
    /// without a restart.
    #[arg(long, value_name = "FILE", help_heading = ACCESS)]
    pub(super) management_certificates: Option<PathBuf>,
    /// Accept requests without a token; only on a loopback address
    #[arg(long, help_heading = ACCESS)]
    pub(super) no_auth: bool,

    /// Certificate in PEM format, followed by the certificates of its issuers
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    pub(super) tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM format
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    pub(super) tls_key: Option<PathBuf>,
    /// Create a certificate for the address and localhost at the first start, and print its path
    #[arg(long, help_heading = TLS)]
    pub(super) tls_self_signed: bool,
    /// Name or IP address that clients use, for --tls-self-signed; may be repeated
    ///
    /// A certificate that lacks one of the names is created again, and clients have to trust the new
    /// one.
    #[arg(long, value_name = "NAME", value_parser = tls_name, help_heading = TLS)]
    pub(super) tls_name: Vec<String>,
    /// Listen without TLS on an address that other machines reach
    ///
    /// For example behind a proxy that provides TLS.
    #[arg(long, help_heading = TLS)]
    pub(super) insecure_http: bool,

    /// Parts to run, separated by commas; with only the api, no job fires
    #[arg(
        long,
        value_name = "ROLES",
        value_delimiter = ',',
        default_value = "api,sweeper,executor",
        help_heading = FIRING
    )]
    pub(super) roles: Vec<ServeRole>,
    /// Seconds that a shutdown waits for actions under way, up to 70
    ///
    /// The process ends within this time and 3 seconds. Actions that take longer are interrupted, and
    /// sent again at the next start.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 7,
        value_parser = clap::value_parser!(u64).range(..=DRAIN_MAX),
        help_heading = FIRING
    )]
    pub(super) drain: u64,
    /// Start the scheduler's clock at this time; timeouts still run in real time
    #[arg(long, value_name = "RFC3339", value_parser = instant, help_heading = FIRING)]
    pub(super) clock_start: Option<DateTime<Utc>>,
    /// Speed of the scheduler's clock: 0.1 to 100000 times real time
    #[arg(long, value_name = "N", help_heading = FIRING)]
    pub(super) clock_rate: Option<Rate>,
    /// Directory with the time zones of the system, like /usr/share/zoneinfo [default: built in]
    ///
    /// Its TZif files are read at the start and replace the built-in ones. A zone that it lacks stays as it is
    /// built in, and a zone that is not built in is not added.
    #[arg(long, value_name = "DIR", help_heading = FIRING, hide_short_help = true)]
    pub(super) zones: Option<PathBuf>,
    /// Let jobs call private and loopback addresses
    /// [default if the server listens on a loopback address]
    #[arg(long, help_heading = FIRING)]
    pub(super) allow_private_targets: bool,
    /// Let jobs call public addresses only
    /// [default if the server listens on any other address]
    #[arg(long, help_heading = FIRING)]
    pub(super) public_targets_only: bool,
    /// Server that issues Active Directory OAuth tokens to jobs; its address may be private
    #[arg(
        long,
        value_name = "URL",
        default_value = minutehand_actions::AUTHORITY,
        value_parser = authority,
        hide_short_help = true,
        help_heading = FIRING
    )]
    pub(super) oauth_authority: String,
    #[arg(long, value_name = "URL", help = PUBLIC_URL_HELP, long_help = PUBLIC_URL_LONG_HELP, value_parser = public_url, hide_short_help = true, help_heading = FIRING)]
    pub(super) public_url: Option<String>,
    #[arg(long, value_name = "URL", help = HEARTBEAT_HELP, long_help = HEARTBEAT_LONG_HELP, help_heading = FIRING, hide_short_help = true)]
    pub(super) heartbeat_url: Option<HeartbeatUrl>,
    /// Enforce the limits of Azure's plans, such as 50 jobs in a collection of the plan Standard; a
    /// collection's own quota always applies
    #[arg(
        long,
        value_name = "on|off",
        default_value = "off",
        value_parser = one_of([("on", PlanLimits::On), ("off", PlanLimits::Off)]),
        help_heading = FIRING
    )]
    pub(super) plan_limits: PlanLimits,

    /// Time limit of an action in seconds, for tests: with the real one they would take minutes.
    #[arg(long, hide = true, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=60))]
    pub(super) test_action_limit: Option<u64>,

    /// Azure Storage queues.
    #[arg(
        long,
        value_name = "SUFFIX|URL",
        help = STORAGE_HELP,
        long_help = STORAGE_LONG_HELP,
        default_value = minutehand_actions::STORAGE_SUFFIX,
        value_parser = Endpoint::http,
        help_heading = SERVICES
    )]
    pub(super) storage_endpoint: Endpoint,
    /// Azure Service Bus over HTTPS: the domain suffix of namespaces, or a URL
    #[arg(
        long,
        value_name = "SUFFIX|URL",
        default_value = minutehand_actions::SERVICE_BUS_SUFFIX,
        value_parser = Endpoint::http,
        help_heading = SERVICES
    )]
    pub(super) service_bus_endpoint: Endpoint,
    /// Azure Service Bus over AMQP.
    #[arg(
        long,
        value_name = "SUFFIX|URL",
        help = AMQP_HELP,
        long_help = AMQP_LONG_HELP,
        value_parser = Endpoint::amqp,
        help_heading = SERVICES
    )]
    pub(super) service_bus_amqp_endpoint: Option<Endpoint>,
    /// Let jobs send to services of AWS.
    #[arg(long, help = OWN_AWS_HELP, long_help = OWN_AWS_LONG_HELP, help_heading = SERVICES)]
    pub(super) aws: bool,
    /// Endpoint of AWS services.
    #[arg(long, value_name = "URL", help = AWS_HELP, long_help = AWS_LONG_HELP, value_parser = url, hide_short_help = true, help_heading = SERVICES)]
    pub(super) aws_endpoint: Option<Url>,

    /// Format of the log, which goes to standard error
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        value_parser = one_of([("text", LogFormat::Text), ("json", LogFormat::Json)]),
        help_heading = LOG
    )]
    pub(super) log: LogFormat,
    /// Least severe level to log
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = one_of(LOG_LEVELS), help_heading = LOG)]
    pub(super) log_level: LevelFilter,
}

/// A part of the scheduler: the API answers requests, the sweeper finds due jobs, the executor runs
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ServeRole {
    Api,
    Sweeper,
    Executor,
}

pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let local = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    local
        .as_deref()
        .unwrap_or(text)
        .parse()
        .map_err(|_| "give an IP address and a port, like 127.0.0.1:7070 or [::1]:7070".to_owned())
}

/// The name of a host as a certificate has it, or an IP address.
fn tls_name(text: &str) -> Result<String, String> {
    let name = ServerName::try_from(text).map_err(|_| {
        "give a host name or an IP address, like scheduler.example.org or 10.0.0.5".to_owned()
    })?;
    Ok(name.to_str().to_ascii_lowercase())
}

fn authority(text: &str) -> Result<String, String> {
    let is_url = minutehand_actions::is_authority(text);
    let want = "give an http or https URL, like https://login.microsoftonline.com";
    is_url.then(|| text.to_owned()).ok_or_else(|| want.to_owned())
}

fn public_url(text: &str) -> Result<String, String> {
    let bare = url(text).ok().filter(|url| url.query().is_none() && url.fragment().is_none());
    let bare =
        bare.ok_or("give an http or https URL without a query, like https://jobs.example.org")?;
    Ok(bare.as_str().trim_end_matches('/').to_owned())
}

fn url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(Url::has_host);
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
    url.ok_or_else(|| "give an http or https URL, like http://127.0.0.1:4566".to_owned())
}

fn instant(text: &str) -> Result<DateTime<Utc>, String> {
    WrittenDate::parse(text).and_then(|date| date.instant(None)).map_err(|error| error.to_string())
}
