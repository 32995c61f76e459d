//! Service Bus over AMQP 1.0.
//!
//! A connection with a link to one queue or topic is kept, and used again. It may have ended in the
//! meantime without a word: before one that was not used for a moment is trusted with a message, the
//! broker has to answer on it.
//!
//! 1. A connection that is kept, or a new one.
//! 2. The message is handed to the link. What fails here left nothing with the broker: over a
//!    connection that was kept it is tried once more, over a new one.
//! 3. The broker says what became of it. If the connection breaks before, nobody knows whether the
//!    message arrived; the outcome says so, and the job's retry policy decides.

use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::{Duration, Instant};

use domain::action::ServiceBus;
use fe2o3_amqp::connection::ConnectionHandle;
use fe2o3_amqp::link::delivery::{DeliveryFut, Sendable};
use fe2o3_amqp::link::{SendError, Sender};
use fe2o3_amqp::sasl_profile::SaslProfile;
use fe2o3_amqp::session::SessionHandle;
use fe2o3_amqp::types::messaging::{Data, Outcome};
use fe2o3_amqp::{Connection, Session};
use ports::AttemptContext;
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;

use super::message::message;
use super::trouble;
use crate::cache::ExpiringCache;
use crate::dial::Dialer;
use crate::endpoint::{Endpoint, ResolvedUrl};
use crate::failure::ActionFailure;

/// The most connections that are kept.
const LINES_MAX: usize = 64;

/// How long a connection that was used is trusted unasked.
const TRUSTED_FOR: Duration = Duration::from_secs(5);

/// How long the broker may take to show that a connection is alive.
const PROOF_TIME_MAX: Duration = Duration::from_secs(2);

/// After how many milliseconds of silence a connection is over: who is there says so more often.
const SILENCE_MAX: u32 = 60_000;

/// The ports of AMQP, with TLS and without.
const PORT_TLS: u16 = 5_671;
const PORT_PLAIN: u16 = 5_672;

/// What the broker knows this program as.
const CONTAINER: &str = "minutehand";

/// Sends messages over AMQP.
pub(crate) struct Amqp {
    dialer: Dialer,
    endpoint: Endpoint,
    lines: SyncMutex<ExpiringCache<Key, Arc<Mutex<Option<Line>>>>>,
}

/// Where to, as whom, and the hash of the key: whoever changes it gets a connection of the new one.
type Key = (String, String, String, [u8; 32]);

/// A connection with a link to one queue or topic.
struct Line {
    connection: ConnectionHandle<()>,
    session: SessionHandle<()>,
    sender: Sender,
    used_at: Instant,
}

impl Amqp {
    pub(crate) fn new(dialer: Dialer, endpoint: Endpoint) -> Self {
        Self { dialer, endpoint, lines: SyncMutex::new(ExpiringCache::new(LINES_MAX)) }
    }

    /// Sends a message; answers the word with which the broker took it.
    pub(super) async fn send(
        &self,
        bus: &ServiceBus,
        occasion: &AttemptContext,
    ) -> Result<String, ActionFailure> {
        let scheme = if self.endpoint.is_tls() { "amqps" } else { "amqp" };
        let namespace = &bus.namespace;
        let to = self.endpoint.of(scheme, namespace, None).ok_or_else(|| {
            ActionFailure::canceled(format!("'{namespace}' cannot be the name of a namespace."))
        })?;
        let sendable = Sendable::builder().message(message(bus, occasion)).build();
        let slot = {
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.entry(&key(&to, bus))
        };
        let host = to.url.host_str().unwrap_or_default();
        let delivery = self.hand_over(&slot, &to, bus, &sendable).await?;
        match delivery.await {
            Ok(Outcome::Accepted(_)) => Ok("Accepted".to_owned()),
            Ok(refused) => Err(trouble::refused(&refused)),
            Err(error) => Err(trouble::unconfirmed(&error, host)),
        }
    }

    /// Hands a message to a link; others wait for theirs meanwhile, but not for the broker's answer.
    async fn hand_over(
        &self,
        slot: &Mutex<Option<Line>>,
        to: &ResolvedUrl,
        bus: &ServiceBus,
        sendable: &Sendable<Data>,
    ) -> Result<DeliveryFut<Result<Outcome, SendError>>, ActionFailure> {
        let mut slot = slot.lock().await;
        if let Some(kept) = slot.take()
            && let Some(mut line) = kept.proven(&bus.entity).await
        {
            match line.sender.send_batchable_ref(sendable).await {
                Ok(delivery) => {
                    *slot = Some(line.used());
                    return Ok(delivery);
                }
                Err(error) if trouble::is_about_the_message(&error) => {
                    *slot = Some(line.used());
                    return Err(trouble::unsent(&error));
                }
                // Nothing of it left.
                Err(_) => {}
            }
        }
        let mut line = self.open(to, bus).await?;
        let handed = line.sender.send_batchable_ref(sendable).await;
        let delivery = handed.map_err(|error| trouble::unsent(&error))?;
        *slot = Some(line.used());
        Ok(delivery)
    }

    async fn open(&self, to: &ResolvedUrl, bus: &ServiceBus) -> Result<Line, ActionFailure> {
        let is_tls = self.endpoint.is_tls();
        let port = to.url.port().unwrap_or(if is_tls { PORT_TLS } else { PORT_PLAIN });
        let host = to.url.host_str().unwrap_or_default();
        let stream = self.dialer.dial(to, port, is_tls).await?;
        let plain = SaslProfile::Plain {
            username: bus.key_name.clone(),
            password: bus.key.expose().to_owned(),
        };
        let mut connection = Connection::builder()
            .container_id(CONTAINER)
            // TLS, where there is any, is done.
            .scheme("amqp")
            .hostname(host)
            .sasl_hostname(host)
            .sasl_profile(plain)
            .idle_time_out(SILENCE_MAX)
            .open_with_stream(stream)
            .await
            .map_err(|error| trouble::unopened(&error, host))?;
        let mut session =
            Session::begin(&mut connection).await.map_err(|error| trouble::unbegun(&error))?;
        let sender = attach(&mut session, &bus.entity).await?;
        Ok(Line { connection, session, sender, used_at: Instant::now() })
    }
}

impl Line {
    /// Itself, if the broker is still there.
    async fn proven(mut self, entity: &str) -> Option<Self> {
        if self.connection.is_closed() || self.session.is_ended() {
            return None;
        }
        if self.used_at.elapsed() < TRUSTED_FOR {
            return Some(self);
        }
        let again = async {
            let mut session = Session::begin(&mut self.connection).await.ok()?;
            let sender = attach(&mut session, entity).await.ok()?;
            Some((session, sender))
        };
        let (session, sender) = tokio::time::timeout(PROOF_TIME_MAX, again).await.ok()??;
        Some(Self { session, sender, ..self })
    }

    fn used(self) -> Self {
        Self { used_at: Instant::now(), ..self }
    }
}

async fn attach(session: &mut SessionHandle<()>, entity: &str) -> Result<Sender, ActionFailure> {
    let attached = Sender::attach(session, CONTAINER, entity).await;
    attached.map_err(|error| trouble::unattached(&error))
}

fn key(to: &ResolvedUrl, bus: &ServiceBus) -> Key {
    let key = Sha256::digest(bus.key.expose()).into();
    (to.url.to_string(), bus.entity.clone(), bus.key_name.clone(), key)
}
