//! Reads JSON text into a timetable in one call.

use chrono::{DateTime, Utc};

use crate::error::Refused;
use crate::recurrence::read_timing;
use crate::rule::Rule;
use crate::timetable::Timetable;
use crate::usual;

impl Timetable {
    /// Reads JSON text and compiles it for a job that is created at `now`.
    ///
    /// The text is a recurrence, or an object with a `startTime`, a `recurrence`, or both. A
    /// `startTime` without a recurrence runs once.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the text is not JSON, if a property has an invalid name or value, or if the
    /// rule never occurs.
    ///
    /// ```
    /// use minutehand_recurrence::{Timetable, WrittenDate, format_instant};
    ///
    /// let now = WrittenDate::parse("2026-11-21T10:17:00Z").unwrap().instant(None).unwrap();
    /// let timetable = Timetable::from_json_text(
    ///     r#"{"startTime": "2026-01-31T09:00", "recurrence": {"frequency": "month"}}"#,
    ///     now,
    /// )
    /// .unwrap();
    /// let next = timetable.at_or_after(now).map(format_instant);
    /// assert_eq!(next.as_deref(), Some("2026-11-30T09:00:00Z"));
    ///
    /// let refused = Timetable::from_json_text(r#"{"frequncy": "day"}"#, now).unwrap_err();
    /// assert_eq!(
    ///     refused.to_string(),
    ///     "'recurrence.frequncy' is not a property; did you mean 'frequency'?",
    /// );
    /// ```
    pub fn from_json_text(text: &str, now: DateTime<Utc>) -> Result<Self, Refused> {
        let (start_time, recurrence) = if let Some((start_time, recurrence)) = usual::read(text) {
            (start_time, Some(recurrence))
        } else {
            let json = serde_json::from_str(text)
                .map_err(|error| Refused::InvalidJson { problem: error.to_string() })?;
            read_timing(&json)?
        };
        match recurrence {
            Some(recurrence) => {
                let rule = Rule::canonical(&recurrence)?;
                rule.check_start(start_time)?;
                Self::new(&rule, start_time, now)
            }
            None => Ok(Self::once(start_time, now)),
        }
    }
}
