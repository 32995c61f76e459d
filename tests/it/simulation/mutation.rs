//! Mistakes that an implementation of the protocol could make, put into a run at its ports.
//!
//! The product has no switch for them: each is a port that lies to the real services in such a way
//! that they do what they would do with the mistake in them. The names are those of the model from
//! which the protocol was written.

use super::play::Scenario;

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mutation {
    /// A claim lost to a live lease is acknowledged, and a lease is longer than a visibility.
    LostClaimAcks,
    /// Lease 900 s, visibility 95 s, three receives, and no putting back until the lease ends.
    LeaseOverVisibility,
    /// Executions are keyed by who started them, so two claims do not collide.
    KeyByStart,
    /// A message whose attempt has ended is acknowledged, without going on from its record.
    DoneAcks,
    /// A message is looked at for staleness before its record is.
    StaleFirst,
    /// Long retries share the one timer of their job: the earliest wins.
    OneTimer,
    /// The end of the last occurrence ends the job at once.
    FinalOnLast,
    /// The returning timer ends the job without looking.
    BlindSettle,
    /// Nobody looks again after the last dispatch.
    NoSettleTimer,
    /// An error action is dropped when its job is not enabled.
    ErrorNeedsEnabled,
    /// A job is known by its name, so that generations begin again with its successor.
    GenerationRestarts,
    /// Only the sweeper knows catch-up.
    NoCollapse,
    /// A sweep owes only the latest, however short the delay.
    SweepCollapsesAll,
    /// A job is looked at before the wait, not after.
    CheckThenClaim,
    /// Counters are added to without a condition.
    PlainAdd,
    /// Eight settled attempts are remembered.
    Seen8,
    /// What is left of a count is taken from what was dispatched.
    EnableFromCursor,
    /// Every change is another timing.
    EditRestarts,
    /// A sweep advances the jobs of a collection that is off, and sends nothing.
    SkipDisabled,
    /// What a collection that was off owes is judged by occurrences, not by attempts.
    OwedByNominal,
    /// A timer moves on before its messages are sent.
    AdvanceFirst,
    /// A timer moves on wherever it is.
    UnconditionalAdvance,
    /// A long retry's timer is gone once its message is sent.
    RetryTimerGone,
    /// An attempt is recorded whoever holds it by then.
    NoFenceRecord,
    /// Only the definitions of a collection that is deleted are purged.
    TimersStay,
    /// A job that is over stays for ever.
    NeverDeleted,
    /// A worker does not wait until an attempt is due.
    NoWait,
    /// A worker acts on what it sees, whatever the fence says of the job's timing.
    NoFence,
    /// What was seen ahead stands, whatever was written since.
    AheadStands,
    /// A failed attempt is not followed by another.
    NoRetries,
}

impl Mutation {
    /// The scenario that shows it, if the others hardly do.
    pub(super) const fn shows_in(self) -> Option<Scenario> {
        match self {
            Self::NoSettleTimer | Self::RetryTimerGone => Some(Scenario::Lossy),
            Self::NoFenceRecord => Some(Scenario::Harsh),
            Self::TimersStay | Self::NeverDeleted => Some(Scenario::Gone),
            _ => None,
        }
    }
}
