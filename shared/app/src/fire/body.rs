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
use minutehand_ports::{Bytes, Clock, FailureBodies, FailureBody, chain};

use super::execute::Executor;
use super::loaded_job::{LoadedJob, job_path};

/// For how long a record waits for its body at most.
const KEEP_TIME_MAX: Duration = Duration::from_secs(5);

/// Keeps a body, and returns its bytes, or why it is not kept.
pub(crate) async fn put_in_time(
    bodies: &dyn FailureBodies,
    clock: &dyn Clock,
    (job_uid, name): (&str, HistoryName),
    body: Bytes,
) -> Result<u32, String> {
    let kept = u32::try_from(body.len()).unwrap_or(u32::MAX);
    let put = bodies.put(job_uid, name, body);
    match select(put, clock.wait(KEEP_TIME_MAX)).await {
        Either::Left((Ok(()), _)) => Ok(kept),
        Either::Left((Err(error), _)) => Err(chain(&error)),
        Either::Right(_) => Err(format!("no answer in {} s", KEEP_TIME_MAX.as_secs())),
    }
}

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
        let kept = match body {
            FailureBody::NoRoom => Err("too many others are in memory".to_owned()),
            FailureBody::Read(body) => {
                let name = HistoryName::new(attempt, started_at);
                put_in_time(&**bodies, &*self.ports.clock, (&job.uid, name), body).await
            }
        };
        let why = match kept {
            Ok(kept) => return kept,
            Err(why) => why,
        };
        let (job_path, id) = (job_path(job, loaded), attempt.id());
        tracing::warn!(
            job.path = job_path, job.uid, attempt = %id, error = why,
            "the body of a failure is not kept"
        );
        0
    }
}
