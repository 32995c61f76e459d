//! The ends of open attempts: what targets report, and what users cancel.
//!
//! An end is stored first, and a message asks a worker to record it:
//!
//! | after | a crash leaves | repaired by |
//! |---|---|---|
//! | the end is stored | an attempt that has ended and is not recorded | the same request, if it comes again; else the timer of the deadline |

use chrono::{DateTime, Utc};
use minutehand_domain::attempt::{Attempt, Role};
use minutehand_domain::completion::{EndedBy, Ending, PROGRESS_CHARS_MAX};
use minutehand_domain::refusal::{Code, Refusal};
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{AttemptSeen, Said};
use minutehand_recurrence::format_instant;

use super::describe::job_ref;
use super::{JobPlace, Manage};
use crate::error::Result;
use crate::fire::attempt_message;

/// What a target reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// Its work is done.
    Success,
    /// Its work failed.
    Failure,
    /// It is at work.
    Alive,
}

/// What became of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// It is kept. So it is if the same was reported before.
    Kept,
    /// The attempt has ended otherwise.
    Over,
    /// No attempt has this key.
    Unknown,
}

impl Manage {
    /// Takes the report of a target, with a text.
    ///
    /// # Errors
    ///
    /// If the store or the queue fails. The target may report again.
    pub async fn report(&self, key: &str, report: Report, text: &str) -> Result<Reported> {
        let Some(urls) = &self.ports.completions else { return Ok(Reported::Unknown) };
        let Some((job, attempt)) = urls.read(key).await? else { return Ok(Reported::Unknown) };
        let by = match report {
            Report::Success => EndedBy::Success,
            Report::Failure => EndedBy::Failure,
            Report::Alive => {
                let line = progress(text);
                let is_noted = self.ports.open.note_progress(&job, &attempt, &line).await?;
                return Ok(if is_noted { Reported::Kept } else { Reported::Over });
            }
        };
        let ending = Ending::new(self.ports.clock.now(), by, text);
        Ok(match self.end(&job, &attempt, &ending).await? {
            Said::First => Reported::Kept,
            Said::Already(earlier) if earlier.by == by => Reported::Kept,
            Said::Already(_) | Said::Late => Reported::Over,
            Said::Nothing => Reported::Unknown,
        })
    }

    /// Ends the open attempt at an occurrence of a job as failed.
    ///
    /// # Errors
    ///
    /// If the collection or the job does not exist, or if no attempt at the occurrence is open.
    pub async fn cancel_occurrence(&self, of: JobPlace<'_>, at: DateTime<Utc>) -> Result<()> {
        let (.., name) = of;
        let (collection, job) = self.parent_and_job(of).await?;
        let who = self.author.known().unwrap_or_default();
        let ending = Ending::new(self.ports.clock.now(), EndedBy::Cancel, &who);
        let of_job = job_ref(&collection, &job);
        for entry in self.attempts_at(&job, at).await? {
            if entry.record.is_some() || entry.attempt.role != Role::Main {
                continue;
            }
            match self.end(&of_job, &entry.attempt, &ending).await? {
                Said::First => return Ok(()),
                Said::Already(earlier) if earlier.by == EndedBy::Cancel => return Ok(()),
                Said::Already(_) | Said::Late | Said::Nothing => {}
            }
        }
        let at = format_instant(at);
        let message = format!(
            "No attempt of the job '{name}' at {at} is open. Only an attempt can be cancelled whose target \
             answered 202 and has not reported the end."
        );
        Err(Refusal::new(Code::OccurrenceNotOpen, message).into())
    }

    /// Says how an attempt ended, and asks a worker to record it.
    async fn end(&self, job: &JobRef, attempt: &Attempt, ending: &Ending) -> Result<Said> {
        let said = self.ports.open.say(&job.uid, attempt, ending).await?;
        let is_to_record = match said {
            Said::First => true,
            // The message of who said so may be lost.
            Said::Already(_) => {
                let seen = self.ports.open.see(&job.uid, attempt).await?;
                matches!(seen, AttemptSeen::Open(_))
            }
            Said::Late | Said::Nothing => false,
        };
        if is_to_record {
            let due_at = self.ports.clock.now();
            let ends = Attempt { due_at, is_long: true, ..attempt.clone() }.to_end();
            self.ports.queue.send(&[attempt_message(job, ends)], due_at).await?;
        }
        Ok(said)
    }
}

/// A line of progress: the first one of a text, without what cannot be shown.
fn progress(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let printable = line.chars().map(|c| if c.is_control() { ' ' } else { c });
    printable.take(PROGRESS_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_one_line() {
        for (text, line) in [("", ""), ("\n 7 of 9 \r\nmore", "7 of 9 "), ("a\tb", "a b")] {
            assert_eq!(progress(text), line);
        }
        assert_eq!(progress(&"ü".repeat(1_000)).chars().count(), PROGRESS_CHARS_MAX);
    }
}
