//! Backups: an installation as files, from which another one can start.
//!
//! A backup is a folder, `backup/2026-11-23T141000Z`. Its files hold lines of JSON in gzip, one for each
//! thing: `collections.jsonl.gz`, `jobs.jsonl.gz`, and `jobs-2.jsonl.gz` when the first is full. What the
//! lines say is a matter of the store. The file `manifest.json` names all others, with their lengths and
//! their SHA-256. It is written last, so a folder without it is not a backup. One that is written in parts
//! has files of [`BackupProgress`](crate::BackupProgress) beside them, which no reader needs.
//!
//! A backup contains secrets only as they are sealed.

use chrono::{DateTime, NaiveDateTime, SecondsFormat, Utc};
use minutehand_domain::ids::hex;
use minutehand_domain::named;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::object::{pack, unpack};

/// The folder that the folders of backups are in.
pub const BACKUPS: &str = "backup";
/// The file that says what a backup has.
pub const MANIFEST: &str = "manifest.json";
/// The version of manifests and lines that this build reads and writes. Lines of version 1 were items of
/// DynamoDB.
const FORMAT: u64 = 2;
/// A file with more bytes of lines than this is full. Packed they are a fifth.
const PART_BYTES_MAX: usize = 8 << 20;
/// The most files of a backup, and of a manifest that is read.
const FILES_MAX: usize = 100_000;
const FOLDER_FORMAT: &str = "%Y-%m-%dT%H%M%SZ";
const EXTENSION: &str = ".jsonl.gz";

/// A line of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupLine {
    /// What it is about. Lines of one kind are in files of their own, which have this name.
    pub kind: &'static str,
    /// The line, without its end.
    pub text: String,
    /// Whether it contains a sealed secret.
    pub has_secret: bool,
}

/// Something for a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackupEntry {
    /// A line.
    Line(BackupLine),
    /// Something that cannot be read, and is left out.
    Unreadable,
}

/// What a backup says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupAbout {
    /// When it begins.
    pub at: DateTime<Utc>,
    /// The version that writes it.
    pub written_by: String,
    /// With which key its secrets are sealed.
    pub sealed_with: SealedWith,
    /// The installation whose schedule makes it, and deletes it when it is old; `None` if a user asked for
    /// it.
    pub schedule_of: Option<String>,
}

named! {
    /// With which key the secrets of a backup are sealed.
    pub enum SealedWith {
        /// With the key of the installation.
        Installation = "installation",
        /// With a key that was made for this backup, and that its owner keeps.
        KeyFile = "key-file",
    }
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupFile {
    /// Its name in the folder of the backup.
    pub name: String,
    /// The kind of its lines.
    pub kind: String,
    /// How many lines it has.
    pub lines: u64,
    /// How many bytes it has.
    pub bytes: u64,
    /// The SHA-256 of these bytes, in hexadecimal digits.
    sha256: String,
}

/// What a backup has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// What it says of the whole.
    pub about: BackupAbout,
    /// How many lines contain a secret.
    pub secrets: u64,
    /// How many things were left out, because they could not be read.
    pub unreadable: u64,
    /// Its files.
    pub files: Vec<BackupFile>,
}

/// The lines of a file of a backup, before it is packed.
#[derive(Debug)]
pub struct BackupChunk {
    kind: &'static str,
    name: String,
    lines: u64,
    text: Vec<u8>,
}

/// A file of a backup that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupPart {
    /// What the manifest says of it.
    pub file: BackupFile,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The files of a backup while they are written: gathers lines, and counts.
#[derive(Debug)]
pub struct BackupParts {
    /// The lines of each kind that are not yet in a file, and how many files it has.
    open: Vec<Open>,
    part_max: usize,
    manifest: Manifest,
    /// The names in the folder when it began or went on.
    taken: Vec<String>,
}

#[derive(Debug)]
struct Open {
    kind: &'static str,
    files: usize,
    lines: u64,
    text: Vec<u8>,
}

/// The name of the folder of a backup that began at this time.
#[must_use]
pub fn backup_name(at: DateTime<Utc>) -> String {
    at.format(FOLDER_FORMAT).to_string()
}

/// When a backup began, by the name of its folder; `None` if that is the name of something else.
#[must_use]
pub fn backup_time(name: &str) -> Option<DateTime<Utc>> {
    let at = NaiveDateTime::parse_from_str(name, FOLDER_FORMAT).ok()?.and_utc();
    (backup_name(at) == name).then_some(at)
}

impl BackupParts {
    /// No lines yet.
    #[must_use]
    pub fn new(about: BackupAbout) -> Self {
        let manifest = Manifest { about, secrets: 0, unreadable: 0, files: Vec::new() };
        Self::resumed(manifest, Vec::new())
    }

    /// No lines beside those of this manifest. The numbers of files go on after those in the folder: a run
    /// that crashed may have left some that the manifest does not name.
    #[must_use]
    pub const fn resumed(manifest: Manifest, folder: Vec<String>) -> Self {
        Self { open: Vec::new(), part_max: PART_BYTES_MAX, manifest, taken: folder }
    }

    /// Adds a line. Returns the lines of a file that is full.
    #[must_use]
    pub fn add(&mut self, line: &BackupLine) -> Option<BackupChunk> {
        let BackupLine { kind, text, has_secret } = line;
        self.manifest.secrets += u64::from(*has_secret);
        let place = self.open.iter().position(|it| it.kind == *kind).unwrap_or_else(|| {
            let files = last_number(&self.taken, kind);
            self.open.push(Open { kind, files, lines: 0, text: Vec::new() });
            self.open.len() - 1
        });
        let open = self.open.get_mut(place)?;
        open.text.extend_from_slice(text.as_bytes());
        open.text.push(b'\n');
        open.lines += 1;
        (open.text.len() >= self.part_max).then(|| open.take())
    }

    /// Notes that something was left out, because it could not be read.
    pub const fn leave_out(&mut self) {
        self.manifest.unreadable += 1;
    }

    /// Returns the rest of some kind; `None` when nothing is left.
    #[must_use]
    pub fn take_rest(&mut self) -> Option<BackupChunk> {
        self.open.iter_mut().find(|it| it.lines > 0).map(Open::take)
    }

    /// Notes that a file is written.
    pub fn note_written(&mut self, file: BackupFile) {
        self.manifest.files.push(file);
    }

    /// The manifest of the files that are written.
    #[must_use]
    pub fn into_manifest(self) -> Manifest {
        self.manifest
    }
}

impl Open {
    fn take(&mut self) -> BackupChunk {
        let (text, lines) = (std::mem::take(&mut self.text), std::mem::take(&mut self.lines));
        self.files = self.files.saturating_add(1);
        let kind = self.kind;
        let name = match self.files {
            1 => format!("{kind}{EXTENSION}"),
            n => format!("{kind}-{n}{EXTENSION}"),
        };
        BackupChunk { kind, name, lines, text }
    }
}

/// The number of the last of these files that has lines of a kind; 0 without one.
fn last_number(names: &[String], kind: &str) -> usize {
    let number = |name: &String| match name.strip_prefix(kind)?.strip_suffix(EXTENSION)? {
        "" => Some(1),
        number => number.strip_prefix('-')?.parse().ok(),
    };
    names.iter().filter_map(number).max().unwrap_or(0)
}

impl BackupChunk {
    /// Packs the lines. That takes a tenth of a second.
    #[must_use]
    pub fn pack(self) -> BackupPart {
        let Self { kind, name, lines, text } = self;
        let bytes = pack(&text);
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let sha256 = sha256(&bytes);
        let file = BackupFile { name, kind: kind.to_owned(), lines, bytes: length, sha256 };
        BackupPart { file, bytes }
    }
}

impl Manifest {
    /// The number of things of a kind.
    #[must_use]
    pub fn count(&self, kind: &str) -> u64 {
        self.files.iter().filter(|it| it.kind == kind).map(|it| it.lines).sum()
    }

    /// The manifest as the content of its file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        format!("{:#}\n", self.to_json()).into_bytes()
    }

    pub(crate) fn to_json(&self) -> Value {
        let Self { about, secrets, unreadable, files } = self;
        let BackupAbout { at, written_by, sealed_with, schedule_of } = about;
        let files = files.iter().map(|BackupFile { name, kind, lines, bytes, sha256 }| {
            json!({"name": name, "kind": kind, "lines": lines, "bytes": bytes, "sha256": sha256})
        });
        json!({
            "format": FORMAT,
            "at": at.to_rfc3339_opts(SecondsFormat::AutoSi, true),
            "written_by": written_by,
            "sealed_with": sealed_with.name(),
            "schedule_of": schedule_of,
            "secrets": secrets,
            "unreadable": unreadable,
            "files": files.collect::<Vec<_>>(),
        })
    }

    /// Reads the content of a manifest's file.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let fields: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        match fields.get("format").and_then(Value::as_u64) {
            Some(FORMAT) => {}
            Some(1) => {
                return Err(format!(
                    "its format is 1, and this version reads {FORMAT}: export the installation again \
                     with this version"
                ));
            }
            Some(newer) if newer > FORMAT => {
                return Err(format!(
                    "its format is {newer}, and this version reads {FORMAT}: use the newer \
                     version that wrote it"
                ));
            }
            _ => return Err("'format' is not a number of a format".to_owned()),
        }
        let text = |value: &Value, name: &str| {
            let text = value.get(name).and_then(Value::as_str).map(str::to_owned);
            text.ok_or_else(|| format!("'{name}' is not a text"))
        };
        let number = |value: &Value, name: &str| {
            let number = value.get(name).and_then(Value::as_u64);
            number.ok_or_else(|| format!("'{name}' is not a number"))
        };
        let at = text(&fields, "at")?;
        let at = DateTime::parse_from_rfc3339(&at).map_err(|_| "'at' is not a time".to_owned())?;
        let sealed_with = text(&fields, "sealed_with")?;
        let sealed_with = SealedWith::read_name(&sealed_with)
            .ok_or_else(|| format!("'sealed_with' is '{sealed_with}'"))?;
        // Older versions had no schedule.
        let schedule_of = match fields.get("schedule_of") {
            None | Some(Value::Null) => None,
            Some(_) => Some(text(&fields, "schedule_of")?),
        };
        let files = fields.get("files").and_then(Value::as_array);
        let files = files.ok_or("'files' is not a list")?;
        if files.len() > FILES_MAX {
            return Err(format!("it has more than {FILES_MAX} files"));
        }
        let files = files.iter().map(|file| {
            let name = text(file, "name")?;
            if name.contains(['/', '\\']) || !name.ends_with(EXTENSION) || name.starts_with('.') {
                return Err(format!("'{name}' is not a name of a file of a backup"));
            }
            Ok(BackupFile {
                name,
                kind: text(file, "kind")?,
                lines: number(file, "lines")?,
                bytes: number(file, "bytes")?,
                sha256: text(file, "sha256")?,
            })
        });
        let (at, written_by) = (at.to_utc(), text(&fields, "written_by")?);
        Ok(Self {
            about: BackupAbout { at, written_by, sealed_with, schedule_of },
            secrets: number(&fields, "secrets")?,
            unreadable: number(&fields, "unreadable")?,
            files: files.collect::<Result<_, String>>()?,
        })
    }
}

impl BackupFile {
    /// Unpacks the content of the file, if it is the one that the manifest means.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with it.
    pub fn unpack(&self, bytes: &[u8]) -> Result<Vec<String>, String> {
        if u64::try_from(bytes.len()) != Ok(self.bytes) {
            return Err(format!(
                "it has {} bytes, and the manifest says {}: it is truncated, or of another backup",
                bytes.len(),
                self.bytes
            ));
        }
        if sha256(bytes) != self.sha256 {
            return Err(
                "its SHA-256 is not the one in the manifest: it was changed or damaged".to_owned()
            );
        }
        let contents = unpack(&self.name, bytes);
        if let Some(damage) = contents.damage {
            return Err(damage.why);
        }
        if u64::try_from(contents.lines.len()) != Ok(self.lines) {
            return Err(format!(
                "it has {} lines, and the manifest says {}",
                contents.lines.len(),
                self.lines
            ));
        }
        Ok(contents.lines)
    }
}

/// The SHA-256 of some bytes, in hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> DateTime<Utc> {
        DateTime::from_timestamp(1_795_443_000, 0).unwrap()
    }

    fn line(kind: &'static str, text: &str) -> BackupLine {
        BackupLine { kind, text: text.to_owned(), has_secret: text.contains("sealed") }
    }

    /// The files of some lines, full at this length, and the manifest.
    fn written(lines: &[BackupLine], part_max: usize) -> (Vec<BackupPart>, Manifest) {
        let parts = BackupParts::new(BackupAbout {
            at: at(),
            written_by: "0.1.0".to_owned(),
            sealed_with: SealedWith::Installation,
            schedule_of: Some("s".to_owned()),
        });
        let mut parts = BackupParts { part_max, ..parts };
        let mut chunks: Vec<_> = lines.iter().filter_map(|line| parts.add(line)).collect();
        parts.leave_out();
        chunks.extend(std::iter::from_fn(|| parts.take_rest()));
        let files: Vec<_> = chunks.into_iter().map(BackupChunk::pack).collect();
        for part in &files {
            parts.note_written(part.file.clone());
        }
        (files, parts.into_manifest())
    }

    #[test]
    fn every_line_is_in_a_file_of_its_kind_and_the_manifest_names_all_files() {
        let lines: Vec<_> = (0..30)
            .map(|n| line(["collections", "jobs"][usize::from(n > 3)], &format!("{n} sealed")))
            .collect();
        let (files, manifest) = written(&lines, 100);
        let names: Vec<_> = files.iter().map(|it| it.file.name.as_str()).collect();
        assert_eq!(
            names,
            ["jobs.jsonl.gz", "jobs-2.jsonl.gz", "collections.jsonl.gz", "jobs-3.jsonl.gz"]
        );
        assert_eq!(manifest.files, files.iter().map(|it| it.file.clone()).collect::<Vec<_>>());
        assert_eq!((manifest.count("collections"), manifest.count("jobs")), (4, 26));
        assert_eq!((manifest.secrets, manifest.unreadable), (30, 1));
        for kind in ["collections", "jobs"] {
            let read = files.iter().filter(|it| it.file.kind == kind);
            let read: Vec<_> = read.flat_map(|it| it.file.unpack(&it.bytes).unwrap()).collect();
            let of_kind = lines.iter().filter(|it| it.kind == kind);
            assert_eq!(read, of_kind.map(|it| it.text.clone()).collect::<Vec<_>>());
        }
        assert_eq!(written(&lines, 100), (files, manifest), "the same again");
        assert_eq!(written(&[], 100).0, []);
    }

    #[test]
    fn a_manifest_reads_back_and_another_one_is_refused_with_the_reason() {
        let (_, manifest) = written(&[line("jobs", "a")], 100);
        let bytes = manifest.to_bytes();
        assert_eq!(Manifest::read(&bytes), Ok(manifest));
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("{\n  \"format\": 2,\n  \"at\": \"2026-11-23T"), "{text}");
        for (from, to, why) in [
            ("\n}\n", "", "EOF"),
            ("\"format\": 2", "\"format\": 3", "its format is 3, and this version reads 2"),
            ("\"format\": 2", "\"format\": 1", "export the installation again"),
            ("\"format\": 2", "\"format\": 0", "'format' is not a number of a format"),
            ("\"format\": 2,", "", "'format' is not a number of a format"),
            ("\"at\": \"2026", "\"at\": \"x", "'at' is not a time"),
            ("\"installation\"", "\"mine\"", "'sealed_with' is 'mine'"),
            ("\"schedule_of\": \"s\"", "\"schedule_of\": 1", "'schedule_of' is not a text"),
            ("\"files\": [", "\"filed\": [", "'files' is not a list"),
            ("\"jobs.jsonl.gz\"", "\"../jobs.jsonl.gz\"", "is not a name of a file of a backup"),
            ("\"lines\": 1", "\"lines\": -1", "'lines' is not a number"),
        ] {
            assert!(text.contains(from), "{from}");
            let problem = Manifest::read(text.replace(from, to).as_bytes()).unwrap_err();
            assert!(problem.contains(why), "{from} to {to}: {problem}");
        }
        // As versions without a schedule wrote it, and as for a user.
        for of_a_user in ["", "  \"schedule_of\": null,\n"] {
            let text = text.replace("  \"schedule_of\": \"s\",\n", of_a_user);
            assert_eq!(Manifest::read(text.as_bytes()).unwrap().about.schedule_of, None);
        }
    }

    #[test]
    fn a_file_that_the_manifest_does_not_mean_is_refused() {
        let (files, _) = written(&[line("jobs", "a"), line("jobs", "b")], 100);
        let [BackupPart { file, bytes }] = files.as_slice() else { panic!("{files:?}") };
        assert_eq!(file.unpack(bytes).unwrap(), ["a", "b"]);
        let of = |bytes: &[u8]| {
            let length = u64::try_from(bytes.len()).unwrap();
            BackupFile { bytes: length, sha256: sha256(bytes), ..file.clone() }
        };
        let mut forged = bytes.clone();
        *forged.last_mut().unwrap() ^= 1;
        let (cut, other) = (&bytes[..bytes.len() - 1], pack(b"a\n"));
        for (file, bytes, why) in [
            (file.clone(), cut, "it is truncated, or of another backup"),
            (file.clone(), &forged, "its SHA-256 is not the one in the manifest"),
            (of(cut), cut, "it is damaged or truncated"),
            (of(&other), &other, "it has 1 lines, and the manifest says 2"),
        ] {
            let problem = file.unpack(bytes).unwrap_err();
            assert!(problem.contains(why), "{why}: {problem}");
        }
    }

    #[test]
    fn the_name_of_a_backup_says_when_it_began() {
        let name = backup_name(at());
        assert_eq!((name.as_str(), backup_time(&name)), ("2026-11-23T141000Z", Some(at())));
        for other in ["", "2026-11-23", "2026-11-23T14:10:00Z", "date=2026-11-23T141000Z"] {
            assert_eq!(backup_time(other), None, "{other}");
        }
    }
}
