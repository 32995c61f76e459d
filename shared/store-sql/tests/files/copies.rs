//! Copies of the files of a running store, taken in any order and with commits between them.

use std::fs;

use minutehand_store_sql::sqlite::{CopyProblem, Database, Durability, SqlError, back_up};
use rusqlite::Connection;

use crate::world::{
    DATABASE, LOG, OPEN, Running, add, add_large, copy, remove, rows, set_works_from, start,
};

/// The orders in which the files may be copied.
const ORDERS: [[&str; 3]; 6] = [
    [DATABASE, LOG, OPEN],
    [DATABASE, OPEN, LOG],
    [LOG, DATABASE, OPEN],
    [LOG, OPEN, DATABASE],
    [OPEN, DATABASE, LOG],
    [OPEN, LOG, DATABASE],
];

/// Moves the log into the database, as the keeper does in its own time.
fn checkpoint(running: &Running, mode: &str) {
    let connection = Connection::open(running.path(DATABASE)).unwrap();
    let sql = format!("PRAGMA wal_checkpoint({mode})");
    connection.query_row(&sql, [], |_| Ok(())).unwrap();
    // Closing it would not remove the log: others have it open.
}

#[tokio::test]
async fn a_clean_end_leaves_one_file_and_everything_in_it() {
    let running = Running::start();
    running.write(0..20).await;
    assert!(running.path(OPEN).exists() && running.path(LOG).exists());
    let dir = running.end();
    let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), [DATABASE]);
    assert_eq!(start(dir.path()).unwrap(), 20);
}

#[tokio::test]
async fn a_directory_of_one_moment_is_accepted_whenever_that_is() {
    let running = Running::start();
    let mut written = 0;
    for mode in ["", "PASSIVE", "", "RESTART", "", "PASSIVE", "RESTART", "RESTART"] {
        running.write(written..written + 5).await;
        written += 5;
        if !mode.is_empty() {
            checkpoint(&running, mode);
        }
        let killed = tempfile::tempdir().unwrap();
        for name in [DATABASE, LOG, OPEN] {
            copy(running.dir.path(), killed.path(), name);
        }
        assert_eq!(start(killed.path()).unwrap(), usize::try_from(written).unwrap(), "{mode}");
    }
}

#[tokio::test]
async fn a_copy_of_several_moments_is_refused_or_has_all_that_was_answered_before_it() {
    let (mut accepted, mut refused) = (0, 0);
    for order in ORDERS {
        for [first, second] in [["", ""], ["PASSIVE", ""], ["", "PASSIVE"], ["RESTART", "PASSIVE"]]
        {
            for is_over_another in [false, true] {
                let running = Running::start();
                running.write(0..10).await;
                let copied = tempfile::tempdir().unwrap();
                if is_over_another {
                    for name in order {
                        copy(running.dir.path(), copied.path(), name);
                    }
                    running.write(10..15).await;
                }
                let before = if is_over_another { 15 } else { 10 };
                for (name, mode) in order.into_iter().zip([first, second, ""]) {
                    copy(running.dir.path(), copied.path(), name);
                    let n = rows(running.dir.path());
                    let n = i64::try_from(n).unwrap();
                    running.write(n..n + 5).await;
                    if !mode.is_empty() {
                        checkpoint(&running, mode);
                        running.write(n + 5..n + 10).await;
                    }
                }
                match start(copied.path()) {
                    Ok(found) => {
                        assert!(found >= before, "{order:?} {first} {second}: {found}");
                        accepted += 1;
                    }
                    Err(SqlError::Copy(_)) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
    assert!(accepted > 0 && refused > 0, "{accepted} accepted, {refused} refused");
}

#[tokio::test]
async fn a_log_that_is_missing_empty_or_cut_off_is_refused() {
    for (cut, problem) in [
        (None, CopyProblem::NoLog),
        (Some(0), CopyProblem::NoLog),
        (Some(2), CopyProblem::ShortLog),
        (Some(1), CopyProblem::ShortLog),
    ] {
        let running = Running::start();
        running.write(0..10).await;
        let copied = tempfile::tempdir().unwrap();
        for name in [DATABASE, LOG, OPEN] {
            copy(running.dir.path(), copied.path(), name);
        }
        let log = copied.path().join(LOG);
        let bytes = fs::read(&log).unwrap();
        match cut {
            None => fs::remove_file(&log).unwrap(),
            Some(0) => fs::write(&log, b"").unwrap(),
            Some(2) => fs::write(&log, &bytes[..bytes.len() / 2]).unwrap(),
            Some(_) => fs::write(&log, &bytes[..bytes.len() - 1]).unwrap(),
        }
        let refused = start(copied.path()).unwrap_err();
        assert!(matches!(refused, SqlError::Copy(it) if it == problem), "{cut:?}: {refused}");
        assert!(refused.to_string().contains("Restore a backup"), "{refused}");
    }
}

#[tokio::test]
async fn yesterdays_database_beside_todays_log_is_refused_and_accepted_when_asked() {
    let running = Running::start();
    running.write(0..10).await;
    checkpoint(&running, "RESTART");
    let copied = tempfile::tempdir().unwrap();
    copy(running.dir.path(), copied.path(), DATABASE);
    running.write(10..20).await;
    checkpoint(&running, "RESTART");
    running.write(20..30).await;
    for name in [LOG, OPEN] {
        copy(running.dir.path(), copied.path(), name);
    }
    let refused = start(copied.path()).unwrap_err();
    assert!(matches!(refused, SqlError::Copy(CopyProblem::OldDatabase)), "{refused}");
    assert!(start(copied.path()).is_err(), "a refusal changes nothing");
    let (database, threads, problem) =
        Database::open_copy(copied.path(), Durability::Full).unwrap();
    assert_eq!(problem, Some(CopyProblem::OldDatabase));
    add(&database, 10).await.unwrap();
    drop(database);
    threads.join();
    assert_eq!(rows(copied.path()), 11);
    assert!(copied.path().join("minutehand.db-wal.refused").exists());
}

#[tokio::test]
async fn a_start_that_is_refused_leaves_the_log_and_its_record() {
    let running = Running::start();
    running.write(0..10).await;
    let killed = tempfile::tempdir().unwrap();
    for works_from in [99, 1] {
        set_works_from(&running.database, works_from).await;
        for name in [DATABASE, LOG, OPEN] {
            copy(running.dir.path(), killed.path(), name);
        }
        if works_from == 99 {
            let log = fs::read(killed.path().join(LOG)).unwrap();
            assert!(matches!(start(killed.path()), Err(SqlError::Newer)));
            assert_eq!(fs::read(killed.path().join(LOG)).unwrap(), log);
            assert!(killed.path().join(OPEN).exists());
        }
    }
    assert_eq!(start(killed.path()).unwrap(), 10);
}

#[tokio::test]
async fn a_backup_is_a_database_of_its_own() {
    let running = Running::start();
    running.write(0..10).await;
    let backed_up = tempfile::tempdir().unwrap();
    let bytes = back_up(running.dir.path(), backed_up.path(), true).unwrap();
    assert_eq!(bytes, fs::metadata(backed_up.path().join(DATABASE)).unwrap().len());
    assert!(back_up(running.dir.path(), backed_up.path(), true).is_err(), "it is there");
    running.write(10..20).await;
    // Beside the log of the database it was made of, it is refused.
    let mixed = tempfile::tempdir().unwrap();
    copy(backed_up.path(), mixed.path(), DATABASE);
    for name in [LOG, OPEN] {
        copy(running.dir.path(), mixed.path(), name);
    }
    let refused = start(mixed.path()).unwrap_err();
    assert!(matches!(refused, SqlError::Copy(CopyProblem::OldDatabase)), "{refused}");
    for _ in 0..2 {
        assert_eq!(start(backed_up.path()).unwrap(), 10);
    }
    // Killed after the first commits on a backup.
    let (database, threads) = Database::open(backed_up.path(), Durability::Full).unwrap();
    add(&database, 10).await.unwrap();
    let killed = tempfile::tempdir().unwrap();
    for name in [DATABASE, LOG, OPEN] {
        copy(backed_up.path(), killed.path(), name);
    }
    drop(database);
    threads.join();
    assert_eq!(start(killed.path()).unwrap(), 11);
}

#[tokio::test]
async fn a_backup_of_a_killed_process_has_its_log_and_leaves_it_and_files_of_several_moments_have_none()
 {
    let running = Running::start();
    running.write(0..10).await;
    let killed = tempfile::tempdir().unwrap();
    for name in [DATABASE, LOG, OPEN] {
        copy(running.dir.path(), killed.path(), name);
    }
    let log = fs::read(killed.path().join(LOG)).unwrap();
    let backed_up = tempfile::tempdir().unwrap();
    back_up(killed.path(), backed_up.path(), false).unwrap();
    assert_eq!(start(backed_up.path()).unwrap(), 10);
    assert_eq!(fs::read(killed.path().join(LOG)).unwrap(), log);
    assert_eq!(start(killed.path()).unwrap(), 10);

    let mixed = tempfile::tempdir().unwrap();
    for name in [DATABASE, OPEN] {
        copy(running.dir.path(), mixed.path(), name);
    }
    let target = tempfile::tempdir().unwrap();
    let refused = back_up(mixed.path(), target.path(), false).unwrap_err();
    assert!(matches!(refused, SqlError::Copy(CopyProblem::NoLog)), "{refused}");
    // Nothing is made in a directory that has no database.
    let empty = tempfile::tempdir().unwrap();
    assert!(back_up(empty.path(), target.path(), false).is_err());
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_database_that_is_a_link_is_refused_with_what_to_do() {
    let other = Running::start().end();
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(other.path().join(DATABASE), dir.path().join(DATABASE)).unwrap();
    let refused = start(dir.path()).unwrap_err();
    assert!(refused.to_string().contains("is a symbolic link, or no regular file"), "{refused}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing was created");
}

#[tokio::test]
async fn every_file_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let running = Running::start();
    running.write(0..10).await;
    let backed_up = tempfile::tempdir().unwrap();
    back_up(running.dir.path(), backed_up.path(), true).unwrap();
    for dir in [running.dir.path(), backed_up.path()] {
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{entry:?}");
        }
    }
}

#[tokio::test]
async fn the_log_stays_small_while_commits_come_without_a_pause() {
    let running = Running::start();
    // Twice what the log may have.
    let large = "x".repeat(2 * 1024 * 1024);
    let mut largest = 0;
    for row in 0..100 {
        add_large(&running.database, row, &large).await.unwrap();
        largest = largest.max(fs::metadata(running.path(LOG)).unwrap().len());
    }
    assert!(largest < 128 * 1024 * 1024, "{largest}");
    running.end();
}

#[tokio::test]
async fn space_is_given_back_in_steps_and_a_directory_of_that_moment_is_accepted() {
    let running = Running::start();
    let free = || {
        let connection = Connection::open(running.path(DATABASE)).unwrap();
        connection.pragma_query_value(None, "freelist_count", |row| row.get::<_, i64>(0)).unwrap()
    };
    for row in 0..4 {
        add_large(&running.database, row, &"x".repeat(1024 * 1024)).await.unwrap();
    }
    remove(&running.database, 1).await;
    assert!(free() > 600, "{}", free());
    running.database.give_back_space().await.unwrap();
    assert!((1..=256).contains(&free()), "{}", free());
    let killed = tempfile::tempdir().unwrap();
    for name in [DATABASE, LOG, OPEN] {
        copy(running.dir.path(), killed.path(), name);
    }
    assert_eq!(start(killed.path()).unwrap(), 1);
}

#[tokio::test]
async fn what_is_no_database_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let text = b"this is not a database, and it is longer than its header would be ".repeat(40);
    fs::write(dir.path().join(DATABASE), &text).unwrap();
    let refused = start(dir.path()).unwrap_err();
    assert!(refused.is_damage(), "{refused}");
    assert_eq!(fs::read(dir.path().join(DATABASE)).unwrap(), text);
}
