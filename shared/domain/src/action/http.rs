//! The action types `Http` and `Https`.

use std::fmt;

use chrono::{DateTime, Utc};
use minutehand_recurrence::format_instant;
use serde_json::Value;
use url::Url;

use super::ActionType;
use super::http_header::{belongs_to_connection, is_header_name};
use super::texts::{Text, place_of};
use crate::credentials::{WITHHELD, is_credential_header, withhold_query};
use crate::json::Shape::{Free, Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Reading, Shape};
use crate::refusal::{Fix, Refusal};
use crate::secret::Secret;
use crate::template::{Placeholder, Template, TemplateError, TemplatePlace};

const URI_CHARS_MAX: usize = 2_048;
const BODY_CHARS_MAX: usize = 8_192;
const HEADERS_MAX: usize = 50;
/// The most characters of all header names and values together.
const HEADER_CHARS_MAX: usize = 4_096;
/// The content type of a `CloudEvents` document.
const EVENT_TYPE: &str = "application/cloudevents+json; charset=utf-8";
/// The content type of a form, whose values are escaped as in a URL.
const FORM_TYPE: &str = "application/x-www-form-urlencoded";
/// The methods that a job may use, in any case.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"];
/// The scheduler sets headers with these prefixes itself.
const OUR_HEADERS: [&str; 2] = ["x-ms-scheduler-", "x-minutehand-"];
const AUTHENTICATION_TYPES: &str = "Basic, ClientCertificate, ActiveDirectoryOAuth";

/// An HTTP request. Its URL and its headers may contain credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The URL exactly as it was sent.
    pub uri: String,
    /// The method in the case in which it was sent.
    pub method: String,
    /// The headers in their order; an empty list is echoed, `None` is not.
    pub headers: Option<Vec<(String, String)>>,
    /// The body.
    pub body: Option<String>,
    /// How the request authenticates.
    pub authentication: Option<Authentication>,
    /// The URL as it was given, if the whole of it is a secret: that of a receiver of alerts.
    pub sealed_uri: Option<Secret>,
}

impl HttpRequest {
    fn is_form(&self) -> bool {
        self.headers.iter().flatten().any(|(name, value)| {
            name.eq_ignore_ascii_case("content-type") && value.starts_with(FORM_TYPE)
        })
    }

    /// Its body as a template; `None` if it has none.
    pub(super) fn body_template(&self) -> Option<Result<Template, TemplateError>> {
        let body = self.body.as_deref()?;
        let place = if self.is_form() { TemplatePlace::Url } else { place_of(body) };
        Some(Template::parse(body, place, &Placeholder::ALL))
    }

    /// The URL without its secrets.
    fn shown_uri(&self) -> String {
        match self.sealed_uri {
            Some(_) => WITHHELD.to_owned(),
            None => withhold_query(&self.uri),
        }
    }
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Option<Vec<&str>> =
            self.headers.as_ref().map(|all| all.iter().map(|(name, _)| name.as_str()).collect());
        f.debug_struct("HttpRequest")
            .field("uri", &self.shown_uri())
            .field("method", &self.method)
            .field("headers", &names)
            .field("body", &self.body)
            .field("authentication", &self.authentication)
            .finish_non_exhaustive()
    }
}

/// How a request authenticates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authentication {
    /// User name and password.
    Basic {
        /// The user name.
        username: String,
        /// The password.
        password: Secret,
    },
    /// A client certificate in the TLS handshake.
    ClientCertificate(ClientCertificate),
    /// A bearer token from Active Directory, by client credentials.
    ActiveDirectoryOAuth {
        /// The tenant.
        tenant: String,
        /// The audience that the token is issued for.
        audience: String,
        /// The client that requests the token.
        client_id: String,
        /// The secret of the client.
        secret: Secret,
    },
}

/// A certificate and its key, in a PKCS#12 file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The file, in base64.
    pub pfx: Secret,
    /// The password of the file; a file without one has an empty password.
    pub password: Secret,
    /// The content of the file, once it has been opened.
    pub certificate: Option<CertificateFacts>,
}

/// The properties of a certificate that answers contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFacts {
    /// The SHA-1 of the certificate, in upper-case hexadecimal.
    pub thumbprint: String,
    /// The end of its validity.
    pub expires_at: DateTime<Utc>,
    /// The name of its subject.
    pub subject_name: String,
}

/// A request to any URL, or to HTTPS URLs only: two action types with one payload.
pub(super) struct Request<const HTTPS_ONLY: bool>;

impl<const HTTPS_ONLY: bool> ActionType for Request<HTTPS_ONLY> {
    type Payload = HttpRequest;
    const TYPE: &'static str = if HTTPS_ONLY { "Https" } else { "Http" };
    const PROPERTY: &'static str = "request";
    const PLACE: &'static str = "uri";
    const SECRETS: &'static [&'static str] =
        &["/authentication/password", "/authentication/pfx", "/authentication/secret"];
    const SHAPE: Shape = SHAPE;
    const CONTENT: Option<&'static str> = Some("body");

    fn read(fields: &Fields<'_>) -> Result<HttpRequest, Refusal> {
        let authentication = fields.object("authentication")?;
        Ok(HttpRequest {
            uri: fields.required_owned("uri")?,
            method: fields.required_owned("method")?,
            headers: fields.texts("headers")?,
            body: fields.owned("body")?,
            authentication: match authentication {
                Some(authentication) => read_authentication(&authentication)?,
                None => None,
            },
            sealed_uri: None,
        })
    }

    fn check(request: &HttpRequest, fields: &Fields<'_>) -> Result<(), Refusal> {
        if !METHODS.iter().any(|known| known.eq_ignore_ascii_case(&request.method)) {
            let wrong = fields.wrong("method", &format!("use one of {}", METHODS.join(", ")));
            return Err(wrong.or(Fix::one_of(&request.method, METHODS)));
        }
        check_uri(&request.uri, fields, HTTPS_ONLY)?;
        check_headers(request.headers.as_deref().unwrap_or_default(), &fields.path("headers"))?;
        fields.check_chars("body", request.body.as_deref().unwrap_or_default(), BODY_CHARS_MAX)
    }

    fn write(request: &HttpRequest) -> ObjectBuilder {
        ObjectBuilder::default()
            .withheld("uri", request.uri.as_str(), request.shown_uri())
            .set("method", request.method.as_str())
            .object("headers", request.headers.as_deref().map(write_headers))
            .maybe("body", request.body.as_deref())
            .object("authentication", request.authentication.as_ref().map(write_authentication))
    }

    fn texts(payload: &mut HttpRequest) -> Vec<Text<'_>> {
        let form = payload.is_form();
        let headers = payload.headers.iter_mut().flatten();
        let headers = headers.filter(|(name, _)| !is_credential_header(name));
        let headers = headers.map(|(name, value)| {
            Text::new(format!("headers.{name}"), TemplatePlace::Header, value)
        });
        let body = payload.body.iter_mut().map(|body| {
            let place = if form { TemplatePlace::Url } else { place_of(body) };
            Text::new("body", place, body)
        });
        let uri = Text::new("uri", TemplatePlace::Url, &mut payload.uri);
        [uri].into_iter().chain(headers).chain(body).collect()
    }

    fn set_event(request: &mut HttpRequest, event: String) {
        let content_type = ("Content-Type".to_owned(), EVENT_TYPE.to_owned());
        request.headers.get_or_insert_default().push(content_type);
        request.body = Some(event);
    }

    fn failure(request: &HttpRequest, what: &str, why: &str) -> String {
        request_failed(&host(&request.uri), what, why)
    }

    fn place(uri: &str) -> String {
        Url::parse(uri).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
    }

    fn place_text(request: &HttpRequest) -> Option<&str> {
        Some(&request.uri)
    }

    fn authenticates(request: &HttpRequest) -> bool {
        request.authentication.is_some()
    }
}

const SHAPE: Shape = Object(&[
    ("uri", Leaf),
    ("method", Leaf),
    ("headers", Free),
    ("body", Leaf),
    (
        "authentication",
        Object(&[
            ("username", Leaf),
            ("password", Shape::Secret),
            ("pfx", Shape::Secret),
            ("certificateThumbprint", Leaf),
            ("certificateExpiration", Leaf),
            ("certificateExpirationDate", Leaf),
            ("certificateSubjectName", Leaf),
            ("tenant", Leaf),
            ("audience", Leaf),
            ("clientId", Leaf),
            ("secret", Shape::Secret),
            ("type", Leaf),
        ]),
    ),
]);

/// The message of a request that failed before its host answered. For clients an `Https` action is
/// an `Http` action too.
#[must_use]
pub fn request_failed(host: &str, what: &str, why: &str) -> String {
    format!("Http Action - Request to host '{host}' failed: {what} {why}")
}

/// The host of a URL, as messages name it.
#[must_use]
pub fn host(uri: &str) -> String {
    let url = Url::parse(uri).ok();
    url.as_ref().and_then(Url::host_str).unwrap_or_default().to_owned()
}

fn check_uri(uri: &str, fields: &Fields<'_>, https_only: bool) -> Result<(), Refusal> {
    fields.check_chars("uri", uri, URI_CHARS_MAX)?;
    let shown = Value::from(withhold_query(uri)).to_string();
    let wrong = |allowed| fields.wrong_as("uri", &shown, allowed);
    let url = Url::parse(uri).ok().filter(Url::has_host);
    let Some(url) = url.filter(|url| matches!(url.scheme(), "http" | "https")) else {
        return Err(wrong("use an absolute http or https URL"));
    };
    if https_only && url.scheme() != "https" {
        return Err(wrong("an action of type 'Https' requires an https URL"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // The message does not repeat the URL: it may contain a password.
        let problem = "contains a user name; use 'authentication' of type 'Basic' instead.";
        return Err(fields.about("uri", problem));
    }
    Ok(())
}

fn check_headers(headers: &[(String, String)], path: &str) -> Result<(), Refusal> {
    let n = headers.len();
    if n > HEADERS_MAX {
        let problem = format!("has {n} headers; at most {HEADERS_MAX} are allowed.");
        return Err(Refusal::about(path, problem));
    }
    let chars: usize =
        headers.iter().map(|(name, value)| name.chars().count() + value.chars().count()).sum();
    if chars > HEADER_CHARS_MAX {
        let problem = format!(
            "has {chars} characters in names and values; at most {HEADER_CHARS_MAX} are \
             allowed."
        );
        return Err(Refusal::about(path, problem));
    }
    let mut known: Vec<&str> = Vec::with_capacity(n);
    headers.iter().try_for_each(|(name, value)| {
        check_header(name, value, path)?;
        // A server and a proxy before it could each read another one of them.
        if let Some(first) = known.iter().find(|known| known.eq_ignore_ascii_case(name)) {
            let problem = format!(
                "has the header '{first}' twice, the second time as '{name}'; keep one. \
                 Names of headers match in any case."
            );
            return Err(Refusal::about(path, problem));
        }
        known.push(name);
        Ok(())
    })
}

fn check_header(name: &str, value: &str, path: &str) -> Result<(), Refusal> {
    let shown = name.escape_debug();
    let about = |problem: &str| Err(Refusal::about(format!("{path}.{shown}"), problem));
    if !is_header_name(name) {
        about("is not a valid header name.")
    } else if value.chars().any(|c| c.is_control() && c != '\t') {
        let message = format!(
            "The value of '{path}.{shown}' contains a line break or another control character; \
             remove it."
        );
        Err(Refusal::invalid(message).with_target(format!("{path}.{shown}")))
    } else if belongs_to_connection(name) {
        about("is set by the HTTP connection; remove it.")
    } else if let Some(ours) = our_prefix(name) {
        about(&format!(
            "is reserved: the scheduler sets the headers that begin with '{ours}'. Use another name."
        ))
    } else {
        Ok(())
    }
}

/// The prefix of a header that the scheduler sets itself.
fn our_prefix(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    OUR_HEADERS.into_iter().find(|prefix| name.starts_with(prefix))
}

fn read_authentication(fields: &Fields<'_>) -> Result<Option<Authentication>, Refusal> {
    let kind = fields
        .required_text("type")
        .map_err(|_| fields.missing("type", &format!("use one of {AUTHENTICATION_TYPES}")))?;
    match kind.to_ascii_lowercase().as_str() {
        "notspecified" => Ok(None),
        "basic" => {
            // The original's message, word for word.
            let required = |_| {
                Refusal::invalid(
                    "'Username' and 'Password' are required for 'Basic' type of Authentication.",
                )
            };
            Ok(Some(Authentication::Basic {
                username: fields.required_owned("username").map_err(required)?,
                password: fields.required_secret("password").map_err(required)?,
            }))
        }
        "clientcertificate" => Ok(Some(Authentication::ClientCertificate(ClientCertificate {
            pfx: fields.required_secret("pfx")?,
            password: fields.secret_or_empty("password")?,
            certificate: read_certificate(fields)?,
        }))),
        "activedirectoryoauth" => Ok(Some(Authentication::ActiveDirectoryOAuth {
            tenant: fields.required_owned("tenant")?,
            audience: fields.required_owned("audience")?,
            client_id: fields.required_owned("clientId")?,
            secret: fields.required_secret("secret")?,
        })),
        _ => {
            let written = fields.text("type").ok().flatten().unwrap_or_default();
            let fixes = Fix::one_of(written, AUTHENTICATION_TYPES.split(", "));
            Err(fields.wrong("type", &format!("use one of {AUTHENTICATION_TYPES}")).or(fixes))
        }
    }
}

/// Reads what a stored document says of a certificate. A client's request may repeat an answer, so
/// what that says of a certificate is ignored.
fn read_certificate(fields: &Fields<'_>) -> Result<Option<CertificateFacts>, Refusal> {
    if let Reading::Request(_) = fields.reading() {
        return Ok(None);
    }
    let facts = (
        fields.owned("certificateThumbprint")?,
        fields.date("certificateExpiration")?,
        fields.owned("certificateSubjectName")?,
    );
    Ok(match facts {
        (Some(thumbprint), Some(expires_at), Some(subject_name)) => {
            Some(CertificateFacts { thumbprint, expires_at, subject_name })
        }
        _ => None,
    })
}

fn write_headers(headers: &[(String, String)]) -> ObjectBuilder {
    let mut document = ObjectBuilder::default();
    for (name, value) in headers {
        let is_secret = is_credential_header(name) && !value.is_empty();
        let shown = if is_secret { WITHHELD } else { value };
        document = document.withheld(name.clone(), value.as_str(), shown);
    }
    document
}

fn write_authentication(authentication: &Authentication) -> ObjectBuilder {
    let document = ObjectBuilder::default();
    match authentication {
        Authentication::Basic { username, password } => document
            .set("username", username.as_str())
            .secret("password", password)
            .set("type", "Basic"),
        Authentication::ClientCertificate(client) => {
            let mut document =
                document.secret("password", &client.password).secret("pfx", &client.pfx);
            if let Some(certificate) = &client.certificate {
                document = document
                    .found("certificateThumbprint", certificate.thumbprint.as_str())
                    .found("certificateExpiration", format_instant(certificate.expires_at))
                    .found("certificateSubjectName", certificate.subject_name.as_str());
            }
            document.set("type", "ClientCertificate")
        }
        Authentication::ActiveDirectoryOAuth { tenant, audience, client_id, secret } => document
            .secret("secret", secret)
            .set("tenant", tenant.as_str())
            .set("audience", audience.as_str())
            .set("clientId", client_id.as_str())
            .set("type", "ActiveDirectoryOAuth"),
    }
}
