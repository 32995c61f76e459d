//! Requests that leave the program, to services that it needs itself: the HTTPS pool with the system's
//! roots, the checks of certificates, the pauses between tries, and for AWS the signatures and where
//! credentials come from.
//!
//! `actions`, `archive-objects`, `runtime-aws`, `store-sql` and the program for one machine call it. It never knows
//! what is asked, or jobs.
//!
//! The requests of actions, whose targets users choose, have rules of their own and are not here.

mod backoff;
mod credentials;
mod heartbeat;
mod pool;
mod sign;
mod tls;

pub use backoff::{Pauses, chance};
pub use credentials::{AwsEnvironment, NoCredentials, Provider, region_of_profile};
pub use heartbeat::{HeartbeatUrl, NoHeartbeatUrl, PingFailed};
pub use pool::{Exchange, Pool, connections, exchange, pool};
pub use sign::{Payload, SigningScope, Unsigned, signature, texts};
pub use tls::{CheckedServer, ShownCertificate, trusting};
