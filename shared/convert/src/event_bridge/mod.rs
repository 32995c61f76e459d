//! Schedules of `EventBridge`: as the AWS clients print them, and in templates of `CloudFormation`.
//!
//! | read | from |
//! |---|---|
//! | schedules | `aws scheduler get-schedule`, or `get_schedule` of boto3: one, a list, or one after the other |
//! | `AWS::Scheduler::Schedule`, `AWS::Events::Rule`, events of `AWS::Serverless::Function` | a template in JSON or YAML, with its parameters |

mod expression;
mod target;
mod template;

use chrono::{DateTime, SubsecRound, TimeDelta};
use minutehand_recurrence::{Recurrence, Rule, Timetable, WrittenDate, format_instant};
use serde_json::{Map, Value, json};

use crate::ConvertOptions;
use crate::document::{Format, property, text};
use crate::draft::{Draft, Drafts};
use crate::report::{ProblemKind, SourcePlace};
use crate::unsayable::{Unsayable, quoted};
use expression::Window;
use template::Template;

/// What `EventBridge` does with a time that the clock skips.
const SKIPPED_TIME: &str = "EventBridge leaves it out";

/// The longest jitter of a job.
const WINDOW_MINUTES_MAX: u64 = 24 * 60;

/// What `EventBridge` replaces in the input of a target.
const CONTEXT_ATTRIBUTES: &str = "<aws.scheduler.";

/// The documents of this format.
pub(crate) const FORMAT: Format = Format { object: convert_object, unknown: unknown_document };

fn convert_object(
    object: &Map<String, Value>,
    place: &SourcePlace,
    options: &ConvertOptions,
    drafts: &mut Drafts,
) -> Result<(), Unsayable> {
    if let Some(resources) = object.get("Resources").and_then(Value::as_object) {
        return template::convert(object, resources, options, drafts);
    }
    if let Some(list @ Value::Array(_)) = object.get("Schedules").or_else(|| object.get("Rules")) {
        let name = if object.contains_key("Schedules") { "Schedules" } else { "Rules" };
        return FORMAT.convert_value(list, &place.within(name), options, drafts);
    }
    if !object.contains_key("Name") && !object.contains_key("ScheduleExpression") {
        return Err(unknown_document());
    }
    let none = Template::none(options);
    let name = text(object, "Name").unwrap_or("schedule").to_owned();
    add(&Source { name, properties: object, place, template: &none }, drafts)
}

fn unknown_document() -> Unsayable {
    Unsayable::new(
        "the file has no schedule of EventBridge",
        "give what 'aws scheduler get-schedule' prints, or a template of CloudFormation",
    )
}

/// A schedule or a rule.
struct Source<'a> {
    name: String,
    properties: &'a Map<String, Value>,
    place: &'a SourcePlace,
    template: &'a Template<'a>,
}

/// Adds the jobs of a schedule: one for each target.
fn add(source: &Source<'_>, drafts: &mut Drafts) -> Result<(), Unsayable> {
    if source.properties.contains_key("EventPattern")
        && !source.properties.contains_key("ScheduleExpression")
    {
        // A rule for events is not a schedule.
        return Ok(());
    }
    drafts.add(source.place, |drafts| source.drafts(drafts))
}

impl Source<'_> {
    fn drafts(&self, drafts: &Drafts) -> Result<Vec<Draft>, Unsayable> {
        let Some(expression) = self.text("ScheduleExpression")? else {
            return Err(Unsayable::new(
                "the schedule does not say when it fires, as in the answer of list-schedules",
                "give the answer of 'aws scheduler get-schedule' for it",
            ));
        };
        let window = Window {
            now: drafts.now,
            zone: self.text("ScheduleExpressionTimezone")?,
            start: self.instant("StartDate")?,
            end: self.instant("EndDate")?,
            created: self.instant("CreationDate")?,
        };
        let times = window.read(&expression)?;
        let mut notes = self.notes(&expression);
        let jitter = self.jitter(times.recurrence.as_ref(), &mut notes)?;
        let targets = self.targets()?;
        let is_one = targets.len() == 1;
        let mut all = Vec::new();
        for (n, (place, target)) in targets.into_iter().enumerate() {
            let target = target.as_object().ok_or_else(|| {
                Unsayable::new("the target is not an object", "give the schedule as it is answered")
            })?;
            let read = target::read(target, self.is_rule())?;
            let name = if is_one { self.name.clone() } else { format!("{}-{}", self.name, n + 1) };
            let mut notes: Vec<_> =
                notes.iter().filter(|_| n == 0).cloned().chain(read.notes).collect();
            notes.extend(times.notes.iter().cloned());
            all.push(Draft {
                name,
                place,
                start_time: Some(format_instant(times.start).into()),
                recurrence: times.recurrence.clone(),
                action: read.action,
                extensions: read.extensions.into_iter().chain(jitter.clone()).collect(),
                is_enabled: self.is_enabled()?,
                skipped_time: Some(SKIPPED_TIME),
                notes,
            });
        }
        Ok(all)
    }

    /// Whether it is a rule of an event bus, not a schedule of the scheduler.
    fn is_rule(&self) -> bool {
        self.properties.contains_key("Targets")
    }

    fn targets(&self) -> Result<Vec<(SourcePlace, Value)>, Unsayable> {
        if let Some(target) = self.property("Target")? {
            return Ok(vec![(self.place.clone(), target)]);
        }
        let place = self.place.within("Targets");
        let targets = property(self.properties, "Targets").and_then(Value::as_array);
        let targets = targets
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(n, target)| Ok((place.entry(n), self.template.resolve(target)?)));
        let targets: Vec<_> = targets.collect::<Result<_, Unsayable>>()?;
        if targets.is_empty() {
            let why = "the schedule has no target";
            return Err(Unsayable::new(why, "give the schedule with its target"));
        }
        Ok(targets)
    }

    /// What a job does not say of a schedule, beside its target.
    fn notes(&self, expression: &str) -> Vec<(ProblemKind, Unsayable)> {
        let mut notes = Vec::new();
        let mut note = |why: String, remedy: &str| {
            notes.push((ProblemKind::Changed, Unsayable::new(why, remedy)));
        };
        if text(self.properties, "ActionAfterCompletion") == Some("DELETE") {
            note(
                "EventBridge deletes the schedule after its end; the job stays, as completed"
                    .to_owned(),
                "delete it when you like",
            );
        }
        if expression.starts_with("at(") && property(self.properties, "EndDate").is_some() {
            note(
                "the EndDate of a schedule that runs once has no effect".to_owned(),
                "leave it out",
            );
        }
        notes
    }

    /// The flexible window as jitter: the job starts at an instant of the window, always the same one.
    fn jitter(
        &self,
        recurrence: Option<&Value>,
        notes: &mut Vec<(ProblemKind, Unsayable)>,
    ) -> Result<Option<(String, Value)>, Unsayable> {
        let Some(Value::Object(window)) = self.property("FlexibleTimeWindow")? else {
            return Ok(None);
        };
        let mode = text(&window, "Mode").unwrap_or_default();
        let minutes = property(&window, "MaximumWindowInMinutes").and_then(target::number);
        let Some(minutes) = minutes.filter(|_| mode.eq_ignore_ascii_case("FLEXIBLE")) else {
            return Ok(None);
        };
        // Two starts of a job must not change places, so a window is at most half of what is between them.
        let gap = recurrence.and_then(smallest_gap);
        let most = gap.map_or(WINDOW_MINUTES_MAX, |gap| (gap.num_minutes() / 2).unsigned_abs());
        let kept = minutes.min(most).min(WINDOW_MINUTES_MAX);
        if kept < minutes {
            let why = format!(
                "the flexible window of {minutes} minutes is longer than the job's occurrences allow; \
                 the job is spread over {kept} minutes"
            );
            let remedy = "set minutehand.jitter, or leave it out";
            notes.push((ProblemKind::Changed, Unsayable::new(why, remedy)));
        }
        let jitter = || ("jitter".to_owned(), json!({"window": format!("PT{kept}M")}));
        Ok((kept > 0).then(jitter))
    }

    fn is_enabled(&self) -> Result<bool, Unsayable> {
        Ok(self.text("State")?.is_none_or(|state| !state.eq_ignore_ascii_case("DISABLED")))
    }

    /// A property of the schedule, with what the template puts in place of its expressions.
    fn property(&self, name: &str) -> Result<Option<Value>, Unsayable> {
        property(self.properties, name).map(|value| self.template.resolve(value)).transpose()
    }

    /// A text of the schedule.
    fn text(&self, name: &str) -> Result<Option<String>, Unsayable> {
        match self.property(name)? {
            Some(Value::String(text)) => Ok(Some(text)),
            None | Some(Value::Null) => Ok(None),
            Some(other) => Err(Unsayable::new(
                format!("{name} is {}, and not a text", quoted(&other.to_string())),
                "give the schedule as it is answered",
            )),
        }
    }

    /// An instant of the schedule: text, or seconds since 1970.
    fn instant(&self, name: &str) -> Result<Option<chrono::DateTime<chrono::Utc>>, Unsayable> {
        let Some(value) = self.property(name)? else { return Ok(None) };
        let instant = match &value {
            Value::Number(seconds) => seconds
                .as_f64()
                .and_then(|seconds| chrono::DateTime::from_timestamp_millis(whole(seconds * 1e3))),
            Value::String(text) => WrittenDate::parse(&text.trim().replacen(' ', "T", 1))
                .and_then(|date| date.instant(None))
                .ok(),
            _ => None,
        };
        let wrong = || {
            let why = format!("{name} is {}, and not a date", quoted(&value.to_string()));
            Unsayable::new(why, "write a date such as 2027-01-31T09:30:00Z")
        };
        instant.map(|at| Some(at.trunc_subsecs(0))).ok_or_else(wrong)
    }
}

/// The shortest time between two occurrences; `None` if it is not known.
fn smallest_gap(recurrence: &Value) -> Option<TimeDelta> {
    let rule = Recurrence::from_json(recurrence).and_then(|read| Rule::canonical(&read)).ok()?;
    Timetable::new(&rule, None, DateTime::UNIX_EPOCH).ok()?.smallest_gap()
}

#[expect(clippy::cast_possible_truncation, reason = "instants have far fewer digits than an i64")]
fn whole(number: f64) -> i64 {
    number.round() as i64
}

#[cfg(test)]
mod tests;
