//! The states of alerts: of jobs under rules, and of collections of which an alert failed.

use chrono::TimeDelta;
use minutehand_domain::alert::AlertUse;
use minutehand_ports::store::{AlertRead, AlertWrite};

use super::firing::{JOB, at};
use super::subject::at_once;
use super::{Subject, firing::COLLECTION};

behaviours! { $ alerts:
    a_state_reads_back_and_is_stored_only_on_the_one_that_was_read,
    of_workers_that_store_a_state_at_once_one_does,
    the_state_of_a_collection_is_not_that_of_a_job,
    a_snapshot_shows_whether_its_collection_has_a_format_or_rules,
}

fn write(uid: &str, as_read: u64, state: &str) -> AlertWrite {
    let expires_at = at(60) + TimeDelta::days(90);
    AlertWrite { uid: uid.to_owned(), as_read, state: state.to_owned(), expires_at }
}

fn read(number: u64, state: &str) -> AlertRead {
    AlertRead { number, state: state.to_owned() }
}

async fn a_state_reads_back_and_is_stored_only_on_the_one_that_was_read(subject: &Subject) {
    assert_eq!(subject.store.read_alert(JOB).await.unwrap(), AlertRead::default());
    // A state can only follow one that is there.
    assert!(!subject.store.write_alert(&write(JOB, 1, "x")).await.unwrap());
    let first = write(JOB, 0, r#"{"d":[["a\"","f",1,0]]}"#);
    assert!(subject.store.write_alert(&first).await.unwrap());
    assert!(!subject.store.write_alert(&first).await.unwrap());
    let long = "ü".repeat(2_000);
    assert!(subject.store.write_alert(&write(JOB, 1, &long)).await.unwrap());
    assert!(!subject.store.write_alert(&write(JOB, 1, "late")).await.unwrap());
    assert_eq!(subject.store.read_alert(JOB).await.unwrap(), read(2, &long));
    assert!(subject.store.write_alert(&write(JOB, 2, "")).await.unwrap());
    assert_eq!(subject.store.read_alert(JOB).await.unwrap(), read(3, ""));
}

async fn of_workers_that_store_a_state_at_once_one_does(subject: &Subject) {
    for as_read in 0..3 {
        let stored = at_once(8, subject.clone(), |subject, n| async move {
            let write = write(JOB, as_read, &format!("state {n}"));
            subject.store.write_alert(&write).await.unwrap()
        })
        .await;
        assert_eq!(stored.iter().filter(|stored| **stored).count(), 1, "{stored:?}");
        assert_eq!(subject.store.read_alert(JOB).await.unwrap().number, as_read + 1);
    }
}

async fn the_state_of_a_collection_is_not_that_of_a_job(subject: &Subject) {
    assert!(subject.store.write_alert(&write(JOB, 0, "job")).await.unwrap());
    assert!(subject.store.write_alert(&write(COLLECTION, 0, "collection")).await.unwrap());
    assert_eq!(subject.store.read_alert(JOB).await.unwrap(), read(1, "job"));
    assert_eq!(subject.store.read_alert(COLLECTION).await.unwrap(), read(1, "collection"));
}

async fn a_snapshot_shows_whether_its_collection_has_a_format_or_rules(subject: &Subject) {
    subject.and_job().await;
    assert_eq!(subject.snapshot().await.alert_use, AlertUse::None);
    let request = r#""type":"Http","request":{"uri":"https://example.org/","method":"POST"}"#;
    for (more, expected) in [
        ("", AlertUse::None),
        (r#","format":"slack""#, AlertUse::Format),
        (r#","format":"slack","after":2"#, AlertUse::Rules),
        (r#","recovered":true"#, AlertUse::Rules),
        (r#","after":1"#, AlertUse::None),
        (r#","alsoTell":{"late":"PT5M"}"#, AlertUse::Incidents),
        (r#","after":2,"alsoTell":{"missed":true}"#, AlertUse::RulesAndIncidents),
    ] {
        subject.set_failure_action(&format!("{{{request}{more}}}")).await;
        assert_eq!(subject.snapshot().await.alert_use, expected, "{more}");
    }
}
