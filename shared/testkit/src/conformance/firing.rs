//! One job that is due and its attempts, as sweepers and workers use them.

use std::slice;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Role};
use minutehand_domain::collection::Collection;
use minutehand_domain::document::{accept_collection, load_collection_shown};
use minutehand_domain::firing::{LeftOut, LeftOutReason, Outage, TurnHolder, TurnOrder};
use minutehand_domain::job::JobState;
use minutehand_domain::timing::Timing;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Advance, Claim, ClaimRequest, Claimed, CollectionRecord, Due, DueTimer, Finish, HistoryEntry,
    JobRecord, JobSnapshot, Page, PageRequest, Recorded, Saved, TimerKey, TimerRecord, TurnsRead,
    TurnsWrite,
};
use minutehand_ports::{History, Jobs, StoreError};

use super::records::named;
use super::subject::first_page;
use super::{Subject, records, whole_list};

/// As long as an identity is.
pub(crate) const JOB: &str = "01hzzzzzzzzzzzzzzzzzzzzzzj";
pub(crate) const COLLECTION: &str = "01hzzzzzzzzzzzzzzzzzzzzzzc";

impl Subject {
    /// Adds a collection and in it a job that is due.
    pub(crate) async fn and_job(&self) {
        self.put_job(&collection(), &job("Job")).await;
    }

    /// Adds a job, and its collection if that is not there.
    pub(crate) async fn put_job(&self, collection: &CollectionRecord, job: &JobRecord) {
        if self.find_collection(collection).await.is_none() {
            assert_eq!(self.create_collection(collection).await, Saved::Kept);
        }
        assert_eq!(self.create_job(collection, job, None).await, Saved::Kept);
    }

    /// The job as it is stored, if it is.
    pub(crate) async fn any_job(&self) -> Option<JobRecord> {
        Jobs::find(&*self.store, COLLECTION, &named("Job")).await.unwrap()
    }

    /// The job as it is stored.
    pub(crate) async fn the_job(&self) -> JobRecord {
        self.any_job().await.unwrap()
    }

    /// The job as workers read it.
    pub(crate) async fn snapshot(&self) -> Arc<JobSnapshot> {
        self.store.read(&job_ref()).await.unwrap().unwrap()
    }

    /// Gives the collection of the job this failure action, or none.
    pub(crate) async fn set_failure_action(&self, action: &str) {
        let document = format!(r#"{{"properties":{{"minutehand":{{"onFailure":{action}}}}}}}"#);
        let document = serde_json::from_str(&document).unwrap();
        let mut now = self.read_collection(COLLECTION).await.unwrap();
        now.collection.definition = load_collection_shown(&document).unwrap();
        assert_eq!(self.replace_collection(&now).await, Saved::Kept);
    }

    pub(crate) async fn claim(&self, request: ClaimRequest) -> Claimed {
        self.store.claim(&request).await.unwrap()
    }

    pub(crate) async fn record(&self, claim: &Claim, record: Record) -> Recorded {
        self.store.record(claim, &record).await.unwrap()
    }

    /// Claims an attempt and records how it ended.
    pub(crate) async fn execute(&self, attempt: &Attempt, record: Record) {
        assert_eq!(self.claim(claim(attempt, "c")).await, Claimed::Won);
        assert_eq!(self.record(&held(attempt, "c"), record).await, Recorded::Kept);
    }

    pub(crate) async fn history(&self) -> Vec<HistoryEntry> {
        let page = History::list(&*self.store, JOB, first_page(1_000)).await.unwrap();
        assert_eq!(page.next, None);
        page.items
    }

    /// The occurrences of the job that were left out.
    pub(crate) async fn left_out(&self) -> Vec<LeftOut> {
        self.store.list_left_out(JOB, first_page(10)).await.unwrap().items
    }

    /// Whether a timer moves.
    pub(crate) async fn advances(&self, advance: &Advance) -> bool {
        self.store.advance(slice::from_ref(advance)).await.remove(0).unwrap()
    }

    pub(crate) async fn turns(&self, attempt: &Attempt) -> TurnsRead {
        self.store.read_turns(JOB, attempt).await.unwrap()
    }

    /// Whether an order of turns is stored.
    pub(crate) async fn stores(&self, write: &TurnsWrite) -> bool {
        self.store.write_turns(write).await.unwrap()
    }

    /// The timers of a job or a deleted collection that are due by then.
    pub(crate) async fn due(&self, uid: &str, until: i64) -> Vec<Due> {
        whole_list(100, async |page| self.due_page(uid, until, page).await).await
    }

    pub(crate) async fn due_page(
        &self,
        uid: &str,
        until: i64,
        page: PageRequest,
    ) -> Result<Page<Due>, StoreError> {
        // The shards are the store's own affair: what is due is in one of them.
        let mut found = Vec::new();
        for shard in 0..self.store.shards() {
            let page = self.store.due(shard, at(until), page.clone()).await?;
            if page.items.iter().any(|due| uid_of(due) == uid) {
                found.push(page);
            }
        }
        assert!(found.len() <= 1);
        Ok(found.pop().unwrap_or(Page { items: Vec::new(), next: None }))
    }
}

/// The job of a timer, or the collection that is purged.
pub(crate) fn uid_of(due: &Due) -> &str {
    match &due.what {
        DueTimer::Job(timer) => &timer.job.uid,
        DueTimer::Retry { job, .. } => &job.uid,
        DueTimer::Purge { collection_uid } => collection_uid,
    }
}

pub(crate) fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
}

/// The move of the job's timer over the occurrences of an outage, which a sweeper leaves out.
pub(crate) fn leaving_out(
    outage: [i64; 2],
    left_out: [i64; 2],
    occurrences: u64,
    to: i64,
) -> Advance {
    let [from, until] = outage.map(at);
    let [first, last] = left_out.map(at);
    let reason = LeftOutReason::Outage(Outage { from, until });
    let noted_at = until + TimeDelta::seconds(10);
    let left_out = LeftOut { generation: 1, first, last, occurrences, reason, at: noted_at };
    advance(job_timer(false, vec![left_out]), 60, to)
}

/// The job's timer, with its state and its generation as they are at first.
pub(crate) fn job_timer(is_spent: bool, left_out: Vec<LeftOut>) -> TimerKey {
    let (job_uid, state) = (JOB.to_owned(), JobState::Enabled);
    TimerKey::Job { job_uid, generation: 1, state, is_spent, left_out }
}

/// The move of a timer from where it was due.
pub(crate) fn advance(timer: TimerKey, from: i64, to: i64) -> Advance {
    Advance { timer, from: at(from), to: at(to), at: at(from) }
}

/// The end of the job as it is at first.
pub(crate) fn finish(state: JobState, expires_at: DateTime<Utc>) -> Finish {
    Finish { job: job_ref(), version: 1, generation: 1, state, expires_at }
}

/// An order in which the claim of an attempt has the turn.
pub(crate) fn turn_of(attempt: &Attempt, claim_id: &str) -> TurnOrder {
    let Claim { attempt, claim_id, lease_until, .. } = held(attempt, claim_id);
    TurnOrder { holder: Some(TurnHolder { attempt, claim_id, lease_until }), waiting: Vec::new() }
}

pub(crate) fn turns_write(as_read: u64, order: TurnOrder) -> TurnsWrite {
    TurnsWrite { job_uid: JOB.to_owned(), as_read, order, left_out: None }
}

pub(crate) fn scheduled(second: i64) -> Attempt {
    Attempt::first(1, Occurrence::Scheduled { nominal_at: at(second) })
}

pub(crate) fn retry(number: u32, due: i64, first: &Attempt) -> Attempt {
    Attempt { number, due_at: at(due), ..first.clone() }
}

pub(crate) fn error_action(due: i64, first: &Attempt) -> Attempt {
    Attempt { role: Role::Error, due_at: at(due), ..first.clone() }
}

/// A request for a claim at second 100, with a lease of 100 seconds.
pub(crate) fn claim(attempt: &Attempt, claim_id: &str) -> ClaimRequest {
    claim_at(100, attempt, claim_id)
}

pub(crate) fn claim_at(second: i64, attempt: &Attempt, claim_id: &str) -> ClaimRequest {
    let claim = Claim { lease_until: at(second + 100), ..held(attempt, claim_id) };
    ClaimRequest { claim, now: at(second) }
}

/// A claim with a lease until second 200.
pub(crate) fn held(attempt: &Attempt, claim_id: &str) -> Claim {
    Claim {
        job: job_ref(),
        attempt: attempt.clone(),
        claim_id: claim_id.to_owned(),
        lease_until: at(200),
    }
}

pub(crate) fn record(second: i64) -> Record {
    Record {
        started_at: at(second) + TimeDelta::milliseconds(25),
        ended_at: at(second + 1),
        outcome: Outcome::Succeeded,
        message: "Http Action - Response from host 'example.org': 'OK' Response Headers: \r\n \
                  Body: "
            .to_owned(),
        repeat_count: 7,
        cause: None,
        body_bytes: 0,
        then: None,
    }
}

pub(crate) fn job_ref() -> JobRef {
    JobRef { uid: JOB.to_owned(), collection_uid: COLLECTION.to_owned(), key: "job".to_owned() }
}

pub(crate) fn collection() -> CollectionRecord {
    let document = serde_json::json!({"properties": {"sku": {"name": "Standard"}}});
    CollectionRecord {
        collection: Collection {
            uid: COLLECTION.to_owned(),
            name: named("Jc"),
            definition: accept_collection(&document).unwrap(),
        },
        on_since: at(-1_000),
        state_since: None,
        ..records::collection("Jc")
    }
}

/// A job that is due at second 60.
pub(crate) fn job(name: &str) -> JobRecord {
    let job = records::job(name);
    JobRecord {
        uid: JOB.to_owned(),
        document: "{}".to_owned(),
        sealed: Some(vec![1, 2, 3]),
        timer: TimerRecord {
            timing: Timing { generation: 1, anchor: Some(at(0)), since: at(0), used: 0 },
            timetable: Some(
                "1 every=1minute anchor=2027-01-15T08:00:00Z since=1800000000".to_owned(),
            ),
            due_at: Some(at(60)),
            ..job.timer
        },
        ..job
    }
}
