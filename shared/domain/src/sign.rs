//! Signatures on requests: by them a target tells a request of this job from one that anyone could send.
//!
//! The form is that of Standard Webhooks. Each request says which message it is, when it was sent, and
//! carries one signature for each secret. Two secrets let a target change from one to the other: while
//! both sign, it may know either.

use std::ops::RangeInclusive;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::attempt::{Attempt, Role};
use crate::credentials::WITHHELD;
use crate::json::Shape::Object;
use crate::json::{Fields, ObjectBuilder, Reading, Shape};
use crate::refusal::Refusal;
use crate::secret::Secret;

/// The headers of a signed request: which message it is, when it was sent, and its signatures.
pub const SIGNATURE_HEADERS: [&str; 3] = ["webhook-id", "webhook-timestamp", "webhook-signature"];

/// The most secrets that sign at the same time.
pub const SIGNING_SECRETS_MAX: usize = 2;
/// How a secret begins.
const PREFIX: &str = "whsec_";
/// How many bytes a key may have.
const KEY_BYTES: RangeInclusive<usize> = 24..=64;

/// The property with the secrets.
pub(crate) const SECRETS: &str = "secrets";
/// The names in the extension.
pub(crate) const SIGN: Shape = Object(&[(SECRETS, Shape::Secret)]);

/// The extension `sign` of a job: the secrets that sign its requests, newest first by convention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signing(pub Vec<Secret>);

impl Signing {
    /// The keys that sign, one for each secret.
    pub fn keys(&self) -> impl Iterator<Item = Vec<u8>> {
        self.0.iter().filter_map(|secret| key(secret.expose()))
    }

    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let path = fields.path(SECRETS);
        let Some(Value::Array(sent)) = fields.value(SECRETS) else {
            let problem = "is missing; it is an array of one or two secrets, each 'whsec_' and 24 \
                to 64 random bytes in Base64.";
            return Err(Refusal::about(path, problem));
        };
        if fields.reading() == Reading::StoredWithoutSecrets {
            return Ok(Self(sent.iter().map(|_| Secret::withheld()).collect()));
        }
        if sent.is_empty() || sent.len() > SIGNING_SECRETS_MAX {
            let n = sent.len();
            let problem =
                format!("has {n} secrets; send one, or two while a target changes to a new one.");
            return Err(Refusal::about(path, problem));
        }
        let mut secrets: Vec<Secret> = Vec::with_capacity(sent.len());
        for (n, secret) in sent.iter().enumerate() {
            // A message never repeats what was sent.
            let about = |problem: &str| Refusal::about(format!("{path}.{n}"), problem);
            let text = secret.as_str().filter(|text| key(text).is_some()).ok_or_else(|| {
                about(
                    "is not a signing secret; send 'whsec_' and 24 to 64 random bytes in Base64, as \
                     `echo whsec_$(openssl rand -base64 32)` prints them.",
                )
            })?;
            let secret = Secret::new(text);
            if secrets.contains(&secret) {
                return Err(about("is the same as the other one; leave one of them out."));
            }
            secrets.push(secret);
        }
        Ok(Self(secrets))
    }

    /// Writes the extension. An answer says how many secrets there are, and none of them.
    pub(crate) fn write(&self) -> ObjectBuilder {
        let secrets = |known: fn(&Secret) -> &str| self.0.iter().map(known).collect::<Value>();
        ObjectBuilder::default().withheld(
            SECRETS,
            secrets(|secret| secret.known().unwrap_or(WITHHELD)),
            secrets(|_| WITHHELD),
        )
    }
}

/// The key of a secret; `None` if the text is not a secret.
fn key(text: &str) -> Option<Vec<u8>> {
    let key = STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?;
    KEY_BYTES.contains(&key.len()).then_some(key)
}

/// Tells the message of an attempt from all others. All attempts at an action for an occurrence have
/// the same, so that a target can leave out what it has done. The error action is another message.
///
/// It contains no full stop, which separates it from what else is signed.
#[must_use]
pub fn webhook_id(job_uid: &str, attempt: &Attempt) -> String {
    let Attempt { generation, role, .. } = attempt;
    let occurrence = attempt.occurrence.key();
    let role = match role {
        Role::Main => "",
        Role::Error => "_error",
        Role::Notice => "_notice",
    };
    format!("msg_{job_uid}_{generation}_{occurrence}{role}")
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use serde_json::json;

    use super::*;
    use crate::attempt::Occurrence;
    use crate::plan::Plan;

    const ONE: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const OTHER: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    fn read(sign: &Value) -> Result<Signing, String> {
        let fields = Fields::new("minutehand.sign", sign, Reading::Request(Plan::default()));
        fields.and_then(|fields| Signing::read(&fields)).map_err(|refusal| refusal.message)
    }

    #[test]
    fn one_secret_or_two_are_read_and_never_shown() {
        for secrets in [vec![ONE], vec![OTHER, ONE]] {
            let signing = read(&json!({"secrets": secrets})).unwrap();
            assert_eq!(
                signing.keys().map(|key| key.len()).collect::<Vec<_>>(),
                vec![24; secrets.len()]
            );
            let split = signing.write().split();
            let shown = json!({"secrets": vec![WITHHELD; secrets.len()]}).to_string();
            assert_eq!(split.shown, shown);
            assert_eq!(split.secrets.unwrap().expose(), json!({"secrets": secrets}).to_string());
            assert!(!format!("{signing:?}").contains(ONE));
        }
    }

    #[test]
    fn wrong_secrets_are_refused_and_not_repeated() {
        let short = format!("whsec_{}", STANDARD.encode([1; 23]));
        let long = format!("whsec_{}", STANDARD.encode([1; 65]));
        for (sign, says) in [
            (json!({}), "'minutehand.sign.secrets' is missing; it is an array"),
            (json!({"secrets": ONE}), "'minutehand.sign.secrets' is missing; it is an array"),
            (json!({"secrets": []}), "'minutehand.sign.secrets' has 0 secrets; send one"),
            (json!({"secrets": [ONE, OTHER, ONE]}), "has 3 secrets; send one, or two"),
            (json!({"secrets": [ONE, ONE]}), "'minutehand.sign.secrets.1' is the same"),
            (json!({"secrets": [ONE, 5]}), "'minutehand.sign.secrets.1' is not a signing secret"),
            (
                json!({"secrets": [&ONE[6..]]}),
                "'minutehand.sign.secrets.0' is not a signing secret",
            ),
            (json!({"secrets": ["whsec_hunter2"]}), "openssl rand -base64 32"),
            (json!({"secrets": [short]}), "24 to 64 random bytes"),
            (json!({"secrets": [long]}), "24 to 64 random bytes"),
        ] {
            let message = read(&sign).unwrap_err();
            assert!(message.contains(says), "{message}");
            assert!(!message.contains("hunter2") && !message.contains(&ONE[6..]), "{message}");
        }
    }

    #[test]
    fn a_message_is_the_same_for_all_attempts_at_an_action() {
        let at = DateTime::from_timestamp(60, 0).unwrap();
        let first = Attempt::first(3, Occurrence::Scheduled { nominal_at: at });
        assert_eq!(webhook_id("u", &first), "msg_u_3_600000000");
        assert_eq!(
            webhook_id("u", &Attempt { number: 4, ..first.clone() }),
            webhook_id("u", &first)
        );
        let error = Attempt { role: Role::Error, ..first };
        assert_eq!(webhook_id("u", &error), "msg_u_3_600000000_error");
        let run = Occurrence::Run { asked_at: at, run_id: "5f".to_owned() };
        assert_eq!(webhook_id("u", &Attempt::first(3, run)), "msg_u_3_r5f");
    }
}
