//! Connections: the addresses that may be reached, the resolution of names, TLS, and the clients
//! that keep connections open.
//!
//! This module knows nothing about actions and their outcomes. Its errors are types of its own,
//! which `outcome` turns into failures.

mod client;
mod dial;
mod endpoint;
mod lookup;
mod out_of;
mod policy;
mod resolve;
mod tls;

pub use endpoint::{Endpoint, EndpointError};
pub use policy::{Forbidden, TargetPolicy, is_on_loopback};
pub use resolve::{Resolver, SystemResolver};
pub use tls::Roots;

pub(crate) use client::{
    ConnectionUse, HttpClient, HttpClients, HttpError, INTERIM_ANSWERS_MAX, NetSettings,
};
pub(crate) use dial::Dialer;
pub(crate) use endpoint::ResolvedUrl;
pub(crate) use lookup::COLLECTION;
pub(crate) use out_of::OutOf;
pub(crate) use resolve::NoAddress;
pub(crate) use tls::NetError;
