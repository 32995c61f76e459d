//! The states, and the steps between them.

use std::collections::BTreeMap;

use minutehand_store_dynamodb::conditions::{CLAIM, TAKE_OVER, UNDER_CLAIM};
use stateright::{Model, Property};

use super::product::{
    OCCURRENCES, OnClaim, RETRIES, finishes, holds_for, is_counted, is_current, may_count,
    may_finish, on_claim, retry, starts,
};

/// The message that asks for the check whether the job has finished.
const CHECK: Id = Id { occurrence: u8::MAX, number: 0 };

/// The timing that the job has: all its occurrences have fallen due before it is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Phase {
    On,
    Off,
    /// Enabled again, so that the job goes on with its last occurrence.
    Again,
}

/// An attempt of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id {
    pub(super) occurrence: u8,
    pub(super) number: u8,
}

/// How much may go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Mishaps {
    /// Workers that die.
    pub(super) crashes: u8,
    /// Answers of the store or the queue that are lost. Of an open attempt: messages that are lost which ask
    /// whether it has ended.
    pub(super) losses: u8,
    /// Messages that are delivered a second time.
    pub(super) copies: u8,
    /// Leases that end while their worker goes on.
    pub(super) stalls: u8,
}

impl Mishaps {
    pub(super) const NONE: Self = Self { crashes: 0, losses: 0, copies: 0, stalls: 0 };
}

/// How much may happen, and go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Budget {
    pub(super) mishaps: Mishaps,
    /// How often the job is disabled and enabled again, each at any moment.
    pub(super) changes: u8,
}

/// Stands for a claim where there is none.
pub(super) const NO_CLAIM: u8 = u8::MAX;

/// A mistake: a condition that is left out, or a step too few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mistake {
    /// A claim is put over another one.
    ClaimReplaces,
    /// A claim is taken over though it is not the one that was seen any more.
    TakeOverUnseen,
    /// A record is written by a worker that does not hold the claim.
    RecordUnclaimed,
    /// A record is put over another one.
    RecordReplaces,
    /// A message whose attempt has ended is acknowledged, and nothing follows.
    EndedAcks,
    /// A message whose attempt another worker holds is acknowledged.
    OpenAcks,
    /// A message is acknowledged before its action.
    AckFirst,
    /// An attempt is counted though it is among those that are counted.
    CountBlind,
    /// Counters are added to, whatever was counted meanwhile.
    CountUnconditional,
    /// A message is acknowledged before what follows is sent.
    FollowLast,
    /// The end of the last occurrence ends the job.
    FinalOnLast,
    /// A check ends the job though an attempt is open.
    BlindFinish,
    /// A job that is enabled again has ended.
    EndsWhenEnabled,
    /// What was dropped while the job was disabled is not sent again.
    NotSentAgain,
    /// A job is finished by what was read before it changed.
    FinishesUnseen,
}

impl Mistake {
    pub(super) const ALL: [Self; 15] = [
        Self::ClaimReplaces,
        Self::TakeOverUnseen,
        Self::RecordUnclaimed,
        Self::RecordReplaces,
        Self::EndedAcks,
        Self::OpenAcks,
        Self::AckFirst,
        Self::CountBlind,
        Self::CountUnconditional,
        Self::FollowLast,
        Self::FinalOnLast,
        Self::BlindFinish,
        Self::EndsWhenEnabled,
        Self::NotSentAgain,
        Self::FinishesUnseen,
    ];
}

/// An attempt in the store: a claim, and once it has ended, a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Item {
    pub(super) claim: u8,
    pub(super) claims: u8,
    /// Whether the lease is not over.
    pub(super) is_live: bool,
    /// Whether the action succeeded.
    pub(super) record: Option<bool>,
}

/// What a worker does next.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    Claim,
    /// Take a claim over that was seen.
    TakeOver {
        seen: Item,
        claims: u8,
    },
    Check,
    Act,
    Record {
        ok: bool,
    },
    /// Send what follows.
    Follow {
        ok: bool,
    },
    /// Read what is counted.
    Count {
        ok: bool,
    },
    /// Count, if no other attempt was counted since.
    Add {
        ok: bool,
        as_read: Vec<Id>,
    },
    /// Read which attempts have ended.
    Look,
    /// Finish the job, if it has not changed since it was looked at.
    Finish {
        state: bool,
        phase: Phase,
    },
    Acknowledge,
}

impl Step {
    /// Whether the worker has recorded its attempt, so that its claim no longer matters.
    const fn is_after_record(&self) -> bool {
        matches!(
            self,
            Self::Follow { .. }
                | Self::Count { .. }
                | Self::Add { .. }
                | Self::Look
                | Self::Finish { .. }
                | Self::Acknowledge
        )
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Worker {
    id: Id,
    claim: u8,
    step: Step,
    /// Whether its lease ended while it worked, which no function of AWS lives to see.
    is_stalled: bool,
    /// The job as it was read before the action; what follows a record is decided by it.
    loaded: Option<Phase>,
}

/// Everything that lasts, and the workers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    items: BTreeMap<Id, Item>,
    counted: Vec<Id>,
    executions: u8,
    failures: u8,
    phase: Phase,
    /// The final state, if it has one: whether it is completed.
    outcome: Option<bool>,
    /// Messages that no worker has.
    queue: Vec<Id>,
    workers: [Option<Worker>; 2],
    left: Budget,
    /// What no state may show.
    pub(super) wrong: Option<&'static str>,
}

/// What may happen next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    Receive {
        worker: usize,
        message: usize,
    },
    Step {
        worker: usize,
    },
    Answer {
        worker: usize,
        ok: bool,
    },
    /// A step is done, its answer is lost, and the same request is sent again.
    Again {
        worker: usize,
    },
    /// A step is done, its answer is lost, and the worker gives the message up.
    GiveUp {
        worker: usize,
    },
    Crash {
        worker: usize,
    },
    /// Another delivery of a message that a worker has.
    Copy {
        worker: usize,
    },
    LeaseEnds {
        id: Id,
    },
    /// A user disables the job, or enables it again.
    Switch,
}

pub(super) struct Firing {
    pub(super) budget: Budget,
    pub(super) mistake: Option<Mistake>,
}

impl Model for Firing {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let first = |occurrence| Id { occurrence, number: 0 };
        vec![State {
            items: BTreeMap::new(),
            counted: Vec::new(),
            executions: 0,
            failures: 0,
            phase: Phase::On,
            outcome: None,
            queue: (0..OCCURRENCES).map(first).collect(),
            workers: [None, None],
            left: self.budget,
            wrong: None,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.wrong.is_some() {
            return;
        }
        for (worker, is) in state.workers.iter().enumerate() {
            let Some(is) = is else {
                let messages = 0..state.queue.len();
                let is_first = |at: &usize| *at == 0 || state.queue[at - 1] != state.queue[*at];
                let messages = messages.filter(is_first);
                actions.extend(messages.map(|message| Action::Receive { worker, message }));
                continue;
            };
            if matches!(is.step, Step::Act) {
                actions.extend([true, false].map(|ok| Action::Answer { worker, ok }));
            } else {
                actions.push(Action::Step { worker });
                if state.left.mishaps.losses > 0 {
                    actions.extend([Action::Again { worker }, Action::GiveUp { worker }]);
                }
            }
            if state.left.mishaps.crashes > 0 {
                actions.push(Action::Crash { worker });
            }
            if state.left.mishaps.copies > 0 {
                actions.push(Action::Copy { worker });
            }
        }
        if state.phase == Phase::Off || (state.left.changes > 0 && state.outcome.is_none()) {
            actions.push(Action::Switch);
        }
        for (id, item) in &state.items {
            let is_held = state.holder(*id, item.claim).is_some();
            if item.is_live && item.record.is_none() && (!is_held || state.left.mishaps.stalls > 0)
            {
                actions.push(Action::LeaseEnds { id: *id });
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Receive { worker, message } => {
                let id = state.queue.remove(message);
                let (claim, step) = if id == CHECK {
                    (NO_CLAIM, Step::Look)
                } else {
                    (state.unused_claim(), Step::Claim)
                };
                let (is_stalled, loaded) = (false, None);
                state.workers[worker] = Some(Worker { id, claim, step, is_stalled, loaded });
            }
            Action::Step { worker } => self.step(&mut state, worker),
            Action::Answer { worker, ok } => {
                let is = state.workers[worker].as_mut()?;
                is.step = Step::Record { ok };
            }
            Action::Again { worker } => {
                state.left.mishaps.losses -= 1;
                let before = state.workers[worker].clone();
                self.step(&mut state, worker);
                // Decided by the answer of the second one.
                state.workers[worker] = before;
                self.step(&mut state, worker);
            }
            Action::GiveUp { worker } => {
                state.left.mishaps.losses -= 1;
                let is = state.workers[worker].clone()?;
                if is.step != Step::Acknowledge {
                    self.step(&mut state, worker);
                }
                if state.workers[worker].is_some() {
                    self.end(&mut state, worker);
                }
            }
            Action::Crash { worker } => {
                state.left.mishaps.crashes -= 1;
                self.end(&mut state, worker);
            }
            Action::Copy { worker } => {
                state.left.mishaps.copies -= 1;
                let id = state.workers[worker].as_ref()?.id;
                state.send(id);
            }
            Action::Switch => self.switch(&mut state),
            Action::LeaseEnds { id } => {
                let item = state.items.get_mut(&id)?;
                item.is_live = false;
                let claim = item.claim;
                let holder = state.workers.iter_mut().flatten();
                let mut holder = holder.filter(|it| it.id == id && it.claim == claim);
                if let Some(holder) = holder.next() {
                    holder.is_stalled = true;
                    state.left.mishaps.stalls -= 1;
                }
            }
        }
        Self::judge(last, &mut state);
        // Which worker is which makes no difference.
        state.workers.sort();
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("nothing is wrong", |_, state: &State| state.wrong.is_none()),
            Property::sometimes("it completes", |_, state: &State| {
                state.is_quiet() && state.outcome == Some(true)
            }),
            Property::sometimes("it faults", |_, state: &State| {
                state.is_quiet() && state.outcome == Some(false)
            }),
        ]
    }
}

impl State {
    fn is_quiet(&self) -> bool {
        self.queue.is_empty() && self.workers.iter().all(Option::is_none)
    }

    fn send(&mut self, id: Id) {
        self.queue.push(id);
        self.queue.sort();
    }

    /// The worker that works under a claim.
    fn holder(&self, id: Id, claim: u8) -> Option<&Worker> {
        self.workers.iter().flatten().find(|it| it.id == id && it.claim == claim)
    }

    fn unused_claim(&self) -> u8 {
        let is_used = |claim: &u8| {
            self.items.values().any(|item| item.claim == *claim)
                || self.workers.iter().flatten().any(|it| {
                    it.claim == *claim
                        || matches!(&it.step, Step::TakeOver { seen, .. } if seen.claim == *claim)
                })
        };
        (0..NO_CLAIM).find(|claim| !is_used(claim)).expect("a claim is unused")
    }

    fn records(&self) -> impl Iterator<Item = (Id, bool)> + '_ {
        self.items.iter().filter_map(|(id, item)| item.record.map(|ok| (*id, ok)))
    }
}

impl Firing {
    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    /// A worker ends where it is, and its message is delivered again.
    fn end(&self, state: &mut State, worker: usize) {
        let Some(Worker { id, step, .. }) = state.workers[worker].take() else { return };
        let is_acknowledged = match step {
            Step::Claim | Step::TakeOver { .. } | Step::Check | Step::Acknowledge => false,
            Step::Act | Step::Record { .. } => self.is(Mistake::AckFirst),
            Step::Follow { .. }
            | Step::Count { .. }
            | Step::Add { .. }
            | Step::Look
            | Step::Finish { .. } => self.is(Mistake::AckFirst) || self.is(Mistake::FollowLast),
        };
        if !is_acknowledged {
            state.send(id);
        }
    }

    /// A worker does its next step.
    fn step(&self, state: &mut State, worker: usize) {
        let Some(Worker { id, claim, step, is_stalled, mut loaded }) =
            state.workers[worker].clone()
        else {
            return;
        };
        let is_last = step == Step::Acknowledge;
        let next = match step {
            Step::Claim => self.claim(state, id, claim),
            Step::TakeOver { seen, claims } => {
                if holds_for(TAKE_OVER, state.items.get(&id), seen.claim)
                    || self.is(Mistake::TakeOverUnseen)
                {
                    state.items.insert(id, Item { claim, claims, is_live: true, record: None });
                    Some(Step::Check)
                } else {
                    Some(Step::Claim)
                }
            }
            Step::Check if starts(id, state.phase, state.outcome) => {
                loaded = Some(state.phase);
                Some(Step::Act)
            }
            Step::Check => {
                // Released, as nothing was done.
                if holds_for(UNDER_CLAIM, state.items.get(&id), claim) {
                    state.items.remove(&id);
                }
                Some(Step::Acknowledge)
            }
            Step::Act => Some(Step::Act),
            Step::Record { ok } => self.record(state, id, claim, ok),
            Step::Follow { ok } => {
                let phase = loaded.unwrap_or(state.phase);
                if let Some(next) = retry(id, ok).filter(|_| is_current(id, phase)) {
                    state.send(next);
                }
                Some(Step::Count { ok })
            }
            Step::Count { ok } => {
                let is_counted = is_counted(&state.counted, id) && !self.is(Mistake::CountBlind);
                Some(if is_counted {
                    self.after_count(id, ok)
                } else {
                    Step::Add { ok, as_read: state.counted.clone() }
                })
            }
            Step::Add { ok, as_read } => Some(self.add(state, id, ok, &as_read)),
            Step::Look => Some(self.look(state, id)),
            Step::Finish { state: to, phase } => {
                let may_finish = may_finish((state.phase, state.outcome), (phase, to));
                if may_finish || (self.is(Mistake::FinishesUnseen) && state.outcome.is_none()) {
                    state.outcome = Some(to);
                }
                if state.outcome.is_some() { Some(Step::Acknowledge) } else { Some(Step::Look) }
            }
            Step::Acknowledge => None,
        };
        state.workers[worker] = next.map(|step| {
            let claim = if step.is_after_record() { NO_CLAIM } else { claim };
            Worker { id, claim, step, is_stalled, loaded }
        });
        if state.workers[worker].is_none() && !is_last && !self.is(Mistake::OpenAcks) {
            // Another worker has the attempt: the message comes back.
            state.send(id);
        }
    }

    /// Looks whether the job has finished. What has stalled is sent again by the message that asks for the
    /// check; after an attempt it is left to that.
    fn look(&self, state: &mut State, id: Id) -> Step {
        let items: Vec<_> = state.items.iter().map(|(id, item)| (*id, item.record)).collect();
        let (over, resend) = finishes(&items, &[], state.phase);
        let over = if self.is(Mistake::BlindFinish) { over.or(Some(true)) } else { over };
        if id == CHECK && !self.is(Mistake::NotSentAgain) {
            for next in resend {
                state.send(next);
            }
        }
        let phase = state.phase;
        over.map_or(Step::Acknowledge, |state| Step::Finish { state, phase })
    }

    fn switch(&self, state: &mut State) {
        if state.phase != Phase::Off {
            state.left.changes -= 1;
            state.phase = Phase::Off;
            return;
        }
        state.phase = Phase::Again;
        if self.is(Mistake::EndsWhenEnabled) {
            state.outcome = Some(true);
        } else {
            state.send(CHECK);
        }
    }

    fn claim(&self, state: &mut State, id: Id, claim: u8) -> Option<Step> {
        let won = Item { claim, claims: 1, is_live: true, record: None };
        let seen = match state.items.get(&id) {
            Some(seen)
                if !holds_for(CLAIM, Some(seen), claim) && !self.is(Mistake::ClaimReplaces) =>
            {
                seen
            }
            _ => {
                state.items.insert(id, won);
                return Some(Step::Check);
            }
        };
        match on_claim(id, claim, seen) {
            OnClaim::Won => Some(Step::Check),
            OnClaim::TakeOver { claims } => Some(Step::TakeOver { seen: seen.clone(), claims }),
            OnClaim::Ended { .. } if self.is(Mistake::EndedAcks) => Some(Step::Acknowledge),
            OnClaim::Ended { ok } => Some(Step::Follow { ok }),
            OnClaim::Held => None,
        }
    }

    fn record(&self, state: &mut State, id: Id, claim: u8, ok: bool) -> Option<Step> {
        let item = state.items.get_mut(&id)?;
        let mistake =
            if item.record.is_some() { Mistake::RecordReplaces } else { Mistake::RecordUnclaimed };
        let may_record = holds_for(UNDER_CLAIM, Some(item), claim) || self.is(mistake);
        if may_record {
            // Whose claim it was makes no difference any more.
            *item = Item { claim: NO_CLAIM, claims: 0, is_live: false, record: Some(ok) };
        }
        // Without a record, another worker has taken it over.
        item.record.map(|ok| Step::Follow { ok })
    }

    fn add(&self, state: &mut State, id: Id, ok: bool, as_read: &[Id]) -> Step {
        if !may_count(&state.counted, as_read) && !self.is(Mistake::CountUnconditional) {
            return Step::Count { ok };
        }
        // In order, because the order makes no difference.
        state.counted = [as_read, &[id]].concat();
        state.counted.sort();
        state.executions += 1;
        state.failures += u8::from(!ok);
        self.after_count(id, ok)
    }

    fn after_count(&self, id: Id, ok: bool) -> Step {
        let is_last = id.occurrence + 1 == OCCURRENCES;
        match retry(id, ok) {
            Some(_) => Step::Acknowledge,
            None if is_last && self.is(Mistake::FinalOnLast) => {
                Step::Finish { state: ok, phase: Phase::On }
            }
            None => Step::Look,
        }
    }

    /// Finds what is wrong with a state that follows another.
    fn judge(last: &State, state: &mut State) {
        let wrong = Self::wrong(last, state);
        if wrong.is_some() {
            state.wrong = wrong;
        }
    }

    fn wrong(last: &State, state: &State) -> Option<&'static str> {
        for worker in 0..state.workers.len() {
            let acts = |of: &State| {
                let is = of.workers[worker].clone()?;
                (is.step == Step::Act).then_some(is)
            };
            let begins = acts(state).filter(|is| acts(last).is_none() && !is.is_stalled);
            let Some(is) = begins else { continue };
            if state.items.get(&is.id).is_some_and(|item| item.record.is_some()) {
                return Some("an attempt is made again though it is recorded");
            }
            let others = state.workers.iter().enumerate();
            let mut others =
                others.filter(|(at, _)| *at != worker).filter_map(|(_, it)| it.as_ref());
            let acts =
                |it: &Worker| !it.is_stalled && matches!(it.step, Step::Act | Step::Record { .. });
            if others.any(|it| it.id == is.id && acts(it)) {
                return Some("an attempt is made twice at once");
            }
        }
        for (id, ok) in last.records() {
            if state.items.get(&id).and_then(|item| item.record) != Some(ok) {
                return Some("a record changes, or is gone");
            }
        }
        let records = || state.records();
        let made = u8::try_from(records().count()).unwrap_or(u8::MAX);
        let failed = u8::try_from(records().filter(|(_, ok)| !ok).count()).unwrap_or(u8::MAX);
        if state.executions > made || state.failures > failed {
            return Some("more is counted than recorded");
        }
        // A change cancels what was pending, except at the last occurrence.
        let first = if state.phase == Phase::On { 0 } else { OCCURRENCES - 1 };
        let ends: Vec<_> = (first..OCCURRENCES).map(|nth| ending(state, nth)).collect();
        if state.outcome.is_some() && ends.contains(&None) {
            return Some("final too soon");
        }
        if state.outcome.is_some() && state.phase == Phase::Off {
            return Some("final while it is disabled");
        }
        if !state.is_quiet() {
            return None;
        }
        if (state.executions, state.failures) != (made, failed) {
            return Some("less is counted than recorded");
        }
        if state.phase == Phase::Off {
            return None;
        }
        if ends.contains(&None) {
            return Some("an occurrence never ends");
        }
        (state.outcome != ends.last().copied().flatten()).then_some("another final state")
    }
}

/// How an occurrence ended, if it has.
fn ending(state: &State, occurrence: u8) -> Option<bool> {
    for number in 0..=RETRIES {
        match state.items.get(&Id { occurrence, number }).and_then(|item| item.record) {
            None => return None,
            Some(true) => return Some(true),
            Some(false) => {}
        }
    }
    Some(false)
}
