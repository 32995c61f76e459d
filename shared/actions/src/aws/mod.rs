//! The actions for services of AWS, with the credentials of the process or of a role for actions.
//!
//! Each service is one file, which implements [`Service`]: the request, and the meaning of the
//! answer. This module finds the host, signs the request and sends it.
//!
//! The requests use the HTTP client of all other actions. Four operations are much less code than
//! four SDKs, which would be several times the size of the executor.
//!
//! A job names a queue, a topic, a function or a bus, but never a host of its own. The region is part
//! of the name, and the host follows from the region. Only the URL of a queue may name another host of
//! SQS. If the settings name an emulator, it is the host of all services.
//!
//! The installation's own queues, functions and buses are never targets.

mod event_bridge;
mod lambda;
mod role;
mod sign;
mod sns;
mod sqs;

use std::time::Duration;

use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use minutehand_domain::action::Target;
use minutehand_domain::arn::{Arn, is_region};
use minutehand_domain::own::OwnResources;
use minutehand_outbound::SigningScope;
use minutehand_ports::{ActionOutcome, AttemptContext, NotMade};
use minutehand_recurrence::format_instant;
use serde_json::Value;
use url::Url;

use crate::http::{ServiceClient, ServiceRequest, ServiceResponse, element_text};
use crate::net::ResolvedUrl;
use crate::outcome::{self, ActionFailure, Secrets, printable, status_name};
use crate::settings::Aws;

use role::Role;
use sign::{Signer, Source};

/// The attribute of a message that names the execution.
const EXECUTION_ATTRIBUTE: &str = "x-ms-scheduler-execution-id";

/// The attribute of a message that names the instant of the occurrence.
const OCCURRENCE_ATTRIBUTE: &str = "x-ms-scheduler-expected-execution-time";

/// The most attributes of a message.
const ATTRIBUTES_MAX: usize = 10;

/// The maximum length of the ids by which SQS and SNS detect duplicates.
const DEDUPLICATION_ID_CHARS_MAX: usize = 128;

/// The attributes by which a message names the execution, beside so many of the job's own. A job may have nine,
/// which leave room for one.
fn own_attributes(context: &AttemptContext, given: usize) -> Vec<(&'static str, String)> {
    let occurrence = (OCCURRENCE_ATTRIBUTE, format_instant(context.expected_at));
    let room = ATTRIBUTES_MAX.saturating_sub(given);
    [(EXECUTION_ATTRIBUTE, context.execution_id.clone()), occurrence]
        .into_iter()
        .take(room)
        .collect()
}

/// A service of AWS, implemented by the payload of its action.
pub(crate) trait Service: Sync {
    /// The service's name in host names and signatures.
    const NAME: &'static str;

    /// The region of the resource.
    fn region(&self, account: &Account) -> Result<String, ActionFailure>;

    /// The host of the service, if the resource names one; otherwise the region tells it.
    fn host(&self) -> Option<String> {
        None
    }

    /// The request.
    fn call(&self, context: &AttemptContext) -> ApiCall;

    /// What the request asked for, as the beginning of the message about its success.
    fn description(&self) -> String;

    /// The id that the service gave to the message in an answer with a status of success. The logs
    /// of the service have the same id.
    ///
    /// # Errors
    ///
    /// If the answer says that the service did not accept the message after all.
    fn accepted_id(&self, answer: &Answer<'_>) -> Result<Option<String>, ActionFailure>;
}

/// A request to a service before it is signed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ApiCall {
    path: String,
    headers: Vec<(&'static str, &'static str)>,
    body: String,
}

impl ApiCall {
    /// An operation of a JSON protocol.
    fn json(content_type: &'static str, operation: &'static str, body: &Value) -> Self {
        Self {
            path: "/".to_owned(),
            headers: vec![("content-type", content_type), ("x-amz-target", operation)],
            body: body.to_string(),
        }
    }
}

/// The answer of a service.
pub(crate) struct Answer<'a> {
    headers: &'a HeaderMap,
    text: &'a str,
    /// The text as JSON; null if it is not JSON.
    json: Value,
}

impl<'a> Answer<'a> {
    fn read(headers: &'a HeaderMap, text: &'a str) -> Self {
        Self { headers, text, json: serde_json::from_str(text).unwrap_or_default() }
    }

    fn header(&self, name: &str) -> Option<String> {
        let value = self.headers.get(name)?.to_str().ok()?;
        Some(value.to_owned())
    }

    fn field(&self, name: &str) -> Option<String> {
        self.json.get(name).and_then(Value::as_str).map(str::to_owned)
    }
}

/// Sends requests to services of AWS.
pub(crate) struct AwsSender {
    pub(crate) client: ServiceClient,
    pub(crate) account: Option<Account>,
    /// The installation's own resources.
    pub(crate) own: OwnResources,
    pub(crate) time_max: Duration,
}

impl AwsSender {
    /// Sends a request to a service within the time limit.
    pub(crate) async fn send<S: Service>(
        &self,
        target: &Target,
        service: &S,
        context: &AttemptContext,
    ) -> Result<ActionOutcome, NotMade> {
        let mut secrets = Secrets::default();
        if let Err(own) = self.own.check(target) {
            return outcome::not_sent(
                target,
                &ActionFailure::not_allowed(own.to_string()),
                &secrets,
            );
        }
        let limit = context.time_max(self.time_max);
        let sent = tokio::time::timeout(limit, self.request(service, context, &mut secrets)).await;
        match sent.unwrap_or_else(|_| Err(ActionFailure::message_timeout(limit))) {
            Ok(result) => {
                let (kind, description) = (target.type_name(), service.description());
                let result = printable(&secrets.redact(&result));
                let message = format!("{kind} Action - {description} succeeded: {result}");
                Ok(outcome::succeeded(message))
            }
            Err(failure) => outcome::not_sent(target, &failure, &secrets),
        }
    }

    /// Sends a request. Returns the status of the answer, and the id that the service gave to the
    /// message.
    async fn request<S: Service>(
        &self,
        service: &S,
        context: &AttemptContext,
        secrets: &mut Secrets,
    ) -> Result<String, ActionFailure> {
        let account = self.account.as_ref().ok_or_else(|| {
            ActionFailure::no_credentials(
                "Access to AWS is not configured; see --aws, and ActionArns on AWS.",
            )
        })?;
        let region = service.region(account)?;
        let ApiCall { path, headers: names, body } = service.call(context);
        let url = account.url(service, &region, &path)?;
        let mut headers = HeaderMap::with_capacity(8);
        for (name, value) in names {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let to = ResolvedUrl { url, is_from_settings: true };
        let mut request = ServiceRequest { to, headers, body: body.into_bytes() };
        let at = context.sent_at.into();
        let scope = SigningScope { service: S::NAME, region: &region, at };
        account.signer.sign(scope, &mut request, secrets).await?;
        let response = self.client.send(request).await?;
        result(service, &response)
    }
}

/// The result of a request, as the message about its success quotes it.
fn result<S: Service>(service: &S, response: &ServiceResponse) -> Result<String, ActionFailure> {
    let text = String::from_utf8_lossy(&response.body.bytes);
    if !response.status.is_success() {
        return Err(rejection(response.status, &response.headers, &text));
    }
    let status = status_name(response.status);
    let id = service.accepted_id(&Answer::read(&response.headers, &text))?;
    let id = id.map(|id| format!(", as '{id}'")).unwrap_or_default();
    Ok(format!("'{status}'{id}"))
}

/// The error in the answer of a service. Services use different protocols for it.
fn rejection(status: StatusCode, headers: &HeaderMap, text: &str) -> ActionFailure {
    let (status, answer) = (status_name(status), Answer::read(headers, text));
    let kind = answer.header("x-amzn-errortype").or_else(|| answer.field("__type"));
    let kind = kind.or_else(|| element_text(answer.text, "Code")).unwrap_or(status);
    // `com.amazonaws.sqs#QueueDoesNotExist`, `ResourceNotFoundException:http://…`
    let kind = kind.rsplit('#').next().and_then(|kind| kind.split(':').next()).unwrap_or(&kind);
    let message = answer.field("message").or_else(|| answer.field("Message"));
    let message = message.or_else(|| element_text(answer.text, "Message")).unwrap_or_default();
    ActionFailure::rejected(kind.to_owned(), message)
}

/// The account that requests are signed for, and the hosts of its services.
pub(crate) struct Account {
    endpoint: Option<Url>,
    region: String,
    signer: Signer,
}

impl Account {
    pub(crate) fn new(settings: &Aws, client: &ServiceClient) -> Self {
        let Aws { endpoint, region, credentials, role } = settings.clone();
        let own = Signer::new(Source::Provider(credentials));
        let signer = match role {
            None => own,
            Some(arn) => Signer::new(Source::Role(Role {
                arn,
                endpoint: endpoint.clone(),
                region: region.clone(),
                signer: Box::new(own),
                client: client.clone(),
            })),
        };
        Self { endpoint, region, signer }
    }

    fn url<S: Service>(&self, service: &S, region: &str, path: &str) -> Result<Url, ActionFailure> {
        match (&self.endpoint, service.host()) {
            (None, Some(host)) => parsed(&format!("https://{host}{path}"), region),
            (endpoint, _) => url_of(endpoint.as_ref(), S::NAME, region, path),
        }
    }

    /// The region of a resource, if it has an ARN; otherwise the region of the account.
    fn region_of(&self, arn: Option<&Arn>) -> String {
        arn.map_or(self.region.as_str(), Arn::region).to_owned()
    }
}

/// The URL of a service. A region consists of letters, digits and dashes, so that it cannot lead to
/// another host.
fn url_of(
    endpoint: Option<&Url>,
    service: &str,
    region: &str,
    path: &str,
) -> Result<Url, ActionFailure> {
    let base = match endpoint {
        Some(endpoint) => endpoint.as_str().trim_end_matches('/').to_owned(),
        None if is_region(region) => {
            let china = if region.starts_with("cn-") { ".cn" } else { "" };
            format!("https://{service}.{region}.amazonaws.com{china}")
        }
        None => String::new(),
    };
    parsed(&format!("{base}{path}"), region)
}

fn parsed(url: &str, region: &str) -> Result<Url, ActionFailure> {
    Url::parse(url)
        .map_err(|_| ActionFailure::canceled(format!("'{region}' is not a region of AWS.")))
}

/// The message group of a FIFO queue or topic. The default is a group for each job, so that the
/// messages of a job keep their order.
fn message_group<'a>(
    given: Option<&'a str>,
    is_fifo: bool,
    context: &'a AttemptContext,
) -> Option<&'a str> {
    given.or(is_fifo.then_some(context.job_uid.as_str()))
}

/// The id by which a FIFO queue or topic detects duplicates.
fn deduplication_id(context: &AttemptContext) -> &str {
    let id = context.execution_id.as_str();
    // Ids are ASCII. The end of the id distinguishes the executions of a job.
    id.get(id.len().saturating_sub(DEDUPLICATION_ID_CHARS_MAX)..).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use minutehand_domain::chain::Depth;
    use minutehand_domain::missed::Missed;

    use super::*;

    /// An attempt of the occurrence at 1,700,000,000 seconds.
    pub(super) fn context() -> AttemptContext {
        AttemptContext {
            execution_id: "u1.1.2.m0".to_owned(),
            job: "nightly".to_owned(),
            job_path: "s/Grün, 1/c/nightly".to_owned(),
            job_uid: "u1".to_owned(),
            collection_uid: "c1".to_owned(),
            expected_at: DateTime::from_timestamp(1_700_000_000, 500).unwrap(),
            sent_at: DateTime::UNIX_EPOCH,
            region: "local".to_owned(),
            signed: None,
            time_max: None,
            missed: Missed::default(),
            depth: Depth::default().next(),
            completion_url: None,
        }
    }

    #[test]
    fn deduplication_ids_are_cut_at_the_limit_of_the_services() {
        let long = AttemptContext { execution_id: format!("{}end", "x".repeat(200)), ..context() };
        assert_eq!(deduplication_id(&long).len(), DEDUPLICATION_ID_CHARS_MAX);
        assert!(deduplication_id(&long).ends_with("end"));
    }
}
