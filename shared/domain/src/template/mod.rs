//! Templates: texts with names in double braces, each of which becomes a value when the text is sent.
//!
//! A template is parsed once, with a closed set of names, so that a misspelt one is refused where a user
//! writes it. A value is escaped for the place that it stands in.
//!
//! - `{{name}}` becomes the value. An instant is in RFC 3339 in UTC.
//! - `{{name:format}}` becomes an instant in another [`Format`].
//! - `{{{{` becomes `{{`.
//!
//! A value that there is none of, such as the last success of a job that never succeeded, is an empty text.
//! In JSON outside of a string it is `null`, a number is a number there, and all else a string in quotes.

mod escape;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_recurrence::zone::Zone;
use minutehand_recurrence::{format_instant, meant, named};
use serde_json::Value as Json;

use escape::{percent_encoded, without_controls};

const OPEN: &str = "{{";
const CLOSE: &str = "}}";
/// The most characters of a wrong name that a message repeats.
const SHOWN_CHARS_MAX: usize = 40;

named! {
    /// A name that may stand in a template.
    pub enum Placeholder {
        /// The name of the job.
        Job = "job",
        /// The name of the job's collection.
        Collection = "collection",
        /// The instant of the occurrence. For a redrive it is the instant of the occurrence that failed.
        Occurrence = "occurrence",
        /// The instant of the occurrence before it.
        PreviousOccurrence = "previousOccurrence",
        /// When this attempt was due: later than the occurrence for a retry, and with a jitter.
        ScheduledTime = "scheduledTime",
        /// The number of the attempt at the action, from 1.
        Attempt = "attempt",
        /// The id of the execution, by which a target recognises a repetition.
        ExecutionId = "executionId",
        /// How many occurrences were owed and did not succeed since the last success.
        Missed = "missed",
        /// The instant of the first of them.
        MissedSince = "missedSince",
        /// The instant of the newest occurrence or run that succeeded.
        LastSuccess = "lastSuccess",
        /// Why the action failed, in a few words.
        Cause = "cause",
        /// What an alert tells: `failed`, `recovered`, `late` and so on.
        Kind = "kind",
        /// What an alert tells, in one line.
        Summary = "summary",
    }
}

impl Placeholder {
    /// The names that an action of a job may use.
    pub const OF_ACTIONS: &[Self] = match Self::OF_ERROR_ACTIONS.split_last() {
        // An action has no cause yet.
        Some((Self::Cause, others)) => others,
        _ => Self::OF_ERROR_ACTIONS,
    };

    /// The names that an error action of a job may use.
    pub const OF_ERROR_ACTIONS: &[Self] = &[
        Self::Job,
        Self::Collection,
        Self::Occurrence,
        Self::PreviousOccurrence,
        Self::ScheduledTime,
        Self::Attempt,
        Self::ExecutionId,
        Self::Missed,
        Self::MissedSince,
        Self::LastSuccess,
        Self::Cause,
    ];

    /// Whether its value is an instant, which has formats.
    const fn is_instant(self) -> bool {
        matches!(
            self,
            Self::Occurrence
                | Self::PreviousOccurrence
                | Self::ScheduledTime
                | Self::MissedSince
                | Self::LastSuccess
        )
    }
}

named! {
    /// How an instant is written.
    pub enum Format {
        /// The day on the clock of the job's time zone, like `2027-01-31`.
        Date = "date",
        /// Seconds since 1970.
        Unix = "unix",
        /// RFC 3339 with the offset of the job's time zone.
        Local = "local",
    }
}

/// What a template becomes a part of, which says how its values are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplatePlace {
    /// A text that is sent as it is.
    Text,
    /// A URL.
    Url,
    /// The value of a header, or a line of its own.
    Header,
    /// JSON.
    Json,
}

/// The value of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceholderValue<'a> {
    /// A text.
    Text(&'a str),
    /// A number.
    Number(u64),
    /// An instant.
    Instant(DateTime<Utc>),
    /// There is none.
    Absent,
}

/// A text with names in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    /// The value is escaped by the place, and in JSON by whether it stands in a string.
    Named {
        name: Placeholder,
        format: Option<Format>,
        place: TemplatePlace,
        is_in_string: bool,
    },
}

/// Why a text is not a template, as the end of a sentence whose subject is the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A name that does not exist, or that has no value in this template.
    #[error(
        "contains '{{{{{written}}}}}', which is not a name that it can use{suggestion}; the names are {names}"
    )]
    UnknownName {
        /// What stands in the braces.
        written: String,
        /// A name that may be meant, as a part of the sentence.
        suggestion: String,
        /// The names that can be used.
        names: String,
    },
    /// A format that does not exist.
    #[error(
        "contains '{{{{{written}}}}}', whose format does not exist; the formats are {}",
        Format::ALL.map(Format::name).join(", ")
    )]
    UnknownFormat {
        /// What stands in the braces.
        written: String,
    },
    /// A format of what is not an instant.
    #[error(
        "contains '{{{{{written}}}}}', but only instants have formats; remove the colon and what follows it"
    )]
    NoInstant {
        /// What stands in the braces.
        written: String,
    },
    /// A name without its end.
    #[error(
        "contains '{{{{' without '}}}}' after it; write '{{{{{{{{' for two braces that begin no name"
    )]
    Open,
}

impl Template {
    /// Parses a text, in which these names may stand.
    ///
    /// # Errors
    ///
    /// If something in double braces is not one of the names, or has a format that it cannot have.
    pub fn parse(
        text: &str,
        place: TemplatePlace,
        names: &[Placeholder],
    ) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let (mut literal, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once(OPEN) {
            literal.push_str(before);
            if let Some(after) = after.strip_prefix(OPEN) {
                literal.push_str(OPEN);
                rest = after;
                continue;
            }
            let (written, after) = after.split_once(CLOSE).ok_or(TemplateError::Open)?;
            let (name, format) = read_name(written, names)?;
            parts.push(Part::Literal(std::mem::take(&mut literal)));
            let is_in_string = place == TemplatePlace::Json && is_in_string(&parts);
            parts.push(Part::Named { name, format, place, is_in_string });
            rest = after;
        }
        literal.push_str(rest);
        parts.push(Part::Literal(literal));
        parts.retain(|part| !matches!(part, Part::Literal(text) if text.is_empty()));
        Ok(Self { parts })
    }

    /// Whether no name stands in it.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Literal(_)))
    }

    /// The text with the value of each name in its place. The zone is that of local instants.
    #[must_use]
    pub fn render<'a>(
        &self,
        zone: Option<Zone>,
        value: &dyn Fn(Placeholder) -> PlaceholderValue<'a>,
    ) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Named { name, format, place, is_in_string } => {
                    push(&mut text, value(*name), *format, (*place, *is_in_string), zone);
                }
            }
        }
        text
    }
}

/// Reads a text as JSON once values stand in place of its names; `None` if that is not JSON. A text that is not
/// a valid template counts as JSON, because the check of all templates refuses it and says why.
pub(crate) fn sample(text: &str) -> Option<Json> {
    let Ok(template) = Template::parse(text, TemplatePlace::Json, &Placeholder::ALL) else {
        return Some(Json::Object(serde_json::Map::new()));
    };
    serde_json::from_str(&template.render(None, &|_| PlaceholderValue::Text("x"))).ok()
}

/// The first name that stands in a text, whether or not the text is a template.
#[must_use]
pub fn name_in(text: &str) -> Option<Placeholder> {
    let written = text.match_indices(OPEN).filter_map(|(at, open)| {
        let (written, _) = text.get(at + open.len()..)?.split_once(CLOSE)?;
        Some(written.split_once(':').map_or(written, |(name, _)| name).trim())
    });
    let mut known =
        written.filter_map(|it| Placeholder::ALL.into_iter().find(|name| name.name() == it));
    known.next()
}

/// Reads what stands in the braces.
fn read_name(
    written: &str,
    names: &[Placeholder],
) -> Result<(Placeholder, Option<Format>), TemplateError> {
    let shown = || written.chars().take(SHOWN_CHARS_MAX).collect::<String>();
    let (name, format) = match written.split_once(':') {
        Some((name, format)) => (name.trim(), Some(format.trim())),
        None => (written.trim(), None),
    };
    let known = || names.iter().map(|name| name.name());
    // Names are exact, as those of properties are.
    let found = names.iter().find(|known| known.name() == name).ok_or_else(|| {
        TemplateError::UnknownName {
            written: shown(),
            suggestion: meant(name, known()),
            names: known().collect::<Vec<_>>().join(", "),
        }
    })?;
    let Some(format) = format else { return Ok((*found, None)) };
    if !found.is_instant() {
        return Err(TemplateError::NoInstant { written: shown() });
    }
    Format::named(format)
        .map(|format| (*found, Some(format)))
        .ok_or_else(|| TemplateError::UnknownFormat { written: shown() })
}

/// Whether a JSON text that begins with these parts is within a string at their end. A value never ends a
/// string.
fn is_in_string(parts: &[Part]) -> bool {
    let (mut is_inside, mut is_escaped) = (false, false);
    for part in parts {
        let Part::Literal(text) = part else {
            is_escaped = false;
            continue;
        };
        for c in text.chars() {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' if is_inside => is_escaped = true,
                '"' => is_inside = !is_inside,
                _ => {}
            }
        }
    }
    is_inside
}

fn push(
    text: &mut String,
    value: PlaceholderValue<'_>,
    format: Option<Format>,
    (place, is_in_string): (TemplatePlace, bool),
    zone: Option<Zone>,
) {
    let is_number = matches!(value, PlaceholderValue::Number(_)) || format == Some(Format::Unix);
    let written = match value {
        PlaceholderValue::Absent if place != TemplatePlace::Json || is_in_string => return,
        PlaceholderValue::Absent => return text.push_str("null"),
        PlaceholderValue::Text(value) => value.to_owned(),
        PlaceholderValue::Number(number) => number.to_string(),
        PlaceholderValue::Instant(at) => write_instant(at, format, zone),
    };
    match place {
        TemplatePlace::Text => text.push_str(&written),
        TemplatePlace::Url => text.push_str(&percent_encoded(&written)),
        TemplatePlace::Header => text.push_str(&without_controls(&written)),
        TemplatePlace::Json if is_in_string => {
            let quoted = Json::from(written).to_string();
            let inner = quoted.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
            text.push_str(inner.unwrap_or_default());
        }
        TemplatePlace::Json if is_number => text.push_str(&written),
        TemplatePlace::Json => text.push_str(&Json::from(written).to_string()),
    }
}

fn write_instant(at: DateTime<Utc>, format: Option<Format>, zone: Option<Zone>) -> String {
    let offset = zone.map_or(TimeDelta::zero(), |zone| zone.local(at).1);
    // Offsets of long ago have seconds, which RFC 3339 has no place for.
    let minutes = offset.num_minutes();
    let local = || format_instant(at + TimeDelta::minutes(minutes));
    match format {
        None => format_instant(at),
        Some(Format::Unix) => at.timestamp().to_string(),
        Some(Format::Date) => {
            let local = local();
            local.split_once('T').map_or(local.as_str(), |(day, _)| day).to_owned()
        }
        Some(Format::Local) => {
            let (sign, size) = (if minutes < 0 { '-' } else { '+' }, minutes.abs());
            let offset = format!("{sign}{:02}:{:02}", size / 60, size % 60);
            local().replace('Z', &offset)
        }
    }
}

#[cfg(test)]
mod tests;
