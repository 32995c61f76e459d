//! The routes: one table of methods, paths and what they do.

use axum::http::Method;

use crate::failure::{ErrorCode, Failure};
use crate::path::Captured;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Whether we are ready.
    Health,
    /// The description of this API.
    OpenApi,
    /// The numbers for a monitor.
    Metrics,
    /// Whether a resource group is there: they always are.
    CheckGroup,
    /// What the provider has.
    GetProvider,
    /// Registering the provider, which it always is.
    RegisterProvider,
    /// `JobCollections_ListBySubscription`.
    ListCollectionsOfSubscription,
    /// `JobCollections_ListByResourceGroup`.
    ListCollectionsOfGroup,
    /// `JobCollections_Get`.
    GetCollection,
    /// `JobCollections_CreateOrUpdate`.
    PutCollection,
    /// `JobCollections_Patch`.
    PatchCollection,
    /// `JobCollections_Delete`.
    DeleteCollection,
    /// `JobCollections_Enable`.
    EnableCollection,
    /// `JobCollections_Disable`.
    DisableCollection,
    /// `Jobs_List`.
    ListJobs,
    /// `Jobs_Get`.
    GetJob,
    /// `Jobs_CreateOrUpdate`.
    PutJob,
    /// `Jobs_Patch`.
    PatchJob,
    /// `Jobs_Delete`.
    DeleteJob,
    /// `Jobs_Run`.
    RunJob,
    /// `Jobs_ListJobHistory`.
    ListJobHistory,
}

impl Operation {
    /// Whether it needs no token.
    pub(crate) const fn is_public(self) -> bool {
        matches!(self, Self::Health | Self::OpenApi)
    }

    /// Whether it needs an `api-version`: what is the Resource Manager's own, or ours alone, takes
    /// any or none.
    pub(crate) const fn is_versioned(self) -> bool {
        !matches!(
            self,
            Self::Health
                | Self::OpenApi
                | Self::Metrics
                | Self::CheckGroup
                | Self::GetProvider
                | Self::RegisterProvider
        )
    }

    /// Whether its body says something.
    pub(crate) const fn has_body(self) -> bool {
        matches!(self, Self::PutCollection | Self::PatchCollection | Self::PutJob | Self::PatchJob)
    }
}

/// A method and a path, and what it asks for.
#[derive(Debug)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path; a name in braces stands for one segment.
    pub path: &'static str,
    /// What it asks for.
    pub operation: Operation,
}

macro_rules! in_subscription {
    ($rest:literal) => {
        concat!("/subscriptions/{subscriptionId}", $rest)
    };
}

macro_rules! in_group {
    ($rest:literal) => {
        concat!(
            "/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}/providers/\
             Microsoft.Scheduler/jobCollections",
            $rest
        )
    };
}

const fn route(method: Method, path: &'static str, operation: Operation) -> Route {
    Route { method, path, operation }
}

/// All routes.
pub static ROUTES: [Route; 21] = [
    route(Method::GET, "/healthz", Operation::Health),
    route(Method::GET, "/openapi.json", Operation::OpenApi),
    route(Method::GET, "/metrics", Operation::Metrics),
    route(
        Method::HEAD,
        in_subscription!("/resourceGroups/{resourceGroupName}"),
        Operation::CheckGroup,
    ),
    route(Method::GET, in_subscription!("/providers/Microsoft.Scheduler"), Operation::GetProvider),
    route(
        Method::POST,
        in_subscription!("/providers/Microsoft.Scheduler/register"),
        Operation::RegisterProvider,
    ),
    route(
        Method::GET,
        in_subscription!("/providers/Microsoft.Scheduler/jobCollections"),
        Operation::ListCollectionsOfSubscription,
    ),
    route(Method::GET, in_group!(""), Operation::ListCollectionsOfGroup),
    route(Method::GET, in_group!("/{jobCollectionName}"), Operation::GetCollection),
    route(Method::PUT, in_group!("/{jobCollectionName}"), Operation::PutCollection),
    route(Method::PATCH, in_group!("/{jobCollectionName}"), Operation::PatchCollection),
    route(Method::DELETE, in_group!("/{jobCollectionName}"), Operation::DeleteCollection),
    route(Method::POST, in_group!("/{jobCollectionName}/enable"), Operation::EnableCollection),
    route(Method::POST, in_group!("/{jobCollectionName}/disable"), Operation::DisableCollection),
    route(Method::GET, in_group!("/{jobCollectionName}/jobs"), Operation::ListJobs),
    route(Method::GET, in_group!("/{jobCollectionName}/jobs/{jobName}"), Operation::GetJob),
    route(Method::PUT, in_group!("/{jobCollectionName}/jobs/{jobName}"), Operation::PutJob),
    route(Method::PATCH, in_group!("/{jobCollectionName}/jobs/{jobName}"), Operation::PatchJob),
    route(Method::DELETE, in_group!("/{jobCollectionName}/jobs/{jobName}"), Operation::DeleteJob),
    route(Method::POST, in_group!("/{jobCollectionName}/jobs/{jobName}/run"), Operation::RunJob),
    route(
        Method::GET,
        in_group!("/{jobCollectionName}/jobs/{jobName}/history"),
        Operation::ListJobHistory,
    ),
];

/// What a path is answered that leads nowhere.
pub(crate) const NOTHING_THERE: &str = "There is nothing at this path.";

/// The route of a request, and what stands in its path.
///
/// # Errors
///
/// If nothing is at the path, or it does not take the method.
pub(crate) fn find_route(
    method: &Method,
    path: &str,
) -> Result<(&'static Route, Captured), Failure> {
    let mut allow = Vec::new();
    for route in &ROUTES {
        let Some(captured) = Captured::of(route.path, path) else {
            continue;
        };
        if route.method == *method {
            return Ok((route, captured));
        }
        allow.push(route.method.clone());
    }
    if allow.is_empty() {
        return Err(Failure::new(ErrorCode::UnknownRoute, NOTHING_THERE));
    }
    let methods: Vec<&str> = allow.iter().map(Method::as_str).collect();
    let message = format!("This path does not take {method}; use {}.", methods.join(", "));
    Err(Failure { allow, ..Failure::new(ErrorCode::MethodNotAllowed, message) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_matches_in_any_case_and_percent_encoded() {
        let path = "/SUBSCRIPTIONS/s/resourcegroups/My%20Group/providers/microsoft.scheduler/\
                    JobCollections/c%31/JOBS/j";
        let (route, captured) = find_route(&Method::GET, path).unwrap();
        assert_eq!(route.operation, Operation::GetJob);
        let place = captured.place().unwrap();
        assert_eq!((place.subscription.as_str(), place.group.as_str()), ("s", "My Group"));
        assert_eq!(captured.collection().unwrap().as_str(), "c1");
        assert_eq!(captured.job().unwrap().as_str(), "j");
    }

    #[test]
    fn no_two_routes_are_the_same() {
        for (n, route) in ROUTES.iter().enumerate() {
            let twin = ROUTES.iter().skip(n + 1);
            let same = |other: &&Route| other.method == route.method && other.path == route.path;
            assert_eq!(twin.filter(same).count(), 0, "{route:?}");
        }
    }

    #[test]
    fn what_is_not_a_route_is_unknown() {
        for path in ["/", "", "/healthz/", "/healthz/x", "//healthz", "/subscriptions/s", "/%ff"] {
            let failure = find_route(&Method::GET, path).unwrap_err();
            assert_eq!(failure.code, ErrorCode::UnknownRoute, "{path}");
        }
    }

    #[test]
    fn a_wrong_method_names_the_right_ones() {
        let path = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections";
        let failure = find_route(&Method::POST, &format!("{path}/c")).unwrap_err();
        assert_eq!(failure.code, ErrorCode::MethodNotAllowed);
        assert_eq!(failure.allow, [Method::GET, Method::PUT, Method::PATCH, Method::DELETE]);
        assert_eq!(failure.message, "This path does not take POST; use GET, PUT, PATCH, DELETE.");
    }
}
