//! The provider: its registration, and what it says of itself.

use axum::http::StatusCode;
use minutehand_domain::duration::Span;
use minutehand_domain::plan::Plan;

use super::failure::Fault;
use super::request::Request;
use super::xml::Xml;
use crate::answer::Answer;

/// The service that clients register.
const SERVICE: &str = "scheduler.JobCollections";
/// The regions as Azure listed them in January 2016. PowerShell refuses others; the API does not.
const REGIONS: &str = "South Central US,North Central US,North Europe,West Europe,East Asia,\
                       Southeast Asia,West US,East US,Japan West,Japan East,Brazil South,East US 2,\
                       Central US,Australia East,Australia Southeast,South India,Central India,\
                       West India";
/// The plans of this API, each with its name and the most collections of a subscription.
const PLANS: [(&str, Plan, &str); 3] = [
    ("Free", Plan::Free, "1"),
    ("Standard", Plan::Standard, "100000"),
    ("Premium", Plan::P10Premium, "100000"),
];

/// Registers or unregisters the provider for a subscription, which changes nothing: it is always
/// registered.
pub(super) fn register(request: &Request) -> Result<Answer, Fault> {
    request.path.subscription()?;
    check(request, "service", &[SERVICE])?;
    check(request, "action", &["register", "unregister"])?;
    Ok(Answer::empty(StatusCode::OK))
}

pub(super) fn get(request: &Request) -> Result<Answer, Fault> {
    request.path.subscription()?;
    check(request, "resourceType", &["JobCollections"])?;
    let body = Xml::document("ResourceProviderProperties", |xml| {
        property(xml, "SupportedGeoRegions", REGIONS);
        property(xml, "Plans", &PLANS.map(|(name, ..)| name).join(", "));
        for (name, plan, _) in PLANS {
            let key = format!("PlanDetail:{name}:Quota:MaxJobCount");
            property(xml, &key, &plan.jobs_max().to_string());
        }
        for (name, plan, _) in PLANS {
            let key = format!("PlanDetail:{name}:Quota:MinRecurrence");
            let gap = Span::seconds(plan.gap_min().num_seconds().unsigned_abs());
            property(xml, &key, &gap.to_string());
        }
        for (name, _, collections_max) in PLANS {
            property(xml, &format!("PlanDetail:{name}:MaxJobCollections"), collections_max);
        }
    });
    Ok(Answer::xml(StatusCode::OK, body))
}

fn property(xml: &mut Xml, key: &str, value: &str) {
    xml.element("ResourceProviderProperty", |xml| {
        xml.text("Key", key);
        xml.text("Value", value);
    });
}

/// Checks that a query parameter has one of these values, in any case.
fn check(request: &Request, name: &str, allowed: &[&str]) -> Result<(), Fault> {
    let sent = request.query.get(name).unwrap_or_default();
    if allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(sent)) {
        return Ok(());
    }
    let allowed = allowed.join("' or '");
    Err(Fault::query(format!("The query parameter '{name}' has to be '{allowed}'.")))
}
