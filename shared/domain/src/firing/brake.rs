//! The brake of an origin that hangs: it gets only a few calls at a time, so that it takes nothing from others.
//!
//! An origin hangs when several calls in a row, of whatever jobs, had no answer within their time. One call that
//! is answered, even with an error, ends that. What may not start waits, and nothing is lost. The time limit of an
//! action stays as it is.
//!
//! A process knows what its own calls have shown, and forgets that with its end.

/// After so many calls in a row without an answer, an origin hangs.
const HANGS_AFTER: u32 = 5;
/// The most origins without a call under way that are remembered.
pub(super) const REMEMBERED_MAX: usize = 1_024;
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
}
