//! `version`: of this program, and of the server.

use clap::Args;
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::failure::Result;
use crate::options::Options;
use crate::work::Work;

/// The arguments of `version`.
#[derive(Debug, Args)]
pub struct VersionArgs {
    #[command(flatten)]
    pub(crate) options: Options,
}

impl VersionArgs {
    /// A server that does not answer is not a failure: the program has a version all the same.
    pub(crate) async fn run(self, program: clap::Command, environment: Environment) -> Result<()> {
        let work = Work::silent(&self.options, environment)?;
        let own = program.render_version();
        let health = work.client().health().await;
        let server: Option<Value> =
            health.as_ref().ok().and_then(|health| serde_json::from_str(&health.text).ok());
        if let Some(json) = &work.json {
            let text = json!({"program": own.trim(), "server": server}).to_string();
            return json.document(&work.screen, &text);
        }
        work.screen.line(own.trim())?;
        let told = |name: &str| server.as_ref()?.get(name)?.as_str();
        match (told("version"), told("commit"), health) {
            (Some(version), commit, _) => {
                let commit = commit.map_or_else(String::new, |commit| format!(" ({commit})"));
                let url = work.client().server();
                work.screen.line(&format!("server {url}: {version}{commit}"))
            }
            (None, _, Err(error)) => {
                work.screen.note(&error.to_string());
                Ok(())
            }
            (None, _, Ok(_)) => Ok(()),
        }
    }
}
