//! A day of a hundred mixed jobs: every line of history has its occurrence, and the other way round.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::Role;
use minutehand_recurrence::{Recurrence, Rule, Timetable, format_instant, read_start_time};
use serde_json::{Value, json};

use super::target::Behaviour::Fail;
use super::world::{World, instant};

const JOBS: u64 = 100;
const BEGIN: &str = "2027-10-30T12:00:00";
/// Twenty-seven hours, one of which Europe has twice.
const END: &str = "2027-10-31T15:00:00";

/// Numbers that look random and are the same each time (`SplitMix64`).
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn one_of<'a>(&mut self, of: &[&'a str]) -> &'a str {
        let n = self.below(of.len().try_into().unwrap());
        of[usize::try_from(n).unwrap()]
    }

    fn some(&mut self, most: u64, bound: u64) -> Vec<u64> {
        (0..=self.below(most)).map(|_| self.below(bound)).collect()
    }

    fn job(&mut self) -> Value {
        let start = instant(BEGIN) + TimeDelta::seconds(self.below(100_000).cast_signed() - 20_000);
        let mut job = json!({});
        if self.below(4) > 0 {
            job["startTime"] = format_instant(start).into();
        }
        if self.below(10) == 0 {
            return job;
        }
        let frequency = self.one_of(&["minute", "hour", "hour", "day", "day", "week", "month"]);
        let mut recurrence = json!({"frequency": frequency});
        match frequency {
            "minute" => recurrence["interval"] = (61 + self.below(90)).into(),
            "hour" => recurrence["interval"] = (2 + self.below(5)).into(),
            _ => {}
        }
        if self.below(3) == 0 {
            recurrence["count"] = (1 + self.below(12)).into();
        }
        if self.below(5) == 0 {
            recurrence["endTime"] = format_instant(start + TimeDelta::hours(9)).into();
        }
        if self.below(4) == 0 {
            let zones =
                ["Europe/Berlin", "W. Europe Standard Time", "Asia/Kolkata", "America/Lima"];
            recurrence["timeZone"] = self.one_of(&zones).into();
        }
        if frequency != "minute" && self.below(2) == 0 {
            let mut schedule = json!({"minutes": self.some(2, 60)});
            if frequency != "hour" {
                schedule["hours"] = self.some(3, 24).into();
            }
            match frequency {
                "week" => schedule["weekDays"] = json!(["Saturday", "Sunday", "Monday"]),
                "month" => schedule["monthDays"] = json!([-1, 30]),
                _ => {}
            }
            recurrence["schedule"] = schedule;
        }
        job["recurrence"] = recurrence;
        job
    }
}

/// When a job has to fire until the end, from its document alone.
fn expected(job: &Value) -> Vec<DateTime<Utc>> {
    let created_at = instant(BEGIN);
    let recurrence = job.get("recurrence").map(|sent| Recurrence::from_json(sent).unwrap());
    let zone = recurrence.as_ref().and_then(Recurrence::zone);
    let start = job.get("startTime").map(|sent| read_start_time(sent, zone).unwrap());
    let timetable = match &recurrence {
        None => Timetable::once(start, created_at),
        Some(sent) => Timetable::new(&Rule::canonical(sent).unwrap(), start, created_at).unwrap(),
    };
    timetable.iter().take_while(|at| *at <= instant(END)).collect()
}

#[tokio::test]
async fn a_hundred_different_jobs_fire_as_expected_for_a_day() {
    let seed = 20_270_301;
    println!("figure: seed {seed}");
    let mut seeded = Seeded(seed);
    let mut world = World::with(BEGIN, json!({"sku": {"name": "P20Premium"}})).await;
    let jobs: Vec<_> = (0..JOBS).map(|n| (format!("j{n}"), seeded.job())).collect();
    for (name, job) in &jobs {
        world.put(name, job.clone()).await;
        if seeded.below(5) == 0 {
            world.targets.next(&format!("http://{name}/"), &[Fail, Fail]);
        }
    }
    world.run_until(END).await;
    // What fell due in the last moment is still on its way.
    world.run_for(TimeDelta::seconds(59)).await;
    let mut occurrences = 0;
    for (name, job) in &jobs {
        let expected = expected(job);
        let executions = world.executions(name).await;
        let mut fired = Vec::new();
        for execution in executions.iter().rev() {
            assert_eq!(execution.attempt.role, Role::Main);
            let nominal_at = execution.attempt.occurrence.nominal_at();
            if nominal_at > instant(END) {
                continue;
            }
            if execution.attempt.number == 0 {
                fired.push(nominal_at);
                let late = execution.record.started_at - nominal_at;
                assert!(late >= TimeDelta::zero() && late < TimeDelta::seconds(1), "{name} {late}");
            }
            assert_eq!(execution.record.repeat_count, fired.len() as u64, "{name}: {job}");
        }
        assert_eq!(fired, expected, "{name}: {job}");
        occurrences += fired.len();
        let is_over = world.status(name).await.state != "enabled";
        let timetable_ended = job
            .get("recurrence")
            .is_none_or(|it| it.get("count").is_some() || it.get("endTime").is_some());
        assert!(timetable_ended || !is_over, "{name}: {job}");
    }
    println!("figure: {occurrences} occurrences of {JOBS} jobs");
    assert!(occurrences > 250, "{occurrences}");
}
