//! Attempts that are open: their targets have answered that they go on, and say later how it ended.
//!
//! An open attempt has no worker. One ending ends it: a report of its target, its deadline, or a cancel. The ending
//! is stored first, on the condition that none is stored; then a message asks a worker to record it. The timer of
//! the deadline stays until what follows is done, so a message that is lost delays that and no more.
//!
//! | after | a crash leaves | repaired by |
//! |---|---|---|
//! | the answer of the target | a lease, and perhaps an ending that was reported | the message: with an ending it is recorded, without one the action is done again |
//! | leave open: the attempt, its timer, its turn and its seat change together | an open attempt | nothing is to be repaired; the message is delivered again and does nothing |
//! | say the ending | an ending that is not recorded | who said it says it again, and else the timer |
//! | give back the seat | the same | the same; the seat is given back again |
//! | record | the record | the message is delivered again, and goes on from the record; else the timer |
//! | follow | the timer | the same |
//!
//! An attempt whose job has changed, or is gone, is open still. What follows its end is what follows the end of any
//! attempt that was under way then.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::action::Target;
use minutehand_domain::attempt::{Attempt, Role};
use minutehand_domain::cause::Cause;
use minutehand_domain::completion::{EndedBy, Ending};
use minutehand_domain::firing::limits::LEASE;
use minutehand_domain::message::host;
use minutehand_domain::ping::time_of_day;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    AttemptSeen, Claim, LeaveOpen, LeftOpen, OpenAttempt, OpenSpan, Said, StoreError,
};

use super::act::{ActionResult, without_body};
use super::execute::{Executor, Performed};
use super::follow::EndedAttempt;
use super::held::{Held, LEASE_MARGIN};
use super::loaded_job::{LoadedJob, action, job_path};
use super::{DeliveryPlace, Stop};
use crate::error::Result;

/// For how long an open attempt keeps its turn and its seat, if nothing ends it: longer than any deadline, also
/// where the clock of the schedule is slow, and than an outage that is survived.
pub(crate) const HELD_FOR: TimeDelta = TimeDelta::days(60);

impl Executor {
    /// Where the target of an attempt may report the end.
    ///
    /// # Errors
    ///
    /// If the key of these addresses cannot be fetched.
    pub(super) async fn completion_url(
        &self,
        claim: &Claim,
        loaded: &LoadedJob,
    ) -> Result<Option<String>> {
        let urls = self.ports.completions.as_ref();
        match urls.filter(|_| loaded.within(claim.attempt.role).is_some()) {
            Some(urls) => Ok(Some(urls.url(&claim.job, &claim.attempt).await?)),
            None => Ok(None),
        }
    }

    /// Leaves an attempt open whose target answered that it goes on, if its job lets it and the target can report
    /// the end. Otherwise that answer is an end as any other.
    pub(super) async fn accepted(
        &self,
        held: Held<'_>,
        result: ActionResult,
        loaded: LoadedJob,
        place: &dyn DeliveryPlace,
    ) -> Result<Performed> {
        let claim = held.claim;
        let within =
            self.ports.completions.as_ref().and_then(|_| loaded.within(claim.attempt.role));
        let Some(within) = within else {
            return Box::pin(self.record_and_follow(held, result, Some(loaded), place)).await;
        };
        let started_at = result.started_at;
        let until = started_at.checked_add_signed(within).unwrap_or(started_at);
        let held_until = self.ports.clock.work_now() + HELD_FOR;
        let open = LeaveOpen { started_at, until, held_until, has_seat: held.may_have_seat };
        let Claim { job, attempt, .. } = claim;
        match self.leave_open(claim, &open, &loaded).await? {
            LeftOpen::Open => {
                let path = loaded.path();
                tracing::info!(
                    job.path = path, job.uid, attempt = %attempt.id(), %until,
                    "a target is at work, and its attempt is open"
                );
                Ok(Performed::Done)
            }
            LeftOpen::Over(ending) => {
                let span = OpenSpan { started_at, until };
                let result = self.result(claim, span, &ending, Some(&loaded)).await;
                Box::pin(self.record_and_follow(held, result, Some(loaded), place)).await
            }
            LeftOpen::Already(record) => {
                let ended = EndedAttempt { job, attempt, record: &record };
                Box::pin(self.follow(ended, Some(loaded), place)).await
            }
            LeftOpen::Lost => {
                // Another worker has taken the attempt over. If that one dies, this message is needed.
                Ok(Performed::Again((LEASE + LEASE_MARGIN).to_std().unwrap_or_default()))
            }
        }
    }

    /// Leaves an attempt open, and tries that until the lease is over: the target is at work.
    async fn leave_open(
        &self,
        claim: &Claim,
        open: &LeaveOpen,
        loaded: &LoadedJob,
    ) -> Result<LeftOpen, StoreError> {
        let clock = &self.ports.clock;
        // Bounded by the lease.
        loop {
            match self.ports.store.open.leave_open(claim, open).await {
                Err(error) if error.is_retryable() && clock.work_now() < claim.lease_until => {
                    let (path, id) = (loaded.path(), claim.attempt.id());
                    tracing::warn!(
                        job.path = path, job.uid = claim.job.uid, attempt = %id, %error,
                        "an attempt is not left open yet"
                    );
                    clock.wait(AGAIN_AFTER).await;
                }
                left => return left,
            }
        }
    }

    /// Ends an open attempt, for which its message asks: at its deadline, or because its end was said.
    pub(super) async fn end(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        place: &dyn DeliveryPlace,
        stop: &Stop,
    ) -> Result<Performed> {
        if !self.wait_until_due(attempt, place, stop).await {
            return Ok(Performed::Again(Duration::ZERO));
        }
        match self.ports.store.open.see(&job.uid, attempt).await? {
            AttemptSeen::Open(open) => self.end_if_over(job, *open, place).await,
            AttemptSeen::Recorded(record) => {
                let ended = EndedAttempt { job, attempt, record: &record };
                self.follow(ended, None, place).await
            }
            // The time for its ping is over.
            AttemptSeen::Claimed | AttemptSeen::Nothing if is_expected(attempt) => {
                Box::pin(self.end_expected(job, attempt, place)).await
            }
            // Its worker has not left it open, or died before that: it is made as any other.
            AttemptSeen::Claimed => {
                let attempt = Attempt { waited: None, ..attempt.clone() };
                Box::pin(self.attempt(job, &attempt, place, stop)).await
            }
            // Its record has expired.
            AttemptSeen::Nothing => {
                self.remove_timer(job, attempt).await?;
                Ok(Performed::Done)
            }
        }
    }

    /// Records the end of an open attempt if it has ended, or if its deadline is over, and does what follows. If
    /// neither is so, its timer does that later.
    pub(super) async fn end_if_over(
        &self,
        job: &JobRef,
        open: OpenAttempt,
        place: &dyn DeliveryPlace,
    ) -> Result<Performed> {
        let OpenAttempt { attempt, claim_id, open: span, ending, progress } = open;
        let now = self.ports.clock.now();
        let said = match (ending, span) {
            (Some(ending), _) => Some(ending),
            (None, Some(OpenSpan { until, .. })) if until <= now => {
                let ending = Ending::new(now, EndedBy::Deadline, "");
                match self.ports.store.open.say(&job.uid, &attempt, &ending).await? {
                    Said::First => Some(ending),
                    Said::Already(earlier) => Some(earlier),
                    // It is recorded since it was read, and who has recorded it does what follows.
                    Said::Late | Said::Nothing => None,
                }
            }
            (None, _) => None,
        };
        let Some(ending) = said else { return Ok(Performed::Done) };
        // Who made the attempt died before it had a timer, or else the timer is removed with what follows.
        let is_long = attempt.is_long || span.is_some();
        let span = span.unwrap_or(OpenSpan { started_at: ending.at, until: ending.at });
        let lease_until: DateTime<Utc> = self.ports.clock.work_now() + LEASE;
        let attempt = Attempt { is_long, ..attempt };
        let claim = Claim { job: job.clone(), attempt, claim_id, lease_until };
        // It has ended, so its seat is free although that is not recorded yet. The seat has no lease that ends
        // soon, so an error brings the message back.
        let seats = &self.ports.store.seats;
        self.until_answered(|| seats.give_back_seat(&claim)).await?;
        let loaded = self.load(job).await?;
        let mut result = self.result(&claim, span, &ending, loaded.as_ref()).await;
        if let (EndedBy::Deadline, Some(progress)) = (ending.by, &progress) {
            result.ended.message.push_str(" Body: ");
            result.ended.message.push_str(progress);
        }
        let held = Held::of_open(&claim);
        Box::pin(self.record_and_follow(held, result, loaded, place)).await
    }

    /// How an attempt ended that was open.
    async fn result(
        &self,
        claim: &Claim,
        OpenSpan { started_at, until }: OpenSpan,
        ending: &Ending,
        loaded: Option<&LoadedJob>,
    ) -> ActionResult {
        let Claim { job, attempt, .. } = claim;
        let definition = match loaded {
            Some(loaded) => self.definition(job, loaded).await.ok(),
            None => None,
        };
        let target = definition.and_then(|it| action(it, attempt.role)).map(|it| &it.target);
        let day = time_of_day(loaded.and_then(|it| it.schedule.as_deref()), until);
        let is_pinged = matches!(target, Some(Target::Expect(_)));
        let host = match target {
            Some(Target::Http(request) | Target::Https(request)) => host(&request.uri),
            Some(_) | None => String::new(),
        };
        let within = (until - started_at).to_std().unwrap_or_default();
        let (message, cause) = if is_pinged {
            (ending.ping_message(&day), ending.cause(Cause::no_ping(&day)))
        } else {
            let message = ending.message(within);
            let message = format!("Http Action - Response from host '{host}': {message}");
            (message, ending.cause(Cause::no_completion(within)))
        };
        if ending.by == EndedBy::Deadline {
            let (path, id) = (job_path(job, loaded), attempt.id());
            tracing::warn!(job.path = path, job.uid, attempt = %id, "no end was reported in time");
        }
        ActionResult {
            started_at,
            ended_at: Some(ending.at),
            ended: without_body(ending.outcome(), cause, message),
            kept_bytes: ending.body_bytes,
        }
    }
}

/// Whether a message is that of an occurrence which owes a ping, and not of an attempt that is or was open.
const fn is_expected(attempt: &Attempt) -> bool {
    !attempt.is_long && attempt.is_first() && attempt.under_policy
}

/// How long to wait before an attempt is left open is tried again.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

impl LoadedJob {
    /// How long after the start of an attempt its target may report the end, once the definition is parsed.
    fn within(&self, role: Role) -> Option<TimeDelta> {
        let completion = self.completion().filter(|_| role == Role::Main)?;
        Some(completion.within.delta())
    }
}
