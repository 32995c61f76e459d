//! Behaviour that all operations share.

use minutehand_rest::{Access, Scope, Token};
use sha2::{Digest, Sha256};

use crate::support::{Answer, Api, GROUP, Trouble, VERSION};

/// The SHA-256 of `token`.
const TOKEN: [u8; 32] = [
    0x3c, 0x46, 0x9e, 0x9d, 0x6c, 0x58, 0x75, 0xd3, 0x7a, 0x43, 0xf3, 0x53, 0xd4, 0xf8, 0x8e, 0x61,
    0xfc, 0xf8, 0x12, 0xc6, 0x6e, 0xee, 0x34, 0x57, 0x46, 0x5a, 0x40, 0xb0, 0xda, 0x41, 0x53, 0xe0,
];

#[test]
fn every_answer_has_an_id_and_a_date_and_forbids_caching() {
    let api = Api::with_collection();
    let target = format!("{GROUP}/C1?{VERSION}");
    let answer = api.send("GET", &target, &[("x-ms-client-request-id", "mine-1")], "");
    let id = answer.header("x-ms-request-id").unwrap();
    assert_eq!(id.len(), 36);
    assert_eq!(answer.header("x-ms-correlation-request-id"), Some(id));
    assert_eq!(answer.header("x-ms-client-request-id"), Some("mine-1"));
    assert_eq!(answer.header("cache-control"), Some("no-cache"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("date"), Some("Wed, 30 Mar 2016 20:40:34 GMT"));

    let long = "x".repeat(129);
    let other = api.send("GET", "/nowhere", &[("x-ms-client-request-id", &long)], "");
    assert_ne!(other.header("x-ms-request-id").unwrap(), id);
    assert_eq!(other.header("x-ms-client-request-id"), None);
    assert_eq!(other.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(other.header("date"), Some("Wed, 30 Mar 2016 20:40:34 GMT"));
}

#[test]
fn without_a_valid_token_every_path_is_unauthorized() {
    let api = Api::with(Access::Tokens(vec![Token::with_all_rights(TOKEN)]));
    let target = format!("{GROUP}?{VERSION}");
    let with = |token| api.send("GET", &target, &[("authorization", token)], "");
    with("Bearer token").is(200, r#"{"value":[],"nextLink":null}"#);
    for answer in [with("Bearer other"), with("Basic dG9rZW4=")] {
        answer.fails(
            401,
            "InvalidAuthenticationToken",
            "The 'Authorization' header has no valid token; send 'Authorization: Bearer <token>'.",
        );
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    for target in [&target, "/nowhere", GROUP] {
        let answer = api.send("GET", target, &[], "");
        answer.fails(
            401,
            "AuthenticationFailed",
            "The 'Authorization' header is missing; send 'Authorization: Bearer <token>'.",
        );
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
}

#[test]
fn each_route_answers_callers_of_the_scope_that_it_needs_and_refuses_the_others() {
    let scopes = Scope::ALL.map(|scope| (scope.name(), Some(scope)));
    let callers = || [("none", None)].into_iter().chain(scopes);
    let tokens = Scope::ALL.map(|scope| Token {
        scope,
        ..Token::with_all_rights(Sha256::digest(scope.name()).into())
    });
    let api = Api::with(Access::Tokens(tokens.to_vec()));
    let rows = include_str!("../scopes.txt").lines().filter(|row| !row.starts_with('#'));
    for row in rows.filter(|row| !row.is_empty()) {
        let [needed, _, method, path] = row.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("a scope, a reach, a method and a path: {row}");
        };
        let needed = callers().find(|(name, _)| *name == needed).unwrap().1;
        let target = format!("{}?{VERSION}", path.replace(['{', '}'], ""));
        for (name, scope) in callers() {
            let authorization = format!("Bearer {name}");
            let headers = [("authorization", authorization.as_str())];
            let headers = if scope.is_some() { &headers[..] } else { &[] };
            let answer = api.send(method, &target, headers, "{}");
            let refusal = match (needed, scope) {
                (Some(_), None) => Some("The 'Authorization' header is missing".to_owned()),
                (Some(needed), Some(scope)) if scope < needed => Some(format!(
                    "The token has the scope '{name}'; this request needs a token with '{}'.",
                    needed.name()
                )),
                _ => None,
            };
            let Answer { status, body, .. } = &answer;
            let is_refused = [401, 403].contains(&status.as_u16());
            assert_eq!(is_refused, refusal.is_some(), "{name}: {row}: {status} {body}");
            // The answer to a HEAD has no body.
            let says = |refusal| body.contains(refusal) || method == "HEAD";
            assert!(refusal.as_deref().is_none_or(says), "{name}: {row}: {status} {body}");
            let asks_for_token = answer.header("www-authenticate").is_some();
            assert_eq!(asks_for_token, status.as_u16() == 401, "{name}: {row}: {status}");
        }
    }
}

#[test]
fn a_missing_or_unknown_api_version_is_refused() {
    let api = Api::new();
    api.send("GET", GROUP, &[], "").fails(
        400,
        "MissingApiVersionParameter",
        "The query parameter 'api-version' is missing; use 2016-03-01, 2016-01-01 or \
         2014-08-01-preview.",
    );
    api.send("GET", &format!("{GROUP}?api-version=2020-01-01"), &[], "").fails(
        400,
        "InvalidApiVersionParameter",
        "The 'api-version' '2020-01-01' is not served; use 2016-03-01, 2016-01-01 or \
         2014-08-01-preview.",
    );
}

#[test]
fn unknown_paths_and_unsupported_methods_have_the_shape_of_failures() {
    let api = Api::new();
    let unknown = "Nothing exists at this path; '/openapi.json' lists all paths.";
    api.send("GET", "/", &[], "").fails(404, "UnknownRoute", unknown);
    api.send("POST", "/nowhere?x=1", &[], "{").fails(404, "UnknownRoute", unknown);
    let answer = api.ask("POST", "/C1", "");
    let message = "This path does not support POST; use GET, HEAD, PUT, PATCH, DELETE.";
    answer.fails(405, "MethodNotAllowed", message);
    assert_eq!(answer.header("allow"), Some("GET, HEAD, PUT, PATCH, DELETE"));
}

#[test]
fn a_path_that_nearly_exists_leads_to_the_one_that_was_meant() {
    let api = Api::new();
    api.ask("GET", "/C1/job/J1", "").fails(
        404,
        "UnknownRoute",
        &format!(
            "Nothing exists at this path; did you mean '{GROUP}/C1/jobs/J1'? '/openapi.json' lists \
             all paths."
        ),
    );
    api.ask("POST", "/C1/jobs/J1/disable", "").fails(
        404,
        "UnknownRoute",
        "A job has no such operation; send a PATCH of the job with \
         {\"properties\":{\"state\":\"disabled\"}}.",
    );
}

#[test]
fn a_head_is_a_get_without_its_body() {
    let api = Api::with_job();
    for path in ["/C1", "/C1/jobs/J1", "/C1/jobs", "/nope"] {
        let (get, head) = (api.get(path), api.ask("HEAD", path, ""));
        assert_eq!((head.status, head.body.as_str()), (get.status, ""), "{path}");
        assert_eq!(head.header("content-length"), Some(get.body.len().to_string().as_str()));
        for name in ["content-type", "etag", "cache-control"] {
            assert_eq!(head.header(name), get.header(name), "{path} {name}");
        }
    }
    // A public page needs no token for either.
    let closed = Api::with(Access::Tokens(vec![Token::with_all_rights(TOKEN)]));
    for path in ["/healthz", "/openapi.json"] {
        assert_eq!(closed.send("HEAD", path, &[], "").status.as_u16(), 200, "{path}");
    }
    assert_eq!(closed.send("HEAD", "/metrics", &[], "").status.as_u16(), 401);
}

#[test]
fn internal_errors_are_not_revealed() {
    let api = Api::with_collection();
    for trouble in [Trouble::Unavailable, Trouble::Throttled] {
        api.troubles.set(trouble);
        let answer = api.get("/C1");
        let message = "The service is temporarily unavailable. Try again.";
        answer.fails(503, "ServiceUnavailable", message);
        assert_eq!(answer.header("retry-after"), Some("5"));
    }
    api.troubles.set(Trouble::Corrupt);
    api.get("/C1").fails(
        500,
        "InternalError",
        "The service failed. Its log gives the reason under the id in 'x-ms-request-id'.",
    );
}
