//! The index of timers, as items.

use minutehand_domain::job::JobState;
use minutehand_testkit::conformance::records::{at, job, now, numbered};

use crate::world::{Item, World, text};

fn number(item: &Item, attribute: &str) -> i64 {
    item.get(attribute).unwrap().as_n().unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_index_has_what_a_sweep_needs_and_no_more() {
    let subject = World::new().await;
    let jc = subject.collection("jc").await;
    let j = subject.job(&jc, "J").await;
    let due = subject.due_index().await;
    let [timer] = due.as_slice() else { panic!("one timer is due: {due:?}") };
    assert_eq!(timer.get("state"), Some(&text(JobState::Enabled.name())));
    assert_eq!(timer.get("collection_uid"), Some(&text(&jc.collection.uid)));
    assert_eq!(timer.get("job_key"), Some(&text("j")));
    assert_eq!(timer.get("timetable"), Some(&text("a rule")));
    assert_eq!(number(timer, "generation"), 0);
    assert_eq!(number(timer, "due_at"), j.timer.due_at.unwrap().timestamp() * 10_000_000);
    // A firing would pay for it twice.
    for attribute in ["executions", "failures", "faulted", "settled", "last_at"] {
        assert!(!timer.contains_key(attribute), "{attribute}");
    }
    subject.close().await;
}

#[tokio::test]
async fn a_timer_has_the_attributes_of_the_index_exactly_while_it_is_due() {
    let subject = World::new().await;
    let jc = subject.collection("jc").await;
    for due_at in [Some(now()), None] {
        let mut j = job(if due_at.is_some() { "due" } else { "not" });
        j.timer.due_at = due_at;
        let timer = subject.timer(&subject.with_job(&jc, &j).await).await;
        for attribute in ["due_at", "due_shard"] {
            assert_eq!(timer.contains_key(attribute), due_at.is_some(), "{attribute}");
        }
    }
    subject.close().await;
}

#[tokio::test]
async fn an_instant_is_a_number_of_ticks() {
    let subject = World::new().await;
    let jc = subject.collection("jc").await;
    let instants = [
        ("1969-12-31T23:59:59.9999999Z", -1),
        ("1970-01-01T00:00:00.0000002Z", 2),
        ("1970-01-01T00:00:00.0000010Z", 10),
        ("2027-01-01T12:00:00.0000001Z", 17_988_048_000_000_001),
        ("9999-12-31T23:59:59.9999999Z", 2_534_023_007_999_999_999),
    ];
    for (n, (instant, ticks)) in instants.into_iter().enumerate() {
        let mut j = job(&format!("j{n}"));
        j.timer.due_at = Some(at(instant));
        let timer = subject.timer(&subject.with_job(&jc, &j).await).await;
        assert_eq!(number(&timer, "due_at"), ticks, "{instant}");
    }
    subject.close().await;
}

#[tokio::test]
async fn the_shards_are_sixty_four() {
    let subject = World::new().await;
    let jc = subject.collection("jc").await;
    for name in numbered("j", 100) {
        subject.job(&jc, &name).await;
    }
    for timer in subject.due_index().await {
        assert!((0..64).contains(&number(&timer, "due_shard")), "{timer:?}");
    }
    subject.close().await;
}
