//! Documents in: actions.

use super::fields::Fields;
use super::read_aws::{read_event, read_lambda, read_sns, read_sqs};
use super::read_azure::{read_service_bus, read_storage_queue};
use crate::action::{Action, Authentication, ClientCertificate, HttpRequest, MainAction, Target};
use crate::pricing_tier::PricingTier;
use crate::refusal::Refusal;
use crate::retry::RetryPolicy;

/// The most characters of a URI.
const URI_CHARS_MAX: usize = 2_048;
/// The most headers, and the most characters of their names and values together.
const HEADERS_MAX: usize = 50;
const HEADER_CHARS_MAX: usize = 4_096;
/// The most characters of a body.
const BODY_CHARS_MAX: usize = 8_192;

/// The methods that may be called, in any case.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"];

/// Headers that belong to the connection: what they say is for it to decide.
pub(super) const CONNECTION_HEADERS: [&str; 8] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers under this prefix are the scheduler's own.
const OUR_HEADERS: &str = "x-ms-scheduler-";

/// The types of actions, as a message lists them.
const TYPES: &str = "Http, Https, StorageQueue, ServiceBusQueue, ServiceBusTopic, Sqs, Sns, Lambda, \
                     EventBridge";

/// A type of action, before its payload is read.
#[derive(Clone, Copy)]
enum Type {
    Http,
    Https,
    StorageQueue,
    ServiceBusQueue,
    ServiceBusTopic,
    Sqs,
    Sns,
    Lambda,
    EventBridge,
}

impl Type {
    fn read(text: &str) -> Option<Self> {
        let types = [
            ("Http", Self::Http),
            ("Https", Self::Https),
            ("StorageQueue", Self::StorageQueue),
            ("ServiceBusQueue", Self::ServiceBusQueue),
            ("ServiceBusTopic", Self::ServiceBusTopic),
            ("Sqs", Self::Sqs),
            ("Sns", Self::Sns),
            ("Lambda", Self::Lambda),
            ("EventBridge", Self::EventBridge),
        ];
        types.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, known)| known)
    }
}

/// Reads the `action` of a job with its error action.
pub(super) fn read_main_action(job: &Fields<'_>, plan: PricingTier) -> Result<MainAction, Refusal> {
    let action = job.required_object("action")?;
    let error_action = action.object("errorAction")?;
    Ok(MainAction {
        action: read_action(&action, plan)?,
        error_action: error_action.map(|action| read_action(&action, plan)).transpose()?,
    })
}

fn read_action(action: &Fields<'_>, plan: PricingTier) -> Result<Action, Refusal> {
    let kind = action
        .one_of("type", Type::read, TYPES)?
        .ok_or_else(|| action.missing("type", &format!("use one of {TYPES}")))?;
    let target = match kind {
        Type::Http => Target::Http(read_request(&action.required_object("request")?, false)?),
        Type::Https => Target::Https(read_request(&action.required_object("request")?, true)?),
        Type::StorageQueue => {
            Target::StorageQueue(read_storage_queue(&action.required_object("queueMessage")?)?)
        }
        Type::ServiceBusQueue => {
            let message = action.required_object("serviceBusQueueMessage")?;
            Target::ServiceBusQueue(read_service_bus(&message, "queueName")?)
        }
        Type::ServiceBusTopic => {
            let message = action.required_object("serviceBusTopicMessage")?;
            Target::ServiceBusTopic(read_service_bus(&message, "topicPath")?)
        }
        Type::Sqs => Target::Sqs(read_sqs(&action.required_object("sqsMessage")?)?),
        Type::Sns => Target::Sns(read_sns(&action.required_object("snsMessage")?)?),
        Type::Lambda => Target::Lambda(read_lambda(&action.required_object("lambdaInvocation")?)?),
        Type::EventBridge => {
            Target::EventBridge(read_event(&action.required_object("eventBridgeEvent")?)?)
        }
    };
    let retry_policy = action.object("retryPolicy")?;
    let retry_policy = retry_policy.map(|policy| read_retry_policy(&policy)).transpose()?;
    if let Some(policy) = &retry_policy {
        policy.check(&action.path("retryPolicy"), plan)?;
    }
    Ok(Action { target, retry_policy })
}

fn read_retry_policy(policy: &Fields<'_>) -> Result<RetryPolicy, Refusal> {
    let interval = policy.span("retryInterval")?;
    let count = policy.whole("retryCount", 0, u32::MAX)?;
    let read_type = |text: &str| match text.to_ascii_lowercase().as_str() {
        "none" => Some(RetryPolicy::None),
        "fixed" => Some(RetryPolicy::Fixed { interval, count }),
        _ => None,
    };
    policy
        .one_of("retryType", read_type, "none, fixed")?
        .ok_or_else(|| policy.missing("retryType", "use one of none, fixed"))
}

fn read_request(request: &Fields<'_>, https_only: bool) -> Result<HttpRequest, Refusal> {
    let method = request.required_text("method")?;
    if !METHODS.iter().any(|known| known.eq_ignore_ascii_case(method)) {
        return Err(request.wrong("method", &format!("use one of {}", METHODS.join(", "))));
    }
    let body = request.text("body")?;
    if body.is_some_and(|body| body.chars().count() > BODY_CHARS_MAX) {
        let path = request.path("body");
        return Err(Refusal::invalid(format!(
            "'{path}' is too long; it may have {BODY_CHARS_MAX} characters."
        )));
    }
    let authentication = request.object("authentication")?;
    Ok(HttpRequest {
        uri: read_uri(request, https_only)?,
        method: method.to_owned(),
        headers: read_headers(request)?,
        body: body.map(str::to_owned),
        authentication: match authentication {
            Some(authentication) => read_authentication(&authentication)?,
            None => None,
        },
    })
}

fn read_uri(request: &Fields<'_>, https_only: bool) -> Result<String, Refusal> {
    let text = request.required_text("uri")?;
    let path = request.path("uri");
    if text.chars().count() > URI_CHARS_MAX {
        return Err(Refusal::invalid(format!(
            "'{path}' is too long; it may have {URI_CHARS_MAX} characters."
        )));
    }
    let url = url::Url::parse(text).ok().filter(url::Url::has_host);
    let Some(url) = url.filter(|url| matches!(url.scheme(), "http" | "https")) else {
        return Err(request.wrong("uri", "use an absolute http or https URL"));
    };
    if https_only && url.scheme() != "https" {
        return Err(request.wrong("uri", "an action of type 'Https' takes an https URL"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // The message does not repeat it: a password may be in it.
        return Err(Refusal::invalid(format!(
            "'{path}' holds a user name; use 'authentication' of type 'Basic' instead."
        )));
    }
    Ok(text.to_owned())
}

fn read_headers(request: &Fields<'_>) -> Result<Option<Vec<(String, String)>>, Refusal> {
    let Some(headers) = request.texts("headers")? else {
        return Ok(None);
    };
    let path = request.path("headers");
    let chars: usize =
        headers.iter().map(|(name, value)| name.chars().count() + value.chars().count()).sum();
    if headers.len() > HEADERS_MAX || chars > HEADER_CHARS_MAX {
        return Err(Refusal::invalid(format!(
            "'{path}' are {} with {chars} characters; {HEADERS_MAX} with {HEADER_CHARS_MAX} \
             characters together are allowed.",
            headers.len()
        )));
    }
    for (name, value) in &headers {
        let shown = name.escape_debug();
        let lower = name.to_ascii_lowercase();
        if name.is_empty() || !name.chars().all(is_of_token) {
            return Err(Refusal::invalid(format!("'{path}.{shown}' is not the name of a header.")));
        }
        if value.chars().any(|c| c.is_control() && c != '\t') {
            return Err(Refusal::invalid(format!(
                "The value of '{path}.{shown}' holds a line break or another control character."
            )));
        }
        if CONNECTION_HEADERS.contains(&lower.as_str()) {
            return Err(Refusal::invalid(format!(
                "'{path}.{shown}' belongs to the connection; leave it out."
            )));
        }
        if lower.starts_with(OUR_HEADERS) {
            return Err(Refusal::invalid(format!(
                "'{path}.{shown}' is one of the scheduler's own; use a name that does not begin \
                 with '{OUR_HEADERS}'."
            )));
        }
    }
    Ok(Some(headers))
}

/// Whether a character may stand in the name of a header.
pub(super) fn is_of_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

fn read_authentication(fields: &Fields<'_>) -> Result<Option<Authentication>, Refusal> {
    let names = "Basic, ClientCertificate, ActiveDirectoryOAuth";
    let kind = fields
        .required_text("type")
        .map_err(|_| fields.missing("type", &format!("use one of {names}")))?;
    match kind.to_ascii_lowercase().as_str() {
        "notspecified" => Ok(None),
        "basic" => {
            let required = |_| {
                Refusal::invalid(
                    "'Username' and 'Password' are required for 'Basic' type of Authentication.",
                )
            };
            Ok(Some(Authentication::Basic {
                username: fields.required_text("username").map_err(required)?.to_owned(),
                password: fields.required_secret("password").map_err(required)?,
            }))
        }
        "clientcertificate" => Ok(Some(Authentication::ClientCertificate(ClientCertificate {
            pfx: fields.required_secret("pfx")?,
            // A file without a password has an empty one.
            password: crate::secret::Secret::new(
                fields
                    .text("password")
                    .map_err(|_| fields.missing("password", "it has to be text"))?
                    .unwrap_or_default(),
            ),
            certificate: None,
        }))),
        "activedirectoryoauth" => Ok(Some(Authentication::ActiveDirectoryOAuth {
            tenant: fields.required_text("tenant")?.to_owned(),
            audience: fields.required_text("audience")?.to_owned(),
            client_id: fields.required_text("clientId")?.to_owned(),
            secret: fields.required_secret("secret")?,
        })),
        _ => Err(fields.wrong("type", &format!("use one of {names}"))),
    }
}
