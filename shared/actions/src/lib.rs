//! Performing actions: calling URLs, and putting messages into queues.
//!
//! [`Actions`] implements the port by the type of the target. Whatever goes wrong is an outcome with
//! a message in the words of the original service; the clients take the messages apart.
//!
//! The HTTP action, in short:
//!
//! - the request as it was stored, with what tells the target which execution it is;
//! - one time limit for everything, and bounds for everything that is read;
//! - connections that are kept and shared, but never by two identities;
//! - addresses that may not be reached are refused where the connection is opened ([`TargetPolicy`]);
//! - redirects are followed by hand, and credentials stay with their origin;
//! - no secret that was sent is in a message.
//!
//! Retrying, waiting, recording and bounding how many run at once are the caller's.

mod aws;
mod body;
mod bus;
mod cache;
mod client;
mod dial;
mod endpoint;
mod envelope;
mod failure;
mod hop;
mod http;
mod message;
mod occasion;
mod policy;
mod post;
mod redact;
mod resolve;
mod settings;
mod status;
mod storage;
mod tls;
mod token;
mod xml;

use std::sync::Arc;

use ::http::HeaderValue;
use async_trait::async_trait;
use domain::action::Target;
use ports::{ActionOutcome, ActionSender, AttemptContext};

use crate::aws::{Account, Services};
use crate::bus::{Amqp, Buses};
use crate::client::HttpClients;
use crate::http::Http;
use crate::post::Poster;
use crate::storage::StorageQueues;
use crate::token::Tokens;

pub use crate::endpoint::{Endpoint, EndpointError};
pub use crate::http::REDIRECTS_MAX;
pub use crate::policy::{Forbidden, TargetPolicy};
pub use crate::resolve::{Resolver, SystemResolver};
pub use crate::settings::{
    AUTHORITY, ActionSettings, Aws, CONNECT_TIME_MAX, Roots, SERVICE_BUS_SUFFIX, STORAGE_SUFFIX,
    SendLimits, SettingsError, TOTAL_TIME_MAX,
};
pub use crate::token::is_authority;

/// Performs actions. It holds the connections, so there is one of it.
pub struct Actions {
    http: Http,
    storage: StorageQueues,
    buses: Buses,
    services: Services,
}

impl Actions {
    /// Performs actions under these settings; names are resolved as the system does.
    ///
    /// # Errors
    ///
    /// If a setting makes no sense; the error says which.
    pub fn new(settings: &ActionSettings) -> Result<Self, SettingsError> {
        Self::with_resolver(settings, Arc::new(SystemResolver))
    }

    /// The same, with names resolved by somebody else.
    ///
    /// # Errors
    ///
    /// As [`Actions::new`].
    pub fn with_resolver(
        settings: &ActionSettings,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, SettingsError> {
        let user_agent = HeaderValue::from_str(&settings.user_agent)
            .map_err(|_| SettingsError::UserAgent(settings.user_agent.clone()))?;
        let clients = Arc::new(HttpClients::new(settings, resolver)?);
        let http = Http {
            clients: Arc::clone(&clients),
            tokens: Tokens::new(&settings.authority)?,
            limits: settings.limits,
            targets: settings.targets,
            user_agent: user_agent.clone(),
        };
        let amqp = settings.service_bus_amqp.clone();
        let amqp = amqp.unwrap_or_else(|| settings.service_bus.amqp_beside());
        let amqp = Amqp::new(clients.dialer()?, amqp);
        let post = Poster { clients, targets: settings.targets, user_agent };
        let storage = StorageQueues {
            post: post.clone(),
            endpoint: settings.storage.clone(),
            time_max: settings.limits.total,
        };
        let services = Services {
            post: post.clone(),
            account: settings.aws.as_ref().map(Account::new),
            time_max: settings.limits.total,
        };
        let buses = Buses {
            post,
            https: settings.service_bus.clone(),
            amqp,
            time_max: settings.limits.total,
        };
        Ok(Self { http, storage, buses, services })
    }
}

#[async_trait]
impl ActionSender for Actions {
    async fn send(&self, target: &Target, occasion: &AttemptContext) -> ActionOutcome {
        match target {
            Target::Http(request) => self.http.send(request, false, occasion).await,
            Target::Https(request) => self.http.send(request, true, occasion).await,
            Target::StorageQueue(queue) => self.storage.send(target, queue, occasion).await,
            Target::ServiceBusQueue(bus) | Target::ServiceBusTopic(bus) => {
                self.buses.send(target, bus, occasion).await
            }
            Target::Sqs(_) | Target::Sns(_) | Target::Lambda(_) | Target::EventBridge(_) => {
                self.services.send(target, occasion).await
            }
        }
    }
}
