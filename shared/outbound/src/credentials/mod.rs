//! Where credentials for AWS come from.
//!
//! In this order, which is that of AWS's own tools; the first that is there counts, and what is wrong with it is
//! said instead of going on to the next:
//!
//! 1. keys in the environment,
//! 2. a role for the token of a workload, as Kubernetes has it (`AWS_WEB_IDENTITY_TOKEN_FILE`),
//! 3. a profile with keys, if `AWS_PROFILE` names one or there is a `default`,
//! 4. the container's, on ECS and EKS (`AWS_CONTAINER_CREDENTIALS_…_URI`),
//! 5. the machine's role, from the metadata service (version 2), unless `AWS_EC2_METADATA_DISABLED=true`.
//!
//! Choosing asks nobody: only a source that has to be asked over the network is asked when credentials are
//! needed. They are kept until five minutes before they expire. If a source fails while those it gave are still
//! valid, they are used on.

mod container;
mod machine;
mod profile;
mod service;
mod web_identity;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::future::ProvideCredentials as Providing;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use chrono::{DateTime, Utc};
use serde_json::Value;
use tokio::sync::Mutex;

pub use profile::region_of_profile;

use container::Container;
use machine::Machine;
use profile::Profile;
use web_identity::WebIdentity;

/// How long before their expiry credentials are asked for again.
const EXPIRY_MARGIN: Duration = Duration::from_mins(5);
/// How long credentials without an expiry are kept: a profile's file may change.
const CACHE_TIME: Duration = Duration::from_mins(1);
/// How soon a source is asked again that failed while its credentials are still valid.
const AGAIN_AFTER: Duration = Duration::from_secs(30);

/// The variables of the environment, and the folder of the user.
pub struct AwsEnvironment<'a> {
    /// The value of a variable; an empty one counts as none.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The user's folder, with `.aws` in it.
    pub home: Option<PathBuf>,
}

impl AwsEnvironment<'_> {
    fn get(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }
}

/// Why there are no credentials, and what to do. It contains none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoCredentials(String);

impl NoCredentials {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

enum Source {
    Keys(Credentials),
    WebIdentity(WebIdentity),
    Profile(Profile),
    Container(Container),
    Machine(Machine),
}

/// Gives out credentials. Clones share what they keep.
#[derive(Clone)]
pub struct Provider {
    source: Arc<Source>,
    kept: Arc<Mutex<Option<Kept>>>,
}

/// Names the source that was chosen, and omits the credentials.
impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match *self.source {
            Source::Keys(_) => "Keys",
            Source::WebIdentity(_) => "WebIdentity",
            Source::Profile(_) => "Profile",
            Source::Container(_) => "Container",
            Source::Machine(_) => "Machine",
        };
        write!(f, "Provider({source})")
    }
}

struct Kept {
    credentials: Credentials,
    /// When the source is asked again.
    until: SystemTime,
}

impl Provider {
    /// Chooses the source.
    ///
    /// # Errors
    ///
    /// If what is there is incomplete, or there is nothing.
    pub fn new(environment: &AwsEnvironment<'_>) -> Result<Self, NoCredentials> {
        let source = choose(environment)?;
        Ok(Self { source: Arc::new(source), kept: Arc::default() })
    }

    /// Credentials that are valid now.
    ///
    /// # Errors
    ///
    /// If the source gives none.
    pub async fn credentials(&self, now: SystemTime) -> Result<Credentials, NoCredentials> {
        if let Source::Keys(keys) = &*self.source {
            return Ok(keys.clone());
        }
        // While one asks, the others wait for its answer.
        let mut kept = self.kept.lock().await;
        if let Some(Kept { credentials, .. }) = kept.as_ref().filter(|it| now < it.until) {
            return Ok(credentials.clone());
        }
        match self.ask(now).await {
            Ok(credentials) => {
                let until = until(credentials.expiry(), now);
                *kept = Some(Kept { credentials: credentials.clone(), until });
                Ok(credentials)
            }
            Err(error) => {
                let valid = kept.as_mut().filter(|it| is_valid(&it.credentials, now));
                let Some(valid) = valid else { return Err(error) };
                valid.until = now + AGAIN_AFTER;
                Ok(valid.credentials.clone())
            }
        }
    }

    /// The same for those who sign as AWS's libraries do. `now` is the real time.
    #[must_use]
    pub fn shared(self, now: fn() -> DateTime<Utc>) -> SharedCredentialsProvider {
        SharedCredentialsProvider::new(Timed { provider: self, now })
    }

    async fn ask(&self, now: SystemTime) -> Result<Credentials, NoCredentials> {
        match &*self.source {
            Source::Keys(keys) => Ok(keys.clone()),
            Source::Profile(profile) => profile.read(),
            Source::WebIdentity(identity) => identity.assume(now).await,
            Source::Container(container) => container.ask().await,
            Source::Machine(machine) => machine.ask().await,
        }
    }
}

/// A provider that reads the time itself.
#[derive(Debug)]
struct Timed {
    provider: Provider,
    now: fn() -> DateTime<Utc>,
}

impl ProvideCredentials for Timed {
    fn provide_credentials<'a>(&'a self) -> Providing<'a>
    where
        Self: 'a,
    {
        Providing::new(async {
            let found = self.provider.credentials((self.now)().into()).await;
            found.map_err(CredentialsError::provider_error)
        })
    }
}

fn choose(environment: &AwsEnvironment<'_>) -> Result<Source, NoCredentials> {
    if let Some(keys) = keys(environment)? {
        return Ok(Source::Keys(keys));
    }
    if let Some(identity) = WebIdentity::of(environment)? {
        return Ok(Source::WebIdentity(identity));
    }
    if let Some(profile) = Profile::of(environment)? {
        return Ok(Source::Profile(profile));
    }
    if let Some(container) = Container::of(environment)? {
        return Ok(Source::Container(container));
    }
    Ok(Source::Machine(Machine::of(environment)?))
}

fn keys(environment: &AwsEnvironment<'_>) -> Result<Option<Credentials>, NoCredentials> {
    let (id, secret) =
        (environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY"));
    match (id, secret) {
        (Some(id), Some(secret)) => {
            let token = environment.get("AWS_SESSION_TOKEN");
            Ok(Some(Credentials::new(id, secret, token, None, "environment")))
        }
        (None, None) => Ok(None),
        (Some(_), None) | (None, Some(_)) => Err(NoCredentials::new(
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY together, or neither",
        )),
    }
}

/// Until when credentials are used before their source is asked again.
fn until(expiry: Option<SystemTime>, now: SystemTime) -> SystemTime {
    expiry.map_or(now + CACHE_TIME, |expiry| {
        expiry.checked_sub(EXPIRY_MARGIN).filter(|until| *until > now).unwrap_or(now + AGAIN_AFTER)
    })
}

fn is_valid(credentials: &Credentials, now: SystemTime) -> bool {
    credentials.expiry().is_none_or(|expiry| now < expiry)
}

/// Credentials in the answer of a service of the machine or of the container.
fn in_json(body: &[u8], from: &'static str) -> Result<Credentials, NoCredentials> {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let field = |name: &str| answer.get(name).and_then(Value::as_str);
    if let Some(code) = field("Code").filter(|code| *code != "Success") {
        return Err(NoCredentials::new(format!("the {from} answered {code}")));
    }
    let (Some(id), Some(secret)) = (field("AccessKeyId"), field("SecretAccessKey")) else {
        return Err(NoCredentials::new(format!("the {from} answered without credentials")));
    };
    let expiry = match field("Expiration").map(DateTime::parse_from_rfc3339) {
        None => None,
        Some(Ok(at)) => Some(SystemTime::from(at.with_timezone(&Utc))),
        Some(Err(_)) => {
            return Err(NoCredentials::new(format!(
                "the {from} answered an expiry that is not a time"
            )));
        }
    };
    Ok(Credentials::new(id, secret, field("Token").map(str::to_owned), expiry, from))
}

#[cfg(test)]
mod tests;
