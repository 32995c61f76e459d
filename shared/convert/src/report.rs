//! The result of a conversion: jobs, and a report of problems.

use chrono::{DateTime, Utc};
use minutehand_recurrence::{format_instant, named};
use serde_json::{Value, json};

use crate::object::object;
use crate::secrets::{self, SecretReference};
use crate::unsayable::Unsayable;

/// The jobs of a file, and what they do not say of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conversion {
    /// How many schedules the file has.
    pub found: usize,
    /// The quota of the collection of the jobs, if the file has one.
    pub quota: Option<Value>,
    /// The jobs, in the order of the file.
    pub jobs: Vec<ConvertedJob>,
    /// The problems, in the order of the file.
    pub problems: Vec<ConversionProblem>,
}

/// A converted job.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvertedJob {
    /// A name that a job may have. No two jobs of a report have the same one.
    pub name: String,
    /// Where it stands in the file.
    pub place: SourcePlace,
    /// Whether it is created enabled.
    pub is_enabled: bool,
    /// When it fires.
    pub sentence: String,
    /// The first occurrence; `None` if there is none, or if the job is disabled.
    pub next_at: Option<DateTime<Utc>>,
    /// The body of the request that creates the job, with a reference in place of each secret.
    pub document: Value,
    /// The secrets of the document.
    pub secrets: Vec<SecretReference>,
}

/// Where something stands in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourcePlace {
    /// The whole file.
    File,
    /// A line of a crontab, from 1.
    Line(usize),
    /// A value of a JSON document, such as `Resources.Nightly.Properties`.
    Path(String),
}

/// Something that a converted job does not say, or that prevents one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionProblem {
    /// What kind of problem it is.
    pub kind: ProblemKind,
    /// Where the cause stands.
    pub place: SourcePlace,
    /// The name of the job that was converted all the same.
    pub job: Option<String>,
    /// What cannot be said and why, and what to do.
    pub unsayable: Unsayable,
}

named! {
    /// The kinds of problems.
    pub enum ProblemKind {
        /// There is no job for this schedule.
        Refused = "refused",
        /// The job does something else than its source in this respect.
        Changed = "changed",
        /// Something has to be given before the job can be created.
        Needed = "needed",
        /// The job is created disabled, because it would fire at once, or never.
        Disabled = "disabled",
    }
}

impl Conversion {
    /// How many schedules have no job.
    #[must_use]
    pub fn refused(&self) -> usize {
        let refused = |problem: &&ConversionProblem| problem.kind == ProblemKind::Refused;
        self.problems.iter().filter(refused).count().min(self.found)
    }

    /// The report as JSON, without the values of secrets.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "found": self.found,
            "quota": self.quota,
            "jobs": self.jobs.iter().map(ConvertedJob::to_json).collect::<Vec<_>>(),
            "problems": self.problems.iter().map(ConversionProblem::to_json).collect::<Vec<_>>(),
        })
    }
}

impl ConvertedJob {
    /// The body of the request that creates the job, with its secrets: those of the file, and those
    /// that `find` has by the names of their variables.
    ///
    /// # Errors
    ///
    /// The names of the variables that `find` does not have.
    pub fn with_secrets(&self, find: impl Fn(&str) -> Option<String>) -> Result<Value, Vec<&str>> {
        secrets::filled(&self.document, &self.secrets, find)
    }

    fn to_json(&self) -> Value {
        let secrets = self.secrets.iter().map(|secret| {
            json!({
                "pointer": secret.pointer,
                "variable": secret.variable,
                "isGiven": secret.value.known().is_some(),
            })
        });
        let json = object([
            ("name", Some(self.name.as_str().into())),
            ("line", self.place.line()),
            ("path", self.place.path()),
            ("state", Some(state(self.is_enabled).into())),
            ("sentence", Some(self.sentence.as_str().into())),
            ("next", Some(self.next_at.map(format_instant).into())),
            ("document", Some(self.document.clone())),
            ("secrets", Some(secrets.collect())),
        ]);
        json.into()
    }
}

impl ConversionProblem {
    fn to_json(&self) -> Value {
        let json = object([
            ("kind", Some(self.kind.name().into())),
            ("line", self.place.line()),
            ("path", self.place.path()),
            ("job", Some(self.job.as_deref().into())),
            ("why", Some(sentence(&self.unsayable.why).into())),
            ("remedy", Some(sentence(&self.unsayable.remedy).into())),
        ]);
        json.into()
    }
}

impl SourcePlace {
    fn line(&self) -> Option<Value> {
        if let Self::Line(line) = self { Some((*line).into()) } else { None }
    }

    fn path(&self) -> Option<Value> {
        if let Self::Path(path) = self { Some(path.as_str().into()) } else { None }
    }

    /// A place within this one.
    pub(crate) fn within(&self, name: &str) -> Self {
        match self {
            Self::Path(path) if !path.is_empty() => Self::Path(format!("{path}.{name}")),
            Self::Path(_) | Self::File => Self::Path(name.to_owned()),
            Self::Line(line) => Self::Line(*line),
        }
    }

    /// An entry of a list at this place.
    pub(crate) fn entry(&self, n: usize) -> Self {
        match self {
            Self::Path(path) => Self::Path(format!("{path}[{n}]")),
            Self::File => Self::Path(format!("[{n}]")),
            Self::Line(line) => Self::Line(*line),
        }
    }
}

/// The value of the property `state`.
pub(crate) const fn state(is_enabled: bool) -> &'static str {
    if is_enabled { "enabled" } else { "disabled" }
}

/// A part of an [`Unsayable`] as a sentence.
#[must_use]
pub fn sentence(part: &str) -> String {
    let mut chars = part.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    let mut sentence: String = first.chain(chars).collect();
    if !sentence.ends_with('.') {
        sentence.push('.');
    }
    sentence
}
