//! `minutehand serve`: the whole scheduler as one process on one machine, or as one of several on a
//! database.
//!
//! A start takes these steps. Lines for the user go to standard output; the last of them says where
//! the server listens:
//!
//! 1. arguments and environment become [`ServeSettings`], or a list of everything that is wrong; the
//!    limit of open files is raised;
//! 2. the port is opened, so that a port in use stops the start before anything is written;
//! 3. the data directory is opened: first its key is read or created, then the store is opened; or the
//!    database, whose key is given;
//! 4. the services are built on top of the store, and each role becomes a task;
//! 5. the first signal asks all tasks to stop; the store is closed after they have ended.
//!
//! A crash during any of these steps needs no manual repair. `secrets::private_file` describes what it
//! leaves of key and token files, `store_sql` what it leaves of the database.

mod alarm;
mod args;
mod beat;
mod build_info;
mod condition;
mod console;
mod database;
mod demo;
mod expire;
mod files;
mod first_job;
mod forget;
mod home;
mod http;
mod live;
mod mcp;
mod parts;
mod peers;
mod permits;
mod places;
mod run;
mod secrets;
mod settings;
mod signals;
mod signs;
mod starts;
mod state_count;
mod sweep;
mod tasks;
mod under_way;
mod watcher;
mod worker;

pub(crate) use build_info::written_by;
pub(crate) use database::{DatabasePlace, cannot_use};
pub(crate) use home::Home;
pub(crate) use secrets::{create_key_file, read_key_file, read_private_file, write_private_file};
pub(crate) use settings::Storage;

pub use args::ServeArgs;
pub use build_info::{COMMIT, VERSION, store_version};
pub use database::{DatabaseArgs, KeyArgs};
pub use demo::{DEMO_EXAMPLES, DemoArgs, demo};
pub use first_job::URL_DEFAULT;
pub use run::serve;
pub use settings::{DATA_DIR, ServeSettings};
