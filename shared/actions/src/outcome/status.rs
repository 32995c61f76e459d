//! The names of HTTP statuses in .NET. Azure Scheduler used them in messages that clients parse.

use http::StatusCode;

/// The name of a status, or its number if .NET has no name for it. If .NET has two names for a
/// status, this is the name in the HTTP standard.
pub(crate) fn status_name(status: StatusCode) -> String {
    let name = match status.as_u16() {
        306 => "Unused",
        // Names that are older than those of the current standard.
        413 => "RequestEntityTooLarge",
        414 => "RequestUriTooLong",
        416 => "RequestedRangeNotSatisfiable",
        505 => "HttpVersionNotSupported",
        number @ (418 | 425) => return number.to_string(),
        number => {
            let reason = status.canonical_reason().map(|reason| reason.replace([' ', '-'], ""));
            return reason.unwrap_or_else(|| number.to_string());
        }
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_names_of_dotnet_or_are_numbers() {
        let names = |codes: &[u16]| {
            let names = codes.iter().map(|code| status_name(StatusCode::from_u16(*code).unwrap()));
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            names(&[200, 202, 299, 301, 302, 304, 399, 401, 404, 418, 429]),
            "OK Accepted 299 MovedPermanently Found NotModified 399 Unauthorized NotFound 418 \
             TooManyRequests"
        );
        assert_eq!(
            names(&[500, 503, 509, 599, 600, 999]),
            "InternalServerError ServiceUnavailable 509 599 600 999"
        );
    }

    const NAMES: [(u16, &str); 61] = [
        (100, "Continue"),
        (101, "SwitchingProtocols"),
        (102, "Processing"),
        (103, "EarlyHints"),
        (200, "OK"),
        (201, "Created"),
        (202, "Accepted"),
        (203, "NonAuthoritativeInformation"),
        (204, "NoContent"),
        (205, "ResetContent"),
        (206, "PartialContent"),
        (207, "MultiStatus"),
        (208, "AlreadyReported"),
        (226, "IMUsed"),
        (300, "MultipleChoices"),
        (301, "MovedPermanently"),
        (302, "Found"),
        (303, "SeeOther"),
        (304, "NotModified"),
        (305, "UseProxy"),
        (306, "Unused"),
        (307, "TemporaryRedirect"),
        (308, "PermanentRedirect"),
        (400, "BadRequest"),
        (401, "Unauthorized"),
        (402, "PaymentRequired"),
        (403, "Forbidden"),
        (404, "NotFound"),
        (405, "MethodNotAllowed"),
        (406, "NotAcceptable"),
        (407, "ProxyAuthenticationRequired"),
        (408, "RequestTimeout"),
        (409, "Conflict"),
        (410, "Gone"),
        (411, "LengthRequired"),
        (412, "PreconditionFailed"),
        (413, "RequestEntityTooLarge"),
        (414, "RequestUriTooLong"),
        (415, "UnsupportedMediaType"),
        (416, "RequestedRangeNotSatisfiable"),
        (417, "ExpectationFailed"),
        (421, "MisdirectedRequest"),
        (422, "UnprocessableEntity"),
        (423, "Locked"),
        (424, "FailedDependency"),
        (426, "UpgradeRequired"),
        (428, "PreconditionRequired"),
        (429, "TooManyRequests"),
        (431, "RequestHeaderFieldsTooLarge"),
        (451, "UnavailableForLegalReasons"),
        (500, "InternalServerError"),
        (501, "NotImplemented"),
        (502, "BadGateway"),
        (503, "ServiceUnavailable"),
        (504, "GatewayTimeout"),
        (505, "HttpVersionNotSupported"),
        (506, "VariantAlsoNegotiates"),
        (507, "InsufficientStorage"),
        (508, "LoopDetected"),
        (510, "NotExtended"),
        (511, "NetworkAuthenticationRequired"),
    ];

    #[test]
    fn every_name_is_that_of_dotnet() {
        for code in 100..1_000_u16 {
            let name = NAMES.iter().find(|(named, _)| *named == code).map(|(_, name)| *name);
            let expected = name.map_or_else(|| code.to_string(), str::to_owned);
            assert_eq!(status_name(StatusCode::from_u16(code).unwrap()), expected);
        }
    }

    #[test]
    fn names_are_the_reason_phrases_of_the_standard() {
        // .NET has older names than the current standard for these.
        let others = [203, 413, 414, 416, 418, 425, 505];
        for code in 100..600 {
            let status = StatusCode::from_u16(code).unwrap();
            if let Some(reason) = status.canonical_reason().filter(|_| !others.contains(&code)) {
                let expected = reason.replace([' ', '-'], "");
                assert_eq!(status_name(status).to_lowercase(), expected.to_lowercase());
            }
        }
    }
}
