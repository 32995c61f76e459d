//! Runs of a job that a user asks for.

use chrono::{DateTime, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence, run_id};
use minutehand_domain::policies::Policies;
use minutehand_domain::refusal::{Code, Refusal};
use minutehand_domain::schedule::Schedule;
use minutehand_ports::QueueMessage;
use minutehand_ports::store::{CollectionRecord, JobRecord};

use super::describe::{job_ref, stored_schedule};
use super::forget::says_lost;
use super::{JobPlace, Manage};
use crate::definition::shown_definition;
use crate::error::Result;
use crate::fire::attempt_message;

/// A run that is to begin.
pub(super) struct Run {
    pub(super) what: Occurrence,
    /// The generation of the timing under which it was asked for.
    pub(super) generation: u64,
    /// The caller who asked for it, if that is known.
    pub(super) asked_by: Option<String>,
}

impl Manage {
    /// Runs a job once now, in addition to its recurrence.
    ///
    /// # Errors
    ///
    /// If the job does not exist, or its collection is disabled.
    pub async fn run_job(&self, of: JobPlace<'_>) -> Result<()> {
        let (collection, job) = self.runnable(of).await?;
        let now = self.ports.clock.now();
        let (asked_at, run_id) =
            (asked_at(&collection, now), run_id(&self.ports.ids.new_id(), self.depth));
        let what = Occurrence::Run { asked_at, run_id };
        let run =
            Run { what, generation: job.timer.timing.generation, asked_by: self.author.known() };
        self.send_run(&collection, &job, run, now).await
    }

    /// A job that a user may run now, and its collection.
    pub(super) async fn runnable(&self, of: JobPlace<'_>) -> Result<(CollectionRecord, JobRecord)> {
        let (.., name) = of;
        self.depth.check()?;
        let (collection, job) = self.parent_and_job(of).await?;
        self.check_job_condition(name, Some(&job))?;
        if !collection.collection.definition.state.is_on() {
            let name = &collection.collection.name;
            return Err(Refusal::new(
                Code::JobCollectionDisabled,
                format!("The job collection '{name}' is disabled. Enable it first."),
            )
            .into());
        }
        let shown = shown_definition(&job.uid, &job.document);
        if shown.is_ok_and(|shown| shown.action.ping_window().is_some()) {
            return Err(Refusal::new(
                Code::JobExpectsPings,
                format!(
                    "The job '{name}' expects pings and has nothing to send, so it cannot run. Ping its URL \
                     instead; 'job show' prints it."
                ),
            )
            .into());
        }
        if says_lost(&job) {
            self.whole_definition(&job).await?;
        }
        Ok((collection, job))
    }

    /// Notes a run in the journal, and sends its first attempt, which is due now.
    pub(super) async fn send_run(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
        run: Run,
        now: DateTime<Utc>,
    ) -> Result<()> {
        self.note_run(&collection.collection.uid, &job.name, &run.what).await?;
        Ok(self.ports.queue.send(&[message(collection, job, run, now)], now).await?)
    }
}

/// When a run of a collection that is on was asked for: not before the collection was switched on, also if the
/// clock was set back since then.
pub(super) fn asked_at(collection: &CollectionRecord, now: DateTime<Utc>) -> DateTime<Utc> {
    collection.on_since.max(now)
}

fn message(
    collection: &CollectionRecord,
    job: &JobRecord,
    Run { what, generation, asked_by }: Run,
    due_at: DateTime<Utc>,
) -> QueueMessage {
    let first = Attempt { due_at, asked_by, ..Attempt::first(generation, what) };
    let schedule = stored_schedule(job);
    let is_guarded = schedule.as_ref().is_some_and(Schedule::is_guarded);
    let policies = policies(job, schedule);
    let under_policy = is_guarded || policies != Policies::default();
    let takes_turn = policies.takes_turns();
    attempt_message(&job_ref(collection, job), Attempt { under_policy, takes_turn, ..first })
}

/// The policies of a job: those of the schedule in its timer, or if it is disabled those in its document.
fn policies(job: &JobRecord, schedule: Option<Schedule>) -> Policies {
    if job.timer.timetable.is_none() {
        let shown = shown_definition(job.name.as_str(), &job.document);
        return shown.map(|it| Policies::of_job(&it, &job.uid)).unwrap_or_default();
    }
    // A line that cannot be read is of a newer version, which has to know what else there is.
    schedule.map(|schedule| schedule.policies).unwrap_or_default()
}

pub(super) fn check_not_final(job: &JobRecord) -> Result<(), Refusal> {
    if !job.timer.state.is_final() {
        return Ok(());
    }
    let (name, state) = (&job.name, job.timer.state.name());
    Err(Refusal::new(
        Code::JobFinished,
        format!("The job '{name}' is {state} and cannot change. Delete it and create it again."),
    ))
}
