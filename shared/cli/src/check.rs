//! Asks the server whether it would accept changes, before any is made.

use minutehand_client::{CheckProblem, CheckedJob, CollectionPath, Error};
use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::merge::object;
use crate::work::{Work, in_collection, is_collection_missing};

/// The most jobs in one request, as the server takes them.
const JOBS_MAX: usize = 100;
/// The most bytes of the changes in one request, which may have 1 MB as a whole.
const BYTES_MAX: usize = 900_000;
/// The most bytes of a change, as in the request that makes it.
const CHANGE_BYTES_MAX: usize = 64 * 1_024;

/// A change that is to be made: a PUT, or a PATCH.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change<'a> {
    pub(crate) is_patch: bool,
    pub(crate) body: &'a Value,
}

/// A change of a job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobChange<'a> {
    pub(crate) name: &'a str,
    pub(crate) change: Change<'a>,
    /// Whether it creates the job.
    pub(crate) is_new: bool,
}

/// What would become of changes.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// Why the change of the collection would be refused.
    pub(crate) collection: Vec<CheckProblem>,
    /// What would become of each job, in order; `None` if the server could not check it.
    pub(crate) jobs: Vec<Option<CheckedJob>>,
}

impl Checked {
    /// The problems of the jobs as one failure, if there are any.
    pub(crate) fn accepted(self) -> Result<Vec<Option<CheckedJob>>> {
        let problems = self.jobs.iter().flatten().flat_map(|job| &job.problems);
        let problems = problems.map(|problem| Failure::refused(says(problem)));
        all(problems.collect()).map_or(Ok(self.jobs), Err)
    }
}

/// Checks changes of a collection and its jobs, a page after the other.
pub(crate) async fn check(
    work: &Work,
    path: &CollectionPath,
    collection: Option<Change<'_>>,
    jobs: &[JobChange<'_>],
) -> Result<Checked> {
    let mut checked = Checked::default();
    let measured: Vec<Measured<'_>> = jobs.iter().map(Measured::of).collect();
    let (mut rest, mut created, mut is_first) = (measured.as_slice(), 0_usize, true);
    // Bounded by the jobs: each turn takes one at least.
    while is_first || !rest.is_empty() {
        let (page, later) = rest.split_at(page_length(rest));
        let fit = page.iter().filter(|measured| !measured.is_too_long());
        let jobs_sent = fit.map(|Measured { job, .. }| sent(job.change, Some(job.name)));
        let changes = object([
            ("jobs", Some(jobs_sent.collect())),
            ("createdBefore", Some(created.into())),
            ("collection", collection.map(|change| sent(change, None))),
        ]);
        match work.client().check_changes(path, &changes.into()).await {
            Ok(answer) => {
                if is_first {
                    checked.collection = answer.value.problems;
                }
                let mut answers = answer.value.jobs.into_iter();
                checked.jobs.extend(page.iter().map(|measured| {
                    if measured.is_too_long() { Some(too_long()) } else { answers.next() }
                }));
            }
            Err(error) if is_unknown(&error) => {
                return one_by_one(work, path, collection, jobs).await;
            }
            Err(error) => return Err(in_collection(work, path)(error)),
        }
        created += page.iter().filter(|measured| measured.job.is_new).count();
        (rest, is_first) = (later, false);
    }
    Ok(checked)
}

/// A change of a job, and how many bytes its body has.
#[derive(Debug, Clone, Copy)]
struct Measured<'a> {
    job: &'a JobChange<'a>,
    bytes: usize,
}

impl<'a> Measured<'a> {
    fn of(job: &'a JobChange<'a>) -> Self {
        Self { job, bytes: job.change.body.to_string().len() }
    }

    /// Whether no request may have the change. Then it need not be sent to be refused.
    const fn is_too_long(&self) -> bool {
        self.bytes > CHANGE_BYTES_MAX
    }
}

/// How many jobs fit into a request; one at least, if there is one.
fn page_length(jobs: &[Measured<'_>]) -> usize {
    let mut bytes = 0_usize;
    let fit = jobs.iter().take(JOBS_MAX).take_while(|measured| {
        bytes += measured.job.name.len() + measured.bytes.min(CHANGE_BYTES_MAX) + 100;
        bytes <= BYTES_MAX
    });
    fit.count().max(1).min(jobs.len())
}

fn too_long() -> CheckedJob {
    let message =
        format!("It is longer than {CHANGE_BYTES_MAX} bytes, which is the most of a request.");
    let problems = vec![CheckProblem { message, target: None, fixes: Vec::new() }];
    CheckedJob { problems, ..CheckedJob::default() }
}

fn sent(change: Change<'_>, name: Option<&str>) -> Value {
    let (method, body) = (if change.is_patch { "patch" } else { "put" }, change.body.clone());
    let name = name.map(Value::from);
    object([("as", Some(method.into())), ("body", Some(body)), ("name", name)]).into()
}

/// Whether the server does not know a request: an older one knows no check of many changes.
fn is_unknown(error: &Error) -> bool {
    error.refusal().is_some_and(|refusal| refusal.code == "UnknownRoute")
}

/// The same with one request for each job, as older servers know it. They cannot check a collection, nor
/// the jobs of one that does not exist.
async fn one_by_one(
    work: &Work,
    path: &CollectionPath,
    collection: Option<Change<'_>>,
    jobs: &[JobChange<'_>],
) -> Result<Checked> {
    let mut checked = Checked::default();
    let mut unchecked = usize::from(collection.is_some());
    for job in jobs {
        let answer = work
            .client()
            .check_job(&path.job(job.name), job.change.is_patch, job.change.body)
            .await;
        checked.jobs.push(match answer {
            Ok(answer) => Some(answer.value),
            Err(error) if is_unknown(&error) => None,
            Err(error) if collection.is_some() && is_collection_missing(&error) => None,
            Err(error) => return Err(in_collection(work, path)(error)),
        });
    }
    unchecked += checked.jobs.iter().filter(|job| job.is_none()).count();
    if unchecked > 0 {
        work.screen.note(&format!(
            "the server is older than this program and could not check {} of {} changes",
            unchecked,
            jobs.len() + usize::from(collection.is_some())
        ));
    }
    Ok(checked)
}

/// A problem in one sentence, with its property if the message does not name it.
pub(crate) fn says(problem: &CheckProblem) -> String {
    let target = problem.target.as_deref().map(|it| it.strip_prefix("properties.").unwrap_or(it));
    match target {
        Some(target) if !problem.message.contains(target) => {
            format!("'{target}': {}", problem.message)
        }
        _ => problem.message.clone(),
    }
}

/// The most problems that are printed.
pub(crate) const SHOWN_MAX: usize = 100;

/// All problems as one failure; `None` if there are none.
pub(crate) fn all(mut problems: Vec<Failure>) -> Option<Failure> {
    if problems.len() <= 1 {
        return problems.pop();
    }
    let code = problems.first().map_or(crate::failure::REFUSED, |first| first.code);
    let mut message = format!("{} problems, and nothing was changed", problems.len());
    for problem in problems.iter().take(SHOWN_MAX) {
        message.extend(["\n  ", &problem.message]);
        if let Some(hint) = &problem.hint {
            message.extend(["; ", hint]);
        }
    }
    if let Some(more) = problems.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
        message.extend(["\n  and ", &more.to_string(), " more"]);
    }
    Some(Failure::new(code, message))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_has_a_hundred_jobs_and_no_more_than_fits() {
        let (small, large) = (json!({}), json!({"body": "x".repeat(60_000)}));
        let job =
            |body| JobChange { name: "j", change: Change { is_patch: false, body }, is_new: true };
        let huge = json!({"body": "x".repeat(2_000_000)});
        assert_eq!(page_length(&[]), 0);
        for (body, jobs, expected) in [(&small, 250, 100), (&large, 250, 14), (&huge, 1, 1)] {
            let job = job(body);
            assert_eq!(page_length(&vec![Measured::of(&job); jobs]), expected);
        }
    }

    #[test]
    fn a_problem_names_its_property_once() {
        for (message, target, expected) in [
            ("'action' is missing.", Some("properties.action"), "'action' is missing."),
            (
                "It is too long.",
                Some("properties.action.request.body"),
                "'action.request.body': It is too long.",
            ),
            ("The job is finished.", None, "The job is finished."),
        ] {
            let problem = CheckProblem {
                message: message.to_owned(),
                target: target.map(ToOwned::to_owned),
                fixes: Vec::new(),
            };
            assert_eq!(says(&problem), expected);
        }
    }

    #[test]
    fn several_problems_are_said_at_once() {
        assert_eq!(all(Vec::new()), None);
        let one = Failure::refused("a").hint("b");
        assert_eq!(all(vec![one.clone()]), Some(one.clone()));
        let message = all(vec![one; 102]).unwrap().message;
        assert!(
            message.starts_with("102 problems, and nothing was changed\n  a; b\n"),
            "{message}"
        );
        assert!(message.ends_with("\n  and 2 more"), "{message}");
    }
}
