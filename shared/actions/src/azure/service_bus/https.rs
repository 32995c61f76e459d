//! Service Bus over its HTTPS API.

use http::header::{AUTHORIZATION, HeaderValue};
use minutehand_domain::action::{MessageFormat, ServiceBus};
use minutehand_ports::AttemptContext;

use super::{properties, sas};
use crate::azure::envelope;
use crate::http::{ServiceClient, ServiceRequest, ServiceResponse};
use crate::net::Endpoint;
use crate::outcome::{ActionFailure, Secrets};

/// Sends a message to its queue or topic.
pub(super) async fn send(
    client: &ServiceClient,
    endpoint: &Endpoint,
    bus: &ServiceBus,
    context: &AttemptContext,
    secrets: &mut Secrets,
) -> Result<ServiceResponse, ActionFailure> {
    client.send(request(endpoint, bus, context, secrets)?).await
}

fn request(
    endpoint: &Endpoint,
    bus: &ServiceBus,
    context: &AttemptContext,
    secrets: &mut Secrets,
) -> Result<ServiceRequest, ActionFailure> {
    let namespace = &bus.namespace;
    let mut to = endpoint.resolve("https", namespace, None).ok_or_else(|| {
        ActionFailure::canceled(format!("'{namespace}' cannot be the name of a namespace."))
    })?;
    if let Ok(mut path) = to.url.path_segments_mut() {
        path.pop_if_empty().extend(bus.entity.split('/').filter(|part| !part.is_empty()));
    }
    let token = sas::token(to.url.as_str(), &bus.key_name, bus.key.expose(), context.sent_at);
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
    let headers = properties::headers(&brokered, custom, &context.execution_id, content_type);
    let mut headers = headers.ok_or_else(|| {
        ActionFailure::canceled(
            "A property of the message is not valid in a header of the HTTPS API.",
        )
    })?;
    let mut token = HeaderValue::try_from(token)
        .map_err(|_| ActionFailure::canceled("The name of the key is not valid in a header."))?;
    token.set_sensitive(true);
    headers.insert(AUTHORIZATION, token);
    Ok(ServiceRequest { to, headers, body })
}
