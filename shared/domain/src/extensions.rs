//! The property `minutehand` of a job and of a collection: settings that the original did not have.
//!
//! An extension is a field of one of the two types here, a line in its shape, and a line each in
//! `read` and `write`. Nothing else is needed for its survival: official clients do not know the
//! property, so [`keep_extensions`](crate::document::keep_extensions) keeps all of it in a PUT that
//! leaves it out.

use chrono::{DateTime, Utc};
use minutehand_recurrence::format_instant;
use minutehand_recurrence::zone::{self, Zone};

use crate::action::{FAILURE_ACTION, FailureAction};
use crate::backoff::{BACKOFF, Backoff};
use crate::chain::Depth;
use crate::completion::{COMPLETION, Completion};
use crate::dates::{EXCLUDE, Exclude, ExtraDates, JobDates};
use crate::duration::Span;
use crate::ids::fnv1a;
use crate::json::Shape::{Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Reading, Shape};
use crate::limits::{Concurrent, PerSecond};
use crate::pause::{PAUSE_ON_FAILURE, PAUSED, PauseOnFailure, Paused};
use crate::policies::{
    CATCH_UP, CatchUp, JITTER, LATENESS, OVERLAP, Overlap, Policies, StartJitter, read_jitter,
    write_jitter,
};
use crate::refusal::{Fix, Refusal};
use crate::sign::{SIGN, Signing};
use crate::snooze::SNOOZED_UNTIL;

/// The property that holds the extensions.
pub const EXTENSIONS: &str = "minutehand";

/// The property that says how deep a job is in a chain.
const DEPTH: &str = "depth";
/// The property that turns templates on.
pub(crate) const TEMPLATE: &str = "template";

/// At most what every action may take.
const TIMEOUT: [Span; 2] = [Span::seconds(1), Span::seconds(60)];

/// The extensions of a job. Those of its recurrence are read with the recurrence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobExtensions {
    /// How the wait before a retry grows, spreads and ends.
    pub retry: Option<Backoff>,
    /// Which occurrences of a known outage run after it.
    pub catch_up: Option<CatchUp>,
    /// How late the first attempt at an occurrence may start.
    pub max_lateness: Option<Span>,
    /// Within which time after their instants occurrences start.
    pub jitter: Option<Span>,
    /// What happens to an occurrence while another attempt runs.
    pub overlap: Option<Overlap>,
    /// The days on which it does not run.
    pub exclude: Option<Exclude>,
    /// When it runs beside its recurrence.
    pub extra_dates: Option<ExtraDates>,
    /// How long its actions may take.
    pub timeout: Option<Span>,
    /// That its target may answer 202 and report the end later.
    pub completion: Option<Completion>,
    /// Whether names in double braces become values where its actions are sent.
    pub template: bool,
    /// The secrets that sign its requests.
    pub sign: Option<Signing>,
    /// After how many failures the job pauses.
    pub pause_on_failure: Option<PauseOnFailure>,
    /// Why the scheduler has disabled the job, if it has.
    pub paused: Option<Paused>,
    /// Until when it is not shown as needing someone.
    pub snoozed_until: Option<DateTime<Utc>>,
    /// How deep the request was that put the job, if a job sent it.
    pub depth: Depth,
}

/// The extensions of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CollectionExtensions {
    /// The time zone of jobs that name none when they are created or when their timing changes, as
    /// it was sent.
    pub time_zone: Option<String>,
    /// The action for occurrences of any job of the collection that fail for good.
    pub on_failure: Option<FailureAction>,
    /// How many attempts of its jobs may start in a second.
    pub max_per_second: Option<PerSecond>,
    /// How many attempts of its jobs may run at the same time.
    pub max_concurrent: Option<Concurrent>,
    /// Until when neither it nor its jobs are shown as needing someone.
    pub snoozed_until: Option<DateTime<Utc>>,
}

impl JobExtensions {
    pub(crate) const SHAPE: Shape = Object(&[
        ("retry", BACKOFF),
        ("catchUp", CATCH_UP),
        ("maxLateness", Leaf),
        ("jitter", JITTER),
        ("overlap", OVERLAP),
        ("exclude", EXCLUDE),
        ("extraDates", Leaf),
        ("timeout", Leaf),
        ("completion", COMPLETION),
        ("template", Leaf),
        ("sign", SIGN),
        ("pauseOnFailure", PAUSE_ON_FAILURE),
        ("paused", PAUSED),
        (SNOOZED_UNTIL, Leaf),
        (DEPTH, Leaf),
    ]);

    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            retry: fields.part("retry", Backoff::read)?,
            catch_up: fields.part("catchUp", CatchUp::read)?,
            max_lateness: fields.bounded_span("maxLateness", LATENESS)?,
            jitter: fields.part("jitter", read_jitter)?,
            overlap: fields.part("overlap", Overlap::read)?,
            exclude: fields.part("exclude", Exclude::read)?,
            extra_dates: ExtraDates::read(fields)?,
            timeout: fields.bounded_span("timeout", TIMEOUT)?,
            completion: fields.part("completion", Completion::read)?,
            template: fields.flag(TEMPLATE)?.unwrap_or_default(),
            sign: fields.part("sign", Signing::read)?,
            pause_on_failure: fields.part("pauseOnFailure", PauseOnFailure::read)?,
            paused: fields.part("paused", Paused::read)?.flatten(),
            snoozed_until: fields.date(SNOOZED_UNTIL)?,
            depth: read_depth(fields)?,
        })
    }

    /// The dates of a job with these extensions.
    pub(crate) fn dates(extensions: Option<&Self>) -> JobDates<'_> {
        extensions.map_or_else(JobDates::default, |it| JobDates {
            exclude: it.exclude.as_ref(),
            extra: it.extra_dates.as_ref(),
        })
    }

    pub(crate) fn write(&self) -> ObjectBuilder {
        ObjectBuilder::default()
            .object("retry", self.retry.as_ref().map(Backoff::write))
            .object("catchUp", self.catch_up.map(CatchUp::write))
            .duration("maxLateness", self.max_lateness)
            .object("jitter", self.jitter.map(write_jitter))
            .object("overlap", self.overlap.map(Overlap::write))
            .object("exclude", self.exclude.as_ref().map(Exclude::write))
            .maybe("extraDates", self.extra_dates.as_ref().map(ExtraDates::write))
            .duration("timeout", self.timeout)
            .object("completion", self.completion.map(Completion::write))
            .maybe(TEMPLATE, self.template.then_some(true))
            .object("sign", self.sign.as_ref().map(Signing::write))
            .object("pauseOnFailure", self.pause_on_failure.map(PauseOnFailure::write))
            .object("paused", self.paused.as_ref().map(Paused::write))
            .maybe(SNOOZED_UNTIL, self.snoozed_until.map(format_instant))
            .maybe_found(DEPTH, Some(self.depth.get()).filter(|depth| *depth > 0))
    }
}

impl Policies {
    /// The policies of a job with these extensions.
    #[must_use]
    pub fn of(extensions: Option<&JobExtensions>, job_uid: &str) -> Self {
        let Some(JobExtensions { catch_up, max_lateness, jitter, overlap, .. }) = extensions else {
            return Self::default();
        };
        let jitter = jitter.map(|window| StartJitter { window, seed: fnv1a(job_uid.as_bytes()) });
        Self {
            catch_up: catch_up.unwrap_or_default(),
            max_lateness: *max_lateness,
            jitter,
            overlap: overlap.unwrap_or_default(),
            pings: None,
        }
    }
}

impl CollectionExtensions {
    pub(crate) const SHAPE: Shape = Object(&[
        ("timeZone", Leaf),
        ("onFailure", FAILURE_ACTION),
        ("maxPerSecond", Leaf),
        ("maxConcurrent", Leaf),
        (SNOOZED_UNTIL, Leaf),
    ]);

    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let extensions = Self {
            time_zone: read_time_zone(fields)?,
            on_failure: fields.part("onFailure", FailureAction::read)?,
            max_per_second: fields
                .whole("maxPerSecond", 1, PerSecond::MAX)?
                .and_then(PerSecond::new),
            max_concurrent: fields
                .whole("maxConcurrent", 1, Concurrent::MAX)?
                .and_then(Concurrent::new),
            snoozed_until: fields.date(SNOOZED_UNTIL)?,
        };
        let has_limit = extensions.max_per_second.is_some() || extensions.max_concurrent.is_some();
        let on_failure = extensions.on_failure.as_ref();
        let tells_behind = on_failure.is_some_and(|action| action.rules().tell_behind());
        if fields.limiting_plan().is_some() && tells_behind && !has_limit {
            let problem = "has no effect, because the job collection has no limit under which \
                attempts wait. Set 'maxPerSecond' or 'maxConcurrent', or leave this out.";
            return Err(fields.about("onFailure.alsoTell.behind", problem));
        }
        Ok(extensions)
    }

    pub(crate) fn write(&self) -> ObjectBuilder {
        let Self { time_zone, on_failure, max_per_second, max_concurrent, snoozed_until } = self;
        ObjectBuilder::default()
            .maybe("timeZone", time_zone.as_deref())
            .object("onFailure", on_failure.as_ref().map(FailureAction::write))
            .maybe("maxPerSecond", max_per_second.map(PerSecond::get))
            .maybe("maxConcurrent", max_concurrent.map(Concurrent::get))
            .maybe(SNOOZED_UNTIL, snoozed_until.map(format_instant))
    }
}

/// Reads what is stored. A request may repeat an answer, and what that says is ignored.
fn read_depth(fields: &Fields<'_>) -> Result<Depth, Refusal> {
    Ok(match fields.reading() {
        Reading::Request(_) => Depth::default(),
        Reading::Stored | Reading::StoredWithoutSecrets => {
            fields.whole(DEPTH, 0, u32::MAX)?.map(Depth::new).unwrap_or_default()
        }
    })
}

fn read_time_zone(fields: &Fields<'_>) -> Result<Option<String>, Refusal> {
    let Some(name) = fields.text("timeZone")? else {
        return Ok(None);
    };
    if fields.limiting_plan().is_some() && Zone::named(name).is_none() {
        let like = zone::meant(name);
        let example = like.unwrap_or("Europe/Paris");
        let allowed = format!("use an IANA or Windows time zone name, such as '{example}'");
        let wrong = fields.wrong("timeZone", &allowed);
        return Err(wrong.or(like.map(|zone| Fix::Use(zone.into()))));
    }
    Ok(Some(name.to_owned()))
}
