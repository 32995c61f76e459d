//! Random rules: their meaning, and JSON for them in one of many spellings.

use std::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use minutehand_recurrence::{Recurrence, Refused, Rule, Timetable};
use serde_json::{Map, Value, json};

use crate::instants::{now, start, to_chrono};
use crate::seeds::Chance;

/// Zones to test more often than others: the name to send, and the name in jiff.
const ZONES: [(&str, &str); 46] = [
    ("UTC", "UTC"),
    ("Etc/GMT+12", "Etc/GMT+12"),
    ("America/New_York", "America/New_York"),
    ("america/new_york", "America/New_York"),
    ("Eastern Standard Time", "America/New_York"),
    ("America/Toronto", "America/Toronto"),
    ("America/St_Johns", "America/St_Johns"),
    ("America/Sao_Paulo", "America/Sao_Paulo"),
    ("America/Santiago", "America/Santiago"),
    ("America/Havana", "America/Havana"),
    ("America/Asuncion", "America/Asuncion"),
    ("America/Juneau", "America/Juneau"),
    ("America/Nuuk", "America/Nuuk"),
    ("America/Caracas", "America/Caracas"),
    ("Atlantic/Azores", "Atlantic/Azores"),
    ("Europe/Paris", "Europe/Paris"),
    ("Europe/Berlin", "Europe/Berlin"),
    ("W. Europe Standard Time", "Europe/Berlin"),
    ("Europe/London", "Europe/London"),
    ("Europe/Dublin", "Europe/Dublin"),
    ("Europe/Amsterdam", "Europe/Amsterdam"),
    ("Europe/Moscow", "Europe/Moscow"),
    ("Europe/Istanbul", "Europe/Istanbul"),
    ("Africa/Casablanca", "Africa/Casablanca"),
    ("Africa/El_Aaiun", "Africa/El_Aaiun"),
    ("Africa/Cairo", "Africa/Cairo"),
    ("Africa/Monrovia", "Africa/Monrovia"),
    ("Africa/Windhoek", "Africa/Windhoek"),
    ("Antarctica/Troll", "Antarctica/Troll"),
    ("Antarctica/Casey", "Antarctica/Casey"),
    ("Asia/Kolkata", "Asia/Kolkata"),
    ("India Standard Time", "Asia/Kolkata"),
    ("Asia/Kathmandu", "Asia/Kathmandu"),
    ("Asia/Tehran", "Asia/Tehran"),
    ("Asia/Gaza", "Asia/Gaza"),
    ("Asia/Jerusalem", "Asia/Jerusalem"),
    ("Asia/Manila", "Asia/Manila"),
    ("Asia/Amman", "Asia/Amman"),
    ("Asia/Pyongyang", "Asia/Pyongyang"),
    ("Australia/Sydney", "Australia/Sydney"),
    ("Australia/Lord_Howe", "Australia/Lord_Howe"),
    ("Pacific/Apia", "Pacific/Apia"),
    ("Pacific/Chatham", "Pacific/Chatham"),
    ("Pacific/Kiritimati", "Pacific/Kiritimati"),
    ("Pacific/Kwajalein", "Pacific/Kwajalein"),
    ("Pacific/Norfolk", "Pacific/Norfolk"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Frequency {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

impl Frequency {
    const ALL: [Self; 6] =
        [Self::Minute, Self::Hour, Self::Day, Self::Week, Self::Month, Self::Year];

    /// Returns the canonical name and the other accepted spelling.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Minute => ["minute", "minutely"],
            Self::Hour => ["hour", "hourly"],
            Self::Day => ["day", "daily"],
            Self::Week => ["week", "weekly"],
            Self::Month => ["month", "monthly"],
            Self::Year => ["year", "yearly"],
        }
    }

    fn interval_max(self) -> i64 {
        match self {
            Self::Minute | Self::Hour => 1000,
            Self::Day => 548,
            Self::Week => 78,
            Self::Month => 18,
            Self::Year => 100,
        }
    }
}

/// The names of the weekdays; Monday is 0.
const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// A rule and its start; a list has its values in the order sent, without repetitions.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) frequency: Frequency,
    pub(crate) interval: i64,
    pub(crate) minutes: Option<Vec<i64>>,
    pub(crate) hours: Option<Vec<i64>>,
    pub(crate) week_days: Option<Vec<i64>>,
    pub(crate) month_days: Option<Vec<i64>>,
    pub(crate) monthly_occurrences: Option<Vec<(i64, Option<i64>)>>,
    pub(crate) months: Option<Vec<i64>>,
    zone_sent: Option<String>,
    pub(crate) zone: TimeZone,
    pub(crate) start: Option<Timestamp>,
    pub(crate) now: Timestamp,
    /// The recurrence as the author sends it, without count and end.
    json: Map<String, Value>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.start.map_or_else(|| "none".to_owned(), |start| start.to_string());
        let json = Value::from(self.json.clone());
        write!(f, "seed {}: {json} start {start} now {}", self.seed, self.now)
    }
}

impl Case {
    /// Makes a random rule.
    pub(crate) fn random(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let frequency = *chance.pick(&Frequency::ALL);
        let (zone_sent, zone) = zone(&mut chance);
        let now = now(&mut chance, &zone);
        let mut case = Self {
            seed,
            frequency,
            interval: interval(&mut chance, frequency),
            minutes: None,
            hours: None,
            week_days: None,
            month_days: None,
            monthly_occurrences: None,
            months: None,
            zone_sent,
            start: start(&mut chance, now, &zone),
            zone,
            now,
            json: Map::new(),
        };
        if chance.percent(75) {
            case.schedule(&mut chance);
        }
        case.json = case.spelled(&mut chance);
        case
    }

    fn schedule(&mut self, chance: &mut Chance) {
        if chance.percent(50) {
            self.minutes = Some(chance.some(0..=59));
        }
        if chance.percent(50) {
            self.hours = Some(chance.some(0..=23));
        }
        match self.frequency {
            Frequency::Minute | Frequency::Hour | Frequency::Day => {}
            Frequency::Week => {
                self.week_days = chance.percent(70).then(|| chance.some(0..=6));
            }
            Frequency::Month => {
                match chance.within(0..=4) {
                    0 => {}
                    1 | 2 => {
                        let mut days = chance.some(-31..=31);
                        days.retain(|day| *day != 0);
                        self.month_days = Some(days).filter(|days| !days.is_empty());
                    }
                    _ => self.monthly_occurrences = Some(monthly_occurrences(chance)),
                }
                self.months = chance.percent(25).then(|| chance.some(1..=12));
            }
            Frequency::Year => self.months = chance.percent(50).then(|| chance.some(1..=12)),
        }
    }

    /// Returns whether the rule has a schedule.
    pub(crate) fn has_schedule(&self) -> bool {
        self.minutes.is_some()
            || self.hours.is_some()
            || self.week_days.is_some()
            || self.month_days.is_some()
            || self.monthly_occurrences.is_some()
            || self.months.is_some()
    }

    /// Returns whether the rule is in UTC.
    pub(crate) fn is_utc(&self) -> bool {
        self.zone == TimeZone::UTC
    }

    /// Returns the canonical JSON of the recurrence.
    pub(crate) fn canonical(&self) -> Value {
        let mut json = Map::new();
        json.insert("frequency".to_owned(), self.frequency.names()[0].into());
        json.insert("interval".to_owned(), self.interval.into());
        let schedule = self.lists();
        if !schedule.is_empty() {
            let lists = schedule.into_iter().map(|(name, list)| (name.to_owned(), list.into()));
            json.insert("schedule".to_owned(), Value::Object(lists.collect()));
        }
        if let Some(zone) = &self.zone_sent {
            json.insert("timeZone".to_owned(), zone.as_str().into());
        }
        json.into()
    }

    /// Returns the lists of the schedule as JSON, by name.
    fn lists(&self) -> Vec<(&'static str, Vec<Value>)> {
        let numbers = |list: &Vec<i64>| list.iter().map(|n| json!(n)).collect();
        let weekday = |day: i64| WEEKDAYS[usize::try_from(day).unwrap()];
        let week_days = |list: &Vec<i64>| list.iter().map(|day| json!(weekday(*day))).collect();
        let occurrence = |(day, nth): &(i64, Option<i64>)| match nth {
            Some(nth) => json!({"day": weekday(*day), "occurrence": nth}),
            None => json!({"day": weekday(*day)}),
        };
        let occurrences = |list: &Vec<(i64, Option<i64>)>| list.iter().map(occurrence).collect();
        let lists = [
            ("minutes", self.minutes.as_ref().map(numbers)),
            ("hours", self.hours.as_ref().map(numbers)),
            ("weekDays", self.week_days.as_ref().map(week_days)),
            ("monthDays", self.month_days.as_ref().map(numbers)),
            ("monthlyOccurrences", self.monthly_occurrences.as_ref().map(occurrences)),
            ("months", self.months.as_ref().map(numbers)),
        ];
        lists.into_iter().filter_map(|(name, list)| Some((name, list?))).collect()
    }

    /// Returns the recurrence in another spelling: single values, repetitions, any case, other names.
    fn spelled(&self, chance: &mut Chance) -> Map<String, Value> {
        let mut json = Map::new();
        let frequency = *chance.pick(&self.frequency.names());
        json.insert("frequency".to_owned(), any_case(chance, frequency).into());
        if self.interval != 1 || chance.percent(50) {
            json.insert("interval".to_owned(), self.interval.into());
        }
        if let Some(zone) = &self.zone_sent {
            json.insert("timeZone".to_owned(), zone.as_str().into());
        }
        let mut schedule = Map::new();
        for (name, mut list) in self.lists() {
            if name == "weekDays" {
                for day in &mut list {
                    *day = any_case(chance, day.as_str().unwrap()).into();
                }
            }
            if name != "weekDays" && chance.percent(20) {
                list.push(chance.pick(&list).clone());
            }
            let name = match name {
                "minutes" | "hours" if chance.percent(10) => name.trim_end_matches('s'),
                name => name,
            };
            let value = match list.as_slice() {
                [only] if chance.percent(30) => only.clone(),
                _ => list.into(),
            };
            schedule.insert(name.to_owned(), value);
        }
        if !schedule.is_empty() {
            json.insert("schedule".to_owned(), schedule.into());
        }
        json
    }

    /// Returns the JSON to send, with a count and an end.
    pub(crate) fn json(&self, count: Option<i64>, end: Option<Timestamp>) -> Value {
        let mut json = self.json.clone();
        if let Some(count) = count {
            json.insert("count".to_owned(), count.into());
        }
        if let Some(end) = end {
            json.insert("endTime".to_owned(), end.to_string().into());
        }
        json.into()
    }

    /// Returns the recurrence as the engine reads it, with a count and an end.
    pub(crate) fn recurrence(&self, count: Option<i64>, end: Option<Timestamp>) -> Recurrence {
        Recurrence::from_json(&self.json(count, end))
            .unwrap_or_else(|refused| panic!("{refused}\n{self}"))
    }

    /// Returns the engine's rule, with a count and an end.
    pub(crate) fn rule(&self, count: Option<i64>, end: Option<Timestamp>) -> Rule {
        Rule::canonical(&self.recurrence(count, end))
            .unwrap_or_else(|refused| panic!("{refused}\n{self}"))
    }

    /// Returns the engine's timetable, with a count and an end; it is refused only if the rule never
    /// occurs.
    pub(crate) fn timetable(
        &self,
        count: Option<i64>,
        end: Option<Timestamp>,
    ) -> Option<Timetable> {
        let start = self.start.map(to_chrono);
        match Timetable::new(&self.rule(count, end), start, to_chrono(self.now)) {
            Ok(timetable) => Some(timetable),
            Err(Refused::NeverOccurs { .. }) => None,
            Err(refused) => panic!("{refused}\n{self}"),
        }
    }
}

fn any_case(chance: &mut Chance, name: &str) -> String {
    let mut spelled = name.to_owned();
    match chance.within(0..=3) {
        0 => spelled.make_ascii_uppercase(),
        1 => spelled[..1].make_ascii_uppercase(),
        _ => {}
    }
    spelled
}

fn interval(chance: &mut Chance, frequency: Frequency) -> i64 {
    let max = frequency.interval_max();
    match chance.within(0..=9) {
        0..=3 => 1,
        4..=6 => chance.within(2..=7),
        7 => *chance.pick(&[12, 15, 24, 30, 48, 60, 90, 168, 1000]),
        8 => max,
        _ => chance.within(1..=max),
    }
    .min(max)
}

fn monthly_occurrences(chance: &mut Chance) -> Vec<(i64, Option<i64>)> {
    let mut occurrences = Vec::new();
    for _ in 0..chance.within(1..=4) {
        let nth = chance.percent(85).then(|| *chance.pick(&[-5, -4, -3, -2, -1, 1, 2, 3, 4, 5]));
        let occurrence = (chance.within(0..=6), nth);
        if !occurrences.contains(&occurrence) {
            occurrences.push(occurrence);
        }
    }
    occurrences
}

/// Returns a zone, in half of the cases none: the name to send, and the zone in jiff.
fn zone(chance: &mut Chance) -> (Option<String>, TimeZone) {
    let (sent, name) = match chance.within(0..=9) {
        0..=3 => return (None, TimeZone::UTC),
        4..=8 => *chance.pick(&ZONES),
        _ => {
            let names: Vec<_> = minutehand_recurrence::zone::names().collect();
            let name = *chance.pick(&names);
            (name, name)
        }
    };
    let zone = TimeZone::get(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    (Some(sent.to_owned()), if name == "UTC" { TimeZone::UTC } else { zone })
}
