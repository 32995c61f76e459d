//! From what a format says to a job: a valid name, a checked document, and what has to be reported.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::document::{JOB, accept, canonical_names};
use minutehand_domain::job::JobDefinition;
use minutehand_domain::name::Name;
use minutehand_domain::plan::Plan;
use minutehand_recurrence::{ClockChange, Rule, Timetable, format_instant};
use serde_json::{Map, Value, json};

use crate::ConvertOptions;
use crate::object::object;
use crate::report::{Conversion, ConversionProblem, ConvertedJob, ProblemKind, SourcePlace, state};
use crate::secrets;
use crate::unique::UniqueNames;
use crate::unsayable::{Unsayable, quoted};

/// The most characters of a name, before the number that makes it unique.
const NAME_CHARS_MAX: usize = 90;

/// The days after the conversion in which clock changes are looked for.
const CLOCK_CHANGE_DAYS: i32 = 400;

/// The occurrences of each of these days that are looked at, in the hours in which clocks change.
const CLOCK_CHANGE_OCCURRENCES: usize = 8;
const CLOCK_CHANGE_HOURS: TimeDelta = TimeDelta::hours(6);

/// A schedule of a file, in the terms of a job.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The name in the file, or one made of what the schedule does.
    pub(crate) name: String,
    pub(crate) place: SourcePlace,
    /// The `startTime`, as it is sent.
    pub(crate) start_time: Option<Value>,
    pub(crate) recurrence: Option<Value>,
    /// The `action`; its secrets are text, marks, or missing.
    pub(crate) action: Value,
    /// The extensions, under `minutehand`.
    pub(crate) extensions: Map<String, Value>,
    pub(crate) is_enabled: bool,
    /// What the other scheduler does with a time that the clock skips.
    pub(crate) skipped_time: Option<&'static str>,
    /// What the job does not say.
    pub(crate) notes: Vec<(ProblemKind, Unsayable)>,
}

/// A report under way.
pub(crate) struct Drafts {
    /// The instant of the conversion.
    pub(crate) now: DateTime<Utc>,
    schedules_max: usize,
    pub(crate) report: Conversion,
    names: UniqueNames,
    variables: UniqueNames,
}

impl Drafts {
    pub(crate) fn new(options: &ConvertOptions) -> Self {
        let mut names = UniqueNames::default();
        for taken in &options.names_taken {
            names.take(taken.clone(), '-');
        }
        Self {
            now: options.now,
            schedules_max: options.schedules_max,
            report: Conversion::default(),
            names,
            variables: UniqueNames::default(),
        }
    }

    /// Counts a schedule of the file, and adds its jobs, or reports why there are none.
    pub(crate) fn add(
        &mut self,
        place: &SourcePlace,
        make: impl FnOnce(&mut Self) -> Result<Vec<Draft>, Unsayable>,
    ) -> Result<(), Unsayable> {
        self.report.found += 1;
        if self.report.found > self.schedules_max {
            let why = format!("the file has more than {} schedules", self.schedules_max);
            return Err(Unsayable::new(why, "split it into several files"));
        }
        match make(self) {
            Ok(all) => all.into_iter().for_each(|draft| self.add_job(draft)),
            Err(unsayable) => self.note(ProblemKind::Refused, place.clone(), unsayable),
        }
        Ok(())
    }

    /// Whether nothing was found and nothing reported.
    pub(crate) const fn is_empty(&self) -> bool {
        self.report.found == 0 && self.report.problems.is_empty()
    }

    /// Keeps the quota of a collection of the file. All jobs go into one collection, so it has one quota.
    pub(crate) fn keep_quota(&mut self, place: &SourcePlace, quota: Value) {
        match &self.report.quota {
            None => self.report.quota = Some(quota),
            Some(known) if *known == quota => {}
            Some(_) => {
                let why = "another collection of the file has another quota, which all jobs get";
                let remedy = "import each collection by itself, or set the quota afterwards";
                let unsayable = Unsayable::new(why, remedy);
                self.note(ProblemKind::Changed, place.clone(), unsayable);
            }
        }
    }

    /// Reports something about the file.
    pub(crate) fn note(&mut self, kind: ProblemKind, place: SourcePlace, unsayable: Unsayable) {
        self.report.problems.push(ConversionProblem { kind, place, job: None, unsayable });
    }

    /// Adds the job of a draft, or reports why there is none.
    fn add_job(&mut self, draft: Draft) {
        let place = draft.place.clone();
        if let Err(unsayable) = self.finish(draft) {
            self.note(ProblemKind::Refused, place, unsayable);
        }
    }

    fn finish(&mut self, mut draft: Draft) -> Result<(), Unsayable> {
        let mut document = draft.document()?;
        if let Some(action) = document.pointer_mut("/properties/action") {
            secrets::mark_secrets(action);
        }
        let sent = secrets::with_placeholders(&document);
        let job = accept(&sent, Plan::default()).map_err(|refusal| told(&refusal))?;
        job.write().split().map_err(|refusal| told(&refusal))?;
        let timetable = self.timetable(&job)?;
        draft.notes.extend(skipped_time(&draft, &timetable, self.now));
        if let Some(why) = self.why_disabled(&job, &timetable) {
            draft.is_enabled = false;
            if let Some(set) = document.pointer_mut("/properties/state") {
                *set = state(false).into();
            }
            draft.notes.push((ProblemKind::Disabled, why));
        }
        let name = self.unique_name(&mut draft);
        let secrets = secrets::refer(&mut document, &name, &mut self.variables);
        for secret in secrets.iter().filter(|secret| secret.value.known().is_none()) {
            let missing = Unsayable::new(
                format!("the file does not have the secret {}", secret.pointer),
                format!("give it as the environment variable {}", secret.variable),
            );
            draft.notes.push((ProblemKind::Needed, missing));
        }
        let problems = draft.notes.into_iter().map(|(kind, unsayable)| ConversionProblem {
            kind,
            place: draft.place.clone(),
            job: Some(name.clone()),
            unsayable,
        });
        self.report.problems.extend(problems);
        self.report.jobs.push(ConvertedJob {
            name,
            place: draft.place,
            is_enabled: draft.is_enabled,
            sentence: timetable.sentence(),
            next_at: timetable.at_or_after(self.now).filter(|_| draft.is_enabled),
            document,
            secrets,
        });
        Ok(())
    }

    fn timetable(&self, job: &JobDefinition) -> Result<Timetable, Unsayable> {
        let Some(recurrence) = &job.recurrence else {
            // A start in the past is the instant that the sentence names.
            let now = job.start_time.unwrap_or(self.now);
            return Ok(Timetable::once(job.start_time, now));
        };
        Rule::canonical(recurrence)
            .and_then(|rule| Timetable::new(&rule, job.start_time, self.now))
            .map_err(|refused| told(&refused))
    }

    /// Why a job must not be created enabled; `None` if it may.
    fn why_disabled(&self, job: &JobDefinition, timetable: &Timetable) -> Option<Unsayable> {
        let remedy = "give it a startTime that is to come and enable it, or leave it out";
        match (job.start_time, &job.recurrence) {
            (None, None) => {
                let why = "the job runs once and names no time, so it would fire at once";
                Some(Unsayable::new(why, remedy))
            }
            (Some(start), None) if start <= self.now => {
                let at = format_instant(start);
                Some(Unsayable::new(format!("the only time of the job, {at}, has passed"), remedy))
            }
            (_, Some(_)) if timetable.at_or_after(self.now).is_none() => {
                let why = "the last occurrence of the job has passed";
                Some(Unsayable::new(why, "give it a later endTime and enable it, or leave it out"))
            }
            _ => None,
        }
    }

    /// A name that a job may have, and that no other job of the file has.
    fn unique_name(&mut self, draft: &mut Draft) -> String {
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let name: String = draft.name.chars().map(|c| if known(c) { c } else { '-' }).collect();
        let name = name.trim_start_matches(['-', '_', '.']).trim_end_matches('-');
        let mut name: String = name.chars().take(NAME_CHARS_MAX).collect();
        if Name::new(&name).is_err() {
            "job".clone_into(&mut name);
        }
        let unique = self.names.take(name, '-');
        if unique != draft.name && draft.is_named() {
            let why = format!("the name {} is not allowed or taken", quoted(&draft.name));
            let remedy = format!("the job is called '{unique}'; rename it as you like");
            draft.notes.push((ProblemKind::Changed, Unsayable::new(why, remedy)));
        }
        unique
    }
}

impl Draft {
    /// Whether the file names its schedules; a line of a crontab has no name.
    const fn is_named(&self) -> bool {
        !matches!(self.place, SourcePlace::Line(_))
    }

    /// The body of the request that creates the job, with names in their canonical case.
    fn document(&mut self) -> Result<Value, Unsayable> {
        let extensions = std::mem::take(&mut self.extensions);
        let properties = object([
            ("startTime", self.start_time.take()),
            ("recurrence", self.recurrence.take()),
            ("action", Some(self.action.take())),
            ("minutehand", (!extensions.is_empty()).then(|| extensions.into())),
            ("state", Some(state(self.is_enabled).into())),
        ]);
        let body = json!({"properties": properties});
        canonical_names(body, JOB).map_err(|refusal| told(&refusal))
    }
}

/// What a job says of a time that the clock skips, if it has one soon, and what its source says.
fn skipped_time(
    draft: &Draft,
    timetable: &Timetable,
    now: DateTime<Utc>,
) -> Option<(ProblemKind, Unsayable)> {
    let theirs = draft.skipped_time?;
    timetable.zone()?;
    let (local, _) = timetable.local(now);
    let midnight = now - (local - local.date().and_time(chrono::NaiveTime::MIN));
    let mut days = (0..CLOCK_CHANGE_DAYS).map(|day| midnight + TimeDelta::days(1) * day);
    let moved = days.find_map(|day| {
        // The offset may have changed since, by an hour at most.
        let from = day - TimeDelta::hours(1);
        let mut found = timetable.at_or_after(from);
        for _ in 0..CLOCK_CHANGE_OCCURRENCES {
            let at = found.filter(|at| *at < day + CLOCK_CHANGE_HOURS)?;
            if let Some(ClockChange::Moved { skipped }) = timetable.clock_change(at) {
                return Some((at, skipped));
            }
            found = timetable.after(at);
        }
        None
    });
    let (at, skipped) = moved?;
    let why = format!(
        "on {} the clock skips {}, and the job fires at {}; {theirs}",
        skipped.format("%Y-%m-%d"),
        skipped.format("%H:%M"),
        timetable.local(at).0.format("%H:%M"),
    );
    let remedy = "choose an hour in which the clock does not change, if that matters";
    Some((ProblemKind::Changed, Unsayable::new(why, remedy)))
}

/// A refusal in the words of the API, which end with what to do.
fn told(refusal: &impl std::fmt::Display) -> Unsayable {
    let message = refusal.to_string();
    Unsayable::new(message.trim_end_matches('.'), "change it in the file, and convert it again")
}
