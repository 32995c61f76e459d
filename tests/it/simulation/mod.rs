//! The real services in simulated time, with everything going wrong that may, from a seed.

mod chance;
mod faults;
mod judge;
mod memory;
mod mutation;
mod play;
mod queue;
mod time;
mod world;

use judge::judge;
use play::{Scenario, play};

#[test]
fn probe() {
    for seed in 0..40 {
        for scenario in [Scenario::Mixed, Scenario::Outage] {
            let begun = std::time::Instant::now();
            let run = play(seed, scenario, None);
            let bad = judge(&run);
            println!(
                "{seed} {scenario:?}: {} fires, {} ms {bad:#?}",
                run.fires.len(),
                begun.elapsed().as_millis()
            );
        }
    }
}
