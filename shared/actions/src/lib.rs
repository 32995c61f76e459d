//! Performing actions: calling URLs, and in time the queues.
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

mod body;
mod cache;
mod client;
mod failure;
mod hop;
mod http;
mod message;
mod occasion;
mod policy;
mod queues;
mod redact;
mod resolve;
mod settings;
mod status;
mod tls;
mod token;

use std::sync::Arc;

use ::http::HeaderValue;
use async_trait::async_trait;
use domain::action::Target;
use ports::{ActionSender, Occasion, Sent};

use crate::client::Clients;
use crate::http::Http;
use crate::token::Tokens;

pub use crate::http::REDIRECTS_MAX;
pub use crate::policy::{Forbidden, TargetPolicy};
pub use crate::resolve::{Resolver, SystemResolver};
pub use crate::settings::{
    AUTHORITY, CONNECT_TIME_MAX, Limits, Roots, Settings, SettingsError, TOTAL_TIME_MAX,
};
pub use crate::token::is_authority;

/// Performs actions. It holds the connections, so there is one of it.
pub struct Actions {
    http: Http,
}

impl Actions {
    /// Performs actions under these settings; names are resolved as the system does.
    ///
    /// # Errors
    ///
    /// If a setting makes no sense; the error says which.
    pub fn new(settings: &Settings) -> Result<Self, SettingsError> {
        Self::with_resolver(settings, Arc::new(SystemResolver))
    }

    /// The same, with names resolved by somebody else.
    ///
    /// # Errors
    ///
    /// As [`Actions::new`].
    pub fn with_resolver(
        settings: &Settings,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, SettingsError> {
        let user_agent = HeaderValue::from_str(&settings.user_agent)
            .map_err(|_| SettingsError::UserAgent(settings.user_agent.clone()))?;
        let http = Http {
            clients: Clients::new(settings, resolver)?,
            tokens: Tokens::new(&settings.authority)?,
            limits: settings.limits,
            targets: settings.targets,
            user_agent,
        };
        Ok(Self { http })
    }
}

#[async_trait]
impl ActionSender for Actions {
    async fn send(&self, target: &Target, occasion: &Occasion) -> Sent {
        match target {
            Target::Http(request) => self.http.send(request, false, occasion).await,
            Target::Https(request) => self.http.send(request, true, occasion).await,
            Target::StorageQueue(queue) => queues::storage(queue),
            Target::ServiceBusQueue(bus) => queues::service_bus("Queue", bus),
            Target::ServiceBusTopic(bus) => queues::service_bus("Topic", bus),
        }
    }
}
