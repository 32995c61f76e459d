//! The HTTP server: connections, their timeouts, TLS, and the metrics page.

mod body;
mod certificate_files;
mod client_certificates;
mod listen;
mod metrics_page;
mod places;
mod process_figures;
mod timeouts;
mod tls;

pub(super) use client_certificates::Clients;
pub(super) use listen::listen;
pub(super) use metrics_page::PrometheusPage;
pub(super) use tls::{CERTIFICATE_FILE, ServerTls, prepare_tls};
