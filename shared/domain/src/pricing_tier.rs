//! Pricing tiers and quotas: how many jobs a collection may have, and how often they may fire.

use chrono::TimeDelta;
use recurrence::Frequency;

use crate::refusal::{Code, Refusal};

/// The pricing tier of a collection; the wire calls it `sku`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PricingTier {
    /// The tier of a collection that names none.
    #[default]
    Standard,
    /// One collection per subscription, hourly at most, no outbound authentication.
    Free,
    /// As many jobs as Standard.
    P10Premium,
    /// Twenty times as many jobs as Standard.
    P20Premium,
}

impl PricingTier {
    /// All tiers.
    pub const ALL: [Self; 4] = [Self::Standard, Self::Free, Self::P10Premium, Self::P20Premium];

    /// The name, as answered.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "Standard",
            Self::Free => "Free",
            Self::P10Premium => "P10Premium",
            Self::P20Premium => "P20Premium",
        }
    }

    /// Reads a name in any case; older versions of the API called `P10Premium` `Premium`.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        if text.eq_ignore_ascii_case("Premium") {
            return Some(Self::P10Premium);
        }
        Self::ALL.into_iter().find(|tier| tier.name().eq_ignore_ascii_case(text))
    }

    /// The most jobs of a collection.
    #[must_use]
    pub const fn jobs_max(self) -> u32 {
        match self {
            Self::Free => 5,
            Self::Standard | Self::P10Premium => 50,
            Self::P20Premium => 1_000,
        }
    }

    /// The smallest gap between two occurrences of a job.
    #[must_use]
    pub const fn gap_min(self) -> TimeDelta {
        match self {
            Self::Free => TimeDelta::hours(1),
            Self::Standard | Self::P10Premium | Self::P20Premium => TimeDelta::minutes(1),
        }
    }

    /// Whether jobs may authenticate to their targets.
    #[must_use]
    pub const fn allows_authentication(self) -> bool {
        !matches!(self, Self::Free)
    }
}

/// The quota of a collection as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quota {
    /// The most jobs; the tier's limit if absent.
    pub max_job_count: Option<u32>,
    /// A number that is stored and echoed. It had no effect in the original either.
    pub max_job_occurrence: Option<u32>,
    /// The highest frequency of a job; the tier's limit if absent.
    pub max_recurrence: Option<MaxRecurrence>,
}

/// The highest frequency of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxRecurrence {
    /// The unit of time.
    pub frequency: Frequency,
    /// The units between two occurrences.
    pub interval: u32,
}

impl MaxRecurrence {
    /// The smallest gap between two occurrences. A month counts as 28 days and a year as 365, as in
    /// the recurrence of a job.
    #[must_use]
    pub fn gap(self) -> TimeDelta {
        let unit = match self.frequency {
            Frequency::Minute => TimeDelta::minutes(1),
            Frequency::Hour => TimeDelta::hours(1),
            Frequency::Day => TimeDelta::days(1),
            Frequency::Week => TimeDelta::days(7),
            Frequency::Month => TimeDelta::days(28),
            Frequency::Year => TimeDelta::days(365),
        };
        i32::try_from(self.interval)
            .ok()
            .and_then(|n| unit.checked_mul(n))
            .unwrap_or(TimeDelta::MAX)
    }
}

/// Whether the limits of pricing tiers apply, which an installation can turn off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanLimits {
    /// The limits apply, as in the original.
    On,
    /// Only a collection's own quota applies.
    Off,
}

/// The limits for the jobs of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TierLimits {
    /// The most jobs; `None` is no limit.
    pub jobs_max: Option<u32>,
    /// The smallest gap; `None` is no limit.
    pub gap_min: Option<TimeDelta>,
    /// Whether jobs may authenticate to their targets.
    pub authentication: bool,
}

impl TierLimits {
    /// The limits of a tier with a quota: those of the quota if it has them, else those of the tier.
    ///
    /// # Errors
    ///
    /// [`Code::QuotaAbovePlan`] if the quota allows more than the tier.
    pub fn for_tier(
        plan: PricingTier,
        quota: Option<&Quota>,
        plan_limits: PlanLimits,
    ) -> Result<Self, Refusal> {
        let quota = quota.copied().unwrap_or_default();
        let gap_min = quota.max_recurrence.map(MaxRecurrence::gap);
        if plan_limits == PlanLimits::Off {
            return Ok(Self { jobs_max: quota.max_job_count, gap_min, authentication: true });
        }
        let name = plan.name();
        if let Some(jobs) = quota.max_job_count.filter(|jobs| *jobs > plan.jobs_max()) {
            let max = plan.jobs_max();
            return Err(Refusal::new(
                Code::QuotaAbovePlan,
                format!(
                    "'quota.maxJobCount' is {jobs}; the pricing tier {name} allows at most {max} \
                     jobs. Lower it, or choose another 'sku'."
                ),
            ));
        }
        if gap_min.is_some_and(|gap| gap < plan.gap_min()) {
            let unit = if plan == PricingTier::Free { "hour" } else { "minute" };
            return Err(Refusal::new(
                Code::QuotaAbovePlan,
                format!(
                    "'quota.maxRecurrence' is more frequent than the pricing tier {name} allows, \
                     which is once per {unit}. Raise its interval, or choose another 'sku'."
                ),
            ));
        }
        Ok(Self {
            jobs_max: Some(quota.max_job_count.unwrap_or(plan.jobs_max())),
            gap_min: Some(gap_min.unwrap_or(plan.gap_min())),
            authentication: plan.allows_authentication(),
        })
    }

    /// Checks that a collection may have this many jobs.
    ///
    /// # Errors
    ///
    /// [`Code::JobQuotaExceeded`] if it may not.
    pub fn check_job_count(&self, jobs: u32) -> Result<(), Refusal> {
        match self.jobs_max {
            Some(max) if jobs > max => Err(Refusal::new(
                Code::JobQuotaExceeded,
                format!(
                    "The job collection may have at most {max} jobs. Delete some, raise \
                     'quota.maxJobCount', or choose another 'sku'."
                ),
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Checks the smallest gap between the occurrences of a job; `None` for a job that runs once.
    ///
    /// # Errors
    ///
    /// [`Code::RecurrenceQuotaExceeded`] if the job is more frequent.
    pub fn check_gap(&self, gap: Option<TimeDelta>) -> Result<(), Refusal> {
        match (gap, self.gap_min) {
            (Some(gap), Some(min)) if gap < min => Err(Refusal::new(
                Code::RecurrenceQuotaExceeded,
                format!(
                    "The smallest gap between two occurrences of the job is {}; its job collection \
                     allows {}. Make 'recurrence' less frequent, or change 'quota.maxRecurrence' or \
                     the 'sku' of the job collection.",
                    in_words(gap),
                    in_words(min)
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Checks whether a job may authenticate.
    ///
    /// # Errors
    ///
    /// [`Code::AuthenticationNotInPlan`] if it does and may not.
    pub fn check_authentication(&self, authenticates: bool) -> Result<(), Refusal> {
        if authenticates && !self.authentication {
            return Err(Refusal::new(
                Code::AuthenticationNotInPlan,
                "The pricing tier Free does not include outbound authentication. Remove \
                 'authentication', or choose another 'sku' for the job collection.",
            ));
        }
        Ok(())
    }
}

/// A gap in its largest whole unit, as a message says it.
fn in_words(gap: TimeDelta) -> String {
    let seconds = gap.num_seconds();
    let units = [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
    let whole = units.into_iter().find(|(unit, _)| seconds % unit == 0);
    let (unit, name) = whole.unwrap_or((1, "second"));
    match seconds / unit {
        1 => format!("1 {name}"),
        n => format!("{n} {name}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(max_job_count: Option<u32>, max_recurrence: Option<(Frequency, u32)>) -> Quota {
        let max_recurrence =
            max_recurrence.map(|(frequency, interval)| MaxRecurrence { frequency, interval });
        Quota { max_job_count, max_recurrence, ..Quota::default() }
    }

    #[test]
    fn a_quota_must_not_allow_more_than_its_tier() {
        use Frequency::{Hour, Minute, Week};
        let cases = [
            (PricingTier::Standard, quota(Some(50), Some((Minute, 1))), true),
            (PricingTier::Standard, quota(Some(51), None), false),
            (PricingTier::P20Premium, quota(Some(1_000), Some((Minute, 1))), true),
            (PricingTier::P20Premium, quota(Some(1_001), None), false),
            (PricingTier::P10Premium, quota(Some(50), Some((Week, 2))), true),
            (PricingTier::Free, quota(Some(5), Some((Hour, 1))), true),
            (PricingTier::Free, quota(Some(6), None), false),
            (PricingTier::Free, quota(None, Some((Minute, 59))), false),
            (PricingTier::Free, quota(None, Some((Minute, 60))), true),
        ];
        for (plan, quota, allowed) in cases {
            let limits = TierLimits::for_tier(plan, Some(&quota), PlanLimits::On);
            assert_eq!(limits.is_ok(), allowed, "{plan:?} {quota:?}");
            assert!(TierLimits::for_tier(plan, Some(&quota), PlanLimits::Off).is_ok());
        }
    }

    #[test]
    fn a_limit_of_the_quota_replaces_that_of_the_tier() {
        let lower = quota(Some(2), Some((Frequency::Day, 1)));
        let limits =
            TierLimits::for_tier(PricingTier::Standard, Some(&lower), PlanLimits::On).unwrap();
        assert!(limits.check_job_count(2).is_ok() && limits.check_job_count(3).is_err());
        assert!(limits.check_gap(Some(TimeDelta::days(1))).is_ok());
        assert!(limits.check_gap(None).is_ok());
        assert_eq!(
            limits.check_gap(Some(TimeDelta::hours(12))).unwrap_err().message,
            "The smallest gap between two occurrences of the job is 12 hours; its job collection \
             allows 1 day. Make 'recurrence' less frequent, or change 'quota.maxRecurrence' or the \
             'sku' of the job collection.",
        );

        let free = TierLimits::for_tier(PricingTier::Free, None, PlanLimits::On).unwrap();
        assert_eq!((free.jobs_max, free.gap_min), (Some(5), Some(TimeDelta::hours(1))));
        assert!(
            free.check_authentication(true).is_err() && free.check_authentication(false).is_ok()
        );

        let off = TierLimits::for_tier(PricingTier::Free, Some(&lower), PlanLimits::Off).unwrap();
        assert!(off.check_job_count(3).is_err(), "the collection's own quota applies");
        assert!(off.check_authentication(true).is_ok());
    }

    #[test]
    fn a_month_counts_as_28_days() {
        let gap = |frequency, interval| MaxRecurrence { frequency, interval }.gap();
        assert_eq!(gap(Frequency::Month, 2), TimeDelta::days(56));
        assert_eq!(gap(Frequency::Year, 1), TimeDelta::days(365));
        assert_eq!(gap(Frequency::Year, u32::MAX), TimeDelta::MAX);
    }
}
