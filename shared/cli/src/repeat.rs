//! `--watch`: a command that is done again and again.
//!
//! A terminal is drawn anew each time. A pipe gets the lines that were not there the time before, without
//! the spans until now, which would change although nothing happens.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args;

use crate::failure::{Failure, Result};
use crate::instant::span_of;
use crate::output::screen::Screen;
use crate::wait::pause;
use crate::work::Work;

const EVERY_MIN: Duration = Duration::from_secs(1);
const EVERY_MAX: Duration = Duration::from_hours(1);

/// The option `--watch`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Repeat {
    /// Show it again and again until Ctrl-C: in a pipe, only lines that are new
    #[arg(long, value_name = "SPAN", num_args = 0..=1, require_equals = true,
          default_missing_value = "2s", value_parser = every)]
    watch: Option<Duration>,
}

fn every(text: &str) -> Result<Duration, String> {
    let every = span_of(text).and_then(|span| span.to_std().ok());
    let every = every.filter(|every| (EVERY_MIN..=EVERY_MAX).contains(every));
    every.ok_or_else(|| "use a span from 1s to 1h, such as 5s".to_owned())
}

impl Repeat {
    /// Every so often, whether or not a user said so.
    pub(crate) fn or_every(self, every: Duration) -> Self {
        Self { watch: self.watch.or(Some(every)) }
    }

    pub(crate) const fn is_wanted(&self) -> bool {
        self.watch.is_some()
    }

    /// Does something once; or with `--watch`, until Ctrl-C.
    pub(crate) async fn run(
        &self,
        mut work: Work,
        show: impl AsyncFn(&Work) -> Result<()>,
    ) -> Result<()> {
        let Some(every) = self.watch else {
            return show(&work).await;
        };
        work.is_still = !work.screen.is_terminal();
        let mut before: Option<String> = None;
        loop {
            work.screen.keep();
            let shown = show(&work).await;
            let kept = work.screen.kept();
            match (shown, &before) {
                (Ok(()), _) => {}
                (Err(failure), None) => {
                    work.screen.print(&kept)?;
                    return Err(failure);
                }
                // It has worked before, and may work again.
                (Err(failure), Some(_)) => {
                    tell(&work.screen, &failure)?;
                    pause(every).await;
                    continue;
                }
            }
            if work.screen.is_terminal() {
                work.screen.clear()?;
                work.screen.print(&kept)?;
            } else {
                work.screen.print(&new_lines(before.as_deref().unwrap_or_default(), &kept))?;
            }
            before = Some(kept);
            pause(every).await;
        }
    }
}

/// Says why it could not be shown this time.
fn tell(screen: &Screen, failure: &Failure) -> Result<()> {
    if screen.is_terminal() {
        screen.clear()?;
    }
    screen.note(&format!("{}: {}", screen.bad("error"), failure.message));
    Ok(())
}

/// The lines that were not there before.
fn new_lines(before: &str, now: &str) -> String {
    let known: BTreeSet<&str> = before.lines().collect();
    now.split_inclusive('\n').filter(|line| !known.contains(line.trim_end_matches('\n'))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_gets_what_is_new() {
        for (before, now, new) in [
            ("", "a\nb\n", "a\nb\n"),
            ("a\nb\n", "a\nb\n", ""),
            ("a\nb\n", "b\na\n", ""),
            ("a 1\nb 1\n", "a 1\nb 2\n", "b 2\n"),
            ("a\nb\n", "b\n", ""),
        ] {
            assert_eq!(new_lines(before, now), new, "{before:?} {now:?}");
        }
    }

    #[test]
    fn a_span_between_two_looks_is_not_too_short() {
        assert_eq!(every("5s"), Ok(Duration::from_secs(5)));
        assert_eq!(every("2m"), Ok(Duration::from_mins(2)));
        for wrong in ["", "0s", "2", "2h", "-1s"] {
            assert!(every(wrong).is_err(), "{wrong}");
        }
    }
}
