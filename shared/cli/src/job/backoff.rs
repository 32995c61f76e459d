//! The options of a job's back-off, and its words in `job show`.

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Result};
use crate::instant::optional_span;
use crate::merge::{EXTENSIONS, object, object_in};

/// The heading of the options that say what follows a failed attempt.
pub(super) const FAILURES: &str = "After failures";

/// How the pauses between retries change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backoff {
    /// Every pause is as long as the first
    Fixed,
    /// Every pause is longer than the one before
    Exponential,
}

/// The options of a back-off.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct BackoffArgs {
    /// How the pauses between retries change [default: fixed]
    #[arg(long, value_name = "HOW", help_heading = FAILURES)]
    pub(crate) backoff: Option<Backoff>,
    /// What each pause is multiplied by, 1 to 10; means --backoff exponential [default: 2]
    #[arg(long, value_name = "N", help_heading = FAILURES, allow_negative_numbers = true)]
    pub(crate) retry_factor: Option<f64>,
    /// Longest pause, 10m; means --backoff exponential
    #[arg(long, value_name = "SPAN", help_heading = FAILURES)]
    pub(crate) retry_max: Option<String>,
    /// Vary the pauses at random, so that many jobs do not retry at one instant
    #[arg(long, help_heading = FAILURES)]
    pub(crate) retry_jitter: bool,
    /// No retry later than this after the occurrence
    #[arg(long, value_name = "SPAN", help_heading = FAILURES)]
    pub(crate) retry_for: Option<String>,
    /// Longest pause that a target may ask for with Retry-After; 0s ignores it [default: 1h]
    #[arg(long, value_name = "SPAN", help_heading = FAILURES)]
    pub(crate) retry_after_max: Option<String>,
}

impl BackoffArgs {
    /// Puts the back-off into the extensions of a job; what the options do not name stays.
    pub(crate) fn put_into(&self, properties: &mut Map<String, Value>) -> Result<()> {
        let retry = self.written()?;
        if retry.is_empty() {
            return Ok(());
        }
        object_in(object_in(properties, EXTENSIONS)?, "retry")?.extend(retry);
        Ok(())
    }

    fn written(&self) -> Result<Map<String, Value>> {
        let Self { backoff, retry_factor, retry_max, retry_jitter, retry_for, retry_after_max } =
            self;
        let grows = retry_factor.is_some() || retry_max.is_some();
        let backoff = match backoff {
            Some(Backoff::Fixed) if grows => {
                return Err(Failure::refused(
                    "--retry-factor and --retry-max are for pauses that grow: leave --backoff fixed \
                     out",
                ));
            }
            None if grows => Some(Backoff::Exponential),
            backoff => *backoff,
        };
        let backoff = backoff.map(|backoff| match backoff {
            Backoff::Fixed => "fixed".into(),
            Backoff::Exponential => "exponential".into(),
        });
        let max = optional_span("--retry-max", retry_max.as_deref())?;
        let elapsed = optional_span("--retry-for", retry_for.as_deref())?;
        let retry_after =
            optional_span("--retry-after-max", retry_after_max.as_deref())?.map(|max| {
                if max == "PT0S" { json!({"honour": false}) } else { json!({"max": max}) }
            });
        Ok(object([
            ("backoff", backoff),
            ("factor", retry_factor.map(|factor| json!(factor))),
            ("maxInterval", max),
            ("jitter", retry_jitter.then(|| "full".into())),
            ("maxElapsed", elapsed),
            ("retryAfter", retry_after),
        ]))
    }
}

/// A back-off in words; empty if a job has none.
pub(super) fn in_words(retry: &Value) -> Vec<String> {
    let text = |pointer: &str| retry.pointer(pointer).and_then(Value::as_str);
    let grows = (text("/backoff") == Some("exponential")).then(|| {
        let factor = retry.get("factor").and_then(Value::as_f64).unwrap_or(2.0);
        let max = text("/maxInterval").map_or_else(String::new, |max| format!(", at most {max}"));
        format!("each pause {factor} times the one before{max}")
    });
    let varies = text("/jitter") == Some("full");
    let retry_after = if retry.pointer("/retryAfter/honour") == Some(&Value::Bool(false)) {
        Some("Retry-After is ignored".to_owned())
    } else {
        text("/retryAfter/max").map(|max| format!("a Retry-After of at most {max}"))
    };
    let words = [
        grows,
        varies.then(|| "varied at random".to_owned()),
        text("/maxElapsed").map(|span| format!("none later than {span} after the occurrence")),
        retry_after,
    ];
    words.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(args: &BackoffArgs, properties: Value) -> Result<Value> {
        let Value::Object(mut properties) = properties else { panic!("an object") };
        args.put_into(&mut properties)?;
        Ok(properties.into())
    }

    #[test]
    fn options_become_the_policy_and_leave_what_they_do_not_name() {
        assert_eq!(put(&BackoffArgs::default(), json!({})).unwrap(), json!({}));
        let args = BackoffArgs {
            retry_factor: Some(1.5),
            retry_max: Some("1h".to_owned()),
            retry_jitter: true,
            retry_for: Some("2d".to_owned()),
            retry_after_max: Some("10m".to_owned()),
            ..BackoffArgs::default()
        };
        let before = json!({"minutehand": {"retry": {"jitter": "none"}, "other": 1}});
        let after = json!({"minutehand": {"other": 1, "retry": {
            "backoff": "exponential", "factor": 1.5, "maxInterval": "PT3600S", "jitter": "full",
            "maxElapsed": "PT172800S", "retryAfter": {"max": "PT600S"}}}});
        assert_eq!(put(&args, before).unwrap(), after);
        let never =
            BackoffArgs { retry_after_max: Some("0s".to_owned()), ..BackoffArgs::default() };
        let after = json!({"minutehand": {"retry": {"retryAfter": {"honour": false}}}});
        assert_eq!(put(&never, json!({})).unwrap(), after);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_to_write() {
        let given = |change: fn(&mut BackoffArgs)| {
            let mut args = BackoffArgs::default();
            change(&mut args);
            put(&args, json!({"minutehand": {}})).unwrap_err().message
        };
        let fixed = given(|args| {
            args.backoff = Some(Backoff::Fixed);
            args.retry_factor = Some(2.0);
        });
        assert!(fixed.contains("leave --backoff fixed out"), "{fixed}");
        let span = given(|args| args.retry_for = Some("soon".to_owned()));
        assert!(span.contains("--retry-for 'soon'") && span.contains("30s, 5m or 1h"), "{span}");
        let args = BackoffArgs { retry_jitter: true, ..BackoffArgs::default() };
        let message = put(&args, json!({"minutehand": {"retry": 3}})).unwrap_err().message;
        assert!(message.starts_with("'retry' of the file must be an object"), "{message}");
    }

    #[test]
    fn a_back_off_is_told_in_words() {
        let retry = json!({"backoff": "exponential", "maxInterval": "01:00:00", "jitter": "full",
            "maxElapsed": "06:00:00", "retryAfter": {"honour": false}});
        assert_eq!(
            in_words(&retry),
            [
                "each pause 2 times the one before, at most 01:00:00",
                "varied at random",
                "none later than 06:00:00 after the occurrence",
                "Retry-After is ignored",
            ]
        );
        assert_eq!(in_words(&json!({"backoff": "fixed"})), [""; 0]);
    }
}
