//! What is measured, and how it is printed.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use crate::lambda::Function;
use crate::load;
use crate::services::Services;
use crate::throttle::ONE_IN;

/// Starts of each function.
const STARTS: usize = 20;
/// Jobs that fire.
const JOBS: usize = 100;
/// Executions that are asked for of each of them.
const RUNS: usize = 20;
/// A quarter of them: what is the same for all of a process is paid in the first.
const QUARTER: usize = JOBS * RUNS / 4;
/// Passes of the sweeper that find nothing.
const PASSES: usize = 21;

pub(crate) fn starts(functions: &Path, services: &Services) {
    println!(
        "start, median of {STARTS}, in ms   to first event   to its answer   (bar 60, wanted 25)"
    );
    let batch = load::batch(&[]);
    for (name, event) in [
        ("examples/hello", json!({})),
        ("api", load::health()),
        ("sweeper", load::tick()),
        ("executor", batch),
        ("archiver", json!({"Records": []})),
    ] {
        let (mut inits, mut answers) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            let environment = match name {
                "archiver" => services.archiver_environment(),
                _ => services.environment(),
            };
            let function = Function::start_in(&functions.join(name), environment);
            inits.push(function.init());
            answers.push(function.invoke(&event).1);
        }
        println!("{name:<33} {:>13.1} {:>15.1}", ms(median(inits)), ms(median(answers)));
    }
}

pub(crate) fn cpu(functions: &Path, services: &Services) {
    println!("processor time, median of the calls   each, in µs");
    let api = Function::start(&functions.join("api"), services);
    api.init();
    expect(&api.invoke(&load::put_collection()).0, 201);
    let target = format!("http://{}/", services.target);
    let spent = timed(&api, || {
        for n in 0..JOBS {
            expect(&api.invoke(&load::put_job(n, &target, "2030-01-01T00:00:00Z")).0, 201);
        }
    });
    row("api: a job is put", spent, JOBS);
    for n in 0..JOBS * RUNS {
        expect(&api.invoke(&load::run_job(n % JOBS)).0, 200);
    }
    let messages = std::mem::take(&mut *services.sent.lock().expect("nobody trips"));
    assert_eq!(messages.len(), JOBS * RUNS);

    let executor = Function::start(&functions.join("executor"), services);
    executor.init();
    let (ones, packed) = messages.split_at(2 * QUARTER);
    let (packed, throttled) = packed.split_at(QUARTER);
    for (what, part) in [("first", &ones[..QUARTER]), ("then", &ones[QUARTER..])] {
        let batches = part.chunks(10).map(load::batch);
        let spent = median(batches.map(|batch| performed(&executor, &batch)).collect());
        row(&format!("executor: a firing, of ten ({what})"), spent, 10);
    }
    let packets = load::packets(packed);
    let batches = packets.iter().map(|packet| load::batch(std::slice::from_ref(packet)));
    let spent = median(batches.map(|batch| performed(&executor, &batch)).collect());
    row("executor: a firing, of a packet of 25", spent, 25);
    // What is refused costs less.
    assert_eq!(services.called.load(Ordering::Relaxed), 3 * QUARTER);
    executor_that_is_throttled(functions, services, throttled);

    let sweeper = Function::start(&functions.join("sweeper"), services);
    sweeper.init();
    sweeper.invoke(&load::tick());
    let pass = || timed(&sweeper, || drop(sweeper.invoke(&load::tick())));
    row("sweeper: a pass that finds nothing", median((0..PASSES).map(|_| pass()).collect()), 1);
    // What the API cannot hand over is left to the sweep.
    services.refuses.store(true, Ordering::Release);
    for n in 0..JOBS {
        let job = load::put_job(JOBS + n, &target, "2020-01-01T00:00:30Z");
        expect(&api.invoke(&job).0, 201);
    }
    services.refuses.store(false, Ordering::Release);
    let mut messages = 0;
    let spent = timed(&sweeper, || {
        let (pass, _) = sweeper.invoke(&load::tick());
        assert_eq!(pass["timers"], JOBS, "{pass}");
        messages = usize::try_from(pass["messages"].as_u64().unwrap_or_default()).unwrap_or(0);
    });
    row("sweeper: a firing that it sends", spent, messages);
    row("sweeper: a timer, with what it sends", spent, JOBS);
}

/// Packets while the table refuses some calls. What it refuses too often is left to another delivery.
fn executor_that_is_throttled(functions: &Path, services: &Services, messages: &[String]) {
    let environment = services.throttled_environment(ONE_IN);
    let executor = Function::start_in(&functions.join("executor"), environment);
    executor.init();
    executor.invoke(&load::batch(&[]));
    let before = services.called.load(Ordering::Relaxed);
    let packets = load::packets(messages);
    let batches = packets.iter().map(|packet| load::batch(std::slice::from_ref(packet)));
    let spent = batches.map(|batch| timed(&executor, || drop(executor.invoke(&batch))));
    row("executor: the same, a call of ten throttled", median(spent.collect()), 25);
    let called = services.called.load(Ordering::Relaxed) - before;
    println!("executor: while throttled, {called} of {} were called at once", messages.len());
}

/// The processor time of a batch whose messages are all done.
fn performed(executor: &Function, batch: &Value) -> Duration {
    timed(executor, || {
        let (answer, _) = executor.invoke(batch);
        assert_eq!(answer["batchItemFailures"], json!([]));
    })
}

pub(crate) fn timed(function: &Function, work: impl FnOnce()) -> Duration {
    let before = function.cpu();
    work();
    function.cpu() - before
}

pub(crate) fn row(what: &str, spent: Duration, n: usize) {
    let each = spent.as_secs_f64() * 1e6 / f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    println!("{what:<43} {each:>9.0}");
}

pub(crate) fn expect(answer: &Value, status: u16) {
    assert_eq!(answer["statusCode"], status, "{answer}");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
