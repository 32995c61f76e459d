//! The engines, and the rules in the notation of each engine.

use std::str::FromStr;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use minutehand_recurrence::{Recurrence, Rule, Timetable};

/// One rule in the notation of every engine that supports it.
pub(crate) struct Wording {
    pub(crate) name: &'static str,
    /// The notation of this crate, without the closing brace, because the zone follows.
    pub(crate) ours: &'static str,
    pub(crate) rrule: &'static str,
    /// Five fields, for croner.
    pub(crate) croner: Option<&'static str>,
    /// Six fields, seconds first.
    pub(crate) cron: Option<&'static str>,
    /// Five fields, for saffron; UTC only.
    pub(crate) saffron: Option<&'static str>,
}

/// A rule with its zone and its start.
pub(crate) struct Sample<'a> {
    pub(crate) rule: &'a Wording,
    pub(crate) zone: &'a str,
    pub(crate) start: DateTime<Utc>,
}

/// An engine that finds the next occurrence of a rule.
pub(crate) enum Engine {
    Ours(Box<Timetable>),
    Rrule(rrule::RRuleSet),
    Croner(croner::Cron, Tz),
    Cron(cron::Schedule, Tz),
    Saffron(saffron::Cron),
}

pub(crate) const RULES: &[Wording] = &[
    Wording {
        name: "every minute",
        ours: r#"{"frequency":"minute""#,
        rrule: "FREQ=MINUTELY",
        croner: Some("* * * * *"),
        cron: Some("0 * * * * *"),
        saffron: Some("* * * * *"),
    },
    Wording {
        name: "every 7 minutes",
        ours: r#"{"frequency":"minute","interval":7"#,
        rrule: "FREQ=MINUTELY;INTERVAL=7",
        croner: None,
        cron: None,
        saffron: None,
    },
    Wording {
        name: "daily 8, 17 h at :00, :30",
        ours: r#"{"frequency":"day","schedule":{"hours":[8,17],"minutes":[0,30]}"#,
        rrule: "FREQ=DAILY;BYHOUR=8,17;BYMINUTE=0,30;BYSECOND=0",
        croner: Some("0,30 8,17 * * *"),
        cron: Some("0 0,30 8,17 * * *"),
        saffron: Some("0,30 8,17 * * *"),
    },
    Wording {
        name: "Mon, Wed, Fri 09:15",
        ours: r#"{"frequency":"week","schedule":{"weekDays":["monday","wednesday","friday"],"hours":[9],"minutes":[15]}"#,
        rrule: "FREQ=WEEKLY;BYDAY=MO,WE,FR;BYHOUR=9;BYMINUTE=15;BYSECOND=0",
        croner: Some("15 9 * * MON,WED,FRI"),
        cron: Some("0 15 9 * * Mon,Wed,Fri"),
        saffron: Some("15 9 * * MON,WED,FRI"),
    },
    Wording {
        name: "days 31 and -1",
        ours: r#"{"frequency":"month","schedule":{"monthDays":[31,-1],"hours":[9],"minutes":[0]}"#,
        rrule: "FREQ=MONTHLY;BYMONTHDAY=31,-1;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
        croner: Some("0 9 L * *"),
        cron: None,
        saffron: Some("0 9 L * *"),
    },
    Wording {
        name: "last Friday",
        ours: r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"friday","occurrence":-1}],"hours":[9],"minutes":[0]}"#,
        rrule: "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
        croner: Some("0 9 * * FRI#L"),
        cron: None,
        saffron: Some("0 9 * * FRIL"),
    },
    Wording {
        name: "fifth Friday",
        ours: r#"{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"friday","occurrence":5}],"hours":[9],"minutes":[0]}"#,
        rrule: "FREQ=MONTHLY;BYDAY=5FR;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
        croner: Some("0 9 * * FRI#5"),
        cron: None,
        saffron: Some("0 9 * * FRI#5"),
    },
    Wording {
        name: "29 February",
        ours: r#"{"frequency":"month","schedule":{"monthDays":[29],"months":[2],"hours":[9],"minutes":[0]}"#,
        rrule: "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
        croner: Some("0 9 29 2 *"),
        cron: Some("0 0 9 29 2 *"),
        saffron: Some("0 9 29 2 *"),
    },
];

impl Wording {
    /// Returns the recurrence in our notation.
    pub(crate) fn json(&self, zone: &str) -> String {
        format!("{},\"timeZone\":\"{zone}\"}}", self.ours)
    }
}

impl Engine {
    /// Returns our engine, rrule, croner, cron and saffron; `None` if one does not support the rule.
    pub(crate) fn all(sample: &Sample<'_>) -> [Option<Self>; 5] {
        let tz = Tz::from_str(sample.zone).ok();
        let rule = sample.rule;
        let croner = rule.croner.and_then(|text| croner::Cron::from_str(text).ok());
        let cron = rule.cron.and_then(|text| cron::Schedule::from_str(text).ok());
        let saffron = rule.saffron.filter(|_| sample.zone == "UTC");
        [
            ours(sample).map(Box::new).map(Self::Ours),
            rrule(sample).map(Self::Rrule),
            croner.zip(tz).map(|(cron, tz)| Self::Croner(cron, tz)),
            cron.zip(tz).map(|(schedule, tz)| Self::Cron(schedule, tz)),
            saffron.and_then(|text| text.parse().ok()).map(Self::Saffron),
        ]
    }

    /// Returns the first occurrence after an instant.
    pub(crate) fn next(&mut self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        match self {
            Self::Ours(timetable) => timetable.after(now),
            Self::Rrule(set) => {
                let after = now.with_timezone(&rrule::Tz::UTC);
                set.clone().after(after).all(1).dates.first().map(DateTime::to_utc)
            }
            Self::Croner(cron, tz) => {
                let next = cron.find_next_occurrence(&now.with_timezone(tz), false);
                next.ok().map(|next| next.to_utc())
            }
            Self::Cron(schedule, tz) => {
                schedule.after(&now.with_timezone(tz)).next().map(|next| next.to_utc())
            }
            Self::Saffron(cron) => cron.next_after(now),
        }
    }
}

fn ours(sample: &Sample<'_>) -> Option<Timetable> {
    let json = sample.rule.json(sample.zone);
    let sent = Recurrence::from_json(&serde_json::from_str(&json).ok()?).ok()?;
    Timetable::new(&Rule::canonical(&sent).ok()?, Some(sample.start), sample.start).ok()
}

fn rrule(sample: &Sample<'_>) -> Option<rrule::RRuleSet> {
    let tz: rrule::Tz = Tz::from_str(sample.zone).ok()?.into();
    let rule: rrule::RRule<rrule::Unvalidated> = sample.rule.rrule.parse().ok()?;
    rule.build(sample.start.with_timezone(&tz)).ok()
}
