//! The environment, read as settings.
//!
//! A setting that is missing or wrong is noted, and reading goes on: whoever deploys is told of all
//! problems at once. An empty variable is one that is not set, as templates cannot leave one out.

use std::collections::BTreeMap;

use domain::pricing_tier::PlanLimits;
use runtime::LogLevel;

/// What the names of our own variables begin with.
pub const PREFIX: &str = "MINUTEHAND_";

/// The environment of a process. Not `Debug`: there are credentials in it.
pub struct Variables {
    values: BTreeMap<String, String>,
    asked: Vec<&'static str>,
    problems: Vec<String>,
}

impl Variables {
    /// These variables.
    pub fn of<N: Into<String>, V: Into<String>>(values: impl IntoIterator<Item = (N, V)>) -> Self {
        let values = values.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self {
            values: values.filter(|(_, value): &(String, String)| !value.is_empty()).collect(),
            asked: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// The variables of this process. Those that are not text are none of ours.
    #[must_use]
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self::of(std::env::vars_os().filter_map(text))
    }

    /// A variable that may be missing.
    pub fn optional(&mut self, name: &'static str) -> Option<String> {
        if !self.asked.contains(&name) {
            self.asked.push(name);
        }
        self.values.get(name).cloned()
    }

    /// A variable that has to be there; `what` says what it holds. Without it an empty text stands in
    /// until the problems are told.
    pub fn required(&mut self, name: &'static str, what: &str) -> String {
        self.optional(name).unwrap_or_else(|| {
            self.problem(format!("{name} is not set: it is {what}"));
            String::new()
        })
    }

    /// A variable that is one of these words; the first stands where it is missing.
    pub fn choice<T: Copy>(&mut self, name: &'static str, choices: &[(&str, T)], usual: T) -> T {
        let Some(value) = self.optional(name) else { return usual };
        let found = choices.iter().find(|(word, _)| word.eq_ignore_ascii_case(value.trim()));
        if let Some((_, choice)) = found {
            return *choice;
        }
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        self.problem(format!("{name} is '{value}': give one of {}", words.join(", ")));
        usual
    }

    /// Notes a problem, as a sentence that says what to change.
    pub fn problem(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    /// The variables of ours that were asked for so far, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<&'static str> {
        let mut ours: Vec<&'static str> =
            self.asked.iter().copied().filter(|name| name.starts_with(PREFIX)).collect();
        ours.sort_unstable();
        ours
    }

    /// Variables that look like ours, and that nobody asked for: likely misspelt.
    #[must_use]
    pub fn unknown(&self) -> Vec<&str> {
        let names = self.values.keys().map(String::as_str);
        names.filter(|name| name.starts_with(PREFIX) && !self.asked.contains(name)).collect()
    }

    /// What is wrong, once everything was asked for.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The table in which everything is kept.
    pub fn table(&mut self) -> String {
        self.required("MINUTEHAND_TABLE", "the name of the DynamoDB table")
    }

    /// The queue between sweeper and executor.
    pub fn queue_url(&mut self) -> String {
        let name = "MINUTEHAND_QUEUE_URL";
        let url = self.required(name, "the URL of the SQS queue");
        if !url.is_empty() && !url.starts_with("https://") && !url.starts_with("http://") {
            self.problem(format!("{name} is '{url}': give the queue's URL, not its name or ARN"));
        }
        url
    }

    /// The bus that is told what happens to jobs; none if nobody is.
    pub fn event_bus(&mut self) -> Option<String> {
        self.optional("MINUTEHAND_EVENT_BUS")
    }

    /// The key under which secrets are sealed.
    pub fn key_id(&mut self) -> String {
        self.required("MINUTEHAND_KEY_ID", "the id or ARN of the KMS key that seals secrets")
    }

    /// Whether plans limit anything.
    pub fn plan_limits(&mut self) -> PlanLimits {
        let choices = [("on", PlanLimits::On), ("off", PlanLimits::Off)];
        self.choice("MINUTEHAND_PLAN_LIMITS", &choices, PlanLimits::On)
    }

    /// What is logged.
    pub fn log_level(&mut self) -> LogLevel {
        let choices = [
            ("error", LogLevel::Error),
            ("warn", LogLevel::Warn),
            ("info", LogLevel::Info),
            ("debug", LogLevel::Debug),
            ("trace", LogLevel::Trace),
        ];
        self.choice("MINUTEHAND_LOG_LEVEL", &choices, LogLevel::Info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_are_told_at_once() {
        let mut variables = Variables::of([
            ("MINUTEHAND_QUEUE_URL", "arn:aws:sqs:eu-west-1:1:q"),
            ("MINUTEHAND_TABLE", ""),
            ("MINUTEHAND_LOG_LEVEL", "loud"),
        ]);
        assert_eq!(variables.table(), "");
        variables.queue_url();
        assert_eq!(variables.log_level(), LogLevel::Info);
        assert_eq!(
            variables.problems(),
            [
                "MINUTEHAND_TABLE is not set: it is the name of the DynamoDB table",
                "MINUTEHAND_QUEUE_URL is 'arn:aws:sqs:eu-west-1:1:q': give the queue's URL, not its \
                 name or ARN",
                "MINUTEHAND_LOG_LEVEL is 'loud': give one of error, warn, info, debug, trace",
            ]
        );
    }

    #[test]
    fn a_word_is_read_in_any_case_and_what_is_not_set_is_usual() {
        let mut variables = Variables::of([("MINUTEHAND_LOG_LEVEL", "Debug")]);
        assert_eq!(variables.log_level(), LogLevel::Debug);
        assert_eq!(variables.plan_limits(), PlanLimits::On);
        assert_eq!(variables.event_bus(), None);
        assert!(variables.problems().is_empty());
    }

    #[test]
    fn what_nobody_asks_for_is_known_by_name() {
        let mut variables = Variables::of([("MINUTEHAND_TABEL", "t"), ("PATH", "/bin")]);
        variables.table();
        assert_eq!(variables.unknown(), ["MINUTEHAND_TABEL"]);
        assert_eq!(variables.asked(), ["MINUTEHAND_TABLE"]);
    }
}
