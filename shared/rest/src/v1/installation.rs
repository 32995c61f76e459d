//! What a tool asks first: who it is, what the installation is and runs on, which subscriptions and time
//! zones there are.

use chrono::TimeDelta;
use minutehand_domain::action::Target;
use minutehand_domain::plan::PlanLimits;
use minutehand_domain::reach::Reach;
use minutehand_ports::store::PageRequest;
use minutehand_recurrence::{format_instant, zone};
use serde_json::{Value, json};

use super::list::page;
use super::parameters::Parameters;
use super::tagged;
use crate::Home;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::{ErrorCode, Failure};
use crate::health::ProcessNote;
use crate::scope::Scope;

/// The type of the action that waits for pings.
const EXPECT: &str = "Expect";
/// The most subscriptions in one answer.
const SUBSCRIPTIONS_MAX: u32 = 500;
/// A span that shows the rate of a clock to three digits.
const RATE_SPAN: TimeDelta = TimeDelta::seconds(1_000);

/// Tells the caller who it is, what it may do, and what the installation is.
pub(crate) fn me(call: &Call) -> Result<Answer, Failure> {
    Parameters::of(call, &[])?;
    let settings = call.manage.settings();
    let actions: Vec<&str> = Target::offered(settings.has_aws)
        .filter(|name| *name != EXPECT || call.manage.takes_pings())
        .collect();
    let principal = &call.caller.principal;
    let document = json!({
        "principal": {"kind": principal.kind(), "label": principal.label()},
        "may": may(call.caller.scope),
        "collections": collections(&call.caller.reach),
        "now": format_instant(call.rest.clock.now()),
        "clockRate": clock_rate(call),
        "home": match call.rest.home {
            Home::Machine => "machine",
            Home::Aws => "aws",
        },
        "region": settings.region,
        "version": call.rest.build.version,
        "commit": call.rest.build.commit,
        "timeZones": call.rest.build.time_zones,
        "planLimits": settings.plan_limits == PlanLimits::On,
        "actions": actions,
    });
    Ok(tagged(&document, &call.head.headers))
}

/// What a scope allows, one word each.
const fn may(scope: Scope) -> &'static [&'static str] {
    match scope {
        Scope::Read => &["read"],
        Scope::Run => &["read", "run"],
        Scope::All => &["read", "run", "write"],
    }
}

/// The patterns of the collections that a caller may reach; null if it may reach the whole installation.
fn collections(reach: &Reach) -> Value {
    let patterns = reach.patterns().map(|all| all.iter().map(ToString::to_string));
    json!(patterns.map(Iterator::collect::<Vec<_>>))
}

/// How fast the clock of the schedule runs: 1, unless it is a test clock.
fn clock_rate(call: &Call) -> Value {
    let scheduled = call.rest.clock.scheduled_during(RATE_SPAN);
    let (seconds, span) = (scheduled.num_seconds(), RATE_SPAN.num_seconds());
    let rate = scheduled.as_seconds_f64() / RATE_SPAN.as_seconds_f64();
    if seconds % span == 0 { json!(seconds / span) } else { json!(rate) }
}

/// Lists the time zones, and the release of their data.
pub(crate) fn zones(call: &Call) -> Result<Answer, Failure> {
    Parameters::of(call, &[])?;
    let mut names: Vec<&str> = zone::names().collect();
    names.sort_unstable();
    let document = json!({"release": zone::database_version(), "names": names});
    Ok(tagged(&document, &call.head.headers))
}

/// Lists the subscriptions that have had a collection.
pub(crate) async fn subscriptions(call: Call) -> Result<Answer, Failure> {
    let from = Parameters::of(&call, &["position"])?.position()?;
    let request = PageRequest { from, items_max: SUBSCRIPTIONS_MAX };
    let found = call.manage.list_subscriptions(request).await?;
    let looked_at = found.items.len();
    let items: Vec<_> = found.items.iter().map(|name| json!({"name": name.as_str()})).collect();
    Ok(tagged(&page(&items, found.next.as_deref(), looked_at), &call.head.headers))
}

/// Lists the processes that share the database.
pub(crate) async fn processes(call: Call) -> Result<Answer, Failure> {
    Parameters::of(&call, &[])?;
    call.manage.check_everything()?;
    let found = call.rest.readiness.processes().await.map_err(unavailable)?;
    let item = |process: ProcessNote| {
        let ProcessNote { name, version, since, seen_at, attempts, answers } = process;
        json!({
            "name": name,
            "version": version,
            "since": format_instant(since),
            "seenAt": format_instant(seen_at),
            "attempts": attempts,
            "answers": answers,
        })
    };
    let items: Vec<Value> = found.into_iter().map(item).collect();
    Ok(tagged(&json!({"items": items}), &call.head.headers))
}

/// Tells what an operator has to know of the database.
pub(crate) async fn database(call: Call) -> Result<Answer, Failure> {
    Parameters::of(&call, &[])?;
    call.manage.check_everything()?;
    let found = call.rest.readiness.database().await.map_err(unavailable)?;
    Ok(tagged(&json!({"items": found}), &call.head.headers))
}

fn unavailable(why: String) -> Failure {
    Failure::new(ErrorCode::ServiceUnavailable, why)
}
