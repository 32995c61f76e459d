//! The jobs that a command for several jobs is about.

use clap::Args;
use minutehand_client::JobPath;
use serde_json::json;

use crate::failure::{Failure, Result};
use crate::output::progress::Progress;
use crate::work::Work;

/// The most jobs that one command changes.
const JOBS_MAX: usize = 100_000;

/// The arguments of a command for several jobs.
#[derive(Debug, Args)]
pub(crate) struct ManyArgs {
    /// Names of jobs, or COLLECTION/JOB
    #[arg(required_unless_present = "matching")]
    names: Vec<String>,
    /// Also every job of --collection whose name matches, with * for any characters
    #[arg(long, value_name = "PATTERN")]
    matching: Option<String>,
    /// Collection for --matching [default: the context's, else 'default']
    #[arg(long, value_name = "NAME", requires = "matching")]
    collection: Option<String>,
    /// Do it without asking
    #[arg(long, short)]
    pub(super) yes: bool,
}

impl ManyArgs {
    /// Whether jobs are named by a pattern, so that a person has not seen their names.
    pub(super) fn is_pattern(&self) -> bool {
        self.matching.is_some()
    }

    /// The paths of the jobs.
    pub(super) async fn jobs(&self, work: &Work) -> Result<Vec<JobPath>> {
        let mut jobs: Vec<JobPath> =
            self.names.iter().map(|name| work.defaults().job(name)).collect::<Result<_>>()?;
        if let Some(pattern) = &self.matching {
            let collection = work.defaults().collection(self.collection.as_deref())?;
            let mut listing = work.client().jobs(&collection, None);
            let before = jobs.len();
            while let Some(page) = listing.next_page().await? {
                let names = page.iter().map(|job| job.value.short_name());
                jobs.extend(
                    names.filter(|name| matches(pattern, name)).map(|name| collection.job(name)),
                );
                if jobs.len() > JOBS_MAX {
                    return Err(Failure::refused(format!(
                        "--matching '{pattern}' names more than {JOBS_MAX} jobs: narrow it"
                    )));
                }
            }
            if jobs.len() == before {
                let name = work.defaults().short_collection(&collection);
                return Err(Failure::refused(format!("no job of {name} matches '{pattern}'")));
            }
        }
        Ok(jobs)
    }
}

/// Does something to each job, shows how far it is, and reports each job for which it failed.
pub(super) async fn each<F>(
    work: &Work,
    jobs: &[JobPath],
    doing: &'static str,
    act: impl Fn(JobPath) -> F,
) -> Result<()>
where
    F: Future<Output = Result<String>>,
{
    let mut failed: Option<Failure> = None;
    let mut done_items = Vec::new();
    let progress = Progress::new(&work.screen, doing, jobs.len());
    for job in jobs {
        let name = work.defaults().short_job(job);
        match act(job.clone()).await {
            Ok(done) if work.json.is_some() => {
                done_items.push(json!({"job": name, "did": done}).to_string());
            }
            Ok(done) => progress.above(|| work.screen.line(&format!("{name}\t{done}")))?,
            Err(failure) if jobs.len() == 1 => return Err(failure),
            Err(failure) => {
                progress.above(|| {
                    work.screen.note(&format!("error: {name}: {failure}"));
                    Ok(())
                })?;
                failed.get_or_insert(Failure::said(failure.code));
            }
        }
        progress.step();
    }
    if let Some(json) = &work.json {
        json.list(&work.screen, done_items.iter().map(String::as_str))?;
    }
    failed.map_or(Ok(()), Err)
}

/// Whether a name matches a pattern, in which `*` stands for any characters and case does not
/// matter.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(part) = last.replace(part) {
            let Some(at) = rest.find(part) else {
                return false;
            };
            rest = rest.get(at + part.len()..).unwrap_or_default();
        }
    }
    last.map_or(rest.is_empty(), |last: &str| rest.ends_with(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, expected) in [
            ("inv*", "invoice", true),
            ("inv*", "INVOICE", true),
            ("*ice", "invoice", true),
            ("i*o*e", "invoice", true),
            ("*", "", true),
            ("invoice", "invoice", true),
            ("invoice", "invoices", false),
            ("a*a", "a", false),
            ("x*", "invoice", false),
            ("*x*", "invoice", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
