//! `alert`: how the alerts of a collection are doing, a test of them, and the options of collections that set them.

use std::path::Path;

use clap::{Args, Subcommand};
use minutehand_client::{AlertAnswer, AlertTestAnswer, JobAlertAnswer, JobAlertState, LostAlerts};
use serde_json::{Map, Value, json};

use crate::at_server::ServerCommand;
use crate::failure::{ACTION_FAILED, Failure, Result};
use crate::merge::object;
use crate::output::plural;
use crate::output::table::harmless;
use crate::work::{Work, in_collection};
use crate::{input, instant};

/// The arguments of `alert`.
#[derive(Debug, Args)]
pub struct AlertArgs {
    #[command(subcommand)]
    command: AlertCommand,
}

#[derive(Debug, Subcommand)]
enum AlertCommand {
    /// Show whether the alerts of a collection arrive, or the state of a job
    Show {
        /// Name of the collection, or COLLECTION/JOB
        name: String,
    },
    /// Send a test alert of a collection now, and say what came back
    Test {
        /// Name of the collection
        collection: String,
    },
}

impl ServerCommand for AlertArgs {
    async fn run(self, work: Work) -> Result<()> {
        match &self.command {
            AlertCommand::Show { name } => show(&work, name).await,
            AlertCommand::Test { collection } => test(&work, collection).await,
        }
    }
}

async fn show(work: &Work, name: &str) -> Result<()> {
    let (path, job) = work.defaults().collection_or_job(name)?;
    let Some(job) = job else {
        let answer = work.client().alert(&path).await.map_err(in_collection(work, &path))?;
        let says = match &answer.value {
            AlertAnswer { trouble: Some(found), .. } => trouble(work, found),
            AlertAnswer { is_set: true, .. } => "no alert has failed to arrive".to_owned(),
            AlertAnswer { .. } => NO_ALERTS.to_owned(),
        };
        return work.tell(&answer.text, &says);
    };
    let answer = work.client().job_alert(&path.job(&job)).await?;
    let says = match &answer.value {
        JobAlertAnswer { state: Some(state), .. } => state_of(work, state),
        JobAlertAnswer { is_set: true, state: None } => {
            "each failure is told; nothing else is known of the job for alerts".to_owned()
        }
        JobAlertAnswer { .. } => NO_ALERTS.to_owned(),
    };
    work.tell(&answer.text, &says)
}

/// What is said of a collection without a failure action.
const NO_ALERTS: &str =
    "its collection sends no alerts; set one with `minutehand collection set NAME --alert`";

/// What is known of a job, in words.
fn state_of(work: &Work, state: &JobAlertState) -> String {
    let times = work.times(None);
    let works = match state.failures_in_row {
        0 => "works".to_owned(),
        n => format!("{n} failed in a row"),
    };
    let told = [
        state.open_since.as_ref().map(|at| format!(", told since {}", times.written(at))),
        state.last_sent_at.as_ref().map(|at| format!(", the last alert at {}", times.written(at))),
        (state.held_back > 0).then(|| format!(", {} held back", state.held_back)),
    ];
    works + &told.into_iter().flatten().collect::<String>()
}

async fn test(work: &Work, name: &str) -> Result<()> {
    let path = work.defaults().collection(Some(name))?;
    let answer = work.client().test_alert(&path).await.map_err(|error| {
        let has_none = error.refusal().is_some_and(|refusal| refusal.code == "NoFailureAction");
        let failure = in_collection(work, &path)(error);
        let set = format!("`minutehand collection set {name} --alert slack=https://…` sets one");
        if has_none { failure.hint(set) } else { failure }
    })?;
    let name = work.defaults().short_collection(&path);
    let AlertTestAnswer { arrived, cause, message, took_ms } = &answer.value;
    if *arrived {
        return work.tell(&answer.text, &format!("the alert of {name} arrived, in {took_ms} ms"));
    }
    if let Some(json) = &work.json {
        json.document(&work.screen, &answer.text)?;
        return Err(Failure::said(ACTION_FAILED));
    }
    let cause = cause.as_ref().map_or("nothing came back", |cause| cause.text.as_str());
    let said = harmless(&format!("the alert of {name} did not arrive: {cause}"));
    Err(Failure::new(ACTION_FAILED, said).hint(harmless(message)))
}

/// What to say of alerts that did not arrive.
pub(crate) fn trouble(work: &Work, found: &LostAlerts) -> String {
    let times = work.times(None);
    let cause = found.cause.as_ref().map_or("", |cause| cause.text.as_str());
    let alerts = plural(usize::try_from(found.alerts).unwrap_or(usize::MAX), "alert");
    let (since, job) = (times.written(&found.since), harmless(&found.job));
    format!("{alerts} did not arrive since {since}, the last one of {job}: {}", harmless(cause))
}

/// The options of a collection that set its alerts.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AlertOptions {
    /// Tell of failures at slack, teams, discord, ntfy, cloudevents or template: slack=https://…, or
    /// slack=@FILE with the URL in a file; `off` tells nothing
    #[arg(long, value_name = "FORMAT=URL", help_heading = HEADING)]
    alert: Option<String>,
    /// With template, what is sent, with names such as {{job}} and {{cause}}
    #[arg(long, value_name = "TEXT", help_heading = HEADING)]
    alert_body: Option<String>,
    /// Tell of a job after this many failures in a row
    #[arg(long, value_name = "N", value_parser = input::positive::<u32>,
          allow_negative_numbers = true, help_heading = HEADING)]
    alert_after: Option<u32>,
    /// Tell of the first success after an alert
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", help_heading = HEADING)]
    alert_recovered: Option<bool>,
    /// Tell of a job at most once in this time: 30m, 1h, or `off`
    #[arg(long, value_name = "SPAN", help_heading = HEADING)]
    alert_every: Option<String>,
    /// Tell of these as well: paused, missed, late=SPAN, behind=SPAN, or `off`; with commas between
    #[arg(long, value_name = "TROUBLE", help_heading = HEADING)]
    alert_on: Option<String>,
}

const HEADING: &str = "Alerts";

impl AlertOptions {
    /// The value of `onFailure` as a merge patch; `None` if nothing is given.
    pub(crate) fn on_failure(&self) -> Result<Option<Value>> {
        let mut action = match self.alert.as_deref() {
            None => Map::new(),
            Some("off") if self.has_rules() => {
                return Err(Failure::refused(
                    "--alert off tells nothing; leave the other options of alerts out",
                ));
            }
            Some("off") => return Ok(Some(Value::Null)),
            Some(text) => receiver(text)?,
        };
        if let Some(body) = &self.alert_body {
            let request = action.entry("request").or_insert_with(|| json!({}));
            if let Some(request) = request.as_object_mut() {
                request.insert("body".to_owned(), body.as_str().into());
            }
        }
        let every = match self.alert_every.as_deref() {
            Some("off") => Some(Value::Null),
            span => instant::optional_span("--alert-every", span)?,
        };
        action.extend(object([
            ("after", self.alert_after.map(Value::from)),
            ("recovered", self.alert_recovered.map(Value::from)),
            ("every", every),
            ("alsoTell", self.alert_on.as_deref().map(also_told).transpose()?),
        ]));
        Ok((!action.is_empty()).then(|| action.into()))
    }

    const fn has_rules(&self) -> bool {
        self.alert_body.is_some()
            || self.alert_after.is_some()
            || self.alert_recovered.is_some()
            || self.alert_every.is_some()
            || self.alert_on.is_some()
    }
}

/// What is told beside failures. What is not named is told no more.
fn also_told(text: &str) -> Result<Value> {
    if text == "off" {
        return Ok(Value::Null);
    }
    let mut told = json!({"paused": null, "missed": null, "late": null, "behind": null});
    for one in text.split(',').map(str::trim) {
        let (name, value) = match one.split_once('=') {
            None if matches!(one, "paused" | "missed") => (one, true.into()),
            Some((name @ ("late" | "behind"), span)) => {
                (name, instant::written_span("--alert-on", span)?)
            }
            _ => {
                return Err(Failure::refused(format!(
                    "--alert-on '{one}' is none of paused, missed, late=5m and behind=10m"
                )));
            }
        };
        if let Some(told) = told.as_object_mut() {
            told.insert(name.to_owned(), value);
        }
    }
    Ok(told)
}

/// The action that tells a receiver. What another receiver had beside its URL goes.
fn receiver(text: &str) -> Result<Map<String, Value>> {
    let Some((format, url)) = text.split_once('=').filter(|(format, _)| !format.contains(':'))
    else {
        // It may be a URL, which is a secret, so it is not repeated.
        return Err(Failure::refused(
            "--alert: write the format and the URL that the receiver gave you, like slack=https://…",
        ));
    };
    let read;
    let url = match url.strip_prefix('@') {
        Some(path) => {
            read = input::secret(Path::new(path))?;
            read.trim()
        }
        None => url,
    };
    let is_https = url.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"));
    let kind = if is_https { "Https" } else { "Http" };
    let request = json!({"uri": url, "method": "POST", "headers": null, "body": null,
        "authentication": null});
    let action = json!({"type": kind, "format": format, "request": request});
    Ok(action.as_object().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(change: impl FnOnce(&mut AlertOptions)) -> Result<Option<Value>> {
        let mut options = AlertOptions::default();
        change(&mut options);
        options.on_failure()
    }

    #[test]
    fn options_become_a_failure_action() {
        assert_eq!(given(|_| {}).unwrap(), None);
        let slack =
            given(|it| it.alert = Some("slack=https://h.test/a=b".to_owned())).unwrap().unwrap();
        assert_eq!((&slack["type"], &slack["format"]), (&json!("Https"), &json!("slack")));
        assert_eq!(slack["request"]["uri"], "https://h.test/a=b");
        assert_eq!(given(|it| it.alert = Some("off".to_owned())).unwrap(), Some(Value::Null));
        let rules = given(|it| {
            it.alert_after = Some(2);
            it.alert_recovered = Some(true);
            it.alert_every = Some("1h".to_owned());
        });
        assert_eq!(
            rules.unwrap().unwrap(),
            json!({"after": 2, "recovered": true, "every": "PT3600S"})
        );
        let template = given(|it| {
            it.alert = Some("template=https://h.test/".to_owned());
            it.alert_body = Some("{{job}}".to_owned());
        });
        let template = template.unwrap().unwrap();
        assert_eq!(
            (&template["format"], &template["request"]["body"]),
            (&json!("template"), &json!("{{job}}"))
        );
        let body = given(|it| it.alert_body = Some("{{cause}}".to_owned())).unwrap();
        assert_eq!(body, Some(json!({"request": {"body": "{{cause}}"}})));
        let off = given(|it| it.alert_every = Some("off".to_owned())).unwrap();
        assert_eq!(off, Some(json!({"every": null})));
        let off = given(|it| it.alert_on = Some("off".to_owned())).unwrap();
        assert_eq!(off, Some(json!({"alsoTell": null})));
        let on = given(|it| it.alert_on = Some("paused, late=5m".to_owned())).unwrap();
        let also = json!({"paused": true, "missed": null, "late": "PT300S", "behind": null});
        assert_eq!(on, Some(json!({"alsoTell": also})));
    }

    #[test]
    fn a_wrong_option_is_refused_and_no_url_is_repeated() {
        for wrong in ["https://h.test/hunter2", "https://h.test/x?hunter2=1", "hunter2"] {
            let message = given(|it| it.alert = Some(wrong.to_owned())).unwrap_err().message;
            assert!(
                message.contains("slack=https://") && !message.contains("hunter2"),
                "{message}"
            );
        }
        for wrong in ["late", "paused=1", "lost", "", "late=x"] {
            let message = given(|it| it.alert_on = Some(wrong.to_owned())).unwrap_err().message;
            assert!(message.starts_with("--alert-on '"), "{message}");
        }
        let message = given(|it| {
            it.alert = Some("off".to_owned());
            it.alert_after = Some(2);
        });
        assert!(message.unwrap_err().message.contains("--alert off"));
    }
}
