//! The product's decisions about open attempts, for the model's states.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use chrono::TimeDelta;
use minutehand_domain::attempt::Outcome;
use minutehand_domain::completion::{EndedBy, Ending};
use minutehand_domain::firing::limits::LEASE;
use minutehand_domain::firing::{TurnCheck, TurnHolder, TurnOrder, TurnStep, next_turn};
use minutehand_ports::store::{Claim, ClaimRequest, Claimed, LeftOpen};
use minutehand_store_dynamodb::conditions::{
    CLAIM, OPENS, RECORDS_ENDING, SAYS_ENDING, TAKE_OVER, UNDER_CLAIM,
};
use minutehand_store_dynamodb::{ClaimDecision, SeenClaim, decide_claim};

use super::condition::Known;
use super::model::{Id, Phase};
use super::open::{ATTEMPTS, Deadline, Ender, OpenItem, Place};
use super::product::{Answers, JOB, attempt, finishes, now, record};

impl Ender {
    const fn by(self) -> EndedBy {
        match self {
            Self::Success => EndedBy::Success,
            Self::Failure => EndedBy::Failure,
            Self::Deadline => EndedBy::Deadline,
            Self::Cancel => EndedBy::Cancel,
        }
    }

    const fn of(by: EndedBy) -> Self {
        match by {
            EndedBy::Success => Self::Success,
            EndedBy::Failure => Self::Failure,
            EndedBy::Deadline => Self::Deadline,
            EndedBy::Cancel => Self::Cancel,
        }
    }

    /// Whether a target says so.
    pub(super) const fn is_report(self) -> bool {
        self.by().is_report()
    }

    /// Whether an attempt succeeds that it ends.
    pub(super) fn succeeds(self) -> bool {
        ending(self).outcome() == Outcome::Succeeded
    }
}

fn ending(by: Ender) -> Ending {
    Ending::new(now(), by.by(), "")
}

/// For how long an open attempt is held.
const KEPT: TimeDelta = TimeDelta::days(60);

/// What the store has of an attempt, for the condition of a write: whether the claim is the one of the worker,
/// and whether the attempt has ended, is open, and its end is said.
type StoredOpen = Option<[bool; 4]>;

static WRITES: LazyLock<Answers<(&str, StoredOpen)>> = LazyLock::new(|| {
    let both = [false, true];
    let one = both.into_iter().flat_map(|a| both.map(|b| [a, b]));
    let stored: Vec<StoredOpen> = one
        .clone()
        .flat_map(|[a, b]| one.clone().map(move |[c, d]| Some([a, b, c, d])))
        .chain([None])
        .collect();
    let all = [CLAIM, TAKE_OVER, UNDER_CLAIM, OPENS, SAYS_ENDING, RECORDS_ENDING];
    let questions = all.into_iter().flat_map(|of| stored.iter().map(move |stored| (of, *stored)));
    Answers::to(questions, |(condition, stored)| {
        let mut known = Known::default();
        if let Some([is_it, has_ended, is_open, is_said]) = stored {
            let claim = if is_it { "mine" } else { "another" };
            known.has("pk", JOB.uid.as_str()).has("claim_id", claim);
            // A lease is that of its claim, until the attempt is left open.
            let lease = if is_open { "kept" } else { claim };
            known.has(if has_ended { "ended_at" } else { "lease_until" }, lease);
            if !has_ended {
                known.has("claims", "1");
            }
            if is_open {
                known.has("open_until", "then");
            }
            if is_said {
                known.has("ending", "said");
            }
        }
        known.asks(":mine", "mine").asks(":seen", "mine").asks(":seen_lease", "mine");
        known.asks(":none", "0");
        known.holds(condition)
    })
});

/// Whether the condition of a write holds for an attempt as the store has it, for a worker with a claim, or one
/// that has seen a claim.
pub(super) fn writes(condition: &'static str, item: Option<&OpenItem>, claim: u8) -> bool {
    let stored = item
        .map(|it| [it.claim == claim, it.record.is_some(), it.open.is_some(), it.ending.is_some()]);
    WRITES.of((condition, stored))
}

/// Whether an ending may be said now.
pub(super) fn is_said(item: &OpenItem, by: Ender) -> bool {
    let is_in_time = match item.open {
        None => by.is_report(),
        Some(deadline) => !by.is_report() || deadline != Deadline::After,
    };
    is_in_time && writes(SAYS_ENDING, Some(item), item.claim)
}

/// Whether an ending may be recorded.
pub(super) fn records_ending(item: Option<&OpenItem>) -> bool {
    writes(RECORDS_ENDING, item, 0)
}

/// What becomes of an attempt whose target answers 202.
pub(super) enum Seen {
    Opens,
    /// It is open already.
    Open,
    Over(Ender),
    Ended {
        ok: bool,
    },
    Lost,
}

pub(super) fn opens(item: &OpenItem, claim: u8) -> Seen {
    if writes(OPENS, Some(item), claim) {
        return Seen::Opens;
    }
    // Which attempt it is makes no difference.
    let recorded = item.record.map(|ok| record(ATTEMPTS[0], ok));
    let said = item.ending.map(ending);
    match LeftOpen::found(item.claim == claim, recorded, item.open.is_some(), said) {
        LeftOpen::Open => Seen::Open,
        LeftOpen::Over(ending) => Seen::Over(Ender::of(ending.by)),
        LeftOpen::Already(record) => Seen::Ended { ok: record.outcome == Outcome::Succeeded },
        LeftOpen::Lost => Seen::Lost,
    }
}

/// What a worker does about an attempt that has begun.
pub(super) enum MeetsOpen {
    TakesOver { claims: u8 },
    Won,
    Ended { ok: bool },
    Open(OpenItem),
    Held,
}

/// What a worker of an earlier version does about it.
pub(super) enum EarlierVersion {
    TakesOver,
    LeavesAlone,
}

impl MeetsOpen {
    pub(super) fn of(item: &OpenItem, decision: ClaimDecision) -> Self {
        match decision {
            ClaimDecision::TakeOver { claims } => {
                Self::TakesOver { claims: u8::try_from(claims).unwrap() }
            }
            ClaimDecision::Open | ClaimDecision::Answer(Claimed::Open(_)) => {
                Self::Open(item.clone())
            }
            ClaimDecision::Answer(Claimed::Ended(record)) => {
                Self::Ended { ok: record.outcome == Outcome::Succeeded }
            }
            ClaimDecision::Answer(Claimed::Held { .. }) => Self::Held,
            ClaimDecision::Answer(Claimed::Won | Claimed::Exhausted) => Self::Won,
        }
    }

    /// An earlier version reads leases, and not that an attempt is open.
    pub(super) fn earlier(item: &OpenItem) -> EarlierVersion {
        let is_kept = item.open.is_some() && item.is_live;
        let seen = SeenClaim { is_open: false, ending: None, ..seen(item, is_kept) };
        let decision = decide_claim(&request(ATTEMPTS[0], u8::MAX), &seen);
        match decision {
            ClaimDecision::TakeOver { .. } => EarlierVersion::TakesOver,
            ClaimDecision::Open | ClaimDecision::Answer(_) => EarlierVersion::LeavesAlone,
        }
    }
}

/// The store's decision on a claim that meets another.
pub(super) fn meets(id: Id, claim: u8, item: &OpenItem) -> ClaimDecision {
    let is_kept = item.open.is_some() && item.is_live;
    decide_claim(
        &request(id, claim),
        &SeenClaim { record: item.record.map(|ok| record(id, ok)), ..seen(item, is_kept) },
    )
}

fn request(id: Id, claim: u8) -> ClaimRequest {
    let (job, claim_id) = (JOB.clone(), claim.to_string());
    let claim = Claim { job, attempt: attempt(id), claim_id, lease_until: now() + LEASE };
    ClaimRequest { claim, now: now() }
}

fn seen(item: &OpenItem, is_kept: bool) -> SeenClaim {
    let lease_until = match (is_kept, item.is_live) {
        (true, _) => now() + KEPT,
        (false, true) => now() + LEASE,
        (false, false) => now() - TimeDelta::seconds(1),
    };
    SeenClaim {
        claim_id: item.claim.to_string(),
        lease_until: item.record.is_none().then_some(lease_until),
        claims: u32::from(item.claims),
        is_open: item.open.is_some(),
        ending: item.ending.map(ending),
        record: item.record.map(|ok| record(ATTEMPTS[0], ok)),
    }
}

/// Whether an attempt may begin beside the one that has the place, as the turns of a job decide it of an attempt
/// that is owed.
pub(super) fn may_begin(place: Option<&Place>, (id, claim): (Id, u8)) -> bool {
    let holder = |id, claim: u8, lease_until| TurnHolder {
        attempt: attempt(id),
        claim_id: claim.to_string(),
        lease_until,
    };
    let has_it = place.map(|it| {
        let lease = if it.is_kept { KEPT } else { LEASE };
        let lease = if it.is_live { lease } else { TimeDelta::seconds(-1) };
        holder(it.id, it.claim, now() + lease)
    });
    let order = TurnOrder { holder: has_it, waiting: Vec::new() };
    let wanted = holder(id, claim, now() + LEASE);
    let check = TurnCheck { wanted: &wanted, has_begun: true, order: &order, now: now() };
    match next_turn(&check) {
        TurnStep::Has | TurnStep::Takes(_) => true,
        TurnStep::Held { .. } | TurnStep::Waits(_) | TurnStep::LeftOut => false,
    }
}

/// Which attempts have begun and how they ended, and which ones have timers.
type Progress = ([Option<Option<bool>>; 3], [bool; 3]);

static FINISHES: LazyLock<BTreeMap<Progress, Option<bool>>> = LazyLock::new(|| {
    let items = [None, Some(None), Some(Some(false)), Some(Some(true))];
    let of_all = |at: usize| [items[at / 16], items[at / 4 % 4], items[at % 4]];
    let timers = [[false; 3], [true, false, false], [false, true, false], [true, true, false]];
    let mut all = BTreeMap::new();
    for (items, timers) in (0..64).flat_map(|at| timers.map(|timers| (of_all(at), timers))) {
        let has_begun = ATTEMPTS.into_iter().zip(items);
        let has_begun: Vec<_> = has_begun.filter_map(|(id, it)| Some((id, it?))).collect();
        let waits = ATTEMPTS.into_iter().zip(timers).filter(|(_, waits)| *waits);
        let waits: Vec<_> = waits.map(|(id, _)| id).collect();
        let (over, _) = finishes(&has_begun, &waits, Phase::On);
        all.insert((items, timers), over);
    }
    all
});

/// The state in which the job finishes, if it does.
pub(super) fn finishes_with(progress: Progress) -> Option<bool> {
    FINISHES[&progress]
}
