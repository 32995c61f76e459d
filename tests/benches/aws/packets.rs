//! A packet of attempts that call hosts they have no connection to, on a fraction of a processor.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use minutehand_domain::work_item::PACKET_ATTEMPTS_MAX;
use serde_json::json;

use crate::figures::expect;
use crate::http::{self, Answer};
use crate::lambda::Function;
use crate::load;
use crate::quota::Quota;
use crate::services::Services;
use crate::tls::NAME;

/// Sizes of memory, in MB.
const MEMORY: [u32; 3] = [128, 192, 256];
/// Packets of each size, each by a process of its own.
const PACKETS: usize = 5;

pub(crate) fn packets(functions: &Path, services: &Services) {
    println!(
        "a packet of {PACKET_ATTEMPTS_MAX} to as many hosts over TLS   last start, in ms: median  worst   peak MB"
    );
    let api = Function::start(&functions.join("api"), services);
    api.init();
    api.invoke(&load::put_collection());
    let begun: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let noted = begun.clone();
    let target = http::serve(move |_| {
        noted.lock().expect("nobody trips").push(Instant::now());
        Answer::from("done".to_owned())
    });
    for n in 0..PACKET_ATTEMPTS_MAX {
        // A port of its own is a connection and a handshake of its own, as another host is.
        let front = services.system.block_on(services.tls.before(target));
        let target = format!("https://{NAME}:{}/", front.port());
        let job = load::put_job(1_000 + n, &target, "2050-01-01T00:00:00Z");
        expect(&api.invoke(&job).0, 201);
    }
    for memory in MEMORY {
        let (mut last, mut peak) = (Vec::new(), 0);
        for _ in 0..PACKETS {
            let executor = Function::start(&functions.join("executor"), services);
            executor.init();
            // The process is warm: it has connections to AWS, and no connection to a target.
            let warm = runs(&api, services, &[0]);
            expect_done(&executor, &load::batch(&warm));
            let jobs: Vec<usize> = (1_000..1_000 + PACKET_ATTEMPTS_MAX).collect();
            let packet = load::packets(&runs(&api, services, &jobs));
            begun.lock().expect("nobody trips").clear();
            let quota = match Quota::of(executor.process_id(), memory) {
                Ok(quota) => quota,
                Err(error) => return println!("skipped, as it needs a control group: {error}"),
            };
            let since = Instant::now();
            expect_done(&executor, &load::batch(&packet));
            let begun = begun.lock().expect("nobody trips");
            assert_eq!(begun.len(), PACKET_ATTEMPTS_MAX);
            last.push(begun.iter().max().map_or(Duration::ZERO, |at| *at - since));
            peak = peak.max(peak_mb(&executor));
            drop(executor);
            drop(quota);
        }
        last.sort_unstable();
        let ms = |time: Option<&Duration>| time.map_or(0, Duration::as_millis);
        println!(
            "{memory:>4} MB {:>48} {:>6} {peak:>9}",
            ms(last.get(PACKETS / 2)),
            ms(last.last())
        );
    }
}

/// The messages of runs of these jobs.
fn runs(api: &Function, services: &Services, jobs: &[usize]) -> Vec<String> {
    services.sent.lock().expect("nobody trips").clear();
    for job in jobs {
        expect(&api.invoke(&load::run_job(*job)).0, 200);
    }
    std::mem::take(&mut *services.sent.lock().expect("nobody trips"))
}

fn expect_done(executor: &Function, event: &serde_json::Value) {
    let (answer, _) = executor.invoke(event);
    assert_eq!(answer["batchItemFailures"], json!([]));
}

/// The most memory that the process has had.
fn peak_mb(function: &Function) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", function.process_id()));
    let status = status.unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kb.unwrap_or(0_u64) / 1_024
}
