//! `dead`: messages that are no longer delivered.

use clap::{Args, Subcommand};
use minutehand_client::{Answer, Chosen, DeadLetterItem, DeadLettersAnswer, Listed};
use serde_json::Value;

use crate::at_server::ServerCommand;
use crate::failure::{Failure, NOT_FOUND, Result};
use crate::input;
use crate::output::table::harmless;
use crate::output::{self, ask, plural};
use crate::work::Work;

/// The most dead letters of one answer.
const SHOWN_MAX: u8 = 100;

/// The arguments of `dead`.
#[derive(Debug, Args)]
pub struct DeadArgs {
    #[command(subcommand)]
    command: DeadCommand,
}

#[derive(Debug, Subcommand)]
enum DeadCommand {
    /// List dead letters, and the jobs that they are about
    List {
        /// Show at most this many
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50,
              value_parser = input::positive::<u8>, allow_negative_numbers = true)]
        limit: u8,
    },
    /// Show one dead letter, with all that it asks for
    Show {
        /// Id of the dead letter, as `minutehand dead list` shows it
        id: String,
    },
    /// Send dead letters to the workers again
    Redrive(ChosenArgs),
    /// Delete dead letters; what they ask for is not done
    Delete(ChosenArgs),
}

#[derive(Debug, Args)]
struct ChosenArgs {
    /// Ids of dead letters, as `minutehand dead list` shows them
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    ids: Vec<String>,
    /// All dead letters of the installation
    #[arg(long)]
    all: bool,
    /// Do it without asking
    #[arg(long, short)]
    yes: bool,
}

impl ChosenArgs {
    fn chosen(&self) -> Chosen {
        if self.all { Chosen::All(true) } else { Chosen::Ids(self.ids.clone()) }
    }

    fn words(&self) -> String {
        if self.all { "all dead letters".to_owned() } else { plural(self.ids.len(), "dead letter") }
    }
}

impl ServerCommand for DeadArgs {
    async fn run(self, work: Work) -> Result<()> {
        match &self.command {
            DeadCommand::List { limit } => list(&work, *limit).await,
            DeadCommand::Show { id } => show(&work, id).await,
            DeadCommand::Redrive(args) => {
                let question = format!("Send {} to the workers again?", args.words());
                ask::confirm(&work.screen, &question, args.yes || !args.all)?;
                let done = work.client().redrive(&args.chosen()).await?;
                report(&work, &done, "sent", "again")
            }
            DeadCommand::Delete(args) => {
                ask::confirm(&work.screen, &format!("Delete {}?", args.words()), args.yes)?;
                let done = work.client().delete_dead_letters(&args.chosen()).await?;
                report(&work, &done, "deleted", "")
            }
        }
    }
}

async fn list(work: &Work, limit: u8) -> Result<()> {
    let (about, letters) = work.client().dead_letters(limit.min(SHOWN_MAX)).await?;
    let times = work.times(None);
    let titles = ["id", "sent", "deliveries", "job", "due", "why"];
    work.list(&letters, "no dead letters", &titles, |value| {
        let DeadLetterItem {
            id, first_sent_at, deliveries, error_type, occurrence, others, ..
        } = value;
        let more = others.len();
        let others = if more > 0 { format!(" and {more} more") } else { String::new() };
        let written = |at: &Option<String>| at.as_deref().map(|at| times.written(at));
        vec![
            id.clone(),
            written(first_sent_at).unwrap_or_default(),
            deliveries.to_string(),
            what(value) + &others,
            written(occurrence).unwrap_or_default(),
            harmless(error_type.as_deref().unwrap_or_default()),
        ]
    })?;
    if work.json.is_some() || letters.is_empty() {
        return Ok(());
    }
    let shown = u64::try_from(letters.len()).unwrap_or(u64::MAX);
    if about > shown {
        work.screen.note(&format!("{shown} of about {about}"));
    }
    work.screen.hint("`minutehand dead redrive ID` sends one to the workers again");
    Ok(())
}

async fn show(work: &Work, id: &str) -> Result<()> {
    let (_, letters) = work.client().dead_letters(SHOWN_MAX).await?;
    let Some(Listed { value, text }) = letters.iter().find(|letter| letter.value.id == id) else {
        return Err(missing(id));
    };
    if let Some(json) = &work.json {
        return json.document(&work.screen, text);
    }
    let times = work.times(None);
    let written = |at: &Option<String>| at.as_deref().map(|at| times.written(at));
    let lines = [
        ("id", Some(value.id.clone())),
        ("sent", written(&value.first_sent_at)),
        ("delivered", Some(output::count(value.deliveries.into(), "time"))),
        ("job", Some(what(value))),
        ("due", written(&value.occurrence)),
        ("why", value.error_type.clone()),
    ];
    for (title, text) in lines {
        if let Some(text) = text {
            work.screen.line(&format!("{title:<9} {}", harmless(&text)))?;
        }
    }
    for other in &value.others {
        work.screen.line(&format!("{:<9} {}", "and", harmless(&what_other(other))))?;
    }
    Ok(())
}

/// Where the ids are.
const LISTED: &str = "`minutehand dead list` lists them, with their ids";

fn missing(id: &str) -> Failure {
    Failure::new(NOT_FOUND, format!("there is no dead letter {}", harmless(id))).hint(LISTED)
}

/// What else a message asks for.
fn what_other(other: &Value) -> String {
    let part = |name: &str| other.get(name).and_then(Value::as_str);
    let collection = part("collection").unwrap_or("(deleted)");
    match (part("job"), part("occurrence")) {
        (Some(job), Some(at)) => format!("{collection}/{job}, due {at}"),
        (Some(job), None) => format!("{collection}/{job}"),
        (None, _) => format!("{collection} {}", part("asks").unwrap_or_default()),
    }
}

/// What a message asks for: the path of its job, or what is to be done.
fn what(letter: &DeadLetterItem) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_else(|| "(deleted)".to_owned());
    match (&letter.asks, &letter.job) {
        (None, _) => "(unreadable)".to_owned(),
        (Some(_), Some(job)) => format!("{}/{job}", part(&letter.collection)),
        (Some(asks), None) => format!("{} {asks}", part(&letter.collection)),
    }
}

fn report(work: &Work, done: &Answer<DeadLettersAnswer>, did: &str, how: &str) -> Result<()> {
    if let Some(json) = &work.json {
        json.document(&work.screen, &done.text)?;
    } else {
        let DeadLettersAnswer { count, goes_on, .. } = &done.value;
        let about = if *goes_on { "about " } else { "" };
        let goes_on = if *goes_on { "; the queue continues after this answer" } else { "" };
        let what = output::count(*count, "dead letter");
        let text = format!("{did} {about}{what} {how}");
        work.screen.line(&format!("{}{goes_on}", text.trim_end()))?;
    }
    let missing = &done.value.not_found;
    if missing.is_empty() {
        return Ok(());
    }
    let ids = missing.iter().map(|id| harmless(id)).collect::<Vec<_>>().join(", ");
    Err(Failure::new(NOT_FOUND, format!("there is no dead letter {ids}")).hint(LISTED))
}
