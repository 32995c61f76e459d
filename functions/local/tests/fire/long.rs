//! Work of hours at a target that answers 202, through restarts and a kill: the end that is missed and retried,
//! the alert, the occurrences that overlap, and the recovery.

use std::path::Path;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_runtime::system_now;
use serde_json::{Value, json};

use crate::jobs::{format_instant, http, instant, on};
use crate::server::Server;
use crate::target::{Seen, Target, status};

/// How long the next step may take beyond what it takes by the clock.
const PATIENCE: Duration = Duration::from_mins(2);

/// How fast it goes: the clock, and how long the work is.
struct Pace {
    /// Whether the clock jumps while no server runs. If not, the test waits.
    jumps: bool,
    /// Between two occurrences.
    minutes: i64,
    /// What the first attempt has, that never ends: less than until the next occurrence.
    first_within: TimeDelta,
    /// How long the work is that ends well, and how long it may be.
    work: TimeDelta,
    within: TimeDelta,
}

/// One server after another, on a clock that does not stand still between them.
struct Run<'a> {
    pace: Pace,
    data: &'a Path,
    target: Target,
    jumped: TimeDelta,
    work: Vec<Seen>,
    alerts: Vec<Seen>,
}

impl Run<'_> {
    fn serve(&self) -> Server {
        let mut arguments = vec!["--public-url".to_owned(), "http://127.0.0.1:9".to_owned()];
        if self.pace.jumps {
            arguments.extend(["--clock-start".to_owned(), format_instant(self.now())]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        on(self.data, &arguments)
    }

    fn now(&self) -> DateTime<Utc> {
        system_now() + self.jumped
    }

    /// Lets time pass, and ends the server with a signal. Returns the next one.
    fn pass(&mut self, time: TimeDelta, server: Server, signal: &str) -> Server {
        if self.pace.jumps {
            self.jumped += time;
        } else {
            let until = self.now() + time;
            self.until(|run| run.now() >= until);
        }
        server.signal(signal);
        server.wait();
        self.serve()
    }

    /// Takes what the target receives until something is so.
    #[track_caller]
    fn until(&mut self, is_so: impl Fn(&Self) -> bool) {
        let longest = if self.pace.jumps { TimeDelta::zero() } else { self.pace.work };
        let longest = longest.to_std().unwrap() + PATIENCE;
        let since = Instant::now();
        while !is_so(self) {
            assert!(since.elapsed() < longest, "{:?} {:?}", self.work, self.alerts);
            let Some(seen) = self.target.next_within(Duration::from_millis(20)) else { continue };
            let of = if seen.path == "/work" { &mut self.work } else { &mut self.alerts };
            of.push(seen);
        }
    }

    /// Reports the end of the work that was begun last.
    fn report(&self, server: &Server, how: &str, text: &str) {
        let url = self.work.last().unwrap().header("x-minutehand-completion").to_owned();
        let path = url.strip_prefix("http://127.0.0.1:9").unwrap();
        assert_eq!(server.send("POST", &format!("{path}{how}"), text).status, 200);
    }

    fn within(server: &Server, within: TimeDelta) {
        let within = format!("PT{}S", within.num_seconds());
        let change = json!({"properties": {"minutehand": {"completion": {"within": within}}}});
        server.must("PATCH", "/jc/jobs/j", &change.to_string());
    }
}

fn long_work(pace: Pace) {
    let data = tempfile::tempdir().unwrap();
    let target =
        Target::start(|seen| status(if seen.path == "/work" { "202 Accepted" } else { "200 OK" }));
    let (data, jumped) = (data.path(), TimeDelta::zero());
    let (work, alerts) = (Vec::new(), Vec::new());
    let mut run = Run { pace, data, target, jumped, work, alerts };

    let server = run.serve();
    let alert = json!({"type": "Http", "format": "ntfy", "recovered": true,
        "request": {"uri": run.target.url("/alerts"), "method": "POST"}});
    let collection = json!({"properties": {"minutehand": {"onFailure": alert}}});
    server.must("PUT", "/jc", &collection.to_string());
    let mut action = http(&run.target.url("/work"));
    action["retryPolicy"] =
        json!({"retryType": "fixed", "retryCount": 1, "retryInterval": "PT15S"});
    let properties = json!({
        "recurrence": {"frequency": "minute", "interval": run.pace.minutes},
        "action": action,
        "minutehand": {"overlap": {"policy": "skip"}, "completion": {"within": "PT1M"}},
    });
    server.must("PUT", "/jc/jobs/j", &json!({"properties": properties}).to_string());
    Run::within(&server, run.pace.first_within);

    // The first attempt never ends. Its retry fails, which alerts.
    run.until(|run| run.work.len() == 1);
    Run::within(&server, run.pace.within);
    let server = run.pass(run.pace.first_within, server, "TERM");
    run.until(|run| run.work.len() == 2);
    run.report(&server, "/fail", "disk full");
    run.until(|run| run.alerts.len() == 1);

    // The next occurrence is at work for a long time.
    let gap = TimeDelta::minutes(run.pace.minutes);
    let mut server = run.pass(gap, server, "TERM");
    run.until(|run| run.work.len() == 3);
    // No process of a test lives longer than four minutes, also in real time.
    for signal in ["TERM", "KILL", "TERM"] {
        server = run.pass(run.pace.work / 3, server, signal);
    }
    let skipped =
        || server.must("GET", "/jc/jobs/j/history?$filter=status%20eq%20Skipped", "").json();
    // What became due meanwhile is skipped before the work ends. It would run after it.
    run.until(|run| {
        let newest = &skipped()["value"][0]["properties"]["minutehand"]["last"];
        newest.is_string() && instant(newest) + gap > run.now()
    });
    run.report(&server, "/alive", "nearly done");
    run.report(&server, "", "7 rows");
    run.until(|run| run.alerts.len() == 2);
    server.must("PATCH", "/jc/jobs/j", r#"{"properties":{"state":"disabled"}}"#);

    let history = server.must("GET", "/jc/jobs/j/history?$top=100", "").json();
    let history: Vec<&Value> =
        history["value"].as_array().unwrap().iter().map(|it| &it["properties"]).collect();
    let said = |text: &str| -> Vec<&&Value> {
        let has =
            |it: &&&Value| it["message"].as_str().is_some_and(|message| message.contains(text));
        history.iter().filter(has).collect()
    };
    assert_eq!(said("Nothing was reported within").len(), 1, "{history:?}");
    assert_eq!(said("Failure was reported. Body: disk full").len(), 1, "{history:?}");
    let [done] = said("Success was reported. Body: 7 rows")[..] else { panic!("{history:?}") };
    let took = instant(&done["endTime"]) - instant(&done["startTime"]);
    assert!(took >= run.pace.work, "{took}");
    assert_ne!(run.work[0].execution_id(), run.work[1].execution_id());
    let skipped = skipped();
    let reasons = skipped["value"].as_array().unwrap().iter();
    let mut reasons = reasons.map(|it| &it["properties"]["minutehand"]["reason"]);
    assert!(reasons.any(|reason| reason == "overlap"), "{skipped}");
    println!("{} at work, {} alerts, {took}, {skipped}", run.work.len(), run.alerts.len());
    assert_eq!((run.work.len(), run.alerts.len()), (3, 2), "{:?}", run.alerts);
    server.stop().is_clean();
}

#[test]
fn three_hours_of_work_go_on_through_restarts_and_a_kill() {
    long_work(Pace {
        jumps: true,
        minutes: 60,
        first_within: TimeDelta::minutes(30),
        work: TimeDelta::hours(3),
        within: TimeDelta::hours(23),
    });
}

/// The same in real time. It takes a quarter of an hour:
/// `cargo nextest run -p minutehand long::ten_minutes --run-ignored only`.
#[test]
#[ignore = "it takes a quarter of an hour"]
fn ten_minutes_of_work_go_on_through_restarts_and_a_kill() {
    long_work(Pace {
        jumps: false,
        minutes: 2,
        first_within: TimeDelta::minutes(1),
        work: TimeDelta::minutes(10),
        within: TimeDelta::minutes(20),
    });
}
