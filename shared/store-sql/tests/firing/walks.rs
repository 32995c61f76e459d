//! Walks through all that is stored.

use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record};
use minutehand_domain::collection::{Collection, CollectionDefinition, CollectionState};
use minutehand_domain::ended::EndedItem;
use minutehand_domain::job::JobState;
use minutehand_domain::journal::{DocumentChange, JournalEntry, Operation};
use minutehand_ports::store::{
    Claimed, CollectionRecord, JobRecord, Recorded, SaveJob, Saved, TimerRecord,
};
use minutehand_ports::{Attempts, Collections, Jobs};
use minutehand_store_sql::{EndedWhen, Sealed, SealedOf, StateCounts, StatePosition};
use minutehand_testkit::conformance::records;

use crate::world::{World, at, claim, request};

/// More than are read together.
const MANY: usize = 1_100;

async fn count(world: &World) -> StateCounts {
    let (mut counts, mut from) = (StateCounts::default(), Some(StatePosition::default()));
    while let Some(position) = from {
        from = world.store.count_states(&mut counts, position, records::now()).await.unwrap();
    }
    counts
}

async fn put_job(world: &World, job: &JobRecord) {
    let collection = world.collection().await;
    let save = SaveJob { collection: &collection, job, timer_changes: true, entry: None };
    let created = Jobs::create(&world.store, save, None, records::now()).await;
    assert_eq!(created.unwrap(), Saved::Kept, "{}", job.name);
}

fn job_in(n: usize, state: JobState) -> JobRecord {
    let one = records::job(&format!("Job{n}"));
    let due_at = one.timer.due_at.filter(|_| state != JobState::Disabled);
    JobRecord { timer: TimerRecord { state, due_at, ..one.timer }, ..one }
}

fn collection_in(n: usize, state: CollectionState) -> CollectionRecord {
    let one = records::collection(&format!("Jc{n}"));
    let Collection { definition, .. } = one.collection.clone();
    let definition = CollectionDefinition { state, ..definition };
    CollectionRecord { collection: Collection { definition, ..one.collection }, ..one }
}

#[tokio::test]
async fn collections_and_jobs_are_counted_by_state() {
    let world = World::with_job().await;
    let states = [(JobState::Enabled, MANY), (JobState::Disabled, 30), (JobState::Faulted, 2)];
    let states = states.into_iter().flat_map(|(state, n)| std::iter::repeat_n(state, n));
    for (n, state) in states.enumerate() {
        put_job(&world, &job_in(n, state)).await;
    }
    // One that has expired, and is not removed yet.
    let expired =
        JobRecord { expires_at: Some(records::now()), ..job_in(9_999, JobState::Completed) };
    put_job(&world, &expired).await;
    for (n, state) in [(1, CollectionState::Suspended), (2, CollectionState::Disabled)] {
        let created = Collections::create(&world.store, &collection_in(n, state), None).await;
        assert_eq!(created.unwrap(), Saved::Kept);
    }
    let enabled = u64::try_from(MANY).unwrap() + 1;
    let jobs = [("completed", 0), ("disabled", 30), ("enabled", enabled), ("faulted", 2)];
    let counts = count(&world).await;
    assert_eq!(counts.jobs, jobs.into_iter().chain([("unreadable", 0)]).collect());
    let collections = [("disabled", 1), ("enabled", 1), ("suspended", 1), ("unreadable", 0)];
    assert_eq!(counts.collections, collections.into_iter().collect());
}

#[tokio::test]
async fn everything_with_secrets_is_found() {
    let world = World::with_job().await;
    assert_eq!(world.store.any_sealed().await.unwrap(), None);
    let secret = |n: usize| format!("secret {n}").into_bytes();
    for n in 0..250 {
        put_job(&world, &JobRecord { sealed: Some(secret(n)), ..records::job(&format!("j{n}")) })
            .await;
        put_job(&world, &records::job(&format!("without{n}"))).await;
    }
    let one = CollectionRecord { sealed: Some(secret(250)), ..records::collection("other") };
    assert_eq!(Collections::create(&world.store, &one, None).await.unwrap(), Saved::Kept);
    let (mut all, mut from) = (Vec::new(), None);
    loop {
        let (found, next) = world.store.sealed(from).await.unwrap();
        all.extend(found);
        from = next;
        if from.is_none() {
            break;
        }
    }
    assert_eq!(world.store.any_sealed().await.unwrap().as_ref(), all.first());
    let uid = world.collection().await.collection.uid;
    let mut expected: Vec<Sealed> = (0..250)
        .map(|n| {
            let job = records::job(&format!("j{n}"));
            let of = SealedOf::Job { collection_uid: uid.clone(), name: job.name };
            Sealed { uid: job.uid, secrets: secret(n), of }
        })
        .collect();
    expected.sort_by_key(|it| match &it.of {
        SealedOf::Job { name, .. } => name.key(),
        SealedOf::Collection(_) => String::new(),
    });
    expected.push(Sealed {
        uid: one.collection.uid.clone(),
        secrets: secret(250),
        of: SealedOf::Collection(one.place.collection_path(&one.collection.name)),
    });
    assert_eq!(all, expected);
}

/// An attempt that was due at one second and ended at another.
async fn end(world: &World, due: i64, ended: i64) {
    let attempt = Attempt::first(1, Occurrence::Scheduled { nominal_at: at(due) });
    assert_eq!(world.store.claim(&request(&attempt, "a")).await.unwrap(), Claimed::Won);
    let record = Record {
        started_at: at(due),
        ended_at: at(ended),
        outcome: Outcome::Succeeded,
        message: String::new(),
        repeat_count: 1,
        cause: None,
        body_bytes: 0,
        then: None,
    };
    let recorded = world.store.record(&claim(&attempt, "a"), &record).await.unwrap();
    assert_eq!(recorded, Recorded::Kept);
}

/// The seconds of what has ended: of attempts when they were due, of changes when they were made.
async fn ended(world: &World, when: EndedWhen) -> (Vec<i64>, Vec<i64>) {
    let (mut attempts, mut changes, mut from) = (Vec::new(), Vec::new(), None);
    loop {
        let page = world.store.ended(when, from).await.unwrap();
        assert_eq!(page.unreadable, 0);
        for item in page.found {
            let second = |at_: chrono::DateTime<chrono::Utc>| (at_ - at(0)).num_seconds();
            match item {
                EndedItem::Attempt { job_uid, attempt, .. } => {
                    assert_eq!(job_uid, records::job("j").uid);
                    attempts.push(second(attempt.occurrence.nominal_at()));
                }
                EndedItem::Change { collection_uid, entry } => {
                    assert!(collection_uid.starts_with("uid-"), "{collection_uid}");
                    changes.push(second(entry.at));
                }
            }
        }
        from = page.next;
        if from.is_none() {
            return (attempts, changes);
        }
    }
}

#[tokio::test]
async fn what_has_ended_in_a_time_is_found_and_what_is_under_way_is_not() {
    let world = World::with_job().await;
    let many = i64::try_from(MANY).unwrap();
    for second in 0..many {
        end(&world, second, second + 10).await;
    }
    let under_way = Attempt::first(1, Occurrence::Scheduled { nominal_at: at(5_000) });
    assert_eq!(world.store.claim(&request(&under_way, "b")).await.unwrap(), Claimed::Won);
    for second in [3, 7] {
        let entry = JournalEntry {
            at: at(second),
            who: "w".to_owned(),
            request_id: "r".to_owned(),
            operation: Operation::Created,
            job: None,
            difference: DocumentChange { names: Vec::new(), patches: None },
            run: None,
        };
        let one = records::collection(&format!("made{second}"));
        let created = Collections::create(&world.store, &one, Some(&entry)).await;
        assert_eq!(created.unwrap(), Saved::Kept);
    }
    let until = |until| EndedWhen::Between { from: None, until: at(until) };
    assert_eq!(ended(&world, until(10_000)).await, ((0..many).collect(), vec![3, 7]));
    assert_eq!(ended(&world, until(7)).await, (vec![], vec![3]));
    let between = EndedWhen::Between { from: Some(at(12)), until: at(15) };
    assert_eq!(ended(&world, between).await, (vec![2, 3, 4], vec![]));
    let day = EndedWhen::OfDay(at(0).date_naive());
    assert_eq!(ended(&world, day).await, ((0..many).collect(), vec![3, 7]));
    let next = EndedWhen::OfDay(at(86_400).date_naive());
    assert_eq!(ended(&world, next).await, (vec![], vec![]));
}
