//! `export`: the jobs of collections as files for `apply`.
//!
//! The server answers no secrets, so a file has none: a password is missing, a header with a credential
//! says that it is withheld. Both mean for `apply` that the stored one stays.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use client::Job;
use serde_json::{Map, Value, json};

use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::fleet::{Fleet, JOBS_MAX, Members};
use crate::options::Options;
use crate::output::plural;
use crate::work::Work;

/// The arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Collection [default: every collection of the group]
    collection: Option<String>,
    /// Directory to write one file for each collection into; without it, the files are printed
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

impl ExportArgs {
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) async fn run(self, environment: Environment) -> Result<()> {
        let work = Work::open(&self.options, environment)?;
        let fleet = Fleet::read(&work, self.collection.as_deref()).await?;
        if fleet.is_cut {
            return Err(Failure::refused(format!(
                "there are more than {JOBS_MAX} jobs: export one collection after the other"
            )));
        }
        let mut over = 0;
        for members in &fleet.collections {
            over += members.jobs.iter().filter(|job| is_over(job)).count();
            let document = document(&work, members).await?;
            let text = serde_json::to_string_pretty(&document)
                .map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))?;
            let Some(dir) = &self.output else {
                work.screen.line(&text)?;
                continue;
            };
            let name = members.path.collection.to_lowercase();
            let path = dir.join(format!("{name}.json"));
            let written = fs::create_dir_all(dir).and_then(|()| fs::write(&path, text + "\n"));
            written.map_err(|error| {
                Failure::failed(format!("cannot write {}: {error}", path.display()))
            })?;
            let jobs = plural(members.jobs.len(), "job");
            work.screen.note(&format!("{}: {jobs}", path.display()));
        }
        if over > 0 {
            let jobs = plural(over, "job");
            work.screen.note(&format!("{jobs} left out: completed or faulted, and fire no more"));
        }
        Ok(())
    }
}

/// A job that has finished cannot be applied: no file can say that it has.
fn is_over(job: &Job) -> bool {
    matches!(job.state(), "completed" | "faulted")
}

async fn document(work: &Work, members: &Members) -> Result<Value> {
    let collection = work.client().collection(&members.path).await?.value;
    let mut properties = Map::new();
    if let Some(extension) = collection.properties.rest.get("minutehand") {
        properties.insert("minutehand".to_owned(), extension.clone());
    }
    if !members.is_on {
        properties.insert("state".to_owned(), collection.properties.state.into());
    }
    let jobs: Map<String, Value> = members
        .jobs
        .iter()
        .filter(|job| !is_over(job))
        .map(|job| (job.short_name().to_owned(), Value::Object(definition(job))))
        .collect();
    let mut document = Map::new();
    document
        .insert("collection".to_owned(), work.defaults().short_collection(&members.path).into());
    if !properties.is_empty() {
        document.insert("properties".to_owned(), properties.into());
    }
    document.insert("jobs".to_owned(), jobs.into());
    Ok(json!(document))
}

/// The properties of a job without what only the server sets.
pub(crate) fn definition(job: &Job) -> Map<String, Value> {
    let mut properties = job.properties.clone();
    properties.remove("status");
    if job.state() == "enabled" {
        properties.remove("state");
    }
    properties
}
