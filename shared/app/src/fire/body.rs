//! The body with which a target answered a failure: kept before the record, which says how long it is.
//!
//! It is a help for people, so nothing depends on it. If it cannot be kept in time, the log says why, and
//! the record has none. A crash between the two leaves a body without a record, which is deleted like the
//! others when its time is over.

use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::future::{Either, select};
use minutehand_domain::history_name::HistoryName;
use minutehand_ports::store::Claim;
use minutehand_ports::{FailureBody, chain};

use super::execute::Executor;
use super::loaded_job::{LoadedJob, job_path};

/// For how long a record waits for its body at most.
const KEEP_TIME_MAX: Duration = Duration::from_secs(5);

impl Executor {
    /// Keeps the body of an attempt that started at this instant. Returns how many bytes are kept.
    pub(super) async fn keep_body(
        &self,
        claim: &Claim,
        started_at: DateTime<Utc>,
        body: FailureBody,
        loaded: Option<&LoadedJob>,
    ) -> u32 {
        let Some(bodies) = &self.ports.bodies else { return 0 };
        let Claim { job, attempt, .. } = claim;
        let why = match body {
            FailureBody::NoRoom => "too many others are in memory".to_owned(),
            FailureBody::Read(body) => {
                let kept = u32::try_from(body.len()).unwrap_or(u32::MAX);
                let put = bodies.put(&job.uid, HistoryName::new(attempt, started_at), body);
                match select(put, self.ports.clock.wait(KEEP_TIME_MAX)).await {
                    Either::Left((Ok(()), _)) => return kept,
                    Either::Left((Err(error), _)) => chain(&error),
                    Either::Right(_) => format!("no answer in {} s", KEEP_TIME_MAX.as_secs()),
                }
            }
        };
        let (job_path, id) = (job_path(job, loaded), attempt.id());
        tracing::warn!(
            job.path = job_path, job.uid, attempt = %id, error = why,
            "the body of a failure is not kept"
        );
        0
    }
}
