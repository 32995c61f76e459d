//! `minutehand serve`: the scheduler on one machine, as one process.
//!
//! A start goes through these steps, and says on standard output what a user has to know; the last
//! line says where it listens:
//!
//! 1. arguments become [`ServeSettings`], or a list of all that is wrong with them;
//! 2. the data directory is opened, its keys are read or made, then the store is opened;
//! 3. services are put on them, and each role becomes a task;
//! 4. the first signal asks the tasks to stop, and the store is closed after them.
//!
//! What a crash leaves is said where it is written: `private_file` for keys and tokens, `embedded`
//! for the store. No step needs a repair by hand.

mod args;
mod expire;
mod home;
mod impatient;
mod key;
mod listen;
mod page;
mod parts;
mod private_file;
mod run;
mod settings;
mod signals;
mod sweep;
mod tasks;
mod tls;
mod token;
mod worker;

pub use args::ServeArgs;
pub use run::{BUILD, Build, serve};
pub use settings::{DATA_DIR, ServeSettings};
