//! The signatures of a request, in the form of Standard Webhooks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName};
use minutehand_domain::sign::SIGNATURE_HEADERS;
use minutehand_ports::{AttemptContext, SignedAs};
use sha2::Sha256;

use crate::context::header_value;

/// Adds the headers that sign a request with this body.
pub(crate) fn sign(
    headers: &mut HeaderMap,
    signed: &SignedAs,
    context: &AttemptContext,
    body: &str,
) {
    let SignedAs { message_id, signing } = signed;
    let sent_at = context.sent_at.timestamp();
    let signed = format!("{message_id}.{sent_at}.{body}");
    let signatures: Vec<_> = signing.keys().map(|key| signature(&key, &signed)).collect();
    let values = [message_id.clone(), sent_at.to_string(), signatures.join(" ")];
    for (name, value) in SIGNATURE_HEADERS.into_iter().zip(values) {
        headers.insert(HeaderName::from_static(name), header_value(&value));
    }
}

fn signature(key: &[u8], signed: &str) -> String {
    // HMAC accepts keys of every length, so this does not fail.
    let signature = Hmac::<Sha256>::new_from_slice(key)
        .map(|mac| mac.chain_update(signed).finalize().into_bytes())
        .unwrap_or_default();
    format!("v1,{}", STANDARD.encode(signature))
}
