//! The credentials of a container, on ECS and on EKS with Pod Identity: a service beside it has them.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use aws_credential_types::Credentials;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{Request, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;
use url::{Host, Url};

use super::service::Service;
use super::{AwsEnvironment, NoCredentials, in_json};

/// Where a path of the service is asked.
const ECS: &str = "http://169.254.170.2";
/// The hosts beside the own machine that may be asked without TLS: those of ECS and EKS.
const PLAIN_HOSTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];
/// How long it may take to connect, and to get an answer.
const TIME_MAX: Duration = Duration::from_secs(2);
/// What an error calls it.
const NAME: &str = "credentials service of the container";

/// The service of a container.
pub(super) struct Container {
    url: Url,
    /// What is sent to it, so that it knows who asks.
    token: Option<Token>,
    service: Service,
}

enum Token {
    Given(String),
    /// In a file, which changes.
    File(PathBuf),
}

impl Container {
    /// The service that the environment names.
    pub(super) fn of(environment: &AwsEnvironment<'_>) -> Result<Option<Self>, NoCredentials> {
        let path = environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
        let whole = environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI");
        let Some(url) = path.map(|path| format!("{ECS}{path}")).or(whole) else { return Ok(None) };
        let wrong = |why: &str| {
            NoCredentials::new(format!("AWS_CONTAINER_CREDENTIALS_FULL_URI is {url}: {why}"))
        };
        let parsed = Url::parse(&url).map_err(|error| wrong(&error.to_string()))?;
        let is_safe = match parsed.scheme() {
            "https" => true,
            "http" => parsed.host().is_some_and(|host| may_be_plain(&host)),
            _ => false,
        };
        if !is_safe {
            return Err(wrong("only https, or a host of ECS, of EKS or on this machine, is asked"));
        }
        let file = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
        let given = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN");
        let token = file.map(|file| Token::File(file.into())).or(given.map(Token::Given));
        let service = Service::new(parsed.scheme() == "https", TIME_MAX)?;
        Ok(Some(Self { url: parsed, token, service }))
    }

    /// Asks for credentials.
    pub(super) async fn ask(&self) -> Result<Credentials, NoCredentials> {
        match self.service.ask(self.request()?).await {
            Ok(answer) if answer.status == StatusCode::OK => in_json(&answer.body, NAME),
            Ok(answer) if !answer.status.is_server_error() => {
                Err(NoCredentials::new(format!("the {NAME} answered {}", answer.status)))
            }
            Ok(answer) => Err(missing(&format!("it answered {}", answer.status))),
            Err(error) => Err(missing(&error.to_string())),
        }
    }

    fn request(&self) -> Result<Request<Full<Bytes>>, NoCredentials> {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = self
            .url
            .as_str()
            .parse()
            .map_err(|error: http::uri::InvalidUri| NoCredentials::new(error.to_string()))?;
        let token = match &self.token {
            None => return Ok(request),
            Some(Token::Given(token)) => token.clone(),
            Some(Token::File(path)) => fs::read_to_string(path).map_err(|error| {
                NoCredentials::new(format!(
                    "cannot read {}, which AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE names: {error}",
                    path.display()
                ))
            })?,
        };
        let mut value = HeaderValue::from_str(token.trim()).map_err(|_| {
            NoCredentials::new("AWS_CONTAINER_AUTHORIZATION_TOKEN is not valid in a header")
        })?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
        Ok(request)
    }
}

fn missing(why: &str) -> NoCredentials {
    NoCredentials::new(format!("the {NAME} is not there: {why}"))
}

fn may_be_plain(host: &Host<&str>) -> bool {
    let address = match host {
        Host::Domain(name) => return *name == "localhost",
        Host::Ipv4(address) => IpAddr::V4(*address),
        Host::Ipv6(address) => IpAddr::V6(*address),
    };
    address.is_loopback() || PLAIN_HOSTS.iter().any(|it| it.parse() == Ok(address))
}
