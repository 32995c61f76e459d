//! What many processes share: the rules of the engine on PostgreSQL, in simulated time.
//!
//! The rows are those of the store in memory. Here is what only this engine has: who is alive and who marks
//! whom dead, what is freed then, messages that processes take, and the lease of the sweeper. The database has
//! the true time, and is away for minutes; each process has a stopwatch, and the product's bound on that time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use minutehand_domain::work_item::WorkItem;
use minutehand_ports::store::Claim;
use minutehand_ports::{QueueMessage, ReceiptHandle};
use minutehand_store_sql::postgres::{ServerTime, ShownTime};
use serde_json::json;

use super::mutation::Mutation;
use super::tally::Fault;
use super::time::{Process, SECOND, instant, micros};
use super::world::World;

/// A message is due for its receiver so long before.
const EARLY: i64 = 2 * SECOND;
/// For how long a delivery hides it.
const HIDDEN: i64 = 120 * SECOND;
/// Messages of one fetch.
const FETCHED_MAX: usize = 8;
const RENEW_EVERY: i64 = SECOND;
/// How long the answer to a renewal takes that counts, and how long it is waited for.
const ANSWERED_MAX: i64 = SECOND;
const WAITED_MAX: i64 = 5 * SECOND;
/// Renewals that are further apart are not in a row.
const APART_MAX: i64 = 2_500_000;
/// During how many of its own renewals a process sees a dead one give no sign.
const UNCHANGED_MAX: u32 = 5;
/// For how long after a renewal a process may begin actions.
const TRUSTED_FOR: i64 = 3 * SECOND;
/// The lease of the sweeper, and how often it is renewed.
const LEASE: i64 = 1_500_000;
const TRY_EVERY: i64 = SECOND / 2;
/// How far the clock of a machine may be off, by which nothing may decide.
const MACHINE_CLOCK_MAX: i64 = 9 * SECOND;
/// Updates that wait within this time would be one group.
const GROUP: i64 = 60_000;

/// Something that happened to the processes, in the order in which it did.
#[derive(Debug, Clone)]
pub(super) struct SharedNote {
    pub(super) at: i64,
    pub(super) what: SharedWhat,
}

#[derive(Debug, Clone)]
pub(super) enum SharedWhat {
    /// A process has a number.
    Begins {
        number: u64,
        process: u64,
    },
    /// Its sign is stored.
    Sign {
        number: u64,
    },
    /// Another one has marked it dead.
    Dead {
        number: u64,
    },
    /// It was killed, ended, was frozen until an instant.
    Gone {
        process: u64,
    },
    Frozen {
        process: u64,
        until: i64,
    },
    /// The database is away until an instant.
    Away {
        until: i64,
    },
    /// It has the lease of the sweeper until an instant.
    Lease {
        process: u64,
        until: i64,
    },
    /// It begins a pass.
    Sweeps {
        process: u64,
    },
    /// It has claimed an attempt.
    Claimed {
        number: u64,
        id: String,
    },
    /// A claim was refused, since another process has the attempt.
    Held {
        id: String,
    },
}

/// What is stored of a process.
#[derive(Debug, Clone, Copy)]
struct Row {
    counter: u64,
    seen_at: i64,
}

#[derive(Debug, Clone)]
struct Message {
    work_item: WorkItem,
    due: i64,
    hidden_until: Option<i64>,
    number: u64,
    receives: u32,
    delivery: i64,
}

/// A message that a process has taken.
pub(super) struct Taken {
    pub(super) receipt: ReceiptHandle,
    pub(super) work_item: WorkItem,
    pub(super) receives: u32,
}

#[derive(Default)]
struct Tables {
    numbers: u64,
    rows: BTreeMap<u64, Row>,
    /// The claims of processes, by the ids of claims.
    claims: BTreeMap<String, u64>,
    messages: BTreeMap<i64, Message>,
    next: i64,
    /// Who sweeps, and until when.
    lease: (u64, i64),
    /// The last update of counters, by job.
    counted: BTreeMap<String, i64>,
}

/// The database.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) is_on: AtomicBool,
    away_until: AtomicI64,
    tables: Mutex<Tables>,
    pub(super) notes: Mutex<Vec<SharedNote>>,
    pub(super) members: Mutex<Vec<Arc<Member>>>,
}

/// What a process has seen of the others.
#[derive(Default)]
struct Watch {
    others: BTreeMap<u64, (u64, u32)>,
    counted: Option<i64>,
}

/// A process.
pub(super) struct Member {
    pub(super) process: Arc<Process>,
    world: Arc<World>,
    number: AtomicU64,
    /// When it took that number, if it had another one before.
    reborn: AtomicI64,
    answered: AtomicI64,
    watch: Mutex<Watch>,
    time: Mutex<ServerTime>,
    swept_until: AtomicI64,
    /// How far the clock of its machine is off.
    machine_clock: i64,
}

impl Watch {
    /// Takes an answer: the signs of the others. Returns who is dead.
    fn learn(&mut self, [sent, arrived]: [i64; 2], others: &[(u64, Row)]) -> Vec<(u64, Row)> {
        let apart = self.counted.map(|counted| sent - counted);
        if apart.is_some_and(|apart| apart < RENEW_EVERY * 9 / 10) {
            return Vec::new();
        }
        self.counted = Some(sent);
        let is_in_row =
            apart.is_some_and(|apart| apart <= APART_MAX) && arrived - sent <= ANSWERED_MAX;
        let before = std::mem::take(&mut self.others);
        for (number, row) in others {
            let unchanged = match before.get(number).filter(|_| is_in_row) {
                Some((counter, unchanged)) if *counter == row.counter => unchanged + 1,
                _ => 0,
            };
            self.others.insert(*number, (row.counter, unchanged));
        }
        let is_dead = |it: &&(u64, Row)| self.others[&it.0].1 >= UNCHANGED_MAX;
        others.iter().filter(is_dead).copied().collect()
    }
}

impl Shared {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap()
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on.load(Relaxed)
    }

    pub(super) fn away_until(&self) -> i64 {
        self.away_until.load(Relaxed)
    }

    /// A process that answers, by a number.
    pub(super) fn answering(&self, any: u64) -> Option<Arc<Member>> {
        let members = self.members.lock().unwrap();
        let alive: Vec<_> = members.iter().filter(|it| it.is_awake()).collect();
        let place = usize::try_from(any).unwrap().checked_rem(alive.len())?;
        Some(alive[place].clone())
    }

    /// The member of a process, or of a request in it.
    pub(super) fn member_of(&self, process: &Arc<Process>) -> Option<Arc<Member>> {
        let whole = process.whole_id();
        self.members.lock().unwrap().iter().rfind(|it| it.process.id == whole).cloned()
    }
}

impl World {
    pub(super) fn note_shared(&self, what: SharedWhat) {
        if !self.shared.is_on() {
            return;
        }
        let at = self.time.now();
        self.log.note(|| {
            let mut line = match &what {
                SharedWhat::Begins { number, process } => {
                    json!({"what": "begins", "number": number, "worker": process})
                }
                SharedWhat::Sign { number } => json!({"what": "sign", "number": number}),
                SharedWhat::Dead { number } => json!({"what": "dead", "number": number}),
                SharedWhat::Gone { process } => json!({"what": "gone", "worker": process}),
                SharedWhat::Frozen { process, until } => {
                    json!({"what": "frozen", "worker": process, "until": until})
                }
                SharedWhat::Away { until } => json!({"what": "away", "until": until}),
                SharedWhat::Lease { process, until } => {
                    json!({"what": "lease", "worker": process, "until": until})
                }
                SharedWhat::Sweeps { process } => json!({"what": "sweeps", "worker": process}),
                SharedWhat::Claimed { number, id } => {
                    json!({"what": "claimed", "number": number, "id": id})
                }
                SharedWhat::Held { id } => json!({"what": "held", "id": id}),
            };
            line["e"] = json!("shared");
            line["at"] = json!(at);
            line
        });
        self.shared.notes.lock().unwrap().push(SharedNote { at, what });
    }

    /// The database goes away until an instant.
    pub(super) fn lose_database(&self, until: i64) {
        self.time.tally.note(Fault::DatabaseAway);
        self.shared.away_until.fetch_max(until, Relaxed);
        self.note_shared(SharedWhat::Away { until });
    }

    pub(super) fn database_is_away(&self) -> bool {
        self.shared.away_until() > self.time.now()
    }

    /// A process is marked dead, or ends: its row goes, and then what it held is free.
    fn free(&self, number: u64) {
        let mut tables = self.shared.tables();
        tables.rows.remove(&number);
        let mine: BTreeSet<String> = tables
            .claims
            .extract_if(.., |_, of| *of == number)
            .map(|(claim_id, _)| claim_id)
            .collect();
        for message in tables.messages.values_mut().filter(|it| it.number == number) {
            (message.hidden_until, message.number) = (None, 0);
            message.delivery += 1;
        }
        drop(tables);
        self.memory.free_claims(&mine);
    }

    /// Stores messages.
    pub(super) fn share(&self, messages: &[QueueMessage]) {
        let mut tables = self.shared.tables();
        for QueueMessage { work_item, due_at } in messages {
            self.log_message("sent", work_item);
            tables.next += 1;
            let (id, due) = (tables.next, micros(*due_at));
            let message = Message {
                work_item: work_item.clone(),
                due,
                hidden_until: None,
                number: 0,
                receives: 0,
                delivery: 0,
            };
            tables.messages.insert(id, message);
        }
    }

    /// Changes the message of a receipt, unless that is void.
    fn with_receipt(
        &self,
        ReceiptHandle { id, delivery }: ReceiptHandle,
        end: Option<i64>,
    ) -> bool {
        let mut tables = self.shared.tables();
        let found = tables.messages.get_mut(&id).filter(|it| it.delivery == delivery);
        let Some(message) = found else { return false };
        match end {
            None => {
                tables.messages.remove(&id);
            }
            Some(hidden_until) => {
                (message.hidden_until, message.number) = (Some(hidden_until), 0);
                message.delivery += 1;
            }
        }
        true
    }

    pub(super) fn finish_shared(&self, receipt: ReceiptHandle) -> bool {
        self.with_receipt(receipt, None)
    }

    /// Delivers a message again after a time; `counts` says whether the delivery was one.
    pub(super) fn put_back_shared(&self, receipt: ReceiptHandle, after: i64, counts: bool) {
        if self.with_receipt(receipt, Some(self.time.now() + after)) && !counts {
            let mut tables = self.shared.tables();
            let message = tables.messages.get_mut(&receipt.id).unwrap();
            message.receives = message.receives.saturating_sub(1);
        }
    }

    /// Whether an update of the counters of a job is grouped with another one, by a mutation.
    pub(super) fn is_grouped(&self, job_uid: &str, is_done: bool) -> bool {
        let now = self.time.now();
        let mut tables = self.shared.tables();
        let before = tables.counted.get(job_uid).copied();
        if is_done {
            tables.counted.insert(job_uid.to_owned(), now);
        }
        let is_close = before.is_some_and(|before| now - before < GROUP);
        self.mutation == Some(Mutation::GroupOverShared) && !is_done && is_close
    }
}

impl Member {
    pub(super) fn begin(world: &Arc<World>) -> Arc<Self> {
        // It knows nothing of the time yet, so it does nothing before its first answer.
        let process = Process::with_clock(&world.time, -3_600 * SECOND, None);
        let machine_clock = world.time.chance().between(-MACHINE_CLOCK_MAX, MACHINE_CLOCK_MAX);
        Arc::new(Self {
            process,
            world: world.clone(),
            number: AtomicU64::new(0),
            reborn: AtomicI64::new(i64::MIN),
            answered: AtomicI64::new(i64::MIN / 2),
            watch: Mutex::default(),
            time: Mutex::default(),
            swept_until: AtomicI64::new(0),
            machine_clock,
        })
    }

    pub(super) const fn world(&self) -> &Arc<World> {
        &self.world
    }

    pub(super) fn number(&self) -> u64 {
        self.number.load(Relaxed)
    }

    fn is_awake(&self) -> bool {
        self.number() > 0 && !self.process.is_dead() && !self.process.is_frozen()
    }

    fn is(&self, mutation: Mutation) -> bool {
        self.world.mutation == Some(mutation)
    }

    /// Whether its row is there.
    pub(super) fn has_row(&self) -> bool {
        self.world.shared.tables().rows.contains_key(&self.number())
    }

    async fn travels(&self) {
        let slow = self.world.faults().lost > 0 && self.world.time.chance().happens(20_000);
        let longest = if slow { 3 * SECOND } else { 6_000 };
        self.process.pause(500, longest).await;
    }

    /// Gives a sign and reads the clock. Returns whether it was answered.
    pub(super) async fn renew(&self) -> bool {
        let time = self.world.time.clone();
        let sent = time.now();
        self.travels().await;
        if self.world.database_is_away() {
            time.until(self.world.shared.away_until().min(sent + WAITED_MAX)).await;
            self.watch.lock().unwrap().others.clear();
            return false;
        }
        let shown = time.now();
        let (is_alive, others) = self.give_sign(shown);
        self.travels().await;
        let arrived = time.now();
        if arrived - sent > WAITED_MAX {
            self.watch.lock().unwrap().others.clear();
            return false;
        }
        self.learn_time(shown, [sent, arrived]);
        self.answered.store(sent, Relaxed);
        let dead = self.dead(&others, [sent, arrived]);
        if !is_alive {
            // It was taken for dead, or begins.
            self.register();
        }
        for (number, row) in dead {
            self.bury(number, row).await;
        }
        true
    }

    fn give_sign(&self, shown: i64) -> (bool, Vec<(u64, Row)>) {
        let number = self.number();
        let mut tables = self.world.shared.tables();
        let own = tables.rows.get_mut(&number);
        let is_alive = own.is_some();
        if let Some(row) = own {
            *row = Row { counter: row.counter + 1, seen_at: shown };
        }
        let others = tables.rows.iter().filter(|(of, _)| **of != number);
        let others = others.map(|(of, row)| (*of, *row)).collect();
        drop(tables);
        if is_alive {
            self.world.note_shared(SharedWhat::Sign { number });
        }
        (is_alive, others)
    }

    fn register(&self) {
        let now = self.world.time.now();
        let mut tables = self.world.shared.tables();
        tables.numbers += 1;
        let number = tables.numbers;
        tables.rows.insert(number, Row { counter: 0, seen_at: now });
        drop(tables);
        if self.number.swap(number, Relaxed) > 0 {
            self.reborn.store(now, Relaxed);
        }
        let process = self.process.id;
        self.world.note_shared(SharedWhat::Begins { number, process });
        self.world.note_shared(SharedWhat::Sign { number });
    }

    /// Follows the database's clock: never before it, whatever an answer took.
    fn learn_time(&self, shown: i64, [sent, arrived]: [i64; 2]) {
        let span = |at: i64| Duration::from_micros(u64::try_from(at).unwrap());
        let clock = if self.is(Mutation::MiddleOfWay) {
            shown + (arrived - sent) / 2
        } else {
            let mut time = self.time.lock().unwrap();
            let (sent, arrived) = (span(sent), span(arrived));
            time.learn(ShownTime { shown: instant(shown), sent, arrived });
            micros(time.at(arrived).unwrap())
        };
        self.process.set_skew(clock - arrived);
    }

    /// Who is dead.
    fn dead(&self, others: &[(u64, Row)], times: [i64; 2]) -> Vec<(u64, Row)> {
        if self.is(Mutation::DeadByClock) {
            let clock = self.world.time.now() + self.machine_clock;
            let is_dead = |it: &&(u64, Row)| clock - it.1.seen_at > 5 * SECOND;
            return others.iter().filter(is_dead).copied().collect();
        }
        let dead = self.watch.lock().unwrap().learn(times, others);
        if self.is(Mutation::DeadTooEarly) {
            let watch = self.watch.lock().unwrap();
            let is_dead = |it: &&(u64, Row)| watch.others.get(&it.0).is_some_and(|it| it.1 >= 1);
            return others.iter().filter(is_dead).copied().collect();
        }
        dead
    }

    /// Marks a process dead that has given no sign since one was seen, and frees what it held.
    async fn bury(&self, number: u64, seen: Row) {
        self.travels().await;
        if self.world.database_is_away() {
            return;
        }
        let row = self.world.shared.tables().rows.get(&number).copied();
        if row.is_some_and(|row| row.counter == seen.counter) {
            self.world.note_shared(SharedWhat::Dead { number });
            self.world.free(number);
        }
    }

    /// Ends in good order.
    pub(super) fn end(&self) {
        if !self.world.database_is_away() {
            self.world.free(self.number());
        }
    }

    /// Gives signs.
    pub(super) async fn live(self: Arc<Self>) {
        loop {
            self.renew().await;
            self.world.time.until(self.world.time.now() + RENEW_EVERY).await;
        }
    }

    /// Before an action: whether the others cannot have taken this process for dead, and it has the claim.
    pub(super) async fn may_act(&self, claim: &Claim) -> bool {
        let now = self.world.time.now();
        if now - self.answered.load(Relaxed) > TRUSTED_FOR && !self.renew().await {
            return false;
        }
        let is_reborn = self.reborn.load(Relaxed) > i64::MIN;
        !is_reborn || self.world.memory.is_claimed(claim)
    }

    /// Names the process that has a claim.
    pub(super) fn claims(&self, claim: &Claim, id: &str) {
        let number = self.number();
        self.world.note_shared(SharedWhat::Claimed { number, id: id.to_owned() });
        if !self.is(Mutation::ClaimNamesNobody) {
            self.world.shared.tables().claims.insert(claim.claim_id.clone(), number);
        }
    }

    /// Takes the lease of the sweeper if it has ended, or is its own.
    fn take_lease(&self) -> bool {
        // The lease has a number of its own, which outlives that of a process taken for dead.
        let (process, now) = (self.process.id, self.world.time.now());
        let mut tables = self.world.shared.tables();
        let (holder, until) = tables.lease;
        let is_mine = holder == process || until < now;
        if is_mine {
            tables.lease = (process, now + LEASE);
        }
        drop(tables);
        if is_mine {
            self.world.note_shared(SharedWhat::Lease { process, until: now + LEASE });
        }
        is_mine
    }

    /// Tries to get the lease of the sweeper, and to keep it.
    pub(super) async fn lead(self: Arc<Self>) {
        loop {
            let sent = self.world.time.now();
            self.travels().await;
            if !self.world.database_is_away() {
                let is_mine = self.take_lease();
                self.travels().await;
                let keeps = self.is(Mutation::SweepsOn);
                match is_mine {
                    true if keeps => self.swept_until.store(i64::MAX, Relaxed),
                    true => self.swept_until.store(sent + LEASE, Relaxed),
                    false if keeps => {}
                    false => self.swept_until.store(0, Relaxed),
                }
            }
            self.world.time.until(self.world.time.now() + TRY_EVERY).await;
        }
    }

    /// Whether it sweeps.
    pub(super) fn sweeps(&self) -> bool {
        self.world.time.now() < self.swept_until.load(Relaxed)
    }

    /// Takes messages that are due.
    pub(super) fn take(&self) -> Vec<Taken> {
        let number = self.number();
        if !self.has_row() || self.world.database_is_away() {
            return Vec::new();
        }
        let (clock, now) = (self.process.clock(), self.world.time.now());
        let mut tables = self.world.shared.tables();
        let mut due = tables.messages.iter_mut();
        let mut taken = Vec::new();
        while taken.len() < FETCHED_MAX
            && let Some((id, message)) = due.by_ref().find(|it| {
                it.1.due <= clock + EARLY && it.1.hidden_until.is_none_or(|until| until < now)
            })
        {
            (message.hidden_until, message.number) = (Some(now + HIDDEN), number);
            message.delivery += 1;
            message.receives += 1;
            taken.push(Taken {
                receipt: ReceiptHandle { id: *id, delivery: message.delivery },
                work_item: message.work_item.clone(),
                receives: message.receives,
            });
        }
        taken
    }
}
