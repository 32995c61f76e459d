//! The numbers of the firing protocol, in one place. They lean on each other:
//!
//! an action < a function < a lease < the visibility of a message, so that a message comes back when
//! its worker's claim is over and not before; and the horizon < the longest delay of a message.

use chrono::TimeDelta;

/// How far ahead occurrences are handed to the queue: a minute less than a message may be delayed.
pub const HORIZON: TimeDelta = TimeDelta::minutes(14);
/// The most occurrences of one timer that a pass hands over.
pub const OCCURRENCES_MAX: usize = 16;
/// Timers that are due within this are looked at by a pass: a tick may be late, or missing.
pub const AHEAD: TimeDelta = TimeDelta::seconds(90);
/// How long a pass goes on with more; passes do not overlap.
pub const PASS: TimeDelta = TimeDelta::seconds(50);
/// How long a pass takes at most, with the end of what it is at when it goes on with nothing more.
pub const PASS_MAX: TimeDelta = TimeDelta::seconds(52);
/// When a timer with nothing left to hand over is looked at again.
pub const LOOK_AGAIN: TimeDelta = TimeDelta::minutes(20);
/// An occurrence whose successor fell due so long ago is overtaken.
pub const CATCH_UP: TimeDelta = TimeDelta::minutes(10);
/// A message that is earlier than this is sent again: waiting for it would use up the lease.
pub const EARLY: TimeDelta = TimeDelta::seconds(2);
/// What stopped so long ago is sent again where it stands.
pub const STUCK: TimeDelta = TimeDelta::minutes(2);
/// The most retries of a job that wait in timers of their own.
pub const LONG_RETRIES_MAX: u32 = 1_000;

/// How long an action may take.
pub const ACTION: TimeDelta = TimeDelta::seconds(60);
/// How long a function may take for a batch.
pub const FUNCTION: TimeDelta = TimeDelta::seconds(90);
/// How long a claim holds.
pub const LEASE: TimeDelta = TimeDelta::seconds(100);
/// How long a message stays away when it was delivered.
pub const VISIBILITY: TimeDelta = TimeDelta::seconds(120);
/// How often a message is delivered before it goes to the dead letters.
pub const RECEIVES_MAX: u32 = 20;

const _: () = {
    assert!(ACTION.num_seconds() < FUNCTION.num_seconds());
    assert!(FUNCTION.num_seconds() < LEASE.num_seconds());
    assert!(LEASE.num_seconds() < VISIBILITY.num_seconds());
    assert!(PASS.num_seconds() < PASS_MAX.num_seconds());
    // What one pass hands over is longer than the time to the next but one.
    assert!(HORIZON.num_seconds() > AHEAD.num_seconds() + 2 * 60);
};

/// The spans that decisions are made by, as long as they are on the schedule's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spans {
    /// [`HORIZON`].
    pub horizon: TimeDelta,
    /// [`AHEAD`].
    pub ahead: TimeDelta,
    /// [`LOOK_AGAIN`].
    pub look_again: TimeDelta,
    /// [`CATCH_UP`].
    pub catch_up: TimeDelta,
    /// [`EARLY`].
    pub early: TimeDelta,
    /// [`STUCK`].
    pub stuck: TimeDelta,
}

impl Spans {
    /// As long as they are where the schedule goes by as work does.
    pub const WORK: Self = Self {
        horizon: HORIZON,
        ahead: AHEAD,
        look_again: LOOK_AGAIN,
        catch_up: CATCH_UP,
        early: EARLY,
        stuck: STUCK,
    };

    /// As long as they are where the schedule goes by at another rate.
    #[must_use]
    pub fn stretched(stretch: impl Fn(TimeDelta) -> TimeDelta) -> Self {
        Self {
            horizon: stretch(HORIZON),
            ahead: stretch(AHEAD),
            look_again: stretch(LOOK_AGAIN),
            catch_up: stretch(CATCH_UP),
            early: stretch(EARLY),
            stuck: stretch(STUCK),
        }
    }
}
