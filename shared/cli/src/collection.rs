//! `collection`: lists, creates, switches and deletes collections.

use clap::{Args, Subcommand};
use minutehand_client::{CollectionDocument, CollectionPath, Precondition};
use serde_json::{Map, Value, json};

use crate::alert::{self, AlertOptions};
use crate::at_server::ServerCommand;
use crate::editor;
use crate::failure::{Failure, Result};
use crate::input;
use crate::job::merge_patch;
use crate::job::schedule::zone_named;
use crate::load::{LoadArgs, load};
use crate::merge::{merge, object};
use crate::output::ask;
use crate::output::plural;
use crate::output::table::harmless;
use crate::snooze;
use crate::work::{Work, in_collection, zone_of_collection};

/// The arguments of `collection`.
#[derive(Debug, Args)]
pub struct CollectionArgs {
    #[command(subcommand)]
    command: CollectionCommand,
}

#[derive(Debug, Subcommand)]
enum CollectionCommand {
    /// List the collections
    #[command(visible_alias = "ls")]
    List,
    /// Show a collection
    Show {
        /// Name of the collection
        name: String,
    },
    /// Create a collection
    Create(CreateArgs),
    /// Change properties and tags of a collection: minutehand.timeZone=Europe/Berlin tags.team=shop
    Set {
        /// Name of the collection
        name: String,
        /// Property and its new value, as JSON or text, or tags.NAME and its text; null removes it
        #[arg(value_name = "PROPERTY=VALUE")]
        changes: Vec<String>,
        #[command(flatten)]
        limits: SetLimits,
        #[command(flatten)]
        alerts: AlertOptions,
    },
    /// Change a collection in an editor
    Edit {
        /// Name of the collection
        name: String,
    },
    /// Show how many occurrences are due, and when
    Load(Box<LoadArgs>),
    /// Switch collections on: their jobs fire
    Enable(SwitchArgs),
    /// Switch collections off: none of their jobs fires
    Disable(SwitchArgs),
    /// Until an instant, do not show a collection and its jobs among those that need someone; they fire and alert as before
    Snooze(snooze::SnoozeCollection),
    /// Delete a collection with all its jobs
    #[command(visible_alias = "rm")]
    Delete {
        /// Name of the collection
        name: String,
        /// Do it without asking
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
struct SwitchArgs {
    /// Names of collections
    #[arg(required_unless_present = "all", value_name = "NAME")]
    names: Vec<String>,
    /// All collections of the group
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Do it without asking
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, Args)]
struct CreateArgs {
    /// Name of the collection
    name: String,
    #[command(flatten)]
    limits: CreateLimits,
    #[command(flatten)]
    alerts: AlertOptions,
}

/// The time zone and the limits of a new collection.
#[derive(Debug, Args)]
pub(crate) struct CreateLimits {
    /// Time zone of jobs that name none: Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Most jobs that it may hold
    #[arg(long, value_name = "N", value_parser = input::positive::<u32>,
          allow_negative_numbers = true)]
    max_jobs: Option<u32>,
    /// Most attempts that start in a second; the others wait
    #[arg(long, value_name = "N", value_parser = input::positive::<u32>,
          allow_negative_numbers = true)]
    max_per_second: Option<u32>,
    /// Most attempts that run at the same time; the others wait
    #[arg(long, value_name = "N", value_parser = input::positive::<u32>,
          allow_negative_numbers = true)]
    max_concurrent: Option<u32>,
}

/// The time zone and the limits that a collection gets.
#[derive(Debug, Args)]
pub(crate) struct SetLimits {
    /// Time zone of jobs that name none: Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Most jobs that it may hold, or `off`
    #[arg(long, value_name = "N", value_parser = limit, allow_negative_numbers = true)]
    max_jobs: Option<Limit>,
    /// Most attempts that start in a second, or `off`; the others wait
    #[arg(long, value_name = "N", value_parser = limit, allow_negative_numbers = true)]
    max_per_second: Option<Limit>,
    /// Most attempts that run at the same time, or `off`; the others wait
    #[arg(long, value_name = "N", value_parser = limit, allow_negative_numbers = true)]
    max_concurrent: Option<Limit>,
}

impl SetLimits {
    /// The changes, each as `PROPERTY=VALUE`.
    pub(crate) fn changes(&self) -> Result<Vec<String>> {
        let mut changes = Vec::new();
        if let Some(zone) = &self.zone {
            changes.push(format!("minutehand.timeZone={}", zone_named(zone)?.name()));
        }
        let limits = [
            ("quota.maxJobCount".to_owned(), self.max_jobs),
            (format!("minutehand.{MAX_PER_SECOND}"), self.max_per_second),
            (format!("minutehand.{MAX_CONCURRENT}"), self.max_concurrent),
        ];
        changes.extend(limits.into_iter().filter_map(|(property, limit)| match limit {
            Some(Limit::Of(number)) => Some(format!("{property}={number}")),
            Some(Limit::Off) => Some(format!("{property}=null")),
            None => None,
        }));
        Ok(changes)
    }
}

impl CreateLimits {
    /// The properties of the collection.
    pub(crate) fn properties(&self) -> Result<Value> {
        let zone = self.zone.as_deref().map(zone_named).transpose()?;
        let own = object([
            ("timeZone", zone.map(|zone| zone.name().into())),
            (MAX_PER_SECOND, self.max_per_second.map(Value::from)),
            (MAX_CONCURRENT, self.max_concurrent.map(Value::from)),
        ]);
        let own = (!own.is_empty()).then(|| own.into());
        let quota = self.max_jobs.map(|max| json!({"maxJobCount": max}));
        Ok(object([("minutehand", own), ("quota", quota)]).into())
    }
}

/// Where the names are.
const LISTED: &str = "`minutehand collection list` lists the collections";
/// The limits of a collection, as properties.
const MAX_PER_SECOND: &str = "maxPerSecond";
const MAX_CONCURRENT: &str = "maxConcurrent";
/// The action of a collection that tells of failures.
const ON_FAILURE: &str = "onFailure";

/// A limit that is set or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Of(u32),
    Off,
}

fn limit(text: &str) -> std::result::Result<Limit, String> {
    if text == "off" {
        return Ok(Limit::Off);
    }
    let number = input::positive(text).map_err(|error| format!("{error}, or 'off'"))?;
    Ok(Limit::Of(number))
}

impl ServerCommand for CollectionArgs {
    async fn run(self, work: Work) -> Result<()> {
        match &self.command {
            CollectionCommand::List => list(&work).await,
            CollectionCommand::Show { name } => show(&work, name).await,
            CollectionCommand::Create(args) => create(&work, args).await,
            CollectionCommand::Set { name, changes, limits, alerts } => {
                let changes = [changes.clone(), limits.changes()?].concat();
                set(&work, name, &changes, alerts).await
            }
            CollectionCommand::Edit { name } => edit(&work, name).await,
            CollectionCommand::Load(args) => load(&work, args).await,
            CollectionCommand::Enable(args) => switch(&work, args, true).await,
            CollectionCommand::Disable(args) => switch(&work, args, false).await,
            CollectionCommand::Snooze(args) => snooze::collection(&work, args).await,
            CollectionCommand::Delete { name, yes } => delete(&work, name, *yes).await,
        }
    }
}

/// The most collections that are listed.
const COLLECTIONS_MAX: usize = 10_000;

async fn list(work: &Work) -> Result<()> {
    let place = &work.defaults().place;
    let listed = work.client().collections(place).up_to(COLLECTIONS_MAX).await?;
    let limits = [(MAX_PER_SECOND, "starts a second"), (MAX_CONCURRENT, "at a time")];
    let is_set =
        |(name, _): &(&str, &str)| listed.iter().any(|it| limit_of(&it.value, name).is_some());
    let limits: Vec<_> = limits.into_iter().filter(is_set).collect();
    let mut titles = vec!["collection", "state", "time zone"];
    titles.extend(limits.iter().map(|(_, title)| title));
    let nothing = "no collections; `minutehand collection create NAME` makes one";
    work.list(&listed, nothing, &titles, |value| {
        let zone = zone(value).unwrap_or("UTC").to_owned();
        let mut row = vec![value.name.clone(), state(work, &value.properties.state), zone];
        row.extend(limits.iter().map(|(name, _)| {
            limit_of(value, name).map(|limit| limit.to_string()).unwrap_or_default()
        }));
        row
    })
}

fn state(work: &Work, state: &str) -> String {
    match state {
        "Enabled" => work.screen.good("on"),
        "Disabled" => work.screen.dim("off"),
        other => work.screen.bad(&other.to_lowercase()),
    }
}

fn zone(collection: &CollectionDocument) -> Option<&str> {
    collection.properties.rest.get("minutehand")?.get("timeZone")?.as_str()
}

fn limit_of(collection: &CollectionDocument, name: &str) -> Option<u64> {
    collection.properties.rest.get("minutehand")?.get(name)?.as_u64()
}

async fn show(work: &Work, name: &str) -> Result<()> {
    let path = work.defaults().collection(Some(name))?;
    let answer = work.client().collection(&path).await.map_err(in_collection(work, &path))?;
    if let Some(json) = &work.json {
        return json.document(&work.screen, &answer.text);
    }
    let collection = &answer.value;
    let mut jobs = 0;
    let mut listing = work.client().jobs(&path, None);
    while let Some(page) = listing.next_page().await? {
        jobs += page.len();
    }
    let mut text = format!(
        "{}  {}\n{}, time zone {}\n",
        work.screen.bold(&work.defaults().short_collection(&path)),
        state(work, &collection.properties.state),
        plural(jobs, "job"),
        zone(collection).unwrap_or("UTC")
    );
    if let Some(tags) = collection.tags.as_ref().filter(|tags| !tags.is_empty()) {
        let tags = tags.iter().map(|(name, value)| format!("{name}={value}"));
        text.extend([format!("tags {}\n", harmless(&tags.collect::<Vec<_>>().join(", ")))]);
    }
    for (name, one, more, when) in [
        (MAX_PER_SECOND, "attempt starts", "attempts start", "in a second"),
        (MAX_CONCURRENT, "attempt runs", "attempts run", "at the same time"),
    ] {
        if let Some(limit) = limit_of(collection, name) {
            let of = if limit == 1 { one } else { more };
            text.extend(["At most ", &limit.to_string(), " ", of, " ", when, "; others wait.\n"]);
        }
    }
    if let Some(on_failure) = on_failure(collection) {
        text.push_str(&told(on_failure));
        // An older server knows nothing of it.
        if let Ok(answer) = work.client().alert(&path).await
            && let Some(trouble) = &answer.value.trouble
        {
            text.extend([work.screen.bad(&alert::trouble(work, trouble)), "\n".to_owned()]);
        }
    }
    let extensions = collection.properties.rest.get("minutehand");
    let times = work.times(zone_of_collection(&collection.properties.rest));
    if let Some(until) = extensions.and_then(|it| snooze::told(it, &times)) {
        text.extend(["Snoozed ", &until, ": it is not shown as needing someone.\n"]);
    }
    if collection.properties.state != "Enabled" {
        text.push_str("Its jobs do not fire while it is off.\n");
    }
    work.screen.print(&text)
}

fn on_failure(collection: &CollectionDocument) -> Option<&Value> {
    collection.properties.rest.get("minutehand")?.get(ON_FAILURE).filter(|it| it.is_object())
}

/// Who is told of failures, and when.
fn told(on_failure: &Value) -> String {
    let text = |name: &str| on_failure.get(name).and_then(Value::as_str);
    let to = match text("format") {
        Some(format) => format!("as {format}"),
        None => format!("by its action of type {}", text("type").unwrap_or_default()),
    };
    let after = on_failure.get("after").and_then(Value::as_u64).filter(|after| *after > 1);
    let recovered = on_failure.get("recovered").and_then(Value::as_bool) == Some(true);
    let also = on_failure.get("alsoTell").map(also_told).filter(|also| !also.is_empty());
    let says = [
        Some(format!("Failures are told {to}")),
        after.map(|after| format!(", from {after} in a row on")),
        text("every").map(|every| format!(", of a job once in {every}")),
        recovered.then(|| ", and that a job works again".to_owned()),
        also.map(|also| format!(". Told as well: {}", also.join(", "))),
    ];
    harmless(&says.into_iter().flatten().collect::<String>()) + ".\n"
}

/// What is told beside failures.
fn also_told(also: &Value) -> Vec<String> {
    let is_told = |name: &str| also.get(name).and_then(Value::as_bool) == Some(true);
    let span = |name: &str| also.get(name).and_then(Value::as_str);
    let flags = ["paused", "missed"].into_iter().filter(|name| is_told(name)).map(str::to_owned);
    let spans = ["late", "behind"]
        .into_iter()
        .filter_map(|name| Some(format!("{name} by more than {}", span(name)?)));
    flags.chain(spans).collect()
}

async fn create(work: &Work, args: &CreateArgs) -> Result<()> {
    let path = work.defaults().collection(Some(&args.name))?;
    let mut properties = args.limits.properties()?;
    if let Some(on_failure) = args.alerts.on_failure()? {
        merge(&mut properties, json!({"minutehand": {ON_FAILURE: on_failure}}));
    }
    let created = put(work, &path, properties).await?;
    work.tell(
        &created,
        &format!("created the collection {}", work.defaults().short_collection(&path)),
    )
}

/// Creates a collection, and returns what the server answered.
pub(crate) async fn put(work: &Work, path: &CollectionPath, properties: Value) -> Result<String> {
    let document = json!({ "properties": properties });
    match work.client().put_collection(path, &document, Precondition::New).await {
        Err(error) if error.is_taken() => {
            let name = work.defaults().short_collection(path);
            Err(Failure::refused(format!("there is a collection '{name}' already"))
                .hint(format!("`minutehand collection set {name}` changes it")))
        }
        created => Ok(created?.text),
    }
}

async fn set(work: &Work, name: &str, changes: &[String], alerts: &AlertOptions) -> Result<()> {
    let path = work.defaults().collection(Some(name))?;
    let answer = change(work, &path, changes, alerts).await?;
    work.tell(&answer, &format!("changed {}", work.defaults().short_collection(&path)))
}

/// Changes a collection, and returns what the server answered.
pub(crate) async fn change(
    work: &Work,
    path: &CollectionPath,
    changes: &[String],
    alerts: &AlertOptions,
) -> Result<String> {
    let mut document = patch(changes)?;
    if let Some(on_failure) = alerts.on_failure()? {
        let alerts = json!({"properties": {"minutehand": {ON_FAILURE: on_failure}}});
        merge(&mut document, alerts);
    }
    if document.as_object().is_none_or(Map::is_empty) {
        return Err(Failure::refused("it is not said what to change").hint(
            "give PROPERTY=VALUE, such as tags.team=shop, or an option, such as --zone Europe/Berlin",
        ));
    }
    let answer = work.client().patch_collection(path, &document).await;
    Ok(answer.map_err(in_collection(work, path))?.text)
}

/// The merge patch of a collection. Its tags stand beside its properties, and are text.
fn patch(changes: &[String]) -> Result<Value> {
    let is_tag = |change: &&String| change.starts_with("tags.");
    let (tags, properties): (Vec<&String>, Vec<&String>) = changes.iter().partition(is_tag);
    let mut patch = if properties.is_empty() { json!({}) } else { merge_patch(properties)? };
    let mut new_tags = Map::new();
    for tag in tags {
        let named = tag.strip_prefix("tags.").and_then(|tag| tag.split_once('='));
        let Some((name, value)) = named.filter(|(name, _)| !name.is_empty()) else {
            return Err(Failure::refused(format!("'{tag}': write a tag like tags.team=shop")));
        };
        let value = if value == "null" { Value::Null } else { value.into() };
        new_tags.insert(name.to_owned(), value);
    }
    if !new_tags.is_empty() {
        merge(&mut patch, json!({"tags": new_tags}));
    }
    Ok(patch)
}

async fn edit(work: &Work, name: &str) -> Result<()> {
    let path = work.defaults().collection(Some(name))?;
    let read = work.client().collection(&path).await.map_err(in_collection(work, &path))?;
    let name = work.defaults().short_collection(&path);
    // The document as the server sent it, without what only the server sets.
    let Ok(Value::Object(mut before)) = serde_json::from_str(&read.text) else {
        return Err(Failure::failed("the answer of the server is not a collection"));
    };
    before.retain(|name, _| ["tags", "properties"].contains(&name.as_str()));
    let before = Value::Object(before);
    let save = async |after: Value| {
        let changes = merge_patch_between(&before, &after);
        work.client().patch_collection(&path, &changes).await.map(drop)
    };
    editor::edit(work, &name, &format!("minutehand collection set {name} …"), &before, save).await
}

/// The merge patch that makes one document of another. Stored secrets, which neither shows, stay.
fn merge_patch_between(before: &Value, after: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return after.clone();
    };
    let mut patch = Map::new();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in after {
        match before.get(name) {
            Some(same) if same == value => {}
            Some(other) => drop(patch.insert(name.clone(), merge_patch_between(other, value))),
            None => drop(patch.insert(name.clone(), value.clone())),
        }
    }
    patch.into()
}

async fn switch(work: &Work, args: &SwitchArgs, on: bool) -> Result<()> {
    let paths = if args.all {
        let place = &work.defaults().place;
        let listed = work.client().collections(place).up_to(COLLECTIONS_MAX).await?;
        // Those that are so already are left out, so that the way back does not touch them.
        let others = listed.iter().filter(|it| (it.value.properties.state == "Enabled") != on);
        let others = others.map(|it| work.defaults().collection(Some(&it.value.name)));
        others.collect::<Result<Vec<_>>>()?
    } else {
        let named = args.names.iter().map(|name| work.defaults().collection(Some(name)));
        named.collect::<Result<Vec<_>>>()?
    };
    let verb = if on { "enable" } else { "disable" };
    if args.all {
        let what = plural(paths.len(), "collection");
        if paths.is_empty() {
            return work.screen.line(&format!("there is nothing to {verb}"));
        }
        let question = format!("{} {what} of the group?", crate::output::times::capitalized(verb));
        ask::confirm(&work.screen, &question, args.yes)?;
    }
    let (did, says) =
        if on { ("enabled", "is on") } else { ("disabled", "is off: none of its jobs fires") };
    for path in &paths {
        work.client()
            .switch_collection(path, on)
            .await
            .map_err(|error| in_collection(work, path)(error).hint(LISTED))?;
        let name = work.defaults().short_collection(path);
        done(work, &name, did, &format!("{name} {says}"))?;
    }
    if args.all {
        let names = paths.iter().map(|path| work.defaults().short_collection(path));
        let names = names.collect::<Vec<_>>().join(" ");
        let back = if on { "disable" } else { "enable" };
        work.screen.hint(&format!("the way back: minutehand collection {back} {names}"));
    }
    Ok(())
}

async fn delete(work: &Work, name: &str, yes: bool) -> Result<()> {
    let path = work.defaults().collection(Some(name))?;
    // Who deletes a collection does not want to create it.
    work.client().collection(&path).await.map_err(|error| {
        let failure = in_collection(work, &path)(error);
        failure.hint(LISTED)
    })?;
    let name = work.defaults().short_collection(&path);
    ask::confirm(&work.screen, &format!("Delete {name} with all its jobs and history?"), yes)?;
    work.client().delete_collection(&path).await?;
    done(work, &name, "deleted", &format!("deleted {name}"))
}

/// Says what was done, for which the server answers nothing.
fn done(work: &Work, name: &str, did: &str, says: &str) -> Result<()> {
    work.tell(&json!({"collection": name, "did": did}).to_string(), says)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_stand_beside_the_properties() {
        let patched = |changes: &[&str]| {
            patch(&changes.iter().map(|&change| change.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(
            patched(&["tags.team=shop", "state=Disabled", "tags.cost.unit=7", "tags.old=null"])
                .unwrap(),
            json!({"properties": {"state": "Disabled"},
                "tags": {"team": "shop", "cost.unit": "7", "old": null}})
        );
        assert_eq!(patched(&["tags.a=b"]).unwrap(), json!({"tags": {"a": "b"}}));
        for wrong in ["tags.team", "tags.=x"] {
            let message = patched(&[wrong]).unwrap_err().message;
            assert!(message.contains("like tags.team=shop"), "{message}");
        }
    }

    #[test]
    fn a_limit_is_a_number_or_off() {
        assert_eq!(limit("10"), Ok(Limit::Of(10)));
        assert_eq!(limit("off"), Ok(Limit::Off));
        for wrong in ["0", "-1", "ten", ""] {
            let expected = "use a whole number of at least 1, or 'off'".to_owned();
            assert_eq!(limit(wrong), Err(expected), "{wrong}");
        }
    }

    #[test]
    fn an_edit_becomes_a_merge_patch() {
        let before = json!({"tags": {"a": "1", "b": "2"}, "properties": {"state": "Enabled"}});
        let after = json!({"tags": {"b": "3", "c": "4"}, "properties": {"state": "Enabled"}});
        assert_eq!(
            merge_patch_between(&before, &after),
            json!({"tags": {"a": null, "b": "3", "c": "4"}})
        );
        let gone = json!({"properties": {"state": "Disabled"}});
        assert_eq!(
            merge_patch_between(&before, &gone),
            json!({"tags": null, "properties": {"state": "Disabled"}})
        );
    }
}
