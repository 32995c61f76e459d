//! The application services: each loads through ports, lets `domain` decide, and acts through ports.
//!
//! `rest` calls `manage`, the functions and the program for one machine call `fire`. No signature
//! has a type of HTTP, AWS, SQL or Lambda.
//!
//! The words of firing are explained in `shared/GLOSSARY.md`.

mod collection_alert;
mod completion;
mod definition;
mod error;
mod etag;
pub mod fire;
mod manage;
mod presence;

pub use completion::{COMPLETION_KEY, CompletionUrls, PING_PATH};
pub use error::AppError;
pub use etag::Etag;
pub use manage::*;
pub use presence::ApiPresence;
