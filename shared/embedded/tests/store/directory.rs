//! The data directory: it keeps data for the next run, allows one process, and has a format.

use std::fs;

use minutehand_embedded::{DataDir, DataDirError, FORMAT, Store, SyncMode};
use tempfile::TempDir;

use crate::table::{create, get, put_new};

fn new_dir() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[tokio::test]
async fn a_process_reads_what_earlier_ones_wrote() {
    let dir = new_dir();
    for (n, sync) in [SyncMode::Normal, SyncMode::Full, SyncMode::Normal].into_iter().enumerate() {
        let store = Store::open(&DataDir::open(dir.path()).unwrap(), sync).unwrap();
        let client = store.client();
        if n == 0 {
            create(&client).await;
        }
        put_new(&client, &n.to_string(), "T").send().await.unwrap();
        for earlier in 0..=n {
            assert!(get(&client, &earlier.to_string(), "T").await.is_some());
        }
        store.close().await;
    }
}

#[tokio::test]
async fn a_closed_store_leaves_one_data_file() {
    let dir = new_dir();
    let store = Store::open(&DataDir::open(dir.path()).unwrap(), SyncMode::Normal).unwrap();
    create(&store.client()).await;
    store.close().await;
    let mut names: Vec<_> =
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["format", "lock", "store.db"]);
}

#[tokio::test]
async fn a_second_opening_is_refused_while_the_first_lives() {
    let dir = new_dir();
    let store = Store::open(&DataDir::open(dir.path()).unwrap(), SyncMode::Normal).unwrap();
    let client = store.client();
    let refused = DataDir::open(dir.path()).unwrap_err();
    assert!(matches!(refused, DataDirError::InUse { .. }));
    let holder = format!("is in use by process {}: stop that process", std::process::id());
    assert!(refused.to_string().contains(&holder), "{refused}");

    // Closing waits until the directory is released, even if clients are left.
    store.close().await;
    DataDir::open(dir.path()).unwrap();
    drop(client);
}

#[test]
fn a_newer_format_is_refused_and_not_changed() {
    let dir = new_dir();
    let newer = FORMAT + 1;
    fs::write(dir.path().join("format"), format!("{newer}\n")).unwrap();
    let refused = DataDir::open(dir.path()).unwrap_err();
    assert!(matches!(refused, DataDirError::Newer { found, .. } if found == newer));
    let message = format!("has format {newer}, and this version reads up to {FORMAT}");
    assert!(refused.to_string().contains(&message), "{refused}");
    assert_eq!(fs::read_to_string(dir.path().join("format")).unwrap(), format!("{newer}\n"));
}

/// A backup opens a directory without firing from it, and an older version may have to read the copy.
#[test]
fn an_older_format_stays_until_the_directory_is_opened_for_firing() {
    let dir = new_dir();
    fs::write(dir.path().join("format"), "1\n").unwrap();
    assert!(!DataDir::open(dir.path()).unwrap().is_new());
    assert_eq!(fs::read_to_string(dir.path().join("format")).unwrap(), "1\n");
    fs::write(dir.path().join("format"), "0\n").unwrap();
    assert!(matches!(DataDir::open(dir.path()), Err(DataDirError::Damaged { .. })));
}

#[test]
fn data_without_a_readable_format_is_refused() {
    let dir = new_dir();
    fs::write(dir.path().join("store.db"), "").unwrap();
    assert!(matches!(DataDir::open(dir.path()), Err(DataDirError::Damaged { .. })));
    fs::write(dir.path().join("format"), "one").unwrap();
    assert!(matches!(DataDir::open(dir.path()), Err(DataDirError::Damaged { .. })));
}

#[test]
fn a_directory_with_files_of_others_is_refused_and_not_changed() {
    let dir = new_dir();
    fs::write(dir.path().join("thesis.txt"), "").unwrap();
    let refused = DataDir::open(dir.path()).unwrap_err();
    assert!(matches!(&refused, DataDirError::Foreign { file, .. } if file == "thesis.txt"));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is written");

    // Own files that come before the format are not foreign; later, other files do no harm.
    fs::remove_file(dir.path().join("thesis.txt")).unwrap();
    fs::write(dir.path().join("key"), "").unwrap();
    fs::create_dir(dir.path().join("lost+found")).unwrap();
    assert!(DataDir::open(dir.path()).unwrap().is_new());
    fs::write(dir.path().join("thesis.txt"), "").unwrap();
    assert!(!DataDir::open(dir.path()).unwrap().is_new());
}

#[test]
fn a_start_completes_what_an_interrupted_one_left() {
    let dir = new_dir();
    // A kill before the rename leaves an unlocked file and a draft.
    fs::write(dir.path().join("lock"), "4194303\n").unwrap();
    fs::write(dir.path().join("format.new"), "").unwrap();
    DataDir::open(dir.path()).unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("format")).unwrap(), format!("{FORMAT}\n"));
}

#[test]
fn a_file_that_is_not_a_database_is_refused() {
    let dir = new_dir();
    let data_dir = DataDir::open(dir.path()).unwrap();
    fs::write(dir.path().join("store.db"), [7; 4096]).unwrap();
    let refused = Store::open(&data_dir, SyncMode::Normal).unwrap_err();
    assert!(refused.to_string().contains("is damaged: it is not a database; restore"), "{refused}");
}

#[cfg(unix)]
#[test]
fn a_database_that_is_a_link_is_refused_with_what_to_do() {
    let (dir, other) = (new_dir(), new_dir());
    let data_dir = DataDir::open(dir.path()).unwrap();
    std::os::unix::fs::symlink(other.path().join("store.db"), dir.path().join("store.db")).unwrap();
    let refused = Store::open(&data_dir, SyncMode::Normal).unwrap_err();
    assert!(refused.to_string().contains("is a symbolic link, or no regular file"), "{refused}");
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0, "nothing was created");
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_directory_and_its_files_are_accessible_to_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;

    let parent = new_dir();
    let path = parent.path().join("data");
    let store = Store::open(&DataDir::open(&path).unwrap(), SyncMode::Normal).unwrap();
    create(&store.client()).await;
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.clone()), 0o700);
    for entry in fs::read_dir(&path).unwrap() {
        let file = entry.unwrap().path();
        assert_eq!(mode(file.clone()), 0o600, "{}", file.display());
    }
}
