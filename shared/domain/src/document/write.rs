//! Documents out: jobs and collections, in the order and the case of the original's answers.

use recurrence::format_instant;
use serde_json::{Map, Value, json};

use crate::action::{
    Action, Authentication, BrokeredProperties, EventBridge, HttpRequest, Lambda, MessageFormat,
    ServiceBus, Sns, Sqs, StorageQueue, Target, Transport,
};
use crate::collection::CollectionDefinition;
use crate::duration::Span;
use crate::job::{JobDefinition, JobState};
use crate::pricing_tier::Quota;
use crate::retry::RetryPolicy;
use crate::secret::Secret;

/// Whether secrets are in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// For keeping, and for merging a patch.
    Kept,
    /// For answering: their properties are absent.
    Omitted,
}

/// How durations are written: clients disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durations {
    /// `00:01:00`, as recorded.
    TimeSpan,
    /// `PT1M`, as the specification has it.
    Iso,
}

/// How a document is written.
#[derive(Clone, Copy)]
struct Style {
    secrets: Secrets,
    durations: Durations,
}

/// An object that grows in order, and has no property without a value.
#[derive(Default)]
struct ObjectBuilder(Map<String, Value>);

impl ObjectBuilder {
    fn set(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    fn maybe(&mut self, name: &str, value: Option<impl Into<Value>>) -> &mut Self {
        if let Some(value) = value {
            self.set(name, value);
        }
        self
    }
}

impl From<ObjectBuilder> for Value {
    fn from(growing: ObjectBuilder) -> Self {
        Self::Object(growing.0)
    }
}

/// The `properties` of a job, but for its state and status, which the user does not say alone.
#[must_use]
pub fn write_job(job: &JobDefinition, secrets: Secrets, durations: Durations) -> Value {
    let style = Style { secrets, durations };
    let mut properties = ObjectBuilder::default();
    properties.maybe("startTime", job.start_time.map(format_instant));
    let mut action = action(&job.action.action, style);
    let error_action = job.action.error_action.as_ref();
    action.maybe("errorAction", error_action.map(|action| self::action(action, style)));
    properties.set("action", action);
    // What it writes is JSON.
    let recurrence = job.recurrence.as_ref().map(ToString::to_string);
    let recurrence = recurrence.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    properties.maybe("recurrence", recurrence);
    properties.set("state", JobState::from(job.switch).name());
    properties.into()
}

/// A collection but for its id, type and name.
#[must_use]
pub fn write_collection(collection: &CollectionDefinition) -> Value {
    let mut properties = ObjectBuilder::default();
    properties.set("sku", json!({"name": collection.plan.name()}));
    properties.set("state", collection.state.name());
    properties.maybe("quota", collection.quota.as_ref().map(quota));
    let mut document = ObjectBuilder::default();
    document
        .maybe("location", collection.location.clone())
        .maybe("tags", collection.tags.as_deref().map(texts))
        .set("properties", properties);
    document.into()
}

fn quota(quota: &Quota) -> ObjectBuilder {
    let mut document = ObjectBuilder::default();
    document
        .maybe("maxJobCount", quota.max_job_count)
        .maybe("maxJobOccurrence", quota.max_job_occurrence)
        .maybe(
            "maxRecurrence",
            quota
                .max_recurrence
                .map(|max| json!({"frequency": max.frequency.name(), "interval": max.interval})),
        );
    document
}

fn action(action: &Action, style: Style) -> ObjectBuilder {
    let mut document = ObjectBuilder::default();
    match &action.target {
        Target::Http(http) | Target::Https(http) => document.set("request", request(http, style)),
        Target::StorageQueue(queue) => document.set("queueMessage", storage_queue(queue, style)),
        Target::ServiceBusQueue(message) => {
            document.set("serviceBusQueueMessage", service_bus(message, "queueName", style))
        }
        Target::ServiceBusTopic(message) => {
            document.set("serviceBusTopicMessage", service_bus(message, "topicPath", style))
        }
        Target::Sqs(message) => document.set("sqsMessage", sqs(message)),
        Target::Sns(message) => document.set("snsMessage", sns(message)),
        Target::Lambda(invocation) => document.set("lambdaInvocation", lambda(invocation)),
        Target::EventBridge(event) => document.set("eventBridgeEvent", event_bridge(event)),
    };
    document.set("type", action.target.type_name());
    document.maybe("retryPolicy", action.retry_policy.map(|policy| retry_policy(policy, style)));
    document
}

fn retry_policy(policy: RetryPolicy, style: Style) -> ObjectBuilder {
    let mut document = ObjectBuilder::default();
    match policy {
        RetryPolicy::None => document.set("retryType", "none"),
        RetryPolicy::Fixed { interval, count } => document
            .set("retryType", "fixed")
            .maybe("retryInterval", interval.map(|span| duration(span, style)))
            .maybe("retryCount", count),
    };
    document
}

fn request(request: &HttpRequest, style: Style) -> ObjectBuilder {
    let mut document = ObjectBuilder::default();
    document
        .set("uri", request.uri.as_str())
        .set("method", request.method.as_str())
        .maybe("headers", request.headers.as_deref().map(texts))
        .maybe("body", request.body.as_deref())
        .maybe(
            "authentication",
            request.authentication.as_ref().map(|known| authentication(known, style)),
        );
    document
}

fn authentication(authentication: &Authentication, style: Style) -> ObjectBuilder {
    let mut document = ObjectBuilder::default();
    match authentication {
        Authentication::Basic { username, password } => {
            document
                .set("username", username.as_str())
                .maybe("password", secret(password, style))
                .set("type", "Basic");
        }
        Authentication::ClientCertificate(client) => {
            document.maybe("password", secret(&client.password, style));
            document.maybe("pfx", secret(&client.pfx, style));
            if let Some(certificate) = &client.certificate {
                document
                    .set("certificateThumbprint", certificate.thumbprint.as_str())
                    .set("certificateExpiration", format_instant(certificate.expires_at))
                    .set("certificateSubjectName", certificate.subject_name.as_str());
            }
            document.set("type", "ClientCertificate");
        }
        Authentication::ActiveDirectoryOAuth { tenant, audience, client_id, secret: key } => {
            document
                .maybe("secret", secret(key, style))
                .set("tenant", tenant.as_str())
                .set("audience", audience.as_str())
                .set("clientId", client_id.as_str())
                .set("type", "ActiveDirectoryOAuth");
        }
    }
    document
}

fn storage_queue(queue: &StorageQueue, style: Style) -> ObjectBuilder {
    let mut document = ObjectBuilder::default();
    document
        .set("storageAccount", queue.account.as_str())
        .set("queueName", queue.queue.as_str())
        .maybe("sasToken", secret(&queue.sas_token, style))
        .set("message", queue.message.as_str())
        .maybe("messageFormat", queue.format.map(MessageFormat::name));
    document
}

fn service_bus(message: &ServiceBus, entity: &str, style: Style) -> ObjectBuilder {
    let mut authentication = ObjectBuilder::default();
    authentication
        .maybe("sasKey", secret(&message.key, style))
        .set("sasKeyName", message.key_name.as_str())
        .set("type", "sharedAccessKey");
    let mut document = ObjectBuilder::default();
    document
        .set(entity, message.entity.as_str())
        .set("namespace", message.namespace.as_str())
        .maybe("transportType", message.transport.map(Transport::name))
        .set("authentication", authentication)
        .set("message", message.message.as_str())
        .maybe("messageFormat", message.format.map(MessageFormat::name))
        .maybe(
            "brokeredMessageProperties",
            message.brokered.as_ref().map(|properties| brokered(properties, style)),
        )
        .maybe("customMessageProperties", message.custom.as_deref().map(texts));
    document
}

fn sqs(message: &Sqs) -> ObjectBuilder {
    let mut document = ObjectBuilder::default();
    document
        .set("queueUrl", message.queue_url.as_str())
        .set("message", message.message.as_str())
        .maybe("messageAttributes", message.attributes.as_deref().map(texts))
        .maybe("messageGroupId", message.group_id.as_deref());
    document
}

fn sns(message: &Sns) -> ObjectBuilder {
    let mut document = ObjectBuilder::default();
    document
        .set("topicArn", message.topic.as_str())
        .set("message", message.message.as_str())
        .maybe("subject", message.subject.as_deref())
        .maybe("messageAttributes", message.attributes.as_deref().map(texts))
        .maybe("messageGroupId", message.group_id.as_deref());
    document
}

fn lambda(invocation: &Lambda) -> ObjectBuilder {
    let mut document = ObjectBuilder::default();
    document
        .set("functionName", invocation.function.as_str())
        .maybe("payload", invocation.payload.as_deref());
    document
}

fn event_bridge(event: &EventBridge) -> ObjectBuilder {
    let mut document = ObjectBuilder::default();
    document
        .maybe("eventBusName", event.bus.as_deref())
        .set("source", event.source.as_str())
        .set("detailType", event.detail_type.as_str())
        .set("detail", event.detail.as_str())
        .maybe("resources", event.resources.clone());
    document
}

fn brokered(properties: &BrokeredProperties, style: Style) -> ObjectBuilder {
    let mut document = ObjectBuilder::default();
    document
        .maybe("contentType", properties.content_type.as_deref())
        .maybe("correlationId", properties.correlation_id.as_deref())
        .maybe("forcePersistence", properties.force_persistence)
        .maybe("label", properties.label.as_deref())
        .maybe("messageId", properties.message_id.as_deref())
        .maybe("partitionKey", properties.partition_key.as_deref())
        .maybe("replyTo", properties.reply_to.as_deref())
        .maybe("replyToSessionId", properties.reply_to_session_id.as_deref())
        .maybe("scheduledEnqueueTimeUtc", properties.scheduled_enqueue_time.map(format_instant))
        .maybe("sessionId", properties.session_id.as_deref())
        .maybe("timeToLive", properties.time_to_live.map(|span| duration(span, style)))
        .maybe("to", properties.to.as_deref())
        .maybe("viaPartitionKey", properties.via_partition_key.as_deref());
    document
}

fn secret(secret: &Secret, style: Style) -> Option<String> {
    (style.secrets == Secrets::Kept).then(|| secret.expose().to_owned())
}

fn duration(span: Span, style: Style) -> String {
    match style.durations {
        Durations::TimeSpan => span.to_string(),
        Durations::Iso => span.iso(),
    }
}

fn texts(pairs: &[(String, String)]) -> Value {
    pairs.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect()
}
