//! Values: what is kept comes back as it was, to the last byte and tick.

use chrono::{DateTime, Utc};
use minutehand_domain::collection::{CollectionDefinition, CollectionState};
use minutehand_domain::document::load_collection_shown;
use minutehand_domain::extensions::CollectionExtensions;
use minutehand_domain::firing::SkipReason;
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::plan::{MaxRecurrence, Plan, Quota};
use minutehand_domain::recent::{LastSkip, Mark, Recent};
use minutehand_domain::timing::Timing;
use minutehand_ports::store::{JobRecord, TimerRecord};
use minutehand_recurrence::Frequency;

use super::Subject;
use super::records::{DOCUMENT_BYTES_MAX, at, collection, job, latest, long_document, now};
use super::subject::first_page;

behaviours! { $ values:
    everything_said_of_a_collection_comes_back,
    what_is_not_said_of_a_collection_stays_unsaid,
    every_plan_and_state_of_a_collection_comes_back,
    what_a_job_does_not_have_stays_absent,
    every_state_of_a_job_comes_back,
    the_longest_document_comes_back,
    documents_come_back_to_the_letter,
    sealed_bytes_come_back,
    dates_come_back_to_the_tick,
    counters_come_back_as_large_as_they_get,
}

/// Keeps a job and reads it back, one way and the other.
async fn comes_back(subject: &Subject, job: &JobRecord) {
    let jc = subject.collection(&format!("with-{}", job.name)).await;
    assert_eq!(&subject.with_job(&jc, job).await, job);
    let listed = subject.jobs_page(&jc, first_page(10)).await.unwrap();
    assert_eq!(listed.items.as_slice(), std::slice::from_ref(job));
}

async fn everything_said_of_a_collection_comes_back(subject: &Subject) {
    let mut jc = collection("jc");
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    jc.collection.definition = CollectionDefinition {
        location: Some("Süd \"1\"".to_owned()),
        // Not in the order of their names.
        tags: Some(vec![pair("z", "1"), pair("a", ""), pair("Ä \u{1F550}", "\\ \n \u{7f}")]),
        plan: Plan::P20Premium,
        state: CollectionState::Suspended,
        quota: Some(Quota {
            max_job_count: Some(1_000),
            max_job_occurrence: Some(2_147_483_647),
            max_recurrence: Some(MaxRecurrence { frequency: Frequency::Week, interval: 3 }),
        }),
        extensions: Some(CollectionExtensions {
            time_zone: Some("Europe/Berlin".to_owned()),
            max_per_second: minutehand_domain::limits::PerSecond::new(10),
            max_concurrent: minutehand_domain::limits::Concurrent::new(7),
            on_failure: None,
            snoozed_until: Some(at("2027-01-04T09:00:00Z")),
        }),
    };
    assert_eq!(subject.with_collection(&jc).await, jc);
    let mut jc = collection("notifying");
    let document = r#"{"properties":{"minutehand":{"onFailure":{"type":"Http","request":{
        "uri":"https://example.org/?code=(withheld)","method":"POST",
        "authentication":{"type":"Basic","username":"u"}}}}}}"#;
    jc.collection.definition =
        load_collection_shown(&serde_json::from_str(document).unwrap()).unwrap();
    assert!(jc.collection.definition.on_failure().is_some());
    assert_eq!(subject.with_collection(&jc).await, jc);
}

async fn what_is_not_said_of_a_collection_stays_unsaid(subject: &Subject) {
    let mut jc = collection("nothing");
    jc.collection.definition = CollectionDefinition::default();
    assert_eq!(subject.with_collection(&jc).await, jc);
    // An empty list of tags is not the same as none.
    let mut jc = collection("empty");
    jc.collection.definition.tags = Some(Vec::new());
    assert_eq!(subject.with_collection(&jc).await, jc);
}

async fn every_plan_and_state_of_a_collection_comes_back(subject: &Subject) {
    for plan in Plan::ALL {
        for state in CollectionState::ALL {
            let mut jc = collection(&format!("{}-{}", plan.name(), state.name()));
            (jc.collection.definition.plan, jc.collection.definition.state) = (plan, state);
            assert_eq!(subject.with_collection(&jc).await, jc);
        }
    }
}

async fn what_a_job_does_not_have_stays_absent(subject: &Subject) {
    let bare = job("bare");
    let bare = JobRecord {
        sealed: None,
        earlier: Vec::new(),
        timer: TimerRecord {
            state: JobState::Disabled,
            timing: Timing { anchor: None, ..bare.timer.timing },
            timetable: None,
            counters: JobCounters { last_execution_at: None, ..bare.timer.counters },
            due_at: None,
            is_spent: true,
        },
        ..bare
    };
    comes_back(subject, &bare).await;
}

async fn every_state_of_a_job_comes_back(subject: &Subject) {
    for state in JobState::ALL {
        let mut job = job(state.name());
        job.timer.state = state;
        comes_back(subject, &job).await;
    }
}

async fn the_longest_document_comes_back(subject: &Subject) {
    let mut long = job("long");
    long.document = long_document('x');
    assert_eq!(long.document.len(), DOCUMENT_BYTES_MAX);
    // Sealed, secrets are kept beside it.
    long.sealed = Some(vec![0xff; DOCUMENT_BYTES_MAX]);
    comes_back(subject, &long).await;
}

async fn documents_come_back_to_the_letter(subject: &Subject) {
    // Every control character, quotes and escapes, letters of two to four bytes, composed and not,
    // and numbers that a reader of JSON would write otherwise.
    let controls: String = ('\0'..='\u{9f}').collect();
    let texts =
        [&controls, r#"{"a":"\"\\\u0000\/"}"#, "ü u\u{308} € \u{1F550} \u{10FFFF}", "[1.0,1e2,-0]"];
    for (n, text) in texts.into_iter().enumerate() {
        let mut job = job(&format!("j{n}"));
        text.clone_into(&mut job.document);
        job.timer.timetable = Some(text.to_owned());
        comes_back(subject, &job).await;
    }
}

async fn sealed_bytes_come_back(subject: &Subject) {
    for (n, sealed) in [Vec::new(), vec![0], (0..=u8::MAX).collect()].into_iter().enumerate() {
        comes_back(subject, &JobRecord { sealed: Some(sealed), ..job(&format!("j{n}")) }).await;
    }
}

async fn dates_come_back_to_the_tick(subject: &Subject) {
    let dates = [
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00.0000001Z",
        "1969-12-31T23:59:59.9999999Z",
        "1970-01-01T00:00:00Z",
        "1970-01-01T00:00:00.0000001Z",
        "2027-06-30T12:34:56.7Z",
        "2027-06-30T12:34:56.0123456Z",
        "9999-12-31T23:59:59.9999999Z",
    ];
    for (n, date) in dates.into_iter().enumerate() {
        let date: DateTime<Utc> = at(date);
        let mut jc = collection(&format!("jc{n}"));
        jc.on_since = date;
        jc.state_since = Some(date);
        assert_eq!(subject.with_collection(&jc).await, jc);
        let mut job = job(&format!("j{n}"));
        job.timer.timing.anchor = Some(date);
        job.timer.timing.since = date;
        job.timer.counters.last_execution_at = Some(date);
        job.timer.due_at = Some(date);
        comes_back(subject, &job).await;
    }
}

async fn counters_come_back_as_large_as_they_get(subject: &Subject) {
    // 2^53 + 1 is the first that a floating-point number loses.
    for (n, large) in [(1 << 53) + 1, u64::MAX].into_iter().enumerate() {
        let mut job = job(&format!("j{n}"));
        job.version = large;
        job.timer.timing.generation = large;
        job.timer.timing.used = u32::MAX;
        job.timer.counters = JobCounters {
            executions: large,
            failures: large - 1,
            faulted: large - 2,
            skipped: large - 3,
            last_execution_at: None,
            recent: Recent::without_skips_until(large - 3).and(Mark::Failed),
            last_skip: Some(LastSkip::one(now(), SkipReason::CollectionOff)),
            latest: Some(latest()),
        };
        comes_back(subject, &job).await;
    }
}
