//! Performs actions: calls URLs, and sends messages to queues, topics, functions and buses.
//!
//! The executor and the program for one machine call it through the port `ActionSender`. It never knows
//! stores, the queue or other attempts: the caller retries, waits, records outcomes, and limits how
//! many attempts run.
//!
//! [`Actions`] implements the port [`ActionSender`]. Each type of action is one file, and one row of
//! the dispatch by type in this file. Failures are outcomes, not errors: their messages have the
//! words of Azure Scheduler, since its clients parse them.
//!
//! | Module | Contents |
//! | --- | --- |
//! | `net` | connections: allowed addresses, name resolution, TLS, clients |
//! | `outcome` | messages of the history: words of .NET, and the removal of secrets |
//! | `http` | the actions `Http` and `Https`, and requests to services |
//! | `azure` | the actions for Storage queues and Service Bus |
//! | `aws` | the actions for SQS, SNS, Lambda and `EventBridge` |
//!
//! Modules further down use those above them.
//!
//! All actions share these rules:
//!
//! - one time limit covers everything, and everything that is read has a limit;
//! - connections are reused, but never by two identities;
//! - forbidden addresses are refused when a connection is opened ([`TargetPolicy`]);
//! - redirects are followed here, and credentials are sent only to the job's origin;
//! - messages contain no secret that was sent.

mod aws;
mod azure;
mod context;
mod http;
mod lru;
mod net;
mod outcome;
mod settings;

use std::sync::Arc;

use ::http::HeaderValue;
use async_trait::async_trait;
use minutehand_domain::action::Target;
use minutehand_domain::cause::CauseKind;
use minutehand_ports::{ActionOutcome, ActionSender, AttemptContext, NotMade};

use crate::aws::{Account, AwsSender};
use crate::azure::{AmqpSender, ServiceBusSender, StorageQueueSender};
use crate::http::{HttpSender, ServiceClient, TokenSource};
use crate::net::{COLLECTION, HttpClients, NetSettings};
use crate::outcome::KeptBodies;

pub use crate::http::{REDIRECTS_MAX, is_authority};
pub use crate::net::{
    Endpoint, EndpointError, Forbidden, Resolver, Roots, SystemResolver, TargetPolicy,
    is_on_loopback,
};
pub use crate::settings::{
    AUTHORITY, ActionSettings, Aws, CONNECT_TIME_MAX, IDLE_CONNECTIONS_MAX, SERVICE_BUS_SUFFIX,
    STORAGE_SUFFIX, SendLimits, SettingsError, TOTAL_TIME_MAX,
};

/// Performs actions. A process has one of it, since it holds the connections.
pub struct Actions {
    http: HttpSender,
    storage: StorageQueueSender,
    service_bus: ServiceBusSender,
    aws: AwsSender,
}

impl Actions {
    /// Creates a sender that resolves names as the operating system does.
    ///
    /// # Errors
    ///
    /// If a setting is invalid. The error names the setting.
    pub fn new(settings: &ActionSettings) -> Result<Self, SettingsError> {
        Self::with_resolver(settings, Arc::new(SystemResolver))
    }

    /// Creates a sender that resolves names with `resolver`.
    ///
    /// # Errors
    ///
    /// As [`Actions::new`].
    pub fn with_resolver(
        settings: &ActionSettings,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, SettingsError> {
        let ActionSettings { targets, limits, .. } = *settings;
        let user_agent = HeaderValue::from_str(&settings.user_agent)
            .map_err(|_| SettingsError::UserAgent(settings.user_agent.clone()))?;
        let net = NetSettings {
            targets,
            roots: &settings.roots,
            connect_time_max: limits.connect,
            idle_max: settings.idle_connections_max,
        };
        let clients = Arc::new(HttpClients::new(&net, resolver)?);
        let http = HttpSender {
            clients: Arc::clone(&clients),
            tokens: TokenSource::new(&settings.authority)?,
            limits,
            targets,
            user_agent: user_agent.clone(),
            bodies: settings.keep_bodies.then(KeptBodies::new),
        };
        let amqp = settings.service_bus_amqp.clone();
        let amqp = amqp.unwrap_or_else(|| settings.service_bus.default_amqp());
        let amqp = AmqpSender::new(clients.dialer()?, amqp);
        let client = ServiceClient { clients, targets, user_agent };
        let storage = StorageQueueSender {
            client: client.clone(),
            endpoint: settings.storage.clone(),
            time_max: limits.total,
        };
        let aws = AwsSender {
            client: client.clone(),
            account: settings.aws.as_ref().map(|aws| Account::new(aws, &client)),
            own: settings.own.clone(),
            time_max: limits.total,
        };
        let service_bus = ServiceBusSender {
            client,
            https: settings.service_bus.clone(),
            amqp,
            time_max: limits.total,
        };
        Ok(Self { http, storage, service_bus, aws })
    }
}

#[async_trait]
impl ActionSender for Actions {
    async fn send(
        &self,
        target: &Target,
        context: &AttemptContext,
    ) -> Result<ActionOutcome, NotMade> {
        let collection = context.collection_uid.clone();
        COLLECTION.scope(collection, self.send_by_type(target, context)).await
    }
}

impl Actions {
    async fn send_by_type(
        &self,
        target: &Target,
        context: &AttemptContext,
    ) -> Result<ActionOutcome, NotMade> {
        match target {
            Target::Http(request) => self.http.send(request, false, context).await,
            Target::Https(request) => self.http.send(request, true, context).await,
            Target::StorageQueue(queue) => self.storage.send(target, queue, context).await,
            Target::ServiceBusQueue(message) | Target::ServiceBusTopic(message) => {
                // Boxed: it is much larger than a request, and a process makes thousands of those.
                Box::pin(self.service_bus.send(target, message, context)).await
            }
            Target::Sqs(message) => self.aws.send(target, message, context).await,
            Target::Sns(message) => self.aws.send(target, message, context).await,
            Target::Lambda(invocation) => self.aws.send(target, invocation, context).await,
            Target::EventBridge(event) => self.aws.send(target, event, context).await,
            // Its worker never gets here.
            Target::Expect(_) => {
                let why = "The job expects a ping, and has nothing to send";
                let message = target.failure("NotSupported", why);
                Ok(outcome::failed(CauseKind::ActionGone, message))
            }
        }
    }
}
