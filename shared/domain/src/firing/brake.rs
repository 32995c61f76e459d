//! The brake of an origin that hangs: it gets only a few calls at a time, so that it takes nothing from others.
//!
//! An origin hangs when several calls in a row, of whatever jobs, had no answer within their time. One call that
//! is answered, even with an error, ends that. What may not start waits, and nothing is lost. The time limit of an
//! action stays as it is.
//!
//! One machine knows what its own calls have shown, and forgets that with its end. The functions on AWS have
//! too few calls each to know anything in time, so they share a [`SharedBrake`] for each origin. It lets a call
//! begin every [`BRAKED_EVERY`], so two are under way at most, and nothing has to be given back if a function
//! dies. A function counts a call that is under way for [`ANSWERS_WITHIN`], because after a whole minute too
//! many calls would wait. A target that is only slow answers later, which lets all go on.

use chrono::{DateTime, TimeDelta, Utc};

use super::limits::ACTION;

/// After so many calls in a row without an answer, an origin hangs.
const HANGS_AFTER: u32 = 5;
/// The most origins without a call under way that are remembered.
pub(super) const REMEMBERED_MAX: usize = 1_024;
/// A call of a function that has no answer by then counts as one without an answer until it is answered.
pub const ANSWERS_WITHIN: TimeDelta = TimeDelta::seconds(20);
/// How often functions call an origin that hangs.
pub const BRAKED_EVERY: TimeDelta = TimeDelta::seconds(31);
/// So many calls of functions are under way at one time to an origin that hangs, beside those from before.
pub const BRAKED_AT_ONCE: usize = 2;
/// What functions know of an origin is forgotten so long after its last call without an answer.
pub const BRAKED_FOR: TimeDelta = TimeDelta::minutes(10);

const _: () = {
    // A second for clocks that differ.
    assert!(BRAKED_EVERY.num_seconds() * 2 > ACTION.num_seconds() + 1);
    // Calls that go on without an answer keep the brake.
    assert!(BRAKED_EVERY.num_seconds() + ANSWERS_WITHIN.num_seconds() < BRAKED_FOR.num_seconds());
};

/// What the functions know of an origin whose last call had no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedBrake {
    /// So many calls in a row had none.
    pub unanswered: u32,
    /// When the next call may begin, if the origin hangs.
    pub next_at: DateTime<Utc>,
    /// When this is forgotten.
    pub until: DateTime<Utc>,
}

impl SharedBrake {
    /// After a first call without an answer.
    #[must_use]
    pub fn first(now: DateTime<Utc>) -> Self {
        Self { unanswered: 1, next_at: now, until: now + BRAKED_FOR }
    }

    /// After one more.
    #[must_use]
    pub fn counted(self, now: DateTime<Utc>) -> Self {
        if self.until < now {
            return Self::first(now);
        }
        let unanswered = self.unanswered.saturating_add(1);
        Self { unanswered, until: now + BRAKED_FOR, ..self }
    }

    /// Whether the origin hangs.
    #[must_use]
    pub fn hangs(&self, now: DateTime<Utc>) -> bool {
        self.unanswered >= HANGS_AFTER && now <= self.until
    }

    /// Whether a call may begin, or all may.
    #[must_use]
    pub fn may_call(&self, now: DateTime<Utc>) -> bool {
        !self.hangs(now) || self.next_at <= now
    }

    /// After a call has begun.
    #[must_use]
    pub fn called(self, now: DateTime<Utc>) -> Self {
        Self { next_at: now + BRAKED_EVERY, ..self }
    }

    /// Whether the last call without an answer has made it hang.
    #[must_use]
    pub const fn begins_to_hang(&self) -> bool {
        self.unanswered == HANGS_AFTER
    }
}

/// The calls in a row to an origin that had no answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Unanswered(u32);

impl Unanswered {
    /// One call has ended. Whether that changes if the origin hangs.
    pub(super) fn ended(&mut self, is_answered: bool) -> bool {
        let hung = self.hangs();
        self.0 = if is_answered { 0 } else { self.0.saturating_add(1) };
        hung != self.hangs()
    }

    /// Whether the origin hangs.
    #[must_use]
    pub(super) const fn hangs(self) -> bool {
        self.0 >= HANGS_AFTER
    }

    /// Whether the last call was answered, or there was none.
    #[must_use]
    pub(super) const fn is_none(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_hangs_after_five_calls_in_a_row_without_an_answer() {
        let mut unanswered = Unanswered::default();
        let ended = [false, false, true, false, false, false, false, false, false, true, false];
        let hangs = ended.map(|is_answered| {
            let changed = unanswered.ended(is_answered);
            (unanswered.hangs(), changed)
        });
        let (no, yes) = ((false, false), (true, false));
        assert_eq!(hangs, [no, no, no, no, no, no, no, (true, true), yes, (false, true), no],);
    }

    #[test]
    fn a_shared_brake_lets_a_call_begin_now_and_then_and_is_forgotten() {
        let at = |second| DateTime::from_timestamp(second, 0).unwrap();
        let mut brake = SharedBrake::first(at(0));
        for second in 1..4 {
            brake = brake.counted(at(second));
            assert!(brake.may_call(at(second)) && !brake.hangs(at(second)));
        }
        brake = brake.counted(at(4));
        assert!(brake.hangs(at(4)) && brake.begins_to_hang() && brake.may_call(at(4)));
        brake = brake.called(at(4)).counted(at(24));
        assert!(!brake.begins_to_hang());
        assert_eq!([34, 35].map(|second| brake.may_call(at(second))), [false, true]);
        assert_eq!([624, 625].map(|second| brake.hangs(at(second))), [true, false]);
        assert_eq!(brake.counted(at(625)), SharedBrake::first(at(625)));
    }
}
