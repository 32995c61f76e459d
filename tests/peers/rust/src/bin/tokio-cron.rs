//! tokio-cron-scheduler as its documents describe it, in memory. Its jobs are those of the plan.

use std::time::{Duration, Instant};

use chrono::Utc;
use serde::Deserialize;

#[derive(Deserialize)]
struct Plan {
    target: String,
    suffix: String,
    #[serde(default)]
    jobs: Vec<(String, i64)>,
    #[serde(default)]
    rules: Vec<(String, String)>,
    #[serde(default)]
    zone: String,
}

// set-up
use tokio_cron_scheduler::{Job, JobScheduler};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = reqwest::Client::new();
    let plan = plan()?;
    let scheduler = JobScheduler::new_with_channel_size(plan.jobs.len().max(200)).await?;
    for (name, due) in plan.jobs {
        let left = due - Utc::now().timestamp_millis();
        // The program is the only place that has its jobs: after a restart it adds those ahead.
        let Ok(left) = u64::try_from(left) else { continue };
        let (client, url) = (client.clone(), format!("{}/{name}{}", plan.target, plan.suffix));
        let at = Instant::now() + Duration::from_millis(left);
        let job = Job::new_one_shot_at_instant_async(at, move |_, _| {
            let request = client.post(&url).body("x".repeat(100));
            Box::pin(async move { drop(request.send().await) })
        })?;
        scheduler.add(job).await?;
    }
    for (name, rule) in plan.rules {
        let (client, url) = (client.clone(), format!("{}/{name}", plan.target));
        let zone: chrono_tz::Tz = plan.zone.parse()?;
        let job = Job::new_async_tz(format!("0 {rule}"), zone, move |_, _| {
            let request = client.post(&url).body("x".repeat(100));
            Box::pin(async move { drop(request.send().await) })
        })?;
        scheduler.add(job).await?;
    }
    scheduler.start().await?;
    // end of set-up
    println!("ready");
    std::future::pending::<()>().await;
    Ok(())
}

fn plan() -> Result<Plan, Box<dyn std::error::Error>> {
    Ok(serde_json::from_slice(&std::fs::read(std::env::var("PEER_PLAN")?)?)?)
}
