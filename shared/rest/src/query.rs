//! Query parameters. Names match without regard to case. If a parameter is sent twice, the first
//! one counts.

use std::convert::Infallible;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use minutehand_app::{ExecutionView, JobView};
use minutehand_domain::attempt::Outcome;
use minutehand_domain::job::JobState;
use url::form_urlencoded;

use crate::failure::{ErrorCode, Failure};

/// The versions of the API that are served. All behave the same.
pub(crate) const API_VERSIONS: [&str; 3] = ["2016-03-01", "2016-01-01", "2014-08-01-preview"];
/// The same versions, as part of a sentence.
const API_VERSIONS_SHOWN: &str = "2016-03-01, 2016-01-01 or 2014-08-01-preview";
/// The maximum of `$top`.
const TOP_MAX: usize = 100;
/// The maximum of `$skip`: what is left out is read all the same.
const SKIP_MAX: usize = 10_000;
/// The maximum length of a position in the store, which is a sort key.
const POSITION_BYTES_MAX: usize = 1_024;

/// The decoded parameters of a query.
pub(crate) struct Query(Vec<(String, String)>);

/// What became of an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It was attempted, with this outcome.
    Attempted(Outcome),
    /// It was left out. An extension: history without a filter contains attempts only.
    Skipped,
}

/// The part of a list that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted<F> {
    /// The maximum number of items; `None` asks for all items, in pages.
    pub(crate) top: Option<usize>,
    /// The number of items to leave out at the beginning.
    pub(crate) skip: usize,
    /// The position where the page begins, from the `nextLink` of the page before.
    pub(crate) from: Option<String>,
    /// The value of the filter; `None` asks for items with any value.
    pub(crate) only: Option<F>,
}

impl Wanted<JobState> {
    /// Whether it has a job.
    pub(crate) fn has(&self, job: &JobView) -> bool {
        self.only.is_none_or(|wanted| job.state == wanted)
    }
}

impl Wanted<Ending> {
    /// Whether it has an attempt.
    pub(crate) fn has(&self, attempt: &ExecutionView) -> bool {
        self.only.is_none_or(|wanted| Ending::Attempted(attempt.record.outcome) == wanted)
    }
}

impl Query {
    /// Parses a query.
    pub(crate) fn parse(query: Option<&str>) -> Self {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Self(pairs.into_owned().collect())
    }

    /// The value of a parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The names of all parameters.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Checks that the query names a version of the API that is served.
    pub(crate) fn check_api_version(&self) -> Result<(), Failure> {
        let Some(sent) = self.get("api-version").filter(|sent| !sent.is_empty()) else {
            return Err(Failure::new(
                ErrorCode::MissingApiVersionParameter,
                format!("The query parameter 'api-version' is missing; use {API_VERSIONS_SHOWN}."),
            ));
        };
        if API_VERSIONS.iter().any(|known| known.eq_ignore_ascii_case(sent)) {
            return Ok(());
        }
        Err(Failure::new(
            ErrorCode::InvalidApiVersionParameter,
            format!("The 'api-version' {} is not served; use {API_VERSIONS_SHOWN}.", shown(sent)),
        ))
    }

    /// Whether the query asks for what is in the archive only.
    pub(crate) fn is_archive(&self) -> Result<bool, Failure> {
        self.get("archive").map_or(Ok(false), |sent| {
            sent.to_ascii_lowercase().parse().map_err(|_| {
                let sent = shown(sent);
                Failure::invalid(format!("'archive' cannot be {sent}; use true or false."))
            })
        })
    }

    /// The part of a job's history that the query asks for, with a filter that may call the status a state, as clients of the classic API do.
    pub(crate) fn wanted_classic_history(&self) -> Result<Wanted<Ending>, Failure> {
        let by_state = || self.wanted(&Filter { property: "state", ..STATUS });
        self.wanted(&STATUS).or_else(|failure| by_state().map_err(|_| failure))
    }

    /// The part of a list of collections that the query asks for. These lists have no filter.
    pub(crate) fn wanted_collections(&self) -> Result<Wanted<Infallible>, Failure> {
        if self.get("$filter").is_some() {
            return Err(Failure::invalid("Lists of job collections do not support '$filter'."));
        }
        self.wanted(&NO_FILTER)
    }

    /// The part of a list that the query asks for.
    pub(crate) fn wanted<F>(&self, filter: &Filter<F>) -> Result<Wanted<F>, Failure> {
        let top = self.get("$top").map(|sent| {
            let allowed = |top: &usize| (1..=TOP_MAX).contains(top);
            number(sent).filter(allowed).ok_or_else(|| {
                Failure::invalid(format!(
                    "'$top' cannot be {}; use a number from 1 to {TOP_MAX}.",
                    shown(sent)
                ))
            })
        });
        let skip = self.get("$skip").map(|sent| {
            number(sent).filter(|skip| *skip <= SKIP_MAX).ok_or_else(|| {
                Failure::invalid(format!(
                    "'$skip' cannot be {}; use a number from 0 to {SKIP_MAX}. To read a longer list, \
                     leave '$top' and '$skip' out and follow 'nextLink'.",
                    shown(sent)
                ))
            })
        });
        let from = self.get("$skiptoken").map(|sent| {
            parse_position(sent).ok_or_else(|| {
                Failure::invalid("'$skiptoken' is invalid; follow 'nextLink' without changing it.")
            })
        });
        let (top, skip, from) = (top.transpose()?, skip.transpose()?, from.transpose()?);
        let only = self.get("$filter").map(|sent| filter.parse(sent)).transpose()?;
        Ok(Wanted { top, skip: skip.unwrap_or(0), from, only })
    }
}

/// Encodes a position in the store for a link.
pub(crate) fn write_position(position: &str) -> String {
    URL_SAFE_NO_PAD.encode(position)
}

/// Decodes a position of the store.
pub(crate) fn parse_position(sent: &str) -> Option<String> {
    let position = String::from_utf8(URL_SAFE_NO_PAD.decode(sent).ok()?).ok()?;
    (1..=POSITION_BYTES_MAX).contains(&position.len()).then_some(position)
}

/// Parses digits: no sign, and no overflow.
fn number(sent: &str) -> Option<usize> {
    let digits = sent.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| sent.parse().ok()).flatten()
}

/// A filter of the form `{property} eq X`. `X` may be in quotes, and case does not matter.
pub(crate) struct Filter<F> {
    property: &'static str,
    parse_value: fn(&str) -> Option<F>,
    /// The values of `X`, as part of a sentence.
    values_shown: &'static str,
}

/// The filter of a list of jobs.
pub(crate) const STATE: Filter<JobState> = Filter {
    property: "state",
    parse_value: JobState::read_name,
    values_shown: "Enabled, Disabled, Completed or Faulted",
};

/// The filter of a job's history.
pub(crate) const STATUS: Filter<Ending> = Filter {
    property: "status",
    parse_value: parse_status,
    values_shown: "Completed, Failed or Skipped",
};

const NO_FILTER: Filter<Infallible> =
    Filter { property: "", parse_value: |_| None, values_shown: "nothing" };

impl<F> Filter<F> {
    fn parse(&self, sent: &str) -> Result<F, Failure> {
        let Self { property, parse_value, values_shown } = self;
        let mut words = sent.split_whitespace();
        let value = match (words.next(), words.next(), words.next(), words.next()) {
            (Some(sent), Some(operator), Some(literal), None)
                if sent.eq_ignore_ascii_case(property) && operator.eq_ignore_ascii_case("eq") =>
            {
                parse_value(unquoted(literal))
            }
            _ => None,
        };
        value.ok_or_else(|| {
            Failure::invalid(format!(
                "'$filter' cannot be {}; use '{property} eq X', where X is {values_shown}.",
                shown(sent)
            ))
        })
    }
}

fn parse_status(literal: &str) -> Option<Ending> {
    let known = [
        ("Completed", Ending::Attempted(Outcome::Succeeded)),
        ("Failed", Ending::Attempted(Outcome::Failed)),
        ("Skipped", Ending::Skipped),
    ];
    let found = known.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(literal));
    found.map(|(_, ending)| ending)
}

fn unquoted(literal: &str) -> &str {
    let between = |quote| literal.strip_prefix(quote)?.strip_suffix(quote);
    between('\'').or_else(|| between('"')).unwrap_or(literal)
}

/// A value from the request as messages quote it: escaped and shortened.
pub(crate) fn shown(sent: &str) -> String {
    /// Long enough to recognise the value.
    const CHARS_MAX: usize = 100;
    let short: String = sent.chars().take(CHARS_MAX).collect();
    format!("'{}'", short.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(query: &str) -> Result<Wanted<JobState>, String> {
        Query::parse(Some(query)).wanted(&STATE).map_err(|failure| failure.message)
    }

    #[test]
    fn filters_name_a_state_in_any_case_with_or_without_quotes() {
        for sent in [
            "$filter=state%20eq%20Disabled",
            "$FILTER=STATE%20EQ%20disabled",
            "%24filter=state+eq+'Disabled'",
            "$filter=state eq %22DISABLED%22",
        ] {
            assert_eq!(wanted(sent).unwrap().only, Some(JobState::Disabled), "{sent}");
        }
        for sent in ["", "state", "state eq", "state ne Enabled", "name eq Enabled", "state eq On"]
        {
            let message = wanted(&format!("$filter={sent}")).unwrap_err();
            assert_eq!(
                message,
                format!(
                    "'$filter' cannot be '{sent}'; use 'state eq X', where X is \
                     Enabled, Disabled, Completed or Faulted."
                )
            );
        }
        assert!(wanted("$filter=state eq Enabled or state eq Disabled").is_err());
    }

    #[test]
    fn histories_are_filtered_by_status() {
        let status = |sent: &str| {
            let query = format!("$filter={sent}");
            let wanted = Query::parse(Some(&query)).wanted(&STATUS);
            wanted.map(|wanted| wanted.only).map_err(|failure| failure.message)
        };
        assert_eq!(status("status eq Completed"), Ok(Some(Ending::Attempted(Outcome::Succeeded))));
        assert_eq!(status("status eq 'skipped'"), Ok(Some(Ending::Skipped)));
        for sent in ["Status+Eq+FAILED", "status eq 'failed'", "status eq %22Failed%22"] {
            assert_eq!(status(sent), Ok(Some(Ending::Attempted(Outcome::Failed))), "{sent}");
        }
        for sent in ["", "status", "status eq", "status eq Postponed", "state eq Completed"] {
            let expected = format!(
                "'$filter' cannot be '{sent}'; use 'status eq X', where X is Completed, \
                 Failed or Skipped."
            );
            assert_eq!(status(sent), Err(expected));
        }
    }

    #[test]
    fn top_and_skip_are_numbers_within_limits() {
        let window = wanted("$top=100&$skip=7").unwrap();
        assert_eq!((window.top, window.skip), (Some(100), 7));
        assert_eq!(wanted("").unwrap(), Wanted { top: None, skip: 0, from: None, only: None });
        for top in ["0", "101", "-1", "+5", "5.0", "x", "", "99999999999999999999"] {
            assert!(wanted(&format!("$top={}", top.replace('+', "%2B"))).is_err(), "{top}");
        }
        assert_eq!(wanted("$skip=10000").unwrap().skip, SKIP_MAX);
        for skip in ["-1", "x", "", "1e3", "10001", "99999999"] {
            assert!(wanted(&format!("$skip={skip}")).is_err(), "{skip}");
        }
    }

    #[test]
    fn positions_survive_encoding_and_decoding() {
        let position = "jobs#ä/+?";
        let link = format!("$skiptoken={}", write_position(position));
        assert_eq!(wanted(&link).unwrap().from.as_deref(), Some(position));
        for sent in ["", "%", "a=", "_w"] {
            assert!(wanted(&format!("$skiptoken={sent}")).is_err(), "{sent}");
        }
    }

    #[test]
    fn a_missing_or_unknown_version_is_answered_with_the_served_ones() {
        for version in API_VERSIONS {
            let query = format!("x=1&API-Version={version}");
            assert!(Query::parse(Some(&query)).check_api_version().is_ok());
        }
        let messages =
            [None, Some("api-version="), Some("api-version=2019-01-01%0a")].map(|query| {
                let failure = Query::parse(query).check_api_version().unwrap_err();
                format!("{}: {}", failure.code.as_str(), failure.message)
            });
        let missing = "MissingApiVersionParameter: The query parameter 'api-version' is missing; \
                       use 2016-03-01, 2016-01-01 or 2014-08-01-preview.";
        let invalid = "InvalidApiVersionParameter: The 'api-version' '2019-01-01\\n' is not \
                       served; use 2016-03-01, 2016-01-01 or 2014-08-01-preview.";
        assert_eq!(messages, [missing, missing, invalid]);
    }
}
