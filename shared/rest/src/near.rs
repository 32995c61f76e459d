//! What to say of a path without a route: the path that was probably meant.
//!
//! A path is compared with the path of each route, segment by segment, as words are compared letter
//! by letter: a segment may be missing, misspelt or too many. The nearest route is proposed, with
//! the names that the path contains.

use std::cmp::Ordering;

use axum::http::Method;
use minutehand_recurrence::nearest;

use crate::path::Captured;
use crate::route::{ROUTES, job_switches};

/// The most segments of a path that is compared.
const SEGMENTS_MAX: usize = 16;
/// The most differences of a path from the proposed one.
const DIFFERENCES_MAX: u32 = 3;
/// The longest path that a message repeats.
const PATH_BYTES_MAX: usize = 400;
/// A segment that no route expects there counts twice: names are seldom typed by mistake.
const SURPLUS: u32 = 2;

/// The message for a path without a route.
pub(crate) fn nothing_here(method: &Method, path: &str) -> String {
    let switch = job_switches()
        .into_iter()
        .find(|(route, _)| *method == Method::POST && Captured::from_path(route, path).is_some());
    if let Some((_, state)) = switch {
        return format!(
            "A job has no such operation; send a PATCH of the job with \
             {{\"properties\":{{\"state\":\"{state}\"}}}}."
        );
    }
    match near_path(path) {
        Some(meant) => format!(
            "Nothing exists at this path; did you mean '{meant}'? '/openapi.json' lists all paths."
        ),
        None => "Nothing exists at this path; '/openapi.json' lists all paths.".to_owned(),
    }
}

/// The path that was probably meant.
fn near_path(path: &str) -> Option<String> {
    let sent: Vec<&str> = path.split('/').skip(1).collect();
    if sent.len() > SEGMENTS_MAX || path.len() > PATH_BYTES_MAX {
        return None;
    }
    let proposals =
        ROUTES.iter().filter(|route| route.method != Method::HEAD).filter_map(|route| {
            let expected: Vec<&str> = route.path.split('/').skip(1).collect();
            align(&expected, &sent)
        });
    let nearest = proposals.min_by(Alignment::compare)?;
    let is_near = nearest.differences <= DIFFERENCES_MAX && nearest.literals > 0;
    is_near.then(|| format!("/{}", nearest.segments.join("/")))
}

/// A path as a route expects it, with the names that were sent.
#[derive(Clone, Default)]
struct Alignment {
    differences: u32,
    /// The segments in which a fixed part of the route was recognised.
    literals: u32,
    segments: Vec<String>,
}

impl Alignment {
    /// The nearer one first: fewer differences, then more that was recognised.
    fn compare(&self, other: &Self) -> Ordering {
        (self.differences, other.literals).cmp(&(other.differences, self.literals))
    }

    fn and(&self, differences: u32, literals: u32, segment: Option<&str>) -> Self {
        let mut next = self.clone();
        next.differences += differences;
        next.literals += literals;
        next.segments.extend(segment.map(str::to_owned));
        next
    }
}

/// The alignment with the fewest differences.
fn align(expected: &[&str], sent: &[&str]) -> Option<Alignment> {
    let mut start = Alignment::default();
    let mut row = vec![start.clone()];
    for _ in sent {
        start = start.and(SURPLUS, 0, None);
        row.push(start.clone());
    }
    // `row` holds, for each number of segments sent, the best alignment with those expected so far.
    for expected in expected {
        let mut before = row.iter();
        let mut diagonal = before.next()?;
        let mut next = vec![diagonal.and(1, 0, Some(expected))];
        for (sent, above) in sent.iter().zip(before) {
            let is_missing = above.and(1, 0, Some(expected));
            let is_surplus = next.last()?.and(SURPLUS, 0, None);
            let same = same(expected, sent).map(|(differences, literals, segment)| {
                diagonal.and(differences, literals, Some(segment))
            });
            let best = same.into_iter().chain([is_missing, is_surplus]);
            next.push(best.min_by(Alignment::compare)?);
            diagonal = above;
        }
        row = next;
    }
    row.pop()
}

/// Compares two segments: the differences, whether a fixed part was recognised, and the segment that
/// was meant.
fn same<'a>(expected: &'a str, sent: &'a str) -> Option<(u32, u32, &'a str)> {
    if expected.starts_with('{') {
        return (!sent.is_empty()).then_some((0, 0, sent));
    }
    if expected.eq_ignore_ascii_case(sent) {
        return Some((0, 1, expected));
    }
    nearest(sent, [expected]).map(|meant| (1, 1, meant))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLLECTION: &str =
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c";

    #[track_caller]
    fn check(sent: &str, meant: Option<&str>) {
        assert_eq!(near_path(sent).as_deref(), meant, "{sent}");
    }

    #[test]
    fn a_misspelt_or_incomplete_path_leads_to_the_one_that_was_meant() {
        let job = format!("{COLLECTION}/jobs/j");
        for sent in [
            "/subscription/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/j",
            "/subscriptions/s/resourceGroup/g/providers/Microsoft.Schedule/jobCollections/c/job/j",
            "/subscriptions/s/resourceGroups/g/jobCollections/c/jobs/j",
            "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/c/jobs/j",
            "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/j/",
        ] {
            check(sent, Some(&job));
        }
        check(&format!("{job}/histroy"), Some(&format!("{job}/history")));
        check(&format!("{COLLECTION}/enabel"), Some(&format!("{COLLECTION}/enable")));
        check("/health", Some("/healthz"));
        check("/metric/", Some("/metrics"));
    }

    #[test]
    fn a_path_of_something_else_leads_nowhere() {
        for sent in ["/", "", "/favicon.ico", "/a/b/c/d/e/f/g/h/i", "/api/v1/jobs"] {
            check(sent, None);
        }
        check(&"/jobs".repeat(17), None);
        check(&format!("/healthz{}", "z".repeat(400)), None);
    }

    #[test]
    fn a_switch_of_a_job_leads_to_a_patch() {
        for (what, state) in [("enable", "enabled"), ("DISABLE", "disabled")] {
            let message = nothing_here(&Method::POST, &format!("{COLLECTION}/jobs/j/{what}"));
            assert_eq!(
                message,
                format!(
                    "A job has no such operation; send a PATCH of the job with {{\"properties\":{{\"state\":\"{state}\"}}}}."
                )
            );
        }
    }
}
