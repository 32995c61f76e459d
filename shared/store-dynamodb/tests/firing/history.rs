//! The order of executions, and their pages.

use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_ports::History;
use minutehand_ports::store::{HistoryEntry, PageRequest};
use minutehand_store_dynamodb::MeteredCall;

use crate::world::{JOB, World, at, claim, error_action, in_both_ways, record, retry, scheduled};

#[tokio::test]
async fn history_lists_the_newest_occurrence_first_and_its_newest_attempt_first() {
    in_both_ways(async |world| {
        let first = scheduled(60);
        let run_id = "r1".to_owned();
        let newest_first = [
            scheduled(180),
            Attempt::first(1, Occurrence::Run { asked_at: at(121), run_id }),
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
            world.execute(attempt, record(60)).await;
        }
        let found: Vec<Attempt> = world.history().await.into_iter().map(|e| e.attempt).collect();
        assert_eq!(found, newest_first);
    })
    .await;
}

#[tokio::test]
async fn a_claim_is_an_entry_without_a_record() {
    in_both_ways(async |world| {
        let due_later = retry(1, 95, &scheduled(60));
        world.claim(claim(&due_later, "a")).await;
        assert_eq!(
            world.history().await,
            [HistoryEntry { attempt: due_later, record: None, waits: false }]
        );
    })
    .await;
}

#[tokio::test]
async fn a_page_reads_only_the_entries_it_holds() {
    in_both_ways(async |world: World| {
        for n in 0..25 {
            world.execute(&scheduled(60 * n), record(60 * n)).await;
        }
        let _ = world.meter.take();
        let (mut seen, mut from, mut sizes) = (Vec::new(), None, Vec::new());
        loop {
            let page = PageRequest { from, items_max: 10 };
            let page = world.store.list(JOB, page).await.unwrap();
            sizes.push(page.items.len());
            seen.extend(page.items.into_iter().map(|e| e.attempt));
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        assert_eq!(sizes, [10, 10, 5]);
        let expected: Vec<Attempt> = (0..25).rev().map(|n| scheduled(60 * n)).collect();
        assert_eq!(seen, expected);
        // Ten items of under half a kilobyte: one unit each time.
        let consumed = world.meter.consumed_by(MeteredCall::History);
        assert_eq!((consumed.requests, consumed.units), (3, 3.0));
    })
    .await;
}

#[tokio::test]
async fn the_history_of_a_job_contains_no_other_job() {
    in_both_ways(async |world: World| {
        world.execute(&scheduled(60), record(60)).await;
        let page = PageRequest { from: None, items_max: 10 };
        let other = world.store.list("other", page).await.unwrap();
        assert!(other.items.is_empty() && other.next.is_none());
    })
    .await;
}
