//! `export`: the jobs of collections as files for `apply`, as templates of the Azure Resource Manager, or
//! as commands.
//!
//! The server answers no secrets, so a file has none: a password is missing, a header with a credential
//! says that it is withheld. Both mean for `apply` that the stored one stays. With `--secrets-as-env` they
//! are references, which another installation can be given.

use std::fs;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use minutehand_client::{CollectionPath, Job};
use minutehand_recurrence::format_instant;
use serde_json::{Map, Value, json};

use crate::as_env::Variables;
use crate::at_server::ServerCommand;
use crate::failure::{Failure, Result};
use crate::fleet::{Fleet, JOBS_MAX, Members};
use crate::merge::object;
use crate::output::plural;
use crate::snooze;
use crate::work::Work;

/// The type of a collection in a template, and of its jobs.
const ARM_COLLECTION: &str = "Microsoft.Scheduler/jobCollections";
const ARM_JOB: &str = "Microsoft.Scheduler/jobCollections/jobs";
const ARM_VERSION: &str = "2016-03-01";
const ARM_SCHEMA: &str =
    "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#";

/// The arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Collection, or COLLECTION/JOB for one job [default: every collection of the group]
    name: Option<String>,
    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    format: Format,
    /// Directory to write one file for each collection into; without it, the files are printed
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Name a variable of the environment in place of each secret, for an installation that has none yet
    #[arg(long)]
    secrets_as_env: bool,
}

/// The forms of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Files for apply
    Json,
    /// Templates of the Azure Resource Manager
    Arm,
    /// Commands for a shell, which create the jobs
    Cli,
}

/// A collection to export.
struct Exported<'a> {
    path: &'a CollectionPath,
    name: String,
    /// The collection as the server answers it.
    document: Value,
    /// Whether all its jobs are exported, and so the collection itself.
    is_whole: bool,
    /// The names and the definitions.
    jobs: Vec<(&'a str, Map<String, Value>)>,
}

impl ServerCommand for ExportArgs {
    async fn run(self, work: Work) -> Result<()> {
        if self.secrets_as_env && self.format != Format::Json {
            return Err(Failure::refused(
                "--secrets-as-env is for the files of apply: leave --format out",
            ));
        }
        let mut variables = Variables::default();
        let named = self.name.as_deref().map(|name| work.defaults().collection_or_job(name));
        let (collection, only) = named.transpose()?.unzip();
        let only = only.flatten();
        let fleet = match (&collection, &only) {
            (Some(collection), Some(job)) => one(&work, collection, job).await?,
            _ => Fleet::read(&work, self.name.as_deref()).await?,
        };
        if fleet.is_cut {
            return Err(Failure::refused(format!(
                "there are more than {JOBS_MAX} jobs: export one collection after the other"
            )));
        }
        let mut over = 0;
        for members in &fleet.collections {
            over += members.jobs.iter().filter(|job| is_over(job)).count();
            let mut exported = Exported::of(&work, members, only.is_none()).await?;
            if self.secrets_as_env {
                exported.put_references(&mut variables);
            }
            let text = match self.format {
                Format::Json => pretty(&exported.file())?,
                Format::Arm => pretty(&exported.template())?,
                Format::Cli => exported.commands(&work).await?,
            };
            let Some(dir) = &self.output else {
                work.screen.print(&text)?;
                continue;
            };
            let name = members.path.collection.to_lowercase();
            let extension = if self.format == Format::Cli { "sh" } else { "json" };
            let path = dir.join(format!("{name}.{extension}"));
            let written = fs::create_dir_all(dir).and_then(|()| fs::write(&path, text));
            written.map_err(Failure::cannot(format!("write {}", path.display())))?;
            let jobs = plural(members.jobs.len(), "job");
            work.screen.note(&format!("{}: {jobs}", path.display()));
        }
        if !variables.names.is_empty() {
            let needed: Vec<&str> = variables.names.iter().map(String::as_str).collect();
            work.screen.note(&format!("apply needs these variables: {}", needed.join(", ")));
        }
        if over > 0 {
            let jobs = plural(over, "job");
            work.screen.note(&format!("{jobs} left out: completed or faulted, and fire no more"));
        }
        Ok(())
    }
}

/// One job, as if it were all of its collection.
async fn one(work: &Work, collection: &CollectionPath, job: &str) -> Result<Fleet> {
    let path = collection.clone();
    let job = work.client().job(&path.job(job)).await?.value;
    let members = Members { path, is_on: true, jobs: vec![job] };
    Ok(Fleet { collections: vec![members], is_cut: false })
}

/// A job that has finished cannot be applied: no file can say that it has.
fn is_over(job: &Job) -> bool {
    matches!(job.state(), "completed" | "faulted")
}

fn pretty(document: &Value) -> Result<String> {
    Ok(serde_json::to_string_pretty(document).map_err(Failure::cannot("write JSON"))? + "\n")
}

impl<'a> Exported<'a> {
    async fn of(work: &Work, members: &'a Members, is_whole: bool) -> Result<Self> {
        let Members { path, jobs, .. } = members;
        let answer = work.client().collection(path).await?;
        let mut document: Value = serde_json::from_str(&answer.text).unwrap_or_default();
        if let Some(Value::Object(properties)) = document.get_mut("properties") {
            snooze::leave_out(properties);
        }
        let jobs = jobs.iter().filter(|job| !is_over(job));
        Ok(Self {
            path,
            name: work.defaults().short_collection(path),
            document,
            is_whole,
            jobs: jobs.map(|job| (job.short_name(), definition(job))).collect(),
        })
    }

    /// Puts references in place of secrets.
    fn put_references(&mut self, variables: &mut Variables) {
        let collection = self.path.collection.as_str();
        if let Some(Value::Object(properties)) = self.document.get_mut("properties") {
            variables.put_into(&[collection], properties);
        }
        for (name, job) in &mut self.jobs {
            variables.put_into(&[collection, name], job);
        }
    }

    /// The extensions of the collection, and its state if it is not on.
    fn settings(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        let property = |name: &str| self.document.get("properties")?.get(name);
        let state = property("state").filter(|state| *state != "Enabled");
        let settings = [("minutehand", property("minutehand")), ("state", state)];
        settings.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }

    /// The file for `apply`.
    fn file(&self) -> Value {
        let settings = self.settings().filter(|_| self.is_whole);
        let settings: Map<String, Value> =
            settings.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        let jobs = self.jobs.iter().cloned();
        let jobs: Map<String, Value> =
            jobs.map(|(name, job)| (name.to_owned(), job.into())).collect();
        let document = object([
            ("collection", Some(self.name.as_str().into())),
            ("properties", (!settings.is_empty()).then(|| settings.into())),
            ("jobs", Some(jobs.into())),
        ]);
        document.into()
    }

    /// The template of the Azure Resource Manager.
    fn template(&self) -> Value {
        let collection = &self.path.collection;
        let mut resources = Vec::new();
        if self.is_whole {
            let part =
                |name: &str| self.document.get(name).filter(|value| !value.is_null()).map(literal);
            let resource = object([
                ("type", Some(ARM_COLLECTION.into())),
                ("apiVersion", Some(ARM_VERSION.into())),
                ("name", Some(collection.as_str().into())),
                ("location", part("location")),
                ("tags", part("tags")),
                ("properties", part("properties")),
            ]);
            resources.push(resource.into());
        }
        for (name, job) in &self.jobs {
            let mut resource = json!({
                "type": ARM_JOB, "apiVersion": ARM_VERSION, "name": format!("{collection}/{name}"),
                "properties": literal(&Value::Object(job.clone())),
            });
            if let (true, Some(resource)) = (self.is_whole, resource.as_object_mut()) {
                let id = format!("[resourceId('{ARM_COLLECTION}', '{collection}')]");
                resource.insert("dependsOn".to_owned(), json!([id]));
            }
            resources.push(resource);
        }
        json!({"$schema": ARM_SCHEMA, "contentVersion": "1.0.0.0", "resources": resources})
    }

    /// The commands that create the jobs, for a shell.
    async fn commands(&self, work: &Work) -> Result<String> {
        let mut text = String::new();
        if self.is_whole {
            text.extend([format!("minutehand collection create {}\n", self.name)]);
            let changes = self.changes();
            if !changes.is_empty() {
                text.extend([format!("minutehand collection set {}{changes}\n", self.name)]);
            }
        }
        for (name, job) in &self.jobs {
            let mut job = job.clone();
            if !job.contains_key("startTime") {
                // It begins where the job began; without one, `job create` would have to refuse it.
                let anchor = work.client().describe(&self.path.job(*name)).await?.value.anchor;
                let start = anchor.unwrap_or_else(|| format_instant(work.now()));
                job.insert("startTime".to_owned(), start.into());
            }
            let json = pretty(&job.into())?;
            text.extend([format!(
                "minutehand job create {}/{name} -f - <<'JSON'\n{json}JSON\n",
                self.name
            )]);
        }
        Ok(text)
    }

    /// What `collection set` has to say after `collection create`.
    fn changes(&self) -> String {
        let properties = self.settings().map(|(name, value)| format!("{name}={value}"));
        let tags = self.document.get("tags").and_then(Value::as_object).into_iter().flatten();
        let tags =
            tags.map(|(name, value)| format!("tags.{name}={}", value.as_str().unwrap_or_default()));
        let changes = properties.chain(tags).map(|change| format!(" {}", quoted(&change)));
        changes.collect::<Vec<_>>().concat()
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A value in a template: a text in brackets would be an expression.
fn literal(value: &Value) -> Value {
    match value {
        Value::String(text) if text.starts_with('[') && text.ends_with(']') => {
            format!("[{text}").into()
        }
        Value::Array(items) => items.iter().map(literal).collect(),
        Value::Object(object) => {
            let object = object.iter().map(|(name, value)| (name.clone(), literal(value)));
            Value::Object(object.collect())
        }
        other => other.clone(),
    }
}

/// The properties of a job without what only the server sets, and without a snooze.
pub(crate) fn definition(job: &Job) -> Map<String, Value> {
    let mut properties = job.properties.clone();
    properties.remove("status");
    snooze::leave_out(&mut properties);
    if job.state() == "enabled" {
        properties.remove("state");
    }
    properties
}

#[cfg(test)]
mod tests {
    use minutehand_client::GroupPath;

    use super::*;

    fn exported(path: &CollectionPath, is_whole: bool) -> Exported<'_> {
        let job =
            json!({"action": {"type": "Http", "request": {"body": "[x]", "uri": "http://a"}}});
        Exported {
            path,
            name: "ops".to_owned(),
            document: json!({
                "location": "here", "tags": {"team": "it's"},
                "properties": {"state": "Disabled", "minutehand": {"timeZone": "Europe/Berlin"}},
            }),
            is_whole,
            jobs: vec![("a", job.as_object().cloned().unwrap())],
        }
    }

    fn path() -> CollectionPath {
        let place = GroupPath { subscription: "me".to_owned(), group: "dev".to_owned() };
        CollectionPath { place, collection: "ops".to_owned() }
    }

    #[test]
    fn one_job_leaves_its_collection_alone() {
        let path = path();
        let (whole, one) = (exported(&path, true), exported(&path, false));
        assert_eq!(whole.file()["properties"]["state"], "Disabled");
        assert_eq!(one.file().get("properties"), None);
        assert_eq!(whole.template()["resources"].as_array().unwrap().len(), 2);
        let template = one.template();
        let resources = template["resources"].as_array().unwrap();
        let [job] = &resources[..] else { panic!("{template}") };
        assert_eq!((&job["name"], job.get("dependsOn")), (&json!("ops/a"), None));
    }

    #[test]
    fn a_text_in_brackets_is_no_expression_of_a_template() {
        let template = exported(&path(), true).template();
        let body = template.pointer("/resources/1/properties/action/request/body");
        assert_eq!(body, Some(&json!("[[x]")));
        assert_eq!(
            template.pointer("/resources/1/dependsOn/0"),
            Some(&json!("[resourceId('Microsoft.Scheduler/jobCollections', 'ops')]"))
        );
    }

    #[test]
    fn the_settings_of_a_collection_are_words_of_a_shell() {
        assert_eq!(
            exported(&path(), true).changes(),
            r#" 'minutehand={"timeZone":"Europe/Berlin"}' 'state="Disabled"' 'tags.team=it'\''s'"#
        );
    }
}
