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
pub use manage::{
    AcceptedCheck, Ahead, AlertSetting, AskedKind, AskedWork, Author, ChangesCheck, CheckedChange,
    CheckedChanges, CheckedRequest, CloudServiceSettings, CloudServiceView, CollectionOverview,
    CollectionView, Coming, Condition, DeadLetterView, Etags, ExecutionView, Explanation, Failures,
    FailuresPosition, FoundJobs, JobAlertSetting, JobCheck, JobDescription, JobPlace, JobRow,
    JobStatus, JobView, LETTERS_MAX, LateJob, LeftOutView, Load, LoadGroup, Manage, ManagePorts,
    ManageSettings, OpenState, Overview, PastOccurrence, PastOccurrences, PastOutcome, Peak,
    PingAddress, Pinged, Present, PresentCounts, PresentState, PutOutcome, Redriven, Report,
    Reported, ResourceSettings, ResourceView, RunningJob, Upcoming, UpcomingOccurrence, Wall,
    WallRow, WantedFailures, WantedJobs, WantedLoad, WantedOccurrences, WantedWall,
};
pub use presence::ApiPresence;
