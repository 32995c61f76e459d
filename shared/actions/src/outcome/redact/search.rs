//! The search for secrets in a text and in everything that it can be decoded to.
//!
//! A target may return a secret in any encoding, or in several, one within the other. Listing the
//! encodings of a secret never ends; so the text is decoded instead. Each decoder makes another view
//! of the text, and the next decoder continues from there. A secret that is found in a view is
//! removed from the part of the text that it was decoded from.

use std::collections::{HashSet, VecDeque};
use std::hash::RandomState;
use std::ops::Range;

use memchr::memchr_iter;
use memchr::memmem::Finder;

use super::runs;
use super::view::{RUN_END, View};

/// The maximum number of bytes of all views of a text.
///
/// The views of a usual answer have a tenth of it. It is what bounds the work for an answer that is
/// made of escape sequences.
const VIEW_BYTES_MAX: usize = 256 * 1024;

/// Shorter secrets are only found as whole words: a message in which every `a` is replaced would be
/// useless, and would reveal the secret.
pub(super) const CHARS_ANYWHERE_MIN: usize = 4;

/// In decoded runs, most of which are not encoded at all, the beginning of a secret at a cut is found
/// from so many bytes on.
const RUN_PREFIX_MIN: usize = 4;

/// A byte sequence to find.
pub(super) struct Needle {
    finder: Finder<'static>,
    is_word: bool,
}

impl Needle {
    /// A sequence that is found anywhere, or only as a whole word.
    pub(super) fn new(bytes: &[u8], is_word: bool) -> Self {
        Self { finder: Finder::new(bytes).into_owned(), is_word }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.finder.needle()
    }

    /// Where a view contains the sequence.
    fn find_in(&self, view: &View, mut found: impl FnMut(Range<usize>)) {
        let mut start = 0;
        while let Some(at) =
            view.bytes.get(start..).and_then(|rest| self.finder.find(rest)).map(|at| start + at)
        {
            let end = at + self.bytes().len();
            if !self.is_word || is_word(view, at..end) {
                found(at..end);
            }
            start = at + 1;
        }
    }

    /// Where some bytes contain the sequence.
    pub(super) fn plain_in(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let ends = self.finder.find_iter(bytes).map(|at| at..at + self.bytes().len());
        // A byte beyond ASCII belongs to a letter, or to no text.
        let joins = |at: Option<usize>| {
            at.and_then(|at| bytes.get(at))
                .is_some_and(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
        };
        let is_word =
            |part: &Range<usize>| !joins(part.start.checked_sub(1)) && !joins(Some(part.end));
        ends.filter(|part| !self.is_word || is_word(part)).collect()
    }

    /// Where the longest beginning of the sequence starts with which a view ends.
    fn begun_at_end_of(&self, view: &View) -> Option<usize> {
        let bytes = self.bytes();
        let start = view.bytes.len().saturating_sub(bytes.len().saturating_sub(1));
        let tail = view.bytes.get(start..)?;
        let minimum = if view.is_of_runs { RUN_PREFIX_MIN } else { 1 };
        let at = memchr_iter(*bytes.first()?, tail)
            .find(|at| tail.get(*at..).is_some_and(|rest| bytes.starts_with(rest)))?;
        (tail.len() - at >= minimum).then_some(start + at)
    }
}

/// The parts of a text that contain secrets, in any order; `None` if finding them all is too much
/// work. If the text is cut, they include the beginning of a secret at its end.
pub(super) fn find(text: &[u8], is_cut: bool, needles: &[&Needle]) -> Option<Vec<Range<usize>>> {
    let mut found = Vec::new();
    let (mut runs, mut seen, hasher) = (runs::Seen::default(), HashSet::new(), RandomState::new());
    let mut views = VecDeque::from([View::received(text, is_cut)]);
    let mut n_bytes = 0;
    while let Some(view) = views.pop_front() {
        for needle in needles {
            needle.find_in(&view, |bytes| found.push(view.source(bytes)));
            if view.is_cut
                && let Some(start) = needle.begun_at_end_of(&view)
            {
                found.push(view.source(start..view.bytes.len()).start..text.len());
            }
        }
        for next in view.decoded(&mut runs) {
            if next.bytes.is_empty() || !seen.insert(next.identity(&hasher)) {
                continue;
            }
            n_bytes += next.bytes.len();
            if n_bytes > VIEW_BYTES_MAX {
                return None;
            }
            views.push_back(next);
        }
    }
    Some(found)
}

/// Whether some bytes of a view are a whole word; in a decoded run, all of it, or all after a colon.
fn is_word(view: &View, bytes: Range<usize>) -> bool {
    let before = view.bytes.get(..bytes.start).unwrap_or_default();
    let after = view.bytes.get(bytes.end..).unwrap_or_default();
    if view.is_of_runs {
        return matches!(before.last(), None | Some(&(RUN_END | b':')))
            && matches!(after.first(), None | Some(&RUN_END));
    }
    // A character has at most four bytes.
    let before =
        String::from_utf8_lossy(before.get(before.len().saturating_sub(4)..).unwrap_or_default());
    let after = String::from_utf8_lossy(after.get(..after.len().min(4)).unwrap_or_default());
    let joins = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    !joins(before.chars().next_back()) && !joins(after.chars().next())
}
