//! Extensions of a job that do not fit the rest of it.

use crate::action::Target;
use crate::attempt::Role;
use crate::job::JobDefinition;
use crate::plan::Plan;
use crate::refusal::Refusal;
use crate::sign::SIGNATURE_HEADERS;

/// Refuses waits before retries that never come, or that are cut before they grow.
pub(super) fn check_backoff(job: &JobDefinition, plan: Plan) -> Result<(), Refusal> {
    let Some(backoff) = job.extensions.as_ref().and_then(|extensions| extensions.retry) else {
        return Ok(());
    };
    let retries = [Role::Main, Role::Error].map(|role| job.retries(role, plan, ""));
    let Some(first_wait) = retries.iter().filter(|it| it.count > 0).map(|it| it.interval).min()
    else {
        return Err(Refusal::about(
            "minutehand.retry",
            "has no effect, because 'action.retryPolicy' allows no retries; set its 'retryCount', \
             or leave this out.",
        ));
    };
    match backoff.max_interval {
        Some(max) if max < first_wait => Err(Refusal::about(
            "minutehand.retry.maxInterval",
            format!(
                "is shorter than the first wait, the 'retryInterval' of the retry policy ({first_wait}), \
                 so that no wait grows; raise it, or leave it out."
            ),
        )),
        _ => Ok(()),
    }
}

/// Refuses signatures that no request would carry, or that a header of the job would contradict.
pub(super) fn check_signing(job: &JobDefinition) -> Result<(), Refusal> {
    if job.signing().is_none() {
        return Ok(());
    }
    let requests = job.action.targets().filter_map(|target| match target {
        Target::Http(request) | Target::Https(request) => Some(request),
        _ => None,
    });
    let headers: Vec<_> = requests.map(|request| request.headers.iter().flatten()).collect();
    if headers.is_empty() {
        return Err(Refusal::about(
            "minutehand.sign",
            "has no effect, because only requests are signed; use an action of type Http or Https, \
             or leave this out.",
        ));
    }
    let is_ours = |name: &str| SIGNATURE_HEADERS.iter().any(|ours| ours.eq_ignore_ascii_case(name));
    match headers.into_iter().flatten().find(|(name, _)| is_ours(name)) {
        Some((name, _)) => Err(Refusal::about(
            "minutehand.sign",
            format!("sets the header '{name}', which the action has as well; remove it there."),
        )),
        None => Ok(()),
    }
}

/// Refuses a completion of which no target could be told.
pub(super) fn check_completion(job: &JobDefinition) -> Result<(), Refusal> {
    let is_request = matches!(job.action.action.target, Target::Http(_) | Target::Https(_));
    if job.completion().is_none() || is_request {
        return Ok(());
    }
    Err(Refusal::about(
        "minutehand.completion",
        "has no effect, because only a request can be answered 202; use an action of type Http or Https, \
         or leave this out.",
    ))
}

/// Refuses a pause that never comes.
pub(super) fn check_pause(job: &JobDefinition) -> Result<(), Refusal> {
    if job.pause_on_failure().is_none() || job.recurrence.is_some() {
        return Ok(());
    }
    Err(Refusal::about(
        "minutehand.pauseOnFailure",
        "has no effect, because the job runs once; give it a 'recurrence', or leave this out.",
    ))
}
