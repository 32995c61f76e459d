//! Extensions of a job that do not fit the rest of it.

use crate::action::{MainAction, Target};
use crate::attempt::Role;
use crate::extensions::JobExtensions;
use crate::job::JobDefinition;
use crate::plan::Plan;
use crate::refusal::{Fix, Refusal};
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
        )
        .or([Fix::LeaveOut]));
    };
    match backoff.max_interval {
        Some(max) if max < first_wait => Err(Refusal::about(
            "minutehand.retry.maxInterval",
            format!(
                "is shorter than the first wait, the 'retryInterval' of the retry policy ({first_wait}), \
                 so that no wait grows; raise it, or leave it out."
            ),
        )
        .or([Fix::LeaveOut])),
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
        let problem = "has no effect, because only requests are signed; use an action of type Http \
            or Https, or leave this out.";
        return Err(Refusal::about("minutehand.sign", problem));
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
    let problem = "has no effect, because only a request can be answered 202; use an action of \
        type Http or Https, or leave this out.";
    Err(Refusal::about("minutehand.completion", problem))
}

/// Refuses what has no effect on a job that sends nothing.
pub(super) fn check_expect(job: &JobDefinition) -> Result<(), Refusal> {
    let MainAction { action, error_action } = &job.action;
    if job.action.ping_window().is_none() {
        return Ok(());
    }
    let nothing = JobExtensions::default();
    let own = job.extensions.as_ref().unwrap_or(&nothing);
    let retries = "a ping that did not come is not asked for again";
    let sends = "the action 'Expect' sends nothing";
    let owes = "each occurrence owes its ping";
    let waits = "'action.expect.grace' says how long to wait";
    let tells = "the 'onFailure' of the job collection tells of a missing ping";
    let sent = [
        ("action.retryPolicy", action.retry_policy.is_some(), retries),
        ("minutehand.retry", own.retry.is_some(), retries),
        ("action.errorAction", error_action.is_some(), tells),
        ("minutehand.timeout", own.timeout.is_some(), waits),
        ("minutehand.completion", own.completion.is_some(), waits),
        ("minutehand.sign", own.sign.is_some(), sends),
        ("minutehand.template", own.template, sends),
        ("minutehand.catchUp", own.catch_up.is_some(), owes),
        ("minutehand.maxLateness", own.max_lateness.is_some(), owes),
        ("minutehand.jitter", own.jitter.is_some(), owes),
        ("minutehand.overlap", own.overlap.is_some(), owes),
    ];
    match sent.into_iter().find(|(_, is_sent, _)| *is_sent) {
        None => Ok(()),
        Some((path, _, why)) => Err(Refusal::about(
            path,
            format!(
                "has no effect with an action of type Expect: {why}. Leave it out, or set it to null."
            ),
        )),
    }
}

/// Refuses a pause that never comes.
pub(super) fn check_pause(job: &JobDefinition) -> Result<(), Refusal> {
    if job.pause_on_failure().is_none() || job.recurrence.is_some() {
        return Ok(());
    }
    let problem =
        "has no effect, because the job runs once; give it a 'recurrence', or leave this out.";
    Err(Refusal::about("minutehand.pauseOnFailure", problem))
}
