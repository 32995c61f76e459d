//! `mcp`: jobs as tools for an assistant, by the Model Context Protocol on standard input and output.
//!
//! The tools are calls of the same client as the other commands, with the token of the context. The
//! assistant reads unless `--allow-writes` is given: the other tools are not offered, and refused.

mod bridge;
mod tools;
mod write;

use std::sync::Arc;

use clap::Args;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerInfo, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::Value;

use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::options::Options;
use crate::work::Work;

const INSTRUCTIONS: &str = "Minutehand calls URLs and sends messages on a calendar. A job belongs to a \
    collection, and is named COLLECTION/JOB. Times are UTC in answers; a job fires on the clock of its \
    own time zone. Use preview before create_job to see when a job would fire.";

/// The arguments of `mcp`.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// Offer tools that create, change, run and delete jobs, too
    #[arg(long)]
    allow_writes: bool,
    #[command(flatten)]
    options: Options,
}

/// What the assistant talks to.
#[derive(Clone)]
struct Assistant {
    work: Arc<Work>,
    allow_writes: bool,
}

impl McpArgs {
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) async fn run(self, environment: Environment) -> Result<()> {
        let work = Arc::new(Work::open(&self.options, environment)?);
        let assistant = Assistant { work, allow_writes: self.allow_writes };
        let (input, output, written) = bridge::standard();
        let served = assistant.serve((input, output)).await;
        let served = served.map_err(|error| Failure::failed(format!("no assistant: {error}")))?;
        let ended = served.waiting().await;
        ended.map_err(|error| Failure::failed(format!("the assistant went away: {error}")))?;
        // The last answer may still be on its way. The thread ends when all is written.
        let _ = tokio::task::spawn_blocking(move || written.join()).await;
        Ok(())
    }
}

impl ServerHandler for Assistant {
    fn get_info(&self) -> ServerInfo {
        let version = env!("CARGO_PKG_VERSION");
        ServerInfo::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("minutehand", version))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.offered().collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let answer = match self.offered().find(|tool| tool.name == request.name) {
            Some(_) => tools::call(&self.work, &request.name, &arguments).await,
            None => Err(self.not_offered(&request.name)),
        };
        Ok(match answer {
            Ok(answer) => CallToolResult::success(vec![ContentBlock::text(answer)]),
            Err(failure) => {
                let hint = failure.hint.map_or_else(String::new, |hint| format!(" ({hint})"));
                CallToolResult::error(vec![ContentBlock::text(failure.message + &hint)])
            }
        })
    }
}

impl Assistant {
    fn offered(&self) -> impl Iterator<Item = Tool> {
        let allow_writes = self.allow_writes;
        tools::all().filter(move |(writes, _)| allow_writes || !writes).map(|(_, tool)| tool)
    }

    fn not_offered(&self, name: &str) -> Failure {
        if tools::all().any(|(_, tool)| tool.name == name) {
            Failure::refused(format!("{name} changes something, which is not allowed here"))
                .hint("start `minutehand mcp --allow-writes` to allow it")
        } else {
            let names: Vec<String> = self.offered().map(|tool| tool.name.into_owned()).collect();
            Failure::refused(format!("there is no tool {name}; use {}", names.join(", ")))
        }
    }
}
