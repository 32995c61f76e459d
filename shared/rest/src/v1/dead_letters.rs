//! The dead letters: a look at them, sending them again, and deleting them.

use axum::http::StatusCode;
use minutehand_app::{AskedWork, DeadLetterView};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::work_item::WorkItem;
use minutehand_ports::{CHOSEN_MAX, ChosenLetters, DeadLettersDone};
use minutehand_recurrence::format_instant;
use serde_json::{Map, Value, json};

use super::parameters::Parameters;
use super::tagged;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;
use crate::wire;

/// The most dead letters in one answer.
const LETTERS_MAX: usize = minutehand_app::LETTERS_MAX;
/// How many are answered if the request names no number.
const LETTERS: usize = 50;

/// Looks at dead letters.
pub(crate) async fn list(call: Call) -> Result<Answer, Failure> {
    let limit = Parameters::of(&call, &["limit"])?.number("limit", 1..=LETTERS_MAX, LETTERS)?;
    let (about, found) = call.manage.look_at_dead_letters(limit).await?;
    let items: Vec<Value> = found.iter().map(letter).collect();
    Ok(tagged(&json!({"about": about, "items": items}), &call.head.headers))
}

/// Sends dead letters to the workers again.
pub(crate) async fn redrive(call: Call) -> Result<Answer, Failure> {
    Parameters::of(&call, &[])?;
    let done = call.manage.redrive(&chosen(&call.body)?).await?;
    Ok(answer("moved", &done))
}

/// Deletes dead letters.
pub(crate) async fn delete(call: Call) -> Result<Answer, Failure> {
    Parameters::of(&call, &[])?;
    let done = call.manage.delete_dead_letters(&chosen(&call.body)?).await?;
    Ok(answer("deleted", &done))
}

fn answer(what: &str, done: &DeadLettersDone) -> Answer {
    let document = json!({what: done.count, "goesOn": done.goes_on, "notFound": done.not_found});
    Answer::json(StatusCode::OK, &document)
}

/// Which dead letters the body of a request names: `{"ids":[…]}` or `{"all":true}`.
fn chosen(body: &Value) -> Result<ChosenLetters, Failure> {
    let refused = || {
        Failure::invalid(format!(
            "Send {{\"ids\": [\"…\"]}} with 1 to {CHOSEN_MAX} ids of dead letters, or {{\"all\": true}}."
        ))
    };
    let object = body.as_object().filter(|object| object.len() == 1).ok_or_else(refused)?;
    if object.get("all") == Some(&Value::Bool(true)) {
        return Ok(ChosenLetters::All);
    }
    let ids = object.get("ids").and_then(Value::as_array).ok_or_else(refused)?;
    let ids: Option<Vec<String>> = ids.iter().map(|id| id.as_str().map(str::to_owned)).collect();
    let ids = ids.filter(|ids| (1..=CHOSEN_MAX).contains(&ids.len())).ok_or_else(refused)?;
    Ok(ChosenLetters::Ids(ids))
}

/// A dead letter: what it asks for first, and what else.
fn letter(found: &DeadLetterView) -> Value {
    let first = found.asks.first();
    let mut document = asked(first);
    document.insert("id".to_owned(), json!(found.id));
    document.insert("firstSentAt".to_owned(), json!(found.sent_at.map(format_instant)));
    document.insert("deliveries".to_owned(), json!(found.deliveries));
    document.insert("errorType".to_owned(), json!(found.reason));
    let others: Vec<_> = found.asks.iter().skip(1).map(|work| asked(Some(work))).collect();
    document.insert("others".to_owned(), json!(others));
    Value::Object(document)
}

fn asked(work: Option<&AskedWork>) -> Map<String, Value> {
    let path = work.and_then(|work| work.collection_path.as_ref());
    let work = work.map(|work| &work.work_item);
    let attempt = match work {
        Some(WorkItem::Attempt { attempt, .. }) => Some(attempt),
        Some(_) | None => None,
    };
    let fields = [
        (
            "asks",
            json!(work.map(|work| match work {
                WorkItem::Attempt { .. } => "attempt",
                WorkItem::CheckFinished { .. } => "checkFinished",
                WorkItem::DeleteJob { .. } => "deleteJob",
                WorkItem::PurgeCollection { .. } => "purgeCollection",
                WorkItem::Alert { .. } => "alert",
            })),
        ),
        ("subscription", json!(path.map(CollectionPlace::subscription))),
        ("resourceGroup", json!(path.map(CollectionPlace::group))),
        ("collection", json!(path.map(CollectionPlace::name))),
        ("job", json!(work.and_then(WorkItem::job).map(|job| &job.key))),
        ("occurrence", json!(attempt.map(|it| format_instant(it.occurrence.nominal_at())))),
        ("action", json!(attempt.map(|it| wire::action(it.role)))),
        ("attempt", json!(attempt.map(|it| it.number))),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use minutehand_domain::work_item::JobRef;

    use super::*;

    #[test]
    fn a_letter_of_a_deleted_collection_names_none() {
        let [uid, collection_uid, key] = ["1", "2", "report"].map(str::to_owned);
        let job = JobRef { uid, collection_uid, key };
        let work_item = WorkItem::CheckFinished { job, generation: 1 };
        let work = |collection_path| AskedWork { work_item: work_item.clone(), collection_path };
        let of = |path: Option<&str>| {
            let document = asked(Some(&work(path.and_then(CollectionPlace::read))));
            ["subscription", "resourceGroup", "collection", "job"]
                .map(|name| document[name].clone())
        };
        assert_eq!(of(Some("s/My Group/ops")), ["s", "My Group", "ops", "report"].map(Value::from));
        let nothing = Value::Null;
        assert_eq!(of(None), [nothing.clone(), nothing.clone(), nothing, "report".into()]);
    }

    #[test]
    fn a_request_names_all_or_some() {
        let read = |body: Value| chosen(&body).ok();
        assert_eq!(read(json!({"all": true})), Some(ChosenLetters::All));
        let ids = ChosenLetters::Ids(vec!["1".to_owned(), "2".to_owned()]);
        assert_eq!(read(json!({"ids": ["1", "2"]})), Some(ids));
        let many = vec!["1"; CHOSEN_MAX + 1];
        for wrong in [
            json!({}),
            json!({"all": false}),
            json!({"ids": []}),
            json!({"ids": [1]}),
            json!({"ids": many}),
            json!({"ids": ["1"], "all": true}),
            json!({"id": ["1"]}),
        ] {
            assert_eq!(read(wrong.clone()), None, "{wrong}");
        }
    }
}
