//! The numbers that a monitor collects, for who runs a process that has them.

use std::error::Error;

use async_trait::async_trait;
use axum::http::StatusCode;
use ports::ErrorType;

use crate::answer::Answer;
use crate::failure::{ErrorCode, Failure};
use crate::route::NOTHING_THERE;

/// Where the numbers come from.
#[async_trait]
pub trait MetricsPage: Send + Sync {
    /// The numbers, in the text format of Prometheus.
    ///
    /// # Errors
    ///
    /// If they cannot be had now.
    async fn text(&self) -> Result<String, MetricsError>;
}

/// Why there are no numbers.
pub type MetricsError = Box<dyn Error + Send + Sync>;

pub(crate) async fn get(page: Option<&dyn MetricsPage>) -> Result<Answer, Failure> {
    let page = page.ok_or_else(|| Failure::new(ErrorCode::UnknownRoute, NOTHING_THERE))?;
    match page.text().await {
        Ok(text) => Ok(Answer::plain(StatusCode::OK, text)),
        Err(error) => {
            let error_type = ErrorType::RequestFailed;
            tracing::error!(%error_type, %error, "the numbers for monitors cannot be had");
            Err(Failure::new(ErrorCode::ServiceUnavailable, "The numbers cannot be had now."))
        }
    }
}
