//! Retry policies: how many retries follow a failed attempt, and the interval between them.

use chrono::{DateTime, TimeDelta, Utc};

use crate::attempt::Attempt;
use crate::backoff::{Backoff, Failed};
use crate::duration::Span;
use crate::ids::fnv1a;
use crate::json::Shape::{Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Shape};
use crate::plan::Plan;
use crate::refusal::Refusal;

/// The default number of retries.
const COUNT_DEFAULT: u32 = 4;
const COUNT_MAX: u32 = 20;
const INTERVAL_DEFAULT: Span = Span::seconds(30);
const INTERVAL_MIN: Span = Span::seconds(15);
/// The shortest interval in the plan Free, and its default.
const INTERVAL_MIN_FREE: Span = Span::seconds(3_600);
/// The longest interval: 18 months.
const INTERVAL_MAX: Span = Span::days(548);

/// The names in a retry policy.
pub(crate) const RETRY_POLICY: Shape =
    Object(&[("retryType", Leaf), ("retryInterval", Leaf), ("retryCount", Leaf)]);

/// A retry policy as it was sent; an action without one has the default policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryPolicy {
    /// No retries.
    None,
    /// A fixed number of retries at a fixed interval; a value that is absent has its default.
    Fixed {
        /// The time from the end of a failed attempt to the next one.
        interval: Option<Span>,
        /// The number of retries after the first attempt.
        count: Option<u32>,
    },
}

/// The retries that a policy results in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// The number of retries after the first attempt.
    pub count: u32,
    /// The time from the end of the first attempt to the next one.
    pub interval: Span,
    /// How that time changes from retry to retry.
    backoff: Backoff,
    /// A number of the job, so that the spread waits of several jobs differ.
    seed: u32,
    /// How long the target of the attempt asked to wait.
    asked: Option<TimeDelta>,
}

impl RetryPolicy {
    pub(crate) fn read(policy: &Fields<'_>) -> Result<Self, Refusal> {
        let interval = policy.span("retryInterval")?;
        let count = policy.whole("retryCount", 0, u32::MAX)?;
        let read_type = |text: &str| match text.to_ascii_lowercase().as_str() {
            "none" => Some(Self::None),
            "fixed" => Some(Self::Fixed { interval, count }),
            _ => None,
        };
        let read = policy.required_one_of("retryType", read_type, "none, fixed")?;
        if let Some(plan) = policy.limiting_plan() {
            read.check(policy, plan)?;
        }
        Ok(read)
    }

    fn check(self, policy: &Fields<'_>, plan: Plan) -> Result<(), Refusal> {
        let Self::Fixed { interval, count } = self else {
            return Ok(());
        };
        let min = if plan == Plan::Free { INTERVAL_MIN_FREE } else { INTERVAL_MIN };
        if let Some(interval) = interval.filter(|span| *span < min || *span > INTERVAL_MAX) {
            let name = plan.name();
            let problem = format!(
                "is {interval}; in the plan {name} use {min} to {INTERVAL_MAX} \
                 (548 days)."
            );
            return Err(policy.about("retryInterval", problem));
        }
        if let Some(count) = count.filter(|count| *count > COUNT_MAX) {
            return Err(policy.about("retryCount", format!("is {count}; use 0 to {COUNT_MAX}.")));
        }
        Ok(())
    }

    pub(crate) fn write(self) -> ObjectBuilder {
        let document = ObjectBuilder::default();
        match self {
            Self::None => document.set("retryType", "none"),
            Self::Fixed { interval, count } => document
                .set("retryType", "fixed")
                .duration("retryInterval", interval)
                .maybe("retryCount", count),
        }
    }
}

impl Retries {
    /// The retries that a policy, or the default policy, results in.
    #[must_use]
    pub fn from_policy(policy: Option<&RetryPolicy>, plan: Plan) -> Self {
        let default = if plan == Plan::Free { INTERVAL_MIN_FREE } else { INTERVAL_DEFAULT };
        match policy {
            None => Self::new(COUNT_DEFAULT, default),
            Some(RetryPolicy::None) => Self::new(0, default),
            Some(RetryPolicy::Fixed { interval, count }) => {
                Self::new(count.unwrap_or(COUNT_DEFAULT), interval.unwrap_or(default))
            }
        }
    }

    /// A number of retries, one interval apart.
    #[must_use]
    pub fn new(count: u32, interval: Span) -> Self {
        Self { count, interval, backoff: Backoff::default(), seed: 0, asked: None }
    }

    /// The same with the back-off of a job.
    #[must_use]
    pub fn with_backoff(self, backoff: Backoff, job_uid: &str) -> Self {
        Self { backoff, seed: fnv1a(job_uid.as_bytes()), ..self }
    }

    /// The same after an attempt whose target asked to wait.
    #[must_use]
    pub const fn asked_to_wait(self, asked: Option<TimeDelta>) -> Self {
        Self { asked, ..self }
    }

    /// When the retry after a failed attempt is due; `None` if none follows.
    #[must_use]
    pub fn due_at(&self, attempt: &Attempt, ended_at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let Self { count, interval, ref backoff, seed, asked } = *self;
        let failed = Failed { attempt, ended_at, interval, seed, asked };
        (attempt.number < count).then(|| backoff.due_at(&failed)).flatten()
    }

    /// The longest wait before any of the retries.
    #[must_use]
    pub fn longest_wait(&self) -> Span {
        self.backoff.longest(self.interval, self.count)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::Reading;

    fn fixed(interval: Option<u64>, count: Option<u32>) -> RetryPolicy {
        RetryPolicy::Fixed { interval: interval.map(Span::seconds), count }
    }

    #[test]
    fn default_policy_is_four_retries_30_seconds_apart() {
        let check = |policy: Option<RetryPolicy>, plan, count, seconds| {
            let expected = Retries::new(count, Span::seconds(seconds));
            let retries = Retries::from_policy(policy.as_ref(), plan);
            assert_eq!(retries, expected, "{policy:?} {plan:?}");
        };
        check(None, Plan::Standard, 4, 30);
        check(None, Plan::Free, 4, 3_600);
        check(Some(RetryPolicy::None), Plan::Standard, 0, 30);
        check(Some(fixed(None, None)), Plan::Standard, 4, 30);
        check(Some(fixed(Some(60), None)), Plan::Standard, 4, 60);
        check(Some(fixed(None, Some(2))), Plan::Free, 2, 3_600);
    }

    fn read(policy: &Value, reading: Reading) -> Result<RetryPolicy, Refusal> {
        RetryPolicy::read(&Fields::new("action.retryPolicy", policy, reading)?)
    }

    #[test]
    fn ranges_depend_on_the_plan() {
        let days = |days: &str| json!({"retryType": "fixed", "retryInterval": days});
        for (policy, plan, is_allowed) in [
            (json!({"retryType": "none"}), Plan::Free, true),
            (
                json!({"retryType": "fixed", "retryInterval": "00:00:15", "retryCount": 0}),
                Plan::Standard,
                true,
            ),
            (days("00:00:14"), Plan::Standard, false),
            (days("00:59:59"), Plan::Free, false),
            (
                json!({"retryType": "fixed", "retryInterval": "P548D", "retryCount": 20}),
                Plan::Free,
                true,
            ),
            (days("548.00:00:01"), Plan::Standard, false),
        ] {
            let allowed = read(&policy, Reading::Request(plan)).is_ok();
            assert_eq!(allowed, is_allowed, "{policy} {plan:?}");
            assert!(read(&policy, Reading::Stored).is_ok(), "{policy}");
        }
        let policy = json!({"retryType": "fixed", "retryCount": 21});
        assert_eq!(
            read(&policy, Reading::Request(Plan::Standard)).unwrap_err().message,
            "'action.retryPolicy.retryCount' is 21; use 0 to 20.",
        );
    }
}
