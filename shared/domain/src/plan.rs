//! Plans and quotas: how many jobs a collection may have, and how often they may fire.
//!
//! The limits of plans are those of the original's price list. They apply only if an installation
//! asks for them; a collection's own quota always applies.

use chrono::TimeDelta;
use minutehand_recurrence::{Frequency, named};

use crate::name::Name;
use crate::refusal::{Code, Refusal};

named! {
    /// The plan of a collection; the wire calls it `sku`.
    #[derive(Default)]
    pub enum Plan {
        /// The plan of a collection that names none.
        #[default]
        Standard = "Standard",
        /// One collection per subscription, hourly at most, no outbound authentication.
        Free = "Free",
        /// As many jobs as Standard.
        P10Premium = "P10Premium",
        /// Twenty times as many jobs as Standard.
        P20Premium = "P20Premium",
    }
}

impl Plan {
    /// Reads a name in any case; older versions of the API called `P10Premium` `Premium`.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let was_renamed = text.eq_ignore_ascii_case("Premium");
        if was_renamed { Some(Self::P10Premium) } else { Self::read_name(text) }
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

    /// The advice to choose a plan with more jobs, if there is one.
    fn with_more_jobs(self) -> String {
        let most = Self::ALL.into_iter().max_by_key(|plan| plan.jobs_max());
        let more = most.filter(|plan| plan.jobs_max() > self.jobs_max());
        more.map_or_else(String::new, |plan| {
            let (name, max) = (plan.name(), plan.jobs_max());
            format!(", choose the 'sku' {name}, which allows {max}")
        })
    }

    /// The advice to leave the plan Free, the only one with these limits.
    fn other_than_free(self) -> &'static str {
        match self {
            Self::Free => ", choose another 'sku' for the job collection",
            Self::Standard | Self::P10Premium | Self::P20Premium => "",
        }
    }
}

/// The quota of a collection as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quota {
    /// The most jobs; the plan's limit, if it applies, if absent.
    pub max_job_count: Option<u32>,
    /// A number that is stored and echoed. It had no effect in the original either.
    pub max_job_occurrence: Option<u32>,
    /// The highest frequency of a job; the plan's limit, if it applies, if absent.
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
        let interval = i32::try_from(self.interval).ok();
        interval.and_then(|n| unit.checked_mul(n)).unwrap_or(TimeDelta::MAX)
    }
}

/// Whether the limits of plans apply, which an installation can switch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlanLimits {
    /// The limits apply, as in the original.
    On,
    /// Only a collection's own quota applies.
    #[default]
    Off,
}

/// How an installation switches the limits of plans off, as a message says it.
const SWITCH_OFF: &str = "switch plan limits off ('--plan-limits off', on AWS 'PlanLimits=off')";

/// The limits for the jobs of a collection: those of its quota, and those of its plan if they apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    quota: Quota,
    /// The plan, if its limits apply.
    plan: Option<Plan>,
}

impl JobLimits {
    /// The limits of a collection.
    ///
    /// # Errors
    ///
    /// [`Code::QuotaAbovePlan`] if the limits of plans apply and the quota allows more than the plan.
    pub fn of(plan: Plan, quota: Option<&Quota>, plan_limits: PlanLimits) -> Result<Self, Refusal> {
        let quota = quota.copied().unwrap_or_default();
        if plan_limits == PlanLimits::Off {
            return Ok(Self { quota, plan: None });
        }
        let (name, max) = (plan.name(), plan.jobs_max());
        if let Some(jobs) = quota.max_job_count.filter(|jobs| *jobs > max) {
            let other = plan.with_more_jobs();
            let message = format!(
                "'quota.maxJobCount' is {jobs}; the plan {name} allows at most {max} jobs. Lower \
                 it{other}, or {SWITCH_OFF}."
            );
            return Err(Refusal::new(Code::QuotaAbovePlan, message));
        }
        if quota.max_recurrence.is_some_and(|max| max.gap() < plan.gap_min()) {
            let allowed = in_words(plan.gap_min());
            let message = format!(
                "'quota.maxRecurrence' is more frequent than the plan {name} allows, which is \
                 once per {allowed}. Raise its interval{}, or {SWITCH_OFF}.",
                plan.other_than_free()
            );
            return Err(Refusal::new(Code::QuotaAbovePlan, message));
        }
        Ok(Self { quota, plan: Some(plan) })
    }

    /// The most jobs; `None` is no limit.
    #[must_use]
    pub fn jobs_max(&self) -> Option<u32> {
        self.quota.max_job_count.or(self.plan.map(Plan::jobs_max))
    }

    /// Checks that a collection may have this many jobs.
    ///
    /// # Errors
    ///
    /// [`Code::JobQuotaExceeded`] if it may not.
    pub fn check_job_count(&self, jobs: u32) -> Result<(), Refusal> {
        let Some(max) = self.jobs_max().filter(|max| jobs > *max) else {
            return Ok(());
        };
        let message = match self.plan {
            Some(plan) if max == plan.jobs_max() => format!(
                "The job collection may have at most {max} jobs, as in the plan {}. Delete some, use \
                 another job collection{}, or {SWITCH_OFF}.",
                plan.name(),
                plan.with_more_jobs()
            ),
            _ => format!(
                "The job collection may have at most {max} jobs, by its 'quota.maxJobCount'. Delete \
                 some, or raise it."
            ),
        };
        Err(Refusal::new(Code::JobQuotaExceeded, message))
    }

    /// Checks the smallest gap between the occurrences of a job; `None` for a job that runs once.
    ///
    /// # Errors
    ///
    /// [`Code::RecurrenceQuotaExceeded`] if the job is more frequent.
    pub fn check_gap(&self, gap: Option<TimeDelta>) -> Result<(), Refusal> {
        self.check_gap_of(gap, "Make 'recurrence' less frequent", "recurrence")
    }

    /// As [`check_gap`](Self::check_gap), where only extra dates can make it too small.
    ///
    /// # Errors
    ///
    /// [`Code::RecurrenceQuotaExceeded`] if they do.
    pub fn check_gap_with_extra_dates(&self, gap: Option<TimeDelta>) -> Result<(), Refusal> {
        let remedy = "Move the dates in 'minutehand.extraDates' further from the other occurrences";
        self.check_gap_of(gap, remedy, "minutehand.extraDates")
    }

    fn check_gap_of(
        &self,
        gap: Option<TimeDelta>,
        remedy: &str,
        target: &str,
    ) -> Result<(), Refusal> {
        let Some(gap) = gap else {
            return Ok(());
        };
        let by_plan = self.plan.filter(|plan| gap < plan.gap_min());
        let by_quota = self.quota.max_recurrence.map(MaxRecurrence::gap).filter(|min| gap < *min);
        let (allows, way_out) = match (by_plan, by_quota) {
            (Some(plan), _) => (
                format!("the plan {} allows {}", plan.name(), in_words(plan.gap_min())),
                format!("{}, or {SWITCH_OFF}", plan.other_than_free()),
            ),
            (None, Some(min)) => (
                format!("the quota of its job collection allows {}", in_words(min)),
                ", or change 'quota.maxRecurrence'".to_owned(),
            ),
            (None, None) => return Ok(()),
        };
        let gap = in_words(gap);
        let message = format!(
            "The smallest gap between two occurrences of the job is {gap}; {allows}. \
             {remedy}{way_out}."
        );
        Err(Refusal::new(Code::RecurrenceQuotaExceeded, message).with_target(target))
    }

    /// Checks whether a job may authenticate to its target.
    ///
    /// # Errors
    ///
    /// [`Code::AuthenticationNotInPlan`] if it does and may not.
    pub fn check_authentication(&self, authenticates: bool) -> Result<(), Refusal> {
        if !authenticates || self.plan != Some(Plan::Free) {
            return Ok(());
        }
        let other = Plan::Free.other_than_free();
        let message = format!(
            "The plan Free does not include outbound authentication. Remove \
             'authentication'{other}, or {SWITCH_OFF}."
        );
        Err(Refusal::new(Code::AuthenticationNotInPlan, message))
    }
}

/// The refusal of a second collection of the plan Free.
#[must_use]
pub fn second_free_collection(other: Option<&Name>) -> Refusal {
    let named = other.map(|other| format!(", '{other}'")).unwrap_or_default();
    let other = Plan::Free.other_than_free();
    let message = format!(
        "The subscription already has a job collection of the plan Free{named}. Delete \
         it{other}, or {SWITCH_OFF}."
    );
    Refusal::new(Code::FreeCollectionExists, message)
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
    fn a_quota_must_not_allow_more_than_its_plan() {
        use Frequency::{Hour, Minute, Week};
        let cases = [
            (Plan::Standard, quota(Some(50), Some((Minute, 1))), true),
            (Plan::Standard, quota(Some(51), None), false),
            (Plan::P20Premium, quota(Some(1_000), Some((Minute, 1))), true),
            (Plan::P20Premium, quota(Some(1_001), None), false),
            (Plan::P10Premium, quota(Some(50), Some((Week, 2))), true),
            (Plan::Free, quota(Some(5), Some((Hour, 1))), true),
            (Plan::Free, quota(Some(6), None), false),
            (Plan::Free, quota(None, Some((Minute, 59))), false),
            (Plan::Free, quota(None, Some((Minute, 60))), true),
        ];
        for (plan, quota, allowed) in cases {
            let limits = JobLimits::of(plan, Some(&quota), PlanLimits::On);
            assert_eq!(limits.is_ok(), allowed, "{plan:?} {quota:?}");
            assert!(JobLimits::of(plan, Some(&quota), PlanLimits::Off).is_ok());
        }
    }

    #[test]
    fn a_limit_of_the_quota_replaces_that_of_the_plan() {
        let lower = quota(Some(2), Some((Frequency::Day, 1)));
        let limits = JobLimits::of(Plan::Standard, Some(&lower), PlanLimits::On).unwrap();
        assert!(limits.check_job_count(2).is_ok() && limits.check_job_count(3).is_err());
        assert!(limits.check_gap(Some(TimeDelta::days(1))).is_ok());
        assert!(limits.check_gap(None).is_ok());
        assert_eq!(
            limits.check_gap(Some(TimeDelta::hours(12))).unwrap_err().message,
            "The smallest gap between two occurrences of the job is 12 hours; the quota of its job \
             collection allows 1 day. Make 'recurrence' less frequent, or change \
             'quota.maxRecurrence'.",
        );

        let free = JobLimits::of(Plan::Free, None, PlanLimits::On).unwrap();
        assert_eq!(free.jobs_max(), Some(5));
        assert!(free.check_gap(Some(TimeDelta::hours(1))).is_ok());
        assert!(free.check_gap(Some(TimeDelta::minutes(59))).is_err());
        assert!(
            free.check_authentication(true).is_err() && free.check_authentication(false).is_ok()
        );

        let off = JobLimits::of(Plan::Free, Some(&lower), PlanLimits::Off).unwrap();
        assert!(off.check_job_count(3).is_err(), "the collection's own quota applies");
        assert!(off.check_authentication(true).is_ok());
    }

    /// Each message names a way out that ends the refusal.
    #[test]
    fn messages_name_the_way_out_that_works() {
        let off = "switch plan limits off ('--plan-limits off', on AWS 'PlanLimits=off')";
        let on = |plan, quota: Quota| JobLimits::of(plan, Some(&quota), PlanLimits::On);
        let many = |plan, quota| on(plan, quota).unwrap().check_job_count(u32::MAX);
        let often = |plan, quota| on(plan, quota).unwrap().check_gap(Some(TimeDelta::seconds(1)));
        let none = quota(None, None);
        let daily = quota(None, Some((Frequency::Day, 1)));
        let free = Plan::Free;
        let cases = [
            (
                many(Plan::Standard, none),
                format!("at most 50 jobs, as in the plan Standard. Delete some, use another job collection, choose the 'sku' P20Premium, which allows 1000, or {off}."),
            ),
            (
                many(Plan::P20Premium, none),
                format!("at most 1000 jobs, as in the plan P20Premium. Delete some, use another job collection, or {off}."),
            ),
            (
                many(Plan::Standard, quota(Some(7), None)),
                "at most 7 jobs, by its 'quota.maxJobCount'. Delete some, or raise it.".to_owned(),
            ),
            (
                on(Plan::Standard, quota(Some(51), None)).map(|_| ()),
                format!("the plan Standard allows at most 50 jobs. Lower it, choose the 'sku' P20Premium, which allows 1000, or {off}."),
            ),
            (
                on(free, quota(None, Some((Frequency::Minute, 1)))).map(|_| ()),
                format!("once per 1 hour. Raise its interval, choose another 'sku' for the job collection, or {off}."),
            ),
            (
                often(free, daily),
                format!("the plan Free allows 1 hour. Make 'recurrence' less frequent, choose another 'sku' for the job collection, or {off}."),
            ),
            (
                JobLimits::of(free, Some(&daily), PlanLimits::Off).unwrap().check_gap(Some(TimeDelta::hours(1))),
                "the quota of its job collection allows 1 day. Make 'recurrence' less frequent, or change 'quota.maxRecurrence'.".to_owned(),
            ),
            (
                on(free, none).unwrap().check_authentication(true),
                format!("Remove 'authentication', choose another 'sku' for the job collection, or {off}."),
            ),
        ];
        for (refused, end) in cases {
            let message = refused.unwrap_err().message;
            assert!(message.ends_with(&end), "{message}");
        }
        let second = second_free_collection(Some(&Name::new("other").unwrap())).message;
        assert!(
            second.contains("'other'") && second.ends_with(&format!(", or {off}.")),
            "{second}"
        );
    }

    #[test]
    fn a_month_counts_as_28_days() {
        let gap = |frequency, interval| MaxRecurrence { frequency, interval }.gap();
        assert_eq!(gap(Frequency::Month, 2), TimeDelta::days(56));
        assert_eq!(gap(Frequency::Year, 1), TimeDelta::days(365));
        assert_eq!(gap(Frequency::Year, u32::MAX), TimeDelta::MAX);
    }
}
