//! Authentication and rights: callers send a token, which has a scope, unless the API is open.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN};
use axum::http::uri::Authority;
use minutehand_domain::reach::Reach;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::failure::{ErrorCode, Failure};
use crate::scope::Scope;
use crate::token::Token;

/// The header in which a browser says whose page sends a request.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The most characters of a sender's name.
const NAME_CHARS_MAX: usize = 200;

/// The callers that are allowed.
#[derive(Clone)]
pub enum Access {
    /// All callers, with or without a token.
    Open,
    /// Programs on this machine, with or without a token. A page in a browser on it is not one of
    /// them: it may come from anywhere, and name this machine as it likes.
    ThisMachine,
    /// Callers that send one of these tokens.
    Tokens(Vec<Token>),
}

/// The sender of a request, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// No token is asked for.
    Nobody,
    /// The owner of a token: its label, or the beginning of its hash.
    Token(Arc<str>),
    /// The owner of a client certificate: its label, or the beginning of its thumbprint.
    Certificate(Arc<str>),
    /// The subject of a JWT that the gateway has checked.
    Jwt(Arc<str>),
    /// The ARN of an identity of AWS that the gateway has checked.
    Iam(Arc<str>),
}

/// The sender of a request, and what it may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) principal: Principal,
    pub(crate) scope: Scope,
    /// The collections that it may reach.
    pub(crate) reach: Reach,
}

impl Caller {
    /// A sender who is not known, and may reach the whole installation.
    pub(crate) fn anyone(scope: Scope) -> Self {
        Self { principal: Principal::Nobody, scope, reach: Reach::Everything }
    }
}

impl Principal {
    /// The subject of a JWT.
    #[must_use]
    pub fn jwt(subject: &str) -> Self {
        Self::Jwt(shortened(subject))
    }

    /// The identity with an ARN.
    #[must_use]
    pub fn iam(arn: &str) -> Self {
        Self::Iam(shortened(arn))
    }

    /// The kind, for programs.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::Token(_) => "token",
            Self::Certificate(_) => "certificate",
            Self::Jwt(_) => "jwt",
            Self::Iam(_) => "iam",
        }
    }

    /// The name of the sender, if it is known.
    pub(crate) fn known(&self) -> Option<&str> {
        (*self != Self::Nobody).then(|| self.label())
    }

    /// The name of the sender, as the journal has it.
    pub(crate) fn label(&self) -> &str {
        match self {
            Self::Nobody => "nobody",
            Self::Token(name) | Self::Certificate(name) | Self::Jwt(name) | Self::Iam(name) => name,
        }
    }
}

impl Access {
    /// Checks the token of a request, and returns its sender.
    ///
    /// # Errors
    ///
    /// If the request has no token, an unknown one or several, or comes from a page of a browser.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<Caller, Failure> {
        let anyone = Caller::anyone(Scope::All);
        let tokens = match self {
            Self::Open => return Ok(anyone),
            Self::ThisMachine => return check_machine(headers).map(|()| anyone),
            Self::Tokens(tokens) => tokens,
        };
        let mut all = headers.get_all(AUTHORIZATION).iter();
        let (sent, second) = (all.next(), all.next());
        if second.is_some() {
            return Err(Failure::new(
                ErrorCode::InvalidAuthenticationToken,
                "The request has several 'Authorization' headers; send one.",
            ));
        }
        let Some(sent) = sent else {
            return Err(Failure::new(
                ErrorCode::AuthenticationFailed,
                "The 'Authorization' header is missing; send 'Authorization: Bearer <token>'.",
            ));
        };
        let token = bearer(sent.as_bytes()).and_then(|token| known_token(token, tokens));
        let caller = token.map(|token| Caller {
            principal: Principal::Token(token.name()),
            scope: token.scope,
            reach: token.reach.clone(),
        });
        caller.ok_or_else(|| {
            Failure::new(
                ErrorCode::InvalidAuthenticationToken,
                "The 'Authorization' header has no valid token; send 'Authorization: Bearer \
                 <token>'.",
            )
        })
    }
}

/// A name from outside, as it is kept.
fn shortened(name: &str) -> Arc<str> {
    let name: String = name.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect();
    name.into()
}

/// Refuses what a page in a browser can send: a name of its own for this machine, by its own name
/// server, or requests of a page from elsewhere.
fn check_machine(headers: &HeaderMap) -> Result<(), Failure> {
    let host = headers.get(HOST).map(|host| host.to_str().unwrap_or_default());
    if let Some(host) = host.filter(|host| !is_loopback(host)) {
        return Err(Failure::new(
            ErrorCode::AuthorizationFailed,
            format!(
                "Without authentication, this server is reached as 'localhost' or by a loopback \
                 address only, and not as '{}'.",
                host.escape_debug()
            ),
        ));
    }
    if is_of_foreign_page(headers) {
        return Err(Failure::new(
            ErrorCode::AuthorizationFailed,
            "Without authentication, this server does not answer pages of other origins.",
        ));
    }
    Ok(())
}

/// Whether a page in a browser sends a request, and the page is not one of this server.
#[must_use]
pub fn is_of_foreign_page(headers: &HeaderMap) -> bool {
    // Only one server has this host and port, so either scheme of the web is its own.
    let is_origin_of = |origin: &str, host: &str| {
        origin.split_once("://").is_some_and(|(scheme, from)| {
            let is_web = ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
            is_web && from.eq_ignore_ascii_case(host)
        })
    };
    // A browser leaves out 'Origin' when it loads an image or a script.
    let mut from_a_page = headers.get_all(SEC_FETCH_SITE).iter();
    if from_a_page.any(|site| site != "same-origin" && site != "none") {
        return true;
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    headers.get_all(ORIGIN).iter().any(|origin| match (origin.to_str(), host) {
        (Ok(origin), Some(host)) => !is_origin_of(origin, host),
        _ => true,
    })
}

/// Whether the host and port of a request name the loopback interface.
fn is_loopback(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else {
        return false;
    };
    let name = authority.host().trim_matches(['[', ']']);
    let is_local = |name: &str| name.eq_ignore_ascii_case("localhost");
    name.parse::<IpAddr>().map_or_else(|_| is_local(name), |address| address.is_loopback())
}

/// The entry of a token; `None` if it is unknown. If several entries have its hash, the last counts.
///
/// The time that the search takes reveals neither which hash matches nor how nearly: it compares
/// whole hashes, and all of them.
fn known_token<'a>(token: &[u8], tokens: &'a [Token]) -> Option<&'a Token> {
    let hash: [u8; 32] = Sha256::digest(token).into();
    let mut is_known = Choice::from(0);
    let mut position = 0;
    for (n, token) in (0_u64..).zip(tokens) {
        let is_it = token.hash.ct_eq(&hash);
        position.conditional_assign(&n, is_it);
        is_known |= is_it;
    }
    let found = tokens.get(usize::try_from(position).ok()?)?;
    bool::from(is_known).then_some(found)
}

/// The token of a `Bearer` credential.
fn bearer(sent: &[u8]) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"bearer ";
    let (scheme, token) = sent.split_at_checked(SCHEME.len())?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(SCHEME) && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str, scope: Scope) -> Token {
        Token { scope, ..Token::with_all_rights(Sha256::digest(text).into()) }
    }

    fn check(access: &Access, sent: Option<&str>) -> Result<Scope, ErrorCode> {
        caller(access, sent).map(|caller| caller.scope)
    }

    fn caller(access: &Access, sent: Option<&str>) -> Result<Caller, ErrorCode> {
        let mut headers = HeaderMap::new();
        if let Some(sent) = sent {
            headers.insert(AUTHORIZATION, sent.parse().unwrap());
        }
        access.check(&headers).map_err(|failure| failure.code)
    }

    #[test]
    fn a_token_is_accepted_if_any_of_the_hashes_is_its_own() {
        let tokens = [token("first", Scope::Run), token("second", Scope::Read)];
        let access = Access::Tokens(tokens.to_vec());
        for (sent, scope) in [
            ("Bearer first", Scope::Run),
            ("bearer second", Scope::Read),
            ("BEARER   second ", Scope::Read),
        ] {
            assert_eq!(check(&access, Some(sent)), Ok(scope), "{sent}");
        }
        let unknown = Err(ErrorCode::InvalidAuthenticationToken);
        for sent in ["Bearer third", "Bearer ", "Bearer", "Basic first", "first", ""] {
            assert_eq!(check(&access, Some(sent)), unknown, "{sent}");
        }
        assert_eq!(check(&access, None), Err(ErrorCode::AuthenticationFailed));
    }

    #[test]
    fn a_caller_is_named_by_the_label_of_its_token_or_by_its_hash() {
        let labelled = Token { label: Some("laptop".into()), ..token("first", Scope::Run) };
        let access = Access::Tokens(vec![labelled, token("second", Scope::All)]);
        let name = |sent| caller(&access, Some(sent)).unwrap().principal.label().to_owned();
        assert_eq!(name("Bearer first"), "laptop");
        assert_eq!(name("Bearer second"), "token 16367aac");
        assert_eq!(caller(&Access::Open, None).unwrap().principal, Principal::Nobody);
    }

    #[test]
    fn several_tokens_are_refused() {
        let access = Access::Tokens(vec![token("first", Scope::All)]);
        let mut headers = HeaderMap::new();
        for _ in 0..2 {
            headers.append(AUTHORIZATION, "Bearer first".parse().unwrap());
        }
        let code = access.check(&headers).unwrap_err().code;
        assert_eq!(code, ErrorCode::InvalidAuthenticationToken);
    }

    #[test]
    fn pages_of_browsers_are_not_programs_on_this_machine() {
        let is_allowed = |host: Option<&str>, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            host.map(|host| headers.insert(HOST, host.parse().unwrap()));
            origin.map(|origin| headers.insert(ORIGIN, origin.parse().unwrap()));
            Access::ThisMachine.check(&headers).is_ok()
        };
        for host in ["localhost", "LocalHost:7070", "127.0.0.1:7070", "127.1.2.3", "[::1]:7070"] {
            assert!(is_allowed(Some(host), None), "{host}");
            assert!(is_allowed(Some(host), Some(&format!("http://{host}"))), "{host}");
            assert!(!is_allowed(Some(host), Some("http://evil.example")), "{host}");
            assert!(!is_allowed(Some(host), Some("null")), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "[::2]",
            "",
        ] {
            assert!(!is_allowed(Some(host), None), "{host}");
            assert!(!is_allowed(Some(host), Some(&format!("http://{host}"))), "{host}");
        }
        assert!(is_allowed(None, None));
        for scheme in ["file", "chrome-extension", "ws", ""] {
            let origin = format!("{scheme}://localhost:7070");
            assert!(!is_allowed(Some("localhost:7070"), Some(&origin)), "{origin}");
        }
        assert!(is_allowed(Some("localhost:7070"), Some("HTTPS://localhost:7070")));
    }

    #[test]
    fn a_browser_says_whose_page_asks() {
        for (site, is_allowed) in
            [("same-origin", true), ("none", true), ("cross-site", false), ("same-site", false)]
        {
            for origin in [None, Some("http://localhost:7070")] {
                let mut headers = HeaderMap::new();
                headers.insert(HOST, "localhost:7070".parse().unwrap());
                headers.insert(SEC_FETCH_SITE, site.parse().unwrap());
                origin.map(|origin| headers.insert(ORIGIN, origin.parse().unwrap()));
                let allowed = Access::ThisMachine.check(&headers).is_ok();
                assert_eq!(allowed, is_allowed, "{site} {origin:?}");
                assert!(Access::Open.check(&headers).is_ok());
            }
        }
    }

    #[test]
    fn an_empty_list_accepts_no_token_and_open_access_needs_none() {
        let unknown = Err(ErrorCode::InvalidAuthenticationToken);
        assert_eq!(check(&Access::Tokens(Vec::new()), Some("Bearer x")), unknown);
        assert_eq!(check(&Access::Open, None), Ok(Scope::All));
    }
}
