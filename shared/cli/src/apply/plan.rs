//! What `apply` has to do: the files compared with the server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use minutehand_client::{CheckProblem, CollectionPath, CollectionProperties, JobPath};
use minutehand_convert::yaml;
use minutehand_recurrence::zone::Zone;
use serde_json::{Map, Value, json};

use super::diff::{Difference, difference};
use super::files::{WantedCollection, WantedJob};
use super::secrets;
use crate::check::{self, Change, JobChange};
use crate::failure::{Failure, Result, found};
use crate::job::schedule::timetable;
use crate::masked::masked;
use crate::merge::merge;
use crate::work::{Work, zone_of, zone_of_collection};

/// What `apply` has to do.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    /// How many jobs are as their files say.
    pub(super) unchanged: usize,
    /// The jobs that no file has, if they are not to be deleted.
    pub(super) surplus: Vec<String>,
    /// What is wrong with the files.
    problems: Vec<Failure>,
}

/// One change.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) what: What,
    /// What it does, for people.
    pub(super) lines: Vec<String>,
    /// The file that says so; `None` if no file has the job.
    file: Option<PathBuf>,
}

/// What a change is.
#[derive(Debug)]
pub(super) enum What {
    CreateCollection(CollectionPath, Value),
    ChangeCollection(CollectionPath, Value),
    CreateJob(JobPath, Value),
    ChangeJob(JobPath, Value),
    DeleteJob(JobPath),
}

/// A collection as the server has it: its zone, and its jobs under their names in lower case.
struct Found {
    zone: Option<Zone>,
    jobs: BTreeMap<String, (String, Map<String, Value>)>,
}

/// A job as its file has it, and as the server has it.
struct Job<'a> {
    path: &'a JobPath,
    wanted: &'a WantedJob,
    before: Option<Map<String, Value>>,
    zone: Option<Zone>,
}

impl Step {
    pub(super) fn name(&self, work: &Work) -> String {
        match &self.what {
            What::CreateCollection(path, _) | What::ChangeCollection(path, _) => {
                work.defaults().short_collection(path)
            }
            What::CreateJob(path, _) | What::ChangeJob(path, _) | What::DeleteJob(path) => {
                work.defaults().short_job(path)
            }
        }
    }

    pub(super) fn mark(&self) -> &'static str {
        match &self.what {
            What::CreateCollection(..) | What::CreateJob(..) => "+",
            What::ChangeCollection(..) | What::ChangeJob(..) => "~",
            What::DeleteJob(_) => "-",
        }
    }

    /// The collection of the change, and the name of its job if it changes one.
    fn place(&self) -> (&CollectionPath, Option<&str>) {
        match &self.what {
            What::CreateCollection(path, _) | What::ChangeCollection(path, _) => (path, None),
            What::CreateJob(path, _) | What::ChangeJob(path, _) | What::DeleteJob(path) => {
                (&path.collection, Some(&path.job))
            }
        }
    }

    /// The request that makes the change; `None` for one that has no body.
    fn change(&self) -> Option<Change<'_>> {
        Some(match &self.what {
            What::CreateCollection(_, body) | What::CreateJob(_, body) => {
                Change { is_patch: false, body }
            }
            What::ChangeCollection(_, body) | What::ChangeJob(_, body) => {
                Change { is_patch: true, body }
            }
            What::DeleteJob(_) => return None,
        })
    }

    /// A problem that the server has with the change.
    fn problem(&self, problem: &CheckProblem, has_line: bool) -> Failure {
        let failure = Failure::refused(check::says(problem));
        let file = self.file.as_deref().unwrap_or(Path::new("-"));
        let (what, path): (_, Vec<&str>) = match self.place() {
            (_, Some(job)) => {
                let target = problem.target.as_deref();
                let target = target.map(|it| it.strip_prefix("properties.").unwrap_or(it));
                let below = target.into_iter().flat_map(|it| it.split('.'));
                (format!("job '{job}'"), ["jobs", job].into_iter().chain(below).collect())
            }
            (path, None) => {
                let target = problem.target.as_deref().unwrap_or("properties");
                (format!("collection '{}'", path.collection), target.split('.').collect())
            }
        };
        named(failure, file, &what, has_line.then_some(path.as_slice()))
    }

    /// The change for programs, without secrets.
    pub(super) fn json(&self, work: &Work) -> Value {
        let (action, document) = match &self.what {
            What::CreateCollection(_, document) => ("createCollection", Some(document)),
            What::ChangeCollection(_, changes) => ("changeCollection", Some(changes)),
            What::CreateJob(_, document) => ("createJob", Some(document)),
            What::ChangeJob(_, changes) => ("changeJob", Some(changes)),
            What::DeleteJob(_) => ("deleteJob", None),
        };
        json!({"action": action, "name": self.name(work), "document": document.map(masked)})
    }
}

impl Plan {
    /// Compares the files with the server.
    pub(super) async fn make(
        work: &Work,
        wanted: &[WantedCollection],
        prune: bool,
        send_secrets: bool,
    ) -> Result<Self> {
        let mut plan = Self::default();
        let mut deletions = Vec::new();
        for collection in wanted {
            let Found { zone, jobs: mut found } = plan.collection(work, collection).await?;
            for (name, job) in &collection.jobs {
                let file = job.file.clone();
                let path = collection.path.job(name.as_str());
                let before = found.remove(&name.to_lowercase()).map(|(_, job)| job);
                let job = Job { path: &path, wanted: job, before, zone };
                if let Err(failure) = plan.job(work, job, send_secrets) {
                    let has_line = plan.problems.len() < check::SHOWN_MAX;
                    let path = ["jobs", name];
                    let what = format!("job '{name}'");
                    let failure = named(failure, &file, &what, has_line.then_some(&path[..]));
                    plan.problems.push(failure);
                }
            }
            for (_, (name, _)) in found {
                let path = collection.path.job(name);
                if prune {
                    deletions.push(Step {
                        what: What::DeleteJob(path),
                        lines: vec!["delete".to_owned()],
                        file: None,
                    });
                } else {
                    plan.surplus.push(work.defaults().short_job(&path));
                }
            }
        }
        plan.steps.extend(deletions);
        plan.check(work, wanted).await?;
        match check::all(std::mem::take(&mut plan.problems)) {
            Some(failure) => Err(failure),
            None => Ok(plan),
        }
    }

    /// Asks the server about each change, and keeps what it would refuse.
    async fn check(&mut self, work: &Work, wanted: &[WantedCollection]) -> Result<()> {
        for collection in wanted {
            let here = self.steps.iter().filter(|step| *step.place().0 == collection.path);
            let changes = here.filter_map(|step| Some((step, step.place().1, step.change()?)));
            let (jobs, own): (Vec<_>, Vec<_>) = changes.partition(|(_, job, _)| job.is_some());
            if jobs.is_empty() && own.is_empty() {
                continue;
            }
            let of_jobs: Vec<JobChange<'_>> = jobs
                .iter()
                .filter_map(|(step, name, change)| {
                    let is_new = matches!(step.what, What::CreateJob(..));
                    Some(JobChange { name: (*name)?, change: *change, is_new })
                })
                .collect();
            let own = own.first();
            let change = own.map(|(_, _, change)| *change);
            let checked = check::check(work, &collection.path, change, &of_jobs).await?;
            let of_own = own.iter().flat_map(|(step, ..)| {
                checked.collection.iter().map(move |problem| (step, problem))
            });
            let of_jobs = jobs.iter().zip(&checked.jobs).flat_map(|((step, ..), job)| {
                let problems = job.iter().flat_map(|job| &job.problems);
                problems.map(move |problem| (step, problem))
            });
            let known = self.problems.len();
            let problems = of_own.chain(of_jobs).enumerate();
            // A line is found by reading the file again, so only those that are shown have one.
            let problems = problems
                .map(|(n, (step, problem))| step.problem(problem, known + n < check::SHOWN_MAX));
            let problems: Vec<Failure> = problems.collect();
            self.problems.extend(problems);
        }
        Ok(())
    }

    pub(super) fn deletes(&self) -> usize {
        self.counts().2
    }

    /// How many are created, changed and deleted.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let count = |mark: &str| self.steps.iter().filter(|step| step.mark() == mark).count();
        (count("+"), count("~"), count("-"))
    }

    /// Adds the changes of a collection, and returns what it has.
    async fn collection(&mut self, work: &Work, wanted: &WantedCollection) -> Result<Found> {
        let path = &wanted.path;
        let own = wanted.properties.as_ref().and_then(zone_of_collection);
        let Some(answer) = found(work.client().collection(path).await)? else {
            let properties = wanted.properties.clone().unwrap_or_default();
            let what = What::CreateCollection(path.clone(), json!({ "properties": properties }));
            let file = wanted.file.clone();
            self.steps.push(Step { what, lines: vec!["collection".to_owned()], file });
            return Ok(Found { zone: own, jobs: BTreeMap::new() });
        };
        let CollectionProperties { state, rest: mut before } = answer.value.properties;
        let zone = own.or_else(|| zone_of_collection(&before));
        if let Some(properties) = &wanted.properties {
            before.insert("state".to_owned(), state.into());
            // Only what the file names: a collection also has properties that the server sets.
            let mut named = properties.clone();
            named.entry("state").or_insert_with(|| "Enabled".into());
            before.retain(|name, _| named.keys().any(|key| key.eq_ignore_ascii_case(name)));
            let Difference { patch: changes, lines } = difference(&named, &before, None);
            if !changes.is_empty() {
                let what = What::ChangeCollection(path.clone(), json!({ "properties": changes }));
                self.steps.push(Step { what, lines, file: wanted.file.clone() });
            }
        }
        let mut jobs = BTreeMap::new();
        let mut listing = work.client().jobs(path, None);
        while let Some(page) = listing.next_page().await? {
            for job in page {
                let name = job.value.short_name().to_owned();
                jobs.insert(name.to_lowercase(), (name, job.value.properties));
            }
        }
        Ok(Found { zone, jobs })
    }

    fn job(&mut self, work: &Work, job: Job<'_>, send_secrets: bool) -> Result<()> {
        let Job { path, wanted, before, zone } = job;
        let document = Value::Object(wanted.properties.clone());
        secrets::check(&document, "")?;
        let resolved = |value: &Value| secrets::resolved(value, &wanted.file, &work.environment);
        let Some(before) = before else {
            let sentence = sentence(work, &wanted.properties, zone)?;
            let what = What::CreateJob(path.clone(), json!({ "properties": resolved(&document)? }));
            let file = Some(wanted.file.clone());
            self.steps.push(Step { what, lines: vec![sentence], file });
            return Ok(());
        };
        let Difference { patch: mut changes, mut lines } =
            difference(&wanted.properties, &before, zone_of(&before).or(zone));
        if send_secrets && let Some(sent) = only_secrets(&document) {
            lines.push("the secrets are sent".to_owned());
            let mut all = Value::Object(changes);
            merge(&mut all, sent);
            changes = all.as_object().cloned().unwrap_or_default();
        }
        if changes.is_empty() {
            self.unchanged += 1;
            return Ok(());
        }
        let timing = changes.contains_key("recurrence") || changes.contains_key("startTime");
        if timing {
            // A change of timing without a start would run at once.
            lines.push(format!("fires: {}", sentence(work, &wanted.properties, zone)?));
        }
        let changes = resolved(&Value::Object(changes))?;
        let what = What::ChangeJob(path.clone(), json!({ "properties": changes }));
        self.steps.push(Step { what, lines, file: Some(wanted.file.clone()) });
        Ok(())
    }
}

/// A failure of a job or a collection, with its place in a file.
fn named(failure: Failure, file: &Path, what: &str, path: Option<&[&str]>) -> Failure {
    let message = format!("{}: {what}: {}", place_in(file, path), failure.message);
    Failure { message, ..failure }
}

/// A file, with the line of a property if it can be read again.
fn place_in(file: &Path, path: Option<&[&str]>) -> String {
    let path = path.filter(|_| file != Path::new("-"));
    let line = path.and_then(|path| yaml::line_of(&std::fs::read_to_string(file).ok()?, path));
    match line {
        Some(line) => format!("{}:{line}", file.display()),
        None => file.display().to_string(),
    }
}

/// When a job fires, in words. A job without a start is refused: it would run at once.
/// A job without a zone uses its collection's.
fn sentence(work: &Work, properties: &Map<String, Value>, zone: Option<Zone>) -> Result<String> {
    if !properties.contains_key("startTime") {
        return Err(Failure::refused("'startTime' is missing, so the job would run at once")
            .hint("add a date, such as \"startTime\": \"2027-01-01\""));
    }
    let mut timing = properties.clone();
    if let (Some(zone), Some(Value::Object(recurrence))) = (zone, timing.get_mut("recurrence")) {
        recurrence.entry("timeZone").or_insert_with(|| zone.name().into());
    }
    Ok(timetable(&timing, work.now())?.sentence())
}

/// The part of a document that leads to references.
fn only_secrets(value: &Value) -> Option<Value> {
    if secrets::is_reference(value) {
        return Some(value.clone());
    }
    let object = value.as_object()?;
    let parts: Map<String, Value> = object
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), only_secrets(value)?)))
        .collect();
    (!parts.is_empty()).then_some(parts.into())
}
