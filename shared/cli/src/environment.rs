//! What the commands take from the process: variables, the clock, and the width of the terminal.

use std::path::PathBuf;

use chrono::{DateTime, Utc};

/// What a process gives to its commands.
#[derive(Debug, Clone, Copy)]
pub struct Environment {
    /// Reads a variable of the environment.
    pub variable: fn(&str) -> Option<String>,
    /// Reads the clock.
    pub now: fn() -> DateTime<Utc>,
}

impl Environment {
    /// A variable that is set and not empty.
    pub(crate) fn set(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        (self.now)()
    }

    /// The directory of the configuration: `$XDG_CONFIG_HOME/minutehand`, else
    /// `~/.config/minutehand`.
    pub(crate) fn config_dir(&self) -> Option<PathBuf> {
        let base = self.set("XDG_CONFIG_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
        let base = base.or_else(|| Some(PathBuf::from(self.set("HOME")?).join(".config")))?;
        Some(base.join("minutehand"))
    }
}
