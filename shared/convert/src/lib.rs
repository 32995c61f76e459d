//! Reads the schedules of other schedulers as jobs.
//!
//! `rest` and the command line call it. It is pure: text goes in, job documents and a report of
//! problems come out. It never knows a clock, I/O, or whether the jobs are created.
//!
//! ```
//! use minutehand_convert::{SourceFormat, ConvertOptions, convert};
//!
//! let mut options = ConvertOptions::at("2027-01-01T00:00:00Z".parse().unwrap());
//! options.template = Some("https://runner.example.com/run?cmd={command}".to_owned());
//! let crontab = "*/15 8-17 * * 1-5 /usr/bin/sync\n0 0 1W * * /bin/true\n";
//! let report = convert(SourceFormat::Crontab, crontab, &options)?;
//!
//! assert_eq!(report.jobs[0].name, "sync");
//! let action = &report.jobs[0].document["properties"]["action"];
//! assert_eq!(action["request"]["uri"], "https://runner.example.com/run?cmd=%2Fusr%2Fbin%2Fsync");
//! assert!(report.problems.iter().any(|problem| problem.unsayable.why.contains("'1W'")));
//! # Ok::<(), minutehand_convert::Unsayable>(())
//! ```
//!
//! # What holds for every job
//!
//! - It has a `startTime`, so it does not fire at once when it is created.
//! - It is disabled if its only or its last occurrence has passed; the report lists it.
//! - Its document is one that the API accepts.
//! - Its secrets are apart from the document, as [`SecretReference`]s.

mod azure;
pub mod cron;
mod crontab;
mod document;
mod draft;
mod event_bridge;
mod object;
mod report;
mod secrets;
#[cfg(test)]
mod tests;
mod unique;
mod unsayable;
pub mod yaml;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

pub use crontab::{CrontabForm, with_pings};
pub use report::{Conversion, ConversionProblem, ConvertedJob, ProblemKind, SourcePlace, sentence};
pub use secrets::{PREFIX, SecretReference};
pub use unsayable::Unsayable;

use draft::Drafts;

/// The most schedules of a file, unless the caller says less.
const SCHEDULES_MAX: usize = 5_000;

named! {
    /// The formats that are read.
    pub enum SourceFormat {
        /// A crontab.
        Crontab = "crontab",
        /// Schedules of `EventBridge`, or a template of `CloudFormation` with schedules or rules.
        EventBridge = "eventbridge",
        /// A template of the Azure Resource Manager with jobs, or jobs as Azure Scheduler answered them.
        Azure = "azure",
    }
}

/// What a conversion needs beside the file.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvertOptions {
    /// The instant of the conversion. The jobs are created at it, or later.
    pub now: DateTime<Utc>,
    /// The form of a crontab.
    pub form: CrontabForm,
    /// The zone of the machine that a crontab is from; `None` is the collection's, else UTC.
    pub time_zone: Option<String>,
    /// The URL that is called in place of a crontab's commands. `{command}`, `{user}` and `{name}` are
    /// replaced.
    pub template: Option<String>,
    /// The method of these calls.
    pub method: String,
    /// Calls nothing in place of a crontab's commands: a ping is expected of each, in this window of an action
    /// of type `Expect`. Then there is no template.
    pub expect: Option<Value>,
    /// The parameters of a template: values by names, or the content of a file of parameters.
    pub parameters: Map<String, Value>,
    /// The most schedules of a file.
    pub schedules_max: usize,
    /// Names that no job gets, such as the names that earlier files have used.
    pub names_taken: Vec<String>,
}

impl ConvertOptions {
    /// Options of which only the instant is given.
    #[must_use]
    pub fn at(now: DateTime<Utc>) -> Self {
        Self {
            now,
            form: CrontabForm::default(),
            time_zone: None,
            template: None,
            method: "POST".to_owned(),
            expect: None,
            parameters: Map::new(),
            schedules_max: SCHEDULES_MAX,
            names_taken: Vec::new(),
        }
    }

    /// The value of a parameter. A file of parameters has them in `parameters`, each with a `value`.
    fn parameter(&self, name: &str) -> Option<&Value> {
        let of_file = self.parameters.get("parameters").and_then(Value::as_object);
        let given = document::property(of_file.unwrap_or(&self.parameters), name)?;
        match given.as_object() {
            Some(object) if of_file.is_some() => object.get("value"),
            _ => Some(given),
        }
    }
}

/// Converts a file. A schedule that cannot become a job is a problem of the report.
///
/// # Errors
///
/// If the file as a whole, or an option, cannot be read.
pub fn convert(
    format: SourceFormat,
    text: &str,
    options: &ConvertOptions,
) -> Result<Conversion, Unsayable> {
    secrets::check_unmarked(&Value::Object(options.parameters.clone()))?;
    let mut drafts = Drafts::new(options);
    match format {
        SourceFormat::Crontab => crontab::convert(text, options, &mut drafts)?,
        SourceFormat::EventBridge => event_bridge::FORMAT.convert(text, options, &mut drafts)?,
        SourceFormat::Azure => azure::FORMAT.convert(text, options, &mut drafts)?,
    }
    Ok(drafts.report)
}
use minutehand_recurrence::named;
