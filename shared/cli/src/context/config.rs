//! The configuration file: contexts, and which one is current.

use std::collections::BTreeMap;
use std::path::PathBuf;

use minutehand_recurrence::nearest;
use serde::{Deserialize, Serialize};

use super::private_file;
use crate::environment::Environment;
use crate::failure::{Failure, Result};

const FILE: &str = "config.toml";

/// The most characters of a context's name, which is a name of a file, too.
const NAME_CHARS_MAX: usize = 60;

/// The configuration, and where it is.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) dir: PathBuf,
    pub(crate) file: ConfigFile,
}

/// The content of the configuration file.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfigFile {
    /// The context that is used if no other is named.
    pub(crate) current: Option<String>,
    #[serde(default, rename = "context")]
    pub(crate) contexts: BTreeMap<String, Context>,
}

/// A server, how to be let in, and what names leave out.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Context {
    pub(crate) url: String,
    pub(crate) subscription: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) collection: Option<String>,
    pub(crate) ca: Option<PathBuf>,
    /// Where the token comes from; without it, from the file that `login` writes.
    pub(crate) auth: Option<Auth>,
}

/// Where a token comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum Auth {
    /// The output of a command, run by `sh`.
    TokenCommand(String),
    /// A file.
    TokenFile(PathBuf),
}

impl Config {
    /// Reads the configuration; it is empty if there is no file.
    pub(crate) fn read(environment: &Environment) -> Result<Self> {
        let Some(dir) = environment.config_dir() else {
            // Without a home there is nothing to read; a write says so.
            return Ok(Self { dir: PathBuf::new(), file: ConfigFile::default() });
        };
        let path = dir.join(FILE);
        let text = private_file::read_text(&path)?;
        let file = text.map(|text| toml::from_str(&text)).transpose().map_err(|error| {
            Failure::refused(format!("{}: {error}", path.display()).trim_end().to_owned())
        })?;
        Ok(Self { dir, file: file.unwrap_or_default() })
    }

    /// Writes the configuration.
    pub(crate) fn write(&self) -> Result<()> {
        if self.dir.as_os_str().is_empty() {
            return Err(Failure::failed("there is no place for a configuration: HOME is not set"));
        }
        let text = toml::to_string(&self.file);
        let text = text.map_err(Failure::cannot("write the configuration"))?;
        private_file::write(&self.dir.join(FILE), &text)
    }

    /// Finds a context.
    pub(crate) fn context(&self, name: &str) -> Result<&Context> {
        self.file.contexts.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.file.contexts.keys().map(String::as_str).collect();
            let failure = Failure::refused(format!("there is no context '{name}'"));
            match (nearest(name, names.iter().copied()), names.is_empty()) {
                (Some(near), _) => failure.hint(format!("did you mean '{near}'?")),
                (None, false) => failure.hint(format!("the contexts are {}", names.join(", "))),
                (None, true) => failure.hint("`minutehand login NAME --server URL` makes one"),
            }
        })
    }
}

/// Checks the name of a context that is made.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.chars().all(fits) {
        return Err(Failure::refused(format!(
            "'{name}' cannot name a context: use 1 to {NAME_CHARS_MAX} letters, digits, - and _"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_written() {
        let text = r#"current = "prod"

[context.prod]
url = "https://example.com"
collection = "billing"
auth = { token_command = "pass show prod" }
"#;
        let file: ConfigFile = toml::from_str(text).unwrap();
        let auth = file.contexts["prod"].auth.clone();
        assert_eq!(auth, Some(Auth::TokenCommand("pass show prod".to_owned())));
        assert_eq!(toml::from_str::<ConfigFile>(&toml::to_string(&file).unwrap()).unwrap(), file);
    }

    #[test]
    fn a_misspelt_name_is_refused() {
        let error = toml::from_str::<ConfigFile>("[context.a]\nurl = \"x\"\ngruop = \"y\"\n");
        assert!(error.unwrap_err().to_string().contains("unknown field `gruop`"));
    }

    #[test]
    fn names_of_contexts_are_names_of_files() {
        assert!(check_name("prod-2_eu").is_ok());
        for name in ["", "a/b", "..", "a b", &"a".repeat(61)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
