//! Races of two connections in an order that the tests force. Each shows that a lock is there: without it, the
//! second statement would not wait for the first.

use std::pin::pin;

use futures_util::future::poll_immediate;
use minutehand_ports::store::CLAIMS_MAX;
use minutehand_testkit::postgres::PostgresPlaces;
use tokio_postgres::Client;

use super::super::perform::run;
use super::super::schema;
use super::super::settings::PgAddress;
use crate::script::{Row, Statement, Value};
use crate::sql::{attempts, expired, jobs, processes, queue};
use crate::value::params;

/// Ids of what the tests write.
const JOB: &[u8] = b"job";
const COLLECTION: &[u8] = b"collection";
const CLAIM: &[u8] = b"claim";
const LATER: i64 = 1_000_000;

/// Two connections, and one that sees what they wait for.
struct World {
    first: Client,
    second: Client,
    second_pid: i32,
    watch: Client,
    _places: PostgresPlaces,
}

impl World {
    async fn open() -> Option<Self> {
        let places = PostgresPlaces::find()?;
        let settings = PgAddress::read(&places.place()).unwrap();
        let connect = async || {
            let (client, connection) = settings.connect().await.unwrap();
            tokio::spawn(connection);
            client
        };
        let (first, second, watch) = (connect().await, connect().await, connect().await);
        schema::prepare(&first, true).await.unwrap();
        let row = second.query_one("SELECT pg_backend_pid()", &[]).await.unwrap();
        Some(Self { second_pid: row.get(0), first, second, watch, _places: places })
    }

    /// Performs a statement by itself. Returns how many rows it changed.
    async fn does(&self, statement: Statement) -> u64 {
        run(&self.watch, &statement).await.unwrap().0
    }

    /// Begins a transaction with a statement, then another statement beside it, then commits. Returns what
    /// the second one changed and returned, and whether it waited for the first.
    async fn race(&self, first: Statement, second: &Statement) -> Raced {
        self.first.batch_execute("BEGIN").await.unwrap();
        let (changed_first, _) = run(&self.first, &first).await.unwrap();
        let mut racing = pin!(run(&self.second, second));
        let is_waiting = "SELECT 1 FROM pg_locks WHERE pid = $1 AND NOT granted";
        // It waits, or is done: both are sure to come.
        let done = loop {
            if let Some(done) = poll_immediate(&mut racing).await {
                break Some(done);
            }
            if !self.watch.query(is_waiting, &[&self.second_pid]).await.unwrap().is_empty() {
                break None;
            }
        };
        self.first.batch_execute("COMMIT").await.unwrap();
        let has_waited = done.is_none();
        let (changed, rows) = match done {
            Some(done) => done.unwrap(),
            None => racing.await.unwrap(),
        };
        Raced { changed_first, has_waited, changed, rows }
    }
}

/// How a race ended.
#[derive(Debug)]
struct Raced {
    changed_first: u64,
    has_waited: bool,
    changed: u64,
    rows: Vec<Row>,
}

fn on(sql: &'static str, parameters: Vec<Value>) -> Statement {
    Statement::new(sql, parameters)
}

fn begin_process(process: i64) -> Statement {
    on(processes::ADD_PROCESS, params![process, "name", "version"])
}

fn send() -> Statement {
    on(queue::SEND, params![0_i64, 0_i64, "body", 0_i64])
}

/// The first message that there is.
async fn message(world: &World) -> i64 {
    let row = world.watch.query_one("SELECT max(id) FROM messages", &[]).await.unwrap();
    row.get(0)
}

/// A script that takes something for a process, and the statement that frees it when the process dies.
type Taker = (&'static str, Statement, Statement);

/// All of them, and what each needs is there.
async fn takers(world: &World, process: i64) -> Vec<Taker> {
    let key = [JOB, &process.to_be_bytes()].concat();
    let freed = |sql| on(sql, params![process]);
    world.does(send()).await;
    let id = message(world).await;
    let claim = params![
        key.as_slice(),
        60_i64,
        1_i64,
        "s",
        0_i64,
        1_i64,
        process,
        CLAIM,
        LATER,
        None::<i64>,
        LATER,
        0_i64,
        false,
        CLAIMS_MAX,
        None::<&str>,
    ];
    let seat = params![COLLECTION, process, CLAIM, LATER, 9_i64];
    let turns = |as_read: i64, turn: &str| {
        params![key.as_slice(), as_read, turn, process, CLAIM, LATER, "", LATER]
    };
    let free_message = on(processes::FREE_MESSAGES, params![process, 0_i64]);
    let receive = params![0_i64, 1_i64, LATER, process, i64::MIN, 0_i64];
    vec![
        ("claim", on(attempts::CLAIM, claim), freed(processes::FREE_CLAIMS)),
        ("seat", on(attempts::TAKE_SEAT, seat), freed(processes::FREE_SEATS_OF)),
        ("first turn", on(attempts::FIRST_TURNS, turns(0, "a")), freed(processes::FREE_TURNS)),
        ("turn", on(attempts::NEXT_TURNS, turns(1, "b")), freed(processes::FREE_TURNS)),
        ("receive", on(queue::RECEIVE, receive), free_message.clone()),
        ("take again", on(queue::TAKE_AGAIN, params![id, 1_i64, LATER, process]), free_message),
    ]
}

/// One taker of a process that begins, after what it needs: there is a turn before the next one. A message is taken
/// again that was delivered, unless it `is_new`.
async fn taker(world: &World, n: usize, is_new: bool) -> (i64, Taker) {
    let process = i64::try_from(n).unwrap() + 1;
    world.does(begin_process(process)).await;
    let mut takers = takers(world, process).await;
    let needs = match takers[n].0 {
        "turn" => Some("first turn"),
        "take again" if !is_new => Some("receive"),
        _ => None,
    };
    if let Some((_, before, _)) = takers.iter().find(|(name, ..)| Some(*name) == needs) {
        world.does(before.clone()).await;
    }
    (process, takers.swap_remove(n))
}

#[tokio::test]
async fn the_end_of_a_process_waits_for_scripts_that_take_something_and_then_frees_it() {
    let Some(world) = World::open().await else { return };
    for n in 0..takers(&world, 0).await.len() {
        let (process, (name, take, free)) = taker(&world, n, false).await;
        let raced = world.race(take, &on(processes::END_PROCESS, params![process])).await;
        assert!(
            raced.has_waited && raced.changed_first == 1 && raced.changed == 1,
            "{name}: {raced:?}"
        );
        assert_eq!(world.does(free).await, 1, "{name}: it is seen, and freed");
        world.does(on("DELETE FROM messages WHERE id > ?1", params![0_i64])).await;
    }
}

#[tokio::test]
async fn a_process_whose_end_was_first_takes_nothing() {
    let Some(world) = World::open().await else { return };
    for n in 0..takers(&world, 0).await.len() {
        let (process, (name, mut take, _)) = taker(&world, n, true).await;
        if name == "take again" {
            // The message was not delivered.
            take.parameters[1] = Value::Integer(0);
        }
        let end = on(processes::END_PROCESS, params![process]);
        let raced = world.race(end, &take).await;
        assert!(raced.has_waited, "{name}: {raced:?}");
        assert!(raced.changed == 0 && raced.rows.is_empty(), "{name}: {raced:?}");
    }
}

#[tokio::test]
async fn what_belongs_to_no_process_is_taken_without_one_and_freed_with_none() {
    let Some(world) = World::open().await else { return };
    for (name, take, mut free) in takers(&world, 0).await.drain(..3) {
        assert_eq!(world.does(take).await, 1, "{name}");
        free.parameters = params![7_i64];
        assert_eq!(world.does(free).await, 0, "{name}: another one was ended");
    }
}

#[tokio::test]
async fn the_lock_of_a_script_that_takes_something_holds_up_no_sign_of_life() {
    let Some(world) = World::open().await else { return };
    world.does(begin_process(5)).await;
    world.does(on(processes::FIRST_SIGN, params![5_i64])).await;
    let (_, take, _) = takers(&world, 5).await.swap_remove(0);
    let raced = world.race(take, &on(processes::GIVE_SIGN, params![5_i64, 10_i64])).await;
    assert!(!raced.has_waited, "{raced:?}");
}

#[tokio::test]
async fn receivers_pass_over_what_others_are_about_to_take() {
    let Some(world) = World::open().await else { return };
    for _ in 0..2 {
        world.does(send()).await;
    }
    let receive = || on(queue::RECEIVE, params![0_i64, 1_i64, 5_i64, 0_i64, i64::MIN, 0_i64]);
    let raced = world.race(receive(), &receive()).await;
    assert!(!raced.has_waited && raced.changed == 1, "the other message: {raced:?}");
    let show = || on(queue::SHOW_AGAIN, params![9_i64]);
    let raced = world.race(show(), &show()).await;
    assert!(!raced.has_waited && raced.changed_first == 2 && raced.changed == 0, "{raced:?}");
}

/// A job of a version that has expired, with its timer.
async fn expired_job(world: &World) {
    let job = params![
        COLLECTION,
        "j",
        JOB,
        "j",
        "{}",
        None::<Vec<u8>>,
        1_i64,
        Some(0_i64),
        None::<String>
    ];
    world.does(on(jobs::CREATE_JOB, job)).await;
    let timer = params![
        JOB,
        COLLECTION,
        "j",
        "enabled",
        1_i64,
        None::<i64>,
        0_i64,
        0_i64,
        None::<String>,
        None::<i64>,
        false,
        0_i64,
        0_i64,
        0_i64,
        0_i64,
        None::<i64>,
        Vec::<u8>::new(),
        None::<Vec<u8>>,
        None::<Vec<u8>>,
    ];
    world.does(on(jobs::CREATE_TIMER, timer)).await;
}

#[tokio::test]
async fn a_row_on_which_a_script_relies_and_that_it_does_not_write_is_locked() {
    let Some(world) = World::open().await else { return };
    expired_job(&world).await;
    // The definition is written: it no longer expires, or has another version.
    let replace = params![
        COLLECTION,
        "j",
        JOB,
        1_i64,
        "j",
        "{}",
        None::<Vec<u8>>,
        None::<i64>,
        None::<String>
    ];
    let replace = on(jobs::REPLACE_JOB, replace);
    let removes = expired::EXPIRING.iter().find(|it| it.first.contains("FROM jobs")).unwrap();
    let expire = params![0_i64, 0_i64, LATER, COLLECTION, "j"];
    for (name, relies) in [
        ("a finish", on(jobs::HAS_VERSION, params![COLLECTION, "j", JOB, 1_i64])),
        ("a new job of the name", on(jobs::FORGET_TIMER, params![COLLECTION, "j", 0_i64])),
        ("what has expired", on(removes.remove[0], expire)),
        ("a purge", on(jobs::PURGE_TIMERS, params![COLLECTION, 10_i64])),
    ] {
        let raced = world.race(relies, &replace).await;
        assert!(raced.has_waited && raced.changed == 1, "{name}: {raced:?}");
        world.does(on("DELETE FROM jobs WHERE uid = ?1", params![JOB])).await;
        expired_job(&world).await;
    }
}

#[tokio::test]
async fn a_message_that_becomes_a_dead_letter_or_the_other_way_round_is_in_one_of_the_two() {
    let Some(world) = World::open().await else { return };
    world.does(send()).await;
    let id = message(&world).await;
    let bury = on(queue::BURY, params![id, 0_i64, "why", 0_i64]);
    let take = on(queue::TAKE_AGAIN, params![id, 0_i64, 5_i64, 0_i64]);
    let raced = world.race(bury, &take).await;
    assert!(raced.has_waited, "it is not delivered while it is buried: {raced:?}");
    let row = world.watch.query_one("SELECT max(id) FROM dead_letters", &[]).await.unwrap();
    let letter: i64 = row.get(0);
    let redrive = on(queue::REDRIVE, params![letter, 0_i64]);
    let raced = world.race(redrive, &on(queue::DELETE_LETTER, params![letter])).await;
    assert!(raced.has_waited, "it is not deleted while it is sent again: {raced:?}");
}
