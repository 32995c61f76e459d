//! Collections and jobs as they are answered.

use app::{CollectionView, JobStatus, JobView};
use domain::name::Name;
use ports::store::Place;
use recurrence::written;
use serde_json::{Map, Value, json};

use crate::durations::{Client, Position};

/// A collection: id, type, name, location, tags, properties.
pub(crate) fn collection(view: CollectionView) -> Value {
    let mut document = Map::new();
    document.insert("id".to_owned(), collection_id(&view.place, &view.name).into());
    document.insert("type".to_owned(), "Microsoft.Scheduler/jobCollections".into());
    document.insert("name".to_owned(), view.name.as_str().into());
    if let Value::Object(rest) = view.document {
        document.extend(rest);
    }
    Value::Object(document)
}

/// A job: id, type, name, properties.
pub(crate) fn job(view: JobView, client: Client, position: Position) -> Value {
    let mut properties = view.properties;
    client.write_durations(&mut properties, position);
    spell_occurrences_twice(&mut properties);
    if let (Value::Object(properties), Some(status)) = (&mut properties, view.status) {
        properties.insert("status".to_owned(), self::status(&status));
    }
    let collection = &view.collection;
    json!({
        "id": format!("{}/jobs/{}", collection_id(&view.place, collection), view.name),
        "type": "Microsoft.Scheduler/jobCollections/jobs",
        "name": format!("{collection}/{}", view.name),
        "properties": properties,
    })
}

/// The path of a collection, in the case of the original for what is ours, and of whoever created
/// it for what is theirs.
fn collection_id(place: &Place, name: &Name) -> String {
    let Place { subscription, group } = place;
    format!(
        "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Scheduler/\
         jobCollections/{name}"
    )
}

fn status(status: &JobStatus) -> Value {
    let mut document = Map::new();
    let counters = &status.counters;
    let instants = [
        ("lastExecutionTime", counters.last_execution_at),
        ("nextExecutionTime", status.next_execution_at),
    ];
    for (name, instant) in instants {
        if let Some(instant) = instant {
            document.insert(name.to_owned(), written(instant).into());
        }
    }
    document.insert("executionCount".to_owned(), counters.executions.into());
    document.insert("failureCount".to_owned(), counters.failures.into());
    document.insert("faultedCount".to_owned(), counters.faulted.into());
    Value::Object(document)
}

/// `occurrence` is what the original answered; its Python clients read `Occurrence` alone.
fn spell_occurrences_twice(properties: &mut Value) {
    let occurrences = properties.pointer_mut("/recurrence/schedule/monthlyOccurrences");
    for day in occurrences.and_then(Value::as_array_mut).into_iter().flatten() {
        let Value::Object(day) = day else {
            continue;
        };
        if let Some(occurrence) = day.get("occurrence").cloned() {
            day.insert("Occurrence".to_owned(), occurrence);
        }
    }
}
