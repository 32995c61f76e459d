//! The numbers of the firing protocol, in one place. They depend on each other:
//!
//! an action < a function < a lease < the visibility of a message, so that a message is delivered again
//! when the claim of its worker has ended and not before; and the horizon is not above the longest delay of
//! a message.

use chrono::TimeDelta;

/// How far ahead occurrences are sent to the queue: as long as a message may be delayed.
pub const HORIZON: TimeDelta = TimeDelta::minutes(15);
/// The most occurrences of one timer that a pass sends.
pub const OCCURRENCES_MAX: usize = 16;
/// A pass dispatches timers that are due within this time: until the tick after the next, as the next one may
/// be missing, and half a minute more for a late one.
pub const AHEAD: TimeDelta = TimeDelta::seconds(150);
/// How long a pass begins further pages. Passes do not overlap.
pub const PASS: TimeDelta = TimeDelta::seconds(50);
/// Hard limit of a pass, including the time to finish pages that are in progress.
pub const PASS_MAX: TimeDelta = TimeDelta::seconds(52);
/// When a timer without further occurrences is due again.
pub const LOOK_AGAIN: TimeDelta = TimeDelta::minutes(20);
/// How often sweepers and workers give a sign of life.
pub const BEAT_EVERY: TimeDelta = TimeDelta::seconds(50);
/// Without a sign of life for longer, sweepers or workers do not work, and a watcher elsewhere hears no ping.
pub const SILENT_AFTER: TimeDelta = TimeDelta::minutes(3);
/// A longer time without a sign of life is an outage.
pub const OUTAGE_MIN: TimeDelta = TimeDelta::minutes(10);
/// A message that is delivered earlier than this is sent again: waiting would use up the lease.
pub const EARLY: TimeDelta = TimeDelta::seconds(2);
/// An attempt that was due this long ago and has not ended has stalled, and is sent again.
pub const STUCK: TimeDelta = TimeDelta::minutes(2);
/// The most retries of a job that wait in timers.
pub const LONG_RETRIES_MAX: u32 = 1_000;

/// How long an action may take.
pub const ACTION: TimeDelta = TimeDelta::seconds(60);
/// How long a function may take for a batch.
pub const FUNCTION: TimeDelta = TimeDelta::seconds(90);
/// How long a claim holds.
pub const LEASE: TimeDelta = TimeDelta::seconds(100);
/// How long a delivered message stays invisible to other workers.
pub const VISIBILITY: TimeDelta = TimeDelta::seconds(120);
/// How often a message is delivered before it goes to the dead letters.
pub const RECEIVES_MAX: u32 = 20;

const _: () = {
    assert!(ACTION.num_seconds() < FUNCTION.num_seconds());
    assert!(FUNCTION.num_seconds() < LEASE.num_seconds());
    assert!(LEASE.num_seconds() < VISIBILITY.num_seconds());
    assert!(PASS.num_seconds() < PASS_MAX.num_seconds());
    // The sweeper, which runs every minute, beats each time.
    assert!(BEAT_EVERY.num_seconds() < 60);
    // A pass sends more than the time until the pass after the next.
    assert!(HORIZON.num_seconds() > AHEAD.num_seconds() + 2 * 60);
};

/// The spans that decisions use, on the clock of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spans {
    /// [`HORIZON`].
    pub horizon: TimeDelta,
    /// [`AHEAD`].
    pub ahead: TimeDelta,
    /// [`LOOK_AGAIN`].
    pub look_again: TimeDelta,
    /// [`BEAT_EVERY`].
    pub beat_every: TimeDelta,
    /// [`OUTAGE_MIN`].
    pub outage_min: TimeDelta,
    /// [`EARLY`].
    pub early: TimeDelta,
    /// [`STUCK`].
    pub stuck: TimeDelta,
}

impl Spans {
    /// The spans where both clocks run at the same rate.
    pub const WORK: Self = Self {
        horizon: HORIZON,
        ahead: AHEAD,
        look_again: LOOK_AGAIN,
        beat_every: BEAT_EVERY,
        outage_min: OUTAGE_MIN,
        early: EARLY,
        stuck: STUCK,
    };

    /// The spans where the clock of the schedule runs at another rate.
    #[must_use]
    pub fn stretched(stretch: impl Fn(TimeDelta) -> TimeDelta) -> Self {
        Self {
            horizon: stretch(HORIZON),
            ahead: stretch(AHEAD),
            look_again: stretch(LOOK_AGAIN),
            beat_every: stretch(BEAT_EVERY),
            outage_min: stretch(OUTAGE_MIN),
            early: stretch(EARLY),
            stuck: stretch(STUCK),
        }
    }
}
