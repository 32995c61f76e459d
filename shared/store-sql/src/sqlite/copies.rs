//! Tells a whole data directory from one whose files are of different moments.
//!
//! SQLite does not notice a database and a log that do not belong together: it opens them, and what was
//! committed in between is gone without a word. Such pairs come from copies of a running directory, and
//! from a backup of which one file was put back. Two things tell them apart:
//!
//! - Each pass writes its number into the first page of the database (SQLite's `user_version`). So the
//!   database and each commit in the log say how far they came.
//! - The file `open` is there while a process has the directory open. It is one record: the salt of the
//!   log, how many bytes of it were synced, and the number of the last commit in them. It is written in
//!   place after a sync, never before, so it never promises what a power cut could take.
//!
//! Numbers come after each other and wrap, so of two of them one is before the other. 0 is not a number: a
//! backup has it, and belongs to no log.
//!
//! A program that opens the database of a process that was killed, such as `sqlite3`, removes the log when
//! it closes it. That looks like a copy without a log, and is refused.
//!
//! One copy is not noticed: the log first, and then a database whose first page is read before a checkpoint
//! begins and whose other pages after that. Snapshots of a file system, and backups, are never like that.
//!
//! | the process ends after | it leaves | the next start |
//! |---|---|---|
//! | writing the first `open` | a record that promises nothing | accepts |
//! | a commit | a log that is longer than the record says | accepts |
//! | a sync | a record of the sync before | accepts |
//! | beginning the log anew | a log with a later salt; everything before it is in the database | accepts |
//! | the last checkpoint | a log that is in the database as a whole | accepts |
//! | removing `open` | the same, without a record | accepts: the numbers are equal |

use super::log_file::{LogContent, Salt, word};

/// The length of the file `open`.
const RECORD_BYTES: usize = 64;

/// The beginning of the file.
const MAGIC: &[u8; 8] = b"mh-open1";

/// What the file `open` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenRecord {
    /// The salt of the log that was synced last; `None` if none was yet.
    pub salt: Option<Salt>,
    /// How many bytes of that log were synced.
    pub synced_bytes: u64,
    /// The number of the last commit that was synced.
    pub number: u32,
}

impl OpenRecord {
    /// The record as it is written.
    #[must_use]
    pub fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let mut content = Vec::with_capacity(RECORD_BYTES);
        content.extend(MAGIC);
        let salt = self.salt.unwrap_or_default();
        content.extend([u8::from(self.salt.is_some()), 0, 0, 0]);
        for word in [salt.counter, salt.random, self.number] {
            content.extend(word.to_be_bytes());
        }
        content.extend(self.synced_bytes.to_be_bytes());
        let checksum = checksum(&content);
        content.extend(checksum.to_be_bytes());
        content.resize(RECORD_BYTES, 0);
        let mut bytes = [0; RECORD_BYTES];
        bytes.copy_from_slice(&content);
        bytes
    }

    /// Reads a record; `None` if it is damaged.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let content = bytes.get(..32)?;
        let written = u64::from_be_bytes(bytes.get(32..40)?.try_into().ok()?);
        if bytes.len() != RECORD_BYTES
            || !content.starts_with(MAGIC)
            || written != checksum(content)
        {
            return None;
        }
        let salt = Salt { counter: word(content, 12)?, random: word(content, 16)? };
        Some(Self {
            salt: (*content.get(8)? == 1).then_some(salt),
            number: word(content, 20)?,
            synced_bytes: u64::from_be_bytes(content.get(24..32)?.try_into().ok()?),
        })
    }
}

/// FNV-1a: it finds a record of which half is new, and takes no crate.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Why the files of a directory do not belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CopyProblem {
    /// The log is missing or empty although it held something.
    #[error("its log is missing or empty")]
    NoLog,
    /// The log is shorter than it was.
    #[error("its log is cut off")]
    ShortLog,
    /// The log is of an earlier moment.
    #[error("its log is older than the database")]
    OldLog,
    /// The database is of an earlier moment.
    #[error("the database is older than its log")]
    OldDatabase,
    /// There is a log with something in it, and no record of an open directory.
    #[error("the file `open`, which says how much belongs to its log, is missing")]
    NoRecord,
    /// The record cannot be read.
    #[error("the file `open`, which says how much belongs to its log, is damaged")]
    DamagedRecord,
}

/// Whether a commit came before another one.
const fn is_before(number: u32, other: u32) -> bool {
    let ahead = other.wrapping_sub(number);
    ahead != 0 && ahead < u32::MAX / 2
}

/// Whether a database, its log and the record of the directory belong together.
///
/// `database` is the number in the first page of the database as a file, without its log; `None` if there
/// is no such page. `log` is `None` if there is no log.
///
/// # Errors
///
/// What does not fit.
pub fn check(
    record: Option<&OpenRecord>,
    database: Option<u32>,
    log: Option<&LogContent>,
) -> Result<(), CopyProblem> {
    let log = log.filter(|log| log.bytes > 0);
    let commits = log.and_then(|log| log.commits);
    let mut reached = database.unwrap_or_default();
    if let Some((first, last)) = commits {
        // The log begins behind what the database holds, or some of it is in the database already. A new
        // database has its first number before it has a log.
        let next = reached.wrapping_add(1);
        if reached == 0 || (next != 0 && is_before(next, first)) {
            return Err(CopyProblem::OldDatabase);
        }
        if is_before(last, reached) {
            return Err(CopyProblem::OldLog);
        }
        if record.is_none() && reached != last {
            // A clean end puts the whole log into the database before it removes the record.
            return Err(CopyProblem::NoRecord);
        }
        reached = last;
    }
    let Some(OpenRecord { salt: Some(salt), synced_bytes, number }) = record else {
        return Ok(());
    };
    let Some(log) = log else { return Err(CopyProblem::NoLog) };
    match log.salt {
        Some(found) if found == *salt && log.bytes < *synced_bytes => Err(CopyProblem::ShortLog),
        Some(found) if salt.is_later_than(found) => Err(CopyProblem::OldLog),
        _ if reached == 0 || is_before(reached, *number) => Err(CopyProblem::ShortLog),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Salt = Salt { counter: u32::MAX, random: 7 };
    const LATER: Salt = Salt { counter: 0, random: 8 };
    const EARLIER: Salt = Salt { counter: u32::MAX - 1, random: 9 };

    fn record(synced_bytes: u64, number: u32) -> OpenRecord {
        OpenRecord { salt: Some(NOW), synced_bytes, number }
    }

    const fn log(salt: Salt, bytes: u64, commits: Option<(u32, u32)>) -> LogContent {
        LogContent { salt: Some(salt), bytes, commits }
    }

    type Case = (&'static str, Option<OpenRecord>, Option<u32>, Option<LogContent>);

    fn result((_, record, database, log): &Case) -> Result<(), CopyProblem> {
        check(record.as_ref(), *database, log.as_ref())
    }

    #[test]
    fn a_record_reads_back_and_a_damaged_one_does_not() {
        for written in [OpenRecord::default(), record(u64::MAX - 1, 12), record(0, u32::MAX)] {
            assert_eq!(OpenRecord::read(&written.to_bytes()), Some(written));
        }
        let bytes = record(500, 12).to_bytes();
        for damaged in 0..40 {
            let mut bytes = bytes;
            bytes[damaged] ^= 0x10;
            assert_eq!(OpenRecord::read(&bytes), None, "{damaged}");
        }
        assert_eq!(OpenRecord::read(&bytes[..63]), None);
    }

    #[test]
    fn what_belongs_together_is_accepted() {
        let open = Some(record(1_000, 20));
        let damaged_header = Some(LogContent { salt: None, bytes: 2_000, commits: None });
        let cases: &[Case] = &[
            ("a new directory", None, None, None),
            ("killed as it was made", None, Some(0), None),
            ("a backup", None, Some(0), None),
            ("after a clean end", None, Some(20), None),
            ("killed as it ended", None, Some(20), Some(log(NOW, 1_000, Some((11, 20))))),
            ("killed before the first commit", Some(OpenRecord::default()), Some(1), None),
            (
                "killed after it",
                Some(OpenRecord::default()),
                Some(1),
                Some(log(NOW, 90, Some((2, 2)))),
            ),
            ("killed", open, Some(10), Some(log(NOW, 1_200, Some((11, 22))))),
            ("killed in a checkpoint", open, Some(15), Some(log(NOW, 1_200, Some((11, 22))))),
            ("killed after a checkpoint", open, Some(22), Some(log(NOW, 1_200, Some((11, 22))))),
            (
                "killed after the log began anew",
                open,
                Some(22),
                Some(log(LATER, 1_200, Some((23, 23)))),
            ),
            ("killed before its first commit", open, Some(22), Some(log(LATER, 1_200, None))),
            ("a power cut as the log began anew", open, Some(22), Some(log(NOW, 1_200, None))),
            ("a power cut in the header", open, Some(22), damaged_header),
        ];
        for case in cases {
            assert_eq!(result(case), Ok(()), "{}", case.0);
        }
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        use CopyProblem::{NoLog, NoRecord, OldDatabase, OldLog, ShortLog};
        let open = Some(record(1_000, 20));
        let damaged_header = Some(LogContent { salt: None, bytes: 2_000, commits: None });
        let empty = Some(LogContent { salt: None, bytes: 0, commits: None });
        let cases: &[(Case, CopyProblem)] = &[
            (
                ("a backup beside a log", open, Some(0), Some(log(NOW, 1_200, Some((1, 22))))),
                OldDatabase,
            ),
            (("a backup beside a record", open, Some(0), Some(log(NOW, 1_200, None))), ShortLog),
            (
                (
                    "a clean end, and a log from elsewhere",
                    None,
                    Some(15),
                    Some(log(NOW, 900, Some((11, 20)))),
                ),
                NoRecord,
            ),
            (("a damaged header", open, Some(10), damaged_header), ShortLog),
            (("the log is missing", open, Some(22), None), NoLog),
            (("the log is empty", open, Some(22), empty), NoLog),
            (("half of the log", open, Some(10), Some(log(NOW, 600, Some((11, 15))))), ShortLog),
            (
                (
                    "half of the log, in the database",
                    open,
                    Some(20),
                    Some(log(NOW, 600, Some((11, 20)))),
                ),
                ShortLog,
            ),
            (
                (
                    "damage in the synced part",
                    open,
                    Some(10),
                    Some(log(NOW, 1_200, Some((11, 15)))),
                ),
                ShortLog,
            ),
            (
                ("a log of before", open, Some(15), Some(log(EARLIER, 1_200, Some((11, 20))))),
                OldLog,
            ),
            (("an older log", open, Some(30), Some(log(NOW, 1_200, Some((11, 22))))), OldLog),
            (
                ("an older database", open, Some(9), Some(log(NOW, 1_200, Some((11, 22))))),
                OldDatabase,
            ),
            (
                ("a much newer log", open, Some(10), Some(log(LATER, 1_200, Some((40, 41))))),
                OldDatabase,
            ),
            (("an older pair", open, Some(12), Some(log(LATER, 1_200, Some((13, 19))))), ShortLog),
        ];
        for (case, problem) in cases {
            assert_eq!(result(case), Err(*problem), "{}", case.0);
        }
    }

    #[test]
    fn numbers_wrap() {
        assert!(is_before(1, 2) && !is_before(2, 2) && !is_before(3, 2));
        assert!(is_before(u32::MAX, 1) && !is_before(1, u32::MAX));
        let around = log(NOW, 1_200, Some((1, 5)));
        assert_eq!(check(Some(&record(1_000, u32::MAX)), Some(u32::MAX), Some(&around)), Ok(()));
        let behind = check(Some(&record(1_000, 4)), Some(u32::MAX - 1), Some(&around));
        assert_eq!(behind, Err(CopyProblem::OldDatabase));
    }
}
