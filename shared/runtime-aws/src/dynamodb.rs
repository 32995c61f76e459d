//! DynamoDB as the functions reach it: the SDK's client, and a shorter way for frequent requests.
//!
//! For each request the client assembles its configuration, interceptors, endpoint and identity anew.
//! All of that is the same for every request of a process, so [`SignedRequests`] has it from the start:
//! it signs a request that the SDK has written, sends it, and tries again where the client would.
//!
//! | what the service or the network does | what follows |
//! |---|---|
//! | it refuses a request as too many, or fails itself | tried again after a backoff, on another connection if the service failed |
//! | the connection fails, or no answer comes in time | tried again after a backoff; the lost request may have been performed, as with the client |
//! | it answers anything else | the answer is returned |
//!
//! A try is limited like one of the client, and so are all tries together.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::endpoint::{DefaultResolver, Params, ResolveEndpoint as _};
use aws_smithy_async::time::{SharedTimeSource, SystemTimeSource};
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::connection::CaptureSmithyConnection;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::identity::Identity;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_types::SdkConfig;
use http_body_util::BodyExt as _;
use minutehand_outbound::{Payload, SigningScope, chance, signature};
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until, timeout};

use crate::agent::AGENT;
use crate::clients::{
    AwsSettings, FIRST_BACKOFF, REQUEST_TIME_MAX, TRIES_MAX, TRY_TIME_MAX, dynamodb_client,
};
use crate::throttling::{counting_throttles, is_throttled};
use crate::{Metric, Tally};

/// The service in a signature.
const SERVICE: &str = "dynamodb";
/// The most requests under way at a time: as many connections are made, and each of them takes a handshake.
const IN_FLIGHT_MAX: usize = 64;
/// Errors of the status 400 that another try may overcome.
const TEMPORARY: [&str; 5] = [
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestTimeout",
    "ThrottlingException",
    "TransactionInProgressException",
];

/// DynamoDB, with or without the shorter way.
#[derive(Debug, Clone)]
pub struct DynamoDb {
    client: Client,
    requests: Option<SignedRequests>,
}

/// Without the shorter way.
impl From<Client> for DynamoDb {
    fn from(client: Client) -> Self {
        Self { client, requests: None }
    }
}

impl DynamoDb {
    /// DynamoDB with these settings, and their configuration.
    ///
    /// # Errors
    ///
    /// If the service has no endpoint for the settings, or the TLS library refuses its own.
    pub async fn new(aws: &AwsSettings, config: &SdkConfig) -> Result<Self, BoxError> {
        let own = aws.endpoint_urls.0.get("DynamoDB").map(String::as_str);
        let params = Params::builder()
            .region(&aws.region)
            .use_fips(aws.use_fips)
            .use_dual_stack(aws.use_dual_stack)
            .set_endpoint(own.or(config.endpoint_url()).map(ToOwned::to_owned))
            .build()?;
        let endpoint = DefaultResolver::new().resolve_endpoint(&params).await?;
        let url = format!("{}/", endpoint.url().trim_end_matches('/'));
        let host = url.split("://").nth(1).and_then(|rest| rest.split('/').next());
        let host = host.ok_or("the endpoint of DynamoDB has no host")?.to_owned();
        let requests = SignedRequests {
            connections: SharedHttpConnector::new(aws.connections()?),
            url: url.into(),
            host: host.into(),
            region: aws.region.as_str().into(),
            identity: aws.credentials.clone().into(),
            time: config
                .time_source()
                .unwrap_or_else(|| SharedTimeSource::new(SystemTimeSource::new())),
            tally: None,
            permits: Arc::new(Semaphore::new(IN_FLIGHT_MAX)),
        };
        Ok(Self { client: dynamodb_client(config), requests: Some(requests) })
    }

    /// The same, which counts requests that are refused as too many even at their last try.
    #[must_use]
    pub fn counting_throttles(&self, tally: &Arc<Tally>) -> Self {
        let counting = |requests: &SignedRequests| SignedRequests {
            tally: Some(tally.clone()),
            ..requests.clone()
        };
        Self {
            client: counting_throttles(&self.client, tally),
            requests: self.requests.as_ref().map(counting),
        }
    }

    /// The client, for every request.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The shorter way, for requests that the SDK has written.
    #[must_use]
    pub fn connector(&self) -> Option<SharedHttpConnector> {
        self.requests.clone().map(SharedHttpConnector::new)
    }
}

/// Signs requests, sends them, and tries again.
#[derive(Debug, Clone)]
struct SignedRequests {
    connections: SharedHttpConnector,
    url: Arc<str>,
    host: Arc<str>,
    region: Arc<str>,
    identity: Identity,
    time: SharedTimeSource,
    /// Where refused requests are counted.
    tally: Option<Arc<Tally>>,
    /// A permit for each request that is under way.
    permits: Arc<Semaphore>,
}

impl HttpConnector for SignedRequests {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let requests = self.clone();
        HttpConnectorFuture::new(async move {
            let answer = timeout(REQUEST_TIME_MAX, requests.in_tries(request)).await;
            answer.unwrap_or_else(|error| Err(ConnectorError::timeout(error.into())))
        })
    }
}

impl SignedRequests {
    async fn in_tries(self, mut request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        // Nothing closes it.
        let _permit = self.permits.acquire().await;
        request.set_uri(&*self.url).map_err(|error| ConnectorError::user(error.into()))?;
        let headers = request.headers_mut();
        headers.insert("host", self.host.to_string());
        headers.insert("user-agent", AGENT);
        let mut backoff = FIRST_BACKOFF;
        for _ in 1..TRIES_MAX {
            // A body in memory can be copied.
            let Some(copy) = request.try_clone() else { break };
            match self.once(copy).await {
                Ok(answer) if !is_temporary(&answer) => return Ok(answer),
                Err(error) if !(error.is_io() || error.is_timeout()) => return Err(error),
                _ => {}
            }
            // From none to the whole, so that requests that failed together meet less often.
            sleep_until(Instant::now() + backoff.mul_f64(chance())).await;
            backoff *= 2;
        }
        let last = self.once(request).await;
        if let (Ok(answer), Some(tally)) = (&last, &self.tally)
            && is_throttled(answer)
        {
            tally.add(Metric::Throttled, 1);
        }
        last
    }

    /// One try. The answer is read to its end.
    async fn once(&self, mut request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        self.sign(&mut request).map_err(ConnectorError::user)?;
        let connection = CaptureSmithyConnection::new();
        request.add_extension(connection.clone());
        let answer = timeout(TRY_TIME_MAX, async {
            let mut answer = self.connections.call(request).await?;
            let body = std::mem::replace(answer.body_mut(), SdkBody::taken());
            let read = body.collect().await.map_err(ConnectorError::io)?;
            *answer.body_mut() = SdkBody::from(read.to_bytes());
            Ok(answer)
        });
        let answer =
            answer.await.unwrap_or_else(|error| Err(ConnectorError::timeout(error.into())))?;
        if answer.status().is_server_error()
            && let Some(connection) = connection.get()
        {
            connection.poison();
        }
        Ok(answer)
    }

    /// Adds the headers of the signature.
    fn sign(&self, request: &mut HttpRequest) -> Result<(), BoxError> {
        let scope = SigningScope { service: SERVICE, region: &self.region, at: self.time.now() };
        let body = request.body().bytes().unwrap_or_default();
        let payload = Payload { method: request.method(), url: request.uri(), body };
        let headers = request.headers().iter();
        for (name, value) in signature(self.identity.clone(), scope, payload, headers)? {
            request
                .headers_mut()
                .try_insert(name.as_str().to_owned(), value.to_str()?.to_owned())?;
        }
        Ok(())
    }
}

/// Whether the same request may succeed a moment later.
fn is_temporary(answer: &HttpResponse) -> bool {
    match answer.status().as_u16() {
        500.. => true,
        // The answer may contain an item, and the reasons of the items of a transaction. Only the code
        // of the whole counts.
        400 => {
            let body = answer.body().bytes().unwrap_or_default();
            let refusal: Refusal = serde_json::from_slice(body).unwrap_or_default();
            let code = refusal.code.rsplit('#').next().unwrap_or_default();
            TEMPORARY.contains(&code)
        }
        _ => false,
    }
}

/// An error as the service writes it.
#[derive(Default, Deserialize)]
struct Refusal {
    #[serde(rename = "__type", default)]
    code: String,
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::{Duration, UNIX_EPOCH};

    use aws_smithy_async::time::StaticTimeSource;
    use aws_smithy_runtime_api::http::StatusCode;
    use serde_json::{Value, json};

    use super::*;
    use crate::Variables;

    /// Saves requests, and answers them in turn; the last answer again and again.
    #[derive(Debug, Clone)]
    struct Service {
        answers: Arc<Vec<(u16, Value)>>,
        saved: Arc<Mutex<Vec<HttpRequest>>>,
    }

    impl HttpConnector for Service {
        fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
            let mut saved = self.saved.lock().unwrap();
            let next = saved.len().min(self.answers.len() - 1);
            saved.push(request);
            let (status, body) = &self.answers[next];
            let status = StatusCode::try_from(*status).unwrap();
            HttpConnectorFuture::ready(Ok(HttpResponse::new(
                status,
                SdkBody::from(body.to_string()),
            )))
        }
    }

    async fn requests(
        answers: Vec<(u16, Value)>,
        more: &[(&'static str, &str)],
    ) -> (SignedRequests, Service, Arc<Tally>) {
        let lambda = [
            ("AWS_REGION", "eu-west-1"),
            ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
            ("AWS_SECRET_ACCESS_KEY", "hunter2"),
            ("AWS_SESSION_TOKEN", "token"),
        ];
        let mut variables = Variables::of(lambda.into_iter().chain(more.iter().copied()));
        let aws = AwsSettings::read(&mut variables);
        let tally = Arc::new(Tally::default());
        let dynamodb = DynamoDb::new(&aws, &aws.config().unwrap()).await.unwrap();
        let service = Service { answers: answers.into(), saved: Arc::default() };
        let requests = SignedRequests {
            connections: SharedHttpConnector::new(service.clone()),
            time: StaticTimeSource::new(UNIX_EPOCH + Duration::from_hours(24 * 365)).into(),
            ..dynamodb.counting_throttles(&tally).requests.unwrap()
        };
        (requests, service, tally)
    }

    fn request() -> HttpRequest {
        let mut request = HttpRequest::new(SdkBody::from("{}"));
        request.set_method("POST").unwrap();
        request.headers_mut().insert("x-amz-target", "DynamoDB_20120810.GetItem");
        request
    }

    fn throttled(tally: &Tally) -> bool {
        let printed = tally.take("table", chrono::DateTime::UNIX_EPOCH).concat();
        printed.contains("\"Throttled\":1")
    }

    #[tokio::test]
    async fn a_request_is_signed_for_its_host_and_its_time() {
        let (requests, service, _) = requests(vec![(200, json!({}))], &[]).await;
        requests.call(request()).await.unwrap();
        let saved = service.saved.lock().unwrap();
        assert_eq!(saved[0].uri(), "https://dynamodb.eu-west-1.amazonaws.com/");
        let header = |name| saved[0].headers().get(name).unwrap();
        assert_eq!(header("host"), "dynamodb.eu-west-1.amazonaws.com");
        assert_eq!(header("user-agent"), "minutehand");
        assert_eq!(header("x-amz-date"), "19710101T000000Z");
        assert_eq!(header("x-amz-security-token"), "token");
        let authorization = header("authorization");
        assert!(
            authorization.starts_with(
                "AWS4-HMAC-SHA256 \
                 Credential=AKIDEXAMPLE/19710101/eu-west-1/dynamodb/aws4_request, \
                 SignedHeaders=host;x-amz-date;x-amz-security-token;x-amz-target, Signature="
            ),
            "{authorization}"
        );
        assert!(!format!("{requests:?}").contains("hunter2"));
    }

    #[tokio::test]
    async fn the_endpoint_is_that_of_the_clients() {
        let table = [
            (
                vec![("AWS_USE_FIPS_ENDPOINT", "true")],
                "https://dynamodb-fips.eu-west-1.amazonaws.com/",
            ),
            (vec![("AWS_USE_DUALSTACK_ENDPOINT", "true")], "https://dynamodb.eu-west-1.api.aws/"),
            (vec![("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")], "http://127.0.0.1:4566/"),
            (
                vec![
                    ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
                    ("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:2/"),
                ],
                "http://127.0.0.1:2/",
            ),
        ];
        for (variables, url) in table {
            let (requests, _, _) = requests(vec![(200, json!({}))], &variables).await;
            assert_eq!(&*requests.url, url);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn temporary_errors_are_tried_again_and_each_try_is_signed() {
        let refused = |code: &str| (400, json!({ "__type": format!("com.amazonaws#{code}") }));
        let answers = vec![
            refused("ProvisionedThroughputExceededException"),
            (503, json!({})),
            refused("TransactionInProgressException"),
            (200, json!({ "Item": {} })),
        ];
        let (requests, service, tally) = requests(answers, &[]).await;
        let answer = requests.call(request()).await.unwrap();
        assert_eq!(answer.body().bytes(), Some(r#"{"Item":{}}"#.as_bytes()));
        let saved = service.saved.lock().unwrap();
        assert_eq!(saved.len(), TRIES_MAX as usize);
        assert!(saved.iter().all(|request| request.headers().get("authorization").is_some()));
        assert!(!throttled(&tally), "it was not refused in the end");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_always_refused_is_answered_with_the_refusal_and_counted_once() {
        let (requests, service, tally) =
            requests(vec![(400, json!({ "__type": "ThrottlingException" }))], &[]).await;
        let answer = requests.call(request()).await.unwrap();
        assert_eq!(answer.status().as_u16(), 400);
        assert_eq!(service.saved.lock().unwrap().len(), TRIES_MAX as usize);
        assert!(throttled(&tally));
    }

    #[tokio::test]
    async fn any_other_answer_is_returned_at_once() {
        let with_item = json!({
            "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
            "Item": { "text": { "S": "ThrottlingException" } },
        });
        for answer in [with_item, json!({ "__type": "ValidationException" })] {
            let (requests, service, _) = requests(vec![(400, answer.clone())], &[]).await;
            requests.call(request()).await.unwrap();
            assert_eq!(service.saved.lock().unwrap().len(), 1, "{answer}");
        }
    }
}
