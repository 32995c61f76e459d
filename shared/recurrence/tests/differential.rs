//! Compares the engine with the crate `rrule` on random rules in UTC.
//!
//! An RRULE cannot clamp a missing day, so days from the start are at most the 28th here. The test
//! also leaves out rules that the crate `rrule` refuses or reads wrongly:
//!
//! - the fifth weekday from the end;
//! - weekdays with and without a number in one rule;
//! - minutes with hours, if the interval neither divides an hour nor consists of whole hours.
//!
//! The seeds are fixed; `RECURRENCE_SEED` and `RECURRENCE_RULES` change them as in `properties`.

#[cfg(test)]
#[path = "properties/seeds.rs"]
mod seeds;

#[cfg(test)]
mod differential {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use chrono::{DateTime, Datelike, TimeDelta, Utc, Weekday};
    use minutehand_recurrence::{Recurrence, Refused, Rule, Timetable, format_instant};
    use rrule::{Frequency, NWeekday, RRule, Unvalidated};
    use serde_json::{Map, Value, json};

    use crate::seeds::{Chance, for_each_seed};

    const WEEKDAYS: [Weekday; 7] = [
        Weekday::Mon,
        Weekday::Tue,
        Weekday::Wed,
        Weekday::Thu,
        Weekday::Fri,
        Weekday::Sat,
        Weekday::Sun,
    ];
    const FREQUENCIES: [(&str, Frequency, i64); 6] = [
        ("minute", Frequency::Minutely, 1000),
        ("hour", Frequency::Hourly, 1000),
        ("day", Frequency::Daily, 548),
        ("week", Frequency::Weekly, 78),
        ("month", Frequency::Monthly, 18),
        ("year", Frequency::Yearly, 100),
    ];

    /// A rule in both notations.
    struct Pair {
        frequency: Frequency,
        interval: i64,
        start: DateTime<Utc>,
        ours: Map<String, Value>,
        schedule: Map<String, Value>,
        theirs: RRule<Unvalidated>,
    }

    impl Pair {
        fn random(chance: &mut Chance) -> Self {
            let (name, frequency, interval_max) = *chance.pick(&FREQUENCIES);
            let interval = match chance.within(0..=9) {
                0..=3 => 1,
                4..=7 => chance.within(2..=12),
                8 => *chance.pick(&[15, 18, 24, 30, 60, 90, 120, 720, 1000]),
                _ => chance.within(1..=interval_max),
            };
            let interval = interval.min(interval_max);
            // From 1970 to 2060.
            let start = chance.within(0..=2_840_140_799);
            let start = DateTime::from_timestamp(start, 0).unwrap();
            let mut ours = Map::new();
            ours.insert("frequency".to_owned(), name.into());
            ours.insert("interval".to_owned(), interval.into());
            let theirs = RRule::new(frequency)
                .interval(u16::try_from(interval).unwrap())
                .week_start(Weekday::Mon);
            let schedule = Map::new();
            let mut pair = Self { frequency, interval, start, ours, schedule, theirs };
            if chance.percent(80) {
                pair.add_times(chance);
                pair.add_days(chance);
            }
            if !pair.schedule.is_empty() {
                pair.ours.insert("schedule".to_owned(), pair.schedule.clone().into());
            }
            pair.avoid_clamping();
            pair
        }

        fn add_times(&mut self, chance: &mut Chance) {
            let [minutes, hours] = [chance.percent(50), chance.percent(50)];
            let minutely = self.frequency == Frequency::Minutely;
            if minutes {
                let minutes = chance.some(0..=59);
                self.schedule.insert("minutes".to_owned(), json!(minutes));
                self.theirs = self.theirs.clone().by_minute(small(&minutes));
                if !minutely {
                    self.theirs = self.theirs.clone().by_second(vec![0]);
                }
            }
            let hourly = minutely || self.frequency == Frequency::Hourly;
            let misread = minutely && 60 % self.interval != 0 && self.interval % 60 != 0;
            if hours && !misread {
                let hours = chance.some(0..=23);
                self.schedule.insert("hours".to_owned(), json!(hours));
                self.theirs = self.theirs.clone().by_hour(small(&hours));
            } else if minutes && !hourly {
                self.theirs = self.theirs.clone().by_hour((0..=23).collect());
            }
        }

        fn add_days(&mut self, chance: &mut Chance) {
            let weekday = |day: &i64| WEEKDAYS[usize::try_from(*day).unwrap()];
            match (self.frequency, chance.within(0..=3)) {
                (Frequency::Weekly, 1..) => {
                    let days = chance.some(0..=6);
                    let names: Vec<_> = days.iter().map(|day| name(weekday(day))).collect();
                    self.schedule.insert("weekDays".to_owned(), json!(names));
                    let days = days.iter().map(|day| NWeekday::Every(weekday(day))).collect();
                    self.theirs = self.theirs.clone().by_weekday(days);
                }
                (Frequency::Monthly, 1) => {
                    let mut days = chance.some(-31..=31);
                    days.retain(|day| *day != 0);
                    if !days.is_empty() {
                        self.schedule.insert("monthDays".to_owned(), json!(days));
                        let days = days.iter().map(|day| i8::try_from(*day).unwrap()).collect();
                        self.theirs = self.theirs.clone().by_month_day(days);
                    }
                }
                (Frequency::Monthly, 2..) => {
                    let numbered = chance.percent(80);
                    let mut ours = Vec::new();
                    let mut theirs = Vec::new();
                    for day in chance.some(0..=6) {
                        let nth = *chance.pick(&[-4, -3, -2, -1, 1, 2, 3, 4, 5]);
                        let day = weekday(&day);
                        ours.push(json!({"day": name(day)}));
                        theirs.push(NWeekday::new(numbered.then_some(nth), day));
                        if numbered {
                            ours.last_mut().unwrap()["occurrence"] = nth.into();
                        }
                    }
                    self.schedule.insert("monthlyOccurrences".to_owned(), ours.into());
                    self.theirs = self.theirs.clone().by_weekday(theirs);
                }
                _ => {}
            }
            if matches!(self.frequency, Frequency::Monthly | Frequency::Yearly)
                && chance.percent(30)
            {
                let months = chance.some(1..=12);
                self.schedule.insert("months".to_owned(), json!(months));
                let month = |month: &i64| chrono::Month::try_from(u8::try_from(*month).unwrap());
                let months: Vec<_> = months.iter().map(|number| month(number).unwrap()).collect();
                self.theirs = self.theirs.clone().by_month(&months);
            }
        }

        /// Removes days that would need clamping, which an RRULE skips.
        fn avoid_clamping(&mut self) {
            let has_days = ["monthDays", "monthlyOccurrences"]
                .iter()
                .any(|name| self.schedule.contains_key(*name));
            let takes_day = matches!(self.frequency, Frequency::Monthly | Frequency::Yearly);
            if takes_day && !has_days && self.start.day() > 28 {
                self.start -= TimeDelta::days(3);
            }
        }

        /// The days that `rrule` can walk in reasonable time.
        fn reach(&self) -> i64 {
            match self.frequency {
                Frequency::Minutely | Frequency::Secondly => 3,
                Frequency::Hourly => 60,
                Frequency::Daily => 400,
                Frequency::Weekly | Frequency::Monthly | Frequency::Yearly => 4000,
            }
        }
    }

    fn small(numbers: &[i64]) -> Vec<u8> {
        numbers.iter().map(|number| u8::try_from(*number).unwrap()).collect()
    }

    fn name(day: Weekday) -> &'static str {
        let number = usize::try_from(day.num_days_from_monday()).unwrap();
        ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"][number]
    }

    #[test]
    fn the_crate_rrule_gives_the_same_occurrences() {
        let compared = AtomicUsize::new(0);
        for_each_seed(10_500, |seed| {
            let chance = &mut Chance::new(seed);
            let mut pair = Pair::random(chance);
            let limit = *chance.pick(&[3, 10, 40]);
            let mut now = pair.start;
            // The count of an RRULE begins with the start, and ours with the creation of the job.
            match chance.within(0..=9) {
                0 | 1 => {
                    now += TimeDelta::seconds(chance.within(0..=pair.reach() * 86_400));
                }
                2 | 3 => {
                    let count = chance.within(1..=30);
                    pair.ours.insert("count".to_owned(), count.into());
                    pair.theirs = pair.theirs.count(u32::try_from(count).unwrap());
                }
                _ => {}
            }
            if chance.percent(20) {
                let end = pair.start + TimeDelta::seconds(chance.within(0..=pair.reach() * 86_400));
                pair.ours.insert("endTime".to_owned(), format_instant(end).into());
                pair.theirs = pair.theirs.until(end.with_timezone(&rrule::Tz::UTC));
            }
            let json = Value::from(pair.ours);
            let start = format_instant(pair.start);
            let context = format!("seed {seed}: {json} start {start} now {}", format_instant(now));

            let rule = Recurrence::from_json(&json).and_then(|sent| Rule::canonical(&sent));
            let rule = rule.unwrap_or_else(|refused| panic!("{refused}\n{context}"));
            let ours: Vec<_> = match Timetable::new(&rule, Some(pair.start), now) {
                Ok(timetable) => timetable.iter().take(limit).collect(),
                Err(Refused::NeverOccurs { .. }) => Vec::new(),
                Err(refused) => panic!("{refused}\n{context}"),
            };
            let theirs = pair.theirs.build(pair.start.with_timezone(&rrule::Tz::UTC));
            let theirs = theirs.unwrap_or_else(|error| panic!("{error}\n{context}"));
            let theirs = theirs.after(now.with_timezone(&rrule::Tz::UTC));
            let theirs = theirs.all(u16::try_from(limit).unwrap()).dates;
            let theirs: Vec<_> = theirs.iter().map(|at| at.with_timezone(&Utc)).collect();
            // The calendar of `rrule` is a little longer than ours.
            let last = DateTime::from_timestamp(253_402_300_799, 0).unwrap();
            let theirs: Vec<_> = theirs.into_iter().filter(|at| *at <= last).collect();
            assert_eq!(ours, theirs, "{context}");
            compared.fetch_add(ours.len(), Ordering::Relaxed);
        });
        println!("{} occurrences compared", compared.into_inner());
    }
}
