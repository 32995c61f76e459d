//! The actions `Http` and `Https`, and HTTP requests to the services of the other actions.
//!
//! [`request`] performs the actions: [`hop`] is one request of a chain of redirects, and [`token`] is
//! where access tokens come from. [`service_client`] sends the requests of the other actions.
//! [`body`] and [`xml`] read answers.

mod body;
mod hop;
mod request;
mod retry_after;
mod service_client;
mod signature;
mod token;
mod xml;

pub use request::REDIRECTS_MAX;
pub use token::is_authority;

pub(crate) use request::HttpSender;
pub(crate) use service_client::{ServiceClient, ServiceRequest, ServiceResponse};
pub(crate) use token::TokenSource;
pub(crate) use xml::element_text;
