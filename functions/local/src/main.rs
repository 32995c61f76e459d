//! The binary `minutehand`.

mod cli;

use std::process::ExitCode;

/// A burst is many small requests of several threads, which the allocator of the system serves slower,
/// and keeps much of afterwards.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
