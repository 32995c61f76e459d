//! Reads TZif files (RFC 9636) in place, from borrowed bytes and without allocation.

use super::OffsetSegment;

/// The length of a TZif header; a file has two.
const HEADER: usize = 44;
/// The instants of a sound file, in seconds around 1970. A file may begin at the big bang, `-2^59`.
const INSTANT_MAX: u64 = 1 << 59;
/// The offsets of a sound file, in seconds.
const OFFSET_MAX: u64 = 26 * 3_600;

/// The 64-bit part of a TZif file.
#[derive(Clone, Copy)]
pub(super) struct Tzif {
    /// The instants of the changes, big-endian and ascending.
    changes: &'static [[u8; 8]],
    /// For each change, the index in `kinds` of the offset that begins.
    kind_of: &'static [u8],
    /// The offset (four bytes, big-endian), the daylight flag and the index of the abbreviation.
    kinds: &'static [[u8; 6]],
}

/// The six counts of a header.
struct Counts {
    ut_flags: usize,
    wall_flags: usize,
    leaps: usize,
    changes: usize,
    kinds: usize,
    letters: usize,
}

impl Tzif {
    /// Reads a file of version 2 or later and its footer, the POSIX rule after the last change, which
    /// may be empty; `None` if the bytes are not such a file, or one with leap seconds.
    pub(super) fn read(data: &'static [u8]) -> Option<(Self, &'static [u8])> {
        let first = Counts::read(data)?;
        // The first part repeats the data with 32-bit instants, for old readers.
        let data = data.get(HEADER + first.body(4)..)?;
        let counts = Counts::read(data)?;
        if counts.leaps > 0 {
            // Instants with leap seconds are not those of UTC.
            return None;
        }
        let data = data.get(HEADER..)?;
        let (changes, data) = data.split_at_checked(counts.changes * 8)?;
        let (kind_of, data) = data.split_at_checked(counts.changes)?;
        let (kinds, data) = data.split_at_checked(counts.kinds * 6)?;
        let rest = counts.letters + counts.wall_flags + counts.ut_flags;
        let footer = data.get(rest..)?.strip_prefix(b"\n")?.strip_suffix(b"\n")?;
        let (changes, kinds) = (changes.as_chunks().0, kinds.as_chunks().0);
        Some((Self { changes, kind_of, kinds }, footer))
    }

    /// Returns whether the changes are in order, each has an offset, and no sum of them overflows.
    ///
    /// A test asks this of each built-in file, and `replace` of each other one; no search does.
    pub(super) fn is_sound(&self) -> bool {
        let known = |kind: &u8| usize::from(*kind) < self.kinds.len();
        let within = |change: &[u8; 8]| instant(*change).unsigned_abs() <= INSTANT_MAX;
        !self.kinds.is_empty()
            && self.kinds.iter().all(|kind| offset(*kind).unsigned_abs() <= OFFSET_MAX)
            && self.kind_of.iter().all(known)
            && self.changes.iter().all(within)
            && self.changes.is_sorted_by_key(|change| instant(*change))
    }

    /// Returns the offset before the first change.
    pub(super) fn first_offset(&self) -> i64 {
        self.kinds.first().copied().map_or(0, offset)
    }

    /// Returns the offset after the last change.
    pub(super) fn last_offset(&self) -> i64 {
        self.offset_after(self.changes.len())
    }

    /// Returns the segment after the last change, without its end.
    pub(super) fn last_change(&self) -> Option<OffsetSegment> {
        let start = instant(*self.changes.last()?);
        let n = self.changes.len();
        let (offset, before) = (self.offset_after(n), self.offset_after(n - 1));
        Some(OffsetSegment { start, end: i64::MAX, offset, before })
    }

    /// Returns the segment that contains an instant before the last change.
    pub(super) fn segment_at(&self, at: i64) -> OffsetSegment {
        let n = self.changes.partition_point(|change| instant(*change) <= at);
        let change = |n: usize| self.changes.get(n).copied().map(instant);
        let start = n.checked_sub(1).and_then(change).unwrap_or(i64::MIN);
        let end = change(n).unwrap_or(i64::MAX);
        let before = self.offset_after(n.saturating_sub(1));
        OffsetSegment { start, end, offset: self.offset_after(n), before }
    }

    /// Returns the offset after the first `n` changes.
    fn offset_after(&self, n: usize) -> i64 {
        n.checked_sub(1)
            .and_then(|i| self.kind_of.get(i))
            .and_then(|kind| self.kinds.get(usize::from(*kind)).copied())
            .map_or_else(|| self.first_offset(), offset)
    }
}

impl Counts {
    fn read(data: &[u8]) -> Option<Self> {
        let header = data.get(..HEADER)?;
        let version = *header.get(4)?;
        if !header.starts_with(b"TZif") || version < b'2' {
            return None;
        }
        let (counts, _) = header.get(20..)?.as_chunks();
        let mut counts = counts.iter().map(|count| u32::from_be_bytes(*count) as usize);
        Some(Self {
            ut_flags: counts.next()?,
            wall_flags: counts.next()?,
            leaps: counts.next()?,
            changes: counts.next()?,
            kinds: counts.next()?,
            letters: counts.next()?,
        })
    }

    /// Returns the number of bytes after a header, if an instant takes `width` bytes.
    const fn body(&self, width: usize) -> usize {
        self.changes * (width + 1)
            + self.kinds * 6
            + self.letters
            + self.leaps * (width + 4)
            + self.wall_flags
            + self.ut_flags
    }
}

fn instant(change: [u8; 8]) -> i64 {
    i64::from_be_bytes(change)
}

fn offset(kind: [u8; 6]) -> i64 {
    let [a, b, c, d, ..] = kind;
    i64::from(i32::from_be_bytes([a, b, c, d]))
}
