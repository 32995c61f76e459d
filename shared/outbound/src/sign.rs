//! Version 4 of AWS's signatures.

use std::time::SystemTime;

use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

/// Why a request cannot be signed.
pub type Unsigned = Box<dyn std::error::Error + Send + Sync>;

/// The service, the region and the time for which a signature is valid.
#[derive(Debug, Clone, Copy)]
pub struct SigningScope<'a> {
    /// The service, as signatures name it.
    pub service: &'static str,
    /// The region.
    pub region: &'a str,
    /// The real time.
    pub at: SystemTime,
}

/// What is signed beside headers.
#[derive(Debug, Clone, Copy)]
pub struct Payload<'a> {
    /// The method.
    pub method: &'a str,
    /// The whole URL.
    pub url: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// The headers of a request that are text, as they are signed.
pub fn texts(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
}

/// The headers that sign a request. S3 has rules of its own: its names are encoded once and may contain empty
/// parts, and the hash of the body is a header.
///
/// # Errors
///
/// If a header or the URL cannot be signed, or credentials are not valid in a header.
pub fn signature<'a>(
    identity: impl Into<Identity>,
    scope: SigningScope<'_>,
    payload: Payload<'a>,
    headers: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<(HeaderName, HeaderValue)>, Unsigned> {
    let mut settings = SigningSettings::default();
    if scope.service == "s3" {
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    }
    let identity = identity.into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(scope.region)
        .name(scope.service)
        .time(scope.at)
        .settings(settings)
        .build()?
        .into();
    let Payload { method, url, body } = payload;
    let signable = SignableRequest::new(method, url, headers, SignableBody::Bytes(body))?;
    let (instructions, _) = sign(signable, &params)?.into_parts();
    let mut signature = Vec::new();
    for (name, value) in instructions.headers() {
        let mut value = HeaderValue::from_str(value)?;
        value.set_sensitive(true);
        signature.push((HeaderName::from_bytes(name.as_bytes())?, value));
    }
    Ok(signature)
}
