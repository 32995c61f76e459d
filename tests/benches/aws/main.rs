//! The budgets of the functions on AWS: how long a start takes, and what a firing costs.
//!
//! The binaries are those that are released; Lambda's runtime API, the store, the queue and what jobs
//! call stand on loopback, in this process. Each function is started again and again, and the time
//! is taken until it asks for its first event, and until it has answered it. Then one of each works
//! through a load, and the processor time of its process is divided by what it did; the archiver's requests
//! are counted, too. At last the
//! sweeper makes passes with everything it calls as far away as it is on AWS, with jobs that ran before and with
//! services that throttle, and the executor makes the
//! attempts of a packet on the fraction of a processor that a size of memory comes with.
//!
//! `make bench-aws` builds them and gives their directory in `MINUTEHAND_BENCH_FUNCTIONS`.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unchecked_time_subtraction,
    reason = "a bench that meets what it did not expect has to stop"
)]

mod archive;
mod far;
mod figures;
mod http;
mod lambda;
mod load;
mod packets;
mod passes;
mod quota;
mod services;
mod throttle;
mod tls;

use std::path::PathBuf;

use crate::archive::archive;
use crate::figures::{cpu, starts};
use crate::packets::packets;
use crate::passes::passes;
use crate::services::Services;

fn main() {
    // `cargo test --benches` runs it, too, and has no binaries to give.
    let Some(functions) = std::env::var_os("MINUTEHAND_BENCH_FUNCTIONS").map(PathBuf::from) else {
        println!("skipped: run `make bench-aws`");
        return;
    };
    let services = Services::start();
    starts(&functions, &services);
    cpu(&functions, &services);
    archive(&functions, &services);
    passes(&functions, &services);
    packets(&functions, &services);
}
