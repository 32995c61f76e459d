//! Turns: which attempt of a job runs, if the job lets none overlap.

#![expect(clippy::float_cmp, reason = "units are whole numbers")]

use chrono::DateTime;
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::firing::{
    LeftOut, LeftOutReason, TurnHolder, TurnOrder, WAITING_MAX, Waiter,
};
use minutehand_ports::Turns;
use minutehand_ports::store::{TurnsRead, TurnsWrite};
use minutehand_store_dynamodb::MeteredCall;

use crate::world::{JOB, World, at, held, scheduled};

/// The longest attempt: a retry of a run that repeats an occurrence.
fn long(n: u32) -> Attempt {
    let run_id = format!("01hzzzzzzzzzzzzzzzzzzzz{n:03}x-621355968000000000");
    let asked_at = DateTime::from_timestamp(253_402_300_799, 0).unwrap();
    let run = Occurrence::Run { asked_at, run_id };
    Attempt { number: 12, ..Attempt::first(u64::MAX, run) }
}

fn holder(attempt: &Attempt, claim_id: &str) -> TurnHolder {
    let lease_until = held(attempt, claim_id).lease_until;
    TurnHolder { attempt: attempt.clone(), claim_id: claim_id.to_owned(), lease_until }
}

fn order(holder: Option<TurnHolder>, waiting: &[Waiter]) -> TurnOrder {
    TurnOrder { holder, waiting: waiting.to_vec() }
}

fn write(as_read: u64, order: TurnOrder) -> TurnsWrite {
    TurnsWrite { job_uid: JOB.to_owned(), as_read, order, left_out: None }
}

impl World {
    async fn turns(&self, attempt: &Attempt) -> TurnsRead {
        self.store.read_turns(JOB, attempt).await.unwrap()
    }

    async fn stores(&self, write: &TurnsWrite) -> bool {
        self.store.write_turns(write).await.unwrap()
    }
}

#[tokio::test]
async fn a_turn_costs_one_unit_and_four_to_read_even_with_many_that_wait() {
    let world = World::in_process().await;
    let units = |call| world.meter.take().get(&call).copied().unwrap_or_default().units;
    let first = scheduled(60);
    assert!(world.stores(&write(0, order(Some(holder(&first, CLAIM)), &[]))).await);
    assert_eq!(units(MeteredCall::Turns), 1.0);
    world.turns(&scheduled(120)).await;
    assert_eq!(units(MeteredCall::ReadTurns), 4.0);
    let row = Some(LeftOut::one(1, at(120), LeftOutReason::Overlap, at(121)));
    let order = order(Some(holder(&first, CLAIM)), &[]);
    assert!(world.stores(&TurnsWrite { left_out: row, ..write(1, order.clone()) }).await);
    assert_eq!(units(MeteredCall::Turns), 4.0);
    let waiting = (0..).map(|n| Waiter { attempt: long(n), until: at(900) }).take(WAITING_MAX);
    let order = TurnOrder { waiting: waiting.collect(), ..order };
    assert!(world.stores(&write(2, order)).await);
    assert!(units(MeteredCall::Turns) <= 2.0);
    world.store.give_back_turn(&held(&first, CLAIM)).await.unwrap();
    assert!(units(MeteredCall::Turns) <= 2.0);
}

/// As long as an identity is.
const CLAIM: &str = "01hzzzzzzzzzzzzzzzzzzzzzzx";
