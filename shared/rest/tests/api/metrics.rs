//! `GET /metrics`.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::http::{Method, StatusCode};
use minutehand_rest::{Access, MetricsError, MetricsPage};

use crate::support::{Api, GROUP, VERSION};

/// A page with metrics, or an error.
struct Page(Result<&'static str, &'static str>, Mutex<Vec<String>>);

#[async_trait]
impl MetricsPage for Page {
    async fn text(&self) -> Result<String, MetricsError> {
        self.0.map(str::to_owned).map_err(Into::into)
    }

    fn count_request(&self, method: &Method, route: Option<&'static str>, status: StatusCode) {
        let counted = format!("{method} {} {}", route.unwrap_or("none"), status.as_u16());
        self.1.lock().unwrap().push(counted);
    }
}

fn with(page: Result<&'static str, &'static str>) -> Api {
    Api::with_metrics(Access::Open, Some(Arc::new(Page(page, Mutex::default()))))
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
    let api = Api::with_metrics(
        Access::Tokens(Vec::new()),
        Some(Arc::new(Page(Ok(""), Mutex::default()))),
    );
    assert_eq!(api.send("GET", "/metrics", &[], "").status, 401);
}

#[test]
fn requests_are_counted_by_method_route_and_status() {
    let page = Arc::new(Page(Ok(""), Mutex::default()));
    let api = Api::with_metrics(Access::Open, Some(page.clone()));
    api.send("GET", &format!("{GROUP}/mine?{VERSION}"), &[], "");
    api.send("GET", &format!("{GROUP}/other?{VERSION}"), &[], "");
    api.send("GET", "/metrics", &[], "");
    api.send("POST", "/healthz", &[], "");
    api.send("GET", "/a/secret/path", &[], "");
    let collection = "/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}/providers/\
                      Microsoft.Scheduler/jobCollections/{jobCollectionName}";
    assert_eq!(
        *page.1.lock().unwrap(),
        [
            format!("GET {collection} 404"),
            format!("GET {collection} 404"),
            "GET /metrics 200".to_owned(),
            "POST none 405".to_owned(),
            "GET none 404".to_owned(),
        ]
    );
}
