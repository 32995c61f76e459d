//! How a browser signs in where it is not by a token of the installation.

use std::borrow::Cow;

use http::header::CONTENT_SECURITY_POLICY;
use http::{HeaderValue, Response};
use serde_json::{Value, json};

use crate::{CONFIG, POLICY};

/// The part of the policy that says which servers a page may call.
const CONNECT: &str = "connect-src 'self'";

/// How a browser signs in: what the page is told, and what its policy allows for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    config: String,
    policy: Option<HeaderValue>,
}

impl SignIn {
    /// Not at all: requests are signed with credentials of AWS, which a browser does not hold.
    #[must_use]
    pub fn signed() -> Self {
        Self::of(&json!({"auth": "iam"}), None)
    }

    /// At an issuer of JWTs, as a public client: with an authorization code and PKCE, so without a secret.
    /// The page may call the issuer. Without a client id, it can only say so.
    ///
    /// `None` if the issuer is not an `http` or `https` URL with a host.
    #[must_use]
    pub fn at_issuer(issuer: &str, audiences: &[&str], client_id: Option<&str>) -> Option<Self> {
        let origin = origin(issuer)?;
        let Some(client_id) = client_id else {
            return Some(Self::of(&json!({"auth": "jwt"}), None));
        };
        let policy = POLICY.replace(CONNECT, &format!("{CONNECT} {origin}"));
        let config = json!({
            "auth": "jwt",
            "issuer": issuer.trim_end_matches('/'),
            "audiences": audiences,
            "clientId": client_id,
        });
        Some(Self::of(&config, Some(HeaderValue::try_from(policy).ok()?)))
    }

    fn of(config: &Value, policy: Option<HeaderValue>) -> Self {
        Self { config: config.to_string(), policy }
    }

    /// Applies this to what [`answer`](crate::answer) answers to a path.
    #[must_use]
    pub fn applied(
        &self,
        path: &str,
        response: Response<&'static [u8]>,
    ) -> Response<Cow<'static, [u8]>> {
        let mut response = response.map(Cow::Borrowed);
        if let Some(policy) = &self.policy {
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy.clone());
        }
        if path == CONFIG && !response.body().is_empty() {
            *response.body_mut() = Cow::Owned(self.config.clone().into_bytes());
        }
        response
    }
}

/// The origin of a URL, if it can stand in a policy.
fn origin(url: &str) -> Option<&str> {
    let host_at =
        ["https://", "http://"].iter().find_map(|it| url.strip_prefix(it).map(|_| it.len()))?;
    let (_, rest) = url.split_at_checked(host_at)?;
    let host = rest.split(['/', '?', '#']).next()?;
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    (!host.is_empty() && host.bytes().all(is_host)).then(|| url.get(..host_at + host.len()))?
}

#[cfg(test)]
mod tests {
    use http::header::ACCEPT;
    use http::{HeaderMap, Method};

    use super::*;

    fn get(sign_in: &SignIn, path: &str) -> Response<Cow<'static, [u8]>> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/html"));
        sign_in.applied(path, crate::answer(&Method::GET, path, &headers).unwrap())
    }

    fn policy<'a>(response: &'a Response<Cow<'static, [u8]>>) -> &'a str {
        response.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap()
    }

    #[test]
    fn a_page_may_call_the_issuer_and_is_told_who_it_is() {
        let audiences = ["api", "app"];
        let issuer = "https://login.example.com:8443/tenant/v2.0/";
        let sign_in = SignIn::at_issuer(issuer, &audiences, Some("app")).unwrap();
        let config = get(&sign_in, CONFIG);
        let document: Value = serde_json::from_slice(config.body()).unwrap();
        let told = json!({
            "auth": "jwt",
            "issuer": "https://login.example.com:8443/tenant/v2.0",
            "audiences": audiences,
            "clientId": "app",
        });
        assert_eq!(document, told);
        for path in [CONFIG, "/console/", "/console/index.html", "/"] {
            let response = get(&sign_in, path);
            let allowed = "; connect-src 'self' https://login.example.com:8443; ";
            assert!(policy(&response).contains(allowed), "{path}: {}", policy(&response));
        }
        assert_ne!(get(&sign_in, "/console/").body(), config.body());
    }

    #[test]
    fn without_an_issuer_the_policy_stays_and_the_page_knows_why() {
        let by_command = SignIn::at_issuer("https://login.example.com", &[], None).unwrap();
        for (sign_in, told) in
            [(SignIn::signed(), r#"{"auth":"iam"}"#), (by_command, r#"{"auth":"jwt"}"#)]
        {
            let response = get(&sign_in, CONFIG);
            assert_eq!(response.body().as_ref(), told.as_bytes());
            assert_eq!(policy(&response), POLICY);
        }
        let usual = crate::answer(&Method::GET, CONFIG, &HeaderMap::new()).unwrap();
        assert_eq!(*usual.body(), br#"{"auth":"token"}"#);
    }

    #[test]
    fn an_issuer_adds_nothing_else_to_the_policy() {
        for issuer in [
            "",
            "login.example.com",
            "https://",
            "https://a b/",
            "https://a;script-src *",
            "ftp://a",
        ] {
            assert_eq!(SignIn::at_issuer(issuer, &[], Some("app")), None, "{issuer}");
        }
    }
}
