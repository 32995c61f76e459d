//! What a tick asks for: all timers, or the part of one of several sweepers.

use chrono::{DateTime, Utc};
use minutehand_app::fire::SweepPart;
use serde::Deserialize;

/// A tick of the rule, or a call by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    pub(crate) part: SweepPart,
    /// The same for all parts of a tick, whenever each begins.
    at: Option<DateTime<Utc>>,
}

impl Default for Tick {
    fn default() -> Self {
        Self { part: SweepPart::WHOLE, at: None }
    }
}

/// An event that does not say which part to sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a part of a pass: give part and of, such as {{\"part\": 0, \"of\": 2}}, with a part below of; or neither"
)]
pub struct NotATick;

/// The members that matter; other events have others.
#[derive(Default, Deserialize)]
struct Members {
    part: Option<u32>,
    of: Option<u32>,
    at: Option<String>,
}

impl Tick {
    /// Reads an event. One without a part is for all timers.
    ///
    /// # Errors
    ///
    /// If it names a part that there cannot be.
    pub fn read(event: &serde_json::Value) -> Result<Self, NotATick> {
        // A call by hand may come with anything.
        let members = event.as_object().map(|_| Members::deserialize(event)).transpose();
        let members = members.map_err(|_| NotATick)?.unwrap_or_default();
        let part = match (members.part, members.of) {
            (None, None) => SweepPart::WHOLE,
            (Some(part), Some(of)) => SweepPart::new(part, of).ok_or(NotATick)?,
            _ => return Err(NotATick),
        };
        let at = members.at.map(|at| at.parse()).transpose().map_err(|_| NotATick)?;
        Ok(Self { part, at })
    }

    /// The minute of the tick. Only its low digits matter.
    pub(crate) fn minute(self, now: DateTime<Utc>) -> u32 {
        let minute = self.at.unwrap_or(now).timestamp().div_euclid(60);
        u32::try_from(minute.rem_euclid(i64::from(u32::MAX))).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tick_is_for_all_timers_or_for_a_part() {
        let at = "2026-11-28T22:00:30Z";
        for event in
            [json!(null), json!({}), json!({"time": at, "source": "aws.events"}), json!([])]
        {
            assert_eq!(Tick::read(&event), Ok(Tick::default()), "{event}");
        }
        let part = Tick::read(&json!({"part": 1, "of": 2, "at": at})).unwrap();
        assert_eq!(Some(part.part), SweepPart::new(1, 2));
        // Whenever it begins, it is of the minute of the tick.
        let at: DateTime<Utc> = at.parse().unwrap();
        let late = at + chrono::TimeDelta::seconds(45);
        assert_eq!(part.minute(late), part.minute(at));
        assert_ne!(Tick::default().minute(late), Tick::default().minute(at));
        for event in [
            json!({"part": 2, "of": 2}),
            json!({"part": 0}),
            json!({"of": 2}),
            json!({"part": 0, "of": 0}),
            json!({"part": -1, "of": 2}),
            json!({"part": "0", "of": 2}),
        ] {
            assert_eq!(Tick::read(&event), Err(NotATick), "{event}");
        }
    }
}
