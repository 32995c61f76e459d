//! Attempts: an item is a claim, and becomes an entry of the history when the attempt ends.
//!
//! The worker that claims an attempt puts its item, with a lease. After a crash the item stays like
//! that; when the lease is over, another claim takes its place. A record closes the item for ever. A
//! worker that records with a claim that it has lost is told so, and nothing is stored.
//!
//! | step | condition | a crash after it leaves |
//! |---|---|---|
//! | claim | the item does not exist | a claim that another worker takes over when its lease is over |
//! | take over a claim | it is the claim that was seen, and has not ended | the same |
//! | release | the claim is the caller's, and has not ended | nothing |
//! | postpone | the same | an attempt that waits for its slot or a seat, or because its origin hangs: a claim that does not count, and that gives way to who has waited |
//! | record | the claim is the caller's, and has not ended | the record, from which every later step can be repeated |
//!
//! Claims that led to nothing are counted. The last claim that is allowed is not for acting, but for
//! recording that the earlier workers died. It stays so when it is taken over in turn.

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::query::QueryInput;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Outcome, Record, Then};
use minutehand_domain::failed_occurrence::{FailedOccurrence, FailureKey};
use minutehand_domain::firing::{LeftOut, Waited};
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::tick;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    CLAIMS_MAX, Claim, ClaimRequest, Claimed, HistoryEntry, OpenAttempt, Page, PageRequest,
    PresentAttempt, Recorded, Standing, WaitsFor,
};
use minutehand_ports::{Attempts, History, StoreError};

use crate::attributes::ASKED_BY;
use crate::conditions::{CLAIM, TAKE_OVER, UNDER_CLAIM};
use crate::message::{read_message, write_message};
use crate::open_item::{OPEN_UNTIL, read_ending, read_open};
use crate::store::DynamoStore;
use crate::table::item::{Item, ItemBuilder, Reader, number, text, ticks};
use crate::table::keys::{self, Key};
use crate::table::{List, MeteredCall, Write, WriteOutcome, read_page, store_error};
use crate::{failures, left_out};
use minutehand_domain::attempt_key::{nominal_key, read_attempt};
use minutehand_domain::cause::Cause;
use minutehand_domain::completion::Ending;

/// How often a claim is tried again when other claims came first.
const CLAIM_ROUNDS_MAX: usize = 5;

#[async_trait]
impl Attempts for DynamoStore {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        let ClaimRequest { claim, .. } = request;
        // Who has waited has been here before.
        let mut write = if claim.attempt.waited.is_some() {
            begin(claim, self.history)
        } else {
            put(claim, self.history)
        };
        let mut if_done = Claimed::Won;
        for _ in 0..CLAIM_ROUNDS_MAX {
            match self.table.write(MeteredCall::Claim, write).await? {
                WriteOutcome::Done => return Ok(if_done),
                // The claim that was there a moment ago is gone.
                WriteOutcome::ConditionFailed(None) => {
                    write = put(claim, self.history);
                    if_done = Claimed::Won;
                }
                WriteOutcome::ConditionFailed(Some(item)) => {
                    let seen = SeenClaim::read(&item)?;
                    match decide(request, &seen) {
                        Decision::Answer(claimed) => return Ok(claimed),
                        Decision::Open => {
                            let attempt = read(&item)?.attempt;
                            return Ok(Claimed::Open(Box::new(read_open(&item, attempt)?)));
                        }
                        Decision::TakeOver { claims } => {
                            write = take_over(claim, (&seen, claims), self.history);
                            if_done = won(claims);
                        }
                    }
                }
            }
        }
        Err(StoreError::Throttled("others claim the same attempt".into()))
    }

    async fn release(&self, claim: &Claim) -> Result<(), StoreError> {
        let write =
            Write::delete(item_key(claim)).when(UNDER_CLAIM).with(":mine", text(&claim.claim_id));
        // A claim that the caller no longer holds need not be given back.
        self.table.write(MeteredCall::Release, write).await.map(drop)
    }

    async fn postpone(
        &self,
        claim: &Claim,
        hold: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let until = now + hold;
        let waits_for_place = claim.attempt.waited == Some(Waited::Place);
        let says = if waits_for_place { ", hangs = :hangs" } else { " REMOVE hangs" };
        let set = "SET claims = claims - :one, lease_until = :until, expires_at = :expires";
        let write = Write::update(item_key(claim), format!("{set}{says}"))
            .when("claim_id = :mine AND claims > :none AND attribute_not_exists(ended_at)")
            .with(":one", number(1))
            .with(":none", number(0))
            .with(":until", ticks(until))
            .with(":expires", expiry(until, self.history))
            .with(":mine", text(&claim.claim_id))
            .maybe(":hangs", waits_for_place.then_some(AttributeValue::Bool(true)));
        // What the caller no longer holds need not be given back.
        self.table.write(MeteredCall::Postpone, write).await.map(drop)
    }

    async fn record(&self, claim: &Claim, record: &Record) -> Result<Recorded, StoreError> {
        let write = close_when(UNDER_CLAIM, claim, record, self.history)
            .with(":mine", text(&claim.claim_id));
        recorded(&claim.claim_id, self.table.write(MeteredCall::Record, write).await?)
    }

    async fn leave_out(&self, job_uid: &str, left_out: &LeftOut) -> Result<(), StoreError> {
        self.table
            .write(MeteredCall::LeaveOut, left_out::write(job_uid, left_out, self.history))
            .await
            .map(drop)
    }

    async fn remove_failure(&self, failure: FailureKey<'_>) -> Result<(), StoreError> {
        let FailureKey { job_uid, collection_path, nominal_at, ended_at } = failure;
        let at = keys::failure(collection_path.subscription(), [ended_at, nominal_at], job_uid);
        self.table.write(MeteredCall::AddFailure, Write::delete(at)).await.map(drop)
    }

    async fn add_failure(&self, failed: &FailedOccurrence) -> Result<(), StoreError> {
        let write = failures::write(failed, self.history);
        self.table.write(MeteredCall::AddFailure, write).await.map(drop)
    }
}

#[async_trait]
impl History for DynamoStore {
    async fn list(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<HistoryEntry>, StoreError> {
        let list = List {
            newest_first: true,
            call: Some(MeteredCall::History),
            ..List::new(keys::executions(job_uid), "")
        };
        let page = list.page(&self.table, page).await?;
        read_page(page, read)
    }

    async fn attempts_between(
        &self,
        job_uid: &str,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Vec<Attempt>, StoreError> {
        let (mut attempts, mut start) = (Vec::new(), None);
        // Bounded by the attempts of that time.
        loop {
            let request = QueryInput::builder()
                .table_name(&self.table.name)
                .key_condition_expression("pk = :pk AND sk BETWEEN :from AND :until")
                .expression_attribute_values(":pk", text(keys::executions(job_uid)))
                .expression_attribute_values(":from", text(nominal_key(from)))
                // Behind everything that follows the instant.
                .expression_attribute_values(":until", text(format!("{}~", nominal_key(until))))
                .projection_expression("sk")
                .set_exclusive_start_key(start)
                .set_return_consumed_capacity(self.table.capacity_to_return());
            let found = self.table.send(request).await.map_err(store_error)?;
            self.table.consumed(MeteredCall::FindAttempts, found.consumed_capacity());
            start = found.last_evaluated_key;
            for item in found.items.unwrap_or_default() {
                let reader = Reader::new(&item);
                let attempt = read_attempt(reader.text("sk")?, None);
                attempts.push(attempt.ok_or_else(|| reader.corrupt("sk", "it is not an attempt"))?);
            }
            if start.is_none() {
                return Ok(attempts);
            }
        }
    }

    async fn list_left_out(
        &self,
        job_uid: &str,
        page: PageRequest,
    ) -> Result<Page<LeftOut>, StoreError> {
        let pk = keys::timer(job_uid).pk;
        let list = List { newest_first: true, ..List::new(pk, keys::LEFT_OUT) };
        let page = list.page(&self.table, page).await?;
        read_page(page, left_out::read)
    }
}

/// The claim that is stored: another worker's, or the caller's own if an answer was lost.
#[derive(Debug, Clone)]
pub struct SeenClaim {
    /// Its id.
    pub claim_id: String,
    /// The end of the lease, while the attempt has not ended.
    pub lease_until: Option<DateTime<Utc>>,
    /// How many claims led to nothing, this one included.
    pub claims: u32,
    /// Whether the attempt is or was open.
    pub is_open: bool,
    /// How it ended, if that was said.
    pub ending: Option<Ending>,
    /// How the attempt ended, if it did.
    pub record: Option<Record>,
}

impl SeenClaim {
    /// Whether no worker holds the attempt, because it waits for its slot or a seat.
    const fn waits(&self) -> bool {
        self.claims == 0 && self.record.is_none()
    }

    pub(crate) fn read(item: &Item) -> Result<Self, StoreError> {
        let reader = Reader::new(item);
        let record = read_record(&reader)?;
        Ok(Self {
            claim_id: reader.text("claim_id")?.to_owned(),
            lease_until: reader.optional_ticks("lease_until")?,
            claims: if record.is_some() { 0 } else { reader.number("claims")? },
            is_open: reader.value(OPEN_UNTIL).is_some(),
            ending: read_ending(&reader)?,
            record,
        })
    }
}

/// What to do about a claim that is stored.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing: this is the answer.
    Answer(Claimed),
    /// The attempt is open, or its end was reported while its worker died.
    Open,
    /// Take the claim over.
    TakeOver {
        /// The new number of claims.
        claims: u32,
    },
}

/// Decides on a claim where another claim is stored.
#[must_use]
pub fn decide(request: &ClaimRequest, seen: &SeenClaim) -> Decision {
    if let Some(record) = &seen.record {
        return Decision::Answer(Claimed::Ended(record.clone()));
    }
    let lease_until = seen.lease_until.unwrap_or(DateTime::UNIX_EPOCH);
    let held = || Decision::Answer(Claimed::Held { left: lease_until - request.now });
    if seen.is_open || (seen.ending.is_some() && lease_until < request.now) {
        return Decision::Open;
    }
    if seen.waits() {
        return if request.claim.attempt.waited.is_some() || lease_until <= request.now {
            Decision::TakeOver { claims: 1 }
        } else {
            held()
        };
    }
    if seen.claim_id == request.claim.claim_id {
        return if lease_until == request.claim.lease_until {
            Decision::Answer(won(seen.claims))
        } else {
            Decision::TakeOver { claims: seen.claims }
        };
    }
    if lease_until < request.now {
        return Decision::TakeOver { claims: seen.claims.saturating_add(1).min(CLAIMS_MAX) };
    }
    held()
}

/// The answer to the caller that made this many claims.
const fn won(claims: u32) -> Claimed {
    if claims < CLAIMS_MAX { Claimed::Won } else { Claimed::Exhausted }
}

fn item_key(claim: &Claim) -> Key {
    keys::execution(&claim.job.uid, &claim.attempt)
}

fn put(claim: &Claim, history: HistoryDays) -> Write {
    let item = ItemBuilder::at(item_key(claim))
        .text("claim_id", &claim.claim_id)
        .number("claims", 1)
        .set("lease_until", ticks(claim.lease_until))
        .maybe("attempt_due_at", own_due_at(&claim.attempt))
        .maybe(ASKED_BY, claim.attempt.asked_by.as_deref().map(text))
        .set("expires_at", expiry(claim.lease_until, history));
    Write::put(item).when(CLAIM)
}

/// Begins an attempt that waits for its slot or a seat.
fn begin(claim: &Claim, history: HistoryDays) -> Write {
    give_to(claim, 1, history)
        .when("claims = :none AND attribute_not_exists(ended_at)")
        .with(":none", number(0))
}

fn take_over(claim: &Claim, (seen, claims): (&SeenClaim, u32), history: HistoryDays) -> Write {
    let lease_until = seen.lease_until.unwrap_or(DateTime::UNIX_EPOCH);
    give_to(claim, claims, history)
        .when(TAKE_OVER)
        .with(":seen", text(&seen.claim_id))
        .with(":seen_lease", ticks(lease_until))
}

/// Gives an attempt whose item is there to a claim.
fn give_to(claim: &Claim, claims: u32, history: HistoryDays) -> Write {
    let set =
        "SET claim_id = :claim, claims = :claims, lease_until = :lease, expires_at = :expires";
    Write::update(item_key(claim), set)
        .with(":claim", text(&claim.claim_id))
        .with(":claims", number(claims))
        .with(":lease", ticks(claim.lease_until))
        .with(":expires", expiry(claim.lease_until, history))
}

/// Records an attempt under a condition.
pub(crate) fn close_when(
    condition: &str,
    claim: &Claim,
    record: &Record,
    history: HistoryDays,
) -> Write {
    let set_then = if record.then.is_some() { ", what_next = :next" } else { "" };
    let set_body = if record.body_bytes > 0 { ", body_bytes = :body" } else { "" };
    let set_cause = if record.cause.is_some() { ", cause = :cause" } else { "" };
    Write::update(
        item_key(claim),
        format!(
            "SET started_at = :started, ended_at = :ended, outcome = :outcome, \
             message = :message, repeat_count = :repeat, expires_at = :expires{set_then}{set_body}\
             {set_cause} \
             REMOVE lease_until, claims"
        ),
    )
    .when(condition)
    .with(":started", ticks(record.started_at))
    .with(":ended", ticks(record.ended_at))
    .with(":outcome", text(record.outcome.name()))
    .with(":message", write_message(&record.message))
    .with(":repeat", number(record.repeat_count))
    .with(":expires", expiry(record.ended_at, history))
    .maybe(":body", (record.body_bytes > 0).then(|| number(record.body_bytes)))
    .maybe(":cause", record.cause.as_ref().map(|cause| text(cause.to_stored())))
    .maybe(":next", record.then.map(|then| text(write_then(then))))
}

/// What follows, as text. The names are stored.
fn write_then(then: Then) -> String {
    match then {
        Then::Nothing => "nothing".to_owned(),
        Then::Retry { due_at, is_long: false } => format!("retry {}", tick::ticks(due_at)),
        Then::Retry { due_at, is_long: true } => format!("long {}", tick::ticks(due_at)),
        Then::ErrorAction => "error".to_owned(),
        Then::Notice => "notice".to_owned(),
    }
}

fn read_then(text: &str) -> Option<Then> {
    let due_at = |ticks: &str| tick::from_ticks(ticks.parse().ok()?);
    Some(match text.split_once(' ') {
        Some(("retry", ticks)) => Then::Retry { due_at: due_at(ticks)?, is_long: false },
        Some(("long", ticks)) => Then::Retry { due_at: due_at(ticks)?, is_long: true },
        None if text == "nothing" => Then::Nothing,
        None if text == "error" => Then::ErrorAction,
        None if text == "notice" => Then::Notice,
        _ => return None,
    })
}

fn recorded(id: &str, outcome: WriteOutcome) -> Result<Recorded, StoreError> {
    let WriteOutcome::ConditionFailed(item) = outcome else {
        return Ok(Recorded::Kept);
    };
    // A claim that is gone was given back, or expired long ago.
    let Some(item) = item else {
        return Ok(Recorded::Lost);
    };
    let reader = Reader::new(&item);
    Ok(match read_record(&reader)? {
        Some(_) if reader.text("claim_id")? == id => Recorded::Kept,
        Some(record) => Recorded::Already(record),
        None => Recorded::Lost,
    })
}

pub(crate) fn read(item: &Item) -> Result<HistoryEntry, StoreError> {
    let reader = Reader::new(item);
    let due_at = reader.optional_ticks("attempt_due_at")?;
    let attempt = read_attempt(reader.text("sk")?, due_at)
        .ok_or_else(|| reader.corrupt("sk", "it is not an attempt"))?;
    let asked_by = reader.optional_text(ASKED_BY)?.map(str::to_owned);
    let record = read_record(&reader)?;
    let waits = record.is_none() && reader.optional_number("claims")? == Some(0_u32);
    let waited = (waits && reader.is_set("hangs")?).then_some(Waited::Place);
    let attempt = Attempt { asked_by, waited, ..attempt };
    Ok(HistoryEntry { attempt, record, waits })
}

/// An attempt of a job that has not ended; `None` for one that has.
pub(crate) fn read_present(
    item: &Item,
    job: &JobRef,
    work_now: DateTime<Utc>,
) -> Result<Option<PresentAttempt>, StoreError> {
    let HistoryEntry { attempt, record, waits } = read(item)?;
    let lease_until = Reader::new(item).optional_ticks("lease_until")?;
    let Some(lease_until) = lease_until.filter(|_| record.is_none()) else { return Ok(None) };
    let OpenAttempt { attempt, open, progress, .. } = read_open(item, attempt)?;
    let standing = match open {
        Some(span) => Standing::Open { span, progress },
        None if attempt.waited == Some(Waited::Place) => Standing::Waits(WaitsFor::Origin),
        None => Standing::of_claim(waits, lease_until, work_now),
    };
    Ok(Some(PresentAttempt { job: job.clone(), attempt, standing }))
}

fn read_record(reader: &Reader<'_>) -> Result<Option<Record>, StoreError> {
    let Some(ended_at) = reader.optional_ticks("ended_at")? else {
        return Ok(None);
    };
    let message = reader.value("message").and_then(read_message);
    let then = reader.optional_text("what_next")?.map(|text| {
        read_then(text).ok_or_else(|| reader.corrupt("what_next", "it is not a next step"))
    });
    Ok(Some(Record {
        started_at: reader.ticks("started_at")?,
        ended_at,
        outcome: Outcome::read_name(reader.text("outcome")?)
            .ok_or_else(|| reader.corrupt("outcome", "it is none"))?,
        cause: reader.optional_text("cause")?.and_then(Cause::read_stored),
        message: message.ok_or_else(|| reader.corrupt("message", "it is missing, or damaged"))?,
        repeat_count: reader.number("repeat_count")?,
        body_bytes: reader.optional_number("body_bytes")?.unwrap_or_default(),
        then: then.transpose()?,
    }))
}

/// The due time of an attempt, if that is not the instant of its occurrence.
pub(crate) fn own_due_at(attempt: &Attempt) -> Option<AttributeValue> {
    let is_own = attempt.due_at != attempt.occurrence.nominal_at();
    is_own.then(|| ticks(attempt.due_at))
}

/// The second at which an item may be removed.
pub(crate) fn expiry(from: DateTime<Utc>, history: HistoryDays) -> AttributeValue {
    number(history.kept_until(from).timestamp())
}

#[cfg(test)]
mod tests {
    use minutehand_domain::attempt::Occurrence;
    use minutehand_domain::work_item::JobRef;

    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn request(claim_id: &str) -> ClaimRequest {
        let job =
            JobRef { uid: "u".to_owned(), collection_uid: "c".to_owned(), key: "k".to_owned() };
        let claim = Claim {
            job,
            attempt: Attempt::first(1, Occurrence::Scheduled { nominal_at: at(60) }),
            claim_id: claim_id.to_owned(),
            lease_until: at(300),
        };
        ClaimRequest { claim, now: at(200) }
    }

    fn seen(claim_id: &str, lease_until: i64, claims: u32) -> SeenClaim {
        let lease_until = Some(at(lease_until));
        let claim_id = claim_id.to_owned();
        SeenClaim { claim_id, lease_until, claims, is_open: false, ending: None, record: None }
    }

    #[test]
    fn what_follows_reads_back_as_it_was() {
        let due_at = at(90);
        for (then, written) in [
            (Then::Nothing, "nothing"),
            (Then::Retry { due_at, is_long: false }, "retry 900000000"),
            (Then::Retry { due_at, is_long: true }, "long 900000000"),
            (Then::ErrorAction, "error"),
            (Then::Notice, "notice"),
        ] {
            assert_eq!(write_then(then), written);
            assert_eq!(read_then(written), Some(then));
        }
        for damaged in ["", "retry", "retry x", "another"] {
            assert_eq!(read_then(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn a_claim_meets_another() {
        let held = |until| Decision::Answer(Claimed::Held { left: at(until) - at(200) });
        for (claim_id, seen, expected) in [
            // A lease lasts to its end.
            ("b", seen("a", 201, 1), held(201)),
            ("b", seen("a", 200, 1), held(200)),
            ("b", seen("a", 199, 1), Decision::TakeOver { claims: 2 }),
            // The last claim is for recording, and stays so.
            ("b", seen("a", 199, CLAIMS_MAX - 1), Decision::TakeOver { claims: CLAIMS_MAX }),
            ("b", seen("a", 199, CLAIMS_MAX), Decision::TakeOver { claims: CLAIMS_MAX }),
            ("b", seen("a", 201, CLAIMS_MAX), held(201)),
            // The answer was lost.
            ("a", seen("a", 300, 1), Decision::Answer(Claimed::Won)),
            ("a", seen("a", 300, CLAIMS_MAX), Decision::Answer(Claimed::Exhausted)),
            ("a", seen("a", 299, 4), Decision::TakeOver { claims: 4 }),
        ] {
            assert_eq!(decide(&request(claim_id), &seen), expected);
        }
    }
}
