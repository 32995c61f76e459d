//! What clients ask the Resource Manager itself: the provider's document, and whether a resource
//! group is there.

use axum::http::StatusCode;
use domain::name::PathSegment;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;

/// Where the original was, when it was last asked.
const LOCATIONS: [&str; 25] = [
    "North Central US",
    "South Central US",
    "North Europe",
    "West Europe",
    "East Asia",
    "Southeast Asia",
    "West US",
    "East US",
    "Japan West",
    "Japan East",
    "Brazil South",
    "Central US",
    "East US 2",
    "Australia East",
    "Australia Southeast",
    "Canada Central",
    "Canada East",
    "West US 2",
    "West Central US",
    "UK South",
    "UK West",
    "East US 2 EUAP",
    "Central US EUAP",
    "Korea Central",
    "Korea South",
];

/// Says that a resource group is there: they all are, always.
pub(crate) fn check_group(call: &Call) -> Result<Answer, Failure> {
    call.path.place()?;
    Ok(Answer::empty(StatusCode::NO_CONTENT))
}

/// Says what the provider has, and that it is registered, which it always is.
pub(crate) fn get_provider(call: &Call) -> Result<Answer, Failure> {
    let subscription = call.path.subscription()?;
    Ok(Answer::json(StatusCode::OK, &provider(&subscription)))
}

fn provider(subscription: &PathSegment) -> Value {
    let versions = crate::query::API_VERSIONS;
    json!({
        "id": format!("/subscriptions/{subscription}/providers/Microsoft.Scheduler"),
        "namespace": "Microsoft.Scheduler",
        "resourceTypes": [
            {
                "resourceType": "jobcollections",
                "locations": LOCATIONS,
                "apiVersions": versions,
                "capabilities": "CrossResourceGroupResourceMove, CrossSubscriptionResourceMove",
            },
            {"resourceType": "operations", "locations": LOCATIONS, "apiVersions": versions},
            {"resourceType": "operationResults", "locations": LOCATIONS, "apiVersions": versions},
        ],
        "registrationState": "Registered",
    })
}
