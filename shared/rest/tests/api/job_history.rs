//! `Jobs_ListJobHistory`.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Role};
use minutehand_domain::firing::{LeftOut, LeftOutReason, Outage};
use minutehand_ports::store::HistoryEntry;
use serde_json::{Value, json};

use crate::support::{Api, GROUP, NO_PARENT, VERSION, now};

fn instant(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn scheduled(nominal_at: DateTime<Utc>) -> Attempt {
    Attempt::first(1, Occurrence::Scheduled { nominal_at })
}

/// The latest success in the recordings of Azure, with a shorter message.
fn success() -> HistoryEntry {
    HistoryEntry {
        attempt: scheduled(instant("2016-03-30T20:39:52.6597062Z")),
        record: Some(Record {
            started_at: instant("2016-03-30T20:39:53.8021951Z"),
            ended_at: instant("2016-03-30T20:39:53.8646988Z"),
            outcome: Outcome::Succeeded,
            message: "Http Action - Response from host 'www.bing.com': 'OK' Response Headers: \
                      Vary: Accept-Encoding\r\nDate: Wed, 30 Mar 2016 20:39:53 GMT\r\n Body: \
                      <!DOCTYPE html>"
                .to_owned(),
            repeat_count: 135,
            cause: None,
            body_bytes: 0,
            then: None,
        }),
        waits: false,
    }
}

/// The failure in the recordings of Azure, moved to a day that has not expired.
fn failure() -> HistoryEntry {
    HistoryEntry {
        attempt: scheduled(instant("2016-03-13T23:17:00Z")),
        record: Some(Record {
            started_at: instant("2016-03-13T23:17:02.4047908Z"),
            ended_at: instant("2016-03-13T23:17:02.4984965Z"),
            outcome: Outcome::Failed,
            message: "Http Action - Request to host 'www.bing1111.com' failed: \
                      NameResolutionFailure The remote name could not be resolved: \
                      'www.bing1111.com'"
                .to_owned(),
            repeat_count: 9,
            cause: None,
            body_bytes: 0,
            then: None,
        }),
        waits: false,
    }
}

/// `count` executions, one minute apart. The newest is number 0, and every tenth failed.
fn executions(count: i64) -> Vec<HistoryEntry> {
    (0..count)
        .map(|n| {
            let nominal_at = now() - TimeDelta::minutes(n + 1);
            let outcome = if n % 10 == 9 { Outcome::Failed } else { Outcome::Succeeded };
            let record = Record {
                started_at: nominal_at,
                ended_at: nominal_at,
                outcome,
                message: n.to_string(),
                repeat_count: 1,
                cause: None,
                body_bytes: 0,
                then: None,
            };
            HistoryEntry { attempt: scheduled(nominal_at), record: Some(record), waits: false }
        })
        .collect()
}

fn api_with(executions: Vec<HistoryEntry>) -> Api {
    let api = Api::with_job();
    *api.history.entries.lock().unwrap() = executions;
    api
}

/// The numbers of the [`executions`] in a list.
fn numbers(list: &Value) -> Vec<usize> {
    let items = list["value"].as_array().unwrap();
    let messages = items.iter().map(|item| item["properties"]["message"].as_str().unwrap());
    messages.map(|message| message.parse().unwrap()).collect()
}

#[test]
fn items_are_identical_to_the_recordings() {
    let api = api_with(vec![success(), failure()]);
    api.get("/C1/jobs/J1/history").is(
        200,
        concat!(
            r#"{"value":[{"id":"/subscriptions/S1/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/C1/jobs/J1/history/02519429304061978048:01197219572068310780","#,
            r#""type":"Microsoft.Scheduler/jobCollections/jobs/history","name":"C1/J1/02519429304061978048:01197219572068310780","properties":{"#,
            r#""startTime":"2016-03-30T20:39:53.8021951Z","endTime":"2016-03-30T20:39:53.8646988Z","expectedExecutionTime":"2016-03-30T20:39:52.6597062Z","#,
            r#""message":"Http Action - Response from host 'www.bing.com': 'OK' Response Headers: Vary: Accept-Encoding\r\nDate: Wed, 30 Mar 2016 20:39:53 GMT\r\n Body: <!DOCTYPE html>","#,
            r#""retryCount":0,"repeatCount":135,"actionName":"MainAction"}},"#,
            r#"{"id":"/subscriptions/S1/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/C1/jobs/J1/history/02519443897775952091:07432268882031022252","#,
            r#""type":"Microsoft.Scheduler/jobCollections/jobs/history","name":"C1/J1/02519443897775952091:07432268882031022252","properties":{"#,
            r#""startTime":"2016-03-13T23:17:02.4047908Z","endTime":"2016-03-13T23:17:02.4984965Z","expectedExecutionTime":"2016-03-13T23:17:00Z","status":"failed","#,
            r#""message":"Http Action - Request to host 'www.bing1111.com' failed: NameResolutionFailure The remote name could not be resolved: 'www.bing1111.com'","#,
            r#""retryCount":0,"repeatCount":9,"actionName":"MainAction"}}],"nextLink":null}"#,
        ),
    );
}

#[test]
fn items_name_the_retry_the_action_and_the_expected_time() {
    let HistoryEntry { attempt: first, record, .. } = success();
    let later = first.due_at + TimeDelta::seconds(30);
    let error = Attempt { role: Role::Error, due_at: later, ..first.clone() };
    let attempts = [
        Attempt { number: 2, ..error.clone() },
        error,
        Attempt { number: 1, due_at: later, ..first.clone() },
        first,
    ];
    let of = |attempt| HistoryEntry { attempt, record: record.clone(), waits: false };
    let api = api_with(attempts.map(of).to_vec());
    let list = api.get("/C1/jobs/J1/history").json();
    let described = |item: &Value| {
        let properties = &item["properties"];
        let text = |name: &str| properties[name].as_str().unwrap().to_owned();
        let retries = properties["retryCount"].as_u64().unwrap();
        (text("actionName"), retries, text("expectedExecutionTime"))
    };
    let items = list["value"].as_array().unwrap();
    let described: Vec<_> = items.iter().map(described).collect();
    let (at_first, later) = ("2016-03-30T20:39:52.6597062Z", "2016-03-30T20:40:22.6597062Z");
    let expected = [
        ("ErrorAction", 2, later),
        ("ErrorAction", 0, at_first),
        ("MainAction", 1, later),
        ("MainAction", 0, at_first),
    ];
    assert_eq!(described, expected.map(|(action, n, at)| (action.to_owned(), n, at.to_owned())));
    // Although they began at the same time, their names differ, and do not change.
    let names = |list: &Value| -> std::collections::BTreeSet<String> {
        list["value"].as_array().unwrap().iter().map(|item| item["name"].to_string()).collect()
    };
    assert_eq!(names(&list).len(), 4);
    assert_eq!(names(&list), names(&api.get("/C1/jobs/J1/history").json()));
}

#[test]
fn running_and_expired_attempts_are_not_in_the_history() {
    let api = api_with({
        let mut executions = executions(4);
        executions[1].record = None;
        let sixty_days_ago = now() - TimeDelta::days(60);
        executions[2].record.as_mut().unwrap().ended_at = sixty_days_ago;
        executions[3].record.as_mut().unwrap().ended_at = sixty_days_ago + TimeDelta::seconds(1);
        executions
    });
    assert_eq!(numbers(&api.get("/C1/jobs/J1/history").json()), [0, 3]);
    assert_eq!(numbers(&api.get("/C1/jobs/J1/history?$top=1&$skip=1").json()), [3]);
}

#[test]
fn a_window_is_exact_and_reads_nothing_beyond_it() {
    let api = api_with(executions(40));
    let list = |query: &str| api.get(&format!("/C1/jobs/J1/history?{query}")).json();
    let window = list("$top=5");
    assert_eq!(numbers(&window), [0, 1, 2, 3, 4]);
    assert!(window["nextLink"].is_null());
    assert_eq!(numbers(&list("$top=5&$skip=5")), [5, 6, 7, 8, 9]);
    assert_eq!(numbers(&list("$top=100&$skip=38")), [38, 39]);
    assert_eq!(numbers(&list("$skip=38")), [38, 39]);
    assert_eq!(api.history.asked_for.lock().unwrap()[..2], [5, 10]);
}

#[test]
fn the_filter_applies_before_the_window() {
    let api = api_with(executions(1_000));
    let list = |query: &str| api.get(&format!("/C1/jobs/J1/history?$filter={query}")).json();
    assert_eq!(numbers(&list("status%20eq%20Failed&$top=3&$skip=1")), [19, 29, 39]);
    assert_eq!(numbers(&list("STATUS+EQ+'completed'&$top=2&$skip=8")), [8, 10]);
    let all = list("status%20eq%20%22failed%22");
    assert_eq!(numbers(&all), (0..100).map(|n| 10 * n + 9).collect::<Vec<_>>());
    assert!(all["nextLink"].is_null());
    // Reads become larger until the window is reached.
    api.history.asked_for.lock().unwrap().clear();
    assert_eq!(numbers(&list("status%20eq%20Failed&$top=1&$skip=70")), [709]);
    assert_eq!(*api.history.asked_for.lock().unwrap(), [100, 200, 400, 500]);
}

#[test]
fn links_lead_through_a_long_history_to_its_end() {
    let api = api_with(executions(1_200));
    let mut target = format!("{GROUP}/C1/jobs/J1/history?{VERSION}");
    let (mut sizes, mut all) = (Vec::new(), Vec::new());
    loop {
        let list = api.send("GET", &target, &[("host", "localhost")], "").json();
        sizes.push(numbers(&list).len());
        all.extend(numbers(&list));
        match list["nextLink"].as_str() {
            Some(link) => target = link.to_owned(),
            None => break,
        }
    }
    assert_eq!(all, (0..1_200).collect::<Vec<_>>());
    assert!(sizes.iter().all(|size| *size <= 500), "{sizes:?}");
    assert_eq!(sizes.len(), 3);
}

#[test]
fn answers_stay_below_six_megabytes_with_the_longest_messages() {
    let api = api_with({
        let mut executions = executions(400);
        for execution in &mut executions {
            let record = execution.record.as_mut().unwrap();
            record.message = "\"".repeat(minutehand_domain::attempt::MESSAGE_BYTES_MAX);
        }
        executions
    });
    let mut target = format!("{GROUP}/C1/jobs/J1/history?{VERSION}");
    let (mut items, mut answers) = (0, 0);
    loop {
        let answer = api.send("GET", &target, &[("host", "localhost")], "");
        assert!(answer.body.len() < 4_100_000, "{}", answer.body.len());
        let list = answer.json();
        items += list["value"].as_array().unwrap().len();
        answers += 1;
        match list["nextLink"].as_str() {
            Some(link) => target = link.to_owned(),
            None => break,
        }
    }
    assert_eq!((items, answers), (400, 4));
}

#[test]
fn a_page_scans_a_limited_number_of_items_and_has_a_link() {
    let api = api_with(executions(9_005));
    for execution in &mut *api.history.entries.lock().unwrap() {
        execution.record.as_mut().unwrap().outcome = Outcome::Succeeded;
    }
    let target = format!("{GROUP}/C1/jobs/J1/history?{VERSION}&$filter=status%20eq%20Failed");
    let first = api.send("GET", &target, &[("host", "localhost")], "").json();
    assert_eq!(numbers(&first), Vec::<usize>::new());
    let asked_for: u32 = api.history.asked_for.lock().unwrap().iter().sum();
    assert!((5_000..5_500).contains(&asked_for), "{asked_for}");
    let link = first["nextLink"].as_str().unwrap();
    let second = api.send("GET", link, &[("host", "localhost")], "").json();
    assert!(second["nextLink"].is_null());
}

#[test]
fn invalid_parameters_are_refused() {
    let api = Api::with_job();
    let fails = |query: &str, message: &str| {
        api.get(&format!("/C1/jobs/J1/history?{query}")).fails(400, "BadRequest", message);
    };
    fails("$top=0", "'$top' cannot be '0'; use a number from 1 to 100.");
    fails(
        "$filter=status%20eq%20Postponed",
        "'$filter' cannot be 'status eq Postponed'; use 'status eq X', where X is Completed, \
         Failed or Skipped.",
    );
    fails(
        "$filter=state%20eq%20Enabled",
        "'$filter' cannot be 'state eq Enabled'; use 'status eq X', where X is \
         Completed, Failed or Skipped.",
    );
}

#[test]
fn a_missing_job_or_collection_is_not_found_and_a_new_job_has_no_history() {
    let api = Api::with_collection();
    let answer = api.get("/C1/jobs/nope/history");
    answer.fails(404, "NotFound", "Job 'nope' cannot be found.");
    api.get("/nope/jobs/J1/history").fails(404, "ResourceNotFound", NO_PARENT);
    Api::with_job().get("/C1/jobs/J1/history").is(200, r#"{"value":[],"nextLink":null}"#);
}

#[test]
fn what_was_left_out_is_shown_only_to_those_who_ask_for_it() {
    let api = api_with(vec![success()]);
    let second = |second| instant("2016-03-30T20:00:00Z") + TimeDelta::seconds(second);
    let outage = Outage { from: second(0), until: second(7_200) };
    *api.history.left_out.lock().unwrap() = vec![LeftOut {
        generation: 1,
        first: second(60),
        last: second(7_140),
        occurrences: 119,
        reason: LeftOutReason::Outage(outage),
        at: second(7_201),
    }];
    let history = |query: &str| {
        let answer = api.get(&format!("/C1/jobs/J1/history{query}"));
        serde_json::from_str::<Value>(&answer.body).unwrap()["value"].clone()
    };
    assert_eq!(history("").as_array().unwrap().len(), 1);
    assert!(history("")[0]["properties"].get("status").is_none());
    let skipped = history("?$filter=status%20eq%20'Skipped'");
    assert_eq!(skipped.as_array().unwrap().len(), 1);
    assert_eq!(
        skipped[0]["properties"],
        json!({
            "startTime": "2016-03-30T22:00:01Z",
            "endTime": "2016-03-30T22:00:01Z",
            "expectedExecutionTime": "2016-03-30T20:01:00Z",
            "status": "skipped",
            "message": "Nothing worked from 2016-03-30T20:00:00Z to 2016-03-30T22:00:00Z. The \
                        job's 'catchUp' does not make up for this occurrence.",
            "retryCount": 0,
            "actionName": "MainAction",
            "minutehand": {"skipped": 119, "last": "2016-03-30T21:59:00Z", "reason": "outage"},
        })
    );
}
