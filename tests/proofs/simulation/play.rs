//! The events of a run: the jobs, their changes, and the faults.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use chrono::{DateTime, Datelike, TimeDelta, Timelike, Utc};
use minutehand_app::{AppError, Manage};
use minutehand_domain::attempt::{Occurrence, Outcome};
use minutehand_domain::collection::CollectionState;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::refusal::Code;
use minutehand_ports::store::ResourceGroup;
use serde_json::{Value, json};

use super::engine::Engine;
use super::faults::Store;
use super::hanging::HANGS;
use super::judge::{Later, Run};
use super::log::Log;
use super::memory::Memory;
use super::mutation::Mutation;
use super::parts::{DeadPart, SHARDS, SWEEPERS_MAX};
use super::tally::{Fault, Tally};
use super::time::{Process, SECOND, begin_at, instant, micros};
use super::twin::Twin;
use super::why;
use super::world::{BOTH, EARLIER, Faults, NEW, Redrive, World};

const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
/// Longer than a finished job is kept.
const SLEEP: i64 = 60 * 24 * HOUR;
/// The time after that in which all expired items must be removed.
const AFTER: i64 = HOUR;
const JOBS: [&str; 5] = ["a", "b", "c", "d", "e"];
const COLLECTIONS: [&str; 2] = ["c0", "c1"];
/// Zones whose clocks change at one o'clock UTC on the last Sunday of March and of October, and how many hours
/// they are ahead in winter.
pub(super) const EUROPE: [(&str, i64); 4] =
    [("Atlantic/Azores", -1), ("Europe/London", 0), ("Europe/Berlin", 1), ("Europe/Kyiv", 2)];
/// The most jobs of a collection, where collections are deleted and jobs expire.
pub(super) const QUOTA: u32 = 3;
/// Collections have failure actions in every such run.
const NOTIFYING: u64 = 5;
/// Jobs pause after failures in every such run.
const PAUSING: u64 = 13;
/// How often all jobs are enabled in such a run.
const RESUMED_EVERY: i64 = 15 * MINUTE;

/// The scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scenario {
    /// Jobs are changed while they fire.
    Mixed,
    /// Jobs with few occurrences, most of which fail, are disabled and enabled again.
    Again,
    /// Workers, sweepers or both are absent for half an hour or more, or sweepers find nothing.
    Outage,
    /// The same, of jobs with policies.
    Policies,
    /// Jobs let no attempts overlap.
    Overlap,
    /// Collections limit the starts of their jobs, which are run many times at once.
    Limits,
    /// Collections limit how many attempts run at the same time, and some also their starts.
    Seats,
    /// An origin hangs for a while, again and again, and workers share its brake.
    Hanging,
    /// Targets answer that they go on, and report later how it ended.
    Completion,
    /// The queue loses messages.
    Lossy,
    /// It does, and several sweepers divide the timers, some of which fail for a while.
    Parts,
    /// Faults are several times as frequent, and workers stall.
    Harsh,
    /// Collections are deleted, and more than sixty days go by after the end.
    Gone,
    /// Jobs are run many times at once.
    Burst,
    /// A new version is rolled out, rolled back, and rolled out again.
    Upgrade,
    /// Recurrences follow the clocks of zones, which change in the second hour.
    Zones,
    /// Many processes share a database of PostgreSQL, which is away for minutes; they die, end, and are frozen.
    Processes,
    /// Jobs expect pings, and processes with the API come and go.
    Pings,
    /// One process on one machine, which dies, is stopped and begins again, while the clock jumps.
    Machine,
}

/// All of them.
pub(super) const SCENARIOS: [Scenario; 19] = [
    Scenario::Mixed,
    Scenario::Again,
    Scenario::Outage,
    Scenario::Policies,
    Scenario::Overlap,
    Scenario::Limits,
    Scenario::Seats,
    Scenario::Hanging,
    Scenario::Completion,
    Scenario::Lossy,
    Scenario::Parts,
    Scenario::Harsh,
    Scenario::Gone,
    Scenario::Burst,
    Scenario::Upgrade,
    Scenario::Zones,
    Scenario::Pings,
    Scenario::Processes,
    Scenario::Machine,
];

impl Scenario {
    /// The time without faults in which all work must end.
    pub(super) const fn tail(self) -> i64 {
        match self {
            // Nothing waits for a message that is hidden for long, and much happens in a second.
            Self::Processes => HOUR / 2,
            Self::Pings => 2 * HOUR,
            _ => 3 * HOUR,
        }
    }

    /// When a run begins, if that matters: an hour before the clocks of Europe go forward or back.
    pub(super) fn beginning(self, seed: u64) -> Option<DateTime<Utc>> {
        let day = if seed.is_multiple_of(2) { "2027-03-28" } else { "2027-10-31" };
        (self == Self::Zones).then(|| format!("{day}T00:00:00Z").parse().unwrap())
    }
}

/// A request to the API.
#[derive(Debug, Clone)]
pub(super) enum Request {
    Put {
        collection: &'static str,
        job: &'static str,
        body: Value,
    },
    Patch {
        job: &'static str,
        body: Value,
    },
    Delete {
        job: &'static str,
    },
    Run {
        job: &'static str,
    },
    /// Enables a job that has paused.
    Resume {
        job: &'static str,
    },
    /// Runs a job for its latest occurrence that failed.
    Redrive {
        job: &'static str,
    },
    Switch {
        collection: &'static str,
        state: CollectionState,
        quota: Option<u32>,
    },
    /// Changes the limits of a collection.
    Limit {
        collection: &'static str,
        limits: Value,
    },
    /// Gives a collection a failure action.
    Notify {
        collection: &'static str,
        action: Value,
    },
    DeleteCollection {
        collection: &'static str,
    },
}

/// A run, ready to start.
struct Play {
    world: Arc<World>,
    scenario: Scenario,
    /// The instant of the last fault.
    span: i64,
    outage: Option<Outage>,
}

/// A time in which nothing was done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outage {
    pub(super) from: i64,
    pub(super) until: i64,
    /// Whether there was no sign of life.
    pub(super) is_known: bool,
    /// Whether workers were away, with or without the sweepers.
    pub(super) of_workers: bool,
}

/// What an outage is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Workers,
    Sweepers,
    Both,
    /// Sweepers give signs of life, and cannot read the index.
    Blind,
}

/// Plays a seed to its end.
pub(super) fn play(seed: u64, scenario: Scenario, mutation: Option<Mutation>) -> Run {
    play_on(seed, scenario, mutation, stores(scenario, mutation))
}

/// What a run is played on.
pub(super) struct Stores {
    pub(super) store: Arc<dyn Store>,
    /// What one machine stands on.
    pub(super) engine: Option<Arc<Engine>>,
}

/// The store in memory, and beneath one machine its engine. Some mistakes are in the store in memory, so with
/// one the engine has the queue alone.
fn stores(scenario: Scenario, mutation: Option<Mutation>) -> impl Fn(&Arc<Memory>) -> Stores {
    move |memory| {
        let memory = memory.clone();
        let engine = (scenario == Scenario::Machine).then(Engine::in_memory);
        let store: Arc<dyn Store> = match engine.clone().filter(|_| mutation.is_none()) {
            Some(engine) => Arc::new(Twin { memory, others: vec![engine], is_led: true }),
            None => memory,
        };
        Stores { store, engine }
    }
}

/// Plays a seed to its end, and writes its log.
pub(super) fn play_logged(
    seed: u64,
    scenario: Scenario,
    mutation: Option<Mutation>,
) -> (Run, String) {
    let world = World::new(seed, mutation, Log::on(), stores(scenario, mutation));
    let run = play_in(&world, scenario);
    (run, world.log.take())
}

/// Plays a seed to its end, and tells what went wrong in it.
pub(super) fn play_counted(seed: u64, scenario: Scenario) -> (Run, Tally) {
    let world = World::new(seed, None, Log::default(), stores(scenario, None));
    let run = play_in(&world, scenario);
    (run, world.time.tally.clone())
}

/// Plays a seed on the given stores.
pub(super) fn play_on(
    seed: u64,
    scenario: Scenario,
    mutation: Option<Mutation>,
    stores: impl FnOnce(&Arc<Memory>) -> Stores,
) -> Run {
    play_in(&World::new(seed, mutation, Log::default(), stores), scenario)
}

fn play_in(world: &Arc<World>, scenario: Scenario) -> Run {
    let world = world.clone();
    begin_at(scenario.beginning(world.seed));
    let hours = world.time.chance().pick(&[1, 2]);
    let span = if scenario == Scenario::Processes { HOUR } else { HOUR * hours };
    let mut play = Play { world, scenario, span, outage: None };
    play.begin();
    play.world.time.run(play.span);
    let quiet = Faults { skew: play.world.faults().skew, ..Faults::default() };
    play.world.set_faults(quiet);
    play.world.time.run(play.span + scenario.tail());
    assert_eq!(*play.world.memory.differences.lock().unwrap(), [""; 0], "stores differ");
    play.world.note_dead_letters();
    play.world.log_end("end");
    let mut run = Run::of(&play.world, scenario, play.span, play.outage);
    // With a mistake, an answer may be right about what should not have happened.
    if play.world.mutation.is_none() {
        run.explained = why::ask(&play.world, &run);
    }
    if matches!(scenario, Scenario::Gone | Scenario::Upgrade) {
        play.sleep();
        play.world.log_end("later");
        run.later = Some(Later::of(&play.world));
    }
    play.world.end();
    run
}

impl Play {
    fn begin(&mut self) {
        if self.scenario == Scenario::Parts {
            self.parts();
        }
        self.world.log_start(self.scenario);
        if self.scenario == Scenario::Machine {
            let machine = self.world.clone().run_machine(self.span);
            self.world.time.spawn(&self.world.keeper, machine);
        } else if self.scenario == Scenario::Processes {
            self.world.run_processes(self.span);
            // They know the time after their first answers.
            self.world.time.run(SECOND / 10);
        } else {
            self.ticks();
        }
        for collection in COLLECTIONS {
            // Before the first fault.
            self.at(0, self.switch(collection, CollectionState::Enabled));
            if self.world.seed.is_multiple_of(NOTIFYING) {
                let action = self.failure_action();
                self.at(SECOND / 2, Request::Notify { collection, action });
            }
        }
        self.world.time.run(SECOND);
        self.go_wrong();
        if self.scenario == Scenario::Hanging {
            self.hang();
        }
        for job in JOBS {
            let often = self.pick(&[1_000_000, 900_000, 500_000, 0]);
            self.world.successes.lock().unwrap().insert(job.to_owned(), often);
            let at = self.between(SECOND, 5 * MINUTE);
            let start = self.between(0, 20 * MINUTE);
            let mut body =
                self.job(start, &[(0, 30), (2, 15), (4, 30), (2, 300), (2, 1_200), (2, 1_800)]);
            self.let_pause(job, &mut body);
            if self.scenario == Scenario::Again {
                self.let_end(job, &mut body);
            }
            let collection = self.pick(&COLLECTIONS);
            self.at(at, Request::Put { collection, job, body });
        }
        if self.scenario == Scenario::Pings {
            // Alone, or side by side.
            self.world.serve_pings(1 + usize::try_from(self.world.seed % 3).unwrap(), self.span);
            self.world.learn_keys();
            for job in JOBS {
                self.world.send_pings(job, self.span);
            }
        }
        if self.is_pausing() {
            self.resumptions();
        }
        self.happen();
    }

    /// What the scenario is about.
    fn happen(&mut self) {
        match self.scenario {
            Scenario::Outage | Scenario::Policies => self.outage(),
            Scenario::Gone => {
                self.changes();
                self.deletions();
            }
            Scenario::Overlap => {
                self.changes();
                self.some_runs();
            }
            Scenario::Limits => {
                self.limits();
                self.changes();
                self.bursts();
            }
            Scenario::Seats => {
                self.seats();
                self.changes();
                self.runs_in_seats();
            }
            Scenario::Hanging => {
                self.some_runs();
                self.runs_in_seats();
            }
            Scenario::Completion => {
                if self.world.seed % 3 == 2 {
                    self.seats();
                    self.runs_in_seats();
                } else {
                    self.some_runs();
                }
                self.changes();
            }
            Scenario::Burst | Scenario::Machine => {
                self.changes();
                self.bursts();
            }
            Scenario::Harsh => {
                self.changes();
                self.policies();
            }
            Scenario::Upgrade => {
                self.changes();
                self.versions();
            }
            Scenario::Again => {
                self.changes();
                self.disable_again();
            }
            Scenario::Zones => {
                self.changes();
                self.redrives();
            }
            Scenario::Pings => self.changes_of_pinged(),
            Scenario::Processes => {
                self.changes();
                self.some_bursts();
                self.deletions();
            }
            Scenario::Mixed | Scenario::Lossy | Scenario::Parts => self.changes(),
        }
    }

    /// Lets a job end after one to three occurrences, and fail more often than not.
    fn let_end(&self, job: &'static str, body: &mut Value) {
        self.world.successes.lock().unwrap().insert(job.to_owned(), 300_000);
        let properties = &mut body["properties"];
        match self.pick(&[0, 1, 2, 3]) {
            0 => properties["recurrence"] = Value::Null,
            count => {
                properties["recurrence"] =
                    json!({"frequency": "minute", "interval": 2, "count": count});
            }
        }
    }

    /// Disables jobs and enables them again, about when their last occurrences are under way.
    fn disable_again(&self) {
        for job in JOBS {
            for _ in 0..self.between(2, 6) {
                let at = self.between(SECOND, 35 * MINUTE);
                let later = at + SECOND * self.pick(&[1, 10, 30, 300, 1_500]);
                for (at, state) in [(at, "disabled"), (later, "enabled")] {
                    let body = json!({"properties": {"state": state}});
                    self.at(at, Request::Patch { job, body });
                }
            }
        }
    }

    /// Whether jobs pause. Not where the clock jumps: failures in a row are then in another order.
    fn is_pausing(&self) -> bool {
        self.world.seed.is_multiple_of(PAUSING) && self.scenario != Scenario::Machine
    }

    /// Lets a job that repeats pause after one to three failures in a row.
    fn let_pause(&self, job: &str, body: &mut Value) {
        let properties = &mut body["properties"];
        if self.is_pausing() && !properties["recurrence"].is_null() {
            let after = 1 + JOBS.iter().position(|it| *it == job).unwrap() % 3;
            properties["minutehand"] = json!({"pauseOnFailure": {"after": after}});
        }
    }

    /// Enables all jobs now and then: those that have paused go on.
    fn resumptions(&self) {
        for n in 1..=self.span / RESUMED_EVERY {
            for job in JOBS {
                let body = json!({"properties": {"state": "enabled"}});
                let is_resumed = self.scenario == Scenario::Zones;
                let request =
                    if is_resumed { Request::Resume { job } } else { Request::Patch { job, body } };
                self.at(n * RESUMED_EVERY + 7 * SECOND, request);
            }
        }
    }

    fn go_wrong(&self) {
        let skew = self.pick(&[0, 0, SECOND / 2, 5 * SECOND]);
        let faults = Faults {
            skew,
            crashes: self.pick(&[0, 300, 1_500]),
            lost: self.pick(&[0, 5_000, 30_000]),
            throttled: self.pick(&[0, 0, 10_000]),
            doubled: self.pick(&[0, 10_000, 50_000]),
            late: 10_000,
            slow_index: self.pick(&[0, 20_000, 100_000]),
            lost_ticks: self.pick(&[0, 30_000]),
            doubled_ticks: self.pick(&[0, 100_000]),
            vanished: 0,
            stalls: 0,
        };
        let faults = match self.scenario {
            Scenario::Lossy | Scenario::Parts => Faults { vanished: 20_000, ..faults },
            Scenario::Harsh => Faults {
                crashes: 7 * faults.crashes,
                lost: 3 * faults.lost,
                throttled: 3 * faults.throttled,
                doubled: 3 * faults.doubled,
                late: 3 * faults.late,
                slow_index: 3 * faults.slow_index,
                lost_ticks: 3 * faults.lost_ticks,
                doubled_ticks: 3 * faults.doubled_ticks,
                stalls: 20_000,
                ..faults
            },
            Scenario::Burst => Faults {
                crashes: 3 * faults.crashes,
                lost: 3 * faults.lost,
                doubled: 3 * faults.doubled,
                ..faults
            },
            Scenario::Machine | Scenario::Processes => Faults { skew: 0, slow_index: 0, ..faults },
            // Calls are counted by clocks that differ little.
            Scenario::Hanging => Faults { skew: self.pick(&[0, SECOND / 50]), ..faults },
            // Processes that may be away share the clock of their database.
            Scenario::Pings => {
                Faults { skew: self.pick(&[0, SECOND / 50]), lost_ticks: 0, ..faults }
            }
            Scenario::Mixed
            | Scenario::Again
            | Scenario::Outage
            | Scenario::Policies
            | Scenario::Overlap
            | Scenario::Limits
            | Scenario::Seats
            | Scenario::Completion
            | Scenario::Gone
            | Scenario::Zones
            | Scenario::Upgrade => faults,
        };
        self.world.set_faults(faults);
        self.world.log_faults(faults);
    }

    fn pick<T: Copy>(&self, among: &[T]) -> T {
        self.world.time.chance().pick(among)
    }

    fn between(&self, low: i64, high: i64) -> i64 {
        self.world.time.chance().between(low, high)
    }

    fn happens(&self, percent: u64) -> bool {
        self.world.time.chance().happens(percent * 10_000)
    }

    /// Switches a collection, which has a quota where jobs expire.
    fn switch(&self, collection: &'static str, state: CollectionState) -> Request {
        let quota = (self.scenario == Scenario::Gone).then_some(QUOTA);
        Request::Switch { collection, state, quota }
    }

    fn failure_action(&self) -> Value {
        let retry = self.retry_policy(&[(0, 30), (2, 15), (1, 1_200)]);
        json!({
            "type": "Http", "request": {"uri": "http://example.org/told", "method": "POST"},
            "retryPolicy": retry,
        })
    }

    fn retry_policy(&self, retries: &[(u32, u32)]) -> Value {
        let (count, interval) = self.pick(retries);
        if count == 0 {
            return json!({"retryType": "none"});
        }
        json!({"retryType": "fixed", "retryInterval": format!("PT{interval}S"), "retryCount": count})
    }

    /// A job that expects pings.
    fn expecting(&self, start: i64) -> Value {
        let mut properties = self.schedule(start);
        while properties["recurrence"].is_null() {
            properties = self.schedule(start);
        }
        let early = self.pick(&["PT10S", "PT30S", "PT2M"]);
        let grace = self.pick(&["PT20S", "PT1M", "PT3M", "PT5M"]);
        properties["action"] =
            json!({"type": "Expect", "expect": {"early": early, "grace": grace}});
        json!({"properties": properties})
    }

    /// Changes of jobs that expect pings.
    fn changes_of_pinged(&self) {
        for _ in 0..self.between(2, 11) {
            let (job, at) = (self.pick(&JOBS), self.between(200 * SECOND, self.span));
            let patch =
                |properties| Request::Patch { job, body: json!({"properties": properties}) };
            match self.between(0, 100) {
                0..30 => self.at(at, patch(self.schedule(at))),
                30..60 => {
                    self.at(at, patch(json!({"state": "disabled"})));
                    let later = at + SECOND * self.pick(&[1, 10, 30, 300]);
                    self.at(later, patch(json!({"state": "enabled"})));
                }
                60..80 => {
                    self.at(at, Request::Delete { job });
                    let body = self.expecting(at + self.between(0, 5 * MINUTE));
                    let later = at + self.pick(&[SECOND / 5, 5 * SECOND, MINUTE]);
                    let collection = self.pick(&COLLECTIONS);
                    self.at(later, Request::Put { collection, job, body });
                }
                _ => {
                    let collection = self.pick(&COLLECTIONS);
                    self.at(at, self.switch(collection, CollectionState::Disabled));
                    let later = at + SECOND * self.pick(&[5, 65, 900]);
                    self.at(later, self.switch(collection, CollectionState::Enabled));
                }
            }
        }
    }

    /// A job with a timing and a retry policy.
    fn job(&self, start: i64, retries: &[(u32, u32)]) -> Value {
        if self.scenario == Scenario::Pings {
            return self.expecting(start);
        }
        let retry = self.retry_policy(retries);
        let mut action = json!({"type": "Http", "request": {"uri": "http://example.org/", "method": "GET"}, "retryPolicy": retry});
        if self.happens(40) {
            action["errorAction"] = json!({
                "type": "Http", "request": {"uri": "http://example.org/failed", "method": "GET"},
                "retryPolicy": {"retryType": "fixed", "retryInterval": "PT30S", "retryCount": 1},
            });
        }
        let mut properties = self.schedule(start);
        if self.scenario == Scenario::Hanging {
            if self.happens(80) {
                action["request"]["uri"] = HANGS.into();
            }
            if self.happens(70) && !properties["recurrence"].is_null() {
                properties["recurrence"] = json!({"frequency": "minute"});
            }
        }
        properties["action"] = action;
        if self.scenario == Scenario::Policies {
            properties["minutehand"] = self.minutehand();
            if self.happens(35) && !properties["recurrence"].is_null() {
                self.add_dates(&mut properties, start);
            }
        }
        if self.scenario == Scenario::Zones && !properties["recurrence"]["schedule"].is_null() {
            self.add_dates_of_zone(&mut properties, start);
        }
        if self.scenario == Scenario::Zones && self.happens(60) {
            properties["minutehand"]["retry"] = self.waits();
        }
        if self.scenario == Scenario::Overlap {
            let policy = self.pick(&["skip", "skip", "skip", "allow"]);
            properties["minutehand"] = json!({"overlap": {"policy": policy}});
        }
        if self.scenario == Scenario::Completion {
            properties["minutehand"]["completion"] = json!({"within": "PT2M"});
            if self.world.seed % 3 == 1 {
                properties["minutehand"]["overlap"] = json!({"policy": "skip"});
            }
        }
        json!({"properties": properties})
    }

    /// Waits before retries that grow, end, or are asked for by targets.
    fn waits(&self) -> Value {
        let mut waits = json!({});
        if self.happens(70) {
            waits["backoff"] = json!("exponential");
            waits["factor"] = self.pick(&[1.5, 2.0, 3.0]).into();
            waits["maxInterval"] = self.pick(&["PT50S", "PT5M", "PT30M"]).into();
        }
        if self.happens(50) {
            waits["maxElapsed"] = self.pick(&["PT40S", "PT3M", "PT20M"]).into();
        } else if self.happens(30) {
            waits["jitter"] = "full".into();
        }
        if self.happens(60) {
            waits["retryAfter"] = json!({"max": self.pick(&["PT30S", "PT2M"])});
        }
        waits
    }

    /// Policies that decide whether and when an occurrence runs.
    fn minutehand(&self) -> Value {
        let mut policies = json!({"catchUp": self.pick(&["last", "none", "all", "all"])});
        let policy = policies["catchUp"].take();
        policies["catchUp"] = match policy.as_str() {
            Some("all") => {
                let (window, max) = self.pick(&[("PT1H", 3), ("PT2H", 7), ("PT10M", 100)]);
                json!({"policy": "all", "window": window, "max": max})
            }
            _ => json!({"policy": policy}),
        };
        if self.happens(30) {
            policies["maxLateness"] = json!(self.pick(&["PT1M", "PT5M"]));
        }
        if self.happens(30) {
            policies["jitter"] = json!({"window": self.pick(&["PT5S", "PT30S"])});
        }
        policies
    }

    /// Gives a recurring job excluded and extra dates. The day of its zone changes while it fires.
    fn add_dates(&self, properties: &mut Value, start: i64) {
        let begun = instant(start);
        let hour = i64::from(begun.hour()) + self.between(0, 3);
        // Midnight of this zone is at that hour.
        properties["recurrence"]["timeZone"] = json!(format!("Etc/GMT+{}", hour.min(12)));
        if self.happens(60) {
            let days = self.pick(&[0, -1, -1]);
            let day = (begun + TimeDelta::days(days)).date_naive();
            properties["minutehand"]["exclude"] = json!({"dates": [day.to_string()]});
        }
        // Whole minutes from the others, as limits ask for.
        let phase =
            if properties["startTime"].as_str().unwrap().ends_with(":30Z") { 30 } else { 0 };
        let phase = phase * SECOND - start % MINUTE;
        let end = properties["recurrence"]["endTime"].as_str().unwrap_or("9999").to_owned();
        let dates: Vec<_> =
            self.extra_dates(start + phase).into_iter().filter(|date| *date <= end).collect();
        properties["minutehand"]["extraDates"] = json!(dates);
    }

    /// Excludes the day after that on which the clocks change, in a few jobs that day, and adds dates.
    fn add_dates_of_zone(&self, properties: &mut Value, start: i64) {
        if self.happens(30) {
            let days = self.pick(&[1, 1, -1, 0]);
            let day = (instant(0) + TimeDelta::days(days)).date_naive();
            properties["minutehand"]["exclude"] = json!({"dates": [day.to_string()]});
        }
        if self.happens(40) {
            let end = properties["recurrence"]["endTime"].as_str().unwrap_or("9999").to_owned();
            let begin = properties["startTime"].as_str().unwrap().to_owned();
            let dates = self.extra_dates(start / MINUTE * MINUTE).into_iter();
            let dates: Vec<_> = dates.filter(|it| (&begin..=&end).contains(&it)).collect();
            properties["minutehand"]["extraDates"] = json!(dates);
        }
    }

    fn extra_dates(&self, start: i64) -> Vec<String> {
        let written = |at| instant(at).to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        let minutes = self.span / MINUTE;
        let dates = (0..self.between(0, 7)).map(|_| start + self.between(0, minutes) * MINUTE);
        dates.map(written).collect()
    }

    /// A start and a recurrence, each to the half minute.
    fn schedule(&self, start: i64) -> Value {
        let start = start / MINUTE * MINUTE + self.pick(&[0, 0, 0, 30 * SECOND]);
        let written = |at| instant(at).to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        if self.happens(30) {
            return json!({"startTime": written(start), "recurrence": null});
        }
        let interval = self.pick(&[1, 1, 2, 5, 15, 30]);
        let mut recurrence = json!({"frequency": "minute", "interval": interval});
        if let Some(count) = self.pick(&[None, None, Some(1), Some(3), Some(8), Some(20)]) {
            recurrence["count"] = json!(count);
        }
        if self.happens(33) {
            let end = self.between(start, start + self.span);
            recurrence["endTime"] = json!(written(end));
        }
        let start = start - self.pick(&[0, 0, 2 * HOUR]);
        if self.scenario == Scenario::Zones {
            recurrence = self.by_the_clock(&recurrence);
        }
        json!({"startTime": written(start), "recurrence": recurrence})
    }

    /// A recurrence by the clock of a zone, with the end of another one. It has some of the hours in which
    /// that clock changes.
    fn by_the_clock(&self, other: &Value) -> Value {
        let (zone, hours_ahead) = self.pick(&EUROPE);
        let first = (self.between(0, 2) + hours_ahead).max(0);
        let hours: Vec<_> = (first..first + self.between(2, 5)).collect();
        let minutes = self.pick(&[&[0, 30][..], &[5, 25, 45], &[0, 10, 20, 30, 40, 50], &[15]]);
        let mut schedule = json!({"hours": hours, "minutes": minutes});
        let begun = instant(0);
        let frequency = self.pick(&["day", "day", "week", "month"]);
        match frequency {
            "week" => schedule["weekDays"] = json!(["Sunday", "Monday"]),
            "month" if self.happens(50) => schedule["monthDays"] = json!([begun.day(), 15]),
            // The last but so many days of these two months.
            "month" => schedule["monthDays"] = json!([i64::from(begun.day()) - 32]),
            _ => {}
        }
        let mut recurrence = other.clone();
        recurrence["frequency"] = json!(frequency);
        recurrence["interval"] = json!(1);
        recurrence["schedule"] = schedule;
        recurrence["timeZone"] = json!(zone);
        recurrence
    }

    /// Changes of jobs. Half of them happen close to a due time.
    fn changes(&self) {
        for _ in 0..self.between(2, 11) {
            let at = self.between(200 * SECOND, self.span);
            let is_aimed = self.happens(50);
            let at =
                if is_aimed { at / MINUTE * MINUTE + self.between(-SECOND, SECOND) } else { at };
            self.change(at, self.pick(&JOBS));
        }
    }

    fn change(&self, at: i64, job: &'static str) {
        let patch = |properties| Request::Patch { job, body: json!({"properties": properties}) };
        match self.between(0, 100) {
            0..20 => {
                let header = format!("{at}");
                let headers = json!({"action": {"request": {"headers": {"x-change": header}}}});
                self.at(at, patch(headers));
            }
            20..30 => {
                self.at(at, Request::Patch { job, body: self.policy() });
            }
            30..45 if self.scenario == Scenario::Policies && self.happens(50) => {
                let dates =
                    self.extra_dates(at / MINUTE * MINUTE + self.pick(&[0, 0, 30 * SECOND]));
                self.at(at, patch(json!({"minutehand": {"extraDates": dates}})));
            }
            30..45 => self.at(at, patch(self.schedule(at))),
            45..65 => {
                self.at(at, patch(json!({"state": "disabled"})));
                let later = at + SECOND * self.pick(&[1, 30, 300, 1_500]);
                self.at(later, patch(json!({"state": "enabled"})));
            }
            65..75 => {
                self.at(at, Request::Delete { job });
                if self.happens(70) {
                    let body = self.job(at + self.between(0, 25 * MINUTE), &[(0, 30), (2, 15)]);
                    let collection = self.pick(&COLLECTIONS);
                    let later = at + self.pick(&[SECOND / 5, 5 * SECOND, MINUTE]);
                    self.at(later, Request::Put { collection, job, body });
                }
            }
            75..85 => self.at(at, Request::Run { job }),
            _ => {
                let collection = self.pick(&COLLECTIONS);
                self.at(at, self.switch(collection, CollectionState::Disabled));
                let later = at + SECOND * self.pick(&[5, 65, 900]);
                self.at(later, self.switch(collection, CollectionState::Enabled));
            }
        }
    }

    /// Versions take turns. At the end only the new one runs.
    fn versions(&self) {
        let part = self.span / 6;
        let turns = [EARLIER, BOTH, NEW, BOTH, EARLIER, BOTH, NEW];
        for (turn, versions) in (0..).zip(turns) {
            let (world, at) = (self.world.clone(), turn * part + SECOND);
            self.world.time.spawn(&self.world.keeper, async move {
                world.time.until(at).await;
                world.versions.store(versions, Relaxed);
            });
        }
    }

    /// Changes of retry policies, so often that some come between a failure and what follows it.
    fn policies(&self) {
        for _ in 0..20 {
            let (job, at) = (self.pick(&JOBS), self.between(200 * SECOND, self.span));
            self.at(at, Request::Patch { job, body: self.policy() });
        }
    }

    fn policy(&self) -> Value {
        let retry = self.retry_policy(&[(0, 30), (1, 15), (2, 30), (4, 30), (2, 300)]);
        json!({"properties": {"action": {"retryPolicy": retry}}})
    }

    /// Runs of one job, more at once than are remembered as counted.
    fn bursts(&self) {
        for _ in 0..self.between(1, 4) {
            let (job, at) = (self.pick(&JOBS), self.between(200 * SECOND, self.span));
            for _ in 0..self.pick(&[60, 100, 150]) {
                let at = at + self.between(0, 2 * SECOND);
                self.at(at, Request::Run { job });
            }
        }
    }

    /// A few runs of one job at once, now and then.
    fn some_bursts(&self) {
        for _ in 0..self.between(3, 9) {
            let (job, at) = (self.pick(&JOBS), self.between(200 * SECOND, self.span));
            for _ in 0..self.pick(&[5, 10, 20]) {
                let at = at + self.between(0, SECOND / 2);
                self.at(at, Request::Run { job });
            }
        }
    }

    /// Limits, which change now and then.
    fn limits(&self) {
        for collection in COLLECTIONS {
            let limits = Self::limited(Some(self.pick(&[1, 1, 2, 5])), None);
            self.at(2 * SECOND, Request::Limit { collection, limits });
            for _ in 0..self.between(0, 4) {
                let at = self.between(200 * SECOND, self.span);
                let per_second = self.pick(&[None, Some(1), Some(1), Some(3), Some(10)]);
                let limits = Self::limited(per_second, None);
                self.at(at, Request::Limit { collection, limits });
            }
        }
    }

    /// Limits of what runs, which change now and then. Some collections limit their starts as well.
    fn seats(&self) {
        for collection in COLLECTIONS {
            let per_second = self.pick(&[None, None, None, Some(1), Some(5)]);
            let limits = Self::limited(per_second, Some(self.pick(&[2, 3, 5])));
            self.at(2 * SECOND, Request::Limit { collection, limits });
            for _ in 0..self.between(0, 4) {
                let at = self.between(200 * SECOND, self.span);
                let concurrent = self.pick(&[None, Some(2), Some(3), Some(5), Some(10)]);
                let limits = Self::limited(per_second, concurrent);
                self.at(at, Request::Limit { collection, limits });
            }
        }
    }

    fn limited(per_second: Option<u32>, concurrent: Option<u32>) -> Value {
        let limits = json!({"maxPerSecond": per_second, "maxConcurrent": concurrent});
        json!({"properties": {"minutehand": limits}})
    }

    /// Lets an origin hang for some times, and answer between them.
    fn hang(&self) {
        let mut at = self.between(2 * MINUTE, 15 * MINUTE);
        let mut spans = Vec::new();
        while at < self.span {
            let until = at + MINUTE * self.pick(&[2, 5, 15, 30]);
            spans.push((at, until.min(self.span)));
            at = until + MINUTE * self.pick(&[1, 10, 30]);
        }
        *self.world.hanging.spans.lock().unwrap() = spans;
    }

    /// Runs of one job, more at once than there are seats.
    fn runs_in_seats(&self) {
        for _ in 0..self.between(1, 4) {
            let (job, at) = (self.pick(&JOBS), self.between(200 * SECOND, self.span));
            for _ in 0..self.pick(&[5, 10, 20]) {
                let at = at + self.between(0, 2 * SECOND);
                self.at(at, Request::Run { job });
            }
        }
    }

    /// Runs that users ask for, some of them at once.
    fn some_runs(&self) {
        for _ in 0..self.between(5, 20) {
            let (job, at) = (self.pick(&JOBS), self.between(200 * SECOND, self.span));
            for _ in 0..self.pick(&[1, 1, 2, 3]) {
                let at = at + self.between(0, SECOND / 10);
                self.at(at, Request::Run { job });
            }
        }
    }

    /// Runs that users ask for because an occurrence failed.
    fn redrives(&self) {
        for _ in 0..self.between(5, 20) {
            let (job, at) = (self.pick(&JOBS), self.between(600 * SECOND, self.span));
            self.at(at, Request::Redrive { job });
        }
    }

    /// Deletions of collections. Some collections are created again under the same name.
    fn deletions(&self) {
        for collection in COLLECTIONS {
            if self.happens(50) {
                continue;
            }
            let at = self.between(200 * SECOND, self.span);
            self.at(at, Request::DeleteCollection { collection });
            if self.scenario == Scenario::Processes {
                for (n, job) in JOBS.into_iter().enumerate() {
                    let before = SECOND / 20 * i64::try_from(n).unwrap();
                    let body = self.job(at + 5 * MINUTE, &[(0, 30)]);
                    self.at(at - before, Request::Put { collection, job, body });
                }
                continue;
            }
            if self.happens(50) {
                let later = at + self.pick(&[SECOND, 20 * SECOND, 15 * MINUTE]);
                self.at(later, self.switch(collection, CollectionState::Enabled));
                let job = self.pick(&JOBS);
                let body = self.job(later + self.between(0, 25 * MINUTE), &[(0, 30), (2, 15)]);
                self.at(later + 5 * SECOND, Request::Put { collection, job, body });
            }
        }
    }

    /// A pause as long as finished jobs are kept, after which all processes run again.
    fn sleep(&self) {
        let world = &self.world;
        let until = world.time.now() + SLEEP;
        world.asleep_until.store(until, Relaxed);
        world.are_workers_down.store(true, Relaxed);
        world.are_sweepers_down.store(true, Relaxed);
        world.time.run(until);
        world.are_workers_down.store(false, Relaxed);
        world.are_sweepers_down.store(false, Relaxed);
        world.poke();
        // Jobs have expired, and are not removed yet.
        for job in JOBS {
            let collection = self.pick(&COLLECTIONS);
            let body = self.job(until + HOUR / 2, &[(0, 30), (2, 15)]);
            let at = until + HOUR / 4 + self.between(0, SECOND / 5);
            self.at(at, Request::Put { collection, job, body });
        }
        world.time.run(until + AFTER);
        world.store.remove_expired(instant(world.time.now()));
    }

    fn outage(&mut self) {
        let from = self.between(10 * MINUTE, 20 * MINUTE);
        let until = from + self.pick(&[1_500 * SECOND, 4_000 * SECOND]);
        let kinds = [Kind::Workers, Kind::Sweepers, Kind::Both, Kind::Blind];
        let kind = self.pick(&kinds);
        for (at, is_down) in [(from, true), (until, false)] {
            let world = self.world.clone();
            self.world.time.spawn(&self.world.keeper, async move {
                world.time.until(at).await;
                world.log_outage(kind, is_down);
                let (workers, sweepers) = (&world.are_workers_down, &world.are_sweepers_down);
                match kind {
                    Kind::Workers => workers.store(is_down, Relaxed),
                    Kind::Sweepers => sweepers.store(is_down, Relaxed),
                    Kind::Both => {
                        workers.store(is_down, Relaxed);
                        sweepers.store(is_down, Relaxed);
                    }
                    Kind::Blind => world.are_sweepers_blind.store(is_down, Relaxed),
                }
                world.poke();
            });
        }
        self.outage = Some(Outage {
            from,
            until,
            is_known: !matches!(kind, Kind::Blind),
            of_workers: matches!(kind, Kind::Workers | Kind::Both),
        });
        self.span = until + 30 * MINUTE;
    }

    /// Several sweepers, of which all but one fail for a while; in half of the runs their number changes.
    fn parts(&self) {
        let parts = &self.world.parts;
        let of = u32::try_from(self.world.seed % 4).unwrap() + 2;
        let lives = u32::try_from(self.between(0, i64::from(of))).unwrap();
        self.world.memory.divide(SHARDS);
        parts.divide(of);
        for part in (0..of).filter(|part| *part != lives) {
            for _ in 0..self.between(0, 3) {
                let from = self.between(3 * MINUTE, self.span);
                let until = from + MINUTE * self.pick(&[3, 10, 25, 40]);
                parts.dies(DeadPart { part, from, until });
            }
        }
        if self.happens(50) {
            let at = self.between(10 * MINUTE, self.span);
            let of = self.pick(&[of - 1, of + 1]).clamp(lives + 1, SWEEPERS_MAX);
            let world = self.world.clone();
            self.world.time.spawn(&self.world.keeper, async move {
                world.time.until(at).await;
                world.parts.divide(of);
            });
        }
    }

    /// Sends a request to the API, once.
    fn at(&self, at: i64, request: Request) {
        let world = self.world.clone();
        self.world.time.spawn(&self.world.keeper, async move {
            world.time.until(at).await;
            // Nothing listens while the process of a machine is away.
            let Some((process, manage)) = world.answering() else { return };
            world.log_request(&process, &request);
            let (world, asking) = (world.clone(), process.clone());
            world.time.clone().spawn(&process, async move {
                // The client does not retry. The judge sees in the store how the request ended.
                ask(&world, &asking, &manage, request).await;
            });
        });
    }

    /// Runs a pass every minute and leaves out a few.
    fn ticks(&self) {
        let world = self.world.clone();
        self.world.time.spawn(&self.world.keeper, async move {
            let mut next = 0;
            // Ends with the run.
            loop {
                world.time.until(next).await;
                next = world.awake_at(next + MINUTE);
                let faults = world.faults();
                for share in world.parts.shares(world.time.now()) {
                    let mut passes = 1;
                    if world.time.chance().happens(faults.lost_ticks) {
                        passes = 0;
                        world.time.tally.note(Fault::TickLost);
                    } else if world.time.chance().happens(faults.doubled_ticks) {
                        passes = 2;
                        world.time.tally.note(Fault::TickDoubled);
                    }
                    if world.are_sweepers_down.load(Relaxed) {
                        passes = 0;
                    }
                    for _ in 0..passes {
                        let late = world.time.chance().between(SECOND / 10, 5 * SECOND);
                        let (at, pass) = (world.time.now() + late, world.clone());
                        world.time.spawn(&world.keeper, async move {
                            pass.time.until(at).await;
                            pass.sweep(share);
                        });
                    }
                }
            }
        });
    }
}

pub(super) fn place() -> ResourceGroup {
    let segment = |text| PathSegment::new(text).unwrap();
    ResourceGroup { subscription: segment("sub"), group: segment("group") }
}

/// Sends a request. Notes if a job is refused for which its collection has room.
async fn ask(world: &Arc<World>, process: &Arc<Process>, manage: &Manage, request: Request) {
    let collection = match &request {
        Request::Put { collection, .. } => Some(*collection),
        _ => None,
    };
    if let Request::Redrive { job } = request {
        return redrive(world, process, job).await;
    }
    let refused = match try_ask(manage, request).await {
        Err(AppError::Refused(refusal)) => refusal.code == Code::JobQuotaExceeded,
        Ok(()) | Err(_) => false,
    };
    if let Some(collection) = collection.filter(|_| refused) {
        world.log_full(process, collection);
    }
    // After the sleep none is deleted, so there are no fewer jobs than when it was refused.
    let (Some(collection), true) = (collection.filter(|_| refused), world.time.now() > SLEEP)
    else {
        return;
    };
    let now = instant(world.time.now() - SECOND);
    let tables = world.memory.tables();
    let mut collections = tables.collections.values();
    let found = collections.find(|it| it.collection.name.as_str() == collection);
    let Some(uid) = found.map(|it| it.collection.uid.clone()) else { return };
    let jobs = tables.jobs_of(&uid, now);
    drop(tables);
    if jobs < QUOTA {
        let what = format!("refused though there was room: {collection} has {jobs} jobs");
        world.refusals.lock().unwrap().push(what);
    }
}

/// Runs a job for its latest occurrence with a failure, and notes whether the service did it, or refused.
async fn redrive(world: &Arc<World>, process: &Arc<Process>, job: &'static str) {
    let Some((uid, collection, failed)) = latest_failure(world, job) else { return };
    let (manage, at) = (world.redriving(process), world.time.now());
    let job = Name::new(job).unwrap();
    let done = manage.redrive_occurrence((&place(), &collection, &job), failed).await;
    let is_accepted = match done {
        Ok(_) => true,
        Err(AppError::Refused(refusal)) if refusal.code == Code::OccurrenceNotFailed => false,
        Err(_) => return,
    };
    let nominal = micros(failed);
    world.redrives.lock().unwrap().push(Redrive { at, uid, nominal, is_accepted });
}

/// The job of a name, its collection, and its latest occurrence with an attempt that failed.
fn latest_failure(world: &World, job: &str) -> Option<(String, Name, DateTime<Utc>)> {
    let tables = world.memory.tables();
    let ((of, _), found) = tables.jobs.iter().find(|((_, key), _)| key.as_str() == job)?;
    let collection = tables.collections.values().find(|it| it.collection.uid == *of)?;
    let failed = tables.executions.get(&found.uid)?.values().filter_map(|item| {
        let has_failed = item.record.as_ref().is_some_and(|it| it.outcome == Outcome::Failed);
        match item.attempt.occurrence {
            Occurrence::Scheduled { nominal_at } if has_failed => Some(nominal_at),
            _ => None,
        }
    });
    Some((found.uid.clone(), collection.collection.name.clone(), failed.max()?))
}

async fn try_ask(manage: &Manage, request: Request) -> Result<(), AppError> {
    let named = |name| Name::new(name).unwrap();
    let place = place();
    match request {
        Request::Put { collection, job, body } => {
            manage.put_job((&place, &named(collection), &named(job)), body).await?;
        }
        Request::Patch { job, body } => {
            for collection in COLLECTIONS {
                let (collection, job) = (named(collection), named(job));
                drop(manage.patch_job((&place, &collection, &job), body.clone()).await);
            }
        }
        Request::Delete { job } => {
            for collection in COLLECTIONS {
                // It may be in either.
                drop(manage.delete_job((&place, &named(collection), &named(job))).await);
            }
        }
        Request::Run { job } => {
            for collection in COLLECTIONS {
                drop(manage.run_job((&place, &named(collection), &named(job))).await);
            }
        }
        Request::Resume { job } => {
            for collection in COLLECTIONS {
                drop(manage.resume_job((&place, &named(collection), &named(job))).await);
            }
        }
        Request::Redrive { .. } => {}
        Request::Switch { collection, state, quota } => {
            let mut body = json!({"properties": {"state": state.name()}});
            if let Some(jobs_max) = quota {
                body["properties"]["quota"] = json!({"maxJobCount": jobs_max});
            }
            manage.put_collection(&place, &named(collection), body).await?;
        }
        Request::Limit { collection, limits } => {
            manage.patch_collection(&place, &named(collection), limits).await?;
        }
        Request::Notify { collection, action } => {
            let body = json!({"properties": {"minutehand": {"onFailure": action}}});
            manage.patch_collection(&place, &named(collection), body).await?;
        }
        Request::DeleteCollection { collection } => {
            manage.delete_collection(&place, &named(collection)).await?;
        }
    }
    Ok(())
}
