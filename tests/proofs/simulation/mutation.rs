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
    /// Attempts are keyed by their workers, so two claims do not collide.
    KeyByStart,
    /// A message whose attempt has ended is acknowledged, without going on from its record.
    DoneAcks,
    /// A message is checked for staleness before its record is read.
    StaleFirst,
    /// Long retries share the one timer of their job: the earliest wins.
    OneTimer,
    /// The end of the last occurrence ends the job at once.
    FinalOnLast,
    /// A due timer finishes the job without a check.
    BlindSettle,
    /// No timer is due after the last dispatch.
    NoSettleTimer,
    /// An error action is dropped when its job is not enabled.
    ErrorNeedsEnabled,
    /// A job is known by its name, so that generations begin again with its successor.
    GenerationRestarts,
    /// Outages of workers are not known.
    NoExecGap,
    /// The first beat after an outage does not note it.
    PulseForgets,
    /// What is ten minutes late is taken for an outage.
    LateIsOutage,
    /// An outage is one for what was sent after it began, too.
    GapByIdle,
    /// A sweep owes only the latest, however short the delay.
    SweepCollapsesAll,
    /// A job is read before the wait, not after.
    CheckThenClaim,
    /// Counters are added to without a condition.
    PlainAdd,
    /// Only eight counted attempts are remembered.
    Seen8,
    /// Attempts that are no longer remembered are taken for new ones.
    ForgetsEvicted,
    /// Attempts that ended when forgotten ones did are taken for counted.
    PresumesEvicted,
    /// The rest of a count is computed from dispatched occurrences.
    EnableFromCursor,
    /// Every change is another timing.
    EditRestarts,
    /// A sweep advances the jobs of a collection that is off, and sends nothing.
    SkipDisabled,
    /// After a collection was off, the instants of occurrences decide, not the due times of attempts.
    OwedByNominal,
    /// A timer moves on before its messages are sent.
    AdvanceFirst,
    /// A timer moves on wherever it is.
    UnconditionalAdvance,
    /// A long retry's timer is gone once its message is sent.
    RetryTimerGone,
    /// An attempt is recorded even if another worker holds the claim.
    NoFenceRecord,
    /// Only the definitions of a collection that is deleted are purged.
    TimersStay,
    /// The definition of a job that is over stays for ever.
    NeverExpires,
    /// The timer of a job that is over expires before its definition does.
    TimerExpiresFirst,
    /// Deleting a collection leaves its switch.
    SwitchStays,
    /// A collection that seems to be full is not counted anew.
    NoRecount,
    /// A count is corrected although jobs were created meanwhile.
    RecountAtOnce,
    /// A worker does not wait until an attempt is due.
    NoWait,
    /// A worker acts even if the job's timing has changed.
    NoFence,
    /// A prefetched snapshot is used, whatever was written since.
    AheadStands,
    /// What follows a failure is decided when it follows, not when it is recorded.
    VerdictLate,
    /// What a queue has lost is not sent again.
    NeverHeals,
    /// What an outage costs is not recorded.
    LeftOutIsSilent,
    /// Catch-up "all" has no bound.
    AllUnbounded,
    /// Catch-up "none" is "last".
    NoneRunsLast,
    /// What would start too late starts.
    LatenessIsIgnored,
    /// The window of a jitter is twice as long.
    JitterIsDoubled,
    /// Excluded and extra dates are ignored.
    DatesAreIgnored,
    /// What has the turn is taken for running, ended or not.
    OverlapByEntry,
    /// A turn is taken whatever has become of the order since it was read.
    OverlapNoSeq,
    /// Retries, runs and what has begun are left out like first attempts.
    OverlapSkipsBegun,
    /// An attempt whose worker has died still has the turn when its lease is over.
    DeadRunOn,
    /// The limits of collections are ignored.
    LimitsAreIgnored,
    /// Attempts that take their slots one after the other get the same one.
    SlotsAreShared,
    /// The message of an attempt that waits for its slot or a seat is not sent.
    WaitsInVain,
    /// A seat is taken although all are.
    SeatsAreShared,
    /// Seats are not given back.
    SeatsStay,
    /// The seat of a worker that died is never free again.
    SeatsOutlive,
    /// A failed attempt is not followed by another.
    NoRetries,
    /// An occurrence that has failed for good is not told.
    NoNotices,
    /// Whatever fails is told, although a retry or an error action follows.
    NoticeOfEveryFailure,
    /// An attempt of a packet that has to come later is not sent on.
    PacketLosesLater,
    /// A packet is acknowledged when the first of its attempts has ended.
    PacketEndsWithFirst,
    /// A packet has the version of a message with one attempt: old workers take all attempts for
    /// those of the first job.
    OldReadsPackets,
    /// On one machine, the claims of an earlier process hold until their leases end by its clock.
    LeasesOutlive,
    /// On one machine, what an earlier process has received stays hidden.
    DeliveriesOutlive,
    /// An outage that ends in the future, because the clock was set back, is one all the same.
    OutagesStand,
    /// On one machine, timers move before messages are sent, and a message is deleted before what follows it is
    /// stored.
    StepsAreTorn,
    /// A job goes on, however many occurrences have failed.
    NeverPauses,
    /// A job that pauses does not say why, so that what follows its last failure is taken for old.
    PauseIsSilent,
    /// A job that is enabled when no occurrence is left is completed, whatever became of the last one.
    EndsWhenEnabled,
    /// A job that is enabled begins its last occurrence anew, whatever became of it.
    BeginsAnew,
    /// The last word of a target counts, not the first.
    LastWordCounts,
    /// A report counts that comes after the deadline.
    LateReportCounts,
    /// A report that comes before the answer is answered, and forgotten.
    EarlyReportIsLost,
    /// At the deadline a worker records a failure, whatever was reported meanwhile.
    DeadlineDoesNotAsk,
    /// An open attempt and its messages are taken for those of one whose worker died, as an earlier version would.
    OpenLapses,
    /// The turn of an open attempt ends with the lease of its worker.
    TurnLapses,
    /// The seat of an open attempt ends with the lease of its worker.
    SeatLapses,
    /// An open attempt has no timer for its deadline.
    DeadlineIsLost,
    /// The message of an ending that is recorded is acknowledged, and nothing follows.
    RecordedAcks,
    /// Of the last occurrence only its action goes on when a job is enabled, and not what follows.
    OnlyActionsGoOn,
    /// The book of a job's pings is written over, whatever was written since it was read.
    BookHasNoCondition,
    /// What processes with the API are there is not asked.
    SignsAreIgnored,
    /// A time that is in doubt counts as watched.
    DoubtsAreDropped,
    /// A worker claims an occurrence before its grace is over.
    ClaimsBeforeGrace,
    /// A ping takes an occurrence that a worker has claimed.
    PingOverClaim,
    /// A ping that is sent again within a second pays again.
    RepeatsCount,
    /// A ping is noted in the book, and opens nothing.
    PingOnlyNoted,
    /// A worker owes an occurrence again that was paid under an earlier timing of its job.
    PaidIsOwedAgain,
    /// The book of a job's pings forgets what was paid or started.
    BookForgetsPaid,
    /// A process is taken for dead by the clock of the machine of another one.
    DeadByClock,
    /// A process is taken for dead after one renewal without a sign, however long its answer took.
    DeadTooEarly,
    /// The middle of the way of an answer is taken for the time that it shows.
    MiddleOfWay,
    /// A claim does not name its process.
    ClaimNamesNobody,
    /// A process sweeps on without its lease.
    SweepsOn,
    /// Updates of shared rows are one statement for a group.
    GroupOverShared,
    /// A row that is relied on is not locked.
    RequiredUnlocked,
    /// An occurrence counts in the quarter of an hour in which it ended.
    QuarterOfEnd,
    /// A part of the sweepers sweeps the share of the one before it.
    SharesOverlap,
    /// The parts keep their shares, so nobody sweeps the one of a dead part.
    PartsStay,
    /// A part takes the round from its own clock, not from the tick.
    RoundByClock,
    /// Only the first part gives signs of life.
    FirstBeats,
    /// Only the first part sends again what the queue has lost.
    FirstHeals,
    /// Workers do not see which origins hang.
    BrakesAreIgnored,
    /// Every worker takes the call that an origin gets that hangs.
    CallsAreShared,
    /// After one call, an origin that hangs gets none.
    CallsAreLost,
    /// An answer does not release the brake of its origin.
    BrakesStay,
}

impl Mutation {
    /// All of them.
    pub(super) const ALL: [Self; 106] = [
        Self::BrakesAreIgnored,
        Self::CallsAreShared,
        Self::CallsAreLost,
        Self::BrakesStay,
        Self::SharesOverlap,
        Self::PartsStay,
        Self::RoundByClock,
        Self::FirstBeats,
        Self::FirstHeals,
        Self::QuarterOfEnd,
        Self::DeadByClock,
        Self::DeadTooEarly,
        Self::MiddleOfWay,
        Self::ClaimNamesNobody,
        Self::SweepsOn,
        Self::GroupOverShared,
        Self::RequiredUnlocked,
        Self::BookHasNoCondition,
        Self::SignsAreIgnored,
        Self::DoubtsAreDropped,
        Self::ClaimsBeforeGrace,
        Self::PingOverClaim,
        Self::RepeatsCount,
        Self::PingOnlyNoted,
        Self::PaidIsOwedAgain,
        Self::BookForgetsPaid,
        Self::LastWordCounts,
        Self::LateReportCounts,
        Self::EarlyReportIsLost,
        Self::DeadlineDoesNotAsk,
        Self::OpenLapses,
        Self::TurnLapses,
        Self::SeatLapses,
        Self::DeadlineIsLost,
        Self::RecordedAcks,
        Self::LostClaimAcks,
        Self::LeaseOverVisibility,
        Self::KeyByStart,
        Self::DoneAcks,
        Self::StaleFirst,
        Self::OneTimer,
        Self::FinalOnLast,
        Self::BlindSettle,
        Self::NoSettleTimer,
        Self::ErrorNeedsEnabled,
        Self::GenerationRestarts,
        Self::NoExecGap,
        Self::PulseForgets,
        Self::LateIsOutage,
        Self::GapByIdle,
        Self::SweepCollapsesAll,
        Self::CheckThenClaim,
        Self::PlainAdd,
        Self::Seen8,
        Self::EnableFromCursor,
        Self::EditRestarts,
        Self::SkipDisabled,
        Self::OwedByNominal,
        Self::AdvanceFirst,
        Self::UnconditionalAdvance,
        Self::RetryTimerGone,
        Self::NoFenceRecord,
        Self::TimersStay,
        Self::ForgetsEvicted,
        Self::PresumesEvicted,
        Self::VerdictLate,
        Self::NeverHeals,
        Self::LeftOutIsSilent,
        Self::AllUnbounded,
        Self::NoneRunsLast,
        Self::LatenessIsIgnored,
        Self::JitterIsDoubled,
        Self::DatesAreIgnored,
        Self::OverlapByEntry,
        Self::OverlapNoSeq,
        Self::OverlapSkipsBegun,
        Self::DeadRunOn,
        Self::LimitsAreIgnored,
        Self::SlotsAreShared,
        Self::WaitsInVain,
        Self::SeatsAreShared,
        Self::SeatsStay,
        Self::SeatsOutlive,
        Self::NeverExpires,
        Self::TimerExpiresFirst,
        Self::SwitchStays,
        Self::NoRecount,
        Self::RecountAtOnce,
        Self::NoWait,
        Self::NoFence,
        Self::AheadStands,
        Self::NoRetries,
        Self::NoNotices,
        Self::NoticeOfEveryFailure,
        Self::PacketLosesLater,
        Self::PacketEndsWithFirst,
        Self::OldReadsPackets,
        Self::LeasesOutlive,
        Self::DeliveriesOutlive,
        Self::OutagesStand,
        Self::StepsAreTorn,
        Self::NeverPauses,
        Self::PauseIsSilent,
        Self::EndsWhenEnabled,
        Self::BeginsAnew,
        Self::OnlyActionsGoOn,
    ];

    /// The scenario that shows it, if the others hardly do.
    pub(super) const fn shows_in(self) -> Option<Scenario> {
        match self {
            Self::NoSettleTimer | Self::RetryTimerGone | Self::NeverHeals => Some(Scenario::Lossy),
            Self::NoFenceRecord | Self::LateIsOutage | Self::VerdictLate => Some(Scenario::Harsh),
            Self::LeftOutIsSilent | Self::NoExecGap | Self::PulseForgets | Self::GapByIdle => {
                Some(Scenario::Outage)
            }
            Self::AllUnbounded
            | Self::NoneRunsLast
            | Self::LatenessIsIgnored
            | Self::JitterIsDoubled
            | Self::DatesAreIgnored => Some(Scenario::Policies),
            Self::OverlapByEntry
            | Self::OverlapNoSeq
            | Self::OverlapSkipsBegun
            | Self::DeadRunOn => Some(Scenario::Overlap),
            Self::LimitsAreIgnored | Self::SlotsAreShared | Self::WaitsInVain => {
                Some(Scenario::Limits)
            }
            Self::SeatsAreShared | Self::SeatsStay | Self::SeatsOutlive => Some(Scenario::Seats),
            Self::BrakesAreIgnored
            | Self::CallsAreShared
            | Self::CallsAreLost
            | Self::BrakesStay => Some(Scenario::Hanging),
            Self::LastWordCounts
            | Self::LateReportCounts
            | Self::EarlyReportIsLost
            | Self::DeadlineDoesNotAsk
            | Self::OpenLapses
            | Self::TurnLapses
            | Self::SeatLapses
            | Self::DeadlineIsLost
            | Self::RecordedAcks => Some(Scenario::Completion),
            Self::DeadByClock
            | Self::DeadTooEarly
            | Self::MiddleOfWay
            | Self::ClaimNamesNobody
            | Self::SweepsOn
            | Self::GroupOverShared
            | Self::RequiredUnlocked => Some(Scenario::Processes),
            Self::SharesOverlap
            | Self::PartsStay
            | Self::RoundByClock
            | Self::FirstBeats
            | Self::FirstHeals => Some(Scenario::Parts),
            Self::BookHasNoCondition
            | Self::SignsAreIgnored
            | Self::DoubtsAreDropped
            | Self::ClaimsBeforeGrace
            | Self::PingOverClaim
            | Self::RepeatsCount
            | Self::PingOnlyNoted
            | Self::PaidIsOwedAgain
            | Self::BookForgetsPaid => Some(Scenario::Pings),
            Self::TimersStay
            | Self::NeverExpires
            | Self::TimerExpiresFirst
            | Self::SwitchStays
            | Self::NoRecount
            | Self::RecountAtOnce => Some(Scenario::Gone),
            Self::ForgetsEvicted | Self::PresumesEvicted => Some(Scenario::Burst),
            Self::EndsWhenEnabled | Self::BeginsAnew | Self::OnlyActionsGoOn => {
                Some(Scenario::Again)
            }
            Self::LeasesOutlive
            | Self::DeliveriesOutlive
            | Self::OutagesStand
            | Self::StepsAreTorn => Some(Scenario::Machine),
            _ => None,
        }
    }
}
