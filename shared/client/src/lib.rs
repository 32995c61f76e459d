//! A typed client of a Minutehand installation: Azure Scheduler's API, and `/minutehand/v1`.
//!
//! The command line calls it. It never knows anything that the server does not say.
//!
//! A [`Client`] talks to one [`ServerUrl`], with or without a token. The token goes to that server
//! only: links to further pages are followed by their path, never to another host, and a redirect
//! is not followed.
//!
//! Requests go through the proxies that the environment names (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`),
//! with HTTP/2 where the server offers it. No proxy is asked for a server on this machine.
//!
//! Every wait has a limit, in [`Limits`]. A request is sent again when the server asks for it with
//! `Retry-After`, and when a connection breaks under a request that may be repeated; [`retry`] holds
//! the rules.
//!
//! An [`Answer`] keeps the text that the server sent beside the value that was read from it, so that
//! a tool can print the one and use the other.

mod answer;
mod arm;
mod browse;
mod check;
mod error;
mod forward;
mod options;
mod path;
mod pings;
pub mod retry;
mod server_url;
mod transport;
mod types;
mod v1;
mod wall;
mod way;

pub use answer::{Answer, Listed};
pub use arm::{Listing, Precondition};
pub use browse::{AheadQuery, Chosen, FoundJob};
pub use check::{ChangesAnswer, CheckFix, CheckProblem, CheckWarning, CheckedJob};
pub use error::{Error, ServerRefusal};
pub use http::StatusCode;
pub use options::{Limits, Options};
pub use path::{CollectionPath, GroupPath, JobPath, named_in};
pub use pings::{PingItem, PingUrlAnswer};
pub use server_url::ServerUrl;
pub use transport::{Client, Method};
pub use types::{
    AlertAnswer, AlertTestAnswer, AlertsOf, Beat, CancelAnswer, ClockNote, CollectionDocument,
    CollectionProperties, ComingOccurrence, DatabaseItem, DeadLetterItem, DeadLettersAnswer,
    Description, Evidence, FailureItem, Headline, HistoryExtensions, HistoryItem,
    HistoryProperties, Job, JobAlertAnswer, JobAlertState, JournalChange, Late, ListedJob,
    LoadAnswer, LostAlerts, Near, NextAnswer, NotFiringReason, NotedRun, Numbers, OverviewAnswer,
    ProcessItem, RedriveAnswer, SkippedLast, Status, UpcomingItem, WhyAnswer,
};
pub use v1::{MeAnswer, ServerHealth};
pub use wall::{WallAnswer, WallCollection, WallCollections, WallRunning, WallStarts};
pub use way::LocalServer;
