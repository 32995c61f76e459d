//! Occurrences that owe pings: the states, and the steps between them.
//!
//! Two occurrences are a minute apart, and their windows overlap. Pings come at every step, also two at once, and
//! one that was decided in time may be stored late. What a ping does is decided by the product's book.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use minutehand_domain::duration::Span;
use minutehand_domain::ping::{Ping, PingBook, PingEffect, PingKind, PingWindow};
use minutehand_domain::schedule::Schedule;
use stateright::{Model, Property};

use super::product::{SCHEDULE, at};

const COUNT: usize = 2;
/// The seconds at which something happens: one occurrence is owed, both are, the other one is, and none.
const TIMES: [i64; 4] = [0, 35, 60, 120];
/// Until when each may be paid.
const UNTIL: [i64; COUNT] = [40, 100];
/// From when on.
const FROM: [i64; COUNT] = [-40, 30];

static OWING: LazyLock<Schedule> = LazyLock::new(|| {
    let mut schedule = SCHEDULE.clone();
    let span = Span::seconds(40);
    schedule.policies.pings = Some(PingWindow { early: span, grace: span });
    schedule
});

/// How much may happen, and go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PingBudget {
    pub(super) pings: u8,
    /// Workers and requests that die.
    pub(super) crashes: u8,
    /// Messages that are lost which ask for the record of an ending.
    pub(super) losses: u8,
}

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PingMistake {
    /// The book is written over, whatever was written since it was read.
    BookHasNoCondition,
    /// A ping takes an occurrence that a worker has claimed.
    PingOverClaim,
    /// A worker claims an occurrence before its grace is over.
    ClaimsBeforeGrace,
    /// A ping is noted in the book, and opens nothing.
    PingOnlyNoted,
    /// What was started has no timer.
    StartHasNoTimer,
}

impl PingMistake {
    pub(super) const ALL: [Self; 5] = [
        Self::BookHasNoCondition,
        Self::PingOverClaim,
        Self::ClaimsBeforeGrace,
        Self::PingOnlyNoted,
        Self::StartHasNoTimer,
    ];
}

/// How an occurrence ended, or that its work has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Became {
    Begun,
    Well,
    Badly,
    /// It had begun, and no end came.
    Late,
    /// No ping came.
    Missing,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct OwedItem {
    /// The worker that has claimed it; `None` if a ping has opened it.
    claim: Option<u8>,
    is_live: bool,
    until: i64,
    ending: Option<Became>,
    record: Option<Became>,
}

/// A request with a ping.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct PingRequest {
    number: u8,
    kind: u8,
    at: i64,
    /// The occurrences that turned out to have ended.
    over: BTreeSet<usize>,
    /// What it has decided, by a book with a number.
    decided: Option<(u8, String, PingDoes)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum PingDoes {
    Nothing,
    Opens { of: usize, until: i64, is_paid: bool },
    Ends { of: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct PingMessage {
    of: usize,
    /// Whether it is that of the occurrence, whose grace is over.
    is_own: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum PingStep {
    See,
    Claim,
    Missing,
    RecordEnding,
    RemoveTimer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct PingWorker {
    message: PingMessage,
    claim: u8,
    step: PingStep,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PingState {
    time: usize,
    book: (u8, String),
    items: [Option<OwedItem>; COUNT],
    timers: BTreeSet<usize>,
    queue: Vec<PingMessage>,
    requests: Vec<PingRequest>,
    workers: Vec<PingWorker>,
    claims: u8,
    left: PingBudget,
    /// What was said of each occurrence by what was stored.
    said: [Option<Became>; COUNT],
    pub(super) wrong: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum PingAction {
    TimePasses,
    Ping { kind: PingKind },
    Request { place: usize },
    RequestDies { place: usize },
    Receive { place: usize },
    Step { place: usize },
    Crash { place: usize },
    LeaseEnds { of: usize },
    TimerFires { of: usize },
    Lose { place: usize },
}

pub(super) struct Owing {
    pub(super) budget: PingBudget,
    pub(super) mistake: Option<PingMistake>,
}

const KINDS: [PingKind; 3] = [PingKind::Success, PingKind::Failure, PingKind::Start];

impl Model for Owing {
    type State = PingState;
    type Action = PingAction;

    fn init_states(&self) -> Vec<PingState> {
        vec![PingState {
            time: 0,
            book: (0, PingBook::default().to_string()),
            items: [None, None],
            timers: BTreeSet::new(),
            queue: (0..COUNT).map(|of| PingMessage { of, is_own: true }).collect(),
            requests: Vec::new(),
            workers: Vec::new(),
            claims: 0,
            left: self.budget,
            said: [None, None],
            wrong: None,
        }]
    }

    fn actions(&self, state: &PingState, actions: &mut Vec<PingAction>) {
        if state.wrong.is_some() {
            return;
        }
        let PingBudget { pings, crashes, losses } = state.left;
        if state.time + 1 < TIMES.len() {
            actions.push(PingAction::TimePasses);
        }
        if pings > 0 && state.requests.len() < 2 {
            actions.extend(KINDS.map(|kind| PingAction::Ping { kind }));
        }
        for place in 0..state.requests.len() {
            actions.push(PingAction::Request { place });
            if crashes > 0 {
                actions.push(PingAction::RequestDies { place });
            }
        }
        for (place, message) in state.queue.iter().enumerate() {
            let early = if self.is(PingMistake::ClaimsBeforeGrace) { 10 } else { 0 };
            let is_due = !message.is_own || state.now() > UNTIL[message.of] - early;
            if is_due && state.workers.len() < 2 {
                actions.push(PingAction::Receive { place });
            }
            if !message.is_own && losses > 0 {
                actions.push(PingAction::Lose { place });
            }
        }
        for place in 0..state.workers.len() {
            actions.push(PingAction::Step { place });
            if crashes > 0 {
                actions.push(PingAction::Crash { place });
            }
        }
        for of in 0..COUNT {
            let is_dead = |item: &OwedItem| {
                let has = |it: &PingWorker| Some(it.claim) == item.claim && it.message.of == of;
                item.is_live && item.claim.is_some() && !state.workers.iter().any(has)
            };
            let item = state.items[of].as_ref();
            if item.is_some_and(|item| item.record.is_none() && is_dead(item)) {
                actions.push(PingAction::LeaseEnds { of });
            }
            let is_due = item.is_none_or(|item| state.now() > item.until);
            if is_due && state.timers.contains(&of) && !state.asks(of) {
                actions.push(PingAction::TimerFires { of });
            }
        }
    }

    fn next_state(&self, last: &PingState, action: PingAction) -> Option<PingState> {
        let mut state = last.clone();
        match action {
            PingAction::TimePasses => state.time += 1,
            PingAction::Ping { kind } => {
                state.left.pings -= 1;
                let kind = KINDS.iter().position(|it| *it == kind)?;
                let kind = u8::try_from(kind).unwrap();
                let (number, at, over) = (state.left.pings, state.now(), BTreeSet::new());
                state.requests.push(PingRequest { number, kind, at, over, decided: None });
            }
            PingAction::Request { place } => {
                let mut request = state.requests.remove(place);
                match request.decided.take() {
                    None => {
                        let (book, does) = request.decide(&state.book.1);
                        request.decided = Some((state.book.0, book, does));
                        state.requests.push(request);
                    }
                    Some(decided) => self.store(&mut state, request, decided),
                }
            }
            PingAction::RequestDies { place } => {
                state.left.crashes -= 1;
                state.requests.remove(place);
            }
            PingAction::Receive { place } => {
                let message = state.queue.remove(place);
                state.claims += 1;
                let (claim, step) = (state.claims, PingStep::See);
                state.workers.push(PingWorker { message, claim, step });
            }
            PingAction::Step { place } => {
                let worker = state.workers.remove(place);
                Self::step(&mut state, worker);
            }
            PingAction::Crash { place } => {
                state.left.crashes -= 1;
                let worker = state.workers.remove(place);
                state.queue.push(worker.message);
            }
            PingAction::LeaseEnds { of } => state.items[of].as_mut()?.is_live = false,
            PingAction::TimerFires { of } => state.queue.push(PingMessage { of, is_own: false }),
            PingAction::Lose { place } => {
                state.left.losses -= 1;
                state.queue.remove(place);
            }
        }
        state.queue.sort();
        state.requests.sort();
        state.workers.sort();
        state.rename_claims();
        let wrong = state.wrong();
        state.wrong = state.wrong.or(wrong);
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("nothing is wrong", |_, state: &PingState| state.wrong.is_none()),
            Property::sometimes("both are paid", |_, state: &PingState| {
                state.is_quiet() && state.said == [Some(Became::Well), Some(Became::Badly)]
            }),
            Property::sometimes("one has begun, and no end comes", |_, state: &PingState| {
                state.is_quiet() && state.said == [None, Some(Became::Begun)]
            }),
        ]
    }
}

impl PingRequest {
    /// What it does by a book, and the book after it. The last pings make no difference.
    fn decide(&self, book: &str) -> (String, PingDoes) {
        let book = PingBook::read(book).unwrap();
        let minute = |of: usize| at(60 * i64::try_from(of).unwrap());
        let book = self.over.iter().fold(book, |book, of| book.without(minute(*of)));
        let (kind, text) = (KINDS[usize::from(self.kind)], self.number.to_string());
        let ping = Ping::new(at(self.at), kind, None, None, &text);
        let (book, effect) = book.taking(&ping, Some((&OWING, 1)));
        let of = |nominal_at: chrono::DateTime<chrono::Utc>| {
            usize::try_from((nominal_at - at(0)).num_minutes()).unwrap()
        };
        let seconds = |until: chrono::DateTime<chrono::Utc>| (until - at(0)).num_seconds();
        let does = match effect {
            PingEffect::Repeated | PingEffect::Noted => PingDoes::Nothing,
            PingEffect::Starts { nominal_at, until } => {
                PingDoes::Opens { of: of(nominal_at), until: seconds(until), is_paid: false }
            }
            PingEffect::Pays { nominal_at, until } => {
                PingDoes::Opens { of: of(nominal_at), until: seconds(until), is_paid: true }
            }
            PingEffect::Ends { nominal_at, .. } => PingDoes::Ends { of: of(nominal_at) },
        };
        let text = book.to_string();
        let kept = text.lines().filter(|line| !line.starts_with("p "));
        (kept.flat_map(|line| [line, "\n"]).collect(), does)
    }
}

impl PingState {
    fn now(&self) -> i64 {
        TIMES[self.time]
    }

    fn is_quiet(&self) -> bool {
        let is_idle = self.queue.is_empty() && self.workers.is_empty() && self.requests.is_empty();
        is_idle && self.timers.is_empty() && self.time + 1 == TIMES.len()
    }

    /// Whether a message asks whether an occurrence has ended.
    fn asks(&self, of: usize) -> bool {
        let is_it = |it: &PingMessage| it.of == of && !it.is_own;
        self.queue.iter().any(is_it) || self.workers.iter().any(|it| is_it(&it.message))
    }

    /// Which number a claim has makes no difference.
    fn rename_claims(&mut self) {
        let items = self.items.iter().flatten().filter(|it| it.record.is_none());
        let used = items.filter_map(|it| it.claim).chain(self.workers.iter().map(|it| it.claim));
        let used: BTreeSet<u8> = used.collect();
        let place =
            |claim: u8| u8::try_from(used.iter().filter(|it| **it < claim).count()).unwrap();
        for item in self.items.iter_mut().flatten() {
            let is_over = item.record.is_some();
            item.claim = item.claim.map(|claim| if is_over { u8::MAX } else { place(claim) + 1 });
        }
        for worker in &mut self.workers {
            worker.claim = place(worker.claim) + 1;
        }
        self.claims = u8::try_from(used.len()).unwrap();
    }

    fn wrong(&self) -> Option<&'static str> {
        for (item, said) in self.items.iter().zip(self.said) {
            let Some(record) = item.as_ref().and_then(|item| item.record) else {
                if self.is_quiet() {
                    return Some("an occurrence never ends");
                }
                continue;
            };
            let expected = match said {
                None => Became::Missing,
                Some(Became::Begun) => Became::Late,
                Some(said) => said,
            };
            if record != expected {
                return Some("history says otherwise than the pings");
            }
        }
        None
    }
}

impl Owing {
    fn is(&self, mistake: PingMistake) -> bool {
        self.mistake == Some(mistake)
    }

    /// Stores what a ping does, if the book is as it was read and the attempt allows it.
    fn store(
        &self,
        state: &mut PingState,
        mut request: PingRequest,
        (as_read, book, does): (u8, String, PingDoes),
    ) {
        if as_read != state.book.0 && !self.is(PingMistake::BookHasNoCondition) {
            // It decides again.
            state.requests.push(request);
            return;
        }
        let became = if request.kind == 0 { Became::Well } else { Became::Badly };
        let (of, ending) = match does {
            PingDoes::Nothing => {
                if state.now() == request.at && request.kind < 2 {
                    let is_owed = |of: usize| {
                        let is_near = (FROM[of]..=UNTIL[of]).contains(&request.at);
                        let is_open = |it: &OwedItem| it.until >= request.at && it.ending.is_none();
                        match state.said[of] {
                            None => is_near,
                            Some(Became::Begun) => state.items[of].as_ref().is_some_and(is_open),
                            Some(_) => false,
                        }
                    };
                    if (0..COUNT).any(is_owed) {
                        state.wrong = Some("a ping does nothing, and one is owed");
                    }
                }
                state.book = (state.book.0 + 1, book);
                return;
            }
            PingDoes::Opens { of, until, is_paid } => {
                let is_held = |it: &OwedItem| it.claim.is_some() && it.record.is_none();
                let is_free = state.items[of]
                    .as_ref()
                    .is_none_or(|item| self.is(PingMistake::PingOverClaim) && is_held(item));
                if !is_free {
                    request.over.insert(of);
                    state.requests.push(request);
                    return;
                }
                if state.items[of].is_some() {
                    state.wrong = Some("a ping takes what a worker has claimed");
                }
                let ending = is_paid.then_some(became);
                if !self.is(PingMistake::PingOnlyNoted) {
                    let (claim, is_live, record) = (None, true, None);
                    state.items[of] = Some(OwedItem { claim, is_live, until, ending, record });
                    if !self.is(PingMistake::StartHasNoTimer) {
                        state.timers.insert(of);
                    }
                }
                (of, ending)
            }
            PingDoes::Ends { of } => {
                let may_end = |it: &&mut OwedItem| {
                    let is_over = it.record.is_some() || it.ending.is_some();
                    it.claim.is_none() && !is_over && it.until >= request.at
                };
                let Some(item) = state.items[of].as_mut().filter(may_end) else {
                    request.over.insert(of);
                    state.requests.push(request);
                    return;
                };
                item.ending = Some(became);
                (of, Some(became))
            }
        };
        if !matches!(state.said[of], None | Some(Became::Begun)) {
            state.wrong = Some("a ping pays what is paid");
        }
        state.said[of] = Some(ending.unwrap_or(Became::Begun));
        state.book = (state.book.0 + 1, book);
        if ending.is_some() {
            state.queue.push(PingMessage { of, is_own: false });
        }
    }

    fn step(state: &mut PingState, worker: PingWorker) {
        let PingWorker { message, claim, step } = worker;
        let (of, now) = (message.of, state.now());
        let item = state.items[of].as_mut();
        let next = match (step, item) {
            (PingStep::See, Some(OwedItem { record: Some(_), .. })) => Some(PingStep::RemoveTimer),
            (PingStep::See, Some(item)) if item.claim.is_none() => {
                if item.ending.is_none() && now > item.until {
                    // No ping has said how it ended: it is over.
                    item.ending = Some(Became::Late);
                }
                // Before that, the timer asks later.
                item.ending.map(|_| PingStep::RecordEnding)
            }
            // An ending is asked for of what is not there.
            (PingStep::See, None) if !message.is_own => Some(PingStep::RemoveTimer),
            (PingStep::See, _) => Some(PingStep::Claim),
            (PingStep::Claim, None) => {
                let (until, ending, record) = (UNTIL[of], None, None);
                let claim = Some(claim);
                state.items[of] = Some(OwedItem { claim, is_live: true, until, ending, record });
                Some(PingStep::Missing)
            }
            (PingStep::Claim, Some(item)) if item.claim.is_none() || item.record.is_some() => {
                Some(PingStep::See)
            }
            (PingStep::Claim, Some(item)) if !item.is_live => {
                (item.claim, item.is_live) = (Some(claim), true);
                Some(PingStep::Missing)
            }
            (PingStep::Claim, Some(_)) => {
                // Another worker has it.
                state.queue.push(message);
                return;
            }
            (PingStep::Missing, Some(item)) if item.claim == Some(claim) => {
                item.record = item.record.or(Some(Became::Missing));
                Some(PingStep::RemoveTimer)
            }
            (PingStep::Missing, _) => Some(PingStep::See),
            (PingStep::RecordEnding, item) => {
                if let Some(item) = item {
                    item.record = item.record.or(item.ending);
                }
                Some(PingStep::RemoveTimer)
            }
            (PingStep::RemoveTimer, _) => {
                state.timers.remove(&of);
                None
            }
        };
        if let Some(step) = next {
            state.workers.push(PingWorker { message, claim, step });
        }
    }
}
