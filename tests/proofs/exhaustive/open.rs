//! Attempts that stay open: the states, and the steps between them.
//!
//! The job has two occurrences. The target of the first one answers 202, also when it is made again, and of the
//! other one 200. Only one attempt may be at work, as with a turn or with the one seat of a collection. Counting
//! and changes of the job are explored by the other model.

use std::collections::{BTreeMap, BTreeSet};

use minutehand_store_dynamodb::conditions::{CLAIM, TAKE_OVER, UNDER_CLAIM};
use stateright::{Model, Property};

use super::model::{Id, Mishaps, NO_CLAIM};
use super::open_product::{
    EarlierVersion, MeetsOpen, Seen, finishes_with, is_said, may_begin, meets, opens,
    records_ending, writes,
};
use super::product::retry;

const FIRST: Id = Id { occurrence: 0, number: 0 };
const RETRIED: Id = Id { occurrence: 0, number: 1 };
const OTHER: Id = Id { occurrence: 1, number: 0 };
/// All attempts.
pub(super) const ATTEMPTS: [Id; 3] = [FIRST, RETRIED, OTHER];

/// How much may happen, and go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct OpenBudget {
    /// Reports of targets, each at any moment after they were called.
    pub(super) reports: u8,
    /// Users who cancel.
    pub(super) cancels: u8,
    pub(super) mishaps: Mishaps,
    /// Messages that workers of an earlier version get.
    pub(super) earlier: u8,
    /// Whether the other occurrence has ended, so that none waits for the place.
    pub(super) is_alone: bool,
}

/// A mistake: a condition that is left out, or a step too few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenMistake {
    /// An ending is said though one is said.
    LastEndingCounts,
    /// A report counts after the deadline.
    LateReportCounts,
    /// A report before the answer is answered and forgotten.
    EarlyReportIsLost,
    /// An attempt is left open though its end was reported.
    OpensWhatEnded,
    /// At the deadline a failure is recorded without an ending that says so.
    DeadlineIsUnsaid,
    /// An attempt is cancelled that is not open.
    CancelsUnopened,
    /// The lease of an open attempt ends, which an earlier version sees.
    OpenLapses,
    /// The place of an open attempt ends with the lease of its worker.
    PlaceLapses,
    /// The place of an open attempt is not given back.
    PlaceStays,
    /// An open attempt has no timer.
    DeadlineIsLost,
    /// The timer is removed before what follows is sent.
    TimerGoesFirst,
    /// The message of an ending that is recorded is acknowledged, and nothing follows.
    RecordedAcks,
    /// A claim is taken over although its end was reported since it was seen.
    TakeOverEnded,
    /// A job is finished although an attempt of it is open.
    FinishesOverOpen,
}

impl OpenMistake {
    pub(super) const ALL: [Self; 14] = [
        Self::LastEndingCounts,
        Self::LateReportCounts,
        Self::EarlyReportIsLost,
        Self::OpensWhatEnded,
        Self::DeadlineIsUnsaid,
        Self::CancelsUnopened,
        Self::OpenLapses,
        Self::PlaceLapses,
        Self::PlaceStays,
        Self::DeadlineIsLost,
        Self::TimerGoesFirst,
        Self::RecordedAcks,
        Self::TakeOverEnded,
        Self::FinishesOverOpen,
    ];
}

/// What ends an open attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Ender {
    Success,
    Failure,
    Deadline,
    Cancel,
}

/// Where the time is, seen from the deadline of an open attempt. Around it, clocks differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Deadline {
    Before,
    Around,
    After,
}

/// An attempt in the store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct OpenItem {
    pub(super) claim: u8,
    pub(super) claims: u8,
    /// Whether the lease is not over.
    pub(super) is_live: bool,
    /// Whether its target was called.
    is_called: bool,
    pub(super) open: Option<Deadline>,
    pub(super) ending: Option<Ender>,
    /// What was answered first to have ended it.
    answered: Option<Ender>,
    /// Whether it succeeded.
    pub(super) record: Option<bool>,
}

impl OpenItem {
    /// An attempt that is claimed.
    const fn new(claim: u8) -> Self {
        Self {
            claim,
            claims: 1,
            is_live: true,
            is_called: false,
            open: None,
            ending: None,
            answered: None,
            record: None,
        }
    }
}

/// What the one attempt has that may be at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) id: Id,
    pub(super) claim: u8,
    /// Whether its lease is not over.
    pub(super) is_live: bool,
    /// Whether it is held for as long as the attempt is open.
    pub(super) is_kept: bool,
}

/// A message: an attempt, or the question whether an open one has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Message {
    id: Id,
    asks_for_end: bool,
}

/// What a worker does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum OpenStep {
    Claim,
    TakeOver {
        seen: u8,
        claims: u8,
    },
    /// Take the place, or wait for it.
    Take,
    /// The target works.
    Act,
    Answered,
    Record {
        ok: bool,
    },
    /// Read what became of an open attempt.
    See,
    /// Say that its deadline is over.
    Say {
        has_timer: bool,
    },
    GiveBack {
        by: Ender,
        has_timer: bool,
    },
    RecordEnding {
        by: Ender,
        has_timer: bool,
    },
    Follow {
        ok: bool,
        has_timer: bool,
    },
    RemoveTimer,
    Acknowledge,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct OpenWorker {
    message: Message,
    claim: u8,
    step: OpenStep,
    is_stalled: bool,
}

/// Everything that lasts, and the workers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct OpenState {
    items: BTreeMap<Id, OpenItem>,
    place: Option<Place>,
    /// The timers of deadlines.
    timers: BTreeSet<Id>,
    queue: Vec<Message>,
    workers: [Option<OpenWorker>; 2],
    left: OpenBudget,
    pub(super) wrong: Option<&'static str>,
}

/// What may happen next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OpenAction {
    Receive {
        worker: usize,
        message: usize,
    },
    Step {
        worker: usize,
    },
    Crash {
        worker: usize,
    },
    Copy {
        worker: usize,
    },
    LeaseEnds {
        id: Id,
    },
    PlaceEnds,
    /// A worker of an earlier version gets a message. It cannot read the job, and gives its claim back.
    Earlier {
        message: usize,
    },
    Lose {
        message: usize,
    },
    /// A target reports.
    Report {
        id: Id,
        by: Ender,
    },
    Cancel {
        id: Id,
    },
    TimePasses {
        id: Id,
    },
    TimerFires {
        id: Id,
    },
}

pub(super) struct Opening {
    pub(super) budget: OpenBudget,
    pub(super) mistake: Option<OpenMistake>,
}

impl Model for Opening {
    type State = OpenState;
    type Action = OpenAction;

    fn init_states(&self) -> Vec<OpenState> {
        let message = |id| Message { id, asks_for_end: false };
        let is_alone = self.budget.is_alone;
        let begun = OpenItem::new(NO_CLAIM);
        let ended = OpenItem { is_called: true, record: Some(true), ..begun };
        let waits = [FIRST, OTHER].into_iter().filter(|id| *id == FIRST || !is_alone);
        vec![OpenState {
            items: is_alone.then_some((OTHER, ended)).into_iter().collect(),
            place: None,
            timers: BTreeSet::new(),
            queue: waits.map(message).collect(),
            workers: [None, None],
            left: self.budget,
            wrong: None,
        }]
    }

    fn actions(&self, state: &OpenState, actions: &mut Vec<OpenAction>) {
        if state.wrong.is_some() {
            return;
        }
        let is_first = |at: &usize| *at == 0 || state.queue[at - 1] != state.queue[*at];
        let messages = || (0..state.queue.len()).filter(is_first);
        if let Some(worker) = state.workers.iter().position(Option::is_none) {
            actions.extend(messages().map(|message| OpenAction::Receive { worker, message }));
        }
        for (worker, is) in state.workers.iter().enumerate() {
            let Some(is) = is else { continue };
            actions.push(OpenAction::Step { worker });
            if state.left.mishaps.crashes > 0 {
                actions.push(OpenAction::Crash { worker });
            }
            if state.left.mishaps.copies > 0 && !is.message.asks_for_end {
                actions.push(OpenAction::Copy { worker });
            }
        }
        if state.left.earlier > 0 {
            // They cannot read the other messages, which come back.
            let attempts = messages().filter(|at| !state.queue[*at].asks_for_end);
            actions.extend(attempts.map(|message| OpenAction::Earlier { message }));
        }
        for (id, item) in &state.items {
            self.actions_of(state, (*id, item), actions);
        }
        if state.left.mishaps.losses > 0 {
            let asking = messages().filter(|at| state.queue[*at].asks_for_end);
            actions.extend(asking.map(|message| OpenAction::Lose { message }));
        }
        for id in &state.timers {
            let is_due = state.items.get(id).is_none_or(|it| it.open != Some(Deadline::Before));
            if is_due && !state.has_message(*id, true) {
                actions.push(OpenAction::TimerFires { id: *id });
            }
        }
        let is_abandoned = |place: Place| {
            place.is_live && !place.is_kept && state.holder(place.id, place.claim).is_none()
        };
        if state.place.is_some_and(is_abandoned) {
            actions.push(OpenAction::PlaceEnds);
        }
    }

    fn next_state(&self, last: &OpenState, action: OpenAction) -> Option<OpenState> {
        let mut state = last.clone();
        match action {
            OpenAction::Receive { worker, message } => {
                let message = state.queue.remove(message);
                let asks = message.asks_for_end;
                let step = if asks { OpenStep::See } else { OpenStep::Claim };
                let claim = if asks { NO_CLAIM } else { state.unused_claim() };
                state.workers[worker] =
                    Some(OpenWorker { message, claim, step, is_stalled: false });
            }
            OpenAction::Step { worker } => self.step(&mut state, worker),
            OpenAction::Crash { worker } => {
                state.left.mishaps.crashes -= 1;
                let message = state.workers[worker].take()?.message;
                state.send(message);
            }
            OpenAction::Copy { worker } => {
                state.left.mishaps.copies -= 1;
                let message = state.workers[worker].as_ref()?.message;
                state.send(message);
            }
            OpenAction::LeaseEnds { id } => state.lease_ends(id),
            OpenAction::PlaceEnds => state.place.as_mut()?.is_live = false,
            OpenAction::Earlier { message } => {
                state.left.earlier -= 1;
                let id = state.queue[message].id;
                if let Some(EarlierVersion::TakesOver) =
                    state.items.get(&id).map(MeetsOpen::earlier)
                {
                    state.items.remove(&id);
                }
            }
            OpenAction::Lose { message } => {
                state.left.mishaps.losses -= 1;
                state.queue.remove(message);
            }
            OpenAction::Report { id, by } => {
                state.left.reports -= 1;
                self.report(&mut state, id, by);
            }
            OpenAction::Cancel { id } => {
                state.left.cancels -= 1;
                self.report(&mut state, id, Ender::Cancel);
            }
            OpenAction::TimePasses { id } => {
                let open = &mut state.items.get_mut(&id)?.open;
                *open = match open {
                    Some(Deadline::Before) => Some(Deadline::Around),
                    _ => Some(Deadline::After),
                };
            }
            OpenAction::TimerFires { id } => state.send(Message { id, asks_for_end: true }),
        }
        state.forget();
        let wrong = self.wrong(last, &state);
        state.wrong = state.wrong.or(wrong);
        // Which worker is which makes no difference.
        state.workers.sort();
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always("nothing is wrong", |_, state: &OpenState| state.wrong.is_none()),
            Property::sometimes("its deadline ends it", |_, state: &OpenState| {
                state.ends_by(Ender::Deadline)
            }),
        ];
        if self.budget.reports > 0 {
            properties.push(Property::sometimes("a report ends it", |_, state: &OpenState| {
                state.ends_by(Ender::Success)
            }));
            let is_early = |_: &Self, state: &OpenState| {
                let first = state.items.get(&FIRST);
                state.is_quiet() && first.is_some_and(|it| it.open.is_none() && it.ending.is_some())
            };
            properties.push(Property::sometimes("a report before its answer ends it", is_early));
        }
        properties
    }
}

impl OpenState {
    fn is_quiet(&self) -> bool {
        let is_idle = self.queue.is_empty() && self.workers.iter().all(Option::is_none);
        is_idle && self.timers.is_empty()
    }

    fn ends_by(&self, by: Ender) -> bool {
        self.is_quiet() && self.items.get(&FIRST).is_some_and(|it| it.ending == Some(by))
    }

    fn send(&mut self, message: Message) {
        self.queue.push(message);
        self.queue.sort();
    }

    fn holder(&self, id: Id, claim: u8) -> Option<&OpenWorker> {
        self.workers.iter().flatten().find(|it| it.message.id == id && it.claim == claim)
    }

    /// Whether something is under way for an attempt, or for the end of an open one.
    fn has_message(&self, id: Id, asks_for_end: bool) -> bool {
        let is_it = |it: &Message| it.id == id && (!asks_for_end || it.asks_for_end);
        self.queue.iter().any(is_it) || self.workers.iter().flatten().any(|it| is_it(&it.message))
    }

    fn unused_claim(&self) -> u8 {
        let is_used = |claim: &u8| {
            self.items.values().any(|item| item.claim == *claim)
                || self.place.is_some_and(|place| place.claim == *claim)
                || self.workers.iter().flatten().any(|it| {
                    it.claim == *claim
                        || matches!(it.step, OpenStep::TakeOver { seen, .. } if seen == *claim)
                })
        };
        (0..NO_CLAIM).find(|claim| !is_used(claim)).expect("a claim is unused")
    }

    fn lease_ends(&mut self, id: Id) {
        let Some(item) = self.items.get_mut(&id) else { return };
        item.is_live = false;
        let claim = item.claim;
        if let Some(place) = self.place.as_mut().filter(|it| it.id == id && it.claim == claim) {
            place.is_live &= place.is_kept;
        }
        let mut workers = self.workers.iter_mut().flatten();
        if let Some(worker) = workers.find(|it| it.message.id == id && it.claim == claim) {
            worker.is_stalled = true;
            self.left.mishaps.stalls -= 1;
        }
    }

    fn give_back(&mut self, id: Id, claim: u8) {
        self.place = self.place.filter(|place| (place.id, place.claim) != (id, claim));
    }

    /// What makes no difference any more is the same in all states.
    fn forget(&mut self) {
        for (id, item) in &mut self.items {
            if item.record.is_none() {
                continue;
            }
            item.open = item.open.map(|_| Deadline::After);
            let claim = item.claim;
            if self.place.is_none_or(|place| (place.id, place.claim) != (*id, claim)) {
                item.claim = NO_CLAIM;
            }
        }
    }

    /// Whether an attempt is at work: for a worker, or because it is open.
    fn is_at_work(&self, id: Id) -> bool {
        let acts = |it: &OpenWorker| {
            it.message.id == id && matches!(it.step, OpenStep::Act | OpenStep::Answered)
        };
        let is_open =
            |it: &OpenItem| it.open.is_some() && it.ending.is_none() && it.record.is_none();
        self.workers.iter().flatten().any(acts) || self.items.get(&id).is_some_and(is_open)
    }
}

impl Opening {
    fn is(&self, mistake: OpenMistake) -> bool {
        self.mistake == Some(mistake)
    }

    /// What may happen to an attempt that has begun.
    fn actions_of(&self, state: &OpenState, of: (Id, &OpenItem), actions: &mut Vec<OpenAction>) {
        let (id, item) = of;
        let OpenBudget { reports, cancels, mishaps, .. } = state.left;
        if item.record.is_none() {
            let is_held = state.holder(id, item.claim).is_some();
            let lapses = item.open.is_none() || self.is(OpenMistake::OpenLapses);
            if item.is_live && lapses && (!is_held || mishaps.stalls > 0) {
                actions.push(OpenAction::LeaseEnds { id });
            }
            if item.open.is_some_and(|deadline| deadline != Deadline::After) {
                actions.push(OpenAction::TimePasses { id });
            }
        }
        if reports > 0 && item.is_called && id != OTHER {
            let both = [Ender::Success, Ender::Failure];
            actions.extend(both.map(|by| OpenAction::Report { id, by }));
        }
        if cancels > 0 && id != OTHER {
            actions.push(OpenAction::Cancel { id });
        }
    }

    /// Says how an attempt ends; whether it is the first to say so.
    fn say(&self, state: &mut OpenState, id: Id, by: Ender) -> bool {
        let Some(item) = state.items.get_mut(&id).filter(|it| it.record.is_none()) else {
            return false;
        };
        let is_first = item.ending.is_none();
        let may_be_said = is_said(item, by)
            || self.is(OpenMistake::LastEndingCounts)
            || self.is(OpenMistake::LateReportCounts) && is_first && by.is_report()
            || self.is(OpenMistake::CancelsUnopened) && is_first && by == Ender::Cancel;
        if may_be_said {
            item.answered.get_or_insert(by);
            if !(self.is(OpenMistake::EarlyReportIsLost) && item.open.is_none()) {
                item.ending = Some(by);
            }
        }
        may_be_said
    }

    /// A target or a user says how an attempt ends, and asks for what follows.
    fn report(&self, state: &mut OpenState, id: Id, by: Ender) {
        let is_first = self.say(state, id, by);
        // Who says what was said before asks again, because that message may be lost.
        let is_said =
            |it: &OpenItem| it.ending.is_some() && it.open.is_some() && it.record.is_none();
        let is_again = state.items.get(&id).is_some_and(is_said) && !state.has_message(id, true);
        if is_first || is_again {
            state.send(Message { id, asks_for_end: true });
        }
    }

    /// A worker does its next step.
    fn step(&self, state: &mut OpenState, worker: usize) {
        let Some(OpenWorker { message, claim, step, is_stalled }) = state.workers[worker].clone()
        else {
            return;
        };
        let id = message.id;
        let item = state.items.get(&id).cloned();
        let mut claim = claim;
        let next = match step {
            OpenStep::Claim => {
                let next = Self::claim(state, id, claim);
                let ends = matches!(next, Some(OpenStep::GiveBack { .. } | OpenStep::Say { .. }));
                if let Some(it) = item.filter(|_| ends) {
                    claim = it.claim;
                }
                next
            }
            OpenStep::TakeOver { seen, claims } => {
                let is_it = writes(TAKE_OVER, item.as_ref(), seen);
                let mistaken = |it: &OpenItem| {
                    self.is(OpenMistake::TakeOverEnded) && it.claim == seen && it.record.is_none()
                };
                if let Some(it) = item.filter(|it| is_it || mistaken(it)) {
                    state.items.insert(id, OpenItem { claim, claims, is_live: true, ..it });
                    Some(OpenStep::Take)
                } else {
                    Some(OpenStep::Claim)
                }
            }
            OpenStep::Take => Self::take(state, id, claim),
            OpenStep::Act => Some(OpenStep::Answered),
            OpenStep::Answered if id == OTHER => Some(OpenStep::Record { ok: true }),
            OpenStep::Answered => self.leave_open(state, id, claim),
            OpenStep::Record { ok } => {
                let record = item.as_ref().and_then(|it| it.record);
                let is_mine = writes(UNDER_CLAIM, item.as_ref(), claim);
                if let Some(it) = state.items.get_mut(&id).filter(|_| is_mine) {
                    it.record = Some(ok);
                }
                state.give_back(id, claim);
                let ended = if is_mine { Some(ok) } else { record };
                ended.map(|ok| OpenStep::Follow { ok, has_timer: false })
            }
            step => self.end_step(state, id, step, &mut claim),
        };
        state.workers[worker] =
            next.map(|step| OpenWorker { message, claim: step.claim(claim), step, is_stalled });
        if state.workers[worker].is_none() && step != OpenStep::Acknowledge {
            // Another worker has the attempt, or the place: the message comes back.
            state.send(message);
        }
    }

    /// The steps of a worker that ends an attempt which was open, and those after each record.
    fn end_step(
        &self,
        state: &mut OpenState,
        id: Id,
        step: OpenStep,
        claim: &mut u8,
    ) -> Option<OpenStep> {
        let item = state.items.get(&id).cloned();
        match step {
            OpenStep::See => {
                // It works under the claim of the attempt that is open.
                *claim = item.as_ref().map_or(NO_CLAIM, |it| it.claim);
                match item {
                    None => Some(OpenStep::RemoveTimer),
                    Some(OpenItem { record: Some(_), .. })
                        if self.is(OpenMistake::RecordedAcks) =>
                    {
                        Some(OpenStep::RemoveTimer)
                    }
                    Some(OpenItem { record: Some(ok), .. }) => {
                        Some(OpenStep::Follow { ok, has_timer: true })
                    }
                    Some(it) if it.open.is_some() => Some(Self::end_if_over(&it)),
                    Some(_) => {
                        *claim = state.unused_claim();
                        Some(OpenStep::Claim)
                    }
                }
            }
            OpenStep::Say { has_timer } if self.is(OpenMistake::DeadlineIsUnsaid) => {
                Some(OpenStep::RecordEnding { by: Ender::Deadline, has_timer })
            }
            OpenStep::Say { has_timer } => {
                self.say(state, id, Ender::Deadline);
                let said = state.items.get(&id).filter(|it| it.record.is_none());
                match said.and_then(|it| it.ending) {
                    Some(by) => Some(OpenStep::GiveBack { by, has_timer }),
                    None => Some(OpenStep::Acknowledge),
                }
            }
            OpenStep::GiveBack { by, has_timer } => {
                if !self.is(OpenMistake::PlaceStays) {
                    state.give_back(id, *claim);
                }
                Some(OpenStep::RecordEnding { by, has_timer })
            }
            OpenStep::RecordEnding { by, has_timer } => {
                let ok = by.succeeds();
                let may = records_ending(item.as_ref())
                    || self.is(OpenMistake::DeadlineIsUnsaid)
                        && item.as_ref().is_some_and(|it| it.record.is_none());
                if let Some(it) = state.items.get_mut(&id).filter(|_| may) {
                    it.record = Some(ok);
                }
                let record = state.items.get(&id).and_then(|it| it.record);
                record.map(|ok| OpenStep::Follow { ok, has_timer })
            }
            OpenStep::Follow { has_timer: true, .. } if self.is(OpenMistake::TimerGoesFirst) => {
                state.timers.remove(&id);
                let ok = item.and_then(|it| it.record).unwrap_or_default();
                Some(OpenStep::Follow { ok, has_timer: false })
            }
            OpenStep::Follow { ok, has_timer } => {
                if let Some(id) = retry(id, ok) {
                    state.send(Message { id, asks_for_end: false });
                }
                Some(if has_timer { OpenStep::RemoveTimer } else { OpenStep::Acknowledge })
            }
            OpenStep::RemoveTimer => {
                state.timers.remove(&id);
                Some(OpenStep::Acknowledge)
            }
            _ => None,
        }
    }

    fn claim(state: &mut OpenState, id: Id, claim: u8) -> Option<OpenStep> {
        let Some(item) = state.items.get(&id) else {
            assert!(writes(CLAIM, None, claim), "a claim begins what has not begun");
            state.items.insert(id, OpenItem::new(claim));
            return Some(OpenStep::Take);
        };
        match MeetsOpen::of(item, meets(id, claim, item)) {
            MeetsOpen::TakesOver { claims } => {
                Some(OpenStep::TakeOver { seen: item.claim, claims })
            }
            MeetsOpen::Won => Some(OpenStep::Take),
            MeetsOpen::Ended { ok } => Some(OpenStep::Follow { ok, has_timer: false }),
            MeetsOpen::Open(seen) => Some(Self::end_if_over(&seen)),
            MeetsOpen::Held => None,
        }
    }

    /// What a worker does that finds an attempt open, or its end reported while its worker died.
    fn end_if_over(item: &OpenItem) -> OpenStep {
        let has_timer = item.open.is_some();
        match (item.ending, item.open) {
            (Some(by), _) => OpenStep::GiveBack { by, has_timer },
            (None, Some(Deadline::Around | Deadline::After)) => OpenStep::Say { has_timer },
            (None, _) => OpenStep::Acknowledge,
        }
    }

    /// Takes the place and acts; without it the claim is given back.
    fn take(state: &mut OpenState, id: Id, claim: u8) -> Option<OpenStep> {
        let is_mine = |it: &&mut OpenItem| it.claim == claim && it.record.is_none();
        let item = state.items.get_mut(&id).filter(is_mine)?;
        if may_begin(state.place.as_ref(), (id, claim)) {
            item.is_called = true;
            state.place = Some(Place { id, claim, is_live: item.is_live, is_kept: false });
            return Some(OpenStep::Act);
        }
        // What was called is owed, and keeps its claim for the next worker.
        if item.is_called {
            item.is_live = false;
        } else {
            state.items.remove(&id);
        }
        None
    }

    fn leave_open(&self, state: &mut OpenState, id: Id, claim: u8) -> Option<OpenStep> {
        let item = state.items.get_mut(&id)?;
        let is_mistaken = self.is(OpenMistake::OpensWhatEnded)
            && (item.claim, item.open, item.record) == (claim, None, None);
        match opens(item, claim) {
            Seen::Opens => {}
            _ if is_mistaken => {}
            Seen::Open => return Some(OpenStep::Acknowledge),
            Seen::Over(by) => return Some(OpenStep::Record { ok: by.succeeds() }),
            Seen::Ended { ok } => return Some(OpenStep::Follow { ok, has_timer: false }),
            Seen::Lost => return None,
        }
        item.open = Some(Deadline::Before);
        item.is_live = true;
        if !self.is(OpenMistake::DeadlineIsLost) {
            state.timers.insert(id);
        }
        let mine = state.place.as_mut().filter(|it| (it.id, it.claim) == (id, claim));
        if let Some(place) = mine.filter(|_| !self.is(OpenMistake::PlaceLapses)) {
            (place.is_live, place.is_kept) = (true, true);
        }
        Some(OpenStep::Acknowledge)
    }

    /// What is wrong with a state that follows another.
    fn wrong(&self, last: &OpenState, state: &OpenState) -> Option<&'static str> {
        for id in ATTEMPTS {
            let (before, after) = (last.items.get(&id), state.items.get(&id));
            if let Some(wrong) = before.and_then(|before| Self::changed(before, after)) {
                return Some(wrong);
            }
            if let Some(wrong) = after.and_then(|after| self.item_is_wrong(state, (id, after))) {
                return Some(wrong);
            }
        }
        let is_exact = state.left.mishaps.stalls == self.budget.mishaps.stalls;
        if is_exact && ATTEMPTS.into_iter().filter(|id| state.is_at_work(*id)).count() > 1 {
            return Some("two are at work at once");
        }
        let first = ending(state, 0);
        let other = ending(state, 1);
        let finishes = self.finishes(state);
        if finishes.is_some() && (first.is_none() || other.is_none()) {
            return Some("final too soon");
        }
        if !state.is_quiet() {
            return None;
        }
        if first.is_none() {
            return Some("an occurrence that was open never ends");
        }
        if other.is_none() {
            return Some("an occurrence never ends that waited for another");
        }
        (finishes != other).then_some("another final state")
    }

    /// What must not happen to an attempt.
    fn changed(before: &OpenItem, after: Option<&OpenItem>) -> Option<&'static str> {
        let Some(after) = after else {
            return before.is_called.then_some("an attempt is gone that has begun");
        };
        if before.ending.is_some() && after.ending != before.ending {
            return Some("an ending changes");
        }
        if before.record.is_some() && after.record != before.record {
            return Some("a record changes");
        }
        let has_ended = before.open.is_some() || before.ending.is_some();
        if has_ended && after.record.is_none() && after.claim != before.claim {
            return Some("it is taken over, though it is open or has ended");
        }
        if before.ending.is_some() && before.open.is_none() && after.open.is_some() {
            return Some("it is left open, though it has ended");
        }
        let said = after.ending.filter(|_| before.ending.is_none());
        match (said, before.open) {
            (Some(by), Some(Deadline::After)) if by.is_report() => Some("a report comes too late"),
            (Some(Ender::Deadline), None | Some(Deadline::Before)) => {
                Some("its deadline is not over")
            }
            (Some(Ender::Cancel), None) => Some("it is cancelled, and not open"),
            _ => None,
        }
    }

    fn item_is_wrong(
        &self,
        state: &OpenState,
        (id, item): (Id, &OpenItem),
    ) -> Option<&'static str> {
        if let Some(ok) = item.record {
            if item.open.is_some() && item.ending.is_none() {
                return Some("it is recorded, and nothing has ended it");
            }
            if item.ending.is_some_and(|by| ok != by.succeeds()) {
                return Some("history says otherwise than what has ended it");
            }
            if item.answered != item.ending {
                return Some("an ending is answered, and does not count");
            }
            let is_its = |place: Place| place.id == id && place.is_kept;
            if state.place.is_some_and(is_its) {
                return Some("what has ended keeps its place");
            }
            return None;
        }
        let is_well = state.left.mishaps == self.budget.mishaps;
        if is_well && item.ending.is_some() && !state.has_message(id, false) {
            return Some("what was said waits for its deadline");
        }
        None
    }

    /// The state in which the job would finish now.
    fn finishes(&self, state: &OpenState) -> Option<bool> {
        let items = ATTEMPTS.map(|id| {
            let item = state.items.get(&id);
            let is_mistaken = self.is(OpenMistake::FinishesOverOpen)
                && item.is_some_and(|item| item.open.is_some() && item.record.is_none());
            item.map(|item| if is_mistaken { Some(false) } else { item.record })
        });
        let is_blind = self.is(OpenMistake::FinishesOverOpen);
        let timers = ATTEMPTS.map(|id| state.timers.contains(&id) && !is_blind);
        finishes_with((items, timers))
    }
}

impl OpenStep {
    /// The claim that matters from this step on.
    const fn claim(self, claim: u8) -> u8 {
        match self {
            Self::Follow { .. } | Self::RemoveTimer | Self::Acknowledge | Self::See => NO_CLAIM,
            _ => claim,
        }
    }
}

/// How an occurrence ended, if it has.
fn ending(state: &OpenState, occurrence: u8) -> Option<bool> {
    let mut all = ATTEMPTS.into_iter().filter(|id| id.occurrence == occurrence);
    let record = |id: Id| state.items.get(&id).and_then(|item| item.record);
    let last = all.find(|id| record(*id) != Some(false) || retry(*id, false).is_none())?;
    record(last)
}
