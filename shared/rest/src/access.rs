//! Authentication: callers send a token, unless the API is open.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

use crate::failure::{ErrorCode, Failure};

/// The callers that are allowed.
#[derive(Clone)]
pub enum Access {
    /// All callers, with or without a token.
    Open,
    /// Callers that send a token with one of these SHA-256 hashes.
    Tokens(Vec<[u8; 32]>),
}

impl Access {
    /// Checks the token of a request.
    ///
    /// # Errors
    ///
    /// If the request has no token, or an unknown one.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Failure> {
        let hashes = match self {
            Self::Open => return Ok(()),
            Self::Tokens(hashes) => hashes,
        };
        let Some(sent) = headers.get(AUTHORIZATION) else {
            return Err(Failure::new(
                ErrorCode::AuthenticationFailed,
                "The 'Authorization' header is missing; send 'Authorization: Bearer <token>'.",
            ));
        };
        let known = bearer(sent.as_bytes()).is_some_and(|token| is_known(token, hashes));
        if known {
            return Ok(());
        }
        Err(Failure::new(
            ErrorCode::InvalidAuthenticationToken,
            "The 'Authorization' header has no valid token; send 'Authorization: Bearer <token>'.",
        ))
    }
}

/// Whether a token has one of the hashes.
///
/// The time that this takes reveals neither which hash matches nor how nearly: it compares whole
/// hashes, and all of them.
fn is_known(token: &[u8], hashes: &[[u8; 32]]) -> bool {
    let token: [u8; 32] = Sha256::digest(token).into();
    let known = hashes.iter().fold(Choice::from(0), |known, hash| known | hash.ct_eq(&token));
    known.into()
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

    fn check(access: &Access, sent: Option<&str>) -> Option<ErrorCode> {
        let mut headers = HeaderMap::new();
        if let Some(sent) = sent {
            headers.insert(AUTHORIZATION, sent.parse().unwrap());
        }
        access.check(&headers).err().map(|failure| failure.code)
    }

    #[test]
    fn a_token_is_accepted_if_any_of_the_hashes_is_its_own() {
        let tokens = ["first", "second"].map(|token| Sha256::digest(token).into());
        let access = Access::Tokens(tokens.to_vec());
        for sent in ["Bearer first", "bearer second", "BEARER   second "] {
            assert_eq!(check(&access, Some(sent)), None, "{sent}");
        }
        let unknown = Some(ErrorCode::InvalidAuthenticationToken);
        for sent in ["Bearer third", "Bearer ", "Bearer", "Basic first", "first", ""] {
            assert_eq!(check(&access, Some(sent)), unknown, "{sent}");
        }
        assert_eq!(check(&access, None), Some(ErrorCode::AuthenticationFailed));
    }

    #[test]
    fn an_empty_list_accepts_no_token_and_open_access_needs_none() {
        let unknown = Some(ErrorCode::InvalidAuthenticationToken);
        assert_eq!(check(&Access::Tokens(Vec::new()), Some("Bearer x")), unknown);
        assert_eq!(check(&Access::Open, None), None);
    }
}
