//! Requests and settings of the tests.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::DateTime;
use minutehand_actions::{ActionSettings, Actions, Resolver, Roots, SendLimits, TargetPolicy};
use minutehand_domain::action::{Authentication, HttpRequest, Target};
use minutehand_domain::attempt::Outcome;
use minutehand_domain::chain::Depth;
use minutehand_domain::missed::Missed;
use minutehand_domain::secret::Secret;
use minutehand_ports::{ActionOutcome, ActionSender as _, AttemptContext};

/// A resolver with the names of a test.
pub(crate) struct Names(HashMap<&'static str, Vec<IpAddr>>);

impl Names {
    pub(crate) fn new<const N: usize>(names: [(&'static str, &[&str]); N]) -> Arc<Self> {
        let parsed = |addresses: &[&str]| addresses.iter().map(|a| a.parse().unwrap()).collect();
        Arc::new(Self(names.into_iter().map(|(name, all)| (name, parsed(all))).collect()))
    }
}

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        if name == "out-of-files.test" {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        self.0.get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A time limit that is long enough for a busy machine.
const TIME_MAX: Duration = Duration::from_secs(20);

/// Settings that allow private addresses and trust no certificate authority.
pub(crate) fn settings() -> ActionSettings {
    ActionSettings {
        limits: SendLimits { total: TIME_MAX, connect: TIME_MAX },
        roots: Roots { system: false, extra_pem: String::new() },
        user_agent: "minutehand/test".to_owned(),
        ..ActionSettings::new(TargetPolicy::AllowPrivate)
    }
}

pub(crate) fn names() -> Arc<Names> {
    Names::new([
        ("target.test", &["127.0.0.1"]),
        ("elsewhere.test", &["127.0.0.1"]),
        ("login.test", &["127.0.0.1"]),
    ])
}

pub(crate) fn with(settings: &ActionSettings) -> Actions {
    Actions::with_resolver(settings, names()).unwrap()
}

pub(crate) fn actions() -> Actions {
    with(&settings())
}

pub(crate) fn context() -> AttemptContext {
    AttemptContext {
        execution_id: "u1/3.600000000.m0".to_owned(),
        job: "nightly".to_owned(),
        job_path: "s/Grün, 1/c/nightly".to_owned(),
        job_uid: "u1".to_owned(),
        collection_uid: "c1".to_owned(),
        expected_at: DateTime::from_timestamp(1_459_370_392, 659_706_200).unwrap(),
        sent_at: DateTime::from_timestamp(1_459_370_392, 659_706_200).unwrap(),
        region: "West Europe".to_owned(),
        signed: None,
        time_max: None,
        missed: Missed::default(),
        depth: Depth::default().next(),
        completion_url: None,
    }
}

pub(crate) fn get(uri: impl Into<String>) -> HttpRequest {
    HttpRequest {
        uri: uri.into(),
        method: "GET".to_owned(),
        headers: None,
        body: None,
        authentication: None,
        sealed_uri: None,
    }
}

pub(crate) fn post(uri: impl Into<String>, body: &str) -> HttpRequest {
    HttpRequest { method: "post".to_owned(), body: Some(body.to_owned()), ..get(uri) }
}

pub(crate) fn headers(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

pub(crate) fn basic(username: &str, password: &str) -> Authentication {
    Authentication::Basic { username: username.to_owned(), password: Secret::new(password) }
}

pub(crate) async fn send(actions: &Actions, request: HttpRequest) -> ActionOutcome {
    actions.send(&Target::Http(request), &context()).await.unwrap()
}

/// Checks that an attempt succeeded, and returns its message.
#[track_caller]
pub(crate) fn succeeded(sent: ActionOutcome) -> String {
    assert_eq!(sent.outcome, Outcome::Succeeded, "{}", sent.message);
    sent.message
}

/// Checks that an attempt failed, and returns its message.
#[track_caller]
pub(crate) fn failed(sent: ActionOutcome) -> String {
    assert_eq!(sent.outcome, Outcome::Failed, "{}", sent.message);
    sent.message
}
