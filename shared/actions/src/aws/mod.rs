//! Messages, invocations and events for services of AWS, in the name of whoever runs us.
//!
//! Each is one signed request, sent by the clients that everything else goes through: four operations
//! are less than four SDKs, whose code would be several times that of the executor.
//!
//! A job names a queue, a topic, a function or a bus, and never a host: the region is part of the
//! name, and the host follows from it, or the settings name an emulator's for all.

mod requests;
mod sign;

use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::provider::SharedCredentialsProvider;
use domain::action::{Lambda, Sqs, Target};
use domain::arn::{Arn, is_region};
use domain::attempt::Outcome;
use domain::message::failed;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use ports::{ActionOutcome, AttemptContext};
use serde_json::Value;
use url::{Host, Url};

use crate::endpoint::ResolvedUrl;
use crate::failure::ActionFailure;
use crate::message::shown_text;
use crate::post::{PostAnswer, PostRequest, Poster};
use crate::redact::SecretForms;
use crate::settings::Aws;
use crate::status;
use crate::xml::element;

use requests::Ask;
use sign::{Scope, Signer};

/// The most characters that are told of what a service says.
const SAID_CHARS_MAX: usize = 1_024;

/// A service, as hosts and signatures name it.
struct Service {
    host: &'static str,
    signs: &'static str,
}

const SQS: Service = Service { host: "sqs", signs: "sqs" };
const SNS: Service = Service { host: "sns", signs: "sns" };
const LAMBDA: Service = Service { host: "lambda", signs: "lambda" };
const EVENTS: Service = Service { host: "events", signs: "events" };

/// Sends to services of AWS.
pub(crate) struct Services {
    pub(crate) post: Poster,
    pub(crate) account: Option<Account>,
    pub(crate) time_max: Duration,
}

/// In whose name, and where.
pub(crate) struct Account {
    endpoint: Option<Url>,
    region: String,
    signer: Arc<Signer>,
}

impl Account {
    pub(crate) fn new(settings: &Aws) -> Self {
        let Aws { endpoint, region, credentials } = settings;
        let provider: SharedCredentialsProvider = credentials.clone();
        Self {
            endpoint: endpoint.clone(),
            region: region.clone(),
            signer: Arc::new(Signer::new(provider)),
        }
    }
}

impl Services {
    /// Sends to a service within the time limit.
    pub(crate) async fn send(&self, target: &Target, occasion: &AttemptContext) -> ActionOutcome {
        let mut secrets = SecretForms::default();
        let limit = self.time_max;
        let sent = tokio::time::timeout(limit, self.ask(target, occasion, &mut secrets)).await;
        match sent.unwrap_or_else(|_| Err(ActionFailure::unanswered(limit))) {
            Ok(said) => {
                ActionOutcome { outcome: Outcome::Succeeded, message: succeeded(target, &said) }
            }
            Err(ActionFailure { word, text }) => {
                let text = shown_text(&secrets.redact(&text));
                let text: String = text.chars().take(SAID_CHARS_MAX).collect();
                ActionOutcome { outcome: Outcome::Failed, message: failed(target, &word, &text) }
            }
        }
    }

    /// Asks a service; answers what it says of what it took.
    async fn ask(
        &self,
        target: &Target,
        occasion: &AttemptContext,
        secrets: &mut SecretForms,
    ) -> Result<String, ActionFailure> {
        let account = self.account.as_ref().ok_or_else(|| {
            ActionFailure::canceled("There is no AWS here; --aws-endpoint names one.")
        })?;
        let (service, region, ask) = match target {
            Target::Sqs(sqs) => (SQS, account.region_of_queue(sqs)?, requests::sqs(sqs, occasion)),
            Target::Sns(sns) => (SNS, sns.topic.region().to_owned(), requests::sns(sns, occasion)),
            Target::Lambda(lambda) => {
                (LAMBDA, account.region_of_function(lambda), requests::lambda(lambda))
            }
            Target::EventBridge(event) => {
                let bus = event.bus.as_deref().and_then(|bus| Arn::read(bus, "events"));
                let region = account.region_of(bus.as_ref());
                (EVENTS, region, requests::event_bridge(event, occasion))
            }
            Target::Http(_)
            | Target::Https(_)
            | Target::StorageQueue(_)
            | Target::ServiceBusQueue(_)
            | Target::ServiceBusTopic(_) => {
                return Err(ActionFailure::canceled("This is no service of AWS."));
            }
        };
        let Ask { path, headers: asked, body } = ask;
        let url = account.url(&service, &region, &path)?;
        let mut headers = HeaderMap::with_capacity(8);
        for (name, value) in asked {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let to = ResolvedUrl { url, is_ours: true };
        let mut parcel = PostRequest { to, headers, body: body.into_bytes() };
        let scope = Scope { service: service.signs, region: &region, now: occasion.sent_at };
        account.signer.sign(&scope, &mut parcel, secrets).await?;
        let receipt = self.post.send(parcel).await?;
        answer(target, &receipt)
    }
}

impl Account {
    /// Where a service takes requests. A region is letters, digits and dashes: it names no other host.
    fn url(&self, service: &Service, region: &str, path: &str) -> Result<Url, ActionFailure> {
        let base = match &self.endpoint {
            Some(endpoint) => endpoint.as_str().trim_end_matches('/').to_owned(),
            None if is_region(region) => {
                let china = if region.starts_with("cn-") { ".cn" } else { "" };
                format!("https://{}.{region}.amazonaws.com{china}", service.host)
            }
            None => String::new(),
        };
        Url::parse(&format!("{base}{path}"))
            .map_err(|_| ActionFailure::canceled(format!("'{region}' is not a region of AWS.")))
    }

    /// The region that a queue's URL names. An emulator's does not have to name any.
    fn region_of_queue(&self, sqs: &Sqs) -> Result<String, ActionFailure> {
        let named = Url::parse(&sqs.queue_url).ok().and_then(|url| match url.host() {
            Some(Host::Domain(host)) => region_of_host(host).map(str::to_owned),
            Some(Host::Ipv4(_) | Host::Ipv6(_)) | None => None,
        });
        match named {
            Some(region) => Ok(region),
            None if self.endpoint.is_some() => Ok(self.region.clone()),
            None => Err(ActionFailure::canceled(
                "The URL is not that of a queue of SQS: its host is not sqs.{region}.amazonaws.com.",
            )),
        }
    }

    fn region_of_function(&self, lambda: &Lambda) -> String {
        self.region_of(Arn::read(&lambda.function, "lambda").as_ref())
    }

    fn region_of(&self, arn: Option<&Arn>) -> String {
        arn.map_or(self.region.as_str(), Arn::region).to_owned()
    }
}

/// The region of `sqs.{region}.amazonaws.com`, or of `{region}.queue.amazonaws.com`, its old name.
fn region_of_host(host: &str) -> Option<&str> {
    let host = host.strip_suffix(".cn").unwrap_or(host).strip_suffix(".amazonaws.com")?;
    let region = host.strip_prefix("sqs.").or_else(|| host.strip_suffix(".queue"))?;
    Some(region).filter(|region| is_region(region))
}

/// What a service says of a request.
fn answer(target: &Target, receipt: &PostAnswer) -> Result<String, ActionFailure> {
    let text = String::from_utf8_lossy(&receipt.body.bytes);
    let json: Value = serde_json::from_str(&text).unwrap_or_default();
    let said = |name: &str| json.get(name).and_then(Value::as_str).map(str::to_owned);
    let status = status::name(receipt.status);
    if !receipt.status.is_success() {
        let header = receipt.headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok());
        let kind = header.map(str::to_owned).or_else(|| said("__type"));
        let kind = kind.or_else(|| element(&text, "Code"));
        // `com.amazonaws.sqs#QueueDoesNotExist`, `ResourceNotFoundException:http://…`
        let kind = kind.unwrap_or(status);
        let kind = kind.rsplit('#').next().and_then(|kind| kind.split(':').next()).unwrap_or(&kind);
        let message = said("message").or_else(|| said("Message"));
        let message = message.or_else(|| element(&text, "Message")).unwrap_or_default();
        return Err(ActionFailure::answered(kind.to_owned(), message));
    }
    let entry = json.pointer("/Entries/0");
    let of_entry = |name| entry.and_then(|entry| entry.get(name)).and_then(Value::as_str);
    if let Some(code) = of_entry("ErrorCode") {
        let message = of_entry("ErrorMessage").unwrap_or_default();
        return Err(ActionFailure::answered(code.to_owned(), message));
    }
    let id = match target {
        Target::Sns(_) => element(&text, "MessageId"),
        Target::EventBridge(_) => of_entry("EventId").map(str::to_owned),
        Target::Lambda(_) => {
            let id = receipt.headers.get("x-amzn-requestid").and_then(|value| value.to_str().ok());
            id.map(str::to_owned)
        }
        _ => said("MessageId"),
    };
    // The service's own name for it, by which its logs find it.
    let id = id.map(|id| format!(", as '{}'", shown_text(&id))).unwrap_or_default();
    Ok(format!("'{status}'{id}"))
}

fn succeeded(target: &Target, said: &str) -> String {
    let kind = target.type_name();
    let what = match target {
        Target::Sqs(sqs) => format!("Message to queue '{}'", sqs.queue_url),
        Target::Sns(sns) => format!("Message to topic '{}'", sns.topic),
        Target::Lambda(lambda) => format!("Invocation of '{}'", lambda.function),
        Target::EventBridge(event) => format!("Event to bus '{}'", event.bus_name()),
        _ => String::new(),
    };
    format!("{kind} Action - {what} succeeded: {said}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_names_its_region_and_never_another_host() {
        for (host, expected) in [
            ("sqs.eu-west-1.amazonaws.com", Some("eu-west-1")),
            ("sqs.cn-north-1.amazonaws.com.cn", Some("cn-north-1")),
            ("us-east-1.queue.amazonaws.com", Some("us-east-1")),
            ("queue.amazonaws.com", None),
            ("sqs.evil.test", None),
            ("sqs.a.b.amazonaws.com", None),
            ("s3.eu-west-1.amazonaws.com", None),
        ] {
            assert_eq!(region_of_host(host), expected, "{host}");
        }
    }
}
