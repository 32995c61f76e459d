//! Sets as recurrences.

use minutehand_recurrence::Weekday;
use serde_json::{Map, Value, json};

use crate::cron::Cron;
use crate::cron::days::{Days, MonthDays, WeekDays};
use crate::cron::field::{HOURS, MINUTES, MONTHS, Set};
use crate::object::object;

/// Writes the recurrences of an expression: one, or two for "this day or that one".
pub(super) fn recurrences(cron: &Cron, zone: Option<&str>) -> Vec<Value> {
    match &cron.days {
        Days::Every => vec![every_day(cron, zone)],
        Days::Month(days) => vec![on_month_days(cron, *days, zone)],
        Days::Week(days) => vec![on_week_days(cron, days, zone)],
        Days::Either(month, week) => {
            vec![on_month_days(cron, *month, zone), on_week_days(cron, week, zone)]
        }
    }
}

fn every_day(cron: &Cron, zone: Option<&str>) -> Value {
    let every_hour = HOURS.is_full(cron.hours);
    if !MONTHS.is_full(cron.months) {
        let all = MonthDays { from_start: Set(u64::from(u32::MAX - 1)), from_end: Set(0) };
        return on_month_days(cron, all, zone);
    }
    if every_hour && MINUTES.is_full(cron.minutes) {
        // Every clock shows the same minutes, whatever its zone.
        return json!({"frequency": "minute", "interval": 1});
    }
    let frequency = if every_hour { "hour" } else { "day" };
    recurrence(frequency, times(cron), zone)
}

fn on_month_days(cron: &Cron, days: MonthDays, zone: Option<&str>) -> Value {
    let from_start = days.from_start.numbers().map(i64::from);
    let from_end = days.from_end.numbers().map(|back| -i64::from(back) - 1);
    let mut schedule = times(cron);
    schedule.insert("monthDays".to_owned(), from_start.chain(from_end).collect());
    add_months(cron, &mut schedule);
    recurrence("month", schedule, zone)
}

fn on_week_days(cron: &Cron, days: &WeekDays, zone: Option<&str>) -> Value {
    let mut schedule = times(cron);
    let every = || Weekday::ALL.into_iter().filter(|day| days.every >> of_cron(*day) & 1 == 1);
    if days.nth.is_empty() && MONTHS.is_full(cron.months) {
        schedule.insert("weekDays".to_owned(), every().map(Weekday::name).collect());
        return recurrence("week", schedule, zone);
    }
    let every_one = every().map(|day| json!({"day": day.name()}));
    let nth = days.nth.iter().filter_map(|(day, nth)| {
        let day = Weekday::ALL.into_iter().find(|known| of_cron(*known) == *day)?;
        Some(json!({"day": day.name(), "occurrence": nth}))
    });
    schedule.insert("monthlyOccurrences".to_owned(), every_one.chain(nth).collect());
    add_months(cron, &mut schedule);
    recurrence("month", schedule, zone)
}

/// The number of a weekday in cron: Sunday is 0.
const fn of_cron(day: Weekday) -> u32 {
    (day as u32 + 1) % 7
}

/// The minutes and hours. Without hours, a schedule means every hour of the clock.
fn times(cron: &Cron) -> Map<String, Value> {
    let hours = (!HOURS.is_full(cron.hours)).then(|| cron.hours.numbers().collect());
    object([("minutes", Some(cron.minutes.numbers().collect())), ("hours", hours)])
}

fn add_months(cron: &Cron, schedule: &mut Map<String, Value>) {
    if !MONTHS.is_full(cron.months) {
        schedule.insert("months".to_owned(), cron.months.numbers().collect());
    }
}

fn recurrence(frequency: &str, schedule: Map<String, Value>, zone: Option<&str>) -> Value {
    let recurrence = object([
        ("frequency", Some(frequency.into())),
        ("interval", Some(1.into())),
        ("schedule", Some(schedule.into())),
        ("timeZone", zone.map(Value::from)),
    ]);
    recurrence.into()
}
