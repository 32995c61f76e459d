//! SAS tokens, which are signed with a key of Service Bus.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, KeyInit as _, Mac as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::Sha256;

/// How long a token is valid. An attempt takes much less, but clocks differ.
const LIFETIME: TimeDelta = TimeDelta::minutes(20);

/// The characters of a query that are not percent-encoded.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A token for a resource, as a value of the `Authorization` header.
///
/// The signature covers two lines: the resource, percent-encoded as in the token, and the expiry of
/// the token.
pub(crate) fn token(resource: &str, key_name: &str, key: &str, now: DateTime<Utc>) -> String {
    let resource = utf8_percent_encode(resource, UNRESERVED).to_string();
    let expires_at = (now + LIFETIME).timestamp();
    // HMAC accepts keys of every length, so this does not fail.
    let signature = Hmac::<Sha256>::new_from_slice(key.as_bytes())
        .map(|mac| mac.chain_update(format!("{resource}\n{expires_at}")).finalize().into_bytes())
        .unwrap_or_default();
    let signature = STANDARD.encode(signature);
    let signature = utf8_percent_encode(&signature, UNRESERVED);
    let key_name = utf8_percent_encode(key_name, UNRESERVED);
    format!("SharedAccessSignature sr={resource}&sig={signature}&se={expires_at}&skn={key_name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_sign_their_resource_and_their_expiry() {
        // The signatures are the output of `openssl dgst -sha256 -hmac` for the two lines.
        let now = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        for (resource, name, key, expected) in [
            (
                "https://contoso.servicebus.windows.net/orders",
                "RootManageSharedAccessKey",
                "c2VjcmV0",
                "SharedAccessSignature \
                 sr=https%3A%2F%2Fcontoso.servicebus.windows.net%2Forders&sig=qoFb87IUdCk0Lm22nIS%2BhDyrghVb8tv0zXKT2Ar02cI%3D&se=1700001200&\
                 skn=RootManageSharedAccessKey",
            ),
            (
                "https://contoso.servicebus.windows.net/a/b~c",
                "key & name",
                "",
                "SharedAccessSignature \
                 sr=https%3A%2F%2Fcontoso.servicebus.windows.net%2Fa%2Fb~c&sig=xiAvzTupLAL7qLXj1m3xA84nFYC7DQ0lRaN9AV%2B9CQw%3D&se=1700001200&\
                 skn=key%20%26%20name",
            ),
        ] {
            assert_eq!(token(resource, name, key, now), expected);
        }
    }
}
