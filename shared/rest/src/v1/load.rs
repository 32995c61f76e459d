//! `GET S/load`: how many occurrences fall due in each step of a time, for calendars.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_app::{LoadGroup, Peak, WantedLoad};
use minutehand_domain::load::LoadStep;
use minutehand_recurrence::format_instant;
use serde_json::{Value, json};

use super::ahead::{check_span, item, jobs};
use super::occurrences::named_zone;
use super::parameters::{Parameters, invalid_position};
use super::tagged;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;
use crate::query::{shown, write_position};

/// Counts the occurrences in each step.
pub(crate) async fn load(call: Call) -> Result<Answer, Failure> {
    let known = ["from", "to", "step", "zone", "collection", "far", "position"];
    let parameters = Parameters::of(&call, &known)?;
    let step = parameters.one_of("step", LoadStep::named, &LoadStep::ALL.map(LoadStep::name))?;
    let step = step.unwrap_or(LoadStep::Hour);
    let from = parameters.instant("from")?.unwrap_or_else(|| call.rest.clock.now());
    let default = from.checked_add_signed(TimeDelta::days(1)).unwrap_or(DateTime::<Utc>::MAX_UTC);
    let to = parameters.instant("to")?.unwrap_or(default);
    check_span([from, to], TimeDelta::days(step.days_max()))?;
    let zone = parameters.text("zone").map(named_zone).transpose()?;
    let bounds = step.bounds(from, to, zone.as_ref());
    let position = parameters.position()?.map(|position| read_position(&position)).transpose()?;
    let far_from = match parameters.text("far") {
        None => None,
        Some("true") => Some(call.rest.clock.now()),
        Some(text) => {
            let problem = format!("'far' is {}; use true, or leave it out.", shown(text));
            return Err(Failure::invalid(problem));
        }
    };
    let wanted = WantedLoad { jobs: jobs(&call, &parameters)?, bounds, from: position, far_from };
    let found = call.manage.load(&wanted).await?;
    let starts = wanted.bounds.iter().take(found.counts.len());
    let next = found.next.map(|(shard, from)| format!("{shard} {}", from.unwrap_or_default()));
    let document = json!({
        "step": step.name(),
        "starts": (step == LoadStep::Day)
            .then(|| starts.map(|at| format_instant(*at)).collect::<Vec<_>>()),
        "from": wanted.bounds.first().map(|at| format_instant(*at)),
        "to": wanted.bounds.last().map(|at| format_instant(*at)),
        "counts": found.counts,
        "jobs": found.jobs,
        "top": found.peaks.iter().map(peak).collect::<Vec<_>>(),
        "far": found.far.iter().map(item).collect::<Vec<_>>(),
        "position": next.as_deref().map(write_position),
        "lookedAt": found.looked_at,
    });
    Ok(tagged(&document, &call.head.headers))
}

/// Reads a shard and a place in it.
fn read_position(position: &str) -> Result<(u32, Option<String>), Failure> {
    let (shard, from) = position.split_once(' ').ok_or_else(invalid_position)?;
    let shard = shard.parse().map_err(|_| invalid_position())?;
    let mut parts = from.splitn(3, ' ');
    let is_place = parts.next().is_some_and(|due| due.parse::<i64>().is_ok()) && parts.count() == 2;
    match from {
        "" => Ok((shard, None)),
        from if is_place => Ok((shard, Some(from.to_owned()))),
        _ => Err(invalid_position()),
    }
}

fn peak(peak: &Peak) -> Value {
    json!({
        "at": format_instant(peak.at),
        "count": peak.count,
        "groups": peak.groups.iter().map(group).collect::<Vec<_>>(),
    })
}

fn group(group: &LoadGroup) -> Value {
    json!({"rule": group.sentence, "count": group.count, "names": group.job_keys})
}
