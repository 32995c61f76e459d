//! `import`: the schedules of other schedulers as jobs.
//!
//! The files are converted, the jobs and the problems are shown, and the server is asked whether it would
//! accept the jobs. Then they are created, a few at a time. Each is a PUT of its own that only creates. So a
//! command that ends in between leaves some of the jobs made, and the next one makes the others.

mod watch;

use std::collections::HashSet;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use futures_util::{StreamExt, stream};
use minutehand_client::{CollectionPath, Precondition};
use minutehand_convert::{
    Conversion, ConversionProblem, ConvertOptions, ConvertedJob, CrontabForm, ProblemKind,
    SourceFormat, SourcePlace,
};
use minutehand_recurrence::zone::Zone;
use serde_json::{Map, Value, json};
use watch::WatchArgs;
use zeroize::Zeroizing;

use crate::at_server::ServerCommand;
use crate::check::{self, Change, JobChange};
use crate::failure::{FAILED, Failure, REFUSED, Result, found};
use crate::input;
use crate::job::make_collection;
use crate::output::ask;
use crate::output::progress::Progress;
use crate::output::screen::Screen;
use crate::output::table::Table;
use crate::work::Work;

/// The most requests at a time.
const REQUESTS_MAX: usize = 8;

/// What follows the help.
pub(crate) const HELP: &str = "\
An import fires nothing: every job gets a startTime, and a one-time job that is over is created \
disabled. A schedule that a job cannot express exactly is refused with the reason; the others are \
created. An existing job of the same name is left alone.

A secret that the file lacks is read from an environment variable, which the report names: \
MINUTEHAND_IMPORT_NIGHTLY_PASSWORD.

Exit code 2 means that not every schedule became a job.";

/// The arguments of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    #[command(subcommand)]
    from: ImportFrom,
}

#[derive(Debug, Subcommand)]
enum ImportFrom {
    /// Read crontabs; a URL is called in place of each command
    #[command(after_long_help = HELP)]
    Crontab {
        /// URL to call, as a template
        #[arg(
            long,
            value_name = "URL",
            required_unless_present = "watch",
            conflicts_with = "watch",
            help = "URL to call; {command}, {user} and {name} are replaced: \
                      https://runner.example.com/run?cmd={command}"
        )]
        template: Option<String>,
        /// Method of the calls
        #[arg(long, value_name = "METHOD", default_value = "POST")]
        method: String,
        #[command(flatten)]
        watch: WatchArgs,
        /// Time zone of the machine that the crontab is from [default: the collection's, else UTC]
        #[arg(long, value_name = "ZONE")]
        zone: Option<String>,
        /// The crontab has a column for the user, like /etc/crontab and /etc/cron.d
        #[arg(long)]
        system: bool,
        #[command(flatten)]
        into: IntoArgs,
    },
    /// Read schedules of `EventBridge`
    #[command(name = "eventbridge", after_long_help = HELP,
              about = "Read schedules of EventBridge, or templates of CloudFormation and SAM")]
    EventBridge {
        #[command(flatten)]
        parameters: ParameterArgs,
        #[command(flatten)]
        into: IntoArgs,
    },
    /// Read templates of the Azure Resource Manager, or jobs of Azure Scheduler
    #[command(after_long_help = HELP)]
    Azure {
        #[command(flatten)]
        parameters: ParameterArgs,
        #[command(flatten)]
        into: IntoArgs,
    },
}

#[derive(Debug, Args)]
struct ParameterArgs {
    /// File with parameters of the template, as JSON or YAML
    #[arg(long, value_name = "FILE")]
    parameters: Option<PathBuf>,
    /// A parameter of the template
    #[arg(
        long = "parameter",
        value_name = "NAME=VALUE",
        help = "A parameter of the template: AWS::Region=eu-west-1, Queue.Arn=arn:…"
    )]
    single: Vec<String>,
}

#[derive(Debug, Args)]
struct IntoArgs {
    /// Files; - reads standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Collection of the jobs, created if it is missing [default: the context's, else 'default']
    #[arg(long = "to", value_name = "COLLECTION")]
    collection: Option<String>,
    /// Show the jobs and the problems, and create nothing
    #[arg(long)]
    dry_run: bool,
    /// Do it without asking
    #[arg(long, short)]
    yes: bool,
}

/// A file, converted.
struct Read {
    file: PathBuf,
    text: Zeroizing<String>,
    conversion: Conversion,
}

/// What became of a job.
enum Outcome {
    Created,
    /// A job has the name already.
    Exists,
    Failed(Failure),
}

impl ServerCommand for ImportArgs {
    async fn run(self, work: Work) -> Result<()> {
        let mut options = ConvertOptions::at(now(&work).await);
        let (format, into) = match self.from {
            ImportFrom::Crontab { template, method, watch, zone, system, into } => {
                options.template = template;
                options.method = method;
                options.expect = watch.window()?;
                options.time_zone = zone;
                options.form = if system { CrontabForm::System } else { CrontabForm::User };
                (SourceFormat::Crontab, into)
            }
            ImportFrom::EventBridge { parameters, into } => {
                options.parameters = parameters.read()?;
                (SourceFormat::EventBridge, into)
            }
            ImportFrom::Azure { parameters, into } => {
                options.parameters = parameters.read()?;
                (SourceFormat::Azure, into)
            }
        };
        let path = work.defaults().collection(into.collection.as_deref())?;
        let watch = options.expect.as_ref().map(|_| options.form);
        if watch.is_some() {
            watch::check(&into.files)?;
        }
        let files = into.convert(format, options)?;
        let is_text = work.json.is_none();
        // A crontab that is printed may be piped into `crontab -`.
        let report = Report { screen: &work.screen, is_aside: watch.is_some() && !into.dry_run };
        if is_text {
            show(&work, report, &path, &files)?;
        }
        if into.dry_run {
            if !is_text {
                print_json(&work, &files, None, None)?;
            }
            match check_all(&work, &path, &files).await {
                // What is only shown needs no server.
                Err(failure) if failure.code == FAILED => {
                    let message = &failure.message;
                    work.screen.note(&format!("the server has not checked the jobs: {message}"));
                }
                checked => checked?,
            }
            return complete(&files);
        }
        check_all(&work, &path, &files).await?;
        let count: usize = files.iter().map(|read| read.conversion.jobs.len()).sum();
        if count > 0 {
            let name = work.defaults().short_collection(&path);
            let question = format!("Create {count} jobs in {name}?");
            // Without a terminal no answer is needed: an import only adds.
            ask::confirm(&work.screen, &question, into.yes || !work.screen.asks)?;
            need_collection(&work, &path, &files).await?;
        }
        let outcomes = create_all(&work, &path, &files, count).await;
        let (crontab, unknown) = match (watch, files.as_slice()) {
            (Some(form), [read]) => {
                let (text, failure) = watch::crontab(&work, &path, read, form, &outcomes).await;
                (Some(text), failure)
            }
            _ => (None, None),
        };
        if !is_text {
            print_json(&work, &files, Some(&outcomes), crontab.as_deref())?;
        } else if let Some(text) = &crontab {
            work.screen.print(text)?;
        }
        finish(&work, report, &outcomes)?;
        unknown.map_or_else(|| complete(&files), Err)
    }
}

/// The server's clock, which decides what has passed; else this machine's.
async fn now(work: &Work) -> DateTime<Utc> {
    let health = work.client().health().await.ok();
    let date = health.and_then(|health| DateTime::parse_from_rfc2822(&health.date?).ok());
    date.map_or_else(|| work.now(), |date| date.to_utc())
}

impl ParameterArgs {
    fn read(&self) -> Result<Map<String, Value>> {
        let mut parameters = match self.parameters.as_deref().map(input::object).transpose()? {
            Some(Value::Object(parameters)) => parameters,
            _ => Map::new(),
        };
        for written in &self.single {
            let Some((name, value)) = written.split_once('=') else {
                return Err(Failure::refused(format!(
                    "'{written}' is not a parameter: write NAME=VALUE"
                )));
            };
            match parameters.get_mut("parameters").and_then(Value::as_object_mut) {
                Some(of_file) => of_file.insert(name.to_owned(), json!({"value": value})),
                None => parameters.insert(name.to_owned(), value.into()),
            };
        }
        Ok(parameters)
    }
}

impl IntoArgs {
    /// Converts the files. No two jobs of them have the same name.
    fn convert(&self, format: SourceFormat, mut options: ConvertOptions) -> Result<Vec<Read>> {
        let mut all = Vec::new();
        for file in &self.files {
            let text = input::text(file)?;
            let conversion =
                minutehand_convert::convert(format, &text, &options).map_err(|unsayable| {
                    let file = file.display();
                    Failure::refused(format!("{file}: {}", unsayable.why)).hint(unsayable.remedy)
                })?;
            options.names_taken.extend(conversion.jobs.iter().map(|job| job.name.clone()));
            all.push(Read { file: file.clone(), text, conversion });
        }
        Ok(all)
    }
}

impl Read {
    fn place(&self, place: &SourcePlace) -> String {
        let file = self.file.display();
        match place {
            SourcePlace::File => file.to_string(),
            SourcePlace::Line(line) => format!("{file}:{line}"),
            SourcePlace::Path(path) => format!("{file}: {path}"),
        }
    }
}

/// Where the report goes.
#[derive(Clone, Copy)]
struct Report<'a> {
    screen: &'a Screen,
    /// Beside what is printed, to standard error.
    is_aside: bool,
}

impl Report<'_> {
    fn line(self, text: &str) -> Result<()> {
        if self.is_aside {
            self.screen.note(text);
            return Ok(());
        }
        self.screen.line(text)
    }
}

/// Shows the jobs, and then the problems.
fn show(work: &Work, report: Report<'_>, path: &CollectionPath, files: &[Read]) -> Result<()> {
    let mut table = Table::new(&["job", "from", "state", "next", "fires"]);
    for read in files {
        for job in &read.conversion.jobs {
            let state =
                if job.is_enabled { work.screen.good("on") } else { work.screen.dim("off") };
            let zone = zone_of(&job.document);
            let next = job.next_at.map_or_else(|| "-".to_owned(), |at| work.times(zone).at(at));
            let name = work.defaults().short_job(&path.job(&job.name));
            table.row(vec![name, read.place(&job.place), state, next, job.sentence.clone()]);
        }
    }
    if !table.is_empty() {
        report.line(work.screen.written(&table).trim_end())?;
    }
    for read in files {
        for problem in read.conversion.problems.iter().filter(|it| !is_given(work, read, it)) {
            let kind = match problem.kind.name() {
                "refused" => work.screen.bad("refused"),
                other => work.screen.warn(other),
            };
            let job = problem.job.as_ref().map_or_else(String::new, |job| format!(" ({job})"));
            let place = read.place(&problem.place);
            report.line(&format!("{kind} {place}{job}: {}", problem.unsayable))?;
        }
    }
    let found: usize = files.iter().map(|read| read.conversion.found).sum();
    let converted: usize = files.iter().map(|read| converted(&read.conversion)).sum();
    report.line(&format!("{converted} of {found} schedules can be imported"))
}

/// Whether a problem is only that a secret is needed, and its variable is set.
fn is_given(work: &Work, read: &Read, problem: &ConversionProblem) -> bool {
    let is_of = |job: &&ConvertedJob| problem.job.as_ref() == Some(&job.name);
    let secrets = read.conversion.jobs.iter().filter(is_of).flat_map(|job| &job.secrets);
    let mut named = secrets
        .filter(|secret| problem.unsayable.remedy.ends_with(&format!(" {}", secret.variable)));
    problem.kind == ProblemKind::Needed
        && named.any(|secret| work.environment.set(&secret.variable).is_some())
}

fn zone_of(document: &Value) -> Option<Zone> {
    Zone::named(document.pointer("/properties/recurrence/timeZone")?.as_str()?)
}

/// How many schedules became jobs; one may become two.
fn converted(conversion: &Conversion) -> usize {
    conversion.found - conversion.refused()
}

/// Refuses what the server would refuse, as far as the secrets that it needs are there. Jobs that exist are
/// left alone, and not checked.
async fn check_all(work: &Work, path: &CollectionPath, files: &[Read]) -> Result<()> {
    let exists = found(work.client().collection(path).await)?.is_some();
    let existing = if exists { names(work, path).await? } else { HashSet::new() };
    let jobs =
        files.iter().flat_map(|read| read.conversion.jobs.iter().map(move |job| (read, job)));
    let jobs = jobs.filter(|(_, job)| !existing.contains(&job.name.to_lowercase()));
    let jobs = jobs.filter_map(|(read, job)| {
        let document = job.with_secrets(|name| work.environment.set(name)).ok()?;
        Some((read, job, document))
    });
    let jobs: Vec<_> = jobs.collect();
    let changes = jobs.iter().map(|(_, job, document)| JobChange {
        name: &job.name,
        change: Change { is_patch: false, body: document },
        is_new: true,
    });
    let changes: Vec<_> = changes.collect();
    let new = new_collection(files);
    let made = (!exists).then_some(Change { is_patch: false, body: &new });
    let checked = check::check(work, path, made, &changes).await?;
    let of_collection = checked.collection.iter().map(|problem| {
        let name = work.defaults().short_collection(path);
        Failure::refused(format!("collection '{name}': {}", check::says(problem)))
    });
    let problems = jobs.iter().zip(&checked.jobs).flat_map(|((read, job, _), checked)| {
        let problems = checked.iter().flat_map(|checked| &checked.problems);
        problems.map(move |problem| {
            let (place, name) = (read.place(&job.place), &job.name);
            Failure::refused(format!("{place}: job '{name}': {}", check::says(problem)))
        })
    });
    check::all(of_collection.chain(problems).collect()).map_or(Ok(()), Err)
}

/// The names of the jobs of a collection, in lower case.
async fn names(work: &Work, path: &CollectionPath) -> Result<HashSet<String>> {
    let (mut names, mut listing) = (HashSet::new(), work.client().jobs(path, None));
    // Bounded by the jobs of the collection.
    while let Some(page) = listing.next_page().await? {
        names.extend(page.iter().map(|job| job.value.short_name().to_lowercase()));
    }
    Ok(names)
}

/// The body of the request that creates the collection: with the quota of the first file that has one.
fn new_collection(files: &[Read]) -> Value {
    let quota = files.iter().find_map(|read| read.conversion.quota.as_ref());
    quota.map_or_else(|| json!({}), |quota| json!({"properties": {"quota": quota}}))
}

async fn need_collection(work: &Work, path: &CollectionPath, files: &[Read]) -> Result<()> {
    let body = new_collection(files);
    if found(work.client().collection(path).await)?.is_none() {
        return make_collection(work, path, &body).await;
    }
    if body.get("properties").is_some() {
        work.screen.note("the collection exists and keeps its own quota");
    }
    Ok(())
}

/// Creates the jobs, a few at a time, and returns what became of each, in their order.
async fn create_all<'a>(
    work: &Work,
    path: &CollectionPath,
    files: &'a [Read],
    count: usize,
) -> Vec<(&'a ConvertedJob, Outcome)> {
    let progress = &Progress::new(&work.screen, "importing", count);
    let jobs = files.iter().flat_map(|read| &read.conversion.jobs);
    let created = stream::iter(jobs).map(|job| async move {
        let outcome = create(work, path, job).await;
        progress.step();
        (job, outcome)
    });
    created.buffered(REQUESTS_MAX).collect().await
}

async fn create(work: &Work, path: &CollectionPath, job: &ConvertedJob) -> Outcome {
    let document = match job.with_secrets(|name| work.environment.set(name)) {
        Ok(document) => document,
        Err(missing) => {
            let missing = missing.join(", ");
            return Outcome::Failed(Failure::refused(format!("it needs the variables {missing}")));
        }
    };
    match work.client().put_job(&path.job(&job.name), &document, Precondition::New).await {
        Ok(_) => Outcome::Created,
        Err(error) if error.is_taken() => Outcome::Exists,
        Err(error) => Outcome::Failed(error.into()),
    }
}

/// Says what became of the jobs. The command ends with the exit code of the first failure.
fn finish(work: &Work, report: Report<'_>, outcomes: &[(&ConvertedJob, Outcome)]) -> Result<()> {
    let (mut created, mut exist, mut failed) = (0_usize, 0_usize, None);
    for (job, outcome) in outcomes {
        match outcome {
            Outcome::Created => created += 1,
            Outcome::Exists => {
                exist += 1;
                work.screen.note(&format!("{}: there is a job of this name, left alone", job.name));
            }
            Outcome::Failed(failure) => {
                work.screen.note(&format!("error: {}: {failure}", job.name));
                failed.get_or_insert(Failure::said(failure.code));
            }
        }
    }
    if work.json.is_none() {
        let failures = outcomes.len() - created - exist;
        report.line(&format!("{created} created, {exist} left alone, {failures} failed"))?;
    }
    failed.map_or(Ok(()), Err)
}

/// Fails if a schedule has no job; that has been said.
fn complete(files: &[Read]) -> Result<()> {
    let is_complete = files.iter().all(|read| read.conversion.refused() == 0);
    if is_complete { Ok(()) } else { Err(Failure::said(REFUSED)) }
}

fn print_json(
    work: &Work,
    files: &[Read],
    outcomes: Option<&[(&ConvertedJob, Outcome)]>,
    crontab: Option<&str>,
) -> Result<()> {
    let files: Vec<Value> = files
        .iter()
        .map(|read| {
            let mut json = read.conversion.to_json();
            if let Some(json) = json.as_object_mut() {
                json.insert("file".to_owned(), read.file.display().to_string().into());
            }
            json
        })
        .collect();
    let outcomes = outcomes.map(|outcomes| {
        let outcomes = outcomes.iter().map(|(job, outcome)| match outcome {
            Outcome::Created => json!({"job": job.name, "outcome": "created"}),
            Outcome::Exists => json!({"job": job.name, "outcome": "exists"}),
            Outcome::Failed(failure) => {
                json!({"job": job.name, "outcome": "failed", "message": failure.message})
            }
        });
        outcomes.collect::<Vec<_>>()
    });
    let mut printed = json!({"files": files, "outcomes": outcomes});
    if let (Some(crontab), Some(printed)) = (crontab, printed.as_object_mut()) {
        printed.insert("crontab".to_owned(), crontab.into());
    }
    work.screen.line(&printed.to_string())
}
