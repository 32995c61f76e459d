//! Open attempts of the store in memory.

use minutehand_domain::firing::Waited;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::OpenAttempts;
use minutehand_ports::store::{AttemptSeen, LeaveOpen, LeftOpen, OpenAttempt, OpenSpan, Said};

use super::*;

/// The process of what belongs to none.
pub(super) const NO_PROCESS: u64 = u64::MAX;

/// What an item has of an attempt that is or was open.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct OpenPart {
    pub(in super::super) span: Option<(DateTime<Utc>, DateTime<Utc>)>,
    pub(in super::super) ending: Option<Ending>,
    progress: Option<String>,
}

impl OpenPart {
    /// What is open in a time, and has perhaps ended.
    pub(super) const fn opened(
        span: (DateTime<Utc>, DateTime<Utc>),
        ending: Option<Ending>,
    ) -> Self {
        Self { span: Some(span), ending, progress: None }
    }
}

/// The timer of the deadline of an open attempt.
pub(super) fn deadline_timer(job: &JobRef, attempt: &Attempt, until: DateTime<Utc>) -> RetryItem {
    let attempt = Attempt {
        due_at: until,
        is_long: true,
        sent_late_at: None,
        under_policy: false,
        takes_turn: false,
        waited: Some(Waited::Completion),
        ..attempt.clone()
    };
    RetryItem { job: job.clone(), attempt, due_at: until }
}

impl ExecutionItem {
    /// The item as that of an open attempt.
    pub(super) fn open(&self) -> Box<OpenAttempt> {
        let OpenPart { span, ending, progress } = self.open.clone();
        Box::new(OpenAttempt {
            attempt: Attempt { is_long: false, ..self.attempt.clone() },
            claim_id: self.claim_id.clone(),
            open: span.map(|(started_at, until)| OpenSpan { started_at, until }),
            ending,
            progress,
        })
    }

    pub(super) fn may_be_said(&self, ending: &Ending, mutation: Option<Mutation>) -> bool {
        let is_open = match self.open.span {
            None => ending.by.is_report(),
            Some((_, until)) => {
                !ending.by.is_report()
                    || until >= ending.at
                    || mutation == Some(Mutation::LateReportCounts)
            }
        };
        if mutation == Some(Mutation::LastWordCounts) {
            return is_open && self.record.is_none() && self.claims > 0;
        }
        is_open && self.record.is_none() && self.open.ending.is_none() && self.claims > 0
    }
}

#[async_trait]
impl OpenAttempts for Memory {
    async fn leave_open(&self, claim: &Claim, open: &LeaveOpen) -> Result<LeftOpen, StoreError> {
        let LeaveOpen { started_at, until, held_until, has_seat } = *open;
        let Claim { job, attempt, claim_id, .. } = claim;
        let mut tables = self.tables();
        let of_job = tables.executions.entry(job.uid.clone()).or_default();
        let Some(item) = of_job.get_mut(&attempt_key(attempt)) else { return Ok(LeftOpen::Lost) };
        let is_mine = item.claim_id == *claim_id;
        match (&item.record, &item.open) {
            (Some(record), _) => return Ok(LeftOpen::Already(record.clone())),
            (None, _) if !is_mine => return Ok(LeftOpen::Lost),
            (None, OpenPart { span: Some(_), .. }) => return Ok(LeftOpen::Open),
            (None, OpenPart { ending: Some(ending), .. }) => {
                return Ok(LeftOpen::Over(ending.clone()));
            }
            (None, OpenPart { span: None, ending: None, .. }) => {}
        }
        item.open.span = Some((tick(started_at), tick(until)));
        if !self.is(Mutation::OpenLapses) {
            item.lease_until = tick(held_until);
        }
        item.process = NO_PROCESS;
        let key = (job.uid.clone(), attempt_key(attempt));
        let timer = deadline_timer(job, attempt, until);
        if !self.is(Mutation::DeadlineIsLost) {
            tables.retries.insert(key.clone(), timer);
            self.show_retry(&mut tables, &key);
        }
        if !self.is(Mutation::TurnLapses)
            && let Some(turns) = tables.turns.get_mut(&job.uid)
            && let Some(holder) = &mut turns.order.holder
            && holder.claim_id == *claim_id
        {
            holder.lease_until = tick(held_until);
            (turns.process, turns.number) = (NO_PROCESS, turns.number + 1);
        }
        if has_seat
            && !self.is(Mutation::SeatLapses)
            && let Some(seats) = tables.seats.get_mut(&job.collection_uid)
            && let Some(seat) = seats.get_mut(claim_id)
        {
            *seat = (tick(held_until), NO_PROCESS);
        }
        Ok(LeftOpen::Open)
    }

    async fn say(
        &self,
        job_uid: &str,
        attempt: &Attempt,
        ending: &Ending,
    ) -> Result<Said, StoreError> {
        let mut tables = self.tables();
        let of_job = tables.executions.get_mut(job_uid);
        let Some(item) = of_job.and_then(|of_job| of_job.get_mut(&attempt_key(attempt))) else {
            return Ok(Said::Nothing);
        };
        if item.may_be_said(ending, self.mutation) {
            if self.is(Mutation::EarlyReportIsLost) && item.open.span.is_none() {
                return Ok(Said::First);
            }
            item.open.ending = Some(Ending { at: tick(ending.at), ..ending.clone() });
            return Ok(Said::First);
        }
        Ok(match (&item.open.ending, &item.record) {
            (Some(other), _) => Said::Already(other.clone()),
            (None, None) if item.open.span.is_some() && ending.by.is_report() => Said::Late,
            (None, _) => Said::Nothing,
        })
    }

    async fn note_progress(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        line: &str,
    ) -> Result<bool, StoreError> {
        let mut tables = self.tables();
        let of_job = tables.executions.get_mut(&job.uid);
        let item = of_job.and_then(|of_job| of_job.get_mut(&attempt_key(attempt)));
        let is_at_work = |it: &&mut ExecutionItem| {
            it.record.is_none() && it.open.ending.is_none() && it.claims > 0
        };
        let Some(item) = item.filter(is_at_work) else { return Ok(false) };
        item.open.progress = Some(line.to_owned());
        Ok(true)
    }

    async fn see(&self, job_uid: &str, attempt: &Attempt) -> Result<AttemptSeen, StoreError> {
        let tables = self.tables();
        let of_job = tables.executions.get(job_uid);
        let Some(item) = of_job.and_then(|of_job| of_job.get(&attempt_key(attempt))) else {
            return Ok(AttemptSeen::Nothing);
        };
        Ok(match &item.record {
            Some(record) => AttemptSeen::Recorded(record.clone()),
            None if item.open.span.is_some() => AttemptSeen::Open(item.open()),
            None => AttemptSeen::Claimed,
        })
    }

    async fn record_ending(&self, claim: &Claim, record: &Record) -> Result<Recorded, StoreError> {
        let mut tables = self.tables();
        let of_job = tables.executions.entry(claim.job.uid.clone()).or_default();
        let Some(item) = of_job.get_mut(&attempt_key(&claim.attempt)) else {
            return Ok(Recorded::Lost);
        };
        match &item.record {
            Some(other) => Ok(Recorded::Already(other.clone())),
            None if item.open.ending.is_none() && !self.is(Mutation::DeadlineDoesNotAsk) => {
                Ok(Recorded::Lost)
            }
            None => {
                item.record = Some(cut(record));
                item.claims = 0;
                Ok(Recorded::Kept)
            }
        }
    }
}
