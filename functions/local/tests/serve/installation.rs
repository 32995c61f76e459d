//! `minutehand installation export|import`, between data directories and over a folder.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use minutehand_testkit::InTime as _;

use crate::server::{Server, job};

fn run(arguments: &[&str], data: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_REGION");
    let output =
        command.arg("installation").args(arguments).arg("--data").arg(data).output_in_time();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[track_caller]
fn must(arguments: &[&str], data: &Path) -> String {
    let (code, said) = run(arguments, data);
    assert_eq!(code, Some(0), "{said}");
    said
}

#[track_caller]
fn refuses(arguments: &[&str], data: &Path, why: &str) {
    let (code, said) = run(arguments, data);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(why), "{why}: {said}");
}

/// A directory in which all is made, a data directory with two collections, and a folder for exports.
struct World {
    dir: tempfile::TempDir,
    data: PathBuf,
    folder: PathBuf,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (data, folder) = (dir.path().join("data"), dir.path().join("exports"));
        fs::create_dir(&folder).unwrap();
        let server = Server::open(&data);
        server.must("PUT", "/jc", "{}");
        server.must("PUT", "/off", r#"{"properties":{"state":"disabled"}}"#);
        server.must("PUT", "/jc/jobs/Nightly", &job("Planted-1"));
        server.must("PUT", "/off/jobs/other", &job("Planted-2"));
        server.stop().is_clean();
        Self { dir, data, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn place(&self) -> &str {
        self.folder.to_str().unwrap()
    }

    /// The folder of the only backup.
    fn backup(&self) -> PathBuf {
        let mut backups = fs::read_dir(self.folder.join("backup")).unwrap();
        let backup = backups.next().unwrap().unwrap().path();
        assert!(backups.next().is_none());
        backup
    }
}

/// A change needs the secrets of the job. A collection stays off until it is enabled.
#[track_caller]
fn serves_with_secrets(data: &Path) {
    let server = Server::open(data);
    for collection in ["/jc", "/off"] {
        let found = server.must("GET", collection, "").json();
        assert_eq!(found["properties"]["state"], "Disabled", "{found}");
    }
    let change = r#"{"properties":{"startTime":"2051-01-01"}}"#;
    server.must("PATCH", "/jc/jobs/nightly", change);
    server.must("PATCH", "/off/jobs/other", change);
    let job = server.must("GET", "/jc/jobs/Nightly", "").json();
    assert_eq!(job["name"], "jc/Nightly", "{job}");
    server.must("POST", "/jc/enable", "");
    let full = server.must("GET", "/jc/jobs", "").json();
    assert_eq!(full["value"].as_array().unwrap().len(), 1, "{full}");
    // It is counted, too: it can be deleted, and another one created.
    server.must("DELETE", "/jc/jobs/Nightly", "");
    server.must("PUT", "/jc/jobs/Nightly", &crate::server::job("p"));
    server.stop().is_clean();
}

/// Serves until the log says that the day's backup is written, or what follows it. The page of metrics then
/// tells its time.
fn back_up(data: &Path, place: &str, day: &str, until: &str) {
    let (data, clock) = (data.to_str().unwrap(), format!("{day}T02:00:00Z"));
    let archive = ["--archive", place, "--backups-kept", "2", "--clock-start", &clock];
    let mut server = Server::start(["--no-auth", "--data", data].iter().chain(&archive));
    server.wait_for(until);
    let page = server.send("GET", "/metrics", "").body;
    let time = page.lines().find_map(|it| it.strip_prefix("minutehand_backup_time_seconds "));
    let began = chrono::DateTime::parse_from_rfc3339(&clock).unwrap().timestamp();
    let time: i64 = time.unwrap().parse().unwrap();
    assert!((began..began + 3_600).contains(&time), "{time}");
    server.stop().is_clean();
}

#[test]
fn a_daily_backup_becomes_an_installation_with_the_key_of_the_lost_one() {
    let world = World::new();
    for (day, until) in [
        ("2030-01-01", "backed up"),
        ("2030-01-02", "backed up"),
        ("2030-01-03", "removed old backups"),
    ] {
        back_up(&world.data, world.place(), day, until);
    }
    let names = || {
        let found = fs::read_dir(world.folder.join("backup")).unwrap();
        let mut names: Vec<_> =
            found.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let two = names();
    let days: Vec<_> = two.iter().map(|name| &name[..10]).collect();
    assert_eq!(days, ["2030-01-02", "2030-01-03"]);
    // A server with a new data directory in its place writes a backup, too, and deletes none of these.
    let empty = world.path("empty");
    back_up(&empty, world.place(), "2030-01-04", "backed up");
    assert_eq!(names()[..2], two);

    let (new, import) = (world.path("new"), ["import", world.place()]);
    refuses(&import, &new, "key");
    fs::remove_dir_all(&new).unwrap();
    fs::create_dir(&new).unwrap();
    fs::copy(world.data.join("key"), new.join("key")).unwrap();
    let said = must(&import, &new);
    assert!(said.contains(" is of an empty installation, and it is skipped"), "{said}");
    assert!(said.contains(&format!("imported backup/{} into", two[1])), "{said}");
    assert!(said.contains("on when they were exported:\n  s/g/jc\n"), "{said}");
    serves_with_secrets(&new);

    let older = world.path("older");
    fs::create_dir(&older).unwrap();
    fs::copy(world.data.join("key"), older.join("key")).unwrap();
    must(&["import", world.place(), "--backup", &two[0]], &older);
    serves_with_secrets(&older);
}

#[test]
fn secrets_move_under_a_key_of_their_own_into_another_installation() {
    let world = World::new();
    let (key, new) = (world.path("move.key"), world.path("new"));
    let key_text = key.to_str().unwrap().to_owned();
    let said = must(&["export", world.place(), "--seal-to", &key_text], &world.data);
    assert!(said.contains("2 collections, 2 jobs, 0 retries"), "{said}");
    assert!(said.contains("2 with secrets, which open with the key in the file only"), "{said}");
    assert!(said.contains("were on during the export:\n  s/g/jc\n"), "{said}");
    assert!(said.contains("minutehand collection disable NAME"), "{said}");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let files: Vec<_> = fs::read_dir(world.backup()).unwrap().map(|it| it.unwrap()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let bytes = fs::read(file.path()).unwrap();
        let lines = minutehand_archive::unpack("f", &bytes).lines.join("\n");
        let text = [String::from_utf8_lossy(&bytes).as_ref(), &lines].concat();
        assert!(!text.contains("Planted"), "{text}");
        assert!(!text.contains(fs::read_to_string(&key).unwrap().trim()), "{file:?}");
    }
    // A key is never overwritten, and stays if the export with it is refused.
    let before = fs::read(&key).unwrap();
    let again = ["export", world.place(), "--seal-to", &key_text];
    refuses(&again, &world.data, "move.key exists, and is never overwritten");
    assert_eq!(fs::read(&key).unwrap(), before);

    let import = ["import", world.place()];
    refuses(&import, &new, "are sealed with the key of a file: name it with --unseal-with");
    assert!(!new.exists());
    let wrong = world.path("wrong.key");
    fs::copy(world.data.join("key"), &wrong).unwrap();
    let with = |key: &Path| {
        ["import", world.place(), "--unseal-with", key.to_str().unwrap()].map(str::to_owned)
    };
    let wrong = with(&wrong);
    let wrong: Vec<&str> = wrong.iter().map(String::as_str).collect();
    refuses(&wrong, &new, "the key in the file of --unseal-with is not the one of this export");
    let right = with(&key);
    let right: Vec<&str> = right.iter().map(String::as_str).collect();
    let said = must(&right, &new);
    assert!(said.contains("2 collections, 2 jobs, 0 retries"), "{said}");
    assert!(said.contains("Off here, and on when they were exported:\n  s/g/jc\n"), "{said}");
    assert!(said.contains("Off here, and off when they were exported:\n  s/g/off\n"), "{said}");

    // It is not empty now.
    refuses(&right, &new, "the target has collections already");
    let merged: Vec<&str> = right.iter().copied().chain(["--merge"]).collect();
    refuses(&merged, &new, "already, and nothing was changed:\n  s/g/jc\n  s/g/off");
    serves_with_secrets(&new);
}

#[test]
fn an_installation_with_the_same_key_takes_secrets_as_they_are() {
    let world = World::new();
    must(&["export", world.place()], &world.data);
    let (other, same) = (world.path("other"), world.path("same"));
    let import = ["import", world.place()];
    refuses(&import, &other, "sealed with another key than the target's");
    let server = Server::open(&other);
    assert_eq!(server.must("GET", "", "").json()["value"].as_array().unwrap().len(), 0);
    server.stop().is_clean();

    fs::create_dir(&same).unwrap();
    fs::copy(world.data.join("key"), same.join("key")).unwrap();
    must(&import, &same);
    serves_with_secrets(&same);
    // The source is as it was.
    let server = Server::open(&world.data);
    let found = server.must("GET", "/jc", "").json();
    assert_eq!(found["properties"]["state"], "Enabled", "{found}");
    server.must("PATCH", "/jc/jobs/nightly", r#"{"properties":{"startTime":"2051-01-01"}}"#);
    server.stop().is_clean();
}

#[test]
fn two_installations_merge_if_they_have_no_name_in_common() {
    let world = World::new();
    let (key, other) = (world.path("key"), world.path("other"));
    let key = key.to_str().unwrap();
    must(&["export", world.place(), "--seal-to", key], &world.data);
    let server = Server::open(&other);
    server.must("PUT", "/third", "{}");
    server.must("PUT", "/third/jobs/j", &job("p"));
    server.stop().is_clean();
    let import = ["import", world.place(), "--unseal-with", key];
    refuses(&import, &other, "add to it with --merge");
    must(&[import.as_slice(), &["--merge"]].concat(), &other);
    let server = Server::open(&other);
    server.must("GET", "/third/jobs/j", "");
    server.must("GET", "/jc/jobs/nightly", "");
    assert_eq!(server.must("GET", "/third", "").json()["properties"]["state"], "Enabled");
    server.stop().is_clean();
}

#[test]
fn a_backup_that_is_incomplete_or_forged_changes_nothing() {
    let world = World::new();
    let new = world.path("new");
    let import = ["import", world.place()];
    refuses(&import, &new, "there is no complete backup in");
    must(&["export", world.place()], &world.data);
    let backup = world.backup();
    let name = backup.file_name().unwrap().to_str().unwrap().to_owned();
    let (jobs, manifest) = (backup.join("jobs.jsonl.gz"), backup.join("manifest.json"));
    let (bytes, text) = (fs::read(&jobs).unwrap(), fs::read_to_string(&manifest).unwrap());
    let mut forged = bytes.clone();
    *forged.last_mut().unwrap() ^= 1;
    for (content, why) in [
        (&bytes[..bytes.len() / 2], "jobs.jsonl.gz: it has"),
        (&forged, "jobs.jsonl.gz: its SHA-256 is not the one in the manifest"),
        (&[], "jobs.jsonl.gz: it has 0 bytes"),
    ] {
        fs::write(&jobs, content).unwrap();
        refuses(&import, &new, why);
    }
    fs::remove_file(&jobs).unwrap();
    refuses(&import, &new, "jobs.jsonl.gz: it is missing");
    fs::write(&jobs, &bytes).unwrap();
    for (from, to, why) in [
        ("\"format\": 2", "\"format\": 3", "its format is 3, and this version reads 2"),
        ("\"lines\": 2", "\"lines\": 3", "the manifest says 3"),
        (
            "\"kind\": \"jobs\"",
            "\"kind\": \"moons\"",
            "it has 'moons', which this version does not know",
        ),
        ("\"kind\": \"jobs\"", "\"kind\": \"retries\"", "jobs.jsonl.gz, line 1"),
        ("\"secrets\": 2", "\"secrets\": 0", "2 lines have secrets, and manifest.json says 0"),
        ("\"at\": \"20", "\"at\": \"19", "manifest.json is of another backup"),
    ] {
        assert!(text.contains(from), "{from}: {text}");
        fs::write(&manifest, text.replace(from, to)).unwrap();
        refuses(&import, &new, why);
    }
    fs::remove_file(&manifest).unwrap();
    refuses(&import, &new, "has no manifest.json: its export did not end");
    fs::write(&manifest, &text).unwrap();
    let named = ["import", world.place(), "--backup"];
    let other = [named.as_slice(), &["2020-01-01T000000Z"]].concat();
    refuses(&other, &new, &format!("there is no backup 2020-01-01T000000Z in {}", world.place()));
    assert!(!new.exists(), "the target was not opened");
    fs::create_dir(&new).unwrap();
    fs::copy(world.data.join("key"), new.join("key")).unwrap();
    must(&[named.as_slice(), &[&name]].concat(), &new);
}

#[test]
fn a_place_that_cannot_be_used_is_refused_with_the_reason() {
    let world = World::new();
    let export = ["export", world.place()];
    let none = world.path("none");
    refuses(&export, &none, "is not a data directory");
    assert!(!none.exists());
    let missing = world.path("mnt/nas");
    refuses(&["export", missing.to_str().unwrap()], &world.data, "does not exist: mount it");
    assert!(!missing.exists());
    refuses(&["export", "s3://b/p"], &world.data, "set AWS_ACCESS_KEY_ID");
    let file = world.path("file");
    fs::write(&file, "").unwrap();
    refuses(&["import", world.place()], &file, "there is no complete backup");

    let server = Server::open(&world.data);
    refuses(&export, &world.data, "is in use by process");
    server.stop().is_clean();
    must(&export, &world.data);
    let server = Server::open(&none);
    refuses(&["import", world.place()], &none, "is in use by process");
    server.stop().is_clean();
    refuses(&["import", world.place()], &file, "is not a directory");
    let (code, said) = run(&["export", "gs://b"], &world.data);
    assert!(code == Some(2) && said.contains("give a folder"), "{said}");
    for not_here in ["s3://b", "dynamodb://t"] {
        let (code, said) = run(&export, Path::new(not_here));
        assert!(code == Some(2) && said.contains("the archiver moves a stack on AWS"), "{said}");
    }

    // Nothing can be written into the folder. The super-user can, so this is skipped there.
    fs::remove_dir_all(world.folder.join("backup")).unwrap();
    fs::set_permissions(&world.folder, fs::Permissions::from_mode(0o500)).unwrap();
    if fs::write(world.folder.join("probe"), "").is_err() {
        let key = world.path("key");
        let sealed = [export.as_slice(), &["--seal-to", key.to_str().unwrap()]].concat();
        refuses(&sealed, &world.data, "access is denied");
        assert!(!key.exists(), "the key of an export that failed is removed");
    }
    fs::set_permissions(&world.folder, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_killed_server_starts_again_after_an_export() {
    let world = World::new();
    let server = Server::open(&world.data);
    server.must("PUT", "/jc/jobs/late", &job("p"));
    server.signal("KILL");
    server.wait();
    let said = must(&["export", world.place()], &world.data);
    assert!(said.contains("2 collections, 3 jobs"), "{said}");
    let server = Server::open(&world.data);
    server.must("GET", "/jc/jobs/late", "");
    server.stop().is_clean();
}
