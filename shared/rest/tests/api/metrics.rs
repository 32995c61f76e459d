//! `GET /metrics`.

use std::sync::Arc;

use async_trait::async_trait;
use minutehand_rest::{Access, MetricsError, MetricsPage};

use crate::support::Api;

/// A page with metrics, or an error.
struct Page(Result<&'static str, &'static str>);

#[async_trait]
impl MetricsPage for Page {
    async fn text(&self) -> Result<String, MetricsError> {
        self.0.map(str::to_owned).map_err(Into::into)
    }
}

fn with(page: Result<&'static str, &'static str>) -> Api {
    Api::with_metrics(Access::Open, Some(Arc::new(Page(page))))
}

#[test]
fn metrics_are_plain_text_for_prometheus() {
    let answer = with(Ok("fired_total 1\n")).send("GET", "/metrics", &[], "");
    assert_eq!((answer.status.as_u16(), answer.body.as_str()), (200, "fired_total 1\n"));
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
}

#[test]
fn unavailable_metrics_are_a_temporary_failure() {
    let answer = with(Err("the disk, at /secret/place")).send("GET", "/metrics", &[], "");
    answer.fails(503, "ServiceUnavailable", "The metrics are temporarily unavailable. Try again.");
    assert_eq!(answer.header("retry-after"), Some("5"));
}

#[test]
fn without_a_metrics_page_the_path_is_unknown() {
    let answer = Api::new().send("GET", "/metrics", &[], "");
    answer.fails(
        404,
        "UnknownRoute",
        "This installation has no metrics page: its metrics are in its log.",
    );
}

#[test]
fn metrics_need_a_token() {
    let api = Api::with_metrics(Access::Tokens(Vec::new()), Some(Arc::new(Page(Ok("")))));
    assert_eq!(api.send("GET", "/metrics", &[], "").status, 401);
}
