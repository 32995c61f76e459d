//! The query parameters of Minutehand's own operations.

use std::ops::RangeInclusive;

use chrono::{DateTime, Utc};
use minutehand_recurrence::{WrittenDate, nearest};

use crate::call::Call;
use crate::failure::Failure;
use crate::query::{Query, parse_position, shown};

/// The parameters of a request, of which none is unknown.
pub(crate) struct Parameters<'a>(&'a Query);

impl<'a> Parameters<'a> {
    /// The parameters of a request that may have these.
    ///
    /// # Errors
    ///
    /// If the request has another one: ignoring it would hide a misspelt name.
    pub(crate) fn of(call: &'a Call, known: &[&'static str]) -> Result<Self, Failure> {
        // Clients that send an api-version everywhere need not know that it is not needed here.
        let is_known = |name: &&str| {
            let mut known = known.iter().chain(&["api-version"]);
            known.any(|known| known.eq_ignore_ascii_case(name))
        };
        let Some(unknown) = call.query.names().find(|name| !is_known(name)) else {
            return Ok(Self(&call.query));
        };
        let hint = match nearest(unknown, known.iter().copied()) {
            Some(meant) => format!("did you mean '{meant}'?"),
            None if known.is_empty() => "this operation has none.".to_owned(),
            None => format!("this operation has {}.", known.join(", ")),
        };
        let unknown = shown(unknown);
        Err(Failure::invalid(format!("{unknown} is not a query parameter; {hint}")))
    }

    /// A text that is not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).filter(|text| !text.is_empty())
    }

    /// An instant.
    pub(crate) fn instant(&self, name: &str) -> Result<Option<DateTime<Utc>>, Failure> {
        let read = |text: &str| {
            let read = WrittenDate::parse(text).and_then(|date| date.instant(None));
            read.map_err(|error| Failure::invalid(format!("'{name}' is {}; {error}.", shown(text))))
        };
        self.text(name).map(read).transpose()
    }

    /// A whole number within a range.
    pub(crate) fn number(
        &self,
        name: &str,
        range: RangeInclusive<usize>,
        default: usize,
    ) -> Result<usize, Failure> {
        let Some(text) = self.text(name) else {
            return Ok(default);
        };
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let (min, max) = (range.start(), range.end());
            let text = shown(text);
            Failure::invalid(format!("'{name}' is {text}; use a whole number from {min} to {max}."))
        })
    }

    /// A value that has one of these names.
    pub(crate) fn one_of<T>(
        &self,
        name: &str,
        read: fn(&str) -> Option<T>,
        names: &[&str],
    ) -> Result<Option<T>, Failure> {
        let read = |text: &str| {
            read(text).ok_or_else(|| {
                let (text, names) = (shown(text), names.join(", "));
                Failure::invalid(format!("'{name}' is {text}; use one of {names}."))
            })
        };
        self.text(name).map(read).transpose()
    }

    /// The position of a page, from the answer before.
    pub(crate) fn position(&self) -> Result<Option<String>, Failure> {
        let read = |text: &str| parse_position(text).ok_or_else(invalid_position);
        self.text("position").map(read).transpose()
    }
}

/// A position that is not one of an answer.
pub(super) fn invalid_position() -> Failure {
    Failure::invalid("'position' is not valid; send the 'position' of the answer before it.")
}
