//! `api`: any call, with the token and the server of the context.

use std::path::PathBuf;

use clap::Args;
use minutehand_client::Method;

use crate::at_server::ServerCommand;
use crate::failure::{Failure, Result};
use crate::input;
use crate::work::Work;

/// The arguments of `api`.
#[derive(Debug, Args)]
pub struct ApiArgs {
    /// Method: GET, PUT, PATCH, POST, DELETE
    method: String,
    /// Path and query, beginning with /; `minutehand api GET /openapi.json` describes every path
    path: String,
    /// File with the body, as JSON or YAML; - reads standard input
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl ServerCommand for ApiArgs {
    const ASKS_FOR_CLOCK: bool = false;

    async fn run(self, work: Work) -> Result<()> {
        let method = Method::from_bytes(self.method.to_uppercase().as_bytes());
        let method = method.map_err(|_| {
            Failure::refused(format!("'{}' is not a method: use GET, PUT or another", self.method))
        })?;
        if !self.path.starts_with('/') {
            return Err(Failure::refused(format!(
                "'{}' is not a path: begin with /, as in /healthz",
                self.path
            )));
        }
        let body = self.file.as_deref().map(input::object).transpose()?;
        let text = work.client().call(method, &self.path, body.as_ref()).await?;
        if text.is_empty() { Ok(()) } else { work.screen.line(text.trim_end()) }
    }
}
