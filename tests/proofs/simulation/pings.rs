//! Jobs that expect pings: the programs that send them, and the processes with the API that take them, which
//! come and go with their signs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use minutehand_app::{ApiPresence, Manage, Pinged as Answer};
use minutehand_domain::job::JobState;
use minutehand_domain::name::Name;
use minutehand_domain::ping::{OwedPing, PingKind, Uuid};
use minutehand_domain::presence::SIGN_EVERY;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{PingFreshness, PingKey, PingRead, PingTaken, PingWrite, SignsRead};
use minutehand_ports::{ApiSigns, Clock, Pings, StoreError};
use serde_json::json;

use super::faults::{StorePort, now};
use super::mutation::Mutation;
use super::play::place;
use super::tally::Fault;
use super::time::{Process, SECOND, instant, micros};
use super::world::World;

/// How long a sender waits for an answer.
const ANSWER_WITHIN: i64 = 10 * SECOND;
/// How long it waits before it sends again.
const AGAIN_AFTER: i64 = 5 * SECOND;
/// How long before and after a deadline what aims at it comes: about as long as a request takes.
const AIMED: (i64, i64) = (-120_000, 15_000);
/// How often the keys of new jobs are asked for, and a sender looks for its job.
const LOOKS_EVERY: i64 = 10 * SECOND;

/// The time of a process with the API.
#[derive(Debug, Clone)]
pub(super) struct ApiLife {
    /// When it began to begin.
    pub(super) from: i64,
    /// Since when it takes pings.
    pub(super) begun: Option<i64>,
    /// When its signs were stored.
    pub(super) signs: Vec<i64>,
    /// When it took no more: it ended, or died.
    pub(super) until: i64,
}

/// What happened to pings, in the order in which it did.
#[derive(Debug, Clone)]
pub(super) struct PingNote {
    pub(super) at: i64,
    pub(super) uid: String,
    pub(super) what: PingWhat,
}

#[derive(Debug, Clone)]
pub(super) enum PingWhat {
    /// A process took it, and began to see what it does.
    Sent(Sent),
    /// It is stored.
    Stored(usize),
    /// It is answered: whether its key is known.
    Answered(usize, bool),
    /// A worker has claimed an occurrence, whose time is over.
    Claimed { generation: u64, nominal: i64, clock: i64 },
    /// It has given the claim back.
    Released { generation: u64, nominal: i64 },
    /// A worker has said that the deadline ended it.
    Over { nominal: i64 },
}

/// A ping.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) number: usize,
    pub(super) kind: PingKind,
    pub(super) rid: Option<Uuid>,
    pub(super) text: String,
    /// When, by the clock of the process that took it.
    pub(super) clock: i64,
}

/// What is planned to be sent.
#[derive(Debug, Clone)]
struct Planned {
    at: i64,
    kind: PingKind,
    rid: Option<Uuid>,
    text: String,
}

struct Server {
    process: Arc<Process>,
    life: usize,
}

/// The processes with the API, and the pings of a run.
#[derive(Default)]
pub(super) struct Pinged {
    /// Whether the run is about pings.
    pub(super) is_on: AtomicBool,
    servers: Mutex<Vec<Server>>,
    pub(super) lives: Mutex<Vec<ApiLife>>,
    pub(super) notes: Mutex<Vec<PingNote>>,
    sent: Mutex<usize>,
    keys: Mutex<BTreeMap<String, Uuid>>,
    answers: Mutex<BTreeMap<usize, bool>>,
}

/// The store of pings of one process, or of a request in it.
pub(super) struct PingPort {
    store: Arc<StorePort>,
    /// The ping that the request is.
    ping: Option<usize>,
    /// The process with the API that gives signs.
    life: Option<usize>,
}

impl PingPort {
    pub(super) const fn new(store: Arc<StorePort>) -> Self {
        Self { store, ping: None, life: None }
    }

    fn world(&self) -> &Arc<World> {
        &self.store.world
    }
}

#[async_trait]
impl Pings for PingPort {
    async fn ping_key(&self, job_uid: &str) -> Result<Option<PingKey>, StoreError> {
        self.store.op(true, || now(self.store.memory().ping_key(job_uid))).await
    }

    async fn set_ping_key(
        &self,
        job: &JobRef,
        key: &PingKey,
        instead_of: Option<&str>,
    ) -> Result<bool, StoreError> {
        let set = || now(self.store.memory().set_ping_key(job, key, instead_of));
        self.store.op(false, set).await
    }

    async fn find_ping(
        &self,
        hash: &str,
        freshness: PingFreshness,
    ) -> Result<Option<PingRead>, StoreError> {
        let find = || now(self.store.memory().find_ping(hash, freshness));
        let mut found = self.store.op(true, find).await?;
        let forgotten = match self.world().mutation {
            Some(Mutation::RepeatsCount) => Some("p "),
            Some(Mutation::BookForgetsPaid) => Some("t "),
            _ => None,
        };
        if let (Some(read), Some(forgotten)) = (&mut found, forgotten) {
            let lines = read.book.lines().filter(|line| !line.starts_with(forgotten));
            read.book = lines.flat_map(|line| [line, "\n"]).collect();
        }
        Ok(found)
    }

    async fn take_ping(&self, write: &PingWrite) -> Result<PingTaken, StoreError> {
        let take = || {
            let taken = now(self.store.memory().take_ping(write))?;
            if let (PingTaken::Kept, Some(number)) = (taken, self.ping) {
                self.world().note_ping(&write.job.uid, PingWhat::Stored(number));
            }
            Ok(taken)
        };
        self.store.op(false, take).await
    }
}

#[async_trait]
impl ApiSigns for PingPort {
    async fn read_signs(&self) -> Result<SignsRead, StoreError> {
        let mut read = self.store.op(true, || now(self.store.memory().read_signs())).await?;
        if self.store.is(Mutation::DoubtsAreDropped) {
            let words = read.state.split(' ').filter(|word| !word.starts_with('?'));
            read.state = words.collect::<Vec<_>>().join(" ");
        }
        Ok(read)
    }

    async fn write_signs(&self, as_read: u64, state: &str) -> Result<bool, StoreError> {
        let write = || {
            let is_written = now(self.store.memory().write_signs(as_read, state))?;
            if let (true, Some(life)) = (is_written, self.life) {
                let at = self.world().time.now();
                self.world().pinged.lives.lock().unwrap()[life].signs.push(at);
                self.world().log.note(|| json!({"e": "sign", "api": life, "at": at}));
            }
            Ok(is_written)
        };
        self.store.op(false, write).await
    }
}

impl World {
    /// Whether the run is about pings.
    pub(super) fn is_pinged(&self) -> bool {
        self.pinged.is_on.load(Relaxed)
    }

    pub(super) fn note_ping(&self, uid: &str, what: PingWhat) {
        if !self.is_pinged() {
            return;
        }
        let at = self.time.now();
        self.log.note(|| {
            let mut line = match &what {
                PingWhat::Sent(Sent { number, kind, rid, text, clock }) => json!({
                    "e": "ping", "ping": number, "kind": kind.name(), "text": text, "clock": clock,
                    "rid": rid.as_ref().map(Uuid::as_str),
                }),
                PingWhat::Stored(number) => json!({"e": "pinged", "ping": number}),
                PingWhat::Answered(number, is_known) => {
                    json!({"e": "ping answered", "ping": number, "known": is_known})
                }
                PingWhat::Claimed { generation, nominal, clock } => json!({
                    "e": "claim", "timing": generation, "nominal": nominal, "clock": clock,
                }),
                PingWhat::Released { generation, nominal } => {
                    json!({"e": "released", "timing": generation, "nominal": nominal})
                }
                PingWhat::Over { nominal } => json!({"e": "over", "nominal": nominal}),
            };
            line["job"] = json!(uid);
            line["at"] = json!(at);
            line
        });
        self.pinged.notes.lock().unwrap().push(PingNote { at, uid: uid.to_owned(), what });
    }

    /// What tells workers when pings could be taken.
    pub(super) fn presence(
        self: &Arc<Self>,
        process: &Arc<Process>,
        store: &Arc<StorePort>,
    ) -> Arc<ApiPresence> {
        let signs = Arc::new(PingPort::new(store.clone()));
        let id = format!("w{}", process.id);
        Arc::new(ApiPresence::new(signs, self.clock(process), id, false))
    }

    /// Lets processes with the API come and go, one after the other, or several side by side.
    pub(super) fn serve_pings(self: &Arc<Self>, side_by_side: usize, span: i64) {
        self.pinged.is_on.store(true, Relaxed);
        for _ in 0..side_by_side {
            let world = self.clone();
            self.time.spawn(&self.keeper, async move {
                loop {
                    let is_last = world.time.now() >= span;
                    world.serve_once(side_by_side == 1, is_last).await;
                    let down = [SECOND / 5, 2 * SECOND, 7 * SECOND, 30 * SECOND, 200 * SECOND];
                    let down = world.time.chance().pick(&down);
                    world.time.until(world.time.now() + down).await;
                }
            });
        }
    }

    /// One process with the API, from its begin to its end.
    async fn serve_once(self: &Arc<Self>, is_alone: bool, is_last: bool) {
        let from = self.time.now();
        let process = self.process();
        let life = {
            let mut lives = self.pinged.lives.lock().unwrap();
            lives.push(ApiLife { from, begun: None, signs: Vec::new(), until: i64::MAX });
            lives.len() - 1
        };
        self.log.note(|| json!({"e": "api", "api": life, "what": "begins", "at": from}));
        let store = self.store_of(&process);
        let signs = Arc::new(PingPort { store, ping: None, life: Some(life) });
        let clock = self.clock(&process);
        let id = format!("a{life}");
        let presence = Arc::new(ApiPresence::new(signs, clock.clone(), id, is_alone));
        let (world, begins, of) = (self.clone(), presence.clone(), process.clone());
        self.time.spawn(&process, async move {
            if begins.begin().await.is_err() {
                of.kill();
                return;
            }
            world.api_begun(life, &of);
            loop {
                clock.wait(SIGN_EVERY.to_std().unwrap()).await;
                // One that fails is given the next time.
                drop(begins.sign().await);
            }
        });
        let runs = self.time.chance().between(5 * SECOND, 900 * SECOND);
        let ends_at = if is_last { i64::MAX } else { from + runs };
        let is_stopped = self.time.chance().happens(500_000);
        while !process.is_dead() && self.time.now() < ends_at {
            self.time.until((self.time.now() + SECOND / 4).min(ends_at)).await;
        }
        if is_stopped && !process.is_dead() {
            self.api_ended(life, self.time.now());
            let world = self.clone();
            let of = process.clone();
            self.time.spawn(&process, async move {
                drop(presence.end().await);
                world.time.until(world.time.now() + SECOND).await;
                of.kill();
            });
            while !process.is_dead() {
                self.time.until(self.time.now() + SECOND / 4).await;
            }
            return;
        }
        process.kill();
        self.api_ended(life, process.died_at());
    }

    fn api_begun(&self, life: usize, process: &Arc<Process>) {
        let at = self.time.now();
        self.pinged.lives.lock().unwrap()[life].begun = Some(at);
        self.pinged.servers.lock().unwrap().push(Server { process: process.clone(), life });
        self.log.note(|| json!({"e": "api", "api": life, "what": "begun", "at": at}));
    }

    fn api_ended(&self, life: usize, at: i64) {
        self.time.tally.note(Fault::ApiEnded);
        self.pinged.servers.lock().unwrap().retain(|server| server.life != life);
        self.pinged.lives.lock().unwrap()[life].until = at;
        self.log.note(|| json!({"e": "api", "api": life, "what": "ended", "at": at}));
    }

    /// A process that takes pings, if there is one, and a request in it.
    fn api(&self) -> Option<Arc<Process>> {
        let servers = self.pinged.servers.lock().unwrap();
        let alive: Vec<_> = servers.iter().filter(|it| !it.process.is_dead()).collect();
        let places = u64::try_from(alive.len()).unwrap();
        let place = (places > 0).then(|| self.time.chance().below(places))?;
        Some(alive[usize::try_from(place).unwrap()].process.part())
    }

    fn manage_pings(self: &Arc<Self>, process: &Arc<Process>, ping: Option<usize>) -> Manage {
        let store = self.store_of(process);
        let port = PingPort { store, ping, life: None };
        self.manage(process).with_pings_and_bodies(Arc::new(port), None)
    }

    /// Asks for the addresses of new jobs.
    pub(super) fn learn_keys(self: &Arc<Self>) {
        let world = self.clone();
        self.time.spawn(&self.keeper, async move {
            loop {
                world.time.until(world.time.now() + LOOKS_EVERY / 2).await;
                for (uid, collection, job) in world.without_key() {
                    let (process, asking) = (world.process(), world.clone());
                    let of = process.clone();
                    world.time.spawn(&process, async move {
                        let manage = asking.manage_pings(&of, None);
                        let found = manage.ping_address((&place(), &collection, &job)).await;
                        // A job of that name may be another one by now.
                        let is_it = asking.without_key().iter().any(|it| it.0 == uid);
                        if let (Ok(address), true) = (found, is_it) {
                            asking.pinged.keys.lock().unwrap().insert(uid, address.key);
                        }
                    });
                }
            }
        });
    }

    /// The jobs whose keys the senders do not know.
    fn without_key(&self) -> Vec<(String, Name, Name)> {
        let tables = self.memory.tables();
        let keys = self.pinged.keys.lock().unwrap();
        let of = |uid: &str| tables.collections.values().find(|it| it.collection.uid == uid);
        let jobs = tables.jobs.iter().filter(|(_, job)| !keys.contains_key(&job.uid));
        let found = jobs.filter_map(|((collection, key), job)| {
            let collection = of(collection)?.collection.name.clone();
            Some((job.uid.clone(), collection, Name::new(key).ok()?))
        });
        found.collect()
    }

    /// The job of a name as its sender knows it.
    fn pinged_job(&self, name: &str) -> Option<(String, Uuid, Schedule)> {
        let tables = self.memory.tables();
        let mut jobs = tables.jobs.iter().filter(|((_, key), _)| key == name);
        let (_, job) = jobs.next()?;
        let record = &tables.timers.get(&job.uid)?.record;
        let line = record.timetable.as_ref().filter(|_| record.state == JobState::Enabled)?;
        let key = self.pinged.keys.lock().unwrap().get(&job.uid).cloned()?;
        Some((job.uid.clone(), key, line.parse().ok()?))
    }

    /// Lets a program ping a job at each of its occurrences, well or badly.
    pub(super) fn send_pings(self: &Arc<Self>, job: &'static str, span: i64) {
        let world = self.clone();
        self.time.spawn(&self.keeper, async move {
            let mut from = world.time.now();
            while world.time.now() < span {
                let job = world.pinged_job(job);
                let next = job.and_then(|(uid, key, schedule)| {
                    let next = schedule.at_or_after(instant(from.max(world.time.now())))?;
                    Some((uid, key, schedule.owed_ping(next)?))
                });
                let Some((uid, key, owed)) = next.filter(|it| micros(it.2.from) < span) else {
                    world.time.until(world.time.now() + LOOKS_EVERY).await;
                    continue;
                };
                world.time.until(micros(owed.from)).await;
                from = micros(owed.nominal_at) + 1;
                for planned in world.plan(owed) {
                    world.send_ping(&uid, &key, planned);
                }
                world.time.until(world.time.now().max(micros(owed.from)) + 1).await;
            }
        });
    }

    /// What a program sends for an occurrence.
    fn plan(&self, OwedPing { nominal_at, from, until }: OwedPing) -> Vec<Planned> {
        let [from, nominal, until] = [from, nominal_at, until].map(micros);
        let mut chance = self.time.chance();
        let rid = Some(Uuid::of_bits(u128::from(chance.next())));
        let text = format!("{}", chance.below(1_000_000));
        let ping = |at, kind, rid: &Option<Uuid>, text: &str| Planned {
            at,
            kind,
            rid: rid.clone(),
            text: text.to_owned(),
        };
        let (start, success, fail) = (PingKind::Start, PingKind::Success, PingKind::Failure);
        let any = chance.between(from, until);
        let second = any + chance.between(0, 900_000);
        let aimed = until + chance.between(AIMED.0, AIMED.1);
        let grace = until - nominal;
        let end = any + chance.between(SECOND / 10, grace + 10 * SECOND);
        match chance.below(16) {
            0 => vec![ping(chance.between(from, nominal), success, &None, &text)],
            1 => vec![ping(until + chance.between(0, 30 * SECOND), success, &None, &text)],
            2 | 3 => Vec::new(),
            4 => vec![ping(any, start, &rid, ""), ping(end, success, &rid, &text)],
            5 => vec![ping(any, start, &None, ""), ping(end, success, &None, &text)],
            6 => vec![ping(any, start, &rid, ""), ping(end, fail, &rid, &text)],
            7 => vec![ping(any, fail, &None, &text)],
            // Twice within a second, and twice for two.
            8 => vec![ping(any, success, &None, &text), ping(second, success, &None, &text)],
            9 => vec![ping(any, success, &None, &text), ping(second, success, &None, "other")],
            // At once with the deadline.
            10 | 11 => vec![ping(aimed, success, &None, &text)],
            12 => {
                let over = any + grace + chance.between(AIMED.0, AIMED.1);
                vec![ping(any, start, &rid, ""), ping(over, success, &rid, &text)]
            }
            // Several at once.
            13 => {
                let log = any + chance.between(0, 20_000);
                let logs = (0..4).map(|n| ping(log, PingKind::Log, &None, &format!("{text} {n}")));
                let end = ping(end.min(any + grace / 2), success, &rid, &text);
                logs.chain([ping(any, start, &rid, ""), end]).collect()
            }
            _ => vec![ping(any, success, &None, &text)],
        }
    }

    /// Sends a ping, and perhaps again until it is answered.
    fn send_ping(self: &Arc<Self>, uid: &str, key: &Uuid, planned: Planned) {
        let (world, uid, key) = (self.clone(), uid.to_owned(), key.clone());
        let tries = self.time.chance().pick(&[1, 1, 2, 4]);
        self.time.spawn(&self.keeper, async move {
            world.time.until(planned.at).await;
            for _ in 0..tries {
                if let Some(process) = world.api() {
                    let number = world.ping_once(&uid, &key, &planned, &process);
                    world.time.until(world.time.now() + ANSWER_WITHIN).await;
                    if world.pinged.answers.lock().unwrap().contains_key(&number) {
                        return;
                    }
                }
                world.time.until(world.time.now() + AGAIN_AFTER).await;
            }
        });
    }

    fn ping_once(
        self: &Arc<Self>,
        uid: &str,
        key: &Uuid,
        Planned { kind, rid, text, .. }: &Planned,
        process: &Arc<Process>,
    ) -> usize {
        let number = {
            let mut sent = self.pinged.sent.lock().unwrap();
            *sent += 1;
            *sent
        };
        let (kind, rid, text) = (*kind, rid.clone(), text.clone());
        let sent =
            Sent { number, kind, rid: rid.clone(), text: text.clone(), clock: process.clock() };
        self.note_ping(uid, PingWhat::Sent(sent));
        let (world, of, uid, key) = (self.clone(), process.clone(), uid.to_owned(), key.clone());
        self.time.spawn(process, async move {
            let manage = world.manage_pings(&of, Some(number));
            let answer = manage.ping(&key, (kind, rid), (None, &text)).await;
            if let Ok(pinged) = answer {
                let is_known = pinged == Answer::Taken;
                world.pinged.answers.lock().unwrap().insert(number, is_known);
                world.note_ping(&uid, PingWhat::Answered(number, is_known));
            }
        });
        number
    }
}
