//! Records to keep: valid, unlike each other, and the same in every run.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::collection::{Collection, CollectionDefinition};
use minutehand_domain::earlier_timing::EarlierTiming;
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::missed::Latest;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::recent::Mark;
use minutehand_domain::timing::Timing;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    CloudServiceRecord, CollectionRecord, JobRecord, ResourceGroup, TimerRecord,
};

/// The most bytes of a document.
pub const DOCUMENT_BYTES_MAX: usize = 16 * 1_024;

/// An instant, as the API writes it.
pub fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// What a job remembers of its latest results.
pub(crate) fn latest() -> Latest {
    let attempt = Attempt::first(1, Occurrence::Scheduled { nominal_at: now() });
    let latest = Latest::default().after(&attempt, Mark::Ok, None, 0x0102_0304);
    latest.with_time(TimeDelta::milliseconds(1_234))
}

/// When the tests play.
pub fn now() -> DateTime<Utc> {
    at("2027-01-01T12:00:00Z")
}

/// A name.
pub fn named(name: &str) -> Name {
    Name::new(name).unwrap()
}

/// A segment of a path.
pub fn segment(text: &str) -> PathSegment {
    PathSegment::new(text).unwrap()
}

pub(crate) fn place(subscription: &str, group: &str) -> ResourceGroup {
    ResourceGroup { subscription: segment(subscription), group: segment(group) }
}

/// A collection that was never kept, in a place that most tests share.
pub fn collection(name: &str) -> CollectionRecord {
    collection_in("Sub", "Group", name)
}

/// A collection that was never kept.
pub fn collection_in(subscription: &str, group: &str, name: &str) -> CollectionRecord {
    CollectionRecord {
        place: place(subscription, group),
        collection: Collection {
            uid: format!("uid-{subscription}/{group}/{name}"),
            name: named(name),
            definition: located("West US"),
        },
        job_count: 0,
        on_since: now(),
        sealed: None,
        state_since: Some(now()),
        label: None,
        version: 1,
    }
}

/// A cloud service that was never kept.
pub(crate) fn cloud_service(group: &str) -> CloudServiceRecord {
    CloudServiceRecord {
        place: place("Sub", group),
        uid: format!("uid-{group}"),
        label: "a label".to_owned(),
        description: String::new(),
        region: "West US".to_owned(),
        version: 1,
    }
}

/// A definition that a test can tell from another.
pub(crate) fn located(location: &str) -> CollectionDefinition {
    CollectionDefinition { location: Some(location.to_owned()), ..CollectionDefinition::default() }
}

/// A job that was never kept: enabled, and due in an hour.
pub fn job(name: &str) -> JobRecord {
    let due_at = now() + TimeDelta::hours(1);
    JobRecord {
        uid: format!("uid-{name}"),
        name: named(name),
        document: format!(r#"{{"name":"{name}"}}"#),
        sealed: None,
        version: 1,
        expires_at: None,
        earlier: Vec::new(),
        timer: TimerRecord {
            state: JobState::Enabled,
            timing: Timing { generation: 0, anchor: Some(now()), since: now(), used: 0 },
            timetable: Some("a rule".to_owned()),
            counters: JobCounters::default(),
            due_at: Some(due_at),
            is_spent: false,
        },
    }
}

/// A job as its messages name it.
pub(crate) fn job_ref(inside: &CollectionRecord, job: &JobRecord) -> JobRef {
    let collection_uid = inside.collection.uid.clone();
    JobRef { uid: job.uid.clone(), collection_uid, key: job.name.key() }
}

/// The same job under another definition.
pub(crate) fn with_document(job: &JobRecord, document: &str) -> JobRecord {
    JobRecord { document: document.to_owned(), ..job.clone() }
}

/// The same job with the timing that follows its own, due at another instant or never.
pub(crate) fn with_timing(job: &JobRecord, due_at: Option<DateTime<Utc>>) -> JobRecord {
    let generation = job.timer.timing.generation + 1;
    let timer = TimerRecord {
        timing: Timing { generation, ..job.timer.timing },
        timetable: due_at.map(|_| "another rule".to_owned()),
        due_at,
        ..job.timer.clone()
    };
    let ended = EarlierTiming::ending(&job.timer.timing, job.timer.timetable.clone());
    JobRecord { timer, earlier: ended.after(job.earlier.clone()), ..job.clone() }
}

/// A document as long as one can be, of one letter.
pub fn long_document(letter: char) -> String {
    let shell = r#"{"":""}"#.len();
    let filling = letter.to_string().repeat(DOCUMENT_BYTES_MAX - shell);
    format!(r#"{{"":"{filling}"}}"#)
}

/// Names `prefix-000`, `prefix-001` and so on: their order is their number's.
pub fn numbered(prefix: &str, count: u32) -> Vec<String> {
    (0..count).map(|n| format!("{prefix}-{n:03}")).collect()
}
