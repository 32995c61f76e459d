//! `job create`: from options or a file to a job, and what was understood.

use std::path::PathBuf;

use clap::Args;
use minutehand_client::{CollectionPath, Description, JobPath, Precondition};
use minutehand_recurrence::{Timetable, format_instant};
use serde_json::{Map, Value, json};

use super::action::ActionArgs;
use super::expect::{ExpectArgs, expects};
use super::policy::PolicyArgs;
use super::questions;
use super::schedule::{ScheduleArgs, timetable};
use crate::check::{self, Change, Checked, JobChange};
use crate::failure::{FAILED, Failure, NOT_ALLOWED, Result, found};
use crate::input;
use crate::masked::masked;
use crate::output::ask;
use crate::output::times::capitalized;
use crate::work::{Work, is_collection_missing, no_collection, zone_of, zone_of_collection};

/// The arguments of `job create`.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct CreateArgs {
    /// Name of the job, or COLLECTION/JOB
    #[arg(required_unless_present = "interactive")]
    pub(super) name: Option<String>,
    #[command(flatten)]
    pub(super) schedule: ScheduleArgs,
    #[command(flatten)]
    pub(super) action: ActionArgs,
    #[command(flatten)]
    expect: ExpectArgs,
    #[command(flatten)]
    policies: PolicyArgs,
    /// File with the job or its properties, as JSON or YAML; - reads standard input. Options override it
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Ask for what the options do not say
    #[arg(long, short, conflicts_with = "file")]
    interactive: bool,
    /// Create it switched off
    #[arg(long)]
    pub(super) disabled: bool,
    /// Replace an existing job of this name
    #[arg(long)]
    pub(super) replace: bool,
    /// Say what would be created, and do nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn create(work: &Work, args: &CreateArgs) -> Result<()> {
    if args.interactive {
        let args = questions::ask(work, args)?;
        make(work, &args).await?;
        work.screen.hint(&format!("without questions: {}", questions::command(&args)));
        return Ok(());
    }
    make(work, args).await
}

async fn make(work: &Work, args: &CreateArgs) -> Result<()> {
    let path = work.defaults().job(args.name.as_deref().unwrap_or_default())?;
    let jobs = jobs(work, args, &path).await?;
    if jobs.len() > 1 {
        work.screen.note(
            "cron fires on the days of the month and on the days of the week, so these are two jobs; \
             on a day that is both, both fire",
        );
    }
    // All are read before the first is made.
    let timetables = jobs.iter().map(|(_, properties)| timetable(properties, work.now()));
    let timetables = timetables.collect::<Result<Vec<_>>>()?;
    if args.interactive && !args.dry_run {
        for timetable in &timetables {
            work.screen.note(&capitalized(&timetable.sentence()));
            work.screen.note(&first(work, timetable, "first fires"));
        }
        ask::agree("Create it?")?;
    }
    if args.dry_run {
        return dry_run(work, args, &jobs, &timetables).await;
    }
    for (path, properties) in &jobs {
        let document = json!({ "properties": properties });
        let condition = if args.replace { Precondition::Always } else { Precondition::New };
        let created = put(work, path, &document, condition).await?;
        describe(work, path, &created).await?;
    }
    Ok(())
}

/// The jobs to create: their paths and properties.
async fn jobs(
    work: &Work,
    args: &CreateArgs,
    path: &JobPath,
) -> Result<Vec<(JobPath, Map<String, Value>)>> {
    let properties = properties(args)?;
    if args.file.is_some() && args.schedule.is_empty() {
        if !properties.contains_key("startTime") {
            let now = format_instant(work.now());
            return Err(Failure::refused(
                "the file has no 'startTime', so the job would run at once and then follow its \
                 schedule",
            )
            .hint(format!("add \"startTime\": \"{now}\", or say when it fires with options")));
        }
        return Ok(vec![(path.clone(), properties)]);
    }
    let schedule = match zoned(work, &args.schedule, &path.collection).await {
        // What is only shown needs no server.
        Err(failure) if args.dry_run && matches!(failure.code, FAILED | NOT_ALLOWED) => {
            work.screen.note("the zone of the collection is not known: times are in UTC");
            args.schedule.clone()
        }
        schedule => schedule?,
    };
    let timings = schedule.timings(work.now())?;
    let is_one = timings.len() == 1;
    let jobs = timings.iter().enumerate().map(|(n, timing)| {
        let mut properties = properties.clone();
        properties.remove("recurrence");
        timing.put_into(&mut properties);
        let name = if is_one { path.job.clone() } else { format!("{}-{}", path.job, n + 1) };
        (path.collection.job(name), properties)
    });
    Ok(jobs.collect())
}

/// The options with the zone of the collection, if they name none: a person means the clock that the
/// collection names, and is told so before the job is made.
pub(crate) async fn zoned(
    work: &Work,
    schedule: &ScheduleArgs,
    path: &CollectionPath,
) -> Result<ScheduleArgs> {
    let mut schedule = schedule.clone();
    // What is wrong with the options is said before the server is asked.
    schedule.timings(work.now())?;
    if schedule.zone.is_none() {
        match work.client().collection(path).await {
            Ok(found) => {
                let zone = zone_of_collection(&found.value.properties.rest);
                schedule.zone = zone.map(|zone| zone.name().to_owned());
            }
            Err(error) if is_collection_missing(&error) => {
                if !work.defaults().is_default_collection(path) {
                    return Err(no_collection(work, path));
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(schedule)
}

/// The properties of the job without its timing: the file's, overridden by the options.
fn properties(args: &CreateArgs) -> Result<Map<String, Value>> {
    let mut properties = match &args.file {
        Some(file) => properties_of(input::object(file)?),
        None => Map::new(),
    };
    if let Some(action) = args.expect.action()? {
        properties.insert("action".to_owned(), action);
    } else if let Some(action) = args.action.action()? {
        properties.insert("action".to_owned(), action);
    }
    if !properties.contains_key("action") {
        // What is missing first is said first.
        if args.file.is_none() && args.schedule.is_empty() {
            return Err(Failure::refused("it is not said when the job fires, and what it calls")
                .hint("for example --every 15m --url https://example.com/; --help has more"));
        }
        return Err(Failure::refused(
            "it is not said what the job does: add --url URL, --expect, or -f FILE",
        ));
    }
    args.action.put_into(&mut properties)?;
    args.policies.put_into(&mut properties)?;
    if args.disabled {
        properties.insert("state".to_owned(), "disabled".into());
    }
    Ok(properties)
}

/// The properties of a document, which may be a whole job or only them.
pub(super) fn properties_of(document: Value) -> Map<String, Value> {
    match document {
        Value::Object(mut object) => match object.remove("properties") {
            Some(Value::Object(properties)) => properties,
            Some(other) => Map::from_iter([("properties".to_owned(), other)]),
            None => object,
        },
        _ => Map::new(),
    }
}

/// Says what would be created, and refuses what the server would refuse.
async fn dry_run(
    work: &Work,
    args: &CreateArgs,
    jobs: &[(JobPath, Map<String, Value>)],
    timetables: &[Timetable],
) -> Result<()> {
    let documents: Vec<Value> =
        jobs.iter().map(|(_, properties)| json!({ "properties": properties })).collect();
    let checked = match checked(work, args, jobs, &documents).await {
        // What is only shown needs no server.
        Err(failure) if matches!(failure.code, FAILED | NOT_ALLOWED) => {
            work.screen.note(&format!("the server has not checked it: {failure}"));
            Checked::default()
        }
        checked => checked?,
    };
    let mut checked = checked.accepted()?.into_iter();
    for (((path, _), document), timetable) in jobs.iter().zip(&documents).zip(timetables) {
        let checked = checked.next().flatten().unwrap_or_default();
        if let Some(json) = &work.json {
            json.document(&work.screen, &masked(document).to_string())?;
            continue;
        }
        let name = work.defaults().short_job(path);
        // The server's sentence also has the excluded and extra dates.
        let sentence = checked.sentence.unwrap_or_else(|| timetable.sentence());
        work.screen.line(&format!("would create {name}: {sentence}"))?;
        work.screen.line(&first(work, timetable, "would first fire"))?;
        for warning in &checked.warnings {
            work.screen.note(&warning.message);
        }
    }
    Ok(())
}

/// What the server says of jobs that are to be created, with the collection that would be made for them.
async fn checked(
    work: &Work,
    args: &CreateArgs,
    jobs: &[(JobPath, Map<String, Value>)],
    documents: &[Value],
) -> Result<Checked> {
    let Some((JobPath { collection, .. }, _)) = jobs.first() else {
        return Ok(Checked::default());
    };
    let changes: Vec<JobChange<'_>> = jobs
        .iter()
        .zip(documents)
        .map(|((path, _), body)| JobChange {
            name: &path.job,
            change: Change { is_patch: false, body },
            is_new: true,
        })
        .collect();
    let is_made = found(work.client().collection(collection).await)?.is_none();
    if is_made && !work.defaults().is_default_collection(collection) {
        return Err(no_collection(work, collection));
    }
    if !is_made && !args.replace {
        for (path, _) in jobs {
            if found(work.client().job(path).await)?.is_some() {
                return Err(taken(work, path));
            }
        }
    }
    let new = json!({});
    let made = is_made.then_some(Change { is_patch: false, body: &new });
    check::check(work, collection, made, &changes).await
}

/// When a job that is created now fires first.
fn first(work: &Work, timetable: &Timetable, fires: &str) -> String {
    let times = work.times(timetable.zone().copied());
    match timetable.at_or_after(work.now()) {
        Some(at) => format!("{fires} {}, {}", times.at(at), times.away(&format_instant(at))),
        None => "never fires".to_owned(),
    }
}

/// Creates a job that must not exist yet, and the default collection if that is missing.
pub(crate) async fn put_new(work: &Work, path: &JobPath, document: &Value) -> Result<String> {
    put(work, path, document, Precondition::New).await
}

/// Creates the job, and the default collection if that is what is missing.
async fn put(
    work: &Work,
    path: &JobPath,
    document: &Value,
    condition: Precondition<'_>,
) -> Result<String> {
    match work.client().put_job(path, document, condition).await {
        Err(error) if is_collection_missing(&error) => {
            if !work.defaults().is_default_collection(&path.collection) {
                return Err(no_collection(work, &path.collection));
            }
            make_collection(work, &path.collection, &json!({})).await?;
            Ok(work.client().put_job(path, document, condition).await?.text)
        }
        Err(error) if error.is_taken() => Err(taken(work, path)),
        created => Ok(created?.text),
    }
}

/// That there is a job of the name already.
fn taken(work: &Work, path: &JobPath) -> Failure {
    let name = work.defaults().short_job(path);
    Failure::refused(format!("there is a job '{name}' already")).hint(format!(
        "`minutehand job set {name}` changes it; `minutehand job create {name} --replace` replaces it"
    ))
}

/// Makes a collection for jobs.
pub(crate) async fn make_collection(
    work: &Work,
    path: &CollectionPath,
    document: &Value,
) -> Result<()> {
    match work.client().put_collection(path, document, Precondition::New).await {
        // Another command made it in the meantime.
        Err(error) if error.is_taken() => {}
        made => {
            made?;
            let name = work.defaults().short_collection(path);
            work.screen.note(&format!("created the collection '{name}'"));
        }
    }
    Ok(())
}

/// Says what the server has understood.
pub(super) async fn describe(work: &Work, path: &JobPath, created: &str) -> Result<()> {
    if let Some(json) = &work.json {
        return json.document(&work.screen, created);
    }
    let job = work.client().describe(path).await?.value;
    let name = work.defaults().short_job(path);
    work.screen.line(&format!("created {name}: {}", job.sentence))?;
    if expects(&job.properties) {
        say_next(work, &job, "first expects a ping")?;
        let address = work.client().ping_url(path).await?.value;
        work.screen.line(&format!("ping URL {}", address.url))?;
        return Ok(());
    }
    say_next(work, &job, "first fires")?;
    work.screen.hint(&format!("minutehand job run {name} --wait    runs it now"));
    Ok(())
}

/// Says when a job fires next, or why it does not.
pub(super) fn say_next(work: &Work, job: &Description, fires: &str) -> Result<()> {
    match &job.next {
        Some(next) => {
            let times = work.times(zone_of(&job.properties));
            let starts_at = job.next_starts_at.as_deref();
            let (at, away) =
                (times.with_start(next, starts_at), times.away(starts_at.unwrap_or(next)));
            work.screen.line(&format!("{fires} {at}, {away}"))?;
        }
        None => {
            for why in &job.not_firing {
                work.screen.line(&format!("does not fire: {}", why.message))?;
            }
        }
    }
    Ok(())
}
