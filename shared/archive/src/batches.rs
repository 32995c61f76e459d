//! Batches: lines on their way into objects.
//!
//! Lines come in the order of the table, by job. They gather by day until an object is full. What is
//! gathered has a bound, however many days the lines belong to.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use crate::line::{Line, Stream};
use crate::name;
use crate::object::pack;

/// An object with more bytes of lines than this is full. Packed they are a fifth.
const CHUNK_BYTES_MAX: usize = 8 << 20;
/// The most bytes of lines that are gathered.
const TOTAL_BYTES_MAX: usize = 64 << 20;

/// An object to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its name, with folders.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// How many lines it has.
    pub lines: u64,
}

/// Gathers lines.
#[derive(Debug)]
pub struct Batches {
    open: BTreeMap<(Stream, NaiveDate), Chunk>,
    bytes: usize,
    chunk_max: usize,
    total_max: usize,
}

/// The lines of an object, not yet packed. To pack them takes a processor some time.
#[derive(Debug)]
pub struct Chunk {
    stream: Stream,
    day: NaiveDate,
    first: String,
    last: String,
    text: Vec<u8>,
    lines: u64,
}

impl Chunk {
    /// Packs the lines.
    #[must_use]
    pub fn pack(self) -> Object {
        let Self { stream, day, first, last, text, lines } = self;
        let name = name::object(stream, day, [&first, &last], &text);
        Object { name, bytes: pack(&text), lines }
    }
}

impl Default for Batches {
    fn default() -> Self {
        Self::with_limits(CHUNK_BYTES_MAX, TOTAL_BYTES_MAX)
    }
}

impl Batches {
    /// No lines, with limits for an object and for all that is gathered.
    #[must_use]
    pub const fn with_limits(chunk_max: usize, total_max: usize) -> Self {
        Self { open: BTreeMap::new(), bytes: 0, chunk_max, total_max }
    }

    /// Adds a line. Returns the lines of an object that is full, or of the largest if too much is
    /// gathered.
    #[must_use]
    pub fn add(&mut self, line: &Line) -> Option<Chunk> {
        let place = (line.stream, line.day);
        let beginning = name::beginning(&line.uid);
        let chunk = self.open.entry(place).or_insert_with(|| Chunk {
            stream: line.stream,
            day: line.day,
            first: beginning.clone(),
            last: beginning.clone(),
            text: Vec::new(),
            lines: 0,
        });
        if beginning < chunk.first {
            chunk.first = beginning;
        } else if beginning > chunk.last {
            chunk.last = beginning;
        }
        chunk.text.extend_from_slice(line.text.as_bytes());
        chunk.text.push(b'\n');
        chunk.lines += 1;
        self.bytes += line.text.len() + 1;
        if chunk.text.len() >= self.chunk_max {
            return self.take(place);
        }
        if self.bytes < self.total_max {
            return None;
        }
        let largest = self.open.iter().max_by_key(|(_, chunk)| chunk.text.len());
        let largest = largest.map(|(place, _)| *place)?;
        self.take(largest)
    }

    /// Returns the rest of a day; `None` when nothing is gathered.
    #[must_use]
    pub fn take_rest(&mut self) -> Option<Chunk> {
        let place = *self.open.first_key_value()?.0;
        self.take(place)
    }

    fn take(&mut self, place: (Stream, NaiveDate)) -> Option<Chunk> {
        let chunk = self.open.remove(&place)?;
        self.bytes -= chunk.text.len();
        Some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::tests::execution;
    use crate::{may_contain, unpack};

    /// All objects of some lines, under limits.
    fn objects(lines: &[Line], chunk_max: usize, total_max: usize) -> Vec<Object> {
        let mut batches = Batches::with_limits(chunk_max, total_max);
        let mut chunks: Vec<Chunk> = lines.iter().filter_map(|line| batches.add(line)).collect();
        chunks.extend(std::iter::from_fn(|| batches.take_rest()));
        assert_eq!(batches.bytes, 0);
        chunks.into_iter().map(Chunk::pack).collect()
    }

    #[test]
    fn every_line_is_in_one_object_of_its_day_whatever_the_limits() {
        let lines: Vec<Line> = (0..60)
            .map(|n| Line::from(&execution(&format!("{:08x}", n / 3), n % 4 * 86_400)))
            .collect();
        for (chunk_max, total_max) in
            [(1 << 20, 1 << 20), (1, 1 << 20), (1 << 20, 2_000), (900, 3_000)]
        {
            let objects = objects(&lines, chunk_max, total_max);
            let mut found = Vec::new();
            for object in &objects {
                let contents = unpack(&object.name, &object.bytes);
                assert_eq!((contents.lines.len() as u64, contents.damage), (object.lines, None));
                let (folder, last) = object.name.rsplit_once('/').unwrap();
                for text in contents.lines {
                    let line = Line::read(Stream::History, &text).unwrap();
                    assert_eq!(folder, name::day_folder(line.stream, line.day));
                    assert!(may_contain(last, &line.uid), "{last} {}", line.uid);
                    found.push(line.text);
                }
            }
            found.sort();
            let mut all: Vec<_> = lines.iter().map(|line| line.text.clone()).collect();
            all.sort();
            assert_eq!(found, all);
            assert_eq!(objects, self::objects(&lines, chunk_max, total_max), "the same again");
        }
        assert_eq!(objects(&lines, 1 << 20, 1 << 20).len(), 4, "one for each day");
    }
}
