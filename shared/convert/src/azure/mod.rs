//! Exports of Azure Scheduler: templates of the Resource Manager with their parameters, and jobs as
//! the API answered them.
//!
//! The documents have the format of this product, so a job is taken as it is. What an export lacks are its
//! secrets, and what must not be taken is a state that only the scheduler sets.

mod expression;

use minutehand_recurrence::{Recurrence, WrittenDate, format_instant};
use serde_json::{Map, Value};

use crate::ConvertOptions;
use crate::document::{Format, property, text};
use crate::draft::{Draft, Drafts};
use crate::report::{ProblemKind, SourcePlace};
use crate::unsayable::{Unsayable, quoted};
use expression::Template;

/// The types of the resources in a template.
const COLLECTION: &str = "Microsoft.Scheduler/jobCollections";
const JOB: &str = "Microsoft.Scheduler/jobCollections/jobs";

/// How deep resources may be nested: jobs in collections, and templates in templates.
const DEPTH_MAX: usize = 8;

/// The documents of this format.
pub(crate) const FORMAT: Format = Format { object: convert_object, unknown: unknown_document };

fn convert_object(
    object: &Map<String, Value>,
    place: &SourcePlace,
    options: &ConvertOptions,
    drafts: &mut Drafts,
) -> Result<(), Unsayable> {
    if let Some(resources) = object.get("resources").and_then(Value::as_array)
        && property(object, "properties").is_none()
    {
        let template = Template::new(object, options);
        return add_resources(resources, &place.within("resources"), &template, drafts, 0);
    }
    if let Some(list @ Value::Array(_)) = object.get("value") {
        return FORMAT.convert_value(list, &place.within("value"), options, drafts);
    }
    let action = property(object, "properties").and_then(|job| job.get("action"));
    if action.is_none() && text(object, "type").is_some_and(|kind| is(kind, COLLECTION)) {
        // A list of collections: they are made by hand, or by the import.
        keep_quota(object, place, &Template::none(options), drafts);
        return Ok(());
    }
    if action.is_none() {
        return Err(unknown_document());
    }
    drafts.add(place, |drafts| draft(object, place, &Template::none(options), drafts))
}

fn unknown_document() -> Unsayable {
    Unsayable::new(
        "the file has no job of Azure Scheduler",
        "give a template of the Resource Manager, or jobs as the API answered them: \
         {\"properties\":{\"action\":…}}",
    )
}

fn add_resources(
    resources: &[Value],
    place: &SourcePlace,
    template: &Template<'_>,
    drafts: &mut Drafts,
    depth: usize,
) -> Result<(), Unsayable> {
    if depth > DEPTH_MAX {
        let why = format!("resources are nested more than {DEPTH_MAX} deep");
        return Err(Unsayable::new(why, "write them beside each other"));
    }
    for (n, resource) in resources.iter().enumerate() {
        let Some(resource) = resource.as_object() else {
            continue;
        };
        let place = place.entry(n);
        let kind = text(resource, "type").unwrap_or_default();
        // The type of a nested resource is the rest of its own.
        if is(kind, JOB) || is(kind, "jobs") {
            drafts.add(&place, |drafts| draft(resource, &place, template, drafts))?;
        } else if is(kind, COLLECTION) {
            keep_quota(resource, &place, template, drafts);
        }
        if let Some(nested) = resource.get("resources").and_then(Value::as_array) {
            add_resources(nested, &place.within("resources"), template, drafts, depth + 1)?;
        }
    }
    Ok(())
}

/// Keeps the quota of a collection.
fn keep_quota(
    collection: &Map<String, Value>,
    place: &SourcePlace,
    template: &Template<'_>,
    drafts: &mut Drafts,
) {
    let quota =
        property(collection, "properties").and_then(|it| property(it.as_object()?, "quota"));
    match quota.map(|quota| template.resolve(quota)) {
        None => {}
        Some(Ok(quota)) => drafts.keep_quota(place, quota),
        Some(Err(unsayable)) => drafts.note(ProblemKind::Changed, place.clone(), unsayable),
    }
}

fn is(kind: &str, name: &str) -> bool {
    kind.eq_ignore_ascii_case(name)
}

/// The job of a resource.
fn draft(
    resource: &Map<String, Value>,
    place: &SourcePlace,
    template: &Template<'_>,
    drafts: &Drafts,
) -> Result<Vec<Draft>, Unsayable> {
    let missing = || Unsayable::new("the job has no properties", "give the whole job");
    let properties = property(resource, "properties").ok_or_else(missing)?;
    let properties = template.resolve(properties)?;
    let properties = properties.as_object().ok_or_else(missing)?;
    let name = match property(resource, "name") {
        Some(name) => template.resolve(name)?,
        None => Value::Null,
    };
    // Azure names a job COLLECTION/JOB.
    let name = name.as_str().and_then(|name| name.rsplit('/').next()).unwrap_or("job").to_owned();
    let recurrence = property(properties, "recurrence").cloned();
    let mut notes = Vec::new();
    let start_time = start_time(properties, recurrence.as_ref(), drafts, &mut notes);
    if let Some(recurrence) = recurrence.as_ref().and_then(Value::as_object)
        && let Some(count) = property(recurrence, "count")
    {
        let done = property(properties, "status").and_then(|status| status.get("executionCount"));
        let done = done.and_then(Value::as_u64).filter(|done| *done > 0);
        let done = done.map_or_else(String::new, |done| {
            format!(", although Azure made {done} attempts already")
        });
        let why = format!("the count of {count} occurrences begins again{done}");
        notes.push((ProblemKind::Changed, Unsayable::new(why, "set count to what is left")));
    }
    let state = text(properties, "state").unwrap_or("enabled").to_ascii_lowercase();
    if !matches!(state.as_str(), "enabled" | "disabled") {
        let why = format!("the state {} is set by the scheduler only", quoted(&state));
        let remedy = "the job is disabled; enable it, or leave it out";
        notes.push((ProblemKind::Disabled, Unsayable::new(why, remedy)));
    }
    let unknown = properties.keys().find(|name| {
        let known = ["startTime", "action", "recurrence", "state", "status", "minutehand"];
        !known.iter().any(|known| known.eq_ignore_ascii_case(name))
    });
    if let Some(unknown) = unknown {
        let why = format!("{} is not a property of a job", quoted(unknown));
        return Err(Unsayable::new(why, "remove it, or correct its name"));
    }
    Ok(vec![Draft {
        name,
        place: place.clone(),
        start_time,
        recurrence,
        action: property(properties, "action").cloned().unwrap_or_default(),
        extensions: property(properties, "minutehand")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default(),
        is_enabled: state == "enabled",
        skipped_time: None,
        notes,
    }])
}

/// The `startTime` of a job. One that has none fires at once when it is created, so a recurrence gets
/// one: the next execution that the export names, or one interval after the conversion.
fn start_time(
    properties: &Map<String, Value>,
    recurrence: Option<&Value>,
    drafts: &Drafts,
    notes: &mut Vec<(ProblemKind, Unsayable)>,
) -> Option<Value> {
    if let Some(start_time) = property(properties, "startTime") {
        return Some(start_time.clone());
    }
    let recurrence = recurrence?;
    let status = property(properties, "status").and_then(Value::as_object);
    let next = status.and_then(|status| text(status, "nextExecutionTime"));
    let next = next.filter(|next| WrittenDate::parse(next).is_ok());
    let start_time = match next {
        Some(next) => next.to_owned(),
        None => format_instant(first_after(recurrence, drafts)),
    };
    let why =
        format!("the job has no startTime, so it would fire at once; it begins at {start_time}");
    notes.push((ProblemKind::Changed, Unsayable::new(why, "set another startTime if you like")));
    Some(start_time.into())
}

/// The first occurrence after the conversion of a recurrence that counts from it.
fn first_after(recurrence: &Value, drafts: &Drafts) -> chrono::DateTime<chrono::Utc> {
    let now = drafts.now;
    let timetable = Recurrence::from_json(recurrence)
        .and_then(|read| minutehand_recurrence::Rule::canonical(&read))
        .and_then(|rule| minutehand_recurrence::Timetable::new(&rule, Some(now), now));
    // A wrong recurrence is refused with the document.
    timetable.ok().and_then(|timetable| timetable.after(now)).unwrap_or(now)
}

#[cfg(test)]
mod tests;
