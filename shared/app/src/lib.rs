//! The application services. Each loads, decides by asking `domain`, and carries out through ports.

mod definition;
mod error;
pub mod fire;
mod manage;

pub use error::AppError;
pub use manage::{
    CollectionView, ExecutionView, JobStatus, JobView, Manage, ManagePorts, ManageSettings, Put,
};
