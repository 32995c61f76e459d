//! `job snooze` and `collection snooze`: nothing of it is shown as needing someone, until an instant.

use chrono::{DateTime, SubsecRound as _, Utc};
use clap::Args;
use minutehand_client::Precondition;
use minutehand_recurrence::format_instant;
use minutehand_recurrence::zone::Zone;
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Result};
use crate::instant::{self, span_of};
use crate::output::times::{Times, read};
use crate::work::{Work, in_collection, zone_of, zone_of_collection};

/// The property of jobs and collections, which the server holds.
pub(crate) const SNOOZED_UNTIL: &str = "snoozedUntil";

/// The arguments of `job snooze`.
#[derive(Debug, Args)]
pub(crate) struct SnoozeJob {
    /// Name of the job, or COLLECTION/JOB
    name: String,
    #[command(flatten)]
    until: Until,
}

/// The arguments of `collection snooze`.
#[derive(Debug, Args)]
pub(crate) struct SnoozeCollection {
    /// Name of the collection
    name: String,
    #[command(flatten)]
    until: Until,
}

#[derive(Debug, Args)]
struct Until {
    /// For how long or until when, at most 30 days: 2h, 2026-12-01, 'tomorrow 09:00'; off ends it
    #[arg(value_name = "UNTIL", allow_hyphen_values = true)]
    until: String,
}

pub(crate) async fn job(work: &Work, args: &SnoozeJob) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    let zone = zone_of(&work.client().job(&path).await?.value.properties);
    let until = until(&args.until.until, zone, work.now())?;
    let answer = work.client().patch_job(&path, &changes(until), Precondition::Always).await?;
    tell(work, &answer.text, &work.defaults().short_job(&path), until, zone)
}

pub(crate) async fn collection(work: &Work, args: &SnoozeCollection) -> Result<()> {
    let path = work.defaults().collection(Some(&args.name))?;
    let found = work.client().collection(&path).await.map_err(in_collection(work, &path))?;
    let zone = zone_of_collection(&found.value.properties.rest);
    let until = until(&args.until.until, zone, work.now())?;
    let answer = work.client().patch_collection(&path, &changes(until)).await?;
    tell(work, &answer.text, &work.defaults().short_collection(&path), until, zone)
}

/// Until when something is to be snoozed; `None` if it is not to be any more.
pub(crate) fn until(
    text: &str,
    zone: Option<Zone>,
    now: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>> {
    if text == "off" {
        return Ok(None);
    }
    let now = now.trunc_subsecs(0);
    let span = span_of(&text.to_ascii_lowercase()).map(|span| now.checked_add_signed(span));
    match span {
        Some(Some(until)) => Ok(Some(until)),
        Some(None) => Err(Failure::refused(format!("'{text}' is longer than 30 days"))),
        None => instant::parse(text, zone, now).map(Some),
    }
}

fn changes(until: Option<DateTime<Utc>>) -> Value {
    json!({"properties": {"minutehand": {SNOOZED_UNTIL: until.map(format_instant)}}})
}

fn tell(
    work: &Work,
    json: &str,
    name: &str,
    until: Option<DateTime<Utc>>,
    zone: Option<Zone>,
) -> Result<()> {
    let says = match until {
        Some(until) => {
            let until = work.times(zone).at(until);
            format!("{name} is snoozed until {until}: it fires and alerts as before")
        }
        None => format!("{name} is not snoozed"),
    };
    work.tell(json, &says)
}

/// Until when something with these extensions is snoozed, in words; `None` if it is not.
pub(crate) fn told(extensions: &Value, times: &Times) -> Option<String> {
    let until = extensions.get(SNOOZED_UNTIL)?.as_str()?;
    (read(until)? > times.now).then(|| format!("until {}", times.written(until)))
}

/// Takes it out of the properties of a job or a collection that are to be kept in a file.
pub(crate) fn leave_out(properties: &mut Map<String, Value>) {
    if let Some(Value::Object(extensions)) = properties.get_mut("minutehand")
        && extensions.remove(SNOOZED_UNTIL).is_some()
        && extensions.is_empty()
    {
        properties.remove("minutehand");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snooze_is_a_span_an_instant_or_off() {
        let now = read("2026-11-22T14:30:00Z").unwrap();
        let parsed = |text: &str| {
            let until = until(text, Zone::named("Europe/Berlin"), now)?;
            Ok::<_, Failure>(until.map(format_instant))
        };
        for (text, expected) in [
            ("2h", Some("2026-11-22T16:30:00Z")),
            ("1d12h", Some("2026-11-24T02:30:00Z")),
            ("+2h", Some("2026-11-22T16:30:00Z")),
            ("2026-12-01", Some("2026-11-30T23:00:00Z")),
            ("tomorrow 09:00", Some("2026-11-23T08:00:00Z")),
            ("off", None),
        ] {
            assert_eq!(parsed(text).unwrap().as_deref(), expected, "{text}");
        }
        assert!(parsed("soon").unwrap_err().message.contains("is not an instant"));
    }

    #[test]
    fn a_file_does_not_have_it() {
        let mut properties = json!({"minutehand": {SNOOZED_UNTIL: "x"}, "state": "enabled"});
        leave_out(properties.as_object_mut().unwrap());
        assert_eq!(properties, json!({"state": "enabled"}));
        let mut properties = json!({"minutehand": {SNOOZED_UNTIL: "x", "timeout": "PT5S"}});
        leave_out(properties.as_object_mut().unwrap());
        assert_eq!(properties, json!({"minutehand": {"timeout": "PT5S"}}));
    }
}
