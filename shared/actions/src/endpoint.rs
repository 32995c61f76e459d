//! Where the services of Azure are: a host for each account or namespace under a suffix, or one place
//! for all, as an emulator has it.

use std::fmt;

use url::{Host, Url};

/// Where a service of Azure is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    place: EndpointKind,
    /// Whether connections are protected by TLS.
    is_tls: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum EndpointKind {
    /// Each account or namespace has a host of its own below this name.
    Below { suffix: String, port: Option<u16> },
    /// All are here, whatever they are called.
    Here(Url),
}

/// A place to send to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedUrl {
    /// Where, with the path under which everything is.
    pub(crate) url: Url,
    /// Whether the settings name the host, and not a user.
    pub(crate) is_ours: bool,
}

/// A text that is neither a suffix nor a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct EndpointError {
    given: String,
    example: &'static str,
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { given, example } = self;
        write!(f, "'{given}' is neither the suffix of host names nor a URL like {example}")
    }
}

/// How a protocol is written in URLs: with TLS, without, and an example.
struct Schemes {
    secure: &'static str,
    plain: &'static str,
    example: &'static str,
}

const HTTP: Schemes = Schemes { secure: "https", plain: "http", example: "http://127.0.0.1:10001" };
const AMQP: Schemes = Schemes { secure: "amqps", plain: "amqp", example: "amqp://127.0.0.1:5672" };

impl Endpoint {
    /// Reads where HTTP is spoken: a suffix, like `core.chinacloudapi.cn`, or a URL.
    ///
    /// # Errors
    ///
    /// If it is neither.
    ///
    /// ```
    /// use minutehand_actions::Endpoint;
    ///
    /// assert!(Endpoint::http("core.windows.net").is_ok());
    /// assert!(Endpoint::http("http://127.0.0.1:10001").is_ok());
    /// assert!(Endpoint::http("ftp://127.0.0.1").is_err());
    /// ```
    pub fn http(text: &str) -> Result<Self, EndpointError> {
        Self::read(text, &HTTP)
    }

    /// Reads where AMQP is spoken: a suffix, like `servicebus.windows.net:5671`, or a URL.
    ///
    /// # Errors
    ///
    /// If it is neither.
    pub fn amqp(text: &str) -> Result<Self, EndpointError> {
        Self::read(text, &AMQP)
    }

    /// Hosts below a suffix that is known to be one.
    pub(crate) fn below(suffix: &str) -> Self {
        Self { place: EndpointKind::Below { suffix: suffix.to_owned(), port: None }, is_tls: true }
    }

    /// The usual place of AMQP for what is spoken to over HTTP here: the same hosts, its own port.
    #[must_use]
    pub fn amqp_beside(&self) -> Self {
        let place = match &self.place {
            EndpointKind::Below { suffix, .. } => {
                EndpointKind::Below { suffix: suffix.clone(), port: None }
            }
            EndpointKind::Here(url) => {
                let scheme = if self.is_tls { AMQP.secure } else { AMQP.plain };
                let host = url.host_str().unwrap_or_default();
                match Url::parse(&format!("{scheme}://{host}")) {
                    Ok(url) => EndpointKind::Here(url),
                    Err(_) => EndpointKind::Here(url.clone()),
                }
            }
        };
        Self { place, is_tls: self.is_tls }
    }

    fn read(text: &str, schemes: &Schemes) -> Result<Self, EndpointError> {
        let text = text.trim();
        let wrong = || EndpointError { given: text.to_owned(), example: schemes.example };
        if text.contains("://") {
            let url = Url::parse(text).map_err(|_| wrong())?;
            let is_tls = url.scheme() == schemes.secure;
            let is_plain = url.scheme() == schemes.plain;
            let has_more = url.query().is_some()
                || url.fragment().is_some()
                || !url.username().is_empty()
                || url.password().is_some();
            if !(is_tls || is_plain) || url.host_str().is_none_or(str::is_empty) || has_more {
                return Err(wrong());
            }
            return Ok(Self { place: EndpointKind::Here(url), is_tls });
        }
        // A suffix is a name: whatever else a URL makes of it is not one.
        let parsed = Url::parse(&format!("https://{}", text.trim_start_matches('.')));
        let parsed = parsed.map_err(|_| wrong())?;
        let (Some(Host::Domain(suffix)), "/", None) =
            (parsed.host(), parsed.path(), parsed.query())
        else {
            return Err(wrong());
        };
        if !parsed.username().is_empty() || parsed.fragment().is_some() {
            return Err(wrong());
        }
        let place = EndpointKind::Below { suffix: suffix.to_owned(), port: parsed.port() };
        Ok(Self { place, is_tls: true })
    }

    /// Whether TLS protects what goes there.
    pub(crate) const fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// The place of an account or namespace; `None` if the name is none that a host can have.
    ///
    /// `service` stands between its name and the suffix, and `scheme` is that of a suffix's hosts.
    pub(crate) fn of(
        &self,
        scheme: &str,
        name: &str,
        service: Option<&str>,
    ) -> Option<ResolvedUrl> {
        match &self.place {
            EndpointKind::Here(url) => Some(ResolvedUrl { url: url.clone(), is_ours: true }),
            EndpointKind::Below { suffix, port } => {
                let between = service.map(|service| format!("{service}.")).unwrap_or_default();
                let host = format!("{name}.{between}{suffix}").to_ascii_lowercase();
                let port = port.map(|port| format!(":{port}")).unwrap_or_default();
                let url = Url::parse(&format!("{scheme}://{host}{port}")).ok()?;
                // A name that a host cannot have would name another host.
                let is_whole = url.host_str().is_some_and(|found| found == host);
                (is_whole && !name.is_empty()).then_some(ResolvedUrl { url, is_ours: false })
            }
        }
    }

    /// Whether all names are in one place: paths then name the account.
    pub(crate) const fn is_one_place(&self) -> bool {
        matches!(self.place, EndpointKind::Here(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(endpoint: &Endpoint, name: &str, service: Option<&str>) -> Option<String> {
        endpoint.of("https", name, service).map(|spot| spot.url.to_string())
    }

    #[test]
    fn a_suffix_gives_each_name_a_host() {
        for (text, service, expected) in [
            ("core.windows.net", Some("queue"), "https://contoso.queue.core.windows.net/"),
            (
                ".core.chinacloudapi.cn",
                Some("queue"),
                "https://contoso.queue.core.chinacloudapi.cn/",
            ),
            ("servicebus.windows.net", None, "https://contoso.servicebus.windows.net/"),
            ("bus.test:8443", None, "https://contoso.bus.test:8443/"),
        ] {
            let endpoint = Endpoint::http(text).unwrap();
            assert_eq!(spot(&endpoint, "contoso", service).unwrap(), expected);
        }
    }

    #[test]
    fn a_name_cannot_lead_to_another_host() {
        let endpoint = Endpoint::http("core.windows.net").unwrap();
        for name in ["evil.test/", "evil.test#", "a@evil.test:1", "a b", ""] {
            assert_eq!(spot(&endpoint, name, None), None, "{name}");
        }
    }

    #[test]
    fn a_url_is_one_place_for_all() {
        let endpoint = Endpoint::http("http://127.0.0.1:10001/base").unwrap();
        assert_eq!(
            spot(&endpoint, "contoso", Some("queue")).unwrap(),
            "http://127.0.0.1:10001/base"
        );
        assert!(!endpoint.is_tls() && endpoint.is_one_place());
    }

    #[test]
    fn what_is_neither_is_refused() {
        for text in [
            "",
            "ftp://a",
            "https://",
            "https://u:p@a",
            "https://a?b",
            "a/b",
            "a b",
            "10.0.0.1",
            "u@a",
        ] {
            assert!(Endpoint::http(text).is_err(), "{text}");
        }
        assert!(Endpoint::amqp("https://a").is_err());
    }

    #[test]
    fn amqp_is_beside_http() {
        for (http, amqp) in [
            ("http://127.0.0.1:5300", "amqp://127.0.0.1"),
            ("https://bus.test", "amqps://bus.test"),
            ("servicebus.windows.net", "servicebus.windows.net"),
            ("servicebus.windows.net:444", "servicebus.windows.net"),
        ] {
            let beside = Endpoint::http(http).unwrap().amqp_beside();
            assert_eq!(beside, Endpoint::amqp(amqp).unwrap(), "{http}");
        }
    }
}
