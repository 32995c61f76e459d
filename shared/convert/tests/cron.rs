//! Compares converted cron expressions with the crate `croner`, over years and across clock changes.
//!
//! `croner` says on which civil times an expression matches, by a search of its own, in UTC. The crate
//! `jiff` says which instants these are in a zone, by the rules of `shared/docs/recurrences.md`: what
//! names hours fires once, moved by the gap or at the first of two; what means every hour fires
//! whenever the clock shows the time. Cron programs differ from each other in this; see there.
//!
//! The seeds are fixed; `RECURRENCE_SEED` and `RECURRENCE_RULES` change them.

#[cfg(test)]
#[path = "../../recurrence/tests/properties/seeds.rs"]
mod seeds;

#[cfg(test)]
mod against_croner {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use chrono::{DateTime, TimeDelta, Utc};
    use croner::parser::{CronParser, Seconds};
    use jiff::civil;
    use jiff::tz::{AmbiguousOffset, TimeZone};
    use minutehand_convert::cron::Cron;

    use crate::seeds::{Chance, for_each_seed};

    const ZONES: [&str; 6] = [
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "America/Santiago",
        "Asia/Kathmandu",
    ];
    /// Occurrences compared for one expression.
    const OCCURRENCES: usize = 400;
    /// The longest distance over which an expression without many occurrences is compared.
    const SPAN: TimeDelta = TimeDelta::days(9 * 366);

    const MONTHS: [&str; 4] = ["jan", "Mar", "OCT", "dec"];
    const WEEKDAYS: [&str; 4] = ["sun", "Mon", "FRI", "sat"];

    /// A field of numbers, ranges and steps.
    fn field(chance: &mut Chance, low: i64, high: i64) -> String {
        let item = |chance: &mut Chance| {
            let first = chance.within(low..=high);
            let last = chance.within(first..=high);
            let step = chance.within(1..=(high - low).min(20));
            match chance.within(0..=4) {
                0 => format!("{first}-{last}"),
                1 => format!("{first}-{last}/{step}"),
                2 => format!("*/{step}"),
                _ => first.to_string(),
            }
        };
        if chance.percent(20) {
            let numbers: Vec<_> = chance.some(low..=high).iter().map(ToString::to_string).collect();
            return numbers.join(",");
        }
        let items: Vec<String> = (0..chance.within(1..=3)).map(|_| item(chance)).collect();
        items.join(",")
    }

    fn expression(chance: &mut Chance) -> String {
        let minutes = if chance.percent(10) { "*".to_owned() } else { field(chance, 0, 59) };
        let hours = if chance.percent(30) { "*".to_owned() } else { field(chance, 0, 23) };
        let kind = chance.within(0..=9);
        let month_days = match kind {
            0..=4 => "*".to_owned(),
            5 => "L".to_owned(),
            6 => "29-31".to_owned(),
            // An item that begins with a star makes both kinds of days match.
            _ => field(chance, 1, 31).replace("*/", "2-31/"),
        };
        let months = match chance.within(0..=3) {
            0 => field(chance, 1, 12),
            1 => (*chance.pick(&MONTHS)).to_owned(),
            _ => "*".to_owned(),
        };
        let week_days = match (kind, chance.within(0..=5)) {
            (5..=7, _) => "*".to_owned(),
            (_, 0) => field(chance, 0, 6).replace("*/", "1-6/"),
            (_, 1) => (*chance.pick(&WEEKDAYS)).to_owned(),
            (_, 2) => format!("{}#{}", chance.within(0..=6), chance.within(1..=5)),
            (_, 3) => format!("{}L", chance.within(0..=6)),
            (_, 4) => "mon-fri".to_owned(),
            _ => "*".to_owned(),
        };
        format!("{minutes} {hours} {month_days} {months} {week_days}")
    }

    /// The instants of a civil time, by what the recurrence means.
    fn instants(civil: civil::DateTime, zone: &TimeZone, is_every_hour: bool) -> Vec<i64> {
        let ambiguous = zone.to_ambiguous_timestamp(civil);
        let second = |found: Result<jiff::Timestamp, jiff::Error>| found.unwrap().as_second();
        match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { .. } => vec![second(ambiguous.unambiguous())],
            AmbiguousOffset::Gap { .. } if is_every_hour => vec![],
            AmbiguousOffset::Fold { .. } if is_every_hour => {
                vec![second(ambiguous.earlier()), second(ambiguous.later())]
            }
            AmbiguousOffset::Gap { .. } | AmbiguousOffset::Fold { .. } => {
                vec![second(ambiguous.compatible())]
            }
        }
    }

    /// What `croner` and `jiff` say, from one instant to another.
    fn expected(
        theirs: &croner::Cron,
        zone: &TimeZone,
        (from, to): (DateTime<Utc>, DateTime<Utc>),
        is_every_hour: bool,
    ) -> BTreeSet<i64> {
        // Civil times a day around, as zones are at most that far from UTC.
        let day = TimeDelta::days(2);
        let civil = theirs.iter_from(from - day, croner::Direction::Forward);
        let civil = civil.take_while(|at| *at <= to + day);
        let civil = civil.map(|at| jiff::Timestamp::from_second(at.timestamp()).unwrap());
        let civil = civil.map(|at| TimeZone::UTC.to_datetime(at));
        let all = civil.flat_map(|civil| instants(civil, zone, is_every_hour));
        all.filter(|at| (from.timestamp()..=to.timestamp()).contains(at)).collect()
    }

    #[test]
    fn a_converted_expression_fires_when_croner_says() {
        let (compared, refused, doubled) =
            (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        for_each_seed(600, |seed| {
            let mut chance = Chance::new(seed);
            let expression = expression(&mut chance);
            let zone = *chance.pick(&ZONES);
            // Half of the starts are shortly before a change of some clock.
            let from: DateTime<Utc> = match chance.within(0..=3) {
                0 => "2027-03-13T00:00:00Z".parse().unwrap(),
                1 => "2027-10-30T00:00:00Z".parse().unwrap(),
                _ => DateTime::from_timestamp(chance.within(1_700_000_000..=2_100_000_000), 0)
                    .unwrap(),
            };
            let read = Cron::unix(&expression);
            let Ok(timings) = read.and_then(|cron| cron.timings(Some(zone), from)) else {
                refused.fetch_add(1, Ordering::Relaxed);
                return;
            };
            let parser = CronParser::builder().seconds(Seconds::Disallowed).build();
            let theirs = parser.parse(&expression).unwrap();
            let first = |from| {
                let all = timings.iter().flat_map(move |timing| {
                    timing.timetable.iter().take(OCCURRENCES).filter(move |at| *at >= from)
                });
                all.map(|at| at.timestamp()).collect::<BTreeSet<_>>()
            };
            let ours = first(from);
            // Both halves of "this day or that one" are complete up to the end of the shorter.
            let ends =
                timings.iter().filter_map(|timing| timing.timetable.iter().nth(OCCURRENCES - 1));
            let to = ends.chain([from + SPAN]).min().unwrap();
            let ours: BTreeSet<i64> = ours.into_iter().filter(|at| *at <= to.timestamp()).collect();
            let is_every_hour =
                timings.iter().all(|timing| timing.recurrence["schedule"].get("hours").is_none());
            let zone = TimeZone::get(zone).unwrap();
            let expected = expected(&theirs, &zone, (from, to), is_every_hour);
            assert_eq!(ours, expected, "seed {seed}: {expression} in {zone:?} from {from}");
            compared.fetch_add(1, Ordering::Relaxed);
            doubled.fetch_add(timings.len() - 1, Ordering::Relaxed);
        });
        let [compared, refused, doubled] =
            [compared, refused, doubled].map(AtomicUsize::into_inner);
        println!("{compared} compared, {refused} refused, {doubled} in two recurrences");
        assert!(compared > 8 * refused && doubled * 20 > compared);
    }
}

#[cfg(test)]
mod documents {
    use chrono::DateTime;
    use minutehand_convert::cron::Cron;

    const RECURRENCES: &str = include_str!("../../docs/recurrences.md");

    #[test]
    fn the_table_of_the_page_is_what_the_conversion_says() {
        let (_, section) = RECURRENCES.split_once("\n## From cron\n").unwrap();
        let (section, _) = section.split_once("\n## ").unwrap();
        let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
        assert!(rows.len() > 5, "the table is not where it is looked for");
        for row in rows {
            let cells: Vec<&str> = row.split('`').collect();
            let [_, expression, _, recurrence, _] = cells[..] else { panic!("{row}") };
            let timings = Cron::unix(expression).unwrap().timings(None, DateTime::UNIX_EPOCH);
            assert_eq!(timings.unwrap()[0].recurrence.to_string(), recurrence, "{expression}");
        }
    }
}
