//! What a data directory remembers of its archive: the file `archive.json`.

use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDate;
use minutehand_archive::ArchivedDays;
use minutehand_archive_objects::Location;
use serde_json::{Value, json};

use crate::serve::{read_private_file, write_private_file};

/// The file.
pub(super) const FILE: &str = "archive.json";

/// The archive, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    /// Where it is, as the user says it.
    pub(super) location: String,
    /// The id in its mark.
    pub(super) id: String,
    /// How far it is.
    pub(super) days: ArchivedDays,
}

impl State {
    /// What is remembered of the archive at this place; `None` of another one.
    pub(super) fn read_of(dir: &Path, location: &Location) -> Result<Option<Self>> {
        Ok(Self::read(dir)?.filter(|state| state.location == location.to_string()))
    }

    pub(super) fn read(dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(FILE);
        let Some(text) = read_private_file(&path)? else {
            return Ok(None);
        };
        let state = Self::parse(&text).with_context(|| {
            let path = path.display();
            format!("{path} is damaged: remove it; what is in the store is archived again")
        })?;
        Ok(Some(state))
    }

    pub(super) fn write(&self, dir: &Path) -> Result<()> {
        let Self { location, id, days } = self;
        let day = |day: Option<NaiveDate>| day.map(|day| day.to_string());
        let state = json!({
            "archive": location,
            "id": id,
            "written_until": day(days.written_until),
            "checked_until": day(days.checked_until),
        });
        write_private_file(dir, FILE, &format!("{state}\n")).map(drop)
    }

    fn parse(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text)?;
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let day = |name: &str| text(name).map(str::parse).transpose();
        Ok(Self {
            location: text("archive").context("it names no archive")?.to_owned(),
            id: text("id").context("it has no id")?.to_owned(),
            days: ArchivedDays {
                written_until: day("written_until")?,
                checked_until: day("checked_until")?,
            },
        })
    }
}
