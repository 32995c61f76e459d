//! Client certificates, which open the classic API.

use axum::body::Body;
use axum::http::Request;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_rest::{Access, ManagementCertificate, PresentedCertificate, Thumbprint, Token};
use sha2::{Digest, Sha256};

use crate::support::{Answer, Api, GROUP, VERSION, now};

const SHA1: [u8; 20] = [0xAB; 20];
const SHA256: [u8; 32] = [0xCD; 32];
const CLASSIC: &str = "/S1/cloudservices";

fn presented(at: DateTime<Utc>) -> PresentedCertificate {
    let (valid_from, valid_until) = (now() - TimeDelta::days(1), now() + TimeDelta::days(1));
    PresentedCertificate { sha1: SHA1, sha256: SHA256, valid_from, valid_until, at }
}

/// An API with one token, and with these certificates, each with the subscription that it opens.
fn api(known: &[(Thumbprint, Option<&str>)]) -> Api {
    let api =
        Api::with(Access::Tokens(vec![Token::with_all_rights(Sha256::digest("token").into())]));
    let known = known.iter().map(|(thumbprint, subscription)| ManagementCertificate {
        thumbprint: *thumbprint,
        subscription: subscription.map(str::to_owned),
        label: None,
    });
    *api.certificates.write().unwrap() = known.collect();
    api
}

fn send(
    api: &Api,
    path: &str,
    header: (&str, &str),
    certificate: Option<PresentedCertificate>,
) -> Answer {
    let request = Request::builder().uri(path).header("host", "localhost");
    let request = request.header("x-ms-version", "2013-03-01").header(header.0, header.1);
    let mut request = request.body(Body::empty()).unwrap();
    if let Some(certificate) = certificate {
        request.extensions_mut().insert(certificate);
    }
    api.answer(request)
}

#[test]
fn a_certificate_is_known_by_either_thumbprint() {
    let (sha1, sha256) = (Thumbprint::Sha1(SHA1), Thumbprint::Sha256(SHA256));
    let (other1, other256) = (Thumbprint::Sha1([1; 20]), Thumbprint::Sha256([1; 32]));
    let unknown = "The client certificate ABABABABABABABABABABABABABABABABABABABAB is not among the \
                   management certificates.";
    let elsewhere = "does not open this subscription.";
    for (known, path, refused) in [
        (&[(sha1, None)][..], CLASSIC, None),
        (&[(sha256, None)], CLASSIC, None),
        (&[(other1, None), (sha256, Some("s1"))], CLASSIC, None),
        (&[(sha1, Some("S2")), (sha1, Some("S1"))], CLASSIC, None),
        (&[(sha1, Some("a b"))], "/a%20b/cloudservices", None),
        (&[], CLASSIC, Some(unknown)),
        (&[(other1, None), (other256, None)], CLASSIC, Some(unknown)),
        (&[(sha1, Some("S2"))], CLASSIC, Some(elsewhere)),
        (&[(sha1, Some("S"))], CLASSIC, Some(elsewhere)),
        // A path that does not exist tells others nothing.
        (&[(sha1, Some("S2"))], "/S1/cloudservices/a/b/c", Some(elsewhere)),
    ] {
        let answer = send(&api(known), path, ("accept", "*/*"), Some(presented(now())));
        let status = if refused.is_some() { 403 } else { 200 };
        assert_eq!(answer.status.as_u16(), status, "{known:?}: {}", answer.body);
        let code = "<Code>AuthenticationFailed</Code><Message>The server failed to authenticate the \
                    request. Verify that the certificate is valid and is associated with this \
                    subscription. ";
        assert!(refused.is_none() || answer.body.contains(code), "{}", answer.body);
        assert!(answer.body.contains(refused.unwrap_or_default()), "{}", answer.body);
    }
}

#[test]
fn a_certificate_counts_within_its_dates_only() {
    let api = api(&[(Thumbprint::Sha1(SHA1), None)]);
    let second = TimeDelta::seconds(1);
    let PresentedCertificate { valid_from, valid_until, .. } = presented(now());
    for (at, refused) in [
        (valid_from, None),
        (valid_until, None),
        (valid_from - second, Some("is not valid before 2016-03-29T")),
        (valid_until + second, Some("has expired: it was valid until 2016-03-31T")),
    ] {
        let answer = send(&api, CLASSIC, ("accept", "*/*"), Some(presented(at)));
        assert_eq!(answer.status.as_u16(), if refused.is_some() { 403 } else { 200 }, "{at}");
        assert!(answer.body.contains(refused.unwrap_or_default()), "{}", answer.body);
    }
}

#[test]
fn a_certificate_opens_the_classic_api_alone_and_no_page_in_a_browser_uses_it() {
    let api = api(&[(Thumbprint::Sha1(SHA1), None)]);
    let certificate = Some(presented(now()));
    let other = format!("{GROUP}?{VERSION}");
    assert_eq!(send(&api, &other, ("accept", "*/*"), certificate).status, 401);
    let page = send(&api, CLASSIC, ("origin", "https://localhost"), certificate);
    assert_eq!(page.status, 403);
    assert!(page.body.contains("<Code>ForbiddenError</Code>"), "{}", page.body);
    // An unknown token beside it does not matter, and is what is wrong without it.
    let token = ("authorization", "Bearer other");
    assert_eq!(send(&api, CLASSIC, token, certificate).status, 200);
    let refused = send(&api, CLASSIC, token, None);
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("'Authorization' header has no valid token"), "{}", refused.body);
}

#[test]
fn a_change_is_recorded_with_the_certificate_that_made_it() {
    for (label, who) in [(Some("old scripts"), "old scripts"), (None, "certificate abababab")] {
        let api = api(&[(Thumbprint::Sha1(SHA1), None)]);
        api.certificates.write().unwrap()[0].label = label.map(Into::into);
        for (path, body) in [
            ("/S1/cloudservices/RG", "<CloudService/>"),
            ("/S1/cloudservices/RG/resources/scheduler/jobCollections/C1", "<Resource/>"),
        ] {
            let request = Request::put(path).header("host", "localhost");
            let request = request.header("x-ms-version", "2013-03-01");
            let mut request = request.body(Body::from(body)).unwrap();
            request.extensions_mut().insert(presented(now()));
            assert_eq!(api.answer(request).status, 202);
        }
        let path = "/minutehand/v1/subscriptions/S1/resourceGroups/RG/jobCollections/C1/journal";
        let journal = api.send("GET", path, &[("authorization", "Bearer token")], "");
        assert_eq!(journal.json()["items"][0]["who"], who, "{}", journal.body);
    }
}
