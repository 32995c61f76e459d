//! `Retry-After`: how long a target asks to wait before it is called again.

use aws_smithy_types::DateTime as HttpDate;
use aws_smithy_types::date_time::Format;
use chrono::{DateTime, TimeDelta, Utc};
use http::StatusCode;
use http::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};

/// No header is longer that says how long to wait.
const TEXT_CHARS_MAX: usize = 64;

/// How long the target asks to wait; `None` if it does not ask, or in words that are not HTTP.
///
/// Only an answer that says that the target is busy asks for a wait. A date is compared with the date
/// of the answer, because both are by the clock of the target.
pub(crate) fn retry_after(
    status: StatusCode,
    headers: &HeaderMap,
    now: DateTime<Utc>,
) -> Option<TimeDelta> {
    if !matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        return None;
    }
    let text = text(headers, RETRY_AFTER)?;
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return TimeDelta::try_seconds(text.parse().ok()?);
    }
    let until = seconds(text)?;
    let date = self::text(headers, DATE).and_then(seconds).unwrap_or(now.timestamp());
    let wait = until.checked_sub(date).filter(|wait| *wait > 0)?;
    TimeDelta::try_seconds(wait)
}

/// The seconds of a date as HTTP writes it.
fn seconds(text: &str) -> Option<i64> {
    HttpDate::from_str(text, Format::HttpDate).ok().map(|date| date.secs())
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let text = headers.get(name)?.to_str().ok()?.trim();
    (!text.is_empty() && text.len() <= TEXT_CHARS_MAX).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table() {
        let now: DateTime<Utc> = "2026-03-01T09:00:00Z".parse().unwrap();
        let check = |status: u16, retry_after: &str, date: Option<&str>, expected: Option<i64>| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, retry_after.parse().unwrap());
            if let Some(date) = date {
                headers.insert(DATE, date.parse().unwrap());
            }
            let status = StatusCode::from_u16(status).unwrap();
            let found = super::retry_after(status, &headers, now);
            assert_eq!(found.map(|wait| wait.num_seconds()), expected, "{status} {retry_after}");
        };
        let at = |time: &str| format!("Sun, 01 Mar 2026 {time} GMT");
        check(429, "120", None, Some(120));
        check(503, " 5 ", None, Some(5));
        check(503, "0", None, Some(0));
        check(500, "120", None, None);
        check(301, "120", None, None);
        check(200, "120", None, None);
        check(503, &at("09:10:00"), None, Some(600));
        check(503, &at("09:10:00"), Some(&at("09:09:30")), Some(30));
        check(503, &at("08:59:59"), None, None);
        for wrong in
            ["", "soon", "-1", "1.5", "PT1M", "99999999999999999999", "2026-03-01T09:10:00Z"]
        {
            check(429, wrong, None, None);
        }
        check(429, &"1".repeat(65), None, None);
        assert_eq!(super::retry_after(StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new(), now), None);
    }
}
