//! The order of executions, and their pages.

use minutehand_domain::attempt::Attempt;
use minutehand_ports::History;
use minutehand_ports::store::PageRequest;
use minutehand_store_dynamodb::MeteredCall;

use crate::world::{JOB, World, in_both_ways, record, scheduled};

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
