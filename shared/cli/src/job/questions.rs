//! `job create --interactive`: asks for what the options do not say.
//!
//! Each answer is read as the option of the same meaning is, at once, so that what is wrong is asked
//! again. The options that the answers stand for are printed at the end.

use chrono::{DateTime, Utc};

use super::action::ActionArgs;
use super::create::CreateArgs;
use super::schedule::{ScheduleArgs, zone_named};
use crate::failure::{Failure, Result};
use crate::output::ask;
use crate::work::Work;

/// The ways to say when a job fires.
const WHEN: [&str; 4] =
    ["at a time of day, on some days", "at an interval", "one time", "by a cron expression"];
/// The most retries of an action, and how many there are if nothing else is said.
const RETRIES_MAX: u32 = 20;
const RETRIES: &str = "4";
/// The methods that usually have a body.
const WITH_BODY: [&str; 3] = ["POST", "PUT", "PATCH"];

/// The arguments with the answers to what they do not say.
pub(super) fn ask(work: &Work, args: &CreateArgs) -> Result<CreateArgs> {
    ask::needs_terminal(&work.screen, "ask questions", "say it with options; --help lists them")?;
    let mut args = args.clone();
    if args.name.is_none() {
        let is_name = |text: &str| work.defaults().job(text).map(drop);
        args.name = Some(ask::text("Name of the job", None, is_name)?);
    }
    if args.schedule.is_empty() {
        ask_when(&mut args.schedule, work.now())?;
    }
    if args.action.url.is_none() {
        ask_what(&mut args.action)?;
    }
    Ok(args)
}

fn ask_when(schedule: &mut ScheduleArgs, now: DateTime<Utc>) -> Result<()> {
    let has_zone = schedule.zone.is_some();
    // What else is given, such as an end, is checked with each answer.
    let base = schedule.clone();
    let reads = |answered: ScheduleArgs| answered.timings(now).map(drop);
    match ask::choice("When does it fire?", &WHEN)? {
        0 => {
            let at = |text: &str| ScheduleArgs {
                at: Some(text.to_owned()),
                daily: true,
                ..base.clone()
            };
            let at = at(&ask::text("Time of day, such as 09:00", None, |text| reads(at(text)))?);
            let on = |text: &str| match text {
                "daily" => at.clone(),
                days => ScheduleArgs { daily: false, on: Some(days.to_owned()), ..at.clone() },
            };
            let prompt = "Days: daily, mon-fri, 1,15,last, first-mon";
            *schedule = on(&ask::text(prompt, Some("daily"), |text| reads(on(text)))?);
        }
        1 => {
            let every = |text: &str| ScheduleArgs { every: Some(text.to_owned()), ..base.clone() };
            let prompt = "Interval: 15m, 2h, 1d, 2w, 1mo";
            *schedule = every(&ask::text(prompt, Some("1h"), |text| reads(every(text)))?);
        }
        2 => {
            let once =
                |text: &str| ScheduleArgs { at: Some(text.to_owned()), once: true, ..base.clone() };
            let prompt = "When: 18:00, tomorrow 09:00, 2030-12-24 18:00";
            *schedule = once(&ask::text(prompt, None, |text| reads(once(text)))?);
        }
        _ => {
            let cron = |text: &str| ScheduleArgs { cron: Some(text.to_owned()), ..base.clone() };
            let prompt = "Cron expression, such as 0 9 * * mon-fri";
            *schedule = cron(&ask::text(prompt, None, |text| reads(cron(text)))?);
        }
    }
    if !has_zone && schedule.every.is_none() {
        let is_zone = |text: &str| match text {
            "" => Ok(()),
            zone => zone_named(zone).map(drop),
        };
        let prompt = "Time zone, such as Europe/Berlin; empty for the collection's, else UTC";
        let zone = ask::text(prompt, Some(""), is_zone)?;
        schedule.zone = Some(zone).filter(|zone| !zone.is_empty());
    }
    Ok(())
}

fn ask_what(action: &mut ActionArgs) -> Result<()> {
    let base = action.clone();
    let url = |text: &str| ActionArgs { url: Some(text.to_owned()), ..base.clone() };
    *action = url(&ask::text("URL to call", None, |text| url(text).action().map(drop))?);
    if action.method.is_none() {
        let method = ask::text("Method", Some("GET"), |_| Ok(()))?.to_uppercase();
        let has_body = action.body.is_some() || action.body_file.is_some();
        if WITH_BODY.contains(&method.as_str()) && !has_body {
            let body = ask::text("Body; empty for none", Some(""), |_| Ok(()))?;
            action.body = Some(body).filter(|body| !body.is_empty());
        }
        action.method = Some(method);
    }
    if action.retry.is_none() {
        let retries = ask::text("Retries after a failed attempt", Some(RETRIES), |text| {
            retries(text).map(drop)
        })?;
        action.retry = Some(self::retries(&retries)?);
    }
    Ok(())
}

fn retries(text: &str) -> Result<u32> {
    let retries = text.parse().ok().filter(|retries| *retries <= RETRIES_MAX);
    retries.ok_or_else(|| Failure::refused(format!("give a number from 0 to {RETRIES_MAX}")))
}

/// The command that creates the job without questions.
pub(super) fn command(args: &CreateArgs) -> String {
    let CreateArgs { name, schedule, action, disabled, replace, .. } = args;
    let mut words = vec!["minutehand job create".to_owned()];
    words.extend(name.as_deref().map(quoted));
    let options = [
        ("--at", &schedule.at),
        ("--on", &schedule.on),
        ("--every", &schedule.every),
        ("--cron", &schedule.cron),
        ("--months", &schedule.months),
        ("--zone", &schedule.zone),
        ("--start", &schedule.start),
        ("--end", &schedule.end),
        ("--url", &action.url),
        ("--method", &action.method),
        ("--body", &action.body),
    ];
    let given = options.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    words.extend(given.map(|(name, value)| format!("{name} {}", quoted(value))));
    words.extend(action.retry.map(|retries| format!("--retry {retries}")));
    let flags = [
        ("--daily", schedule.daily),
        ("--once", schedule.once),
        ("--disabled", *disabled),
        ("--replace", *replace),
    ];
    words.extend(flags.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name.to_owned()));
    words.join(" ")
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,@+=%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_for_a_shell() {
        for (word, expected) in [
            ("mon-fri", "mon-fri"),
            ("https://a/?b=c&d", "'https://a/?b=c&d'"),
            ("0 9 * * 1", "'0 9 * * 1'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn retries_are_counted_from_none_to_twenty() {
        assert_eq!(retries("0").unwrap(), 0);
        assert_eq!(retries("20").unwrap(), 20);
        for wrong in ["21", "-1", "many", ""] {
            assert!(retries(wrong).unwrap_err().message.contains("from 0 to 20"), "{wrong}");
        }
    }
}
