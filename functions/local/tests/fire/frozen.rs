//! Data directories of earlier versions: this build must serve and fire from a directory of each
//! schema. `tests/frozen/README.md` describes their contents.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::jobs::{counters, history, on, properties, until, until_state, with_collection};
use crate::server::Server;
use crate::target::{Target, status};

/// When the directory was created, and when its answers were recorded, on its own clock.
const MADE_AT: &str = "2030-01-01T00:00:00Z";
const LOOKED_AT: &str = "2030-01-01T00:05:00Z";
/// A moment before the first job is due. From then on an hour takes six seconds.
const RESUMED_AT: &str = "2030-01-01T00:09:58Z";
const RATE: &str = "600";

/// The recorded answers of the API.
const ANSWERS: &str = "answers.json";
const ASKED: [&str; 10] = [
    "",
    "/jc",
    "/jc/jobs",
    "/jc/jobs/done/history",
    "/jc/jobs/fails/history",
    "/jc/jobs/hourly/history",
    "/jc/jobs/broken/history",
    "/limited",
    "/limited/jobs",
    "/limited/jobs/first/history",
];
/// The secrets in it, which were made up for the test.
const SIGNATURE: &str = "sv=2030-01-01&sig=frozen";
const PASSWORD: &str = "frozen-password";

/// The schemas of databases that were frozen.
const SCHEMAS: [u32; 1] = [1];

fn frozen(schema: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/frozen/schema-{schema}"))
}

/// A job that sends a message to the queue with the job's name.
fn storage(name: &str, more: &Value) -> String {
    let mut properties = more.clone();
    properties["action"]["type"] = "StorageQueue".into();
    properties["action"]["queueMessage"] = json!({
        "storageAccount": "account", "queueName": name, "sasToken": SIGNATURE,
        "message": format!("from {name}"),
    });
    json!({"properties": properties}).to_string()
}

fn look(data: &Path) -> Server {
    on(data, &["--roles", "api", "--clock-start", LOOKED_AT])
}

fn answers(server: &Server) -> Value {
    ASKED.iter().map(|path| ((*path).to_owned(), server.must("GET", path, "").json())).collect()
}

#[test]
fn a_directory_of_every_schema_is_served_and_fires() {
    for schema in SCHEMAS {
        let dir = tempfile::tempdir().unwrap();
        for file in fs::read_dir(frozen(schema)).unwrap() {
            let file = file.unwrap();
            let copy = dir.path().join(file.file_name());
            fs::copy(file.path(), &copy).unwrap();
            // The original mode, which Git does not keep.
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let expected = fs::read(dir.path().join(ANSWERS)).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        let server = look(dir.path());
        assert_eq!(answers(&server), expected, "schema {schema}");
        // The change is accepted without the password, so the stored one was opened.
        let patch = r#"{"properties":{"action":{"request":{"method":"PUT"}}}}"#;
        server.must("PATCH", "/jc/jobs/zoned", patch);
        server.stop().is_clean();
        fires(dir.path());
    }
}

/// Asserts that queued jobs, a timer, a retry and the retry of a notice fire.
fn fires(data: &Path) {
    let target = Target::start(|_| status("201 Created"));
    let endpoint = target.url("");
    let clock = ["--clock-start", RESUMED_AT, "--clock-rate", RATE];
    let server = on(data, &[&clock[..], &["--storage-endpoint", &endpoint]].concat());
    let queues = ["fails", "hourly", "next", "soon", "told"];
    let mut seen = target.next_n(queues.len());
    seen.sort_by(|one, other| one.path.cmp(&other.path));
    for (seen, name) in seen.iter().zip(queues) {
        let path = format!("/account/{name}/messages");
        assert!(seen.path.starts_with(&path), "{seen:?}");
        assert!(seen.path.contains(SIGNATURE), "{seen:?}");
    }
    until_state(&server, "/jc/jobs/soon", "completed");
    let retried = until_state(&server, "/jc/jobs/fails", "completed");
    assert_eq!(counters(&retried), [2, 1, 0]);
    assert_eq!(history(&server, "/jc/jobs/fails").len(), 2);
    until(&server, "/jc/jobs/hourly", |now| counters(now)[0] >= 1);
    until_state(&server, "/limited/jobs/next", "completed");
    let done = properties(&server, "/jc/jobs/done");
    assert_eq!((&done["state"], counters(&done)), (&"completed".into(), [1, 0, 0]));
    server.stop().is_clean();
    let again = target.rest();
    assert!(again.iter().all(|seen| seen.path.starts_with("/account/hourly/")), "{again:?}");
}

#[test]
#[ignore = "creates the directory of this build's schema, once; see tests/frozen/README.md"]
fn make() {
    let dir = frozen(SCHEMAS[SCHEMAS.len() - 1]);
    assert!(
        !dir.exists(),
        "{} is frozen: delete it first if you really want to replace it",
        dir.display()
    );
    let target = Target::start(|seen| {
        let is_broken = ["/fails/", "/broken/", "/told/"].iter().any(|it| seen.path.contains(it));
        status(if is_broken { "500 Broken" } else { "201 Created" })
    });
    let arguments = ["--clock-start", MADE_AT, "--storage-endpoint", &target.url("")];
    let server = with_collection(on(&dir, &arguments));
    let put = |name: &str, body: &str| server.must("PUT", &format!("/jc/jobs/{name}"), body);
    let hour = json!({"retryType": "Fixed", "retryInterval": "PT1H", "retryCount": 1});
    let message = json!({"storageAccount": "account", "queueName": "told", "sasToken": SIGNATURE});
    let told = json!({"type": "StorageQueue", "queueMessage": message, "retryPolicy": hour});
    let notifies = json!({"properties": {"minutehand": {"onFailure": told}}});
    server.must("PATCH", "/jc", &notifies.to_string());
    let never = json!({"retryType": "None"});
    put("broken", &storage("broken", &json!({"action": {"retryPolicy": never}})));
    put("done", &storage("done", &json!({})));
    put("fails", &storage("fails", &json!({"action": {"retryPolicy": hour}})));
    put("soon", &storage("soon", &json!({"startTime": "2030-01-01T00:10:00Z"})));
    let often = json!({"frequency": "hour", "count": 24});
    let hourly = json!({"startTime": "2030-01-01T01:00:00Z", "recurrence": often});
    put("hourly", &storage("hourly", &hourly));
    let nine = json!({"hours": [9], "minutes": [0], "weekDays": ["Monday", "Friday"]});
    let authentication = json!({"type": "Basic", "username": "user", "password": PASSWORD});
    let request = json!({
        "uri": "https://example.org/", "method": "POST", "body": "{}",
        "headers": {"Content-Type": "application/json"}, "authentication": authentication,
    });
    let zoned = json!({"properties": {
        "startTime": "2030-01-01T00:00:00Z",
        "recurrence": {"frequency": "week", "timeZone": "Europe/Berlin", "schedule": nine},
        "action": {
            "type": "Https", "request": request,
            "errorAction": {"type": "Http", "request": {"uri": "http://example.org/", "method": "GET"}},
        },
    }});
    put("zoned", &zoned.to_string());
    let policy = json!({"overlap": {"policy": "skip"}});
    let single = json!({"recurrence": {"frequency": "year"}, "minutehand": policy});
    put("single", &storage("single", &single));
    let limits = json!({"properties": {"minutehand": {"maxPerSecond": 10, "maxConcurrent": 1}}});
    server.must("PUT", "/limited", &limits.to_string());
    let next = storage("next", &json!({"startTime": "2030-01-01T00:10:00Z"}));
    server.must("PUT", "/limited/jobs/next", &next);
    server.must("PUT", "/limited/jobs/first", &storage("first", &json!({})));
    until_state(&server, "/limited/jobs/first", "completed");
    put("off", &storage("off", &json!({"state": "Disabled", "recurrence": {"frequency": "day"}})));
    until_state(&server, "/jc/jobs/done", "completed");
    until(&server, "/jc/jobs/fails", |now| counters(now)[1] == 1);
    until(&server, "/jc/jobs/single", |now| counters(now)[0] == 1);
    until(&server, "/jc/jobs/broken", |_| history(&server, "/jc/jobs/broken").len() == 2);
    server.stop().is_clean();
    let server = look(&dir);
    let answers = answers(&server);
    let answers = serde_json::to_string_pretty(&answers).unwrap();
    server.stop().is_clean();
    // Nothing may refer to the machine on which the directory is created.
    assert!(!answers.contains("127.0.0.1"), "{answers}");
    fs::write(dir.join(ANSWERS), answers + "\n").unwrap();
    fs::remove_file(dir.join("lock")).unwrap();
}
