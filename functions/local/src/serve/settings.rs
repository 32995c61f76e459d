//! The settings of `serve`: arguments and environment together, checked for combinations that do not
//! work. All problems are reported at once.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf, absolute};
use std::time::Duration;

use chrono::{DateTime, Utc};
use minutehand_actions::{ActionSettings, Aws, TargetPolicy};
use minutehand_archive_objects::{Location, Objects};
use minutehand_domain::arn::is_region;
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::plan::PlanLimits;
use minutehand_outbound::{AwsEnvironment, HeartbeatUrl, Provider, region_of_profile};
use minutehand_runtime::{LevelFilter, LogFormat, Rate, chain, system_now};
use minutehand_store_sql::sqlite::Durability;
use zeroize::Zeroizing;

use super::args::{HEARTBEAT_VARIABLE, ServeArgs, ServeRole, TOKEN_VARIABLE};
use super::build_info::VERSION;
use super::database::{DatabasePlace, GivenKey, refuse_without_database};
use crate::Variables;
use crate::archive::is_known;

/// The data directory if none is given.
pub const DATA_DIR: &str = ".minutehand";

/// The daily backups that are kept if nothing else is asked for.
const BACKUPS_KEPT: u32 = 35;

/// The region for AWS actions that name none, if `AWS_REGION` is not set.
const AWS_REGION: &str = "us-east-1";

/// The settings of one `serve` process.
#[derive(Debug)]
pub struct ServeSettings {
    pub(super) listen: SocketAddr,
    pub(super) storage: Storage,
    /// The time zones of the system; `None` for the built-in ones.
    pub(super) zones: Option<PathBuf>,
    /// Where history is kept for good.
    pub(super) archive: Option<Objects>,
    /// Whether bodies of failures are kept there.
    pub(super) keep_bodies: bool,
    /// How many daily backups are kept there; `None` if none are made.
    pub(super) backups_kept: Option<NonZeroU32>,
    /// Whether the key of the data directory may be lost.
    pub(super) forget_secrets: bool,
    /// For how long history is kept in the data directory.
    pub(super) history: HistoryDays,
    /// How callers are authenticated.
    pub(super) auth: Auth,
    /// The file of client certificates that open the classic API.
    pub(super) certificates: Option<PathBuf>,
    pub(super) tls: Tls,
    /// The parts of the scheduler that this process runs.
    pub(super) roles: Vec<ServeRole>,
    /// The clock for schedules; `None` for the real one.
    pub(super) clock: Option<ClockSettings>,
    /// What jobs may call, and how.
    pub(super) actions: ActionSettings,
    /// Whether the limits of plans apply.
    pub(super) plan_limits: PlanLimits,
    /// The address at which targets and users reach this server.
    pub(super) public_url: Option<String>,
    /// Where another watcher takes pings while jobs fire.
    pub(super) heartbeat: Option<HeartbeatUrl>,
    /// How long a shutdown waits for actions under way.
    pub(super) drain: Duration,
    pub(super) log: LogFormat,
    pub(super) log_level: LevelFilter,
}

#[derive(Debug, Clone)]
pub(crate) enum Storage {
    /// A database of many processes.
    Database {
        place: Box<DatabasePlace>,
        key: GivenKey,
        /// Whether missing tables are made.
        migrates: bool,
    },
    Memory,
    Directory {
        path: PathBuf,
        sync: Durability,
        /// Whether files may be used that do not belong together.
        accept_copy: bool,
    },
}

/// How callers are authenticated. `Debug` is written by hand because a token is a secret.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Auth {
    /// A token that the server creates at the first start and saves.
    Generated,
    /// The token from the arguments or the environment.
    Token(Zeroizing<String>),
    /// The token hashes in this file.
    File(PathBuf),
    /// No authentication.
    Open,
}

impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Generated => f.write_str("Generated"),
            Self::Token(_) => f.write_str("Token(..)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Open => f.write_str("Open"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tls {
    Off,
    Files {
        certificate: PathBuf,
        key: PathBuf,
    },
    /// With these names beside the listen address and `localhost`.
    SelfSigned(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClockSettings {
    /// The time at which it starts; `None` for now.
    pub(super) start: Option<DateTime<Utc>>,
    pub(super) rate: Rate,
}

impl ServeSettings {
    /// Reads the settings from the arguments, and the token and AWS keys from the environment. An
    /// argument takes precedence over the environment.
    ///
    /// # Errors
    ///
    /// All problems, each as a sentence that says what to change.
    pub fn read(
        args: &ServeArgs,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Vec<String>> {
        let (environment, mut problems) = (&environment as Variables<'_>, Problems(Vec::new()));
        let storage = storage(args, environment, &mut problems);
        let settings = Self {
            listen: args.listen,
            archive: archive(args, &storage, environment, &mut problems),
            storage,
            zones: args.zones.clone(),
            keep_bodies: keep_bodies(args, &mut problems),
            backups_kept: backups_kept(args, &mut problems),
            forget_secrets: args.forget_secrets,
            history: args.history_days,
            auth: auth(args, environment, &mut problems),
            certificates: certificates(args, &mut problems),
            tls: tls(args, &mut problems),
            roles: args.roles.clone(),
            clock: clock(args),
            actions: actions(args, environment, &mut problems),
            plan_limits: args.plan_limits,
            public_url: args.public_url.clone(),
            heartbeat: heartbeat(args, environment, &mut problems),
            drain: Duration::from_secs(args.drain),
            log: args.log,
            log_level: args.log_level,
        };
        if problems.0.is_empty() { Ok(settings) } else { Err(problems.0) }
    }
}

struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, problem: impl Into<String>) {
        self.0.push(problem.into());
    }

    /// Takes a result. Its problems are added.
    fn of<T>(&mut self, read: Result<T, Vec<String>>) -> Option<T> {
        read.map_err(|problems| self.0.extend(problems)).ok()
    }

    /// Adds a problem if more than one of these flags is given.
    fn only_one(&mut self, flags: &[(&str, bool)]) {
        let given: Vec<&str> =
            flags.iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| *flag).collect();
        if given.len() > 1 {
            self.add(format!("{} exclude each other: give one of them", given.join(" and ")));
        }
    }
}

fn storage(args: &ServeArgs, environment: Variables<'_>, problems: &mut Problems) -> Storage {
    let has_database = args.database.is_given(environment);
    let place = problems.of(args.database.read(environment)).flatten();
    let key = problems.of(args.key.read(has_database, environment)).flatten();
    if has_database {
        let said = place.as_ref().map_or("--database", |place| place.said);
        for (flag, is_given) in file_flags(args) {
            problems.only_one(&[(said, true), (flag, is_given)]);
        }
        if let (Some(place), Some(key)) = (place, key) {
            let (place, migrates) = (Box::new(place), !args.no_migrate);
            return Storage::Database { place, key, migrates };
        }
        // There are problems, so that nothing is opened.
        return Storage::Memory;
    }
    problems.of(refuse_without_database(&[("--no-migrate", args.no_migrate)]));
    problems.only_one(&[("--memory", args.memory), ("--data", args.data.is_some())]);
    problems.only_one(&[("--memory", args.memory), ("--sync", args.sync.is_some())]);
    problems.only_one(&[("--memory", args.memory), ("--forget-secrets", args.forget_secrets)]);
    problems.only_one(&[("--memory", args.memory), ("--accept-copy", args.accept_copy)]);
    if args.memory {
        return Storage::Memory;
    }
    let path = args.data.clone().unwrap_or_else(|| DATA_DIR.into());
    let sync = args.sync.unwrap_or_default();
    Storage::Directory { path, sync, accept_copy: args.accept_copy }
}

/// What keeps something in the files of a data directory, or in its archive, or needs a clock of its own.
fn file_flags(args: &ServeArgs) -> [(&'static str, bool); 8] {
    [
        ("--data", args.data.is_some()),
        ("--memory", args.memory),
        ("--sync", args.sync.is_some()),
        ("--accept-copy", args.accept_copy),
        ("--archive", args.archive.is_some()),
        ("--tls-self-signed", args.tls_self_signed),
        ("--clock-start", args.clock_start.is_some()),
        ("--clock-rate", args.clock_rate.is_some()),
    ]
}

fn archive(
    args: &ServeArgs,
    storage: &Storage,
    environment: Variables<'_>,
    problems: &mut Problems,
) -> Option<Objects> {
    let location = args.archive.as_ref()?;
    if let (Location::Folder(folder), Storage::Directory { path, .. }) = (location, storage)
        && is_one_within_the_other(folder, path)
    {
        problems.add(format!(
            "--archive {location} and the data directory {} are not apart: choose a folder for the \
             archive that is outside the data directory and does not contain it",
            path.display()
        ));
    }
    let is_known = matches!(storage, Storage::Directory { path, .. } if is_known(path, location));
    let opened = if is_known {
        Objects::open_known(location, environment, system_now)
    } else {
        Objects::open(location, environment, system_now)
    };
    match opened {
        Ok(objects) => Some(objects),
        Err(error) => {
            problems.add(chain(&error));
            None
        }
    }
}

fn is_one_within_the_other(one: &Path, other: &Path) -> bool {
    let (one, other) = (resolved(one), resolved(other));
    one.starts_with(&other) || other.starts_with(&one)
}

/// A path without links, of which the end may not exist yet.
fn resolved(path: &Path) -> PathBuf {
    let path = absolute(path).unwrap_or_else(|_| path.to_owned());
    let resolve =
        |known: &Path| Some(known.canonicalize().ok()?.join(path.strip_prefix(known).ok()?));
    path.ancestors().find_map(resolve).unwrap_or(path.clone())
}

fn keep_bodies(args: &ServeArgs, problems: &mut Problems) -> bool {
    if args.keep_bodies && args.archive.is_none() {
        problems.add("--keep-bodies failures keeps them in the archive: add --archive");
    }
    args.keep_bodies
}

fn backups_kept(args: &ServeArgs, problems: &mut Problems) -> Option<NonZeroU32> {
    let asked = args.backups_kept.and_then(NonZeroU32::new);
    if asked.is_some() && args.archive.is_none() {
        problems.add("--backups-kept keeps them in the archive: add --archive");
    }
    // What is in memory ends with its process, and so does the key of its secrets.
    problems.only_one(&[("--memory", args.memory), ("--backups-kept", asked.is_some())]);
    if args.archive.is_none() || args.memory {
        return None;
    }
    NonZeroU32::new(args.backups_kept.unwrap_or(BACKUPS_KEPT))
}

fn auth(args: &ServeArgs, environment: Variables<'_>, problems: &mut Problems) -> Auth {
    problems.only_one(&[
        ("--token", args.token.is_some()),
        ("--token-file", args.token_file.is_some()),
        ("--no-auth", args.no_auth),
    ]);
    if args.no_auth {
        if !args.listen.ip().is_loopback() {
            problems.add(format!(
                "--no-auth would give everyone who can reach {} full access: remove it, or listen on \
                 a loopback address",
                args.listen
            ));
        }
        return Auth::Open;
    }
    if let Some(path) = &args.token_file {
        return Auth::File(path.clone());
    }
    let given = args.token.clone().map(|token| ("--token", token));
    // An empty variable is how a unit or a container file leaves it out.
    let from_environment = environment(TOKEN_VARIABLE).filter(|token| !token.is_empty());
    let given = given.or(from_environment.map(|token| (TOKEN_VARIABLE, token)));
    let Some((name, token)) = given else {
        if args.database.is_given(environment) && args.roles.contains(&ServeRole::Api) {
            problems.add(format!(
                "processes on a database need a token that all of them accept: give --token-file, or set \
                 {TOKEN_VARIABLE}"
            ));
        }
        return Auth::Generated;
    };
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        problems.add(format!(
            "{name} is not a valid token: use ASCII letters, digits and punctuation, without spaces"
        ));
    }
    Auth::Token(token.into())
}

fn certificates(args: &ServeArgs, problems: &mut Problems) -> Option<PathBuf> {
    let path = args.management_certificates.clone()?;
    problems.only_one(&[("--management-certificates", true), ("--no-auth", args.no_auth)]);
    if args.tls_cert.is_none() && !args.tls_self_signed {
        problems.add(
            "--management-certificates needs TLS, in which clients present them: add --tls-cert and \
             --tls-key, or --tls-self-signed",
        );
    }
    Some(path)
}

fn tls(args: &ServeArgs, problems: &mut Problems) -> Tls {
    let has_files = args.tls_cert.is_some() || args.tls_key.is_some();
    problems.only_one(&[
        ("--tls-cert", has_files),
        ("--tls-self-signed", args.tls_self_signed),
        ("--insecure-http", args.insecure_http),
    ]);
    if !args.tls_name.is_empty() && !args.tls_self_signed {
        problems.add("--tls-name is for the certificate of --tls-self-signed: add that");
    }
    match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => {
            return Tls::Files { certificate: certificate.clone(), key: key.clone() };
        }
        (Some(_), None) => problems.add("--tls-cert needs its private key: add --tls-key"),
        (None, Some(_)) => problems.add("--tls-key needs its certificate: add --tls-cert"),
        (None, None) => {}
    }
    if args.tls_self_signed {
        return Tls::SelfSigned(args.tls_name.clone());
    }
    if !has_files && !args.insecure_http && !args.listen.ip().is_loopback() {
        problems.add(format!(
            "{} can be reached from other machines, and tokens would be sent unencrypted: add \
             --tls-cert and --tls-key, or --tls-self-signed, or --insecure-http if a proxy in front \
             provides TLS",
            args.listen
        ));
    }
    Tls::Off
}

fn heartbeat(
    args: &ServeArgs,
    environment: Variables<'_>,
    problems: &mut Problems,
) -> Option<HeartbeatUrl> {
    if args.heartbeat_url.is_some() {
        return args.heartbeat_url.clone();
    }
    let said = environment(HEARTBEAT_VARIABLE).filter(|said| !said.is_empty())?;
    let url: Result<HeartbeatUrl, _> = said.parse();
    url.map_err(|want| problems.add(format!("{HEARTBEAT_VARIABLE}: {want}"))).ok()
}

fn clock(args: &ServeArgs) -> Option<ClockSettings> {
    let is_given = args.clock_start.is_some() || args.clock_rate.is_some();
    let rate = args.clock_rate.unwrap_or(Rate::REAL);
    is_given.then_some(ClockSettings { start: args.clock_start, rate })
}

fn actions(
    args: &ServeArgs,
    environment: Variables<'_>,
    problems: &mut Problems,
) -> ActionSettings {
    let mut actions = ActionSettings::new(targets(args, problems));
    if let Some(seconds) = args.test_action_limit {
        actions.limits.total = Duration::from_secs(seconds);
    }
    ActionSettings {
        authority: args.oauth_authority.clone(),
        storage: args.storage_endpoint.clone(),
        service_bus: args.service_bus_endpoint.clone(),
        service_bus_amqp: args.service_bus_amqp_endpoint.clone(),
        aws: aws(args, environment, problems),
        keep_bodies: args.keep_bodies,
        user_agent: format!("minutehand/{VERSION}"),
        ..actions
    }
}

fn aws(args: &ServeArgs, environment: Variables<'_>, problems: &mut Problems) -> Option<Aws> {
    problems.only_one(&[("--aws", args.aws), ("--aws-endpoint", args.aws_endpoint.is_some())]);
    let given = |name: &str| environment(name).filter(|value| !value.is_empty());
    let home = given("HOME").map(Into::into);
    let aws_environment = AwsEnvironment { variable: environment, home };
    let region = given("AWS_REGION").or_else(|| given("AWS_DEFAULT_REGION"));
    // What is wrong with the profile is said with its credentials.
    let of_profile = || region_of_profile(&aws_environment).ok().flatten();
    let region = region.or_else(|| if args.aws { of_profile() } else { None });
    if region.as_ref().is_some_and(|region| !is_region(region)) {
        problems.add("AWS_REGION is not the name of a region: set one such as eu-west-1");
    }
    if args.aws {
        let Some(region) = region else {
            problems.add(
                "--aws needs a region: set AWS_REGION, such as eu-west-1, or the region of the profile",
            );
            return None;
        };
        return match Provider::new(&aws_environment) {
            Ok(found) => {
                let credentials = found.shared(system_now);
                Some(Aws { endpoint: None, region, credentials, role: None })
            }
            Err(error) => {
                problems.add(format!("--aws needs credentials: {error}"));
                None
            }
        };
    }
    let endpoint = args.aws_endpoint.clone()?;
    let (id, secret) = match (given("AWS_ACCESS_KEY_ID"), given("AWS_SECRET_ACCESS_KEY")) {
        (Some(id), Some(secret)) => (id, secret),
        // An AWS emulator accepts any key.
        (None, None) => ("minutehand".to_owned(), "minutehand".to_owned()),
        (Some(_), None) | (None, Some(_)) => {
            problems.add("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY together, or neither");
            return None;
        }
    };
    let region = region.unwrap_or_else(|| AWS_REGION.to_owned());
    Some(Aws::with_keys(Some(endpoint), region, &id, &secret, given("AWS_SESSION_TOKEN")))
}

fn targets(args: &ServeArgs, problems: &mut Problems) -> TargetPolicy {
    problems.only_one(&[
        ("--allow-private-targets", args.allow_private_targets),
        ("--public-targets-only", args.public_targets_only),
    ]);
    let is_private = args.allow_private_targets || args.listen.ip().is_loopback();
    if is_private && !args.public_targets_only {
        TargetPolicy::AllowPrivate
    } else {
        TargetPolicy::PublicOnly
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: ServeArgs,
    }

    fn read(line: &str, token: Option<&str>) -> ServeSettings {
        let words = ["serve"].into_iter().chain(line.split_whitespace());
        let args = Line::try_parse_from(words).unwrap().args;
        let given = |name: &str| token.filter(|_| name == TOKEN_VARIABLE).map(str::to_owned);
        ServeSettings::read(&args, given).unwrap()
    }

    #[test]
    fn private_targets_are_allowed_by_default_only_on_a_loopback_address() {
        use TargetPolicy::{AllowPrivate, PublicOnly};
        let far = "--listen 10.0.0.5:1 --insecure-http";
        for (line, policy) in [
            ("", AllowPrivate),
            ("--listen [::1]:1", AllowPrivate),
            ("--listen localhost:1", AllowPrivate),
            ("--public-targets-only", PublicOnly),
            (far, PublicOnly),
            (&format!("{far} --allow-private-targets"), AllowPrivate),
        ] {
            assert_eq!(read(line, None).actions.targets, policy, "{line}");
        }
    }

    #[test]
    fn an_argument_takes_precedence_over_the_environment() {
        let token = |text: &str| Auth::Token(text.to_owned().into());
        assert_eq!(read("", None).auth, Auth::Generated);
        assert_eq!(read("", Some("")).auth, Auth::Generated);
        assert_eq!(read("", Some("e")).auth, token("e"));
        assert_eq!(read("--token a", Some("e")).auth, token("a"));
        assert_eq!(read("--token-file f", Some("e")).auth, Auth::File("f".into()));
        assert_eq!(read("--no-auth", Some("e")).auth, Auth::Open);
        assert_eq!(format!("{:?}", read("--token secret", None).auth), "Token(..)");
    }

    #[test]
    fn aws_itself_needs_a_region_and_credentials_from_somewhere() {
        let keys = [("AWS_ACCESS_KEY_ID", "i"), ("AWS_SECRET_ACCESS_KEY", "s")];
        let region = [("AWS_REGION", "eu-west-1")];
        let off = [("AWS_EC2_METADATA_DISABLED", "true")];
        for (line, variables, problem) in [
            ("--aws", [&keys[..], &region].concat(), None),
            // The machine's role is asked for when the first job needs it.
            ("--aws", region.to_vec(), None),
            ("--aws", keys.to_vec(), Some("--aws needs a region")),
            ("--aws", [&region[..], &off].concat(), Some("--aws needs credentials: set AWS_")),
            ("--aws", [&keys[..1], &region].concat(), Some("together, or neither")),
            (
                "--aws --aws-endpoint http://127.0.0.1:1",
                [&keys[..], &region].concat(),
                Some("--aws and --aws-endpoint"),
            ),
        ] {
            let words = ["serve"].into_iter().chain(line.split(' '));
            let args = Line::try_parse_from(words).unwrap().args;
            let given = |wanted: &str| {
                let found = variables.iter().find(|(name, _)| *name == wanted);
                found.map(|(_, value)| (*value).to_owned())
            };
            match (ServeSettings::read(&args, given), problem) {
                (Ok(settings), None) => assert!(settings.actions.aws.unwrap().endpoint.is_none()),
                (Err(found), Some(says)) => assert!(found[0].contains(says), "{found:?}"),
                (other, _) => panic!("{line} {variables:?}: {:?}", other.map(drop)),
            }
        }
    }

    #[test]
    fn the_region_and_the_keys_of_aws_may_be_those_of_a_profile() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".aws");
        std::fs::create_dir(&folder).unwrap();
        let config = "[default]\nregion = eu-west-3\n[profile ops]\nregion = eu-north-1\n\
            aws_access_key_id = i\naws_secret_access_key = s\n";
        std::fs::write(folder.join("config"), config).unwrap();
        let path = home.path().display().to_string();
        for (variables, region) in [
            (vec![("AWS_PROFILE", "ops")], "eu-north-1"),
            (vec![("AWS_PROFILE", "ops"), ("AWS_REGION", "eu-west-1")], "eu-west-1"),
            // Its keys are those of the machine.
            (vec![], "eu-west-3"),
        ] {
            let args = Line::try_parse_from(["serve", "--aws"]).unwrap().args;
            let given = |wanted: &str| {
                let found = variables.iter().find(|(name, _)| *name == wanted);
                let found = found.map(|(_, value)| (*value).to_owned());
                found.or_else(|| (wanted == "HOME").then(|| path.clone()))
            };
            let settings = ServeSettings::read(&args, given).unwrap();
            assert_eq!(settings.actions.aws.unwrap().region, region, "{variables:?}");
        }
    }

    #[test]
    fn an_endpoint_of_aws_needs_both_halves_of_a_key_or_neither() {
        let read = |variables: &'static [&str]| {
            let line = ["serve", "--aws-endpoint", "http://127.0.0.1:4566"];
            let args = Line::try_parse_from(line).unwrap().args;
            let given = |name: &str| variables.contains(&name).then(|| "eu-1".to_owned());
            ServeSettings::read(&args, given).map(|settings| settings.actions.aws.is_some())
        };
        let keys = &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"];
        assert_eq!((read(&[]), read(keys)), (Ok(true), Ok(true)));
        assert_eq!(read(&keys[..1]).unwrap_err().len(), 1);
        assert!(super::tests::read("", None).actions.aws.is_none());
    }

    #[test]
    fn an_archive_is_apart_from_the_data_directory() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).display().to_string();
        std::fs::create_dir_all(path("data/inside")).unwrap();
        std::fs::create_dir(path("data-2")).unwrap();
        std::os::unix::fs::symlink(path("data"), path("link")).unwrap();
        for (archive, data, is_apart) in [
            ("data", "data", false),
            ("data", "data-2/../data/.", false),
            ("data/inside", "data", false),
            ("data", "data/new/one", false),
            ("data", "data-2", true),
            ("data-2", "data", true),
            ("data-2", "data-2-new", true),
            ("link", "data", false),
            ("data", "link/new", false),
        ] {
            let line =
                ["serve", "--archive", &path(archive), "--data", &path(data)].map(str::to_owned);
            let args = Line::try_parse_from(line).unwrap().args;
            let settings = ServeSettings::read(&args, |_| None);
            assert_eq!(settings.is_ok(), is_apart, "{archive} {data}");
            if let Err(problems) = settings {
                assert!(problems[0].contains("are not apart"), "{problems:?}");
            }
        }
        let line = ["serve", "--archive", ".", "--memory"];
        assert!(ServeSettings::read(&Line::try_parse_from(line).unwrap().args, |_| None).is_ok());
    }

    #[test]
    fn settings_that_are_not_given_have_defaults() {
        let settings = read("", None);
        let path = PathBuf::from(DATA_DIR);
        assert!(
            matches!(settings.storage, Storage::Directory { path: ref found, sync: Durability::Normal, accept_copy: false } if *found == path)
        );
        assert_eq!(settings.roles, [ServeRole::Api, ServeRole::Sweeper, ServeRole::Executor]);
        assert_eq!((settings.clock, settings.tls), (None, Tls::Off));
        assert_eq!(settings.drain, Duration::from_secs(7));
        assert_eq!(read("--drain 70", None).drain, Duration::from_secs(70));
        assert_eq!(settings.plan_limits, PlanLimits::Off);
        assert_eq!(settings.history, HistoryDays::Sixty);
        assert_eq!(read("--history-days 7", None).history, HistoryDays::Seven);
        assert_eq!(settings.backups_kept, None);
        assert_eq!(read("--archive src", None).backups_kept, NonZeroU32::new(35));
        assert_eq!(read("--archive src --backups-kept 7", None).backups_kept, NonZeroU32::new(7));
        assert_eq!(read("--archive src --backups-kept 0", None).backups_kept, None);
        assert_eq!(read("--archive . --memory", None).backups_kept, None);
        let settings = read("--roles executor,api --clock-rate 60", None);
        assert_eq!(settings.roles, [ServeRole::Executor, ServeRole::Api]);
        let rate = "60".parse().unwrap();
        assert_eq!(settings.clock, Some(ClockSettings { start: None, rate }));
    }
}
