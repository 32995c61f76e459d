//! `GET /metrics`: the metrics page, in processes that have one.

use std::error::Error;

use async_trait::async_trait;
use axum::http::{Method, StatusCode};
use minutehand_ports::ErrorType;

use crate::answer::Answer;
use crate::call::Call;
use crate::failure::{ErrorCode, Failure};

/// Renders the metrics page.
#[async_trait]
pub trait MetricsPage: Send + Sync {
    /// Renders the metrics in Prometheus's text format.
    ///
    /// # Errors
    ///
    /// If the metrics are not available at the moment.
    async fn text(&self) -> Result<String, MetricsError>;

    /// Counts a request. The route is the path of the table of routes, with its placeholders, so there
    /// are few; it is `None` if no route has the path.
    fn count_request(&self, method: &Method, route: Option<&'static str>, status: StatusCode);
}

/// The reason why metrics are not available.
pub type MetricsError = Box<dyn Error + Send + Sync>;

pub(crate) async fn get(call: Call) -> Result<Answer, Failure> {
    call.manage.check_everything()?;
    let Some(page) = call.rest.metrics.as_deref() else {
        let message = "This installation has no metrics page: its metrics are in its log.";
        return Err(Failure::new(ErrorCode::UnknownRoute, message));
    };
    match page.text().await {
        Ok(text) => Ok(Answer::metrics(text)),
        Err(error) => {
            let error_type = ErrorType::RequestFailed;
            tracing::error!(%error_type, %error, "metrics are not available");
            let message = "The metrics are temporarily unavailable. Try again.";
            Err(Failure::new(ErrorCode::ServiceUnavailable, message))
        }
    }
}
