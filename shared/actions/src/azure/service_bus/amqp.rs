//! Service Bus over AMQP 1.0.
//!
//! A connection with a link to one queue or topic is kept and used again. The broker or the network
//! may have dropped it without a notice. Therefore, if a connection was idle for a while, the broker
//! has to answer on it before a message is sent.
//!
//! 1. Take the kept connection, or open a new one.
//! 2. Send the message on the link. If this fails, the broker does not have the message. On a kept
//!    connection, the message is then sent once more over a new one.
//! 3. The broker confirms the message. If the connection breaks before, it is not known whether the
//!    message arrived. The outcome says so, and the job's retry policy decides.

use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::{Duration, Instant};

use fe2o3_amqp::connection::ConnectionHandle;
use fe2o3_amqp::link::delivery::{DeliveryFut, Sendable};
use fe2o3_amqp::link::{SendError, Sender};
use fe2o3_amqp::sasl_profile::SaslProfile;
use fe2o3_amqp::session::SessionHandle;
use fe2o3_amqp::types::messaging::{Data, Outcome};
use fe2o3_amqp::{Connection, Session};
use minutehand_domain::action::ServiceBus;
use minutehand_ports::AttemptContext;
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;

use super::error;
use super::message::message;
use crate::lru::LruCache;
use crate::net::{Dialer, Endpoint, ResolvedUrl};
use crate::outcome::ActionFailure;

/// The maximum number of connections that are kept.
const LINKS_MAX: usize = 64;

/// How long after its last use a connection is used without a check.
const FRESH_TIME: Duration = Duration::from_secs(5);

/// The time limit for the check whether a connection is alive.
const CHECK_TIME_MAX: Duration = Duration::from_secs(2);

/// The idle timeout in milliseconds, after which the connection counts as broken. The broker has to
/// send something more often.
const IDLE_TIMEOUT_MILLIS: u32 = 60_000;

/// The ports of AMQP, with TLS and without.
const PORT_TLS: u16 = 5_671;
const PORT_PLAIN: u16 = 5_672;

/// The name of this program in the protocol.
const CONTAINER: &str = "minutehand";

/// Sends messages over AMQP.
pub(crate) struct AmqpSender {
    dialer: Dialer,
    endpoint: Endpoint,
    links: SyncMutex<LruCache<Key, Arc<Mutex<Option<Link>>>>>,
}

/// The URL, the queue or topic, the name of the key, and a hash of the key: a changed key needs a new
/// connection.
type Key = (String, String, String, [u8; 32]);

/// A connection with a link to one queue or topic.
struct Link {
    connection: ConnectionHandle<()>,
    session: SessionHandle<()>,
    sender: Sender,
    used_at: Instant,
}

impl AmqpSender {
    pub(crate) fn new(dialer: Dialer, endpoint: Endpoint) -> Self {
        Self { dialer, endpoint, links: SyncMutex::new(LruCache::new(LINKS_MAX)) }
    }

    /// Sends a message. Returns the word with which the broker accepted it.
    pub(super) async fn send(
        &self,
        bus: &ServiceBus,
        context: &AttemptContext,
    ) -> Result<String, ActionFailure> {
        let scheme = if self.endpoint.is_tls() { "amqps" } else { "amqp" };
        let namespace = &bus.namespace;
        let to = self.endpoint.resolve(scheme, namespace, None).ok_or_else(|| {
            ActionFailure::canceled(format!("'{namespace}' cannot be the name of a namespace."))
        })?;
        let sendable = Sendable::builder().message(message(bus, context)).build();
        let slot = {
            let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
            links.get_or_default(&key(&to, bus))
        };
        let host = to.url.host_str().unwrap_or_default();
        let delivery = self.transfer(&slot, &to, bus, &sendable).await?;
        match delivery.await {
            Ok(Outcome::Accepted(_)) => Ok("Accepted".to_owned()),
            Ok(outcome) => Err(error::not_accepted(&outcome)),
            Err(error) => Err(error::not_confirmed(&error, host)),
        }
    }

    /// Sends a message on a link, and returns the pending confirmation.
    ///
    /// Only sending is exclusive: other messages can be sent while this one is not confirmed yet.
    async fn transfer(
        &self,
        slot: &Mutex<Option<Link>>,
        to: &ResolvedUrl,
        bus: &ServiceBus,
        sendable: &Sendable<Data>,
    ) -> Result<DeliveryFut<Result<Outcome, SendError>>, ActionFailure> {
        let mut slot = slot.lock().await;
        if let Some(kept) = slot.take()
            && let Some(mut link) = kept.check(&bus.entity).await
        {
            match link.sender.send_batchable_ref(sendable).await {
                Ok(delivery) => {
                    *slot = Some(link.used());
                    return Ok(delivery);
                }
                Err(error) if error::is_about_the_message(&error) => {
                    *slot = Some(link.used());
                    return Err(error::send_failed(&error));
                }
                // The message was not sent; a new connection follows.
                Err(_) => {}
            }
        }
        let mut link = self.open(to, bus).await?;
        let sent = link.sender.send_batchable_ref(sendable).await;
        let delivery = sent.map_err(|error| error::send_failed(&error))?;
        *slot = Some(link.used());
        Ok(delivery)
    }

    async fn open(&self, to: &ResolvedUrl, bus: &ServiceBus) -> Result<Link, ActionFailure> {
        let is_tls = self.endpoint.is_tls();
        let port = to.url.port().unwrap_or(if is_tls { PORT_TLS } else { PORT_PLAIN });
        let host = to.url.host_str().unwrap_or_default();
        let stream = self.dialer.dial(to, port, is_tls).await;
        let stream =
            stream.map_err(|error| ActionFailure::from_dial_error(error.as_ref(), host, is_tls))?;
        let credentials = SaslProfile::Plain {
            username: bus.key_name.clone(),
            password: bus.key.expose().to_owned(),
        };
        let mut connection = Connection::builder()
            .container_id(CONTAINER)
            // The dialer has already set up TLS, so the library must not.
            .scheme("amqp")
            .hostname(host)
            .sasl_hostname(host)
            .sasl_profile(credentials)
            .idle_time_out(IDLE_TIMEOUT_MILLIS)
            .open_with_stream(stream)
            .await
            .map_err(|error| error::open_failed(&error, host))?;
        let mut session =
            Session::begin(&mut connection).await.map_err(|error| error::begin_failed(&error))?;
        let sender = attach(&mut session, &bus.entity).await?;
        Ok(Link { connection, session, sender, used_at: Instant::now() })
    }
}

impl Link {
    /// Returns the link if the broker still answers on it. The answer is a new session.
    async fn check(mut self, entity: &str) -> Option<Self> {
        if self.connection.is_closed() || self.session.is_ended() {
            return None;
        }
        if self.used_at.elapsed() < FRESH_TIME {
            return Some(self);
        }
        let attached = async {
            let mut session = Session::begin(&mut self.connection).await.ok()?;
            let sender = attach(&mut session, entity).await.ok()?;
            Some((session, sender))
        };
        let (session, sender) = tokio::time::timeout(CHECK_TIME_MAX, attached).await.ok()??;
        Some(Self { session, sender, ..self })
    }

    fn used(self) -> Self {
        Self { used_at: Instant::now(), ..self }
    }
}

async fn attach(session: &mut SessionHandle<()>, entity: &str) -> Result<Sender, ActionFailure> {
    let attached = Sender::attach(session, CONTAINER, entity).await;
    attached.map_err(|error| error::attach_failed(&error))
}

fn key(to: &ResolvedUrl, bus: &ServiceBus) -> Key {
    let key = Sha256::digest(bus.key.expose()).into();
    (to.url.to_string(), bus.entity.clone(), bus.key_name.clone(), key)
}
