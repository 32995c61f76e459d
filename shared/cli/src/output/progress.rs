//! Progress of work that takes long: a bar on a terminal, nothing in a pipe.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Result;
use crate::output::screen::Screen;

/// How often a bar is drawn.
const DRAWS_PER_SECOND: u8 = 10;

/// The progress of work whose length is known.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new(screen: &Screen, doing: &'static str, length: usize) -> Self {
        let shown = screen.asks && !screen.quiet && length > 1;
        Self::shown(shown, screen.ascii, doing, u64::try_from(length).unwrap_or(u64::MAX))
    }

    /// A bar that is drawn, or is not.
    #[must_use]
    pub fn shown(is_shown: bool, ascii: bool, doing: &'static str, length: u64) -> Self {
        let target = if is_shown {
            ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(length), target);
        let (template, chars) = if ascii {
            ("{msg} [{bar:30.}] {pos}/{len} {eta}", "=> ")
        } else {
            ("{msg} {bar:30.} {pos}/{len} {eta}", "━╸ ")
        };
        let bar = match ProgressStyle::with_template(template) {
            Ok(style) => bar.with_style(style.progress_chars(chars)),
            Err(_) => bar,
        };
        bar.enable_steady_tick(Duration::from_millis(500));
        Self(bar.with_message(doing))
    }

    /// Prints something above the bar.
    pub(crate) fn above(&self, print: impl FnOnce() -> Result<()>) -> Result<()> {
        self.0.suspend(print)
    }

    /// One more is done.
    pub fn step(&self) {
        self.0.inc(1);
    }

    /// There is more to do than was known.
    pub fn grow(&self, by: u64) {
        self.0.inc_length(by);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
