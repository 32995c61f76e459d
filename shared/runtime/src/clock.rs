//! The system's clock, and a test clock on which schedules run faster or slower.

use std::str::FromStr;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use minutehand_domain::tick::LAST_SECOND;
use minutehand_ports::Clock;

/// The fractional digits of a second in the API and in the store: ticks of 100 ns.
const FRACTION_DIGITS: u16 = 7;
/// The longest sleep before the clock is read again, since clocks are adjusted and machines suspended.
const NAP_MAX: Duration = Duration::from_secs(1);
/// A rate is stored in millionths.
const RATE_UNIT: u32 = 1_000_000;
/// The decimal places of a rate.
const RATE_DIGITS: usize = 6;

/// The system's time.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is where processes read the clock")]
pub fn system_now() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(FRACTION_DIGITS)
}

/// The system's clock, for schedules and work alike.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        system_now()
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        nap_until(at, Rate::REAL, system_now).await;
    }

    async fn wait(&self, work: Duration) {
        sleep(work).await;
    }
}

/// The time of work on one machine: it begins at the system's time and runs like a stopwatch. A system
/// clock that is set, or jumps after a suspension, ends no lease of this process.
#[derive(Debug, Clone, Copy)]
struct Stopwatch {
    start: DateTime<Utc>,
    since: Instant,
}

impl Stopwatch {
    fn start_at(start: DateTime<Utc>) -> Self {
        Self { start, since: Instant::now() }
    }

    fn now(&self) -> DateTime<Utc> {
        let elapsed = TimeDelta::from_std(self.since.elapsed()).unwrap_or(TimeDelta::MAX);
        let now = self.start.checked_add_signed(elapsed).unwrap_or(DateTime::<Utc>::MAX_UTC);
        now.trunc_subsecs(FRACTION_DIGITS)
    }
}

/// The clock of an installation that is one process: schedules follow the system's clock, and work a
/// stopwatch. Only this process has leases, so no other process compares times with this stopwatch.
#[derive(Debug, Clone)]
pub struct ProcessClock<F = fn() -> DateTime<Utc>> {
    system: F,
    work: Stopwatch,
}

/// A clock of the system's time.
impl Default for ProcessClock {
    fn default() -> Self {
        Self::over(system_now)
    }
}

impl<F: Fn() -> DateTime<Utc>> ProcessClock<F> {
    /// A clock of this time, for tests in which it jumps.
    #[must_use]
    pub fn over(system: F) -> Self {
        let work = Stopwatch::start_at(system());
        Self { system, work }
    }
}

#[async_trait]
impl<F: Fn() -> DateTime<Utc> + Send + Sync> Clock for ProcessClock<F> {
    fn now(&self) -> DateTime<Utc> {
        (self.system)()
    }

    fn work_now(&self) -> DateTime<Utc> {
        self.work.now()
    }

    fn outside_now(&self) -> DateTime<Utc> {
        self.now()
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        nap_until(at, Rate::REAL, || self.now()).await;
    }

    async fn wait(&self, work: Duration) {
        sleep(work).await;
    }
}

/// A clock that starts at a given time and runs schedules faster or slower than real time.
///
/// Work, such as timeouts, still runs in real time, by a stopwatch.
#[derive(Debug, Clone)]
pub struct TestClock {
    start: DateTime<Utc>,
    rate: Rate,
    work: Stopwatch,
}

impl TestClock {
    /// Creates a clock whose current time is `start`.
    #[must_use]
    pub fn new(start: DateTime<Utc>, rate: Rate) -> Self {
        Self { start, rate, work: Stopwatch::start_at(system_now()) }
    }
}

#[async_trait]
impl Clock for TestClock {
    fn now(&self) -> DateTime<Utc> {
        let elapsed = TimeDelta::from_std(self.work.since.elapsed()).unwrap_or(TimeDelta::MAX);
        let end = DateTime::from_timestamp(LAST_SECOND, 0).unwrap_or(DateTime::<Utc>::MAX_UTC);
        let now = self.start.checked_add_signed(self.rate.scale(elapsed)).unwrap_or(end);
        now.min(end).trunc_subsecs(FRACTION_DIGITS)
    }

    fn work_now(&self) -> DateTime<Utc> {
        self.work.now()
    }

    fn outside_now(&self) -> DateTime<Utc> {
        system_now()
    }

    fn scheduled_during(&self, work: TimeDelta) -> TimeDelta {
        self.rate.scale(work)
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        nap_until(at, self.rate, || self.now()).await;
    }

    async fn wait(&self, work: Duration) {
        sleep(work).await;
    }
}

/// Sleeps in short naps of real time until `now` reaches `at`.
async fn nap_until(at: DateTime<Utc>, rate: Rate, now: impl Fn() -> DateTime<Utc>) {
    loop {
        // `to_std` fails for a negative time: then `at` has passed.
        let left = (at - now()).to_std().unwrap_or_default();
        if left.is_zero() {
            return;
        }
        sleep(rate.real_time(left).min(NAP_MAX)).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock implements its waiting with it")]
async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

/// The speed of a test clock: 0.1 to 100,000 times real time, stored in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

/// A text is not a valid rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateError;

impl std::fmt::Display for RateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a rate is a number from 0.1 to 100000, with up to 6 decimal places")
    }
}

impl std::error::Error for RateError {}

impl Rate {
    /// Real time.
    pub const REAL: Self = Self(RATE_UNIT as u64);
    /// The slowest rate.
    pub const MIN: Self = Self(RATE_UNIT as u64 / 10);
    /// The fastest rate.
    pub const MAX: Self = Self(RATE_UNIT as u64 * 100_000);

    /// The time that passes on this clock during a span of real time.
    fn scale(self, real: TimeDelta) -> TimeDelta {
        let unit = i128::from(RATE_UNIT);
        let nanos =
            i128::from(real.num_seconds()) * 1_000_000_000 + i128::from(real.subsec_nanos());
        let scaled = nanos * i128::from(self.0) / unit;
        let seconds = i64::try_from(scaled.div_euclid(1_000_000_000)).unwrap_or(i64::MAX);
        let rest = u32::try_from(scaled.rem_euclid(1_000_000_000)).unwrap_or(0);
        TimeDelta::new(seconds, rest).unwrap_or(TimeDelta::MAX)
    }

    /// The real time in which a span passes on this clock, rounded up.
    fn real_time(self, scheduled: Duration) -> Duration {
        let nanos = (scheduled.as_nanos() * u128::from(RATE_UNIT)).div_ceil(u128::from(self.0));
        u64::try_from(nanos).map_or(Duration::MAX, Duration::from_nanos)
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !is_digits(whole) || !is_digits(fraction) || fraction.len() > RATE_DIGITS {
            return Err(RateError);
        }
        let whole: u64 = whole.parse().map_err(|_| RateError)?;
        let fraction: u64 = format!("{fraction:0<RATE_DIGITS$}").parse().map_err(|_| RateError)?;
        let rate =
            whole.checked_mul(u64::from(RATE_UNIT)).and_then(|sum| sum.checked_add(fraction));
        rate.map(Self).filter(|rate| (Self::MIN..=Self::MAX).contains(rate)).ok_or(RateError)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    fn rate(text: &str) -> Rate {
        text.parse().unwrap()
    }

    #[test]
    fn a_rate_is_parsed_exactly_and_only_within_its_bounds() {
        assert_eq!(rate("1"), Rate::REAL);
        assert_eq!(rate("0.1"), Rate::MIN);
        assert_eq!(rate("100000"), Rate::MAX);
        assert_eq!(rate("60.000001"), Rate(60_000_001));
        for text in ["0", "0.09", "100000.1", "-1", "+1", "1e3", "", ".", "1.", ".5", "1.1234567"] {
            assert_eq!(text.parse::<Rate>(), Err(RateError), "{text}");
        }
    }

    #[test]
    fn schedule_time_is_scaled_by_the_rate_and_real_time_is_rounded_up() {
        let work = TimeDelta::milliseconds(1500);
        assert_eq!(rate("0.1").scale(work), TimeDelta::milliseconds(150));
        assert_eq!(rate("100000").scale(work), TimeDelta::seconds(150_000));
        assert_eq!(rate("2").scale(-work), TimeDelta::seconds(-3));
        assert_eq!(Rate::MAX.scale(TimeDelta::MAX), TimeDelta::MAX);
        let real_time = |text, nanos| rate(text).real_time(Duration::from_nanos(nanos)).as_nanos();
        assert_eq!(real_time("100000", 100), 1);
        assert_eq!(real_time("0.1", 100), 1000);
        assert_eq!(real_time("3", 100), 34);
    }

    #[test]
    fn a_test_clock_starts_at_the_given_time_and_stops_at_the_end_of_the_calendar() {
        let start = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let clock = TestClock::new(start, Rate::MIN);
        let now = clock.now();
        assert!((start..start + TimeDelta::seconds(60)).contains(&now), "{now}");
        assert!(clock.work_now() < now, "work is done in real time");
        let end = DateTime::from_timestamp(LAST_SECOND, 0).unwrap();
        assert_eq!(TestClock::new(end, Rate::MAX).now(), end);
        assert_eq!(clock.scheduled_during(TimeDelta::seconds(10)), TimeDelta::seconds(1));
    }

    #[test]
    fn a_system_clock_that_jumps_moves_schedules_and_neither_leases_nor_limits_of_work() {
        let jump = AtomicI64::new(0);
        let start = system_now();
        let clock = ProcessClock::over(|| start + TimeDelta::seconds(jump.load(Ordering::Relaxed)));
        let work = clock.work_now();
        for seconds in [130, 7 * 24 * 3600, -600] {
            jump.store(seconds, Ordering::Relaxed);
            assert_eq!(clock.now(), start + TimeDelta::seconds(seconds));
            assert_eq!(clock.outside_now(), clock.now(), "others read the system's time");
            let passed = clock.work_now() - work;
            assert!((TimeDelta::zero()..TimeDelta::seconds(60)).contains(&passed), "{passed}");
        }
    }

    #[test]
    fn instants_are_whole_ticks() {
        assert_eq!(SystemClock.now().timestamp_subsec_nanos() % 100, 0);
        assert_eq!(ProcessClock::default().work_now().timestamp_subsec_nanos() % 100, 0);
        let start = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let clock = TestClock::new(start, rate("0.333333"));
        assert_eq!(clock.now().timestamp_subsec_nanos() % 100, 0);
    }

    #[tokio::test]
    async fn a_wait_never_ends_early() {
        let start = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        for text in ["0.1", "1", "7", "100000"] {
            let clock = TestClock::new(start, rate(text));
            let at = clock.now() + clock.scheduled_during(TimeDelta::microseconds(1500));
            clock.wait_until(at).await;
            assert!(clock.now() >= at, "{text}");
        }
        let at = system_now() + TimeDelta::microseconds(700);
        SystemClock.wait_until(at).await;
        assert!(system_now() >= at);
        // An instant in the past returns at once.
        SystemClock.wait_until(start - TimeDelta::days(3650)).await;
    }
}
