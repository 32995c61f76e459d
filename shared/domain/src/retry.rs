//! Retry policies: how often, and how far apart.

use crate::duration::Span;
use crate::pricing_tier::PricingTier;
use crate::refusal::Refusal;

/// The retries of an action without a policy, and of one that leaves a value out.
const COUNT_DEFAULT: u32 = 4;
/// The most retries.
const COUNT_MAX: u32 = 20;
/// How far apart they are where nothing is said.
const INTERVAL_DEFAULT: Span = Span::seconds(30);
/// The shortest interval, and the shortest and default one of the plan Free.
const INTERVAL_MIN: Span = Span::seconds(15);
const INTERVAL_MIN_FREE: Span = Span::seconds(3_600);
/// The longest interval: 18 months.
const INTERVAL_MAX: Span = Span::days(548);

/// A retry policy as it was sent; an action without one has the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryPolicy {
    /// No retries.
    None,
    /// So many retries, so far apart; what is absent is the default.
    Fixed {
        /// From the end of the failed attempt to the next.
        interval: Option<Span>,
        /// How many after the first attempt.
        count: Option<u32>,
    },
}

/// What a policy comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// How many after the first attempt.
    pub count: u32,
    /// From the end of a failed attempt to the next.
    pub interval: Span,
}

impl RetryPolicy {
    /// Checks the values of a policy; `field` is where it stands.
    ///
    /// # Errors
    ///
    /// If the interval or the count is out of range in this plan.
    pub fn check(&self, field: &str, plan: PricingTier) -> Result<(), Refusal> {
        let Self::Fixed { interval, count } = *self else {
            return Ok(());
        };
        let min = if plan == PricingTier::Free { INTERVAL_MIN_FREE } else { INTERVAL_MIN };
        if let Some(interval) = interval.filter(|span| *span < min || *span > INTERVAL_MAX) {
            return Err(Refusal::invalid(format!(
                "'{field}.retryInterval' is {interval}; in the plan {} use {min} to \
                 {INTERVAL_MAX} (548 days).",
                plan.name()
            )));
        }
        if let Some(count) = count.filter(|count| *count > COUNT_MAX) {
            return Err(Refusal::invalid(format!(
                "'{field}.retryCount' is {count}; use 0 to {COUNT_MAX}."
            )));
        }
        Ok(())
    }
}

impl Retries {
    /// What a policy, or none, comes to in a plan.
    #[must_use]
    pub fn of(policy: Option<&RetryPolicy>, plan: PricingTier) -> Self {
        let default = if plan == PricingTier::Free { INTERVAL_MIN_FREE } else { INTERVAL_DEFAULT };
        match policy {
            None => Self { count: COUNT_DEFAULT, interval: default },
            Some(RetryPolicy::None) => Self { count: 0, interval: default },
            Some(RetryPolicy::Fixed { interval, count }) => Self {
                count: count.unwrap_or(COUNT_DEFAULT),
                interval: interval.unwrap_or(default),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(interval: Option<u64>, count: Option<u32>) -> RetryPolicy {
        RetryPolicy::Fixed { interval: interval.map(Span::seconds), count }
    }

    #[test]
    fn what_is_not_said_is_four_retries_30_seconds_apart() {
        let check = |policy: Option<RetryPolicy>, plan, count, seconds| {
            let expected = Retries { count, interval: Span::seconds(seconds) };
            assert_eq!(Retries::of(policy.as_ref(), plan), expected, "{policy:?} {plan:?}");
        };
        check(None, PricingTier::Standard, 4, 30);
        check(None, PricingTier::Free, 4, 3_600);
        check(Some(RetryPolicy::None), PricingTier::Standard, 0, 30);
        check(Some(fixed(None, None)), PricingTier::Standard, 4, 30);
        check(Some(fixed(Some(60), None)), PricingTier::Standard, 4, 60);
        check(Some(fixed(None, Some(2))), PricingTier::Free, 2, 3_600);
    }

    #[test]
    fn the_ranges_depend_on_the_plan() {
        let ok = |policy: RetryPolicy, plan| policy.check("action.retryPolicy", plan).is_ok();
        assert!(ok(RetryPolicy::None, PricingTier::Free));
        assert!(ok(fixed(Some(15), Some(0)), PricingTier::Standard));
        assert!(!ok(fixed(Some(14), None), PricingTier::Standard));
        assert!(!ok(fixed(Some(3_599), None), PricingTier::Free));
        assert!(ok(fixed(Some(548 * 86_400), Some(20)), PricingTier::Free));
        assert!(!ok(fixed(Some(548 * 86_400 + 1), None), PricingTier::Standard));
        assert_eq!(
            fixed(None, Some(21))
                .check("action.retryPolicy", PricingTier::Standard)
                .unwrap_err()
                .message,
            "'action.retryPolicy.retryCount' is 21; use 0 to 20.",
        );
    }
}
