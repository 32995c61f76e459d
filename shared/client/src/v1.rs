//! The calls of `/minutehand/v1`.

use serde::Deserialize;
use serde_json::Value;

use crate::answer::Answer;
use crate::error::Error;
use crate::path::{JobPath, escaped};
use crate::pings::PingUrlAnswer;
use crate::transport::{Client, Method, Request};
use crate::types::{CancelAnswer, Description, Job, NextAnswer, RedriveAnswer, WhyAnswer};

/// What a server says about itself.
#[derive(Debug, Clone)]
pub struct ServerHealth {
    /// The document: status, version, commit, release of the time zones.
    pub text: String,
    /// The header `Date`: the server's clock, as HTTP writes it.
    pub date: Option<String>,
}

/// What a server says of its clock and of the caller.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MeAnswer {
    /// What it shows.
    pub now: String,
    /// How fast it runs: 1, unless it is a test clock.
    pub clock_rate: f64,
    /// What the caller may do: `read`, `run`, `write`.
    #[serde(default)]
    pub may: Vec<String>,
}

impl Client {
    /// Asks whether the server is ready.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn health(&self) -> Result<ServerHealth, Error> {
        let received = self.send(&Request::new(Method::GET, "/healthz".to_owned())).await?;
        Ok(ServerHealth { text: self.text(&received)?, date: received.date })
    }

    /// Asks for the clock of the schedule.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn me(&self) -> Result<MeAnswer, Error> {
        Ok(self.get("/minutehand/v1/me".to_owned()).await?.value)
    }

    /// Describes a job: its definition, when it fires in words, and why it does not.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn describe(&self, job: &JobPath) -> Result<Answer<Description>, Error> {
        self.get(job.v1("")).await
    }

    /// Enables a job that was paused after failures.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn resume(&self, job: &JobPath) -> Result<Answer<Job>, Error> {
        self.read(&Request::new(Method::POST, job.v1("/resume"))).await
    }

    /// Runs a job once for the occurrence at an instant, in RFC 3339, that failed for good.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn redrive_occurrence(
        &self,
        job: &JobPath,
        at: &str,
    ) -> Result<Answer<RedriveAnswer>, Error> {
        let path = job.v1(&format!("/occurrences/{}/redrive", escaped(at)));
        self.read(&Request::new(Method::POST, path)).await
    }

    /// Ends the open attempt at the occurrence of an instant, in RFC 3339, as failed.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn cancel_occurrence(
        &self,
        job: &JobPath,
        at: &str,
    ) -> Result<Answer<CancelAnswer>, Error> {
        let path = job.v1(&format!("/occurrences/{}/cancel", escaped(at)));
        self.read(&Request::new(Method::POST, path)).await
    }

    /// The URL at which a job takes pings, and the last ones.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn ping_url(&self, job: &JobPath) -> Result<Answer<PingUrlAnswer>, Error> {
        self.read(&Request::new(Method::POST, job.v1("/pingUrl"))).await
    }

    /// Replaces the URL at which a job takes pings.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn rotate_ping(&self, job: &JobPath) -> Result<Answer<PingUrlAnswer>, Error> {
        self.read(&Request::new(Method::POST, job.v1("/rotatePing"))).await
    }

    /// The coming occurrences of a job from an instant on, in RFC 3339; at most 1,000.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn coming(
        &self,
        job: &JobPath,
        from: &str,
        count: usize,
    ) -> Result<Answer<NextAnswer>, Error> {
        let path = job.v1(&format!("/next?from={}&count={count}", escaped(from)));
        let answer: Answer<Value> = self.get(path).await?;
        let Answer { value, text, etag } = answer;
        let ends = value.get("ends").and_then(Value::as_bool).unwrap_or_default();
        let occurrences = self.listed(&value, "occurrences")?;
        Ok(Answer { value: NextAnswer { occurrences, ends }, text, etag })
    }

    /// The body with which a target answered a failed attempt, by the last part of the attempt's name. The
    /// target wrote it: it may be anything.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn failure_body(&self, job: &JobPath, attempt: &str) -> Result<Vec<u8>, Error> {
        let path = job.v1(&format!("/history/{}/body", escaped(attempt)));
        Ok(self.send(&Request::new(Method::GET, path)).await?.body.into())
    }

    /// Explains what became of the occurrence of a job at an instant, in RFC 3339.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn why(&self, job: &JobPath, at: Option<&str>) -> Result<Answer<WhyAnswer>, Error> {
        let at = at.map_or_else(String::new, |at| format!("?at={}", escaped(at)));
        self.get(job.v1(&format!("/why{at}"))).await
    }
}
