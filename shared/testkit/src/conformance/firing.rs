//! One job that is due and its attempts, as sweepers and workers use them.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Role};
use minutehand_domain::collection::{Collection, CollectionState};
use minutehand_domain::document::accept_collection;
use minutehand_domain::firing::{LeftOut, LeftOutReason, Outage};
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::timing::Timing;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Advance, Claim, ClaimRequest, Claimed, CollectionRecord, Due, DueTimer, HistoryEntry,
    JobRecord, Page, PageRequest, Recorded, Saved, TimerKey, TimerRecord,
};
use minutehand_ports::{History, Jobs};

use super::Subject;
use super::records::{named, place};

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
        let page = PageRequest { from: None, items_max: 1_000 };
        let page = History::list(&*self.store, JOB, page).await.unwrap();
        assert_eq!(page.next, None);
        page.items
    }

    /// The timers of a job or a deleted collection that are due by then.
    pub(crate) async fn due(&self, uid: &str, until: i64) -> Vec<Due> {
        let mut found = Vec::new();
        let mut from = None;
        loop {
            let page = self.due_page(uid, until, from, 100).await;
            found.extend(page.items);
            from = page.next;
            if from.is_none() {
                return found;
            }
        }
    }

    pub(crate) async fn due_page(
        &self,
        uid: &str,
        until: i64,
        from: Option<String>,
        items_max: u32,
    ) -> Page<Due> {
        // The shards are the store's own affair: what is due is in one of them.
        let mut found = Vec::new();
        for shard in 0..self.store.shards() {
            let page = PageRequest { from: from.clone(), items_max };
            let page = self.store.due(shard, at(until), page).await.unwrap();
            if page.items.iter().any(|due| uid_of(due) == uid) {
                found.push(page);
            }
        }
        assert!(found.len() <= 1);
        found.pop().unwrap_or(Page { items: Vec::new(), next: None })
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
    let timer = TimerKey::Job {
        job_uid: JOB.to_owned(),
        generation: 1,
        state: JobState::Enabled,
        is_spent: false,
        left_out: vec![left_out],
    };
    Advance { timer, from: at(60), to: at(to), at: at(60) }
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
        place: place("Sub", "Group"),
        collection: Collection {
            uid: COLLECTION.to_owned(),
            name: named("Jc"),
            definition: accept_collection(&document).unwrap(),
        },
        job_count: 0,
        on_since: at(-1_000),
        sealed: None,
        state_since: None,
        label: None,
        version: 1,
    }
}

pub(crate) fn switched_off(collection: CollectionRecord) -> CollectionRecord {
    let Collection { uid, name, mut definition } = collection.collection;
    definition.state = CollectionState::Disabled;
    let collection =
        CollectionRecord { collection: Collection { uid, name, definition }, ..collection };
    CollectionRecord { job_count: 1, ..collection }
}

/// A job that is due at second 60.
pub(crate) fn job(name: &str) -> JobRecord {
    JobRecord {
        uid: JOB.to_owned(),
        name: named(name),
        document: "{}".to_owned(),
        sealed: Some(vec![1, 2, 3]),
        version: 1,
        expires_at: None,
        earlier: Vec::new(),
        timer: TimerRecord {
            state: JobState::Enabled,
            timing: Timing { generation: 1, anchor: Some(at(0)), since: at(0), used: 0 },
            timetable: Some(
                "1 every=1minute anchor=2027-01-15T08:00:00Z since=1800000000".to_owned(),
            ),
            counters: JobCounters::default(),
            due_at: Some(at(60)),
            is_spent: false,
        },
    }
}
