//! What a repair of a day makes of its objects: what they have is not written again, and what can be read
//! of damaged ones is.

use std::collections::HashSet;

use crate::line::{Line, Stream};
use crate::object::{Contents, Unreadable};

/// The objects of a day, and the lines that need not be written.
#[derive(Debug, Default)]
pub struct DayMerge {
    /// The objects that can be read.
    pub intact: u64,
    /// Objects that are left although a line of them cannot be read, with the reason.
    pub left: Vec<String>,
    /// The objects that are to be replaced.
    pub damaged: Vec<DamagedObject>,
    known: HashSet<(String, String)>,
}

/// An object that cannot be read to its end.
#[derive(Debug)]
pub struct DamagedObject {
    /// What it holds.
    pub stream: Stream,
    /// Its name within its day.
    pub name: String,
    /// Why it cannot be read.
    pub damage: Unreadable,
    lines: Vec<String>,
}

impl DayMerge {
    /// Adds an object of the day.
    pub fn add(&mut self, stream: Stream, name: String, contents: Contents) {
        let Contents { lines, damage } = contents;
        if let Some(damage) = damage {
            self.damaged.push(DamagedObject { stream, name, damage, lines });
            return;
        }
        self.intact += 1;
        for text in lines {
            match Line::read(stream, &text) {
                Ok(line) => drop(self.known.insert((line.uid, line.key))),
                // Of a newer version, for which its lines are kept.
                Err(why) => return self.left.push(format!("{name}: {why}")),
            }
        }
    }

    /// Whether a line is to be written: no intact object has it, and it was not asked for before.
    pub fn is_new(&mut self, line: &Line) -> bool {
        self.known.insert((line.uid.clone(), line.key.clone()))
    }

    /// The lines of damaged objects that are to be written, after those of the store.
    pub fn rescued(&mut self) -> Vec<Line> {
        let Self { damaged, known, .. } = self;
        let read = |it: &DamagedObject| {
            let lines = it.lines.iter().filter_map(|text| Line::read(it.stream, text).ok());
            lines.collect::<Vec<_>>()
        };
        let lines = damaged.iter().flat_map(read);
        lines.filter(|line| known.insert((line.uid.clone(), line.key.clone()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record};

    use super::*;
    use crate::line::Execution;

    fn line(second: i64) -> Line {
        let nominal_at = DateTime::from_timestamp(second, 0).unwrap();
        let record = Record::new([nominal_at; 2], Outcome::Succeeded, "done");
        let attempt = Attempt::first(1, Occurrence::Scheduled { nominal_at });
        Line::from(&Execution { job_uid: "u".to_owned(), attempt, record })
    }

    fn contents(seconds: &[i64], is_damaged: bool) -> Contents {
        let damage = is_damaged.then(|| Unreadable { name: "o".to_owned(), why: "cut".to_owned() });
        Contents { lines: seconds.iter().map(|second| line(*second).text).collect(), damage }
    }

    #[test]
    fn a_line_is_written_once_and_only_if_no_intact_object_has_it() {
        type Lines = &'static [i64];
        type Case = (&'static [(Lines, bool)], Lines, Lines, Lines);
        const INTACT: bool = false;
        const DAMAGED: bool = true;
        // The objects with their lines, those of the store, and what is written of it and of the objects.
        let table: [Case; 6] = [
            (&[], &[1, 2], &[1, 2], &[]),
            (&[(&[1], INTACT)], &[1, 2], &[2], &[]),
            (&[(&[1], DAMAGED)], &[1, 2], &[1, 2], &[]),
            (&[(&[1, 3], DAMAGED)], &[1], &[1], &[3]),
            (&[(&[1, 3], DAMAGED), (&[3], INTACT)], &[], &[], &[1]),
            (&[(&[3], DAMAGED), (&[3], DAMAGED)], &[], &[], &[3]),
        ];
        for (objects, stored, written, rescued) in table {
            let mut merge = DayMerge::default();
            for (lines, is_damaged) in objects {
                merge.add(Stream::History, "o".to_owned(), contents(lines, *is_damaged));
            }
            let expected = |seconds: &[i64]| -> Vec<Line> {
                seconds.iter().map(|second| line(*second)).collect()
            };
            let mut found = expected(stored);
            found.retain(|line| merge.is_new(line));
            assert_eq!(found, expected(written), "{objects:?}");
            assert_eq!(merge.rescued(), expected(rescued), "{objects:?}");
            let damaged = objects.iter().filter(|(_, is_damaged)| *is_damaged).count();
            assert_eq!(merge.damaged.len(), damaged);
            assert_eq!(usize::try_from(merge.intact).unwrap(), objects.len() - damaged);
        }
    }

    #[test]
    fn an_object_with_a_line_of_a_newer_version_is_left() {
        let mut merge = DayMerge::default();
        let mut newer = contents(&[1, 2, 3], false);
        newer.lines[1] = newer.lines[1].replace("\"v\":1", "\"v\":9");
        merge.add(Stream::History, "o".to_owned(), newer);
        assert_eq!((merge.intact, merge.left.len()), (1, 1));
        assert!(!merge.is_new(&line(1)) && merge.is_new(&line(3)));
    }
}
