//! The order of executions, and their pages.

use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_ports::History;
use minutehand_ports::store::HistoryEntry;

use super::Subject;
use super::firing::{JOB, at, claim, error_action, record, retry, scheduled};
use super::subject::first_page;

behaviours! { $ history:
    history_lists_the_newest_occurrence_first_and_its_newest_attempt_first,
    a_claim_is_an_entry_without_a_record,
    attempts_between_two_instants_are_those_at_both_and_between,
    the_history_of_a_job_contains_no_other_job,
    a_store_without_an_archive_lists_nothing_of_it,
}

async fn history_lists_the_newest_occurrence_first_and_its_newest_attempt_first(subject: &Subject) {
    let first = scheduled(60);
    let run_id = "r1".to_owned();
    let newest_first = [
        scheduled(180),
        Attempt {
            asked_by: Some("token ops".to_owned()),
            ..Attempt::first(1, Occurrence::Run { asked_at: at(121), run_id })
        },
        Attempt { generation: 10, ..scheduled(120) },
        Attempt { generation: 9, ..scheduled(120) },
        Attempt { number: 1, due_at: at(500), ..error_action(400, &first) },
        error_action(400, &first),
        retry(10, 390, &first),
        retry(9, 300, &first),
        retry(1, 92, &first),
        first.clone(),
    ];
    // In which order they are written has no part in it.
    for attempt in newest_first[5..].iter().chain(&newest_first[..5]) {
        subject.execute(attempt, record(60)).await;
    }
    let found: Vec<Attempt> = subject.history().await.into_iter().map(|e| e.attempt).collect();
    assert_eq!(found, newest_first);
}

async fn a_claim_is_an_entry_without_a_record(subject: &Subject) {
    let due_later = retry(1, 95, &scheduled(60));
    subject.claim(claim(&due_later, "a")).await;
    let entry = HistoryEntry { attempt: due_later, record: None, waits: false };
    assert_eq!(subject.history().await, [entry]);
}

async fn attempts_between_two_instants_are_those_at_both_and_between(subject: &Subject) {
    for second in [59, 60, 61, 119, 120, 121] {
        subject.execute(&scheduled(second), record(second)).await;
    }
    let found = subject.store.attempts_between(JOB, at(60), at(120)).await.unwrap();
    let mut found: Vec<_> = found.iter().map(|it| it.occurrence.nominal_at()).collect();
    found.sort();
    assert_eq!(found, [60, 61, 119, 120].map(at));
}

async fn the_history_of_a_job_contains_no_other_job(subject: &Subject) {
    subject.execute(&scheduled(60), record(60)).await;
    let other = History::list(&*subject.store, "other", first_page(10)).await.unwrap();
    assert!(other.items.is_empty() && other.next.is_none());
}

async fn a_store_without_an_archive_lists_nothing_of_it(subject: &Subject) {
    subject.execute(&scheduled(60), record(60)).await;
    let archived = subject.store.list_archived(JOB, first_page(10), at(1_000)).await.unwrap();
    assert!(subject.store.has_archive() || archived.items.is_empty());
    assert_eq!(archived.next, None);
}
