//! The judge on runs that are made wrong: it finds each mistake, by its name.

mod more;

use minutehand_domain::attempt::Role;
use minutehand_domain::job::JobState;
use minutehand_domain::limits::CollectionLimits;

use super::hanging::BrakeWhat;
use super::judge::{Run, judge};
use super::memory::{Change, Changed};
use super::play::{Outage, Scenario, play};
use super::time::SECOND;
use super::way::Hold;
use super::world::{Fire, TurnWhat};

/// A run in which nothing is wrong.
fn good() -> Run {
    let run = play(9, Scenario::Mixed, None);
    assert_eq!(judge(&run), [""; 0]);
    run
}

/// The first fault that the judge reports of a correct run that was changed.
#[track_caller]
fn finds(word: &str, doctor: impl FnOnce(&mut Run)) {
    let mut run = good();
    doctor(&mut run);
    let found = judge(&run);
    assert!(found.iter().any(|found| found.starts_with(word)), "{word}: {found:?}");
}

/// A first attempt in the middle of a run, far from any change.
fn middle(run: &Run) -> usize {
    run.fires.iter().position(|fire| is_in_the_middle(run, fire)).unwrap()
}

fn is_in_the_middle(run: &Run, fire: &Fire) -> bool {
    let mut changes = run.changes.iter();
    fire.nominal.is_some()
        && fire.number == 0
        && fire.role == Role::Main
        && changes.all(|change| (change.at - fire.at).abs() > 500 * SECOND)
}

/// The same, where nothing was in the way soon after the call.
fn quick(run: &Run) -> usize {
    quick_of(run, |_| true)
}

/// The same, of the calls that are wanted.
fn quick_of(run: &Run, is_wanted: impl Fn(&Fire) -> bool) -> usize {
    let is_quick = |fire: &Fire| {
        let holds = run.obstacles.holds.get(&fire.execution_id);
        holds.into_iter().flatten().all(|hold| hold.until < fire.at + 5 * SECOND)
    };
    let mut all = run.fires.iter().enumerate().filter(|(_, fire)| is_quick(fire));
    all.find(|(_, fire)| is_wanted(fire) && is_in_the_middle(run, fire)).unwrap().0
}

#[test]
fn the_judge_finds_a_missed_occurrence() {
    finds("missed", |run| {
        let id = run.fires.remove(middle(run)).execution_id;
        run.fires.retain(|fire| fire.execution_id != id);
        run.executions.retain(|it| it.id != id);
    });
}

#[test]
fn the_judge_finds_a_double_unless_the_first_was_not_recorded() {
    finds("doubled", |run| {
        let fire = run.fires[middle(run)].clone();
        run.fires.push(Fire { at: fire.at + SECOND, ..fire });
    });
    let mut run = good();
    let at = middle(&run);
    let fire = run.fires[at].clone();
    run.fires[at].is_unrecorded = true;
    run.fires.push(fire);
    assert_eq!(judge(&run), [""; 0]);
}

#[test]
fn the_judge_finds_an_early_firing() {
    finds("early", |run| {
        let at = middle(run);
        run.fires[at].clock = run.fires[at].due.unwrap() - 1;
    });
}

#[test]
fn the_judge_finds_a_firing_without_an_occurrence() {
    finds("extra", |run| {
        let fire = run.fires[middle(run)].clone();
        let nominal = fire.nominal.map(|at| at + SECOND);
        run.fires.push(Fire { nominal, execution_id: "another".to_owned(), ..fire });
    });
}

#[test]
fn the_judge_finds_a_firing_of_an_old_timing() {
    finds("stale", |run| {
        let fire = run.fires[middle(run)].clone();
        let mut change = run.changes[0].clone();
        change.at = fire.at - SECOND;
        change.what = Change::JobDeleted { uid: fire.uid };
        run.changes.push(change);
    });
}

#[test]
fn the_judge_finds_a_firing_while_the_collection_is_off() {
    finds("while its collection is off", |run| {
        let at = run.fires[middle(run)].at - SECOND;
        let collections = run.changes.iter().filter_map(|change| match &change.what {
            Change::Collection { uid, .. } => Some(uid.clone()),
            _ => None,
        });
        for uid in collections.collect::<Vec<_>>() {
            let mut change = run.changes[0].clone();
            change.at = at;
            change.what = Change::Collection {
                uid,
                on_since: None,
                on_failure: None,
                limits: CollectionLimits::NONE,
            };
            run.changes.push(change);
        }
    });
}

#[test]
fn the_judge_finds_a_lost_retry() {
    finds("retry lost", |run| {
        let retried = |number| move |it: &super::judge::Executed| it.number == number;
        run.executions.retain(|it| !retried(1)(it));
        run.fires.retain(|fire| fire.number != 1);
    });
}

#[test]
fn the_judge_finds_a_lost_error_action() {
    finds("error action lost", |run| {
        run.executions.retain(|it| it.role == Role::Main);
        run.fires.retain(|fire| fire.role == Role::Main);
    });
}

/// A run in which notices follow actions and error actions, and in which nothing is wrong.
fn telling() -> Run {
    let has = |run: &Run, role: Role| {
        let notices = run.fires.iter().filter(|fire| fire.role == Role::Notice);
        let before = |fire: &Fire, it: &super::judge::Executed| {
            it.role == role && (&it.uid, it.nominal) == (&fire.uid, fire.nominal)
        };
        notices.into_iter().any(|fire| run.executions.iter().any(|it| before(fire, it)))
    };
    let runs = (1..20).map(|n| play(5 * n, Scenario::Mixed, None));
    let mut telling = runs.filter(|run| has(run, Role::Main) && has(run, Role::Error));
    let run = telling.next().unwrap();
    assert_eq!(judge(&run), [""; 0]);
    run
}

#[test]
fn the_judge_finds_a_lost_notice() {
    let mut run = telling();
    run.executions.retain(|it| it.role != Role::Notice);
    run.fires.retain(|fire| fire.role != Role::Notice);
    let found = judge(&run);
    assert!(found.iter().any(|it| it.starts_with("notice lost")), "{found:?}");
}

#[test]
fn the_judge_finds_a_notice_of_an_occurrence_that_has_not_failed_for_good() {
    let mut run = telling();
    for it in run.executions.iter_mut().filter(|it| it.role == Role::Main) {
        it.is_success = true;
    }
    let found = judge(&run);
    assert!(found.iter().any(|it| it.starts_with("told without a failure")), "{found:?}");
    let mut run = telling();
    run.executions.retain(|it| it.role != Role::Error);
    run.fires.retain(|fire| fire.role != Role::Error);
    let found = judge(&run);
    assert!(found.iter().any(|it| it.starts_with("told before its error action")), "{found:?}");
}

#[test]
fn the_judge_finds_a_wrong_final_state() {
    finds("wrong final state", |run| {
        for job in &mut run.jobs {
            job.timer.state = match job.timer.state {
                JobState::Completed => JobState::Faulted,
                JobState::Faulted => JobState::Completed,
                other => other,
            };
        }
    });
    finds("never final", |run| {
        for job in run.jobs.iter_mut().filter(|job| job.timer.state.is_final()) {
            job.timer.state = JobState::Enabled;
        }
    });
    finds("final too soon", |run| run.executions.clear());
}

#[test]
fn the_judge_finds_wrong_counters() {
    finds("counters", |run| {
        for job in &mut run.jobs {
            job.timer.counters.executions += 1;
        }
    });
}

#[test]
fn the_judge_finds_wrong_marks_of_a_job() {
    finds("faulted", |run| run.jobs.iter_mut().for_each(|job| job.timer.counters.faulted += 1));
    finds("skipped", |run| run.jobs.iter_mut().for_each(|job| job.timer.counters.skipped += 100));
    finds("last execution", |run| {
        for job in &mut run.jobs {
            job.timer.counters.last_execution_at = None;
        }
    });
}

#[test]
fn the_judge_finds_a_lost_retry_of_a_job_that_changed() {
    let mut runs = (0..40).map(|seed| play(seed, Scenario::Mixed, None));
    let found = runs.find_map(|mut run| {
        let retried = run.executions.iter().filter(|it| it.number == 1 && it.role == Role::Main);
        let ended = |uid: &str, at: i64| {
            run.changes.iter().any(|change| match &change.what {
                Change::JobDeleted { uid: of } => of == uid && change.at > at + 300 * SECOND,
                _ => false,
            })
        };
        let it = retried.into_iter().find(|it| ended(&it.uid, it.ended))?.clone();
        let of_it = |uid: &str, nominal| uid == it.uid && nominal == it.nominal;
        run.executions.retain(|other| !of_it(&other.uid, other.nominal) || other.number == 0);
        run.fires.retain(|fire| !of_it(&fire.uid, fire.nominal) || fire.number == 0);
        Some(judge(&run))
    });
    let found = found.unwrap();
    assert!(found.iter().any(|it| it.starts_with("retry lost")), "{found:?}");
}

#[test]
fn the_judge_finds_a_lost_run() {
    finds("run lost", |run| {
        let uid = run.jobs[0].uid.clone();
        run.runs.push((run.span / 2, uid, "a run".to_owned()));
    });
}

#[test]
fn the_judge_finds_dead_letters_and_floods() {
    finds("dead letters", |run| run.dead_letters = 1);
    finds("flood", |run| {
        let fire = run.fires[middle(run)].clone();
        let until = fire.at + 3_600 * SECOND;
        run.outage = Some(outage(until, true));
        for fire in &mut run.fires {
            fire.at += 7_200 * SECOND;
        }
    });
}

fn outage(until: i64, of_workers: bool) -> Outage {
    Outage { from: until - 2_000 * SECOND, until, is_known: true, of_workers }
}

#[test]
fn only_workers_that_never_gave_a_sign_of_life_may_catch_up() {
    for (of_workers, is_new, is_flood) in
        [(true, true, false), (true, false, true), (false, true, true)]
    {
        let mut run = good();
        let until = run.fires[middle(&run)].at + 3_600 * SECOND;
        run.outage = Some(outage(until, of_workers));
        for fire in &mut run.fires {
            fire.at += 7_200 * SECOND;
        }
        if is_new {
            run.workers_since = until;
        }
        let found = judge(&run);
        let has = found.iter().any(|it| it.starts_with("flood"));
        assert_eq!(has, is_flood, "{of_workers} {is_new}: {found:?}");
    }
}

/// A run of a scenario in which nothing is wrong.
fn good_of(scenario: Scenario) -> Run {
    let run = play(6, scenario, None);
    assert_eq!(judge(&run), [""; 0]);
    run
}

#[track_caller]
fn finds_in(scenario: Scenario, word: &str, doctor: impl FnOnce(&mut Run)) {
    let mut run = good_of(scenario);
    doctor(&mut run);
    let found = judge(&run);
    assert!(found.iter().any(|found| found.starts_with(word)), "{word}: {found:?}");
}

#[test]
fn the_judge_finds_missing_and_double_records() {
    finds("recorded twice", |run| {
        let (id, ended_at, skew) = run.records[0].clone();
        run.records.push((id, ended_at + 1, skew));
    });
    finds("never recorded", |run| {
        let id = run.fires[middle(run)].execution_id.clone();
        run.records.retain(|(of, ..)| *of != id);
    });
}

#[test]
fn the_judge_finds_items_that_do_not_belong_together() {
    finds("without a timer", |run| {
        let (_, uid) = &run.kept.definitions[0];
        run.kept.timers.remove(uid);
    });
    finds("a timer without its job", |run| {
        run.kept.timers.insert("another".to_owned());
    });
    finds("counted wrong", |run| {
        let (collection, _) = run.kept.definitions[0].clone();
        *run.kept.collections.get_mut(&collection).unwrap() += 1;
    });
}

#[test]
fn the_jobs_of_a_deleted_collection_are_silent_and_purged() {
    finds("after its job was deleted", |run| {
        let fire = run.fires[middle(run)].clone();
        let job = run.jobs.iter().find(|job| job.uid == fire.uid).unwrap();
        let what = Change::CollectionDeleted { uid: job.collection_uid.clone() };
        run.changes.push(Changed { at: fire.at - SECOND, what });
    });
    finds("not purged", |run| {
        let (collection, _) = &run.kept.definitions[0];
        run.kept.collections.remove(collection);
    });
    finds("never purged", |run| run.kept.purges = 1);
}

#[test]
fn the_judge_finds_finished_jobs_removed_too_soon_or_too_late() {
    let later = |run: &Run| run.later.clone().unwrap();
    let expired = |run: &Run| {
        let changes = later(run).changes;
        changes.iter().position(|it| matches!(it.what, Change::JobExpired { .. })).unwrap()
    };
    finds_in(Scenario::Gone, "gone too soon", |run| {
        let at = expired(run);
        run.later.as_mut().unwrap().changes[at].at = run.ended_at;
    });
    finds_in(Scenario::Gone, "kept too long", |run| {
        let mut later = later(run);
        let Change::JobExpired { uid } = later.changes.remove(expired(run)).what else {
            unreachable!()
        };
        later.kept.timers.insert(uid);
        run.later = Some(later);
    });
    finds_in(Scenario::Gone, "gone: ", |run| {
        let at = expired(run);
        run.later.as_mut().unwrap().changes.remove(at);
    });
}

/// Takes away all that came of the first fire for which this holds.
fn lose(run: &mut Run, which: impl Fn(&Run, &Fire) -> bool) {
    let at = run.fires.iter().position(|fire| which(run, fire)).unwrap();
    let Fire { uid, nominal, .. } = run.fires[at].clone();
    run.fires.retain(|fire| fire.uid != uid || fire.nominal != nominal);
    run.executions.retain(|it| it.uid != uid || it.nominal != nominal);
}

/// Whether it is the first attempt at the latest occurrence of its job.
fn is_latest(run: &Run, fire: &Fire) -> bool {
    let of_job = run.fires.iter().filter(|it| it.uid == fire.uid);
    fire.number == 0 && of_job.filter_map(|it| it.nominal).max() == fire.nominal
}

/// Whether its job has finished and was never changed.
fn is_untouched(run: &Run, fire: &Fire) -> bool {
    let is_of_job = |it: &&Changed| matches!(&it.what, Change::Job { uid, .. } if *uid == fire.uid);
    let mut jobs = run.jobs.iter().filter(|job| job.timer.state.is_final());
    run.changes.iter().filter(is_of_job).count() == 1 && jobs.any(|job| job.uid == fire.uid)
}

/// The id of the first attempt that `lose` takes away.
fn id_of(run: &Run, which: impl Fn(&Run, &Fire) -> bool) -> String {
    run.fires.iter().find(|fire| which(run, fire)).unwrap().execution_id.clone()
}

/// Whether it is a first attempt that was called long before any change, and is not the latest.
fn is_earlier(run: &Run, fire: &Fire) -> bool {
    let is_first = fire.nominal.is_some() && fire.number == 0 && fire.role == Role::Main;
    is_first && !is_latest(run, fire) && fire.execution_id == run.fires[middle(run)].execution_id
}

#[test]
fn an_occurrence_is_missed_unless_its_own_messages_were_lost() {
    finds_in(Scenario::Lossy, "missed", |run| {
        lose(run, |run, fire| is_untouched(run, fire) && is_latest(run, fire));
    });
    finds_in(Scenario::Lossy, "missed", |run| lose(run, is_earlier));
    let mut run = good_of(Scenario::Lossy);
    let id = id_of(&run, is_earlier);
    lose(&mut run, is_earlier);
    run.vanished.insert(id, 2);
    assert!(!judge(&run).iter().any(|found| found.starts_with("missed")));
}

#[test]
fn an_occurrence_is_missed_unless_its_own_message_is_a_dead_letter() {
    finds_in(Scenario::Harsh, "missed", |run| {
        lose(run, is_earlier);
        run.dead_letters = 1;
    });
    let mut run = good_of(Scenario::Harsh);
    let id = id_of(&run, is_earlier);
    lose(&mut run, is_earlier);
    run.dead_letters = 1;
    run.obstacles.dead.insert(id);
    let found = judge(&run);
    let is_bad = |it: &String| it.starts_with("missed") || it.starts_with("dead");
    assert!(!found.iter().any(is_bad), "{found:?}");
}

#[test]
fn a_change_excuses_only_what_was_held_up_until_then() {
    let is_prompt = |fire: &Fire| fire.nominal.is_some_and(|due| fire.at < due + 5 * SECOND);
    let change = |run: &mut Run, hold: bool| {
        let fire = run.fires[quick_of(run, is_prompt)].clone();
        let (nominal, uid) = (fire.nominal.unwrap(), fire.uid.clone());
        lose(run, |_, it| it.execution_id == fire.execution_id);
        let at = nominal + 100 * SECOND;
        run.fires.retain(|it| it.uid != uid || it.at < at);
        run.changes.push(Changed { at, what: Change::JobDeleted { uid } });
        if hold {
            let held = Hold::hidden(nominal - SECOND, at + SECOND);
            run.obstacles.holds.entry(fire.execution_id).or_default().push(held);
        }
    };
    finds("missed", |run| change(run, false));
    let mut run = good();
    change(&mut run, true);
    assert!(!judge(&run).iter().any(|found| found.starts_with("missed")));
}

#[test]
fn the_judge_finds_a_late_call_with_nothing_in_its_way() {
    let delay = |run: &mut Run| {
        let at = quick(run);
        run.fires[at].at += 30 * SECOND;
        run.fires[at].clone()
    };
    finds("late", |run| drop(delay(run)));
    let mut run = good();
    let Fire { execution_id, at, .. } = delay(&mut run);
    let held = Hold::hidden(at - 40 * SECOND, at);
    run.obstacles.holds.entry(execution_id).or_default().push(held);
    assert!(!judge(&run).iter().any(|found| found.starts_with("late")));
}

#[test]
fn the_judge_finds_what_was_left_out_without_a_word() {
    let mut runs = (0..40).map(|seed| play(seed, Scenario::Outage, None));
    let mut run = runs.find(|run| !run.left_out.is_empty()).unwrap();
    assert_eq!(judge(&run), [""; 0]);
    run.left_out.clear();
    let found = judge(&run);
    assert!(found.iter().any(|it| it.starts_with("left out without a word")), "{found:?}");
}

#[test]
fn the_judge_finds_a_retry_that_the_policy_did_not_ask_for() {
    finds("a retry too many", |run| {
        for change in &mut run.changes {
            if let Change::Job { document, .. } = &mut change.what {
                for count in [2, 4] {
                    let asked = format!("\"retryCount\":{count}");
                    *document = document.replace(&asked, "\"retryCount\":0");
                }
            }
        }
    });
}

#[test]
fn the_judge_finds_a_collection_with_too_many_jobs() {
    finds_in(Scenario::Gone, "more than the quota", |run| {
        let (collection, _) = run.kept.definitions[0].clone();
        let more = (0..4).map(|n| (collection.clone(), format!("another-{n}")));
        run.kept.definitions.extend(more);
    });
    finds_in(Scenario::Gone, "refused", |run| {
        run.later.as_mut().unwrap().refusals.push("refused though there was room".to_owned());
    });
}

#[test]
fn the_judge_finds_starts_beyond_a_limit() {
    finds_in(Scenario::Limits, "too many starts", |run| {
        let at = run.fires.iter().map(|fire| fire.clock).max().unwrap();
        for fire in &mut run.fires {
            fire.clock = at;
        }
    });
}

#[test]
fn the_judge_finds_too_many_attempts_that_run() {
    finds_in(Scenario::Seats, "too many at once", |run| {
        for fire in &mut run.fires {
            fire.took = 10 * 60 * SECOND;
        }
    });
}

#[test]
fn the_judge_finds_calls_of_origins_that_hang_and_waits_for_those_that_answer() {
    let late = |run: &mut Run, more: i64| {
        for note in &mut run.brakes {
            if let BrakeWhat::Call { until, due, .. } = &mut note.what {
                *until += more;
                *due -= more;
            }
        }
    };
    finds_in(Scenario::Hanging, "too many calls of an origin", |run| late(run, 600 * SECOND));
    finds_in(Scenario::Hanging, "waits though its origin answers", |run| {
        run.brakes.retain(|note| !matches!(note.what, BrakeWhat::Unanswered));
    });
    finds_in(Scenario::Hanging, "an origin that hangs gets no call", |run| {
        late(run, 10_000 * SECOND);
        let missing = 1_000 * SECOND..1_600 * SECOND;
        run.brakes.retain(|note| !missing.contains(&note.at));
    });
}

#[test]
fn the_judge_finds_attempts_that_overlap_and_what_was_left_out_for_nothing() {
    finds_in(Scenario::Overlap, "overlap", |run| {
        for fire in &mut run.fires {
            fire.took = 10 * 60 * SECOND;
        }
    });
    finds_in(Scenario::Overlap, "left out, and nothing ran", |run| {
        run.turns.retain(|note| note.what == TurnWhat::LeftOut);
    });
    finds_in(Scenario::Overlap, "left out, and run", |run| {
        let left_out = run.turns.iter().filter(|note| note.what == TurnWhat::LeftOut);
        let fire = run.fires.iter().find(|it| it.nominal.is_some()).unwrap().clone();
        let fired = left_out.map(|note| Fire {
            uid: note.uid.clone(),
            generation: note.generation,
            nominal: note.nominal,
            ..fire.clone()
        });
        run.fires.extend(fired.collect::<Vec<_>>());
    });
    finds_in(Scenario::Overlap, "left out, and owed", |run| {
        for note in &mut run.turns {
            note.number = 1;
        }
    });
}
