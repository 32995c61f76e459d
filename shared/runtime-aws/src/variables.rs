//! Settings from environment variables.
//!
//! A missing or invalid setting is noted and reading continues, so that a failed deployment reports all
//! problems at once. An empty variable counts as not set, because a template cannot always omit one.

use std::collections::BTreeMap;

use minutehand_archive_objects::{Location, Objects};
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::own::OwnResources;
use minutehand_domain::plan::PlanLimits;
use minutehand_runtime::{LOG_LEVELS, LevelFilter, system_now};

/// The prefix of Minutehand's own variables.
pub const PREFIX: &str = "MINUTEHAND_";

/// The environment variables of a process. It is not `Debug` because they include credentials.
pub struct Variables {
    values: BTreeMap<String, String>,
    asked: Vec<&'static str>,
    problems: Vec<String>,
}

impl Variables {
    /// Takes these variables instead of the process's environment.
    pub fn of<N: Into<String>, V: Into<String>>(values: impl IntoIterator<Item = (N, V)>) -> Self {
        let values = values.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self {
            values: values.filter(|(_, value): &(String, String)| !value.is_empty()).collect(),
            asked: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Reads the environment of this process. Variables that are not UTF-8 are not settings.
    #[must_use]
    pub fn from_environment() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self::of(std::env::vars_os().filter_map(text))
    }

    /// Reads an optional variable.
    pub fn optional(&mut self, name: &'static str) -> Option<String> {
        if !self.asked.contains(&name) {
            self.asked.push(name);
        }
        self.values.get(name).cloned()
    }

    /// Reads a required variable; `advice` says what to set. If it is missing, the value is empty and
    /// the problem is noted.
    pub fn required(&mut self, name: &'static str, advice: &str) -> String {
        self.optional(name).unwrap_or_else(|| {
            self.problem(format!("{name} is not set: {advice}"));
            String::new()
        })
    }

    /// Reads a variable that is one of these words, in any case; `default` if it is missing.
    pub fn choice<T: Copy>(&mut self, name: &'static str, choices: &[(&str, T)], default: T) -> T {
        let Some(value) = self.optional(name) else { return default };
        let found = choices.iter().find(|(word, _)| word.eq_ignore_ascii_case(value.trim()));
        if let Some((_, choice)) = found {
            return *choice;
        }
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        self.problem(format!("{name} is '{value}': give one of {}", words.join(", ")));
        default
    }

    /// For how long history is kept. A function whose stack is older keeps it for 60 days, as it did.
    pub fn history_days(&mut self) -> HistoryDays {
        let name = "MINUTEHAND_HISTORY_DAYS";
        let Some(value) = self.optional(name) else { return HistoryDays::default() };
        value.parse().unwrap_or_else(|wanted| {
            self.problem(format!("{name} is '{value}': {wanted}"));
            HistoryDays::default()
        })
    }

    /// Notes a problem: a sentence that says what to change.
    pub fn problem(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    /// Minutehand's own variables that were read so far, sorted.
    #[must_use]
    pub fn asked(&self) -> Vec<&'static str> {
        let mut own: Vec<&'static str> =
            self.asked.iter().copied().filter(|name| name.starts_with(PREFIX)).collect();
        own.sort_unstable();
        own
    }

    /// Variables with Minutehand's prefix that were not read, probably because of a typing error.
    #[must_use]
    pub fn unknown(&self) -> Vec<&str> {
        let names = self.values.keys().map(String::as_str);
        names.filter(|name| name.starts_with(PREFIX) && !self.asked.contains(name)).collect()
    }

    /// The problems that were noted so far.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The DynamoDB table.
    pub fn table(&mut self) -> String {
        self.required("MINUTEHAND_TABLE", "give the name of the DynamoDB table")
    }

    /// The queue between the sweeper and the executor.
    pub fn queue_url(&mut self) -> String {
        let name = "MINUTEHAND_QUEUE_URL";
        let url = self.required(name, "give the URL of the SQS queue");
        if !url.is_empty() && !url.starts_with("https://") && !url.starts_with("http://") {
            self.problem(format!("{name} is '{url}': give the queue's URL, not its name or ARN"));
        }
        url
    }

    /// The event bus for events about jobs, if there is one.
    pub fn event_bus(&mut self) -> Option<String> {
        self.optional("MINUTEHAND_EVENT_BUS")
    }

    /// The address at which targets reach the API, if they can.
    pub fn public_url(&mut self) -> Option<String> {
        self.optional("MINUTEHAND_PUBLIC_URL")
    }

    /// The installation's own resources, to which no job may send. The template cannot name a function
    /// in its own variables, but Lambda does.
    pub fn own_resources(&mut self) -> OwnResources {
        let mut own = OwnResources::default();
        let name = "MINUTEHAND_OWN_ARNS";
        let arns = self.required(name, "give the ARNs of the own queues, functions and bus");
        for arn in arns.split(',').map(str::trim).filter(|arn| !arn.is_empty()) {
            if !own.add(arn) {
                self.problem(format!(
                    "{name} has '{arn}': give ARNs of queues, functions and event buses, separated \
                     by commas"
                ));
            }
        }
        if let Some(function) = self.optional("AWS_LAMBDA_FUNCTION_NAME") {
            own.add_function(&function);
        }
        own
    }

    /// The bucket of the archive, if there is one. Its keys and its region are those of the function.
    pub fn archive(&mut self) -> Option<Objects> {
        let name = "MINUTEHAND_ARCHIVE";
        let text = self.optional(name)?;
        let location = Location::parse(&text);
        let Ok(location @ Location::Bucket { .. }) = location else {
            self.problem(format!("{name} is '{text}': give a bucket, as s3://bucket"));
            return None;
        };
        match Objects::open(&location, |name| self.values.get(name).cloned(), system_now) {
            Ok(objects) => Some(objects),
            Err(error) => {
                self.problem(format!("{name}: {error}"));
                None
            }
        }
    }

    /// Where bodies of failures are kept, if they are: in the archive.
    pub fn keeps_bodies(&mut self, archive: Option<&Objects>) -> Option<Objects> {
        let name = "MINUTEHAND_KEEP_BODIES";
        if !self.choice(name, &[("failures", true), ("none", false)], false) {
            return None;
        }
        if archive.is_none() {
            self.problem(format!("{name} is 'failures', and needs MINUTEHAND_ARCHIVE"));
        }
        archive.cloned()
    }

    /// The KMS key that seals secrets.
    pub fn key_id(&mut self) -> String {
        self.required("MINUTEHAND_KEY_ID", "give the id or ARN of the KMS key that seals secrets")
    }

    /// Whether the limits of plans apply.
    pub fn plan_limits(&mut self) -> PlanLimits {
        let choices = [("on", PlanLimits::On), ("off", PlanLimits::Off)];
        self.choice("MINUTEHAND_PLAN_LIMITS", &choices, PlanLimits::Off)
    }

    /// The log level.
    pub fn log_level(&mut self) -> LevelFilter {
        self.choice("MINUTEHAND_LOG_LEVEL", &LOG_LEVELS, LevelFilter::INFO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_are_reported_at_once() {
        let mut variables = Variables::of([
            ("MINUTEHAND_QUEUE_URL", "arn:aws:sqs:eu-west-1:1:q"),
            ("MINUTEHAND_TABLE", ""),
            ("MINUTEHAND_LOG_LEVEL", "loud"),
            ("MINUTEHAND_HISTORY_DAYS", "8"),
        ]);
        assert_eq!(variables.table(), "");
        variables.queue_url();
        assert_eq!(variables.log_level(), LevelFilter::INFO);
        assert_eq!(variables.history_days(), HistoryDays::Sixty);
        assert_eq!(
            variables.problems(),
            [
                "MINUTEHAND_TABLE is not set: give the name of the DynamoDB table",
                "MINUTEHAND_QUEUE_URL is 'arn:aws:sqs:eu-west-1:1:q': give the queue's URL, not its \
                 name or ARN",
                "MINUTEHAND_LOG_LEVEL is 'loud': give one of error, warn, info, debug, trace",
                "MINUTEHAND_HISTORY_DAYS is '8': give 7, 15, 30 or 60",
            ]
        );
    }

    #[test]
    fn words_are_read_in_any_case_and_missing_settings_have_defaults() {
        let mut variables = Variables::of([("MINUTEHAND_LOG_LEVEL", "Debug")]);
        assert_eq!(variables.log_level(), LevelFilter::DEBUG);
        assert_eq!(variables.plan_limits(), PlanLimits::Off);
        assert_eq!(variables.event_bus(), None);
        assert_eq!(variables.history_days(), HistoryDays::Sixty);
        let mut seven = Variables::of([("MINUTEHAND_HISTORY_DAYS", "7")]);
        assert_eq!(seven.history_days(), HistoryDays::Seven);
        assert!(variables.problems().is_empty());
    }

    #[test]
    fn an_archive_is_a_bucket_with_the_keys_of_the_function() {
        let read = |archive: &str, key: &str| {
            let keys = [("AWS_ACCESS_KEY_ID", key), ("AWS_SECRET_ACCESS_KEY", key)];
            let mut variables =
                Variables::of([("MINUTEHAND_ARCHIVE", archive)].into_iter().chain(keys));
            let archive = variables.archive().map(|objects| objects.location().to_string());
            (archive, variables.problems().to_vec())
        };
        assert_eq!(read("", "k"), (None, vec![]));
        assert_eq!(read("s3://b", "k"), (Some("s3://b".to_owned()), vec![]));
        for (archive, key, words) in [
            ("/tmp", "k", "MINUTEHAND_ARCHIVE is '/tmp': give a bucket, as s3://bucket"),
            ("s3://", "k", "give a bucket"),
        ] {
            let (found, problems) = read(archive, key);
            assert!(found.is_none() && problems[0].contains(words), "{problems:?}");
        }
    }

    #[test]
    fn an_own_variable_that_is_not_read_is_unknown() {
        let mut variables = Variables::of([("MINUTEHAND_TABEL", "t"), ("PATH", "/bin")]);
        variables.table();
        assert_eq!(variables.unknown(), ["MINUTEHAND_TABEL"]);
        assert_eq!(variables.asked(), ["MINUTEHAND_TABLE"]);
    }
}
