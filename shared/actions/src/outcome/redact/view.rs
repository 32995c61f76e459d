//! A text as one decoder reads it, with the positions of its bytes in the text as it was received.

use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;

use super::escapes::{self, Decoded, High, Step};
use super::runs;

/// How many decoders are applied one after the other, as for JSON within a form within HTML.
const DEPTH_MAX: u8 = 4;

/// What separates the runs of a view. It is in no UTF-8 text.
pub(super) const RUN_END: u8 = 0xff;

/// A text after some decoders.
#[derive(Default)]
pub(super) struct View {
    /// The decoded bytes.
    pub(super) bytes: Vec<u8>,
    /// For each byte, the part of the received text that it comes from.
    spans: Vec<Range<u32>>,
    /// Whether the end of the view is not the end of the text.
    pub(super) is_cut: bool,
    /// Whether the view consists of decoded runs, most of which are not encoded at all.
    pub(super) is_of_runs: bool,
    depth: u8,
}

impl View {
    /// A text as it was received.
    pub(super) fn received(text: &[u8], is_cut: bool) -> Self {
        let spans = (0_u32..).take(text.len()).map(|at| at..at + 1).collect();
        Self { bytes: text.to_vec(), spans, is_cut, is_of_runs: false, depth: 0 }
    }

    /// The part of the received text that some bytes come from.
    pub(super) fn source(&self, bytes: Range<usize>) -> Range<usize> {
        let spans = self.spans.get(bytes).unwrap_or_default();
        // Spans are in the order of the text.
        match (spans.first(), spans.last()) {
            (Some(first), Some(last)) => first.start as usize..last.end as usize,
            _ => 0..0,
        }
    }

    /// A number that two views share only if they are the same, positions included.
    pub(super) fn identity(&self, hasher: &RandomState) -> u64 {
        self.identity_of(0..self.bytes.len(), hasher)
    }

    /// The same for some bytes of it.
    pub(super) fn identity_of(&self, bytes: Range<usize>, hasher: &RandomState) -> u64 {
        hasher.hash_one((self.bytes.get(bytes.clone()), self.spans.get(bytes)))
    }

    /// Adds a byte that comes from some bytes of another view.
    pub(super) fn push(&mut self, byte: u8, from: &Self, bytes: Range<usize>) {
        let source = from.source(bytes);
        // A text has at most a few thousand bytes.
        let position = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.bytes.push(byte);
        self.spans.push(position(source.start)..position(source.end));
    }

    /// An empty view of what a decoder makes of this one.
    pub(super) fn next(&self, is_of_runs: bool) -> Self {
        Self { is_cut: self.is_cut, is_of_runs, depth: self.depth + 1, ..Self::default() }
    }

    /// The views that one more decoder makes of this one. Decoders that change nothing make none.
    pub(super) fn decoded(&self, runs: &mut runs::Seen) -> Vec<Self> {
        if self.depth == DEPTH_MAX {
            return Vec::new();
        }
        let mut views = Vec::new();
        for high in [High::Byte, High::Char] {
            if self.bytes.contains(&b'\\') {
                views.extend(self.unescaped(|rest| escapes::backslash(rest, high, self.is_cut)));
            }
            if self.bytes.contains(&b'%') {
                views.extend(self.unescaped(|rest| escapes::percent(rest, high)));
            }
        }
        if self.bytes.contains(&b'+') {
            views.extend(self.unescaped(escapes::form));
        }
        if self.bytes.contains(&b'&') {
            views.extend(self.unescaped(escapes::entity));
        }
        if self.bytes.contains(&0) {
            for (is_big, skipped) in [(false, 0), (true, 0), (false, 1), (true, 1)] {
                views.push(self.read_as_utf16(is_big, skipped));
            }
        }
        views.extend(runs::decoded(self, runs));
        views
    }

    /// The view with its escape sequences replaced; `None` if there are none.
    fn unescaped(&self, step: impl Fn(&[u8]) -> Step) -> Option<Self> {
        let mut view = self.next(self.is_of_runs);
        let mut is_changed = false;
        let mut at = 0;
        while let Some((byte, rest)) = self.bytes.get(at..).and_then(<[u8]>::split_first) {
            match step(self.bytes.get(at..).unwrap_or(rest)) {
                Step::Escape { length, decoded } => {
                    is_changed = true;
                    for byte in decoded.bytes() {
                        view.push(*byte, self, at..at + length);
                    }
                    at += length;
                }
                Step::Incomplete if self.is_cut => {
                    // What the escape stands for was cut off with its end.
                    is_changed = true;
                    break;
                }
                Step::Literal | Step::Incomplete => {
                    view.push(*byte, self, at..at + 1);
                    at += 1;
                }
            }
        }
        is_changed.then_some(view)
    }

    /// The view read as UTF-16.
    fn read_as_utf16(&self, is_big: bool, skipped: usize) -> Self {
        let mut view = self.next(self.is_of_runs);
        let units = self.bytes.get(skipped..).unwrap_or_default().chunks_exact(2);
        let units = units.filter_map(|pair| {
            let pair = <[u8; 2]>::try_from(pair).ok()?;
            Some(if is_big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) })
        });
        let mut at = skipped;
        for read in char::decode_utf16(units) {
            let length = read.as_ref().map_or(2, |c| 2 * c.len_utf16());
            let decoded = Decoded::from(read.unwrap_or(char::REPLACEMENT_CHARACTER));
            for byte in decoded.bytes() {
                view.push(*byte, self, at..at + length);
            }
            at += length;
        }
        view
    }
}
