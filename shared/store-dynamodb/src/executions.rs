//! Executions: a claim, which becomes an item of history when it ends.
//!
//! An item is first put by whoever claims the attempt, with a lease. A crash leaves it like that,
//! and once the lease is over another claim takes its place; a record then closes it for ever. Who
//! records with a claim that was taken from it is told so, and keeps nothing.
//!
//! | step | condition | a crash after it leaves |
//! |---|---|---|
//! | claim | nothing is there | a claim that is taken over when its lease is over |
//! | take a claim over | it is the one that was seen, and has not ended | the same |
//! | release | it is mine, and has not ended | nothing |
//! | record | it is mine, and has not ended | the record, from which all that follows can be repeated |
//!
//! Claims that led to nothing are counted. The last one that is allowed is not for acting any more
//! but for recording that its workers were lost, and stays so when it is itself taken over.

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use domain::attempt::{Attempt, KEPT_FOR, Outcome, Record};
use ports::StoreError;
use ports::firing::{CLAIMS_MAX, Claim, Claimed, Execution, Held, Recorded, Recording};
use ports::store::{Page, PageRequest};

use crate::DynamoStore;
use crate::attempts::{attempt_key, read_attempt};
use crate::groups::{Write, WriteOutcome};
use crate::item::{Item, ItemBuilder, Reader, number, text, ticks};
use crate::keys;
use crate::list::List;
use crate::message::{read_message, write_message};
use crate::meter::MeteredCall;

/// How often a claim looks again when others were first.
const CLAIM_ROUNDS_MAX: usize = 5;

pub(crate) async fn claim(
    store: &DynamoStore,
    claims: &[Claim],
) -> Vec<Result<Claimed, StoreError>> {
    let mut answers: Vec<Option<Result<Claimed, StoreError>>> = Vec::new();
    answers.resize_with(claims.len(), || None);
    let mut open: Vec<(usize, Bid)> = claims.iter().map(Bid::first).enumerate().collect();
    for _ in 0..CLAIM_ROUNDS_MAX {
        if open.is_empty() {
            break;
        }
        let writes = open.iter().map(|(_, bid)| bid.write.clone()).collect();
        let wrote = store.write_group(MeteredCall::Claim, writes).await;
        let mut again = Vec::new();
        for ((place, bid), outcome) in open.into_iter().zip(wrote) {
            let (Some(claim), Some(answer)) = (claims.get(place), answers.get_mut(place)) else {
                continue;
            };
            match bid.after(claim, outcome) {
                Ok(Step::Answer(claimed)) => *answer = Some(Ok(claimed)),
                Ok(Step::Again(bid)) => again.push((place, *bid)),
                Err(error) => *answer = Some(Err(error)),
            }
        }
        open = again;
    }
    let busy = || Err(StoreError::Throttled("others claim the same attempt".into()));
    answers.into_iter().map(|answer| answer.unwrap_or_else(busy)).collect()
}

/// A write that would make a claim ours.
struct Bid {
    write: Write,
    /// What that means.
    if_done: Claimed,
}

/// What follows from a write.
enum Step {
    Answer(Claimed),
    Again(Box<Bid>),
}

impl Bid {
    fn first(claim: &Claim) -> Self {
        Self { write: put(claim), if_done: Claimed::Won }
    }

    fn after(
        self,
        claim: &Claim,
        outcome: Result<WriteOutcome, StoreError>,
    ) -> Result<Step, StoreError> {
        Ok(match outcome? {
            WriteOutcome::Done => Step::Answer(self.if_done),
            // It was there a moment ago, and is not any more.
            WriteOutcome::Refused(None) => Step::Again(Box::new(Self::first(claim))),
            WriteOutcome::Refused(Some(item)) => {
                let seen = Seen::read(&item)?;
                match decide(claim, &seen) {
                    Decision::Answer(claimed) => Step::Answer(claimed),
                    Decision::Take { claims } => {
                        let write = take(claim, &seen, claims);
                        Step::Again(Box::new(Self { write, if_done: won(claims) }))
                    }
                }
            }
        })
    }
}

/// A claim of another, or of ours that was kept though its answer was lost.
struct Seen {
    claim_id: String,
    /// Of a claim that has not ended.
    lease_until: Option<DateTime<Utc>>,
    claims: u32,
    record: Option<Record>,
}

impl Seen {
    fn read(item: &Item) -> Result<Self, StoreError> {
        let reader = Reader::of(item);
        let record = read_record(&reader)?;
        Ok(Self {
            claim_id: reader.text("claim_id")?.to_owned(),
            lease_until: reader.optional_ticks("lease_until")?,
            claims: if record.is_some() { 0 } else { reader.number("claims")? },
            record,
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Decision {
    Answer(Claimed),
    /// Take it over, as so manieth claim.
    Take {
        claims: u32,
    },
}

/// What a claim comes to where there is one already.
fn decide(claim: &Claim, seen: &Seen) -> Decision {
    if let Some(record) = &seen.record {
        return Decision::Answer(Claimed::Ended(record.clone()));
    }
    let lease_until = seen.lease_until.unwrap_or(DateTime::UNIX_EPOCH);
    if seen.claim_id == claim.claim_id {
        return if lease_until == claim.lease_until {
            Decision::Answer(won(seen.claims))
        } else {
            Decision::Take { claims: seen.claims }
        };
    }
    if claim.over.as_ref() == Some(&seen.claim_id) {
        return Decision::Take { claims: seen.claims };
    }
    if lease_until < claim.now {
        return Decision::Take { claims: seen.claims.saturating_add(1).min(CLAIMS_MAX) };
    }
    Decision::Answer(Claimed::Held { claim_id: seen.claim_id.clone(), lease_until })
}

/// What having the so manieth claim means.
const fn won(claims: u32) -> Claimed {
    if claims < CLAIMS_MAX { Claimed::Won } else { Claimed::Exhausted }
}

fn put(claim: &Claim) -> Write {
    let Claim { job_uid, attempt, claim_id, lease_until, .. } = claim;
    let at = keys::execution(job_uid, &attempt_key(attempt));
    let item = ItemBuilder::at(at.clone())
        .text("claim_id", claim_id)
        .number("claims", 1)
        .set("lease_until", ticks(*lease_until))
        .maybe("attempt_due_at", own_due_at(attempt))
        .set("expires_at", expiry(*lease_until));
    Write::put(at, item).only_if("attribute_not_exists(pk)")
}

fn take(claim: &Claim, seen: &Seen, claims: u32) -> Write {
    let at = keys::execution(&claim.job_uid, &attempt_key(&claim.attempt));
    let lease_until = seen.lease_until.unwrap_or(DateTime::UNIX_EPOCH);
    Write::update(
        at,
        "SET claim_id = :claim, claims = :claims, lease_until = :lease, expires_at = :expires",
    )
    .only_if("claim_id = :seen AND lease_until = :seen_lease AND attribute_not_exists(ended_at)")
    .with(":claim", text(&claim.claim_id))
    .with(":claims", number(claims))
    .with(":lease", ticks(claim.lease_until))
    .with(":expires", expiry(claim.lease_until))
    .with(":seen", text(&seen.claim_id))
    .with(":seen_lease", ticks(lease_until))
}

pub(crate) async fn release(
    store: &DynamoStore,
    claims: &[Held],
) -> Vec<Result<(), StoreError>> {
    let release = |held: &Held| {
        Write::delete(keys::execution(&held.job_uid, &attempt_key(&held.attempt)))
            .only_if("claim_id = :mine AND attribute_not_exists(ended_at)")
            .with(":mine", text(&held.claim_id))
    };
    let wrote = store.write_group(MeteredCall::Release, claims.iter().map(release).collect()).await;
    // What is no longer ours need not be given back.
    wrote.into_iter().map(|wrote| wrote.map(|_| ())).collect()
}

pub(crate) async fn record(
    store: &DynamoStore,
    recordings: &[Recording],
) -> Vec<Result<Recorded, StoreError>> {
    let wrote =
        store.write_group(MeteredCall::Record, recordings.iter().map(close).collect()).await;
    let answers = recordings.iter().zip(wrote);
    answers.map(|(recording, wrote)| recorded(&recording.held.claim_id, wrote?)).collect()
}

fn close(recording: &Recording) -> Write {
    let Recording { held, record } = recording;
    Write::update(
        keys::execution(&held.job_uid, &attempt_key(&held.attempt)),
        "SET started_at = :started, ended_at = :ended, outcome = :outcome, message = :message, \
         repeat_count = :repeat, expires_at = :expires REMOVE lease_until, claims",
    )
    .only_if("claim_id = :mine AND attribute_not_exists(ended_at)")
    .with(":started", ticks(record.started_at))
    .with(":ended", ticks(record.ended_at))
    .with(":outcome", text(outcome_name(record.outcome)))
    .with(":message", write_message(&record.message))
    .with(":repeat", number(record.repeat_count))
    .with(":expires", expiry(record.ended_at))
    .with(":mine", text(&held.claim_id))
}

fn recorded(mine: &str, wrote: WriteOutcome) -> Result<Recorded, StoreError> {
    let WriteOutcome::Refused(item) = wrote else {
        return Ok(Recorded::Kept);
    };
    // A claim that is gone was given back, or expired long ago.
    let Some(item) = item else {
        return Ok(Recorded::Lost);
    };
    let reader = Reader::of(&item);
    Ok(match read_record(&reader)? {
        Some(_) if reader.text("claim_id")? == mine => Recorded::Kept,
        Some(record) => Recorded::Already(record),
        None => Recorded::Lost,
    })
}

pub(crate) async fn list(
    store: &DynamoStore,
    job_uid: &str,
    page: PageRequest,
) -> Result<Page<Execution>, StoreError> {
    let list = List {
        newest_first: true,
        call: Some(MeteredCall::Executions),
        ..List::of(keys::executions(job_uid), "")
    };
    let page = list.page(store, page).await?;
    let items = page.items.iter().map(read).collect::<Result<_, _>>()?;
    Ok(Page { items, next: page.next })
}

fn read(item: &Item) -> Result<Execution, StoreError> {
    let reader = Reader::of(item);
    let due_at = reader.optional_ticks("attempt_due_at")?;
    let attempt = read_attempt(reader.text("sk")?, due_at)
        .ok_or_else(|| reader.corrupt("sk", "it is no attempt"))?;
    Ok(Execution { attempt, record: read_record(&reader)? })
}

fn read_record(reader: &Reader<'_>) -> Result<Option<Record>, StoreError> {
    let Some(ended_at) = reader.optional_ticks("ended_at")? else {
        return Ok(None);
    };
    let message = reader.value("message").and_then(read_message);
    Ok(Some(Record {
        started_at: reader.ticks("started_at")?,
        ended_at,
        outcome: read_outcome(reader.text("outcome")?)
            .ok_or_else(|| reader.corrupt("outcome", "it is none"))?,
        message: message.ok_or_else(|| reader.corrupt("message", "it is missing, or damaged"))?,
        repeat_count: reader.number("repeat_count")?,
    }))
}

const fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "succeeded",
        Outcome::Failed => "failed",
    }
}

fn read_outcome(name: &str) -> Option<Outcome> {
    let known = [Outcome::Succeeded, Outcome::Failed];
    known.into_iter().find(|outcome| outcome_name(*outcome) == name)
}

/// When an attempt is due, if that is not the instant of its occurrence.
pub(crate) fn own_due_at(attempt: &Attempt) -> Option<AttributeValue> {
    let is_own = attempt.due_at != attempt.occurrence.nominal_at();
    is_own.then(|| ticks(attempt.due_at))
}

/// The second at which an item may be removed.
fn expiry(from: DateTime<Utc>) -> AttributeValue {
    let at = from.checked_add_signed(KEPT_FOR).unwrap_or(DateTime::<Utc>::MAX_UTC);
    number(at.timestamp())
}

#[cfg(test)]
mod tests {
    use domain::attempt::Occurrence;

    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn claim(claim_id: &str) -> Claim {
        Claim {
            job_uid: "u".to_owned(),
            attempt: Attempt::first(1, Occurrence::Scheduled { nominal_at: at(60) }),
            claim_id: claim_id.to_owned(),
            now: at(200),
            lease_until: at(300),
            over: None,
        }
    }

    fn seen(claim_id: &str, lease_until: i64, claims: u32) -> Seen {
        let lease_until = Some(at(lease_until));
        Seen { claim_id: claim_id.to_owned(), lease_until, claims, record: None }
    }

    #[test]
    fn a_claim_meets_another() {
        let held = |until| {
            Decision::Answer(Claimed::Held { claim_id: "a".to_owned(), lease_until: at(until) })
        };
        let over = Claim { over: Some("a".to_owned()), ..claim("b") };
        for (claim, seen, expected) in [
            // A lease lasts to its end.
            (claim("b"), seen("a", 201, 1), held(201)),
            (claim("b"), seen("a", 200, 1), held(200)),
            (claim("b"), seen("a", 199, 1), Decision::Take { claims: 2 }),
            // The last claim is for recording, and stays that.
            (claim("b"), seen("a", 199, CLAIMS_MAX - 1), Decision::Take { claims: CLAIMS_MAX }),
            (claim("b"), seen("a", 199, CLAIMS_MAX), Decision::Take { claims: CLAIMS_MAX }),
            (claim("b"), seen("a", 201, CLAIMS_MAX), held(201)),
            // The answer was lost.
            (claim("a"), seen("a", 300, 1), Decision::Answer(Claimed::Won)),
            (claim("a"), seen("a", 300, CLAIMS_MAX), Decision::Answer(Claimed::Exhausted)),
            (claim("a"), seen("a", 299, 4), Decision::Take { claims: 4 }),
            // Its process has ended: that counts for nothing.
            (over.clone(), seen("a", 400, 4), Decision::Take { claims: 4 }),
            (over.clone(), seen("c", 199, 4), Decision::Take { claims: 5 }),
        ] {
            assert_eq!(decide(&claim, &seen), expected);
        }
    }
}
