//! Jobs that expect pings: what pays them, what their absence does, and what is left out.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_app::ApiPresence;
use minutehand_domain::cause::Cause;
use minutehand_domain::collection::CollectionState;
use minutehand_domain::firing::Why;
use minutehand_domain::presence::SIGN_EVERY;
use minutehand_ports::store::PingFreshness;
use minutehand_recurrence::format_instant;
use serde_json::{Value, json};

use super::store::{Failing, Fails};
use super::world::{World, instant, named, place, status};

const RID: &str = "0123abcd-4567-4890-8bcd-ef0123456789";
const OTHER: &str = "1123abcd-4567-4890-8bcd-ef0123456789";

const JOB: &str = "/minutehand/v1/subscriptions/s/resourceGroups/g/jobCollections/jc/jobs/j";

/// A job that expects a ping each hour, from five minutes before until ten after.
fn hourly() -> Value {
    json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "hour"},
        "action": {"type": "expect", "expect": {}}})
}

/// The same every ten minutes, with a grace of 25.
fn often() -> Value {
    json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute", "interval": 10},
        "action": {"type": "expect", "expect": {"grace": "PT25M"}}})
}

impl World {
    pub(super) async fn expect(&self, name: &str, properties: Value) {
        self.stir();
        let body = json!({"properties": properties});
        self.manage.put_job((&place(), &named("jc"), &named(name)), body).await.unwrap();
    }

    /// The path at which a job takes pings.
    pub(super) async fn ping_path(&self, name: &str) -> String {
        let address =
            self.manage.ping_address((&place(), &named("jc"), &named(name))).await.unwrap();
        format!("/ping/{}", address.key.as_str())
    }

    /// Sends a ping, and returns the status of the answer.
    pub(super) async fn ping(&self, path: &str, body: &str) -> u16 {
        let (status, answer) = self.send("POST", path, body).await;
        assert!(status != 200 || answer == "OK", "{answer}");
        status
    }

    async fn ping_causes(&self, name: &str) -> Vec<String> {
        let executions = self.executions(name).await;
        let causes = executions.iter().rev().filter_map(|it| it.record.cause.as_ref());
        causes.map(Cause::to_string).collect()
    }

    /// What the last pings of a job concerned, the oldest first.
    async fn noted_pings(&self, name: &str) -> Vec<String> {
        let address =
            self.manage.ping_address((&place(), &named("jc"), &named(name))).await.unwrap();
        let line = |of: Option<DateTime<Utc>>| {
            of.map_or_else(|| "-".to_owned(), |of| of.format("%H:%M").to_string())
        };
        let entries = address.entries.iter().rev();
        entries.map(|it| format!("{} {}", it.kind.name(), line(it.of))).collect()
    }

    /// Runs to an instant, with the signs of the API.
    async fn run_with_signs(&mut self, presence: &ApiPresence, until: &str) {
        self.run_to_with_signs(presence, instant(until)).await;
    }

    async fn run_to_with_signs(&mut self, presence: &ApiPresence, until: DateTime<Utc>) {
        while self.now() < until {
            self.run_to(until.min(self.now() + SIGN_EVERY)).await;
            presence.sign().await.unwrap();
        }
    }

    /// The number of the book of a job: how often it was written.
    async fn book_number(&self, name: &str) -> u64 {
        let (pings, job) = (self.ping_store(), self.job(name).await);
        let key = pings.ping_key(&job.uid).await.unwrap().unwrap();
        pings.find_ping(&key.hash, PingFreshness::Now).await.unwrap().unwrap().number
    }
}

#[tokio::test]
async fn a_ping_pays_and_a_missing_one_fails() {
    let mut world = World::local("2027-03-01T09:30").await;
    world.expect("j", hourly()).await;
    let url = world.ping_path("j").await;
    // Too early, early, at the instant, late, too late.
    world.run_until("2027-03-01T09:54").await;
    assert_eq!(world.ping(&url, "").await, 200);
    world.run_until("2027-03-01T09:55").await;
    assert_eq!(world.history("j").await, [""; 0]);
    assert_eq!(world.ping(&url, "42 rows").await, 200);
    world.run_until("2027-03-01T09:56").await;
    assert_eq!(world.history("j").await, ["01 10:00 #1.0"]);
    let message = world.executions("j").await.remove(0).record.message;
    assert_eq!(message, "Expect Action - A ping came. Body: 42 rows");
    world.run_until("2027-03-01T10:08").await;
    assert_eq!(world.ping(&url, "").await, 200);
    world.run_until("2027-03-01T11:09:59").await;
    assert_eq!(world.ping(&url, "").await, 200, "the last moment");
    world.run_until("2027-03-01T12:10").await;
    world.run_until("2027-03-01T12:11").await;
    assert_eq!(world.ping(&url, "late").await, 200);
    world.run_until("2027-03-01T12:20").await;
    assert_eq!(
        world.history("j").await,
        ["01 10:00 #1.0", "01 11:00 #2.0", "01 12:00 #3.0 failed"]
    );
    assert_eq!(world.ping_causes("j").await, ["no ping came until 12:10"]);
    assert_eq!(
        world.noted_pings("j").await,
        ["success -", "success 10:00", "success -", "success 11:00", "success -"]
    );
    assert_eq!(world.status("j").await, status("enabled").executions(3).failures(1).faulted(1));
    assert!(matches!(
        world.explain("j", "2027-03-01T12:00").await,
        Why::Failed { attempts: 1, .. }
    ));
    assert_eq!(world.calls("http://j/"), [""; 0]);
    // Nothing but the next deadline waits.
    assert_eq!(world.dead.len(), 0);
}

#[tokio::test]
async fn the_oldest_is_paid_first() {
    let mut world = World::local("2027-03-01T09:30").await;
    world.expect("j", often()).await;
    let url = world.ping_path("j").await;
    world.run_until("2027-03-01T10:22").await;
    for seconds in [0, 2, 4, 6] {
        world.run_to(instant("2027-03-01T10:22") + TimeDelta::seconds(seconds)).await;
        assert_eq!(world.ping(&url, "").await, 200);
    }
    world.run_until("2027-03-01T10:23").await;
    assert_eq!(world.history("j").await, ["01 10:00 #1.0", "01 10:10 #2.0", "01 10:20 #3.0"]);
}

#[tokio::test]
async fn every_kind_of_ping_does_what_healthchecks_says() {
    let mut world = World::local("2027-03-01T09:30").await;
    world.expect("j", hourly()).await;
    let url = world.ping_path("j").await;
    world.run_until("2027-03-01T10:01").await;
    // A link that is looked at, and its head.
    assert_eq!(world.send("GET", &url, "").await, (200, "OK".to_owned()));
    assert_eq!(world.send("HEAD", &url, "").await.0, 200);
    world.run_until("2027-03-01T11:00").await;
    assert_eq!(world.ping(&format!("{url}/fail"), "disk full\nat /var").await, 200);
    world.run_until("2027-03-01T12:00").await;
    assert_eq!(world.ping(&format!("{url}/3"), "").await, 200);
    world.run_until("2027-03-01T13:00").await;
    assert_eq!(world.ping(&format!("{url}/0"), "").await, 200);
    world.run_until("2027-03-01T14:00").await;
    assert_eq!(world.ping(&format!("{url}/log"), "halfway").await, 200);
    world.run_until("2027-03-01T14:11").await;
    assert_eq!(
        world.history("j").await,
        [
            "01 10:00 #1.0",
            "01 11:00 #2.0 failed",
            "01 12:00 #3.0 failed",
            "01 13:00 #4.0",
            "01 14:00 #5.0 failed"
        ]
    );
    let causes = ["disk full", "exit status 3", "no ping came until 14:10"];
    assert_eq!(world.ping_causes("j").await, causes);
    for (path, expected) in [
        (format!("{url}/256"), 400),
        (format!("{url}/what"), 404),
        (format!("{url}?rid=x"), 400),
        (format!("/ping/{RID}"), 404),
        (format!("/ping/{RID}/start"), 404),
        ("/ping/x".to_owned(), 404),
        ("/ping/x/1".to_owned(), 404),
    ] {
        assert_eq!(world.ping(&path, "").await, expected, "{path}");
    }
    let [unknown, malformed] = [format!("/ping/{RID}"), "/ping/x".to_owned()];
    assert_eq!(world.send("GET", &unknown, "").await, world.send("GET", &malformed, "").await);
    // A long body is cut.
    let long = "x".repeat(300_000);
    world.run_until("2027-03-01T15:00").await;
    assert_eq!(world.ping(&url, &long).await, 200);
    world.run_until("2027-03-01T15:01").await;
    let message = world.executions("j").await.remove(0).record.message;
    assert!(message.ends_with(&format!(" {}", "x".repeat(1_024))) && message.len() < 1_100);
}

#[tokio::test]
async fn a_start_binds_by_its_id_and_grace_counts_from_it() {
    let mut world = World::local("2027-03-01T09:30").await;
    world.expect("j", often()).await;
    let url = world.ping_path("j").await;
    let at = async |world: &mut World, time: &str, path: String| {
        world.run_until(&format!("2027-03-01T{time}")).await;
        assert_eq!(world.ping(&path, "").await, 200);
    };
    at(&mut world, "10:12", format!("{url}/start?rid={RID}")).await;
    at(&mut world, "10:13", format!("{url}/start?rid={OTHER}")).await;
    at(&mut world, "10:27", format!("{url}?rid={OTHER}")).await;
    at(&mut world, "10:36", format!("{url}/1?rid={RID}")).await;
    world.run_until("2027-03-01T10:37").await;
    assert_eq!(world.history("j").await, ["01 10:00 #1.0 failed", "01 10:10 #2.0"]);
    let took = world.executions("j").await.into_iter().rev();
    let took: Vec<_> =
        took.map(|it| (it.record.ended_at - it.record.started_at).num_minutes()).collect();
    assert_eq!(took, [24, 14]);
    // Without an end, it fails when its own grace is over.
    at(&mut world, "10:40", format!("{url}/start")).await;
    world.run_until("2027-03-01T11:04").await;
    assert_eq!(world.history("j").await.len(), 3, "10:30 was owed until 10:55");
    world.run_until("2027-03-01T11:06").await;
    let causes = [
        "exit status 1",
        "no ping came until 11:05",
        "no ping came until 10:55",
        "no ping came until 11:05",
    ];
    assert_eq!(world.ping_causes("j").await, causes);
}

#[tokio::test]
async fn a_repeated_ping_counts_once() {
    let mut world = World::local("2027-03-01T09:30").await;
    world.expect("j", often()).await;
    let url = world.ping_path("j").await;
    world.run_until("2027-03-01T10:22").await;
    assert_eq!(world.ping(&url, "a").await, 200);
    let before = (world.book_number("j").await, world.queued());
    assert_eq!(world.ping(&url, "a").await, 200);
    assert_eq!((world.book_number("j").await, world.queued()), before, "nothing is written");
    assert_eq!(world.ping(&url, "b").await, 200);
    assert_eq!(world.book_number("j").await, before.0 + 1);
    assert_eq!(world.noted_pings("j").await, ["success 10:00", "success 10:10"]);
}

#[tokio::test]
async fn restarts_and_lost_messages_keep_what_was_paid() {
    let mut world = World::local("2027-03-01T09:30").await;
    world.expect("j", hourly()).await;
    let url = world.ping_path("j").await;
    world.run_until("2027-03-01T10:01").await;
    assert_eq!(world.ping(&url, "").await, 200);
    world.lose_all();
    world = world.restart().await;
    world.run_until("2027-03-01T10:40").await;
    assert_eq!(world.history("j").await, ["01 10:00 #1.0"]);
    assert_eq!(world.status("j").await, status("enabled").executions(1));
}

#[tokio::test]
async fn a_ping_counts_although_its_message_cannot_be_sent() {
    let mut world = World::at("2027-03-01T09:30").await;
    world.expect("j", hourly()).await;
    let url = world.ping_path("j").await;
    world.run_until("2027-03-01T10:01").await;
    world.trouble.begin(Failing { first: 1, each: 1, how: Fails::Before });
    assert_eq!(world.ping(&url, "7 rows").await, 200);
    world.trouble.end_after(0);
    world.run_until("2027-03-01T10:12").await;
    assert_eq!(world.noted_pings("j").await, ["success 10:00"]);
    assert_eq!(world.history("j").await, ["01 10:00 #1.0"]);
}

#[tokio::test]
async fn a_one_time_job_ends_with_its_ping_or_without() {
    let mut world = World::local("2027-03-01T09:30").await;
    let once = json!({"startTime": "2027-03-01T10:00", "action": {"type": "Expect", "expect": {}}});
    world.expect("early", once.clone()).await;
    world.expect("never", once).await;
    let url = world.ping_path("early").await;
    world.run_until("2027-03-01T09:57").await;
    assert_eq!(world.ping(&url, "").await, 200);
    world.run_until("2027-03-01T10:40").await;
    assert_eq!(world.status("early").await, status("completed").executions(1));
    assert_eq!(world.status("never").await, status("faulted").executions(1).failures(1).faulted(1));
}

#[tokio::test]
async fn a_change_of_timing_neither_forgets_nor_asks_again() {
    let mut world = World::local("2027-03-01T09:30").await;
    world.expect("j", hourly()).await;
    let url = world.ping_path("j").await;
    world.run_until("2027-03-01T09:57").await;
    assert_eq!(world.ping(&url, "").await, 200);
    world.run_until("2027-03-01T09:58").await;
    // The occurrence is paid, and the new timing yields it, too.
    world.patch("j", json!({"action": {"expect": {"grace": "PT20M"}}})).await;
    world.run_until("2027-03-01T10:59").await;
    assert_eq!(world.history("j").await, ["01 10:00 #1.0"]);
    assert_eq!(world.ping(&format!("{url}/start"), "").await, 200);
    world.disable("j").await;
    world.run_until("2027-03-01T11:05").await;
    assert_eq!(world.ping(&url, "").await, 200);
    world.run_until("2027-03-01T11:40").await;
    assert_eq!(world.history("j").await, ["01 10:00 #1.0", "01 11:00 #1.0"]);
    assert_eq!(world.left_out("j").await, [""; 0]);
}

#[tokio::test]
async fn what_a_collection_was_off_for_is_left_out() {
    let mut world = World::local("2027-03-01T09:30").await;
    world.expect("j", hourly()).await;
    world.run_until("2027-03-01T09:56").await;
    world.switch(CollectionState::Disabled).await;
    world.run_until("2027-03-01T09:58").await;
    world.switch(CollectionState::Enabled).await;
    world.run_until("2027-03-01T10:20").await;
    assert_eq!(world.history("j").await, [""; 0]);
    assert_eq!(world.status("j").await, status("enabled").skipped(1));
    let why = world.explain("j", "2027-03-01T10:00").await;
    assert!(matches!(why, Why::CollectionOff { .. }), "{why:?}");
}

#[tokio::test]
async fn what_nobody_could_take_is_left_out() {
    let mut world = World::local("2027-03-01T09:30").await;
    world.expect("paid", hourly()).await;
    world.expect("j", hourly()).await;
    let url = world.ping_path("paid").await;
    let presence = world.watch_pings("p").await;
    world.run_with_signs(&presence, "2027-03-01T09:59").await;
    assert_eq!(world.ping(&url, "").await, 200);
    presence.end().await.unwrap();
    world.run_until("2027-03-01T09:59:05").await;
    world = world.restart().await;
    let presence = world.watch_pings("q").await;
    world.run_with_signs(&presence, "2027-03-01T10:30").await;
    assert_eq!(world.history("paid").await, ["01 10:00 #1.0"]);
    assert_eq!(world.history("j").await, [""; 0]);
    assert_eq!(world.left_out("j").await, ["01 10:00 to 01 10:00: 1"]);
    assert_eq!(world.explain("j", "2027-03-01T10:00").await, Why::NotWatched);
    assert_eq!(world.status("j").await, status("enabled").skipped(1));
    // The next one is watched all the time.
    world.run_with_signs(&presence, "2027-03-01T11:11").await;
    assert_eq!(world.history("j").await, ["01 11:00 #2.0 failed"]);
    // A process that is killed gives no sign of its end.
    world.run_with_signs(&presence, "2027-03-01T12:05").await;
    world.run_until("2027-03-01T12:05:03").await;
    world = world.restart().await;
    let presence = world.watch_pings("r").await;
    world.run_with_signs(&presence, "2027-03-01T12:30").await;
    assert_eq!(world.left_out("j").await.len(), 2);
}

#[tokio::test]
async fn what_a_change_dropped_between_two_that_were_left_out_is_told_as_such() {
    let mut world = World::local("2027-03-01T09:30").await;
    world.expect("j", often()).await;
    let mut presence = world.watch_pings("p").await;
    for (away, back, until) in [
        ("2027-03-01T09:59", "2027-03-01T09:59:05", "2027-03-01T10:26"),
        ("2027-03-01T10:31", "2027-03-01T10:31:05", "2027-03-01T10:56"),
    ] {
        world.run_with_signs(&presence, away).await;
        presence.end().await.unwrap();
        world.run_until(back).await;
        world = world.restart().await;
        presence = world.watch_pings(back).await;
        world.run_with_signs(&presence, until).await;
        // The second time, nothing changes.
        world.patch("j", json!({"startTime": "2027-03-01T10:30"})).await;
    }
    let left_out = ["01 10:30 to 01 10:30: 1", "01 10:00 to 01 10:00: 1"];
    assert_eq!(world.left_out("j").await, left_out);
    assert_eq!(world.explain("j", "2027-03-01T10:00").await, Why::NotWatched);
    let why = world.explain("j", "2027-03-01T10:10").await;
    assert!(matches!(why, Why::Superseded { .. }), "{why:?}");
}

#[tokio::test]
async fn a_process_that_joins_another_one_leaves_nothing_out() {
    let mut world = World::at("2027-03-01T09:30").await;
    world.expect("j", hourly()).await;
    let first = world.watch_pings("p").await;
    world.run_with_signs(&first, "2027-03-01T10:05").await;
    world.run_until("2027-03-01T10:05:04").await;
    let second = world.watch_pings("q").await;
    // It looks every other second, and is killed before its next sign is due.
    first.answer_doubts().await.unwrap();
    world.run_with_signs(&second, "2027-03-01T10:11").await;
    assert_eq!(world.history("j").await, ["01 10:00 #1.0 failed"]);
    assert_eq!(world.left_out("j").await, [""; 0]);
    // One that was killed before the other begins does not answer.
    world.run_with_signs(&second, "2027-03-01T11:05").await;
    world.run_until("2027-03-01T11:05:04").await;
    let third = world.watch_pings("r").await;
    world.run_with_signs(&third, "2027-03-01T11:11").await;
    assert_eq!(world.left_out("j").await, ["01 11:00 to 01 11:00: 1"]);
}

#[tokio::test]
async fn what_a_job_goes_on_with_was_owed_before() {
    let mut world = World::local("2027-03-01T09:30").await;
    let once = json!({"startTime": "2027-03-01T10:00", "action": {"type": "expect", "expect": {}}});
    world.expect("j", once).await;
    let presence = world.watch_pings("p").await;
    world.run_with_signs(&presence, "2027-03-01T09:57").await;
    presence.end().await.unwrap();
    world.run_until("2027-03-01T09:58").await;
    world = world.restart().await;
    let presence = world.watch_pings("q").await;
    world.run_with_signs(&presence, "2027-03-01T10:05").await;
    world.disable("j").await;
    world.run_with_signs(&presence, "2027-03-01T10:20").await;
    world.enable("j").await;
    world.run_with_signs(&presence, "2027-03-01T10:45").await;
    assert_eq!(world.history("j").await, [""; 0]);
    assert_eq!(world.left_out("j").await, ["01 10:00 to 01 10:00: 1"]);
}

/// How long nothing takes pings, and whether the process was killed.
const OUTAGES: [(i64, bool); 4] = [(5, false), (5, true), (60, true), (180, false)];
/// What is owed then.
const OWED: usize = 200;

#[tokio::test]
async fn restarts_over_many_owed_pings_alert_nobody_on_a_file() {
    alerts_nobody(World::local("2027-03-01T09:30").await, true).await;
}

#[tokio::test]
async fn restarts_over_many_owed_pings_alert_nobody_on_a_database() {
    alerts_nobody(World::at("2027-03-01T09:30").await, false).await;
}

async fn alerts_nobody(mut world: World, is_alone: bool) {
    let alert = json!({"type": "Http", "request": {"uri": "http://alert/topic", "method": "POST"},
        "format": "ntfy"});
    let sku = json!({"name": "P20Premium"});
    world.put_collection(json!({"sku": sku, "minutehand": {"onFailure": alert}})).await;
    for n in 0..OWED {
        world.expect(&format!("j{n}"), hourly()).await;
    }
    let mut presence = world.watch_pings("first").await;
    let mut hour = instant("2027-03-01T10:00");
    for (seconds, is_killed) in OUTAGES {
        world.run_to(hour - TimeDelta::minutes(6)).await;
        world.run_to_with_signs(&presence, hour + TimeDelta::minutes(3)).await;
        if !is_killed {
            presence.end().await.unwrap();
        }
        let back = world.now() + TimeDelta::seconds(seconds);
        world.set_clock(&format_instant(back));
        if is_alone {
            world = world.restart().await;
        }
        presence = world.watch_pings(&format!("{seconds}-{is_killed}")).await;
        world.run_to_with_signs(&presence, hour + TimeDelta::minutes(12)).await;
        assert_eq!(world.calls("http://alert/"), [""; 0], "{seconds} {is_killed}");
        hour += TimeDelta::hours(1);
    }
    for n in 0..OWED {
        let skipped = status("enabled").skipped(OUTAGES.len() as u64);
        assert_eq!(world.status(&format!("j{n}")).await, skipped, "{n}");
    }
    // What is missing while somebody watches alerts, all at once.
    world.run_to(hour - TimeDelta::minutes(6)).await;
    world.run_to_with_signs(&presence, hour + TimeDelta::minutes(12)).await;
    let alerts = world.calls("http://alert/");
    assert_eq!((alerts.len(), alerts[0].as_str()), (OWED, "01 14:10"));
}

#[tokio::test]
async fn a_failure_before_its_instant_does_not_fire_next_at_it() {
    let mut world = World::local("2027-03-01T09:30").await;
    world.expect("j", hourly()).await;
    let url = world.ping_path("j").await;
    world.run_until("2027-03-01T09:57").await;
    assert_eq!(world.ping(&format!("{url}/fail"), "disk full").await, 200);
    world.run_until("2027-03-01T09:58").await;
    let (_, why) = world.send("GET", &format!("{JOB}/why"), "").await;
    assert!(why.contains("2027-03-01 10:00:00 UTC: It failed: disk full."), "{why}");
    assert!(why.contains("fires next at 2027-03-01 11:00:00 UTC."), "{why}");
}

#[tokio::test]
async fn another_url_takes_its_place() {
    let world = World::local("2027-03-01T09:57").await;
    world.expect("j", hourly()).await;
    let before = world.ping_path("j").await;
    assert_eq!(world.ping_path("j").await, before);
    let rotated = world.manage.rotate_ping((&place(), &named("jc"), &named("j"))).await.unwrap();
    assert_eq!(
        rotated.url.unwrap(),
        format!("https://jobs.example.org/ping/{}", rotated.key.as_str())
    );
    assert_eq!(world.ping(&before, "").await, 404);
    assert_eq!(world.ping(&world.ping_path("j").await, "").await, 200);
    let after = world.ping_path("j").await;
    world.delete("j").await;
    assert_eq!(world.ping(&after, "").await, 404);
    let refused = world.manage.ping_address((&place(), &named("jc"), &named("j"))).await;
    assert!(refused.is_err());
}

#[tokio::test]
async fn a_job_that_sends_nothing_does_not_run() {
    let world = World::local("2027-03-01T09:57").await;
    world.expect("j", hourly()).await;
    let run = world.manage.run_job((&place(), &named("jc"), &named("j"))).await.unwrap_err();
    assert!(run.to_string().contains("has nothing to send"), "{run}");
    world.put("other", json!({"startTime": "2028-01-01"})).await;
    let none = world.manage.ping_address((&place(), &named("jc"), &named("other"))).await;
    assert!(none.unwrap_err().to_string().contains("takes no pings"));
}

#[tokio::test]
async fn an_alert_follows_and_recovers() {
    let on_failure = json!({"type": "Http", "request": {"uri": "http://alert/topic", "method": "POST"},
        "format": "ntfy", "recovered": true});
    let mut world =
        World::with("2027-03-01T09:30", json!({"minutehand": {"onFailure": on_failure}})).await;
    world.expect("j", hourly()).await;
    let url = world.ping_path("j").await;
    world.run_until("2027-03-01T10:11").await;
    assert_eq!(world.calls("http://alert/"), ["01 10:10"]);
    world.run_until("2027-03-01T11:02").await;
    assert_eq!(world.ping(&url, "").await, 200);
    world.run_until("2027-03-01T11:03").await;
    assert_eq!(world.calls("http://alert/"), ["01 10:10", "01 11:02"]);
}

impl World {
    /// Another process with the API begins, and the worker asks who was there.
    async fn watch_pings(&mut self, id: &str) -> Arc<ApiPresence> {
        let presence = Arc::new(self.presence(id));
        presence.begin().await.unwrap();
        self.use_presence(presence.clone());
        presence
    }
}
