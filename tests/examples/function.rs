//! The API's function behind a gateway on loopback, for browsers: each HTTP request becomes an event of
//! API Gateway, and the answer to the event becomes the HTTP response.
//!
//! It prints its URL and serves until its input ends. Messages that are due are performed right after
//! the request that sent them; the clock stands still.

#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a part of the tests"
)]

#[path = "../it/aws/target.rs"]
#[expect(dead_code, reason = "its tests use the rest")]
mod target;
#[path = "../it/aws/world.rs"]
#[expect(dead_code, reason = "its tests use the rest")]
mod world;

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use world::World;

/// The longest body that a gateway passes on.
const MAX_BODY: usize = 10 << 20;

#[tokio::main]
async fn main() {
    let world = Arc::new(Mutex::new(World::new().await));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("target {}", world.lock().await.target.url());
    println!("listening on http://{} ", listener.local_addr().unwrap());
    let service = Router::new().fallback(pass_on).with_state(world);
    let input_ends = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    tokio::select! {
        served = async { axum::serve(listener, service).await } => served.unwrap(),
        ended = input_ends => { ended.unwrap().unwrap(); }
    }
}

async fn pass_on(State(world): State<Arc<Mutex<World>>>, request: Request) -> Response<Body> {
    let event = event_of(request).await;
    let mut world = world.lock().await;
    let answer = world.answer(event).await;
    let mut due = world.sent();
    due.retain(|message| message.delay == 0);
    assert_eq!(world.deliver(&due).await, Vec::<String>::new(), "no message comes back");
    response_of(&answer)
}

/// The request as an HTTP API hands it to a function: the path decoded, the body in Base64.
async fn event_of(request: Request) -> Value {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, MAX_BODY).await.unwrap();
    let text = |value: &axum::http::HeaderValue| value.to_str().unwrap().to_owned();
    let headers: BTreeMap<_, _> =
        head.headers.iter().map(|(name, value)| (name.as_str(), text(value))).collect();
    json!({
        "version": "2.0",
        "rawPath": percent_decode_str(head.uri.path()).decode_utf8().unwrap(),
        "rawQueryString": head.uri.query().unwrap_or_default(),
        "headers": headers,
        "body": BASE64.encode(&body),
        "isBase64Encoded": true,
        "requestContext": {
            "domainName": head.headers.get("host").map(text),
            "stage": "$default",
            "http": {"method": head.method.as_str()},
        },
    })
}

fn response_of(answer: &Value) -> Response<Body> {
    let body = answer["body"].as_str().unwrap_or_default();
    let is_base64 = answer["isBase64Encoded"].as_bool().unwrap();
    let body = if is_base64 { BASE64.decode(body).unwrap() } else { body.as_bytes().to_vec() };
    let mut response =
        Response::builder().status(u16::try_from(answer["statusCode"].as_u64().unwrap()).unwrap());
    for (name, value) in answer["headers"].as_object().unwrap() {
        response = response.header(name, value.as_str().unwrap());
    }
    response.body(Body::from(body)).unwrap()
}
