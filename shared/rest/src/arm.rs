//! Requests for the Resource Manager itself: the description of the provider, and whether a resource
//! group exists.

use axum::http::StatusCode;
use minutehand_domain::location::AZURE_LOCATIONS;
use serde_json::json;

use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;

/// Answers that a resource group exists: every group does.
pub(crate) fn check_group(call: &Call) -> Result<Answer, Failure> {
    call.path.place()?;
    Ok(Answer::empty(StatusCode::NO_CONTENT))
}

/// Describes the provider, which is always registered.
pub(crate) fn get_provider(call: &Call) -> Result<Answer, Failure> {
    let subscription = call.path.subscription()?;
    let versions = crate::query::API_VERSIONS;
    let provider = json!({
        "id": format!("/subscriptions/{subscription}/providers/Microsoft.Scheduler"),
        "namespace": "Microsoft.Scheduler",
        "resourceTypes": [
            {
                "resourceType": "jobcollections",
                "locations": AZURE_LOCATIONS,
                "apiVersions": versions,
                "capabilities": "CrossResourceGroupResourceMove, CrossSubscriptionResourceMove",
            },
            {"resourceType": "operations", "locations": AZURE_LOCATIONS, "apiVersions": versions},
            {"resourceType": "operationResults", "locations": AZURE_LOCATIONS, "apiVersions": versions},
        ],
        "registrationState": "Registered",
    });
    Ok(Answer::json(StatusCode::OK, &provider))
}
