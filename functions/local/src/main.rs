//! The `minutehand` program. `cli` parses the command line; the library does the work.

mod cli;
mod help;
mod preview_command;
mod tips;
mod token_command;
mod words;

use std::process::ExitCode;

/// A burst of jobs makes many small allocations on several threads. The system's allocator is slower
/// for that, and keeps much of the memory afterwards.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
