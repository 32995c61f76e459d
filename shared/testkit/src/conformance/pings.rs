//! Pings of jobs that expect them, and the signs of the processes that take them.

use std::sync::Arc;

use minutehand_domain::attempt::{Attempt, Outcome};
use minutehand_domain::completion::{EndedBy, Ending};
use minutehand_domain::firing::{LeftOut, LeftOutReason};
use minutehand_domain::job::JobState;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::Pings;
use minutehand_ports::store::{
    AttemptSeen, Claim, Claimed, DueTimer, JobRecord, OpenAttempt, OpenSpan, PingChange,
    PingFreshness, PingKey, PingRead, PingTaken, PingWrite, Recorded, Saved, SignsRead,
};

use super::Subject;
use super::firing::{at, held, record, scheduled};
use super::subject::at_once;

behaviours! { $ pings as conformance_of_pings:
    a_key_finds_its_job_until_another_one_takes_its_place,
    a_key_goes_with_its_job,
    a_ping_opens_what_is_not_there_and_has_the_timer_of_its_deadline,
    a_ping_ends_what_is_open,
    a_ping_on_another_book_does_nothing,
    what_a_worker_holds_is_not_opened,
    what_was_left_out_as_not_watched_is_not_opened,
    of_pings_that_come_at_once_one_counts,
    signs_are_written_on_those_that_were_read,
}

const KEY: &str = "a1b2";

fn key(hash: &str) -> PingKey {
    PingKey { hash: hash.to_owned(), sealed: vec![1, 2, 3] }
}

fn job_of(collection_uid: &str, record: &JobRecord) -> JobRef {
    JobRef {
        uid: record.uid.clone(),
        collection_uid: collection_uid.to_owned(),
        key: record.name.key(),
    }
}

fn span() -> OpenSpan {
    OpenSpan { started_at: at(61), until: at(661) }
}

fn opens(attempt: &Attempt, ending: Option<Ending>) -> PingChange {
    PingChange::Opens {
        attempt: Box::new(attempt.clone()),
        claim_id: "p".to_owned(),
        span: span(),
        held_until: at(86_400),
        ending,
    }
}

fn write(job: &JobRef, as_read: u64, change: PingChange) -> PingWrite {
    let book = format!("book {as_read}");
    PingWrite { hash: KEY.to_owned(), job: job.clone(), as_read, book, change }
}

fn said(second: i64, by: EndedBy) -> Ending {
    Ending::new(at(second), by, "7 rows")
}

impl Subject {
    /// A job with a key.
    async fn pinged(&self) -> (Arc<dyn Pings>, JobRef) {
        let collection = self.collection("jc").await;
        let job = self.job(&collection, "j").await;
        let job = job_of(&collection.collection.uid, &job);
        let pings = self.pings();
        assert!(pings.set_ping_key(&job, &key(KEY), None).await.unwrap());
        (pings, job)
    }
}

async fn a_key_finds_its_job_until_another_one_takes_its_place(subject: &Subject) {
    let (pings, job) = subject.pinged().await;
    assert_eq!(pings.ping_key(&job.uid).await.unwrap(), Some(key(KEY)));
    let read = PingRead { job: job.clone(), number: 0, book: String::new(), owing: None };
    for freshness in [PingFreshness::AMomentAgo, PingFreshness::Now] {
        let found = pings.find_ping(KEY, freshness).await.unwrap().unwrap();
        let owing = found.owing.as_ref();
        assert!(owing.is_none_or(|it| it.state == JobState::Enabled && it.timetable.is_some()));
        assert_eq!(PingRead { owing: None, ..found }, read);
    }
    assert!(!pings.set_ping_key(&job, &key("c3"), None).await.unwrap(), "it has one");
    assert!(!pings.set_ping_key(&job, &key("c3"), Some("d4")).await.unwrap(), "it has another");
    let noted = pings.take_ping(&write(&job, 0, PingChange::Nothing)).await.unwrap();
    assert_eq!(noted, PingTaken::Kept);
    assert!(pings.set_ping_key(&job, &key("c3"), Some(KEY)).await.unwrap());
    assert_eq!(pings.find_ping(KEY, PingFreshness::Now).await.unwrap(), None);
    // What is remembered stays.
    let read = PingRead { number: 1, book: "book 0".to_owned(), ..read };
    let found = pings.find_ping("c3", PingFreshness::Now).await.unwrap().unwrap();
    assert_eq!(PingRead { owing: None, ..found }, read);
    let stale = pings.take_ping(&write(&job, 1, PingChange::Nothing)).await.unwrap();
    assert_eq!(stale, PingTaken::Stale, "the key was replaced");
}

async fn a_key_goes_with_its_job(subject: &Subject) {
    let collection = subject.collection("jc").await;
    let record = subject.job(&collection, "j").await;
    let job = job_of(&collection.collection.uid, &record);
    let pings = subject.pings();
    assert!(pings.set_ping_key(&job, &key(KEY), None).await.unwrap());
    let inside = subject.find_collection(&collection).await.unwrap();
    assert_eq!(subject.delete_job(&inside, &record).await, Saved::Kept);
    assert_eq!(pings.find_ping(KEY, PingFreshness::Now).await.unwrap(), None);
    assert_eq!(pings.ping_key(&job.uid).await.unwrap(), None);
}

async fn a_ping_opens_what_is_not_there_and_has_the_timer_of_its_deadline(subject: &Subject) {
    let (pings, job) = subject.pinged().await;
    let attempt = Attempt { due_at: at(660), ..scheduled(60) };
    let taken = pings.take_ping(&write(&job, 0, opens(&attempt, None))).await.unwrap();
    assert_eq!(taken, PingTaken::Kept);
    let seen = subject.store.see(&job.uid, &attempt).await.unwrap();
    let AttemptSeen::Open(open) = seen else { panic!("{seen:?}") };
    let OpenAttempt { open, ending, .. } = *open;
    assert_eq!((open, ending), (Some(span()), None));
    let due = subject.due(&job.uid, 661).await.into_iter();
    let timers: Vec<_> = due.filter(|due| matches!(due.what, DueTimer::Retry { .. })).collect();
    assert_eq!(timers.iter().map(|due| due.due_at).collect::<Vec<_>>(), [at(661)]);
    let again = pings.take_ping(&write(&job, 1, opens(&attempt, None))).await.unwrap();
    assert_eq!(again, PingTaken::Over);
    assert_eq!(
        pings.find_ping(KEY, PingFreshness::Now).await.unwrap().unwrap().number,
        1,
        "nothing of it is stored"
    );
}

async fn a_ping_ends_what_is_open(subject: &Subject) {
    let (pings, job) = subject.pinged().await;
    let attempt = scheduled(60);
    let taken = pings.take_ping(&write(&job, 0, opens(&attempt, None))).await.unwrap();
    assert_eq!(taken, PingTaken::Kept);
    let ends = |second, by| PingChange::Ends {
        attempt: Box::new(attempt.clone()),
        ending: said(second, by),
    };
    let late = pings.take_ping(&write(&job, 1, ends(662, EndedBy::Success))).await.unwrap();
    assert_eq!(late, PingTaken::Over, "the deadline is over");
    let ended = pings.take_ping(&write(&job, 1, ends(600, EndedBy::Failure))).await.unwrap();
    assert_eq!(ended, PingTaken::Kept);
    let again = pings.take_ping(&write(&job, 2, ends(601, EndedBy::Success))).await.unwrap();
    assert_eq!(again, PingTaken::Over);
    let seen = subject.store.see(&job.uid, &attempt).await.unwrap();
    let AttemptSeen::Open(open) = seen else { panic!("{seen:?}") };
    assert_eq!(open.ending, Some(said(600, EndedBy::Failure)));
    let claim = Claim { job, ..held(&attempt, "w") };
    let record = record(61);
    assert_eq!(record.outcome, Outcome::Succeeded);
    assert_eq!(subject.store.record_ending(&claim, &record).await.unwrap(), Recorded::Kept);
}

async fn a_ping_on_another_book_does_nothing(subject: &Subject) {
    let (pings, job) = subject.pinged().await;
    let attempt = scheduled(60);
    let stale = pings.take_ping(&write(&job, 1, opens(&attempt, None))).await.unwrap();
    assert_eq!(stale, PingTaken::Stale);
    assert_eq!(subject.store.see(&job.uid, &attempt).await.unwrap(), AttemptSeen::Nothing);
}

async fn what_a_worker_holds_is_not_opened(subject: &Subject) {
    let (pings, job) = subject.pinged().await;
    let attempt = scheduled(60);
    let mut request = super::firing::claim(&attempt, "w");
    request.claim.job = job.clone();
    assert_eq!(subject.store.claim(&request).await.unwrap(), Claimed::Won);
    let success = Some(said(61, EndedBy::Success));
    let taken = pings.take_ping(&write(&job, 0, opens(&attempt, success.clone()))).await.unwrap();
    assert_eq!(taken, PingTaken::Over);
    subject.store.release(&request.claim).await.unwrap();
    let taken = pings.take_ping(&write(&job, 0, opens(&attempt, success.clone()))).await.unwrap();
    assert_eq!(taken, PingTaken::Kept);
    let claimed = subject.store.claim(&request).await.unwrap();
    let Claimed::Open(open) = claimed else { panic!("{claimed:?}") };
    assert_eq!(open.ending, success);
}

async fn what_was_left_out_as_not_watched_is_not_opened(subject: &Subject) {
    let (pings, job) = subject.pinged().await;
    let (attempt, other) = (scheduled(60), scheduled(120));
    for (nominal_at, reason) in
        [(at(60), LeftOutReason::NotWatched), (at(120), LeftOutReason::TooLate)]
    {
        let left_out = LeftOut::one(attempt.generation, nominal_at, reason, at(700));
        subject.store.leave_out(&job.uid, &left_out).await.unwrap();
    }
    let success = Some(said(61, EndedBy::Success));
    let taken = pings.take_ping(&write(&job, 0, opens(&attempt, success.clone()))).await.unwrap();
    assert_eq!(taken, PingTaken::Over);
    assert_eq!(subject.store.see(&job.uid, &attempt).await.unwrap(), AttemptSeen::Nothing);
    assert_eq!(
        pings.find_ping(KEY, PingFreshness::Now).await.unwrap().unwrap().number,
        0,
        "nothing of it is stored"
    );
    let taken = pings.take_ping(&write(&job, 0, opens(&other, success))).await.unwrap();
    assert_eq!(taken, PingTaken::Kept, "that is another reason");
}

async fn of_pings_that_come_at_once_one_counts(subject: &Subject) {
    let (pings, job) = subject.pinged().await;
    let attempt = scheduled(60);
    let taken = at_once(8, |_| {
        let (pings, job, attempt) = (pings.clone(), job.clone(), attempt.clone());
        async move { pings.take_ping(&write(&job, 0, opens(&attempt, None))).await.unwrap() }
    })
    .await;
    let kept = taken.iter().filter(|taken| **taken == PingTaken::Kept).count();
    assert_eq!(kept, 1, "{taken:?}");
}

async fn signs_are_written_on_those_that_were_read(subject: &Subject) {
    let signs = subject.signs();
    assert_eq!(signs.read_signs().await.unwrap(), SignsRead::default());
    assert!(signs.write_signs(0, "a").await.unwrap());
    assert!(!signs.write_signs(0, "b").await.unwrap());
    let read = signs.read_signs().await.unwrap();
    assert_eq!((read.number, read.state.as_str()), (1, "a"));
    assert!(!signs.write_signs(2, "b").await.unwrap());
    assert!(signs.write_signs(1, "b").await.unwrap());
    assert_eq!(signs.read_signs().await.unwrap(), SignsRead { number: 2, state: "b".to_owned() });
}
