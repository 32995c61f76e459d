//! Back-off: how the wait before a retry grows, spreads and ends, and whether the target has a say.
//!
//! `retryPolicy` of an action says how many retries there are and how long the first wait is. This
//! extension of the job changes only the waits, for its action and its error action.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_recurrence::named;
use serde_json::Value;

use crate::attempt::Attempt;
use crate::duration::Span;
use crate::ids::fnv1a;
use crate::json::Shape::{Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Shape};
use crate::refusal::{Fix, Refusal};

/// The factor is kept in hundredths, so that two equal policies are equal.
const HUNDREDTHS: u32 = 100;
const FACTOR_DEFAULT: u32 = 2 * HUNDREDTHS;
const FACTOR_MAX: u32 = 10 * HUNDREDTHS;
const SECOND: Span = Span::seconds(1);
/// The longest wait, and the longest time for all retries: 18 months.
const WAIT_MAX: Span = Span::days(548);
/// The longest wait that a target may ask for.
const RETRY_AFTER_MAX: Span = Span::days(1);
const RETRY_AFTER_DEFAULT: Span = Span::seconds(3_600);

/// The names in the extension.
pub(crate) const BACKOFF: Shape = Object(&[
    ("backoff", Leaf),
    ("factor", Leaf),
    ("maxInterval", Leaf),
    ("jitter", Leaf),
    ("maxElapsed", Leaf),
    ("retryAfter", Object(&[("honour", Leaf), ("max", Leaf)])),
]);

/// The extension `retry` of a job, as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backoff {
    /// How the wait grows, if that was said.
    pub growth: Option<Growth>,
    /// The longest wait.
    pub max_interval: Option<Span>,
    /// Whether the waits are spread, if that was said.
    pub jitter: Option<Jitter>,
    /// How long after an occurrence its retries may still begin.
    pub max_elapsed: Option<Span>,
    /// Whether the target may ask for a longer wait, if that was said.
    pub retry_after: Option<RetryAfter>,
}

/// How the wait grows from one retry to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// It stays the same.
    Fixed,
    /// It is multiplied by a factor, in hundredths, each time.
    Exponential(Option<u32>),
}

named! {
    /// Whether the waits are spread.
    pub enum Jitter {
        /// They are as computed.
        None = "none",
        /// Each is somewhere between a second and what was computed, always the same for an attempt.
        Full = "full",
    }
}

/// What becomes of the answer's header `Retry-After`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryAfter {
    /// Whether a wait that the target asks for is kept to; it is unless `false` was sent.
    pub honour: Option<bool>,
    /// The longest wait that it may ask for.
    pub max: Option<Span>,
}

/// What the wait before one retry depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failed<'a> {
    /// The attempt.
    pub(crate) attempt: &'a Attempt,
    /// When it ended.
    pub(crate) ended_at: DateTime<Utc>,
    /// The interval of the retry policy.
    pub(crate) interval: Span,
    /// A number of the job, so that the spread waits of several jobs differ.
    pub(crate) seed: u32,
    /// How long the target asked to wait.
    pub(crate) asked: Option<TimeDelta>,
}

impl Backoff {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let factor = read_factor(fields)?;
        let read_growth = |text: &str| match text.to_ascii_lowercase().as_str() {
            "fixed" => Some(Growth::Fixed),
            "exponential" => Some(Growth::Exponential(factor)),
            _ => None,
        };
        let growth = fields.one_of("backoff", read_growth, "fixed, exponential")?;
        let is_sent = |name: &&str| fields.value(name).is_some();
        let without_effect = ["factor", "maxInterval"].into_iter().find(is_sent);
        if let (None | Some(Growth::Fixed), Some(name)) = (growth, without_effect) {
            let problem =
                "has no effect without \"backoff\": \"exponential\"; add that or leave it out.";
            return Err(fields.about(name, problem).or([Fix::LeaveOut]));
        }
        Ok(Self {
            growth,
            max_interval: fields.bounded_span("maxInterval", [SECOND, WAIT_MAX])?,
            jitter: fields.one_of("jitter", Jitter::read_name, "none, full")?,
            max_elapsed: fields.bounded_span("maxElapsed", [SECOND, WAIT_MAX])?,
            retry_after: fields.part("retryAfter", RetryAfter::read)?,
        })
    }

    pub(crate) fn write(&self) -> ObjectBuilder {
        let Self { growth, max_interval, jitter, max_elapsed, retry_after } = *self;
        let document = match growth {
            None => ObjectBuilder::default(),
            Some(Growth::Fixed) => ObjectBuilder::default().set("backoff", "fixed"),
            Some(Growth::Exponential(factor)) => ObjectBuilder::default()
                .set("backoff", "exponential")
                .maybe("factor", factor.map(written_factor)),
        };
        document
            .duration("maxInterval", max_interval)
            .maybe("jitter", jitter.map(Jitter::name))
            .duration("maxElapsed", max_elapsed)
            .object("retryAfter", retry_after.map(RetryAfter::write))
    }

    /// When the retry after a failed attempt is due; `None` if it would begin later than retries may.
    pub(crate) fn due_at(&self, failed: &Failed<'_>) -> Option<DateTime<Utc>> {
        let Failed { attempt, ended_at, interval, asked, .. } = failed;
        let computed = self.grown(*interval, attempt.number);
        let computed = match self.jitter {
            Some(Jitter::Full) => spread(computed, failed),
            None | Some(Jitter::None) => computed,
        };
        let asked = asked.and_then(|asked| self.allowed(asked));
        let wait = asked.map_or(computed.delta(), |asked| asked.max(computed.delta()));
        // Without a due time, it would be after the end of the calendar.
        let due_at = ended_at.checked_add_signed(wait)?;
        let elapsed = due_at - attempt.occurrence.nominal_at();
        self.max_elapsed.is_none_or(|max| elapsed <= max.delta()).then_some(due_at)
    }

    /// The longest wait that any of `count` retries can have.
    pub(crate) fn longest(&self, interval: Span, count: u32) -> Span {
        let computed = self.grown(interval, count.saturating_sub(1));
        self.retry_after_max().map_or(computed, |asked| computed.max(asked))
    }

    /// The wait before the retry after the attempt with a number, without jitter.
    fn grown(&self, interval: Span, number: u32) -> Span {
        let Some(Growth::Exponential(factor)) = self.growth else {
            return interval;
        };
        let max = self.max_interval.unwrap_or(WAIT_MAX);
        let factor = u64::from(factor.unwrap_or(FACTOR_DEFAULT));
        let mut millis = interval.millis();
        // Bounded by the number of retries.
        for _ in 0..number {
            millis = millis.saturating_mul(factor) / u64::from(HUNDREDTHS);
            if millis >= max.millis() {
                return max;
            }
        }
        Span::of_millis(millis).min(max)
    }

    fn retry_after_max(&self) -> Option<Span> {
        let RetryAfter { honour, max } = self.retry_after?;
        honour.unwrap_or(true).then(|| max.unwrap_or(RETRY_AFTER_DEFAULT))
    }

    /// How much of what the target asked for it may ask for.
    fn allowed(&self, asked: TimeDelta) -> Option<TimeDelta> {
        self.retry_after_max().map(|max| asked.min(max.delta()))
    }
}

impl RetryAfter {
    fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            honour: fields.flag("honour")?,
            max: fields.bounded_span("max", [SECOND, RETRY_AFTER_MAX])?,
        })
    }

    fn write(self) -> ObjectBuilder {
        ObjectBuilder::default().maybe("honour", self.honour).duration("max", self.max)
    }
}

/// The factor in hundredths.
fn read_factor(fields: &Fields<'_>) -> Result<Option<u32>, Refusal> {
    let max = if fields.limiting_plan().is_some() { FACTOR_MAX } else { u32::MAX };
    let is_factor = |factor: &u32| (HUNDREDTHS..=max).contains(factor);
    let allowed = "use a number from 1 to 10 with at most two decimals";
    fields.read("factor", |value| hundredths(value).filter(is_factor), allowed)
}

/// A number with at most two decimals, in hundredths.
fn hundredths(value: &Value) -> Option<u32> {
    // The text of a number is exact where its floating point value is not.
    let text = value.as_number()?.to_string();
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    let decimals = decimals.trim_end_matches('0');
    if decimals.len() > 2 {
        return None;
    }
    let decimals: u32 = format!("{decimals:0<2}").parse().ok()?;
    whole.parse::<u32>().ok()?.checked_mul(HUNDREDTHS)?.checked_add(decimals)
}

fn written_factor(hundredths: u32) -> Value {
    if hundredths.is_multiple_of(HUNDREDTHS) {
        return Value::from(hundredths / HUNDREDTHS);
    }
    Value::from(f64::from(hundredths) / f64::from(HUNDREDTHS))
}

/// A part of a wait, always the same for an attempt of a job, and at least a second.
fn spread(wait: Span, Failed { attempt, seed, .. }: &Failed<'_>) -> Span {
    let mut bytes = attempt.id().to_string().into_bytes();
    // Last, so that each bit of the hash depends on what differs between two attempts of a job.
    bytes.extend(seed.to_be_bytes());
    let least = SECOND.min(wait).millis();
    let rest = u128::from(wait.millis() - least) * u128::from(fnv1a(&bytes)) / u128::from(u32::MAX);
    Span::of_millis(least + u64::try_from(rest).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::attempt::Occurrence;
    use crate::json::Reading;
    use crate::plan::Plan;

    fn read(extension: &Value) -> Result<Backoff, Refusal> {
        Backoff::read(&Fields::new(
            "minutehand.retry",
            extension,
            Reading::Request(Plan::Standard),
        )?)
    }

    /// The seconds from the end of each attempt to its retry.
    fn waits(extension: &Value, asked: Option<i64>) -> Vec<Option<f64>> {
        let backoff = read(extension).unwrap();
        let at = |second| DateTime::from_timestamp(second, 0).unwrap();
        let first = Attempt::first(1, Occurrence::Scheduled { nominal_at: at(60) });
        let wait = |number| {
            let attempt = Attempt { number, ..first.clone() };
            let asked = asked.map(TimeDelta::seconds);
            let (ended_at, interval) = (at(61), Span::seconds(30));
            let failed = Failed { attempt: &attempt, ended_at, interval, seed: 7, asked };
            let due_at = backoff.due_at(&failed)?;
            Some((due_at - ended_at).as_seconds_f64())
        };
        (0..5).map(wait).collect()
    }

    #[test]
    fn waits_grow_end_and_follow_the_target() {
        for (extension, asked, expected) in [
            (json!({}), None, vec![30.0, 30.0, 30.0, 30.0, 30.0]),
            (json!({"backoff": "fixed"}), Some(90), vec![30.0, 30.0, 30.0, 30.0, 30.0]),
            (json!({"backoff": "Exponential"}), None, vec![30.0, 60.0, 120.0, 240.0, 480.0]),
            (
                json!({"backoff": "exponential", "factor": 1.5, "maxInterval": "00:01:40"}),
                None,
                vec![30.0, 45.0, 67.5, 100.0, 100.0],
            ),
            (
                json!({"backoff": "exponential", "factor": 10, "maxInterval": "PT20S"}),
                None,
                vec![20.0, 20.0, 20.0, 20.0, 20.0],
            ),
            (
                json!({"backoff": "exponential", "retryAfter": {}}),
                Some(100),
                vec![100.0, 100.0, 120.0, 240.0, 480.0],
            ),
            (json!({"retryAfter": {"max": "PT1M"}}), Some(100), vec![60.0; 5]),
            (json!({"retryAfter": {"honour": false}}), Some(100), vec![30.0; 5]),
            (json!({"retryAfter": {}}), Some(86_400), vec![3_600.0; 5]),
            // The first attempt ends a second after its occurrence.
            (
                json!({"backoff": "exponential", "maxElapsed": "PT2M1S"}),
                None,
                vec![30.0, 60.0, 120.0],
            ),
            (json!({"maxElapsed": "PT1M", "retryAfter": {}}), Some(60), vec![]),
        ] {
            let found: Vec<f64> = waits(&extension, asked).into_iter().map_while(|it| it).collect();
            assert_eq!(found, expected, "{extension}");
        }
    }

    #[test]
    fn full_jitter_spreads_waits_and_gives_an_attempt_always_the_same() {
        let extension = json!({"jitter": "full"});
        let backoff = read(&extension).unwrap();
        let at = DateTime::from_timestamp(60, 0).unwrap();
        let first = Attempt::first(1, Occurrence::Scheduled { nominal_at: at });
        let mut seconds = [0; 30];
        for seed in 0..3_000_u32 {
            let seed = fnv1a(&seed.to_be_bytes());
            let interval = Span::seconds(30);
            let failed = Failed { attempt: &first, ended_at: at, interval, seed, asked: None };
            let wait = backoff.due_at(&failed).unwrap() - at;
            assert!(wait >= TimeDelta::seconds(1) && wait <= TimeDelta::seconds(30), "{wait}");
            assert_eq!(backoff.due_at(&failed).unwrap() - at, wait);
            seconds[usize::try_from(wait.num_seconds()).unwrap().min(29)] += 1;
        }
        // 29 seconds with about 103 jobs each.
        assert_eq!(seconds[0], 0);
        assert!(seconds[1..].iter().all(|jobs| (60..150).contains(jobs)), "{seconds:?}");
        let waits = waits(&extension, None);
        assert!(waits.windows(2).all(|pair| pair[0] != pair[1]), "{waits:?}");
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_to_do() {
        for (extension, expected) in [
            (
                json!({"backoff": "linear"}),
                "'minutehand.retry.backoff' is \"linear\"; use one of fixed, exponential.",
            ),
            (
                json!({"backoff": "exponential", "factor": 0.5}),
                "'minutehand.retry.factor' is 0.5; use a number from 1 to 10 with at most two decimals.",
            ),
            (
                json!({"backoff": "exponential", "factor": 1.234}),
                "'minutehand.retry.factor' is 1.234; use a number from 1 to 10 with at most two decimals.",
            ),
            (
                json!({"backoff": "exponential", "factor": "2"}),
                "'minutehand.retry.factor' is \"2\"; use a number from 1 to 10 with at most two decimals.",
            ),
            (
                json!({"factor": 3}),
                "'minutehand.retry.factor' has no effect without \"backoff\": \"exponential\"; add that or leave it out.",
            ),
            (
                json!({"backoff": "fixed", "maxInterval": "PT1H"}),
                "'minutehand.retry.maxInterval' has no effect without \"backoff\": \"exponential\"; add that or leave it out.",
            ),
            (
                json!({"jitter": "half"}),
                "'minutehand.retry.jitter' is \"half\"; use one of none, full.",
            ),
            (
                json!({"maxElapsed": "PT0S"}),
                "'minutehand.retry.maxElapsed' is 00:00:00; use 00:00:01 to 548.00:00:00.",
            ),
            (
                json!({"retryAfter": {"max": "P2D"}}),
                "'minutehand.retry.retryAfter.max' is 2.00:00:00; use 00:00:01 to 1.00:00:00.",
            ),
        ] {
            assert_eq!(read(&extension).unwrap_err().message, expected);
        }
    }

    #[test]
    fn an_extension_is_written_as_it_was_read() {
        for extension in [
            json!({}),
            json!({"backoff": "fixed", "jitter": "none"}),
            json!({"backoff": "exponential", "factor": 3}),
            json!({"backoff": "exponential", "factor": 1.05, "maxInterval": "01:00:00"}),
            json!({"maxElapsed": "06:00:00", "retryAfter": {"honour": true, "max": "00:10:00"}}),
        ] {
            let written =
                read(&extension).unwrap().write().answer(crate::json::Durations::TimeSpan);
            assert_eq!(Value::Object(written), extension);
        }
    }

    #[test]
    fn the_longest_wait_is_that_of_the_last_retry_or_of_the_target() {
        let longest = |extension| {
            let span = read(&extension).unwrap().longest(Span::seconds(30), 4);
            span.millis() / 1_000
        };
        assert_eq!(longest(json!({})), 30);
        assert_eq!(longest(json!({"backoff": "exponential"})), 240);
        assert_eq!(longest(json!({"retryAfter": {"max": "PT10M"}})), 600);
    }
}
