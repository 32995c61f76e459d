//! Objects in a bucket of S3, and of services that speak like it.
//!
//! The requests use the HTTP and TLS libraries of all other requests of the program, and its signatures.
//! Five operations are much less code than an SDK.
//!
//! Every request may be sent again: a write of the same object changes nothing, and a creation whose
//! answer was lost is answered with 412 then, which says that the object exists. Who created it, its
//! content says.

use std::fmt;
use std::io::{self, ErrorKind};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use http::header::{CONTENT_TYPE, HOST, HeaderValue, IF_NONE_MATCH};
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;
use minutehand_outbound::{
    AwsEnvironment, Exchange, Pauses, Payload, Pool, Provider, SigningScope, exchange, pool,
    signature, texts,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use crate::listing::{self, Listing};
use crate::store::Store;

/// How long it may take to connect.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// How long a request may take, from connecting to the end of its answer.
const REQUEST_TIME_MAX: Duration = Duration::from_mins(1);
/// The most bytes of an answer. Objects that this program writes have some 2 MB.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// How often a request is sent that fails with 5xx, or that is not answered.
const TRIES_MAX: u32 = 6;
/// The pause before the second try. It doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// The most pages of a list. A page has a thousand names.
const PAGES_MAX: usize = 10_000;
/// The most characters of an answer in an error.
const SHOWN_CHARS_MAX: usize = 300;

/// The region if the environment has none.
const REGION: &str = "us-east-1";
/// The variables that name a service other than Amazon's. The first that is set counts.
const ENDPOINT_VARIABLES: [&str; 2] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"];

/// The characters that are encoded in a path and in a query.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const ESCAPED_IN_PATH: &AsciiSet = &ESCAPED.remove(b'/');

/// A bucket, and what all names in it begin with.
#[derive(Clone)]
pub(crate) struct Bucket {
    /// The URL of the bucket, without a slash at its end.
    url: String,
    /// Empty, or with a slash at its end.
    prefix: String,
    region: String,
    credentials: Provider,
    pool: Pool,
    now: fn() -> DateTime<Utc>,
    first_pause: Duration,
}

/// Omits the credentials.
impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket")
            .field("url", &self.url)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

/// A request before it is signed.
struct Call<'a> {
    method: Method,
    /// The name of the object; empty for the bucket.
    name: &'a str,
    query: String,
    is_new_only: bool,
    body: Bytes,
}

impl<'a> Call<'a> {
    fn new(method: Method, name: &'a str) -> Self {
        Self { method, name, query: String::new(), is_new_only: false, body: Bytes::new() }
    }
}

struct Answer(Exchange);

impl Bucket {
    /// Prepares requests. `now` is the real time, for signatures.
    pub(crate) fn open(
        bucket: &str,
        prefix: &str,
        environment: impl Fn(&str) -> Option<String>,
        now: fn() -> DateTime<Utc>,
    ) -> Result<Self, String> {
        let given = |name: &str| environment(name).filter(|value| !value.is_empty());
        let home = given("HOME").map(Into::into);
        let credentials = Provider::new(&AwsEnvironment { variable: &environment, home })
            .map_err(|error| error.to_string())?;
        let region = given("AWS_REGION").or_else(|| given("AWS_DEFAULT_REGION"));
        let region = region.unwrap_or_else(|| REGION.to_owned());
        let endpoint = ENDPOINT_VARIABLES.into_iter().find_map(given);
        let endpoint = endpoint.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
        let is_url = Url::parse(&endpoint)
            .is_ok_and(|url| url.has_host() && matches!(url.scheme(), "http" | "https"));
        if !is_url {
            return Err(format!(
                "{endpoint} is not an http or https URL: correct AWS_ENDPOINT_URL_S3"
            ));
        }
        let is_https = endpoint.starts_with("https:");
        Ok(Self {
            url: format!("{}/{bucket}", endpoint.trim_end_matches('/')),
            prefix: if prefix.is_empty() { String::new() } else { format!("{prefix}/") },
            region,
            credentials,
            pool: pool(is_https, CONNECT_TIME_MAX).map_err(|error| error.to_string())?,
            now,
            first_pause: FIRST_PAUSE,
        })
    }

    /// Sends a request, and again if it failed in a way that may pass.
    async fn send(&self, call: &Call<'_>) -> io::Result<Answer> {
        let mut backoff = Pauses::new(self.first_pause, LONGEST_PAUSE);
        for _ in 1..TRIES_MAX {
            match self.send_once(call).await {
                Ok(answer) if !answer.may_pass() => return Ok(answer),
                Err(error) if is_final(&error) => return Err(error),
                Ok(_) | Err(_) => wait(backoff.pause()).await,
            }
        }
        self.send_once(call).await
    }

    async fn send_once(&self, call: &Call<'_>) -> io::Result<Answer> {
        let request = self.signed(call).await?;
        exchange(&self.pool, request, REQUEST_TIME_MAX, ANSWER_BYTES_MAX).await.map(Answer)
    }

    async fn signed(&self, call: &Call<'_>) -> io::Result<Request<Full<Bytes>>> {
        let mut url = self.url.clone();
        if !call.name.is_empty() {
            let key = format!("{}{}", self.prefix, call.name);
            url.extend(["/", &utf8_percent_encode(&key, ESCAPED_IN_PATH).to_string()]);
        }
        if !call.query.is_empty() {
            url.extend(["?", &call.query]);
        }
        let mut request = Request::new(Full::new(call.body.clone()));
        *request.method_mut() = call.method.clone();
        *request.uri_mut() = url.parse().map_err(invalid)?;
        let host = request.uri().authority().map(ToString::to_string).unwrap_or_default();
        let headers = request.headers_mut();
        headers.insert(HOST, HeaderValue::from_str(&host).map_err(invalid)?);
        if call.method == Method::PUT {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        }
        if call.is_new_only {
            headers.insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
        }
        let at = (self.now)().into();
        let credentials = self.credentials.credentials(at).await;
        let credentials =
            credentials.map_err(|error| io::Error::new(ErrorKind::PermissionDenied, error))?;
        let scope = SigningScope { service: "s3", region: &self.region, at };
        let payload = Payload { method: call.method.as_str(), url: &url, body: &call.body };
        let signature = signature(credentials, scope, payload, texts(headers)).map_err(invalid)?;
        headers.extend(signature);
        Ok(request)
    }
}

#[async_trait]
impl Store for Bucket {
    async fn get(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let answer = self.send(&Call::new(Method::GET, name)).await?;
        match answer.0.status {
            StatusCode::OK => Ok(Some(answer.0.body.into())),
            StatusCode::NOT_FOUND if !answer.says("NoSuchBucket") => Ok(None),
            _ => Err(answer.into_error()),
        }
    }

    async fn put(&self, name: &str, bytes: Vec<u8>) -> io::Result<()> {
        let answer =
            self.send(&Call { body: bytes.into(), ..Call::new(Method::PUT, name) }).await?;
        if answer.0.status.is_success() { Ok(()) } else { Err(answer.into_error()) }
    }

    async fn create(&self, name: &str, bytes: Vec<u8>, _key: &str) -> io::Result<bool> {
        let call = Call { body: bytes.into(), is_new_only: true, ..Call::new(Method::PUT, name) };
        let answer = self.send(&call).await?;
        match answer.0.status {
            StatusCode::PRECONDITION_FAILED => Ok(false),
            status if status.is_success() => Ok(true),
            _ => Err(answer.into_error()),
        }
    }

    async fn delete(&self, name: &str) -> io::Result<()> {
        let answer = self.send(&Call::new(Method::DELETE, name)).await?;
        let is_gone = answer.0.status == StatusCode::NOT_FOUND && !answer.says("NoSuchBucket");
        if answer.0.status.is_success() || is_gone { Ok(()) } else { Err(answer.into_error()) }
    }

    async fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        let folder = format!("{}{folder}/", self.prefix);
        let (mut names, mut token) = (Vec::new(), None::<String>);
        for _ in 0..PAGES_MAX {
            let mut query = format!("delimiter=%2F&list-type=2&prefix={}", escaped(&folder));
            if let Some(token) = token {
                query = format!("continuation-token={}&{query}", escaped(&token));
            }
            let call = Call { query, ..Call::new(Method::GET, "") };
            let answer = self.send(&call).await?;
            if answer.0.status != StatusCode::OK {
                return Err(answer.into_error());
            }
            let Listing { keys, next } = listing::read(&answer.0.body)
                .map_err(|why| io::Error::other(format!("the list cannot be read: {why}")))?;
            let inside = keys.iter().filter_map(|key| key.strip_prefix(&folder));
            names.extend(inside.map(|name| name.trim_end_matches('/').to_owned()));
            token = next;
            if token.is_none() {
                break;
            }
        }
        names.retain(|name| !name.is_empty());
        names.sort_unstable();
        Ok(names)
    }
}

impl Answer {
    /// Whether the same request may succeed a moment later: the service is busy, asks to slow down, or
    /// does something else with the object just now.
    fn may_pass(&self) -> bool {
        self.0.status.is_server_error()
            || self.0.status == StatusCode::TOO_MANY_REQUESTS
            || self.0.status == StatusCode::CONFLICT
            || self.says("RequestTimeout")
    }

    /// Whether the body names this code.
    fn says(&self, code: &str) -> bool {
        let text = String::from_utf8_lossy(&self.0.body);
        text.contains(&format!("<Code>{code}</Code>"))
    }

    fn into_error(self) -> io::Error {
        let is_expired = self.says("ExpiredToken");
        let text = String::from_utf8_lossy(&self.0.body);
        let text: String = text.chars().filter(|c| !c.is_control()).take(SHOWN_CHARS_MAX).collect();
        let region = self.0.headers.get("x-amz-bucket-region").and_then(|it| it.to_str().ok());
        if let (true, Some(region)) = (self.0.status.is_redirection(), region) {
            let why = format!("the bucket is in another region: set AWS_REGION={region}");
            return io::Error::new(ErrorKind::InvalidInput, why);
        }
        let kind = match self.0.status {
            // Amazon's service says it with 400.
            _ if is_expired => ErrorKind::PermissionDenied,
            StatusCode::NOT_FOUND => ErrorKind::NotFound,
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => ErrorKind::PermissionDenied,
            _ => ErrorKind::Other,
        };
        io::Error::new(kind, format!("the service answered {}: {text}", self.0.status))
    }
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, error)
}

/// Whether another try helps nothing: the request is wrong, or there are no credentials.
fn is_final(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::PermissionDenied)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the service is busy, and no signal says when it no longer is; tests pause the clock"
)]
async fn wait(pause: Duration) {
    tokio::time::sleep(pause).await;
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;

    use super::*;

    /// A bucket whose service gives these answers, each on a connection of its own, and the requests
    /// that it got: the first line and what follows of interest.
    async fn bucket(answers: &[String]) -> (Bucket, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let environment = |name: &str| match name {
            "AWS_ENDPOINT_URL_S3" => Some(url.clone()),
            "AWS_ACCESS_KEY_ID" => Some("AKIDEXAMPLE".to_owned()),
            "AWS_SECRET_ACCESS_KEY" => Some("hunter2".to_owned()),
            _ => None,
        };
        let now = || DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let mut bucket = Bucket::open("b", "p", environment, now).unwrap();
        bucket.first_pause = Duration::from_millis(1);
        let answers = answers.to_vec();
        let served = tokio::spawn(async move {
            let mut requests = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap().to_lowercase();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
                stream.read_exact(&mut body).await.unwrap();
                let condition = if head.contains("if-none-match: *") { " new" } else { "" };
                assert!(head.contains("authorization: aws4-hmac-sha256 credential=akidexample/"));
                assert!(head.contains("x-amz-content-sha256: "), "{head}");
                let line = head.lines().next().unwrap().replace(" http/1.1", "");
                requests.push(format!("{line}{condition}"));
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
            requests
        });
        (bucket, served)
    }

    fn answer(status: &str, body: &str) -> String {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
    }

    fn error(status: &str, code: &str) -> String {
        answer(status, &format!("<Error><Code>{code}</Code><Message>m</Message></Error>"))
    }

    #[tokio::test]
    async fn a_busy_service_is_asked_again() {
        let slow = error("503 Slow Down", "SlowDown");
        let broken = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf".to_owned();
        let answers =
            [slow.clone(), broken, error("500 Oops", "InternalError"), answer("200 OK", "x")];
        let (bucket, served) = bucket(&answers).await;
        assert_eq!(bucket.get("a/b=c").await.unwrap().as_deref(), Some(&b"x"[..]));
        assert_eq!(served.await.unwrap(), ["get /b/p/a/b%3dc"; 4]);

        // Not for ever.
        let (bucket, served) = self::bucket(&vec![slow; TRIES_MAX as usize]).await;
        let error = bucket.put("a", b"x".to_vec()).await.unwrap_err();
        assert!(
            error.to_string().contains("503") && error.to_string().contains("SlowDown"),
            "{error}"
        );
        assert_eq!(served.await.unwrap().len(), TRIES_MAX as usize);
    }

    #[tokio::test]
    async fn a_creation_that_meets_another_or_its_own_says_that_the_object_exists() {
        let conflict = error("409 Conflict", "ConditionalRequestConflict");
        let exists = error("412 Precondition Failed", "PreconditionFailed");
        // The answer to the first one is lost, so the second meets it.
        let lost = "HTTP/1.1 200".to_owned();
        for answers in
            [vec![exists.clone()], vec![conflict.clone(), exists.clone()], vec![lost, exists]]
        {
            let (bucket, served) = bucket(&answers).await;
            assert!(!bucket.create("m", b"x".to_vec(), "").await.unwrap());
            assert_eq!(served.await.unwrap(), vec!["put /b/p/m new"; answers.len()]);
        }
        let (bucket, _served) = bucket(&[conflict, answer("200 OK", "")]).await;
        assert!(bucket.create("m", b"x".to_vec(), "").await.unwrap());
    }

    #[tokio::test]
    async fn refusals_say_what_to_change_and_are_not_repeated() {
        for (status, code, kind) in [
            ("403 Forbidden", "AccessDenied", ErrorKind::PermissionDenied),
            ("400 Bad Request", "ExpiredToken", ErrorKind::PermissionDenied),
            ("404 Not Found", "NoSuchBucket", ErrorKind::NotFound),
            ("507 Full", "QuotaExceeded", ErrorKind::Other),
        ] {
            let times = if status.starts_with('5') { TRIES_MAX as usize } else { 1 };
            let (bucket, served) = bucket(&vec![error(status, code); times]).await;
            let refused = bucket.put("a", Vec::new()).await.unwrap_err();
            assert_eq!(refused.kind(), kind, "{refused}");
            assert!(refused.to_string().contains(code), "{refused}");
            assert_eq!(served.await.unwrap().len(), times);
        }
        let moved =
            "HTTP/1.1 301 Moved\r\nx-amz-bucket-region: eu-west-1\r\ncontent-length: 0\r\n\r\n";
        let (bucket, _served) = bucket(&[moved.to_owned()]).await;
        let refused = bucket.get("a").await.unwrap_err();
        assert!(refused.to_string().contains("set AWS_REGION=eu-west-1"), "{refused}");
    }

    #[tokio::test]
    async fn what_does_not_exist_is_no_error() {
        let missing = error("404 Not Found", "NoSuchKey");
        let (bucket, served) =
            bucket(&[missing.clone(), missing, answer("204 No Content", "")]).await;
        assert_eq!(bucket.get("a").await.unwrap(), None);
        bucket.delete("a").await.unwrap();
        bucket.delete("a").await.unwrap();
        assert_eq!(served.await.unwrap()[1], "delete /b/p/a");
    }

    #[tokio::test]
    async fn a_list_is_read_to_its_last_page() {
        let page = |keys: &str, more: &str| {
            answer(
                "200 OK",
                &format!("<?xml version=\"1.0\"?><R><Prefix>p/f/</Prefix>{keys}{more}</R>"),
            )
        };
        let first = page(
            "<Contents><Key>p/f/b.gz</Key></Contents><Contents><Key>p/f/</Key></Contents>",
            "<NextContinuationToken>a+b=</NextContinuationToken>",
        );
        let last = page(
            "<Contents><Key>p/f/a&amp;&#98;</Key></Contents>\
             <CommonPrefixes><Prefix>p/f/date=2026-11-21/</Prefix></CommonPrefixes>",
            "",
        );
        let (bucket, served) = bucket(&[first, last]).await;
        assert_eq!(bucket.names("f").await.unwrap(), ["a&b", "b.gz", "date=2026-11-21"]);
        assert_eq!(
            served.await.unwrap(),
            [
                "get /b?delimiter=%2f&list-type=2&prefix=p%2ff%2f",
                "get /b?continuation-token=a%2bb%3d&delimiter=%2f&list-type=2&prefix=p%2ff%2f",
            ]
        );
        let (bucket, _served) = self::bucket(&[answer("200 OK", "<R><Contents>")]).await;
        assert!(bucket.names("f").await.is_err());
    }

    #[test]
    fn keys_are_needed_and_shown_nowhere() {
        let now = || DateTime::UNIX_EPOCH;
        let off = |name: &str| (name == "AWS_EC2_METADATA_DISABLED").then(|| "true".to_owned());
        let without = Bucket::open("b", "", off, now).unwrap_err();
        assert!(
            without.starts_with("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
            "{without}"
        );
        let with =
            |name: &str| Some(if name.contains("URL") { "ftp://x" } else { "hunter2" }.to_owned());
        let wrong = Bucket::open("b", "", with, now).unwrap_err();
        assert!(wrong.contains("correct AWS_ENDPOINT_URL_S3"), "{wrong}");
        let with = |name: &str| (!name.contains("URL")).then(|| "hunter2".to_owned());
        let bucket = Bucket::open("b", "", with, now).unwrap();
        assert!(!format!("{bucket:?}").contains("secret"), "{bucket:?}");
    }
}
