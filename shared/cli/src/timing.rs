//! The options that say when a job fires, for a preview that needs no server.

use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::{Map, Value};

use crate::job::policy::PolicyArgs;
use crate::job::schedule::ScheduleArgs;

const HEADING: &str = "Policies";

/// The options of `job create` that say when a job fires.
#[derive(Debug, Clone, Default, Args)]
pub struct TimingOptions {
    #[command(flatten)]
    schedule: ScheduleArgs,
    /// Do not run then: 2027-12-24, 2027-12-27/2028-01-02; several with commas, or the option again
    #[arg(long, value_name = "DATE", value_delimiter = ',', help_heading = HEADING)]
    exclude_date: Vec<String>,
    /// Also run then, by the clock of the zone: 2027-12-23T18:00; several as above
    #[arg(long, value_name = "DATE", value_delimiter = ',', help_heading = HEADING)]
    extra_date: Vec<String>,
    /// Spread starts over this time after an instant: 10m
    #[arg(long, value_name = "SPAN", help_heading = HEADING)]
    jitter: Option<String>,
}

impl TimingOptions {
    /// Whether any of the options is given.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.schedule.is_any_given()
            || !self.exclude_date.is_empty()
            || !self.extra_date.is_empty()
            || self.jitter.is_some()
    }

    /// The properties of the jobs that would be created now: one, or two for a cron expression that means
    /// a day of the month or a day of the week.
    ///
    /// # Errors
    ///
    /// What is wrong with the options, and what to write instead.
    pub fn jobs(&self, now: DateTime<Utc>) -> Result<Vec<Value>, (String, Option<String>)> {
        let policies = PolicyArgs {
            exclude_date: self.exclude_date.clone(),
            extra_date: self.extra_date.clone(),
            jitter: self.jitter.clone(),
            ..PolicyArgs::default()
        };
        let jobs = self.schedule.timings(now).and_then(|timings| {
            let jobs = timings.iter().map(|timing| {
                let mut properties = Map::new();
                timing.put_into(&mut properties);
                policies.put_into(&mut properties)?;
                Ok(Value::Object(properties))
            });
            jobs.collect()
        });
        jobs.map_err(|failure| (failure.message, failure.hint))
    }
}
