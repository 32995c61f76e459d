//! `GET /healthz`: whether the service can store changes, and which build is running.

use async_trait::async_trait;
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::json;

use crate::answer::Answer;
use crate::call::Call;
use crate::failure::{ErrorCode, Failure};

/// Tells what a process cannot do at the moment, and what it runs on. `()` is for hosts that have alarms
/// for it.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// Why the process is not ready, as one sentence for everybody; `None` if it is.
    fn trouble(&self) -> Option<String>;

    /// Why the database does not answer, as one sentence for everybody; `None` if it does, or there is none.
    fn lost_database(&self) -> Option<String> {
        None
    }

    /// What needs an operator although the process is ready.
    fn notes(&self) -> Vec<HealthNote> {
        Vec::new()
    }

    /// The name of this process, and how many live ones share its database; `None` if it is alone.
    fn peers(&self) -> Option<Peers> {
        None
    }

    /// The processes that share the database, this one included; none if it is alone. An error is a sentence
    /// for the caller.
    async fn processes(&self) -> Result<Vec<ProcessNote>, String> {
        Ok(Vec::new())
    }

    /// What an operator has to know of the database; nothing without one. An error is a sentence for the
    /// caller.
    async fn database(&self) -> Result<Vec<DatabaseNote>, String> {
        Ok(Vec::new())
    }
}

/// A process among others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peers {
    /// The name of the process.
    pub name: String,
    /// How many live processes share the database, with this one.
    pub live: usize,
}

/// A process that shares the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessNote {
    /// Its name.
    pub name: String,
    /// The version of its program.
    pub version: String,
    /// When it started.
    pub since: DateTime<Utc>,
    /// When it last gave a sign of life.
    pub seen_at: DateTime<Utc>,
    /// How many attempts it has under way.
    pub attempts: u64,
    /// Whether it answers.
    pub answers: bool,
}

/// Something to know of the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DatabaseNote {
    /// The part that it is about, in a word.
    pub about: &'static str,
    /// What it is.
    pub says: String,
    /// What to do; `None` if all is well.
    pub remedy: Option<String>,
    /// The remedy can wait.
    pub is_warning: bool,
}

/// Something that needs an operator. Everybody may read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HealthNote {
    /// The part that it is about, in a word.
    pub about: &'static str,
    /// What is wrong.
    pub says: String,
    /// What to do.
    pub remedy: String,
}

impl Readiness for () {
    fn trouble(&self) -> Option<String> {
        None
    }
}

pub(crate) async fn get(call: Call) -> Result<Answer, Failure> {
    let readiness = &call.rest.readiness;
    // A look at a database that is away takes until that times out.
    if let Some(reason) = readiness.lost_database() {
        return Err(Failure::new(ErrorCode::ServiceUnavailable, reason));
    }
    call.manage.look_at_store().await?;
    if let Some(trouble) = readiness.trouble() {
        return Err(Failure::new(ErrorCode::ServiceUnavailable, trouble));
    }
    let build = &call.rest.build;
    let mut document = vec![
        ("status", json!("ready")),
        ("version", json!(build.version)),
        ("commit", json!(build.commit)),
        ("store", json!(build.store)),
        ("timeZones", json!(build.time_zones)),
    ];
    document.extend(build.time_zones_date.map(|date| ("timeZonesDate", json!(date.to_string()))));
    if let Some(Peers { name, live }) = readiness.peers() {
        document.extend([("process", json!(name)), ("processes", json!(live))]);
    }
    let notes = readiness.notes();
    if !notes.is_empty() {
        document.push(("notes", json!(notes)));
    }
    Ok(Answer::json(StatusCode::OK, &document.into_iter().collect()))
}
