//! Cron expressions as recurrences.
//!
//! An expression is read into sets, by one of two dialects, and the sets are written as recurrences.
//! What a recurrence cannot say exactly is refused with the reason. Nothing is approximated.
//!
//! | | [`Cron::unix`] | [`Cron::event_bridge`] |
//! |---|---|---|
//! | fields | minute, hour, day of month, month, day of week | the same and a year |
//! | Sunday | 0 or 7 | 1 |
//! | both kinds of days | either one matches: two recurrences | refused, as by `EventBridge` |
//! | `@daily` and the like | yes | no |
//!
//! In both, `L` is the last day of the month, `5L` the last such weekday and `5#2` the second one.
//! `W`, the weekday nearest to a day, has no recurrence.

mod days;
mod field;
mod write;

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use minutehand_recurrence::zone::{self, Zone};
use minutehand_recurrence::{Recurrence, Refused, Rule, Timetable};
use serde_json::Value;

use crate::unsayable::{Unsayable, quoted};
use days::{Days, MonthDays, WeekDays};
use field::{HOURS, MINUTES, MONTHS, Set, YEARS};

/// The most characters of an expression. The longest useful one lists every minute.
const EXPRESSION_CHARS_MAX: usize = 512;

/// A cron expression, read.
///
/// ```
/// use minutehand_convert::cron::Cron;
///
/// let now = chrono::DateTime::UNIX_EPOCH;
/// let timings = Cron::unix("30 2 * * mon-fri")?.timings(Some("Europe/Berlin"), now)?;
/// assert_eq!(timings.len(), 1);
/// assert_eq!(
///     timings[0].recurrence.to_string(),
///     r#"{"frequency":"week","interval":1,"schedule":{"minutes":[30],"hours":[2],"weekDays":["monday","tuesday","wednesday","thursday","friday"]},"timeZone":"Europe/Berlin"}"#,
/// );
/// assert_eq!(
///     timings[0].timetable.sentence(),
///     "every week on Monday, Tuesday, Wednesday, Thursday and Friday at 02:30 Europe/Berlin time",
/// );
///
/// let refused = Cron::unix("0 9 15W * *").unwrap_err();
/// assert!(refused.why.contains("'15W'"));
/// # Ok::<(), minutehand_convert::Unsayable>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    minutes: Set,
    hours: Set,
    days: Days,
    months: Set,
    /// The first and the last year; `None` means every year.
    years: Option<(u32, u32)>,
}

/// When a converted job fires: its `startTime`, its recurrence, and the same compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronTiming {
    /// The `startTime` of the job: the minute of the conversion. It is in the past, so a job that is
    /// created with it does not fire at once.
    pub start_time: DateTime<Utc>,
    /// The `recurrence` of the job, as JSON.
    pub recurrence: Value,
    /// Both, compiled.
    pub timetable: Timetable,
}

impl Cron {
    /// Reads an expression of five fields as in a crontab, or a name such as `@daily`.
    ///
    /// As in a crontab, an expression that restricts both kinds of days matches a day that either of
    /// them names, unless one of them begins with `*`; then both have to match.
    ///
    /// # Errors
    ///
    /// If the expression is wrong, or says something that no recurrence says.
    pub fn unix(expression: &str) -> Result<Self, Unsayable> {
        let expression = check_length(expression)?;
        let expression = match expression.strip_prefix('@') {
            Some(name) => named(name)?,
            None => expression,
        };
        let fields: Vec<&str> = expression.split_whitespace().collect();
        let &[minutes, hours, month_days, months, week_days] = fields.as_slice() else {
            return Err(wrong_count(expression, &fields));
        };
        let stars = [month_days, week_days].map(|field| field.starts_with(['*', '?']));
        let days = Days::unix(MonthDays::read(month_days)?, WeekDays::unix(week_days)?, stars)?;
        Ok(Self {
            minutes: MINUTES.read(minutes)?,
            hours: HOURS.read(hours)?,
            days,
            months: MONTHS.read(months)?,
            years: None,
        })
    }

    /// Reads what stands between the parentheses of `cron(…)` in `EventBridge`: six fields.
    ///
    /// # Errors
    ///
    /// If the expression is wrong, or says something that no recurrence says.
    pub fn event_bridge(expression: &str) -> Result<Self, Unsayable> {
        let expression = check_length(expression)?;
        let fields: Vec<&str> = expression.split_whitespace().collect();
        let &[minutes, hours, month_days, months, week_days, years] = fields.as_slice() else {
            return Err(Unsayable::new(
                format!("the cron expression {} has {} fields", quoted(expression), fields.len()),
                "give six: minute, hour, day of month, month, day of week, year",
            ));
        };
        let days =
            Days::event_bridge(MonthDays::read(month_days)?, WeekDays::event_bridge(week_days)?)?;
        Ok(Self {
            minutes: MINUTES.read(minutes)?,
            hours: HOURS.read(hours)?,
            days,
            months: MONTHS.read(months)?,
            years: read_years(years)?,
        })
    }

    /// The first and the last year in which it fires; `None` means every year.
    ///
    /// A recurrence has no years: the caller turns them into a start and an end.
    #[must_use]
    pub const fn years(&self) -> Option<(u32, u32)> {
        self.years
    }

    /// Writes the recurrences, for jobs that are created at `now` or later: one, or two if the
    /// expression means a day of the month *or* a day of the week. On a day that both name, both fire.
    ///
    /// The zone is an IANA or Windows name; `None` means UTC, or the zone of the collection.
    ///
    /// # Errors
    ///
    /// If the zone is unknown, or the expression matches no day, such as 30 February.
    pub fn timings(
        &self,
        zone: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<Vec<CronTiming>, Unsayable> {
        check_zone(zone)?;
        let start_time = now.duration_trunc(TimeDelta::minutes(1)).unwrap_or(now);
        let mut timings = Vec::new();
        for recurrence in write::recurrences(self, zone) {
            let compiled = Recurrence::from_json(&recurrence)
                .and_then(|read| Rule::canonical(&read))
                .map_err(|refused| not_expected(&refused))?;
            match Timetable::new(&compiled, Some(start_time), now) {
                Ok(timetable) => timings.push(CronTiming { start_time, recurrence, timetable }),
                // The other half of "this day or that one" may occur.
                Err(Refused::NeverOccurs { .. }) => {}
                Err(refused) => return Err(not_expected(&refused)),
            }
        }
        if timings.is_empty() {
            let why = "the expression matches no day up to the year 9999";
            return Err(Unsayable::new(why, "change the day or the month"));
        }
        Ok(timings)
    }
}

/// The refusal of a recurrence that this module wrote. Its parts are checked, so there is none.
fn not_expected(refused: &Refused) -> Unsayable {
    let why = refused.to_string();
    Unsayable::new(why.trim_end_matches('.'), "write the recurrence by hand")
}

/// Checks the name of a zone.
pub(crate) fn check_zone(zone: Option<&str>) -> Result<(), Unsayable> {
    let Some(unknown) = zone.filter(|name| Zone::named(name).is_none()) else {
        return Ok(());
    };
    let like = zone::meant(unknown).unwrap_or("Europe/Paris");
    Err(Unsayable::new(
        format!("{} is not a time zone", quoted(unknown)),
        format!("use an IANA or Windows name, such as '{like}'"),
    ))
}

fn check_length(expression: &str) -> Result<&str, Unsayable> {
    let expression = expression.trim();
    if expression.chars().count() <= EXPRESSION_CHARS_MAX {
        return Ok(expression);
    }
    Err(Unsayable::new(
        format!("a cron expression of more than {EXPRESSION_CHARS_MAX} characters is not read"),
        "write it with ranges and steps, such as '*/5'",
    ))
}

/// The expression that a name stands for, without its `@`.
fn named(name: &str) -> Result<&'static str, Unsayable> {
    let name = name.trim();
    let known = [
        ("yearly", "0 0 1 1 *"),
        ("annually", "0 0 1 1 *"),
        ("monthly", "0 0 1 * *"),
        ("weekly", "0 0 * * 0"),
        ("daily", "0 0 * * *"),
        ("midnight", "0 0 * * *"),
        ("hourly", "0 * * * *"),
        ("every_minute", "* * * * *"),
    ];
    let found = known.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    if let Some((_, expression)) = found {
        return Ok(expression);
    }
    let word = name.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    Err(match word.as_str() {
        "reboot" => Unsayable::new(
            "'@reboot' means the start of a machine, which is not a time",
            "let the machine call at its start, for example from a systemd unit",
        ),
        "every" => Unsayable::new(
            format!("{} is an interval, not a cron expression", quoted(&format!("@{name}"))),
            "use a frequency with an interval, such as {\"frequency\":\"minute\",\"interval\":15}",
        ),
        _ => Unsayable::new(
            format!("{} is not a name for an expression", quoted(&format!("@{name}"))),
            "use @yearly, @monthly, @weekly, @daily or @hourly",
        ),
    })
}

fn wrong_count(expression: &str, fields: &[&str]) -> Unsayable {
    let why = format!(
        "the cron expression {} has {} field{}",
        quoted(expression),
        fields.len(),
        if fields.len() == 1 { "" } else { "s" }
    );
    let remedy = match fields {
        ["0", rest @ ..] if rest.len() == 5 => {
            format!("leave out the seconds: '{}'", rest.join(" "))
        }
        [_, rest @ ..] if rest.len() >= 5 => {
            "give five: seconds and years are not part of them, and a job fires on whole minutes"
                .to_owned()
        }
        _ => "give five: minute, hour, day of month, month, day of week".to_owned(),
    };
    Unsayable::new(why, remedy)
}

/// Reads the years of an `EventBridge` expression.
fn read_years(field: &str) -> Result<Option<(u32, u32)>, Unsayable> {
    if field == "*" {
        return Ok(None);
    }
    let mut years = YEARS.list(field)?;
    years.sort_unstable();
    years.dedup();
    match years.as_slice() {
        [first, .., last] if usize::try_from(last - first) == Ok(years.len() - 1) => {
            Ok(Some((*first, *last)))
        }
        [only] => Ok(Some((*only, *only))),
        _ => Err(Unsayable::new(
            format!("the years {} are not in a row", quoted(field)),
            "write one schedule for each row of years",
        )),
    }
}

#[cfg(test)]
mod tests;
