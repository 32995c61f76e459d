//! What options change of a job that exists. What they do not name stays.

use chrono::{DateTime, Utc};
use minutehand_recurrence::format_instant;
use minutehand_recurrence::zone::Zone;
use serde_json::{Map, Value, json};

use super::action::ActionArgs;
use super::days::{Days, ORDINALS};
use super::policy::PolicyArgs;
use super::schedule::{Every, ScheduleArgs, zone_named};
use crate::failure::{Failure, Result};
use crate::instant;
use crate::merge::{EXTENSIONS, object};

/// What options change of a job that has these properties, as a merge patch of them.
pub(crate) fn changes(
    schedule: &ScheduleArgs,
    action: &ActionArgs,
    policies: &PolicyArgs,
    found: &Map<String, Value>,
    now: DateTime<Utc>,
) -> Result<Map<String, Value>> {
    let mut patch = timing(schedule, found, now)?;
    patch.extend(action.patch(found.get("action"))?.map(|action| ("action".to_owned(), action)));
    action.put_into(&mut patch)?;
    policies.put_into(&mut patch)?;
    without_other_choices(&mut patch);
    Ok(patch)
}

/// The part of a merge patch that changes when a job fires.
fn timing(
    given: &ScheduleArgs,
    found: &Map<String, Value>,
    now: DateTime<Utc>,
) -> Result<Map<String, Value>> {
    if !given.is_any_given() {
        return Ok(Map::new());
    }
    if given.is_empty() {
        return bounds(given, found, now);
    }
    let timings = over(given, found)?.timings(now)?;
    let [timing] = &timings[..] else {
        return Err(Failure::refused(
            "the cron expression names days of the month and days of the week, and fires on either: one \
             job cannot do that; create another one for the second",
        ));
    };
    let mut patch = Map::new();
    timing.replace(found, &mut patch);
    Ok(patch)
}

/// Changes only the zone, the start, the end or the count.
fn bounds(
    given: &ScheduleArgs,
    found: &Map<String, Value>,
    now: DateTime<Utc>,
) -> Result<Map<String, Value>> {
    let has_recurrence = recurrence_of(found).is_some();
    let stored = text_of(found, "timeZone").and_then(|name| Zone::named(&name));
    let zone = given.zone.as_deref().map(zone_named).transpose()?;
    let at = |text: &str| instant::parse(text, zone.or(stored), now).map(format_instant);
    let recurrence = object([
        ("timeZone", zone.map(|zone| zone.name().into())),
        ("count", given.count.map(Value::from)),
        ("endTime", given.end.as_deref().map(at).transpose()?.map(Value::from)),
    ]);
    if !recurrence.is_empty() && !has_recurrence {
        return Err(Failure::refused(
            "the job fires once: --at says when, and --every, or --at with --on or --daily, makes it \
             repeat",
        ));
    }
    Ok(object([
        ("startTime", given.start.as_deref().map(at).transpose()?.map(Value::from)),
        ("recurrence", (!recurrence.is_empty()).then(|| recurrence.into())),
    ]))
}

fn recurrence_of(found: &Map<String, Value>) -> Option<&Map<String, Value>> {
    found.get("recurrence")?.as_object()
}

fn text_of(found: &Map<String, Value>, name: &str) -> Option<String> {
    recurrence_of(found)?.get(name)?.as_str().map(ToOwned::to_owned)
}

/// The options, with those of the job in place of what is not given.
fn over(given: &ScheduleArgs, found: &Map<String, Value>) -> Result<ScheduleArgs> {
    let mut args = given.clone();
    args.zone = args.zone.or_else(|| text_of(found, "timeZone"));
    if args.once {
        return Ok(args);
    }
    let start = || found.get("startTime").and_then(Value::as_str).map(ToOwned::to_owned);
    let Some(stored) = recurrence_of(found) else {
        // It fires once, and goes on doing so unless it is said that it repeats.
        args.once = args.at.is_some()
            && args.on.is_none()
            && !args.daily
            && args.every.is_none()
            && args.cron.is_none();
        return Ok(args);
    };
    args.start = args.start.or_else(start);
    args.end = args.end.or_else(|| text_of(found, "endTime"));
    let count = stored.get("count").and_then(Value::as_u64);
    args.count = args.count.or_else(|| count.and_then(|count| u32::try_from(count).ok()));
    if args.cron.is_some() {
        return Ok(args);
    }
    let unit = text_of(found, "frequency").unwrap_or_default();
    let names_times = args.at.is_some() || args.on.is_some() || args.daily || args.months.is_some();
    let schedule = stored.get("schedule").and_then(Value::as_object).filter(|it| !it.is_empty());
    if let (Some(every), false) = (&args.every, names_times) {
        let every = Every::parse(every)?;
        if schedule.is_none() || ["minute", "hour"].contains(&every.unit) {
            return Ok(args);
        }
        if every.unit != unit {
            return Err(Failure::refused(format!(
                "--every with {}s does not fit the days of the job, which repeat by the {unit}",
                every.unit
            ))
            .hint("say the days and times, too: --at 09:00 with --on or --daily"));
        }
    }
    let empty = Map::new();
    let schedule = schedule.unwrap_or(&empty);
    if args.at.is_none() {
        args.at = Some(times(schedule)?);
    }
    if args.months.is_none() {
        args.months = numbers(schedule, "months").map(|months| joined(&months));
    }
    if args.on.is_none() && !args.daily {
        if unit == "day" {
            args.daily = true;
        } else {
            args.on = Some(days(schedule, args.months.is_some())?);
        }
    }
    if args.every.is_none() {
        let days = args.on.as_deref().map_or(Ok(Days::Daily), Days::parse)?;
        let interval = stored.get("interval").and_then(Value::as_u64).unwrap_or(1);
        if interval > 1 && days.schedule(args.months.is_some()).0 == unit {
            args.every = Some(format!("{interval}{unit}"));
        }
    }
    Ok(args)
}

/// The times of a schedule, as `--at` names them.
fn times(schedule: &Map<String, Value>) -> Result<String> {
    let (Some(hours), Some(minutes)) = (numbers(schedule, "hours"), numbers(schedule, "minutes"))
    else {
        return Err(Failure::refused("the time of day is missing: add --at 09:00"));
    };
    let times = hours.iter().flat_map(|hour| minutes.iter().map(move |minute| (hour, minute)));
    let times = times.map(|(hour, minute)| format!("{hour:02}:{minute:02}"));
    Ok(times.collect::<Vec<_>>().join(","))
}

/// The days of a schedule, as `--on` names them.
fn days(schedule: &Map<String, Value>, has_months: bool) -> Result<String> {
    let missing =
        || Failure::refused("the days are missing: add --on mon-fri, or --on 1, or --daily");
    if let Some(Value::Array(days)) = schedule.get("weekDays") {
        let days: Vec<&str> = days.iter().filter_map(Value::as_str).collect();
        return Ok(days.join(","));
    }
    if let Some(days) = numbers(schedule, "monthDays") {
        return Ok(joined(&days));
    }
    let Some(Value::Array(found)) = schedule.get("monthlyOccurrences") else {
        return Err(missing());
    };
    let named = found.iter().map(|one| {
        let day = one.get("day")?.as_str()?;
        match one.get("occurrence").and_then(Value::as_i64) {
            // Every such weekday is that of a week, unless months are named.
            None => has_months.then(|| day.to_owned()),
            Some(nth) => {
                let (word, ..) = ORDINALS.iter().find(|(.., number)| i64::from(*number) == nth)?;
                Some(format!("{word}-{day}"))
            }
        }
    });
    let named: Option<Vec<String>> = named.collect();
    named.map(|days| days.join(",")).ok_or_else(missing)
}

fn numbers(schedule: &Map<String, Value>, name: &str) -> Option<Vec<i64>> {
    schedule.get(name)?.as_array()?.iter().map(Value::as_i64).collect()
}

fn joined(numbers: &[i64]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Removes from a job what belongs to the other choices of a policy that a patch changes.
fn without_other_choices(patch: &mut Map<String, Value>) {
    let Some(Value::Object(extensions)) = patch.get_mut(EXTENSIONS) else { return };
    if let Some(Value::Object(catch_up)) = extensions.get_mut("catchUp") {
        catch_up.entry("max").or_insert(Value::Null);
        if catch_up.get("policy") != Some(&json!("all")) {
            catch_up.insert("window".to_owned(), Value::Null);
        }
    }
    let Some(Value::Object(retry)) = extensions.get_mut("retry") else { return };
    if retry.get("backoff") == Some(&json!("fixed")) {
        for name in ["factor", "maxInterval"] {
            retry.insert(name.to_owned(), Value::Null);
        }
    }
    if let Some(Value::Object(retry_after)) = retry.get_mut("retryAfter") {
        for name in ["honour", "max"] {
            retry_after.entry(name).or_insert(Value::Null);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The timing of a job after a line of options.
    fn after(line: &str, found: Value) -> Result<Value> {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: ScheduleArgs,
        }
        let words = std::iter::once("x").chain(line.split(' '));
        let args = <Line as clap::Parser>::try_parse_from(words).unwrap().args;
        let now = "2026-11-22T10:15:30Z".parse().unwrap();
        let patch = timing(&args, found.as_object().unwrap(), now)?;
        // As the server merges them, with a schedule that is replaced whole.
        let mut merged = found;
        let object = merged.as_object_mut().unwrap();
        for (name, value) in patch {
            if value.is_null() {
                object.remove(&name);
                continue;
            }
            match (object.entry(name).or_insert(Value::Null), value) {
                (Value::Object(old), Value::Object(new)) => {
                    old.extend(new);
                    old.retain(|_, value| !value.is_null());
                }
                (old, new) => *old = new,
            }
        }
        Ok(merged)
    }

    fn weekly() -> Value {
        json!({"startTime": "2026-01-01T00:00:00Z", "recurrence": {"frequency": "week", "interval": 2,
            "timeZone": "Europe/Berlin", "count": 9, "endTime": "2030-01-01T00:00:00Z",
            "schedule": {"hours": [8, 17], "minutes": [0, 30], "weekDays": ["monday", "friday"]}}})
    }

    fn with(mut job: Value, pointer: &str, value: Value) -> Value {
        *job.pointer_mut(pointer).unwrap() = value;
        job
    }

    #[test]
    fn what_no_option_names_stays() {
        let schedule = "/recurrence/schedule";
        for (line, pointer, value) in [
            (
                "--at 10:00",
                schedule,
                json!({"hours": [10], "minutes": [0], "weekDays": ["monday", "friday"]}),
            ),
            (
                "--on sat",
                schedule,
                json!({"hours": [8, 17], "minutes": [0, 30], "weekDays": ["saturday"]}),
            ),
            ("--every 3w", "/recurrence/interval", json!(3)),
            ("--zone Asia/Tokyo", "/recurrence/timeZone", json!("Asia/Tokyo")),
            ("--count 3", "/recurrence/count", json!(3)),
            ("--end 2029-01-01", "/recurrence/endTime", json!("2028-12-31T23:00:00Z")),
            ("--start 2027-01-01", "/startTime", json!("2026-12-31T23:00:00Z")),
        ] {
            assert_eq!(after(line, weekly()).unwrap(), with(weekly(), pointer, value), "{line}");
        }
    }

    #[test]
    fn other_days_and_intervals_keep_times_zone_and_bounds() {
        let bounds =
            json!({"timeZone": "Europe/Berlin", "count": 9, "endTime": "2030-01-01T00:00:00Z"});
        for (line, recurrence) in [
            (
                "--daily",
                json!({"frequency": "day", "schedule": {"hours": [8, 17], "minutes": [0, 30]}}),
            ),
            (
                "--on 1,last",
                json!({"frequency": "month", "schedule":
                {"hours": [8, 17], "minutes": [0, 30], "monthDays": [-1, 1]}}),
            ),
            ("--every 30m", json!({"frequency": "minute", "interval": 30})),
            (
                "--at 09:00 --on first-mon --months jan",
                json!({"frequency": "month", "schedule":
                {"hours": [9], "minutes": [0], "months": [1],
                 "monthlyOccurrences": [{"day": "monday", "occurrence": 1}]}}),
            ),
        ] {
            let mut expected = bounds.clone();
            expected.as_object_mut().unwrap().extend(recurrence.as_object().unwrap().clone());
            let changed = after(line, weekly()).unwrap();
            assert_eq!(changed["recurrence"], expected, "{line}");
            assert_eq!(changed["startTime"], "2026-01-01T00:00:00Z");
        }
        let monthly = json!({"recurrence": {"frequency": "month", "schedule": {"hours": [9], "minutes": [0],
            "months": [1, 7], "monthlyOccurrences": [{"day": "friday", "occurrence": -1}]}}});
        let changed = after("--at 10:30", monthly.clone()).unwrap();
        let mut expected = monthly["recurrence"].clone();
        expected["schedule"]["hours"] = json!([10]);
        expected["schedule"]["minutes"] = json!([30]);
        assert_eq!(changed["recurrence"], expected);
        assert_eq!(
            changed["startTime"], "2026-11-22T10:16:00Z",
            "it would run at once without one"
        );
    }

    #[test]
    fn a_job_that_fires_once_gets_another_instant_or_repeats() {
        let once = json!({"startTime": "2027-01-01T00:00:00Z"});
        let changed = after("--at 2027-02-01T00:00Z", once.clone()).unwrap();
        assert_eq!(changed, json!({"startTime": "2027-02-01T00:00:00Z"}));
        let changed = after("--at 09:00 --daily", once.clone()).unwrap();
        assert_eq!(changed["recurrence"]["frequency"], "day");
        let changed = after("--at 18:00 --once", weekly()).unwrap();
        assert_eq!(changed, json!({"startTime": "2026-11-22T17:00:00Z"}));
        assert!(after("--zone UTC", once).unwrap_err().message.contains("the job fires once"));
    }

    #[test]
    fn what_cannot_be_meant_says_what_to_add() {
        let interval = json!({"recurrence": {"frequency": "hour", "interval": 2}});
        let yearly = json!({"recurrence": {"frequency": "year", "schedule": {"months": [1]}}});
        for (line, found, says) in [
            ("--every 2d", weekly(), "--every with days does not fit the days of the job"),
            ("--on mon", interval.clone(), "the time of day is missing: add --at 09:00"),
            ("--at 09:00", interval, "the days are missing: add --on"),
            ("--at 09:00", yearly, "the days are missing: add --on"),
        ] {
            let message = after(line, found).unwrap_err().message;
            assert!(message.contains(says), "{line}: {message}");
        }
    }

    #[test]
    fn a_policy_that_changes_leaves_nothing_of_the_one_before() {
        let mut patch = json!({"minutehand": {"catchUp": {"policy": "last"}, "retry":
            {"backoff": "fixed", "retryAfter": {"honour": false}}}});
        without_other_choices(patch.as_object_mut().unwrap());
        assert_eq!(
            patch,
            json!({"minutehand": {"catchUp": {"policy": "last", "max": null, "window": null},
                "retry": {"backoff": "fixed", "factor": null, "maxInterval": null,
                    "retryAfter": {"honour": false, "max": null}}}})
        );
    }
}
