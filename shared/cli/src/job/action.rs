//! What a job does, from options to an action.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};
use url::Url;

use super::backoff::FAILURES;
use crate::failure::{Failure, Result};
use crate::input;
use crate::instant::optional_span;
use crate::merge::{EXTENSIONS, object, object_in};

const HEADING: &str = "What it calls";

/// The names of headers whose values are credentials, as the server seals them.
const CREDENTIALS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];
const CREDENTIAL_ENDS: [&str; 3] = ["-token", "-secret", "-key"];

/// The options that say what a job does.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ActionArgs {
    /// URL to call
    #[arg(long, value_name = "URL", help_heading = HEADING)]
    pub(crate) url: Option<String>,
    /// Method [default: POST with a body, else GET]
    #[arg(long, value_name = "METHOD", help_heading = HEADING)]
    pub(crate) method: Option<String>,
    /// Header, 'Accept: text/plain'; may be repeated
    #[arg(long, value_name = "NAME: VALUE", help_heading = HEADING)]
    pub(crate) header: Vec<String>,
    /// Header whose value is in a file, for secrets
    #[arg(long, value_name = "KEY=FILE", help_heading = HEADING)]
    pub(crate) header_file: Vec<String>,
    /// Body of the request
    #[arg(long, value_name = "TEXT", help_heading = HEADING, conflicts_with = "body_file")]
    pub(crate) body: Option<String>,
    /// File with the body; - reads standard input
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub(crate) body_file: Option<PathBuf>,
    /// Put values in place of {{occurrence}} and others
    #[arg(long, help_heading = HEADING)]
    pub(crate) template: bool,
    /// User of Basic authentication
    #[arg(long, value_name = "NAME", help_heading = HEADING, requires = "password_file")]
    pub(crate) user: Option<String>,
    /// File with its password; - is standard input
    #[arg(long, value_name = "FILE", help_heading = HEADING, requires = "user")]
    pub(crate) password_file: Option<PathBuf>,
    /// Retries after a failure, 0 to 20 [default: 4]
    #[arg(long, value_name = "N", help_heading = FAILURES, value_parser = input::number::<u32>,
          allow_negative_numbers = true)]
    pub(crate) retry: Option<u32>,
    /// Pause before a retry: 30s, 5m, 1h [default: 30s]
    #[arg(long, value_name = "SPAN", help_heading = FAILURES)]
    pub(crate) retry_every: Option<String>,
    /// URL to POST to when all retries have failed
    #[arg(long, value_name = "URL", help_heading = FAILURES)]
    pub(crate) on_failure: Option<String>,
}

impl ActionArgs {
    /// The action, or `None` if no URL is given.
    pub(crate) fn action(&self) -> Result<Option<Value>> {
        let Some(url) = &self.url else {
            return if self.is_empty() {
                Ok(None)
            } else {
                Err(Failure::refused("the target is missing: add --url https://example.com/"))
            };
        };
        let mut request = self.request()?;
        let method = if request.contains_key("body") { "POST" } else { "GET" };
        request.entry("method").or_insert_with(|| method.into());
        let mut action = http(url, request, "--url")?;
        self.add_outcomes(&mut action)?;
        Ok(Some(action.into()))
    }

    /// The part of a merge patch that changes a stored action, or `None` if no option is about it.
    pub(crate) fn patch(&self, found: Option<&Value>) -> Result<Option<Value>> {
        if self.is_empty() && self.url.is_none() {
            return Ok(None);
        }
        let kind = found.and_then(|action| action.get("type")?.as_str()).unwrap_or("Http");
        let request = self.request()?;
        let is_http = ["http", "https"].contains(&kind.to_ascii_lowercase().as_str());
        if kind.eq_ignore_ascii_case(super::expect::TYPE) && self.url.is_some() {
            let message = "the job expects pings: with --url it would expect none any more";
            let hint = "create another job for --url; if this one is to call something from now on, say \
                        action.type=Http action.request.method=GET action.request.uri=URL";
            return Err(Failure::refused(message).hint(hint));
        }
        if !is_http && self.url.is_some() {
            // The server removes what belongs to the type before.
            return self.action();
        }
        if !is_http && !request.is_empty() {
            return Err(Failure::refused(format!(
                "the action of the job is of type {kind}: method, headers, body and user are those of \
                 HTTP"
            ))
            .hint("PROPERTY=VALUE changes its message; --url makes it an HTTP action"));
        }
        let mut action = match &self.url {
            Some(url) => http(url, request, "--url")?,
            None if request.is_empty() => Map::new(),
            None => Map::from_iter([("request".to_owned(), request.into())]),
        };
        self.add_outcomes(&mut action)?;
        if let Some(Value::Object(retry)) = action.get_mut("retryPolicy")
            && retry.get("retryType") == Some(&"none".into())
        {
            // Nothing of the retries before stays.
            retry.extend(["retryCount", "retryInterval"].map(|it| (it.to_owned(), Value::Null)));
        }
        Ok(Some(action.into()))
    }

    /// What the options say of the request, beside its URL.
    fn request(&self) -> Result<Map<String, Value>> {
        let headers = self.headers()?;
        let body = match (&self.body, &self.body_file) {
            (Some(body), _) => Some(body.as_str().into()),
            (None, Some(path)) => Some(input::text(path)?.as_str().into()),
            (None, None) => None,
        };
        let basic = match (&self.user, &self.password_file) {
            (Some(user), Some(path)) => {
                let password = input::secret(path)?;
                Some(json!({"type": "Basic", "username": user, "password": *password}))
            }
            _ => None,
        };
        Ok(object([
            ("method", self.method.as_ref().map(|method| method.to_uppercase().into())),
            ("headers", (!headers.is_empty()).then(|| headers.into())),
            ("body", body),
            ("authentication", basic),
        ]))
    }

    /// Adds what follows a failed attempt.
    fn add_outcomes(&self, action: &mut Map<String, Value>) -> Result<()> {
        action.extend(self.retry_policy()?.map(|retry| ("retryPolicy".to_owned(), retry)));
        if let Some(url) = &self.on_failure {
            let request = Map::from_iter([("method".to_owned(), "POST".into())]);
            let on_failure = http(url, request, "--on-failure")?;
            action.insert("errorAction".to_owned(), on_failure.into());
        }
        Ok(())
    }

    /// Adds what the job's own extension says of its action to its properties.
    pub(crate) fn put_into(&self, properties: &mut Map<String, Value>) -> Result<()> {
        if self.template {
            object_in(properties, EXTENSIONS)?.insert("template".to_owned(), true.into());
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.method.is_none()
            && self.header.is_empty()
            && self.header_file.is_empty()
            && self.body.is_none()
            && self.body_file.is_none()
            && self.user.is_none()
            && self.retry.is_none()
            && self.retry_every.is_none()
            && self.on_failure.is_none()
    }

    fn headers(&self) -> Result<Map<String, Value>> {
        let mut headers = Map::new();
        for header in &self.header {
            let (name, value) = header.split_once(':').ok_or_else(|| {
                Failure::refused(format!("--header '{header}': write it like 'Name: value'"))
            })?;
            let name = name.trim();
            if is_credential(name) {
                return Err(Failure::refused(format!(
                    "--header {name}: other users of this machine could read its value; use \
                     --header-file {name}=FILE"
                )));
            }
            headers.insert(name.to_owned(), value.trim().into());
        }
        for header in &self.header_file {
            let (name, path) = header.split_once('=').ok_or_else(|| {
                Failure::refused(format!("--header-file '{header}': write it like Name=FILE"))
            })?;
            let value = input::secret(Path::new(path.trim()))?;
            headers.insert(name.trim().to_owned(), value.as_str().into());
        }
        Ok(headers)
    }

    fn retry_policy(&self) -> Result<Option<Value>> {
        let every = optional_span("--retry-every", self.retry_every.as_deref())?;
        Ok(match (self.retry, every) {
            (None, None) => None,
            (Some(0), _) => Some(json!({"retryType": "none"})),
            (count, every) => {
                let (count, kind) = (count.map(Value::from), Some("fixed".into()));
                let policy = [("retryCount", count), ("retryInterval", every), ("retryType", kind)];
                Some(object(policy).into())
            }
        })
    }
}

fn http(url: &str, mut request: Map<String, Value>, option: &str) -> Result<Map<String, Value>> {
    let kind = match Url::parse(url).as_ref().map(Url::scheme) {
        Ok("http") => "Http",
        Ok("https") => "Https",
        _ => {
            return Err(Failure::refused(format!(
                "{option} '{url}' is not a URL: write it whole, like https://example.com/path"
            )));
        }
    };
    request.insert("uri".to_owned(), url.into());
    Ok(Map::from_iter([("type".to_owned(), kind.into()), ("request".to_owned(), request.into())]))
}

/// Whether the value of a header is a credential.
pub(crate) fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    CREDENTIALS.contains(&name.as_str()) || CREDENTIAL_ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(args: &ActionArgs) -> Result<Value> {
        args.action().map(Option::unwrap_or_default)
    }

    #[test]
    fn options_become_an_action() {
        let args = ActionArgs {
            url: Some("https://example.com/r".to_owned()),
            header: vec!["Content-Type: text/plain".to_owned()],
            body: Some("{}".to_owned()),
            retry: Some(5),
            retry_every: Some("2m".to_owned()),
            on_failure: Some("http://localhost:1/".to_owned()),
            ..ActionArgs::default()
        };
        assert_eq!(
            action(&args).unwrap(),
            json!({
                "type": "Https",
                "request": {"method": "POST", "uri": "https://example.com/r", "body": "{}",
                            "headers": {"Content-Type": "text/plain"}},
                "retryPolicy": {"retryType": "fixed", "retryCount": 5, "retryInterval": "PT120S"},
                "errorAction": {"type": "Http",
                                "request": {"method": "POST", "uri": "http://localhost:1/"}},
            })
        );
        assert_eq!(ActionArgs::default().action().unwrap(), None);
    }

    #[test]
    fn options_change_what_they_name_of_an_action() {
        let http = json!({"type": "Http", "request": {"method": "GET", "uri": "http://a/"}});
        let patch = |change: fn(&mut ActionArgs), found: &Value| {
            let mut args = ActionArgs::default();
            change(&mut args);
            args.patch(Some(found))
        };
        assert_eq!(patch(|_| {}, &http).unwrap(), None);
        let url = patch(|args| args.url = Some("https://b/".to_owned()), &http).unwrap().unwrap();
        assert_eq!(url, json!({"type": "Https", "request": {"uri": "https://b/"}}));
        let header = patch(|args| args.header.push("Accept: x".to_owned()), &http).unwrap();
        assert_eq!(header.unwrap(), json!({"request": {"headers": {"Accept": "x"}}}));
        let none = patch(|args| args.retry = Some(0), &http).unwrap().unwrap();
        let nothing = json!({"retryType": "none", "retryCount": null, "retryInterval": null});
        assert_eq!(none, json!({ "retryPolicy": nothing }));
        let every = patch(|args| args.retry_every = Some("1m".to_owned()), &http).unwrap().unwrap();
        assert_eq!(every["retryPolicy"], json!({"retryType": "fixed", "retryInterval": "PT60S"}));

        let sqs = json!({"type": "Sqs", "sqsMessage": {"queueUrl": "q"}});
        let body = patch(|args| args.body = Some("x".to_owned()), &sqs).unwrap_err().message;
        assert!(body.contains("of type Sqs"), "{body}");
        let retry = patch(|args| args.retry = Some(2), &sqs).unwrap().unwrap();
        assert_eq!(retry, json!({"retryPolicy": {"retryType": "fixed", "retryCount": 2}}));
        let url = patch(|args| args.url = Some("http://b/".to_owned()), &sqs).unwrap().unwrap();
        assert_eq!(url, json!({"type": "Http", "request": {"method": "GET", "uri": "http://b/"}}));

        let expect = json!({"type": "Expect", "expect": {}});
        let url = patch(|args| args.url = Some("http://b/".to_owned()), &expect).unwrap_err();
        assert!(url.message.contains("expects pings"), "{url:?}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let url = Some("http://a/".to_owned());
        let given = |change: fn(&mut ActionArgs)| {
            let mut args = ActionArgs { url: url.clone(), ..ActionArgs::default() };
            change(&mut args);
            args.action().unwrap_err().message
        };
        for (message, says) in [
            (given(|args| args.url = Some("example.com".to_owned())), "is not a URL"),
            (
                given(|args| args.url = None::<String>.or(Some("ftp://a".to_owned()))),
                "is not a URL",
            ),
            (given(|args| args.header.push("X".to_owned())), "write it like 'Name: value'"),
            (
                given(|args| args.header.push("X-Api-Key: s".to_owned())),
                "--header-file X-Api-Key=FILE",
            ),
            (given(|args| args.retry_every = Some("soon".to_owned())), "30s, 5m or 1h"),
        ] {
            assert!(message.contains(says), "{message}");
            assert!(!message.contains(": s"), "a credential is in no message: {message}");
        }
        let args = ActionArgs { retry: Some(1), ..ActionArgs::default() };
        assert!(args.action().unwrap_err().message.contains("add --url"));
    }
}
