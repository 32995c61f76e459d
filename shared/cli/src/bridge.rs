//! `console`: the console on this machine, whose calls go to the server of a context.
//!
//! The token of the context stays in this process. The page gets a secret of this run instead, in the
//! part of the address that a browser sends to no server, and shows it with each call. So another
//! program on this machine, or another page in the browser, cannot call through this process, and the
//! secret ends with the process. The name in `Host` has to be the loopback address of this process:
//! otherwise a foreign name that leads to this machine would make a foreign page one of ours.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Collected, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use minutehand_client::{Client, Error, Method, StatusCode};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::at_server::ServerCommand;
use crate::failure::{Failure, Result};
use crate::wait::pause;
use crate::work::Work;

/// The most connections at once. A browser opens six.
const CONNECTIONS_MAX: usize = 64;
/// The most bytes of a call's body: the servers take less.
const BODY_BYTES_MAX: usize = 4 << 20;
/// How long the head of a request may take, and so how long a connection may be idle.
const HEAD_MAX: Duration = Duration::from_mins(1);
/// The pause after the system could not accept a connection, for example for lack of file handles.
const REFUSED_PAUSE: Duration = Duration::from_millis(200);
/// What the paths of the API begin with.
const API: [&str; 2] = ["/subscriptions", "/minutehand/v1/"];
/// The calls that read although they are POSTs, by the end of their paths.
const READING_POSTS: [&str; 3] = ["/preview", "/check", "/convert"];
/// The stream of events, which would never end.
const LIVE: &str = "/minutehand/v1/live";
/// Where the server says what the caller may do.
const ME: &str = "/minutehand/v1/me";

/// The arguments of `console`.
#[derive(Debug, Args)]
pub struct ConsoleArgs {
    /// Port on this machine; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Let through only requests that read
    #[arg(long)]
    read_only: bool,
}

impl ServerCommand for ConsoleArgs {
    const ASKS_FOR_CLOCK: bool = false;

    async fn run(self, work: Work) -> Result<()> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await;
        let listener = listener.map_err(|error| {
            let failure = format!("cannot listen on port {}: {error}", self.port);
            Failure::failed(failure).hint("--port names another; without it, a free one is taken")
        })?;
        let address = listener.local_addr();
        let address = address.map_err(|error| Failure::failed(format!("no address: {error}")))?;
        let secret = secret()?;
        let place = &work.defaults().place;
        let (subscription, group) = (&place.subscription, &place.group);
        let server = work.client().server();
        work.screen.line(&format!("console: http://{address}/console/#token={secret}"))?;
        work.screen.hint(&format!(
            "it shows {server}, {subscription}/{group}; only that link opens it, and Ctrl-C ends it"
        ));
        let read_only = self.read_only;
        let bridge = Bridge { client: work.session.client, secret, address, read_only };
        serve(listener, Arc::new(bridge)).await
    }
}

/// Passes the calls of the console on.
struct Bridge {
    client: Client,
    secret: String,
    address: SocketAddr,
    read_only: bool,
}

/// A secret that cannot be guessed.
fn secret() -> Result<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::failed(format!("the system has no randomness: {error}")))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        // A string takes every text.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

async fn serve(listener: TcpListener, bridge: Arc<Bridge>) -> Result<()> {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return Ok(());
        };
        let Ok((socket, _)) = listener.accept().await else {
            pause(REFUSED_PAUSE).await;
            continue;
        };
        let bridge = Arc::clone(&bridge);
        tokio::spawn(async move {
            connection(socket, bridge).await;
            drop(place);
        });
    }
}

async fn connection(socket: TcpStream, bridge: Arc<Bridge>) {
    let answer = service_fn(move |request| {
        let bridge = Arc::clone(&bridge);
        async move { Ok::<_, std::convert::Infallible>(bridge.answer(request).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_MAX);
    // A browser that has gone away needs no answer.
    let _ = http.serve_connection(TokioIo::new(socket), answer).await;
}

impl Bridge {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let answered = match self.passage(&head.headers, &head.method, head.uri.path()) {
            Ok(Passage::File(file)) => {
                return file.map(|bytes| Full::new(Bytes::from_static(bytes)));
            }
            Ok(Passage::Call) => {
                match Limited::new(body, BODY_BYTES_MAX).collect().await.map(Collected::to_bytes) {
                    Ok(body) => self.pass(Request::from_parts(head, body)).await,
                    Err(_) => Err((
                        StatusCode::PAYLOAD_TOO_LARGE,
                        format!("The body is not whole, or has more than {BODY_BYTES_MAX} bytes."),
                    )),
                }
            }
            Err(refused) => Err(refused),
        };
        answered.unwrap_or_else(|(status, why)| refused(status, &why)).map(Full::new)
    }

    /// What becomes of a request, before its body is read.
    fn passage(
        &self,
        headers: &HeaderMap,
        method: &Method,
        path: &str,
    ) -> std::result::Result<Passage, Refused> {
        let is_here =
            headers.get(HOST).is_some_and(|host| host == self.address.to_string().as_str());
        if !is_here {
            let why = format!("Open http://{}/console/ instead.", self.address);
            return Err((StatusCode::MISDIRECTED_REQUEST, why));
        }
        if let Some(file) = minutehand_console::answer(method, path, headers) {
            return Ok(Passage::File(file));
        }
        if !API.iter().any(|beginning| path.starts_with(beginning)) {
            return Err((StatusCode::NOT_FOUND, format!("{path} is not a call of the console.")));
        }
        if !self.is_known(headers) {
            let why = "Open the link that `minutehand console` has printed.".to_owned();
            return Err((StatusCode::UNAUTHORIZED, why));
        }
        if path == LIVE {
            let why = "`minutehand console` passes no stream on; read again.".to_owned();
            return Err((StatusCode::NOT_FOUND, why));
        }
        let reads = *method == Method::GET
            || *method == Method::HEAD
            || (*method == Method::POST && READING_POSTS.iter().any(|end| path.ends_with(end)));
        if self.read_only && !reads {
            let why = "`minutehand console` was started with --read-only.".to_owned();
            return Err((StatusCode::FORBIDDEN, why));
        }
        Ok(Passage::Call)
    }

    /// Whether a request shows the secret. All of it is compared, so the time tells nothing.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        let shown = shown.and_then(|value| value.strip_prefix(b"Bearer ")).unwrap_or_default();
        let secret = self.secret.as_bytes();
        let differences = shown.iter().zip(secret).fold(0, |all, (a, b)| all | (a ^ b));
        shown.len() == secret.len() && differences == 0
    }

    async fn pass(&self, request: Request<Bytes>) -> std::result::Result<Response<Bytes>, Refused> {
        let is_me = request.uri().path() == ME;
        let answer = self.client.forward(request).await.map_err(|error| unanswered(&error))?;
        if answer.status() == StatusCode::UNAUTHORIZED {
            let why = "The server does not accept the token of this context: `minutehand login` \
                       keeps another.";
            return Err((StatusCode::FORBIDDEN, why.to_owned()));
        }
        if is_me && self.read_only && answer.status() == StatusCode::OK {
            return Ok(answer.map(|body| reading_only(&body)));
        }
        Ok(answer)
    }
}

/// A status, and what to do.
type Refused = (StatusCode, String);

/// What a request is for.
enum Passage {
    /// A file of the console.
    File(Response<&'static [u8]>),
    /// A call of the API.
    Call,
}

/// Says that the caller may only read, so that the console offers nothing else.
fn reading_only(body: &Bytes) -> Bytes {
    let Ok(Value::Object(mut me)) = serde_json::from_slice(body) else {
        return body.clone();
    };
    me.insert("may".to_owned(), json!(["read"]));
    Bytes::from(Value::Object(me).to_string())
}

fn unanswered(error: &Error) -> Refused {
    (StatusCode::BAD_GATEWAY, format!("{error}."))
}

/// A refusal in the words and the shape of the API.
pub(crate) fn refused(status: StatusCode, why: &str) -> Response<Bytes> {
    let code = status.canonical_reason().unwrap_or_default().replace(' ', "");
    let body = json!({"error": {"code": code, "message": why}}).to_string();
    let mut answer = Response::new(Bytes::from(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}
