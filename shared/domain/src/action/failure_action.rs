//! The failure action of a collection: an action that sends an event or an alert instead of a content of its
//! own.
//!
//! With a `format`, the URL of a request is a secret as a whole: who knows the URL of such a receiver may
//! write there.

use serde_json::{Map, Value};
use url::Url;

use super::{Action, HttpRequest, Target};
use crate::alert::{AlertFormat, AlertRules, AlertText, AlertUse, CONTENT_TYPE};
use crate::credentials::WITHHELD;
use crate::failure_event::FailureEvent;
use crate::json::{Fields, ObjectBuilder};
use crate::plan::Plan;
use crate::refusal::Refusal;
use crate::retry::Retries;
use crate::secret::Secret;

/// What stands for the event until there is one. Every type accepts it as its content.
const PLACEHOLDER: &str = "{}";
/// The property of the format.
pub(crate) const FORMAT: &str = "format";
/// The method of every receiver in a format for people.
const METHOD: &str = "POST";

/// The action of a collection for occurrences of its jobs that fail for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureAction {
    action: Action,
    format: Option<AlertFormat>,
    rules: AlertRules,
}

impl FailureAction {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let names = AlertFormat::ALL.map(AlertFormat::name).join(", ");
        let format = fields.one_of(FORMAT, AlertFormat::read_name, &names)?;
        let mut action = fields.map().clone();
        for (property, content) in Target::contents() {
            let Some(payload) = fields.object(property)? else {
                continue;
            };
            if format == Some(AlertFormat::Template) {
                continue;
            }
            check_has_no_content(&payload, content)?;
            if let Some(Value::Object(payload)) = action.get_mut(property) {
                payload.insert(content.to_owned(), PLACEHOLDER.into());
            }
        }
        if fields.limiting_plan().is_some()
            && let Some(request) = fields.object("request")?
        {
            let is_https =
                fields.text("type")?.is_some_and(|kind| kind.eq_ignore_ascii_case("https"));
            check_uri(&request, format, is_https)?;
            let to_people = format.is_some_and(AlertFormat::is_for_people);
            if let (true, Some(Value::Object(sent))) = (to_people, action.get_mut("request")) {
                set_method(&request, sent)?;
            }
        }
        let action = Value::Object(action);
        let mut action =
            Action::read_sending(&Fields::new(fields.place(), &action, fields.reading())?)?;
        match (&mut action.target, format) {
            (Target::Http(request) | Target::Https(request), Some(format)) => {
                if format == AlertFormat::Template && fields.limiting_plan().is_some() {
                    check_template(request, fields)?;
                }
                request.sealed_uri = Some(Secret::new(request.uri.clone()));
            }
            (_, Some(format)) if format != AlertFormat::CloudEvents => {
                let allowed = "needs an action of type Http or Https; change 'type'";
                return Err(fields.wrong(FORMAT, allowed));
            }
            _ => {}
        }
        Ok(Self { action, format, rules: AlertRules::read(fields)? })
    }

    pub(crate) fn write(&self) -> ObjectBuilder {
        let property = self.action.target.property();
        let content = Target::contents().find(|(known, _)| *known == property);
        let content = content.map_or("", |(_, content)| content);
        let action = match self.format {
            Some(AlertFormat::Template) => self.action.write(),
            _ => self.action.write().without(property, content),
        };
        self.rules.write(action.maybe(FORMAT, self.format.map(AlertFormat::name)))
    }

    /// The target.
    #[must_use]
    pub const fn target(&self) -> &Target {
        &self.action.target
    }

    /// The same, to change it.
    pub const fn target_mut(&mut self) -> &mut Target {
        &mut self.action.target
    }

    /// The format of what it sends; `None` sends an event, to a URL that is not a secret.
    #[must_use]
    pub const fn format(&self) -> Option<AlertFormat> {
        self.format
    }

    /// Which endings of occurrences it tells.
    #[must_use]
    pub const fn rules(&self) -> &AlertRules {
        &self.rules
    }

    /// What the workers of a job have to know of it.
    #[must_use]
    pub fn alert_use(&self) -> AlertUse {
        match (self.rules.need_state(), self.rules.tell_incidents(), self.format) {
            (true, true, _) => AlertUse::RulesAndIncidents,
            (true, false, _) => AlertUse::Rules,
            (false, true, _) => AlertUse::Incidents,
            (false, false, Some(_)) => AlertUse::Format,
            (false, false, None) => AlertUse::None,
        }
    }

    /// The target with an event to send, in the format of the receiver.
    #[must_use]
    pub fn with_event(&self, event: &FailureEvent<'_>) -> Target {
        let mut target = self.action.target.clone();
        if self.format == Some(AlertFormat::Template) {
            if let Target::Http(request) | Target::Https(request) = &mut target {
                let template = request.body_template();
                let summary = AlertText::of(event).title;
                request.body = template.and_then(Result::ok).map(|it| event.render(&it, &summary));
            }
            return target;
        }
        let alert = |uri: &str| self.format?.request(uri, &AlertText::of(event));
        match &mut target {
            Target::Http(request) | Target::Https(request) => match alert(&request.uri) {
                Some(alert) => {
                    let content_type = ("Content-Type".to_owned(), CONTENT_TYPE.to_owned());
                    request.headers.get_or_insert_default().push(content_type);
                    request.uri = alert.uri;
                    request.body = Some(alert.body);
                }
                None => target.set_event(event.to_json()),
            },
            _ => target.set_event(event.to_json()),
        }
        target
    }

    /// The retries of the action, which do not depend on those of a job.
    #[must_use]
    pub fn retries(&self, plan: Plan) -> Retries {
        Retries::from_policy(self.action.retry_policy.as_ref(), plan)
    }
}

/// The event is the content, so a content of its own would be lost.
fn check_has_no_content(payload: &Fields<'_>, content: &str) -> Result<(), Refusal> {
    let headers = payload.texts("headers")?.unwrap_or_default();
    let content_type =
        headers.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let name = match content_type {
        _ if payload.value(content).is_some() => content.to_owned(),
        Some((name, _)) => format!("headers.{name}"),
        None => return Ok(()),
    };
    let problem =
        "cannot be set here: the action sends an event that describes the failure. Remove it.";
    Err(payload.about(&name, problem))
}

/// Checks the body of a template, which there has to be.
fn check_template(request: &HttpRequest, fields: &Fields<'_>) -> Result<(), Refusal> {
    let about = |what: String| Err(fields.about("request.body", what));
    match request.body_template() {
        Some(Ok(_)) => Ok(()),
        Some(Err(error)) => about(format!("{error}.")),
        None => about(
            "is missing; with the format 'template', write what is sent, such as '{{job}}: {{cause}}'."
                .to_owned(),
        ),
    }
}

/// Checks a URL that no message may repeat.
fn check_uri(
    request: &Fields<'_>,
    format: Option<AlertFormat>,
    is_https: bool,
) -> Result<(), Refusal> {
    let uri = request.text("uri").ok().flatten().unwrap_or_default();
    let wrong = |what: &str| Err(request.about("uri", format!("{what}.")));
    let Some(format) = format else {
        // Without a format it would be shown.
        return if uri == WITHHELD {
            wrong(
                "is not shown, because it was given with 'format'; send it again to remove 'format'",
            )
        } else {
            Ok(())
        };
    };
    let url = Url::parse(uri).ok().filter(Url::has_host);
    match url.as_ref().map(Url::scheme) {
        Some("http") if is_https => {
            return wrong("is an http URL; an action of type 'Https' requires an https URL");
        }
        Some("http" | "https") => {}
        _ => {
            return wrong(
                "is not an absolute http or https URL; send the URL that the receiver gave you",
            );
        }
    }
    format.check_uri(uri).or_else(wrong)
}

/// Sets the method, which a client may leave out.
fn set_method(request: &Fields<'_>, sent: &mut Map<String, Value>) -> Result<(), Refusal> {
    match request.text("method")? {
        Some(method) if !method.eq_ignore_ascii_case(METHOD) => {
            Err(request.wrong("method", "a receiver of alerts takes POST; leave this out"))
        }
        Some(_) => Ok(()),
        None => {
            sent.insert("method".to_owned(), METHOD.into());
            Ok(())
        }
    }
}
