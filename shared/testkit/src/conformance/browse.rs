//! Reads for people: they answer what the ports of changes have stored.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::completion::{EndedBy, Ending};
use minutehand_domain::earlier_timing::EarlierTiming;
use minutehand_domain::firing::{LeftOut, LeftOutReason, Pulse};
use minutehand_domain::journal::{DocumentChange, JournalEntry, JournalRun, Operation};
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::timing::Timing;
use minutehand_ports::store::{
    Claimed, JobRecord, LeaveOpen, LeftOpen, OpenSpan, Pause, PresentAttempt, PulseOf, Recorded,
    Said, SaveJob, Saved, Standing, WaitsFor,
};
use minutehand_ports::{Collections, Jobs};

use super::Subject;
use super::firing::{
    JOB, at as second, claim, collection as home, error_action, held, job as due_job, job_ref,
    record, retry, scheduled, uid_of,
};
use super::records::{collection_in, job, named, now, numbered, segment};
use super::subject::{first_page, whole_list};

behaviours! { $ browse:
    a_subscription_is_listed_once_it_has_had_a_collection,
    a_collection_is_found_by_name_and_its_path_by_id,
    collections_are_listed_by_name_in_pages,
    a_job_is_found_by_its_name,
    jobs_are_listed_by_the_beginning_of_their_names,
    jobs_that_have_expired_are_not_listed,
    the_attempts_of_one_instant_are_those_alone,
    attempts_before_an_instant_come_newest_first,
    an_attempt_that_has_not_ended_runs_or_waits,
    an_open_attempt_runs_since_its_start,
    occurrences_that_were_left_out_come_newest_first,
    timers_are_those_of_the_index,
    pulses_are_those_that_were_stored,
    a_change_and_its_entry_of_the_journal_are_stored_together,
    the_entry_of_a_run_is_stored_alone_and_once,
    a_pause_and_its_entry_of_the_journal_are_stored_together,
    the_journal_comes_newest_first_in_pages,
}

async fn a_subscription_is_listed_once_it_has_had_a_collection(subject: &Subject) {
    let browse = subject.browse();
    assert_eq!(browse.subscriptions(first_page(10)).await.unwrap().items, []);
    for (subscription, name) in [("b", "one"), ("A", "two"), ("b", "three"), ("c", "four")] {
        subject.with_collection(&collection_in(subscription, "Group", name)).await;
    }
    let one = subject.find_collection(&collection_in("c", "Group", "four")).await.unwrap();
    assert_eq!(subject.delete_collection(&one).await, Saved::Kept);
    for items_max in [1, 2, 10] {
        let listed = whole_list(items_max, async |page| browse.subscriptions(page).await).await;
        let names: Vec<&str> = listed.iter().map(PathSegment::as_str).collect();
        assert_eq!(names, ["A", "b", "c"], "{items_max}");
    }
}

async fn a_collection_is_found_by_name_and_its_path_by_id(subject: &Subject) {
    let browse = subject.browse();
    let jc = subject.collection("Jc").await;
    let found = browse.collection(&jc.place, &named("jC")).await.unwrap();
    assert_eq!(found.as_ref(), Some(&jc));
    assert_eq!(browse.collection(&jc.place, &named("other")).await.unwrap(), None);
    let path = jc.place.collection_path(&jc.collection.name);
    let uid = &jc.collection.uid;
    assert_eq!(browse.collection_path(uid).await.unwrap().as_ref(), Some(&path));
    assert_eq!(subject.store.collection_path(uid).await.unwrap(), Some(path));
    assert_eq!(subject.delete_collection(&jc).await, Saved::Kept);
    assert_eq!(browse.collection_path(uid).await.unwrap(), None);
    assert_eq!(subject.store.collection_path(uid).await.unwrap(), None);
}

async fn collections_are_listed_by_name_in_pages(subject: &Subject) {
    let names = numbered("jc", 7);
    for name in names.iter().rev() {
        subject.with_collection(&collection_in("Sub", "Group", name)).await;
    }
    subject.with_collection(&collection_in("Sub2", "Group", "other")).await;
    let sub = segment("sub");
    for items_max in [1, 3, 7, 100] {
        let list = async |page| subject.browse().collections(&sub, page).await;
        let listed = whole_list(items_max, list).await;
        let listed: Vec<&str> = listed.iter().map(|it| it.collection.name.as_str()).collect();
        assert_eq!(listed, names, "{items_max}");
    }
}

async fn a_job_is_found_by_its_name(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let j = subject.job(&jc, "J").await;
    let find = async |name: &str| subject.browse().job(&jc.collection.uid, &named(name)).await;
    assert_eq!(find("j").await.unwrap(), Some(j.clone()));
    assert_eq!(find("k").await.unwrap(), None);
    assert_eq!(subject.delete_job(&jc, &j).await, Saved::Kept);
    assert_eq!(find("j").await.unwrap(), None);
}

async fn jobs_are_listed_by_the_beginning_of_their_names(subject: &Subject) {
    assert!(subject.browse().names_max() >= 1_000);
    let jc = subject.collection_with(&["Abc", "abd", "ab", "b", "a", "AB-1"]).await;
    for (prefix, names) in [
        ("", &["a", "ab", "AB-1", "Abc", "abd", "b"] as &[_]),
        ("aB", &["ab", "AB-1", "Abc", "abd"]),
        ("abc", &["Abc"]),
        ("x", &[]),
    ] {
        for items_max in [1, 2, 100] {
            let uid = &jc.collection.uid;
            let list = async |page| subject.browse().jobs(uid, prefix, now(), page).await;
            let listed = whole_list(items_max, list).await;
            let listed: Vec<&str> = listed.iter().map(|it| it.name.as_str()).collect();
            assert_eq!(listed, names, "{prefix} {items_max}");
            let list = async |page| subject.browse().job_names(uid, prefix, now(), page).await;
            let listed = whole_list(items_max, list).await;
            let listed: Vec<&str> = listed.iter().map(Name::as_str).collect();
            assert_eq!(listed, names, "{prefix} {items_max}");
        }
    }
}

async fn jobs_that_have_expired_are_not_listed(subject: &Subject) {
    let jc = subject.collection("jc").await;
    for (name, seconds) in [("a", -1), ("b", 0), ("c", 1)] {
        let mut j = job(name);
        j.expires_at = Some(now() + TimeDelta::seconds(seconds));
        subject.with_job(&jc, &j).await;
    }
    let listed =
        subject.browse().jobs(&jc.collection.uid, "", now(), first_page(10)).await.unwrap();
    let listed: Vec<&str> = listed.items.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(listed, ["c"]);
}

async fn the_attempts_of_one_instant_are_those_alone(subject: &Subject) {
    let first = scheduled(60);
    let all = [first.clone(), retry(1, 90, &first), error_action(400, &first)];
    for attempt in &all {
        subject.execute(attempt, record(60)).await;
    }
    subject.claim(claim(&scheduled(120), "c")).await;
    let mut found = subject.browse().attempts(JOB, second(60)).await.unwrap();
    found.sort_by_key(|entry| entry.attempt.due_at);
    let attempts: Vec<_> = found.iter().map(|entry| entry.attempt.clone()).collect();
    assert_eq!(attempts, all);
    assert!(found.iter().all(|entry| entry.record == Some(record(60))));
    assert_eq!(subject.browse().attempts(JOB, second(61)).await.unwrap(), []);
    let running = subject.browse().attempts(JOB, second(120)).await.unwrap();
    assert!(running[0].record.is_none());
}

async fn attempts_before_an_instant_come_newest_first(subject: &Subject) {
    for n in 0..5 {
        subject.execute(&scheduled(60 * n), record(60 * n)).await;
    }
    for (before, items_max, seconds) in [
        (None, 10, vec![240, 180, 120, 60, 0]),
        (None, 2, vec![240, 180]),
        (Some(180), 10, vec![120, 60, 0]),
        (Some(180), 1, vec![120]),
        (Some(0), 10, vec![]),
    ] {
        let before = before.map(second);
        let found = subject.browse().attempts_before(JOB, before, items_max).await.unwrap();
        let found: Vec<_> = found.iter().map(|it| it.attempt.occurrence.nominal_at()).collect();
        let expected: Vec<_> = seconds.into_iter().map(second).collect();
        assert_eq!(found, expected, "{before:?}");
    }
}

async fn an_attempt_that_has_not_ended_runs_or_waits(subject: &Subject) {
    subject.and_job().await;
    let browse = subject.browse();
    let of_job = async |now: i64| {
        let (job, now) = (job_ref(), second(now));
        let found = browse.present_of(&job, now, now).await.unwrap();
        // A store that lists what runs of all jobs says the same of this one.
        if let Some(all) = browse.present(now, now).await.unwrap() {
            assert_eq!((&all.items, all.is_least), (&found, false));
        }
        found
    };
    assert_eq!(of_job(150).await, []);
    let first = scheduled(60);
    let standing = |standing| PresentAttempt { job: job_ref(), attempt: first.clone(), standing };
    assert_eq!(subject.claim(claim(&first, "one")).await, Claimed::Won);
    let claimed = standing(Standing::Claimed { lease_until: second(200) });
    assert_eq!(of_job(150).await, [claimed]);
    // Its worker has died.
    assert_eq!(of_job(201).await, [standing(Standing::Waits(WaitsFor::Worker))]);
    let hold = TimeDelta::seconds(500);
    subject.store.postpone(&held(&first, "one"), hold, second(100)).await.unwrap();
    assert_eq!(of_job(150).await, [standing(Standing::Waits(WaitsFor::Limit))]);
    subject.execute(&scheduled(120), record(120)).await;
    assert_eq!(of_job(150).await, [standing(Standing::Waits(WaitsFor::Limit))]);
}

async fn an_open_attempt_runs_since_its_start(subject: &Subject) {
    subject.and_job().await;
    let (attempt, store) = (scheduled(60), &subject.store);
    let (started_at, until) = (second(61), second(661));
    let open = LeaveOpen { started_at, until, held_until: second(86_400), has_seat: false };
    let claim_of_one = held(&attempt, "one");
    assert_eq!(subject.claim(claim(&attempt, "one")).await, Claimed::Won);
    assert_eq!(store.leave_open(&claim_of_one, &open).await.unwrap(), LeftOpen::Open);
    assert!(store.note_progress(&job_ref(), &attempt, "50 %").await.unwrap());
    let span = OpenSpan { started_at, until };
    let standing = Standing::Open { span, progress: Some("50 %".to_owned()) };
    let runs = [PresentAttempt { job: job_ref(), attempt: attempt.clone(), standing }];
    // However late it is by the clock of work, and for each process.
    for now in [second(300), second(100_000)] {
        for subject in [subject, &subject.next_process()] {
            let browse = subject.browse();
            assert_eq!(browse.present_of(&job_ref(), now, now).await.unwrap(), runs);
            if let Some(all) = browse.present(now, now).await.unwrap() {
                assert_eq!(all.items, runs);
            }
        }
    }
    let ending = Ending::new(second(100), EndedBy::Success, "");
    assert_eq!(store.say(JOB, &attempt, &ending).await.unwrap(), Said::First);
    let recorded = store.record_ending(&claim_of_one, &record(60)).await.unwrap();
    assert_eq!(recorded, Recorded::Kept);
    let now = second(300);
    assert_eq!(subject.browse().present_of(&job_ref(), now, now).await.unwrap(), []);
}

async fn occurrences_that_were_left_out_come_newest_first(subject: &Subject) {
    let row = |n: i64| LeftOut::one(1, second(60 * n), LeftOutReason::TooLate, second(900));
    for n in [2, 0, 3, 1] {
        subject.store.leave_out(JOB, &row(n)).await.unwrap();
    }
    for (before, items_max, rows) in [
        (None, 10, vec![3, 2, 1, 0]),
        (None, 3, vec![3, 2, 1]),
        (Some(120), 10, vec![1, 0]),
        (Some(0), 10, vec![]),
    ] {
        let before = before.map(second);
        let found = subject.browse().left_out(JOB, before, items_max).await.unwrap();
        let expected: Vec<LeftOut> = rows.into_iter().map(row).collect();
        assert_eq!(found, expected, "{before:?}");
    }
}

async fn timers_are_those_of_the_index(subject: &Subject) {
    subject.and_job().await;
    let browse = subject.browse();
    let mut found = Vec::new();
    for shard in 0..browse.timer_shards() {
        found.extend(browse.timers(shard, second(60), first_page(10)).await.unwrap().items);
        let earlier = browse.timers(shard, second(59), first_page(10)).await.unwrap();
        assert_eq!(earlier.items, []);
    }
    assert_eq!(found.iter().map(uid_of).collect::<Vec<_>>(), [JOB]);
    assert_eq!(found, subject.due(JOB, 60).await);
}

async fn pulses_are_those_that_were_stored(subject: &Subject) {
    let pulse = Pulse { beat_at: Some(second(50)), ..Pulse::default() };
    assert!(subject.store.beat(PulseOf::Sweepers, None, &pulse).await.unwrap());
    let read = subject.store.read_pulses().await.unwrap();
    assert_eq!(subject.browse().pulses().await.unwrap(), read);
    assert_eq!(read.sweepers, pulse);
}

fn entry(at: DateTime<Utc>, request_id: &str, job: Option<&str>) -> JournalEntry {
    JournalEntry {
        at,
        who: "a user".to_owned(),
        request_id: request_id.to_owned(),
        operation: Operation::Created,
        job: job.map(named),
        difference: DocumentChange { names: vec!["state".to_owned()], patches: None },
        run: None,
    }
}

/// A pause of the job as it was read.
pub(crate) fn pause_of(job: &JobRecord, timing: Timing) -> Pause {
    Pause {
        job: job_ref(),
        version: job.version,
        timing,
        document: r#"{"paused":1}"#.to_owned(),
        ended: EarlierTiming::ending(&job.timer.timing, job.timer.timetable.clone()),
        entry: entry(second(60), "", Some("Job")),
    }
}

async fn journal(subject: &Subject, uid: &str, items_max: u32) -> Vec<String> {
    let list = async |page| subject.browse().journal(uid, page).await;
    whole_list(items_max, list).await.into_iter().map(|entry| entry.request_id).collect()
}

async fn a_change_and_its_entry_of_the_journal_are_stored_together(subject: &Subject) {
    let (jc, j) = (home(), due_job("Job"));
    let uid = jc.collection.uid.clone();
    let created = entry(second(1), "r1", None);
    for (saved, id) in [(Saved::Kept, "r1"), (Saved::Stale, "r2")] {
        let entry = JournalEntry { request_id: id.to_owned(), ..created.clone() };
        let create = Collections::create(&*subject.store, &jc, Some(&entry));
        assert_eq!(create.await.unwrap(), saved);
    }
    for (saved, id) in [(Saved::Kept, "r3"), (Saved::Stale, "r4")] {
        let entry = entry(second(3), id, Some("Job"));
        let save = SaveJob { collection: &jc, job: &j, timer_changes: true, entry: Some(&entry) };
        let create = Jobs::create(&*subject.store, save, None, second(0));
        assert_eq!(create.await.unwrap(), saved);
    }
    for (saved, id) in [(Saved::Kept, "r5"), (Saved::Stale, "r6")] {
        let entry = entry(second(5), id, Some("Job"));
        let save = SaveJob { collection: &jc, job: &j, timer_changes: false, entry: Some(&entry) };
        assert_eq!(Jobs::replace(&*subject.store, save).await.unwrap(), saved);
    }
    let j = subject.the_job().await;
    for (saved, id) in [(Saved::Kept, "r7"), (Saved::Stale, "r8")] {
        let entry = entry(second(7), id, Some("Job"));
        let delete = Jobs::delete(&*subject.store, &jc, &j, Some(&entry));
        assert_eq!(delete.await.unwrap(), saved);
    }
    for (saved, id) in [(Saved::Kept, "r9"), (Saved::Stale, "r10")] {
        let entry = entry(second(9), id, None);
        let replace = Collections::replace(&*subject.store, &jc, Some(&entry));
        assert_eq!(replace.await.unwrap(), saved);
    }
    assert_eq!(journal(subject, &uid, 10).await, ["r9", "r7", "r5", "r3", "r1"]);
    let whole = subject.browse().journal(&uid, first_page(10)).await.unwrap().items;
    assert_eq!(whole.last(), Some(&created));
    let jc = subject.find_collection(&jc).await.unwrap();
    let last = entry(second(11), "r11", None);
    let delete = Collections::delete(&*subject.store, &jc, second(11), Some(&last));
    assert_eq!(delete.await.unwrap(), Saved::Kept);
    assert_eq!(journal(subject, &uid, 10).await.first().map(String::as_str), Some("r11"));
}

async fn the_entry_of_a_run_is_stored_alone_and_once(subject: &Subject) {
    let run = |id: &str, operation, redrive_of| JournalEntry {
        operation,
        difference: DocumentChange::default(),
        run: Some(JournalRun { at: second(5), redrive_of }),
        ..entry(second(5), id, Some("Job"))
    };
    let (ran, redriven) =
        (run("r1", Operation::Ran, None), run("r2", Operation::Redriven, Some(second(2))));
    for entry in [&ran, &redriven, &ran] {
        subject.store.note("c", entry).await.unwrap();
    }
    assert_eq!(subject.browse().journal("c", first_page(10)).await.unwrap().items, [redriven, ran]);
}

async fn a_pause_and_its_entry_of_the_journal_are_stored_together(subject: &Subject) {
    subject.and_job().await;
    let job = subject.the_job().await;
    let pause = |version, id: &str| {
        let timing = Timing { generation: 2, ..job.timer.timing };
        Pause {
            version,
            entry: JournalEntry {
                operation: Operation::Paused,
                ..entry(second(5), id, Some("Job"))
            },
            ..pause_of(&job, timing)
        }
    };
    for (version, id, is_paused) in [(7, "r1", false), (1, "r2", true), (1, "r3", false)] {
        assert_eq!(subject.store.pause(&pause(version, id)).await.unwrap(), is_paused);
    }
    let uid = job_ref().collection_uid;
    let found = subject.browse().journal(&uid, first_page(10)).await.unwrap().items;
    assert_eq!(found, [pause(1, "r2").entry]);
}

async fn the_journal_comes_newest_first_in_pages(subject: &Subject) {
    let jc = subject.collection("jc").await;
    for n in 0..5 {
        let entry = entry(now() + TimeDelta::seconds(n), &format!("r{n}"), None);
        let read = subject.find_collection(&jc).await.unwrap();
        let replace = Collections::replace(&*subject.store, &read, Some(&entry));
        assert_eq!(replace.await.unwrap(), Saved::Kept);
    }
    for items_max in [1, 2, 5, 100] {
        let found = journal(subject, &jc.collection.uid, items_max).await;
        assert_eq!(found, ["r4", "r3", "r2", "r1", "r0"], "{items_max}");
    }
    assert_eq!(journal(subject, "another", 10).await, [""; 0]);
}
