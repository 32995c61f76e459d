//! Actions: what a job does when it fires.

use chrono::{DateTime, Utc};

use crate::arn::Arn;
use crate::duration::Span;
use crate::retry::RetryPolicy;
use crate::secret::Secret;

/// What a job does, and what when that fails for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MainAction {
    /// What it does.
    pub action: Action,
    /// What it does when all retries have failed. Error actions do not nest.
    pub error_action: Option<Action>,
}

/// Something to do, and how to try again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// What to do.
    pub target: Target,
    /// How to try again, as it was sent.
    pub retry_policy: Option<RetryPolicy>,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Call a URL; the name of the type is `Http`.
    Http(HttpRequest),
    /// Call a URL; the name of the type is `Https`.
    Https(HttpRequest),
    /// Put a message into a Storage queue.
    StorageQueue(StorageQueue),
    /// Send a message to a Service Bus queue.
    ServiceBusQueue(ServiceBus),
    /// Send a message to a Service Bus topic.
    ServiceBusTopic(ServiceBus),
    /// Send a message to a queue of SQS.
    Sqs(Sqs),
    /// Publish a message to a topic of SNS.
    Sns(Sns),
    /// Invoke a function of Lambda, and do not wait for it.
    Lambda(Lambda),
    /// Put an event on a bus of `EventBridge`.
    EventBridge(EventBridge),
}

impl Target {
    /// The name of its type, as answered.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Http(_) => "Http",
            Self::Https(_) => "Https",
            Self::StorageQueue(_) => "StorageQueue",
            Self::ServiceBusQueue(_) => "ServiceBusQueue",
            Self::ServiceBusTopic(_) => "ServiceBusTopic",
            Self::Sqs(_) => "Sqs",
            Self::Sns(_) => "Sns",
            Self::Lambda(_) => "Lambda",
            Self::EventBridge(_) => "EventBridge",
        }
    }

    /// Whether it authenticates in a way that the plan Free does not include.
    #[must_use]
    pub const fn authenticates(&self) -> bool {
        match self {
            Self::Http(request) | Self::Https(request) => request.authentication.is_some(),
            Self::StorageQueue(_)
            | Self::ServiceBusQueue(_)
            | Self::ServiceBusTopic(_)
            | Self::Sqs(_)
            | Self::Sns(_)
            | Self::Lambda(_)
            | Self::EventBridge(_) => false,
        }
    }

    /// Whether it is a service of AWS, where whoever runs us acts in its own name.
    #[must_use]
    pub const fn is_aws(&self) -> bool {
        match self {
            Self::Http(_)
            | Self::Https(_)
            | Self::StorageQueue(_)
            | Self::ServiceBusQueue(_)
            | Self::ServiceBusTopic(_) => false,
            Self::Sqs(_) | Self::Sns(_) | Self::Lambda(_) | Self::EventBridge(_) => true,
        }
    }
}

/// An HTTP request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// To the letter as it was sent; that it is an absolute `http` or `https` URL was checked.
    pub uri: String,
    /// In the case in which it was sent.
    pub method: String,
    /// In their order; an empty list is echoed, none is not.
    pub headers: Option<Vec<(String, String)>>,
    /// The body.
    pub body: Option<String>,
    /// How to authenticate.
    pub authentication: Option<Authentication>,
}

/// How to authenticate to what is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authentication {
    /// User name and password.
    Basic {
        /// The user name.
        username: String,
        /// The password.
        password: Secret,
    },
    /// A certificate of ours in the TLS handshake.
    ClientCertificate(ClientCertificate),
    /// A bearer token from Active Directory, by client credentials.
    ActiveDirectoryOAuth {
        /// The tenant.
        tenant: String,
        /// Whom the token is for.
        audience: String,
        /// Who asks for it.
        client_id: String,
        /// The secret of who asks.
        secret: Secret,
    },
}

/// A certificate and its key, in a PKCS#12 file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The file, in base64.
    pub pfx: Secret,
    /// The password of the file.
    pub password: Secret,
    /// What the file holds, once it has been opened.
    pub certificate: Option<CertificateFacts>,
}

/// What is answered of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFacts {
    /// SHA-1, in upper-case hexadecimal.
    pub thumbprint: String,
    /// When it expires.
    pub expires_at: DateTime<Utc>,
    /// Its subject.
    pub subject_name: String,
}

/// A message for a Storage queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageQueue {
    /// The storage account.
    pub account: String,
    /// The queue.
    pub queue: String,
    /// What authorizes the message.
    pub sas_token: Secret,
    /// The message.
    pub message: String,
    /// In which form it goes there, as it was sent; absent is the envelope.
    pub format: Option<MessageFormat>,
}

/// In which form a message goes to a queue or topic of Azure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageFormat {
    /// As the original sent it: to a Storage queue inside a document that tells of the execution, to
    /// Service Bus serialized as .NET does a string.
    Envelope,
    /// The text of the job and nothing else.
    Raw,
}

impl MessageFormat {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Envelope, Self::Raw];

    /// Its name, as answered.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Envelope => "envelope",
            Self::Raw => "raw",
        }
    }
}

/// A message for a Service Bus queue or topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceBus {
    /// The queue's name or the topic's path.
    pub entity: String,
    /// The namespace.
    pub namespace: String,
    /// How to send it, as it was sent; absent is the HTTPS API.
    pub transport: Option<Transport>,
    /// The name of the key.
    pub key_name: String,
    /// The key.
    pub key: Secret,
    /// The message.
    pub message: String,
    /// In which form it goes there, as it was sent; absent is the envelope.
    pub format: Option<MessageFormat>,
    /// Properties that the broker knows.
    pub brokered: Option<BrokeredProperties>,
    /// Properties that it only carries, in their order.
    pub custom: Option<Vec<(String, String)>>,
}

/// How a message goes to Service Bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Nothing said: the HTTPS API.
    NotSpecified,
    /// The HTTPS API; the protocol that this once named is gone.
    NetMessaging,
    /// AMQP 1.0.
    Amqp,
}

impl Transport {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::NotSpecified, Self::NetMessaging, Self::Amqp];

    /// Its name, as answered.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotSpecified => "notSpecified",
            Self::NetMessaging => "netMessaging",
            Self::Amqp => "amqp",
        }
    }
}

/// Properties of a message that Service Bus knows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names are Service Bus's own")]
pub struct BrokeredProperties {
    pub content_type: Option<String>,
    pub correlation_id: Option<String>,
    pub force_persistence: Option<bool>,
    pub label: Option<String>,
    pub message_id: Option<String>,
    pub partition_key: Option<String>,
    pub reply_to: Option<String>,
    pub reply_to_session_id: Option<String>,
    pub scheduled_enqueue_time: Option<DateTime<Utc>>,
    pub session_id: Option<String>,
    pub time_to_live: Option<Span>,
    pub to: Option<String>,
    pub via_partition_key: Option<String>,
}

/// A message for a queue of SQS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sqs {
    /// The URL of the queue, as SQS names it.
    pub queue_url: String,
    /// The message.
    pub message: String,
    /// Its attributes, in their order.
    pub attributes: Option<Vec<(String, String)>>,
    /// Which messages of a FIFO queue keep their order; absent is the job's own.
    pub group_id: Option<String>,
}

impl Sqs {
    /// Whether the queue keeps the order of its messages, which its name says.
    #[must_use]
    pub fn is_fifo(&self) -> bool {
        self.queue_url.ends_with(FIFO)
    }
}

/// A message for a topic of SNS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sns {
    /// The topic.
    pub topic: Arn,
    /// The message.
    pub message: String,
    /// The subject, for those who get it by mail.
    pub subject: Option<String>,
    /// Its attributes, in their order.
    pub attributes: Option<Vec<(String, String)>>,
    /// Which messages of a FIFO topic keep their order; absent is the job's own.
    pub group_id: Option<String>,
}

impl Sns {
    /// Whether the topic keeps the order of its messages, which its name says.
    #[must_use]
    pub fn is_fifo(&self) -> bool {
        self.topic.as_str().ends_with(FIFO)
    }
}

/// How the names of queues and topics end that keep the order of their messages.
const FIFO: &str = ".fifo";

/// An invocation of a function of Lambda.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lambda {
    /// The function: its name or its ARN, with a version or an alias or without.
    pub function: String,
    /// What it is given: JSON, to the letter as it was sent.
    pub payload: Option<String>,
}

/// An event for a bus of `EventBridge`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventBridge {
    /// The bus: its name or its ARN; absent is the account's default.
    pub bus: Option<String>,
    /// Who sends it.
    pub source: String,
    /// What kind of event it is.
    pub detail_type: String,
    /// What it says: a JSON object, to the letter as it was sent.
    pub detail: String,
    /// What it is about.
    pub resources: Option<Vec<String>>,
}

impl EventBridge {
    /// The bus, as AWS calls the one that is meant.
    #[must_use]
    pub fn bus_name(&self) -> &str {
        self.bus.as_deref().unwrap_or("default")
    }
}
