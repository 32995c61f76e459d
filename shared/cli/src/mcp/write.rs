//! The tools that change something.

use std::collections::BTreeMap;

use client::{JobPath, Precondition};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::tools::{Named, When, arguments};
use crate::failure::{Failure, Result};
use crate::job::schedule::ScheduleArgs;
use crate::job::{ActionArgs, put_new, zoned};
use crate::work::Work;

#[derive(Debug, Deserialize)]
struct Creation {
    name: String,
    url: String,
    method: Option<String>,
    body: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    retry: Option<u32>,
    #[serde(default)]
    disabled: bool,
    #[serde(flatten)]
    when: When,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    name: String,
    properties: Map<String, Value>,
}

pub(super) async fn call(work: &Work, name: &str, with: &Value) -> Result<String> {
    match name {
        "create_job" => create(work, arguments(with)?).await,
        "update_job" => {
            let Change { name, properties } = arguments(with)?;
            let path = work.defaults().job(&name)?;
            let patch = json!({ "properties": properties });
            work.client().patch_job(&path, &patch, Precondition::Always).await?;
            described(work, &path).await
        }
        "run_job" => {
            let job: Named = arguments(with)?;
            let path = job.path(work)?;
            work.client().run_job(&path).await?;
            Ok(format!("{} runs now", work.defaults().short_job(&path)))
        }
        "delete_job" => {
            let job: Named = arguments(with)?;
            let path = job.path(work)?;
            work.client().delete_job(&path).await?;
            Ok(format!("deleted {}", work.defaults().short_job(&path)))
        }
        _ => Err(Failure::refused(format!("there is no tool {name}"))),
    }
}

async fn create(work: &Work, wanted: Creation) -> Result<String> {
    let Creation { name, url, method, body, headers, retry, disabled, when } = wanted;
    let path = work.defaults().job(&name)?;
    let header = headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let action =
        ActionArgs { url: Some(url), method, body, header, retry, ..ActionArgs::default() };
    let schedule = zoned(work, &ScheduleArgs::from(when), &path.collection).await?;
    let timings = schedule.timings(work.now())?;
    let [timing] = &timings[..] else {
        return Err(Failure::refused(
            "the expression means a day of the month or a day of the week: create a job for each",
        ));
    };
    let mut properties = Map::new();
    properties.extend(action.action()?.map(|action| ("action".to_owned(), action)));
    timing.put_into(&mut properties);
    if disabled {
        properties.insert("state".to_owned(), "disabled".into());
    }
    put_new(work, &path, &json!({ "properties": properties })).await?;
    described(work, &path).await
}

/// What the server has understood.
async fn described(work: &Work, path: &JobPath) -> Result<String> {
    let job = work.client().describe(path).await?.value;
    let name = work.defaults().short_job(path);
    Ok(json!({"name": name, "sentence": job.sentence, "state": job.state, "next": job.next})
        .to_string())
}
