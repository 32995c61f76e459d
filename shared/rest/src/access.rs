//! Authentication and rights: callers send a token, which has a scope, unless the API is open.

use std::net::IpAddr;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::failure::{ErrorCode, Failure};

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

/// A token that gives access, known by its hash only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// The SHA-256 of the token.
    pub hash: [u8; 32],
    /// What its callers may do.
    pub scope: Scope,
}

/// What a token allows. Each scope includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Requests that change nothing: GET and HEAD.
    Read,
    /// Also `POST …/run`.
    Run,
    /// Every request.
    All,
}

impl Token {
    /// A token that allows every request.
    #[must_use]
    pub const fn with_all_rights(hash: [u8; 32]) -> Self {
        Self { hash, scope: Scope::All }
    }
}

impl Scope {
    /// All scopes, from the smallest to the largest.
    pub const ALL: [Self; 3] = [Self::Read, Self::Run, Self::All];

    /// The name of the scope, as users write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Run => "run",
            Self::All => "all",
        }
    }

    /// The scope of this name; `None` if there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }

    /// Checks that a request is allowed that needs the scope `needed`.
    ///
    /// # Errors
    ///
    /// If this scope is smaller.
    pub(crate) fn check(self, needed: Self) -> Result<(), Failure> {
        if self >= needed {
            return Ok(());
        }
        let (own, needed) = (self.name(), needed.name());
        Err(Failure::new(
            ErrorCode::AuthorizationFailed,
            format!("The token has the scope '{own}'; this request needs a token with '{needed}'."),
        ))
    }
}

impl Access {
    /// Checks the token of a request, and returns what it allows.
    ///
    /// # Errors
    ///
    /// If the request has no token, an unknown one or several, or comes from a page of a browser.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<Scope, Failure> {
        let tokens = match self {
            Self::Open => return Ok(Scope::All),
            Self::ThisMachine => return check_machine(headers).map(|()| Scope::All),
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
        let scope = bearer(sent.as_bytes()).and_then(|token| scope_of(token, tokens));
        scope.ok_or_else(|| {
            Failure::new(
                ErrorCode::InvalidAuthenticationToken,
                "The 'Authorization' header has no valid token; send 'Authorization: Bearer \
                 <token>'.",
            )
        })
    }
}

/// Refuses what a page in a browser can send: a name of its own for this machine, by its own name
/// server, or requests of a page from elsewhere.
fn check_machine(headers: &HeaderMap) -> Result<(), Failure> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let is_origin_of = |origin: &str, host: &str| {
        origin.split_once("://").is_some_and(|(_, from)| from.eq_ignore_ascii_case(host))
    };
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
    match text(ORIGIN) {
        Some(origin) if !host.is_some_and(|host| is_origin_of(origin, host)) => Err(Failure::new(
            ErrorCode::AuthorizationFailed,
            "Without authentication, this server does not answer pages of other origins.",
        )),
        None if headers.contains_key(ORIGIN) => {
            Err(Failure::new(ErrorCode::AuthorizationFailed, "The 'Origin' header is not text."))
        }
        Some(_) | None => Ok(()),
    }
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

/// The scope of a token; `None` if it is unknown. If several entries have its hash, the last counts.
///
/// The time that this takes reveals neither which hash matches nor how nearly: it compares whole
/// hashes, and all of them.
fn scope_of(token: &[u8], tokens: &[Token]) -> Option<Scope> {
    let hash: [u8; 32] = Sha256::digest(token).into();
    let mut is_known = Choice::from(0);
    let mut number = 0;
    for token in tokens {
        let is_it = token.hash.ct_eq(&hash);
        number.conditional_assign(&(token.scope as u8), is_it);
        is_known |= is_it;
    }
    let scope = Scope::ALL.into_iter().find(|scope| *scope as u8 == number)?;
    bool::from(is_known).then_some(scope)
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
        Token { hash: Sha256::digest(text).into(), scope }
    }

    fn check(access: &Access, sent: Option<&str>) -> Result<Scope, ErrorCode> {
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
    }

    #[test]
    fn an_empty_list_accepts_no_token_and_open_access_needs_none() {
        let unknown = Err(ErrorCode::InvalidAuthenticationToken);
        assert_eq!(check(&Access::Tokens(Vec::new()), Some("Bearer x")), unknown);
        assert_eq!(check(&Access::Open, None), Ok(Scope::All));
    }

    #[test]
    fn a_scope_includes_the_smaller_ones() {
        use Scope::{All, Read, Run};
        for (scope, allowed) in [(Read, &[Read][..]), (Run, &[Read, Run]), (All, &[Read, Run, All])]
        {
            let found: Vec<Scope> =
                Scope::ALL.into_iter().filter(|needed| scope.check(*needed).is_ok()).collect();
            assert_eq!(found, allowed, "{scope:?}");
            assert_eq!(Scope::named(scope.name()), Some(scope));
        }
        assert_eq!(Scope::named("admin"), None);
    }
}
