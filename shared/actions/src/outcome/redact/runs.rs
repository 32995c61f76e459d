//! Runs of digits that may be binary data: Base64 and hexadecimal.
//!
//! Every word of a text is such a run. Where the data begins within it is not known, as in
//! `session-cGFzc3dvcmQ`; so each run is decoded from each of its first digits.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use super::view::{RUN_END, View};

/// A run has at least this many digits.
const DIGITS_MIN: usize = 2;

/// What is written between bytes in hexadecimal, as in `70:61`, `70-61` and `0x70, 0x61`.
const HEX_SEPARATORS: &[u8] = b":-_, \r\n";

/// The runs that were decoded before. A run that another decoder left alone is not decoded again.
#[derive(Default)]
pub(super) struct Seen {
    hasher: RandomState,
    runs: HashSet<u64>,
}

impl Seen {
    fn is_new(&mut self, view: &View, run: &Run) -> bool {
        let Some((from, to)) = run.digits.first().zip(run.digits.last()) else {
            return false;
        };
        let identity = view.identity_of(from.at..to.at + 1, &self.hasher);
        self.runs.insert(self.hasher.hash_one((identity, run.bits)))
    }
}

/// A run of digits of so many bits.
struct Run {
    digits: Vec<Digit>,
    bits: u32,
}

struct Digit {
    at: usize,
    value: u8,
}

/// The views of the runs that were not seen before: one for each digit that the data may begin with.
pub(super) fn decoded(view: &View, seen: &mut Seen) -> Vec<View> {
    let mut views = Vec::new();
    for (runs, n_starts) in [(base64(view), 4), (hex(view), 2)] {
        let runs: Vec<Run> = runs.into_iter().filter(|run| seen.is_new(view, run)).collect();
        for start in (0..n_starts).filter(|_| !runs.is_empty()) {
            let mut next = view.next(true);
            // A run that ends before the text does was not cut.
            let last = runs.last().and_then(|run| run.digits.last());
            next.is_cut &= last.is_some_and(|last| last.at + 1 == view.bytes.len());
            for run in &runs {
                decode(run, start, view, &mut next);
            }
            views.push(next);
        }
    }
    views
}

/// Appends the bytes of a run, from a digit on.
fn decode(run: &Run, start: usize, view: &View, next: &mut View) {
    let digits = run.digits.get(start..).unwrap_or_default();
    if let Some(first) = digits.first() {
        next.push(RUN_END, view, first.at..first.at + 1);
    }
    let (mut bits, mut n_bits) = (0_u32, 0);
    let mut from = 0;
    for (n, digit) in digits.iter().enumerate() {
        bits = (bits << run.bits) | u32::from(digit.value);
        n_bits += run.bits;
        if let Some(left) = n_bits.checked_sub(8) {
            let first = digits.get(from).map_or(digit.at, |first| first.at);
            let [.., byte] = (bits >> left).to_be_bytes();
            next.push(byte, view, first..digit.at + 1);
            // A digit of Base64 may belong to two bytes.
            from = if left == 0 { n + 1 } else { n };
            n_bits = left;
        }
    }
}

/// The runs of Base64, with the digits of URLs or without, in one line or several.
fn base64(view: &View) -> Vec<Run> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let between = |rest: &[u8], _| rest.iter().take_while(|c| matches!(c, b'\r' | b'\n')).count();
    runs(view, 6, value, between)
}

/// The runs of hexadecimal digits, with separators between the bytes or without.
fn hex(view: &View) -> Vec<Run> {
    let value = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    runs(view, 4, value, |rest, n_digits| {
        if n_digits % 2 == 1 {
            return 0;
        }
        let n_bytes = rest.iter().take(2).take_while(|c| HEX_SEPARATORS.contains(c)).count();
        let is_prefixed = matches!(rest.get(n_bytes..), Some([b'0', b'x' | b'X', ..]));
        if is_prefixed { n_bytes + 2 } else { n_bytes }
    })
}

/// The runs of digits. `between` tells how many bytes stand here between two digits.
fn runs(
    view: &View,
    bits: u32,
    value: impl Fn(u8) -> Option<u8>,
    between: impl Fn(&[u8], usize) -> usize,
) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut digits: Vec<Digit> = Vec::new();
    let mut at = 0;
    loop {
        let rest = view.bytes.get(at..).unwrap_or_default();
        if let Some(value) = rest.first().and_then(|byte| value(*byte)) {
            digits.push(Digit { at, value });
            at += 1;
            continue;
        }
        let skipped = between(rest, digits.len());
        let continues = rest.get(skipped).is_some_and(|byte| value(*byte).is_some());
        if !digits.is_empty() && continues {
            at += skipped;
            continue;
        }
        let run = std::mem::take(&mut digits);
        if run.len() >= DIGITS_MIN {
            runs.push(Run { digits: run, bits });
        }
        if rest.is_empty() {
            return runs;
        }
        at += 1;
    }
}
