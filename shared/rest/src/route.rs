//! The routes: one table of methods, paths and handlers.
//!
//! An operation of the API is one row of [`ROUTES`] and one function, its handler.

use std::fmt;
use std::future::ready;

use axum::http::Method;
use minutehand_domain::ping::PING_BYTES_MAX;

use crate::call::{Call, Handler};
use crate::failure::{ErrorCode, Failure};
use crate::path::Captured;
use crate::request::BODY_BYTES_MAX;
use crate::scope::Scope;
use crate::v1::{
    self, again, ahead, alerts, body, check, check_many, dead_letters, find, installation, job,
    journal, live, load, occurrences, past, pings, preview, rows, wall, why,
};
use crate::{arm, collections, convert, health, history, jobs, metrics, openapi, ping};

/// A method and a path, and what happens to a request for them.
pub(crate) struct Route {
    pub(crate) method: Method,
    /// The path. A name in braces is a placeholder for one segment.
    pub(crate) path: &'static str,
    /// Whether the request needs no token.
    pub(crate) is_public: bool,
    /// The smallest scope of a token that allows the request, if its method does not tell.
    own_scope: Option<Scope>,
    pub(crate) body: Body,
    /// The maximum size of the body.
    pub(crate) body_bytes_max: usize,
    pub(crate) handler: &'static dyn Handler,
}

/// The body of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// The body has to be a JSON object.
    Required,
    /// The body is any text, of which the beginning counts.
    Beginning,
    /// The handler does not see the body. It counts towards the size limit all the same.
    Ignored,
}

impl Route {
    /// A route that needs a token, and ignores the body.
    const fn new(method: Method, path: &'static str, handler: &'static dyn Handler) -> Self {
        Self {
            method,
            path,
            is_public: false,
            own_scope: None,
            body: Body::Ignored,
            body_bytes_max: BODY_BYTES_MAX,
            handler,
        }
    }

    const fn public(mut self) -> Self {
        self.is_public = true;
        self
    }

    const fn with_scope_run(mut self) -> Self {
        self.own_scope = Some(Scope::Run);
        self
    }

    /// A request that changes nothing, although it is a POST.
    const fn reading(mut self) -> Self {
        self.own_scope = Some(Scope::Read);
        self
    }

    const fn with_body(mut self) -> Self {
        self.body = Body::Required;
        self
    }

    /// A route for the targets of jobs, which know a key: no token, the beginning of any text.
    const fn for_targets(mut self) -> Self {
        self.body = Body::Beginning;
        self.body_bytes_max = PING_BYTES_MAX;
        self.public().reading()
    }

    /// A body that may be longer than those of other requests.
    const fn with_long_body(mut self, bytes_max: usize) -> Self {
        self.body_bytes_max = bytes_max;
        self.with_body()
    }

    /// Whether the request has to name a version of the API that is served, as those about Azure's collections and
    /// jobs do. The Resource Manager's own operations have versions of their own, and operations that only Minutehand
    /// has need none.
    pub(crate) fn needs_version(&self) -> bool {
        self.path.contains("/Microsoft.Scheduler/jobCollections")
    }

    /// The smallest scope of a token that allows the request.
    pub(crate) fn scope(&self) -> Scope {
        let by_method = if self.method.is_safe() { Scope::Read } else { Scope::All };
        self.own_scope.unwrap_or(by_method)
    }

    /// Whether it is one of Minutehand's own operations.
    pub(crate) fn is_ours(&self) -> bool {
        self.path.starts_with(v1::PREFIX)
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

macro_rules! subscription {
    ($rest:literal) => {
        concat!("/subscriptions/{subscriptionId}", $rest)
    };
}

macro_rules! collections {
    ($rest:literal) => {
        concat!(
            "/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}/providers/\
             Microsoft.Scheduler/jobCollections",
            $rest
        )
    };
}

macro_rules! job {
    ($rest:literal) => {
        concat!(collections!("/{jobCollectionName}/jobs/{jobName}"), $rest)
    };
}

macro_rules! ours {
    ($rest:literal) => {
        concat!("/minutehand/v1", $rest)
    };
}

macro_rules! our_subscription {
    ($rest:literal) => {
        concat!("/minutehand/v1/subscriptions/{subscriptionId}", $rest)
    };
}

macro_rules! our_collection {
    ($rest:literal) => {
        concat!(
            "/minutehand/v1/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}/",
            "jobCollections/{jobCollectionName}",
            $rest
        )
    };
}

macro_rules! our_job {
    ($rest:literal) => {
        concat!(our_collection!("/jobs/{jobName}"), $rest)
    };
}

/// All routes, in the order in which they are matched.
pub(crate) static ROUTES: [Route; 66] = [
    get("/healthz", &health::get).public(),
    get("/openapi.json", &|_: Call| ready(Ok(openapi::get()))).public(),
    get("/metrics", &metrics::get),
    get("/ping/{key}", &ping::success).public(),
    post("/ping/{key}", &ping::success).for_targets(),
    get("/ping/{key}/fail", &ping::failure).public(),
    post("/ping/{key}/fail", &ping::failure).for_targets(),
    post("/ping/{key}/alive", &ping::alive).for_targets(),
    get("/ping/{key}/start", &ping::start).public(),
    post("/ping/{key}/start", &ping::start).for_targets(),
    get("/ping/{key}/log", &ping::log).public(),
    post("/ping/{key}/log", &ping::log).for_targets(),
    get("/ping/{key}/{exitStatus}", &ping::exit_status).public(),
    post("/ping/{key}/{exitStatus}", &ping::exit_status).for_targets(),
    Route::new(
        Method::HEAD,
        subscription!("/resourceGroups/{resourceGroupName}"),
        &|call: Call| ready(arm::check_group(&call)),
    ),
    get(subscription!("/providers/Microsoft.Scheduler"), &|call: Call| {
        ready(arm::get_provider(&call))
    }),
    post(subscription!("/providers/Microsoft.Scheduler/register"), &|call: Call| {
        ready(arm::get_provider(&call))
    }),
    get(
        subscription!("/providers/Microsoft.Scheduler/jobCollections"),
        &collections::list_in_subscription,
    ),
    get(collections!(""), &collections::list_in_group),
    get(collections!("/{jobCollectionName}"), &collections::get),
    put(collections!("/{jobCollectionName}"), &collections::put).with_body(),
    patch(collections!("/{jobCollectionName}"), &collections::patch).with_body(),
    delete(collections!("/{jobCollectionName}"), &collections::delete),
    post(collections!("/{jobCollectionName}/enable"), &collections::enable),
    post(collections!("/{jobCollectionName}/disable"), &collections::disable),
    get(collections!("/{jobCollectionName}/jobs"), &jobs::list),
    get(job!(""), &jobs::get),
    put(job!(""), &jobs::put).with_body(),
    patch(job!(""), &jobs::patch).with_body(),
    delete(job!(""), &jobs::delete),
    post(job!("/run"), &jobs::run).with_scope_run(),
    get(job!("/history"), &history::list),
    get(ours!("/me"), &|call: Call| ready(installation::me(&call))),
    get(ours!("/live"), &live::live),
    get(ours!("/zones"), &|call: Call| ready(installation::zones(&call))),
    get(ours!("/processes"), &installation::processes),
    get(ours!("/database"), &installation::database),
    get(ours!("/subscriptions"), &installation::subscriptions),
    post(ours!("/preview"), &|call: Call| ready(preview::preview(&call))).with_body().reading(),
    get(our_subscription!("/overview"), &ahead::overview),
    get(our_subscription!("/find"), &find::find),
    get(our_subscription!("/wall"), &wall::wall),
    get(our_subscription!("/upcoming"), &ahead::upcoming),
    get(our_subscription!("/load"), &load::load),
    get(our_subscription!("/failures"), &past::failures),
    get(our_collection!("/journal"), &journal::journal),
    get(our_collection!("/rows"), &rows::rows),
    get(our_collection!("/alert"), &alerts::get),
    post(our_collection!("/alert/test"), &alerts::test).with_scope_run(),
    post(our_collection!("/check"), &check_many::check_many)
        .with_long_body(check_many::CHECKS_BYTES_MAX)
        .reading(),
    get(our_job!(""), &job::get_job),
    get(our_job!("/next"), &occurrences::next),
    get(our_job!("/occurrences"), &past::occurrences),
    post(our_job!("/occurrences/{occurrence}/redrive"), &again::redrive).with_scope_run(),
    post(our_job!("/occurrences/{occurrence}/cancel"), &again::cancel).with_scope_run(),
    post(our_job!("/resume"), &again::resume),
    post(our_job!("/pingUrl"), &pings::url),
    post(our_job!("/rotatePing"), &pings::rotate),
    get(our_job!("/why"), &why::why),
    get(our_job!("/alert"), &alerts::of_job),
    get(our_job!("/history/{historyName}/body"), &body::body),
    post(our_job!("/check"), &check::check).with_body().reading(),
    get(ours!("/deadletters"), &dead_letters::list),
    post(ours!("/deadletters/redrive"), &dead_letters::redrive).with_body(),
    post(ours!("/deadletters/delete"), &dead_letters::delete).with_body(),
    post(ours!("/convert"), &|call: Call| ready(convert::convert(&call)))
        .with_long_body(convert::BODY_BYTES_MAX)
        .reading(),
];

/// Paths that jobs do not have although collections do, each with the state that a PATCH sets.
pub(crate) const fn job_switches() -> [(&'static str, &'static str); 2] {
    [(job!("/enable"), "enabled"), (job!("/disable"), "disabled")]
}

const fn get(path: &'static str, handler: &'static dyn Handler) -> Route {
    Route::new(Method::GET, path, handler)
}

const fn put(path: &'static str, handler: &'static dyn Handler) -> Route {
    Route::new(Method::PUT, path, handler)
}

const fn patch(path: &'static str, handler: &'static dyn Handler) -> Route {
    Route::new(Method::PATCH, path, handler)
}

const fn delete(path: &'static str, handler: &'static dyn Handler) -> Route {
    Route::new(Method::DELETE, path, handler)
}

const fn post(path: &'static str, handler: &'static dyn Handler) -> Route {
    Route::new(Method::POST, path, handler)
}

/// Finds the route of a request, and the values of the placeholders in its path. A HEAD takes the
/// route of a GET, if it has none of its own.
///
/// # Errors
///
/// If no route has the path, or none of those that have it has the method.
pub(crate) fn find_route(
    method: &Method,
    path: &str,
) -> Result<(&'static Route, Captured), Failure> {
    let mut allow = Vec::new();
    let mut as_get = None;
    for route in &ROUTES {
        let Some(captured) = Captured::from_path(route.path, path) else {
            continue;
        };
        if route.method == *method {
            return Ok((route, captured));
        }
        allow.push(route.method.clone());
        if route.method == Method::GET {
            allow.push(Method::HEAD);
            as_get = as_get.or(Some((route, captured)));
        }
    }
    if let Some(found) = as_get.filter(|_| *method == Method::HEAD) {
        return Ok(found);
    }
    if allow.is_empty() {
        return Err(Failure::unknown_route(method, path));
    }
    let methods: Vec<&str> = allow.iter().map(Method::as_str).collect();
    let message = format!("This path does not support {method}; use {}.", methods.join(", "));
    Err(Failure { allow, ..Failure::new(ErrorCode::MethodNotAllowed, message) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classic;

    #[test]
    fn paths_match_in_any_case_and_percent_encoded() {
        let path = "/SUBSCRIPTIONS/s/resourcegroups/My%20Group/providers/microsoft.scheduler/\
                    JobCollections/c%31/JOBS/j";
        let (route, captured) = find_route(&Method::GET, path).unwrap();
        assert_eq!((&route.method, route.path), (&Method::GET, job!("")));
        let place = captured.place().unwrap();
        assert_eq!((place.subscription.as_str(), place.group.as_str()), ("s", "My Group"));
        assert_eq!(captured.collection().unwrap().as_str(), "c1");
        assert_eq!(captured.job().unwrap().as_str(), "j");
    }

    #[test]
    fn a_head_takes_the_route_that_a_get_takes() {
        for path in ["/ping/x", "/ping/x/start", "/ping/x/7", "/healthz"] {
            let paths =
                [Method::GET, Method::HEAD].map(|method| find_route(&method, path).unwrap().0.path);
            assert_eq!(paths[0], paths[1], "{path}");
        }
    }

    #[test]
    fn no_two_routes_have_the_same_method_and_path() {
        for (n, route) in ROUTES.iter().enumerate() {
            let others = ROUTES.iter().skip(n + 1);
            let same = |other: &&Route| other.method == route.method && other.path == route.path;
            assert_eq!(others.filter(same).count(), 0, "{route:?}");
        }
    }

    #[test]
    fn the_list_of_scopes_has_every_route_with_its_scope() {
        let mut listed: Vec<String> = include_str!("../tests/scopes.txt")
            .lines()
            .filter(|row| !row.is_empty() && !row.starts_with('#'))
            .map(|row| {
                let mut words: Vec<&str> = row.split_whitespace().collect();
                // What a limited token gets shows only in answers.
                words.remove(1);
                words.join(" ")
            })
            .collect();
        let scope = |route: &Route| if route.is_public { "none" } else { route.scope().name() };
        let ours = ROUTES.iter().map(|it| format!("{} {} {}", scope(it), it.method, it.path));
        let classic = classic::scopes();
        let classic =
            classic.map(|(scope, method, path)| format!("{} {method} {path}", scope.name()));
        let mut served: Vec<String> = ours.chain(classic).collect();
        listed.sort();
        served.sort();
        assert_eq!(listed, served);
    }

    #[test]
    fn paths_without_a_route_are_unknown() {
        for path in ["/", "", "/healthz/", "/healthz/x", "//healthz", "/subscriptions/s", "/%ff"] {
            let failure = find_route(&Method::GET, path).unwrap_err();
            assert_eq!(failure.code, ErrorCode::UnknownRoute, "{path}");
        }
    }

    #[test]
    fn an_unsupported_method_is_answered_with_the_supported_ones() {
        let path = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections";
        let failure = find_route(&Method::POST, &format!("{path}/c")).unwrap_err();
        assert_eq!(failure.code, ErrorCode::MethodNotAllowed);
        let allowed = [Method::GET, Method::HEAD, Method::PUT, Method::PATCH, Method::DELETE];
        assert_eq!(failure.allow, allowed);
        assert_eq!(
            failure.message,
            "This path does not support POST; use GET, HEAD, PUT, PATCH, DELETE."
        );
    }
}
