//! Creates and reads in a second over the API.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::client::{Client, collection, job};
use crate::figures::Figures;
use crate::server::{Server, cpu_of};

/// One measurement.
const ROUND: Duration = Duration::from_secs(3);
/// Requests under way at once, each on a connection of its own.
const IN_FLIGHT: [usize; 3] = [1, 16, 64];

pub(crate) async fn measure(figures: &mut Figures, server: &Server, sync: &str) {
    let path = collection("api");
    Client::connect(server.address).await.must("PUT", &path, "{}").await;
    for (name, method) in [("creates", "PUT"), ("reads", "GET")] {
        let (mut rates, mut processor) = (Vec::new(), Vec::new());
        for in_flight in IN_FLIGHT {
            let before = (server.cpu(), cpu_of("self"));
            let rate = rate(server, method, in_flight).await;
            let micros = |used: Duration| used.as_secs_f64() * 1e6 / (rate * ROUND.as_secs_f64());
            let (server, client) = (server.cpu() - before.0, cpu_of("self") - before.1);
            rates.push(format!("{rate:.0}"));
            processor.push(format!("{:.0} and {:.0}", micros(server), micros(client)));
        }
        let what = format!("{sync}: {name}/s; 1, 16, 64 in flight");
        figures.add(&what, rates.join(", "), "", "");
        let what = format!("{sync}: CPU of each, server and load generator");
        figures.add(&what, format!("{} µs", processor.join("; ")), "", "");
    }
}

async fn rate(server: &Server, method: &'static str, in_flight: usize) -> f64 {
    let start = Instant::now();
    let mut clients = JoinSet::new();
    for n in 0..in_flight {
        let address = server.address;
        clients.spawn(async move {
            let mut client = Client::connect(address).await;
            let body = if method == "PUT" {
                job("http://example.org/", "2090-01-01")
            } else {
                String::new()
            };
            let mut n_asked = 0_u32;
            while start.elapsed() < ROUND {
                // What was created is read: the first of each.
                let number = if method == "PUT" { n_asked } else { 0 };
                let path = format!("{}/jobs/j-{in_flight}-{n}-{number}", collection("api"));
                client.must(method, &path, &body).await;
                n_asked += 1;
            }
            n_asked
        });
    }
    let n_asked: u32 = clients.join_all().await.into_iter().sum();
    f64::from(n_asked) / start.elapsed().as_secs_f64()
}
