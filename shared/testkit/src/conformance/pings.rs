//! Pings of jobs that expect them, and the signs of the processes that take them.

use std::sync::Arc;

use minutehand_domain::attempt::{Attempt, Outcome};
use minutehand_domain::completion::{EndedBy, Ending};
use minutehand_domain::firing::{LeftOut, LeftOutReason};
use minutehand_domain::job::JobState;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::Pings;
use minutehand_ports::store::{
    AttemptSeen, Claim, Claimed, DueTimer, OpenAttempt, OpenSpan, PingChange, PingFreshness,
    PingKey, PingRead, PingTaken, PingWrite, Recorded, Saved, SignsRead,
};

use super::Subject;
use super::firing::{at, held, record, scheduled};
use super::records::{collection, job_ref, named};
use super::subject::at_once;

behaviours! { $ pings:
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

fn said(second: i64, by: EndedBy) -> Ending {
    Ending::new(at(second), by, "7 rows")
}

/// A job with a key.
#[derive(Clone)]
struct Pinged {
    pings: Arc<dyn Pings>,
    job: JobRef,
}

impl Pinged {
    async fn new(subject: &Subject) -> Self {
        let (collection, job) = subject.collection_and_job().await;
        let pinged = Self { pings: subject.pings(), job: job_ref(&collection, &job) };
        assert!(pinged.sets_key(KEY, None).await);
        pinged
    }

    async fn sets_key(&self, hash: &str, instead_of: Option<&str>) -> bool {
        let key = PingKey { hash: hash.to_owned(), sealed: vec![1, 2, 3] };
        self.pings.set_ping_key(&self.job, &key, instead_of).await.unwrap()
    }

    async fn key(&self) -> Option<String> {
        let key = self.pings.ping_key(&self.job.uid).await.unwrap()?;
        assert_eq!(key.sealed, [1, 2, 3]);
        Some(key.hash)
    }

    /// Takes a ping that was decided on the book with this number.
    async fn takes(&self, as_read: u64, change: PingChange) -> PingTaken {
        let (hash, job, book) = (KEY.to_owned(), self.job.clone(), format!("book {as_read}"));
        let write = PingWrite { hash, job, as_read, book, change };
        self.pings.take_ping(&write).await.unwrap()
    }

    /// What is known of the key, if the job has it.
    async fn found(&self, hash: &str) -> Option<PingRead> {
        self.pings.find_ping(hash, PingFreshness::Now).await.unwrap()
    }
}

async fn a_key_finds_its_job_until_another_one_takes_its_place(subject: &Subject) {
    let pinged = Pinged::new(subject).await;
    assert_eq!(pinged.key().await.as_deref(), Some(KEY));
    let read = PingRead { job: pinged.job.clone(), number: 0, book: String::new(), owing: None };
    for freshness in [PingFreshness::AMomentAgo, PingFreshness::Now] {
        let found = pinged.pings.find_ping(KEY, freshness).await.unwrap().unwrap();
        let owing = found.owing.as_ref();
        assert!(owing.is_none_or(|it| it.state == JobState::Enabled && it.timetable.is_some()));
        assert_eq!(PingRead { owing: None, ..found }, read);
    }
    assert!(!pinged.sets_key("c3", None).await, "it has one");
    assert!(!pinged.sets_key("c3", Some("d4")).await, "it has another");
    assert_eq!(pinged.takes(0, PingChange::Nothing).await, PingTaken::Kept);
    assert!(pinged.sets_key("c3", Some(KEY)).await);
    assert_eq!(pinged.found(KEY).await, None);
    // What is remembered stays.
    let read = PingRead { number: 1, book: "book 0".to_owned(), ..read };
    let found = pinged.found("c3").await.unwrap();
    assert_eq!(PingRead { owing: None, ..found }, read);
    assert_eq!(
        pinged.takes(1, PingChange::Nothing).await,
        PingTaken::Stale,
        "the key was replaced"
    );
}

async fn a_key_goes_with_its_job(subject: &Subject) {
    let pinged = Pinged::new(subject).await;
    let inside = subject.find_collection(&collection("jc")).await.unwrap();
    let job = subject.find_job(&inside, &named("j")).await.unwrap();
    assert_eq!(subject.delete_job(&inside, &job).await, Saved::Kept);
    assert_eq!(pinged.found(KEY).await, None);
    assert_eq!(pinged.key().await, None);
}

async fn a_ping_opens_what_is_not_there_and_has_the_timer_of_its_deadline(subject: &Subject) {
    let pinged = Pinged::new(subject).await;
    let attempt = Attempt { due_at: at(660), ..scheduled(60) };
    assert_eq!(pinged.takes(0, opens(&attempt, None)).await, PingTaken::Kept);
    let seen = subject.store.see(&pinged.job.uid, &attempt).await.unwrap();
    let AttemptSeen::Open(open) = seen else { panic!("{seen:?}") };
    let OpenAttempt { open, ending, .. } = *open;
    assert_eq!((open, ending), (Some(span()), None));
    let due = subject.due(&pinged.job.uid, 661).await.into_iter();
    let timers: Vec<_> = due.filter(|due| matches!(due.what, DueTimer::Retry { .. })).collect();
    assert_eq!(timers.iter().map(|due| due.due_at).collect::<Vec<_>>(), [at(661)]);
    assert_eq!(pinged.takes(1, opens(&attempt, None)).await, PingTaken::Over);
    assert_eq!(pinged.found(KEY).await.unwrap().number, 1, "nothing of it is stored");
}

async fn a_ping_ends_what_is_open(subject: &Subject) {
    let pinged = Pinged::new(subject).await;
    let attempt = scheduled(60);
    assert_eq!(pinged.takes(0, opens(&attempt, None)).await, PingTaken::Kept);
    let ends = |second, by| PingChange::Ends {
        attempt: Box::new(attempt.clone()),
        ending: said(second, by),
    };
    assert_eq!(
        pinged.takes(1, ends(662, EndedBy::Success)).await,
        PingTaken::Over,
        "the deadline is over"
    );
    assert_eq!(pinged.takes(1, ends(600, EndedBy::Failure)).await, PingTaken::Kept);
    assert_eq!(pinged.takes(2, ends(601, EndedBy::Success)).await, PingTaken::Over);
    let seen = subject.store.see(&pinged.job.uid, &attempt).await.unwrap();
    let AttemptSeen::Open(open) = seen else { panic!("{seen:?}") };
    assert_eq!(open.ending, Some(said(600, EndedBy::Failure)));
    let claim = Claim { job: pinged.job, ..held(&attempt, "w") };
    let record = record(61);
    assert_eq!(record.outcome, Outcome::Succeeded);
    assert_eq!(subject.store.record_ending(&claim, &record).await.unwrap(), Recorded::Kept);
}

async fn a_ping_on_another_book_does_nothing(subject: &Subject) {
    let pinged = Pinged::new(subject).await;
    let attempt = scheduled(60);
    assert_eq!(pinged.takes(1, opens(&attempt, None)).await, PingTaken::Stale);
    assert_eq!(subject.store.see(&pinged.job.uid, &attempt).await.unwrap(), AttemptSeen::Nothing);
}

async fn what_a_worker_holds_is_not_opened(subject: &Subject) {
    let pinged = Pinged::new(subject).await;
    let attempt = scheduled(60);
    let mut request = super::firing::claim(&attempt, "w");
    request.claim.job = pinged.job.clone();
    assert_eq!(subject.store.claim(&request).await.unwrap(), Claimed::Won);
    let success = Some(said(61, EndedBy::Success));
    assert_eq!(pinged.takes(0, opens(&attempt, success.clone())).await, PingTaken::Over);
    subject.store.release(&request.claim).await.unwrap();
    assert_eq!(pinged.takes(0, opens(&attempt, success.clone())).await, PingTaken::Kept);
    let claimed = subject.store.claim(&request).await.unwrap();
    let Claimed::Open(open) = claimed else { panic!("{claimed:?}") };
    assert_eq!(open.ending, success);
}

async fn what_was_left_out_as_not_watched_is_not_opened(subject: &Subject) {
    let pinged = Pinged::new(subject).await;
    let (attempt, other) = (scheduled(60), scheduled(120));
    for (nominal_at, reason) in
        [(at(60), LeftOutReason::NotWatched), (at(120), LeftOutReason::TooLate)]
    {
        let left_out = LeftOut::one(attempt.generation, nominal_at, reason, at(700));
        subject.store.leave_out(&pinged.job.uid, &left_out).await.unwrap();
    }
    let success = Some(said(61, EndedBy::Success));
    assert_eq!(pinged.takes(0, opens(&attempt, success.clone())).await, PingTaken::Over);
    assert_eq!(subject.store.see(&pinged.job.uid, &attempt).await.unwrap(), AttemptSeen::Nothing);
    assert_eq!(pinged.found(KEY).await.unwrap().number, 0, "nothing of it is stored");
    assert_eq!(
        pinged.takes(0, opens(&other, success)).await,
        PingTaken::Kept,
        "that is another reason"
    );
}

async fn of_pings_that_come_at_once_one_counts(subject: &Subject) {
    let pinged = Pinged::new(subject).await;
    let taken = at_once(8, pinged, |pinged, _| async move {
        pinged.takes(0, opens(&scheduled(60), None)).await
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
