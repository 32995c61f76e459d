//! When a request is sent again, and after which pause.
//!
//! - A server that asks for a pause (429 or 503 with `Retry-After`) has done nothing: any request is
//!   sent again after that pause, if the pause is not longer than [`PAUSE_MAX`].
//! - A connection that breaks leaves open whether the request was carried out. Only a request whose
//!   repetition changes nothing is sent again.
//! - A server that is not reached is not tried again: a person is waiting, and it most likely does
//!   not run.

use std::time::Duration;

/// How often a request is sent, at most.
pub const TRIES_MAX: u32 = 4;

/// The longest pause that is kept; a server that asks for a longer one is reported as it answered.
pub const PAUSE_MAX: Duration = Duration::from_secs(30);

/// The pause before the first repetition if the server names none. It doubles each time.
pub const PAUSE_FIRST: Duration = Duration::from_millis(500);

/// How a try ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The server asked for a pause, and says how long; `None` if it does not say.
    Busy(Option<Duration>),
    /// The connection broke, or the answer did not come in time.
    Broken,
    /// Anything else: an answer, a refusal, or a server that was not reached.
    Finally,
}

/// The pause before the next try, or `None` if there is none.
///
/// `tries` is how often the request was sent. A request is `repeatable` if sending it twice has the
/// same effect as sending it once.
#[must_use]
pub fn pause(ended: Ended, repeatable: bool, tries: u32) -> Option<Duration> {
    if tries >= TRIES_MAX {
        return None;
    }
    let doubled = PAUSE_FIRST.saturating_mul(2_u32.saturating_pow(tries.saturating_sub(1)));
    match ended {
        Ended::Busy(Some(pause)) => (pause <= PAUSE_MAX).then_some(pause),
        Ended::Busy(None) => Some(doubled),
        Ended::Broken => repeatable.then_some(doubled),
        Ended::Finally => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_repeated_only_where_that_is_safe_and_wanted() {
        let seconds = Duration::from_secs;
        let millis = Duration::from_millis;
        for (ended, repeatable, tries, expected) in [
            (Ended::Busy(Some(seconds(5))), false, 1, Some(seconds(5))),
            (Ended::Busy(Some(seconds(30))), false, 3, Some(seconds(30))),
            (Ended::Busy(Some(seconds(31))), true, 1, None),
            (Ended::Busy(Some(seconds(5))), true, 4, None),
            (Ended::Busy(None), false, 1, Some(millis(500))),
            (Ended::Busy(None), false, 3, Some(seconds(2))),
            (Ended::Broken, true, 2, Some(seconds(1))),
            (Ended::Broken, true, 4, None),
            (Ended::Broken, false, 1, None),
            (Ended::Finally, true, 1, None),
        ] {
            assert_eq!(pause(ended, repeatable, tries), expected, "{ended:?} {repeatable} {tries}");
        }
    }
}
