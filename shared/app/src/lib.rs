//! The application services: each loads through ports, lets `domain` decide, and acts through ports.
//!
//! The words of firing are explained in `shared/GLOSSARY.md`.

mod definition;
mod error;
pub mod fire;
mod manage;

pub use error::AppError;
pub use manage::{
    AcceptedCheck, Ahead, Author, CheckedChange, CheckedRequest, CloudServiceSettings,
    CloudServiceView, CollectionView, Coming, Condition, Etag, Etags, ExecutionView, Explanation,
    JobCheck, JobDescription, JobRow, JobStatus, JobView, LeftOutView, Load, LoadGroup, Manage,
    ManagePorts, ManageSettings, Overview, Peak, PutOutcome, ResourceSettings, ResourceView,
    Upcoming, UpcomingOccurrence, WantedLoad, WantedOccurrences,
};
