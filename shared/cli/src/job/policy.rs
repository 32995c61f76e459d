//! The policies of a job, from options to its extensions.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Result};
use crate::input;

const HEADING: &str = "Policies";
/// The property that holds the extensions.
const EXTENSIONS: &str = "minutehand";

/// The options that set policies.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PolicyArgs {
    /// File with the secret that signs the requests (whsec_…), or two, one a line; - reads standard input
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub(crate) sign: Option<PathBuf>,
    /// Disable the job when this many occurrences in a row have failed for good, 1 to 100
    #[arg(long, value_name = "N", help_heading = HEADING, value_parser = input::positive::<u32>,
          allow_negative_numbers = true)]
    pub(crate) pause_after: Option<u32>,
}

impl PolicyArgs {
    /// Adds the policies to the properties of a job, beside what a file says of them.
    pub(crate) fn put_into(&self, properties: &mut Map<String, Value>) -> Result<()> {
        let mut policies = Map::new();
        if let Some(file) = &self.sign {
            policies.insert("sign".to_owned(), json!({"secrets": secrets(file)?}));
        }
        if let Some(after) = self.pause_after {
            policies.insert("pauseOnFailure".to_owned(), json!({"after": after}));
        }
        if policies.is_empty() {
            return Ok(());
        }
        let extensions = properties.entry(EXTENSIONS).or_insert_with(|| json!({}));
        match extensions {
            Value::Object(extensions) => extensions.extend(policies),
            other => *other = policies.into(),
        }
        Ok(())
    }
}

/// The secrets in a file, one a line.
pub(crate) fn secrets(file: &Path) -> Result<Vec<String>> {
    let text = input::secret(file)?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let secrets: Vec<String> = lines.map(str::to_owned).collect();
    if secrets.is_empty() {
        return Err(Failure::refused(format!("{} has no secret", file.display())));
    }
    Ok(secrets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_join_those_of_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("secrets");
        std::fs::write(&file, "whsec_new\n\n whsec_old \n").unwrap();
        let mut properties = Map::new();
        properties.insert(EXTENSIONS.to_owned(), json!({"retry": {}, "sign": null}));
        PolicyArgs::default().put_into(&mut properties).unwrap();
        let args = PolicyArgs { sign: Some(file.clone()), pause_after: Some(5) };
        args.put_into(&mut properties).unwrap();
        let expected = json!({"retry": {}, "sign": {"secrets": ["whsec_new", "whsec_old"]},
            "pauseOnFailure": {"after": 5}});
        assert_eq!(properties[EXTENSIONS], expected);
        std::fs::write(&file, " \n").unwrap();
        assert!(secrets(&file).unwrap_err().message.contains("has no secret"));
    }
}
