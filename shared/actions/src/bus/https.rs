//! Service Bus over its HTTPS API.

use chrono::{DateTime, Utc};
use domain::action::{MessageFormat, ServiceBus};
use http::header::{AUTHORIZATION, HeaderValue};
use ports::AttemptContext;

use super::{properties, sas};
use crate::endpoint::Endpoint;
use crate::envelope;
use crate::failure::ActionFailure;
use crate::post::{PostAnswer, PostRequest, Poster};
use crate::redact::SecretForms;

/// Sends a message to the queue or topic that it names.
pub(super) async fn send(
    post: &Poster,
    endpoint: &Endpoint,
    bus: &ServiceBus,
    occasion: &AttemptContext,
    secrets: &mut SecretForms,
) -> Result<PostAnswer, ActionFailure> {
    let parcel = parcel(endpoint, bus, occasion, occasion.sent_at, secrets)?;
    post.send(parcel).await
}

fn parcel(
    endpoint: &Endpoint,
    bus: &ServiceBus,
    occasion: &AttemptContext,
    now: DateTime<Utc>,
    secrets: &mut SecretForms,
) -> Result<PostRequest, ActionFailure> {
    let namespace = &bus.namespace;
    let mut to = endpoint.of("https", namespace, None).ok_or_else(|| {
        ActionFailure::canceled(format!("'{namespace}' cannot be the name of a namespace."))
    })?;
    if let Ok(mut path) = to.url.path_segments_mut() {
        path.pop_if_empty().extend(bus.entity.split('/').filter(|part| !part.is_empty()));
    }
    let token = sas::token(to.url.as_str(), &bus.key_name, bus.key.expose(), now);
    secrets.add(&token);
    if let Some(query) = token.split_once(' ').map(|(_, query)| query) {
        secrets.add_query(query);
    }
    if let Ok(mut path) = to.url.path_segments_mut() {
        path.push("messages");
    }
    let (body, content_type) = match bus.format.unwrap_or(MessageFormat::Envelope) {
        MessageFormat::Envelope => {
            (envelope::service_bus(&bus.message), "application/octet-stream")
        }
        MessageFormat::Raw => (bus.message.clone().into_bytes(), "text/plain; charset=utf-8"),
    };
    let brokered = bus.brokered.clone().unwrap_or_default();
    let custom = bus.custom.as_deref().unwrap_or_default();
    let headers = properties::headers(&brokered, custom, &occasion.execution_id, content_type);
    let mut headers = headers.ok_or_else(|| {
        ActionFailure::canceled(
            "A property of the message cannot stand in a header of the HTTPS API.",
        )
    })?;
    let mut token = HeaderValue::try_from(token)
        .map_err(|_| ActionFailure::canceled("The name of the key cannot stand in a header."))?;
    token.set_sensitive(true);
    headers.insert(AUTHORIZATION, token);
    Ok(PostRequest { to, headers, body })
}
