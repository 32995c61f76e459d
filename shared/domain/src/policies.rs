//! Policies: which occurrences of a job run when the world is not perfect, and exactly when.
//!
//! They are extensions of a job. A sweeper plans by a job's timer alone, so the timer's line has them,
//! too: see [`Schedule`](crate::schedule::Schedule). A job without policies does not pay for them.

use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_recurrence::{UnreadableTimetable, named};

use crate::duration::Span;
use crate::ids::fnv1a;
use crate::json::Shape::{Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Shape};
use crate::ping_window::{OWED_MAX, PingWindow};
use crate::refusal::{Fix, Refusal};
use crate::tick::ticks;

/// How far back `all` goes if nothing else is said.
const WINDOW_DEFAULT: Span = Span::days(1);
/// As far back as history goes.
const WINDOW: [Span; 2] = [Span::seconds(60), Span::days(60)];
/// How many occurrences of an outage `all` makes up for if nothing else is said.
const CATCH_UP_DEFAULT: u32 = 100;
/// The most occurrences of an outage that `all` makes up for.
const CATCH_UP_MAX: u32 = 1_000;

pub(crate) const LATENESS: [Span; 2] = [Span::seconds(1), Span::days(548)];
const JITTER_WINDOW: [Span; 2] = [Span::seconds(1), Span::days(1)];

/// The names in the extension `catchUp`.
pub(crate) const CATCH_UP: Shape = Object(&[("policy", Leaf), ("window", Leaf), ("max", Leaf)]);

/// The extension `catchUp` of a job, as it was sent: which occurrences of a known outage run after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CatchUp {
    /// The last one.
    #[default]
    Last,
    /// None.
    None,
    /// The latest ones.
    All {
        /// Those that are not older than this when the outage ends.
        window: Option<Span>,
        /// Not more than this.
        max: Option<u32>,
    },
}

/// The names in the extension `overlap`.
pub(crate) const OVERLAP: Shape = Object(&[("policy", Leaf)]);

named! {
    /// What happens to an occurrence while another attempt of its job runs.
    #[derive(Default)]
    pub enum Overlap {
        /// It runs beside it.
        #[default]
        Allow = "allow",
        /// It is left out. Retries and runs wait for their turn.
        Skip = "skip",
    }
}

impl Overlap {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        fields.required_one_of("policy", Self::read_name, "allow, skip")
    }

    pub(crate) fn write(self) -> ObjectBuilder {
        ObjectBuilder::default().set("policy", self.name())
    }
}

/// The names in the extension `jitter`.
pub(crate) const JITTER: Shape = Object(&[("window", Leaf)]);

/// By how much the starts of a job's occurrences are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartJitter {
    /// Each starts within this time after its instant.
    pub window: Span,
    /// A number of the job, so that several jobs of one instant start at different times.
    pub seed: u32,
}

/// The policies of a job that decide whether and when an occurrence runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policies {
    /// Which occurrences of an outage run after it.
    pub catch_up: CatchUp,
    /// How late the first attempt at an occurrence may start; `None` is any time.
    pub max_lateness: Option<Span>,
    /// By how much starts are spread.
    pub jitter: Option<StartJitter>,
    /// What happens while another attempt runs.
    pub overlap: Overlap,
    /// Around each occurrence, when it may be paid by a ping; `None` if the job acts.
    pub pings: Option<PingWindow>,
}

impl CatchUp {
    /// Which occurrences of an outage run after it, with the defaults of what was not sent.
    #[must_use]
    pub fn bounds(self) -> Bounds {
        match self {
            Self::Last => Bounds { window: None, max: 1 },
            Self::None => Bounds { window: None, max: 0 },
            Self::All { window, max } => Bounds {
                window: Some(window.unwrap_or(WINDOW_DEFAULT)),
                max: max.unwrap_or(CATCH_UP_DEFAULT),
            },
        }
    }

    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let read = |text: &str| match text.to_ascii_lowercase().as_str() {
            "last" => Some(Self::Last),
            "none" => Some(Self::None),
            "all" => Some(Self::All { window: None, max: None }),
            _ => None,
        };
        let policy = fields.required_one_of("policy", read, "last, none, all")?;
        let is_sent = |name: &&str| fields.value(name).is_some();
        match (policy, ["window", "max"].into_iter().find(is_sent)) {
            (Self::Last | Self::None, Some(name)) => {
                let problem =
                    "has no effect without \"policy\": \"all\"; use that or leave it out.";
                Err(fields.about(name, problem).or([Fix::LeaveOut]))
            }
            (Self::Last | Self::None, None) => Ok(policy),
            (Self::All { .. }, _) => Ok(Self::All {
                window: fields.bounded_span("window", WINDOW)?,
                max: fields.whole("max", 1, CATCH_UP_MAX)?,
            }),
        }
    }

    pub(crate) fn write(self) -> ObjectBuilder {
        let document = ObjectBuilder::default().set("policy", self.name());
        match self {
            Self::All { window, max } => document.duration("window", window).maybe("max", max),
            Self::Last | Self::None => document,
        }
    }

    /// The name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Last => "last",
            Self::None => "none",
            Self::All { .. } => "all",
        }
    }
}

/// How many of the latest occurrences of an outage run after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Only those that are not older than this at its end.
    pub window: Option<Span>,
    /// Not more than this.
    pub max: u32,
}

impl StartJitter {
    /// How long after its instant an occurrence starts: always the same for an occurrence of a job.
    #[must_use]
    pub fn delay(&self, nominal_at: DateTime<Utc>) -> TimeDelta {
        let mut bytes = ticks(nominal_at).to_be_bytes().to_vec();
        bytes.extend(self.seed.to_be_bytes());
        let part = u128::from(mixed(fnv1a(&bytes)));
        let millis = (u128::from(self.window.millis()) * part) >> u32::BITS;
        Span::of_millis(u64::try_from(millis).unwrap_or_default()).delta()
    }
}

/// Makes each bit of a hash depend on every other one, as the delay is taken from the highest.
const fn mixed(mut hash: u32) -> u32 {
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

pub(crate) fn read_jitter(fields: &Fields<'_>) -> Result<Span, Refusal> {
    let window = fields.bounded_span("window", JITTER_WINDOW)?;
    window.ok_or_else(|| fields.missing("window", "use a duration such as PT10M"))
}

pub(crate) fn write_jitter(window: Span) -> ObjectBuilder {
    ObjectBuilder::default().duration("window", Some(window))
}

impl Policies {
    /// Refuses a policy that does not fit the recurrence, whose occurrences are this far apart.
    ///
    /// # Errors
    ///
    /// If the spread of two occurrences would overlap, or too many of them would be owed at the same time.
    pub fn check(&self, smallest_gap: Option<TimeDelta>) -> Result<(), Refusal> {
        if let (Some(pings), Some(gap)) = (self.pings, smallest_gap) {
            check_grace(pings.grace, gap)?;
        }
        let (Some(jitter), Some(gap)) = (self.jitter, smallest_gap) else { return Ok(()) };
        if jitter.window.delta() * 2 <= gap {
            return Ok(());
        }
        let millis = u64::try_from(gap.num_milliseconds()).unwrap_or_default();
        let problem = format!(
            "is {}; two occurrences are {} apart, so use at most {}.",
            jitter.window,
            Span::of_millis(millis),
            Span::of_millis(millis / 2)
        );
        Err(Refusal::about("minutehand.jitter.window", problem))
    }

    /// Whether a worker may leave out an occurrence for one of them when nothing was down.
    #[must_use]
    pub const fn leave_out(&self) -> bool {
        self.max_lateness.is_some() || self.takes_turns()
    }

    /// Whether the attempts of the job take turns.
    #[must_use]
    pub const fn takes_turns(&self) -> bool {
        matches!(self.overlap, Overlap::Skip)
    }
}

/// The words in a timer's line: only what differs from the default, each with a space after it.
impl fmt::Display for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { catch_up, max_lateness, jitter, overlap, pings } = self;
        match catch_up {
            CatchUp::Last => {}
            CatchUp::None => f.write_str("catchUp=none ")?,
            CatchUp::All { .. } => {
                let Bounds { window, max } = catch_up.bounds();
                let window = window.unwrap_or(WINDOW_DEFAULT).millis();
                write!(f, "catchUp=all:{window}:{max} ")?;
            }
        }
        if let Some(max) = max_lateness {
            write!(f, "maxLateness={} ", max.millis())?;
        }
        if let Some(StartJitter { window, seed }) = jitter {
            write!(f, "jitter={}:{seed} ", window.millis())?;
        }
        match overlap {
            Overlap::Allow => {}
            Overlap::Skip => f.write_str("overlap=skip ")?,
        }
        match pings {
            Some(pings) => write!(f, "pings={pings} "),
            None => Ok(()),
        }
    }
}

impl Policies {
    /// Reads the words of a line. The error has a word that this version does not know.
    pub(crate) fn read(words: &str) -> Result<Self, UnreadableTimetable> {
        let mut policies = Self::default();
        for word in words.split_whitespace() {
            let unreadable = || UnreadableTimetable { word: word.to_owned() };
            policies.read_word(word).ok_or_else(unreadable)?;
        }
        Ok(policies)
    }

    fn read_word(&mut self, word: &str) -> Option<()> {
        let (name, value) = word.split_once('=')?;
        match name {
            "catchUp" => self.catch_up = read_catch_up(value)?,
            "maxLateness" => self.max_lateness = Some(Span::of_millis(value.parse().ok()?)),
            "jitter" => {
                let (window, seed) = value.split_once(':')?;
                let window = Span::of_millis(window.parse().ok()?);
                self.jitter = Some(StartJitter { window, seed: seed.parse().ok()? });
            }
            "overlap" if value == Overlap::Skip.name() => self.overlap = Overlap::Skip,
            "pings" => self.pings = Some(PingWindow::read(value)?),
            _ => return None,
        }
        Some(())
    }
}

/// Refuses a time in which more occurrences would be owed than are remembered.
fn check_grace(grace: Span, gap: TimeDelta) -> Result<(), Refusal> {
    let owed_max = i32::try_from(OWED_MAX).unwrap_or(i32::MAX);
    if grace.delta() <= gap * owed_max {
        return Ok(());
    }
    let most = u64::try_from((gap * owed_max).num_milliseconds()).unwrap_or_default();
    let problem = format!(
        "is {grace}; more than {OWED_MAX} occurrences would be owed at the same time, so use at most {}.",
        Span::of_millis(most)
    );
    Err(Refusal::about("action.expect.grace", problem))
}

fn read_catch_up(value: &str) -> Option<CatchUp> {
    if value == "none" {
        return Some(CatchUp::None);
    }
    let (window, max) = value.strip_prefix("all:")?.split_once(':')?;
    let window = Some(Span::of_millis(window.parse().ok()?));
    Some(CatchUp::All { window, max: Some(max.parse().ok()?) })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::{Durations, Reading};
    use crate::plan::Plan;

    fn read(extension: &Value) -> Result<CatchUp, Refusal> {
        let reading = Reading::Request(Plan::Standard);
        CatchUp::read(&Fields::new("minutehand.catchUp", extension, reading)?)
    }

    #[test]
    fn a_catch_up_is_written_as_it_was_read() {
        for extension in [
            json!({"policy": "last"}),
            json!({"policy": "none"}),
            json!({"policy": "all"}),
            json!({"policy": "all", "window": "02:00:00", "max": 7}),
        ] {
            let written = read(&extension).unwrap().write().answer(Durations::TimeSpan);
            assert_eq!(Value::Object(written), extension);
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_to_do() {
        for (extension, expected) in [
            (json!({}), "'minutehand.catchUp.policy' is missing; use one of last, none, all."),
            (
                json!({"policy": "some"}),
                "'minutehand.catchUp.policy' is \"some\"; use one of last, none, all.",
            ),
            (
                json!({"policy": "none", "max": 3}),
                "'minutehand.catchUp.max' has no effect without \"policy\": \"all\"; use that or leave it out.",
            ),
            (
                json!({"policy": "all", "max": 0}),
                "'minutehand.catchUp.max' is 0; use a whole number from 1 to 1000.",
            ),
            (
                json!({"policy": "all", "window": "P61D"}),
                "'minutehand.catchUp.window' is 61.00:00:00; use 00:01:00 to 60.00:00:00.",
            ),
        ] {
            assert_eq!(read(&extension).unwrap_err().message, expected);
        }
    }

    #[test]
    fn an_overlap_is_allow_or_skip() {
        let read = |extension: &Value| {
            let reading = Reading::Request(Plan::Standard);
            Overlap::read(&Fields::new("minutehand.overlap", extension, reading)?)
        };
        for (policy, overlap) in [("allow", Overlap::Allow), ("Skip", Overlap::Skip)] {
            assert_eq!(read(&json!({"policy": policy})), Ok(overlap));
            let written = overlap.write().answer(Durations::TimeSpan);
            assert_eq!(Value::Object(written), json!({"policy": policy.to_lowercase()}));
        }
        for (extension, expected) in [
            (json!({}), "'minutehand.overlap.policy' is missing; use one of allow, skip."),
            (
                json!({"policy": "bufferOne"}),
                "'minutehand.overlap.policy' is \"bufferOne\"; use one of allow, skip.",
            ),
        ] {
            assert_eq!(read(&extension).unwrap_err().message, expected);
        }
    }

    #[test]
    fn jitter_spreads_the_starts_of_jobs_and_of_one_job() {
        let at = |minute: i64| DateTime::from_timestamp(60 * minute, 0).unwrap();
        let window = Span::seconds(600);
        let delay = |seed: u32, minute| {
            let jitter = StartJitter { window, seed: fnv1a(&seed.to_be_bytes()) };
            let delay = jitter.delay(at(minute));
            assert!((TimeDelta::zero()..window.delta()).contains(&delay), "{delay}");
            assert_eq!(jitter.delay(at(minute)), delay);
            usize::try_from(delay.num_minutes()).unwrap()
        };
        let (mut jobs, mut days) = ([0; 10], [0; 10]);
        for n in 0..3_000 {
            jobs[delay(n, 0)] += 1;
            days[delay(1, 1_440 * i64::from(n))] += 1;
        }
        // About 300 in each minute.
        for counts in [jobs, days] {
            assert!(counts.iter().all(|count| (240..360).contains(count)), "{counts:?}");
        }
        // Kept for ever: an occurrence that was sent must not get another start.
        let jitter = StartJitter { window, seed: fnv1a(b"job") };
        assert_eq!(jitter.delay(at(0)).num_milliseconds(), 555_296);
    }

    #[test]
    fn words_read_back_and_the_default_has_none() {
        let policies = |catch_up| Policies { catch_up, ..Policies::default() };
        let full = Policies {
            catch_up: CatchUp::None,
            max_lateness: Some(Span::seconds(300)),
            jitter: Some(StartJitter { window: Span::seconds(600), seed: 7 }),
            overlap: Overlap::Skip,
            pings: Some(PingWindow { early: Span::seconds(300), grace: Span::seconds(600) }),
        };
        let all = CatchUp::All { window: Some(Span::days(1)), max: Some(7) };
        for (policies, words) in [
            (policies(CatchUp::Last), ""),
            (policies(CatchUp::None), "catchUp=none "),
            (policies(all), "catchUp=all:86400000:7 "),
            (
                full,
                "catchUp=none maxLateness=300000 jitter=600000:7 overlap=skip pings=300000:600000 ",
            ),
        ] {
            assert_eq!(policies.to_string(), words);
            assert_eq!(Policies::read(words), Ok(policies));
        }
        for word in [
            "catchUp",
            "catchUp=last",
            "catchUp=all:1",
            "jitter=1",
            "maxLateness=x",
            "overlap=allow",
            "pings=1",
            "later=1",
        ] {
            assert_eq!(Policies::read(word).unwrap_err().word, word);
        }
    }
}
