//! Alerts of a collection that follow no attempt of a job: what is sent, and with which context.

use chrono::{DateTime, Utc};
use minutehand_domain::action::{FailureAction, Target};
use minutehand_domain::alert::{CollectionAlert, Tells};
use minutehand_domain::attempt::Occurrence;
use minutehand_domain::chain::Depth;
use minutehand_domain::failure_event::{FailureEvent, JobFacts, JobNames, Told};
use minutehand_domain::missed::Missed;
use minutehand_domain::tick::ticks;
use minutehand_ports::AttemptContext;
use minutehand_ports::store::CollectionRecord;

/// What stands for the name of a job in a test.
const TEST: &str = "alert-test";

/// An alert of a collection, as it is sent at an instant on the clock of the outside world: the receiver, with what it
/// is sent, and what the sender has to know beside that. `region` is what targets are told.
pub(crate) fn alert_call(
    alert: &CollectionAlert,
    record: &CollectionRecord,
    action: &FailureAction,
    region: &str,
    sent_at: DateTime<Utc>,
) -> (Target, AttemptContext) {
    let CollectionRecord { place, collection, .. } = record;
    let (job, occurrence, told) = match &alert.tells {
        Tells::Incident { incident, job, occurrence } => {
            let nominal_at = *occurrence;
            (job.as_str(), Occurrence::Scheduled { nominal_at }, Told::Incident(*incident))
        }
        Tells::Test { id } => {
            let occurrence = Occurrence::Run { asked_at: alert.at, run_id: id.clone() };
            (TEST, occurrence, Told::Test)
        }
    };
    let event = FailureEvent {
        id: alert_id(alert, &collection.uid),
        names: JobNames {
            subscription: place.subscription.as_str(),
            group: place.group.as_str(),
            collection: collection.name.as_str(),
            job,
        },
        occurrence: &occurrence,
        attempts: &[],
        next_at: None,
        paused: None,
        told,
        facts: JobFacts::default(),
    };
    let context = AttemptContext {
        execution_id: event.id.clone(),
        job: job.to_owned(),
        job_path: format!("{}/{job}", place.collection_path(&collection.name)),
        job_uid: collection.uid.clone(),
        collection_uid: collection.uid.clone(),
        expected_at: occurrence.nominal_at(),
        sent_at,
        region: region.to_owned(),
        signed: None,
        time_max: None,
        missed: Missed::default(),
        depth: Depth::default().next(),
        completion_url: None,
    };
    (action.with_event(&event), context)
}

/// The id of its event: the same each time that the alert is sent.
fn alert_id(alert: &CollectionAlert, collection_uid: &str) -> String {
    match &alert.tells {
        Tells::Incident { incident, .. } => {
            format!("{collection_uid}.{}.{}", incident.kind().name(), ticks(alert.at))
        }
        Tells::Test { id } => format!("{collection_uid}.{TEST}.{id}"),
    }
}
