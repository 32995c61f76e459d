//! Client certificates, which open the classic API as a token does.
//!
//! A certificate has access by its thumbprint alone: no issuer is asked, because management
//! certificates of Azure were signed by themselves. The handshake has proved that the client has the
//! key. A token is enough, too; a certificate counts if there is no valid token.

use std::sync::Arc;

use axum::http::header::ORIGIN;
use axum::http::request::Parts;
use chrono::{DateTime, Utc};
use minutehand_domain::ids;
use minutehand_recurrence::format_instant;

use crate::access::{Caller, Principal};
use crate::failure::{ErrorCode, Failure};
use crate::scope::Scope;

/// How many bytes of a thumbprint name a certificate.
const NAME_BYTES: usize = 4;

/// The hash of a certificate in DER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thumbprint {
    /// As Azure showed it.
    Sha1([u8; 20]),
    /// As most tools show it today.
    Sha256([u8; 32]),
}

/// A certificate whose owner may use the classic API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagementCertificate {
    /// The hash by which it is known.
    pub thumbprint: Thumbprint,
    /// The subscription that it opens; `None` for all.
    pub subscription: Option<String>,
    /// What its owner calls it.
    pub label: Option<Arc<str>>,
}

/// A certificate that a client has presented, and of which it has the key. It is an extension of the
/// request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresentedCertificate {
    /// The SHA-1 of it.
    pub sha1: [u8; 20],
    /// The SHA-256 of it.
    pub sha256: [u8; 32],
    /// The first instant at which it is valid.
    pub valid_from: DateTime<Utc>,
    /// The last instant at which it is valid.
    pub valid_until: DateTime<Utc>,
    /// When the request arrived.
    pub at: DateTime<Utc>,
}

/// The certificate of a request, checked for a subscription; `None` if there is none.
pub(crate) fn certified(
    known: &[ManagementCertificate],
    head: &Parts,
    subscription: &str,
) -> Option<Result<Caller, Failure>> {
    let presented = head.extensions.get::<PresentedCertificate>()?;
    // A browser presents its certificates for the pages of others, too.
    if head.headers.contains_key(ORIGIN) {
        return Some(Err(Failure::new(
            ErrorCode::AuthorizationFailed,
            "A page in a browser cannot use a client certificate; send a token.",
        )));
    }
    Some(presented.check(known, subscription))
}

impl PresentedCertificate {
    fn check(
        &self,
        known: &[ManagementCertificate],
        subscription: &str,
    ) -> Result<Caller, Failure> {
        let refused = |what: &str| {
            let thumbprint = ids::hex(&self.sha1).to_ascii_uppercase();
            let message = format!("The client certificate {thumbprint} {what}.");
            Failure::new(ErrorCode::AuthenticationFailed, message)
        };
        let mut own = known.iter().filter(|known| self.is(known.thumbprint)).peekable();
        if own.peek().is_none() {
            return Err(refused("is not among the management certificates"));
        }
        if self.at < self.valid_from {
            let from = format_instant(self.valid_from);
            return Err(refused(&format!("is not valid before {from}")));
        }
        if self.at > self.valid_until {
            let until = format_instant(self.valid_until);
            return Err(refused(&format!("has expired: it was valid until {until}")));
        }
        let opens = |known: &&ManagementCertificate| {
            let own = known.subscription.as_deref();
            own.is_none_or(|own| own.eq_ignore_ascii_case(subscription))
        };
        let Some(entry) = own.find(opens) else {
            return Err(refused("does not open this subscription"));
        };
        let (first, _) = self.sha1.split_at(NAME_BYTES);
        let name = || format!("certificate {}", ids::hex(first)).into();
        let name = entry.label.clone().unwrap_or_else(name);
        Ok(Caller { principal: Principal::Certificate(name), ..Caller::anyone(Scope::All) })
    }

    fn is(&self, thumbprint: Thumbprint) -> bool {
        match thumbprint {
            Thumbprint::Sha1(hash) => hash == self.sha1,
            Thumbprint::Sha256(hash) => hash == self.sha256,
        }
    }
}
