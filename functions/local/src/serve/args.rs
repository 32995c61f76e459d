//! The arguments of `serve`, as they are given: each by itself is right or refused.

use std::net::SocketAddr;
use std::path::PathBuf;

use actions::Endpoint;
use chrono::{DateTime, Utc};
use clap::ValueEnum;
use recurrence::WrittenDate;
use runtime::Rate;
use url::Url;

/// The variable of the environment that may hold the token, so that no list of processes shows it.
pub(super) const TOKEN_VARIABLE: &str = "MINUTEHAND_TOKEN";

const TOKEN_HELP: &str = "\
The token that clients send as 'Authorization: Bearer T'; or set MINUTEHAND_TOKEN, which no list of \
processes shows [default: one that is made at the first start, and printed]";

const STORAGE_HELP: &str = "\
Where Storage queues are: the suffix of accounts, like core.chinacloudapi.cn, or the URL of an \
emulator, like http://127.0.0.1:10001";

const AMQP_HELP: &str = "\
Where Service Bus takes messages over AMQP: the suffix of namespaces, with a port or without, or a \
URL, like amqp://127.0.0.1:5672 [default: the same hosts, at port 5671]";

const AWS_HELP: &str = "\
Where SQS, SNS, Lambda and EventBridge are, like http://127.0.0.1:4566; signed with \
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, in AWS_REGION [default: nowhere: \
actions of these types are refused]";

const DATA: &str = "Data";
const ACCESS: &str = "Access";
const TLS: &str = "TLS";
const FIRING: &str = "Jobs";
const SERVICES: &str = "Services";
const LOG: &str = "Log";

/// What `minutehand serve` is given.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ServeArgs {
    /// Where to listen; port 0 takes a free one, which the last start-up line names
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7070", value_parser = address)]
    pub(super) listen: SocketAddr,

    /// The directory in which everything is kept [default: .minutehand]
    #[arg(long, value_name = "DIR", help_heading = DATA)]
    pub(super) data: Option<PathBuf>,
    /// Keep everything in memory: it is gone when the process ends
    #[arg(long, help_heading = DATA)]
    pub(super) memory: bool,
    /// What a power cut may take: the last 100 ms, or with full nothing [default: normal]
    #[arg(long, help_heading = DATA, value_name = "MODE")]
    pub(super) sync: Option<Sync>,

    /// The token that clients send as `Authorization: Bearer T`
    #[arg(long, value_name = "T", help_heading = ACCESS, help = TOKEN_HELP)]
    pub(super) token: Option<String>,
    /// The SHA-256 of each token, in hexadecimal, one a line, # for comments; a change is taken
    /// within a second, without a restart
    #[arg(long, value_name = "FILE", help_heading = ACCESS)]
    pub(super) token_file: Option<PathBuf>,
    /// Let everybody in; only on a loopback address
    #[arg(long, help_heading = ACCESS)]
    pub(super) no_auth: bool,

    /// The certificate, and the chain that leads to its issuer, as PEM
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    pub(super) tls_cert: Option<PathBuf>,
    /// Its private key, as PEM
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    pub(super) tls_key: Option<PathBuf>,
    /// Make a certificate for the address and localhost at the first start, and print where it is
    #[arg(long, help_heading = TLS)]
    pub(super) tls_self_signed: bool,
    /// Listen without TLS on other than a loopback address
    #[arg(long, help_heading = TLS)]
    pub(super) insecure_http: bool,

    /// Which parts to run, with commas between them; with api alone nothing fires
    #[arg(
        long,
        value_name = "ROLES",
        value_delimiter = ',',
        default_value = "api,sweeper,executor",
        help_heading = FIRING
    )]
    pub(super) roles: Vec<ServeRole>,
    /// Start the schedule's clock at another time; requests and time limits stay in real time
    #[arg(long, value_name = "RFC3339", value_parser = instant, help_heading = FIRING)]
    pub(super) clock_start: Option<DateTime<Utc>>,
    /// How many times as fast the schedule's clock runs, 0.1 to 100000
    #[arg(long, value_name = "N", help_heading = FIRING)]
    pub(super) clock_rate: Option<Rate>,
    /// Let jobs call private and loopback addresses [default: if listening on a loopback address]
    #[arg(long, help_heading = FIRING)]
    pub(super) allow_private_targets: bool,
    /// Let jobs call public addresses alone [default: if listening on any other address]
    #[arg(long, help_heading = FIRING)]
    pub(super) public_targets_only: bool,
    /// Whom the tokens of Active Directory come from; also if its address is private
    #[arg(
        long,
        value_name = "URL",
        default_value = actions::AUTHORITY,
        value_parser = authority,
        help_heading = FIRING
    )]
    pub(super) oauth_authority: String,
    /// Whether the limits of plans hold: jobs in a collection, how often they may fire
    #[arg(long, value_name = "on|off", default_value = "on", help_heading = FIRING)]
    pub(super) plan_limits: OnOff,

    /// Where Storage queues are.
    #[arg(
        long,
        value_name = "PLACE",
        help = STORAGE_HELP,
        default_value = actions::STORAGE_SUFFIX,
        value_parser = Endpoint::http,
        help_heading = SERVICES
    )]
    pub(super) storage_endpoint: Endpoint,
    /// Where Service Bus takes messages over HTTPS: the suffix of namespaces, or a URL
    #[arg(
        long,
        value_name = "PLACE",
        default_value = actions::SERVICE_BUS_SUFFIX,
        value_parser = Endpoint::http,
        help_heading = SERVICES
    )]
    pub(super) service_bus_endpoint: Endpoint,
    /// Where Service Bus takes messages over AMQP.
    #[arg(
        long,
        value_name = "PLACE",
        help = AMQP_HELP,
        value_parser = Endpoint::amqp,
        help_heading = SERVICES
    )]
    pub(super) service_bus_amqp_endpoint: Option<Endpoint>,
    /// Where services of AWS are.
    #[arg(long, value_name = "URL", help = AWS_HELP, value_parser = url, help_heading = SERVICES)]
    pub(super) aws_endpoint: Option<Url>,

    /// How the log is written, on standard error
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = LOG)]
    pub(super) log: Format,
    /// The least that is logged
    #[arg(long, value_name = "LEVEL", default_value = "info", help_heading = LOG)]
    pub(super) log_level: Level,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Sync {
    Normal,
    Full,
}

/// A part of the scheduler: one answers requests, one finds what is due, one performs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ServeRole {
    Api,
    Sweeper,
    Executor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OnOff {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let local = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    local
        .as_deref()
        .unwrap_or(text)
        .parse()
        .map_err(|_| "give an IP address and a port, like 127.0.0.1:7070 or [::1]:7070".to_owned())
}

fn authority(text: &str) -> Result<String, String> {
    let is_url = actions::is_authority(text);
    let want = "give an http or https URL, like https://login.microsoftonline.com";
    is_url.then(|| text.to_owned()).ok_or_else(|| want.to_owned())
}

fn url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(Url::has_host);
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
    url.ok_or_else(|| "give an http or https URL, like http://127.0.0.1:4566".to_owned())
}

fn instant(text: &str) -> Result<DateTime<Utc>, String> {
    WrittenDate::parse(text).and_then(|date| date.instant(None)).map_err(|error| error.to_string())
}
