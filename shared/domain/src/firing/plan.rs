//! Planning the dispatch of a timer: which occurrences to send, and when the timer is due next.

use chrono::{DateTime, TimeDelta, Utc};

use super::outage::{LeftOut, Outage, overtaken_in};
use crate::schedule::Schedule;
use crate::tick::{from_ticks, ticks};

/// What bounds a plan.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    /// The current instant.
    pub now: DateTime<Utc>,
    /// Occurrences until this time are sent.
    pub until: DateTime<Utc>,
    /// The outages of sweepers.
    pub outages: &'a [Outage],
    /// Up to which occurrence all are known to have been sent, though the timer did not move after that. No
    /// outage since then cost these.
    pub sent_until: Option<DateTime<Utc>>,
    /// The most occurrences of one plan.
    pub occurrences_max: usize,
    /// When a timer without further occurrences is due again, to check whether its job has finished.
    pub look_again: TimeDelta,
}

/// What to do with a timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatchPlan {
    /// The occurrences that were sent before, in order. They are sent as if it was for the first time, because
    /// some of them may not have been accepted.
    pub again: Vec<DateTime<Utc>>,
    /// The occurrences to send, in order.
    pub send: Vec<DateTime<Utc>>,
    /// What outages cost: these occurrences are not sent, and do not come again.
    pub left_out: Vec<LeftOut>,
    /// When the timer is due next.
    pub next: NextLook,
}

/// When a timer is due next, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextLook {
    /// When the next occurrence starts that is not sent yet.
    Occurrence(DateTime<Utc>),
    /// No occurrence is left: to check whether the job has finished.
    Spent(DateTime<Utc>),
}

impl NextLook {
    /// The due time.
    #[must_use]
    pub const fn at(self) -> DateTime<Utc> {
        match self {
            Self::Occurrence(at) | Self::Spent(at) => at,
        }
    }

    /// Whether no occurrence is left.
    #[must_use]
    pub const fn is_spent(self) -> bool {
        matches!(self, Self::Spent(_))
    }
}

/// Plans a timer whose next occurrence to send starts at `from` or after.
#[must_use]
pub fn plan_dispatch(
    schedule: &Schedule,
    generation: u64,
    from: DateTime<Utc>,
    window: &Window<'_>,
) -> DispatchPlan {
    let mut left_out = Vec::new();
    let mut next = schedule.starting_from(from);
    let (mut again, mut send) = (Vec::new(), Vec::new());
    while let Some(at) = next.filter(|at| schedule.start(*at) <= window.until) {
        if again.len() + send.len() == window.occurrences_max {
            break;
        }
        if window.sent_until.is_some_and(|until| at <= until) {
            again.push(at);
            next = schedule.after(at);
            continue;
        }
        let outage = overtaken_in(schedule, at, schedule.start(at), window.outages);
        let cost = outage.and_then(|outage| {
            LeftOut::from_occurrence(schedule, generation, at, outage, window.now)
        });
        if let Some(cost) = cost {
            next = schedule.after(cost.last);
            left_out.push(cost);
        } else {
            send.push(at);
            next = schedule.after(at);
        }
    }
    let next = next.map_or_else(
        || {
            let last = send.last().or(again.last()).map_or(window.now, |at| schedule.start(*at));
            NextLook::Spent(last.max(window.now) + window.look_again)
        },
        |at| NextLook::Occurrence(schedule.start(at)),
    );
    DispatchPlan { again, send, left_out, next }
}

/// The latest occurrence from `from` until `until`, both inclusive.
///
/// A binary search over time, so that a year of minutes takes twenty steps.
#[must_use]
pub fn latest_until(
    timetable: &Schedule,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Option<DateTime<Utc>> {
    let mut latest = timetable.at_or_after(from).filter(|first| *first <= until)?;
    let mut beyond = until;
    // Bounded: each round halves what is left of at most 2^63 ticks.
    while let Some(next) = timetable.after(latest).filter(|next| *next <= until) {
        let (low, high) = (ticks(next), ticks(beyond));
        let middle = from_ticks(low + (high - low) / 2).unwrap_or(next);
        if let Some(found) = timetable.at_or_after(middle).filter(|found| *found <= beyond) {
            latest = found;
        } else {
            beyond = middle;
            latest = next;
        }
    }
    Some(latest)
}

#[cfg(test)]
mod tests {
    use minutehand_recurrence::{Recurrence, Rule, Timetable, WrittenDate, format_instant};

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        WrittenDate::parse(text).unwrap().instant(None).unwrap()
    }

    fn timetable(rule: &str, since: &str) -> Schedule {
        let rule = serde_json::from_str(rule).unwrap();
        let rule = Rule::canonical(&Recurrence::from_json(&rule).unwrap()).unwrap();
        Schedule::from(Timetable::new(&rule, None, at(since)).unwrap())
    }

    fn window<'a>(now: &str, outages: &'a [Outage]) -> Window<'a> {
        let now = at(now);
        Window {
            now,
            until: now + TimeDelta::minutes(14),
            outages,
            sent_until: None,
            occurrences_max: 16,
            look_again: TimeDelta::minutes(20),
        }
    }

    /// What is handed over, how many were overtaken, and when the timer is due next.
    fn planned(
        rule: &str,
        from: &str,
        now: &str,
        outages: &[Outage],
    ) -> (Vec<String>, u64, String) {
        let timetable = timetable(rule, "2027-01-01T00:00");
        let plan_dispatch = plan_dispatch(&timetable, 1, at(from), &window(now, outages));
        let handed =
            plan_dispatch.send.iter().map(|at| format_instant(*at)[11..16].to_owned()).collect();
        let spent = if plan_dispatch.next.is_spent() { " spent" } else { "" };
        (
            handed,
            plan_dispatch.left_out.iter().map(|left_out| left_out.occurrences).sum(),
            format!("{}{spent}", &format_instant(plan_dispatch.next.at())[..16]),
        )
    }

    #[track_caller]
    fn check([rule, from, now]: [&str; 3], send: &[&str], overtaken: u64, next: &str) {
        check_after(&[], [rule, from, now], send, overtaken, next);
    }

    /// The same after outages, each until a time of the first day.
    #[track_caller]
    fn check_after(
        outages: &[[&str; 2]],
        [rule, from, now]: [&str; 3],
        send: &[&str],
        overtaken: u64,
        next: &str,
    ) {
        let day = |time: &str| at(&format!("2027-01-01T{time}"));
        let outages: Vec<Outage> = outages
            .iter()
            .map(|[from, until]| Outage { from: day(from), until: day(until) })
            .collect();
        let send = send.iter().copied().map(str::to_owned).collect();
        assert_eq!(planned(rule, from, now, &outages), (send, overtaken, next.to_owned()));
    }

    const MINUTELY: &str = r#"{"frequency":"minute","interval":5}"#;

    #[test]
    fn what_is_within_the_horizon_is_handed_over() {
        check(
            [MINUTELY, "2027-01-01T00:00", "2027-01-01T00:00"],
            &["00:00", "00:05", "00:10"],
            0,
            "2027-01-01T00:15",
        );
        check([MINUTELY, "2027-01-01T00:15", "2027-01-01T00:00"], &[], 0, "2027-01-01T00:15");
        // At the horizon, and a second beyond it.
        let (at, beyond) = ("2027-01-01T00:01", "2027-01-01T00:00:59");
        check([MINUTELY, "2027-01-01T00:15", at], &["00:15"], 0, "2027-01-01T00:20");
        check([MINUTELY, "2027-01-01T00:15", beyond], &[], 0, "2027-01-01T00:15");
        check(
            [r#"{"frequency":"day"}"#, "2027-01-02T00:00", "2027-01-01T23:50"],
            &["00:00"],
            0,
            "2027-01-03T00:00",
        );
    }

    #[test]
    fn to_be_late_costs_no_occurrence() {
        check(
            [MINUTELY, "2027-01-01T00:00", "2027-01-01T00:14"],
            &["00:00", "00:05", "00:10", "00:15", "00:20", "00:25"],
            0,
            "2027-01-01T00:30",
        );
        // A pass hands over sixteen, and the next one goes on there.
        let late = planned(MINUTELY, "2027-01-01T00:00", "2027-01-01T03:02", &[]);
        assert_eq!((late.0.len(), late.1, late.2.as_str()), (16, 0, "2027-01-01T01:20"));
    }

    #[test]
    fn of_what_fell_into_an_outage_only_the_last_is_owed() {
        let now = "2027-01-01T03:02";
        check_after(
            &[["00:01", "03:02"]],
            [MINUTELY, "2027-01-01T00:05", now],
            &["03:00", "03:05", "03:10", "03:15"],
            35,
            "2027-01-01T03:20",
        );
        // What fell due before it runs, and so does what fell due between two of them.
        check_after(
            &[["00:11", "00:42"], ["00:51", "03:01"]],
            [MINUTELY, "2027-01-01T00:05", now],
            &["00:05", "00:10", "00:40", "00:45", "00:50", "03:00", "03:05", "03:10", "03:15"],
            30,
            "2027-01-01T03:20",
        );
        // A daily one that was missed by hours still runs: its successor is not due yet.
        check_after(
            &[["00:01", "05:00"]],
            [r#"{"frequency":"day"}"#, "2027-01-01T00:00", "2027-01-01T05:00"],
            &["00:00"],
            0,
            "2027-01-02T00:00",
        );
    }

    #[test]
    fn what_was_sent_before_an_outage_is_sent_again_and_not_left_out() {
        let schedule = timetable(MINUTELY, "2027-01-01T00:00");
        let outage = Outage { from: at("2027-01-01T00:03"), until: at("2027-01-01T01:02") };
        let (now, outages) = ("2027-01-01T01:02", [outage]);
        let plan = |sent_until| {
            let window = Window { sent_until, ..window(now, &outages) };
            plan_dispatch(&schedule, 1, at("2027-01-01T00:05"), &window)
        };
        let times = |of: &[DateTime<Utc>]| -> Vec<_> {
            of.iter().map(|at| format_instant(*at)[11..16].to_owned()).collect()
        };
        let row = |plan: &DispatchPlan| times(&[plan.left_out[0].first, plan.left_out[0].last]);
        let before = plan(None);
        assert_eq!((times(&before.again), row(&before)), (vec![], times_of(["00:05", "00:55"])));
        let after = plan(Some(at("2027-01-01T00:10")));
        assert_eq!(times(&after.again), ["00:05", "00:10"]);
        assert_eq!(
            (times(&after.send), row(&after)),
            (times(&before.send), times_of(["00:15", "00:55"]))
        );
        assert_eq!(after.next, before.next);
    }

    fn times_of(times: [&str; 2]) -> Vec<String> {
        times.map(str::to_owned).to_vec()
    }

    #[test]
    fn with_nothing_left_it_is_looked_at_again() {
        let thrice = r#"{"frequency":"minute","count":3}"#;
        check(
            [thrice, "2027-01-01T00:00", "2027-01-01T00:00"],
            &["00:00", "00:01", "00:02"],
            0,
            "2027-01-01T00:22 spent",
        );
        // Also if an outage cost what was left but the last.
        check_after(
            &[["00:00", "09:00"]],
            [thrice, "2027-01-01T00:00", "2027-01-01T09:00"],
            &["00:02"],
            2,
            "2027-01-01T09:20 spent",
        );
        check([thrice, "2027-01-01T00:03", "2027-01-01T00:05"], &[], 0, "2027-01-01T00:25 spent");
    }

    #[test]
    fn a_pass_hands_over_so_many_and_goes_on_there() {
        let timetable = timetable(r#"{"frequency":"minute"}"#, "2027-01-01T00:00");
        let mut window = window("2027-01-01T00:00", &[]);
        window.until = at("2027-01-02T00:00");
        let plan_dispatch = plan_dispatch(&timetable, 1, at("2027-01-01T00:00"), &window);
        assert_eq!(plan_dispatch.send.len(), 16);
        assert_eq!(plan_dispatch.next, NextLook::Occurrence(at("2027-01-01T00:16")));
    }

    #[test]
    fn the_latest_is_found_without_walking() {
        let minutely = timetable(r#"{"frequency":"minute"}"#, "2020-01-01T00:00:30");
        let latest = |from: &str, until: &str| latest_until(&minutely, at(from), at(until));
        assert_eq!(latest("2020-01-01", "2030-01-01"), Some(at("2029-12-31T23:59:30")));
        assert_eq!(latest("2020-01-01", "2020-01-01T00:00:30"), Some(at("2020-01-01T00:00:30")));
        assert_eq!(latest("2020-01-01", "2020-01-01T00:00:29"), None);
        let monthly = timetable(
            r#"{"frequency":"month","schedule":{"monthDays":[31]},"count":5}"#,
            "2020-01-01T00:00",
        );
        let latest = latest_until(&monthly, at("2020-01-01"), at("2030-01-01"));
        assert_eq!(latest.map(format_instant).as_deref(), Some("2020-07-31T00:00:00Z"));
    }

    #[test]
    fn a_spread_start_decides_when_an_occurrence_is_sent() {
        let line = "2 jitter=1800000:7 1 every=1hour start=2027-01-01T00:00:00Z";
        let schedule: Schedule = line.parse().unwrap();
        let nominals: Vec<_> = schedule.iter().take(48).collect();
        let mut due_at = schedule.start(nominals[0]);
        // As a timer goes on: each pass finds exactly the occurrence that it is due for.
        for pair in nominals.windows(2) {
            let now = due_at - TimeDelta::minutes(1);
            let window = Window {
                until: due_at + TimeDelta::seconds(1),
                now,
                ..window("2027-01-01T00:00", &[])
            };
            let plan = plan_dispatch(&schedule, 1, due_at, &window);
            assert_eq!(plan.send, pair[..1]);
            assert!(plan.send[0] <= due_at && due_at < plan.send[0] + TimeDelta::minutes(30));
            assert_eq!(plan.next, NextLook::Occurrence(schedule.start(pair[1])));
            due_at = plan.next.at();
        }
    }
}
