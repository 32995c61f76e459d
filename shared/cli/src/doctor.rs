//! `doctor`: looks at a server and its jobs, and says what to do.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use clap::Args;
use minutehand_client::{DatabaseItem, Job};
use serde_json::{Value, json};

use crate::alert;
use crate::at_server::ServerCommand;
use crate::failure::{ACTION_FAILED, Failure, NOT_ALLOWED, Result};
use crate::fleet::{Fleet, JOBS_MAX, is_late, timetable};
use crate::output::plural;
use crate::output::table::harmless;
use crate::work::Work;

/// How far the clocks may be apart.
const APART_MAX: TimeDelta = TimeDelta::seconds(1);
/// A job that ends within this time is reported.
const ENDS_WITHIN: TimeDelta = TimeDelta::days(7);
/// The most names in one line.
const NAMES_MAX: usize = 5;
/// The days after which time zones count as old.
const ZONES_DAYS_MAX: i64 = 180;

/// The arguments of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Only the jobs of this collection [default: every job of the group]
    collection: Option<String>,
}

/// The result of one check.
#[derive(Debug)]
struct Check {
    name: String,
    /// What to do; `None` if all is well.
    trouble: Option<String>,
    /// The trouble can wait: the exit code does not tell it.
    is_warning: bool,
    says: String,
}

impl ServerCommand for DoctorArgs {
    const ASKS_FOR_CLOCK: bool = false;

    async fn run(self, work: Work) -> Result<()> {
        let (mut checks, answers) = server(&work).await;
        if answers {
            match Fleet::read(&work, self.collection.as_deref()).await {
                Ok(fleet) => {
                    checks.push(Check::good("token", "it is accepted"));
                    checks.extend(database(&work).await);
                    checks.extend(jobs(&work, &fleet));
                    checks.extend(alerts(&work).await);
                }
                Err(failure) => {
                    let name = if failure.code == NOT_ALLOWED { "token" } else { "jobs" };
                    checks.push(Check::bad(name, &failure.message, failure.hint));
                }
            }
        }
        print(&work, &checks)?;
        if checks.iter().any(Check::is_bad) {
            return Err(Failure::said(ACTION_FAILED));
        }
        Ok(())
    }
}

impl Check {
    fn good(name: impl Into<String>, says: impl Into<String>) -> Self {
        Self { name: name.into(), trouble: None, is_warning: false, says: says.into() }
    }

    const fn is_bad(&self) -> bool {
        self.trouble.is_some() && !self.is_warning
    }

    fn bad(name: impl Into<String>, says: &str, trouble: Option<String>) -> Self {
        let trouble = trouble.unwrap_or_else(|| "see the server's log".to_owned());
        Self { name: name.into(), trouble: Some(trouble), is_warning: false, says: says.to_owned() }
    }
}

/// What the server says of itself, and whether it answers.
async fn server(work: &Work) -> (Vec<Check>, bool) {
    let before = work.now();
    let health = match work.client().health().await {
        Ok(health) => health,
        Err(error) => {
            let failure = Failure::from(error);
            return (vec![Check::bad("server", &failure.message, failure.hint)], false);
        }
    };
    let document: Value = serde_json::from_str(&health.text).unwrap_or_default();
    let notes = document.get("notes").and_then(Value::as_array).into_iter().flatten();
    let notes = notes.map(|note| {
        let text = |name| harmless(note.get(name).and_then(Value::as_str).unwrap_or_default());
        Check::bad(text("about"), &text("says"), Some(text("remedy")))
    });
    let clock = clock(work, before, health.date.as_deref(), &document);
    ([clock].into_iter().chain(notes).chain([zones(&document, work.now())]).collect(), true)
}

/// What there is to know of the database that processes share, if there is one.
async fn database(work: &Work) -> Vec<Check> {
    let check = |DatabaseItem { about, says, remedy, is_warning }: DatabaseItem| Check {
        name: harmless(&about),
        trouble: remedy.map(|remedy| harmless(&remedy)),
        is_warning,
        says: harmless(&says),
    };
    match work.client().database().await {
        Ok(found) => found.into_iter().map(|item| check(item.value)).collect(),
        // An older server has no such answer, and a token that is limited to collections gets none.
        Err(error) if error.is_not_found() || error.is_forbidden() => Vec::new(),
        Err(error) => {
            let failure = Failure::from(error);
            vec![Check::bad("database", &failure.message, failure.hint)]
        }
    }
}

/// The collections whose alerts do not arrive.
async fn alerts(work: &Work) -> Vec<Check> {
    // Without an answer, the other checks say what is wrong.
    let Ok(overview) = work.client().overview(&work.defaults().place.subscription).await else {
        return Vec::new();
    };
    let lost = overview.value.alerts.iter().map(|found| {
        let collection = harmless(&found.collection);
        let says = format!("{collection}: {}", alert::trouble(work, &found.trouble));
        let remedy = format!("minutehand alert test {collection}, then correct its 'onFailure'");
        Check::bad("alerts", &says, Some(remedy))
    });
    lost.take(NAMES_MAX).collect()
}

/// Whether the server has the time that it should have.
fn clock(work: &Work, before: DateTime<Utc>, date: Option<&str>, document: &Value) -> Check {
    let after = work.now();
    let version = document.get("version").and_then(Value::as_str).unwrap_or_default();
    let says = format!("{} answers, version {version}", work.client().server());
    let clock = date.and_then(|date| DateTime::parse_from_rfc2822(date).ok());
    if let Some(clock) = clock.map(|clock| clock.to_utc()) {
        // The header has whole seconds, and the answer took a moment.
        let slack = APART_MAX + TimeDelta::seconds(1);
        if clock < before - slack || clock > after + slack {
            let apart = (clock - after).num_seconds().abs();
            let says = format!("the clocks of the server and of this machine are {apart} s apart");
            let remedy = "synchronise both clocks; on a server with a test clock this is meant";
            return Check::bad("server", &says, Some(remedy.to_owned()));
        }
    }
    Check::good("server", says)
}

/// Whether the time zones of the server are recent.
fn zones(document: &Value, now: DateTime<Utc>) -> Check {
    let text = |name| document.get(name).and_then(Value::as_str);
    let release = harmless(text("timeZones").unwrap_or("unknown"));
    let date = text("timeZonesDate").and_then(|date| date.parse::<NaiveDate>().ok());
    // The name of a release begins with its year, which is over for sure after this day.
    let year = || release.get(..4).and_then(|year| year.parse().ok());
    let end_of_year = || NaiveDate::from_ymd_opt(year()?, 12, 31);
    let days = |date: NaiveDate| (now.date_naive() - date).num_days();
    let (age, says) = match date {
        Some(date) => (days(date), format!("{release}, released {} days ago", days(date))),
        None => (end_of_year().map_or(0, days), format!("{release}, of an unknown day")),
    };
    if age <= ZONES_DAYS_MAX {
        return Check::good("zones", says);
    }
    let remedy = "install a newer version, as laws on time zones change; on one machine, serve --zones DIR \
                  uses the zones of the system";
    Check { is_warning: true, ..Check::bad("zones", &says, Some(remedy.to_owned())) }
}

/// What stands out among the jobs.
fn jobs(work: &Work, fleet: &Fleet) -> Vec<Check> {
    let now = work.now();
    let count = fleet.jobs().count();
    let mut says = format!("{count} in {}", plural(fleet.collections.len(), "collection"));
    if fleet.is_cut {
        says.extend([format!("; only the first {JOBS_MAX} were read")]);
    }
    let mut checks = vec![Check::good("jobs", says)];
    let off: Vec<String> = fleet
        .collections
        .iter()
        .filter(|members| !members.is_on)
        .map(|members| work.defaults().short_collection(&members.path))
        .collect();
    checks.push(judge("collections", &off, "all are on", "switched off", "collection enable NAME"));
    let names = |wanted: &dyn Fn(&Job) -> bool| -> Vec<String> {
        let wanted = fleet.jobs().filter(|(_, job)| wanted(job));
        wanted
            .map(|(members, job)| work.defaults().short_job(&members.path.job(job.short_name())))
            .collect()
    };
    let failing = names(&|job| job.status().faulted_count > 0);
    checks.push(judge(
        "failures",
        &failing,
        "no occurrence failed for good",
        "occurrences failed for good",
        "job history NAME --failed",
    ));
    let late = names(&|job| is_late(job.status().next_execution_time.as_deref(), now));
    checks.push(judge("late", &late, "none", "due and not begun", "job list --late"));
    let ending = names(&|job| {
        let timetable = timetable(job, now);
        timetable.is_some_and(|it| {
            it.at_or_after(now).is_some() && it.at_or_after(now + ENDS_WITHIN).is_none()
        })
    });
    if !ending.is_empty() {
        let says = format!("last occurrence within a week: {}", shown(&ending));
        checks.push(Check::good("ending", says));
    }
    checks
}

fn judge(
    name: &'static str,
    names: &[String],
    good: &str,
    bad: &str,
    command: &'static str,
) -> Check {
    if names.is_empty() {
        return Check::good(name, good);
    }
    let says = format!("{bad}: {}", shown(names));
    Check::bad(name, &says, Some(format!("minutehand {command}")))
}

/// Some names, and how many others there are.
fn shown(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(NAMES_MAX).map(String::as_str).collect();
    match names.len().saturating_sub(first.len()) {
        0 => first.join(", "),
        others => format!("{} and {others} others", first.join(", ")),
    }
}

fn print(work: &Work, checks: &[Check]) -> Result<()> {
    if let Some(json) = &work.json {
        let items: Vec<String> = checks
            .iter()
            .map(|check| {
                json!({"check": check.name, "ok": !check.is_bad(), "says": check.says,
                    "remedy": check.trouble})
                .to_string()
            })
            .collect();
        return json.list(&work.screen, items.iter().map(String::as_str));
    }
    for check in checks {
        let mark = match (check.trouble.is_none(), work.screen.ascii) {
            (true, false) => work.screen.good("✓"),
            (true, true) => work.screen.good("ok"),
            _ if check.is_warning => work.screen.warn("!"),
            (false, false) => work.screen.bad("✗"),
            (false, true) => work.screen.bad("!!"),
        };
        work.screen.line(&format!("{mark} {:<12} {}", check.name, check.says))?;
        if let Some(trouble) = &check.trouble {
            work.screen.line(&format!("    {trouble}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_old_after_half_a_year() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        assert_eq!(now.date_naive().to_string(), "2027-01-15");
        for (document, trouble, says) in [
            (json!({"timeZones": "2026f", "timeZonesDate": "2026-10-28"}), false, "79 days ago"),
            (json!({"timeZones": "2026c", "timeZonesDate": "2026-07-19"}), false, "180 days ago"),
            (json!({"timeZones": "2026c", "timeZonesDate": "2026-07-18"}), true, "181 days ago"),
            (json!({"timeZones": "2027a"}), false, "2027a, of an unknown day"),
            (json!({"timeZones": "2026z"}), false, "unknown day"),
            (json!({"timeZones": "2025z"}), true, "unknown day"),
            (json!({"timeZones": "unknown"}), false, "unknown day"),
            (json!({}), false, "unknown day"),
        ] {
            let check = zones(&document, now);
            assert_eq!(check.trouble.is_some(), trouble, "{document}");
            assert!(check.says.contains(says), "{}", check.says);
        }
    }
}
