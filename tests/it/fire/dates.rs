//! Excluded and extra dates: what does not exist, what is added, and what both cost.

use chrono::{DateTime, Utc};
use minutehand_domain::name::PathSegment;
use minutehand_domain::timing::Timing;
use minutehand_ports::store::{SaveJob, Saved};
use minutehand_ports::{Collections, Jobs, Snapshots};
use serde_json::{Value, json};

use super::world::{World, instant, named, place, status};

fn daily(count: Option<u32>, dates: &Value) -> Value {
    json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "day", "count": count},
        "minutehand": dates})
}

fn dates() -> Value {
    json!({"exclude": {"dates": ["2027-03-02", "2027-03-04/2027-03-05"]},
        "extraDates": ["2027-03-03T18:00:00", "2027-03-05T12:00:00"]})
}

async fn why(world: &World, at: &str) -> &'static str {
    world
        .manage
        .explain((&place(), &named("jc"), &named("j")), instant(at))
        .await
        .unwrap()
        .why
        .name()
}

async fn next(world: &World) -> Option<DateTime<Utc>> {
    world.view("j").await.status.unwrap().next_execution_at
}

async fn timing(world: &World) -> Timing {
    let job = world.job("j").await;
    Snapshots::read(world.store.as_ref(), &job).await.unwrap().unwrap().timing
}

/// Replaces the line in the timer of the job, and returns the one before.
async fn replace_timetable(world: &World, line: &str) -> String {
    let store = world.store.as_ref();
    let collection = Collections::find(store, &place(), &named("jc")).await.unwrap().unwrap();
    let uid = &collection.collection.uid;
    let mut job = Jobs::find(store, uid, &named("j")).await.unwrap().unwrap();
    let before = job.timer.timetable.replace(line.to_owned()).unwrap();
    let save = SaveJob { collection: &collection, job: &job, timer_changes: false, entry: None };
    assert_eq!(Jobs::replace(store, save).await.unwrap(), Saved::Kept);
    before
}

#[tokio::test]
async fn a_job_runs_on_its_extra_dates_and_not_on_its_excluded_ones() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.put("j", daily(Some(5), &dates())).await;
    world.run_until("2027-03-01T10:00:30").await;
    assert_eq!(next(&world).await, Some(instant("2027-03-03T10:00")));
    world.run_until("2027-03-03T10:00:30").await;
    assert_eq!(next(&world).await, Some(instant("2027-03-03T18:00")));
    world.run_until("2027-03-09T12:00").await;
    // An excluded date uses up nothing of the count, and wins over an extra one.
    assert_eq!(
        world.history("j").await,
        ["01 10:00 #1.0", "03 10:00 #2.0", "03 18:00 #3.0", "06 10:00 #4.0", "07 10:00 #5.0"]
    );
    assert_eq!(world.status("j").await, status("completed").executions(5));
    assert_eq!(world.left_out("j").await, [""; 0]);
    for (at, verdict) in [
        ("2027-03-02T10:00", "excluded"),
        ("2027-03-05T10:00", "excluded"),
        ("2027-03-05T12:00", "notScheduled"),
        ("2027-03-03T18:00", "fired"),
        ("2027-03-08T10:00", "jobFinished"),
    ] {
        assert_eq!(why(&world, at).await, verdict, "{at}");
    }
}

#[tokio::test]
async fn other_dates_change_the_timing_and_the_count_goes_on() {
    let mut world = World::at("2027-03-01T09:00").await;
    let hourly = json!({"recurrence": {"frequency": "hour", "count": 5}});
    world.put("j", hourly).await;
    world.run_until("2027-03-01T10:30").await;
    world.patch("j", json!({"minutehand": {"extraDates": ["2027-03-01T11:20:00"]}})).await;
    world.run_until("2027-03-01T11:10").await;
    // In another order they are the same, and change nothing.
    let before = timing(&world).await;
    world.patch("j", json!({"minutehand": {"extraDates": ["2027-03-01T11:20:00Z"]}})).await;
    assert_eq!(timing(&world).await, before);
    world.run_until("2027-03-01T16:00").await;
    // The anchor stays: without a startTime, the job began at nine.
    assert_eq!(
        world.history("j").await,
        ["01 09:00 #1.0", "01 10:00 #2.0", "01 11:00 #3.0", "01 11:20 #4.0", "01 12:00 #5.0"]
    );
    assert_eq!(world.status("j").await, status("completed").executions(5));
}

#[tokio::test]
async fn a_date_is_one_of_the_zone_and_an_outage_does_not_count_what_is_excluded() {
    let mut world = World::at("2027-03-27T00:00").await;
    let berlin = json!({"startTime": "2027-03-27T00:00", "recurrence": {"frequency": "hour",
        "schedule": {"minutes": [30]}, "timeZone": "Europe/Berlin"},
        "minutehand": {"catchUp": {"policy": "all", "window": "P2D"}, "exclude": {"dates": ["2027-03-28"]}}});
    world.put("j", berlin).await;
    world.run_until("2027-03-27T20:00").await;
    (world.sweeper_running, world.worker_running) = (false, false);
    world.run_until("2027-03-28T23:45").await;
    (world.sweeper_running, world.worker_running) = (true, true);
    world.run_until("2027-03-29T00:15").await;
    // The 28th has 23 hours in Berlin: it ends at 22:00 in UTC.
    let history = world.history("j").await;
    let last: Vec<_> = history.iter().rev().take(5).rev().map(|line| &line[..8]).collect();
    assert_eq!(last, ["27 20:30", "27 21:30", "27 22:30", "28 22:30", "28 23:30"]);
    assert_eq!(world.left_out("j").await, [""; 0]);
}

#[tokio::test]
async fn lists_of_what_is_ahead_know_the_dates() {
    let world = World::at("2027-03-01T09:00").await;
    world.put("j", daily(None, &dates())).await;
    world.put("plain", daily(None, &json!({}))).await;
    let ahead =
        minutehand_app::Ahead { subscription: PathSegment::new("s").unwrap(), collection: None };
    let (from, to) = (instant("2027-03-02"), instant("2027-03-05"));
    let found = world.manage.upcoming(&ahead, [from, to], 10).await.unwrap();
    let of_job = found.items.iter().filter(|item| item.job_key == "j").map(|item| item.at);
    let expected = ["2027-03-03T10:00", "2027-03-03T18:00"].map(instant);
    assert_eq!(of_job.collect::<Vec<_>>(), expected);
    let bounds = ["2027-03-02", "2027-03-03", "2027-03-04", "2027-03-05"].map(instant).to_vec();
    let wanted = minutehand_app::WantedLoad { jobs: ahead, bounds, from: None, far_from: None };
    assert_eq!(world.manage.load(&wanted).await.unwrap().counts, [1, 3, 1]);
}

#[tokio::test]
async fn only_a_job_with_dates_has_its_definition_read_when_it_is_planned() {
    let mut read = Vec::new();
    for dates in [json!({}), json!({"extraDates": ["2027-03-01T12:00"]})] {
        let mut world = World::local("2027-03-01T09:59:30").await;
        let minutely = json!({"startTime": "2027-03-01T10:00",
            "recurrence": {"frequency": "minute"}, "minutehand": dates});
        world.put("j", minutely).await;
        world.worker_running = false;
        let before = world.snapshots_read();
        world.run_until("2027-03-01T11:00").await;
        read.push(world.snapshots_read() - before);
    }
    println!("figure: in an hour {} definitions are read for a minutely job with dates", read[1]);
    // Once for each plan of 14 minutes, but for the first, which the change itself makes.
    assert_eq!(read, [0, 4]);
}

#[tokio::test]
async fn a_worker_leaves_a_schedule_that_it_cannot_read_to_a_newer_one() {
    let mut world = World::at("2027-03-01T09:50").await;
    world.put("j", json!({"startTime": "2027-03-01T10:00"})).await;
    // A policy of a later version.
    let line = "2 moon=full 1 once start=2027-03-01T10:00:00Z";
    let stored = replace_timetable(&world, line).await;
    world.run_until("2027-03-01T10:05").await;
    assert_eq!(world.calls("http://j/"), [""; 0]);
    replace_timetable(&world, &stored).await;
    world.run_until("2027-03-01T10:20").await;
    assert_eq!(world.history("j").await, ["01 10:00 #1.0"]);
}

fn excluded(date: &str) -> Value {
    json!({"exclude": {"dates": [date]}})
}

fn many(n: usize, date: &str) -> Value {
    json!(vec![date; n])
}

#[tokio::test]
async fn excluded_dates_that_cannot_be_are_refused() {
    let world = World::at("2027-03-01T09:00").await;
    for (dates, expected) in [
        (
            excluded("2027-13-01"),
            "'minutehand.exclude.dates.0' is \"2027-13-01\"; the calendar has no such day.",
        ),
        (
            excluded("24.12.2027"),
            "'minutehand.exclude.dates.0' is \"24.12.2027\"; use a date such as 2027-12-24",
        ),
        (
            excluded("2027-12-24T10:00"),
            "'minutehand.exclude.dates.0' is \"2027-12-24T10:00\"; use a date such as 2027-12-24, or the first",
        ),
        (
            excluded("2027-12-24/2027-12-23"),
            "'minutehand.exclude.dates.0' is \"2027-12-24/2027-12-23\"; its last day is before its first one; exchange them.",
        ),
        (
            excluded("2027-01-01/2028-01-02"),
            "'minutehand.exclude.dates.0' is \"2027-01-01/2028-01-02\"; it has 367 days; use at most 366 in one entry.",
        ),
        (
            json!({"exclude": {"dates": many(367, "2027-12-24")}}),
            "'minutehand.exclude.dates' has 367 entries; use at most 366.",
        ),
        (
            json!({"exclude": {"dates": "2027-12-24"}}),
            "'minutehand.exclude.dates' is \"2027-12-24\"; use an array of dates such as \"2027-12-24\"",
        ),
        (json!({"exclude": {}}), "'minutehand.exclude.dates' is missing; it is an array of dates"),
        (
            json!({"exclude": {"date": []}}),
            "'minutehand.exclude.date' is not a property; did you mean 'dates'?",
        ),
    ] {
        let error = world.try_put("j", daily(None, &dates)).await.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let mut ended = daily(None, &excluded("2027-03-01/2027-03-03"));
    ended["recurrence"]["endTime"] = json!("2027-03-03T12:00");
    let error = world.try_put("j", ended).await.unwrap_err().to_string();
    assert!(error.starts_with("The recurrence never occurs: each of its occurrences"), "{error}");
}

#[tokio::test]
async fn extra_dates_that_cannot_be_are_refused() {
    let world = World::at("2027-03-01T09:00").await;
    for (dates, expected) in [
        (
            json!({"extraDates": ["2027-12-24"]}),
            "'minutehand.extraDates.0' is \"2027-12-24\"; add a time of day, as in 2027-03-01T09:00:00.",
        ),
        (
            json!({"extraDates": ["2027-12-24T10:00:00.5"]}),
            "'minutehand.extraDates.0' is \"2027-12-24T10:00:00.5\"; leave out the fraction of the second.",
        ),
        (
            json!({"extraDates": many(101, "2027-12-24T10:00")}),
            "'minutehand.extraDates' has 101 entries; use at most 100.",
        ),
        (
            json!({"extraDates": ["2027-03-05T10:00", "2027-03-01T09:59"]}),
            "'minutehand.extraDates.1' is 2027-03-01T09:59:00Z, before 'startTime', 2027-03-01T10:00:00Z; leave it out, or change one of them.",
        ),
        (
            json!({"extraDates": ["2027-03-01T10:20"], "jitter": {"window": "PT11M"}}),
            "'minutehand.jitter.window' is 00:11:00; two occurrences are 00:20:00 apart, so use at most 00:10:00.",
        ),
    ] {
        let error = world.try_put("j", daily(None, &dates)).await.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let near = json!({"extraDates": ["2027-03-01T10:00:20"]});
    let error = world.try_put("j", daily(None, &near)).await.unwrap_err().to_string();
    let expected = "The smallest gap between two occurrences of the job is 20 seconds; the plan Standard \
        allows 1 minute. Move the dates in 'minutehand.extraDates' further from the other occurrences";
    assert!(error.starts_with(expected), "{error}");
    for (extension, name) in [
        (excluded("2027-12-24"), "exclude"),
        (json!({"extraDates": ["2027-12-24T10:00"]}), "extraDates"),
    ] {
        let once = json!({"startTime": "2027-03-01T10:00", "minutehand": extension});
        let error = world.try_put("j", once).await.unwrap_err().to_string();
        let expected =
            format!("'minutehand.{name}' has no effect, because the job runs once; give it");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[tokio::test]
async fn on_the_last_day_of_the_calendar_jobs_fire() {
    let mut world = World::at("9999-12-31T12:00").await;
    world.put("j", json!({"startTime": "9999-12-31T12:05"})).await;
    world.run_until("9999-12-31T12:10").await;
    assert_eq!(world.history("j").await, ["31 12:05 #1.0"]);
}
